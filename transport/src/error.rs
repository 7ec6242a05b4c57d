//! Why a peer cannot be reached, now or any more.

use crate::rank::Rank;

/// Why a peer is down. Cloneable, because one cause may end many operations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The connection ended without the peer closing it.
    #[error("the connection was lost ({0})")]
    Lost(String),
    /// No connection could be made; the text names every address tried and what each answered.
    #[error("no connection could be made: {0}")]
    Unreachable(String),
    /// The peer refused this rank; the text says why and what to do.
    #[error("the connection was refused: {0}")]
    Rejected(String),
    /// The peer sent something that cannot be.
    #[error("the peer broke the protocol: {0}")]
    Protocol(String),
    /// The peer has closed in good order and accepts nothing more.
    #[error("the peer has finished")]
    Finished,
    /// Somebody else, such as the failure detector, declared the peer dead.
    #[error("{0}")]
    Declared(String),
    /// Memory could not be registered with the device.
    #[error("memory could not be registered: {0}")]
    Memory(String),
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of rank {peer} cannot be used by transport {transport}: {reason}")]
pub struct ConnectError {
    /// Whose address it is.
    pub peer: Rank,
    /// The transport that was asked.
    pub transport: &'static str,
    /// What is wrong with it.
    pub reason: String,
    /// Whether nobody is there, which may be because whoever was has left.
    pub nobody: bool,
}
