//! Receives in a line of their own, to which messages are offered, and those that take what has come already: they get
//! what they would have got if they had been posted at once.

use std::collections::VecDeque;

use proptest::prelude::*;
use ringworld_protocol::{
    Action, Arrived, BufferId, Config, Element, Envelope, Expected, Failure, Header, Machine, Mode, OVERHEAD,
    Offer, RequestId, Selector, Span, TagSelector,
};

const EAGER: usize = 64;
const WINDOW: usize = 64 * (EAGER + OVERHEAD);

fn machine(rank: usize) -> Machine {
    Machine::new(Config::new(rank, 3, EAGER, WINDOW).unwrap())
}

fn expected(source: Option<usize>, tag: Option<u64>) -> Expected {
    let tag = tag.map_or(TagSelector::Any, TagSelector::Exact);
    let selector = Selector { context: 0, source, tag };
    Expected { selector, element: Element::RAW, room: EAGER }
}

/// A message as it arrives.
struct Arriving {
    source: usize,
    header: Vec<u8>,
    length: usize,
    /// Its payload comes behind its header, and not with it.
    in_pieces: bool,
}

fn envelope(tag: u64) -> Envelope {
    Envelope { context: 0, element: Element::RAW, tag, signature: [0; 24] }
}

/// An eager message leaves.
fn leaves(from: &mut Machine, source: usize, tag: u64, length: usize, in_pieces: bool) -> Arriving {
    let envelope = envelope(tag);
    let departure = from.depart(0, &envelope, length).expect("there is room");
    let header = departure.encode(&mut [0; Header::MAX]).to_vec();
    departure.left();
    Arriving { source, header, length, in_pieces }
}

/// A synchronous one of no bytes asks whether it may.
fn asks(from: &mut Machine, source: usize, tag: u64) -> Arriving {
    from.send(0, envelope(tag), Span::EMPTY, Mode::Synchronous);
    let Some(Action::Message { header, .. }) = from.next_action() else { panic!("a request to send") };
    Arriving { source, header: header.encode(&mut [0; Header::MAX]).to_vec(), length: 0, in_pieces: false }
}

/// How a receive has ended: whose message, with which tag, the how many-eth.
type End = Result<(usize, u64, u64), Failure>;

/// A rank that receives.
struct Receiver {
    machine: Machine,
    /// Whether receives wait in line; otherwise they are posted at once.
    lines_up: bool,
    /// Whether they are not begun at all where their message is here.
    takes: bool,
    line: VecDeque<(usize, Expected)>,
    posted: Vec<(RequestId, usize)>,
    /// Tokens of payloads that have not arrived.
    open: Vec<u64>,
    ends: Vec<Option<End>>,
}

impl Receiver {
    fn new(lines_up: bool, takes: bool) -> Self {
        let (line, posted, open, ends) = Default::default();
        Self { machine: machine(0), lines_up, takes, line, posted, open, ends }
    }

    fn begin(&mut self, what: Expected) {
        let number = self.ends.len();
        self.ends.push(None);
        if self.takes
            && let Some(Arrived { ending, .. }) = self.machine.take_arrived(&what)
        {
            self.ends[number] = Some(ending.map(|done| (done.source, done.envelope.tag, done.arrival)));
            self.settle();
        } else if self.lines_up && self.machine.may_expect(&what.selector) {
            self.line.push_back((number, what));
        } else {
            self.post_line();
            self.post(number, what);
        }
    }

    fn post(&mut self, number: usize, what: Expected) {
        let into = Span::of(BufferId::FIRST, what.room);
        self.posted.push((self.machine.receive(what.selector, into, what.element), number));
        self.settle();
    }

    fn post_line(&mut self) {
        while let Some((number, what)) = self.line.pop_front() {
            self.post(number, what);
        }
    }

    fn arrives(&mut self, &Arriving { source, ref header, length, in_pieces }: &Arriving) {
        if in_pieces {
            self.post_line();
        } else {
            match self.machine.offer(source, header, length, self.line.iter().map(|(_, what)| what)) {
                Offer::Taken { place, ending, .. } => {
                    let (number, _) = self.line.remove(place).expect("one of them");
                    let end = ending.map(|done| (done.source, done.envelope.tag, done.arrival));
                    assert_eq!(self.ends[number].replace(end), None);
                    return;
                }
                Offer::Refused | Offer::Elsewhere => {}
                Offer::Unclear => self.post_line(),
            }
        }
        let target = self.machine.header(source, header, length).expect("it keeps to the rules");
        if in_pieces {
            self.open.push(target.token);
        } else {
            self.machine.delivered(target.token);
        }
        self.settle();
    }

    fn settle(&mut self) {
        while self.machine.next_action().is_some() {}
        while let Some(completion) = self.machine.next_completion() {
            let place = self.posted.iter().position(|(request, _)| *request == completion.request);
            let (_, number) = self.posted.swap_remove(place.expect("it is known"));
            let end = completion.outcome.map(|done| (done.source, done.envelope.tag, done.arrival));
            assert_eq!(self.ends[number].replace(end), None);
        }
    }

    fn all_arrives(&mut self) {
        for token in std::mem::take(&mut self.open) {
            self.machine.delivered(token);
        }
        self.settle();
    }

