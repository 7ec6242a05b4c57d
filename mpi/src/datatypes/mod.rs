//! Datatypes: what the elements of a call are, and where they lie in memory.
//!
//! ```text
//! basic.rs      the predefined ones
//! datatype.rs  a datatype, and the handles
//! layout.rs     where the bytes of a datatype lie
//! make.rs       the constructors
//! memory.rs     buffers of calls: given to operations as they are, or packed
//! external.rs   the representation for other machines, external32
//! ```

pub(crate) mod basic;
pub(crate) mod datatype;
pub(crate) mod external;
pub(crate) mod layout;
pub(crate) mod make;
pub(crate) mod memory;

pub(crate) use self::datatype::{Datatype, Recipe, get, insert, remove, usable};
pub(crate) use self::make::of_fortran;
pub(crate) use self::memory::{Buffer, Owned};
