//! Where libraries are looked for, and what they are called. Pure: a folder in, paths out.

use std::path::{Path, PathBuf};

/// The names that programs look for, and what for.
pub(super) const LIBRARIES: [(&str, &str); 2] = [
    ("libmpi.so.12", "MPICH, Intel MPI, mpi4py's wheel"),
    ("libmpi_abi.so.1", "the standard ABI of MPI 5.0"),
];

/// Folders in which programs can find them, the best first. `here`: that of this program.
pub(super) fn folders(here: &Path) -> Vec<PathBuf> {
    vec![here.join("mpi"), here.join("../lib/ringworld"), here.to_owned()]
}

/// Files that may be a library: as programs call it, or as cargo does.
pub(super) fn candidates(here: &Path, name: &str) -> Vec<PathBuf> {
    let built = name.split_once(".so").map_or(name.to_owned(), |(stem, _)| format!("{stem}.so"));
    let mut candidates = vec![here.join(built)];
    candidates.extend(folders(here).into_iter().map(|folder| folder.join(name)));
    candidates
}

/// A search path with a folder in front.
pub(crate) fn in_front(folder: &Path, path: Option<&str>) -> String {
    match path {
        Some(path) if !path.is_empty() => format!("{}:{path}", folder.display()),
        _ => folder.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_has_built_is_found_by_its_own_name() {
        let paths = candidates(Path::new("/t"), "libmpi_abi.so.1");
        assert_eq!(paths[..2], [Path::new("/t/libmpi_abi.so"), Path::new("/t/mpi/libmpi_abi.so.1")]);
    }

    #[test]
    fn what_was_on_the_path_stays_there() {
        assert_eq!(in_front(Path::new("/m"), None), "/m");
        assert_eq!(in_front(Path::new("/m"), Some("")), "/m");
        assert_eq!(in_front(Path::new("/m"), Some("/a:/b")), "/m:/a:/b");
    }
}
