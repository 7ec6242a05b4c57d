//! Collectives: what every rank of a communicator calls together.
//!
//! Each call makes a [`plan::Plan`] of its arguments, fetches a schedule (made once per shape, then
//! kept in `communicator/schedules`), and hands both to the engine with the caller's memory. Which algorithm serves is
//! decided in the collectives crate.
//!
//! ```text
//! plan.rs        arguments checked, one function per collective       call.rs   from a plan to its end
//! blocking.rs    all_reduce(&mut data, op)              borrowed memory, returns when done
//! owned.rs       start_all_reduce(data, op)             owned memory, returns a Pending
//! families.rs    the table from which owned.rs, scoped.rs and persistent.rs are made
//! returned.rs    all_reduce_one(x, op)                  memory of its own, returned when done
//! scoped.rs      scope(|s| s.all_reduce(&mut data, op)) borrowed memory, done before the scope ends
//! persistent.rs  prepare_all_reduce(data, op)           owned memory, started many times
//! fused.rs       all_reduce_many(&mut [..], op)         many small ones as few large ones
//! buckets.rs     all_reduce_buckets(op)                 many small ones that come one after another
//! object.rs      broadcast_object(object, root)         anything serde can write      object_exchange.rs moves it
//! within.rs      parts of calls with another name, such as those of objects
//! ```

// As the page of `Communicator` shows them.
mod blocking;

mod returned;

mod fused;

mod buckets;

mod object;

mod owned;

mod persistent;

mod call;
mod families;
mod object_exchange;
pub(crate) mod plan;
mod scoped;
mod within;

pub use buckets::Buckets;
