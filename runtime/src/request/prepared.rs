//! Persistent operations: arguments checked, schedule made and buffers owned once, started many times.
//!
//! The loop of a training step or a stencil calls the same collectives on the same buffers again and
//! again. [`Prepared`] keeps all that stays the same, registrations of the buffers with network cards included;
//! [`Prepared::start`] costs no check, no lookup and no allocation.

use std::fmt;

use bytemuck::Pod;
use ringworld_collectives::{Action, Buffer};
use ringworld_protocol::Mode;

use super::registered::refused;
use super::wait::{Place, Request, sealed};
use crate::Result;
use crate::communicator::{Communicator, Of};
use crate::message::operation::Operation;
use crate::message::{Source, Status, Tag};
use ringworld_engine::lend::Loan;
use ringworld_engine::{CollectiveCall, ElementCode, Ending, ReceiveCall, SendCall, Told, Verb};

/// An operation with its buffers, to be started any number of times, one after the other.
///
/// ```
/// use ringworld::Op;
/// # let world = ringworld::testing::alone();
/// let mut step = world.prepare_all_reduce(vec![0f32; 4], Op::Average)?;
/// for round in 0..3 {
///     step.input_mut().fill(round as f32);
///     let running = step.start()?;
///     // ... compute something else ...
///     let average = running.wait()?;
///     assert_eq!(average, [round as f32; 4]);
/// }
/// # Ok::<(), ringworld::Error>(())
/// ```
///
/// Buffers that take part in messages longer than [the eager limit](crate::eager_limit) stay registered with the
/// transports that gain by that (see [`Communicator::register`]) for as long as it has them. A card that refuses them,
/// for another reason than the limit on pinned memory, makes `prepare_*` fail with
/// [`Error::System`](crate::Error::System).
///
/// While it runs, its buffers cannot be touched:
///
/// ```compile_fail,E0499
/// use ringworld::Op;
/// # let world = ringworld::testing::alone();
/// let mut step = world.prepare_all_reduce(vec![0f32; 4], Op::Sum)?;
/// let running = step.start()?;
/// step.input_mut()[0] = 1.0;
/// running.wait()?;
/// # Ok::<(), ringworld::Error>(())
/// ```
pub struct Prepared<T: Pod + Send> {
    loan: Loan<T, Of>,
    what: What,
}

/// What is started.
enum What {
    Collective(CollectiveCall),
    Send { send: SendCall, to: usize, tag: u32 },
    Recv { recv: ReceiveCall, from: Source, tag: Tag },
}

impl<T: Pod + Send> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Collective(start) => write!(f, "Prepared({})", start.what.signature),
            What::Send { to, tag, .. } => write!(f, "Prepared(send to rank {to}, tag {tag})"),
            What::Recv { from, tag, .. } => write!(f, "Prepared(recv from {from}, {tag})"),
        }
    }
}

impl<T: Pod + Send> Prepared<T> {
    /// Starts it. The buffers are out of reach until what this returns has been waited for or dropped.
    ///
    /// # Errors
    ///
    /// None now; failures are reported by [`Running::wait`].
    #[doc(alias("MPI_Start", "MPI_Startall", "Startall"))]
    pub fn start(&mut self) -> Result<Running<'_, T>> {
        let running = self.start_unattended();
        running.prepared.loan.help();
        Ok(running)
    }

    /// The longest message that is sent from or received into each buffer (input, output), in bytes. Collectives cut
    /// long vectors into segments, so this may be far less than the length of the buffer.
    fn longest_messages(&self) -> [usize; 2] {
        let What::Collective(start) = &self.what else { return self.loan.lengths().into() };
        let mut longest = [0; 2];
        for action in start.what.schedule.actions() {
            let (Action::Send { from: span, .. } | Action::Recv { into: span, .. }) = action else {
                continue;
            };
            let longest = match span.buffer {
                Buffer::Input => &mut longest[0],
                Buffer::Output => &mut longest[1],
                Buffer::Scratch => continue,
            };
            *longest = span.len.saturating_mul(start.what.element).max(*longest);
        }
        longest
    }

    fn start_unattended(&mut self) -> Running<'_, T> {
        let operation = match &self.what {
            What::Collective(start) => {
                let (signature, caller) = (start.what.signature, start.caller);
                let sequence = self.loan.start(start.clone());
                Operation::Collective { signature, sequence, caller }
            }
            &What::Send { send, to, tag } => {
                let number = self.loan.borrower().0.count_message();
                self.loan.start(send);
                Operation::Send { name: "prepared send", number, to, tag }
            }
            &What::Recv { recv, from, tag } => {
                let number = self.loan.borrower().0.count_message();
                self.loan.start(recv);
                Operation::Recv { name: "prepared recv", number, from, tag }
            }
        };
        Running { prepared: self, operation }
    }

    /// Starts it and waits for its end: the same call every time, without the cost of checking it.
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned.
    pub fn run(&mut self) -> Result<&mut [T]> {
        self.start_unattended().wait()
    }

    /// What it reads, to be changed between runs. In place, and for a receive: the one buffer there is.
    pub fn input_mut(&mut self) -> &mut [T] {
        let (input, output) = self.loan.buffers();
        input.or(output).unwrap_or_default()
    }

    /// What it writes. In place, and for a send: the one buffer there is.
    pub fn output(&mut self) -> &mut [T] {
        let (input, output) = self.loan.buffers();
        output.or(input).unwrap_or_default()
    }

    /// Gives the buffers back: (input, output). One that does not exist is empty: of a send there is the input only, of
    /// a receive and of an operation in place the output.
    #[must_use]
    pub fn into_buffers(mut self) -> (Vec<T>, Vec<T>) {
        let (input, output) = self.loan.take_buffers();
        (input.unwrap_or_default(), output.unwrap_or_default())
    }
}

