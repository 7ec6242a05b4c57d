//! Handles and constants of the standard ABI (MPI 5.0, chapter 20), which the semantic layer speaks.
//!
//! Names and values are those of the table `constants.txt`, of which `constants.rs` is made.

#![allow(missing_docs, reason = "names and values are those of the standard's header")]

macro_rules! handles {
    ($($name:ident)*) => { $(
        /// A handle of the standard ABI: predefined ones are below 0x1000.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub usize);

        impl From<usize> for $name {
            fn from(handle: usize) -> Self {
                Self(handle)
            }
        }

        impl From<$name> for usize {
            fn from(handle: $name) -> Self {
                handle.0
            }
        }

        impl crate::kind::Handle for $name {
            const KIND: crate::kind::Kind = crate::kind::Kind::$name;
        }
    )* };
}

handles! { Comm Group Datatype Op Request Message Info Errhandler Session Win File }

include!("../constants.rs");

/// The lowest handle that is not predefined.
pub const FIRST_HANDLE: usize = 0x1000;

/// The highest tag that programs may use.
pub const HIGHEST_TAG: i32 = i32::MAX;
