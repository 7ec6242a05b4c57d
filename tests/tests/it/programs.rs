//! The programs that these tests start, and how the probe ends.

pub(crate) const PROBE: &str = env!("CARGO_BIN_EXE_probe");
pub(crate) const LAUNCH: &str = env!("CARGO_BIN_EXE_launch");
/// The world did not form, and the error said why.
pub(crate) const REFUSED: i32 = 3;
/// The world formed, and an operation failed.
pub(crate) const FAILED: i32 = 4;
