//! The point-to-point protocol of ringworld, without any input or output.
//!
//! A [`Machine`] is one rank's side of all its conversations. Calls from above (`send`, `receive`,
//! `probe`, `cancel`) and events from the transport (`header`, `delivered`, `sent`, `filled`, …) go in;
//! [`Action`]s for the transport and [`Completion`]s for the caller come out. There is no socket, clock,
//! thread, pointer or environment here: memory is named by [`Span`], and equal inputs give equal outputs.
//!
//! # How bytes travel
//!
//! ```text
//! eager        sender ── header + payload ──────────────▶ receiver    up to `eager_limit` bytes
//!
//! rendezvous   sender ── rts (envelope, id, length) ────▶ receiver    longer, or synchronous
//!              sender ◀─ cts (id, accepted, key) ──────── receiver    once matched and exposed
//!              sender ══ put of the accepted bytes ═════▶ receiver    straight to the user's buffer
//!
//! no bytes     sender ── rts ───────────────────────────▶ receiver    empty synchronous message, or
//!              sender ◀─ ack ──────────────────────────── receiver    no room at the receiver
//!
//! window full  sender ── rts with a window probe ───────▶ receiver    instead of eager; matched: as
//!              sender ◀─ probe ack, all credit owed ───── receiver    above, else this at once
//! ```
//!
//! # What is promised
//!
//! * Matching is by context, source and tag; messages of one context and source never overtake one
//!   another, whatever their sizes; wildcard and specific receives are ordered together.
//! * A receiver that does not receive holds at most `window` bytes per sender, [`OVERHEAD`] per message
//!   included, and beside them [`Config::requests`] requests to send, of [`OVERHEAD`] bytes each. Another
//!   [`Config::reserve`] of them are kept for collectives, the odd contexts: whatever lies unreceived of the user's,
//!   the even ones, they go on, and do not wait in line behind it.
//! * A send whose receive is posted is received, whatever lies unreceived before it, as long as less than
//!   that lies there: a message that finds the window full goes by rendezvous. Beyond, sends wait at the
//!   sender, in order, until earlier messages are received. A sender never waits longer than one round
//!   trip for a receiver that answers, unless that bound is reached.
//! * A receive that is too short fails with [`Failure::Truncated`], and one that wants other elements than the
//!   message has with [`Failure::WrongElement`]; its message is consumed, the sender succeeds, and everything else
//!   goes on.
//! * Whatever a peer sends, [`Machine::header`] does not panic and refuses what cannot be.
//! * In the steady state an eager message allocates nothing on either side.
//!
//! # What the caller owes
//!
//! * All ranks use the same [`Config`] but for `rank`.
//! * Contexts are below [`Envelope::CONTEXTS`].
//! * Headers of one peer come in the order in which that peer's [`Action::Message`]s were handed out;
//!   puts may come in any order.
//! * After each call, take actions until there are none and perform them in order *before* acting on
//!   completions: a receive may complete while its [`Action::Copy`] is still to be done.
//! * A rank may send to itself: the caller loops its messages and puts back.

#![forbid(unsafe_code)]

mod action;
mod config;
mod credit;
mod envelope;
mod machine;
mod malformed;
mod matching;
mod rank;
mod request;
mod slab;
mod wire;

pub use action::{Action, Place, Target};
pub use config::{Config, ConfigError, OVERHEAD};
pub use envelope::{
    BufferId, Element, Envelope, Expected, Incoming, Selector, Span, TagSelector, Unreceived,
};
pub use machine::{Departure, Description, Kind, Machine, Stage};
pub use malformed::Malformed;
pub use rank::Rank;
pub use request::{Arrived, Completion, Done, Failure, Matched, MatchedId, Mode, Offer, RequestId};
pub use wire::{Header, Key};
