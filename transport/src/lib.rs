//! The transport interface: the [`Transport`] trait between ringworld and any wire, and everything that crosses it.
//!
//! This crate knows nothing of tags, collectives, environment variables or configuration. A transport
//! moves bytes between ranks, reliably and first-in-first-out per ordered pair, and that is all. The
//! runtime above decides *what* to move; the transport decides *how*.
//!
//! # The contract
//!
//! **Two ways to move bytes.** A *message* is a small header (at most [`MAX_HEADER`] bytes) with a
//! payload; the receiver has promised nothing, so the runtime keeps messages small by credits. A *put*
//! writes into memory that the receiver has exposed: a frame with an id on TCP, an RDMA write on
//! verbs, a copy into a mapped segment on shared memory.
//!
//! **Order.** Messages from one rank to another arrive in the order in which they were posted. Puts
//! are ordered neither among themselves nor with messages; an exposure is *filled* when every byte of
//! it has been written.
//!
//! **Exactly once.** An operation that [`Transport::post`] accepted completes exactly once: by the
//! return value [`Posted::Complete`], by [`Event::Sent`], or by the one [`Event::PeerDown`] of its
//! peer. The same holds for exposures ([`Event::Filled`]) and placements ([`Event::Received`]; what is delivered whole
//! has neither). After
//! `PeerDown` of a peer nothing more is reported for it and all memory of its operations is free.
//!
//! **Refusal hands back.** A refused operation comes back inside [`Refused`], unchanged. `Busy` means:
//! poll, then try again.
//!
//! **Nobody blocks.** `post`, `poll`, `connect`, `expose` and `close` never wait. `post` should write
//! at once when the wire is free: a small message is one system call. To sleep, call
//! [`Transport::arm`] and, if it answers `true`, wait until [`Transport::wait_fd`] is readable. Several threads
//! may wait so at once, of which each armed when it began. Whoever posts or polls while others sleep takes over
//! for them: before it goes its way it arms once more, and wakes them by other means when the answer is `false`. A
//! transport whose `arm` said `true` wakes all who wait on the descriptor, whoever asked last. A caller
//! that says it will poll soon ([`Transport::post_coalesced`]) lets small messages leave together instead.
//!
//! **One question upward.** While polling, and only then, a transport asks its [`Placer`] where the
//! payload of an arriving message should go, once per message, as soon as the header is known and in
//! the order of arrival. That lets TCP read into the user's buffer and lets matching happen in order.
//! The placed memory may be shorter than the payload; the rest is read and discarded. A message of which the payload is
//! there already, as a short one mostly is, a transport may [deliver](Placer::deliver) whole instead: that is one step
//! where placing, copying and reporting are three.
//!
//! **Connections are lazy.** `connect` makes a peer's address known; a transport may open its
//! connection at first use, from either side.
//!
//! **The first message waits for nobody.** The receiver's program may be busy with something else for a long time, and
//! a connection takes its answer. So while there is none, a message of up to [`PROMPT`] bytes completes without
//! the receiver's help all the same: the transport takes it over into memory of its own, and sends it in its turn when
//! the connection stands. It does so as long as what it keeps for that peer is less than [`KEPT`] bytes; the runtime
//! bounds that too, by the credits it has with each peer. What was kept is an accepted operation like any other:
//! [`Transport::close`] delivers it, [`Transport::abort`] and [`Event::PeerDown`] drop it. Its sender takes
//! it for sent, so before that `PeerDown` comes [`Event::Undelivered`]. The sender may have gone on to compute, and the
//! connection needs polls of both sides: [`Transport::owes`] tells that they are still needed here. A side that closes
//! goes on with the connections that others have begun to it.
//!
//! **Memory.** [`SendMemory`] and [`RecvMemory`] are spans of somebody else's memory, promised by an
//! `unsafe` constructor to stay valid until the operation completes. Dropping one is always safe and
//! never frees anything. A transport drops it exactly when neither it nor a device will touch the memory again, and not
//! later than it reports the end of the operation: the owner may watch that by a [`Lease`], and frees nothing before.
//!
//! **Registered regions.** Some wires pin memory before a device may touch it: a system call, and work for every page.
//! Whoever uses the same memory for many transfers [registers](Transport::register) it once. A [`Region`] grants no
//! access: what is read or written is still said by operations, each with its own memory. An operation whose memory
//! lies wholly within a registered region uses that region's registration, if it needs one. A transport finds this out
//! by address, and may, because whoever registers a region promises to keep it allocated: that is the difference to a
//! cache, which cannot know that memory was freed and lent out again for something else. [`Transport::deregister`] may
//! be called while operations on the region are under way: they end as they would have, and the registration ends with
//! the last of them at the latest. The key of an exposure in a registered region may let its peer write to *all* of the
//! region, and until the region is deregistered, not only until [`Event::Filled`]: ranks trust each other to write only
//! what they were asked for. Memory that is not registered is open to a peer for as long as it is exposed, and no
//! wider.
//!
//! **Showing.** Where ranks share memory, a short message to several of them need be written only once. A transport may
//! let a rank [show](Transport::show) a few bytes to several peers, under a number in a channel; whoever wants them
//! [looks](Transport::shown). What is shown is no message: nobody is asked where it goes, it is in no order with
//! anything else, and it stays until all to whom anything was shown in that channel have [passed](Transport::pass) its
//! number. Nobody has to wait for that: a rank that cannot show something sends messages instead, so whoever looks must
//! be ready for either. What has been shown can be looked at after its owner has closed in good order. A rank that
//! sleeps is woken when something is shown to it, as if a message had come. *A rank that passes a number and a rank
//! that shows something under it at the same time*: one of the two notices. Either it is told that it is not sure to be
//! seen ([`Showing::Unsure`]), or whoever looks after [`Transport::pass`] finds it.
//!
//! **Closing.** [`Transport::close`] begins an orderly end: everything accepted is still delivered,
//! then each connected peer is told, and once all have acknowledged, [`Event::Closed`] is reported.
//! The peer sees [`Event::PeerClosed`] after everything that was sent to it, and acknowledges by
//! itself while it polls. [`Transport::abort`] drops everything at once and frees all memory. After `Closed`, and when
//! `abort` returns, no region is registered any more.

