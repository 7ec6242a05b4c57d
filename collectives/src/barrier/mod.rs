//! Barriers, one algorithm per file.

pub(crate) mod direct;
pub(crate) mod dissemination;
pub(crate) mod two_level;
