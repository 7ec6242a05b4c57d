//! Limits: how much is sent without asking, and how much may lie around unreceived.

use ringworld_protocol::OVERHEAD;

/// Messages up to this many bytes are sent without asking. Above, the question costs a round trip that
/// is small beside the transfer, and the bytes go straight to where they are wanted.
const EAGER: usize = 64 << 10;
/// Unexpected messages of one peer, in bytes, in small worlds; shared out in large ones.
const WINDOW: usize = 1 << 20;
/// All unexpected messages together, in bytes, as far as each peer may still send one.
const ALL_WINDOWS: usize = 256 << 20;

/// How much may lie around. The same on all ranks of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Messages up to this many bytes are sent without asking.
    pub(crate) eager: usize,
    /// Bytes of unexpected messages per peer.
    pub(crate) window: usize,
}

impl Limits {
    /// Those of a small world.
    pub(crate) const DEFAULT: Self = Self { eager: EAGER, window: WINDOW };

    /// Those of a world of `size`, as far as they have not been set.
    ///
    /// # Errors
    ///
    /// When what was set contradicts itself, in words.
    pub(crate) fn for_world(
        size: usize,
        eager: Option<usize>,
        window: Option<usize>,
    ) -> Result<Self, String> {
        let eager = eager.unwrap_or(EAGER);
        let least = eager.saturating_add(OVERHEAD);
        let shared = (ALL_WINDOWS / size.max(1)).min(WINDOW);
        let window = window.unwrap_or(shared.max(least));
        if window < least {
            return Err(format!(
                "RINGWORLD_WINDOW is {window}, but a message of RINGWORLD_EAGER_LIMIT ({eager}) bytes needs \
                 {least}; raise the one or lower the other"
            ));
        }
        Ok(Self { eager, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_unexpected_messages_is_shared_out_in_large_worlds() {
        let windows = |size| Limits::for_world(size, None, None).map(|limits| limits.window);
        assert_eq!(windows(2), Ok(WINDOW));
        assert_eq!(windows(1024), Ok(ALL_WINDOWS / 1024));
        assert_eq!(windows(1 << 20), Ok(EAGER + OVERHEAD));
    }

    #[test]
    fn a_window_below_the_eager_limit_is_refused() {
        assert!(Limits::for_world(2, Some(4096), Some(1024)).unwrap_err().contains("RINGWORLD_WINDOW"));
    }
}
