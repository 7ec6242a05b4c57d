//! `ringworld trace`: what ranks have left of their calls and messages, put together: a file for Perfetto, a picture,
//! and a summary; and the same for `ringworld run --trace`.
//!
//! Neighbours: `ringworld_trace` reads and understands; `text` says the summary, `picture` draws.

mod picture;
mod text;

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{BufReader, BufWriter, Read as _};
use std::path::{Path, PathBuf};

use ringworld_trace::summary::Summary;
use ringworld_trace::{Found, Timeline, Trace, chrome, find};

use crate::exit::{Failure, Status, why};
use crate::picture::Picture;
use crate::{style, units};

/// `ringworld trace`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Folders that RINGWORLD_TRACE named, or files out of them, of as many hosts as there were; or one file that was
    /// put together before, whose summary is printed again
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write one file for ui.perfetto.dev and Chrome's chrome://tracing
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw the ranks' calls and waits
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Of this world only, where a folder has traces of several: the number that their names begin with, or its first
    /// digits
    #[arg(long, value_name = "NUMBER")]
    world: Option<String>,
    /// Take no more than so many records in all, the latest of each rank
    #[arg(long, value_name = "N", default_value = "4000000")]
    most: usize,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// Reads, and prints what was asked for.
pub(crate) fn trace(options: &Options) -> Status {
    match try_trace(options) {
        Ok(()) => Status::SUCCESS,
        Err(Failure { status, message }) => {
            style::err("trace", &message);
            status
        }
    }
}

fn try_trace(options: &Options) -> Result<(), Failure> {
    if let [path] = &options.paths[..]
        && is_merged(path)
    {
        if options.output.is_some() || options.svg.is_some() {
            return Err(Failure::usage(format!(
                "{} was put together before, and has what --output would write; --svg takes the folder that it came of",
                path.display()
            )));
        }
        return print(&merged(path)?, options.json);
    }
    // Opened before the work begins: a wrong path is told at once.
    let output = options.output.as_deref().map(create).transpose()?;
    let picture = options.svg.as_deref().map(Picture::create).transpose()?;
    let traces = read(&options.paths, options.world.as_deref(), options.most)?;
    let timeline = Timeline::new(traces);
    let summary = Summary::of(&timeline);
    if let (Some(file), Some(path)) = (output, &options.output) {
        write(&timeline, &summary, file, path)?;
        style::note(&format!("wrote {}", path.display()));
    }
    if let Some(picture) = picture {
        let svg = picture::draw(&timeline);
        picture.write(&svg)?;
    }
    print(&summary, options.json)
}

fn print(summary: &Summary, json: bool) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string(summary);
        return style::out(&(text.map_err(|error| Failure::system("cannot write JSON", error))? + "\n"));
    }
    style::out(&text::report(summary))
}

/// Whether a file begins as one that was put together does.
fn is_merged(path: &Path) -> bool {
    let mut first = [0];
    File::open(path).and_then(|mut file| file.read(&mut first)).is_ok_and(|_| first == *b"{")
}

fn merged(path: &Path) -> Result<Summary, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::system(format!("{} was not written by `ringworld trace`", path.display()), error)
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    chrome::summary(BufReader::new(file)).map_err(|error| failed(&error))
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| Failure::system(format!("cannot write {}", path.display()), error))
}

fn write(timeline: &Timeline, summary: &Summary, file: File, path: &Path) -> Result<(), Failure> {
    chrome::write(timeline, summary, BufWriter::new(file))
        .map_err(|error| Failure::system(format!("cannot write {}", path.display()), why(&error)))
}

/// Looks for the traces at these paths, by world.
fn look(paths: &[PathBuf]) -> Result<Found, Failure> {
    let failed =
        |error: ringworld_trace::ReadError| Failure { status: Status::SYSTEM, message: error.to_string() };
    let mut found = Found::new();
    for path in paths {
        if path.is_dir() {
            for (world, files) in find(path).map_err(failed)? {
                found.entry(world).or_default().extend(files);
            }
        } else {
            let trace = Trace::read(path).map_err(failed)?;
            found.entry(trace.info.world).or_default().push(path.clone());
        }
    }
    Ok(found)
}

/// The one world that is meant.
fn chosen(mut found: Found, wanted: Option<&str>, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let named = |world: &u64| format!("{world:016x}");
    if let Some(wanted) = wanted {
        found.retain(|world, _| named(world).starts_with(wanted));
    }
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let place = shown.join(", ");
    match found.len() {
        0 => Err(Failure::usage(match wanted {
            Some(wanted) => format!("no trace of a world {wanted} is in {place}"),
            None => format!(
                "no trace is in {place}; a job writes some with RINGWORLD_TRACE={}",
                shown.first().map_or("DIR", String::as_str)
            ),
        })),
        1 => Ok(found.into_values().flatten().collect()),
        several => {
            let each: Vec<String> = found
                .iter()
                .take(16)
                .map(|(world, files)| format!("{} ({})", named(world), units::counted(files.len(), "rank")))
                .collect();
            let more = if several > 16 { ", …" } else { "" };
            Err(Failure::usage(format!(
                "traces of {several} worlds are in {place}: {}{more}; choose one by --world",
                each.join(", ")
            )))
        }
    }
}

