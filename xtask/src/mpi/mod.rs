//! `cargo xtask mpi`: what is made of the tables of MPI's functions and constants, mpi/functions.txt and constants.txt.
//!
//! `table` and `constants` read them; `exports` writes what both libraries export, `header` our header for C, `values`
//! what the semantic layer has of the constants, `coverage` the table in the docs. `--check` writes nothing, and fails
//! where a file is not what would be written; a test of the workspace calls it.

mod constants;
mod coverage;
mod exports;
mod header;
mod table;
mod values;

use std::path::{Path, PathBuf};

pub(crate) fn mpi(check: bool) -> Result<(), String> {
    // What cargo says when it starts this: a build that is kept may be of another clone, which is gone.
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&folder).join("..");
    let text = read(&root.join("mpi/functions.txt"))?;
    let functions = table::functions(&text)?;
    let constants = constants::sections(&read(&root.join("mpi/constants.txt"))?)?;
    let done = implemented(&root.join("mpi/src/calls"))?;
    let page = root.join("docs/mpi-programs.md");
    let files = [
        (root.join("mpi/exports.rs"), exports::exports(&functions, &done)),
        (root.join("mpi/constants.rs"), values::values(&constants)?),
        (root.join("launcher/src/mpi/mpi.h"), header::header(&constants, &functions)?),
        (page.clone(), coverage::page(&read(&page)?, &functions, &done)?),
    ];
    for (path, expected) in files {
        if check && read(&path).ok().as_ref() != Some(&expected) {
            return Err(format!(
                "{} is not what `cargo xtask mpi` writes: run it, and commit",
                path.display()
            ));
        }
        if !check {
            std::fs::write(&path, expected)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// The names of all functions of the folder, which are those of MPI's without `MPI_` and in lower case.
fn implemented(folder: &PathBuf) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        for line in read(&path)?.lines() {
            if let Some(rest) = line.strip_prefix("pub fn ") {
                names.push(rest.split(['(', '<']).next().unwrap_or(rest).to_owned());
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_made_of_the_table_is_up_to_date() {
        assert_eq!(super::mpi(true), Ok(()));
    }
}
