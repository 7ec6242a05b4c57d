//! Random programs against the naive oracle: every match, byte, error and order is judged by it, the
//! bounce memory is measured against the window, and at the end nothing may be left over.

use crate::net::{Net, selector};
use proptest::prelude::*;
use ringworld_protocol::{Config, Element, Matched, Mode, OVERHEAD, Rank, RequestId, Stage};

/// How often each kind of event is drawn and how large things are.
#[derive(Clone, Debug)]
struct Shape {
    seed: u64,
    size: usize,
    eager: usize,
    spare: usize,
    events: usize,
    /// Out of 16: how often something moves on the wire rather than at a rank.
    steps: usize,
    tags: usize,
    /// The bound on requests to send.
    requests: usize,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let sizes = (any::<u64>(), 1..5usize, 0..100usize, 0..600usize);
    (sizes, 1..250usize, 0..16usize, 1..4usize, prop_oneof![1..20usize, Just(1000)]).prop_map(
        |((seed, size, eager, spare), events, steps, tags, requests)| Shape {
            seed,
            size,
            eager,
            spare,
            events,
            steps,
            tags,
            requests,
        },
    )
}

const CONTEXTS: u64 = 2;
const LONGEST: usize = 300;
/// Not in any selector: received by wildcards, and at the end.
const UNWANTED: u64 = 1000;

fn run(shape: &Shape) -> Net {
    let Shape { seed, size, eager, spare, events, steps, tags, requests } = *shape;
    let config = Config::new(0, size, eager, eager + OVERHEAD + spare).unwrap();
    let mut net = Net::with(config.with_requests(requests), seed);
    let mut receives: Vec<(Rank, RequestId)> = Vec::new();
    let mut held: Vec<(Rank, Matched)> = Vec::new();
    let mut sends = Vec::new();
    for _ in 0..events {
        if net.random.below(16) < steps {
            net.step();
            continue;
        }
        let (rank, peer) = (net.random.below(size), net.random.below(size));
        let context = net.random.below(CONTEXTS as usize) as u64;
        let tag = net.random.below(tags) as u64;
        let source = (net.random.below(2) == 0).then_some(peer);
        let wanted = selector(context, source, (net.random.below(3) > 0).then_some(tag));
        // Raw as often as not, and seldom two kinds that do not go together.
        let element = Element::new([0, 0, 0, 1, 1, 2][net.random.below(6)]);
        let len = match net.random.below(4) {
            0 => 0,
            1 => net.random.below(eager + 1),
            _ => net.random.below(LONGEST),
        };
        match net.random.below(16) {
            0..=5 => {
                if net.random.below(3) == 0 {
                    sends.extend(
                        net.send_at_once(element, rank, peer, context, tag, len).map(|sent| (rank, sent)),
                    );
                    continue;
                }
                let mode = if net.random.below(4) == 0 { Mode::Synchronous } else { Mode::Standard };
                sends.push((rank, net.send_as(element, rank, peer, context, tag, len, mode)));
            }
            6..=10 => receives.push((rank, net.receive_as(element, rank, wanted, len))),
            11 => drop(net.probe(rank, wanted)),
            12 => held.extend(net.take(rank, wanted).map(|matched| (rank, matched))),
            13 if !held.is_empty() => {
                let (rank, matched) = held.swap_remove(0);
                if net.random.below(4) == 0 {
                    net.release(rank, matched);
                } else {
                    net.receive_matched_as(element, rank, matched, len);
                }
            }
            14 if !receives.is_empty() => {
                let at = net.random.below(receives.len());
                let (rank, request) = receives.swap_remove(at);
                if net.outcome(rank, request).is_none() {
                    net.cancel(rank, request);
                }
            }
            _ => {
                let count = net.random.below(12);
                for _ in 0..count {
                    let len = net.random.below(eager + 1);
                    sends.push((rank, net.send(rank, peer, context, UNWANTED, len, Mode::Standard)));
                }
            }
        }
    }
    net.settle();
    held_back_at_the_bound_only(&net, &sends, &held, requests);
    finish(&mut net, receives, held);
    for (rank, request) in sends {
        assert!(matches!(net.outcome(rank, request), Some(Ok(_))), "a send did not succeed");
    }
    net
}

/// Once nothing moves, a send may wait for credit only if its receiver holds as many messages of the
/// sender as the bound says: so whatever a posted receive could match has been offered to it.
fn held_back_at_the_bound_only(
    net: &Net,
    sends: &[(Rank, RequestId)],
    held: &[(Rank, Matched)],
    requests: usize,
) {
    for (rank, send) in sends {
        let Some(description) = net.machines[*rank].describe(*send) else { continue };
        if description.stage != Stage::Credit {
            continue;
        }
        let peer = description.peer.unwrap();
        let listed = (0..CONTEXTS).flat_map(|context| net.machines[peer].unexpected(context));
        let taken = held.iter().filter(|(owner, _)| *owner == peer).map(|(_, matched)| matched.incoming);
        let lying = listed.chain(taken).filter(|incoming| incoming.source == *rank).count();
        let reserve = if description.context % 2 == 1 { net.machines[*rank].config().reserve() } else { 0 };
        let room = requests + reserve;
        assert!(lying >= room, "a send waits although only {lying} of {room} messages lie there");
    }
}

/// Withdraws what has matched nothing and receives whatever was sent.
fn finish(net: &mut Net, receives: Vec<(Rank, RequestId)>, held: Vec<(Rank, Matched)>) {
    net.settle();
    for (rank, matched) in held {
        net.receive_matched(rank, matched, LONGEST);
    }
    for (rank, request) in receives {
        if net.outcome(rank, request).is_none() {
            net.cancel(rank, request);
        }
    }
    loop {
        net.settle();
        let mut found = false;
        for rank in 0..net.machines.len() {
            for context in 0..CONTEXTS {
                let any = selector(context, None, None);
                while net.probe(rank, any).is_some() {
                    found = true;
                    net.receive(rank, any, LONGEST);
                }
            }
        }
        if !found {
            break;
        }
    }
    net.assert_empty(0..CONTEXTS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_random_program_behaves_as_the_naive_model_says(shape in shapes()) {
        run(&shape);
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let shape =
        Shape { seed: 11, size: 4, eager: 64, spare: 200, events: 400, steps: 6, tags: 2, requests: 10 };
    let (a, b) = (run(&shape), run(&shape));
    assert!(a.oracle.matches > 50, "the program matched only {} messages", a.oracle.matches);
    assert_eq!(format!("{:?}", a.ended), format!("{:?}", b.ended));
    assert_eq!(a.kinds, b.kinds);
}
