//! Reductions: what the operations mean, and the loops that carry them out.
//!
//! ```text
//! Op, Scaled, UserOp ──(Reduction::plan)──▶ Reducer ──▶ engine ──▶ Kernel: left op right
//!                                             └─ begin, finish: factors, average (of each element once, where a
//!                                                schedule reduces it last; at the end in scans and alone)
//! ```
//!
//! `op` has the operations, `arithmetic` what they mean for each type, `loops` and `narrow` the loops, `kernel`
//! and `user` what the engine sees of them, `scale` factors, `code` the byte by which ranks compare operations.

mod arithmetic;
mod code;
mod kernel;
mod loops;
mod narrow;
mod op;
mod reduction;
mod scale;
mod user;

pub(crate) use arithmetic::{brain, field, float, half, integer, located, truth};
pub(crate) use code::{OpCode, fnv1a};
pub(crate) use kernel::{Functions, Kernel};
pub(crate) use narrow::{is_nan, key};
pub use op::Op;
pub(crate) use reduction::{Reducer, When};
pub use reduction::{Reduction, Scaled};
pub(crate) use scale::Rescale;
pub(crate) use user::Panicked;
pub use user::UserOp;
