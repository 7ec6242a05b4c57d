//! Promises about the orderly end.

use super::Fabric;
use super::harness::{Harness, message, put};
use super::pattern::pattern;
use crate::{Cause, Refused};

/// Everything accepted before `close` is delivered; then the peer sees `PeerClosed` and the closer
/// `Closed`.
pub fn close_delivers_everything_first(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 3, "close_delivers_everything_first");
    let messages: Vec<_> = (0..40).map(|i| (vec![i as u8], pattern(i, 50_000))).collect();
    let source = pattern(5, 2 << 20);
    for to in [1, 2] {
        let (_, key) = h.expose(to, 0, source.len());
        for (header, bytes) in &messages {
            h.send(0, to, header, bytes);
        }
        h.put(0, to, key, 0, &source);
    }
    h.end(0).transport().close();
    h.until("Closed at the closer", |h| h.end(0).closed);
    let told = (1..3).all(|to| h.end(to).closed_peers == [0]);
    h.check(told, "Closed was reported before every peer had acknowledged (which reports PeerClosed there)");
    // `PeerClosed` comes last, so nothing may be missing now.
    h.check_received(1, 0, &messages);
    h.check_received(2, 0, &messages);
    for to in [1, 2] {
        let right = h.end(to).exposures[0].bytes == source;
        h.check(right, format!("the put to rank {to} had not arrived when PeerClosed was reported"));
    }
    let all = h.end(0).all_sent();
    h.check(all, "an accepted operation did not complete in good order");
    let down = (0..3).any(|rank| !h.end(rank).down.is_empty());
    h.check(!down, "an orderly end was reported as PeerDown");
    // The closer may be dropped at once: nobody may notice.
    h.vanish(0);
    h.send(1, 2, b"on", b"we go");
    h.until("the others go on", |h| h.end(2).received_from(1).count() == 1);
    h.run_until_idle();
    let down = (1..3).any(|rank| !h.end(rank).down.is_empty());
    h.check(!down, "a peer that had closed was reported as PeerDown");
    h.finish();
}

/// A transport that never connected to anybody closes all the same.
pub fn a_lonely_transport_closes(fabric: &mut dyn Fabric) {
    for size in [1, 3] {
        let mut h = Harness::new(fabric, size, "a_lonely_transport_closes");
        h.end(0).transport().close();
        h.until("Closed", |h| h.end(0).closed);
        h.finish();
    }
}

/// After `close` the closer, and after `PeerClosed` the peer, refuse with `PeerDown`; exposing fails too.
pub fn a_closed_transport_and_its_peers_refuse_everything(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "a_closed_transport_and_its_peers_refuse_everything");
    let (_, key) = h.expose(1, 0, 10);
    h.send(0, 1, b"x", b"first");
    h.put(0, 1, key, 0, &pattern(1, 10));
    h.until("delivered", |h| h.end(1).received_from(0).count() == 1 && h.end(1).all_filled());
    h.end(0).transport().close();
    let refused = h.try_post(0, pattern(1, 10), &message(1, b"late"));
    h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("post after close: {refused:?}"));
    let refused = h.try_post(0, pattern(1, 10), &put(1, key, 0));
    h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("put after close: {refused:?}"));
    let exposed = h.try_expose(0, 1, 10);
    h.check(exposed.is_err(), "expose after close succeeded");
    h.until("Closed and PeerClosed", |h| h.end(0).closed && h.end(1).closed_peers == [0]);
    let refused = h.try_post(1, pattern(1, 10), &message(0, b"late"));
    h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("post after PeerClosed: {refused:?}"));
    let exposed = h.try_expose(1, 0, 10);
    h.check(exposed.is_err(), "expose after PeerClosed succeeded");
    let refused = h.try_post(0, pattern(1, 10), &message(1, b"late"));
    h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("post after Closed: {refused:?}"));
    h.finish();
}

/// All ranks close at once with data on its way; everything arrives and all are `Closed`.
pub fn all_may_close_at_once(fabric: &mut dyn Fabric) {
    const SIZE: usize = 4;
    for round in 0..5 {
        let mut h = Harness::new(fabric, SIZE, "all_may_close_at_once");
        let length = [0, 10, 4_096, 100_000, 1 << 20][round];
        let messages: Vec<_> = (0..5).map(|i| (vec![i as u8], pattern(i, length))).collect();
        for (header, bytes) in &messages {
            for from in 0..SIZE {
                for to in (0..SIZE).filter(|to| *to != from) {
                    h.send(from, to, header, bytes);
                }
            }
        }
        for rank in 0..SIZE {
            h.end(rank).transport().close();
        }
        h.until("Closed everywhere", |h| (0..SIZE).all(|rank| h.end(rank).closed));
        for from in 0..SIZE {
            for to in (0..SIZE).filter(|to| *to != from) {
                h.check_received(to, from, &messages);
            }
            let all = h.end(from).all_sent();
            h.check(all, "an accepted operation did not complete in good order");
            let down = h.end(from).down.clone();
            h.check(down.is_empty(), format!("an orderly end was reported as {down:?}"));
        }
        h.finish();
    }
}

