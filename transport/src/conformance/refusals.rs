//! Promises about refused operations and about receivers that fall behind.

use super::Fabric;
use super::harness::{Harness, message, put};
use super::pattern::pattern;
use crate::{Cause, Refused, RemoteKey};

/// A rank whose address was never given is `Unknown` to `post`, and an error to `expose`.
pub fn a_peer_without_address_is_unknown(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "a_peer_without_address_is_unknown");
    for absent in [2, 1_000_000] {
        let refused = h.try_post(0, pattern(1, 10), &message(absent, b"x"));
        h.check(matches!(refused, Err(Refused::Unknown(_))), format!("post answered {refused:?}"));
        let exposed = h.try_expose(0, absent, 10);
        h.check(exposed.is_err(), format!("expose to rank {absent} succeeded"));
    }
    h.send(0, 1, b"y", b"known");
    h.until("the known peer served", |h| h.end(1).received_from(0).count() == 1);
    h.finish();
}

/// A key that this transport cannot have made, and a payload above `max_message`, are `Invalid`.
pub fn impossible_operations_are_invalid(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "impossible_operations_are_invalid");
    let foreign = RemoteKey::new(&[]).expect("an empty key is a key");
    let refused = h.try_post(0, pattern(1, 10), &put(1, foreign, 0));
    h.check(matches!(refused, Err(Refused::Invalid(..))), format!("a put to an empty key: {refused:?}"));
    let longest = h.end(0).transport().capabilities().max_message;
    if longest < 64 << 20 {
        let refused = h.try_post(0, vec![0; longest + 1], &message(1, b"long"));
        h.check(matches!(refused, Err(Refused::Invalid(..))), format!("a message too long: {refused:?}"));
    }
    h.send(0, 1, b"y", b"possible");
    h.until("a possible message served", |h| h.end(1).received_from(0).count() == 1);
    h.finish();
}

/// Whatever the reason, the very operation comes back: header, memory, key, offset and token.
pub fn refusals_hand_back_the_operation(fabric: &mut dyn Fabric) {
    // The harness compares what comes back with what was posted on every refusal.
    let mut h = Harness::new(fabric, 2, "refusals_hand_back_the_operation");
    let (_, key) = h.expose(1, 0, 10);
    let refused = h.try_post(0, pattern(2, 100_000), &message(7, &pattern(3, 96)));
    h.check(matches!(refused, Err(Refused::Unknown(_))), format!("unknown peer: {refused:?}"));
    let refused = h.try_post(0, pattern(2, 10), &put(7, key, 3));
    h.check(matches!(refused, Err(Refused::Unknown(_))), format!("unknown peer: {refused:?}"));
    h.end(0).transport().disconnect(1, Cause::Declared("the check says so".to_owned()));
    h.until("the disconnect reported", |h| h.end(0).is_down(1));
    let refused = h.try_post(0, pattern(2, 100_000), &message(1, &pattern(3, 96)));
    h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("peer down: {refused:?}"));
    let refused = h.try_post(0, pattern(2, 10), &put(1, key, 0));
    h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("peer down: {refused:?}"));
    h.finish();
}

/// A receiver that does not poll holds its sender back; nothing is lost or reordered once it resumes.
pub fn a_receiver_that_does_not_poll_loses_nothing(fabric: &mut dyn Fabric) {
    const MESSAGES: usize = 64;
    let mut h = Harness::new(fabric, 2, "a_receiver_that_does_not_poll_loses_nothing");
    // The connection is made first, for a receiver that does not poll cannot accept one.
    h.send(0, 1, b"hello", b"");
    h.until("connected", |h| h.end(1).received_from(0).count() == 1);
    h.end(1).polled = false;
    let length = 256 << 10;
    let messages: Vec<_> = (0..MESSAGES).map(|i| (vec![i as u8], pattern(i as u64, length))).collect();
    let mut posted = 0;
    let mut busy = 0;
    while posted < MESSAGES && busy < 200 {
        let (header, bytes) = &messages[posted];
        match h.try_post(0, bytes.clone(), &message(1, header)) {
            Ok(_) => posted += 1,
            Err(Refused::Busy(_)) => {
                busy += 1;
                h.step();
            }
            Err(refused) => h.broken(format!("a slow receiver is no reason for {refused:?}")),
        }
    }
    h.run_until_idle();
    h.end(1).polled = true;
    for (header, bytes) in &messages[posted..] {
        h.send(0, 1, header, bytes);
    }
    h.until("all messages received", |h| h.end(1).received_from(0).count() == MESSAGES + 1);
    h.until("all messages sent", |h| h.end(0).all_sent());
    let mut expected = vec![(b"hello".to_vec(), Vec::new())];
    expected.extend(messages);
    h.check_received(1, 0, &expected);
    h.finish();
}
