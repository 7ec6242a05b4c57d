//! What happens when a peer dies, finishes, or everything is aborted: no request is ever left hanging,
//! and no memory is given back while the transport may still use it.

use crate::net::{Net, selector};
use ringworld_protocol::{
    Action, BufferId, Config, Element, Envelope, Failure, Header, Machine, Mode, OVERHEAD, RequestId,
    Selector, Span, TagSelector,
};

const EAGER: usize = 64;
const WINDOW: usize = 4 * (EAGER + OVERHEAD);
const LARGE: usize = 1000;

const SPAN: Span = Span::of(BufferId::FIRST, 10);
const LARGE_SPAN: Span = Span { len: LARGE, ..SPAN };
const ENVELOPE: Envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };

fn machine(rank: usize, size: usize) -> Machine {
    Machine::new(Config::new(rank, size, EAGER, WINDOW).unwrap())
}

fn ended(machine: &mut Machine) -> Vec<(RequestId, Option<Failure>)> {
    std::iter::from_fn(|| machine.next_completion()).map(|c| (c.request, c.outcome.err())).collect()
}

#[test]
fn whatever_needs_a_dead_peer_fails_and_names_it() {
    for seed in 0..2000 {
        let mut net = Net::new(3, EAGER, WINDOW, seed);
        let mut requests = Vec::new();
        for _ in 0..net.random.below(40) {
            let (a, b) = (net.random.below(3), net.random.below(3));
            let tag = net.random.below(2) as u64;
            let len = [0, 5, EAGER, LARGE][net.random.below(4)];
            match net.random.below(5) {
                0 | 1 => {
                    let mode = [Mode::Standard, Mode::Synchronous][net.random.below(2)];
                    requests.push((a, net.send(a, b, 0, tag, len, mode), b == 2));
                }
                2 => requests.push((a, net.receive(a, selector(0, Some(b), Some(tag)), len), b == 2)),
                _ => {
                    net.step();
                }
            }
        }
        let held = net.take(0, selector(0, Some(2), None));
        net.kill(2);
        for (rank, request, needs_dead) in requests.iter().filter(|(rank, ..)| *rank != 2) {
            if *needs_dead {
                assert!(
                    net.outcome(*rank, *request).is_some(),
                    "seed {seed}: a request still waits for rank 2"
                );
            }
            if let Some(Err(failure @ (Failure::PeerDown { .. } | Failure::PeerFinished { .. }))) =
                net.outcome(*rank, *request)
            {
                assert_eq!((failure, *needs_dead), (Failure::PeerDown { peer: 2 }, true), "seed {seed}");
            }
        }
        if let Some(matched) = held {
            let request = net.receive_matched(0, matched, LARGE);
            assert!(net.outcome(0, request).is_some(), "seed {seed}: a taken message of the dead rank hangs");
        }
        let late = net.send(0, 2, 0, 0, 5, Mode::Standard);
        assert_eq!(net.outcome(0, late), Some(Err(Failure::PeerDown { peer: 2 })), "seed {seed}");
        // The others go on as if nothing had happened.
        net.settle();
        while net.machines[1].probe(&selector(0, None, None)).is_some() {
            net.receive(1, selector(0, None, None), LARGE);
            net.settle();
        }
        net.send(0, 1, 9, 9, LARGE, Mode::Standard);
        let after = net.receive(1, selector(9, None, None), LARGE);
        net.settle();
        assert!(matches!(net.outcome(1, after), Some(Ok(_))), "seed {seed}");
        // What rank 2 had delivered can still be received; the rest was dropped and freed.
        while net.machines[0].probe(&selector(0, Some(2), None)).is_some() {
            let request = net.receive(0, selector(0, Some(2), None), LARGE);
            assert!(matches!(net.outcome(0, request), Some(Ok(_))), "seed {seed}");
        }
        assert_eq!(net.bounced[0][2], 0, "seed {seed}: bounce memory of the dead rank was not released");
    }
}

