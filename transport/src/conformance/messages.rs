//! Promises about messages: order, integrity, placement, truncation, many peers.

use super::Fabric;
use super::accounting::State;
use super::harness::Harness;
use super::pattern::pattern;
use crate::MAX_HEADER;

/// Lengths around everything that transports treat specially, and some that none does.
const LENGTHS: [usize; 18] = [
    0,
    1,
    7,
    64,
    96,
    255,
    2_048,
    2_049,
    4_095,
    4_096,
    4_097,
    8_192,
    8_193,
    65_535,
    65_536,
    70_001,
    262_144,
    1 << 20,
];

fn clamp(h: &mut Harness<'_>, length: usize) -> usize {
    length.min(h.end(0).transport().capabilities().max_message)
}

/// `count` messages with headers and lengths that `seed` decides.
fn mixed(h: &mut Harness<'_>, seed: u64, count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count)
        .map(|index| {
            let draw = rng.u64(..);
            let fixed = LENGTHS[index % LENGTHS.len()];
            let length = if index < LENGTHS.len() { fixed } else { (draw >> 20) as usize % (fixed + 1) };
            let length = clamp(h, length);
            let header = pattern(draw, draw as usize % (MAX_HEADER + 1));
            (header, pattern(draw ^ 1, length))
        })
        .collect()
}

/// Messages of one pair arrive in the order in which they were posted, header and payload intact, for
/// lengths from 0 to 1 MiB mixed at random; in both directions at once.
pub fn messages_arrive_in_order_and_intact(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "messages_arrive_in_order_and_intact");
    let there = mixed(&mut h, 11, 80);
    let back = mixed(&mut h, 12, 80);
    for ((header, bytes), (other_header, other_bytes)) in there.iter().zip(&back) {
        h.send(0, 1, header, bytes);
        h.send(1, 0, other_header, other_bytes);
    }
    h.until("all messages received", |h| {
        h.end(1).received_from(0).count() == there.len() && h.end(0).received_from(1).count() == back.len()
    });
    h.until("all messages sent", |h| h.end(0).all_sent() && h.end(1).all_sent());
    h.check_received(1, 0, &there);
    h.check_received(0, 1, &back);
    h.finish();
}

/// Messages that may be coalesced keep their order among themselves and with others, on a connection that is
/// open already, and none of them waits for more than a poll.
pub fn coalesced_messages_keep_their_order(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "coalesced_messages_keep_their_order");
    let mut messages = mixed(&mut h, 13, 30);
    let small = (0..300u64).map(|draw| (pattern(draw, draw as usize % (MAX_HEADER + 1)), pattern(draw, 40)));
    messages.extend(small);
    messages.extend(mixed(&mut h, 14, 60));
    let mut sent = 0;
    for (run, length) in [1, 2, 100, 3, 200, 7, 50, usize::MAX].into_iter().enumerate() {
        let run_of = messages.iter().skip(sent).take(length);
        for (index, (header, bytes)) in run_of.enumerate() {
            // Among those coalesced, now and then one that is not.
            h.soon = !(index + run).is_multiple_of(9);
            h.send(0, 1, header, bytes);
            sent += 1;
        }
        h.until("all messages received", |h| h.end(1).received_from(0).count() == sent);
        h.until("all messages sent", |h| h.end(0).all_sent());
    }
    h.check_received(1, 0, &messages);
    // What is coalesced last leaves although the transport is only closed.
    h.soon = true;
    h.send(0, 1, b"a", b"last");
    h.send(0, 1, b"b", b"words");
    h.end(0).transport().close();
    messages.extend([(b"a".to_vec(), b"last".to_vec()), (b"b".to_vec(), b"words".to_vec())]);
    h.until("the last words received", |h| h.end(1).received_from(0).count() == messages.len());
    h.check_received(1, 0, &messages);
}

