//! Flow control: what a receiver has to hold is bounded, what it waits for comes all the same, and a
//! stream that is received in time is not slowed down by requests.

use crate::net::{Net, selector};
use ringworld_protocol::{Config, Element, Envelope, Mode, OVERHEAD, RequestId, Stage};

const EAGER: usize = 64;
const WINDOW: usize = 4 * (EAGER + OVERHEAD);
const LARGE: usize = 1000;
const REQUESTS: usize = 20;

/// Places in [`Net::kinds`].
const EAGERLY: usize = 1;
const REQUEST: usize = 2;
const CREDIT: usize = 6;
const PROBE_ACK: usize = 7;

/// Runs `test` on fresh networks of `size` ranks with different delivery orders and a low bound.
fn seeds(size: usize, test: impl Fn(&mut Net)) {
    for seed in 0..200 {
        let config = Config::new(0, size, EAGER, WINDOW).unwrap().with_requests(REQUESTS);
        test(&mut Net::with(config, seed));
    }
}

fn waits_for_credit(net: &Net, rank: usize, request: RequestId) -> bool {
    net.machines[rank].describe(request).is_some_and(|description| description.stage == Stage::Credit)
}

#[test]
fn a_sender_that_outruns_its_receiver_is_held_back_and_nothing_is_lost() {
    seeds(3, |net| {
        let sends: Vec<_> =
            (0..100).map(|k| net.send(1, 0, 0, k, (k as usize * 13) % 300, Mode::Standard)).collect();
        net.send(2, 0, 0, 0, 5, Mode::Standard);
        net.settle();
        assert!(net.peak <= WINDOW);
        assert!(waits_for_credit(net, 1, sends[99]), "the last send cannot have left");
        let lying = net.machines[0].unexpected(0).filter(|incoming| incoming.source == 1).count();
        assert!(
            (REQUESTS..=REQUESTS + WINDOW / OVERHEAD).contains(&lying),
            "{lying} messages lie unreceived"
        );
        assert_eq!(net.probe(0, selector(0, Some(2), None)), Some(100), "another sender is not held back");
        net.receive(0, selector(0, Some(2), None), 5);
        let receives: Vec<_> = (0..100).map(|_| net.receive(0, selector(0, Some(1), None), 300)).collect();
        net.settle();
        assert!(receives.iter().zip(0..).all(|(r, k)| net.got(0, *r) == k));
        net.assert_empty(0..1);
    });
}

#[test]
fn a_steady_sender_gets_its_credit_back_without_traffic_the_other_way() {
    for spare in [0, 1, EAGER, 10 * EAGER] {
        let mut net = Net::new(2, EAGER, EAGER + OVERHEAD + spare, 3);
        for k in 0..500 {
            let receive = net.receive(0, selector(0, None, None), EAGER);
            let send = net.send(1, 0, 0, 7, if k % 3 == 0 { EAGER } else { k % EAGER }, Mode::Standard);
            net.settle();
            assert!(net.outcome(1, send).is_some(), "send {k} is stuck with {spare} bytes to spare");
            assert_eq!(net.got(0, receive), k as u64);
        }
        let [credit_messages, eager] = [net.kinds[0][6], net.kinds[1][1]];
        assert!(credit_messages <= eager, "{credit_messages} credit messages for {eager} messages");
    }
}

#[test]
fn credit_rides_on_traffic_that_goes_back_anyway() {
    let mut net = Net::new(2, EAGER, WINDOW, 3);
    for _ in 0..200 {
        for rank in [0, 1] {
            net.receive(1 - rank, selector(0, None, None), EAGER);
            net.send(rank, 1 - rank, 0, 7, 1, Mode::Standard);
            net.settle();
        }
    }
    assert_eq!((net.kinds[0][6], net.kinds[1][6]), (0, 0), "no credit messages in a ping-pong");
}

