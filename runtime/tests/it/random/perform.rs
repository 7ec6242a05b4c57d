//! One rank's part in a collective call, in its own way, compared with the oracle.
//!
//! Every way ends in the same place: what the call has written, and the memory that it must not have touched.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ringworld::{Communicator, Options, Pending, Prepared, Reduction, Result, Scope, Scoped};

use super::call::{Call, Shape, Way};
use super::element::{Element, Visitor, with_type};
use super::oracle;

/// What is left to do of a call that has been begun; `Some` in words what is wrong with its result.
pub(crate) type Rest<'a> = Box<dyn FnOnce() -> Result<Option<String>> + Send + 'a>;

/// The communicator as the call wants it.
fn handle(communicator: &Communicator, call: &Call) -> Result<Communicator> {
    let mut options = Options::new();
    if call.reproducible {
        options = options.reproducible(true);
    }
    if let Some(bytes) = call.segment {
        options = options.segment(bytes);
    }
    if let Some(path) = call.algorithm {
        options = options.algorithm(path)?;
    }
    Ok(communicator.with(&options))
}

/// Begins a call; blocking ways have ended when this returns.
pub(crate) fn begin<'a>(communicator: &Communicator, call: &'a Call, way: Way) -> Result<Rest<'a>> {
    let communicator = handle(communicator, call)?;
    if call.shape == Shape::Barrier && matches!(way, Way::Prepared | Way::Dropped) {
        // Without elements, and so of no type.
        communicator.prepare_barrier()?.run()?;
        return Ok(Box::new(|| Ok(None)));
    }
    with_type!(call.element, T => T::visit(call.operation, Job::<T>::new(communicator, call, way)))
}

/// Makes the same call `times` times, on other data each time; in the prepared ways with one `Prepared`.
pub(crate) fn repeat(
    communicator: &Communicator,
    call: &Call,
    way: Way,
    times: u64,
) -> Result<Option<String>> {
    let single = matches!(call.shape, Shape::Barrier | Shape::AllReduceMany { .. });
    if single || !matches!(way, Way::Prepared | Way::Dropped) {
        let mut first = None;
        for round in 0..times {
            let call = Call { seed: call.seed ^ round, ..call.clone() };
            let wrong = begin(communicator, &call, way)?()?;
            first = first.or(wrong.map(|wrong| format!("in repetition {round}, {wrong}")));
        }
        return Ok(first);
    }
    let communicator = handle(communicator, call)?;
    with_type!(call.element, T => T::visit(call.operation, Again(Job::<T>::new(communicator, call, way), times)))
}

/// Everything about one rank's part.
struct Job<'a, T> {
    communicator: Communicator,
    call: &'a Call,
    way: Way,
    /// What the call reads.
    input: Vec<T>,
    /// What it writes; holds something else before.
    output: Vec<T>,
    /// In one buffer, as the call takes it.
    in_place: bool,
}

impl<'a, T: Element> Job<'a, T> {
    fn new(communicator: Communicator, call: &'a Call, way: Way) -> Self {
        let (size, rank) = (communicator.size(), communicator.rank());
        let in_place = match call.shape {
            Shape::Broadcast { .. } => true,
            Shape::Reduce { .. }
            | Shape::AllReduce { .. }
            | Shape::Scan { .. }
            | Shape::ExclusiveScan { .. } => way != Way::Blocking,
            Shape::ReduceScatter { .. } | Shape::AllGather { .. } | Shape::AllToAll { .. } => {
                way == Way::InPlace
            }
            _ => false,
        };
        let input = oracle::contribution::<T>(call, size, rank);
        let length = oracle::result::<T>(call, size, rank).map_or(input.len(), |result| result.len());
        let output = match call.shape {
            _ if !in_place => oracle::filler(call, rank, length),
            Shape::AllGather { count } => {
                let mut output = oracle::filler(call, rank, length);
                output[rank * count..][..count].copy_from_slice(&input);
                output
            }
            _ => input.clone(),
        };
        Self { communicator, call, way, input, output, in_place }
    }

    /// What is wrong with the memory after the call, if anything is.
    fn judge(
        call: &Call,
        size: usize,
        rank: usize,
        in_place: bool,
        input: &[T],
        output: &[T],
    ) -> Option<String> {
        let given = oracle::contribution::<T>(call, size, rank);
        let output = match call.shape {
            // What becomes of the rest is not specified.
            Shape::ReduceScatter { count } if in_place => &output[..count],
            _ => output,
        };
        let expected = match oracle::result::<T>(call, size, rank) {
            Some(result) => result,
            None if in_place => given.clone(),
            None => oracle::filler(call, rank, given.len()),
        };
        if let Some(difference) = oracle::difference(&expected, output) {
            return Some(format!("the result is wrong: {difference}"));
        }
        let touched = oracle::difference(&given, input).filter(|_| !in_place);
        touched.map(|difference| format!("the input was touched: {difference}"))
    }