#![deny(unsafe_code)]

mod address;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod copying;
pub mod descriptor;
mod error;
pub mod lifecycle;
pub mod log;
pub mod loopback;
mod memory;
pub mod puts;
mod rank;
pub mod shortage;
pub mod watched;

pub use address::Address;
pub use error::{Cause, ConnectError};
pub use memory::{Lease, RecvMemory, Region, RemoteKey, SendMemory};
pub use rank::Rank;

/// The longest header of a message, in bytes.
pub const MAX_HEADER: usize = 96;

/// The longest payload, in bytes, of a message that completes without its receiver's help before there is a connection.
///
/// As long as the messages that the runtime sends without asking where it has not been told otherwise.
pub const PROMPT: usize = 256 << 10;

/// Bytes of messages that a transport keeps for one peer until there is a connection, headers included; further ones
/// wait in the memory of their sender.
pub const KEPT: usize = 4 << 20;

/// A name that the caller gives to an operation and gets back when it completes.
///
/// A transport never interprets it. Sends, placements and exposures are separate name spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// A region that a transport has registered. No transport gives a name twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u64);

/// The header of a message: up to [`MAX_HEADER`] bytes, held in place so that posting allocates nothing.
#[derive(Clone, Copy)]
pub struct Header {
    length: u8,
    bytes: [u8; MAX_HEADER],
}

