//! Benchmarks of ringworld, in three tiers.
//!
//! * `benches/two_ranks.rs`: wall time of two ranks as threads of one process over real sockets, for
//!   finding out what a change did (`cargo bench -p ringworld-benches --features criterion`).
//! * `ringworld bench`: two or more real processes, as a table for people.
//! * `peers/`: the same operations beside other libraries; `src/bin/twin.rs` is
//!   ringworld's side of it.

pub mod schedule;
