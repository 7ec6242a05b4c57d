//! What a compiler needs beside the library: our header, the name by which linkers look for the library, and a file for
//! pkg-config. The header is a part of this program, so that there is one wherever the program is.

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
        (library.join(PACKAGE), Part::Text(package(include == library.join("include")))),
    ]
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Link(&'static OsStr),
}

/// The file for pkg-config, which names nothing but its own place: what is installed can be moved.
fn package(beside: bool) -> String {
    let include = if beside { "../include" } else { "../../include" };
    format!(
        "libdir=${{pcfiledir}}/..\n\
         includedir=${{pcfiledir}}/{include}\n\n\
         Name: ringworld-mpi\n\
         Description: MPI 5.0 on ringworld, in the standard's own ABI\n\
         Version: {}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -lmpi_abi\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_found_from_the_file_for_pkg_config() {
        let text = |include: &str| match &parts(Path::new("/v/lib"), Path::new(include))[2] {
            (path, Part::Text(text)) if path == Path::new("/v/lib/pkgconfig/ringworld-mpi.pc") => {
                text.clone()
            }
            other => format!("{other:?}"),
        };
        assert!(text("/v/lib/include").contains("\nincludedir=${pcfiledir}/../include\n"));
        assert!(text("/v/include").contains("\nincludedir=${pcfiledir}/../../include\n"));
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
