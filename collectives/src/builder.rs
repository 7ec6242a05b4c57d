//! Program order in, dependencies out.
//!
//! An algorithm says what it does one step after the other, as if every step completed before the next
//! begins; the [`Builder`] finds out which steps really have to wait for which, from the spans they touch.
//! Invariant: two steps that touch the same element, one of them writing, are ordered, so that a schedule
//! is free of races by construction. Tags are given out by counting the messages of each pair of ranks:
//! both ends must name the messages between them in the same order. Neighbours: the algorithm modules.

use std::collections::BTreeMap;

use crate::conflicts::Conflicts;
use crate::{Action, Buffer, Error, Layout, Request, Schedule, Span};

/// A step already declared; `None` stands for a step that was left out because it had nothing to do.
pub type Step = Option<u32>;

/// Collects the steps of one rank.
#[derive(Debug)]
pub struct Builder {
    header: Schedule,
    actions: Vec<Action>,
    edges: Vec<(u32, u32)>,
    output: Conflicts,
    scratch: Conflicts,
    /// Messages so far, to and from each peer.
    messages: BTreeMap<usize, (u32, u32)>,
    wait: Vec<u32>,
    /// Where scratch memory that is set aside next begins.
    free: usize,
    /// From which step on those that would wait for nothing wait for which one.
    gate: Option<(u32, u32)>,
    /// Whose steps are declared, where they are those of a part of the ranks.
    frame: Option<Frame>,
}

/// A part of the ranks, and the memory that is theirs.
#[derive(Debug)]
struct Frame {
    ranks: Vec<usize>,
    input: Span,
    output: Span,
    last: bool,
}

impl Builder {
    /// Starts a schedule called `name` for the rank that makes the request.
    #[must_use]
    pub fn new(name: &'static str, request: &Request) -> Self {
        Self {
            header: Schedule::empty(name, request.rank, request.size, request.layout(), 0),
            actions: Vec::new(),
            edges: Vec::new(),
            output: Conflicts::default(),
            scratch: Conflicts::default(),
            messages: BTreeMap::new(),
            wait: Vec::new(),
            free: 0,
            gate: None,
            frame: None,
        }
    }

    /// Declares steps of a part of the ranks, which name each other by their places among `ranks`, and have `input` and
    /// `output` as their memory. `last`: where they have all contributed, all ranks have.
    pub(crate) fn within(
        &mut self,
        ranks: &[usize],
        (input, output): (Span, Span),
        last: bool,
        declare: impl FnOnce(&mut Self),
    ) {
        let frame = Frame { ranks: ranks.to_vec(), input, output, last };
        let outer = self.frame.replace(frame);
        debug_assert!(outer.is_none(), "there are two levels, not three");
        declare(self);
        self.frame = outer;
    }

    /// Whether two spans name the same memory.
    pub(crate) fn is_same(&self, a: Span, b: Span) -> bool {
        self.resolve(a) == self.resolve(b)
    }

    /// Where scratch memory that is set aside next begins.
    pub(crate) fn scratch_mark(&self) -> usize {
        self.free
    }

    /// Sets scratch memory aside from `mark` on again. What has used it before is waited for, as everywhere.
    pub(crate) fn scratch_from(&mut self, mark: usize) {
        self.free = mark;
    }

    /// Lets all later steps that would wait for none of one another wait for this one.
    pub(crate) fn gate_later_steps(&mut self, earlier: Step) {
        self.gate = earlier.map(|step| (self.actions.len() as u32, step));
    }

    /// The step declared last.
    pub(crate) fn latest(&self) -> Step {
        self.actions.len().checked_sub(1).map(|step| step as u32)
    }

    /// Sets `len` more elements of scratch memory aside.
    pub fn scratch(&mut self, len: usize) -> Span {
        let span = Span::scratch(self.free, len);
        self.free += len;
        self.header.scratch = self.header.scratch.max(self.free);
        span
    }

    /// Sets `slots` equal spans of scratch memory aside.
    pub fn slots(&mut self, slots: usize, len: usize) -> Vec<Span> {
        (0..slots).map(|_| self.scratch(len)).collect()
    }

    /// Sends `from` to rank `to`. Left out when empty; the receiver must leave it out as well.
    pub fn send(&mut self, to: usize, from: Span) -> Step {
        if from.len == 0 { None } else { self.message_to(to, from) }
    }

