//! `ringworld explain`: what an algorithm does, so that a person can see it.
//!
//! Neighbours: the crate `ringworld-simulate` says when each step happens, `story` gives messages their rounds
//! and chunks, `text` prints them, `svg` draws them.

mod story;
mod svg;
mod text;

use std::path::PathBuf;

use ringworld_collectives::cost::cost;
use ringworld_collectives::{Choice, build, select};
use ringworld_simulate::{Time, timeline};

use crate::exit::{Failure, Status};
use crate::network::{self, Network, Question};
use crate::picture::Picture;
use crate::style;
use crate::units;
use story::Story;

/// More steps than that are no picture any more.
const MOST_STEPS: usize = 50_000;

/// `ringworld explain`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) question: Question,
    /// Ranks; on hosts of their own, unless --ranks-per-host says otherwise
    #[arg(short = 'n', long, value_name = "N", default_value = "6", value_parser = network::ranks)]
    pub(crate) ranks: usize,
    #[command(flatten)]
    pub(crate) network: Network,
    /// This algorithm instead of the one that would be chosen
    #[arg(long, value_name = "NAME")]
    pub(crate) algorithm: Option<String>,
    /// Show what this rank does, or these (4-7), instead of all side by side
    #[arg(long, value_name = "R", value_parser = some_ranks)]
    pub(crate) rank: Option<Ranks>,
    /// Print every round, also when there are many
    #[arg(long)]
    pub(crate) all: bool,
    /// Draw the schedule: ranks down, time across
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// Ranks to show, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranks(std::ops::Range<usize>);

/// One rank, or from one to another that still fits beside it.
fn some_ranks(text: &str) -> Result<Ranks, String> {
    let most = text::MOST_COLUMNS;
    let expected = format!("expected a rank, or up to {most} of them as in 4-7");
    let number = |text: &str| text.parse::<usize>().map_err(|_| expected.clone());
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    match last.checked_sub(first) {
        Some(more) if more < most && last < usize::MAX => Ok(Ranks(first..last + 1)),
        _ => Err(expected),
    }
}

/// Explains.
pub(crate) fn explain(options: &Options) -> Status {
    match run(options) {
        Ok(()) => Status::SUCCESS,
        Err(Failure { status, message }) => {
            style::err("explain", &message);
            status
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let ranks = options.network.place.ranks(options.ranks)?;
    let request = options.question.request(ranks)?;
    if let Some(Ranks(shown)) = options.rank.as_ref().filter(|Ranks(shown)| shown.end > ranks) {
        let (last, most) = (shown.end - 1, ranks - 1);
        return Err(Failure::usage(format!("there is no --rank {last}; the ranks are 0 to {most}")));
    }
    let fabric = options.network.fabric(ranks);
    let tuning = options.network.place.tuning(ranks);
    let choice = match &options.algorithm {
        None => select(&request, &tuning),
        Some(name) => {
            let named = network::algorithms(std::slice::from_ref(name), &request)?;
            let forced = named.first().and_then(|algorithm| Choice::forced(*algorithm, &request, &tuning));
            forced.ok_or_else(|| Failure::usage(format!("{name} cannot do {}", request.collective)))?
        }
    };
    let failed = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let root = request.collective.root().unwrap_or(0);
    let one = build(&ringworld_collectives::Request { rank: root, ..request.clone() }, &choice);
    let steps = one.map_err(|error| failed(&error))?.len().saturating_mul(ranks);
    if steps > MOST_STEPS {
        return Err(Failure::usage(format!(
            "{} on {ranks} ranks has about {steps} steps, more than anybody can look at ({MOST_STEPS}); take fewer \
             --ranks or a smaller --size, or `ringworld simulate` for its time alone",
            choice.algorithm.path()
        )));
    }
    let svg = options.svg.as_deref().map(Picture::create).transpose()?;
    let timeline = timeline(&request, &choice, &fabric).map_err(|error| failed(&error))?;
    let story = Story::new(&request, &timeline);

    let on = units::counted(ranks, "rank");
    // A barrier has no elements to speak of.
    let (of, elements, segments) = match request.bytes() as u64 {
        0 => (String::new(), String::new(), String::new()),
        bytes => (
            format!(", {}", units::sized(bytes)),
            format!(" (elements of {})", units::sized(request.element as u64)),
            format!("segments of {} elements, {} in flight, ", choice.segment, choice.in_flight),
        ),
    };
    let title = format!("{}{of} on {on}", choice.algorithm.path());
    let model = Time::from_seconds(cost(choice.algorithm, &request, &choice, &fabric.model()));
    let mut out = format!("{}{elements}\n{segments}because {}\n", style::heading(&title), choice.reason);
    out += &format!("{}\n\n", style::faint(network::describe(&fabric)));
    match &options.rank {
        Some(Ranks(shown)) => out += &text::grid(&story, shown.clone(), options.all),
        None if ranks <= text::MOST_COLUMNS => out += &text::grid(&story, 0..ranks, options.all),
        None => {
            let most = text::MOST_COLUMNS;
            out += &format!("{on} do not fit side by side, up to {most} do; ");
            out += &format!("--rank 0 shows one of them, --rank 0-{} as many as fit\n", most - 1);
        }
    }
    if options.rank.is_some() || ranks <= text::MOST_COLUMNS {
        out += &text::chunks(&story);
    }
    out += "\n";
    out += &text::costs(&request, &timeline, &story);
    out += &format!("simulated time {}, by formula {model}\n\n", timeline.time);
    out += &text::path(&timeline);
    style::out(&out)?;

    let Some(svg) = svg else { return Ok(()) };
    let subtitle = format!("{} in all; {}", timeline.time, network::describe(&fabric));
    svg.write(&svg::draw(&title, &subtitle, &story, &timeline))
}
