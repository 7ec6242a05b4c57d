//! Limits: how much is sent without asking, and how much may lie around unreceived.

use ringworld_protocol::OVERHEAD;

/// Messages up to this many bytes are sent without asking. Above, the question costs a round trip that is
/// small beside the transfer, and the bytes go straight to where they are wanted.
///
/// Measured with two ranks over loopback: with 64 KiB a ping-pong of 256 KiB takes 37 us and an
/// all-reduce of 4 MiB 1.2 ms; with 256 KiB they take 26 us and 0.9 ms; 512 KiB brings nothing more.
const EAGER: usize = 256 << 10;
/// Unexpected messages of one peer, in bytes, in small worlds; shared out in large ones.
const WINDOW: usize = 4 << 20;
/// The least that a peer is granted in the largest worlds.
const LEAST_WINDOW: usize = 64 << 10;
/// All unexpected messages together, in bytes, as far as each peer may still send one.
const ALL_WINDOWS: usize = 256 << 20;

/// What the ranks of one host may all send one of without asking, in bytes together. Where they are more than cores,
/// most messages come before their receiver has called: of 64 ranks on two cores that exchange blocks of 64 KiB each
/// held 3.5 MiB of them, and where they ask it takes the same time.
const ALL_OF_A_HOST: usize = 2 << 20;

/// How much may lie around. The same on all ranks of a world.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Messages up to this many bytes are sent without asking.
    pub eager: usize,
    /// Bytes of unexpected messages per peer.
    pub window: usize,
    /// Requests to send that a peer may leave unmatched beside a full window; `None`: what the protocol thinks right.
    pub requests: Option<usize>,
}

impl Limits {
    /// Those of a small world.
    pub const DEFAULT: Self = Self { eager: EAGER, window: WINDOW, requests: None };

    /// Those of a world of `size`, of which no host has more than `together`, as far as they have not been set.
    ///
    /// # Errors
    ///
    /// When what was set contradicts itself, in words.
    pub fn for_world(
        size: usize,
        together: usize,
        eager: Option<usize>,
        window: Option<usize>,
    ) -> Result<Self, String> {
        let shared = (ALL_WINDOWS / size.max(1)).clamp(LEAST_WINDOW, WINDOW);
        // At least a few messages of the largest kind fit a window, or they would wait for one another.
        let of_window = window.unwrap_or(shared);
        let of_window = (of_window / 4).min(of_window.saturating_sub(OVERHEAD));
        let of_host = (ALL_OF_A_HOST / together.max(1)).max(LEAST_WINDOW / 4);
        let limit = eager;
        let eager = limit.unwrap_or(EAGER.min(of_window).min(of_host));
        let least = eager.saturating_add(OVERHEAD);
        let window = window.unwrap_or(shared.max(least));
        match limit {
            _ if window >= least => Ok(Self { eager, window, requests: None }),
            Some(limit) if limit > 0 => Err(format!(
                "RINGWORLD_WINDOW is {window}, but a message of RINGWORLD_EAGER_LIMIT ({limit}) bytes needs \
                 {least}; raise the one or lower the other"
            )),
            _ => Err(format!(
                "RINGWORLD_WINDOW is {window}, but even a message without bytes needs {least} of it; raise or unset it"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_unexpected_messages_is_shared_out_in_large_worlds() {
        let windows = |size| Limits::for_world(size, 1, None, None).map(|limits| limits.window);
        assert_eq!(windows(2), Ok(WINDOW));
        assert_eq!(windows(1024), Ok(ALL_WINDOWS / 1024));
        assert_eq!(windows(1 << 20), Ok(LEAST_WINDOW));
        let eager = |size, together| Limits::for_world(size, together, None, None).map(|limits| limits.eager);
        assert_eq!(
            (eager(2, 1), eager(1024, 1), eager(1 << 20, 1)),
            (Ok(EAGER), Ok(64 << 10), Ok(LEAST_WINDOW / 4))
        );
        assert_eq!(
            (eager(8, 8), eager(64, 64), eager(1024, 1024)),
            (Ok(EAGER), Ok(32 << 10), Ok(LEAST_WINDOW / 4))
        );
    }

    #[test]
    fn a_window_below_the_eager_limit_is_refused() {
        assert!(Limits::for_world(2, 1, Some(4096), Some(1024)).unwrap_err().contains("RINGWORLD_WINDOW"));
    }

    #[test]
    fn of_a_small_window_alone_all_is_used_and_what_it_lacks_is_said_of_nothing_else() {
        for window in OVERHEAD..1000 {
            assert_eq!(Limits::for_world(2, 1, None, Some(window)).map(|limits| limits.window), Ok(window));
        }
        for window in [0, 1, OVERHEAD - 1] {
            let refused = Limits::for_world(2, 1, None, Some(window)).unwrap_err();
            assert!(
                refused.contains(&format!("needs {OVERHEAD}")) && !refused.contains("EAGER"),
                "{refused}"
            );
        }
    }
}
