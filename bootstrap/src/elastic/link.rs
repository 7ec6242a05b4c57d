//! A connection between two processes that agree: the handshake, who is who, and what is said.
//!
//! Either side may have made it, and both use it. Neighbour: `service` owns its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringworld_auth::Secret;
use ringworld_membership::{Id, Message, Node};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::place::Place;
use crate::frames::{FrameReader, FrameWriter, ReadError};
use crate::handshake;
use crate::host::host_identity;
use crate::wire::{self, EARLY_LIMIT, MASTER_LIMIT};

/// How long one attempt to reach an address may take.
const CONNECT: Duration = Duration::from_secs(2);
/// How long two processes may take to tell who they are; whoever is silent for `peer_timeout` is missed sooner.
const GREETING: Duration = Duration::from_secs(5);
/// A process that ends may still take a connection in its last moment: how often, and after what pause, to try again.
const AGAIN: usize = 8;
const PAUSE: Duration = Duration::from_millis(3);

/// What travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Words {
    /// Who this is; first from the one that connects, then from the other.
    I(Node),
    Say(Message),
    Ping,
    /// Closes because there is nothing more to say; nobody is gone.
    Bye,
}

/// What all links of a process share.
pub(super) struct Common {
    pub(super) me: Node,
    /// The number of the job, the same for all its generations.
    pub(super) job: u64,
    pub(super) secret: Secret,
    pub(super) peer_timeout: Option<Duration>,
    pub(super) events: mpsc::UnboundedSender<Event>,
}

/// What happens to links.
#[derive(Debug)]
pub(super) enum Event {
    Opened {
        link: u64,
        node: Node,
        outbox: mpsc::UnboundedSender<Words>,
    },
    Said {
        link: u64,
        message: Message,
    },
    Closed {
        link: u64,
        bye: bool,
    },
    /// It could not be reached; `certain`: it has ended.
    Unreached {
        id: Id,
        certain: bool,
        why: String,
    },
}

struct Halves {
    reading: FrameReader<OwnedReadHalf>,
    writing: FrameWriter<OwnedWriteHalf>,
}

/// Why somebody was not reached.
struct Missed {
    certain: bool,
    again: bool,
    why: String,
}

/// Reaches a node, and sees the connection through.
pub(super) async fn dial(link: u64, node: Node, common: Arc<Common>) {
    let id = node.id;
    let Some(place) = Place::of(&node) else {
        let why = "where it is reached makes no sense".to_owned();
        let _ = common.events.send(Event::Unreached { id, certain: false, why });
        return;
    };
    let mut addresses = place.sockets(place.port);
    if place.host_id == host_identity() {
        // Whatever else it is called, this host reaches itself there; what refuses here has ended.
        addresses.sort_by_key(|address| !address.ip().is_loopback());
    }
    let mut certain = true;
    let mut met = Vec::new();
    for _ in 0..AGAIN {
        let mut again = false;
        for address in &addresses {
            match reach(*address, &node, &common).await {
                Ok(halves) => return see_through(link, node, halves, &common).await,
                Err(missed) => {
                    certain &= missed.certain;
                    again |= missed.again;
                    met.push(format!("{address}: {}", missed.why));
                }
            }
        }
        if !again {
            break;
        }
        (certain, met) = (true, Vec::new());
        sleep(PAUSE).await;
    }
    let certain = certain && !met.is_empty();
    let _ = common.events.send(Event::Unreached { id, certain, why: met.join("; ") });
}

