//! The collectives that are prepared once and started many times.

use bytemuck::Pod;

use super::families::{argument, collectives};
use super::plan::Plan;
use crate::Result;
use crate::communicator::Communicator;
use crate::request::Prepared;
use ringworld_engine::Reduction;

/// # Collectives, persistent
///
/// `prepare_*`: prepared once, started many times, without another look at the arguments.
impl Communicator {
    fn prepare<T: Pod + Send>(
        &self,
        plan: &Plan,
        input: Option<Vec<T>>,
        output: Option<Vec<T>>,
    ) -> Result<Prepared<T>> {
        self.prepare_collective(Self::collective_call(plan), input, output)
    }

    /// Prepares a [`Communicator::barrier`] that is started many times.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::barrier`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_barrier()?;
    /// prepared.run()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Barrier_init")]
    pub fn prepare_barrier(&self) -> Result<Prepared<u8>> {
        let plan = self.plan_barrier()?;
        self.prepare(&plan, None, None)
    }
}

/// Buffers are given away, and are reached through the handle.
macro_rules! buffer {
    (data $T:ident) => { Vec<$T> };
    (input $T:ident) => { Vec<$T> };
    (output $T:ident) => { Vec<$T> };
    ($other:ident $T:ident) => { argument!($other $T) };
}

macro_rules! begin {
    ($this:ident, $plan:ident, in_place($data:ident)) => {
        $this.prepare(&$plan, None, Some($data))
    };
    ($this:ident, $plan:ident, apart($input:ident, $output:ident)) => {
        $this.prepare(&$plan, Some($input), Some($output))
    };
    ($this:ident, $plan:ident, at_root($data:ident, $root:ident)) => {
        if $this.rank() == $root {
            $this.prepare(&$plan, None, Some($data))
        } else {
            $this.prepare(&$plan, Some($data), None)
        }
    };
}

/// Words that depend on whether there is one buffer.
macro_rules! say {
    (apart) => {
        "owned buffers"
    };
    ($in_place:ident) => {
        "one owned buffer"
    };
}

macro_rules! persistent {
    ($(
        $name:ident($($argument:ident),*)
            owned $(#[$_alias:meta])* $_start:ident
            persistent $(#[$alias:meta])* $prepare:ident
            plan $plan:ident($($given:expr),*)
            memory $shape:ident($($memory:ident),*)
            example $example:literal => $result:literal;
    )*) => {
        impl Communicator { $(
            #[doc = concat!(
                "Prepares a [`Communicator::", stringify!($name), "`] that is started many times on ", say!($shape), "."
            )]
            ///
            /// # Errors
            ///
            #[doc = concat!("What the arguments of [`Communicator::", stringify!($name), "`] can be refused for.")]
            ///
            /// ```
            /// # use ringworld::Op;
            /// # let world = ringworld::testing::alone();
            #[doc = concat!("let mut prepared = world.", stringify!($prepare), "(", $example, ")?;")]
            /// prepared.run()?;
            #[doc = concat!("assert_eq!(prepared.output(), ", $result, ");")]
            /// # Ok::<(), ringworld::Error>(())
            /// ```
            #[track_caller]
            $(#[$alias])*
            pub fn $prepare<T: Pod + Send>(
                &self,
                $($argument: buffer!($argument T)),*
            ) -> Result<Prepared<T>> {
                let plan = self.$plan::<T>($($given),*)?;
                begin!(self, plan, $shape($($memory),*))
            }
        )* }
    };
}

collectives!(persistent);
