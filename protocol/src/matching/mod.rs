//! Tag matching: which receive gets which message. Indices in, indices out; no bytes, no states.
//!
//! The rules (MPI's): a message goes to the *earliest posted* receive that accepts its context, source
//! and tag, wildcard and specific receives ordered together; a receive takes the *earliest arrived*
//! message that it accepts. `posted.rs` holds receives that wait for messages, `unexpected.rs` messages
//! that wait for receives; at no time does an entry of one accept an entry of the other. Cost: the
//! entries of the same context and source that are older and do not match; but of messages at most a few, and those who
//! have sent one with the tag, and of receives none where many were gone through once. Neighbour: `machine/`.

mod chain;
mod contexts;
mod keyed;
mod posted;
mod unexpected;

pub(crate) use chain::{Chain, List};
pub(crate) use posted::Posted;
pub(crate) use unexpected::Unexpected;

/// So many others are gone through; where there were more, all are listed by what they name from then on. (Not where
/// more wait: collectives that are ahead wait in numbers, each with a tag of its own, and the first is mostly the right
/// one.)
const FEW: usize = 32;

/// The list of `source`, made when it is first needed: most ranks talk to few.
fn list_of(lists: &mut Vec<List>, source: usize) -> &mut List {
    if source >= lists.len() {
        lists.resize_with(source + 1, List::default);
    }
    &mut lists[source]
}
