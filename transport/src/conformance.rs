//! The conformance kit: the tests that every transport must pass, written against the trait only.
//!
//! A transport's test file supplies a [`Fabric`] and lists every promise as a test of its own:
//!
//! ```ignore
//! use ringworld_transport::{Transport, conformance::Fabric};
//!
//! struct Sockets;
//! impl Fabric for Sockets {
//!     fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> { /* bind, then connect all */ }
//! }
//! ringworld_transport::conformance_tests!(Sockets);
//! ```
//!
//! Invariant: whatever a check is about, its harness verifies on every event that operations complete
//! exactly once, that nothing is reported for a peer that is down, that messages of a pair arrive in
//! order, and (by overwriting memory as soon as it is the caller's again) that a transport never touches
//! memory it has given back. All transports of a world are stepped from one thread, so a failing check
//! fails the same way again. Neighbours: the contract in the crate documentation, `harness` (stepping),
//! `accounting` (the state of every operation), `buffer` (the memory lent to transports).

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::needless_range_loop,
    clippy::result_large_err,
    reason = "a test kit: a broken promise is reported by a panic that names it"
)]

mod accounting;
mod buffer;
mod closing;
mod fabric;
mod failures;
mod first;
mod harness;
mod messages;
mod pattern;
mod puts;
mod refusals;
mod regions;
mod showing;
mod sleeping;

#[cfg(test)]
pub(crate) use buffer::Buffer;
pub use closing::{
    a_closed_transport_and_its_peers_refuse_everything,
    a_first_message_to_a_rank_that_closes_is_not_lost_in_silence, a_lonely_transport_closes,
    a_vanished_peer_does_not_hold_up_close, all_may_close_at_once, close_delivers_everything_first,
    what_a_closer_has_sent_waits_for_who_closes_as_well,
};
pub use fabric::Fabric;
pub use failures::{
    a_refused_header_takes_only_that_peer_down, a_vanished_peer_is_down_exactly_once,
    abort_frees_everything_at_once, disconnect_is_reported_once,
};
pub use first::{first_messages_keep_their_order, the_first_message_waits_for_nobody};
pub use messages::{
    all_to_all_messages_and_puts_arrive, both_sides_may_connect_at_once, coalesced_messages_keep_their_order,
    each_message_is_placed_and_received_once, headers_of_every_length_are_intact,
    injected_messages_keep_their_order, large_messages_both_ways_at_once_finish,
    long_messages_to_many_peers_at_once_arrive, messages_arrive_in_order_and_intact,
    operations_complete_exactly_once, short_placements_truncate_and_the_stream_goes_on,
};
pub use puts::{
    an_exposure_is_filled_by_its_last_byte_only, large_puts_and_messages_both_ways_at_once_finish,
    puts_fill_exposures_in_any_order,
};
pub use refusals::{
    a_peer_without_address_is_unknown, a_receiver_that_does_not_poll_loses_nothing,
    impossible_operations_are_invalid, refusals_hand_back_the_operation,
};
pub use regions::{
    a_lost_peer_leaves_registered_memory_alone, deregistering_leaves_operations_under_way_alone,
    nothing_is_registered_after_the_end, puts_from_and_into_registered_memory_arrive,
};
pub use showing::{
    channels_come_and_go, nothing_is_shown_to_who_is_not_there, waiting_wakes_for_what_is_shown,
    what_is_shown_stays_until_all_have_passed_it, what_was_shown_outlives_a_good_end,
    who_shows_what_is_passed_is_told,
};
pub use sleeping::{
    a_sleeper_is_woken_although_others_poll_and_arm, waiting_wakes_for_a_finished_send,
    waiting_wakes_for_a_lost_peer, waiting_wakes_for_a_message, what_a_poll_leaves_is_not_slept_through,
};

/// A check of one promise; panics with the name of the promise when it is broken.
pub type Check = fn(&mut dyn Fabric);

/// Every promise: the name and the check.
pub const PROMISES: &[(&str, Check)] = crate::conformance_tests!(@table);

/// Checks every promise in turn, in worlds made by `fabric`.
pub fn run_all(fabric: &mut dyn Fabric) {
    for (_, check) in PROMISES {
        check(fabric);
    }
}

/// Lists every promise of the conformance kit as a `#[test]`; the argument is an expression that makes a
/// [`Fabric`], evaluated once per test. Wrap it in a module to run the kit several times.
#[macro_export]
macro_rules! conformance_tests {
    (@table) => { $crate::conformance_tests!(@promises table ()) };
    (@promises $kind:ident $arguments:tt) => {
        $crate::conformance_tests! { @$kind $arguments
            messages_arrive_in_order_and_intact
            coalesced_messages_keep_their_order
            injected_messages_keep_their_order
            headers_of_every_length_are_intact
            each_message_is_placed_and_received_once
            short_placements_truncate_and_the_stream_goes_on
            operations_complete_exactly_once
            large_messages_both_ways_at_once_finish
            long_messages_to_many_peers_at_once_arrive
            all_to_all_messages_and_puts_arrive
            both_sides_may_connect_at_once
            the_first_message_waits_for_nobody
            first_messages_keep_their_order
            puts_fill_exposures_in_any_order
            an_exposure_is_filled_by_its_last_byte_only
            large_puts_and_messages_both_ways_at_once_finish
            puts_from_and_into_registered_memory_arrive
            deregistering_leaves_operations_under_way_alone
            a_lost_peer_leaves_registered_memory_alone
            nothing_is_registered_after_the_end
            a_peer_without_address_is_unknown
            impossible_operations_are_invalid
            refusals_hand_back_the_operation
            a_receiver_that_does_not_poll_loses_nothing
            close_delivers_everything_first
            a_lonely_transport_closes
            a_closed_transport_and_its_peers_refuse_everything
            all_may_close_at_once
            what_a_closer_has_sent_waits_for_who_closes_as_well
            a_vanished_peer_does_not_hold_up_close
            a_first_message_to_a_rank_that_closes_is_not_lost_in_silence
            a_vanished_peer_is_down_exactly_once
            disconnect_is_reported_once
            abort_frees_everything_at_once
            a_refused_header_takes_only_that_peer_down
            waiting_wakes_for_a_message
            what_a_poll_leaves_is_not_slept_through
            waiting_wakes_for_a_finished_send
            waiting_wakes_for_a_lost_peer
            a_sleeper_is_woken_although_others_poll_and_arm
            what_is_shown_stays_until_all_have_passed_it
            nothing_is_shown_to_who_is_not_there
            who_shows_what_is_passed_is_told
            what_was_shown_outlives_a_good_end
            channels_come_and_go
            waiting_wakes_for_what_is_shown
        }
    };
    (@table () $($name:ident)*) => { &[$((stringify!($name), $name as Check)),*] };
    (@tests ($fabric:expr) $($name:ident)*) => {
        $(#[test] fn $name() { $crate::conformance::$name(&mut $fabric); })*
    };
    ($fabric:expr) => { $crate::conformance_tests!(@promises tests ($fabric)); };
}
