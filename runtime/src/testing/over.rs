//! Worlds without a rendezvous, over a transport that is given: for tests of this library and simulation.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ringworld_collectives::{Placement, Tuning};
use ringworld_transport::Transport;

use crate::Result;
use crate::communicator::context_id::ContextIds;
use crate::communicator::{Communicator, Effective, Memory, Options, Plane, Shared};
use crate::error::{fault_error, unsupported};
use ringworld_engine::{
    Control, Engine, Fault, Inbox, LastCalls, Limits, Notice, Parts, REMIND, Spin, Whereabouts,
};

/// Limits small enough that every path of the protocol is taken by small tests.
pub const SMALL: (usize, usize) = (256, 1024);

struct NoPlane;

impl Plane for NoPlane {
    fn abort(&self, _: i32, _: &str) {}
}

/// One rank of a world over a given transport; every peer must be known to the transport already.
/// Dropped, it closes the transport in good order.
pub struct Rank {
    communicator: Communicator,
    engine: Arc<Engine>,
    /// `None` once it has ended.
    seat: Option<Seat>,
}

impl std::ops::Deref for Rank {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.communicator
    }
}

impl Rank {
    /// Tells this rank what the control plane would: that a rank has left in good order.
    pub fn peer_has_left(&self, rank: usize) {
        self.engine.hear(Notice::Finished { rank });
    }

    /// Ends this rank as the death of its process would: without a word.
    pub fn vanish(mut self) {
        self.seat = None;
        self.engine.lock().fail(Fault::Finalized);
    }

    /// What this rank says of itself to those who ask.
    #[must_use]
    pub fn whereabouts(&self) -> Whereabouts {
        self.engine.lock().whereabouts()
    }

    /// As [`crate::World::finish`].
    ///
    /// # Errors
    ///
    /// Whatever has ended the world.
    pub fn finish(mut self) -> Result<()> {
        self.end().map_or(Ok(()), |fault| Err(fault_error(&self.engine, fault, "finish".into())))
    }

    fn end(&mut self) -> Option<Fault> {
        let seat = self.seat.take()?;
        let fault = self.engine.finish();
        if fault.is_none() {
            seat.goodbye();
        }
        fault
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

/// In place of a master, for the ranks of one world in one process: passes on at once what they tell one another. It
/// judges nobody.
#[derive(Clone)]
pub struct Hub(Arc<Mutex<Vec<Member>>>);

#[derive(Default)]
struct Member {
    inbox: Arc<Inbox>,
    left: Option<LastCalls>,
    asked_by: Vec<usize>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hub")
    }
}

impl Hub {
    /// Of a world of so many ranks, for all of its [`Choice`]s.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self(Arc::new(Mutex::new((0..size).map(|_| Member::default()).collect())))
    }
}

/// A rank's place at a [`Hub`], or at none.
#[derive(Clone)]
struct Seat {
    rank: usize,
    hub: Option<Hub>,
}

