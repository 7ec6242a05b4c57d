//! Loans of the caller's memory to operations, in three shapes that are safe to use, and one that is vouched for.
//!
//! * *Blocking* ([`blocking`]): the memory is borrowed for the call, and the call does not return before
//!   the operation has ended, or both operations of a pair ([`blocking_pair`]).
//! * *Owned* ([`Loan`]): the memory is owned next to the operation. It is given back when the operation has
//!   ended; a loan dropped before that leaves it to the engine, and a leaked one leaks it, which is safe.
//! * *Scoped* ([`Borrowed`]): the memory is borrowed for a scope that does not end before its operations
//!   have, whatever happens to the handles.
//! * *Foreign* ([`Foreign`]): the memory is another language's, and whoever names it promises what a borrow would.
//!
//! All are built on the same two calls of the table of buffers, and on one rule of the engine: when a
//! call has ended, nobody uses the memory that was given to it any more. What they start is a plain value, a
//! [`Startable`](crate::Startable), which only this crate turns into a call.

mod blocking;
mod foreign;
mod guard;
mod home;
mod owned;
mod scoped;

pub use blocking::{Endings, Lend, blocking, blocking_pair, blocking_replace};
pub use foreign::{Foreign, ForeignLoan, blocking_foreign, blocking_pair_foreign, leave_at_once};
pub use home::Borrower;
pub use owned::Loan;
pub use scoped::{Borrow, Borrowed};
