//! From a plan to its end: the schedule, memory that is lent, the engine.

use std::sync::Arc;

use super::plan::Plan;
use crate::Result;
use crate::communicator::{Communicator, Of};
use crate::request::{Outcome, Pending};
use ringworld_engine::CollectiveCall;
use ringworld_engine::lend::{Lend, Loan, blocking as lend_and_wait};

impl Communicator {
    /// What the engine is to run.
    #[inline]
    pub(crate) fn collective_call(plan: &Plan) -> CollectiveCall {
        let Plan { what, reducer, caller, site } = plan;
        CollectiveCall { what: Arc::clone(what), reducer: reducer.clone(), caller, site: *site }
    }

    /// Runs a plan on borrowed memory.
    pub(super) fn call_blocking(
        &self,
        plan: Plan,
        input: Option<&[u8]>,
        output: Option<&mut [u8]>,
    ) -> Result<()> {
        let (start, operation) = plan.into_call();
        let (ending, number) = lend_and_wait(self.engine(), Lend { input, output }, start);
        ending.map(drop).map_err(|failure| self.error(failure, operation(number)))
    }

    /// Begins a plan on owned memory.
    pub(super) fn start<R: Outcome>(
        &self,
        plan: &Plan,
        input: Option<Vec<R::Element>>,
        output: Option<Vec<R::Element>>,
    ) -> Result<Pending<R>> {
        let start = Self::collective_call(plan);
        let mut loan = Loan::new(Of(self.clone()), input, output);
        let number = loan.start(start);
        loan.help();
        Ok(Pending::new(loan, plan.operation(number)))
    }
}
