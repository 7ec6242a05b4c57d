//! What can go wrong, in words that name the cause, the peer and the remedy.

use std::fmt;
use std::time::Duration;

use ringworld_engine::{Engine, Fault, Unsupported};

/// The result of every fallible call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// Once a rank has failed, or ranks have disagreed about a collective, the whole world has failed:
/// every pending call and every later one ends with the same cause. The exception are disagreements that
/// all ranks find out together, because they see all arguments anyway: those of calls that make
/// communicators, and of calls on objects. They end that call on every rank, and the world goes on.
///
/// Its `Debug` is the same sentence as its `Display`, because that is what a `main` that returns it, and `unwrap`,
/// print; `{:#?}` puts the variant's name in front of it.
///
/// ```
/// # use ringworld::{Error, World};
/// let world = World::builder().world_size(1).build()?;
/// let error = world.send(&[1u8], 7, 0).unwrap_err();
/// assert!(matches!(error, Error::InvalidRank { given: 7, size: 1, .. }));
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert!(format!("{error:#?}").starts_with("InvalidRank: "));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The world could not be brought together: settings, interfaces or the rendezvous.
    #[error("{0}")]
    Bootstrap(String),

    /// A rank died, was killed, panicked, or is out of reach.
    #[error("{operation} failed: rank {rank} on {host} is down: {cause}")]
    PeerFailed {
        /// Who.
        rank: usize,
        /// Where it ran.
        host: String,
        /// What this rank was doing, with its sequence number.
        operation: String,
        /// What is known of the end of that rank.
        cause: String,
    },

    /// A rank has left in good order while this rank still counted on it.
    #[error(
        "{operation} failed: rank {rank} on {host} has already left the world; \
         every rank must make the matching call before it drops its World"
    )]
    PeerFinished {
        /// Who.
        rank: usize,
        /// Where it ran.
        host: String,
        /// What this rank was doing, with its sequence number.
        operation: String,
    },

    /// A rank called [`Communicator::abort`](crate::Communicator::abort).
    #[error("{operation} failed: rank {rank} on {host} aborted the world with code {code}: {reason}")]
    Aborted {
        /// Who.
        rank: usize,
        /// Where it runs.
        host: String,
        /// The exit code it asked for.
        code: i32,
        /// The reason it gave.
        reason: String,
        /// What this rank was doing, with its sequence number.
        operation: String,
    },

    /// Ranks disagree about a collective.
    #[error("{operation} failed: {detail}")]
    Mismatch {
        /// What this rank was doing, with its sequence number.
        operation: String,
        /// Who asked for what.
        detail: String,
    },

    /// `RINGWORLD_OP_TIMEOUT` has passed in a call of this rank or of another.
    #[error(
        "{operation} failed: {waiter}, heard nothing for {:.1} s while waiting for {waiting_for}; \
         if that is normal, raise RINGWORLD_OP_TIMEOUT", after.as_secs_f64()
    )]
    TimedOut {
        /// What this rank was doing, with its sequence number.
        operation: String,
        /// Which rank waited too long, and in which call.
        waiter: String,
        /// How long it waited.
        after: Duration,
        /// Whom it waited for.
        waiting_for: String,
    },

    /// The process that serves the rendezvous and watches the ranks is gone.
    #[error("{operation} failed: the connection to the master was lost: {cause}")]
    MasterLost {
        /// What this rank was doing, with its sequence number.
        operation: String,
        /// What is known of its end.
        cause: String,
    },

    /// A message was longer than the buffer; it has been consumed, and its first bytes are in the buffer.
    #[error(
        "{operation} failed: the message with tag {tag} from rank {source_rank} has {needed} bytes, but the \
         buffer holds {room}; receive into a larger buffer, or probe for the size first"
    )]
    Truncated {
        /// What this rank was doing, with its sequence number.
        operation: String,
        /// The sender.
        source_rank: usize,
        /// The tag of the message.
        tag: u32,
        /// The length of the message, in bytes.
        needed: usize,
        /// The length of the buffer, in bytes.
        room: usize,
    },

    /// A message has other elements than were to be received, or no whole number of them; it has been consumed. None
    /// of it is in the buffer, except of a message of [`Raw`](crate::Raw) bytes, which go into everything.
    #[error(
        "{operation} failed: the message with tag {tag} from rank {source_rank} is {bytes} bytes of type {sent}, but \
         the receive is for type {wanted}; {advice}"
    )]
    WrongElement {
        /// What this rank was doing, with its sequence number.
        operation: String,
        /// The sender.
        source_rank: usize,
        /// The tag of the message.
        tag: u32,
        /// The length of the message, in bytes.
        bytes: usize,
        /// The type of the sender's elements.
        sent: String,
        /// The type that was to be received.
        wanted: String,
        /// What to do.
        advice: &'static str,
    },

    /// A rank that does not exist.
    #[error("{operation}: rank {given} does not exist; the ranks of this communicator are 0 to {}", size - 1)]
    InvalidRank {
        /// The call.
        operation: String,
        /// The rank given.
        given: usize,
        /// The size of the communicator.
        size: usize,
    },

    /// Slices whose lengths do not fit together, or a size that no address space holds.
    #[error("{operation}: {detail}")]
    InvalidCount {
        /// The call.
        operation: String,
        /// What was given and what was expected.
        detail: String,
    },

    /// An option that does not exist or cannot be honoured.
    #[error("{detail}")]
    InvalidOption {
        /// What was given and what there is.
        detail: String,
    },

    /// A group that cannot be, or that has no place where it was given.
    #[error("{operation}: {detail}")]
    InvalidGroup {
        /// The call.
        operation: String,
        /// What was given and what was expected.
        detail: String,
    },

    /// A grid of ranks that cannot be, or an index that has no place in it.
    #[error("{operation}: {detail}")]
    InvalidGrid {
        /// The call.
        operation: String,
        /// What was given and what was expected.
        detail: String,
    },

    /// An operation that elements of this type do not have.
    #[error("{operation}: {op} is not defined for elements of type {element}; {advice}")]
    UnsupportedOp {
        /// The call.
        operation: String,
        /// The operation given.
        op: String,
        /// The type of the elements.
        element: String,
        /// What the type has, or what to do.
        advice: String,
    },

    /// A call from inside a user-defined operation, which runs in the middle of a collective of the same world: nothing
    /// has been done, and the world ends.
    #[error(
        "{operation} was refused inside the user-defined operation {op:?}: {}",
        ringworld_engine::reduce::ADVICE
    )]
    InsideOperation {
        /// The call.
        operation: String,
        /// The name of the operation.
        op: String,
    },

    /// A user-defined operation panicked or called this library, or a scope panicked with operations under way, on this
    /// rank or on another; the world is over.
    #[error("{operation} failed: {detail}")]
    Panicked {
        /// What this rank was doing, with its sequence number.
        operation: String,
        /// Which rank it was, and what is known of the panic.
        detail: String,
    },

    /// An object was not given where it had to be, or could not be written or read.
    #[error("{operation} failed: the object could not be {action}: {cause}")]
    Object {
        /// The call.
        operation: String,
        /// `given`, `serialized` or `deserialized`.
        action: &'static str,
        /// What is wrong with it, on which rank, and what to do.
        cause: String,
    },

    /// The request was cancelled before it matched.
    #[error("{operation} was cancelled")]
    Cancelled {
        /// The call.
        operation: String,
    },

    /// Requests of different worlds were to be waited for together. The one that was taken out goes on unwaited.
    #[error(
        "{operation}: request {index} is of another world than the first; wait for those of each world apart"
    )]
    OtherWorld {
        /// The call.
        operation: String,
        /// Which of the requests.
        index: usize,
    },

    /// This process has dropped its `World` already.
    #[error("{operation} failed: this rank has left the world already (its World was dropped)")]
    Finalized {
        /// The call.
        operation: String,
    },

    /// This rank has gone on to a later generation of its world: see [`World::recover`](crate::World::recover).
    #[error(
        "{operation} failed: generation {generation} of this world is over, and with it its communicators; use the \
         World that recover or regroup has returned"
    )]
    Superseded {
        /// The call.
        operation: String,
        /// The generation that this communicator belongs to.
        generation: u64,
    },

    /// There is no next generation of the world for this rank: see [`World::recover`](crate::World::recover).
    #[error("{operation} failed: {cause}")]
    NoGeneration {
        /// The call.
        operation: String,
        /// Why.
        cause: String,
    },

    /// Ranks that should have the same state have others:
    /// see [`Communicator::share_state`](crate::Communicator::share_state).
    #[error("{operation} failed: {detail}")]
    StateDiffers {
        /// The call.
        operation: String,
        /// Which ranks, and how they differ.
        detail: String,
    },

    /// The system refused something.
    #[error("{operation} failed: {cause}")]
    System {
        /// What was attempted.
        operation: String,
        /// What the system says.
        cause: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { write!(f, "{}: {self}", self.name()) } else { write!(f, "{self}") }
    }
}

