//! From a plan to its end: the schedule, memory that is lent, the engine.

use std::sync::Arc;

use ringworld_collectives::Schedule;

use super::plan::Plan;
use crate::communicator::Communicator;
use crate::request::{Outcome, Pending};
use crate::{Error, Result};
use ringworld_engine::CollectiveCall;
use ringworld_engine::lend::{Lend, Loan, blocking as lend_and_wait};

impl Communicator {
    pub(super) fn schedule(&self, plan: &Plan) -> Result<Arc<Schedule>> {
        let mut schedules = self.inner.schedules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(schedule) = schedules.get(&plan.request) {
            return Ok(schedule);
        }
        let made =
            ringworld_collectives::schedule(&plan.request, &self.inner.options.tuning).map_err(|error| {
                Error::InvalidCount { operation: plan.signature.to_string(), detail: error.to_string() }
            })?;
        let made = Arc::new(made);
        schedules.keep(&plan.request, &made);
        Ok(made)
    }

    /// What the engine is to run.
    #[inline]
    pub(super) fn collective_call(&self, plan: &Plan, schedule: Arc<Schedule>) -> CollectiveCall {
        CollectiveCall {
            schedule,
            group: self.inner.group.clone(),
            context: self.inner.number * 2 + 1,
            signature: plan.signature,
            caller: plan.caller,
            element: plan.request.element,
            reducer: plan.reducer.clone(),
            result: plan.result,
            combined: plan.combined,
        }
    }

    /// Runs a plan on borrowed memory.
    pub(super) fn call_blocking(
        &self,
        plan: &Plan,
        input: Option<&[u8]>,
        output: Option<&mut [u8]>,
    ) -> Result<()> {
        let start = self.collective_call(plan, self.schedule(plan)?);
        let (ending, number) = lend_and_wait(self.engine(), Lend { input, output }, start);
        ending.map(drop).map_err(|failure| self.error(failure, plan.operation(number)))
    }

    /// Begins a plan on owned memory.
    pub(super) fn start<R: Outcome>(
        &self,
        plan: &Plan,
        input: Option<Vec<R::Element>>,
        output: Option<Vec<R::Element>>,
    ) -> Result<Pending<R>> {
        let start = self.collective_call(plan, self.schedule(plan)?);
        let mut loan = Loan::new(self.engine(), input, output);
        let number = loan.start(start);
        loan.help();
        Ok(Pending::new(self.clone(), loan, plan.operation(number)))
    }
}
