//! Receives that are posted nowhere, and departures that come to nothing.

use ringworld_protocol::{
    Action, BufferId, Config, Done, Element, Envelope, Expected, Failure, Header, Machine, Mode, OVERHEAD,
    Selector, Span, TagSelector,
};

const EAGER: usize = 64;
const WINDOW: usize = 4 * (EAGER + OVERHEAD);

fn pair() -> [Machine; 2] {
    [0, 1].map(|rank| Machine::new(Config::new(rank, 2, EAGER, WINDOW).unwrap()))
}

fn selector(source: Option<usize>, tag: Option<u64>) -> Selector {
    Selector { context: 0, source, tag: tag.map_or(TagSelector::Any, TagSelector::Exact) }
}

fn envelope(tag: u64) -> Envelope {
    Envelope { context: 0, element: Element::RAW, tag, signature: [0; 24] }
}

fn expected(selector: Selector, room: usize) -> Expected {
    Expected { selector, element: Element::RAW, room }
}

/// The header of an eager message from rank 1.
fn leaves(from: &mut Machine, tag: u64, len: usize) -> Vec<u8> {
    let envelope = envelope(tag);
    let departure = from.depart(0, &envelope, len).expect("there is room");
    let header = departure.encode(&mut [0; Header::MAX]).to_vec();
    departure.left();
    header
}

fn take(
    here: &mut Machine,
    header: &[u8],
    len: usize,
    what: &Expected,
) -> Option<(usize, Result<Done, Failure>)> {
    here.take_expected(1, header, len, what)
}

#[test]
fn a_posted_receive_comes_before_an_expected_one() {
    for posted in [selector(None, None), selector(Some(1), Some(7)), selector(Some(1), None)] {
        let [mut here, mut there] = pair();
        let first = here.receive(posted, Span::of(BufferId::FIRST, 10), Element::RAW);
        let what = expected(selector(Some(1), Some(7)), 10);
        assert!(here.may_expect(&what.selector));
        let header = leaves(&mut there, 7, 10);
        assert_eq!(take(&mut here, &header, 10, &what), None);
        let target = here.header(1, &header, 10).unwrap();
        assert_eq!(here.conclude(target.token).map(|completion| completion.request), Some(first));
        let header = leaves(&mut there, 7, 3);
        assert_eq!(take(&mut here, &header, 3, &what).map(|(bytes, _)| bytes), Some(3));
    }
}

#[test]
fn a_receive_that_is_posted_for_other_messages_is_not_in_the_way() {
    let [mut here, mut there] = pair();
    here.receive(selector(Some(1), Some(8)), Span::of(BufferId::FIRST, 10), Element::RAW);
    let header = leaves(&mut there, 7, 10);
    assert!(take(&mut here, &header, 10, &expected(selector(None, Some(7)), 10)).is_some());
    assert_eq!(here.pending(), 1);
}

#[test]
fn a_message_never_passes_an_earlier_one_that_is_accepted_too() {
    let [mut here, mut there] = pair();
    // One that arrives in pieces, and a request to send.
    let header = leaves(&mut there, 7, 10);
    here.header(1, &header, 10).unwrap();
    there.send(0, envelope(9), Span::of(BufferId::FIRST, 5), Mode::Synchronous);
    let Some(Action::Message { header, .. }) = there.next_action() else { panic!("a request to send") };
    here.header(1, header.encode(&mut [0; Header::MAX]), 0).unwrap();
    for tag in [Some(7), Some(9), None] {
        let what = expected(selector(Some(1), tag), 10);
        assert!(!here.may_expect(&what.selector));
        let mut sender = Machine::new(Config::new(1, 2, EAGER, WINDOW).unwrap());
        assert_eq!(take(&mut here, &leaves(&mut sender, tag.unwrap_or(7), 1), 1, &what), None);
    }
    let what = expected(selector(Some(1), Some(8)), 10);
    assert!(take(&mut here, &leaves(&mut there, 8, 1), 1, &what).is_some());
}

#[test]
fn an_expected_receive_ends_as_a_posted_one_would() {
    let [mut here, mut there] = pair();
    let what = expected(selector(None, None), 4);
    let (bytes, ending) = take(&mut here, &leaves(&mut there, 7, 9), 9, &what).unwrap();
    let truncated = Failure::Truncated { needed: 9, room: 4, source: 1, tag: 7 };
    assert_eq!((bytes, ending), (4, Err(truncated)));
    let floats = Expected { element: Element::new(3), ..what };
    let ints = Envelope { element: Element::new(4), ..envelope(7) };
    let departure = there.depart(0, &ints, 4).unwrap();
    let header = departure.encode(&mut [0; Header::MAX]).to_vec();
    departure.left();
    let (bytes, ending) = take(&mut here, &header, 4, &floats).unwrap();
    assert!(bytes == 0 && matches!(ending, Err(Failure::WrongElement { .. })), "{ending:?}");
}

#[test]
fn credit_comes_back_and_beyond_the_window_nothing_is_taken() {
    let [mut here, mut there] = pair();
    let what = expected(selector(Some(1), None), EAGER);
    for round in 0..1000 {
        let header = leaves(&mut there, round, EAGER);
        let (_, ending) = take(&mut here, &header, EAGER, &what).unwrap();
        assert_eq!(ending.map(|done| done.arrival), Ok(round));
        while let Some(Action::Message { header, .. }) = here.next_action() {
            there.header(0, header.encode(&mut [0; Header::MAX]), 0).unwrap();
        }
    }
    let header = leaves(&mut there, 0, 1);
    assert_eq!(take(&mut here, &header, WINDOW, &what), None, "longer than the window");
    assert!(here.header(1, &header, WINDOW).is_err());
}

#[test]
fn a_departure_that_is_dropped_has_never_been() {
    let [_, mut there] = pair();
    let envelope = envelope(7);
    for _ in 0..1000 {
        drop(there.depart(0, &envelope, EAGER).expect("nothing is spent"));
    }
    for _ in 0..4 {
        there.depart(0, &envelope, EAGER).expect("the whole window is there").left();
    }
    assert!(there.depart(0, &envelope, EAGER).is_none());
}

#[test]
fn nothing_is_expected_of_a_peer_that_is_gone_or_after_leaving() {
    let [mut here, mut there] = pair();
    let what = expected(selector(Some(1), None), 10);
    let header = leaves(&mut there, 7, 1);
    here.leave();
    assert!(!here.may_expect(&what.selector));
    assert_eq!(take(&mut here, &header, 1, &what), None);
    let [mut here, _] = pair();
    here.peer_closed(1);
    assert!(!here.may_expect(&what.selector));
    assert_eq!(take(&mut here, &header, 1, &what), None);
}
