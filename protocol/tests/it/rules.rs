//! The point-to-point rules, one test each, on random but contract-abiding deliveries.
//!
//! Every test runs over many seeds; the network of a failing run prints its own.

use crate::net::{Net, content, number, selector};
use ringworld_protocol::{Element, Failure, Kind, Mode, OVERHEAD, Stage, TagSelector};

const EAGER: usize = 64;
const WINDOW: usize = 4 * (EAGER + OVERHEAD);
const LARGE: usize = 1000;

/// Runs `test` on fresh networks of `size` ranks with different delivery orders.
fn seeds(size: usize, test: impl Fn(&mut Net)) {
    for seed in 0..200 {
        test(&mut Net::new(size, EAGER, WINDOW, seed));
    }
}

#[test]
fn matching_is_by_context_source_and_tag_only() {
    seeds(3, |net| {
        let wanted = net.receive(0, selector(1, Some(2), Some(7)), LARGE);
        net.send(2, 0, 2, 7, 10, Mode::Standard);
        net.send(1, 0, 1, 7, 10, Mode::Standard);
        net.send(2, 0, 1, 8, 10, Mode::Standard);
        net.settle();
        assert_eq!(net.outcome(0, wanted), None);
        net.send(2, 0, 1, 7, 10, Mode::Standard);
        net.settle();
        assert_eq!(net.got(0, wanted), 3);
    });
}

#[test]
fn a_wildcard_receive_never_sees_another_context() {
    seeds(2, |net| {
        net.send(1, 0, 0x8000_0000_0001, 7, 10, Mode::Standard);
        let any = net.receive(0, selector(1, None, None), LARGE);
        net.settle();
        assert_eq!(net.outcome(0, any), None);
        assert_eq!(net.probe(0, selector(0x8000_0000_0001, None, None)), Some(0));
    });
}

#[test]
fn a_small_message_does_not_overtake_a_large_one() {
    seeds(2, |net| {
        net.send(1, 0, 0, 7, LARGE, Mode::Standard);
        net.send(1, 0, 0, 7, 1, Mode::Standard);
        net.send(1, 0, 0, 7, 5, Mode::Synchronous);
        net.send(1, 0, 0, 7, 2, Mode::Standard);
        let steps = net.random.below(8);
        for _ in 0..steps {
            net.step();
        }
        let requests: Vec<_> = (0..4).map(|_| net.receive(0, selector(0, Some(1), Some(7)), LARGE)).collect();
        net.settle();
        let got: Vec<_> = requests.iter().map(|r| net.got(0, *r)).collect();
        assert_eq!(got, [0, 1, 2, 3]);
        net.assert_empty(0..1);
    });
}

#[test]
fn wildcard_and_specific_receives_are_ordered_together() {
    seeds(2, |net| {
        let specific = net.receive(0, selector(0, Some(1), Some(7)), LARGE);
        let any = net.receive(0, selector(0, None, None), LARGE);
        let later = net.receive(0, selector(0, Some(1), None), LARGE);
        net.send(1, 0, 0, 8, LARGE, Mode::Standard);
        net.send(1, 0, 0, 8, 3, Mode::Standard);
        net.send(1, 0, 0, 7, 3, Mode::Standard);
        net.settle();
        assert_eq!([any, later, specific].map(|r| net.got(0, r)), [0, 1, 2]);
    });
}

#[test]
fn a_standard_send_within_the_limit_completes_unmatched_and_a_synchronous_one_does_not() {
    seeds(2, |net| {
        let standard = net.send(1, 0, 0, 7, EAGER, Mode::Standard);
        let synchronous = [0, 1, LARGE].map(|len| net.send(1, 0, 0, 8, len, Mode::Synchronous));
        net.settle();
        assert!(net.outcome(1, standard).is_some());
        for request in synchronous {
            assert_eq!(net.outcome(1, request), None);
            let description = net.machines[1].describe(request).unwrap();
            assert_eq!((description.kind, description.stage), (Kind::SynchronousSend, Stage::Match));
        }
        for request in synchronous {
            net.receive(0, selector(0, None, Some(8)), LARGE);
            net.settle();
            assert!(matches!(net.outcome(1, request), Some(Ok(_))));
        }
        net.receive(0, selector(0, None, Some(7)), EAGER);
        net.settle();
        net.assert_empty(0..1);
    });
}