/// Messages that are injected keep their order among themselves and with those that are posted or coalesced, before
/// there is a connection and after, and nothing is injected any more once the transport is closed. A transport that
/// says it can inject does so when nothing is in the way.
pub fn injected_messages_keep_their_order(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "injected_messages_keep_their_order");
    let most = h.end(0).transport().capabilities().inject;
    let small =
        |draw: u64| (pattern(draw, draw as usize % (MAX_HEADER + 1)), pattern(draw, draw as usize % 41));
    let mut messages: Vec<_> = (0..300u64).map(small).collect();
    messages.extend(mixed(&mut h, 15, 60));
    messages.extend((300..400u64).map(small));
    messages.extend([most, most + 1].map(|length| (b"longest".to_vec(), pattern(9, clamp(&mut h, length)))));
    let mut sent = 0;
    for (run, length) in [1, 3, 60, 2, 200, 1, 30, usize::MAX].into_iter().enumerate() {
        for (index, (header, bytes)) in messages.iter().skip(sent).take(length).enumerate() {
            // One that is posted and one that is coalesced now and then, to have some of each in front.
            h.inject = !(index + run).is_multiple_of(7);
            h.soon = (index + run).is_multiple_of(14);
            h.send(0, 1, header, bytes);
            sent += 1;
        }
        h.until("all messages received", |h| h.end(1).received_from(0).count() == sent);
        h.until("all messages sent", |h| h.end(0).all_sent());
    }
    h.check_received(1, 0, &messages);
    h.run_until_idle();
    (h.inject, h.soon) = (true, false);
    let before = h.injected;
    h.send(0, 1, b"idle", b"");
    h.check(h.injected > before || most == 0, "a message was not injected although nothing was in the way");
    messages.push((b"idle".to_vec(), Vec::new()));
    h.end(0).transport().close();
    let late = h.try_inject(0, 1, b"late", b"");
    h.check(!late, "a message was injected after `close`");
    h.until("the last message received", |h| h.end(1).received_from(0).count() == messages.len());
    h.check_received(1, 0, &messages);
}

/// Headers from none to `MAX_HEADER` bytes arrive as posted, with and without a payload behind them.
pub fn headers_of_every_length_are_intact(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "headers_of_every_length_are_intact");
    let messages: Vec<_> = (0..=MAX_HEADER)
        .flat_map(|length| [0, 5].map(|payload| (pattern(length as u64, length), pattern(9, payload))))
        .collect();
    for (header, bytes) in &messages {
        h.send(0, 1, header, bytes);
    }
    h.until("all messages received", |h| h.end(1).received_from(0).count() == messages.len());
    h.check_received(1, 0, &messages);
    h.finish();
}

/// The placer is asked once per message, in order, with the right length; `Received` follows once.
pub fn each_message_is_placed_and_received_once(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "each_message_is_placed_and_received_once");
    let messages = mixed(&mut h, 21, 60);
    for (header, bytes) in &messages {
        h.send(1, 0, header, bytes);
    }
    h.until("all messages received", |h| h.end(0).received_from(1).count() == messages.len());
    h.run_until_idle();
    let asked = h.end(0).arrivals().len();
    h.check(asked == messages.len(), format!("{asked} placements asked for {} messages", messages.len()));
    h.check_received(0, 1, &messages);
    h.finish();
}

/// A placement shorter than the payload gets the first bytes; the rest is discarded, the sender
/// succeeds, and the messages behind it are whole.
pub fn short_placements_truncate_and_the_stream_goes_on(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "short_placements_truncate_and_the_stream_goes_on");
    let room = |index: usize, length: usize| match index % 4 {
        0 => length,
        1 => length / 2,
        2 => 0,
        _ => length.saturating_sub(1),
    };
    let mut next = 0;
    h.set_policy(
        1,
        Box::new(move |_, _, length| {
            next += 1;
            Ok(room(next - 1, length))
        }),
    );
    let messages = mixed(&mut h, 31, 60);
    for (header, bytes) in &messages {
        h.send(0, 1, header, bytes);
    }
    h.until("all messages received", |h| h.end(1).received_from(0).count() == messages.len());
    h.until("all messages sent", |h| h.end(0).all_sent());
    h.check_received(1, 0, &messages);
    let lengths: Vec<usize> = h.end(1).received_from(0).map(|a| a.bytes.len()).collect();
    let expected: Vec<usize> = messages.iter().enumerate().map(|(i, (_, b))| room(i, b.len())).collect();
    h.check(lengths == expected, format!("placed {expected:?} bytes, found {lengths:?}"));
    h.finish();
}

/// Every accepted operation completes by `Complete` or by one `Sent`, never by both, never twice.
pub fn operations_complete_exactly_once(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "operations_complete_exactly_once");
    let messages = mixed(&mut h, 41, 100);
    let (_, key) = h.expose(1, 0, 100 * 1_000);
    for (index, (header, bytes)) in messages.iter().enumerate() {
        h.send(0, 1, header, bytes);
        h.put(0, 1, key, index * 1_000, &pattern(index as u64, 1_000));
    }
    h.until("everything sent", |h| h.end(0).all_sent());
    h.until("everything arrived", |h| {
        h.end(1).received_from(0).count() == messages.len() && h.end(1).all_filled()
    });
    h.run_until_idle();
    let counted = h.end(0).sendings.len();
    h.check(counted == 200, format!("{counted} operations in the accounting, 200 accepted"));
    h.finish();
}