impl Header {
    /// Copies `bytes` into a header; `None` when there are more than [`MAX_HEADER`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut header = Self { length: u8::try_from(bytes.len()).ok()?, bytes: [0; MAX_HEADER] };
        header.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(header)
    }

    /// A header that is written in place: `write` gets its room, and says how many bytes of that it has written.
    ///
    /// ```
    /// use ringworld_transport::Header;
    /// let header = Header::written(|room| {
    ///     room[..3].copy_from_slice(b"abc");
    ///     3
    /// });
    /// assert_eq!(header.as_bytes(), b"abc");
    /// ```
    #[must_use]
    #[inline]
    pub fn written(write: impl FnOnce(&mut [u8; MAX_HEADER]) -> usize) -> Self {
        let mut header = Self { length: 0, bytes: [0; MAX_HEADER] };
        header.length = write(&mut header.bytes).min(MAX_HEADER) as u8;
        header
    }

    /// The bytes given to [`Header::new`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Header({:02x?})", self.as_bytes())
    }
}

/// What a transport can do and roughly how well; stated once, never discovered by a failing call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// Short name, as in `RINGWORLD_TRANSPORT`: `tcp`, `shm`, `ibverbs`, `sim`, `self`.
    pub name: &'static str,
    /// The longest payload of a message, in bytes.
    pub max_message: usize,
    /// Payloads up to this many bytes are copied by `post`, which then always returns [`Posted::Complete`]
    /// if it accepts; 0 when the transport never promises that.
    pub inline: usize,
    /// Messages with payloads up to this many bytes may be [injected](Transport::inject), and are most often
    /// [delivered](Placer::deliver_from) whole; 0 when none.
    pub inject: usize,
    /// Several short messages to one peer cost less together than one by one, so those that nobody waits for are better
    /// [coalesced](Transport::post_coalesced) than injected.
    pub coalesces: bool,
    /// The longest payload that may be [shown](Transport::show); 0 when nothing can.
    pub show: usize,
    /// Exposing memory is costly (pinning): memory of many transfers is worth [registering](Transport::register).
    pub costly_exposure: bool,
    /// Estimated one-way latency of a small message, in nanoseconds.
    pub latency_ns: u64,
    /// Estimated bandwidth, in bytes per microsecond (which is also MB/s).
    pub bytes_per_us: u64,
}

impl Capabilities {
    /// Capabilities of a transport called `name`, with modest defaults; set the fields that differ.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            max_message: usize::MAX,
            inline: 0,
            inject: 0,
            show: 0,
            coalesces: false,
            costly_exposure: false,
            latency_ns: 10_000,
            bytes_per_us: 1_000,
        }
    }
}

/// What tells whoever looks what it is that is [shown](Transport::show).
pub type Label = [u8; 24];

/// What has come of [`Transport::show`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Showing {
    /// Nothing is shown.
    Not,
    /// Nothing is shown, for somebody has not passed what it would replace: once that is so, it can be.
    Full,
    /// It is there for all.
    Done,
    /// It is there, and one of those to whom it is shown has passed the number: after it has looked, most often; but
    /// maybe before, and then it will not.
    Unsure,
}

/// Something that is [shown](Transport::show).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What it is.
    pub label: Label,
    /// How many bytes.
    pub length: usize,
}

/// Something to move.
#[derive(Debug)]
pub enum Operation {
    /// A header and a payload, delivered in order; the receiver is asked where the payload goes.
    Message {
        /// The receiver.
        peer: Rank,
        /// Travels in front of the payload.
        header: Header,
        /// May be empty.
        payload: SendMemory,
        /// Comes back in [`Event::Sent`].
        token: Token,
    },
    /// Bytes into memory that the receiver has exposed.
    Put {
        /// The rank that exposed the memory.
        peer: Rank,
        /// What [`Transport::expose`] returned there.
        key: RemoteKey,
        /// Where in the exposed memory the payload begins, in bytes.
        offset: usize,
        /// Not empty; must fit behind `offset`.
        payload: SendMemory,
        /// Comes back in [`Event::Sent`].
        token: Token,
    },
}

impl Operation {
    /// The rank this operation is for.
    #[must_use]
    pub fn peer(&self) -> Rank {
        match self {
            Self::Message { peer, .. } | Self::Put { peer, .. } => *peer,
        }
    }
}

