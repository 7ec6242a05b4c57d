//! Communicators: a group of ranks with a space of tags of their own, and tagged messages between them.
//!
//! The collectives on communicators are in `collective`, objects in `object`, pending operations in
//! `request`. Each communicator has two contexts of the protocol: even for messages of the user, odd for
//! collectives, so that neither can ever match the other.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use ringworld_protocol::{Done, Element, Envelope, Failure, Incoming, Matched, Mode, Selector, TagSelector};
use rustc_hash::FxHashMap;

use crate::buffer::{Lend, blocking};
use crate::datatype::{DType, ElementCode};
use crate::engine::{Engine, For, Topic};
use crate::numbers::Tickets;
use crate::operation::Operation;
use crate::options::Effective;
use crate::request::name_of;
use crate::schedules::Schedules;
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
    /// How many elements it has: of the type received, or bytes from a probe. [`Status::elements`] counts alike in
    /// both.
    pub count: usize,
    bytes: usize,
    element: ElementCode,
}

impl Status {
    /// Of a message that the protocol knows; `size` is that of what [`Status::count`] counts.
    fn new(source: usize, envelope: &Envelope, bytes: usize, size: usize) -> Self {
        // Tags of the user are 32 bits wide when they are sent.
        let (tag, element) = (envelope.tag as u32, envelope.element.into());
        Self { source, tag, count: bytes / size, bytes, element }
    }

    /// How many elements of type `T` it has, whether it was received or only probed; `None` when it has others, or no
    /// whole number of them, so that a receive of `T` would fail.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u64, 2], 0, 3)?;
    /// let status = world.probe(0, 3)?;
    /// assert_eq!((status.elements::<u64>(), status.elements::<f64>()), (Some(2), None));
    /// let mut buffer = vec![0u64; status.elements::<u64>().unwrap_or(0)];
    /// assert_eq!(world.recv(&mut buffer, 0, 3)?.elements::<u64>(), Some(2));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias("MPI_Get_count", "MPI_Status"))]
    pub fn elements<T: Pod>(&self) -> Option<usize> {
        let (sent, wanted) = (Element::from(self.element), ElementCode::of::<T>().into());
        let size = size_of::<T>().max(1);
        (sent.goes_into(wanted, self.bytes) && self.bytes.is_multiple_of(size)).then(|| self.bytes / size)
    }

    /// How long it is, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The type of its elements as its sender gave them: `None` when that is a type of the program's own, or when it
    /// is an object; [`DType::Bytes`] for [`crate::Raw`].
    ///
    /// ```
    /// use ringworld::DType;
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1.5f32], 0, 3)?;
    /// assert_eq!(world.probe(0, 3)?.element(), Some(DType::F32));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn element(&self) -> Option<DType> {
        self.element.dtype()
    }
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

/// Held by every handle of a communicator, whatever its options: the last one takes it along.
pub(crate) struct Life {
    shared: Arc<Shared>,
    number: u64,
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
/// and tag match; then its elements must be those of the receive, or one of the two must be [`crate::Raw`], or the
/// message empty. Two messages from one rank that match the same receive are received in the order in
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

    /// This process's rank here, from 0 to the size less one.
    #[must_use]
    #[doc(alias = "MPI_Comm_rank")]
    pub fn rank(&self) -> usize {
        self.inner.rank
    }

    /// How many ranks there are.
    #[must_use]
    #[doc(alias = "MPI_Comm_size")]
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
    #[doc(alias = "MPI_Get_processor_name")]
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
    #[doc(alias("MPI_Send", "ncclSend"))]
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
    #[doc(alias = "MPI_Ssend")]
    pub fn send_sync<T: Pod>(&self, data: &[T], to: usize, tag: u32) -> Result<()> {
        self.send_as("send_sync", data, to, tag, Mode::Synchronous)
    }

    fn send_as<T: Pod>(&self, name: &'static str, data: &[T], to: usize, tag: u32, mode: Mode) -> Result<()> {
        self.send_bytes(name, ElementCode::of::<T>(), bytemuck::cast_slice(data), to, tag, mode)
    }

