//! Who belongs to the next generation of a world: the agreement, without any input or output.
//!
//! A world that goes on after a failure, or that admits newcomers, does so in *generations*. Each is a [`Table`] of
//! members, in the order of their ranks, and each but the first is decided by the *voters* of the one before it. A
//! [`Machine`] is one process's side of that: what its program wants, who is out of reach, what others say and how late
//! it is go in; [`Action`]s come out. There is no socket, clock, thread or environment here, and equal inputs give
//! equal outputs.
//!
//! # How a generation is decided
//!
//! ```text
//! member    ── ready (goes on, or leaves) ──▶ leader      the first voter that can be reached
//! newcomer  ── knock ───────────────────────▶ leader
//! leader    ── summons ─────────────────────▶ members     that have not said anything: are they alive?
//!                                                         all have spoken, or are gone, or took too long:
//! leader    ── prepare (ballot) ────────────▶ voters
//! voters    ── promise (what was accepted) ─▶ leader      from a quorum: propose that, or a table of one's own
//! leader    ── accept (ballot, table) ──────▶ voters
//! voters    ── accepted ────────────────────▶ leader      from a quorum: it is decided
//! leader    ── decided (table) ─────────────▶ all
//! leader    ── over ────────────────────────▶ all         instead, where nobody is left who would be in it
//! ```
//!
//! That is the single-decree agreement of Lamport's "Paxos made simple", once for each generation, among the members
//! of the one before. Where one process has started all members and outlives them (a launcher), it alone is the voter:
//! see [`Table::arbiter`].
//!
//! # What is promised
//!
//! 1. **One world.** Of each generation at most one table is ever decided, whatever is lost, late, doubled or in
//!    another order, and whoever dies or is cut off when.
//! 2. **A quorum.** It is decided by more than half of the voters of the generation before it, or by exactly half of
//!    them with the first: two such sets always have a voter in common, so two parts of a divided world never both go
//!    on.
//! 3. **The order.** Survivors keep their old order, without gaps; newcomers come after them.
//! 4. **Consent.** Only who has said so is in a table: survivors that are ready, and newcomers that have knocked.
//! 5. **Bounds.** No table is smaller than [`Limits::least`] or larger than [`Limits::most`].
//! 6. **An end.** Whoever is ready hears of the next generation, or of a [`Failure`] by its name, within
//!    [`Patience::limit`]. When all leave, they hear so at once.
//! 7. **Links.** Two whose link has failed in two generations, one after the other, are not together in a third, where
//!    all members were there both times.
//!
//! A process that has died never comes back as the same member: another start is another [`Id`], and a newcomer. So
//! nothing need be kept on any disk.
//!
//! And when faults have stopped: if a quorum of the last generation lives and is ready, all who live are in one decided
//! generation soon after, and newcomers as far as there is room. Without faults that takes eight messages for each
//! member.
//!
//! # What is owed to a machine
//!
//! - [`Machine::down`] for whoever cannot be reached, `certain` only if it has ended; [`Machine::up`] when it can be
//!   again. A member that says it is ready counts as one that can: if what it said was only late, `down` is called once
//!   more.
//! - [`Machine::tick`] no later than [`Machine::next_tick`], or what was lost is not said again.
//! - A process whose machine [is over](Machine::is_over) ends, or closes its connections, once its last actions are
//!   carried out: for others it is a voter that can be reached, perhaps the one that leads, and they wait for it.
//!
//! # Why it is right
//!
//! | promise | reason | a fault that breaks it, and is found |
//! |---|---|---|
//! | one world | two quorums share a voter; a voter accepts nothing lower than it has promised; a leader proposes what a quorum tells it was accepted last, and no ballot twice | a voter forgets, a leader ignores what was accepted, half is enough |
//! | quorum | votes are counted once for each voter, of one ballot, of this generation | any voter is enough |
//! | order | there is one place where a table is made, and it filters the old one | survivors reversed |
//! | consent | "ready" and "knock" name the generation that they are about, and all that was said is forgotten with it; who is out of reach is not ready | the silent are counted; somebody knocks for another |
//! | bounds | an own proposal is held against both; what is inherited was one | no least, no most |
//! | an end | a wish has a date, and `next_tick` is never later | no limit |
//! | links | a table says whose links have ended the generation before it; who makes the next one compares | two stay together |
//! | no end too soon | only when all have spoken, and leave, is there no next one | a leader that leaves asks nobody |
//! | once | what has failed or left does nothing but answer for its generation, and vote in it | a decision after a failure |
//! | going on | all who wait say so again; so does a leader to those who are silent; who hears of a later generation asks, who speaks of an earlier one is told | nothing is said twice |
//! | few messages | only questions are answered; what is said again waits for `repeat`; a thousand newcomers are announced together | everything every millisecond |
//! | idleness | every date of `next_tick` is moved on by `tick` | one is not |
//!
//! Each of these is checked after every step of 10,000 schedules that seeds make, with faults of all kinds and then
//! calm, and the first five in every state that small worlds can come to: `model`, in this crate's sources. Each fault
//! of the table is planted there, and found.
//!
//! Within one job all speak the truth. Still nothing that is said makes a machine panic, keep more than it has members
//! and room for newcomers, or answer more than it was asked.
//!
//! ```
//! use ringworld_membership::{Action, Id, Limits, Machine, Node, Patience, Table};
//! use std::time::Duration;
//!
//! let [a, b] = [1, 2].map(|id| Node { id: Id(id), place: Vec::new() });
//! let table = Table { generation: 0, members: vec![a.clone(), b], arbiter: None, serves: Id(1), broken: Vec::new() };
//! let limits = Limits { least: 1, most: 8 };
//! let mut machine = Machine::member(a, table, limits, Patience::default())?;
//! let now = Duration::ZERO;
//! machine.down(now, Id(2), true);
//! machine.go_on(now, false);
//! // Half of the last generation, with its first rank: it goes on alone.
//! let decided = machine.actions().find_map(|action| match action {
//!     Action::Decided(table) => Some(table),
//!     _ => None,
//! });
//! assert_eq!(decided.map(|table| (table.generation, table.members.len())), Some((1, 1)));
//! # Ok::<(), ringworld_membership::Nonsense>(())
//! ```

mod failure;
mod machine;
mod message;
#[cfg(test)]
mod model;
mod table;

pub use failure::Failure;
pub use machine::{Action, Limits, Machine, Patience};
pub use message::{Ballot, Message};
pub use table::{Id, MOST_MEMBERS, Node, Nonsense, PLACE_LIMIT, Table};
