//! What a compiler needs beside the library: our header, the name by which linkers look for the library, a file for
//! pkg-config, and the names by which compilers for MPI are known. The header is a part of this program, so that there
//! is one wherever the program is.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::places::folders;
use crate::exit::{Failure, Status};

/// Made by `cargo xtask mpi`, of the tables in mpi/.
const HEADER: &str = include_str!("mpi.h");

/// The library that programs are compiled for, and its name for linkers.
pub(super) const LIBRARY: &str = "libmpi_abi.so.1";
const LINKED: &str = "libmpi_abi.so";

/// `pkg-config --cflags --libs ringworld-mpi`
const PACKAGE: &str = "pkgconfig/ringworld-mpi.pc";

/// Where the parts are that a compiler is told of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kit {
    pub(super) include: PathBuf,
    pub(super) library: PathBuf,
}

/// The first of the folders in which `ringworld mpi install` has put all of it. `here`: that of this program.
pub(super) fn find(here: &Path) -> Result<Kit, Failure> {
    let folders = folders(here);
    let message = match folders.iter().find(|folder| folder.join(LIBRARY).is_file()) {
        None => {
            let looked: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
            format!(
                "there is no {LIBRARY} in {}; `ringworld mpi install` puts it there, with its header, once it is \
                 built: cargo build -p ringworld-mpi-abi",
                looked.join(", ")
            )
        }
        Some(library) => {
            let include = library.join("include");
            match [include.join("mpi.h"), library.join(LINKED)].iter().find(|part| !part.is_file()) {
                None => return Ok(Kit { include, library: library.clone() }),
                Some(lacking) => format!(
                    "there is {}, and no {}; `ringworld mpi install` puts both there",
                    library.join(LIBRARY).display(),
                    lacking.display()
                ),
            }
        }
    };
    Err(Failure { status: Status::NOT_FOUND, message })
}

/// The parts to install beside a library: each file, and what is in it or which other file it is another name for.
pub(super) fn parts(library: &Path, include: &Path) -> [(PathBuf, Part); 3] {
    [
        (include.join("mpi.h"), Part::Text(HEADER.to_owned())),
        (library.join(LINKED), Part::Link(OsStr::new(LIBRARY))),
        (library.join(PACKAGE), Part::Text(package(library, include))),
    ]
}

/// For Makefiles, `configure` and CMake, which know compilers for MPI by these names: this program, by other names.
/// Only beside what [`find`] finds, for that is what they use.
pub(super) fn compilers(library: &Path, program: &Path) -> [(PathBuf, Part); 3] {
    let script = |name: &str, command: &str| {
        let program = program.display().to_string().replace('\'', r"'\''");
        let text = format!("#!/bin/sh\nexec '{program}' {command} \"$@\"\n");
        (library.join("bin").join(name), Part::Script(text))
    };
    [script("mpicc", "cc"), script("mpicxx", "c++"), script("mpic++", "c++")]
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Script(String),
    Link(&'static OsStr),
}

/// The file for pkg-config. Its paths are absolute, as a program has to remember that of the library.
fn package(library: &Path, include: &Path) -> String {
    format!(
        "libdir={}\n\
         includedir={}\n\n\
         Name: ringworld-mpi\n\
         Description: MPI 5.0 on ringworld, in the standard's own ABI\n\
         Version: {}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -lmpi_abi\n",
        escaped(library),
        escaped(include),
        env!("CARGO_PKG_VERSION")
    )
}

/// A path as that file has it, and hands it on to shells.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for c in path.display().to_string().chars() {
        match c {
            '$' => text.push('$'),
            c if c.is_alphanumeric() || "-_./+=:,@%".contains(c) => {}
            _ => text.push('\\'),
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_for_pkg_config_names_both_places() {
        let [_, _, (path, Part::Text(text))] = parts(Path::new("/my v/lib"), Path::new("/my v/include"))
        else {
            panic!("it is a text")
        };
        assert_eq!(path, Path::new("/my v/lib/pkgconfig/ringworld-mpi.pc"));
        assert!(text.starts_with("libdir=/my\\ v/lib\nincludedir=/my\\ v/include\n"), "{text}");
        assert_eq!(escaped(Path::new("/a$b'c")), "/a$$b\\'c");
    }

    #[test]
    fn without_a_library_it_is_said_how_to_get_one() {
        let failure =
            find(Path::new("/no/such/folder")).err().map(|failure| failure.message).unwrap_or_default();
        assert!(
            failure.contains("/no/such/folder/mpi") && failure.contains("ringworld mpi install"),
            "{failure}"
        );
    }
}
