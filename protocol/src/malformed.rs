//! Why a header is refused: the form of its bytes, or what it claims.

/// A peer sent something that cannot be; nothing has changed. The text says what was given and what
/// was expected. The connection to that peer should be taken down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);
