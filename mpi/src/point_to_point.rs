//! Sends and receives, of all modes.
//!
//! Elements without holes go where the runtime's own go, by its short path when the call waits; others are packed.

use std::sync::Arc;

use ringworld::foreign::{Call, Foreign};
use ringworld::{Source, Tag};

use crate::buffered;
use crate::comms::{Comm, Peer, tag, tags};
use crate::datatypes::{Buffer, Owned};
use crate::error::Result;
use crate::inside;
use crate::sessions;
use crate::status::Status;
use crate::work::{Work, all_well, end_of, not_received, status_of};

/// How a send ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// When the memory is free. A ready send is such a one, too.
    Standard,
    /// When the receiver has begun to receive.
    Synchronous,
    /// At once, into memory that was attached.
    Buffered,
}

/// A send, arguments checked.
#[derive(Clone, Debug)]
pub(crate) struct Send {
    pub(crate) comm: Arc<Comm>,
    pub(crate) buffer: Buffer,
    pub(crate) to: Peer,
    pub(crate) tag: u32,
    pub(crate) mode: Mode,
}

impl Send {
    #[inline]
    pub(crate) fn new(comm: &Arc<Comm>, buffer: Buffer, dest: i32, given: i32, mode: Mode) -> Result<Self> {
        Ok(Self { to: comm.peer(dest)?, tag: tag(given)?, comm: Arc::clone(comm), buffer, mode })
    }

    fn call(&self, to: usize) -> Call {
        Call::Send { to, tag: self.tag, synchronous: self.mode == Mode::Synchronous }
    }

    /// Sends, and returns when the mode says so.
    #[inline]
    pub(crate) fn run(&self) -> Result<()> {
        let Peer::Rank(to) = self.to else { return Ok(()) };
        if self.mode == Mode::Buffered {
            return self.buffered(to);
        }
        match self.buffer.dense() {
            Some(memory) => self.comm.all.run_foreign(&self.call(to), Some(memory), None)?,
            None => self.comm.all.run_foreign(&self.call(to), Some(self.buffer.pack().foreign()), None)?,
        };
        Ok(())
    }

    pub(crate) fn start(&self) -> Result<Work> {
        let Peer::Rank(to) = self.to else { return Ok(Work::Done(Status::FROM_NOBODY)) };
        if self.mode == Mode::Buffered {
            self.buffered(to)?;
            return Ok(Work::Done(Status::EMPTY));
        }
        let Some(memory) = self.buffer.dense() else { return self.start_packed(self.buffer.pack(), to) };
        if self.leaves(memory, to)? {
            return Ok(Work::Done(Status::EMPTY));
        }
        Ok(Work::One(self.comm.all.begin_foreign(&self.call(to), Some(memory), None)?, 0))
    }

    /// Whether it is short and has left at once, so that there is nothing to wait for.
    fn leaves(&self, memory: Foreign, to: usize) -> Result<bool> {
        Ok(self.mode != Mode::Synchronous && self.comm.all.try_send_foreign(memory, to, self.tag)?)
    }

    fn start_packed(&self, mut packed: Owned, to: usize) -> Result<Work> {
        if self.leaves(packed.foreign(), to)? {
            return Ok(Work::Done(Status::EMPTY));
        }
        let pending = self.comm.all.begin_foreign(&self.call(to), Some(packed.foreign()), None)?;
        Ok(Work::many(
            vec![pending],
            Box::new(move |ended| {
                drop(packed);
                all_well(ended).map(|()| Work::Done(Status::EMPTY))
            }),
        ))
    }

    fn buffered(&self, to: usize) -> Result<()> {
        inside::refuse("send")?;
        let of_process = self.comm.pool.is_attached() || buffered::PROCESS.is_attached();
        let session = if of_process { None } else { sessions::buffering() };
        let pool = match &session {
            Some(session) => &session.pool,
            None if self.comm.pool.is_attached() => &self.comm.pool,
            None => &buffered::PROCESS,
        };
        pool.take(self.comm.handle(), self.buffer.bytes(), || self.start_packed(self.buffer.pack(), to))
    }
}

