//! `ringworld check`: before a long job, on all its hosts, whether every two reach one another, how fast, and which
//! link is slow.
//!
//! ```text
//! join       every rank publishes what it is: interfaces, transports, limits        words
//! plan       who measures whom in which round, the same on all ranks                plan
//! rounds     each pair opens a transport, exchanges addresses by way of the master, post
//!            meets in a world of two of its own, and measures                       measure
//! rank 0     hears what came out, has what looks slow measured again, one link at a
//!            time, judges it, and prints it                             slow, report, heat
//! ```
//!
//! Invariant: all coordination goes over the control connections, which stand since the world has formed. What a data
//! connection does concerns its own pair only, and every wait has an end.

mod heat;
mod measure;
mod plan;
mod post;
mod report;
mod slow;
mod words;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use ringworld::pair::{self, Half};
use ringworld_bootstrap::{Joining, Session, Settings};

use crate::exit::{Failure, Status};
use crate::picture::Picture;
use crate::{style, units};
use measure::Room;
use plan::{Pair, Plan};
use post::{EVENTS, Order, Post, Vain};
use report::Report;
use words::{Facts, Found, NAME, Word, printable};

/// Measuring costs about so much more than its budget: opening, connecting, ending.
const AROUND: Duration = Duration::from_millis(60);
/// After a connection has been given up, its call still needs a moment to say so.
const SLACK: Duration = Duration::from_secs(2);
/// So many links that look slow are measured again, alone.
const AGAIN: usize = 32;
/// A rank that has failed with so many and succeeded with none is not tried with the others.
const HOPELESS: usize = 3;

/// `ringworld check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// About how long to measure each pair of ranks over each transport
    #[arg(long, value_name = "S", value_parser = units::duration, default_value = "200ms")]
    budget: Duration,
    /// How long another host may take to answer before it counts as out of reach
    #[arg(long, value_name = "S", value_parser = units::duration, default_value = "5s")]
    patience: Duration,
    /// Draw the bandwidths as a heat map
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object instead of text, with all numbers in seconds and bytes
    #[arg(long)]
    json: bool,
}

/// One measurement: a pair over a transport.
#[derive(Clone, Debug)]
struct Step {
    number: u64,
    pair: Pair,
    transport: String,
}

impl Step {
    fn has(&self, rank: usize) -> bool {
        self.pair.0 == rank || self.pair.1 == rank
    }
}

/// Checks as one rank of the world that the environment describes; rank 0 prints.
pub(crate) fn check(options: &Options) -> Status {
    match run(options) {
        Ok(true) => Status::SUCCESS,
        Ok(false) => Status::SYSTEM,
        Err(Failure { status, message }) => {
            style::err("check", &message);
            status
        }
    }
}

fn run(options: &Options) -> Result<bool, Failure> {
    let system =
        |error: &dyn std::fmt::Display| Failure { status: Status::SYSTEM, message: error.to_string() };
    let settings = Settings::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    ringworld::logging::install(settings.log.as_deref().unwrap_or("warn")).map_err(Failure::usage)?;
    let joining = Joining::begin(&settings).map_err(|error| system(&error))?;
    let local = joining.local_addresses().to_vec();
    let patient = patient(&settings, options.patience);
    let transports = pair::transports(&patient, &local).map_err(|error| system(&error))?;
    let facts = Facts::here(&settings, &local, &transports);
    let (heard, events) = sync_channel(EVENTS);
    // What does not fit is more than any plan has: whoever floods this rank spoils its own check.
    let listener = Box::new(move |event| drop(heard.try_send(event)));
    let session = joining.join(vec![(NAME.to_owned(), facts.to_bytes())], listener);
    let session = session.map_err(|error| system(&error))?;
    let facts = all_facts(&session)?;
    let hosts: Vec<u64> = session.members.iter().map(|member| member.host_id).collect();
    let plan = Plan::new(&hosts);
    let steps = steps(&plan, &facts);
    let rank = session.rank;
    let drawing = options.svg.as_ref().filter(|_| rank == 0).map(|path| Picture::create(path));
    let drawing = drawing.transpose()?;
    if rank == 0 {
        announce(&plan, &steps, options);
    }
    // Each step has another number when it is taken again.
    let both = |step: &Step| [step.number, again(&steps, step.number)];
    let own = steps.iter().filter(|step| step.has(rank));
    let partners =
        own.clone().flat_map(|step| both(step).map(|number| (number, partner(step.pair, rank)))).collect();
    let of_all = steps.iter().filter(|_| rank == 0);
    let leaders = of_all.flat_map(|step| both(step).map(|number| (number, step.pair.0))).collect();
    let mut post = Post::new(&session, events, partners, leaders);
    let each = options.budget * 4 + AROUND + HOPELESS as u32 * (options.patience + SLACK);
    let mut side = Side {
        session: &session,
        settings: &patient,
        local: &local,
        budget: options.budget,
        // However late a partner is because others were out of reach, it is not later than all of that.
        until: Instant::now() + each * u32::try_from(2 * steps.len()).unwrap_or(u32::MAX),
        room: Room::new(),
        record: BTreeMap::new(),
    };
    for step in own {
        side.take(step, &mut post)?;
    }
    let well = if rank == 0 {
        post.all_done(session.size).map_err(|vain| over(&vain))?;
        let mut found: Vec<Found> = steps.iter().map(|step| found(step, &mut post)).collect();
        let judge = |found: &[Found]| judged(&session, &settings, &facts, &plan, &steps, found);
        let suspects = judge(&found).suspects();
        for step in
            steps.iter().filter(|step| suspects.contains(&(step.pair, step.transport.clone()))).take(AGAIN)
        {
            if let Some(again) = side.repeat(&steps, step, &mut post)? {
                let first = &mut found[step.number as usize];
                *first = first.clone().and(again);
            }
        }
        let report = judge(&found);
        let printed = print(&report, options, drawing);
        let well = report.is_well() && printed.is_ok();
        for other in 1..session.size {
            post.tell(other, Word::End { well });
        }
        printed.map(|()| well)
    } else {
        post.tell(0, Word::Done);
        side.obey(&steps, &mut post)
    };
    session.finish();
    well
}

