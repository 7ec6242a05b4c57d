//! What is done with foreign memory, and doing it.

use std::borrow::Borrow;
use std::sync::Arc;

use ringworld_collectives::{Collective, Counts};
use ringworld_protocol::Mode;

use super::pending::Pending;
use super::reducer::Reducer;
use crate::collective::plan::{Plan, same_length};
use crate::communicator::Communicator;
use crate::message::operation::Operation;
use crate::{Error, Message, Raw, Result, Source, Status, Tag};
use ringworld_engine::lend::{Endings, Foreign, blocking_foreign, blocking_pair_foreign, leave_at_once};
use ringworld_engine::signature::Call as Name;
use ringworld_engine::{ElementCode, ReceiveCall, SendCall, Told, Verb};

/// How many bytes each rank gives, or gets.
#[derive(Clone, Debug)]
pub enum Blocks {
    /// Every rank as many. The length of the memory says how many.
    Same,
    /// By rank. Where there is a root it alone looks at them.
    Each(Arc<[usize]>),
}

/// A send, a receive or a collective, in bytes. Where there is no input, a collective works in place, as its call in
/// Rust does that takes one buffer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Call {
    /// Of the input; see [`Communicator::send`](crate::Communicator::send) and, if it is synchronous,
    /// [`Communicator::send_sync`](crate::Communicator::send_sync).
    Send {
        /// The receiver.
        to: usize,
        /// The tag.
        tag: u32,
        /// Ends only when the receiver has begun to receive.
        synchronous: bool,
    },
    /// Into the output.
    Receive {
        /// Whose messages.
        from: Source,
        /// With which tags.
        tag: Tag,
    },
    /// Without memory.
    Barrier,
    /// Of the output, in place.
    Broadcast {
        /// Who gives.
        root: usize,
    },
    /// Of the input; the root has an output, too.
    Gather {
        /// Who gets.
        root: usize,
        /// How much each rank gives.
        blocks: Blocks,
    },
    /// Into the output; the root has an input, too.
    Scatter {
        /// Who gives.
        root: usize,
        /// How much each rank gets.
        blocks: Blocks,
    },
    /// In place for blocks of the same size only.
    AllGather {
        /// How much each rank gives.
        blocks: Blocks,
    },
    /// Blocks of the same size.
    AllToAll,
    /// Blocks of any sizes; never in place.
    AllToAllVaried {
        /// Bytes to each rank.
        send: Arc<[usize]>,
        /// Bytes from each rank.
        recv: Arc<[usize]>,
    },
    /// The root has an output, and may have no input, the others have an input only.
    Reduce {
        /// Who gets the result.
        root: usize,
        /// How elements are combined.
        op: Reducer,
    },
    /// Everybody gets the result.
    AllReduce {
        /// How elements are combined.
        op: Reducer,
    },
    /// The result is at the beginning of the output. In place for blocks of the same size only.
    ReduceScatter {
        /// How much each rank gets.
        blocks: Blocks,
        /// How elements are combined.
        op: Reducer,
    },
    /// Over the ranks up to each.
    Scan {
        /// Without the rank itself.
        exclusive: bool,
        /// How elements are combined.
        op: Reducer,
    },
}

/// How errors call a receive.
const RECV: &str = "recv";

/// How errors call a send.
fn send_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Standard => "send",
        Mode::Synchronous => "send_sync",
    }
}

