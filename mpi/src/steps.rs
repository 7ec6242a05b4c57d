//! Messages of this library's own, several at once: what neighbourhood collectives and intercommunicators are made of.

use ringworld::foreign::Call;
use ringworld::{Communicator, Source, Tag};

use crate::datatypes::{Buffer, Owned};
use crate::error::Result;
use crate::status::Status;
use crate::work::{Work, all_well};

/// Messages to send and to receive, by ranks and tags of a communicator.
pub(crate) struct Messages {
    on: Communicator,
    sends: Vec<(usize, u32, Buffer)>,
    receives: Vec<(usize, u32, Buffer)>,
}

impl Messages {
    pub(crate) fn new(on: &Communicator) -> Self {
        Self { on: on.clone(), sends: Vec::new(), receives: Vec::new() }
    }

    pub(crate) fn send(&mut self, to: usize, tag: u32, buffer: Buffer) {
        self.sends.push((to, tag, buffer));
    }

    pub(crate) fn receive(&mut self, from: usize, tag: u32, buffer: Buffer) {
        self.receives.push((from, tag, buffer));
    }

    /// Begins them all; `next` is what comes when they have ended.
    pub(crate) fn start(self, next: impl FnOnce() -> Result<Work> + Send + 'static) -> Result<Work> {
        let Self { on, sends, receives } = self;
        let mut pending = Vec::with_capacity(sends.len() + receives.len());
        let mut held = Vec::new();
        let mut unpacked = Vec::new();
        let begin = || {
            for (from, tag, buffer) in receives {
                let memory = buffer.dense().unwrap_or_else(|| {
                    let mut owned = Owned::new(buffer.bytes());
                    let memory = owned.foreign();
                    unpacked.push((owned, buffer));
                    memory
                });
                let call = Call::Receive { from: Source::Rank(from), tag: Tag::Value(tag) };
                pending.push(on.begin_foreign(&call, None, Some(memory))?);
            }
            for (to, tag, buffer) in sends {
                let memory = buffer.dense().unwrap_or_else(|| {
                    let mut owned = buffer.pack();
                    let memory = owned.foreign();
                    held.push(owned);
                    memory
                });
                if !on.try_send_foreign(memory, to, tag)? {
                    let call = Call::Send { to, tag, synchronous: false };
                    pending.push(on.begin_foreign(&call, Some(memory), None)?);
                }
            }
            Ok(())
        };
        if let Err(why) = begin() {
            // Those that have begun still use it.
            std::mem::forget((held, unpacked));
            return Err(why);
        }
        Ok(Work::many(
            pending,
            Box::new(move |ended| {
                drop(held);
                all_well(ended)?;
                for (owned, buffer) in &unpacked {
                    buffer.unpack(owned.bytes());
                }
                next()
            }),
        ))
    }

    /// Begins them all, and that is all.
    pub(crate) fn start_only(self) -> Result<Work> {
        self.start(|| Ok(Work::Done(Status::EMPTY)))
    }
}

/// Memory of this library's as a buffer of bytes; it must be kept as long as that.
pub(crate) fn bytes_of(owned: &mut Owned) -> Result<Buffer> {
    let datatype = crate::datatypes::get(crate::standard::Datatype::BYTE)?;
    let bytes = owned.bytes_mut();
    let count = bytes.len();
    Ok(Buffer { address: crate::arguments::Address::of_bytes_mut(bytes), count, datatype })
}