/// How an accepted operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Posted {
    /// Done already: the memory is the caller's again and no [`Event::Sent`] will follow.
    Complete,
    /// [`Event::Sent`] will follow.
    Pending,
}

/// Why an operation was not accepted, with the operation itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refused {
    /// No room just now; poll and try again.
    Busy(Operation),
    /// The peer is down or has closed; nothing will ever be accepted for it again.
    PeerDown(Operation, Cause),
    /// No address of this peer was given to [`Transport::connect`].
    Unknown(Operation),
    /// The operation itself is impossible: a payload above `max_message`, a key of another transport.
    Invalid(Operation, &'static str),
}

/// What happened since the last poll.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The operation has left; its memory is the caller's again.
    Sent {
        /// The token of the operation.
        token: Token,
    },
    /// A message has arrived completely in the memory that the [`Placer`] gave.
    Received {
        /// The sender.
        peer: Rank,
        /// The token of the placement.
        token: Token,
    },
    /// Every byte of an exposure has been written; the memory is the caller's again.
    Filled {
        /// The token of the exposure.
        token: Token,
    },
    /// Messages for the peer that were complete for whoever posted them will never leave: they were kept for a
    /// connection that has not come to stand. Reported before the [`Event::PeerDown`] that drops them.
    Undelivered {
        /// Who.
        peer: Rank,
    },
    /// The peer is gone or out of reach. Ends every operation, placement and exposure of that peer.
    PeerDown {
        /// Who.
        peer: Rank,
        /// Why.
        cause: Cause,
    },
    /// The peer has closed in good order: everything it sent has been reported before this.
    PeerClosed {
        /// Who.
        peer: Rank,
    },
    /// [`Transport::close`] has finished: every peer has acknowledged.
    Closed,
    /// This process cannot go on with this transport for want of something that only it lacks, such as descriptors; no
    /// peer is to blame. Reported once, and only when waiting has not helped. It ends no operation: whoever hears it
    /// should tell the others, and [abort](Transport::abort).
    Broken {
        /// What is missing, how much of it is needed, and what to do, in words.
        cause: String,
    },
}

/// Where the payload of an arriving message goes.
#[derive(Debug)]
pub struct Placement {
    /// Comes back in [`Event::Received`].
    pub token: Token,
    /// May be empty or shorter than the payload; what does not fit is discarded.
    pub memory: RecvMemory,
}

/// The one question that a transport asks the runtime.
pub trait Placer {
    /// A message's header has arrived from `peer`, with `length` bytes of payload to follow.
    ///
    /// # Errors
    ///
    /// A reason when the header makes no sense. The transport then takes the connection down with
    /// [`Cause::Protocol`].
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String>;

    /// All of a message has arrived from `peer`, header and payload, and lies in memory of the transport: takes it, in
    /// place of [`Placer::place`] and of the [`Event::Received`] that would follow.
    ///
    /// Provided by means of [`Placer::deliver_from`], for payloads that are short, as those are that lie so. A placer
    /// that takes the payload itself reports nothing.
    ///
    /// # Errors
    ///
    /// As for [`Placer::place`].
    fn deliver(
        &mut self,
        peer: Rank,
        header: &[u8],
        payload: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        let copy = &mut |into: &mut [u8]| into.copy_from_slice(&payload[..into.len()]);
        self.deliver_from(peer, header, payload.len(), copy, events)
    }

    /// The same of a message whose `length` bytes of payload lie where only the transport reaches them. `copy` copies
    /// the first of them, as many as it is given room for, which is no more than there are; it is called at most once.
    ///
    /// Provided by means of [`Placer::place`]. A placer that copies the payload itself reports nothing.
    ///
    /// # Errors
    ///
    /// As for [`Placer::place`].
    fn deliver_from(
        &mut self,
        peer: Rank,
        header: &[u8],
        length: usize,
        copy: &mut dyn FnMut(&mut [u8]),
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        let Placement { token, mut memory } = self.place(peer, header, length)?;
        let room = memory.len().min(length);
        copy(&mut memory.as_mut_slice()[..room]);
        events.push(Event::Received { peer, token });
        Ok(())
    }

