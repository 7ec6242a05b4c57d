//! Communicators: a group of ranks with a space of tags of their own.
//!
//! This folder has what a communicator is, who is in it (`members`), and how new ones are made: `split`, `group` and
//! `cartesian`, with numbers from `context_id`. What it does is elsewhere: messages in `message`, collectives in
//! `collective`, operations that do not wait in `request`. Each communicator has two contexts of the protocol: even for
//! messages of the user, odd for collectives, so that neither can ever match the other.

mod cartesian;
pub(crate) mod context_id;
mod group;
mod members;
mod options;
mod schedules;
mod split;
mod tuning;

pub use cartesian::{Cartesian, Shift};
pub use group::{Comparison, Group};
pub use options::Options;
pub(crate) use options::{Effective, Memory};
pub use split::Offered;
pub use tuning::{Selection, eager_limit, selections};

use std::borrow::Borrow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ringworld_protocol::Failure;
use rustc_hash::FxHashMap;

use self::context_id::ContextIds;
pub(crate) use self::schedules::{Asked, Schedules};
use crate::error::fault_error;
use crate::{Error, Result};
use ringworld_engine::lend::Borrower;
use ringworld_engine::{ElementCode, Engine, Fault};

/// How the process reaches the rest of the world beyond messages.
pub(crate) trait Plane: Send + Sync {
    /// Tells every rank that this one takes the world down, as far as that can be told.
    fn abort(&self, code: i32, reason: &str);
}

/// What all communicators of one world share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) plane: Box<dyn Plane>,
    pub(crate) local_rank: usize,
    pub(crate) local_size: usize,
    /// Which host each rank of the world runs on; names are not unique everywhere, these are.
    pub(crate) host_ids: Box<[u64]>,
    /// What the numbers of new communicators are made of.
    pub(crate) context_ids: ContextIds,
}

pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    /// Agreed among the members; contexts are twice this, and one more for collectives.
    pub(crate) number: u64,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// World ranks by rank here; `None`: they are the same.
    pub(crate) group: Option<Arc<[usize]>>,
    /// Ranks here by world rank; empty: they are the same.
    pub(crate) by_world: FxHashMap<usize, usize>,
    pub(crate) messages: AtomicU64,
    pub(crate) options: Arc<Effective>,
    pub(crate) schedules: Mutex<Schedules>,
    life: Arc<Life>,
}

/// By what an operation keeps its communicator.
pub(crate) struct Of<C = Communicator>(pub(crate) C);

impl<C: Borrow<Communicator>> Borrower for Of<C> {
    #[inline]
    fn engine(&self) -> &Arc<Engine> {
        self.0.borrow().engine()
    }
}

/// Held by every handle of a communicator, whatever its options: the last one takes it along.
pub(crate) struct Life {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Life {
    /// Only leaves a note: what holds the last clone may be dropped by a thread that has the engine's lock,
    /// such as a closure that is an operation.
    fn drop(&mut self) {
        self.shared.context_ids.dropped([self.number]);
    }
}

/// A group of ranks that exchange messages and take part in collectives.
///
/// Cheap to clone, and every method may be called from any thread. Collectives on one communicator must
/// be called in the same order on all its ranks; different communicators are independent. So threads that each
/// call collectives of their own have a communicator each ([`Communicator::duplicate`]): on one, which call of a thread
/// meets which of another rank would be chance.
///
/// Messages are typed slices of [`Pod`](bytemuck::Pod) elements. A message matches a receive when communicator, source
/// and tag match; then its elements must be those of the receive, or one of the two must be [`Raw`](crate::Raw), or the
/// message empty. Two messages from one rank that match the same receive are received in the order in
/// which they were sent.
///
/// The [`World`](crate::World) is one, of all ranks; others are made from it by [`Communicator::split`] and its like.
///
/// ```
/// use ringworld::{Communicator, Op};
///
/// /// The mean over all ranks of `parts`, whichever those are.
/// fn mean(parts: &Communicator, value: f64) -> ringworld::Result<f64> {
///     parts.all_reduce_one(value, Op::Average)
/// }
/// # let world = ringworld::testing::alone();
/// assert_eq!(mean(&world, 2.5)?, 2.5);
/// # Ok::<(), ringworld::Error>(())
/// ```
#[derive(Clone)]
pub struct Communicator {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Communicator({}: rank {} of {})", self.inner.number, self.rank(), self.size())
    }
}

/// # Giving up
impl Communicator {
    pub(crate) fn new(
        shared: Arc<Shared>,
        number: u64,
        rank: usize,
        group: Option<Arc<[usize]>>,
        size: usize,
        options: Arc<Effective>,
    ) -> Self {
        let by_world = group.iter().flat_map(|group| group.iter().copied().zip(0..)).collect();
        let life = Arc::new(Life { shared: Arc::clone(&shared), number });
        Self {
            inner: Arc::new(Inner {
                shared,
                number,
                rank,
                size,
                group,
                by_world,
                messages: AtomicU64::new(0),
                options,
                schedules: Mutex::default(),
                life,
            }),
        }
    }