    /// Receives the next message of rank `from`. Left out when empty.
    pub fn recv(&mut self, from: usize, into: Span) -> Step {
        if into.len == 0 { None } else { self.message_from(from, into) }
    }

    /// Like [`Builder::send`], but not left out when empty: where the two ends know the length each on its own,
    /// an empty message is how the other one learns that they disagree.
    pub fn send_known_here(&mut self, to: usize, from: Span) -> Step {
        if from.len == 0 { self.signal(to) } else { self.message_to(to, from) }
    }

    /// The receive of [`Builder::send_known_here`].
    pub fn recv_known_here(&mut self, from: usize, into: Span) -> Step {
        if into.len == 0 { self.await_signal(from) } else { self.message_from(from, into) }
    }

    /// Sends an empty message.
    pub fn signal(&mut self, to: usize) -> Step {
        self.message_to(to, Span::scratch(0, 0))
    }

    /// Receives an empty message.
    pub fn await_signal(&mut self, from: usize) -> Step {
        self.message_from(from, Span::scratch(0, 0))
    }

    /// `into = left op right`, with `left` from the lower ranks. Left out when empty. `last`: all ranks have
    /// contributed now (see [`Action::Reduce`]).
    pub fn reduce(&mut self, left: Span, right: Span, into: Span, last: bool) -> Step {
        debug_assert!(left.len == right.len && left.len == into.len, "{left} op {right} into {into}");
        let (left, right, into) = (self.resolve(left), self.resolve(right), self.resolve(into));
        let last = last && self.frame.as_ref().is_none_or(|frame| frame.last);
        if into.len == 0 { None } else { self.push(Action::Reduce { left, right, into, last }) }
    }

    /// Copies. Left out when empty or when both are the same memory.
    pub fn copy(&mut self, from: Span, into: Span) -> Step {
        debug_assert!(from.len == into.len, "{from} into {into}");
        let (from, into) = (self.resolve(from), self.resolve(into));
        if into.len == 0 || from == into { None } else { self.push(Action::Copy { from, into }) }
    }

    /// Makes `later` wait for `earlier` although their spans do not conflict: to keep the number of steps
    /// under way within bounds, or to order messages that carry no data.
    pub fn order(&mut self, earlier: Step, later: Step) {
        if let (Some(earlier), Some(later)) = (earlier, later) {
            debug_assert!(earlier < later, "step {later} cannot wait for step {earlier}");
            self.edges.push((earlier, later));
        }
    }

    /// The schedule.
    ///
    /// # Errors
    ///
    /// When there are more than `u32::MAX` steps or dependencies.
    pub fn finish(self) -> Result<Schedule, Error> {
        if u32::try_from(self.actions.len()).is_err() {
            return Err(Error::TooManySteps);
        }
        self.header.with_steps(self.actions, self.edges)
    }

    fn message_to(&mut self, to: usize, from: Span) -> Step {
        let (from, to) = (self.resolve(from), self.peer(to));
        let (sent, _) = self.messages.entry(to).or_default();
        let tag = *sent;
        *sent = sent.wrapping_add(1);
        self.push(Action::Send { to, from, tag })
    }

    fn message_from(&mut self, from: usize, into: Span) -> Step {
        let (into, from) = (self.resolve(into), self.peer(from));
        let (_, received) = self.messages.entry(from).or_default();
        let tag = *received;
        *received = received.wrapping_add(1);
        self.push(Action::Recv { from, into, tag })
    }

    /// The rank that a place stands for.
    fn peer(&self, place: usize) -> usize {
        self.frame.as_ref().map_or(place, |frame| frame.ranks[place])
    }

    /// Names the memory that a span stands for: an input that lies in the output is output.
    fn resolve(&self, span: Span) -> Span {
        let span = match (&self.frame, span.buffer) {
            (Some(frame), Buffer::Input) => frame.input.part(span.offset, span.len),
            (Some(frame), Buffer::Output) => frame.output.part(span.offset, span.len),
            _ => span,
        };
        let Layout { alias, .. } = self.header.layout;
        match (span.buffer, alias) {
            (Buffer::Input, Some(at)) => Span::output(at + span.offset, span.len),
            _ => span,
        }
    }

