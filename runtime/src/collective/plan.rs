//! From the arguments of a call to a [`Plan`]: checked lengths, a request for a schedule, a signature.
//!
//! One function per collective, used by all four ways to call it (blocking, `start_*`, in a scope,
//! `prepare_*`), so that they accept and refuse the same things. Elements whose meaning does not matter
//! are planned in bytes: ranks agree when the sizes do.

use std::panic::Location;
use std::sync::Arc;

use bytemuck::Pod;
use ringworld_collectives::{Collective, Counts, Order, Request};

use crate::communicator::{Asked, Communicator, Schedules};
use crate::error::unsupported;
use crate::message::operation::Operation;
use crate::{DType, Error, Result};
use ringworld_engine::ElementCode;
use ringworld_engine::signature::{Call, Signature};
use ringworld_engine::{CollectiveCall, Exchange, OpCode, Planned, Reducer, Reduction};

/// One collective call, arguments checked.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) what: Arc<Planned>,
    pub(crate) reducer: Reducer,
    pub(crate) caller: &'static Location<'static>,
    /// The same as it travels.
    pub(crate) site: [u8; 8],
}

impl Plan {
    /// What the engine is to run, and what it is called by its number. (Not counted twice: to count what several share
    /// takes as long as twenty other instructions.)
    #[inline]
    pub(crate) fn into_call(self) -> (CollectiveCall, impl Fn(u32) -> Operation) {
        let Self { what, reducer, caller, site } = self;
        let signature = what.signature;
        let operation = move |sequence| Operation::Collective { signature, sequence, caller };
        (CollectiveCall { what, reducer, caller, site }, operation)
    }

    /// The same for slices of these lengths, one behind the other, which ranks compare one by one: a digest stands
    /// where a root would. A slice alone is its own length.
    pub(super) fn of_slices(self, lengths: impl ExactSizeIterator<Item = usize>) -> Self {
        if lengths.len() < 2 {
            return self;
        }
        let mut what = Planned::clone(&self.what);
        // 0 is that of a slice alone.
        what.signature.root = digest(lengths).max(1);
        Self { what: Arc::new(what), ..self }
    }

    pub(crate) fn operation(&self, sequence: u32) -> Operation {
        Operation::Collective { signature: self.what.signature, sequence, caller: self.caller }
    }
}

/// How the counts of a call show in its signature: (root or digest, elements).
fn shown(counts: &Counts, root: Option<usize>) -> (u32, u64) {
    // Ranks are sent as 32 bits elsewhere too; no world is larger.
    let known = root.unwrap_or(0) as u32;
    match counts {
        Counts::Same(count) => (known, *count as u64),
        // With a root, only the root knows them all; the others could not show the same.
        Counts::Each(_) if root.is_some() => (known, 0),
        Counts::Each(counts) => {
            let sum = counts.iter().fold(0u64, |sum, count| sum.wrapping_add(*count as u64));
            (digest(counts.iter().copied()), sum)
        }
        Counts::Own(_) | Counts::Pairs { .. } => (known, 0),
    }
}

/// Of counts, in their order.
fn digest(counts: impl Iterator<Item = usize>) -> u32 {
    counts.fold(0x811c_9dc5, |hash, count| {
        (hash ^ count as u32 ^ (count as u64 >> 32) as u32).wrapping_mul(0x0100_0193).rotate_left(5)
    })
}

impl Communicator {
    #[track_caller]
    pub(crate) fn plan_barrier(&self) -> Result<Plan> {
        self.moving::<u8>(Call::Barrier, Collective::Barrier, Counts::Same(0), false)
    }

    #[track_caller]
    pub(crate) fn plan_broadcast<T: Pod>(&self, length: usize, root: usize) -> Result<Plan> {
        self.check_rank("broadcast", root)?;
        self.moving::<T>(Call::Broadcast, Collective::Broadcast { root }, Counts::Same(length), true)
    }

    /// In place at the root; elsewhere there is no output.
    #[track_caller]
    pub(crate) fn plan_reduce<T: Pod>(
        &self,
        length: usize,
        op: &impl Reduction<T>,
        root: usize,
        in_place: bool,
    ) -> Result<Plan> {
        self.check_rank("reduce", root)?;
        let counts = Counts::Same(length);
        self.reducing(Call::Reduce, Collective::Reduce { root }, counts, op, in_place)
    }

    #[track_caller]
    pub(crate) fn plan_all_reduce<T: Pod>(
        &self,
        length: usize,
        op: &impl Reduction<T>,
        in_place: bool,
    ) -> Result<Plan> {
        self.reducing(Call::AllReduce, Collective::AllReduce, Counts::Same(length), op, in_place)
    }

