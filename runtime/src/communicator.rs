//! Communicators: a group of ranks with a space of tags of their own, and tagged messages between them.
//!
//! The collectives on communicators are in `collective`, objects in `object`, pending operations in
//! `request`. Each communicator has two contexts of the protocol: even for messages of the user, odd for
//! collectives, so that neither can ever match the other.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use ringworld_collectives::Schedule;
use ringworld_protocol::{Done, Envelope, Failure, Mode, Selector, TagSelector};
use rustc_hash::FxHashMap;

use crate::buffer::{Lend, blocking};
use crate::engine::Engine;
use crate::numbers::Tickets;
use crate::operation::Operation;
use crate::options::Effective;
use crate::request::name_of;
use crate::{Error, Result};

/// Whose messages to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Those of any rank of the communicator.
    Any,
    /// Those of this rank only.
    Rank(usize),
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

/// Which messages to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Those with any tag.
    Any,
    /// Those with this tag only.
    Value(u32),
}

impl Tag {
    /// The largest tag: the whole range of `u32` is the user's.
    pub const MAX: u32 = u32::MAX;
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Self::Value(tag)
    }
}

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Who sent it: a rank of the communicator.
    pub source: usize,
    /// Its tag.
    pub tag: u32,
    /// How many elements it has: of the type received, or bytes from a probe.
    pub count: usize,
}

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
    pub(crate) tickets: Tickets,
}

pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    /// Agreed among the members; contexts are twice this, and one more for collectives.
    pub(crate) number: u32,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// World ranks by rank here; `None`: they are the same.
    pub(crate) group: Option<Arc<[usize]>>,
    /// Ranks here by world rank; empty: they are the same.
    pub(crate) by_world: FxHashMap<usize, usize>,
    pub(crate) messages: AtomicU64,
    pub(crate) options: Arc<Effective>,
    /// Looked up in every call, and no peer chooses the keys: the default hasher took a quarter of what a call
    /// costs besides its messages (700 of 2,900 instructions).
    pub(crate) schedules: Mutex<FxHashMap<ringworld_collectives::Request, Arc<Schedule>>>,
    life: Arc<Life>,
}

/// Held by every handle of a communicator, whatever its options: the last one takes it along.
pub(crate) struct Life {
    shared: Arc<Shared>,
    number: u32,
}

impl Drop for Life {
    /// Only leaves a note: what holds the last clone may be dropped by a thread that has the engine's lock,
    /// such as a closure that is an operation.
    fn drop(&mut self) {
        self.shared.tickets.dropped([self.number]);
    }
}

/// A group of ranks that exchange messages and take part in collectives.
///
/// Cheap to clone, and every method may be called from any thread. Collectives on one communicator must
/// be called in the same order on all its ranks; different communicators are independent.
///
/// Messages are typed slices of [`Pod`] elements. A message matches a receive when communicator, source
/// and tag match; two messages from one rank that match the same receive are received in the order in
/// which they were sent.
#[derive(Clone)]
pub struct Communicator {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Communicator({}: rank {} of {})", self.inner.number, self.rank(), self.size())
    }
}

impl Communicator {
    pub(crate) fn new(
        shared: Arc<Shared>,
        number: u32,
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

    /// This process's rank here, from 0 to the size less one.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.inner.rank
    }

