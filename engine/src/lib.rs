//! The engine: where protocol, schedules and transports meet.
//!
//! Internal to `ringworld`: its interface may change with every version. Users see it through `ringworld`, which is
//! thin over it: what a call means is said there, how it is carried out here.
//!
//! ```text
//!   calls ──▶ core ──▶ machine (protocol) ──▶ actions ──▶ router ──▶ transports
//!               ▲          │  ▲                               │
//!      runs ◀───┘          ▼  └────────── events ◀────────────┘
//!   (schedules)       completions ──▶ calls (who asked)
//! ```
//!
//! # The contract
//!
//! One [`Core`] per process, behind one lock: an [`Engine`]. Six promises hold between its parts. Whoever adds a
//! transport, another thread that makes progress, or memory of a device works from them.
//!
//! **What the lock promises.** `Engine::lock` gives the core to one thread. When a method of the core returns, all that
//! the protocol asked for has been done and all that it has completed has been handed on: its queues are empty. Nothing
//! waits, sleeps or calls a user's waker under the lock; a user's operation runs under it, and what that asks of the
//! engine is refused (`inside`). A destructor never waits for the lock, for it may run under it: what it lets go of is
//! a notice in the [`Inbox`].
//!
//! **Who drives.** The thread that waits in a call drives: it takes the lock, makes progress ([`Core::progress`]),
//! looks for its result, and gives the lock back. There is no thread of the engine's own on the way of a blocking call.
//! A helper thread drives while there is work, no thread waits in a call, and nobody polls. Whoever begins work and
//! does not wait for it says so (`Engine::help`, or `hurry` for a task); otherwise it lies until the next call.
//!
//! **Who arms, and who wakes whom for what.** Before a thread sleeps it says, under the lock and in the same hold in
//! which it has seen that its thing is not there: wake me for the end of these operations, or for this topic ([`For`]).
//! In that hold it arms every transport, which fails if anything has come; then it sleeps on their descriptors and on a
//! notifier of its own. Whoever brings the thing about notifies it. Nobody relies on looking again after a time.
//! Whoever gives the lock back while others sleep, and does not drive on, arms the transports once more on their
//! behalf, or wakes them.
//!
//! **What the end of a call means.** A call has a name ([`CallId`]). It ends once, and then no transport,
//! schedule or thread of the engine uses any of the call's memory, however the call has ended. A fault ([`Fault`]) ends
//! every call, after the transports have let go of all memory; every later call ends at once. The error of the call is
//! made by who called: the engine knows ranks and causes, not the words of the public interface.
//!
//! **Who owns memory when.** Calls lend memory to the table of buffers (`buffer`), which gives it a name; protocol and
//! schedules know names and spans only. [`lend`] ties each loan to a call in one of four shapes: borrowed for the
//! call, owned beside the operation, borrowed for a scope, or foreign, of which somebody vouches for the same. Each
//! span that a transport gets carries a lease of its buffer, and a call does not end while a lease is out. Memory of
//! the engine's own, for messages that came early and for scratch, is pooled blocks under the same leases.
//!
//! **What each addition has to do.**
//!
//! * *A transport* meets the contract of `ringworld_transport`: nothing of it calls back into the engine but the one
//!   question where a payload goes. It is given to the engine in [`Parts`], with the routes that lead to it. If it has
//!   a descriptor, sleepers sleep on it; if not, they look every 50 us.
//! * *A thread that makes progress* calls [`Core::progress`] under the lock, lets others have it when they want it, and
//!   before it sleeps does what every sleeper does: parks in the inbox, arms, and says what for. It counts as nobody's
//!   driver: the helper still takes over what it leaves.
//! * *Memory of a device* needs a kind beside [`lend`]'s three shapes whose spans a transport can read and write,
//!   kernels ([`reduce`]) that run where it lies, and a lease that the device gives back: a copy that the device has
//!   begun counts as a transport's hold.
//!
//! **What the compiler does not check.** A scope of loans ([`lend::Borrowed`]) must be finished before what it has
//! borrowed ends: its owner keeps it on its stack and hands out shared references only. `ringworld` does so; whoever
//! else uses this crate vouches for it. That is why the crate is internal.
//!
//! # Where things are
//!
//! Two halves. What decides and moves, one thread at a time: `core` joins the pieces, `runs` executes schedules,
//! `router` knows the transports, [`reduce`] has the arithmetic, [`signature`] what ranks tell each other about
//! collectives; `observe` and `sleepers` have what is told to the outside, by [`Core::whereabouts`], and `tracer`
//! writes it down where a rank is traced. And how threads meet around it: `shell` is the lock and what is asked of
//! whatever it guards, `wait` spins and parks, `helper` drives while nobody waits, `calls` and `waiters` know who is to
//! be woken for what, `inbox` is how other threads reach the engine, `leaving` how destructors do, `affinity` keeps
//! waiting ranks on cores of their own. The second half knows the first by the trait `shell::Drive` only, and is played
//! through by a model checker with a stand-in for it (`model`).

#![deny(unsafe_code)]

mod affinity;
mod backoff;
mod buffer;
mod calls;
mod core;
mod early;
mod engine;
mod fault;
mod helper;
mod inbox;
pub mod inside;
mod last_calls;
mod leaving;
pub mod lend;
mod limits;
#[cfg(all(test, ringworld_model))]
mod model;
#[cfg(not(ringworld_model))]
mod notifier;
#[cfg(ringworld_model)]
#[path = "model/notifier.rs"]
mod notifier;
mod observe;
mod owners;
pub mod panics;
mod parts;
pub mod reduce;
mod router;
mod runs;
mod shell;
pub mod signature;
mod sleepers;
mod startable;
mod sync;
mod tally;
mod told;
mod tracer;
mod under_way;
mod wait;
mod waiters;
mod whereabouts;

pub use self::calls::{CallId, Ending};
pub use self::core::Core;
pub use self::engine::{Engine, Locked};
pub use self::fault::Fault;
pub use self::helper::helpers;
pub use self::inbox::{Inbox, Notice};
pub use self::last_calls::LastCalls;
pub use self::limits::Limits;
pub use self::observe::{CallTally, PeerTally, Told, Traffic, Verb};
pub use self::parts::{Control, NoControl, Parts};
pub use self::reduce::{BytesOp, ElementCode, Kernel, OpCode, Reducer, Unsupported};
pub use self::reduce::{DType, Locatable, Located, Op, Raw, Reducible, Reduction, Scaled, UserOp};
pub use self::runs::{CollectiveCall, Exchange, Planned};
pub use self::startable::{MatchedReceiveCall, ReceiveCall, SendCall, Startable};
pub use self::wait::{For, REMIND, Spin};
pub use self::waiters::{Topic, WatchId};
pub use self::whereabouts::{Waiting, Whereabouts};
pub use ringworld_trace as trace;
