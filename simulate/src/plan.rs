//! From a request to a time: how many ranks and segments must really be run.
//!
//! Invariant: nothing is left out in silence. Whatever is not exactly what was asked for is said in
//! [`Method`], and what would be too much work is not begun but estimated.
//!
//! ```text
//! little work? ─yes─▶ every rank
//!    │no
//! images of one another? ─yes─▶ one rank ┐
//!    │no                                 ├─ still too much? ─yes─▶ three shorter vectors, on a line?
//! every rank ────────────────────────────┘                            │no
//!                                                                  TooMuch
//! ```

use ringworld_collectives::{Choice, Request, Schedule, build};

use crate::estimate::{Budget, Estimate, estimate};
use crate::net::Net;
use crate::observe::Observer;
use crate::symmetry::{self, Likeness, Relabel};
use crate::{Error, Fabric, Facts, Time, ask, engine};

/// Up to here every rank is run although one might do: it costs nothing and proves more.
const LITTLE: u64 = 1_000_000;
/// A rank whose schedule does almost nothing may still have cost a walk over all ranks to make.
const FEW_RANKS: usize = 4096;
/// How far three points may be off a line, in parts of the distance between them.
const STRAIGHT: f64 = 1e-3;

/// What was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// `Some`: one rank stood for all, its messages going to images of itself; `None`: every rank was run.
    pub relabel: Option<Relabel>,
    /// How many ranks were compared with rank 0, or run.
    pub ranks: usize,
    /// `Some`: so many elements were run instead, a little more than asked for, because chunks of equal length
    /// make all ranks alike. An upper bound.
    pub padded: Option<usize>,
    /// `Some`: the longest vector that was run, in elements; the time was continued along a line from there.
    pub continued: Option<usize>,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// When the last rank was done.
    pub time: Time,
    /// The most of each count on any rank that was looked at.
    pub facts: Facts,
    /// Steps that were really run.
    pub simulated: u64,
    /// What was run.
    pub method: Method,
}

/// An outcome, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It was simulated.
    Done(Outcome),
    /// It would be more work than the budget allows, and was not begun.
    TooMuch(Estimate),
}

/// Simulates one collective by the algorithm of `choice`; the rank of the request does not matter.
///
/// # Errors
///
/// When no schedule can be made, there are more steps than can be numbered, or virtual time runs out.
pub fn simulate(
    request: &Request,
    choice: &Choice,
    fabric: &Fabric,
    budget: &Budget,
) -> Result<Verdict, Error> {
    let request = &ask::of_rank(request, 0);
    request.validate()?;
    let job = Job { request, choice, fabric };
    let work = estimate(request, choice)?;
    if work.all <= LITTLE.min(budget.steps) && request.size <= FEW_RANKS {
        return job.every(ask::count(request)).map(Verdict::Done);
    }
    if let Some(outcome) = job.one_for_all(work.first, budget)? {
        return Ok(Verdict::Done(outcome));
    }
    if work.all <= budget.steps {
        return job.every(ask::count(request)).map(Verdict::Done);
    }
    let shorter = job.continued(work.all, budget, |count| job.every(count))?;
    Ok(shorter.map_or(Verdict::TooMuch(work), Verdict::Done))
}

/// Runs every rank, whatever that costs.
///
/// # Errors
///
/// As for [`simulate`].
pub(crate) fn every(
    request: &Request,
    choice: &Choice,
    fabric: &Fabric,
    observer: &mut impl Observer,
) -> Result<Outcome, Error> {
    let mut facts = Facts::default();
    let schedules = (0..request.size).map(|rank| {
        let schedule = build(&ask::of_rank(request, rank), choice)?;
        facts = facts.max(Facts::of(&schedule, request.element));
        Ok(schedule)
    });
    let mut net = Net::all(schedules, request.element)?;
    let ends = engine::run(&mut net, fabric, observer)?;
    Ok(Outcome {
        time: ends.into_iter().max().unwrap_or_default(),
        facts,
        simulated: net.steps.len() as u64,
        method: Method { relabel: None, ranks: request.size, padded: None, continued: None },
    })
}

/// Notices whether two runs send at the same times.
#[derive(Default, PartialEq, Eq)]
struct Pulse(u64);