/// What a closer has sent to one peer, who closes as well and looks late, stays as it is while it sends to another.
pub fn what_a_closer_has_sent_waits_for_who_closes_as_well(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 3, "what_a_closer_has_sent_waits_for_who_closes_as_well");
    for (from, to) in [(0, 1), (0, 2)] {
        h.send(from, to, b"x", b"hello");
    }
    h.until("connected", |h| (1..3).all(|peer| h.end(peer).received_from(0).count() == 1));
    // The end of rank 1 is on its way before rank 0 looks.
    h.end(0).polled = false;
    h.end(1).transport().close();
    let mut rounds = 0;
    h.until("time for an end to be sent", |_| {
        rounds += 1;
        rounds > 20
    });
    h.end(1).polled = false;
    let (late, long) = (pattern(1, 64 << 10), pattern(2, 1 << 20));
    h.send(0, 1, b"y", &late);
    for _ in 0..3 {
        h.send(0, 2, b"z", &long);
    }
    h.end(0).transport().close();
    h.end(0).polled = true;
    h.until("all at the rank that looks", |h| h.end(2).received_from(0).count() == 4);
    h.end(1).polled = true;
    h.until("Closed", |h| h.end(0).closed && h.end(1).closed);
    let hello = (b"x".to_vec(), b"hello".to_vec());
    h.check_received(1, 0, &[hello.clone(), (b"y".to_vec(), late)]);
    let long = (b"z".to_vec(), long);
    h.check_received(2, 0, &[hello, long.clone(), long.clone(), long]);
    h.finish();
}

/// A peer that dies instead of acknowledging does not keep a closer from `Closed`.
pub fn a_vanished_peer_does_not_hold_up_close(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 3, "a_vanished_peer_does_not_hold_up_close");
    for peer in [1, 2] {
        h.send(0, peer, b"x", b"hello");
    }
    h.until("connected", |h| (1..3).all(|peer| h.end(peer).received_from(0).count() == 1));
    h.end(2).polled = false;
    h.send(0, 1, b"y", &pattern(1, 1 << 20));
    h.end(0).transport().close();
    h.until("PeerClosed at the living peer", |h| h.end(1).closed_peers == [0]);
    h.vanish(2);
    h.until("Closed", |h| h.end(0).closed);
    let received = h.end(1).received_from(0).count();
    h.check(received == 2, "a message accepted before close did not arrive");
    h.finish();
}

/// A first message to a rank that closes meanwhile, which never heard of the sender, arrives; or the sender is told
/// that the peer is lost, and not that it has finished: somebody has to find out what became of the message. Where it
/// was complete for its sender, that is told that it never left.
pub fn a_first_message_to_a_rank_that_closes_is_not_lost_in_silence(fabric: &mut dyn Fabric) {
    for turns in 0..8 {
        let mut h = Harness::new(fabric, 2, "a_first_message_to_a_rank_that_closes_is_not_lost_in_silence");
        let (closes_first, polls_first) = (turns % 2 == 0, turns / 2 % 2);
        if closes_first {
            h.end(1).transport().close();
        }
        h.send(0, 1, b"x", b"hello");
        for _ in 0..turns / 4 {
            h.poll(polls_first);
        }
        if !closes_first {
            h.end(1).transport().close();
        }
        h.until("Closed", |h| h.end(1).closed);
        h.vanish(1);
        h.until("a message that has arrived, or a loss", |h| {
            h.end(1).received_from(0).count() == 1 || h.end(0).is_down(1)
        });
        let down = h.end(0).down.clone();
        let told = down.iter().any(|(_, cause)| *cause != Cause::Finished);
        let arrived = h.end(1).received_from(0).count() == 1;
        h.check(arrived || told, format!("it was lost, and the sender was told {down:?}"));
        let said = h.end(0).undelivered == [1] || !h.end(0).all_sent();
        h.check(arrived || said, "it was complete, and lost, and the sender was not told that it never left");
        h.finish();
    }
}