    #[track_caller]
    pub(crate) fn plan_scan<T: Pod>(
        &self,
        length: usize,
        op: &impl Reduction<T>,
        exclusive: bool,
        in_place: bool,
    ) -> Result<Plan> {
        let (call, collective) = if exclusive {
            (Call::ExclusiveScan, Collective::ExclusiveScan)
        } else {
            (Call::Scan, Collective::Scan)
        };
        self.reducing(call, collective, Counts::Same(length), op, in_place)
    }

    /// `whole`: elements of the input; `block`: of the output.
    #[track_caller]
    pub(crate) fn plan_reduce_scatter<T: Pod>(
        &self,
        whole: usize,
        block: usize,
        op: &impl Reduction<T>,
        in_place: bool,
    ) -> Result<Plan> {
        self.blocks("reduce_scatter", "input", whole, "output", block)?;
        self.reducing(Call::ReduceScatter, Collective::ReduceScatter, Counts::Same(block), op, in_place)
    }

    #[track_caller]
    pub(crate) fn plan_reduce_scatter_varied<T: Pod>(
        &self,
        whole: usize,
        block: usize,
        counts: &[usize],
        op: &impl Reduction<T>,
    ) -> Result<Plan> {
        let name = "reduce_scatter_varied";
        self.packed(name, "counts", counts, "input", whole)?;
        same_length(name, "output", block, "this rank's count", counts[self.rank()])?;
        let counts = Counts::Each(counts.into());
        self.reducing(Call::ReduceScatterVaried, Collective::ReduceScatter, counts, op, false)
    }

    /// `block`: elements of the input; `whole`: of the output. In place there is no input, and its block
    /// lies in the output.
    #[track_caller]
    pub(crate) fn plan_all_gather<T: Pod>(&self, block: Option<usize>, whole: usize) -> Result<Plan> {
        let name = "all_gather";
        let in_place = block.is_none();
        let block = match block {
            Some(block) => block,
            None => self.block_of(name, whole)?,
        };
        self.blocks(name, "output", whole, "input", block)?;
        self.moving::<T>(Call::AllGather, Collective::AllGather, Counts::Same(block), in_place)
    }

    #[track_caller]
    pub(crate) fn plan_all_gather_varied<T: Pod>(
        &self,
        block: usize,
        whole: usize,
        counts: impl Into<Arc<[usize]>>,
    ) -> Result<Plan> {
        let (name, counts) = ("all_gather_varied", counts.into());
        self.packed(name, "counts", &counts, "output", whole)?;
        same_length(name, "input", block, "this rank's count", counts[self.rank()])?;
        self.moving::<T>(Call::AllGatherVaried, Collective::AllGather, Counts::Each(counts), false)
    }

    /// `whole` is the length of the output at the root, and not looked at elsewhere.
    #[track_caller]
    pub(crate) fn plan_gather<T: Pod>(&self, block: usize, whole: usize, root: usize) -> Result<Plan> {
        self.check_rank("gather", root)?;
        if self.rank() == root {
            self.blocks("gather", "output", whole, "input", block)?;
        }
        self.moving::<T>(Call::Gather, Collective::Gather { root }, Counts::Same(block), false)
    }

    /// `whole` and `counts` matter at the root only.
    #[track_caller]
    pub(crate) fn plan_gather_varied<T: Pod>(
        &self,
        block: usize,
        whole: usize,
        counts: impl Into<Arc<[usize]>>,
        root: usize,
    ) -> Result<Plan> {
        let name = "gather_varied";
        self.check_rank(name, root)?;
        let counts = self.counts_at_root(name, ("output", whole), ("input", block), counts, root)?;
        self.moving::<T>(Call::GatherVaried, Collective::Gather { root }, counts, false)
    }

    /// `whole` is the length of the input at the root, and not looked at elsewhere.
    #[track_caller]
    pub(crate) fn plan_scatter<T: Pod>(&self, whole: usize, block: usize, root: usize) -> Result<Plan> {
        self.check_rank("scatter", root)?;
        if self.rank() == root {
            self.blocks("scatter", "input", whole, "output", block)?;
        }
        self.moving::<T>(Call::Scatter, Collective::Scatter { root }, Counts::Same(block), false)
    }

    /// `whole` and `counts` matter at the root only.
    #[track_caller]
    pub(crate) fn plan_scatter_varied<T: Pod>(
        &self,
        whole: usize,
        counts: impl Into<Arc<[usize]>>,
        block: usize,
        root: usize,
    ) -> Result<Plan> {
        let name = "scatter_varied";
        self.check_rank(name, root)?;
        let counts = self.counts_at_root(name, ("input", whole), ("output", block), counts, root)?;
        self.moving::<T>(Call::ScatterVaried, Collective::Scatter { root }, counts, false)
    }