impl Observer for Pulse {
    fn leaving(&mut self, step: u32, start: Time, _: Time) {
        // FNV-1a, over words.
        for word in [u64::from(step), start.picos()] {
            self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

struct Job<'a> {
    request: &'a Request,
    choice: &'a Choice,
    fabric: &'a Fabric,
}

impl Job<'_> {
    fn schedule(&self, rank: usize, count: usize) -> Result<Schedule, Error> {
        Ok(build(&ask::of_count(&ask::of_rank(self.request, rank), count), self.choice)?)
    }

    fn every(&self, count: usize) -> Result<Outcome, Error> {
        every(&ask::of_count(self.request, count), self.choice, self.fabric, &mut ())
    }

    /// One rank for all, if they are alike.
    fn one_for_all(&self, steps: u64, budget: &Budget) -> Result<Option<Outcome>, Error> {
        let count = ask::count(self.request);
        if steps <= budget.steps {
            return self.alike(count);
        }
        // Only where short vectors are alike already is it worth trying longer ones.
        let unit = self.unit(count / 3);
        if self.alike(unit)?.is_none() {
            return Ok(None);
        }
        self.continued(steps, budget, |count| {
            self.alike(count)?.ok_or(Error::Unmatched { from: 0, to: 0 })
        })
    }

    /// As [`Job::one_for_all`], with `count` elements, or a few more if that makes ranks alike.
    fn alike(&self, count: usize) -> Result<Option<Outcome>, Error> {
        let size = self.request.size;
        let pieces = count.div_ceil(self.choice.segment.max(1)).max(1);
        let mut tried = Vec::new();
        for multiple in [1, size, size.saturating_mul(pieces)] {
            let Some(padded) = count.checked_next_multiple_of(multiple) else { continue };
            if tried.contains(&padded) || ask::of_count(self.request, padded).validate().is_err() {
                continue;
            }
            tried.push(padded);
            for relabel in Relabel::all(size) {
                if let Some(mut outcome) = self.image(padded, relabel)? {
                    outcome.method.padded = (padded != count).then_some(padded);
                    return Ok(Some(outcome));
                }
            }
        }
        Ok(None)
    }

    fn image(&self, count: usize, relabel: Relabel) -> Result<Option<Outcome>, Error> {
        let first = self.schedule(0, count)?;
        let mut facts = Facts::of(&first, self.request.element);
        let mut others = Vec::new();
        let sample = symmetry::sample(self.request.size, facts.steps > 10_000);
        for &rank in &sample {
            let other = self.schedule(rank, count)?;
            match symmetry::likeness(&first, &other, relabel) {
                Likeness::Different => return Ok(None),
                Likeness::Same => {}
                Likeness::SameMessages => others.push(rank),
            }
        }
        let run = |schedule: &Schedule| {
            let mut pulse = Pulse::default();
            let mut net = Net::image(schedule, self.request.element, relabel)?;
            let ends = engine::run(&mut net, self.fabric, &mut pulse)?;
            Ok::<_, Error>((ends.into_iter().max().unwrap_or_default(), pulse, net.steps.len() as u64))
        };
        let (mut time, beat, mut simulated) = run(&first)?;
        drop(first);
        for rank in others {
            let other = self.schedule(rank, count)?;
            facts = facts.max(Facts::of(&other, self.request.element));
            let (end, pulse, steps) = run(&other)?;
            // What it does alone has come between its messages: then ranks are not alike.
            if pulse != beat {
                return Ok(None);
            }
            time = time.max(end);
            simulated += steps;
        }
        let method =
            Method { relabel: Some(relabel), ranks: sample.len() + 1, padded: None, continued: None };
        Ok(Some(Outcome { time, facts, simulated, method }))
    }

    /// What lengths must be a multiple of, so that all segments are full: with chunks, if `most` leaves room.
    fn unit(&self, most: usize) -> usize {
        let segment = self.choice.segment.max(1);
        let chunked = segment.saturating_mul(self.request.size);
        if chunked <= most { chunked } else { segment }
    }

    /// Runs three shorter vectors within the budget and continues the line through them, if it is one.
    fn continued(
        &self,
        steps: u64,
        budget: &Budget,
        run: impl Fn(usize) -> Result<Outcome, Error>,
    ) -> Result<Option<Outcome>, Error> {
        let count = ask::count(self.request);
        // Three vectors of one, two and three thirds are twice the work of the longest.
        let share = budget.steps as f64 / steps as f64 / 2.0;
        let third = (count as f64 * share.min(0.5) / 3.0) as usize;
        let third = third / self.unit(third) * self.unit(third);
        if third == 0 {
            return Ok(None);
        }
        let [one, two, three] = [run(third)?, run(2 * third)?, run(3 * third)?];
        let (before, after) = (two.time - one.time, three.time - two.time);
        let off = (after.picos() as f64 - before.picos() as f64).abs();
        if off > STRAIGHT * after.picos() as f64 {
            return Ok(None);
        }
        let further = (count - 3 * third) as f64 / third as f64;
        let time = three.time + Time::from_picos((after.picos() as f64 * further).round() as u64);
        Ok(Some(Outcome {
            time,
            facts: two.facts.extend(three.facts, further),
            simulated: one.simulated + two.simulated + three.simulated,
            method: Method { continued: Some(3 * third), ..three.method },
        }))
    }
}