    fn verdict(self, input: &[T], output: &[T]) -> Option<String> {
        let (size, rank) = (self.communicator.size(), self.communicator.rank());
        Self::judge(self.call, size, rank, self.in_place, input, output)
    }
}

impl<'a, T: Element> Visitor<T> for Job<'a, T> {
    type Output = Result<Rest<'a>>;

    fn visit<R: Reduction<T> + Clone>(mut self, op: R) -> Result<Rest<'a>> {
        let (mut input, mut output) = (std::mem::take(&mut self.input), std::mem::take(&mut self.output));
        let many = matches!(self.call.shape, Shape::AllReduceMany { .. });
        match self.way {
            _ if many => block(&self.communicator, self.call, self.in_place, &mut input, &mut output, op)?,
            Way::Blocking | Way::InPlace => {
                block(&self.communicator, self.call, self.in_place, &mut input, &mut output, op)?;
            }
            Way::Started | Way::Polled => {
                let started = start(&self.communicator, self.call, input, output, op)?;
                return Ok(Box::new(move || {
                    let (input, output) = started.end(self.way == Way::Polled)?;
                    Ok(self.verdict(&input, &output))
                }));
            }
            Way::Scoped | Way::Left => self.communicator.scope(|s| {
                let running = scoped(s, self.call, &input, &mut output, op, &self.communicator)?;
                match running {
                    Running::Nothing(running) if self.way == Way::Scoped => running.wait(),
                    Running::Data(running) if self.way == Way::Scoped => running.wait().map(drop),
                    // Its end, and its failure, are the scope's.
                    _ => Ok(()),
                }
            })?,
            Way::Prepared => {
                let mut prepared = prepare(&self.communicator, self.call, input, output, op)?;
                prepared.run()?;
                (input, output) = buffers(prepared, self.in_place);
            }
            Way::Dropped => {
                let mut prepared = prepare(&self.communicator, self.call, input, output, op)?;
                drop(prepared.start()?);
                return Ok(Box::new(move || {
                    let (input, output) = buffers(prepared, self.in_place);
                    Ok(self.verdict(&input, &output))
                }));
            }
        }
        Ok(Box::new(move || Ok(self.verdict(&input, &output))))
    }
}

/// The same call again and again with one `Prepared`.
struct Again<'a, T>(Job<'a, T>, u64);

impl<T: Element> Visitor<T> for Again<'_, T> {
    type Output = Result<Option<String>>;

    fn visit<R: Reduction<T> + Clone>(self, op: R) -> Self::Output {
        let Self(Job { communicator, call, way, input, output, in_place }, times) = self;
        let (size, rank) = (communicator.size(), communicator.rank());
        let mut prepared = prepare(&communicator, call, input, output, op)?;
        let mut first = None;
        for round in 0..times {
            let call = Call { seed: call.seed ^ round, ..call.clone() };
            let given = oracle::contribution::<T>(&call, size, rank);
            let expected = oracle::result::<T>(&call, size, rank);
            let reads = prepared.input_mut();
            // A rank that reads nothing has what it writes there.
            if reads.len() == given.len() {
                reads.copy_from_slice(&given);
            }
            if way == Way::Prepared {
                prepared.run()?;
            } else {
                // Not waited for: the next use does that.
                let _running = prepared.start()?;
            }
            let wrong = expected.and_then(|expected| oracle::difference(&expected, prepared.output()));
            first =
                first.or(wrong.map(|wrong| format!("in repetition {round} the result is wrong: {wrong}")));
            let reads = prepared.input_mut();
            if !in_place && reads.len() == given.len() {
                let touched = oracle::difference(&given, reads);
                first = first
                    .or(touched.map(|wrong| format!("in repetition {round} the input was touched: {wrong}")));
            }
        }
        Ok(first)
    }
}

/// (input, output); in place there is one buffer, whichever it is.
fn buffers<T: Element>(prepared: Prepared<T>, in_place: bool) -> (Vec<T>, Vec<T>) {
    let (input, output) = prepared.into_buffers();
    if in_place && output.is_empty() { (Vec::new(), input) } else { (input, output) }
}

enum Started<T: Element> {
    Nothing(Pending<()>),
    One(Pending<Vec<T>>),
    Two(Pending<(Vec<T>, Vec<T>)>),
}

impl<T: Element> Started<T> {
    fn end(self, poll: bool) -> Result<(Vec<T>, Vec<T>)> {
        match self {
            Self::Nothing(pending) => end(pending, poll).map(|()| (Vec::new(), Vec::new())),
            Self::One(pending) => end(pending, poll).map(|data| (Vec::new(), data)),
            Self::Two(pending) => end(pending, poll),
        }
    }
}

