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

use std::hash::Hasher as _;

use ringworld_collectives::{Choice, Request, Schedule, build};

use crate::engine::End;
use crate::estimate::{Budget, Estimate, estimate};
use crate::net::Net;
use crate::observe::{Counted, Observer, Steps};
use crate::symmetry::{self, Likeness, Relabel};
use crate::{Error, Fabric, Facts, Time, ask, engine};

/// A rank whose schedule does almost nothing may still have cost a walk over all ranks to make.
const FEW_RANKS: usize = 4096;
/// How far three points may be off a line, in parts of the distance between them.
const STRAIGHT: f64 = 1e-2;
/// The same, for a line that is still worth something.
const ROUGH: f64 = 0.25;

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
    /// That line was not straight: give or take a quarter. A straight one is mostly within 1 %, but a slower rhythm
    /// that only longer vectors fall into is not seen; up to a fifth too little has been.
    pub rough: bool,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// When the last rank was done.
    pub time: Time,
    /// How long the busiest port or processor was in use: no collective of these schedules can be faster.
    pub busiest: Time,
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
    simulate_watched(request, choice, fabric, budget, &|_| ())
}

/// The same, and tells `watch` now and then how many steps have been run so far.
///
/// # Errors
///
/// As for [`simulate`].
pub fn simulate_watched(
    request: &Request,
    choice: &Choice,
    fabric: &Fabric,
    budget: &Budget,
    watch: &dyn Fn(u64),
) -> Result<Verdict, Error> {
    let request = &ask::of_rank(request, 0);
    request.validate()?;
    placed(request, fabric)?;
    let job = Job { request, choice, fabric, steps: &Steps::new(watch) };
    let work = estimate(request, choice)?;
    if work.all <= budget.every.min(budget.steps) && request.size <= FEW_RANKS {
        return job.every(ask::count(request)).map(Verdict::Done);
    }
    if let Some(outcome) = job.one_for_all(work.first, budget)? {
        return Ok(Verdict::Done(outcome));
    }
    if work.all <= budget.steps {
        return job.every(ask::count(request)).map(Verdict::Done);
    }
    let shorter = job.continued(work.all, |work| work.all, budget, |count| job.every(count).map(Some))?;
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
    placed(request, fabric)?;
    let mut facts = Facts::default();
    let schedules = (0..request.size).map(|rank| {
        let schedule = build(&ask::of_rank(request, rank), choice)?;
        facts = facts.max(Facts::of(&schedule, request.element));
        Ok(schedule)
    });
    let mut net = Net::all(schedules, request.element)?;
    let End { time, busiest } = engine::run(&mut net, fabric, observer)?;
    Ok(Outcome {
        time,
        busiest,
        facts,
        simulated: net.steps.len() as u64,
        method: Method { relabel: None, ranks: request.size, padded: None, continued: None, rough: false },
    })
}

/// Whether the fabric knows where every rank is.
fn placed(request: &Request, fabric: &Fabric) -> Result<(), Error> {
    match &fabric.inside {
        Some(inside) if inside.placement.size() != request.size => {
            Err(Error::Placement { ranks: request.size, placed: inside.placement.size() })
        }
        _ => Ok(()),
    }
}

/// Notices whether two runs send at the same times.
#[derive(Default)]
struct Pulse(fnv::FnvHasher);

impl Observer for Pulse {
    fn leaving(&mut self, step: u32, start: Time, _: Time) {
        self.0.write_u32(step);
        self.0.write_u64(start.picos());
    }
}

struct Job<'a> {
    request: &'a Request,
    choice: &'a Choice,
    fabric: &'a Fabric,
    steps: &'a Steps<'a>,
}

