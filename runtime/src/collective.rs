//! Collectives: what every rank of a communicator calls together.
//!
//! Each call checks its arguments, fetches a schedule (made once per shape, then cached), and hands it
//! to the engine with the caller's memory. Which algorithm serves is decided in the collectives crate.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytemuck::Pod;
use ringworld_collectives::{Collective, Request, Schedule};

use crate::buffer::{Lend, Loan, blocking};
use crate::communicator::Communicator;
use crate::datatype::ElementCode;
use crate::engine::{Ending, Start};
use crate::reduce::Reducer;
use crate::request::Pending;
use crate::stamp::{Call, Stamp};
use crate::{DType, Error, Reduction, Result};

/// Schedules kept per communicator; programs use few shapes, and a schedule is cheap to make again.
const CACHED: usize = 256;

/// One collective call, arguments checked.
struct Plan {
    request: Request,
    stamp: Stamp,
    reducer: Reducer,
}

impl Communicator {
    /// Returns when every rank has called it.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] when ranks call different collectives, and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.barrier()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn barrier(&self) -> Result<()> {
        let plan = self.bytes_plan::<u8>(Call::Barrier, Collective::Barrier, 0, true)?;
        self.collective(&plan, None, None)
    }

    /// Gives the root's elements to every rank: `data` is read at `root` and written elsewhere.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; [`Error::Mismatch`] when ranks disagree about root or size; and whatever
    /// ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut weights = [1f32, 2.0];
    /// world.broadcast(&mut weights, 0)?;
    /// assert_eq!(weights, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn broadcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.check_rank("broadcast", root)?;
        let collective = Collective::Broadcast { root };
        let plan = self.bytes_plan::<T>(Call::Broadcast, collective, data.len(), true)?;
        self.collective(&plan, None, Some(bytemuck::cast_slice_mut(data)))
    }

    /// Combines the ranks' `data` element by element; the result replaces `data` at `root`, the other
    /// ranks' `data` stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; [`Error::Mismatch`] when ranks disagree about root, type, size or
    /// operation; and whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut x = [1i32, 2];
    /// world.reduce(&mut x, Op::Sum, 0)?;
    /// assert_eq!(x, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn reduce<T: Pod>(&self, data: &mut [T], op: impl Reduction<T>, root: usize) -> Result<()> {
        self.check_rank("reduce", root)?;
        let collective = Collective::Reduce { root };
        let plan = self.reducing_plan(Call::Reduce, collective, &op, data.len(), true)?;
        if self.rank() == root {
            self.collective(&plan, None, Some(bytemuck::cast_slice_mut(data)))
        } else {
            self.collective(&plan, Some(bytemuck::cast_slice(data)), None)
        }
    }

    /// Combines the ranks' `data` element by element; the result replaces `data` on every rank.
    ///
    /// Every rank gets the same bits, and the same bits again on the next run with the same world and
    /// settings.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] when ranks disagree about type, size or operation, and whatever ends the world
    /// meanwhile.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut gradients = [0.5f32, -1.0];
    /// world.all_reduce(&mut gradients, Op::Sum)?;
    /// assert_eq!(gradients, [0.5, -1.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn all_reduce<T: Pod>(&self, data: &mut [T], op: impl Reduction<T>) -> Result<()> {
        let plan = self.reducing_plan(Call::AllReduce, Collective::AllReduce, &op, data.len(), true)?;
        self.collective(&plan, None, Some(bytemuck::cast_slice_mut(data)))
    }

    /// Like [`Communicator::all_reduce`], with the result in `output` and `input` left as it is.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_reduce`], and [`Error::InvalidCount`] when the slices differ in length.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u64; 2];
    /// world.all_reduce_into(&[3u64, 4], &mut output, Op::Max)?;
    /// assert_eq!(output, [3, 4]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn all_reduce_into<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Reduction<T>,
    ) -> Result<()> {
        same_length("all_reduce_into", "input", input.len(), "output", output.len())?;
        let plan = self.reducing_plan(Call::AllReduce, Collective::AllReduce, &op, input.len(), false)?;
        if plan.reducer.begins() {
            // A factor comes first, and the input is not ours to change.
            output.copy_from_slice(input);
            return self.all_reduce(output, op);
        }
        self.collective(&plan, Some(bytemuck::cast_slice(input)), Some(bytemuck::cast_slice_mut(output)))
    }

    /// Begins an [`Communicator::all_reduce`] of an owned buffer and returns at once; the buffer comes
    /// back, reduced, from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when the size is impossible; all else is reported by the pending result.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_all_reduce(vec![1f32, 2.0], Op::Sum)?;
    /// let bucket = pending.wait()?;
    /// assert_eq!(bucket, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn start_all_reduce<T: Pod + Send>(&self, data: Vec<T>, op: impl Reduction<T>) -> Result<Pending<T>> {
        let plan = self.reducing_plan(Call::AllReduce, Collective::AllReduce, &op, data.len(), true)?;
        let schedule = self.schedule(&plan)?;
        let sequence = self.next_sequence();
        let loan = Loan::begin(self.engine(), data, |core, buffer, _| {
            core.run(self.start(&plan, schedule, sequence, None, Some(buffer)))
        });
        Ok(Pending::new(self.clone(), loan, operation(&plan, sequence)))
    }

    /// Gives every rank's `input` to every rank: `output` holds them one after another, in rank order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when `output` is not as long as all inputs together; [`Error::Mismatch`]
    /// when ranks disagree about the size; and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u8; 2];
    /// world.all_gather(&[1u8, 2], &mut output)?;
    /// assert_eq!(output, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn all_gather<T: Pod>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        self.blocks("all_gather", "output", output.len(), "input", input.len())?;
        let plan = self.bytes_plan::<T>(Call::AllGather, Collective::AllGather, input.len(), false)?;
        self.collective(&plan, Some(bytemuck::cast_slice(input)), Some(bytemuck::cast_slice_mut(output)))
    }

    /// Combines the ranks' `input` element by element and gives each rank its block of the result: rank
    /// `r` gets elements `r * n` to `(r + 1) * n`, where `n` is the length of `output`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when `input` is not as long as all outputs together; [`Error::Mismatch`]
    /// when ranks disagree about type, size or operation; and whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut block = [0f64; 2];
    /// world.reduce_scatter(&[1f64, 2.0], &mut block, Op::Sum)?;
    /// assert_eq!(block, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn reduce_scatter<T: Pod>(&self, input: &[T], output: &mut [T], op: impl Reduction<T>) -> Result<()> {
        self.blocks("reduce_scatter", "input", input.len(), "output", output.len())?;
        let (call, collective) = (Call::ReduceScatter, Collective::ReduceScatter);
        let plan = self.reducing_plan(call, collective, &op, output.len(), false)?;
        self.collective(&plan, Some(bytemuck::cast_slice(input)), Some(bytemuck::cast_slice_mut(output)))
    }

    // ---- shared by the calls -------------------------------------------------------------------------

    fn reducing_plan<T: Pod>(
        &self,
        call: Call,
        what: Collective,
        op: &impl Reduction<T>,
        count: usize,
        in_place: bool,
    ) -> Result<Plan> {
        let reducer = op.plan().map_err(|unsupported| unsupported.into_error(call.name()))?;
        if reducer.begins() && call != Call::AllReduce {
            return Err(reducer.factor_before(call.name()));
        }
        self.plan::<T>(call, what, reducer, count, in_place)
    }

    /// A plan for moving elements whose meaning does not matter: in bytes, so that equal sizes agree.
    fn bytes_plan<T: Pod>(&self, call: Call, what: Collective, count: usize, in_place: bool) -> Result<Plan> {
        let bytes = count.saturating_mul(size_of::<T>());
        self.plan::<u8>(call, what, Reducer::moving(ElementCode::from(DType::Bytes)), bytes, in_place)
    }

    fn plan<T: Pod>(
        &self,
        call: Call,
        collective: Collective,
        reducer: Reducer,
        count: usize,
        in_place: bool,
    ) -> Result<Plan> {
        let request = Request {
            collective,
            rank: self.rank(),
            size: self.size(),
            count,
            element: size_of::<T>(),
            commutative: reducer.commutative,
            in_place,
        };
        request.validate().map_err(|error| Error::InvalidCount {
            operation: call.name().into(),
            detail: error.to_string(),
        })?;
        // Ranks are sent as 32 bits elsewhere too; no world is larger.
        let root = collective.root().unwrap_or(0) as u32;
        let tuning = self.inner.shared.tuning_digest;
        let stamp = Stamp { call, dtype: reducer.dtype, op: reducer.op, root, count: count as u64, tuning };
        Ok(Plan { request, stamp, reducer })
    }

    fn schedule(&self, plan: &Plan) -> Result<Arc<Schedule>> {
        let mut cache = self.inner.schedules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(schedule) = cache.get(&plan.request) {
            return Ok(Arc::clone(schedule));
        }
        let made =
            ringworld_collectives::schedule(&plan.request, &self.inner.shared.tuning).map_err(|error| {
                Error::InvalidCount { operation: plan.stamp.to_string(), detail: error.to_string() }
            })?;
        if cache.len() >= CACHED {
            cache.clear();
        }
        let made = Arc::new(made);
        cache.insert(plan.request, Arc::clone(&made));
        Ok(made)
    }

    fn next_sequence(&self) -> u32 {
        self.inner.sequence.fetch_add(1, Ordering::Relaxed)
    }

    fn start(
        &self,
        plan: &Plan,
        schedule: Arc<Schedule>,
        sequence: u32,
        input: Option<ringworld_protocol::BufferId>,
        output: Option<ringworld_protocol::BufferId>,
    ) -> Start {
        Start {
            schedule,
            group: self.inner.group.clone(),
            context: self.inner.number * 2 + 1,
            sequence,
            stamp: plan.stamp,
            element: plan.request.element,
            reducer: plan.reducer.clone(),
            result: if output.is_some() { plan.request.count } else { 0 },
            input,
            output,
        }
    }

    fn collective(&self, plan: &Plan, input: Option<&[u8]>, output: Option<&mut [u8]>) -> Result<()> {
        let schedule = self.schedule(plan)?;
        let sequence = self.next_sequence();
        let ending = blocking(self.engine(), Lend { input, output }, |core, input, output| {
            core.run(self.start(plan, schedule, sequence, input, output))
        });
        self.concluded(ending, || operation(plan, sequence))
    }

    pub(crate) fn concluded(&self, ending: Ending, operation: impl Fn() -> String) -> Result<()> {
        ending.map(drop).map_err(|failure| self.error(failure, operation))
    }

    /// Checks that `whole` is as long as one `part` for each rank.
    fn blocks(&self, name: &str, whole: &str, length: usize, part: &str, block: usize) -> Result<()> {
        if block.checked_mul(self.size()) == Some(length) {
            return Ok(());
        }
        let size = self.size();
        Err(Error::InvalidCount {
            operation: name.into(),
            detail: format!(
                "{whole} has {length} elements and {part} {block}; with {size} ranks {whole} must be {size} \
                 times as long as {part}"
            ),
        })
    }
}

fn operation(plan: &Plan, sequence: u32) -> String {
    format!("{} #{sequence}", plan.stamp)
}

fn same_length(name: &str, a: &str, a_length: usize, b: &str, b_length: usize) -> Result<()> {
    if a_length == b_length {
        return Ok(());
    }
    let detail = format!("{a} has {a_length} elements and {b} {b_length}; they must be equally long");
    Err(Error::InvalidCount { operation: name.into(), detail })
}
