//! New communicators out of old ones.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::Result;
use crate::communicator::Communicator;

/// Marks a rank that joins no new communicator.
const NONE: u64 = u64::MAX;

impl Communicator {
    /// Splits this communicator: ranks that give the same `color` form a new one together, ordered by
    /// `key` and then by rank here. `None` joins nothing, and gets `None`. Every rank must call it.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::all_gather`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let row = world.split(Some(world.rank() / 4), world.rank())?;
    /// assert_eq!(row.map(|row| row.size()), Some(1));
    /// assert!(world.split(None, 0)?.is_none());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn split(&self, color: Option<usize>, key: usize) -> Result<Option<Communicator>> {
        let shared = &self.inner.shared;
        let color = color.map_or(NONE, |color| (color as u64).min(NONE - 1));
        let next = u64::from(shared.next_number.load(Ordering::SeqCst));
        let mut all = vec![[0u64; 3]; self.size()];
        self.all_gather(&[[color, key as u64, next]], &mut all)?;

        // Every rank computes the same: the first number that is free on all members, then one number
        // for each color in ascending order.
        let base = all.iter().map(|[_, _, next]| *next).max().unwrap_or(next);
        let mut colors: Vec<u64> =
            all.iter().map(|[color, ..]| *color).filter(|color| *color != NONE).collect();
        colors.sort_unstable();
        colors.dedup();
        // Two billion communicators are not to be had by splitting in one life of a process.
        shared.next_number.fetch_max(base as u32 + colors.len() as u32, Ordering::SeqCst);
        let Ok(index) = colors.binary_search(&color) else { return Ok(None) };

        let mut members: Vec<(u64, usize)> = all
            .iter()
            .zip(0..)
            .filter(|([c, ..], _)| *c == color)
            .map(|([_, key, _], rank)| (*key, rank))
            .collect();
        members.sort_unstable();
        let rank = members.iter().position(|(_, rank)| *rank == self.rank()).unwrap_or(0);
        let group: Arc<[usize]> = members.iter().map(|(_, rank)| self.world_rank(*rank)).collect();
        let size = group.len();
        let number = base as u32 + index as u32;
        Ok(Some(Communicator::new(Arc::clone(shared), number, rank, Some(group), size, Arc::clone(&self.inner.options))))
    }

    /// A communicator with the same ranks and a space of messages of its own. Every rank must call it.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::all_gather`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mine = world.duplicate()?;
    /// assert_eq!((mine.rank(), mine.size()), (world.rank(), world.size()));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn duplicate(&self) -> Result<Communicator> {
        // With one color and the rank as key, the split has a part for every rank.
        Ok(self.split(Some(0), self.rank())?.unwrap_or_else(|| self.clone()))
    }
}
