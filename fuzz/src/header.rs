//! The protocol machine against two peers who send whatever they like, while the user calls it.
//!
//! Promises held here: nothing panics; a refused header changes nothing; payloads are placed inside
//! the receive they are for; what lies unreceived stays within each peer's window; every request
//! that was started ends exactly once, at the latest when everything is failed.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use arbitrary::{Result, Unstructured};
use ringworld_protocol::{
    Action, BufferId, Completion, Config, Element, Envelope, Header, Key, Machine, MatchedId, Mode, OVERHEAD,
    Place, RequestId, Selector, Span, TagSelector,
};

const RANK: usize = 1;
const SIZE: usize = 4;
const EAGER: usize = 64;
const WINDOW: usize = 4 * (EAGER + OVERHEAD);

/// Calls and headers, read from `data`, on one machine.
pub fn header(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(config) = Config::new(RANK, SIZE, EAGER, WINDOW) else { return };
    let mut world = World {
        machine: Machine::new(config),
        pending: BTreeSet::new(),
        matched: Vec::new(),
        arriving: Vec::new(),
        bounced: BTreeMap::new(),
        sending: Vec::new(),
        exposures: Vec::new(),
        filling: Vec::new(),
    };
    while !input.is_empty() {
        if world.step(&mut input).is_err() {
            break;
        }
    }
    world.machine.fail_all();
    world.settle();
    assert!(world.pending.is_empty(), "requests that never end: {:?}", world.pending);
    assert_eq!(world.machine.pending(), 0);
}

struct World {
    machine: Machine,
    /// Requests that have not completed, by their debug text because ids are opaque.
    pending: BTreeSet<String>,
    matched: Vec<MatchedId>,
    /// Placements whose payload has not arrived: token.
    arriving: Vec<u64>,
    /// Bounce memory: its token, sender and length.
    bounced: BTreeMap<u64, (usize, usize)>,
    sending: Vec<u64>,
    exposures: Vec<u64>,
    filling: Vec<u64>,
}

impl World {
    fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        match input.int_in_range(0..=11)? {
            0 => {
                let header = input.arbitrary::<u8>().and_then(|n| input.bytes(usize::from(n % 80)))?.to_vec();
                self.arrive(input, &header)?;
            }
            1..=3 => {
                let header = plausible(input)?;
                self.arrive(input, &header)?;
            }
            4 => {
                let mode = if input.arbitrary()? { Mode::Synchronous } else { Mode::Standard };
                let (peer, envelope, data) = (input.int_in_range(0..=SIZE)?, envelope(input)?, span(input)?);
                let request = self.machine.send(peer, envelope, data, mode);
                self.started(request);
            }
            5 => {
                let (selector, into) = (selector(input)?, span(input)?);
                let request = self.machine.receive(selector, into, element(input)?);
                self.started(request);
            }
            6 => {
                let selector = selector(input)?;
                let seen = self.machine.probe(&selector);
                if let Some(matched) = self.machine.take_matched(&selector) {
                    assert_eq!(seen, Some(matched.incoming), "take and probe see different messages");
                    self.matched.push(matched.handle);
                }
            }
            7 => {
                if let Some(id) = pick(input, &mut self.matched)? {
                    if input.arbitrary()? {
                        let request = self.machine.receive_matched(id, span(input)?, element(input)?);
                        self.started(request);
                    } else {
                        self.machine.release(id);
                    }
                }
            }
            8 => {
                if let Some(token) = pick(input, &mut self.arriving)? {
                    if input.arbitrary()? {
                        self.machine.delivered(token);
                    } else if let Some(completion) = self.machine.conclude(token) {
                        self.ended(&completion);
                    }
                }
            }
            9 => {
                if let Some(token) = pick(input, &mut self.sending)? {
                    self.machine.sent(token);
                }
            }
            10 => {
                if let Some(token) = pick(input, &mut self.exposures)? {
                    match Key::new(&token.to_le_bytes()) {
                        Some(key) if input.arbitrary()? => {
                            self.machine.exposed(token, key);
                            self.filling.push(token);
                        }
                        _ => self.machine.expose_failed(token),
                    }
                } else if let Some(token) = pick(input, &mut self.filling)? {
                    self.machine.filled(token);
                }
            }
            _ => {
                let peer = input.int_in_range(0..=SIZE)?;
                // Rarely, or nothing else would ever happen.
                match input.arbitrary::<u8>()? {
                    0..8 => self.machine.peer_down(peer),
                    8..16 => self.machine.peer_closed(peer),
                    // A token that was never given out.
                    other => self.machine.delivered(u64::from(other) << 20),
                }
            }
        }
        self.settle();
        Ok(())
    }

    fn arrive(&mut self, input: &mut Unstructured<'_>, header: &[u8]) -> Result<()> {
        let peer = input.int_in_range(0..=SIZE)?;
        let length = usize::from(input.arbitrary::<u8>()?);
        let length = if input.ratio(1, 2)? { 0 } else { length };
        let before = (self.machine.pending(), format!("{:?}", self.machine));
        match self.machine.header(peer, header, length) {
            Ok(target) => {
                match target.place {
                    Place::Span(span) => {
                        assert!(0 < span.len && span.len <= length);
                        let room = span.buffer.map_or(0, |name| name.0.get() as usize - 1);
                        assert!(
                            span.offset + span.len <= room,
                            "outside the receive of {room} bytes: {span:?}"
                        );
                    }
                    Place::Bounce { len } => {
                        assert_eq!(len, length, "bounce memory is for the whole payload");
                        assert!(self.bounced.insert(target.token, (peer, len)).is_none());
                    }
                    Place::Nothing => {}
                }
                self.arriving.push(target.token);
            }
            Err(malformed) => {
                assert!(!malformed.0.is_empty());
                assert_eq!(before, (self.machine.pending(), format!("{:?}", self.machine)), "{malformed}");
            }
        }
        self.settle();
        for peer in 0..SIZE {
            let held: usize =
                self.bounced.values().filter(|(from, _)| *from == peer).map(|(_, len)| len + OVERHEAD).sum();
            assert!(held <= WINDOW, "{held} bytes of rank {peer} lie here, but the window is {WINDOW}");
        }
        Ok(())
    }

    fn started(&mut self, request: RequestId) {
        assert!(self.pending.insert(format!("{request:?}")), "{request:?} is in use already");
    }

    fn ended(&mut self, completion: &Completion) {
        let id = format!("{:?}", completion.request);
        assert!(self.pending.remove(&id), "{id} completed but was not pending: {:?}", completion.outcome);
    }

    fn settle(&mut self) {
        while let Some(action) = self.machine.next_action() {
            match action {
                Action::Message { token, header, .. } => {
                    assert!(!header.encode(&mut [0; Header::MAX]).is_empty());
                    self.sending.extend(token);
                }
                Action::Put { token, payload, .. } => {
                    assert!(payload.len > 0);
                    self.sending.push(token);
                }
                Action::Expose { token, into, .. } => {
                    assert!(into.len > 0);
                    self.exposures.push(token);
                }
                Action::Copy { bounce, into } => {
                    let (_, len) = self.bounced[&bounce];
                    assert!(into.len <= len, "a copy of {} bytes out of {len}", into.len);
                }
                Action::Release { bounce } => {
                    assert!(self.bounced.remove(&bounce).is_some(), "released twice, or never given out");
                }
            }
        }
        while let Some(completion) = self.machine.next_completion() {
            self.ended(&completion);
        }
    }
}