/// A receive, arguments checked.
#[derive(Clone, Debug)]
pub(crate) struct Receive {
    pub(crate) comm: Arc<Comm>,
    pub(crate) buffer: Buffer,
    /// `None`: from nobody.
    pub(crate) from: Option<Source>,
    pub(crate) tag: Tag,
}

impl Receive {
    #[inline]
    pub(crate) fn new(comm: &Arc<Comm>, buffer: Buffer, source: i32, given: i32) -> Result<Self> {
        Ok(Self { from: comm.source(source)?, tag: tags(given)?, comm: Arc::clone(comm), buffer })
    }

    #[inline]
    pub(crate) fn run(&self) -> Result<Status> {
        let Some(from) = self.from else { return Ok(Status::FROM_NOBODY) };
        let call = Call::Receive { from, tag: self.tag };
        let first = self.comm.first_peer();
        let run = |memory| match self.comm.all.run_foreign(&call, None, Some(memory)) {
            Ok(status) => Ok(status_of(status, first)),
            Err(why) => Err(not_received(why, first)),
        };
        if let Some(memory) = self.buffer.dense() {
            return run(memory);
        }
        let mut packed = Owned::new(self.buffer.bytes());
        let status = run(packed.foreign())?;
        self.buffer.unpack(&packed.bytes()[..status.bytes as usize]);
        Ok(status)
    }

    pub(crate) fn start(&self) -> Result<Work> {
        let Some(from) = self.from else { return Ok(Work::Done(Status::FROM_NOBODY)) };
        let call = Call::Receive { from, tag: self.tag };
        let first = self.comm.first_peer();
        if let Some(memory) = self.buffer.dense() {
            return Ok(Work::One(self.comm.all.begin_foreign(&call, None, Some(memory))?, first));
        }
        let mut packed = Owned::new(self.buffer.bytes());
        let pending = self.comm.all.begin_foreign(&call, None, Some(packed.foreign()))?;
        Ok(unpacking(pending, packed, self.buffer.clone(), first))
    }
}

/// A receive into memory of this library's, whose elements find their places when it has ended.
fn unpacking(pending: ringworld::foreign::Pending, packed: Owned, buffer: Buffer, first: usize) -> Work {
    Work::many(
        vec![pending],
        Box::new(move |mut ended| {
            let status = ended.pop().map_or(Ok(Status::EMPTY), |ended| end_of(ended, first))?;
            buffer.unpack(&packed.bytes()[..(status.bytes as usize).min(packed.bytes().len())]);
            Ok(Work::Done(status))
        }),
    )
}

/// A message that a matched probe has set aside.
pub(crate) struct Matched {
    pub(crate) comm: Arc<Comm>,
    pub(crate) message: ringworld::Message,
}

impl Matched {
    pub(crate) fn status(&self) -> Status {
        status_of(Some(self.message.status()), self.comm.first_peer())
    }

    pub(crate) fn start(self, buffer: Buffer) -> Result<Work> {
        let first = self.comm.first_peer();
        if let Some(memory) = buffer.dense() {
            return Ok(Work::One(self.message.begin_foreign(memory)?, first));
        }
        let mut packed = Owned::new(buffer.bytes());
        let pending = self.message.begin_foreign(packed.foreign())?;
        Ok(unpacking(pending, packed, buffer, first))
    }
}

/// A send and a receive at once.
pub(crate) fn exchange(send: &Send, receive: &Receive) -> Result<Status> {
    if let (Peer::Rank(to), Some(from)) = (send.to, receive.from)
        && let (Some(input), Some(output)) = (send.buffer.dense(), receive.buffer.dense())
        && send.mode == Mode::Standard
    {
        let (all, first) = (&send.comm.all, receive.comm.first_peer());
        return match all.send_recv_foreign((input, to, send.tag), (output, from, receive.tag)) {
            Ok(status) => Ok(status_of(Some(status), first)),
            Err(why) => Err(not_received(why, first)),
        };
    }
    let mut received = receive.start()?;
    let mut sent = send.start()?;
    let status = received.wait();
    sent.wait()?;
    status
}
