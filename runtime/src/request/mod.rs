//! Operations that are begun now and end later: owned, in a scope, or prepared and started many times.
//!
//! ```text
//! pending.rs      Pending: owned memory, waited for or awaited    start.rs, probe.rs, object.rs begin messages
//! scope.rs        Scope: borrowed memory, done before the scope ends
//! prepared.rs     Prepared: owned memory, started many times
//! registered.rs   Registered: memory that network cards know
//! wait.rs         Request: what can be waited for; several at once
//! ```
//!
//! Collectives that are begun so are in `collective`.

// As the page of `Communicator` shows them.
mod start;

mod probe;

mod object;

mod scope;

mod prepared;

mod registered;

mod pending;
mod wait;

pub use object::PendingObject;
pub use pending::{Outcome, Pending};
pub use prepared::{Prepared, Running};
pub use probe::PendingMessage;
pub use registered::Registered;
pub use scope::{Scope, Scoped, ScopedOutcome};
pub use wait::{Request, test_any, wait_all, wait_any};
