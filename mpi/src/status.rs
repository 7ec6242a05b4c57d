//! What is known of a message or a request that has ended.

use crate::standard::{ANY_SOURCE, ANY_TAG, PROC_NULL};

/// A status, whatever a library's own looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// An error code, as the program sees it.
    pub error: i32,
    /// How many bytes came.
    pub bytes: i64,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// Of null and inactive requests, and of those that receive nothing.
    pub const EMPTY: Self = Self { source: ANY_SOURCE, tag: ANY_TAG, error: 0, bytes: 0, cancelled: false };
    /// Of a receive from nobody.
    pub const FROM_NOBODY: Self = Self { source: PROC_NULL, ..Self::EMPTY };
}