fn end<O: ringworld::Outcome>(pending: Pending<O>, poll: bool) -> Result<O> {
    if !poll {
        return pending.wait();
    }
    let mut future = pin!(pending);
    loop {
        // Polling makes progress by itself, so that no waker is needed.
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
        std::thread::yield_now();
    }
}

enum Running<'scope, T: Element> {
    Nothing(Scoped<'scope, ()>),
    Data(Scoped<'scope, &'scope mut [T]>),
}

/// The counts to give where they matter at the root only.
fn at_root(communicator: &Communicator, root: usize, counts: &[usize]) -> Vec<usize> {
    if communicator.rank() == root { counts.to_vec() } else { Vec::new() }
}

/// (to each, from each) of an all-to-all.
fn pairs(communicator: &Communicator, counts: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let rank = communicator.rank();
    (counts[rank].clone(), counts.iter().map(|to| to[rank]).collect())
}

fn block<T: Element, R: Reduction<T> + Clone>(
    c: &Communicator,
    call: &Call,
    in_place: bool,
    input: &mut [T],
    output: &mut [T],
    op: R,
) -> Result<()> {
    match &call.shape {
        Shape::Barrier => c.barrier(),
        Shape::Broadcast { root, .. } => c.broadcast(output, *root),
        Shape::Reduce { root, .. } if in_place => c.reduce(output, op, *root),
        Shape::Reduce { root, .. } => c.reduce_into(input, output, op, *root),
        Shape::AllReduce { .. } if in_place => c.all_reduce(output, op),
        Shape::AllReduce { .. } => c.all_reduce_into(input, output, op),
        Shape::AllReduceMany { lengths } => {
            output.copy_from_slice(input);
            let (mut tensors, mut rest) = (Vec::new(), output);
            for length in lengths {
                let (tensor, after) = rest.split_at_mut(*length);
                tensors.push(tensor);
                rest = after;
            }
            c.all_reduce_many(&mut tensors, op)
        }
        Shape::ReduceScatter { .. } if in_place => c.reduce_scatter_in_place(output, op).map(drop),
        Shape::ReduceScatter { .. } => c.reduce_scatter(input, output, op),
        Shape::ReduceScatterVaried { counts } => c.reduce_scatter_varied(input, output, counts, op),
        Shape::AllGather { .. } if in_place => c.all_gather_in_place(output),
        Shape::AllGather { .. } => c.all_gather(input, output),
        Shape::AllGatherVaried { counts } => c.all_gather_varied(input, output, counts),
        Shape::Gather { root, .. } => c.gather(input, output, *root),
        Shape::GatherVaried { root, counts } => {
            c.gather_varied(input, output, &at_root(c, *root, counts), *root)
        }
        Shape::Scatter { root, .. } => c.scatter(input, output, *root),
        Shape::ScatterVaried { root, counts } => {
            c.scatter_varied(input, &at_root(c, *root, counts), output, *root)
        }
        Shape::AllToAll { .. } if in_place => c.all_to_all_in_place(output),
        Shape::AllToAll { .. } => c.all_to_all(input, output),
        Shape::AllToAllVaried { counts } => {
            let (send, recv) = pairs(c, counts);
            c.all_to_all_varied(input, &send, output, &recv)
        }
        Shape::Scan { .. } if in_place => c.scan(output, op),
        Shape::Scan { .. } => c.scan_into(input, output, op),
        Shape::ExclusiveScan { .. } if in_place => c.exclusive_scan(output, op),
        Shape::ExclusiveScan { .. } => c.exclusive_scan_into(input, output, op),
    }
}

fn start<T: Element, R: Reduction<T> + Clone>(
    c: &Communicator,
    call: &Call,
    input: Vec<T>,
    output: Vec<T>,
    op: R,
) -> Result<Started<T>> {
    Ok(match &call.shape {
        Shape::Barrier => Started::Nothing(c.start_barrier()?),
        Shape::Broadcast { root, .. } => Started::One(c.start_broadcast(output, *root)?),
        Shape::Reduce { root, .. } => Started::One(c.start_reduce(output, op, *root)?),
        Shape::AllReduce { .. } | Shape::AllReduceMany { .. } => {
            Started::One(c.start_all_reduce(output, op)?)
        }
        Shape::ReduceScatter { .. } => Started::Two(c.start_reduce_scatter(input, output, op)?),
        Shape::ReduceScatterVaried { counts } => {
            Started::Two(c.start_reduce_scatter_varied(input, output, counts, op)?)
        }
        Shape::AllGather { .. } => Started::Two(c.start_all_gather(input, output)?),
        Shape::AllGatherVaried { counts } => Started::Two(c.start_all_gather_varied(input, output, counts)?),
        Shape::Gather { root, .. } => Started::Two(c.start_gather(input, output, *root)?),
        Shape::GatherVaried { root, counts } => {
            Started::Two(c.start_gather_varied(input, output, &at_root(c, *root, counts), *root)?)
        }
        Shape::Scatter { root, .. } => Started::Two(c.start_scatter(input, output, *root)?),
        Shape::ScatterVaried { root, counts } => {
            Started::Two(c.start_scatter_varied(input, &at_root(c, *root, counts), output, *root)?)
        }
        Shape::AllToAll { .. } => Started::Two(c.start_all_to_all(input, output)?),
        Shape::AllToAllVaried { counts } => {
            let (send, recv) = pairs(c, counts);
            Started::Two(c.start_all_to_all_varied(input, &send, output, &recv)?)
        }
        Shape::Scan { .. } => Started::One(c.start_scan(output, op)?),
        Shape::ExclusiveScan { .. } => Started::One(c.start_exclusive_scan(output, op)?),
    })
}