    /// Sends bytes that are elements of a kind.
    pub(crate) fn send_bytes(
        &self,
        name: &'static str,
        element: ElementCode,
        bytes: &[u8],
        to: usize,
        tag: u32,
        mode: Mode,
    ) -> Result<()> {
        self.check_rank(name, to)?;
        let number = self.count_message();
        let (peer, envelope) = (self.world_rank(to), self.envelope(element, tag));
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
    /// beginning, and everything else goes on. [`Error::WrongElement`] when its elements are not of type `T`: it is
    /// consumed, `buffer` stays as it was, and everything else goes on. [`Error::InvalidRank`],
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
    #[doc(alias("MPI_Recv", "ncclRecv"))]
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
        let (lend, element) = (Lend { input: None, output: Some(bytes) }, ElementCode::of::<T>().into());
        let ending = blocking(self.engine(), lend, |core, _, output| {
            core.receive(selector, element, name_of(output), length)
        });
        let operation = Operation::Recv { name, number, from, tag };
        match ending {
            Ok(done) => self.status::<T>(done, &operation),
            Err(failure) => Err(self.error(failure, operation)),
        }
    }

    /// Receives one message, however long it is, into a vector of its own.
    ///
    /// # Errors
    ///
    /// [`Error::WrongElement`] when its elements are not of type `T`, [`Error::InvalidRank`], [`Error::PeerFinished`],
    /// [`Error::System`] when there is no memory for it, and whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::{Source, Tag};
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1.5f32, 2.5], 0, 3)?;
    /// let (data, status) = world.recv_vec::<f32>(Source::Any, Tag::Any)?;
    /// assert_eq!((data, status.source), (vec![1.5, 2.5], 0));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Mprobe", "MPI_Get_count", "MPI_Mrecv"))]
    pub fn recv_vec<T: Pod>(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<(Vec<T>, Status)> {
        let (name, from, tag) = ("recv_vec", from.into(), tag.into());
        let number = self.count_message();
        let received = self.probe_matched(from, tag).and_then(Message::recv_vec);
        received.map_err(|error| error.of_call(Operation::Recv { name, number, from, tag }.to_string()))
    }

    /// Waits until a message has come that [`Communicator::recv`] would take, and leaves it there. Its
    /// [`Status::count`] is in bytes; use [`Status::elements`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`], and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u64, 2], 0, 3)?;
    /// let status = world.probe(0, 3)?;
    /// let mut buffer = vec![0u64; status.elements::<u64>().unwrap_or(0)];
    /// world.recv(&mut buffer, status.source, status.tag)?;
    /// assert_eq!(buffer, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Probe")]
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let (name, from, tag) = ("probe", from.into(), tag.into());
        let selector = self.selector(name, from, tag)?;
        let number = self.count_message();
        let found = self.engine().wait_until(
            For::Topic(Topic::Message(selector.context)),
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
    #[doc(alias = "MPI_Iprobe")]
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
    /// let mut buffer = vec![0u64; message.status().elements::<u64>().unwrap_or(0)];
    /// message.recv(&mut buffer)?;
    /// assert_eq!(buffer, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Mprobe", "MPI_Mrecv"))]
    pub fn probe_matched(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Message> {
        let (name, from, tag) = ("probe_matched", from.into(), tag.into());
        let selector = self.selector(name, from, tag)?;
        let number = self.count_message();
        let found = self.engine().wait_until(
            For::Topic(Topic::Message(selector.context)),
            |core| core.take(&selector).map(Ok).or_else(|| core.ended(&selector).map(Err)),
            |_| from.to_string(),
        );
        found
            .map(|matched| self.message(matched))
            .map_err(|failure| self.error(failure, Operation::Recv { name, number, from, tag }))
    }

    /// What a matched probe gives.
    pub(crate) fn message(&self, matched: Matched) -> Message {
        let status = self.incoming_status(&matched.incoming);
        Message { communicator: self.clone(), handle: Some(matched.handle), status }
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
    #[doc(alias = "MPI_Improbe")]
    pub fn try_probe_matched(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Message>> {
        let (from, tag) = (from.into(), tag.into());
        let selector = self.selector("try_probe_matched", from, tag)?;
        let mut core = self.engine().lock();
        core.progress();
        if let Some(matched) = core.take(&selector) {
            return Ok(Some(self.message(matched)));
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
    #[doc(alias = "MPI_Abort")]
    pub fn abort(&self, code: i32) -> ! {
        self.abort_with(code, "abort was called")
    }

    /// The same, with a reason that the others' errors quote; of a long one its first few KiB.
    #[doc(alias = "MPI_Abort")]
    pub fn abort_with(&self, code: i32, reason: impl AsRef<str>) -> ! {
        self.inner.shared.plane.abort(code, reason.as_ref());
        std::process::exit(ringworld_bootstrap::exit_status(code).into())
    }

    // ---- shared by the calls ---------------------------------------------------------------------------

    pub(crate) fn count_message(&self) -> u64 {
        self.inner.messages.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn envelope(&self, element: ElementCode, tag: u32) -> Envelope {
        let (context, element) = (self.inner.number * 2, element.into());
        Envelope { context, element, tag: u64::from(tag), stamp: [0; 24] }
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
        let nothing = Done { source: 0, envelope: self.envelope(DType::Bytes.into(), 0), len: 0, arrival: 0 };
        let Done { source, envelope, len, .. } = done.unwrap_or(nothing);
        let size = size_of::<T>().max(1);
        if !len.is_multiple_of(size) {
            let sent = envelope.element.into();
            return Err(self.wrong_element(
                operation,
                source,
                envelope.tag,
                len,
                sent,
                ElementCode::of::<T>(),
            ));
        }
        Ok(Status::new(self.rank_of(source), &envelope, len, size))
    }

    fn incoming_status(&self, incoming: &Incoming) -> Status {
        Status::new(self.rank_of(incoming.source), &incoming.envelope, incoming.len, 1)
    }

    fn wrong_element(
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
                let fault = self.engine().lock().fault().cloned();
                match fault {
                    Some(fault) => self.engine().fault_error(fault, operation),
                    // The world is at its end, which has dropped what this call asks for.
                    None if other == Failure::Aborted => {
                        self.engine().fault_error(crate::error::Fault::Finalized, operation)
                    }
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
    /// What is known of it; [`Status::count`] is in bytes, and [`Status::elements`] counts elements.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives it into the beginning of `buffer`.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::recv`].
    #[doc(alias("MPI_Mprobe", "MPI_Mrecv"))]
    pub fn recv<T: Pod>(self, buffer: &mut [T]) -> Result<Status> {
        self.recv_as(ElementCode::of::<T>(), buffer)
    }

    /// Receives it into a vector of its length.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::recv_vec`].
    #[doc(alias("MPI_Mprobe", "MPI_Get_count", "MPI_Mrecv"))]
    pub fn recv_vec<T: Pod>(self) -> Result<(Vec<T>, Status)> {
        let bytes = self.status.count;
        // What is no whole number of elements is refused by the receive, which then says so.
        let length = bytes.div_ceil(size_of::<T>().max(1));
        let mut elements = Vec::new();
        elements.try_reserve_exact(length).map_err(|error| Error::System {
            operation: format!("recv_vec of a message of {bytes} bytes from rank {}", self.status.source),
            cause: error.to_string(),
        })?;
        elements.resize(length, T::zeroed());
        let status = self.recv(&mut elements)?;
        elements.truncate(status.count);
        Ok((elements, status))
    }

    /// Receives it as elements of a kind.
    pub(crate) fn recv_as<T: Pod>(mut self, element: ElementCode, buffer: &mut [T]) -> Result<Status> {
        let communicator = self.communicator.clone();
        let Some(handle) = self.handle.take() else {
            return Err(Error::Cancelled { operation: "recv of a matched message".into() });
        };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer);
        let length = bytes.len();
        let lend = Lend { input: None, output: Some(bytes) };
        let ending = blocking(communicator.engine(), lend, |core, _, output| {
            core.receive_matched(handle, element.into(), name_of(output), length)
        });
        let Status { source, tag, .. } = self.status;
        let operation = format!("recv of a matched message (from rank {source}, tag {tag})");
        match ending {
            Ok(done) => communicator.status::<T>(done, &operation),
            Err(failure) => Err(communicator.error(failure, operation)),
        }
    }
}

impl Message {
    pub(crate) fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// The message itself, which the holder of this receives or drops.
    pub(crate) fn take_handle(&mut self) -> Option<ringworld_protocol::MatchedId> {
        self.handle.take()
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.communicator.engine().release(handle);
        }
    }
}
