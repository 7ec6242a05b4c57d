//! From a plan to its end: the schedule, memory that is lent, the engine.

use std::sync::Arc;

use ringworld_collectives::Schedule;
use ringworld_protocol::BufferId;

use super::plan::Plan;
use crate::communicator::Communicator;
use crate::message::operation::Operation;
use crate::request::{Outcome, Pending};
use crate::{Error, Result};
use ringworld_engine::lend::{Lend, Loan, blocking as lend_and_wait};
use ringworld_engine::{Core, SlotId, Start};

impl Communicator {
    pub(super) fn schedule(&self, plan: &Plan) -> Result<Arc<Schedule>> {
        let mut schedules = self.inner.schedules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(schedule) = schedules.get(&plan.request) {
            return Ok(schedule);
        }
        let made =
            ringworld_collectives::schedule(&plan.request, &self.inner.options.tuning).map_err(|error| {
                Error::InvalidCount { operation: plan.stamp.to_string(), detail: error.to_string() }
            })?;
        let made = Arc::new(made);
        schedules.keep(&plan.request, &made);
        Ok(made)
    }

    /// Hands a plan to the engine, with memory that has been lent.
    pub(super) fn begin(
        &self,
        core: &mut Core,
        plan: &Plan,
        schedule: Arc<Schedule>,
        input: Option<BufferId>,
        output: Option<BufferId>,
    ) -> (SlotId, Operation) {
        let (slot, sequence) = core.run(self.start_of(plan, schedule, [input, output]));
        (slot, plan.operation(sequence))
    }

    /// What the engine is to run, and the names of its input and output.
    #[inline]
    pub(super) fn start_of(
        &self,
        plan: &Plan,
        schedule: Arc<Schedule>,
        [input, output]: [Option<BufferId>; 2],
    ) -> Start {
        Start {
            schedule,
            group: self.inner.group.clone(),
            context: self.inner.number * 2 + 1,
            stamp: plan.stamp,
            caller: plan.caller,
            element: plan.request.element,
            reducer: plan.reducer.clone(),
            result: plan.result,
            combined: plan.combined,
            input,
            output,
        }
    }

    /// Runs a plan on borrowed memory.
    pub(super) fn run(&self, plan: &Plan, input: Option<&[u8]>, output: Option<&mut [u8]>) -> Result<()> {
        let schedule = self.schedule(plan)?;
        let mut operation = plan.operation(0);
        let ending = lend_and_wait(self.engine(), Lend { input, output }, |core, input, output| {
            let (slot, named) = self.begin(core, plan, schedule, input, output);
            operation = named;
            slot
        });
        ending.map(drop).map_err(|failure| self.error(failure, operation))
    }

    /// Begins a plan on owned memory.
    pub(super) fn start<R: Outcome>(
        &self,
        plan: &Plan,
        input: Option<Vec<R::Element>>,
        output: Option<Vec<R::Element>>,
    ) -> Result<Pending<R>> {
        let schedule = self.schedule(plan)?;
        let mut operation = plan.operation(0);
        let mut loan = Loan::new(self.engine(), input, output);
        loan.begin(|core, input, output| {
            let (slot, named) = self.begin(core, plan, schedule, input, output);
            operation = named;
            slot
        });
        loan.help();
        Ok(Pending::new(self.clone(), loan, operation))
    }
}
