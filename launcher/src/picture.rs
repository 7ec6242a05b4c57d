//! A file that a picture goes into, for every `--svg`: opened before the work begins, so that a wrong path is told at
//! once.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::exit::{Failure, why};
use crate::style;

/// A file to draw into.
#[derive(Debug)]
pub(crate) struct Picture {
    path: PathBuf,
    file: File,
}

impl Picture {
    /// Opens the file.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| failed(path, error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes the picture, and says so.
    pub(crate) fn write(mut self, svg: &str) -> Result<(), Failure> {
        self.file.write_all(svg.as_bytes()).map_err(|error| failed(&self.path, why(&error)))?;
        style::note(&format!("wrote {}", self.path.display()));
        Ok(())
    }

    /// Why there will be no picture.
    pub(crate) fn failed(&self, error: impl std::fmt::Display) -> Failure {
        failed(&self.path, error)
    }
}

fn failed(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::system(format!("cannot write --svg {}", path.display()), error)
}

/// As text of an SVG file.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
