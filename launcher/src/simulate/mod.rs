//! `ringworld simulate`: how long a collective takes on any number of ranks, by every algorithm.
//!
//! Neighbours: the crate `ringworld-simulate` does the work, `table` prints it, `plot` draws it. Nothing is
//! left out in silence: what would be too much work is a line of the table, with what it would take.

mod plot;
mod table;

use std::path::PathBuf;
use std::time::Instant;

use ringworld_collectives::cost::cost;
use ringworld_collectives::{Algorithm, Choice, Counts, Request, Tuning, select};
use ringworld_simulate::{Budget, Estimate, Fabric, Verdict};

use crate::exit::{Failure, Status};
use crate::network::{self, Network, Question};
use crate::picture::Picture;
use crate::progress::Progress;
use crate::style;
use crate::units;
use plot::Curve;
use table::{Row, Table};

/// `ringworld simulate`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) question: Question,
    /// Ranks; on hosts of their own, unless --ranks-per-host says otherwise
    #[arg(short = 'n', long, value_name = "N", default_value = "1024", value_parser = network::ranks)]
    pub(crate) ranks: usize,
    #[command(flatten)]
    pub(crate) network: Network,
    /// Only this algorithm, such as ring; may be repeated
    #[arg(long = "algorithm", value_name = "NAME")]
    pub(crate) algorithms: Vec<String>,
    /// Also run what would take very long or very much memory
    #[arg(long)]
    pub(crate) force: bool,
    /// Draw time against size, from 8 bytes to 1 GiB, for every algorithm
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print one JSON object per algorithm instead of a table; times in seconds, sizes in bytes
    #[arg(long)]
    pub(crate) json: bool,
}

/// Simulates, and prints.
pub(crate) fn simulate(options: &Options) -> Status {
    match run(options) {
        Ok(()) => Status::SUCCESS,
        Err(Failure { status, message }) => {
            style::err("simulate", &message);
            status
        }
    }
}

fn failed(error: ringworld_simulate::Error) -> Failure {
    Failure::usage(error.to_string())
}

fn forced(algorithm: Algorithm, request: &Request, tuning: &Tuning) -> Result<Choice, Failure> {
    Choice::forced(algorithm, request, tuning)
        .ok_or_else(|| Failure::usage(format!("{} cannot do {}", algorithm.path(), request.collective)))
}

fn run(options: &Options) -> Result<(), Failure> {
    let ranks = options.network.place.ranks(options.ranks)?;
    let request = options.question.request(ranks)?;
    let fabric = options.network.fabric(ranks);
    let algorithms = network::algorithms(&options.algorithms, &request)?;
    let tuning = options.network.place.tuning(ranks);
    let selected = select(&request, &tuning);
    // Better to fail now than after minutes.
    let picture = options.svg.as_deref().map(Picture::create).transpose()?;

    let mut table = Table::new(options.json);
    table.begin(&request, &fabric, &selected)?;
    let progress = Progress::new(algorithms.len());
    for &algorithm in &algorithms {
        progress.now(algorithm.to_string());
        let choice = forced(algorithm, &request, &tuning)?;
        let start = Instant::now();
        let simulate = |budget: &Budget| {
            let watch = |steps: u64| {
                progress.now(format!("{algorithm}, {:.1} million steps", steps as f64 / 1e6));
            };
            ringworld_simulate::simulate_watched(&request, &choice, &fabric, budget, &watch).map_err(failed)
        };
        let mut verdict = simulate(&Budget::default())?;
        if let (Verdict::TooMuch(work), true) = (verdict, options.force) {
            progress.now(format!("{algorithm}, {}", table::too_much(&work)));
            verdict = simulate(&Budget::UNLIMITED)?;
        }
        let row = Row {
            algorithm,
            selected: algorithm == selected.algorithm,
            verdict,
            model: cost(algorithm, &request, &choice, &fabric.model()),
            took: start.elapsed(),
        };
        progress.done(|| table.row(&row))?;
    }
    drop(progress);
    table.end()?;
    match picture {
        Some(picture) => draw(picture, &request, &algorithms, &fabric, &tuning),
        None => Ok(()),
    }
}

/// Simulates many sizes, each with less effort than the table takes.
fn draw(
    picture: Picture,
    request: &Request,
    algorithms: &[Algorithm],
    fabric: &Fabric,
    tuning: &Tuning,
) -> Result<(), Failure> {
    const BUDGET: Budget = Budget { steps: 3_000_000, every: 200_000 };
    let sizes: Vec<usize> = (3..30).step_by(3).chain([30]).map(|power| 1usize << power).collect();
    let progress = Progress::new(sizes.len() * algorithms.len());
    let mut curves: Vec<Curve> = algorithms.iter().map(|algorithm| Curve::new(*algorithm)).collect();
    let mut skipped = 0;
    for &bytes in &sizes {
        let count = bytes.div_ceil(request.element);
        let request = Request { counts: Counts::Same(count), ..request.clone() };
        if request.validate().is_err() {
            continue;
        }
        let selected = select(&request, tuning).algorithm;
        for curve in &mut curves {
            progress.now(format!("{} of {}", curve.algorithm, units::sized(bytes as u64)));
            let choice = forced(curve.algorithm, &request, tuning)?;
            match ringworld_simulate::simulate(&request, &choice, fabric, &BUDGET).map_err(failed)? {
                Verdict::Done(outcome) => curve.add(bytes, outcome.time, curve.algorithm == selected),
                Verdict::TooMuch(Estimate { .. }) => skipped += 1,
            }
            progress.done(|| ());
        }
    }
    drop(progress);
    if skipped > 0 {
        style::note(&format!("{skipped} points of the plot would be too much work and are left out"));
    }
    let svg = plot::svg(request, fabric, &curves).map_err(|error| picture.failed(error))?;
    picture.write(&svg)
}
