//! Collectives: what every rank of a communicator calls together.
//!
//! Each call makes a [`plan::Plan`] of its arguments, fetches a schedule (made once per shape, then
//! kept in `schedules`), and hands both to the engine with the caller's memory. Which algorithm serves is decided in the
//! collectives crate.
//!
//! ```text
//! blocking.rs    all_reduce(&mut data, op)              borrowed memory, returns when done
//! owned.rs       start_all_reduce(data, op)             owned memory, returns a Pending
//! ../scope.rs    scope(|s| s.all_reduce(&mut data, op)) borrowed memory, done before the scope ends
//! ../persistent  prepare_all_reduce(data, op)           owned memory, started many times
//! many.rs        all_reduce_many(&mut [..], op)         many small ones as few large ones
//! within.rs      broadcast_object(object, root)         parts of calls with another name
//! ```

mod blocking;
mod many;
mod owned;
pub(crate) mod plan;
pub(crate) mod within;

use std::sync::Arc;

use ringworld_collectives::Schedule;
use ringworld_protocol::BufferId;

use self::plan::Plan;
use crate::buffer::{Lend, Loan, blocking as lend_and_wait};
use crate::communicator::Communicator;
use crate::engine::{Core, SlotId, Start};
use crate::operation::Operation;
use crate::request::{Outcome, Pending};
use crate::{Error, Result};

impl Communicator {
    pub(crate) fn schedule(&self, plan: &Plan) -> Result<Arc<Schedule>> {
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
    pub(crate) fn begin(
        &self,
        core: &mut Core,
        plan: &Plan,
        schedule: Arc<Schedule>,
        input: Option<BufferId>,
        output: Option<BufferId>,
    ) -> (SlotId, Operation) {
        let (slot, sequence) = core.run(Start {
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
        });
        (slot, plan.operation(sequence))
    }

    /// Runs a plan on borrowed memory.
    fn run(&self, plan: &Plan, input: Option<&[u8]>, output: Option<&mut [u8]>) -> Result<()> {
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
    fn start<R: Outcome>(
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