impl Seat {
    fn with_hub(&self, act: impl FnOnce(&mut [Member])) {
        if let Some(Hub(members)) = &self.hub {
            act(&mut members.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn inbox(&self) -> Arc<Inbox> {
        let mut inbox = Arc::default();
        self.with_hub(|members| inbox = Arc::clone(&members[self.rank].inbox));
        inbox
    }

    fn tell_others(&self, members: &[Member], notice: impl Fn() -> Notice) {
        let others = members.iter().enumerate().filter(|(rank, _)| *rank != self.rank);
        Inbox::put_all(others.map(|(_, other)| &*other.inbox), notice);
    }

    fn goodbye(&self) {
        let rank = self.rank;
        self.with_hub(|members| self.tell_others(members, || Notice::Finished { rank }));
    }
}

impl Control for Seat {
    fn peer_lost(&self, _: usize, _: &str) {}

    fn fault(&self, fault: &Fault) {
        self.with_hub(|members| self.tell_others(members, || Notice::Fault(fault.clone())));
    }

    fn leave_behind(&self, calls: LastCalls) {
        let rank = self.rank;
        self.with_hub(|members| {
            for asking in std::mem::take(&mut members[rank].asked_by) {
                members[asking].inbox.put(Notice::LastCalls { rank, calls: calls.clone() });
            }
            members[rank].left = Some(calls);
        });
    }

    fn ask_last_calls(&self, rank: usize) {
        self.with_hub(|members| match members[rank].left.clone() {
            Some(calls) => members[self.rank].inbox.put(Notice::LastCalls { rank, calls }),
            None => members[rank].asked_by.push(self.rank),
        });
    }

    fn stalled(&self) {}

    fn ask_story(&self) {}
}

/// What a test may choose.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Messages up to this many bytes are sent without asking.
    pub eager: usize,
    /// Bytes of unexpected messages per peer.
    pub window: usize,
    /// Requests to send that may lie beside a full window; `None`: as many as in a real world.
    pub requests: Option<usize>,
    /// How long to spin.
    pub spin: Duration,
    /// How collectives choose their algorithms.
    pub tuning: Tuning,
    /// As `RINGWORLD_REPRODUCIBLE`.
    pub reproducible: bool,
    /// As `RINGWORLD_OP_TIMEOUT`.
    pub op_timeout: Option<Duration>,
    /// How many ranks, in their order, share a host.
    pub ranks_per_host: usize,
    /// Ranks show one another what is short, over a transport that can.
    pub shows: bool,
    /// How long a call waits before it tells those it waits for what it is.
    pub remind: Duration,
    /// Who tells the ranks of one another's ends; without, they have only their connections.
    pub hub: Option<Hub>,
}

impl Default for Choice {
    fn default() -> Self {
        let limits = Limits::DEFAULT;
        Self {
            eager: limits.eager,
            window: limits.window,
            requests: limits.requests,
            spin: Duration::ZERO,
            tuning: Tuning::default(),
            reproducible: false,
            op_timeout: None,
            ranks_per_host: 1,
            shows: false,
            remind: REMIND,
            hub: None,
        }
    }
}

/// Makes one rank of a world of `size` over `transport`.
///
/// # Panics
///
/// When the system gives no event descriptor or the choice contradicts itself.
#[must_use]
#[expect(clippy::expect_used, reason = "for tests only")]
pub fn rank(rank: usize, size: usize, transport: Option<Box<dyn Transport>>, choice: Choice) -> Rank {
    let routes = (0..size).map(|peer| (peer != rank).then_some(0)).collect();
    let host = |rank: usize| rank / choice.ranks_per_host.max(1);
    let seat = Seat { rank, hub: choice.hub };
    let parts = Parts {
        rank,
        // Ranks that are threads of a test stay where they are.
        local: (0, 1),
        hosts: (0..size).map(|peer| format!("host{}", host(peer))).collect(),
        transports: transport.into_iter().collect(),
        routes,
        limits: Limits { eager: choice.eager, window: choice.window, requests: choice.requests },
        control: Arc::new(seat.clone()),
        inbox: seat.inbox(),
        spin: Spin::for_ranks(1, 1).lasting(choice.spin),
        op_timeout: choice.op_timeout,
        stall_warning: None,
        remind: choice.remind,
        trace: None,
    };
    let engine = Engine::new(parts).expect("an engine for a test");
    let memory = if choice.shows { Memory::All } else { Memory::Nobody };
    let wishes = Options::new().reproducible(choice.reproducible);
    let options =
        Arc::new(Effective::new(choice.tuning, wishes, Placement::new((0..size).map(host)), memory));
    let shared = Arc::new(Shared {
        engine: Arc::clone(&engine),
        plane: Box::new(NoPlane),
        local_rank: (0..rank).filter(|peer| host(*peer) == host(rank)).count(),
        local_size: (0..size).filter(|peer| host(*peer) == host(rank)).count(),
        host_ids: (0..size).map(|peer| host(peer) as u64).collect(),
        context_ids: ContextIds::default(),
    });
    let communicator = Communicator::new(shared, 0, rank, None, size, options);
    Rank { communicator, engine, seat: Some(seat) }
}

/// A world of one.
#[must_use]
pub fn alone() -> Rank {
    rank(0, 1, None, Choice::default())
}

/// The loops of a reduction alone, without a world: for tests and benchmarks of them.
pub struct Loops<T> {
    kernel: ringworld_engine::Kernel,
    element: std::marker::PhantomData<fn(T, T) -> T>,
}

#[expect(clippy::expect_used, reason = "for tests only")]
impl<T: bytemuck::Pod> Loops<T> {
    /// Those of an operation.
    ///
    /// # Errors
    ///
    /// When the type does not have it.
    pub fn new(op: impl crate::Reduction<T>) -> Result<Self> {
        let kernel = op.plan().map_err(|why| unsupported("loops", why))?.kernel;
        Ok(Self { kernel, element: std::marker::PhantomData })
    }

    /// `left = left op right`
    pub fn left(&self, left: &mut [T], right: &[T]) {
        let (left, right) = (bytemuck::cast_slice_mut(left), bytemuck::cast_slice(right));
        self.kernel.reduce_left(left, right).expect("an operation that does not panic");
    }

    /// `right = left op right`
    pub fn right(&self, left: &[T], right: &mut [T]) {
        let (left, right) = (bytemuck::cast_slice(left), bytemuck::cast_slice_mut(right));
        self.kernel.reduce_right(left, right).expect("an operation that does not panic");
    }

    /// `into = left op right`
    pub fn apart(&self, left: &[T], right: &[T], into: &mut [T]) {
        let (left, right) = (bytemuck::cast_slice(left), bytemuck::cast_slice(right));
        let into = bytemuck::cast_slice_mut(into);
        self.kernel.reduce_apart(left, right, into).expect("an operation that does not panic");
    }
}
