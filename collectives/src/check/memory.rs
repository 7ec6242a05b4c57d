//! The memory of one rank as one row of cells, with aliased input and output being the same cells.

use std::ops::Range;

use super::Fault;
use crate::{Action, Buffer, Layout, Request, Schedule, Span};

/// Where the buffers of one rank lie in its row of cells.
#[derive(Debug)]
pub(crate) struct Memory {
    layout: Layout,
    scratch: usize,
    /// Input cells in front of the output; none when the input is aliased.
    own_input: usize,
}

impl Memory {
    /// The memories of all ranks, after checking that the schedules fit the request.
    pub(crate) fn of_all(requests: &[Request], schedules: &[Schedule]) -> Result<Vec<Self>, Fault> {
        let given = schedules.len();
        let wrong = |index: usize, reason: String| Err(Fault::Set { index, given, reason });
        if given != requests.len() {
            return wrong(given, format!("expected {} schedules", requests.len()));
        }
        let mut memories = Vec::with_capacity(given);
        for (rank, (schedule, request)) in schedules.iter().zip(requests).enumerate() {
            let layout = schedule.layout();
            let known = [false, true].map(|in_place| Request { in_place, ..request.clone() }.layout());
            if (schedule.rank(), schedule.size()) != (rank, request.size) {
                return wrong(rank, format!("it is that of rank {} of {}", schedule.rank(), schedule.size()));
            }
            if !known.contains(&layout) {
                return wrong(rank, format!("its buffers are {layout:?}"));
            }
            let own_input = if layout.alias.is_some() { 0 } else { layout.input };
            memories.push(Self { layout, scratch: schedule.scratch(), own_input });
        }
        Ok(memories)
    }

    /// How many cells there are.
    pub(crate) fn cells(&self) -> usize {
        self.own_input + self.layout.output + self.scratch
    }

    /// The cells of the input.
    pub(crate) fn input(&self) -> Range<usize> {
        let start = self.layout.alias.map_or(0, |at| self.own_input + at);
        start..start + self.layout.input
    }

    /// The cells of the result.
    pub(crate) fn result(&self) -> Range<usize> {
        let Span { offset, len, .. } = self.layout.result;
        self.own_input + offset..self.own_input + offset + len
    }

    /// The cells of the output.
    pub(crate) fn output(&self) -> Range<usize> {
        self.own_input..self.own_input + self.layout.output
    }

    /// The cells of a span; `None` when it does not lie in its buffer.
    pub(crate) fn range(&self, span: Span) -> Option<Range<usize>> {
        let (start, len) = match span.buffer {
            Buffer::Input => (self.input().start, self.layout.input),
            Buffer::Output => (self.own_input, self.layout.output),
            Buffer::Scratch => (self.own_input + self.layout.output, self.scratch),
        };
        let end = span.offset.checked_add(span.len)?;
        (end <= len).then(|| start + span.offset..start + end)
    }

    /// Checks every step by itself: spans, lengths, peers, and how a reduction may reuse its operands.
    pub(crate) fn check_spans(&self, schedule: &Schedule) -> Result<(), Fault> {
        for (step, action) in schedule.actions().iter().enumerate() {
            self.step(schedule, action).map_err(|reason| Fault::Step {
                rank: schedule.rank(),
                step,
                action: action.to_string(),
                reason,
            })?;
        }
        Ok(())
    }

    fn step(&self, schedule: &Schedule, action: &Action) -> Result<(), String> {
        let find = |span: Span| self.range(span).ok_or_else(|| format!("{span} is outside its buffer"));
        let disjoint = |a: &Range<usize>, b: &Range<usize>| a.end <= b.start || b.end <= a.start;
        for span in action.reads().into_iter().flatten() {
            find(span)?;
        }
        if let Some(span) = action.writes() {
            find(span)?;
            if span.buffer == Buffer::Input {
                return Err("steps must not write the input".into());
            }
        }
        match *action {
            Action::Send { to: peer, .. } | Action::Recv { from: peer, .. } => {
                if peer == schedule.rank() || peer >= schedule.size() {
                    return Err(format!("rank {peer} is no peer among {} ranks", schedule.size()));
                }
            }
            Action::Reduce { left, right, into, .. } => {
                if left.len != into.len || right.len != into.len {
                    return Err("operands and result differ in length".into());
                }
                let into = find(into)?;
                for operand in [find(left)?, find(right)?] {
                    if operand != into && !disjoint(&operand, &into) {
                        return Err("the result overlaps an operand without being the same span".into());
                    }
                }
            }
            Action::Copy { from, into } => {
                if from.len != into.len {
                    return Err("source and destination differ in length".into());
                }
                if !disjoint(&find(from)?, &find(into)?) {
                    return Err("source and destination overlap".into());
                }
            }
        }
        Ok(())
    }
}