/// # Calls of other languages
///
/// On memory that Rust does not know: see [`foreign`](crate::foreign).
impl Communicator {
    /// Makes a call and returns when it is done; the status of a receive.
    ///
    /// # Errors
    ///
    /// Those of the call in Rust.
    ///
    /// See [`foreign`](crate::foreign) for an example.
    #[track_caller]
    pub fn run_foreign(
        &self,
        call: &Call,
        input: Option<Foreign>,
        output: Option<Foreign>,
    ) -> Result<Option<Status>> {
        match *call {
            Call::Send { to, tag, synchronous } => {
                let mode = if synchronous { Mode::Synchronous } else { Mode::Standard };
                self.run_send(input.unwrap_or(Foreign::EMPTY), to, tag, mode).map(|()| None)
            }
            Call::Receive { from, tag } => {
                self.recv_foreign(output.unwrap_or(Foreign::EMPTY), from, tag).map(Some)
            }
            _ => {
                let plan = self.checked_collective(call, input, output)?;
                self.run_plan(plan, input, output).map(|()| None)
            }
        }
    }

    /// What [`Communicator::run_foreign`] does of [`Call::Send`], for short messages: the arguments are not made a
    /// value first.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::send`].
    #[inline]
    pub fn send_foreign(&self, data: Foreign, to: usize, tag: u32) -> Result<()> {
        self.run_send(data, to, tag, Mode::Standard)
    }

