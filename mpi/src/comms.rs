//! Communicators: the runtime's, with all that MPI keeps at them.
//!
//! An intercommunicator is a communicator of both groups, that of the lower one first, which nobody sees: ranks are
//! those of the other group. What this library says to itself, as neighbourhood collectives do, goes by the
//! communicator's twin.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ringworld::{Communicator, Group, Source, Tag};

use crate::attributes::Attributes;
use crate::buffered::Pool;
use crate::errhandlers::{self, Handler};
use crate::error::{Result, error, fail};
use crate::info::Info;
use crate::numbers::Numbers;
use crate::objects::Table;
use crate::standard::{self, ANY_SOURCE, ANY_TAG, ERR_COMM, ERR_RANK, ERR_TAG, PROC_NULL};
use crate::topology::Topology;

/// A communicator.
pub(crate) struct Comm {
    /// Of all its processes.
    pub(crate) all: Communicator,
    /// For what this library says beside the program.
    pub(crate) twin: Communicator,
    /// The other group, of an intercommunicator.
    pub(crate) remote: Option<Remote>,
    pub(crate) attributes: Attributes,
    pub(crate) topology: Option<Topology>,
    pub(crate) name: Mutex<String>,
    /// Hints that are not ignored.
    pub(crate) info: Info,
    pub(crate) pool: Pool,
    handler: Mutex<Arc<Handler>>,
    /// Whether the program has set it.
    chosen: AtomicBool,
    partitioned: Mutex<Numbers>,
    /// The number of the next collective that is made of messages.
    next: AtomicU32,
    handle: AtomicUsize,
}

/// What an intercommunicator is.
pub(crate) struct Remote {
    /// The program's own group.
    pub(crate) local: Communicator,
    pub(crate) local_twin: Communicator,
    /// Where the groups begin in the communicator of both.
    pub(crate) first_local: usize,
    pub(crate) first_remote: usize,
    pub(crate) size: usize,
}

static MADE: Table<Comm> = Table::new();
/// Kept to the end of the process, so that a call by them counts no references.
static WORLD: OnceLock<Arc<Comm>> = OnceLock::new();
static SELF: OnceLock<Arc<Comm>> = OnceLock::new();
/// Between `MPI_Init` and `MPI_Finalize`.
static ARE_THERE: AtomicBool = AtomicBool::new(false);

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.all.fmt(f)
    }
}

/// Where a message goes or comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Nobody,
    Rank(usize),
}

impl Comm {
    pub(crate) fn new(all: Communicator) -> Result<Self> {
        let twin = all.twin()?;
        Ok(Self {
            all,
            twin,
            remote: None,
            attributes: Attributes::default(),
            topology: None,
            name: Mutex::default(),
            info: Info::default(),
            pool: Pool::default(),
            handler: Mutex::new(errhandlers::fatal()),
            chosen: AtomicBool::new(false),
            partitioned: Mutex::default(),
            next: AtomicU32::new(0),
            handle: AtomicUsize::new(standard::Comm::NULL.0),
        })
    }

    /// With the other's error handler, as what is made of a communicator has.
    pub(crate) fn like(self, other: &Self) -> Self {
        self.set_handler(other.handler());
        self
    }

    pub(crate) fn with(self, topology: Topology) -> Self {
        Self { topology: Some(topology), ..self }
    }

    /// This process's rank in its own group.
    #[inline]
    pub(crate) fn rank(&self) -> usize {
        self.all.rank() - self.remote.as_ref().map_or(0, |remote| remote.first_local)
    }