    /// In place there is no input.
    #[track_caller]
    pub(crate) fn plan_all_to_all<T: Pod>(&self, input: Option<usize>, output: usize) -> Result<Plan> {
        let name = "all_to_all";
        if let Some(input) = input {
            same_length(name, "input", input, "output", output)?;
        }
        let block = self.block_of(name, output)?;
        self.moving::<T>(Call::AllToAll, Collective::AllToAll, Counts::Same(block), input.is_none())
    }

    #[track_caller]
    pub(crate) fn plan_all_to_all_varied<T: Pod>(
        &self,
        (input, send): (usize, impl Into<Arc<[usize]>>),
        (output, recv): (usize, impl Into<Arc<[usize]>>),
    ) -> Result<Plan> {
        let (name, send, recv) = ("all_to_all_varied", send.into(), recv.into());
        self.packed(name, "send_counts", &send, "input", input)?;
        self.packed(name, "recv_counts", &recv, "output", output)?;
        let mine = self.rank();
        same_length(name, "this rank's block for itself", send[mine], "the one from itself", recv[mine])?;
        let counts = Counts::Pairs { send, recv };
        self.moving::<T>(Call::AllToAllVaried, Collective::AllToAll, counts, false)
    }

    // ---- shared by the plans ---------------------------------------------------------------------------

    /// A plan that moves elements as bytes.
    #[track_caller]
    #[inline(always)]
    fn moving<T: Pod>(
        &self,
        call: Call,
        collective: Collective,
        counts: Counts,
        in_place: bool,
    ) -> Result<Plan> {
        let element = size_of::<T>();
        let each = |counts: &[usize]| counts.iter().map(|count| count.saturating_mul(element)).collect();
        let counts = match counts {
            counts if element == 1 => counts,
            Counts::Same(count) => Counts::Same(count.saturating_mul(element)),
            Counts::Own(count) => Counts::Own(count.saturating_mul(element)),
            Counts::Each(counts) => Counts::Each(each(&counts)),
            Counts::Pairs { send, recv } => Counts::Pairs { send: each(&send), recv: each(&recv) },
        };
        let reducer = Reducer::moving(ElementCode::from(DType::Bytes));
        self.plan(call, collective, counts, 1, reducer, in_place)
    }

    #[track_caller]
    #[inline(always)]
    fn reducing<T: Pod>(
        &self,
        call: Call,
        collective: Collective,
        counts: Counts,
        op: &impl Reduction<T>,
        in_place: bool,
    ) -> Result<Plan> {
        let reducer = match op.plan() {
            Ok(reducer) => reducer,
            Err(why) => return Err(unsupported(call.name(), why)),
        };
        self.reducing_as(call, collective, counts, size_of::<T>(), reducer, in_place)
    }