/// The settings of the job, but for how long something may take.
fn patient(settings: &Settings, patience: Duration) -> Settings {
    let mut settings = settings.clone();
    settings.timeout = patience;
    settings.peer_timeout = Some(patience);
    settings.op_timeout = Some(patience + SLACK);
    settings
}

/// The number of a step when it is taken again.
fn again(steps: &[Step], number: u64) -> u64 {
    steps.len() as u64 + number
}

fn partner((low, high): Pair, rank: usize) -> usize {
    if rank == low { high } else { low }
}

fn over(vain: &Vain) -> Failure {
    let why = match vain {
        Vain::Gone(why) => format!("rank 0 is gone: {why}"),
        Vain::Over(why) => why.clone(),
        Vain::Late => "nothing was heard in time".to_owned(),
    };
    Failure { status: Status::SYSTEM, message: format!("cannot go on: {why}") }
}

/// What every rank has published.
fn all_facts(session: &Session) -> Result<Vec<Facts>, Failure> {
    let of = |(rank, member)| {
        Facts::of(member).ok_or_else(|| {
            let host = &member.host;
            let message = format!(
                "rank {rank} on {host} is another program; start `ringworld check` of one version on all hosts"
            );
            Failure { status: Status::SYSTEM, message }
        })
    };
    session.members.iter().enumerate().map(of).collect()
}

/// What there is to measure, in its order, which all ranks know alike.
fn steps(plan: &Plan, facts: &[Facts]) -> Vec<Step> {
    let mut steps = Vec::new();
    for pair in plan.pairs() {
        for (transport, _) in &facts[pair.0].transports {
            // Memory is shared within a host.
            let possible = transport != "shm" || plan.share(pair);
            if possible && facts[pair.0].has(transport) && facts[pair.1].has(transport) {
                let number = steps.len() as u64;
                steps.push(Step { number, pair, transport: transport.clone() });
            }
        }
    }
    steps
}

/// Says in advance how long it takes.
fn announce(plan: &Plan, steps: &[Step], options: &Options) {
    let each = options.budget + AROUND;
    // The rank that has most to do decides, for what is done at a time takes turns at each host.
    let by_round = plan.rounds.iter().map(|round| {
        let of_pair = |pair: &Pair| steps.iter().filter(|step| step.pair == *pair).count() as u32;
        each * round.iter().map(of_pair).max().unwrap_or(0)
    });
    let about: Duration = by_round.sum();
    style::note(&format!(
        "{} in {}, about {:.0} s in all, and up to {:.0} s more for each pair that is out of reach",
        units::counted(steps.len(), "measurement"),
        units::counted(plan.rounds.len(), "round"),
        about.as_secs_f64().ceil(),
        (options.patience + SLACK).as_secs_f64(),
    ));
}

/// This rank, as it goes from pair to pair.
struct Side<'a> {
    session: &'a Session,
    settings: &'a Settings,
    local: &'a [IpAddr],
    budget: Duration,
    until: Instant,
    room: Room,
    /// For each transport, how many steps have failed; `None` once one has not.
    record: BTreeMap<String, Option<usize>>,
}

