//! A schedule as people speak of it: messages that carry chunks, in rounds.
//!
//! A *chunk* is a run of elements of the whole vector (or of all blocks, in rank order); it has a letter. A
//! message's *round* is the number of messages that had to follow each other until it could be sent, itself
//! included. Neighbours: `text` and `svg` tell the story.

use std::collections::BTreeMap;

use ringworld_collectives::{Action, Buffer, Collective, Request, Span};
use ringworld_simulate::Timeline;

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The steps at both ends.
    pub(crate) send: usize,
    pub(crate) recv: usize,
    pub(crate) bytes: u64,
    /// Which of [`Story::chunks`].
    pub(crate) chunk: Option<usize>,
    /// From 1.
    pub(crate) round: usize,
    /// The receiver combines it with its own.
    pub(crate) reduced: bool,
}

/// All messages, and what they carry.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) messages: Vec<Message>,
    /// First element of each chunk, ascending.
    pub(crate) chunks: Vec<usize>,
    pub(crate) rounds: usize,
}

/// The letters of a chunk: a to z, then aa.
pub(crate) fn letter(chunk: usize) -> String {
    let last = char::from(b'a' + (chunk % 26) as u8);
    match chunk / 26 {
        0 => last.to_string(),
        more => letter(more - 1) + &last.to_string(),
    }
}

impl Story {
    pub(crate) fn new(request: &Request, timeline: &Timeline) -> Self {
        let levels = levels(timeline);
        let mut messages = Vec::new();
        let mut starts = Vec::new();
        for (to, schedule) in timeline.schedules.iter().enumerate() {
            for (recv, action) in schedule.actions().iter().enumerate() {
                let (Action::Recv { into, .. }, Some((from, send))) = (action, timeline.sender(to, action))
                else {
                    continue;
                };
                let reduction = schedule.dependents(recv).iter().find_map(|&later| {
                    match *schedule.action(later as usize) {
                        Action::Reduce { left, right, into: sum, .. } if left == *into || right == *into => {
                            Some([sum, left, right])
                        }
                        _ => None,
                    }
                });
                let sent = match *timeline.schedules[from].action(send) {
                    Action::Send { from, .. } => from,
                    _ => continue,
                };
                let known = [(from, sent), (to, *into)].into_iter();
                let known = known.chain(reduction.into_iter().flatten().map(|span| (to, span)));
                starts.push(known.into_iter().find_map(|(rank, span)| position(request, rank, span)));
                messages.push(Message {
                    from,
                    to,
                    send,
                    recv,
                    bytes: into.len as u64 * request.element as u64,
                    chunk: None,
                    round: levels[from][send] + 1,
                    reduced: reduction.is_some(),
                });
            }
        }
        let mut chunks: Vec<usize> = starts.iter().copied().flatten().collect();
        chunks.sort_unstable();
        chunks.dedup();
        for (message, start) in messages.iter_mut().zip(starts) {
            message.chunk = start.and_then(|start| chunks.binary_search(&start).ok());
        }
        let rounds = messages.iter().map(|message| message.round).max().unwrap_or(0);
        Self { messages, chunks, rounds }
    }

    /// The message of a step, by rank and step.
    pub(crate) fn by_step(&self) -> BTreeMap<(usize, usize), &Message> {
        let ends = |message: &Message| [(message.from, message.send), (message.to, message.recv)];
        self.messages.iter().flat_map(|message| ends(message).map(|end| (end, message))).collect()
    }
}

/// Where a span lies in the whole vector; `None` for scratch, and where each rank has a vector of its own.
fn position(request: &Request, rank: usize, span: Span) -> Option<usize> {
    let block = rank * request.count();
    let (input, output) = match request.collective {
        Collective::AllGather | Collective::Gather { .. } => (block, 0),
        Collective::ReduceScatter | Collective::Scatter { .. } => (0, block),
        Collective::AllToAll | Collective::Barrier => return None,
        _ => (0, 0),
    };
    match span.buffer {
        Buffer::Input => Some(input + span.offset),
        Buffer::Output => Some(output + span.offset),
        Buffer::Scratch => None,
    }
}

/// How many messages had to follow each other before each step, by rank and step.
fn levels(timeline: &Timeline) -> Vec<Vec<usize>> {
    let mut levels: Vec<Vec<usize>> =
        timeline.schedules.iter().map(|schedule| vec![0; schedule.len()]).collect();
    // Steps of one rank are in an order that respects dependencies; between ranks, go on until nothing changes.
    let mut changed = true;
    while changed {
        changed = false;
        for (rank, schedule) in timeline.schedules.iter().enumerate() {
            for (step, action) in schedule.actions().iter().enumerate() {
                if let Some((from, send)) = timeline.sender(rank, action) {
                    let arrived = levels[from][send] + 1;
                    if arrived > levels[rank][step] {
                        levels[rank][step] = arrived;
                        changed = true;
                    }
                }
                let level = levels[rank][step];
                for &later in schedule.dependents(step) {
                    if level > levels[rank][later as usize] {
                        levels[rank][later as usize] = level;
                        changed = true;
                    }
                }
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_letters_like_columns_of_a_sheet() {
        assert_eq!([0, 1, 25, 26, 27, 701, 702].map(letter), ["a", "b", "z", "aa", "ab", "zz", "aaa"]);
    }
}
