//! What the ranks of this host run: programs found, folders, cores and environments, from what was asked for.
//!
//! A job has one part, or several with different programs (`:` between them on the command line). The same is done on
//! each host of a job of several.

use super::cores;
use super::environment::Plan;
use super::processes::RankSpec;
use crate::cli::{Assignment, BindTo, Part};
use crate::exit::{Failure, Status};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part as the ranks need it.
struct Prepared {
    program: Arc<[OsString]>,
    folder: Option<PathBuf>,
    libraries: Option<String>,
}

/// The ranks of this host; `of` says to which of `parts` each belongs.
///
/// # Errors
///
/// When a program or a folder is not there, or there are too few cores to bind to.
pub(super) fn prepare(
    parts: &[Part],
    of: &[usize],
    plan: &Plan,
    bind_to: BindTo,
) -> Result<Vec<RankSpec>, Failure> {
    let used = |index: &usize| of.contains(index);
    let mut prepared: Vec<Option<Prepared>> = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        prepared.push(used(&index).then(|| prepare_part(part)).transpose()?);
    }
    let cores = match bind_to {
        BindTo::Core => cores::assign(of.len())?,
        BindTo::None => cores::unbound(of.len()),
    };
    let inherited: Vec<OsString> = std::env::vars_os().map(|(name, _)| name).collect();
    let rank = |(local, (&part, cores)): (usize, (&usize, String))| {
        let (Some(part), Some(Some(ready))) = (parts.get(part), prepared.get(part)) else { return None };
        let names = inherited.iter().map(OsString::as_os_str);
        let mut environment = plan.changes(local, &part.env, ready.folder.as_deref(), names);
        environment.extend(ready.libraries.iter().map(|path| (LIBRARY_PATH.into(), Some(path.into()))));
        let (program, folder) = (Arc::clone(&ready.program), ready.folder.clone());
        Some(RankSpec { program, folder, environment, cores })
    };
    Ok(of.iter().zip(cores).enumerate().filter_map(rank).collect())
}

/// How many threads each of the ranks of this host is to have: its share of the processors. One that is bound has
/// processors of its own, which libraries see themselves.
pub(super) fn threads(ranks: usize, bind_to: BindTo) -> Option<usize> {
    let processors = std::thread::available_parallelism().ok()?.get();
    (bind_to == BindTo::None).then(|| (processors / ranks.max(1)).max(1))
}

fn prepare_part(part: &Part) -> Result<Prepared, Failure> {
    let path = part.env.iter().rev().find(|assignment| assignment.key == "PATH");
    let path = path.map(|assignment| OsString::from(&assignment.value)).or_else(|| std::env::var_os("PATH"));
    let found =
        find_program(part.program.first().map_or(OsStr::new(""), OsString::as_os_str), path.as_deref())?;
    let folder = part.wdir.as_deref().map(working_folder).transpose()?;
    let mut program = part.program.clone();
    if folder.is_some()
        && let Some(name) = program.first_mut()
    {
        // It is looked for from here, also where it is named by its way from here.
        *name = std::path::absolute(&found)
            .map_err(|error| Failure::system("cannot tell where this is", error))?
            .into();
    }
    let libraries = if part.mpi { Some(library_path(&part.env)?) } else { None };
    Ok(Prepared { program: program.into(), folder, libraries })
}

/// Where the ranks are to work.
fn working_folder(given: &Path) -> Result<PathBuf, Failure> {
    let shown = given.display();
    let folder = given.canonicalize().map_err(|error| {
        Failure::usage(format!("--wdir {shown}: {error}; give a folder that is there on this host"))
    })?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!("--wdir {shown} is no folder")));
    }
    Ok(folder)
}

/// Where the system looks for libraries first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// That path for programs made for MPI: with the folder of our libraries in front.
fn library_path(env: &[Assignment]) -> Result<String, Failure> {
    let given = env.iter().rev().find(|assignment| assignment.key == LIBRARY_PATH);
    let inherited = std::env::var(LIBRARY_PATH).ok();
    let path = given.map(|assignment| assignment.value.as_str()).or(inherited.as_deref());
    Ok(crate::mpi::in_front(&crate::mpi::folder()?, path))
}

/// Says so now and once, where each of 200 ranks would say it otherwise.
fn find_program(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Failure> {
    let shown = program.display();
    let direct = program.as_encoded_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if direct {
        vec![PathBuf::from(program)]
    } else {
        let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
        std::env::split_paths(path).map(|folder| folder.join(program)).collect()
    };
    let is_file = |path: &&PathBuf| path.is_file();
    let executable =
        |path: &Path| path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    if let Some(found) = candidates.iter().filter(is_file).find(|path| executable(path)) {
        return Ok(found.clone());
    }
    let (status, message) = match candidates.iter().find(is_file) {
        Some(file) => {
            let file = file.display();
            (Status::NOT_EXECUTABLE, format!("{file} is not executable; `chmod +x {file}` makes it so"))
        }
        None if direct && Path::new(program).is_dir() => {
            (Status::NOT_EXECUTABLE, format!("{shown} is a folder, not a program"))
        }
        None if direct => (Status::NOT_FOUND, format!("there is no program {shown}")),
        None if Path::new(program).is_file() => {
            (Status::NOT_FOUND, format!("no {shown} in PATH; to start the one in this folder give ./{shown}"))
        }
        None => (Status::NOT_FOUND, format!("no {shown} in PATH; give the path of the program")),
    };
    Err(Failure { status, message })
}
