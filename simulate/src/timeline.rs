//! Everything that happens in a small world, step by step: what pictures are drawn from.

use ringworld_collectives::{Action, Choice, Request, Schedule, build};

use crate::observe::Observer;
use crate::{Error, Fabric, Time, ask, plan};

/// When a step did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Everything it waited for was complete: it was posted.
    pub begun: Time,
    /// It got its port or its processor: a send the sending port, a receive the receiving one.
    pub start: Time,
    /// It let go of port or processor.
    pub end: Time,
    /// It was complete: for a receive, posted, arrived and copied if it had to be.
    pub completed: Time,
}

/// A small world, with all its moments.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The schedules, in rank order.
    pub schedules: Vec<Schedule>,
    /// The moments, by rank and step.
    pub moments: Vec<Vec<Moment>>,
    /// When the last rank was done.
    pub time: Time,
}

impl Timeline {
    /// The step of rank `from` at the other end of a receive.
    #[must_use]
    pub fn sender(&self, rank: usize, recv: &Action) -> Option<(usize, usize)> {
        let Action::Recv { from, tag, .. } = *recv else { return None };
        let wanted =
            |action: &Action| matches!(*action, Action::Send { to, tag: t, .. } if to == rank && t == tag);
        let step = self.schedules.get(from)?.actions().iter().position(wanted)?;
        Some((from, step))
    }
}

/// Notes the moments of all actors in one row.
#[derive(Default)]
struct Notes(Vec<Moment>);

impl Notes {
    fn at(&mut self, step: u32) -> &mut Moment {
        let step = step as usize;
        if self.0.len() <= step {
            self.0.resize(step + 1, Moment::default());
        }
        &mut self.0[step]
    }
}

impl Observer for Notes {
    fn begun(&mut self, step: u32, at: Time) {
        self.at(step).begun = at;
    }

    fn leaving(&mut self, step: u32, start: Time, end: Time) {
        let moment = self.at(step);
        (moment.start, moment.end) = (start, end);
    }

    fn landing(&mut self, step: u32, start: Time, end: Time) {
        self.leaving(step, start, end);
    }

    fn processing(&mut self, step: u32, start: Time, end: Time) {
        // The copy of a message that came too early follows its arrival: the port's times stay.
        if self.at(step).end == Time::ZERO {
            self.leaving(step, start, end);
        }
    }

    fn completed(&mut self, step: u32, at: Time) {
        let moment = self.at(step);
        moment.completed = at;
        if moment.end == Time::ZERO {
            (moment.start, moment.end) = (at, at);
        }
    }
}

/// Runs every rank and keeps everything: for few ranks and few segments.
///
/// # Errors
///
/// As for [`crate::simulate`].
pub fn timeline(request: &Request, choice: &Choice, fabric: &Fabric) -> Result<Timeline, Error> {
    let mut notes = Notes::default();
    let outcome = plan::every(request, choice, fabric, &mut notes)?;
    let schedules = (0..request.size).map(|rank| Ok(build(&ask::of_rank(request, rank), choice)?));
    let schedules = schedules.collect::<Result<Vec<_>, Error>>()?;
    let mut rest = notes.0.into_iter();
    let moments = schedules.iter().map(|schedule| rest.by_ref().take(schedule.len()).collect()).collect();
    Ok(Timeline { schedules, moments, time: outcome.time })
}