async fn reach(address: SocketAddr, node: &Node, common: &Common) -> Result<Halves, Missed> {
    let missed = |why: String, certain, again| Missed { certain, again, why };
    let mut stream = match timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            let refused = error.kind() == std::io::ErrorKind::ConnectionRefused;
            return Err(missed(error.to_string(), refused, false));
        }
        Err(_) => return Err(missed("no answer".into(), false, false)),
    };
    // On one host, connecting to a port from the ephemeral range can meet itself.
    if stream.local_addr().ok() == stream.peer_addr().ok() {
        return Err(missed("nobody listens".into(), true, false));
    }
    let _ = stream.set_nodelay(true);
    let greeting = async {
        let (job, session) = match handshake::connect(&mut stream, &common.secret).await {
            Ok(done) => done,
            // The last moment of a process, or somebody else's port.
            Err(error) => return Err(missed(error.to_string(), false, true)),
        };
        if job != common.job {
            return Err(missed("another job has its port".into(), true, false));
        }
        let (reading, writing) = stream.into_split();
        let mut reading = FrameReader::new(reading, session.opener);
        let mut writing = FrameWriter::new(writing, session.sealer);
        let lost = |error: String| missed(error, false, true);
        writing.write(&Words::I(common.me.clone())).await.map_err(|error| lost(error.to_string()))?;
        match reading.read::<Words>(EARLY_LIMIT).await {
            Ok((Words::I(other), _)) if other.id == node.id => Ok(Halves { reading, writing }),
            Ok((Words::I(_), _)) => Err(missed("another process has its port".into(), true, false)),
            Ok(_) => Err(lost("it said something out of turn".into())),
            Err(error) => Err(lost(error.to_string())),
        }
    };
    let patience = common.peer_timeout.map_or(GREETING, |silence| silence.min(GREETING));
    timeout(patience, greeting)
        .await
        .unwrap_or_else(|_| Err(missed("it did not answer".into(), false, false)))
}

/// Takes a connection that somebody has made, and sees it through. `Err` says why it was none; `known` is called when
/// it has shown who it is.
pub(super) async fn answer(
    link: u64,
    mut stream: TcpStream,
    common: &Common,
    known: impl FnOnce(),
) -> Result<(), String> {
    let _ = stream.set_nodelay(true);
    let greeting = async {
        let session = handshake::accept(&mut stream, &common.secret, common.job, || ()).await;
        let session = session.map_err(|error| error.to_string())?;
        let (reading, writing) = stream.into_split();
        let mut reading = FrameReader::new(reading, session.opener);
        let mut writing = FrameWriter::new(writing, session.sealer);
        match reading.read::<Words>(EARLY_LIMIT).await {
            Ok((Words::I(node), _)) => {
                writing.write(&Words::I(common.me.clone())).await.map_err(|error| error.to_string())?;
                Ok((node, Halves { reading, writing }))
            }
            Ok(_) => Err("it did not introduce itself".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    };
    let (node, halves) =
        timeout(GREETING, greeting).await.map_err(|_| format!("no handshake within {GREETING:?}"))??;
    known();
    see_through(link, node, halves, common).await;
    Ok(())
}

/// Carries what is said both ways until either side ends it.
async fn see_through(link: u64, node: Node, halves: Halves, common: &Common) {
    let Halves { mut reading, mut writing } = halves;
    let (outbox, mut inbox) = mpsc::unbounded_channel();
    if common.events.send(Event::Opened { link, node, outbox }).is_err() {
        return;
    }
    let read = async {
        loop {
            match reading.read_within::<Words>(MASTER_LIMIT, common.peer_timeout).await {
                Ok((Words::Say(message), _)) => {
                    if common.events.send(Event::Said { link, message }).is_err() {
                        return true;
                    }
                }
                Ok((Words::Ping, _)) => {}
                Ok((Words::Bye, _)) => return true,
                Ok((Words::I(_), _)) => return false,
                Err(error @ (ReadError::Forged | ReadError::Nonsense(_) | ReadError::TooLong(_))) => {
                    tracing::warn!("a connection to another rank is given up: {error}");
                    return false;
                }
                Err(_) => return false,
            }
        }
    };
    let write = async {
        loop {
            let next = tokio::select! {
                biased;
                next = inbox.recv() => next,
                () = sleep(wire::heartbeat(common.peer_timeout)) => Some(Words::Ping),
            };
            match next {
                Some(words) => {
                    let bye = matches!(words, Words::Bye);
                    if writing.write(&words).await.is_err() {
                        // The reader finds out why.
                        std::future::pending::<()>().await;
                    }
                    if bye {
                        return true;
                    }
                }
                None => {
                    let _ = writing.shutdown().await;
                    return false;
                }
            }
        }
    };
    let bye = tokio::select! {
        bye = read => bye,
        bye = write => bye,
    };
    let _ = common.events.send(Event::Closed { link, bye });
}
