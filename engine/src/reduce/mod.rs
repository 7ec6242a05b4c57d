//! Reductions: what the operations mean, and the loops that carry them out.
//!
//! ```text
//! Op, Scaled, UserOp ──(Reduction::plan)──▶ Reducer ──▶ engine ──▶ Kernel: left op right
//!                                             └─ begin, finish: factors, average (of each element once, where a
//!                                                schedule reduces it last; at the end in scans and alone)
//! ```
//!
//! `op` has the operations, `arithmetic` what they mean for each type, `loops` and `narrow` the loops, `kernel`
//! and `user` what the engine sees of them, `scale` factors, `code` the byte by which ranks compare operations,
//! `known` what such bytes stand for.
//! `datatype` names the types of elements to other ranks, `located` and `raw` are two such types, and `untyped` is for
//! types that are known only at run time.

mod arithmetic;
mod code;
mod datatype;
mod kernel;
mod known;
mod located;
mod loops;
mod narrow;
mod op;
mod raw;
mod reduction;
mod scale;
mod timed;
mod untyped;
mod user;

pub use code::OpCode;
pub use datatype::ElementCode;
pub use datatype::{DType, Reducible};
pub use kernel::Kernel;
pub use located::{Locatable, Located};
pub use op::{Op, Scaled};
pub use raw::Raw;
pub use reduction::Reduction;
pub(crate) use reduction::When;
pub use reduction::{Reducer, Shared, Unsupported};
pub(crate) use timed::Timed;
pub use untyped::BytesOp;
pub use user::{ADVICE, Operation, Panicked, UserOp};