impl Job<'_> {
    fn schedule(&self, rank: usize, count: usize) -> Result<Schedule, Error> {
        Ok(build(&ask::of_count(&ask::of_rank(self.request, rank), count), self.choice)?)
    }

    fn every(&self, count: usize) -> Result<Outcome, Error> {
        let mut counted = Counted { steps: self.steps, inner: () };
        every(&ask::of_count(self.request, count), self.choice, self.fabric, &mut counted)
    }

    /// One rank for all, if they are alike.
    fn one_for_all(&self, steps: u64, budget: &Budget) -> Result<Option<Outcome>, Error> {
        // Where ranks share hosts, no two are equally far from all others.
        if self.fabric.inside.is_some() {
            return Ok(None);
        }
        let count = ask::count(self.request);
        // Schedules that are only compared cost as much to make as those that are run.
        let made = 1 + symmetry::sample(self.request.size, steps).len() as u64;
        let all = |first: u64| first.saturating_mul(made);
        if all(steps) <= budget.steps {
            return self.alike(count);
        }
        // A short vector tells soon whether long ones can be alike.
        let Choice { segment, in_flight, .. } = self.choice.clone();
        let short = segment.saturating_mul(in_flight.saturating_add(1)).min(count);
        let short = short.checked_next_multiple_of(self.request.size).unwrap_or(short);
        if self.relabels(&self.schedule(0, short)?, short)?.is_empty() {
            return Ok(None);
        }
        self.continued(all(steps), |work| all(work.first), budget, |count| self.alike(count))
    }

    /// As [`Job::one_for_all`], with `count` elements, or a few more if that makes ranks alike.
    fn alike(&self, count: usize) -> Result<Option<Outcome>, Error> {
        let size = self.request.size;
        let segments = count.div_ceil(self.choice.segment.max(1)).max(1);
        let mut tried = Vec::new();
        for multiple in [1, size, size.saturating_mul(segments)] {
            let Some(padded) = count.checked_next_multiple_of(multiple) else { continue };
            if tried.contains(&padded) || ask::of_count(self.request, padded).validate().is_err() {
                continue;
            }
            tried.push(padded);
            let first = self.schedule(0, padded)?;
            for relabel in self.relabels(&first, padded)? {
                if let Some(mut outcome) = self.image(&first, padded, relabel)? {
                    outcome.method.padded = (padded != count).then_some(padded);
                    return Ok(Some(outcome));
                }
            }
        }
        Ok(None)
    }

    /// How ranks 0 and 1 are images of one another, if they are.
    fn relabels(&self, first: &Schedule, count: usize) -> Result<Vec<Relabel>, Error> {
        let size = self.request.size;
        let second = self.schedule(1 % size, count)?;
        let alike = |relabel: &Relabel| symmetry::likeness(first, &second, *relabel) != Likeness::Different;
        Ok(Relabel::all(size).filter(alike).collect())
    }

    fn image(&self, first: &Schedule, count: usize, relabel: Relabel) -> Result<Option<Outcome>, Error> {
        let mut facts = Facts::of(first, self.request.element);
        let mut others = Vec::new();
        let sample = symmetry::sample(self.request.size, facts.steps);
        for &rank in &sample {
            let other = self.schedule(rank, count)?;
            match symmetry::likeness(first, &other, relabel) {
                Likeness::Different => return Ok(None),
                Likeness::Same => {}
                Likeness::SameMessages => others.push(rank),
            }
        }
        let run = |schedule: &Schedule| {
            let mut counted = Counted { steps: self.steps, inner: Pulse::default() };
            let mut net = Net::image(schedule, self.request.element, relabel)?;
            let end = engine::run(&mut net, self.fabric, &mut counted)?;
            Ok::<_, Error>((end, counted.inner.0.finish(), net.steps.len() as u64))
        };
        let (End { mut time, mut busiest }, beat, mut simulated) = run(first)?;
        for rank in others {
            let other = self.schedule(rank, count)?;
            facts = facts.max(Facts::of(&other, self.request.element));
            let (end, pulse, steps) = run(&other)?;
            // What it does alone has come between its messages: then ranks are not alike.
            if pulse != beat {
                return Ok(None);
            }
            (time, busiest) = (time.max(end.time), busiest.max(end.busiest));
            simulated += steps;
        }
        let method = Method {
            relabel: Some(relabel),
            ranks: sample.len() + 1,
            padded: None,
            continued: None,
            rough: false,
        };
        Ok(Some(Outcome { time, busiest, facts, simulated, method }))
    }

    /// Runs three shorter vectors within the budget and continues the line through them, if it is one.
    ///
    /// A pipeline of fixed dependencies settles into a rhythm after some segments (its times are sums and
    /// maxima of earlier times), so the three lie in the second half of what the budget allows. Where messages
    /// of several ranks get in each other's way the rhythm is long and uneven; then the line is rough.
    fn continued(
        &self,
        steps: u64,
        cost: impl Fn(&Estimate) -> u64,
        budget: &Budget,
        run: impl Fn(usize) -> Result<Option<Outcome>, Error>,
    ) -> Result<Option<Outcome>, Error> {
        let count = ask::count(self.request);
        let most = (count as f64 * (budget.steps as f64 / steps as f64 / 2.25).min(1.0)) as usize;
        let Choice { segment, in_flight, .. } = self.choice.clone();
        let window = segment.max(1).saturating_mul(in_flight.max(1));
        // In every chunk, or in the whole vector, or at least whole segments once the window has been full.
        let units =
            [(window.saturating_mul(self.request.size), 4), (window, 4), (segment.max(1), in_flight + 3)];
        let fits = |&(unit, least): &(usize, usize)| unit.saturating_mul(least) <= most;
        let Some((unit, _)) = units.into_iter().find(fits) else { return Ok(None) };
        let longest = most / unit * unit;
        let apart = (longest / 4 / unit * unit).max(unit);
        let further = (count - longest) as f64 / apart as f64;
        let work =
            |count: usize| Ok::<_, Error>(cost(&estimate(&ask::of_count(self.request, count), self.choice)?));
        let (shorter, longer) = (work(longest - apart)?, work(longest)?);
        // Algorithms that are not cut have as many steps for short vectors, and where chunks are cut, short
        // vectors may not be cut yet: neither is on a line.
        let expected = longer as f64 + (longer as f64 - shorter as f64) * further;
        if longer > budget.steps / 2 || (expected - steps as f64).abs() > 0.05 * steps as f64 {
            return Ok(None);
        }
        let Some(three) = run(longest)? else { return Ok(None) };
        let (Some(one), Some(two)) = (run(longest - 2 * apart)?, run(longest - apart)?) else {
            return Ok(None);
        };

        let growth = |of: fn(&Outcome) -> Time| (of(&three).picos() as f64 - of(&one).picos() as f64) / 2.0;
        let (grown, used) = (growth(|outcome| outcome.time), growth(|outcome| outcome.busiest));
        let off = (two.time.picos() as f64 - one.time.picos() as f64 - grown).abs() / grown;
        // Slower than its busiest part is in use it cannot grow for ever: then the rhythm is still to come.
        if off > ROUGH || grown < used * (1.0 - STRAIGHT) {
            return Ok(None);
        }
        let onward = |from: Time, growth: f64| from + Time::from_picos((growth * further).round() as u64);
        let (time, busiest) = (onward(three.time, grown), onward(three.busiest, used));
        Ok(Some(Outcome {
            time,
            busiest,
            facts: two.facts.extend(three.facts, further),
            simulated: one.simulated + two.simulated + three.simulated,
            method: Method { continued: Some(longest), rough: off > STRAIGHT, ..three.method },
        }))
    }
}