    /// All of a message has arrived from `peer` in the memory that [`Placer::place`] gave, which has been given back:
    /// takes note of that now, in place of the [`Event::Received`] that would tell after the poll, and with it may
    /// [have enough](Placer::has_enough).
    ///
    /// Provided: reports the event. A placer that takes note itself reports nothing. A transport may as well report
    /// the event itself.
    fn arrived(&mut self, peer: Rank, token: Token, events: &mut Vec<Event>) {
        events.push(Event::Received { peer, token });
    }

    /// Whether the caller of [`Transport::poll`] has what it polled for, and is better off going on at once than when
    /// the poll takes in what came behind it. A transport to which it makes a difference asks after each delivery, and
    /// may then leave the rest to the next poll: that finds it, and [`Transport::arm`] knows of it.
    fn has_enough(&self) -> bool {
        false
    }
}

/// A wire. See the [crate documentation](crate) for the contract that every implementation keeps, and
/// `conformance` (feature of the same name) for the tests that hold it to that.
pub trait Transport: Send {
    /// What this transport can do. Constant for its whole life.
    fn capabilities(&self) -> &Capabilities;

    /// Where others reach this transport: bytes that only the same transport elsewhere understands.
    fn address(&self) -> Address;

    /// Makes known where `peer` is reached. A connection may be opened now or at first use.
    ///
    /// # Errors
    ///
    /// When the address cannot be understood or this peer cannot be reached by this transport at all;
    /// a peer that merely does not answer is reported later by [`Event::PeerDown`].
    fn connect(&mut self, peer: Rank, address: &Address) -> Result<(), ConnectError>;

    /// Accepts an operation or hands it back.
    ///
    /// # Errors
    ///
    /// See [`Refused`]; every refusal contains the operation.
    fn post(&mut self, operation: Operation) -> Result<Posted, Refused>;

    /// Like [`Transport::post`], from a caller that will poll soon: bytes may stay here until the next poll, so
    /// that several small messages to one peer can leave together. Order is the same as if all were posted.
    ///
    /// # Errors
    ///
    /// As for [`Transport::post`].
    fn post_coalesced(&mut self, operation: Operation) -> Result<Posted, Refused> {
        self.post(operation)
    }

    /// Sends a short message if this transport can take all of it over at once, and says whether it has: then it is an
    /// accepted operation that is complete, and nothing follows. Order is the same as if all were posted. `false`:
    /// nothing has happened, whatever the reason, and the message has to be posted, which says why.
    ///
    /// For a caller with memory that nobody has promised anything about: it is read during the call only. At most as
    /// many bytes as [`Capabilities::inject`] says, behind a header of at most [`MAX_HEADER`].
    fn inject(&mut self, peer: Rank, header: &[u8], payload: &[u8]) -> bool {
        let _not_possible = (peer, header, payload);
        false
    }

    /// Shows `payload` to all of `to`, under `number` in `channel`, if it can. `label` tells what it is.
    /// A channel has at most one payload of a rank under one number; numbers ascend, and go round the circle of 32
    /// bits.
    ///
    /// It cannot where somebody has not passed what this would replace ([`Showing::Full`]), where one of them takes no
    /// part in the channel yet or any more, or has no connection to this rank; nor where there are too many channels.
    ///
    /// At most as many bytes as [`Capabilities::show`] says; they are read during the call only.
    fn show(&mut self, to: &[Rank], channel: u64, number: u32, label: &Label, payload: &[u8]) -> Showing {
        let _not_possible = (to, channel, number, label, payload);
        Showing::Not
    }

    /// What `from` shows under `number` in `channel`, if it does; to whom does not matter.
    fn shown(&mut self, from: Rank, channel: u64, number: u32) -> Option<Shown> {
        let _nothing = (from, channel, number);
        None
    }