    /// Of elements of any type of so many bytes.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn reducing_as(
        &self,
        call: Call,
        collective: Collective,
        counts: Counts,
        element: usize,
        reducer: Reducer,
        in_place: bool,
    ) -> Result<Plan> {
        let name = call.name();
        let scans = matches!(call, Call::Scan | Call::ExclusiveScan);
        if scans && reducer.is_average() {
            return Err(unsupported(name, reducer.average_of_prefix()));
        }
        if reducer.scales_before() && (call != Call::AllReduce || !in_place) {
            return Err(unsupported(name, reducer.factor_before()));
        }
        self.plan(call, collective, counts, element, reducer, in_place)
    }

    /// A part of the call, as are those above: a reducer is made field by field, and to hand it on is to wait until
    /// that is out of the processor's way. A short all-reduce between near cores takes a twelfth less time so.
    #[track_caller]
    #[inline(always)]
    fn plan(
        &self,
        call: Call,
        collective: Collective,
        counts: Counts,
        element: usize,
        reducer: Reducer,
        in_place: bool,
    ) -> Result<Plan> {
        let (rank, size) = (self.rank(), self.size());
        let order = match reducer.commutative {
            _ if reducer.op == OpCode::NONE => Order::Free,
            _ if self.inner.options.reproducible => Order::Left,
            false => Order::Rank,
            true => Order::Free,
        };
        let (dtype, op) = (reducer.dtype, reducer.op);
        // A rank alone reduces nothing.
        let reducer = if collective.has_last() && size > 1 { reducer.completing_at_last() } else { reducer };
        let request = Request { collective, rank, size, counts, element, order, in_place };
        let asked = Asked { call, request, dtype, op };
        let caller = Location::caller();
        let mut schedules = self.inner.schedules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (what, site) = match schedules.recall(&asked, caller) {
            Some(known) => known,
            None => self.plan_anew(&mut schedules, &asked, caller)?,
        };
        Ok(Plan { what, reducer, caller, site })
    }

    /// Plans what is not known, or not any more.
    #[cold]
    #[inline(never)]
    fn plan_anew(
        &self,
        schedules: &mut Schedules,
        asked: &Asked,
        caller: &'static Location<'static>,
    ) -> Result<(Arc<Planned>, [u8; 8])> {
        Ok(schedules.keep(asked, self.planned(asked)?, caller))
    }

    fn planned(&self, asked: &Asked) -> Result<Planned> {
        let Asked { call, request, dtype, op } = asked;
        let Request { collective, rank, size, counts, element, .. } = request;
        let options = &self.inner.options;
        request.validate().map_err(|error| Error::InvalidCount {
            operation: call.name().into(),
            detail: error.to_string(),
        })?;
        let (root, count) = shown(counts, collective.root());
        let result = match collective {
            Collective::Reduce { root } if root != rank => 0,
            Collective::ExclusiveScan if *rank == 0 => 0,
            _ => counts.of(*rank),
        };
        let combined = match collective {
            Collective::Scan => rank + 1,
            Collective::ExclusiveScan => *rank,
            _ => *size,
        };
        let signature = Signature {
            call: *call,
            dtype: *dtype,
            op: *op,
            root,
            count,
            tuning: options.digest,
            // Each call has its own.
            site: [0; 8],
        };
        let choice = ringworld_collectives::select(request, &options.tuning);
        let schedule = ringworld_collectives::build(request, &choice);
        let schedule = schedule.map_err(|error| Error::InvalidCount {
            operation: signature.to_string(),
            detail: error.to_string(),
        })?;
        let exchange = ringworld_collectives::is_exchange(request, &choice)
            .then(|| Exchange::of(&schedule, request, |rank| self.world_rank(rank)));
        Ok(Planned {
            schedule: Arc::new(schedule),
            group: self.inner.group.clone(),
            context: self.inner.number * 2 + 1,
            signature,
            element: *element,
            result,
            combined,
            exchange,
        })
    }

    /// The length of one block of `whole`.
    fn block_of(&self, name: &str, whole: usize) -> Result<usize> {
        let size = self.size();
        if whole.is_multiple_of(size) {
            return Ok(whole / size);
        }
        Err(Error::InvalidCount {
            operation: name.into(),
            detail: format!(
                "the buffer has {whole} elements, which cannot be divided into one block for each of the \
                 {size} ranks: its length must be a multiple of {size}"
            ),
        })
    }

    /// Checks that `whole` is as long as one `part` for each rank.
    fn blocks(&self, name: &str, whole: &str, length: usize, part: &str, block: usize) -> Result<()> {
        let size = self.size();
        if block.checked_mul(size) == Some(length) {
            return Ok(());
        }
        Err(Error::InvalidCount {
            operation: name.into(),
            detail: format!(
                "{whole} has {length} elements and {part} {block}; with {size} ranks {whole} must be {size} \
                 times as long as {part}"
            ),
        })
    }

    /// Checks that there is one count for each rank, and that together they fill a buffer.
    fn packed(&self, name: &str, what: &str, counts: &[usize], whole: &str, length: usize) -> Result<()> {
        let invalid = |detail| Err(Error::InvalidCount { operation: name.into(), detail });
        let size = self.size();
        if counts.len() != size {
            return invalid(format!(
                "{what} has {} entries; there must be one for each of the {size} ranks",
                counts.len()
            ));
        }
        let sum = counts.iter().try_fold(0usize, |sum, count| sum.checked_add(*count));
        if sum == Some(length) {
            return Ok(());
        }
        let sum = sum.map_or_else(|| "more than fits into memory".into(), |sum| sum.to_string());
        invalid(format!("{whole} has {length} elements, but {what} adds up to {sum}; they must be equal"))
    }

    /// Per-rank counts that only the root gives; the other ranks know their own block.
    fn counts_at_root(
        &self,
        name: &str,
        (whole, length): (&str, usize),
        (part, block): (&str, usize),
        counts: impl Into<Arc<[usize]>>,
        root: usize,
    ) -> Result<Counts> {
        if self.rank() != root {
            return Ok(Counts::Own(block));
        }
        let counts = counts.into();
        self.packed(name, "counts", &counts, whole, length)?;
        same_length(name, part, block, "the root's own count", counts[root])?;
        Ok(Counts::Each(counts))
    }
}

pub(crate) fn same_length(name: &str, a: &str, a_length: usize, b: &str, b_length: usize) -> Result<()> {
    if a_length == b_length {
        return Ok(());
    }
    let detail = format!("{a} has {a_length} elements and {b} {b_length}; they must be equally long");
    Err(Error::InvalidCount { operation: name.into(), detail })
}
