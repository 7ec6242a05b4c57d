//! Memory that outlives its owner, because an operation still uses it.

/// Memory that an operation uses and that nobody else has any more.
pub(crate) trait Kept: Send {
    /// What a receive has been lent; `None`: the memory is of no receive.
    fn received(&self) -> Option<&[u8]>;
}

impl std::fmt::Debug for dyn Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}
