//! A collective, arguments checked and memory staged, that is run, begun, or begun again and again.

use std::sync::Arc;

use ringworld::Communicator;
use ringworld::foreign::{Call, Foreign};

use crate::datatypes::{Buffer, Owned};
use crate::error::Result;
use crate::status::Status;
use crate::work::{Work, all_well};

/// What is done when it has ended: elements find their places, and memory of this library's is freed.
type After = Box<dyn FnOnce() + Send>;

/// A collective.
pub(crate) enum Plan {
    /// One of the runtime's.
    Call {
        on: Communicator,
        call: Call,
        input: Option<Foreign>,
        output: Option<Foreign>,
        after: Option<After>,
    },
    /// One that is made of messages and others.
    Steps(Box<dyn FnOnce() -> Result<Work> + Send>),
    /// There is nothing to do.
    Nothing,
}

impl Plan {
    /// Does it, and returns when it is done.
    #[inline]
    #[track_caller]
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Call { on, call, input, output, after } => {
                on.run_foreign(&call, input, output)?;
                if let Some(after) = after {
                    after();
                }
                Ok(())
            }
            Self::Steps(begin) => begin()?.wait().map(drop),
            Self::Nothing => Ok(()),
        }
    }

    #[track_caller]
    pub(crate) fn start(self) -> Result<Work> {
        match self {
            Self::Call { on, call, input, output, after } => {
                let pending = on.begin_foreign(&call, input, output)?;
                Ok(Work::many(
                    vec![pending],
                    Box::new(move |ended| {
                        all_well(ended)?;
                        if let Some(after) = after {
                            after();
                        }
                        Ok(Work::Done(Status::EMPTY))
                    }),
                ))
            }
            Self::Steps(begin) => begin(),
            Self::Nothing => Ok(Work::Done(Status::EMPTY)),
        }
    }
}

/// Buffers of one side of a collective, one for each rank.
pub(crate) type Parts = Vec<Buffer>;

/// The root of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// This process.
    Me,
    /// Another one, of this group, or of the other group of an intercommunicator.
    Rank(usize),
    /// Another one of this process's group of an intercommunicator.
    Beside,
}

/// Bytes of each part.
pub(crate) fn bytes_of(parts: &[Buffer]) -> Arc<[usize]> {
    parts.iter().map(Buffer::bytes).collect()
}

/// Memory of a collective, as it is put together.
#[derive(Default)]
pub(crate) struct Staging {
    held: Vec<Owned>,
    places: Vec<(usize, Vec<Buffer>)>,
}

impl Staging {
    /// What is read: where it lies, or a copy without holes. `alignment`: what the operation needs.
    pub(crate) fn input(&mut self, buffer: &Buffer, alignment: usize) -> Foreign {
        match buffer.dense() {
            Some(memory) if memory.is_aligned_to(alignment) => memory,
            _ => self.hold(buffer.pack()),
        }
    }

    /// What is written, and read before if it is `kept`.
    pub(crate) fn output(&mut self, buffer: &Buffer, alignment: usize, kept: bool) -> Foreign {
        match buffer.dense() {
            Some(memory) if memory.is_aligned_to(alignment) => memory,
            _ => {
                let owned = if kept { buffer.pack() } else { Owned::new(buffer.bytes()) };
                self.places.push((self.held.len(), vec![buffer.clone()]));
                self.hold(owned)
            }
        }
    }

    /// Several buffers as one input.
    pub(crate) fn gathered(&mut self, buffers: &[Buffer]) -> Foreign {
        if let Some(memory) = adjacent(buffers) {
            return memory;
        }
        let mut owned = Owned::new(buffers.iter().map(Buffer::bytes).sum());
        let mut done = 0;
        for buffer in buffers {
            let end = done + buffer.bytes();
            buffer.pack_into(&mut owned.bytes_mut()[done..end]);
            done = end;
        }
        self.hold(owned)
    }

    /// One output for several buffers.
    pub(crate) fn scattered(&mut self, buffers: Vec<Buffer>) -> Foreign {
        if let Some(memory) = adjacent(&buffers) {
            return memory;
        }
        let owned = Owned::new(buffers.iter().map(Buffer::bytes).sum());
        self.places.push((self.held.len(), buffers));
        self.hold(owned)
    }

    /// Memory of this library's, until the end.
    pub(crate) fn hold(&mut self, mut owned: Owned) -> Foreign {
        let memory = owned.foreign();
        self.held.push(owned);
        memory
    }

    /// What is done at the end.
    pub(crate) fn after(self) -> Option<After> {
        if self.held.is_empty() {
            return None;
        }
        Some(Box::new(move || {
            for (owned, buffers) in &self.places {
                let mut rest = self.held[*owned].bytes();
                for buffer in buffers {
                    let (bytes, after) = rest.split_at(buffer.bytes().min(rest.len()));
                    buffer.unpack(bytes);
                    rest = after;
                }
            }
        }))
    }

    /// The collective with this memory.
    pub(crate) fn call(
        self,
        on: &Communicator,
        call: Call,
        input: Option<Foreign>,
        output: Option<Foreign>,
    ) -> Plan {
        Plan::Call { on: on.clone(), call, input, output, after: self.after() }
    }
}

/// The memory of buffers that lie one behind the other.
fn adjacent(buffers: &[Buffer]) -> Option<Foreign> {
    let mut filled = buffers.iter().filter(|buffer| buffer.bytes() > 0);
    let Some(first) = filled.next() else { return Some(Foreign::EMPTY) };
    first.dense()?;
    let mut end = first.address.number().wrapping_add(first.bytes());
    for buffer in filled {
        buffer.dense()?;
        if buffer.address.number() != end {
            return None;
        }
        end = end.wrapping_add(buffer.bytes());
    }
    Some(first.address.foreign(end.wrapping_sub(first.address.number())))
}