fn scoped<'scope, T: Element, R: Reduction<T> + Clone>(
    s: &'scope Scope<'scope, '_>,
    call: &Call,
    input: &'scope [T],
    output: &'scope mut [T],
    op: R,
    c: &Communicator,
) -> Result<Running<'scope, T>> {
    Ok(Running::Data(match &call.shape {
        Shape::Barrier => return Ok(Running::Nothing(s.barrier()?)),
        Shape::Broadcast { root, .. } => s.broadcast(output, *root)?,
        Shape::Reduce { root, .. } => s.reduce(output, op, *root)?,
        Shape::AllReduce { .. } | Shape::AllReduceMany { .. } => s.all_reduce(output, op)?,
        Shape::ReduceScatter { .. } => s.reduce_scatter(input, output, op)?,
        Shape::ReduceScatterVaried { counts } => s.reduce_scatter_varied(input, output, counts, op)?,
        Shape::AllGather { .. } => s.all_gather(input, output)?,
        Shape::AllGatherVaried { counts } => s.all_gather_varied(input, output, counts)?,
        Shape::Gather { root, .. } => s.gather(input, output, *root)?,
        Shape::GatherVaried { root, counts } => {
            s.gather_varied(input, output, &at_root(c, *root, counts), *root)?
        }
        Shape::Scatter { root, .. } => s.scatter(input, output, *root)?,
        Shape::ScatterVaried { root, counts } => {
            s.scatter_varied(input, &at_root(c, *root, counts), output, *root)?
        }
        Shape::AllToAll { .. } => s.all_to_all(input, output)?,
        Shape::AllToAllVaried { counts } => {
            let (send, recv) = pairs(c, counts);
            s.all_to_all_varied(input, &send, output, &recv)?
        }
        Shape::Scan { .. } => s.scan(output, op)?,
        Shape::ExclusiveScan { .. } => s.exclusive_scan(output, op)?,
    }))
}

fn prepare<T: Element, R: Reduction<T> + Clone>(
    c: &Communicator,
    call: &Call,
    input: Vec<T>,
    output: Vec<T>,
    op: R,
) -> Result<Prepared<T>> {
    match &call.shape {
        Shape::Barrier => panic!("a barrier has no buffers"),
        Shape::Broadcast { root, .. } => c.prepare_broadcast(output, *root),
        Shape::Reduce { root, .. } => c.prepare_reduce(output, op, *root),
        Shape::AllReduce { .. } | Shape::AllReduceMany { .. } => c.prepare_all_reduce(output, op),
        Shape::ReduceScatter { .. } => c.prepare_reduce_scatter(input, output, op),
        Shape::ReduceScatterVaried { counts } => c.prepare_reduce_scatter_varied(input, output, counts, op),
        Shape::AllGather { .. } => c.prepare_all_gather(input, output),
        Shape::AllGatherVaried { counts } => c.prepare_all_gather_varied(input, output, counts),
        Shape::Gather { root, .. } => c.prepare_gather(input, output, *root),
        Shape::GatherVaried { root, counts } => {
            c.prepare_gather_varied(input, output, &at_root(c, *root, counts), *root)
        }
        Shape::Scatter { root, .. } => c.prepare_scatter(input, output, *root),
        Shape::ScatterVaried { root, counts } => {
            c.prepare_scatter_varied(input, &at_root(c, *root, counts), output, *root)
        }
        Shape::AllToAll { .. } => c.prepare_all_to_all(input, output),
        Shape::AllToAllVaried { counts } => {
            let (send, recv) = pairs(c, counts);
            c.prepare_all_to_all_varied(input, &send, output, &recv)
        }
        Shape::Scan { .. } => c.prepare_scan(output, op),
        Shape::ExclusiveScan { .. } => c.prepare_exclusive_scan(output, op),
    }
}