impl Error {
    /// The name of the variant, for logs and counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bootstrap(_) => "Bootstrap",
            Self::PeerFailed { .. } => "PeerFailed",
            Self::PeerFinished { .. } => "PeerFinished",
            Self::Aborted { .. } => "Aborted",
            Self::Mismatch { .. } => "Mismatch",
            Self::TimedOut { .. } => "TimedOut",
            Self::MasterLost { .. } => "MasterLost",
            Self::Truncated { .. } => "Truncated",
            Self::WrongElement { .. } => "WrongElement",
            Self::InvalidRank { .. } => "InvalidRank",
            Self::InvalidCount { .. } => "InvalidCount",
            Self::InvalidOption { .. } => "InvalidOption",
            Self::InvalidGroup { .. } => "InvalidGroup",
            Self::InvalidGrid { .. } => "InvalidGrid",
            Self::UnsupportedOp { .. } => "UnsupportedOp",
            Self::InsideOperation { .. } => "InsideOperation",
            Self::Panicked { .. } => "Panicked",
            Self::Object { .. } => "Object",
            Self::Cancelled { .. } => "Cancelled",
            Self::OtherWorld { .. } => "OtherWorld",
            Self::Finalized { .. } => "Finalized",
            Self::Superseded { .. } => "Superseded",
            Self::NoGeneration { .. } => "NoGeneration",
            Self::StateDiffers { .. } => "StateDiffers",
            Self::System { .. } => "System",
        }
    }

    /// Whether an elastic world may go on after it, by [`World::recover`](crate::World::recover): others are gone or
    /// out of reach, and what was to be done with them can be done without them.
    ///
    /// ```
    /// # use ringworld::Error;
    /// let gone = Error::MasterLost { operation: "barrier".into(), cause: "its host is gone".into() };
    /// assert!(gone.is_recoverable());
    /// assert!(!Error::Bootstrap("MASTER_NODE is missing".into()).is_recoverable());
    /// ```
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        matches!(
            self,
            Self::PeerFailed { .. }
                | Self::PeerFinished { .. }
                | Self::MasterLost { .. }
                | Self::TimedOut { .. }
        )
    }

    /// The same error, of the call that a user made and that this operation was a part of.
    pub(crate) fn of_call(mut self, call: String) -> Self {
        match &mut self {
            Self::Bootstrap(_) | Self::InvalidOption { .. } => {}
            Self::PeerFailed { operation, .. }
            | Self::PeerFinished { operation, .. }
            | Self::Aborted { operation, .. }
            | Self::Mismatch { operation, .. }
            | Self::TimedOut { operation, .. }
            | Self::MasterLost { operation, .. }
            | Self::Truncated { operation, .. }
            | Self::WrongElement { operation, .. }
            | Self::InvalidRank { operation, .. }
            | Self::InvalidCount { operation, .. }
            | Self::InvalidGroup { operation, .. }
            | Self::InvalidGrid { operation, .. }
            | Self::OtherWorld { operation, .. }
            | Self::UnsupportedOp { operation, .. }
            | Self::InsideOperation { operation, .. }
            | Self::Panicked { operation, .. }
            | Self::Object { operation, .. }
            | Self::Cancelled { operation }
            | Self::Finalized { operation }
            | Self::Superseded { operation, .. }
            | Self::NoGeneration { operation, .. }
            | Self::StateDiffers { operation, .. }
            | Self::System { operation, .. } => *operation = call,
        }
        self
    }
}

/// The error of a call that was under way when the world failed.
pub(crate) fn fault_error(engine: &Engine, fault: Fault, operation: String) -> Error {
    match fault {
        Fault::Peer { rank, cause, .. } => {
            Error::PeerFailed { rank, host: engine.host(rank), operation, cause }
        }
        Fault::Aborted { rank, code, reason } => {
            Error::Aborted { rank, host: engine.host(rank), code, reason, operation }
        }
        Fault::Mismatch { detail } => Error::Mismatch { operation, detail },
        Fault::Panicked { detail } => Error::Panicked { operation, detail },
        Fault::TimedOut { waiter, after, waiting_for } => {
            Error::TimedOut { operation, waiter, after, waiting_for }
        }
        Fault::System { detail } => Error::System { operation, cause: detail },
        Fault::Master { cause } => Error::MasterLost { operation, cause },
        Fault::Finalized => Error::Finalized { operation },
        Fault::Superseded { generation } => Error::Superseded { operation, generation },
    }
}

/// The error of a call whose elements do not have the operation that it was given.
pub(crate) fn unsupported(operation: &str, unsupported: Unsupported) -> Error {
    let Unsupported { op, element, advice } = unsupported;
    Error::UnsupportedOp { operation: operation.into(), op, element, advice }
}
