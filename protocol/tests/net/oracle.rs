//! The naive model of matching: plain lists searched from the front, in the order of events at a rank.
//!
//! It reads arriving headers by their documented layout, decides who must get what, and judges every
//! completion: the right message, the right bytes, the right error, and no overtaking. It knows nothing
//! of slabs, credits or states.

use super::{content, number};
use ringworld_protocol::{Done, Element, Failure, Rank, RequestId, Selector, TagSelector};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy)]
struct Message {
    number: u64,
    source: Rank,
    context: u64,
    tag: u64,
    element: Element,
    len: usize,
    /// All its bytes are at the receiver.
    complete: bool,
}

/// What a receive has room for.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) len: usize,
    pub(crate) element: Element,
}

impl Room {
    /// Whether what a message has is wanted; anything goes with number 0, and nothing needs no kind.
    fn suits(self, message: &Message) -> bool {
        let [sent, wanted] = [message.element.number(), self.element.number()];
        sent == wanted || sent == 0 || wanted == 0 || message.len == 0
    }
}

struct PostedReceive {
    request: RequestId,
    selector: Selector,
    room: Room,
}

#[derive(Default)]
struct Side {
    posted: Vec<PostedReceive>,
    arrived: Vec<Message>,
    taken: BTreeMap<u64, Message>,
    /// What each matched receive must get, and its room.
    fate: BTreeMap<RequestId, (Message, Room)>,
    exposures_fail: bool,
}

pub(crate) struct Oracle {
    sides: Vec<Side>,
    /// Numbers sent and not yet seen at the receiver: `[from][to]`, and whether the context is odd. Contexts of
    /// one kind are in one order; all that is promised is that of each context.
    under_way: Vec<Vec<[VecDeque<u64>; 2]>>,
    pub(crate) matches: usize,
}

fn accepts(selector: &Selector, message: &Message) -> bool {
    selector.context == message.context
        && selector.source.is_none_or(|source| source == message.source)
        && match selector.tag {
            TagSelector::Any => true,
            TagSelector::Exact(tag) => tag == message.tag,
        }
}