    /// How many there are in its own group.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.all.size() - self.remote.as_ref().map_or(0, |remote| remote.size)
    }

    /// How many can be sent to.
    #[inline]
    pub(crate) fn peers(&self) -> usize {
        self.remote.as_ref().map_or(self.all.size(), |remote| remote.size)
    }

    /// Where those who can be sent to begin among all.
    #[inline]
    pub(crate) fn first_peer(&self) -> usize {
        self.remote.as_ref().map_or(0, |remote| remote.first_remote)
    }

    /// The processes of its own group alone.
    pub(crate) fn local(&self) -> &Communicator {
        self.remote.as_ref().map_or(&self.all, |remote| &remote.local)
    }

    /// And for what this library says to them.
    pub(crate) fn local_twin(&self) -> &Communicator {
        self.remote.as_ref().map_or(&self.twin, |remote| &remote.local_twin)
    }

    pub(crate) fn group(&self) -> Group {
        self.local().group()
    }

    pub(crate) fn remote_group(&self) -> Group {
        let group = self.all.group();
        let first = self.first_peer();
        crate::groups::of(group.ranks()[first..first + self.peers()].iter().copied())
    }

    /// One who is sent to.
    #[inline]
    pub(crate) fn peer(&self, rank: i32) -> Result<Peer> {
        match usize::try_from(rank) {
            Ok(rank) if rank < self.peers() => Ok(Peer::Rank(self.first_peer() + rank)),
            _ if rank == PROC_NULL => Ok(Peer::Nobody),
            _ => fail(
                ERR_RANK,
                format!("rank {rank} does not exist; there are ranks 0 to {}", self.peers() as i64 - 1),
            ),
        }
    }

    /// Those who are received from; `None`: nobody.
    #[inline]
    pub(crate) fn source(&self, rank: i32) -> Result<Option<Source>> {
        if rank == ANY_SOURCE {
            return Ok(Some(Source::Any));
        }
        Ok(match self.peer(rank)? {
            Peer::Nobody => None,
            Peer::Rank(rank) => Some(Source::Rank(rank)),
        })
    }

    /// A number for the messages of one collective, the same on all ranks; there is room for 2048 below it.
    pub(crate) fn sequence(&self) -> u32 {
        (self.next.fetch_add(1, Ordering::Relaxed) & 0xf_ffff) << 11
    }

    /// The numbers of its partitioned messages.
    pub(crate) fn partitioned(&self) -> MutexGuard<'_, Numbers> {
        self.partitioned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn handler(&self) -> Arc<Handler> {
        Arc::clone(&self.handler.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_handler(&self, handler: Arc<Handler>) {
        *self.handler.lock().unwrap_or_else(PoisonError::into_inner) = handler;
        self.chosen.store(true, Ordering::Relaxed);
    }

    /// Whether anybody has said what becomes of errors.
    pub(crate) fn chosen_handler(&self) -> bool {
        self.chosen.load(Ordering::Relaxed)
    }

    pub(crate) fn handle(&self) -> standard::Comm {
        standard::Comm(self.handle.load(Ordering::Relaxed))
    }

    pub(crate) fn topology(&self) -> Result<&Topology> {
        self.topology.as_ref().ok_or_else(|| {
            error(standard::ERR_TOPOLOGY, "the communicator has no topology; make one by MPI_Cart_create, …")
        })
    }

    pub(crate) fn name(&self) -> String {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_inter(&self) -> bool {
        self.remote.is_some()
    }
}

/// A tag to send with.
#[inline]
pub(crate) fn tag(tag: i32) -> Result<u32> {
    u32::try_from(tag).or_else(|_| fail(ERR_TAG, format!("{tag} is no tag; tags are 0 to {}", i32::MAX)))
}

/// Tags to receive.
#[inline]
pub(crate) fn tags(given: i32) -> Result<Tag> {
    if given == ANY_TAG { Ok(Tag::Any) } else { tag(given).map(Tag::Value) }
}

/// What a handle stands for.
#[inline]
pub(crate) fn get(handle: standard::Comm) -> Result<Arc<Comm>> {
    let found = match handle {
        standard::Comm::WORLD => world(),
        standard::Comm::SELF => predefined(&SELF).cloned(),
        _ => MADE.get(handle.0),
    };
    found.or_else(|| when_made(handle)).ok_or_else(|| no_comm(handle))
}

/// How to wait for communicators that are being made, by their handles.
type Coming = Vec<(standard::Comm, Arc<dyn Fn() + Send + Sync>)>;
static COMING: Mutex<Coming> = Mutex::new(Vec::new());

fn coming() -> MutexGuard<'static, Coming> {
    COMING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Programs look at a duplicate before its request has ended, which they must not: then it is waited for.
#[cold]
fn when_made(handle: standard::Comm) -> Option<Arc<Comm>> {
    let wait = coming().iter().find(|(of, _)| *of == handle).map(|(_, wait)| Arc::clone(wait))?;
    wait();
    MADE.get(handle.0)
}

#[cold]
fn no_comm(handle: standard::Comm) -> crate::error::Error {
    let text = match handle {
        standard::Comm::NULL => "MPI_COMM_NULL was given".to_owned(),
        standard::Comm::WORLD | standard::Comm::SELF => {
            "MPI has not been initialized, or has been finalized".to_owned()
        }
        _ => format!("{:#x} is no communicator, or one that has been freed", handle.0),
    };
    error(ERR_COMM, text)
}

/// The communicator of all, while programs have it.
fn world() -> Option<Arc<Comm>> {
    predefined(&WORLD).cloned()
}

/// The communicator of all, whether programs have it or not.
pub(crate) fn of_all() -> Option<Arc<Comm>> {
    WORLD.get().cloned()
}

#[inline]
fn predefined(place: &'static OnceLock<Arc<Comm>>) -> Option<&'static Arc<Comm>> {
    if ARE_THERE.load(Ordering::Acquire) { place.get() } else { None }
}

/// A communicator that is kept. To count references to those that are always there would take longer than much of a
/// message.
#[derive(Clone)]
pub(crate) enum Held {
    Always(&'static Arc<Comm>),
    Counted(Arc<Comm>),
}

impl From<&Arc<Comm>> for Held {
    fn from(comm: &Arc<Comm>) -> Self {
        Self::Counted(Arc::clone(comm))
    }
}

impl std::ops::Deref for Held {
    type Target = Arc<Comm>;

    #[inline]
    fn deref(&self) -> &Arc<Comm> {
        match self {
            Self::Always(comm) => comm,
            Self::Counted(comm) => comm,
        }
    }
}

impl Borrow<Communicator> for Held {
    #[inline]
    fn borrow(&self) -> &Communicator {
        &self.all
    }
}

/// A communicator to keep, if the handle stands for one.
#[inline]
pub(crate) fn hold(handle: standard::Comm) -> Option<Held> {
    if handle == standard::Comm::WORLD {
        return predefined(&WORLD).map(Held::Always);
    }
    get(handle).ok().map(Held::Counted)
}

/// A communicator, if the handle stands for one; `kept` keeps one that the program has made while it is used.
#[inline]
pub(crate) fn find(handle: standard::Comm, kept: &mut Option<Arc<Comm>>) -> Option<&Comm> {
    if handle == standard::Comm::WORLD {
        return predefined(&WORLD).map(|comm| &**comm);
    }
    *kept = get(handle).ok();
    kept.as_deref()
}

pub(crate) fn insert(comm: Comm) -> standard::Comm {
    let comm = Arc::new(comm);
    let handle = MADE.insert(Arc::clone(&comm));
    comm.handle.store(handle, Ordering::Relaxed);
    standard::Comm(handle)
}

/// A handle for a communicator that is being made.
pub(crate) fn reserve() -> standard::Comm {
    standard::Comm(MADE.reserve())
}

/// Says how to wait until that handle has its communicator.
pub(crate) fn awaited(handle: standard::Comm, wait: impl Fn() + Send + Sync + 'static) {
    coming().push((handle, Arc::new(wait)));
}

/// Gives that handle its communicator.
pub(crate) fn fill(handle: standard::Comm, comm: Comm) {
    coming().retain(|(of, _)| *of != handle);
    comm.handle.store(handle.0, Ordering::Relaxed);
    MADE.fill(handle.0, Arc::new(comm));
}

/// One that the program has made, and may free.
pub(crate) fn made(handle: standard::Comm) -> Result<Arc<Comm>> {
    if matches!(handle, standard::Comm::WORLD | standard::Comm::SELF) {
        return fail(ERR_COMM, "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed");
    }
    get(handle)
}

/// Takes it from the program: attributes are deleted first.
pub(crate) fn remove(handle: standard::Comm) -> Result<()> {
    let comm = made(handle)?;
    comm.attributes.delete_all(handle.0)?;
    MADE.remove(handle.0);
    Ok(())
}

/// Says what `MPI_COMM_WORLD` and `MPI_COMM_SELF` are, once in a process. Programs have them from [`appear`] on.
pub(crate) fn begin(world: Comm, own: Comm) {
    let named = [
        (world, &WORLD, standard::Comm::WORLD, "MPI_COMM_WORLD"),
        (own, &SELF, standard::Comm::SELF, "MPI_COMM_SELF"),
    ];
    for (comm, place, handle, name) in named {
        comm.handle.store(handle.0, Ordering::Relaxed);
        *comm.name.lock().unwrap_or_else(PoisonError::into_inner) = name.into();
        place.get_or_init(|| Arc::new(comm));
    }
}

pub(crate) fn appear() {
    ARE_THERE.store(true, Ordering::Release);
}

/// They are no more.
pub(crate) fn end() {
    ARE_THERE.store(false, Ordering::Release);
}
