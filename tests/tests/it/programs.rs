//! The programs that these tests start, and how the probe ends.

pub(crate) const PROBE: &str = env!("CARGO_BIN_EXE_probe");
/// One that closes what it has not opened.
pub(crate) const CLOSER: &str = env!("CARGO_BIN_EXE_closer");
/// An elastic one.
pub(crate) const MEMBER: &str = env!("CARGO_BIN_EXE_member");
pub(crate) const LAUNCH: &str = env!("CARGO_BIN_EXE_launch");
/// The world did not form, and the error said why.
pub(crate) const REFUSED: i32 = 3;
/// The world formed, and an operation failed.
pub(crate) const FAILED: i32 = 4;
/// The member of an elastic world has left it.
pub(crate) const LEFT: i32 = 6;