#[test]
fn the_eager_limit_decides_the_protocol() {
    let mut net = Net::new(2, EAGER, WINDOW, 1);
    net.send(1, 0, 0, 7, EAGER, Mode::Standard);
    net.send(1, 0, 0, 7, EAGER + 1, Mode::Standard);
    assert_eq!(net.kinds[1][1..=2], [1, 1], "one eager message and one request to send");
}

#[test]
fn a_probe_shows_the_first_match_and_removes_nothing() {
    seeds(2, |net| {
        net.send(1, 0, 0, 7, 3, Mode::Standard);
        net.send(1, 0, 0, 8, LARGE, Mode::Standard);
        net.settle();
        let incoming = net.machines[0].probe(&selector(0, None, Some(8))).unwrap();
        assert_eq!((incoming.source, incoming.len, incoming.envelope.tag), (1, LARGE, 8));
        for _ in 0..2 {
            assert_eq!(net.probe(0, selector(0, None, None)), Some(0));
            assert_eq!(net.probe(0, selector(0, Some(0), None)), None);
        }
        let request = net.receive(0, selector(0, None, None), LARGE);
        assert_eq!(net.got(0, request), 0);
    });
}

#[test]
fn a_matched_probe_keeps_the_message_from_everybody_else() {
    for len in [0, 5, LARGE] {
        seeds(2, |net| {
            net.send(1, 0, 0, 7, len, Mode::Standard);
            while net.machines[0].probe(&selector(0, None, None)).is_none() {
                assert!(net.step());
            }
            let matched = net.take(0, selector(0, None, None)).unwrap();
            assert_eq!(matched.incoming.len, len);
            assert!(net.take(0, selector(0, None, None)).is_none());
            let thief = net.receive(0, selector(0, None, None), LARGE);
            if net.random.below(2) == 0 {
                net.settle();
            }
            let request = net.receive_matched(0, matched, LARGE);
            net.settle();
            assert_eq!(net.got(0, request), 0);
            assert_eq!(net.outcome(0, thief), None);
            assert!(net.cancel(0, thief));
            net.assert_empty(0..1);
        });
    }
}

#[test]
fn a_released_message_counts_as_received() {
    for (len, mode) in
        [(0, Mode::Standard), (5, Mode::Standard), (5, Mode::Synchronous), (LARGE, Mode::Standard)]
    {
        seeds(2, |net| {
            let send = net.send(1, 0, 0, 7, len, mode);
            while net.machines[0].probe(&selector(0, None, None)).is_none() {
                assert!(net.step());
            }
            let matched = net.take(0, selector(0, None, None)).unwrap();
            net.release(0, matched);
            net.settle();
            assert!(matches!(net.outcome(1, send), Some(Ok(_))));
            net.assert_empty(0..1);
        });
    }
}

#[test]
fn truncation_is_an_error_at_the_receiver_only() {
    for (len, room) in [(EAGER, 10), (EAGER, 0), (LARGE, 10), (LARGE, 0), (1, 0)] {
        for mode in [Mode::Standard, Mode::Synchronous] {
            seeds(2, |net| {
                let send = net.send(1, 0, 0, 7, len, mode);
                let steps = net.random.below(4);
                for _ in 0..steps {
                    net.step();
                }
                let short = net.receive(0, selector(0, None, None), room);
                net.send(1, 0, 0, 7, len, mode);
                let next = net.receive(0, selector(0, None, None), len);
                net.settle();
                let truncated = Failure::Truncated { needed: len, room, source: 1, tag: 7 };
                assert_eq!(net.outcome(0, short), Some(Err(truncated)));
                assert!(matches!(net.outcome(1, send), Some(Ok(done)) if done.len == len));
                assert_eq!(net.got(0, next), 1, "the connection stays usable");
                net.assert_empty(0..1);
            });
        }
    }
}