    /// Does at once all that [`Communicator::begin_foreign`] would begin of [`Call::Send`], if the message can leave
    /// without waiting: then the memory is free and there is nothing to wait for. `false`: nothing has happened, and
    /// the send is to be begun.
    ///
    /// Only short messages leave so, and only where that costs no call of the system: over TCP messages that nobody
    /// waits for leave together. How many sends in a row leave is for the credit of the receiver to say.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]. How the world has failed is for the send to say that is begun.
    ///
    /// ```
    /// use ringworld::foreign::{Call, Foreign};
    /// # let world = ringworld::testing::alone();
    /// let mut data = [1u8, 2];
    /// // SAFETY: the array is borrowed by nobody else, and outlives the operation, which is waited for.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr(), data.len()) };
    /// if !world.try_send_foreign(memory, 0, 7)? {
    ///     let send = Call::Send { to: 0, tag: 7, synchronous: false };
    ///     world.begin_foreign(&send, Some(memory), None)?.wait()?;
    /// }
    /// assert_eq!(world.recv_vec::<u8>(0, 7)?.0, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn try_send_foreign(&self, data: Foreign, to: usize, tag: u32) -> Result<bool> {
        let mode = Mode::Standard;
        self.check_rank(send_name(mode), to)?;
        let left = leave_at_once(self.engine(), data, &self.send_call(to, tag, mode));
        if left {
            self.count_message();
        }
        Ok(left)
    }

    /// Moves on whatever can be moved without waiting, as every look at a pending operation does: for looks at sends
    /// that have left at once, of which there is nothing pending. Says whether anything has moved, so that there may be
    /// more.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u8], 0, 7)?;
    /// world.send(&[1u8], 0, 7)?;
    /// world.make_progress();
    /// assert_eq!(pending.wait()?.0, [1]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn make_progress(&self) -> bool {
        self.engine().enter().is_some_and(|mut core| core.progress())
    }

    /// What [`Communicator::run_foreign`] does of [`Call::Receive`], likewise.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::recv`].
    ///
    /// ```
    /// use ringworld::foreign::Foreign;
    /// # let world = ringworld::testing::alone();
    /// let mut data = [0u8; 2];
    /// // SAFETY: the array is borrowed by nobody else, and outlives the call.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr(), data.len()) };
    /// world.send(&[1u8, 2], 0, 7)?;
    /// let status = world.recv_foreign(memory, 0.into(), 7.into())?;
    /// assert_eq!((data, status.source, status.bytes()), ([1, 2], 0, 2));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    // Once in a program, so that the engine's part of it becomes one with it.
    #[inline(never)]
    pub fn recv_foreign(&self, data: Foreign, from: Source, tag: Tag) -> Result<Status> {
        let number = self.count_message();
        let receive = self.receive_call(from, tag)?;
        let (ending, ()) = blocking_foreign(self.engine(), None, Some(data), receive);
        let operation = Operation::Recv { name: RECV, number, from, tag };
        match ending {
            Ok(done) => self.status::<Raw>(done, &operation),
            Err(failure) => Err(self.error(failure, operation)),
        }
    }

    /// Sends and receives in one call, as [`Communicator::send_recv`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::send_recv`].
    ///
    /// ```
    /// use ringworld::foreign::Foreign;
    /// # let world = ringworld::testing::alone();
    /// let (mut given, mut got) = ([1u8, 2], [0u8; 2]);
    /// // SAFETY: both arrays are borrowed by nobody else, and outlive the call.
    /// let [input, output] = unsafe { [&mut given, &mut got].map(|data| Foreign::new(data.as_mut_ptr(), data.len())) };
    /// let status = world.send_recv_foreign((input, 0, 7), (output, 0.into(), 7.into()))?;
    /// assert_eq!((got, status.source, status.bytes()), ([1, 2], 0, 2));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[inline(never)]
    pub fn send_recv_foreign(
        &self,
        (input, to, send_tag): (Foreign, usize, u32),
        (output, from, tag): (Foreign, Source, Tag),
    ) -> Result<Status> {
        let name = send_name(Mode::Standard);
        self.check_rank(name, to)?;
        let receive = self.receive_call(from, tag)?;
        let number = self.count_message();
        let send = self.send_call(to, send_tag, Mode::Standard);
        let Endings { send, recv } = blocking_pair_foreign(self.engine(), (&send, input), (&receive, output));
        let operation = Operation::Recv { name: RECV, number, from, tag };
        let status = match recv.unwrap_or(Ok(None)) {
            Ok(done) => self.status::<Raw>(done, &operation)?,
            Err(failure) => return Err(self.error(failure, operation)),
        };
        match send.unwrap_or(Ok(None)) {
            Ok(_) => Ok(status),
            Err(failure) => Err(self.error(failure, Operation::Send { name, number, to, tag: send_tag })),
        }
    }

    /// What [`Communicator::run_foreign`] does of [`Call::AllReduce`], likewise: in place where there is no input.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::all_reduce`].
    ///
    /// ```
    /// use ringworld::foreign::{Foreign, Reducer};
    /// use ringworld::{DType, Op};
    /// # let world = ringworld::testing::alone();
    /// let mut data = [1f32, 2.0];
    /// // SAFETY: the array is borrowed by nobody else, and outlives the call.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr().cast(), size_of_val(&data)) };
    /// world.all_reduce_foreign(&Reducer::new(DType::F32, Op::Sum)?, None, memory)?;
    /// assert_eq!(data, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_foreign(&self, op: &Reducer, input: Option<Foreign>, output: Foreign) -> Result<()> {
        let counts = Counts::Same(op.apart("all_reduce", input.map(|data| data.len()), output.len())?);
        let plan = self.plan_of(Name::AllReduce, Collective::AllReduce, counts, op, input.is_none())?;
        op.aligned(&plan, input, Some(output))?;
        self.run_plan(plan, input, Some(output))
    }

    #[inline]
    fn run_plan(&self, plan: Plan, input: Option<Foreign>, output: Option<Foreign>) -> Result<()> {
        let (call, operation) = plan.into_call();
        let (ending, number) = blocking_foreign(self.engine(), input, output, call);
        ending.map(drop).map_err(|failure| self.error(failure, operation(number)))
    }

    #[inline(never)]
    fn run_send(&self, data: Foreign, to: usize, tag: u32, mode: Mode) -> Result<()> {
        self.check_rank(send_name(mode), to)?;
        let number = self.count_message();
        let (ending, ()) = blocking_foreign(self.engine(), Some(data), None, self.send_call(to, tag, mode));
        match ending {
            Ok(_) => Ok(()),
            Err(failure) => {
                Err(self.error(failure, Operation::Send { name: send_name(mode), number, to, tag }))
            }
        }
    }

    /// Begins a call and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments can be refused for; all else is reported by [`Pending::wait`].
    ///
    /// ```
    /// use ringworld::foreign::{Call, Foreign};
    /// # let world = ringworld::testing::alone();
    /// let mut data = [0u8; 2];
    /// // SAFETY: the array is borrowed by nobody else, and outlives the operation, which is waited for below.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr(), data.len()) };
    /// let call = Call::Receive { from: 0.into(), tag: 7.into() };
    /// let mut pending = world.begin_foreign(&call, None, Some(memory))?;
    /// world.send(&[1u8, 2], 0, 7)?;
    /// let status = pending.wait()?.expect("of a receive");
    /// assert_eq!((data, status.source, status.bytes()), ([1, 2], 0, 2));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    pub fn begin_foreign(
        &self,
        call: &Call,
        input: Option<Foreign>,
        output: Option<Foreign>,
    ) -> Result<Pending> {
        Pending::begin(self.clone(), call, input, output)
    }

    /// A send to be begun.
    #[inline]
    pub(super) fn send_to_begin(&self, to: usize, tag: u32, mode: Mode) -> Result<(SendCall, Operation)> {
        self.check_rank(send_name(mode), to)?;
        let (send, number) = (self.send_call(to, tag, mode), self.count_message());
        Ok((send, Operation::Send { name: send_name(mode), number, to, tag }))
    }

    /// A receive to be begun.
    #[inline]
    fn receive_to_begin(&self, from: Source, tag: Tag) -> Result<(ReceiveCall, Operation)> {
        let (number, receive) = (self.count_message(), self.receive_call(from, tag)?);
        Ok((receive, Operation::Recv { name: RECV, number, from, tag }))
    }

    #[inline]
    fn send_call(&self, to: usize, tag: u32, mode: Mode) -> SendCall {
        SendCall {
            to: self.world_rank(to),
            envelope: self.envelope(ElementCode::RAW, tag),
            mode,
            told: Told::of_another_language(Verb::SEND),
        }
    }

    #[inline]
    fn receive_call(&self, from: Source, tag: Tag) -> Result<ReceiveCall> {
        Ok(ReceiveCall {
            selector: self.selector(RECV, from, tag)?,
            element: ElementCode::RAW.into(),
            told: Told::of_another_language(Verb::RECEIVE),
        })
    }

    #[track_caller]
    fn checked_collective(
        &self,
        call: &Call,
        input: Option<Foreign>,
        output: Option<Foreign>,
    ) -> Result<Plan> {
        let plan =
            self.plan_foreign(call, input.map(|data| data.len()), output.map_or(0, |data| data.len()))?;
        if let Some(op) = call.op() {
            op.aligned(&plan, input, output)?;
        }
        Ok(plan)
    }

    /// `input`: bytes; `None`: in place. `output`: bytes, 0 where there is none.
    #[track_caller]
    fn plan_foreign(&self, call: &Call, input: Option<usize>, output: usize) -> Result<Plan> {
        let (given, rank) = (input.unwrap_or(0), self.rank());
        match call {
            Call::Send { .. } | Call::Receive { .. } | Call::Barrier => self.plan_barrier(),
            Call::Broadcast { root } => self.plan_broadcast::<u8>(output, *root),
            Call::Gather { root, blocks: Blocks::Same } => self.plan_gather::<u8>(given, output, *root),
            Call::Gather { root, blocks: Blocks::Each(counts) } => {
                self.plan_gather_varied::<u8>(given, output, Arc::clone(counts), *root)
            }
            Call::Scatter { root, blocks: Blocks::Same } => self.plan_scatter::<u8>(given, output, *root),
            Call::Scatter { root, blocks: Blocks::Each(counts) } => {
                self.plan_scatter_varied::<u8>(given, Arc::clone(counts), output, *root)
            }
            Call::AllGather { blocks: Blocks::Same } => self.plan_all_gather::<u8>(input, output),
            Call::AllGather { blocks: Blocks::Each(counts) } => {
                self.plan_all_gather_varied::<u8>(given, output, Arc::clone(counts))
            }
            Call::AllToAll => self.plan_all_to_all::<u8>(input, output),
            Call::AllToAllVaried { send, recv } => {
                self.plan_all_to_all_varied::<u8>((given, Arc::clone(send)), (output, Arc::clone(recv)))
            }
            Call::Reduce { root, op } => {
                self.check_rank("reduce", *root)?;
                let in_place = input.is_none();
                if rank == *root && !in_place {
                    same_length("reduce", "input", given, "output", output)?;
                }
                let count = op.count(if rank == *root { output } else { given })?;
                let collective = Collective::Reduce { root: *root };
                self.plan_of(Name::Reduce, collective, Counts::Same(count), op, in_place)
            }
            Call::AllReduce { op } => {
                let counts = Counts::Same(op.apart("all_reduce", input, output)?);
                self.plan_of(Name::AllReduce, Collective::AllReduce, counts, op, input.is_none())
            }
            Call::Scan { exclusive, op } => {
                let counts = Counts::Same(op.apart("scan", input, output)?);
                let (name, collective) = if *exclusive {
                    (Name::ExclusiveScan, Collective::ExclusiveScan)
                } else {
                    (Name::Scan, Collective::Scan)
                };
                self.plan_of(name, collective, counts, op, input.is_none())
            }
            Call::ReduceScatter { blocks: Blocks::Same, op } => {
                let whole = op.count(input.unwrap_or(output))?;
                if !whole.is_multiple_of(self.size()) {
                    let detail = format!("{whole} elements cannot be divided among {} ranks", self.size());
                    return Err(Error::InvalidCount { operation: "reduce_scatter".into(), detail });
                }
                let block = whole / self.size();
                if input.is_some() {
                    same_length("reduce_scatter", "block", block, "output", op.count(output)?)?;
                }
                let name = Name::ReduceScatter;
                self.plan_of(name, Collective::ReduceScatter, Counts::Same(block), op, input.is_none())
            }
            Call::ReduceScatter { blocks: Blocks::Each(counts), op } => {
                let name = "reduce_scatter_varied";
                same_length(name, "counts", counts.len(), "ranks", self.size())?;
                let sum = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count));
                same_length(name, "input", given, "sum of the counts", sum)?;
                same_length(name, "output", output, "this rank's count", counts[rank])?;
                let counts = counts.iter().map(|count| op.count(*count)).collect::<Result<Arc<[usize]>>>()?;
                let (name, collective) = (Name::ReduceScatterVaried, Collective::ReduceScatter);
                self.plan_of(name, collective, Counts::Each(counts), op, false)
            }
        }
    }

    #[track_caller]
    fn plan_of(
        &self,
        name: Name,
        collective: Collective,
        counts: Counts,
        op: &Reducer,
        in_place: bool,
    ) -> Result<Plan> {
        self.reducing_as(name, collective, counts, op.element, op.reducer.clone(), in_place)
    }
}

