//! Promises about peers that die, are declared dead, or break the protocol.

use super::Fabric;
use super::accounting::State;
use super::harness::{Harness, message};
use super::pattern::pattern;
use crate::{Cause, Refused};

/// A message each way, so that every pair is connected.
fn connect_all(h: &mut Harness<'_>) {
    let size = h.size();
    for from in 0..size {
        for to in (0..size).filter(|to| *to != from) {
            h.send(from, to, b"hello", b"");
        }
    }
    h.until("connected", |h| {
        (0..size).all(|to| (0..size).all(|from| from == to || h.end(to).received_from(from).count() == 1))
    });
}

/// A transport dropped without `close` is reported by one `PeerDown` at each connected peer, which ends
/// all operations of that peer and no others.
pub fn a_vanished_peer_is_down_exactly_once(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 3, "a_vanished_peer_is_down_exactly_once");
    connect_all(&mut h);
    let (lost, _) = h.expose(0, 2, 1_000);
    let (kept, key) = h.expose(0, 1, 1_000);
    h.end(2).polled = false;
    for index in 0..4 {
        // `Busy` is possible: the victim does not poll.
        let _ = h.try_post(0, pattern(index, 1 << 20), &message(2, b"doomed"));
    }
    h.step();
    h.vanish(2);
    h.until("PeerDown at both peers", |h| h.end(0).is_down(2) && h.end(1).is_down(2));
    let nothing_pending = h.end(0).nothing_pending();
    h.check(nothing_pending, "an operation was left");
    let state = h.end(0).exposures[lost].state;
    h.check(state == State::Lost, "the exposure to the dead peer was reported as filled");
    for rank in [0, 1] {
        let refused = h.try_post(rank, pattern(1, 10), &message(2, b"late"));
        h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("post to the dead: {refused:?}"));
        let exposed = h.try_expose(rank, 2, 10);
        h.check(exposed.is_err(), "expose to the dead succeeded");
    }
    h.send(0, 1, b"on", &pattern(3, 100_000));
    h.put(1, 0, key, 0, &pattern(4, 1_000));
    h.until("the others go on", |h| h.end(1).received_from(0).count() == 2);
    h.until("puts of the living go on", |h| h.end(0).exposures[kept].state == State::Done);
    let others = h.end(0).is_down(1) || h.end(1).is_down(0);
    h.check(!others, "a living peer was reported as down");
    h.finish();
}

/// `disconnect` is reported by one `PeerDown` with the given cause, connected before or not.
pub fn disconnect_is_reported_once(fabric: &mut dyn Fabric) {
    for connected in [true, false] {
        let mut h = Harness::new(fabric, 3, "disconnect_is_reported_once");
        if connected {
            connect_all(&mut h);
        }
        let (exposed, _) = h.expose(0, 2, 1_000);
        h.end(2).polled = false;
        let _ = h.try_post(0, pattern(1, 4 << 20), &message(2, b"doomed"));
        let cause = Cause::Declared("the check says so".to_owned());
        h.end(0).transport().disconnect(2, cause.clone());
        h.end(0).transport().disconnect(2, Cause::Declared("the check says so again".to_owned()));
        let refused = h.try_post(0, pattern(1, 10), &message(2, b"late"));
        h.check(matches!(refused, Err(Refused::PeerDown(..))), format!("post after disconnect: {refused:?}"));
        h.poll(0);
        let down = h.end(0).down.clone();
        h.check(down == [(2, cause)], format!("the poll after disconnect reported {down:?}"));
        let state = h.end(0).exposures[exposed].state;
        h.check(state == State::Lost, "the exposure to the disconnected peer was left");
        h.end(0).transport().disconnect(2, Cause::Declared("and again".to_owned()));
        h.send(0, 1, b"on", &pattern(2, 100_000));
        h.until("others go on", |h| {
            let expected = if connected { 2 } else { 1 };
            h.end(1).received_from(0).count() == expected
        });
        h.finish();
    }
}

/// `abort` gives all memory back when it returns and reports nothing any more; connected peers see
/// `PeerDown`, and never bytes that were written into the memory afterwards.
pub fn abort_frees_everything_at_once(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 3, "abort_frees_everything_at_once");
    connect_all(&mut h);
    let (_, key) = h.expose(0, 1, 4 << 20);
    let source = pattern(1, 4 << 20);
    h.put(1, 0, key, 0, &source[..1 << 20]);
    let _ = h.try_post(1, pattern(2, 2 << 20), &message(0, b"to the aborter"));
    let _ = h.try_post(0, source.clone(), &message(2, b"from the aborter"));
    h.step();
    // From here the harness overwrites all memory of rank 0 and checks in the end that it stays so.
    h.abort(0);
    h.until("PeerDown at both peers", |h| h.end(1).is_down(0) && h.end(2).is_down(0));
    let nothing_pending = h.end(1).nothing_pending();
    h.check(nothing_pending, "an operation to the aborter was left at its peer");
    let late: Vec<usize> = h.end(2).received_from(0).skip(1).map(|a| a.bytes.len()).collect();
    let intact = h.end(2).received_from(0).skip(1).all(|a| a.bytes == source);
    h.check(intact, format!("messages of {late:?} bytes were received with bytes written after abort"));
    h.send(1, 2, b"on", b"we go");
    h.until("the others go on", |h| h.end(2).received_from(1).count() == 2);
    h.finish();
}

/// A header that the placer refuses takes its sender down with `Cause::Protocol`; other peers go on.
pub fn a_refused_header_takes_only_that_peer_down(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 3, "a_refused_header_takes_only_that_peer_down");
    connect_all(&mut h);
    h.set_policy(
        0,
        Box::new(|_, header, length| match header {
            b"bad" => Err("this header makes no sense".to_owned()),
            _ => Ok(length),
        }),
    );
    h.send(1, 0, b"good", &pattern(1, 5_000));
    h.send(1, 0, b"bad", &pattern(2, 5_000));
    let _ = h.try_post(1, pattern(3, 5_000), &message(0, b"good"));
    h.send(2, 0, b"good", &pattern(4, 5_000));
    h.until("PeerDown at the receiver", |h| h.end(0).is_down(1));
    let down = h.end(0).down.clone();
    h.check(matches!(down[..], [(1, Cause::Protocol(_))]), format!("reported {down:?}"));
    let before = h.end(0).received_from(1).count();
    h.check(before == 2, format!("{before} messages received of the bad peer, 2 came before the bad one"));
    h.send(2, 0, b"good", &pattern(5, 100_000));
    h.until("the other peer goes on", |h| h.end(0).received_from(2).count() == 3);
    h.finish();
}
