//! `ringworld mpi`: where the libraries for programs made for MPI are, and their installation.
//!
//! `places` decides from paths alone, and `kit` what is installed beside a library for compilers; this file reads and
//! copies. `compiler` is `ringworld cc`. Neighbour: `run --mpi` asks for the folder.

pub(crate) mod compiler;
mod kit;
mod places;

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::exit::{Failure, Status};
use crate::style;
use kit::Part;
pub(crate) use places::in_front;
use places::{LIBRARIES, candidates, folders};

/// `ringworld mpi`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Task {
    /// Copy the libraries to where programs find them, by the names that programs look for; with the header
    Install(InstallOptions),
}

#[derive(Clone, Debug, clap::Args)]
struct InstallOptions {
    /// Into the `lib` of this virtual environment of Python's, the header into its `include`
    #[arg(long, value_name = "FOLDER", conflicts_with = "to")]
    venv: Option<PathBuf>,
    /// Into this folder; without either, into `mpi` beside this program, where `ringworld run --mpi` looks
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// Does what the command line says.
pub(crate) fn mpi(options: &Options) -> Status {
    let done = match &options.task {
        None => show(),
        Some(Task::Install(options)) => install(options),
    };
    match done.and_then(|text| style::out(&text)) {
        Ok(()) => Status::SUCCESS,
        Err(failure) => {
            style::err("mpi", &failure.message);
            failure.status
        }
    }
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::system("where this program is", error))
}

/// The folder of this program.
fn here() -> Result<PathBuf, Failure> {
    program()?.parent().map(Path::to_owned).ok_or_else(|| Failure::usage("this program is in no folder"))
}

/// The folder in which programs find a library by its name.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let folders = folders(&here()?);
    let has_one = |folder: &&PathBuf| LIBRARIES.iter().any(|(name, _)| folder.join(name).is_file());
    folders.iter().find(has_one).cloned().ok_or_else(|| {
        let looked: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        Failure {
            status: Status::NOT_FOUND,
            message: format!(
                "there is neither {} nor {} in {}; `ringworld mpi install` puts them there",
                LIBRARIES[0].0,
                LIBRARIES[1].0,
                looked.join(", ")
            ),
        }
    })
}

fn show() -> Result<String, Failure> {
    let here = here()?;
    let mut text = format!("ringworld {}\n", env!("CARGO_PKG_VERSION"));
    for (name, what) in LIBRARIES {
        let found = candidates(&here, name).into_iter().find(|path| path.is_file());
        let place = found.map_or_else(|| "not found".to_owned(), |path| path.display().to_string());
        text.push_str(&format!("{name:<16} {what:<44} {place}\n"));
    }
    match kit::find(&here) {
        Ok(kit) => text.push_str(&format!("ringworld cc uses {}/mpi.h\n", kit.include.display())),
        Err(failure) => text.push_str(&format!("ringworld cc: {}\n", failure.message)),
    }
    match folder() {
        Ok(folder) => text.push_str(&format!("ringworld run --mpi uses {}\n", folder.display())),
        Err(failure) => text.push_str(&format!("{}\n", failure.message)),
    }
    Ok(text)
}

/// Where the libraries are to be, and where the header.
fn destination(options: &InstallOptions, standard: &Path) -> Result<(PathBuf, PathBuf), Failure> {
    let absolute = |path: PathBuf| {
        std::path::absolute(&path)
            .map_err(|error| Failure::system(format!("where {} is", path.display()), error))
    };
    match (&options.venv, &options.to) {
        (Some(venv), _) if !venv.join("pyvenv.cfg").is_file() => {
            Err(Failure::usage(format!("{} is no virtual environment of Python's", venv.display())))
        }
        (Some(venv), _) => Ok((absolute(venv.join("lib"))?, absolute(venv.join("include"))?)),
        (None, to) => {
            let to = absolute(to.clone().unwrap_or_else(|| standard.to_owned()))?;
            let include = to.join("include");
            Ok((to, include))
        }
    }
}

fn install(options: &InstallOptions) -> Result<String, Failure> {
    let here = here()?;
    let standard = folders(&here).swap_remove(0);
    let (to, include) = destination(options, &standard)?;
    let mut text = String::new();
    for (name, _) in LIBRARIES {
        let target = to.join(name);
        let found = candidates(&here, name).into_iter().find(|path| path.is_file() && *path != target);
        let Some(from) = found else { continue };
        put(&target, |part| fs::copy(&from, part).map(drop))?;
        text.push_str(&format!("{}\n", target.display()));
        if name != kit::LIBRARY {
            continue;
        }
        let mut parts = Vec::from(kit::parts(&to, &include));
        if to == standard {
            parts.extend(kit::compilers(&to, &program()?));
        }
        for (target, content) in parts {
            put(&target, |part| match content {
                Part::Text(text) => fs::write(part, text),
                Part::Script(text) => {
                    fs::write(part, text)?;
                    fs::set_permissions(part, fs::Permissions::from_mode(0o755))
                }
                Part::Link(to) => symlink(to, part),
            })?;
            text.push_str(&format!("{}\n", target.display()));
        }
    }
    if text.is_empty() {
        return Err(Failure {
            status: Status::NOT_FOUND,
            message: format!(
                "there is no library to install beside {}; build them: cargo build -p ringworld-mpi-mpich -p \
                 ringworld-mpi-abi",
                here.display()
            ),
        });
    }
    text.push_str(&format!("programs find them with LD_LIBRARY_PATH={}\n", to.display()));
    Ok(text)
}

/// Makes a file at once and whole: a program that has the old one open keeps it.
fn put(target: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Failure> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(Failure::usage(format!("{} is no file", target.display())));
    };
    let part = folder.join(format!(".{}.part", name.display()));
    let written = fs::create_dir_all(folder).and_then(|()| match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => write(&part),
    });
    written
        .and_then(|()| fs::rename(&part, target))
        .map_err(|error| Failure::system(format!("writing {}", target.display()), error))
}