#[test]
fn a_sender_is_held_back_at_the_bound_only_and_goes_on_with_every_message_received() {
    seeds(2, |net| {
        let sends: Vec<_> = (0..60).map(|k| net.send(1, 0, 0, k, EAGER, Mode::Standard)).collect();
        net.settle();
        let held = |net: &Net| sends.iter().filter(|send| waits_for_credit(net, 1, **send)).count();
        // Four fill the window.
        assert_eq!(held(net), 60 - 4 - REQUESTS);
        let mut order: Vec<u64> = (0..20).collect();
        while !order.is_empty() {
            let before = held(net);
            let at = net.random.below(order.len());
            let tag = order.swap_remove(at);
            let receive = net.receive(0, selector(0, Some(1), Some(tag)), EAGER);
            net.settle();
            assert_eq!(net.got(0, receive), tag);
            assert!(held(net) < before, "one was received, but {before} still wait");
        }
    });
}

#[test]
fn collectives_go_on_behind_any_number_of_messages_that_nobody_receives() {
    for len in [0, EAGER, LARGE] {
        seeds(2, |net| {
            for k in 0..60 {
                net.send(1, 0, 0, k, net_length(k), Mode::Standard);
                if net.random.below(3) == 0 {
                    net.step();
                }
            }
            // Back and forth, as in a barrier, with messages of every kind.
            for round in 0..20 {
                let sends =
                    [0, 1].map(|rank| (rank, net.send(rank, 1 - rank, 1, round, len, Mode::Standard)));
                let receives = [0, 1]
                    .map(|rank| (rank, net.receive(rank, selector(1, Some(1 - rank), Some(round)), len)));
                net.settle();
                for (rank, request) in sends.into_iter().chain(receives) {
                    assert!(
                        matches!(net.outcome(rank, request), Some(Ok(_))),
                        "round {round} of {len} bytes"
                    );
                }
            }
            let receives: Vec<_> =
                (0..60).map(|_| net.receive(0, selector(0, Some(1), None), LARGE)).collect();
            net.settle();
            assert!(receives.iter().zip(0..).all(|(r, k)| net.got(0, *r) == k), "nothing overtakes");
            net.assert_empty(0..2);
        });
    }
}

#[test]
fn what_collectives_may_leave_beside_a_flood_is_bounded_too() {
    let config = Config::new(0, 2, EAGER, WINDOW).unwrap().with_requests(REQUESTS);
    assert_eq!(config.reserve(), 3, "an eighth");
    for flood in [0, 60] {
        seeds(2, |net| {
            for _ in 0..flood {
                net.send(1, 0, 0, 7, EAGER, Mode::Standard);
            }
            net.settle();
            let sends: Vec<_> = (0..60).map(|_| net.send(1, 0, 1, 7, EAGER, Mode::Standard)).collect();
            net.settle();
            let held = sends.iter().filter(|send| waits_for_credit(net, 1, **send)).count();
            // Without a flood they have all of the budget, in which four fill the window.
            let room = if flood == 0 { 4 + REQUESTS } else { 0 };
            assert_eq!(held, 60 - room - config.reserve());
            assert_eq!(net.machines[0].unexpected(1).count(), 60 - held);
            // Nor do collectives that nobody has come to keep back what is received.
            let more = net.send(1, 0, 0, 8, EAGER, Mode::Standard);
            let receives: Vec<_> =
                (0..60).map(|_| net.receive(0, selector(1, Some(1), None), EAGER)).collect();
            let flooded: Vec<_> =
                (0..flood).map(|_| net.receive(0, selector(0, None, Some(7)), EAGER)).collect();
            let last = net.receive(0, selector(0, None, Some(8)), EAGER);
            net.settle();
            assert!(receives.iter().chain(&flooded).all(|r| matches!(net.outcome(0, *r), Some(Ok(_)))));
            assert!(matches!((net.outcome(1, more), net.outcome(0, last)), (Some(Ok(_)), Some(Ok(_)))));
            net.assert_empty(0..2);
        });
    }
}

/// Some eager, some not.
fn net_length(k: u64) -> usize {
    [0, EAGER, 5, LARGE][k as usize % 4]
}

#[test]
fn the_bound_of_a_default_world_is_the_documented_one() {
    let config = Config::new(0, 2, EAGER, WINDOW).unwrap();
    let mut net = Net::with(config, 5);
    let span = ringworld_protocol::Span::of(ringworld_protocol::BufferId::FIRST, LARGE);
    let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    let most = config.requests + WINDOW / OVERHEAD;
    let sends: Vec<_> = (0..=most).map(|_| net.machines[1].send(0, envelope, span, Mode::Standard)).collect();
    let mut stages = sends.iter().map(|send| net.machines[1].describe(*send).unwrap().stage);
    assert_eq!(stages.clone().filter(|stage| *stage == Stage::Match).count(), most);
    assert_eq!(stages.next_back(), Some(Stage::Credit));
}