impl Call {
    fn op(&self) -> Option<&Reducer> {
        match self {
            Self::Reduce { op, .. }
            | Self::AllReduce { op }
            | Self::ReduceScatter { op, .. }
            | Self::Scan { op, .. } => Some(op),
            _ => None,
        }
    }
}

impl Reducer {
    /// How many elements so many bytes are.
    fn count(&self, bytes: usize) -> Result<usize> {
        let element = self.element.max(1);
        if bytes.is_multiple_of(element) {
            return Ok(bytes / element);
        }
        let detail = format!("{bytes} bytes are no whole number of elements of {element} bytes");
        Err(Error::InvalidCount { operation: "reduction".into(), detail })
    }

    /// Checks that elements lie where they can be combined.
    #[inline]
    fn aligned(&self, plan: &Plan, input: Option<Foreign>, output: Option<Foreign>) -> Result<()> {
        let misplaced = |data: Option<Foreign>| data.is_some_and(|data| !data.is_aligned_to(self.alignment));
        if misplaced(input) || misplaced(output) {
            let detail =
                format!("the memory is not aligned to {} bytes, as its elements are", self.alignment);
            return Err(Error::InvalidCount { operation: plan.what.signature.to_string(), detail });
        }
        Ok(())
    }

    /// How many elements input and output have.
    fn apart(&self, name: &str, input: Option<usize>, output: usize) -> Result<usize> {
        if let Some(input) = input {
            same_length(name, "input", input, "output", output)?;
        }
        self.count(output)
    }
}

