//! The mail between the hub and its connections: what comes in, and what a writer sends.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::frames::ReadError;
use crate::observe::JobStatus;
use crate::wire::{Hello, Member, ToMaster, ToRank};

/// Everything that can happen to the master.
pub(super) enum Inbound {
    Joined {
        connection: u64,
        hello: Hello,
        outbox: mpsc::UnboundedSender<Outgoing>,
    },
    Message {
        connection: u64,
        message: ToMaster,
    },
    Gone {
        connection: u64,
        cause: ReadError,
    },
    /// Somebody knocked and did not come in.
    Unauthenticated {
        from: SocketAddr,
        reason: String,
    },
    /// From now on, this one decides on later generations.
    Arbiter(Arbiter),
    /// The world of that job runs already.
    RunsAlready {
        job: Option<String>,
        running: Vec<u8>,
    },
    /// Somebody asks how the world stands.
    Inquiry {
        reply: oneshot::Sender<ToRank>,
    },
    /// Somebody asks what all ranks do.
    Status {
        reply: oneshot::Sender<JobStatus>,
    },
    Suspected {
        by: usize,
        rank: usize,
    },
    /// What had been said to all when this was asked for has been handed to the system.
    Flushed,
    /// The process that serves is leaving.
    Close,
    Shutdown,
}

/// Called with the members of the generation that has formed.
pub(crate) type Begin = Box<dyn Fn(&[Member]) + Send>;

/// The process that decides alone on later generations of an elastic world, as the ranks are told of it.
pub(crate) struct Arbiter {
    pub(crate) node: Vec<u8>,
    /// To be called when the first one has formed.
    pub(crate) begin: Begin,
}

/// Something for the writer.
pub(super) enum Outgoing {
    /// The body of a frame; shared, because most go to everybody.
    Frame(Arc<[u8]>),
    /// The same, of another rank's words; the permit is their share of what may wait for one rank.
    Words(Arc<[u8]>, OwnedSemaphorePermit),
    /// Answer when everything before has been handed to the system.
    Flush(oneshot::Sender<()>),
    /// Wait, not for long, until all of these have come: what follows is not to be heard before.
    After(Vec<oneshot::Receiver<()>>),
}
