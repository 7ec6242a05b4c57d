//! Prints what was simulated: an aligned table for people, JSON lines for programs.

use std::time::Duration;

use ringworld_collectives::{Algorithm, Choice, Request};
use ringworld_simulate::{Estimate, Fabric, Method, Outcome, Time, Verdict};

use crate::exit::Failure;
use crate::network;
use crate::style;
use crate::units;

/// What became of one algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) algorithm: Algorithm,
    pub(crate) selected: bool,
    pub(crate) verdict: Verdict,
    /// By the formula, in seconds.
    pub(crate) model: f64,
    pub(crate) took: Duration,
}

/// Prints rows as they come.
#[derive(Debug)]
pub(crate) struct Table {
    json: bool,
    fastest: Option<(Algorithm, Outcome)>,
    notes: Vec<&'static str>,
}

/// Why something was not run.
pub(crate) fn too_much(work: &Estimate) -> String {
    let steps = work.all;
    format!(
        "about {:.1e} steps, {} and {} of memory",
        steps as f64,
        long(Estimate::seconds(steps)),
        units::sized(Estimate::memory(steps))
    )
}

fn long(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.0} h", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

impl Table {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, fastest: None, notes: Vec::new() }
    }

    /// What is simulated, and what the columns are.
    pub(crate) fn begin(&self, request: &Request, fabric: &Fabric, selected: &Choice) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let Request { collective, size, element, .. } = *request;
        let bytes = request.bytes() as u64;
        // A barrier has no elements to speak of.
        let of = match bytes {
            0 => String::new(),
            bytes => format!(", {} in elements of {}", units::sized(bytes), units::sized(element as u64)),
        };
        let ranks = units::counted(size, "rank");
        print(&style::heading(format!("{collective}{of} on {ranks}")))?;
        print(&style::faint(network::describe(fabric)))?;
        let chosen = style::good(format!("> chosen: {}", selected.algorithm));
        print(&format!("{chosen}, because {}\n", selected.reason))?;
        print(&style::heading(format!(
            "  {:<20} {:>11} {:>11} {:>9} {:>8} {:>8} {:>8} {:>8}  {:<20} {:>6}",
            "algorithm",
            "simulated",
            "by formula",
            "messages",
            "sent",
            "scratch",
            "steps",
            "schedule",
            "run",
            "in"
        )))
    }

    pub(crate) fn row(&mut self, row: &Row) -> Result<(), Failure> {
        if let Verdict::Done(outcome) = row.verdict {
            if self.fastest.is_none_or(|(_, fastest)| outcome.time < fastest.time) {
                self.fastest = Some((row.algorithm, outcome));
            }
            self.note(outcome.method);
        }
        print(&match (self.json, row.selected) {
            (true, _) => json(row),
            (false, true) => style::good(text(row)),
            (false, false) => text(row),
        })
    }

    fn note(&mut self, method: Method) {
        let notes = [
            (
                method.relabel.is_some(),
                "one for all: all schedules are images of one another, so one rank shows what all do",
            ),
            (
                method.padded.is_some(),
                "padded: run with a few more elements, so that all chunks are equally long; an upper bound",
            ),
            (
                method.continued.is_some() && !method.rough,
                "~: shorter vectors were run, and their time continued along a line",
            ),
            (method.rough, "~~: the same, but the line was uneven: give or take a quarter"),
        ];
        for (_, note) in notes.into_iter().filter(|(applies, _)| *applies) {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// How to read it.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        if let Some((algorithm, outcome)) = self.fastest {
            print(&format!("\nThe fastest is {algorithm} with {}.", outcome.time))?;
        }
        print(
            "The formula is that of the textbook, with alpha, beta and gamma of this network (docs/simulate.md).",
        )?;
        print(
            "Messages, steps, and the bytes sent, of scratch memory and of the schedule are those of the busiest \
             rank; 64K is 64 KiB.",
        )?;
        for note in &self.notes {
            print(note)?;
        }
        if let Some(peak) = peak_memory() {
            print(&format!("Peak memory of this command: {}.", units::sized(peak)))?;
        }
        Ok(())
    }
}

/// The most memory that this process ever had, in bytes.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn method(method: &Method) -> String {
    let about = match (method.continued, method.rough) {
        (None, _) => "",
        (Some(_), false) => "~ ",
        (Some(_), true) => "~~ ",
    };
    let padded = if method.padded.is_some() { ", padded" } else { "" };
    match method.relabel {
        Some(_) => format!("{about}one for all{padded}"),
        None => format!("{about}every rank{padded}"),
    }
}

fn text(row: &Row) -> String {
    let mark = if row.selected { '>' } else { ' ' };
    let name = row.algorithm.to_string();
    match &row.verdict {
        Verdict::TooMuch(work) => {
            format!("{mark} {name:<20} skipped: {}; --force runs it", too_much(work))
        }
        Verdict::Done(outcome) => {
            let facts = outcome.facts;
            format!(
                "{mark} {name:<20} {:>11} {:>11} {:>9} {:>8} {:>8} {:>8} {:>8}  {:<20} {:>4.1} s",
                outcome.time,
                Time::from_seconds(row.model),
                facts.messages,
                units::short(facts.bytes),
                units::short(facts.scratch),
                facts.steps,
                units::short(facts.schedule),
                method(&outcome.method),
                row.took.as_secs_f64(),
            )
        }
    }
}

fn json(row: &Row) -> String {
    let Row { algorithm, selected, model, took, .. } = row;
    let head = format!(
        "{{\"algorithm\":\"{}\",\"selected\":{selected},\"model_seconds\":{model:e}",
        algorithm.path()
    );
    match &row.verdict {
        Verdict::TooMuch(work) => format!("{head},\"skipped_steps\":{}}}", work.all),
        Verdict::Done(outcome) => {
            let (facts, how) = (outcome.facts, outcome.method);
            let relabel =
                how.relabel.map_or("null".to_owned(), |relabel| format!("\"{relabel:?}\"").to_lowercase());
            let number =
                |number: Option<usize>| number.map_or("null".to_owned(), |number| number.to_string());
            format!(
                "{head},\"seconds\":{:e},\"busiest_seconds\":{:e},\"messages\":{},\"bytes\":{},\"scratch_bytes\":{},\
                 \"steps\":{},\"schedule_bytes\":{},\"simulated_steps\":{},\"symmetry\":{relabel},\"ranks\":{},\
                 \"padded_count\":{},\"continued_from_count\":{},\"rough\":{},\"took_seconds\":{:e}}}",
                outcome.time.seconds(),
                outcome.busiest.seconds(),
                facts.messages,
                facts.bytes,
                facts.scratch,
                facts.steps,
                facts.schedule,
                outcome.simulated,
                how.ranks,
                number(how.padded),
                number(how.continued),
                how.rough,
                took.as_secs_f64(),
            )
        }
    }
}

fn print(line: &str) -> Result<(), Failure> {
    style::out(&format!("{line}\n"))
}