    /// What lies here unreceived.
    fn unexpected(&self) -> Vec<(usize, u64, u64)> {
        let lies = self.machine.unexpected(0);
        lies.map(|message| (message.source, message.envelope.tag, message.arrival)).collect()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Begin { source: Option<usize>, tag: Option<u64> },
    Message { source: usize, tag: u64, length: usize, in_pieces: bool },
    Asks { source: usize, tag: u64 },
    Probe { source: Option<usize>, tag: Option<u64> },
    Closed { source: usize },
    PayloadsArrive,
}

fn step() -> impl Strategy<Value = Step> {
    let source = || proptest::option::weighted(0.7, 1usize..3);
    let tag = || proptest::option::weighted(0.7, 0u64..3);
    prop_oneof![
        8 => (source(), tag()).prop_map(|(source, tag)| Step::Begin { source, tag }),
        8 => (1usize..3, 0u64..3, 0..EAGER, proptest::bool::weighted(0.1))
            .prop_map(|(source, tag, length, in_pieces)| Step::Message { source, tag, length, in_pieces }),
        1 => (1usize..3, 0u64..3).prop_map(|(source, tag)| Step::Asks { source, tag }),
        1 => (source(), tag()).prop_map(|(source, tag)| Step::Probe { source, tag }),
        1 => Just(Step::PayloadsArrive),
        1 => (1usize..3).prop_map(|source| Step::Closed { source }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_receive_in_line_or_of_what_is_here_gets_what_it_would_have_got(steps in prop::collection::vec(step(), 1..60)) {
        let mut peers = [machine(1), machine(2)];
        let mut open = [true; 2];
        let kinds = [(false, false), (true, false), (false, true), (true, true)];
        let mut receivers = kinds.map(|(lines_up, takes)| Receiver::new(lines_up, takes));
        for step in steps {
            let arriving = match step {
                Step::Begin { source, tag } => {
                    receivers.iter_mut().for_each(|receiver| receiver.begin(expected(source, tag)));
                    continue;
                }
                Step::Message { source, tag, length, in_pieces } if open[source - 1] => {
                    leaves(&mut peers[source - 1], source, tag, length, in_pieces)
                }
                Step::Asks { source, tag } if open[source - 1] => asks(&mut peers[source - 1], source, tag),
                Step::Probe { source, tag } => {
                    let found = receivers.each_mut().map(|receiver| {
                        let found = receiver.machine.probe(&expected(source, tag).selector);
                        found.map(|incoming| incoming.arrival)
                    });
                    prop_assert_eq!(found, [found[0]; 4]);
                    continue;
                }
                Step::PayloadsArrive => {
                    receivers.iter_mut().for_each(Receiver::all_arrives);
                    continue;
                }
                Step::Closed { source } => {
                    // One stays, or nothing would ever come.
                    if open == [true; 2] {
                        open[source - 1] = false;
                        for receiver in &mut receivers {
                            receiver.post_line();
                            receiver.machine.peer_closed(source);
                            receiver.settle();
                        }
                    }
                    continue;
                }
                Step::Message { .. } | Step::Asks { .. } => continue,
            };
            receivers.iter_mut().for_each(|receiver| receiver.arrives(&arriving));
        }
        receivers.iter_mut().for_each(Receiver::all_arrives);
        let [posted, others @ ..] = receivers;
        for other in others {
            prop_assert_eq!(&posted.ends, &other.ends);
            prop_assert_eq!(posted.unexpected(), other.unexpected());
        }
    }
}

#[test]
fn a_message_is_offered_in_order_and_never_past_a_posted_receive() {
    let (mut here, mut there) = (machine(0), machine(1));
    let line = [expected(Some(2), None), expected(None, Some(7)), expected(Some(1), None)];
    let at = |here: &mut Machine, there: &mut Machine, tag| {
        let message = leaves(there, 1, tag, 3, false);
        (here.offer(1, &message.header, 3, &line), message)
    };
    let (offer, _) = at(&mut here, &mut there, 7);
    assert!(matches!(offer, Offer::Taken { place: 1, bytes: 3, ending: Ok(_) }), "{offer:?}");
    let (offer, _) = at(&mut here, &mut there, 8);
    assert!(matches!(offer, Offer::Taken { place: 2, bytes: 3, ending: Ok(_) }), "{offer:?}");
    let request = here.receive(line[1].selector, Span::of(BufferId::FIRST, 10), Element::RAW);
    let (offer, message) = at(&mut here, &mut there, 7);
    assert_eq!(offer, Offer::Elsewhere, "it is for the posted one");
    let target = here.header(1, &message.header, 3).unwrap();
    assert_eq!(here.conclude(target.token).map(|completion| completion.request), Some(request));
}

#[test]
fn what_is_no_whole_message_is_not_taken() {
    let (mut here, mut there) = (machine(0), machine(1));
    let line = [expected(Some(1), None)];
    let request = asks(&mut there, 1, 7);
    assert_eq!(here.offer(1, &request.header, 0, &line), Offer::Unclear, "it is for the one in line");
    assert_eq!(here.offer(2, &request.header, 0, &line), Offer::Refused);
    assert_eq!(here.offer(1, &[0xff; 3], 0, &line), Offer::Elsewhere, "no header");
    let message = leaves(&mut there, 1, 7, 3, false);
    assert_eq!(here.offer(1, &message.header, WINDOW + 1, &line), Offer::Unclear, "more than the window");
    assert!(here.header(1, &message.header, WINDOW + 1).is_err(), "which is then said");
}
