//! All-gathers, one algorithm per file.

pub(crate) mod bruck;
pub(crate) mod direct;
pub(crate) mod recursive_doubling;
pub(crate) mod ring;
pub(crate) mod two_level;
