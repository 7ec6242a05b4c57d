//! One fault for each promise, and that it is found.

use super::fault::Fault;
use super::judge::Promise;
use super::schedules::{Found, play};
use crate::machine::Planted;

/// That schedules find it, and as what.
fn is_found(fault: Fault, as_what: &[Promise]) {
    for seed in 0..10_000 {
        if let Err(Found { broken, .. }) = play(seed, Some(fault), false) {
            assert!(as_what.contains(&broken.promise), "{fault:?}, seed {seed}: {broken:?}");
            println!("{fault:?}: found by schedule {seed}, as {:?}: {}", broken.promise, broken.how);
            return;
        }
    }
    panic!("{fault:?} was not found");
}

#[test]
fn half_without_the_first_is_found() {
    is_found(Fault::Machine(Planted::HalfIsEnough), &[Promise::Quorum, Promise::OneWorld]);
}

#[test]
fn whoever_decides_alone_is_found() {
    is_found(Fault::Machine(Planted::DecidesAlone), &[Promise::Quorum]);
}

#[test]
fn a_voter_that_forgets_is_found() {
    is_found(Fault::Machine(Planted::ForgetsPromises), &[Promise::OneWorld]);
}

#[test]
fn a_leader_that_ignores_what_was_accepted_is_found() {
    is_found(Fault::IgnoresAccepted, &[Promise::OneWorld]);
}

#[test]
fn survivors_out_of_order_are_found() {
    is_found(Fault::Machine(Planted::OutOfOrder), &[Promise::Order]);
}

#[test]
fn members_that_were_not_ready_are_found() {
    is_found(Fault::Machine(Planted::CountsTheSilent), &[Promise::Consent]);
}

#[test]
fn newcomers_that_have_not_knocked_are_found() {
    is_found(Fault::AdmitsStrangers, &[Promise::Consent]);
}

#[test]
fn too_small_a_world_is_found() {
    is_found(Fault::NoLeast, &[Promise::Bounds]);
}

#[test]
fn too_large_a_world_is_found() {
    is_found(Fault::NoMost, &[Promise::Bounds]);
}

#[test]
fn waiting_for_ever_is_found() {
    is_found(Fault::NoEnd, &[Promise::End]);
}

#[test]
fn what_is_said_only_once_is_found() {
    is_found(Fault::NoRepeat, &[Promise::Liveness]);
}

#[test]
fn chatter_is_found() {
    is_found(Fault::Chatter, &[Promise::Messages]);
}

#[test]
fn two_without_a_link_that_stay_together_are_found() {
    is_found(Fault::Machine(Planted::KeepsBrokenLinks), &[Promise::Links]);
}

#[test]
fn a_world_that_ends_under_those_who_stay_is_found() {
    is_found(Fault::Machine(Planted::DisbandsAtOnce), &[Promise::GoingOn]);
}

#[test]
fn a_busy_loop_is_found() {
    is_found(Fault::Machine(Planted::BusyLoop), &[Promise::Idleness]);
}

#[test]
fn an_answer_after_the_end_is_found() {
    is_found(Fault::Machine(Planted::AnswersAfterTheEnd), &[Promise::Answers]);
}
