//! A round of point-to-point messages on one communicator: how it is drawn, and which matchings MPI allows.
//!
//! Receives may be wildcards, so there is no one right answer; [`check`] decides whether what happened is
//! among the right ones. Rounds are drawn so that every right matching is complete: a receiver posts exact
//! receives first, then those with one wildcard, then those with two, and as many of each as there are
//! messages meant for them. A message can only reach a wildcard when no exact receive waits for it.

use ringworld::{Source, Tag};

use super::rng::{Rng, mix};

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Send,
    Sync,
    Start,
    StartSync,
    Prepared,
}

#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) to: usize,
    pub(crate) tag: u32,
    /// No two messages of one pair are equally long, so the length names the message.
    pub(crate) length: usize,
    pub(crate) sending: Sending,
}

/// How a message is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiving {
    Recv,
    Start,
    Prepared,
    /// Probed for its length, then received by what the probe said.
    Probed,
    /// Probed again and again without waiting.
    Polled,
    /// Set aside by a matched probe.
    Matched,
    /// Never matched; withdrawn at the end.
    Withdrawn,
}

impl Receiving {
    pub(crate) fn waits(self) -> bool {
        !matches!(self, Self::Start | Self::Prepared | Self::Withdrawn)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) from: Source,
    pub(crate) tag: Tag,
    /// Bytes of the buffer; a longer message is truncated.
    pub(crate) room: usize,
    pub(crate) receiving: Receiving,
}

#[derive(Clone, Debug)]
pub(crate) struct Messages {
    pub(crate) on: usize,
    pub(crate) seed: u64,
    /// Every rank posts all its receives before it sends, so that sends may wait for receivers; else every
    /// rank starts all its sends first, so that receives may wait for senders.
    pub(crate) posted_first: bool,
    /// By rank, in the order of sending.
    pub(crate) sends: Vec<Vec<Outgoing>>,
    /// By rank, in the order of posting.
    pub(crate) receives: Vec<Vec<Incoming>>,
}

/// Tags from here on are never sent.
const NEVER: u32 = 1 << 20;
const TAGS: [u32; 4] = [0, 1, 7, NEVER - 1];
/// So many messages of one pair can be told apart.
const PER_PAIR: usize = 16;
/// In units of `PER_PAIR` bytes: nothing much, about the small eager limit and window, long.
const LENGTHS: [usize; 10] = [0, 0, 1, 4, 15, 16, 63, 64, 256, 2048];

impl Messages {
    pub(crate) fn draw(rng: &mut Rng, on: usize, size: usize) -> Self {
        let posted_first = rng.chance(40);
        let busy = rng.between(1, 8);
        let mut pairs = vec![0; size * size];
        let mut send = |rng: &mut Rng, from: usize| {
            let to = rng.below(size);
            let number = &mut pairs[from * size + to];
            *number += 1;
            let sendings = [
                Sending::Start,
                Sending::Start,
                Sending::StartSync,
                Sending::Prepared,
                Sending::Send,
                Sending::Sync,
            ];
            let length = rng.pick(&LENGTHS) * PER_PAIR + *number - 1;
            // Blocking ones only where every receive has been posted.
            let sending = rng.pick(&sendings[..if posted_first { 6 } else { 4 }]);
            Outgoing { to, tag: rng.pick(&TAGS), length, sending }
        };
        let sends: Vec<Vec<Outgoing>> =
            (0..size).map(|from| (0..rng.below(busy + 1)).map(|_| send(rng, from)).collect()).collect();
        let receives = (0..size).map(|rank| receives(rng, &sends, rank, posted_first)).collect();
        Self { on, seed: rng.draw(), posted_first, sends, receives }
    }

    /// What a message holds.
    pub(crate) fn payload(&self, from: usize, to: usize, length: usize) -> Vec<u8> {
        let mut rng = Rng::new(mix(self.seed, (from * 64 + to) as u64 * PER_PAIR as u64 + length as u64));
        (0..length).map(|_| rng.draw() as u8).collect()
    }
}

fn receives(rng: &mut Rng, sends: &[Vec<Outgoing>], rank: usize, posted_first: bool) -> Vec<Incoming> {
    let meant = |(from, sends): (usize, &Vec<Outgoing>)| {
        sends.iter().filter(|send| send.to == rank).map(|send| (from, send.tag, send.length)).collect()
    };
    let coming: Vec<(usize, u32, usize)> =
        sends.iter().enumerate().flat_map(|sent| -> Vec<_> { meant(sent) }).collect();
    let by_tag = rng.chance(50);
    let wild = rng.pick(&[0, 30, 70]);
    let mut layers: [Vec<Incoming>; 3] = Default::default();
    for &(from, tag, length) in &coming {
        let (layer, selector) = if !rng.chance(wild) {
            // A wildcard that can mean only one is as good as exact, and may stand among exact ones.
            let only_sender = coming.iter().all(|other| other.1 != tag || other.0 == from);
            let only_tag = coming.iter().all(|other| other.0 != from || other.1 == tag);
            let from = if only_sender && rng.chance(50) { Source::Any } else { Source::Rank(from) };
            let any_tag = only_tag && from != Source::Any && rng.chance(50);
            (0, (from, if any_tag { Tag::Any } else { Tag::Value(tag) }))
        } else if rng.chance(60) {
            (1, if by_tag { (Source::Any, Tag::Value(tag)) } else { (Source::Rank(from), Tag::Any) })
        } else {
            (2, (Source::Any, Tag::Any))
        };
        let receivings = [
            Receiving::Start,
            Receiving::Start,
            Receiving::Prepared,
            Receiving::Recv,
            Receiving::Recv,
            Receiving::Probed,
            Receiving::Polled,
            Receiving::Matched,
        ];
        let receiving = rng.pick(&receivings[..if posted_first { 3 } else { 8 }]);
        let room = if rng.chance(8) { length / 2 } else { rng.pick(&[length, length + 9, 40_000]) };
        layers[layer].push(Incoming { from: selector.0, tag: selector.1, room, receiving });
    }
    for layer in &mut layers {
        rng.shuffle(layer);
    }
    let mut all: Vec<Incoming> = layers.into_iter().flatten().collect();
    for _ in 0..rng.below(3) {
        let from = if rng.chance(50) { Source::Any } else { Source::Rank(rng.below(sends.len())) };
        let tag = Tag::Value(rng.pick(&[NEVER, Tag::MAX]));
        let at = rng.below(all.len() + 1);
        all.insert(at, Incoming { from, tag, room: 8, receiving: Receiving::Withdrawn });
    }
    all
}