impl Side<'_> {
    /// Does its part of a step; the lower rank tells rank 0 what came out.
    fn take(&mut self, step: &Step, post: &mut Post<'_>) -> Result<(), Failure> {
        let other = partner(step.pair, self.session.rank);
        let half = self.open(step);
        let offer = half.as_ref().map(Half::address).map_err(Clone::clone);
        post.tell(other, Word::Offer { step: step.number, offer });
        let theirs = match post.offer(step.number, self.until) {
            Ok(theirs) => theirs,
            Err(Vain::Gone(why)) => Err(format!("rank {other} is gone: {why}")),
            Err(Vain::Late) => Err(format!("rank {other} has not come to it in time")),
            Err(vain @ Vain::Over(_)) => return Err(over(&vain)),
        };
        let found = match (half, theirs) {
            (Ok(half), Ok(theirs)) => self.meet(step, half, theirs),
            (Err(why), _) | (_, Err(why)) => Some(Found::Failed(why)),
        };
        if let Some(found) = found.filter(|_| step.pair.0 == self.session.rank) {
            post.tell(0, Word::Found { step: step.number, found });
        }
        Ok(())
    }

    /// On rank 0: has a step taken once more, while nobody else measures; `None` when its ranks are gone.
    fn repeat(&mut self, steps: &[Step], step: &Step, post: &mut Post<'_>) -> Result<Option<Found>, Failure> {
        let step = Step { number: again(steps, step.number), ..step.clone() };
        for rank in [step.pair.0, step.pair.1].into_iter().filter(|rank| *rank != 0) {
            post.tell(rank, Word::Again { step: step.number });
        }
        if step.pair.0 == 0 {
            self.take(&step, post)?;
        }
        post.wait_found(step.number).map_err(|vain| over(&vain))
    }

    /// On all others: does what rank 0 asks for, until that says how all has gone.
    fn obey(&mut self, steps: &[Step], post: &mut Post<'_>) -> Result<bool, Failure> {
        loop {
            match post.order().map_err(|vain| over(&vain))? {
                Order::End(well) => return Ok(well),
                Order::Again(number) => {
                    let own =
                        |step: &&Step| again(steps, step.number) == number && step.has(self.session.rank);
                    if let Some(step) = steps.iter().find(own) {
                        self.take(&Step { number, ..step.clone() }, post)?;
                    }
                }
            }
        }
    }

    fn open(&self, step: &Step) -> Result<Half, String> {
        let transport = &step.transport;
        if let Some(Some(failed @ HOPELESS..)) = self.record.get(transport) {
            let (rank, host) = (self.session.rank, &self.session.members[self.session.rank].host);
            return Err(format!(
                "not tried, since rank {rank} on {host} had reached nobody by {transport} in {failed} attempts"
            ));
        }
        // Other steps of this session have other numbers, in case somebody still tries to connect for one.
        let number = self.session.job.wrapping_add(step.number + 1);
        Half::open(self.settings, transport, number, self.local).map_err(|error| reason(&error))
    }

    fn meet(&mut self, step: &Step, half: Half, theirs: Vec<u8>) -> Option<Found> {
        let (low, high) = step.pair;
        let members = &self.session.members;
        let pair = [members[low].clone(), members[high].clone()];
        let rank = usize::from(self.session.rank == high);
        let world = match half.meet(rank, pair, theirs, self.session.local_size) {
            Ok(world) => world,
            Err(error) => return Some(Found::NoRoute(reason(&error))),
        };
        let measured = measure::measure(&world, &mut self.room, self.budget);
        let record = self.record.entry(step.transport.clone()).or_insert(Some(0));
        match measured.and_then(|measured| world.finish().map(|()| measured)) {
            Ok(measured) => {
                *record = None;
                measured.map(Found::Measured)
            }
            Err(error) => {
                *record = record.map(|failed| failed + 1);
                Some(Found::Failed(reason(&error)))
            }
        }
    }
}

/// Why, without the ranks of the small world, which are not those that the user knows.
fn reason(error: &ringworld::Error) -> String {
    printable(&match error {
        ringworld::Error::PeerFailed { cause, .. } => cause.clone(),
        ringworld::Error::TimedOut { after, .. } => {
            format!("nothing was heard for {:.1} s (--patience)", after.as_secs_f64())
        }
        error => error.to_string(),
    })
}

/// What came out of a step, or why nothing did.
fn found(step: &Step, post: &mut Post<'_>) -> Found {
    let said = post.found(step.number);
    said.unwrap_or_else(|| {
        let (low, high) = step.pair;
        let gone = |rank: usize| Some(format!("rank {rank} is gone: {}", post.gone(rank)?));
        let why = gone(low).or_else(|| gone(high));
        Found::Failed(why.unwrap_or_else(|| "nobody has said what came out".into()))
    })
}

/// What is to be said of all that.
fn judged(
    session: &Session,
    settings: &Settings,
    facts: &[Facts],
    plan: &Plan,
    steps: &[Step],
    found: &[Found],
) -> Report {
    let found =
        steps.iter().zip(found).map(|(step, found)| (step.pair, step.transport.clone(), found.clone()));
    let hosts = session.members.iter().map(|member| member.host.clone()).collect();
    Report::new(hosts, facts, plan, found.collect(), pair::Needed::of(settings, session.size))
}

fn print(report: &Report, options: &Options, drawing: Option<Picture>) -> Result<(), Failure> {
    let text = if options.json { report.json() } else { report.text() };
    style::out(&text)?;
    drawing.map_or(Ok(()), |drawing| drawing.write(&heat::draw(report)))
}