#[test]
fn wrong_elements_are_an_error_at_the_receiver_only_and_none_of_them_arrives() {
    let (sent, wanted) = (Element::new(11), Element::new(3));
    for (len, room) in [(1, 1), (EAGER, EAGER), (EAGER, 10), (LARGE, LARGE), (LARGE, 10)] {
        for mode in [Mode::Standard, Mode::Synchronous] {
            seeds(2, |net| {
                let send = net.send_as(sent, 1, 0, 0, 7, len, mode);
                let steps = net.random.below(4);
                for _ in 0..steps {
                    net.step();
                }
                let wrong = match net.random.below(2) {
                    0 => net.take(0, selector(0, None, None)),
                    _ => None,
                };
                let wrong = match wrong {
                    Some(matched) => net.receive_matched_as(wanted, 0, matched, room),
                    None => net.receive_as(wanted, 0, selector(0, None, None), room),
                };
                net.send_as(sent, 1, 0, 0, 7, len, mode);
                let next = net.receive_as(sent, 0, selector(0, None, None), len);
                net.settle();
                let failure = Failure::WrongElement { sent, wanted, len, source: 1, tag: 7 };
                assert_eq!(net.outcome(0, wrong), Some(Err(failure)));
                assert_eq!(net.ended[0][&wrong].bytes, vec![0xee; room], "nothing was written");
                assert!(matches!(net.outcome(1, send), Some(Ok(done)) if done.len == len));
                assert_eq!(net.got(0, next), 1, "the connection stays usable");
                net.assert_empty(0..1);
            });
        }
    }
}

#[test]
fn elements_take_no_part_in_matching() {
    seeds(2, |net| {
        let ints = net.receive_as(Element::new(3), 0, selector(0, None, None), LARGE);
        let floats = net.receive_as(Element::new(11), 0, selector(0, None, None), LARGE);
        net.send_as(Element::new(11), 1, 0, 0, 7, 8, Mode::Standard);
        net.send_as(Element::new(3), 1, 0, 0, 7, 8, Mode::Standard);
        net.settle();
        for receive in [ints, floats] {
            assert!(matches!(net.outcome(0, receive), Some(Err(Failure::WrongElement { .. }))));
        }
        net.assert_empty(0..1);
    });
}

#[test]
fn raw_bytes_and_empty_messages_go_with_every_element() {
    let (one, other) = (Element::new(11), Element::new(0x90));
    for (sent, wanted, len) in
        [(Element::RAW, one, 8), (one, Element::RAW, 8), (other, Element::RAW, LARGE), (one, other, 0)]
    {
        seeds(2, |net| {
            let receive = net.receive_as(wanted, 0, selector(0, None, None), LARGE);
            net.send_as(sent, 1, 0, 0, 7, len, Mode::Standard);
            net.settle();
            assert_eq!(net.got(0, receive), 0);
            assert_eq!(net.outcome(0, receive).unwrap().unwrap().envelope.element, sent, "it is told");
        });
    }
}

#[test]
fn a_rank_can_send_to_itself_at_any_size() {
    for size in [1, 2] {
        seeds(size, |net| {
            let lens = [0, 1, EAGER, EAGER + 1, LARGE];
            let sends = lens.map(|len| net.send(0, 0, 0, 7, len, Mode::Standard));
            let receives = lens.map(|_| net.receive(0, selector(0, Some(0), Some(7)), LARGE));
            net.settle();
            assert!(sends.iter().all(|s| matches!(net.outcome(0, *s), Some(Ok(_)))));
            assert_eq!(receives.map(|r| net.got(0, r)), [0, 1, 2, 3, 4]);
            net.assert_empty(0..1);
        });
    }
}

#[test]
fn zero_length_messages_are_messages() {
    seeds(2, |net| {
        net.send(1, 0, 0, u64::MAX, 0, Mode::Standard);
        net.send(1, 0, 0, 0, 0, Mode::Synchronous);
        if net.random.below(2) == 0 {
            net.settle();
        }
        let a = net.receive(0, selector(0, None, Some(0)), 0);
        let b = net.receive(0, selector(0, None, Some(u64::MAX)), LARGE);
        net.settle();
        assert_eq!((net.got(0, a), net.got(0, b)), (1, 0));
        net.assert_empty(0..1);
    });
}

#[test]
fn cancel_is_local_and_only_before_the_match() {
    seeds(2, |net| {
        let first = net.receive(0, selector(0, None, None), LARGE);
        let second = net.receive(0, selector(0, None, None), LARGE);
        assert!(net.cancel(0, first));
        assert_eq!(net.outcome(0, first), Some(Err(Failure::Cancelled)));
        assert!(!net.cancel(0, first), "it has ended");
        assert_eq!(net.kinds[0], [0; 9], "the other side hears nothing");
        net.send(1, 0, 0, 7, LARGE, Mode::Standard);
        net.step();
        assert!(!net.cancel(0, second), "it has matched");
        net.settle();
        assert_eq!(net.got(0, second), 0);
    });
}