#[test]
fn a_full_window_is_asked_about_once() {
    seeds(2, |net| {
        for _ in 0..20 {
            net.send(1, 0, 0, 1, EAGER, Mode::Standard);
        }
        net.settle();
        assert_eq!((net.kinds[1][EAGERLY], net.kinds[1][REQUEST], net.kinds[0][PROBE_ACK]), (4, 16, 1));
        // What it waits for comes one by one, and without a probe.
        for _ in 0..5 {
            let receive = net.receive(0, selector(0, Some(1), Some(2)), EAGER);
            net.send(1, 0, 0, 2, EAGER, Mode::Standard);
            net.settle();
            assert!(net.outcome(0, receive).is_some());
        }
        assert_eq!((net.kinds[1][EAGERLY], net.kinds[1][REQUEST], net.kinds[0][PROBE_ACK]), (4, 21, 1));
        // Once the receiver has caught up, messages are eager again.
        for _ in 0..20 {
            net.receive(0, selector(0, Some(1), Some(1)), EAGER);
        }
        net.settle();
        net.receive(0, selector(0, Some(1), Some(3)), EAGER);
        net.send(1, 0, 0, 3, EAGER, Mode::Standard);
        net.settle();
        assert_eq!((net.kinds[1][EAGERLY], net.kinds[1][REQUEST]), (5, 21));
        net.assert_empty(0..1);
    });
}

#[test]
fn a_stream_that_is_received_in_time_needs_no_requests() {
    seeds(2, |net| {
        for k in 0..300 {
            let receive = net.receive(0, selector(0, Some(1), Some(7)), EAGER);
            net.send(1, 0, 0, 7, k % (EAGER + 1), Mode::Standard);
            net.settle();
            assert_eq!(net.got(0, receive), k as u64);
        }
        assert_eq!((net.kinds[1][EAGERLY], net.kinds[1][REQUEST]), (300, 0));
    });
}

#[test]
fn a_flood_that_is_received_in_time_asks_at_most_once_per_window() {
    const MESSAGES: usize = 2000;
    const PER_WINDOW: usize = 50;
    for len in [0, 8, EAGER] {
        let mut most = 0;
        for seed in 0..20 {
            let mut net = Net::new(2, EAGER, PER_WINDOW * (len + OVERHEAD), seed);
            for _ in 0..MESSAGES {
                net.receive(0, selector(0, Some(1), Some(7)), len);
            }
            for _ in 0..MESSAGES {
                net.send(1, 0, 0, 7, len, Mode::Standard);
            }
            net.settle();
            assert_eq!(net.kinds[1][EAGERLY] + net.kinds[1][REQUEST], MESSAGES);
            most = most.max(net.kinds[1][REQUEST]);
            net.assert_empty(0..1);
        }
        println!("{MESSAGES} messages of {len} bytes, {PER_WINDOW} per window: up to {most} requests");
        assert!(most <= MESSAGES / PER_WINDOW, "{most} requests among {MESSAGES} messages of {len} bytes");
    }
}

#[test]
fn a_blocking_sender_pays_one_request_per_window_when_its_receiver_lags() {
    const MESSAGES: usize = 1000;
    const PER_WINDOW: usize = 50;
    for seed in 0..20 {
        let mut net = Net::new(2, EAGER, PER_WINDOW * (8 + OVERHEAD), seed);
        let mut sent: usize = 0;
        let mut last = None;
        while sent < MESSAGES {
            if last.is_none_or(|request| net.outcome(1, request).is_some()) {
                last = Some(net.send(1, 0, 0, 7, 8, Mode::Standard));
                sent += 1;
            } else if !net.step() {
                // The sender waits: the receiver takes what has come, in order, and one more.
                net.receive(0, selector(0, Some(1), Some(7)), 8);
            }
        }
        let requests = net.kinds[1][REQUEST];
        assert!(requests <= MESSAGES / PER_WINDOW, "seed {seed}: {requests} requests");
        assert!(net.kinds[0][CREDIT] <= 4 * MESSAGES / PER_WINDOW, "seed {seed}");
    }
}