    /// The same communicator, by other options.
    pub(crate) fn reoptioned(&self, options: Arc<Effective>) -> Self {
        let Inner { shared, number, rank, size, group, by_world, life, .. } = &*self.inner;
        Self {
            inner: Arc::new(Inner {
                shared: Arc::clone(shared),
                number: *number,
                rank: *rank,
                size: *size,
                group: group.clone(),
                by_world: by_world.clone(),
                messages: AtomicU64::new(0),
                options,
                schedules: Mutex::default(),
                life: Arc::clone(life),
            }),
        }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.shared.engine
    }

    pub(crate) fn world_rank(&self, rank: usize) -> usize {
        self.inner.group.as_ref().map_or(rank, |group| group[rank])
    }

    pub(crate) fn rank_of(&self, world: usize) -> usize {
        self.inner.by_world.get(&world).copied().unwrap_or(world)
    }

    /// Takes the whole world down: every other rank's calls end with [`Error::Aborted`], and this process
    /// exits with `code`. The launcher ends all ranks and returns `code` as well, unless another rank had failed
    /// before: who gives up because it has lost a peer is not what has gone wrong.
    ///
    /// The others' errors have `code` as it is. An exit status has only its low byte, as always, and is 1 where that
    /// is 0: a job that was given up is no success.
    #[doc(alias = "MPI_Abort")]
    pub fn abort(&self, code: i32) -> ! {
        self.abort_with(code, "abort was called")
    }

    /// Like [`Communicator::abort`], with a reason that the others' errors quote; of a long one its first few KiB.
    #[doc(alias = "MPI_Abort")]
    pub fn abort_with(&self, code: i32, reason: impl AsRef<str>) -> ! {
        self.inner.shared.plane.abort(code, reason.as_ref());
        std::process::exit(ringworld_bootstrap::exit_status(code).into())
    }

    // ---- shared by the calls ---------------------------------------------------------------------------

    /// The number by which errors name a call. Threads that call at the same time may get one number for several calls,
    /// and whoever is interrupted in between sets it back: to count them exactly takes 4 ns of the 85 to 150 that a
    /// short message takes.
    #[inline]
    pub(crate) fn count_message(&self) -> u64 {
        let number = self.inner.messages.load(Ordering::Relaxed);
        self.inner.messages.store(number.wrapping_add(1), Ordering::Relaxed);
        number
    }

    pub(crate) fn check_rank(&self, name: &str, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        Err(Error::InvalidRank { operation: name.into(), given: rank, size: self.size() })
    }

    pub(crate) fn wrong_element(
        &self,
        operation: &dyn fmt::Display,
        source: usize,
        tag: u64,
        bytes: usize,
        sent: ElementCode,
        wanted: ElementCode,
    ) -> Error {
        let advice = match (sent, wanted) {
            (ElementCode::OBJECT, _) => "receive objects by recv_object",
            (_, ElementCode::OBJECT) => "receive it by recv; recv_object is for what send_object sends",
            (ElementCode::RAW, _) => "raw bytes must be whole elements of the type they are received as",
            _ => "use the same type on both sides, or Raw on one of them for the bytes as they are",
        };
        Error::WrongElement {
            operation: operation.to_string(),
            source_rank: self.rank_of(source),
            tag: tag as u32,
            bytes,
            sent: sent.to_string(),
            wanted: wanted.to_string(),
            advice,
        }
    }

    /// The error of a call that the protocol has ended.
    pub(crate) fn error(&self, failure: Failure, operation: impl fmt::Display) -> Error {
        let operation = operation.to_string();
        match failure {
            Failure::Truncated { needed, room, source, tag } => {
                let source_rank = self.rank_of(source);
                Error::Truncated { operation, source_rank, tag: tag as u32, needed, room }
            }
            Failure::WrongElement { sent, wanted, len, source, tag } => {
                self.wrong_element(&operation, source, tag, len, sent.into(), wanted.into())
            }
            Failure::PeerFinished { peer } => {
                Error::PeerFinished { rank: peer, host: self.engine().host(peer), operation }
            }
            Failure::PeerDown { peer } => Error::PeerFailed {
                rank: peer,
                host: self.engine().host(peer),
                operation,
                cause: "its connection was lost".into(),
            },
            Failure::Cancelled => Error::Cancelled { operation },
            other => {
                let Some(core) = self.engine().enter() else {
                    let op = ringworld_engine::inside::name(&operation);
                    return Error::InsideOperation { operation, op };
                };
                let fault = core.fault().cloned();
                drop(core);
                match fault {
                    Some(fault) => fault_error(self.engine(), fault, operation),
                    // The world is at its end, which has dropped what this call asks for.
                    None if other == Failure::Aborted => {
                        fault_error(self.engine(), Fault::Finalized, operation)
                    }
                    None => Error::System { operation, cause: other.to_string() },
                }
            }
        }
    }
}
