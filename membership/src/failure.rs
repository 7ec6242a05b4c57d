//! Why there is no next generation for a process.

use std::time::Duration;

/// Why there is no next generation for a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Too few of the last generation can be reached to know that the others do not go on as well.
    #[error(
        "of the {voters} ranks of generation {generation} only {} ({}) can be reached from here; to go on takes more \
         than half, or half with rank 0, since the others may have gone on without this part", plural(.present.len()),
        list(.present)
    )]
    NoQuorum {
        /// Which generation is to be left.
        generation: u64,
        /// How many would have a say.
        voters: usize,
        /// The ranks that can be reached, this one included.
        present: Vec<usize>,
    },
    /// The process that alone decides is gone.
    #[error("the launcher, which decides who goes on after generation {generation}, is gone")]
    NoArbiter {
        /// Which generation is to be left.
        generation: u64,
    },
    /// Fewer than [`Limits::least`](crate::Limits::least) are left.
    #[error(
        "after generation {generation} there are {there} ranks, and nobody else came within {:.1} s; at least {least} \
         are wanted (min_ranks)", .waited.as_secs_f64()
    )]
    TooFew {
        /// Which generation is to be left.
        generation: u64,
        /// How many are there, newcomers included.
        there: usize,
        /// How many must be.
        least: usize,
        /// For how long this was waited for.
        waited: Duration,
    },
    /// Nothing was decided in time.
    #[error(
        "who belongs to the generation after {generation} was not decided within {:.1} s (recover_timeout)",
        .waited.as_secs_f64()
    )]
    Undecided {
        /// Which generation is to be left.
        generation: u64,
        /// For how long this was waited for.
        waited: Duration,
    },
    /// The others have gone on without this process.
    #[error(
        "the others went on to generation {generation} without this process, which they could not reach or which did \
         not call recover or regroup in time"
    )]
    Excluded {
        /// The generation that it is not in.
        generation: u64,
    },
    /// Its link to another rank has failed twice, and the others have gone on without it.
    #[error(
        "the others went on to generation {generation} without this rank: its link to rank {other} has failed in two \
         generations, one after the other, though both could reach the rest"
    )]
    Unlinked {
        /// The generation that it is not in.
        generation: u64,
        /// The other end of the link, by its rank in the one before.
        other: usize,
    },
    /// The world that a newcomer knocks at has ended.
    #[error(
        "the world has ended: no generation follows on generation {generation}, since its ranks have left"
    )]
    Ended {
        /// The last generation.
        generation: u64,
    },
    /// Nobody of the world that a newcomer knocks at can be reached.
    #[error("nobody of generation {generation} can be reached")]
    NobodyThere {
        /// The last that was known.
        generation: u64,
    },
}

fn plural(count: usize) -> String {
    match count {
        1 => "1 rank".into(),
        count => format!("{count} ranks"),
    }
}

/// The first few.
fn list(ranks: &[usize]) -> String {
    let shown: Vec<String> = ranks.iter().take(16).map(ToString::to_string).collect();
    let more = if ranks.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
