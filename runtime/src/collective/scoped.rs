//! The collectives of a [`Scope`]: on borrowed memory, begun now, done before the scope ends.

use bytemuck::Pod;

use super::families::{argument, collectives};
use super::plan::Plan;
use crate::Result;
use crate::communicator::Communicator;
use crate::request::{Scope, Scoped, ScopedOutcome};
use ringworld_engine::Reduction;

impl<'scope, 'env> Scope<'scope, 'env> {
    pub(super) fn start<R: ScopedOutcome<'scope>>(
        &'scope self,
        plan: &Plan,
        input: Option<&'scope [R::Element]>,
        output: Option<&'scope mut [R::Element]>,
    ) -> Result<Scoped<'scope, R>> {
        Ok(self.lend(input, output, Communicator::collective_call(plan), |number| plan.operation(number)))
    }

    /// Begins a [`Communicator::barrier`] and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::barrier`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn barrier(&'scope self) -> Result<Scoped<'scope, ()>> {
        let plan = self.communicator().plan_barrier()?;
        self.start::<()>(&plan, None, None)
    }
}

/// Buffers are borrowed until the operation has been waited for, or the scope has ended.
macro_rules! buffer {
    (data $T:ident) => { &'scope mut [$T] };
    (input $T:ident) => { &'scope [$T] };
    (output $T:ident) => { &'scope mut [$T] };
    ($other:ident $T:ident) => { argument!($other $T) };
}

macro_rules! begin {
    ($this:ident, $plan:ident, in_place($data:ident)) => {
        $this.start(&$plan, None, Some($data))
    };
    ($this:ident, $plan:ident, apart($input:ident, $output:ident)) => {
        $this.start(&$plan, Some($input), Some($output))
    };
    // Where there is no output, what is borrowed for one is only read.
    ($this:ident, $plan:ident, at_root($data:ident, $root:ident)) => {
        $this.start(&$plan, None, Some($data))
    };
}

macro_rules! scoped {
    ($(
        $name:ident($($argument:ident),*)
            owned $(#[$_owned:meta])* $_start:ident
            persistent $(#[$_persistent:meta])* $_prepare:ident
            plan $plan:ident($($given:expr),*)
            memory $shape:ident($($memory:ident),*)
            example $_example:literal => $_result:literal;
    )*) => {
        impl<'scope, 'env> Scope<'scope, 'env> { $(
            #[doc = concat!("Begins a [`Communicator::", stringify!($name), "`] on borrowed memory,")]
            /// and returns at once.
            /// See [`Communicator::scope`] for an example.
            ///
            /// # Errors
            ///
            #[doc = concat!("What the arguments of [`Communicator::", stringify!($name), "`] can be refused for;")]
            /// all else is reported when it is waited for, or by the end of the scope.
            #[track_caller]
            pub fn $name<T: Pod>(
                &'scope self,
                $($argument: buffer!($argument T)),*
            ) -> Result<Scoped<'scope, &'scope mut [T]>> {
                let plan = self.communicator().$plan::<T>($($given),*)?;
                begin!(self, plan, $shape($($memory),*))
            }
        )* }
    };
}

collectives!(scoped);
