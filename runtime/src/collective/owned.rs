//! The collectives that begin now and are waited for later, on owned memory.
//!
//! Several may be under way on one communicator, also from several threads; like all collectives, they
//! must be begun in the same order on every rank. Neighbours: `plan` checks the arguments, `request` is what
//! comes back.

use bytemuck::Pod;

use super::families::{argument, collectives};
use crate::Result;
use crate::communicator::Communicator;
use crate::request::Pending;
use ringworld_engine::Reduction;

/// # Collectives, non-blocking
///
/// `start_*`: on owned buffers, which come back from the [`Pending`]. To wait, block or `.await`.
impl Communicator {
    /// Begins a [`Communicator::barrier`] and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::barrier`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_barrier()?;
    /// pending.wait()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Ibarrier", "Ibarrier", "immediate_barrier"))]
    pub fn start_barrier(&self) -> Result<Pending<()>> {
        let plan = self.plan_barrier()?;
        self.start(&plan, None, None)
    }
}

/// Buffers are given away, and come back from the wait.
macro_rules! buffer {
    (data $T:ident) => { Vec<$T> };
    (input $T:ident) => { Vec<$T> };
    (output $T:ident) => { Vec<$T> };
    ($other:ident $T:ident) => { argument!($other $T) };
}

/// What comes back.
macro_rules! outcome {
    (apart $T:ident) => { (Vec<$T>, Vec<$T>) };
    ($in_place:ident $T:ident) => { Vec<$T> };
}

macro_rules! begin {
    ($this:ident, $plan:ident, in_place($data:ident)) => {
        $this.start(&$plan, None, Some($data))
    };
    ($this:ident, $plan:ident, apart($input:ident, $output:ident)) => {
        $this.start(&$plan, Some($input), Some($output))
    };
    ($this:ident, $plan:ident, at_root($data:ident, $root:ident)) => {
        if $this.rank() == $root {
            $this.start(&$plan, None, Some($data))
        } else {
            $this.start(&$plan, Some($data), None)
        }
    };
}

/// Sentences that depend on whether there is one buffer.
macro_rules! say {
    (apart buffers) => {
        "owned buffers and returns at once; input and output come back"
    };
    (apart example) => {
        "let (_input, output) = pending.wait()?;\nassert_eq!(output, "
    };
    ($in_place:ident buffers) => {
        "an owned buffer and returns at once; the buffer comes back"
    };
    ($in_place:ident example) => {
        "assert_eq!(pending.wait()?, "
    };
}

macro_rules! owned {
    ($(
        $name:ident($($argument:ident),*)
            owned $(#[$alias:meta])* $start:ident
            persistent $(#[$_alias:meta])* $_prepare:ident
            plan $plan:ident($($given:expr),*)
            memory $shape:ident($($memory:ident),*)
            example $example:literal => $result:literal;
    )*) => {
        impl Communicator { $(
            #[doc = concat!("Begins a [`Communicator::", stringify!($name), "`] of ", say!($shape buffers), " from")]
            /// [`Pending::wait`].
            ///
            /// # Errors
            ///
            #[doc = concat!("What the arguments of [`Communicator::", stringify!($name), "`] can be refused for;")]
            /// all else is reported by the pending result.
            ///
            /// ```
            /// # use ringworld::Op;
            /// # let world = ringworld::testing::alone();
            #[doc = concat!("let pending = world.", stringify!($start), "(", $example, ")?;")]
            #[doc = concat!(say!($shape example), $result, ");")]
            /// # Ok::<(), ringworld::Error>(())
            /// ```
            #[track_caller]
            $(#[$alias])*
            pub fn $start<T: Pod + Send>(
                &self,
                $($argument: buffer!($argument T)),*
            ) -> Result<Pending<outcome!($shape T)>> {
                let plan = self.$plan::<T>($($given),*)?;
                begin!(self, plan, $shape($($memory),*))
            }
        )* }
    };
}

collectives!(owned);