fn read(paths: &[PathBuf], world: Option<&str>, most: usize) -> Result<Vec<Trace>, Failure> {
    let files = chosen(look(paths)?, world, paths)?;
    let each = most.checked_div(files.len()).unwrap_or(0).max(1);
    let (mut traces, mut left_out) = (Vec::new(), 0);
    for file in files {
        match Trace::read(&file) {
            Ok(mut trace) => {
                left_out += trace.keep_latest(each);
                traces.push(trace);
            }
            // The others say enough to be worth looking at.
            Err(error) => style::err("trace", &format!("{error}; it is left out")),
        }
    }
    if traces.is_empty() {
        return Err(Failure::usage("no trace could be read"));
    }
    if left_out > 0 {
        style::note(&format!("the {left_out} oldest records are left out; --most takes more"));
    }
    Ok(traces)
}

/// Where the ranks of a job that is traced leave what `ringworld run --trace` puts together at its end.
#[derive(Debug)]
pub(crate) struct Collecting {
    output: PathBuf,
    folder: PathBuf,
}

impl Collecting {
    /// A folder beside the file that is wanted, which is made empty: wrong paths are told at once.
    pub(crate) fn begin(output: &Path) -> Result<Self, Failure> {
        drop(create(output)?);
        let output = std::path::absolute(output)
            .map_err(|error| Failure::system(format!("cannot find {}", output.display()), error))?;
        // What no other process can know nobody has taken, by chance or on purpose. A process id is no such name: the
        // folder stays where something of it may be missing, and on other hosts always.
        let random = RandomState::new().build_hasher().finish();
        let mut name = output.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{random:016x}.ranks"));
        let folder = output.with_file_name(name);
        std::fs::create_dir(&folder).map_err(|error| {
            Failure::system(format!("cannot make the folder {}", folder.display()), error)
        })?;
        Ok(Self { output, folder })
    }

    /// For RINGWORLD_TRACE.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts together what is there; says where it is, or why it is not. What could not all be put together stays.
    pub(crate) fn end(self) {
        match self.merge() {
            Ok(None) => {
                // Nothing of it is needed any more; that it stays is no further trouble.
                let _ = std::fs::remove_dir_all(&self.folder);
                let file = self.output.display();
                style::note(&format!(
                    "the trace is in {file}; `ringworld trace {file}` says what is in it, ui.perfetto.dev shows it"
                ));
            }
            Ok(Some(missing)) => {
                style::note(&format!("the trace is in {}; {missing}", self.output.display()))
            }
            Err(Failure { message, .. }) => style::err("run", &format!("no trace: {message}")),
        }
    }

    /// `Some`: what is missing, and where that may be.
    fn merge(&self) -> Result<Option<String>, Failure> {
        let folder = self.folder.display();
        let found = look(std::slice::from_ref(&self.folder))?;
        let worlds = found.len();
        // Of an elastic job the generation that ended last, which is that with the youngest file.
        let youngest = |files: &Vec<PathBuf>| {
            files.iter().filter_map(|file| std::fs::metadata(file).ok()?.modified().ok()).max()
        };
        let last = found.into_iter().max_by_key(|(_, files)| youngest(files));
        let Some((world, files)) = last else {
            let _ = std::fs::remove_dir(&self.folder);
            let _ = std::fs::remove_file(&self.output);
            return Err(Failure::usage("no rank has left one; a program that joins no world has none"));
        };
        let here = files.len();
        let timeline = Timeline::new(read(&files, None, MERGED)?);
        write(&timeline, &Summary::of(&timeline), create(&self.output)?, &self.output)?;
        if worlds > 1 {
            return Ok(Some(format!(
                "it is of the last of {worlds} worlds, {world:016x}; those of all are in {folder}: `ringworld trace \
                 --world`"
            )));
        }
        let known: BTreeMap<usize, ()> = timeline.lines.iter().map(|line| (line.info().rank, ())).collect();
        let missing: Vec<String> = (0..timeline.size)
            .filter(|rank| !known.contains_key(rank))
            .take(8)
            .map(|rank| rank.to_string())
            .collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let more = if timeline.size - here > missing.len() { ", …" } else { "" };
        Ok(Some(format!(
            "nothing of rank {}{more} is in {folder}: on another host it is in the folder of that name there; \
             `ringworld trace` puts all together",
            missing.join(", ")
        )))
    }
}

/// How many records are put together at the end of a job.
const MERGED: usize = 4_000_000;