    fn push(&mut self, action: Action) -> Step {
        // A number that wrapped is never used: `finish` refuses so many steps.
        let step = self.actions.len() as u32;
        let mut wait = std::mem::take(&mut self.wait);
        for span in action.reads().into_iter().flatten() {
            if let Some(map) = self.history(span.buffer) {
                map.read(span.offset, span.offset + span.len, step, &mut wait);
            }
        }
        if let Some(span) = action.writes()
            && let Some(map) = self.history(span.buffer)
        {
            map.write(span.offset, span.offset + span.len, step, &mut wait);
        }
        wait.sort_unstable();
        wait.dedup();
        if let Some((first, step)) = self.gate
            && wait.last().is_none_or(|latest| *latest < first)
        {
            wait.push(step);
        }
        self.edges.extend(wait.drain(..).map(|earlier| (earlier, step)));
        self.wait = wait;
        self.actions.push(action);
        Some(step)
    }

    /// The input has no history: nobody writes it.
    fn history(&mut self, buffer: Buffer) -> Option<&mut Conflicts> {
        match buffer {
            Buffer::Input => None,
            Buffer::Output => Some(&mut self.output),
            Buffer::Scratch => Some(&mut self.scratch),
        }
    }
}

/// Part `index` of `len` elements cut into `parts` runs whose lengths differ by one at most, as (offset,
/// length). The longer ones come first.
pub(crate) fn part(len: usize, parts: usize, index: usize) -> (usize, usize) {
    let (each, rest) = (len / parts, len % parts);
    (index * each + index.min(rest), each + usize::from(index < rest))
}

/// How many parts of at most `segment` elements `len` elements make; at least one.
pub(crate) fn parts(len: usize, segment: usize) -> usize {
    len.div_ceil(segment.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collective, Counts, Order};

    fn builder(in_place: bool) -> Builder {
        let collective = Collective::AllReduce;
        let (counts, order) = (Counts::Same(8), Order::Free);
        let request = Request { collective, rank: 0, size: 2, counts, element: 4, order, in_place };
        Builder::new("test", &request)
    }

    #[test]
    fn steps_on_different_elements_do_not_wait_and_on_the_same_do() {
        let mut b = builder(false);
        b.recv(1, Span::output(0, 4));
        b.recv(1, Span::output(4, 4));
        b.send(1, Span::output(2, 4));
        b.recv(1, Span::output(0, 3));
        let schedule = b.finish().unwrap();
        assert_eq!(schedule.roots(), [0, 1]);
        assert_eq!(schedule.to_steps()[2].1, [0, 1]);
        assert_eq!(schedule.to_steps()[3].1, [0, 2]);
    }

    #[test]
    fn an_input_in_place_is_output_and_its_readers_hold_writers_back() {
        for (in_place, waits) in [(false, 0), (true, 1)] {
            let mut b = builder(in_place);
            b.send(1, Span::input(0, 8));
            b.recv(1, Span::output(0, 8));
            assert_eq!(b.copy(Span::input(0, 8), Span::output(0, 8)).is_none(), in_place);
            let schedule = b.finish().unwrap();
            assert_eq!(schedule.dependencies(1), waits, "in place: {in_place}");
        }
    }

    #[test]
    fn messages_of_a_pair_are_numbered_in_program_order() {
        let mut b = builder(false);
        b.send(1, Span::input(0, 1));
        b.recv(1, Span::output(0, 1));
        b.send(1, Span::input(0, 0));
        b.send(1, Span::input(1, 1));
        let schedule = b.finish().unwrap();
        let tags: Vec<_> = schedule
            .actions()
            .iter()
            .map(|action| match action {
                Action::Send { tag, .. } | Action::Recv { tag, .. } => *tag,
                _ => u32::MAX,
            })
            .collect();
        assert_eq!(tags, [0, 0, 1]);
    }

    #[test]
    fn parts_cover_everything_once_and_differ_by_one_at_most() {
        for len in 0..40 {
            for count in 1..10 {
                let mut at = 0;
                for index in 0..count {
                    let (offset, size) = part(len, count, index);
                    assert_eq!(offset, at);
                    assert!(size == len / count || size == len / count + 1);
                    at += size;
                }
                assert_eq!(at, len);
            }
        }
    }
}