/// What a receive got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) source: usize,
    pub(crate) tag: u32,
    pub(crate) length: usize,
}

fn selects(receive: &Incoming, source: usize, tag: u32) -> bool {
    let by_source = match receive.from {
        Source::Any => true,
        Source::Rank(rank) => rank == source,
    };
    let by_tag = match receive.tag {
        Tag::Any => true,
        Tag::Value(value) => value == tag,
    };
    by_source && by_tag
}

/// What is wrong with a matching, if anything is. `got` is by receive, in the order of posting.
pub(crate) fn check(messages: &Messages, rank: usize, got: &[Option<Got>]) -> Option<String> {
    let receives = &messages.receives[rank];
    for (receive, got) in receives.iter().zip(got) {
        match (receive.receiving, got) {
            (Receiving::Withdrawn, None) => {}
            (Receiving::Withdrawn, Some(got)) => return Some(format!("{receive:?} got {got:?}")),
            (_, None) => return Some(format!("{receive:?} got nothing")),
            (_, Some(got)) if !selects(receive, got.source, got.tag) => {
                return Some(format!("{receive:?} got {got:?}, which it does not select"));
            }
            _ => {}
        }
    }
    for (from, sends) in messages.sends.iter().enumerate() {
        // The receives that got this sender's messages, in the order of sending.
        let mut taken: Vec<(usize, u32)> = Vec::new();
        for send in sends.iter().filter(|send| send.to == rank) {
            let wanted = Got { source: from, tag: send.tag, length: send.length };
            let mut takers = (0..got.len()).filter(|receive| got[*receive] == Some(wanted));
            let (Some(taker), None) = (takers.next(), takers.next()) else {
                return Some(format!("{wanted:?} was not received exactly once: {got:?}"));
            };
            let overtaken =
                taken.iter().find(|(earlier, tag)| *earlier > taker && selects(&receives[taker], from, *tag));
            if let Some((earlier, tag)) = overtaken {
                return Some(format!(
                    "receive {taker} {:?} got {wanted:?} although an earlier message of that sender, with tag \
                     {tag}, was still there for it; that one went to receive {earlier}",
                    receives[taker]
                ));
            }
            taken.push((taker, send.tag));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(sends: &[(u32, usize)], receives: &[(Source, Tag)]) -> Messages {
        let send = |&(tag, length): &(u32, usize)| Outgoing { to: 1, tag, length, sending: Sending::Start };
        let receive =
            |&(from, tag): &(Source, Tag)| Incoming { from, tag, room: 99, receiving: Receiving::Start };
        Messages {
            on: 0,
            seed: 0,
            posted_first: true,
            sends: vec![sends.iter().map(send).collect(), Vec::new()],
            receives: vec![Vec::new(), receives.iter().map(receive).collect()],
        }
    }

    fn got(tag: u32, length: usize) -> Option<Got> {
        Some(Got { source: 0, tag, length })
    }

    #[test]
    fn messages_in_order_are_right_and_overtaking_is_found() {
        let any = (Source::Any, Tag::Any);
        let twice = round(&[(5, 10), (5, 11)], &[any, any]);
        assert_eq!(check(&twice, 1, &[got(5, 10), got(5, 11)]), None);
        assert!(check(&twice, 1, &[got(5, 11), got(5, 10)]).unwrap().contains("earlier message"));
    }

    #[test]
    fn a_receive_may_pass_over_what_it_does_not_select() {
        let mixed = round(&[(1, 10), (2, 11)], &[(Source::Any, Tag::Value(2)), (Source::Rank(0), Tag::Any)]);
        assert_eq!(check(&mixed, 1, &[got(2, 11), got(1, 10)]), None);
        assert!(check(&mixed, 1, &[got(1, 10), got(2, 11)]).unwrap().contains("does not select"));
    }

    #[test]
    fn lost_doubled_and_invented_messages_are_found() {
        let any = (Source::Any, Tag::Any);
        let twice = round(&[(5, 10), (5, 11)], &[any, any]);
        for wrong in [[got(5, 10), None], [got(5, 10), got(5, 10)], [got(5, 10), got(5, 12)]] {
            assert!(check(&twice, 1, &wrong).is_some(), "{wrong:?}");
        }
    }
}