fn read(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Oracle {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            sides: (0..size).map(|_| Side::default()).collect(),
            under_way: vec![vec![[const { VecDeque::new() }; 2]; size]; size],
            matches: 0,
        }
    }

    pub(crate) fn sent(&mut self, from: Rank, to: Rank, context: u64, number: u64) {
        self.under_way[from][to][context as usize % 2].push_back(number);
    }

    /// A header arrives: kinds 1, 2 and 9 are messages, with context, tag and signature at fixed places; the
    /// signature holds the number and the length of the message.
    pub(crate) fn header(&mut self, rank: Rank, from: Rank, bytes: &[u8]) {
        if !matches!(bytes[0], 1 | 2 | 9) {
            return;
        }
        let number = read(bytes, 24);
        let context = read(bytes, 0) >> 16;
        let first = self.under_way[from][rank][context as usize % 2].pop_front();
        assert_eq!(first, Some(number), "messages overtook one another");
        let len = usize::try_from(read(bytes, 32)).unwrap();
        let (element, tag) = (Element::new(bytes[1]), read(bytes, 16));
        let message = Message { number, source: from, context, tag, element, len, complete: false };
        let side = &mut self.sides[rank];
        match side.posted.iter().position(|receive| accepts(&receive.selector, &message)) {
            Some(at) => {
                let receive = side.posted.remove(at);
                side.fate.insert(receive.request, (message, receive.room));
                self.matches += 1;
            }
            None => side.arrived.push(message),
        }
    }

    /// All bytes of an eager message are there.
    pub(crate) fn delivered(&mut self, rank: Rank, number: u64) {
        if let Some(message) = self.sides[rank].arrived.iter_mut().find(|message| message.number == number) {
            message.complete = true;
        }
    }

    /// Messages of a dead rank can be received only if all their bytes had arrived.
    pub(crate) fn died(&mut self, rank: Rank, dead: Rank) {
        self.sides[rank].arrived.retain(|message| message.source != dead || message.complete);
    }

    pub(crate) fn post(&mut self, rank: Rank, request: RequestId, selector: Selector, room: Room) {
        let side = &mut self.sides[rank];
        match side.arrived.iter().position(|message| accepts(&selector, message)) {
            Some(at) => {
                let message = side.arrived.remove(at);
                side.fate.insert(request, (message, room));
                self.matches += 1;
            }
            None => side.posted.push(PostedReceive { request, selector, room }),
        }
    }

    pub(crate) fn peek(&self, rank: Rank, selector: &Selector) -> Option<u64> {
        self.sides[rank].arrived.iter().find(|message| accepts(selector, message)).map(|m| m.number)
    }

    pub(crate) fn take(&mut self, rank: Rank, selector: &Selector) -> Option<u64> {
        let side = &mut self.sides[rank];
        let at = side.arrived.iter().position(|message| accepts(selector, message))?;
        let message = side.arrived.remove(at);
        side.taken.insert(message.number, message);
        Some(message.number)
    }

    pub(crate) fn matched(&mut self, rank: Rank, request: RequestId, number: u64, room: Room) {
        let message = self.sides[rank].taken.remove(&number).unwrap();
        self.sides[rank].fate.insert(request, (message, room));
        self.matches += 1;
    }

    pub(crate) fn cancel(&mut self, rank: Rank, request: RequestId) -> bool {
        let posted = &mut self.sides[rank].posted;
        match posted.iter().position(|receive| receive.request == request) {
            Some(at) => {
                posted.remove(at);
                true
            }
            None => false,
        }
    }

    pub(crate) fn expose_failed(&mut self, rank: Rank) {
        self.sides[rank].exposures_fail = true;
    }

    pub(crate) fn ended(
        &mut self,
        rank: Rank,
        request: RequestId,
        outcome: &Result<Done, Failure>,
        bytes: &[u8],
    ) {
        let side = &mut self.sides[rank];
        let Some((message, room)) = side.fate.remove(&request) else {
            // A send, or a receive that ends unmatched: it must not pretend to have got something.
            if let Some(at) = side.posted.iter().position(|receive| receive.request == request) {
                side.posted.remove(at);
                assert!(outcome.is_err(), "a receive ended with a message that did not match: {outcome:?}");
            }
            return;
        };
        match outcome {
            Ok(done) => {
                assert!(message.len <= room.len && room.suits(&message));
                assert_eq!(number(&done.envelope.signature), message.number, "the wrong message");
                let Done { source, envelope, len, .. } = *done;
                assert_eq!(
                    (source, envelope.context, envelope.tag, len),
                    (message.source, message.context, message.tag, message.len)
                );
            }
            Err(Failure::Truncated { needed, room: said, source, tag }) => {
                assert!(message.len > room.len && room.suits(&message), "truncated for no reason");
                let given = (*needed, *said, *source, *tag);
                assert_eq!(given, (message.len, room.len, message.source, message.tag));
            }
            Err(Failure::WrongElement { sent, wanted, len, source, tag }) => {
                assert!(!room.suits(&message), "refused for no reason");
                assert_eq!((*sent, *wanted), (message.element, room.element));
                assert_eq!((*len, *source, *tag), (message.len, message.source, message.tag));
            }
            Err(Failure::Expose { .. }) => {
                assert!(side.exposures_fail);
                return;
            }
            Err(Failure::PeerDown { .. } | Failure::PeerFinished { .. } | Failure::Aborted) => return,
            Err(other) => panic!("a matched receive ended with {other}"),
        }
        let filled = if room.suits(&message) { message.len.min(room.len) } else { 0 };
        assert_eq!(bytes[..filled], content(message.number, message.len)[..filled], "the wrong bytes");
        assert!(bytes[filled..].iter().all(|byte| *byte == 0xee), "bytes behind the message were touched");
    }
}
