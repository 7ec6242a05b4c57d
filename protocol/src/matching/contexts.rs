//! Which lists belong to which context: a sorted table that forgets contexts nobody uses.
//!
//! Invariant: a context with entries is never forgotten; idle ones are kept (so that a steady program
//! allocates nothing) until there are many. Neighbours: `posted.rs` and `unexpected.rs`.

/// What is kept per context.
pub(super) trait Lists: Default {
    /// Whether nothing is listed.
    fn is_idle(&self) -> bool;
}

/// Idle contexts kept around before the first sweep.
const KEEP: usize = 256;

pub(super) struct Contexts<T> {
    sorted: Vec<(u64, T)>,
    sweep_at: usize,
}

impl<T: Lists> Contexts<T> {
    pub(super) const fn new() -> Self {
        Self { sorted: Vec::new(), sweep_at: KEEP }
    }

    pub(super) fn get(&self, context: u64) -> Option<&T> {
        let position = self.position(context).ok()?;
        self.sorted.get(position).map(|(_, lists)| lists)
    }

    pub(super) fn get_mut(&mut self, context: u64) -> Option<&mut T> {
        let position = self.position(context).ok()?;
        self.sorted.get_mut(position).map(|(_, lists)| lists)
    }

    pub(super) fn get_or_insert(&mut self, context: u64) -> &mut T {
        let position = match self.position(context) {
            Ok(position) => position,
            Err(_) => {
                if self.sorted.len() >= self.sweep_at {
                    self.sorted.retain(|(_, lists)| !lists.is_idle());
                    self.sweep_at = KEEP.max(2 * self.sorted.len());
                }
                let position = self.sorted.partition_point(|(known, _)| *known < context);
                self.sorted.insert(position, (context, T::default()));
                position
            }
        };
        &mut self.sorted[position].1
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.sorted.iter().map(|(_, lists)| lists)
    }

    fn position(&self, context: u64) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&context, |(known, _)| *known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Count(usize);

    impl Lists for Count {
        fn is_idle(&self) -> bool {
            self.0 == 0
        }
    }

    #[test]
    fn idle_contexts_are_forgotten_and_busy_ones_kept() {
        let mut contexts = Contexts::<Count>::new();
        for context in 0..100_000u64 {
            let busy = context % 1000 == 0;
            contexts.get_or_insert(context).0 = usize::from(busy);
        }
        assert!(contexts.sorted.len() <= KEEP + 100, "{} contexts are kept", contexts.sorted.len());
        assert!((0..100).all(|k| contexts.get(k * 1000).is_some_and(|c| c.0 == 1)));
        assert!(contexts.get(1).is_none());
    }
}