/// A [`Prepared`] operation that runs.
///
/// Dropping it is sound: the operation goes on, its failure goes unnoticed, and the next use of the
/// [`Prepared`] waits for its end.
#[must_use = "its failure shows when it is waited for"]
pub struct Running<'a, T: Pod + Send> {
    prepared: &'a mut Prepared<T>,
    operation: Operation,
}

impl<T: Pod + Send> fmt::Debug for Running<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Running({})", self.operation)
    }
}

impl<'a, T: Pod + Send> Running<'a, T> {
    /// Waits for the end; gives what it has written (what a send has sent).
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned. The buffers stay with the [`Prepared`].
    #[doc(alias = "MPI_Wait")]
    pub fn wait(self) -> Result<&'a mut [T]> {
        Ok(self.wait_for_status()?.0)
    }

    /// Like [`Running::wait`]; for a receive, also says what came.
    ///
    /// # Errors
    ///
    /// As for [`Running::wait`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut send = world.prepare_send(vec![1u8, 2], 0, 7)?;
    /// let mut recv = world.prepare_recv(vec![0u8; 8], 0, 7)?;
    /// for _ in 0..3 {
    ///     let receiving = recv.start()?;
    ///     send.run()?;
    ///     let (data, status) = receiving.wait_for_status()?;
    ///     assert_eq!(status.map(|status| &data[..status.count]), Some(&[1u8, 2][..]));
    /// }
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn wait_for_status(self) -> Result<(&'a mut [T], Option<Status>)> {
        let Self { prepared, operation } = self;
        // It has been begun, and nobody else can wait for it.
        let ending: Ending = prepared.loan.wait().unwrap_or(Ok(None));
        let communicator = &prepared.loan.borrower().0;
        let done = ending.map_err(|failure| communicator.error(failure, operation))?;
        let status = match prepared.what {
            What::Recv { .. } => Some(communicator.status::<T>(done, &operation)?),
            _ => None,
        };
        Ok((prepared.output(), status))
    }

    /// Makes progress, and says whether it has ended, so that [`Running::wait`] will not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.prepared.loan.is_done()
    }
}

impl<T: Pod + Send> sealed::Sealed for Running<'_, T> {}
impl<'a, T: Pod + Send> Request for Running<'a, T> {
    type Output = &'a mut [T];

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn wait(self) -> Result<&'a mut [T]> {
        Self::wait(self)
    }

    fn place(&self) -> Place<'_> {
        Place { engine: self.prepared.loan.borrower().0.engine(), call: self.prepared.loan.call() }
    }
}

/// # Messages, persistent
impl Communicator {
    /// Prepares a collective on memory that is given to it here.
    pub(crate) fn prepare_collective<T: Pod + Send>(
        &self,
        start: CollectiveCall,
        input: Option<Vec<T>>,
        output: Option<Vec<T>>,
    ) -> Result<Prepared<T>> {
        self.prepared(What::Collective(start), input, output)
    }

    fn prepared<T: Pod + Send>(
        &self,
        what: What,
        input: Option<Vec<T>>,
        output: Option<Vec<T>>,
    ) -> Result<Prepared<T>> {
        let loan = Loan::new(Of(self.clone()), input, output);
        let mut prepared = Prepared { loan, what };
        let longest = prepared.longest_messages();
        prepared.loan.register_for(longest).map_err(|cause| refused(format!("{prepared:?}"), &cause))?;
        Ok(prepared)
    }

    /// Prepares a [`Communicator::send`] that is started many times on one owned buffer.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`](crate::Error::InvalidRank).
    ///
    /// See [`Running::wait_for_status`] for an example.
    #[doc(alias("MPI_Send_init", "Send_init"))]
    #[track_caller]
    pub fn prepare_send<T: Pod + Send>(&self, data: Vec<T>, to: usize, tag: u32) -> Result<Prepared<T>> {
        self.check_rank("prepare_send", to)?;
        let envelope = self.envelope(ElementCode::of::<T>(), tag);
        let send = SendCall {
            to: self.world_rank(to),
            envelope,
            mode: Mode::Standard,
            told: Told::here(Verb::SEND),
        };
        let what = What::Send { send, to, tag };
        self.prepared(what, Some(data), None)
    }

    /// Prepares a [`Communicator::recv`] that is started many times into one owned buffer, at its present
    /// length.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`](crate::Error::InvalidRank).
    ///
    /// See [`Running::wait_for_status`] for an example.
    #[doc(alias("MPI_Recv_init", "Recv_init"))]
    #[track_caller]
    pub fn prepare_recv<T: Pod + Send>(
        &self,
        buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Prepared<T>> {
        let (from, tag) = (from.into(), tag.into());
        let selector = self.selector("prepare_recv", from, tag)?;
        let recv =
            ReceiveCall { selector, element: ElementCode::of::<T>().into(), told: Told::here(Verb::RECEIVE) };
        self.prepared(What::Recv { recv, from, tag }, None, Some(buffer))
    }
}