#[test]
fn a_receive_from_any_source_is_forsaken_when_no_other_rank_is_left() {
    let mut machine = machine(0, 3);
    let any = Selector { context: 0, source: None, tag: TagSelector::Any };
    let request = machine.receive(any, SPAN, Element::RAW);
    machine.peer_down(1);
    assert_eq!(ended(&mut machine), []);
    assert_eq!(machine.ended(None), None);
    assert!(!machine.is_forsaken(request) && !machine.forsake(request));
    machine.peer_closed(2);
    let failure = Failure::PeerFinished { peer: 2 };
    assert_eq!(machine.ended(None), Some(failure));
    let late = machine.receive(any, SPAN, Element::RAW);
    let own = machine.receive(Selector { source: Some(0), ..any }, SPAN, Element::RAW);
    assert_eq!(ended(&mut machine), [], "this rank may still send to itself");
    assert!(machine.is_forsaken(request) && machine.is_forsaken(late) && !machine.is_forsaken(own));
    // Whoever gives up on the second does not on the first, which gets what comes.
    assert!(machine.forsake(late) && !machine.is_forsaken(late) && !machine.forsake(late));
    assert!(!machine.forsake(own));
    assert_eq!(ended(&mut machine), [(late, Some(failure))]);
    let departure = machine.depart(0, &ENVELOPE, SPAN.len).expect("there is room");
    let header = departure.encode(&mut [0; Header::MAX]).to_vec();
    departure.left();
    let target = machine.header(0, &header, SPAN.len).unwrap();
    let done = machine.conclude(target.token).unwrap();
    assert_eq!((done.request, done.outcome.is_ok()), (request, true));
    assert!(!machine.is_forsaken(request) && !machine.forsake(request));
    let last = machine.receive(any, SPAN, Element::RAW);
    machine.fail_all();
    assert!(!machine.is_forsaken(last) && !machine.forsake(last));
}

#[test]
fn a_closed_peer_does_not_take_memory_out_of_the_transports_hands() {
    let mut machine = machine(0, 2);
    let held = machine.send(1, ENVELOPE, SPAN, Mode::Standard);
    let Some(Action::Message { token: Some(token), .. }) = machine.next_action() else { panic!("eager") };
    let queued = machine.send(1, ENVELOPE, SPAN, Mode::Standard);
    let offered = machine.send(1, ENVELOPE, LARGE_SPAN, Mode::Standard);
    machine.peer_closed(1);
    let finished = Some(Failure::PeerFinished { peer: 1 });
    assert_eq!(ended(&mut machine), [(queued, finished), (offered, finished)]);
    assert_eq!(machine.next_action(), None, "nothing is sent to a peer that has finished");
    machine.sent(token);
    assert_eq!(ended(&mut machine), [(held, None)]);

    let held = self::machine(0, 2).send(1, ENVELOPE, SPAN, Mode::Standard);
    let mut machine = self::machine(0, 2);
    assert_eq!(machine.send(1, ENVELOPE, SPAN, Mode::Standard), held);
    machine.next_action();
    machine.peer_closed(1);
    machine.peer_down(1);
    assert_eq!(ended(&mut machine), [(held, finished)], "the transport's last word ends it");
}

#[test]
fn abort_ends_everything_at_once_and_for_good() {
    for seed in 0..200 {
        let mut net = Net::new(2, EAGER, WINDOW, seed);
        for k in 0..10 {
            let len = [5, LARGE][net.random.below(2)];
            net.send(1, 0, 0, k, len, Mode::Standard);
            net.send(0, 1, 0, k, len, Mode::Synchronous);
            net.receive(0, selector(0, None, Some(20 + k)), 5);
            net.step();
        }
        let matched = net.take(0, selector(0, None, None));
        let machine = &mut net.machines[0];
        let pending = machine.pending();
        machine.fail_all();
        assert_eq!((machine.pending(), machine.next_action()), (0, None));
        let failed = ended(machine);
        assert_eq!(failed.len(), pending);
        assert!(failed.iter().all(|(_, failure)| *failure == Some(Failure::Aborted)));
        if let Some(matched) = matched {
            machine.receive_matched(matched.handle, SPAN, Element::RAW);
        }
        machine.send(1, ENVELOPE, SPAN, Mode::Standard);
        machine.receive(selector(0, None, None), SPAN, Element::RAW);
        assert!(ended(machine).iter().all(|(_, failure)| *failure == Some(Failure::Aborted)));
        machine.peer_down(1);
        machine.sent(0);
        machine.delivered(0);
        machine.filled(0);
        assert_eq!((machine.next_action(), machine.next_completion()), (None, None));
    }
}

#[test]
fn a_rank_outside_the_world_is_refused_by_name() {
    let mut machine = machine(0, 2);
    let send = machine.send(2, ENVELOPE, SPAN, Mode::Standard);
    let receive = machine.receive(selector(0, Some(9), None), SPAN, Element::RAW);
    let size = 2;
    let expected = [
        (send, Some(Failure::NoSuchPeer { peer: 2, size })),
        (receive, Some(Failure::NoSuchPeer { peer: 9, size })),
    ];
    assert_eq!(ended(&mut machine), expected);
}
