//! Messages that have come before they are received, without a request.

use ringworld_protocol::{
    Action, Arrived, Config, Element, Envelope, Expected, Failure, Header, Machine, Mode, OVERHEAD, Selector,
    Span, TagSelector,
};

const EAGER: usize = 64;
const WINDOW: usize = 4 * (EAGER + OVERHEAD);

fn pair() -> [Machine; 2] {
    [0, 1].map(|rank| Machine::new(Config::new(rank, 2, EAGER, WINDOW).unwrap()))
}

fn expected(tag: u64, room: usize) -> Expected {
    let selector = Selector { context: 0, source: Some(1), tag: TagSelector::Exact(tag) };
    Expected { selector, element: Element::RAW, room }
}

fn envelope(tag: u64) -> Envelope {
    Envelope { context: 0, element: Element::RAW, tag, signature: [0; 24] }
}

/// The header of an eager message comes; the name of where its payload goes.
fn comes(here: &mut Machine, there: &mut Machine, envelope: Envelope, len: usize) -> u64 {
    let departure = there.depart(0, &envelope, len).expect("there is room");
    let token = here.header(1, departure.encode(&mut [0; Header::MAX]), len).unwrap().token;
    departure.left();
    token
}

/// All of it comes.
fn arrives(here: &mut Machine, there: &mut Machine, envelope: Envelope, len: usize) -> u64 {
    let token = comes(here, there, envelope, len);
    here.delivered(token);
    token
}

#[test]
fn it_ends_as_a_posted_receive_would() {
    let [mut here, mut there] = pair();
    let token = arrives(&mut here, &mut there, envelope(7), 9);
    let Arrived { bounce, bytes, ending } = here.take_arrived(&expected(7, 4)).unwrap();
    let truncated = Failure::Truncated { needed: 9, room: 4, source: 1, tag: 7 };
    assert_eq!((bounce, bytes, ending), (Some(token), 4, Err(truncated)));

    let ints = Envelope { element: Element::new(4), ..envelope(7) };
    let token = arrives(&mut here, &mut there, ints, 4);
    let floats = Expected { element: Element::new(3), ..expected(7, 4) };
    let Arrived { bounce, bytes, ending } = here.take_arrived(&floats).unwrap();
    assert!(matches!(ending, Err(Failure::WrongElement { .. })), "{ending:?}");
    assert_eq!((bounce, bytes), (Some(token), 0), "consumed, and nothing of it goes anywhere");

    arrives(&mut here, &mut there, envelope(7), 0);
    let Arrived { bounce, bytes, ending } = here.take_arrived(&expected(7, 4)).unwrap();
    assert_eq!((bounce, bytes, ending.map(|done| done.arrival)), (None, 0, Ok(2)));
    assert_eq!(here.take_arrived(&expected(7, 4)), None);
}

#[test]
fn what_is_not_all_here_is_not_taken_and_nothing_passes_it() {
    let [mut here, mut there] = pair();
    let first = comes(&mut here, &mut there, envelope(7), 9);
    arrives(&mut here, &mut there, envelope(7), 3);
    there.send(0, envelope(8), Span::EMPTY, Mode::Synchronous);
    let Some(Action::Message { header, .. }) = there.next_action() else { panic!("a request to send") };
    here.header(1, header.encode(&mut [0; Header::MAX]), 0).unwrap();
    assert_eq!(here.take_arrived(&expected(7, 9)), None, "the second may not pass the first");
    assert_eq!(here.take_arrived(&expected(8, 9)), None, "its sender has yet to be answered");
    here.delivered(first);
    assert_eq!(here.take_arrived(&expected(7, 9)).map(|arrived| arrived.bytes), Some(9));
    assert_eq!(here.take_arrived(&expected(7, 9)).map(|arrived| arrived.bytes), Some(3));
}

#[test]
fn what_a_matched_probe_has_set_aside_is_not_taken() {
    let [mut here, mut there] = pair();
    arrives(&mut here, &mut there, envelope(7), 3);
    let matched = here.take_matched(&expected(7, 3).selector).unwrap();
    assert_eq!(here.take_arrived(&expected(7, 3)), None);
    here.receive_matched(matched.handle, Span::EMPTY, Element::RAW);
}

#[test]
fn credit_comes_back_and_names_are_not_used_again() {
    let [mut here, mut there] = pair();
    let mut names = Vec::new();
    for round in 0..1000 {
        arrives(&mut here, &mut there, envelope(round), EAGER);
        let arrived = here.take_arrived(&expected(round, EAGER)).unwrap();
        assert_eq!(arrived.ending.map(|done| done.arrival), Ok(round));
        names.push(arrived.bounce);
        while let Some(action) = here.next_action() {
            let Action::Message { header, .. } = action else { panic!("only credit: {action:?}") };
            there.header(0, header.encode(&mut [0; Header::MAX]), 0).unwrap();
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 1000);
}
