//! What a broken or hostile peer can do: nothing. Every lie is refused, nothing panics, and the rank
//! works on with its other peers.

use crate::net::{Random, selector};
use proptest::prelude::*;
use ringworld_protocol::{
    Action, BufferId, Config, Element, Envelope, Header, Key, Machine, Mode, OVERHEAD, Place, Span, Stage,
};

const EAGER: usize = 64;
const WINDOW: usize = 4 * (EAGER + OVERHEAD);
const ENVELOPE: Envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [3; 24] };

fn span(len: usize) -> Span {
    Span::of(BufferId::FIRST, len)
}

fn machine(rank: usize) -> Machine {
    Machine::new(Config::new(rank, 2, EAGER, WINDOW).unwrap())
}

fn message(machine: &mut Machine) -> Header {
    match machine.next_action() {
        Some(Action::Message { header, .. }) => header,
        other => panic!("a message was expected: {other:?}"),
    }
}

/// A header with the given kind and credit, and `rest` behind them.
fn raw(kind: u8, credit: u64, rest: &[u64]) -> Vec<u8> {
    let mut bytes = vec![kind, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(credit.to_le_bytes());
    rest.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

const CTS: u8 = 3;
const ACK: u8 = 4;
const NACK: u8 = 5;
const CREDIT: u8 = 6;
const PROBE_ACK: u8 = 7;

#[test]
fn an_answer_to_nothing_is_refused() {
    let mut machine = machine(0);
    for kind in [ACK, NACK] {
        assert!(machine.header(1, &raw(kind, 0, &[0]), 0).is_err());
    }
    assert!(machine.header(1, &raw(CTS, 0, &[0, 1]), 0).is_err());
    let eager = machine.send(1, ENVELOPE, span(5), Mode::Standard);
    assert!(
        machine.header(1, &raw(ACK, 0, &[eager.index() as u64]), 0).is_err(),
        "an eager send wants no answer"
    );
    let receive = machine.receive(selector(0, None, None), span(5), Element::RAW);
    assert!(machine.header(1, &raw(ACK, 0, &[receive.index() as u64]), 0).is_err(), "nor does a receive");
    assert_eq!(machine.pending(), 2);
}

#[test]
fn an_answer_from_the_wrong_rank_is_refused() {
    let mut machine = Machine::new(Config::new(0, 3, EAGER, WINDOW).unwrap());
    let send = machine.send(1, ENVELOPE, span(1000), Mode::Standard);
    let ack = raw(ACK, 0, &[send.index() as u64]);
    assert!(machine.header(2, &ack, 0).is_err());
    assert!(machine.header(7, &ack, 0).is_err());
    assert!(machine.header(1, &ack, 0).is_ok());
    assert!(machine.header(1, &ack, 0).is_err(), "an answer counts once");
}

#[test]
fn a_grant_of_nothing_or_too_much_is_refused() {
    let mut machine = machine(0);
    let send = machine.send(1, ENVELOPE, span(1000), Mode::Standard);
    message(&mut machine);
    let id = send.index() as u64;
    for accepted in [0, 1001, u64::MAX] {
        assert!(machine.header(1, &raw(CTS, 0, &[id, accepted]), 0).is_err(), "{accepted} of 1000 bytes");
    }
    assert!(machine.header(1, &raw(CTS, 0, &[id, 1000]), 0).is_ok());
    assert!(matches!(machine.next_action(), Some(Action::Put { payload: Span { len: 1000, .. }, .. })));
}

#[test]
fn credit_that_was_never_spent_is_refused() {
    let mut machine = machine(0);
    assert!(machine.header(1, &raw(CREDIT, 1, &[]), 0).is_err());
    assert!(machine.header(1, &raw(CREDIT, u64::MAX, &[]), 0).is_err());
    assert!(machine.header(1, &raw(CREDIT, 0, &[]), 0).is_err(), "a credit message says something");
    machine.send(1, ENVELOPE, span(5), Mode::Standard);
    let spent = (OVERHEAD + 5) as u64;
    assert!(machine.header(1, &raw(CREDIT, spent + 1, &[]), 0).is_err());
    assert!(machine.header(1, &raw(CREDIT, spent, &[]), 0).is_ok());
    assert!(machine.header(1, &raw(CREDIT, 1, &[]), 0).is_err());
}

#[test]
fn an_acknowledgement_of_a_probe_that_was_not_sent_is_refused() {
    let mut machine = machine(0);
    let acknowledgement = raw(PROBE_ACK, 0, &[]);
    assert!(machine.header(1, &acknowledgement, 0).is_err());
    for _ in 0..4 {
        machine.send(1, ENVELOPE, span(EAGER), Mode::Standard);
    }
    assert!(machine.header(1, &acknowledgement, 0).is_err(), "the window is just full");
    let asking = machine.send(1, ENVELOPE, span(EAGER), Mode::Standard);
    let waiting = machine.send(1, ENVELOPE, span(EAGER), Mode::Standard);
    assert_eq!(machine.describe(asking).unwrap().stage, Stage::Match);
    assert_eq!(machine.describe(waiting).unwrap().stage, Stage::Credit);
    assert!(machine.header(1, &acknowledgement, 0).is_ok());
    assert_eq!(machine.describe(waiting).unwrap().stage, Stage::Match);
    assert!(machine.header(1, &acknowledgement, 0).is_err(), "an answer counts once");
}

#[test]
fn a_payload_where_there_is_none_is_refused() {
    let (mut sender, mut receiver) = (machine(0), machine(1));
    sender.send(1, ENVELOPE, span(1000), Mode::Standard);
    let rts = message(&mut sender);
    assert!(receiver.header(0, rts.encode(&mut [0; Header::MAX]), 1).is_err());
    assert!(receiver.header(0, rts.encode(&mut [0; Header::MAX]), 0).is_ok());
}

#[test]
fn more_than_the_window_is_refused_and_leaves_no_trace() {
    let (mut sender, mut receiver) = (machine(0), machine(1));
    sender.send(1, ENVELOPE, span(EAGER), Mode::Standard);
    let eager = message(&mut sender);
    for len in [WINDOW - OVERHEAD + 1, usize::MAX] {
        assert!(receiver.header(0, eager.encode(&mut [0; Header::MAX]), len).is_err(), "{len} bytes");
    }
    for _ in 0..4 {
        let target = receiver.header(0, eager.encode(&mut [0; Header::MAX]), EAGER).unwrap();
        assert_eq!(target.place, Place::Bounce { len: EAGER });
    }
    assert!(receiver.header(0, eager.encode(&mut [0; Header::MAX]), 0).is_err());
    assert_eq!(receiver.unexpected(0).count(), 4);
}

#[test]
fn requests_to_send_are_bounded_too() {
    let config = Config::new(1, 2, EAGER, WINDOW).unwrap().with_requests(100);
    let (mut sender, mut receiver) = (machine(0), Machine::new(config));
    sender.send(1, ENVELOPE, span(1000), Mode::Standard);
    let rts = message(&mut sender);
    let mut accepted = |rts: &Header| {
        (0..1000).take_while(|_| receiver.header(0, rts.encode(&mut [0; Header::MAX]), 0).is_ok()).count()
    };
    assert_eq!(accepted(&rts), WINDOW / OVERHEAD + 100);
    // Room is reserved for collectives, and only for them.
    sender.send(1, Envelope { context: 1, ..ENVELOPE }, span(1000), Mode::Standard);
    assert_eq!(accepted(&message(&mut sender)), config.reserve());
    assert_eq!(accepted(&rts), 0);
}

#[test]
fn tokens_that_mean_nothing_are_ignored() {
    let mut machine = machine(0);
    let receive = machine.receive(selector(0, None, None), span(5), Element::RAW);
    for token in [0, 1, 1 << 32, u64::MAX, u64::MAX - 1] {
        machine.sent(token);
        machine.filled(token);
        machine.delivered(token);
        machine.exposed(token, Key::new(&[]).unwrap());
        machine.expose_failed(token);
    }
    assert_eq!((machine.next_action(), machine.next_completion()), (None, None));
    assert!(machine.describe(receive).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A hostile rank 1 sends random and mutated headers amid real traffic; rank 0 neither panics nor
    /// exceeds its bounds, and can still be aborted cleanly.
    #[test]
    fn random_headers_never_panic(seed: u64) {
        let mut random = Random::new(seed);
        let (mut victim, mut model) = (machine(0), machine(1));
        let mut valid: Vec<Vec<u8>> =
            vec![raw(ACK, 0, &[0]), raw(CTS, 0, &[0, 1]), raw(CREDIT, 1, &[]), raw(PROBE_ACK, 0, &[])];
        let (mut tokens, mut received) = (Vec::new(), Vec::new());
        let mut bounces = std::collections::BTreeMap::new();
        for _ in 0..60 {
            match random.below(8) {
                0 => drop(victim.send(1, ENVELOPE, span(random.below(200)), Mode::Standard)),
                1 => {
                    let into = span(random.below(200));
                    received.push(victim.receive(selector(0, None, None), into, Element::RAW));
                }
                2 => {
                    model.send(0, ENVELOPE, span(random.below(200)), Mode::Standard);
                    while let Some(action) = model.next_action() {
                        if let Action::Message { header, .. } = action {
                            valid.push(header.encode(&mut [0; Header::MAX]).to_vec());
                        }
                    }
                }
                3 if !tokens.is_empty() => {
                    let at = random.below(tokens.len());
                    victim.delivered(tokens.swap_remove(at));
                }
                _ => {
                    let mut bytes = valid[random.below(valid.len())].clone();
                    for _ in 0..random.below(3) {
                        let at = random.below(bytes.len());
                        bytes[at] = if random.below(2) == 0 { random.below(10) as u8 } else { random.next() as u8 };
                    }
                    if random.below(8) == 0 {
                        bytes.truncate(random.below(70));
                    }
                    let payload = if random.below(2) == 0 { 0 } else { random.below(300) };
                    if let Ok(target) = victim.header(1, &bytes, payload) {
                        tokens.push(target.token);
                        if let Place::Bounce { len } = target.place {
                            bounces.insert(target.token, len + OVERHEAD);
                            prop_assert!(bounces.values().sum::<usize>() <= WINDOW);
                        }
                    }
                }
            }
            while let Some(action) = victim.next_action() {
                match action {
                    Action::Message { header, token, .. } => {
                        prop_assert!(header.encode(&mut [0; Header::MAX]).len() <= Header::MAX);
                        token.into_iter().for_each(|token| victim.sent(token));
                    }
                    Action::Expose { token, .. } => victim.exposed(token, Key::new(b"key").unwrap()),
                    Action::Put { token, payload, .. } => {
                        prop_assert!(payload.len > 0 && payload.len <= 200);
                        victim.sent(token);
                    }
                    Action::Copy { .. } => {}
                    Action::Release { bounce } => prop_assert!(bounces.remove(&bounce).is_some()),
                }
            }
            while victim.next_completion().is_some() {}
        }
        victim.peer_down(1);
        while victim.next_action().is_some() {}
        while victim.next_completion().is_some() {}
        // Rank 1 was the only other rank, so that only this one could still send to a receive from any source.
        for receive in received {
            victim.forsake(receive);
        }
        prop_assert_eq!(victim.pending(), 0);
    }
}
