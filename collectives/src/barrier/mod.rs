//! Barriers, one algorithm per file.

pub(crate) mod dissemination;