    /// Copies what `from` [shows](Transport::shown) from `offset` on; `into` ends no later than that.
    fn copy_shown(&mut self, from: Rank, channel: u64, number: u32, offset: usize, into: &mut [u8]) {
        let _nothing = (from, channel, number, offset, into);
    }

    /// Takes part in `channel`, as far as there is room for another, and has no need of what is shown there under any
    /// number before this one. Whether anything can have been shown to this rank there.
    fn pass(&mut self, channel: u64, number: u32) -> bool {
        let _nothing = (channel, number);
        false
    }

    /// Takes part in `channel` no more: nothing is shown to this rank there from here on. Whatever was shown before is
    /// seen by a look that comes after this, until this rank [passes](Transport::pass) it. What this rank shows there
    /// stays until those to whom it was shown have passed it.
    fn leave(&mut self, channel: u64) {
        let _nothing = channel;
    }

    /// Opens `memory` (not empty) to puts of `peer`, until [`Event::Filled`], and names it for that peer.
    ///
    /// # Errors
    ///
    /// [`Cause`] when the peer is down, unknown, or the memory cannot be registered.
    fn expose(&mut self, peer: Rank, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause>;

    /// Prepares a region once for all operations whose memory will lie in it; see *Registered regions* in the
    /// [crate documentation](crate). Regions may overlap, and the same one may be registered several times.
    ///
    /// `None`: nothing is registered, and nothing has to be deregistered. That is so where operations need no
    /// preparation, for an empty region, when the system lets no more memory be pinned, and once the end of the
    /// transport has begun. Operations on the memory are possible all the same.
    ///
    /// # Errors
    ///
    /// [`Cause::Memory`] when the memory cannot be registered for another reason.
    fn register(&mut self, region: Region) -> Result<Option<RegionId>, Cause> {
        let _nothing_to_prepare = region;
        Ok(None)
    }

    /// Ends the registration of a region, as soon as no operation uses it. Nothing happens when there is no such
    /// region (any more).
    fn deregister(&mut self, region: RegionId) {
        let _nothing_was_prepared = region;
    }

    /// Moves whatever can be moved without waiting; appends what happened to `events` and asks `placer`
    /// where payloads go. Returns whether anything moved, bytes of unfinished payloads included.
    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool;

    /// A descriptor that is readable whenever [`Transport::poll`] would find something to do, provided
    /// that [`Transport::arm`] said `true` since the last poll. `None`: this transport must be polled.
    fn wait_fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// Prepares to sleep on [`Transport::wait_fd`]. `false`: something is there already, poll first.
    fn arm(&mut self) -> bool {
        true
    }

    /// Whether a connection to `peer` stands: then its end will be reported, by [`Event::PeerClosed`] or
    /// [`Event::PeerDown`], after everything that it has sent. Asked when somebody else has found out that the peer has
    /// finished, who cannot know what it has sent before. A transport that always reports the end of a peer, or never
    /// learns of it by itself, need not say.
    fn is_connected(&self, peer: Rank) -> bool {
        let _unknown = peer;
        false
    }

    /// Whether anything that was accepted, and may have been reported complete, still lies here and needs polls of this
    /// side to leave: messages kept until their connection stands, messages being coalesced, bytes for which the wire
    /// had no room. While it does, somebody must poll although nobody waits, or sleep on [`Transport::wait_fd`] to do
    /// so. Once it does not, everything accepted is on its way, and only the peer can hold it up.
    ///
    /// A transport that lets everything go within [`Transport::post`], or by other means than polls, never owes.
    fn owes(&self) -> bool {
        false
    }

    /// Treats `peer` as dead, because somebody else found out: drops everything of that peer, and
    /// reports [`Event::PeerDown`] at the next poll unless that has been reported already.
    fn disconnect(&mut self, peer: Rank, cause: Cause);

    /// Begins the orderly end; nothing can be posted any more. [`Event::Closed`] says when it is over.
    fn close(&mut self);

    /// Drops every operation, placement, exposure, registered region and connection at once. No more events; all memory
    /// is the caller's again when this returns.
    fn abort(&mut self);
}
