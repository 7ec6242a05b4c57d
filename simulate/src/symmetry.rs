//! When one rank may stand for all.
//!
//! The fabric is uniform. If the schedule of rank `r` is that of rank 0 with every peer `p` renamed to
//! `p + r` (modulo n), or to `p xor r`, then all ranks do the same at the same times, and one that
//! exchanges messages with images of itself shows what all do:
//!
//! ```text
//! ring, n = 4:   0 ─▶ 1 ─▶ 2 ─▶ 3 ─▶ 0        one rank:   r ─▶ image of r
//!                (every arrow at the same time)           ╰───────◀╯
//! ```
//!
//! Invariant: schedules are compared by what time can depend on: kinds, lengths, renamed peers, tags and
//! dependencies, in program order. Offsets do not matter. What a rank does alone after its last message
//! may differ (a rotation into place, for example); every rank that is compared is then run with its own.

use ringworld_collectives::{Action, Schedule};

/// How ranks are renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relabel {
    /// Rank `r` takes the place of rank 0, `r + 1` that of 1, and so on around.
    Rotation,
    /// Rank `r xor p` takes the place of rank `p`; for powers of two.
    Xor,
}

impl Relabel {
    /// Those that map `size` ranks to themselves.
    pub(crate) fn all(size: usize) -> impl Iterator<Item = Self> {
        let xor = size.is_power_of_two().then_some(Self::Xor);
        std::iter::once(Self::Rotation).chain(xor)
    }

    /// Where `peer` lies as seen from `rank`.
    fn offset(self, rank: usize, peer: usize, size: usize) -> usize {
        match self {
            Self::Rotation => (peer + size - rank) % size,
            Self::Xor => peer ^ rank,
        }
    }

    /// From whom `rank` receives what its image sends as `rank` sends to `to`.
    pub(crate) fn source(self, rank: u32, to: u32, size: u32) -> u32 {
        let (rank, to, size) = (u64::from(rank), u64::from(to), u64::from(size));
        match self {
            // Below `size`, so it fits.
            Self::Rotation => ((2 * rank + size - to) % size) as u32,
            Self::Xor => to as u32,
        }
    }
}

/// How many steps of a schedule come before its last message, that one included.
fn core(schedule: &Schedule) -> usize {
    let message = |action: &Action| matches!(action, Action::Send { .. } | Action::Recv { .. });
    schedule.actions().iter().rposition(message).map_or(0, |last| last + 1)
}

/// How alike two schedules are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Images of one another.
    Same,
    /// Up to the last message.
    SameMessages,
    Different,
}

/// What time can depend on, of one step.
fn trait_of(schedule: &Schedule, step: usize, relabel: Relabel) -> (u8, usize, usize, u32) {
    let (rank, size) = (schedule.rank(), schedule.size());
    match *schedule.action(step) {
        Action::Send { to, from, tag } => (0, from.len, relabel.offset(rank, to, size), tag),
        Action::Recv { from, into, tag } => {
            // Seen from the sender, so that both ends of a message agree on its direction.
            let offset = relabel.offset(from, rank, size);
            (1, into.len, offset, tag)
        }
        Action::Reduce { into, .. } => (2, into.len, 0, 0),
        Action::Copy { into, .. } => (3, into.len, 0, 0),
    }
}

/// Compares two schedules under a renaming.
pub(crate) fn likeness(a: &Schedule, b: &Schedule, relabel: Relabel) -> Likeness {
    let core = core(a);
    let inside = |schedule: &Schedule, step: usize, end: usize| {
        let dependents = schedule.dependents(step);
        dependents.partition_point(|later| (*later as usize) < end)
    };
    let same = |step: usize, end: usize| {
        let (left, right) = (inside(a, step, end), inside(b, step, end));
        trait_of(a, step, relabel) == trait_of(b, step, relabel)
            && a.dependents(step)[..left] == b.dependents(step)[..right]
    };
    if self::core(b) != core || !(0..core).all(|step| same(step, core)) {
        return Likeness::Different;
    }
    if a.len() == b.len() && (0..a.len()).all(|step| same(step, a.len())) {
        Likeness::Same
    } else {
        Likeness::SameMessages
    }
}

/// The ranks that are compared with rank 0. Up to 64: all. Otherwise those near both ends and the middle, those
/// next to powers of two, and some that follow no pattern, about 40 to 60 in all; about ten of them when
/// schedules are longer than 10,000 steps, and three when they are longer than 100,000.
pub(crate) fn sample(size: usize, steps: u64) -> Vec<usize> {
    if size <= 64 {
        return (1..size).collect();
    }
    if steps > 100_000 {
        return vec![1, size / 2, size - 1];
    }
    let few = steps > 10_000;
    let mut ranks = vec![1, 2, 3, size / 3, size / 2 - 1, size / 2, size / 2 + 1, size - 2, size - 1];
    // A fixed multiplier spreads them (Knuth); determinism matters, chance does not.
    let scattered = |index: usize| ((index as u64).wrapping_mul(2_654_435_761) % size as u64) as usize;
    ranks.extend((1..if few { 3 } else { 17 }).map(scattered));
    if !few {
        let powers = (3..usize::BITS - size.leading_zeros()).map(|power| 1 << power);
        ranks.extend(powers.flat_map(|power: usize| [power - 1, power, power + 1]));
    }
    ranks.retain(|rank| (1..size).contains(rank));
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_sends_comes_to_it_from_its_image() {
        for size in [2usize, 3, 8, 12] {
            for relabel in Relabel::all(size) {
                for rank in 0..size {
                    for to in (0..size).filter(|to| *to != rank) {
                        let source = relabel.source(rank as u32, to as u32, size as u32) as usize;
                        assert!(source < size && source != rank);
                        let sent = relabel.offset(rank, to, size);
                        assert_eq!(
                            relabel.offset(source, rank, size),
                            sent,
                            "{relabel:?} {rank} {to} {size}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn samples_are_ranks_and_never_the_first() {
        for size in [1, 2, 64, 65, 100, 1024, 65_536, 1 << 20] {
            for steps in [10, 20_000, 1_000_000] {
                let sample = sample(size, steps);
                assert!(sample.iter().all(|rank| (1..size).contains(rank)), "{size}: {sample:?}");
                assert!(
                    sample.len() >= (size - 1).min(if steps > 100_000 { 3 } else { 9 }),
                    "{size}: {sample:?}"
                );
            }
        }
    }
}