/// A header whose form is right and whose claims may be anything.
fn plausible(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let kind = input.int_in_range(1..=9u8)?;
    let small = |input: &mut Unstructured<'_>| -> Result<u64> {
        Ok(match input.int_in_range(0..=7)? {
            0 => input.arbitrary()?,
            1 => u64::from(input.arbitrary::<u8>()?),
            _ => input.int_in_range(0..=3)?,
        })
    };
    let credit = match input.int_in_range(0..=3)? {
        0 => input.arbitrary()?,
        1 => (OVERHEAD + usize::from(input.arbitrary::<u8>()?)) as u64,
        _ => 0,
    };
    let key: u8 = if kind == 3 { input.int_in_range(0..=33)? } else { 0 };
    let named = matches!(kind, 1 | 2 | 8 | 9);
    let detail = if named { element(input)?.number() } else { key };
    let context: u64 = if named { input.int_in_range(0..=1)? } else { 0 };
    let mut bytes = vec![kind, detail];
    bytes.extend(&context.to_le_bytes()[..6]);
    bytes.extend(credit.to_le_bytes());
    if named {
        bytes.extend(input.int_in_range(0..=2u64)?.to_le_bytes());
    }
    if matches!(kind, 1 | 2 | 9) {
        bytes.extend([7; 24]);
    }
    let words = match kind {
        2 | 3 | 9 => 2,
        4 | 5 => 1,
        _ => 0,
    };
    for _ in 0..words {
        bytes.extend(small(input)?.to_le_bytes());
    }
    bytes.resize(bytes.len() + usize::from(key), 9);
    Ok(bytes)
}

fn envelope(input: &mut Unstructured<'_>) -> Result<Envelope> {
    Ok(Envelope {
        context: input.int_in_range(0..=1)?,
        element: element(input)?,
        tag: input.int_in_range(0..=2)?,
        signature: if input.arbitrary()? { [7; 24] } else { [0; 24] },
    })
}

fn element(input: &mut Unstructured<'_>) -> Result<Element> {
    input.int_in_range(0..=2).map(Element::new)
}

fn selector(input: &mut Unstructured<'_>) -> Result<Selector> {
    let source = input.arbitrary::<bool>()?.then(|| input.int_in_range(0..=SIZE)).transpose()?;
    let tag =
        if input.arbitrary()? { TagSelector::Any } else { TagSelector::Exact(input.int_in_range(0..=2)?) };
    Ok(Selector { context: input.int_in_range(0..=1)?, source, tag })
}

/// A span at the start of a buffer whose name is one more than its length.
fn span(input: &mut Unstructured<'_>) -> Result<Span> {
    let len = input.int_in_range(0..=3 * EAGER)?;
    Ok(Span::of(BufferId(NonZeroU32::MIN.saturating_add(len as u32)), len))
}

fn pick<T>(input: &mut Unstructured<'_>, from: &mut Vec<T>) -> Result<Option<T>> {
    if from.is_empty() {
        return Ok(None);
    }
    let index = input.choose_index(from.len())?;
    Ok(Some(from.swap_remove(index)))
}
