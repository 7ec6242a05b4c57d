//! The settings of a machine. Invariant of a checked configuration: the largest eager message fits an
//! idle window, so that a lone send never waits for credit, and at least one request to send fits beside a
//! full one. Neighbours: `credit.rs`, `machine/mod.rs`.

use crate::Rank;

/// What a message costs beyond its payload, in bytes: about what the receiver keeps to remember it.
pub const OVERHEAD: usize = 128;

/// What a [`crate::Machine`] has to know. All ranks of a world must agree on all but `rank`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// This rank.
    pub rank: Rank,
    /// How many ranks there are.
    pub size: usize,
    /// Standard sends of up to this many bytes are eager; longer ones go by rendezvous.
    pub eager_limit: usize,
    /// How many bytes each peer may have lying here unreceived, [`OVERHEAD`] per message included.
    pub window: usize,
    /// How many requests to send each peer may have lying here unmatched beside a full window, of
    /// [`OVERHEAD`] bytes each. Messages that find no room in the window come as such requests, so this
    /// bounds how many messages may be unmatched before their sender is held back. [`Config::reserve`] more may
    /// be of collectives.
    pub requests: usize,
}

/// Requests to send per peer in small worlds.
const REQUESTS: usize = 1 << 16;
/// The fewest per peer in large ones.
const LEAST_REQUESTS: usize = 1 << 10;
/// Those of all peers together, as far as each may still have the fewest.
const ALL_REQUESTS: usize = 1 << 22;

/// A configuration that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The rank is not in the world.
    #[error("rank {rank} is not in a world of {size}: ranks go from 0 to the size less one")]
    Rank {
        /// What was given.
        rank: Rank,
        /// What was given.
        size: usize,
    },
    /// The largest eager message would never fit.
    #[error(
        "a window of {window} bytes cannot hold an eager message of {eager_limit} bytes and its \
         overhead of {OVERHEAD}: enlarge the window or lower the eager limit"
    )]
    Window {
        /// What was given.
        window: usize,
        /// What was given.
        eager_limit: usize,
    },
}

impl Config {
    /// Checks the settings. [`Config::requests`] is 65,536, in worlds of more than 64 ranks less: 4,194,304
    /// shared out, but never below 1,024. See [`Config::with_requests`].
    ///
    /// ```
    /// use ringworld_protocol::Config;
    /// assert!(Config::new(0, 4, 8 << 10, 1 << 20).is_ok());
    /// assert!(Config::new(0, 4, 8 << 10, 8 << 10).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when `rank` is not below `size`, or `eager_limit` plus [`OVERHEAD`] exceeds `window`.
    pub fn new(rank: Rank, size: usize, eager_limit: usize, window: usize) -> Result<Self, ConfigError> {
        if rank >= size {
            return Err(ConfigError::Rank { rank, size });
        }
        if eager_limit.checked_add(OVERHEAD).is_none_or(|needed| needed > window) {
            return Err(ConfigError::Window { window, eager_limit });
        }
        let requests = (ALL_REQUESTS / size).clamp(LEAST_REQUESTS, REQUESTS);
        Ok(Self { rank, size, eager_limit, window, requests })
    }

    /// The same with another number of [`Config::requests`]; none counts as one.
    ///
    /// ```
    /// use ringworld_protocol::Config;
    /// assert_eq!(Config::new(0, 2, 1024, 8192)?.requests, 65_536);
    /// assert_eq!(Config::new(0, 2, 1024, 8192)?.with_requests(100).requests, 100);
    /// # Ok::<(), ringworld_protocol::ConfigError>(())
    /// ```
    #[must_use]
    pub fn with_requests(self, requests: usize) -> Self {
        Self { requests: requests.max(1), ..self }
    }

    /// How many requests to send of collectives, that is, of odd contexts, each peer may have lying here beside all
    /// others: an eighth of [`Config::requests`]. So what a user leaves unreceived never stops a collective, for
    /// which requests are enough, and memory stays bounded.
    ///
    /// ```
    /// use ringworld_protocol::Config;
    /// assert_eq!(Config::new(0, 2, 1024, 8192)?.reserve(), 8192);
    /// # Ok::<(), ringworld_protocol::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn reserve(&self) -> usize {
        self.requests.div_ceil(8)
    }

    /// The nearest settings that work, for a `Config` that was not made by [`Config::new`].
    pub(crate) fn clamped(self) -> Self {
        let window = self.window.max(OVERHEAD);
        Self {
            rank: self.rank,
            size: self.size.max(self.rank.saturating_add(1)),
            eager_limit: self.eager_limit.min(window - OVERHEAD),
            window,
            requests: self.requests.max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_refused_by_name() {
        assert_eq!(Config::new(4, 4, 0, 1000), Err(ConfigError::Rank { rank: 4, size: 4 }));
        let window = ConfigError::Window { window: 1000, eager_limit: 1000 };
        assert_eq!(Config::new(0, 4, 1000, 1000), Err(window));
        assert!(Config::new(0, 4, usize::MAX, usize::MAX).is_err());
        assert!(Config::new(0, 4, 1000 - OVERHEAD, 1000).is_ok());
    }

    #[test]
    fn clamped_settings_pass_the_check() {
        for (eager_limit, window) in [(0, 0), (10, 5), (1000, 1000), (usize::MAX, 1 << 20)] {
            let c = Config { rank: 3, size: 2, eager_limit, window, requests: 0 }.clamped();
            let checked = Config::new(c.rank, c.size, c.eager_limit, c.window);
            assert_eq!(checked.map(|checked| checked.with_requests(0)), Ok(c));
        }
    }

    #[test]
    fn records_of_unmatched_messages_are_shared_out_in_large_worlds() {
        let requests = |size| Config::new(0, size, 0, 1000).map(|config| config.requests);
        assert_eq!(requests(64), Ok(65_536));
        assert_eq!(requests(1024), Ok(4096));
        assert_eq!(requests(1 << 20), Ok(1024));
    }
}
