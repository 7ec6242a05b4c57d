//! The settings of a machine. Invariant of a checked configuration: the largest eager message fits an
//! idle window, so that a lone send never waits for credit. Neighbours: `credit.rs`, `machine/mod.rs`.

use crate::{OVERHEAD, Rank};

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
}

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
    /// Checks the settings.
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
        Ok(Self { rank, size, eager_limit, window })
    }

    /// The nearest settings that work, for a `Config` that was not made by [`Config::new`].
    pub(crate) fn clamped(self) -> Self {
        let window = self.window.max(OVERHEAD);
        Self {
            rank: self.rank,
            size: self.size.max(self.rank.saturating_add(1)),
            eager_limit: self.eager_limit.min(window - OVERHEAD),
            window,
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
            let c = Config { rank: 3, size: 2, eager_limit, window }.clamped();
            assert_eq!(Config::new(c.rank, c.size, c.eager_limit, c.window), Ok(c));
        }
    }
}