impl<C: Borrow<Communicator>> Pending<C> {
    /// What [`Communicator::begin_foreign`] does, with the communicator kept by `communicator`: for whoever begins many
    /// short messages and keeps it already. To count references to it can take longer than to receive one.
    /// `communicator` must lend the same communicator each time.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::begin_foreign`].
    ///
    /// ```
    /// use ringworld::foreign::{Call, Foreign, Pending};
    /// # let world = ringworld::testing::alone();
    /// let mut data = [0u8; 2];
    /// // SAFETY: the array is borrowed by nobody else, and outlives the operation, which is waited for below.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr(), data.len()) };
    /// let call = Call::Receive { from: 0.into(), tag: 7.into() };
    /// let communicator: &ringworld::Communicator = &world;
    /// let mut pending = Pending::begin(communicator, &call, None, Some(memory))?;
    /// world.send(&[1u8, 2], 0, 7)?;
    /// pending.wait()?;
    /// assert_eq!(data, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn begin(
        communicator: C,
        call: &Call,
        input: Option<Foreign>,
        output: Option<Foreign>,
    ) -> Result<Self> {
        let this = communicator.borrow();
        match *call {
            Call::Send { to, tag, synchronous } => {
                let mode = if synchronous { Mode::Synchronous } else { Mode::Standard };
                let (send, operation) = this.send_to_begin(to, tag, mode)?;
                Ok(Self::start(communicator, Some(input.unwrap_or(Foreign::EMPTY)), None, send, |()| {
                    operation
                }))
            }
            Call::Receive { from, tag } => {
                let (receive, operation) = this.receive_to_begin(from, tag)?;
                let output = Some(output.unwrap_or(Foreign::EMPTY));
                Ok(Self::start(communicator, None, output, receive, |()| operation))
            }
            _ => {
                let (call, operation) = this.checked_collective(call, input, output)?.into_call();
                Ok(Self::start(communicator, input, output, call, operation))
            }
        }
    }
}

impl Message {
    /// Receives it into foreign memory, and returns when it is there.
    ///
    /// # Errors
    ///
    /// As for [`Message::recv`].
    ///
    /// ```
    /// use ringworld::foreign::Foreign;
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u8, 2], 0, 7)?;
    /// let mut data = [0u8; 2];
    /// // SAFETY: the array is borrowed by nobody else, and outlives the operation, which is waited for.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr(), data.len()) };
    /// world.probe_matched(0, 7)?.begin_foreign(memory)?.wait()?;
    /// assert_eq!(data, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn begin_foreign(mut self, output: Foreign) -> Result<Pending> {
        let (communicator, status) = (self.communicator().clone(), self.status());
        let (from, tag) = (Source::Rank(status.source), Tag::Value(status.tag));
        let operation = Operation::Recv { name: "recv of a matched message", number: 0, from, tag };
        let Some(matched) = self.take_handle() else {
            return Err(Error::Cancelled { operation: operation.to_string() });
        };
        let receive = ringworld_engine::MatchedReceiveCall {
            matched,
            element: ElementCode::RAW.into(),
            told: Told::of_another_language(Verb::RECEIVE),
        };
        Ok(Pending::start(communicator, None, Some(output), receive, |()| operation))
    }
}