    /// How many ranks there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inner.size
    }

    /// This process's number among the ranks of the *world* on its host, from 0; the same on every
    /// communicator. It says which of the host's devices to use. For the place among the ranks of this
    /// communicator, use the rank in [`Communicator::split_by_host`].
    #[must_use]
    pub fn local_rank(&self) -> usize {
        self.inner.shared.local_rank
    }

    /// How many ranks of the *world* run on this host; the same on every communicator. For those of this
    /// communicator, use the size of [`Communicator::split_by_host`].
    #[must_use]
    pub fn local_size(&self) -> usize {
        self.inner.shared.local_size
    }

    /// The host that `rank` runs on.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`Communicator::size`].
    #[must_use]
    pub fn host(&self, rank: usize) -> &str {
        &self.engine().hosts()[self.world_rank(rank)]
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.shared.engine
    }

    pub(crate) fn world_rank(&self, rank: usize) -> usize {
        self.inner.group.as_ref().map_or(rank, |group| group[rank])
    }

    fn rank_of(&self, world: usize) -> usize {
        self.inner.by_world.get(&world).copied().unwrap_or(world)
    }

    /// Sends `data` to rank `to` with `tag`, and returns when `data` can be used again.
    ///
    /// The message may then still be on its way; it arrives even if this rank leaves the world at once.
    /// A receiver that does not receive holds the sender back sooner or later, so two ranks that both
    /// send much before they receive may wait for each other for ever: use [`Communicator::start_send`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; [`Error::PeerFinished`] when the receiver has left; and whatever ends the
    /// world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u32; 2], 0, 7)?;
    /// world.send(&[1u32, 2], 0, 7)?;
    /// let (data, status) = pending.wait()?;
    /// assert_eq!((data, status.tag), (vec![1, 2], 7));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn send<T: Pod>(&self, data: &[T], to: usize, tag: u32) -> Result<()> {
        self.send_as("send", data, to, tag, Mode::Standard)
    }

    /// Like [`Communicator::send`], but returns only when the receiver has begun to receive the message.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::send`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u8; 1], 0, 0)?;
    /// world.send_sync(&[9u8], 0, 0)?;
    /// assert_eq!(pending.wait()?.0, [9]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn send_sync<T: Pod>(&self, data: &[T], to: usize, tag: u32) -> Result<()> {
        self.send_as("send_sync", data, to, tag, Mode::Synchronous)
    }

    fn send_as<T: Pod>(&self, name: &'static str, data: &[T], to: usize, tag: u32, mode: Mode) -> Result<()> {
        self.check_rank(name, to)?;
        let number = self.count_message();
        let (peer, envelope) = (self.world_rank(to), self.envelope(tag));
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let length = bytes.len();
        let lend = Lend { input: Some(bytes), output: None };
        let ending = blocking(self.engine(), lend, |core, input, _| {
            core.send_now(peer, envelope, name_of(input), length, mode)
        });
        ending.map(drop).map_err(|failure| self.error(failure, Operation::Send { name, number, to, tag }))
    }

    /// Receives one message into the beginning of `buffer`, and says what came.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the message is longer than `buffer`: it is consumed, `buffer` holds its
    /// beginning, and everything else goes on. [`Error::WrongElement`], [`Error::InvalidRank`],
    /// [`Error::PeerFinished`], and whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::{Source, Tag};
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1.5f32], 0, 3)?;
    /// let mut buffer = [0f32; 4];
    /// let status = world.recv(&mut buffer, Source::Any, Tag::Any)?;
    /// assert_eq!((status.source, status.tag, status.count, buffer[0]), (0, 3, 1, 1.5));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn recv<T: Pod>(
        &self,
        buffer: &mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        let (name, from, tag) = ("recv", from.into(), tag.into());
        let number = self.count_message();
        let selector = self.selector(name, from, tag)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer);
        let length = bytes.len();
        let lend = Lend { input: None, output: Some(bytes) };
        let ending =
            blocking(self.engine(), lend, |core, _, output| core.receive(selector, name_of(output), length));
        let operation = Operation::Recv { name, number, from, tag };
        match ending {
            Ok(done) => self.status::<T>(done, &operation),
            Err(failure) => Err(self.error(failure, operation)),
        }
    }

    /// Waits until a message has come that [`Communicator::recv`] would take, and leaves it there. Its
    /// [`Status::count`] is in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`], and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u64, 2], 0, 3)?;
    /// let status = world.probe(0, 3)?;
    /// let mut buffer = vec![0u64; status.count / 8];
    /// world.recv(&mut buffer, status.source, status.tag)?;
    /// assert_eq!(buffer, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let (name, from, tag) = ("probe", from.into(), tag.into());
        let selector = self.selector(name, from, tag)?;
        let number = self.count_message();
        let found = self.engine().wait_until(
            &[],
            |core| core.probe(&selector).map(Ok).or_else(|| core.ended(&selector).map(Err)),
            |_| from.to_string(),
        );
        found
            .map(|incoming| self.incoming_status(&incoming))
            .map_err(|failure| self.error(failure, Operation::Recv { name, number, from, tag }))
    }

    /// Like [`Communicator::probe`], but does not wait: `None` when no such message has come yet.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::probe`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// assert_eq!(world.try_probe(0, 3)?, None);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn try_probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        let (from, tag) = (from.into(), tag.into());
        let selector = self.selector("try_probe", from, tag)?;
        let mut core = self.engine().lock();
        core.progress();
        if let Some(incoming) = core.probe(&selector) {
            return Ok(Some(self.incoming_status(&incoming)));
        }
        match core.fault().cloned() {
            None => Ok(None),
            Some(fault) => {
                drop(core);
                let operation = Operation::Recv { name: "try_probe", number: 0, from, tag };
                Err(self.engine().fault_error(fault, operation.to_string()))
            }
        }
    }

    /// Waits for a message like [`Communicator::probe`] and sets it aside, so that no other thread can
    /// receive it.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::probe`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u64, 2], 0, 3)?;
    /// let message = world.probe_matched(0, 3)?;
    /// let mut buffer = vec![0u64; message.status().count / 8];
    /// message.recv(&mut buffer)?;
    /// assert_eq!(buffer, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn probe_matched(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Message> {
        let (from, tag) = (from.into(), tag.into());
        loop {
            self.probe(from, tag)?;
            // Another thread may have been faster.
            if let Some(message) = self.try_probe_matched(from, tag)? {
                return Ok(message);
            }
        }
    }

    /// Like [`Communicator::probe_matched`], but does not wait.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::probe`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// assert!(world.try_probe_matched(0, 3)?.is_none());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn try_probe_matched(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Message>> {
        let (from, tag) = (from.into(), tag.into());
        let selector = self.selector("try_probe_matched", from, tag)?;
        let mut core = self.engine().lock();
        core.progress();
        if let Some(matched) = core.take(&selector) {
            let status = self.incoming_status(&matched.incoming);
            return Ok(Some(Message { communicator: self.clone(), handle: Some(matched.handle), status }));
        }
        match core.fault().cloned() {
            None => Ok(None),
            Some(fault) => {
                drop(core);
                let operation = Operation::Recv { name: "try_probe_matched", number: 0, from, tag };
                Err(self.engine().fault_error(fault, operation.to_string()))
            }
        }
    }

    /// Takes the whole world down: every other rank's calls end with [`Error::Aborted`], and this process
    /// exits with `code`. The launcher ends all ranks and returns `code` as well.
    ///
    /// The others' errors have `code` as it is. An exit status has only its low byte, as always, and is 1 where that
    /// is 0: a job that was given up is no success.
    pub fn abort(&self, code: i32) -> ! {
        self.inner.shared.plane.abort(code, "abort was called");
        std::process::exit(ringworld_bootstrap::exit_status(code).into())
    }

    // ---- shared by the calls ---------------------------------------------------------------------------

    pub(crate) fn count_message(&self) -> u64 {
        self.inner.messages.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn envelope(&self, tag: u32) -> Envelope {
        Envelope { context: self.inner.number * 2, tag: u64::from(tag), stamp: [0; 24] }
    }

    pub(crate) fn selector(&self, name: &str, from: Source, tag: Tag) -> Result<Selector> {
        let source = match from {
            // Nobody else can send here, so it does not matter when all other ranks have left the world.
            Source::Any if self.size() == 1 => Some(self.world_rank(0)),
            Source::Any => None,
            Source::Rank(rank) => {
                self.check_rank(name, rank)?;
                Some(self.world_rank(rank))
            }
        };
        let tag = match tag {
            Tag::Any => TagSelector::Any,
            Tag::Value(tag) => TagSelector::Exact(u64::from(tag)),
        };
        Ok(Selector { context: self.inner.number * 2, source, tag })
    }

    pub(crate) fn check_rank(&self, name: &str, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        Err(Error::InvalidRank { operation: name.into(), given: rank, size: self.size() })
    }

    pub(crate) fn status<T: Pod>(&self, done: Option<Done>, operation: &dyn fmt::Display) -> Result<Status> {
        let element = size_of::<T>().max(1);
        let (source, tag, bytes) =
            done.map_or((0, 0, 0), |done| (self.rank_of(done.source), done.envelope.tag, done.len));
        if bytes % element != 0 {
            return Err(Error::WrongElement { operation: operation.to_string(), bytes, element });
        }
        // Tags of the user are 32 bits wide when they are sent.
        Ok(Status { source, tag: tag as u32, count: bytes / element })
    }

    fn incoming_status(&self, incoming: &ringworld_protocol::Incoming) -> Status {
        Status {
            source: self.rank_of(incoming.source),
            tag: incoming.envelope.tag as u32,
            count: incoming.len,
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
                let fault = self.engine().lock().fault().cloned();
                match fault {
                    Some(fault) => self.engine().fault_error(fault, operation),
                    None => Error::System { operation, cause: other.to_string() },
                }
            }
        }
    }
}

/// A message that a matched probe has set aside for its holder. Dropped unreceived, it is discarded.
#[derive(Debug)]
pub struct Message {
    communicator: Communicator,
    /// `None` once received.
    handle: Option<ringworld_protocol::MatchedId>,
    status: Status,
}

impl Message {
    /// What is known of it; [`Status::count`] is in bytes.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives it into the beginning of `buffer`.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::recv`].
    pub fn recv<T: Pod>(mut self, buffer: &mut [T]) -> Result<Status> {
        let communicator = self.communicator.clone();
        let Some(handle) = self.handle.take() else {
            return Err(Error::Cancelled { operation: "recv of a matched message".into() });
        };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer);
        let length = bytes.len();
        let lend = Lend { input: None, output: Some(bytes) };
        let ending = blocking(communicator.engine(), lend, |core, _, output| {
            core.receive_matched(handle, name_of(output), length)
        });
        let Status { source, tag, .. } = self.status;
        let operation = format!("recv of a matched message (from rank {source}, tag {tag})");
        match ending {
            Ok(done) => communicator.status::<T>(done, &operation),
            Err(failure) => Err(communicator.error(failure, operation)),
        }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.communicator.engine().lock().release(handle);
        }
    }
}