#[test]
fn data_of_completed_sends_arrives_after_the_sender_has_finished() {
    seeds(2, |net| {
        let sends = [0, 1, EAGER].map(|len| net.send(1, 0, 0, 7, len, Mode::Standard));
        net.close(1);
        assert!(sends.iter().all(|s| matches!(net.outcome(1, *s), Some(Ok(_)))));
        let receives = [0, 1, 2].map(|_| net.receive(0, selector(0, None, None), EAGER));
        assert_eq!(receives.map(|r| net.got(0, r)), [0, 1, 2]);
        let late = net.receive(0, selector(0, Some(1), None), EAGER);
        assert_eq!(net.outcome(0, late), Some(Err(Failure::PeerFinished { peer: 1 })));
    });
}

#[test]
fn a_posted_receive_gets_its_message_whatever_lies_unreceived_before_it() {
    for (len, mode) in
        [(0, Mode::Standard), (5, Mode::Synchronous), (EAGER, Mode::Standard), (LARGE, Mode::Standard)]
    {
        seeds(2, |net| {
            let early = net.random.below(2) == 0;
            let wanted = |net: &mut Net| net.receive(0, selector(0, Some(1), Some(2)), LARGE);
            let before = early.then(|| wanted(net));
            let unmatched = 1 + net.random.below(60);
            for k in 0..unmatched {
                net.send(1, 0, 0, 1, k % (EAGER + 1), Mode::Standard);
                if net.random.below(3) == 0 {
                    net.step();
                }
            }
            let send = net.send(1, 0, 0, 2, len, mode);
            if !early {
                net.settle();
            }
            let receive = before.unwrap_or_else(|| wanted(net));
            net.settle();
            assert_eq!(net.got(0, receive), unmatched as u64);
            assert!(matches!(net.outcome(1, send), Some(Ok(_))));
            let rest: Vec<_> =
                (0..unmatched).map(|_| net.receive(0, selector(0, Some(1), Some(1)), LARGE)).collect();
            net.settle();
            assert!(rest.iter().zip(0..).all(|(r, k)| net.got(0, *r) == k), "nothing overtakes");
            net.assert_empty(0..1);
        });
    }
}

#[test]
fn an_exposure_that_fails_fails_both_sides_and_nothing_else() {
    seeds(2, |net| {
        net.fail_exposures = true;
        let send = net.send(1, 0, 0, 7, LARGE, Mode::Standard);
        let receive = net.receive(0, selector(0, None, None), LARGE);
        net.settle();
        assert_eq!(net.outcome(0, receive), Some(Err(Failure::Expose { peer: 1 })));
        assert_eq!(net.outcome(1, send), Some(Err(Failure::Refused { peer: 0 })));
        net.fail_exposures = false;
        net.send(1, 0, 0, 7, LARGE, Mode::Standard);
        let receive = net.receive(0, selector(0, None, None), LARGE);
        net.settle();
        assert_eq!(net.got(0, receive), 1);
        net.assert_empty(0..1);
    });
}

#[test]
fn a_description_names_what_is_waited_for() {
    let mut net = Net::new(2, EAGER, WINDOW, 3);
    let receive = net.receive(0, selector(5, None, Some(7)), 10);
    let description = net.machines[0].describe(receive).unwrap();
    assert_eq!((description.context, description.tag), (5, TagSelector::Exact(7)));
    assert_eq!(
        description.to_string(),
        "receive of 10 bytes from any rank with tag 7 waits for a matching message"
    );
    let send = net.send(0, 1, 5, 7, LARGE, Mode::Standard);
    let text = net.machines[0].describe(send).unwrap().to_string();
    assert_eq!(text, "send of 1000 bytes to rank 1 with tag 7 waits for a matching receive");
    assert!(net.cancel(0, receive));
    assert_eq!(net.machines[0].describe(receive), None);
}

#[test]
fn unexpected_messages_are_listed_in_order_of_arrival() {
    let mut net = Net::new(2, EAGER, WINDOW, 3);
    for len in [1, LARGE, 0] {
        net.send(1, 0, 4, 7, len, Mode::Standard);
    }
    net.settle();
    let listed: Vec<_> =
        net.machines[0].unexpected(4).map(|i| (number(&i.envelope.signature), i.len)).collect();
    assert_eq!(listed, [(0, 1), (1, LARGE), (2, 0)]);
    let request = net.receive(0, selector(4, None, None), 1);
    assert_eq!(net.ended[0][&request].bytes, content(0, 1));
    assert_eq!(net.machines[0].unexpected(4).count(), 2);
}