/// Two large messages that cross each other do not block one another.
pub fn large_messages_both_ways_at_once_finish(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "large_messages_both_ways_at_once_finish");
    let length = clamp(&mut h, 8 << 20);
    let there = [(vec![1], pattern(51, length)), (vec![2], pattern(52, 3))];
    let back = [(vec![3], pattern(53, length)), (vec![4], pattern(54, 5))];
    for index in 0..2 {
        h.send(0, 1, &there[index].0, &there[index].1);
        h.send(1, 0, &back[index].0, &back[index].1);
    }
    h.until("both directions received", |h| {
        h.end(1).received_from(0).count() == 2 && h.end(0).received_from(1).count() == 2
    });
    h.until("both directions sent", |h| h.end(0).all_sent() && h.end(1).all_sent());
    h.check_received(1, 0, &there);
    h.check_received(0, 1, &back);
    h.finish();
}

/// What a rank sends to many peers at once arrives, however little of it the transport can have under way: peers that
/// have taken all make room for those that have not.
pub fn long_messages_to_many_peers_at_once_arrive(fabric: &mut dyn Fabric) {
    const SIZE: usize = 12;
    let mut h = Harness::new(fabric, SIZE, "long_messages_to_many_peers_at_once_arrive");
    let length = clamp(&mut h, 1 << 16);
    for peer in 1..SIZE {
        h.send(0, peer, b"long", &pattern(peer as u64, length));
    }
    h.until("all received", |h| (1..SIZE).all(|peer| h.end(peer).received_from(0).count() == 1));
    h.until("all sent", |h| h.end(0).all_sent());
    for peer in 1..SIZE {
        h.check_received(peer, 0, &[(b"long".to_vec(), pattern(peer as u64, length))]);
    }
    h.finish();
}

/// Five ranks send to all others at once, messages and puts, and all arrive where they should.
pub fn all_to_all_messages_and_puts_arrive(fabric: &mut dyn Fabric) {
    const SIZE: usize = 5;
    const PUT: usize = 200_000;
    let mut h = Harness::new(fabric, SIZE, "all_to_all_messages_and_puts_arrive");
    let pairs: Vec<(usize, usize)> =
        (0..SIZE).flat_map(|a| (0..SIZE).map(move |b| (a, b))).filter(|(a, b)| a != b).collect();
    let seed = |from: usize, to: usize| (from * SIZE + to) as u64 + 60;
    let keys: Vec<_> = pairs.iter().map(|&(from, to)| h.expose(to, from, PUT)).collect();
    let messages: Vec<_> = pairs.iter().map(|&(from, to)| mixed(&mut h, seed(from, to), 20)).collect();
    for round in 0..20 {
        for (index, &(from, to)) in pairs.iter().enumerate() {
            let (header, bytes) = &messages[index][round];
            h.send(from, to, header, bytes);
            if round == 10 {
                h.put(from, to, keys[index].1, 0, &pattern(seed(from, to), PUT));
            }
        }
    }
    h.until("all messages received and all exposures filled", |h| {
        pairs.iter().all(|&(from, to)| h.end(to).received_from(from).count() == 20)
            && (0..SIZE).all(|rank| h.end(rank).all_filled())
    });
    h.until("everything sent", |h| (0..SIZE).all(|rank| h.end(rank).all_sent()));
    for (index, &(from, to)) in pairs.iter().enumerate() {
        h.check_received(to, from, &messages[index]);
        let right = h.end(to).exposures[keys[index].0].bytes == pattern(seed(from, to), PUT);
        h.check(right, format!("the put of rank {from} to rank {to} arrived changed"));
    }
    h.finish();
}

/// Two ranks that use one another for the first time at the same moment lose and double nothing.
pub fn both_sides_may_connect_at_once(fabric: &mut dyn Fabric) {
    for round in 0..10 {
        let mut h = Harness::new(fabric, 2, "both_sides_may_connect_at_once");
        let there = vec![(vec![1], pattern(round, 100_000)), (vec![2], Vec::new())];
        let back = vec![(vec![3], pattern(round + 90, 10)), (vec![4], pattern(round, 70_000))];
        for index in 0..2 {
            h.send(0, 1, &there[index].0, &there[index].1);
            h.send(1, 0, &back[index].0, &back[index].1);
        }
        h.until("both directions received", |h| {
            h.end(1).received_from(0).count() == 2 && h.end(0).received_from(1).count() == 2
        });
        h.until("both directions sent", |h| h.end(0).all_sent() && h.end(1).all_sent());
        h.check_received(1, 0, &there);
        h.check_received(0, 1, &back);
        let pending = h.end(0).arrivals().iter().any(|a| a.state != State::Done);
        h.check(!pending, "a placement was asked for that never completed");
        h.finish();
    }
}
