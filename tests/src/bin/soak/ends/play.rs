//! One rank's part in a world that ends in disorder, through the public calls.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use ringworld::{Communicator, Error, Op, Outcome, Pending, Prepared, Result, Status, UserOp, World};
use ringworld_tests::clock;

use crate::watch::flat;

use super::script::{Act, Fate, Held, Last, Leave, Operation, Script};

/// What panics on purpose says so.
pub(crate) const ON_PURPOSE: &str = "panics on purpose";

/// What freed memory is allocated again with.
const CANARY: u8 = 0xa5;

/// What a rank met. Shared, because the rank may hang or panic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Where it is now.
    pub(crate) stage: String,
    pub(crate) errors: Vec<Met>,
    pub(crate) wrong: Vec<String>,
    /// When it began to leave.
    pub(crate) leaving: Option<u64>,
    pub(crate) done: bool,
}

/// An error that a call returned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met {
    pub(crate) at: u64,
    pub(crate) call: String,
    /// The name of the error's variant.
    pub(crate) variant: String,
    /// The rank that it names.
    pub(crate) named: Option<usize>,
    pub(crate) text: String,
}

impl Met {
    fn new(call: String, error: &Error) -> Self {
        let variant = error.name().to_owned();
        let named = match error {
            Error::PeerFailed { rank, .. }
            | Error::PeerFinished { rank, .. }
            | Error::Aborted { rank, .. } => Some(*rank),
            _ => None,
        };
        Self { at: clock::now(), call, variant, named, text: flat(&error.to_string()) }
    }
}

/// The report of a rank, seen by all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<Report>>);

impl Shared {
    pub(crate) fn get(&self) -> Report {
        self.with(|report| report.clone())
    }

    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Report) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stage(&self, stage: String) {
        self.with(|report| report.stage = stage);
    }

    pub(crate) fn met(&self, call: String, error: Error) {
        self.with(|report| report.errors.push(Met::new(call, &error)));
    }

    fn wrong(&self, what: String) {
        self.with(|report| report.wrong.push(what));
    }
}

/// Memory that lies where other memory was freed; nobody may write to it.
#[derive(Debug, Default)]
pub(crate) struct Canaries(Vec<Vec<u8>>);

impl Canaries {
    /// Takes the place of `bytes` just freed.
    pub(crate) fn settle(&mut self, bytes: usize) {
        self.0.push(vec![CANARY; bytes]);
    }

    /// What has been written to them.
    pub(crate) fn touched(&self) -> Option<String> {
        self.0.iter().find_map(|memory| {
            let at = memory.iter().position(|byte| *byte != CANARY)?;
            let bytes = &memory[at..memory.len().min(at + 16)];
            Some(format!(
                "memory of {} bytes was written at {at} after it was freed: {bytes:02x?}",
                memory.len()
            ))
        })
    }
}

/// A message's bytes: told by its tag.
fn payload(tag: u32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (tag as usize * 31 + index * 7 + (index >> 8)) as u8).collect()
}

/// What is held until the end of the script, and what to do with it then.
type Late = Box<dyn Any>;
type Waiting = (String, Box<dyn FnOnce() -> Result<Option<String>>>);

struct Part<'a> {
    rank: usize,
    size: usize,
    shared: &'a Shared,
    canaries: Canaries,
    late: Vec<Late>,
    waiting: Vec<Waiting>,
    kept: Vec<Communicator>,
}

/// Plays a script to its end, the World included. What was allocated where memory was freed comes back, to be looked at
/// when the whole world has ended.
pub(crate) fn play(world: World, script: &Script, shared: &Shared) -> Canaries {
    let mut part = Part {
        rank: world.rank(),
        size: world.size(),
        shared,
        canaries: Canaries::default(),
        late: Vec::new(),
        waiting: Vec::new(),
        kept: Vec::new(),
    };
    // As in a main that returns at the first error.
    let ended = part.acts(&world, &script.acts);
    if ended.is_ok() {
        part.waits();
    }
    let Part { mut canaries, late, waiting, kept, .. } = part;
    let leaving = || {
        shared.with(|report| {
            report.leaving = Some(clock::now());
            report.stage = "dropping the World".into();
        });
    };
    match script.last {
        Last::Drop => {}
        Last::Forget => {
            leaving();
            std::mem::forget(world);
            return canaries;
        }
        Last::Exit => {
            leaving();
            crate::watch::say("exits", "");
            std::process::exit(0);
        }
        Last::Abort => {
            leaving();
            world.abort(7);
        }
        Last::Crash => {
            leaving();
            std::process::abort();
        }
    }
    if script.world_first {
        leaving();
        drop(world);
        shared.stage("dropping what it held, after the World".into());
        drop((late, waiting));
    } else {
        shared.stage("dropping what it held, before the World".into());
        drop((late, waiting));
        canaries.settle(1 << 20);
        leaving();
        drop(world);
    }
    for bytes in [1 << 20, 300_000, 5_000, 256] {
        canaries.settle(bytes);
    }
    shared.stage("using a communicator after the World".into());
    for communicator in &kept {
        after(communicator, shared);
    }
    drop(kept);
    shared.with(|report| {
        report.stage = "at its end".into();
        report.done = true;
    });
    canaries
}

/// Every call on a communicator whose World is gone fails.
fn after(communicator: &Communicator, shared: &Shared) {
    let to = (communicator.rank() + 1) % communicator.size();
    let results = [
        ("send", communicator.send(&[1u8], to, 1)),
        ("barrier", communicator.barrier()),
        ("start_send", communicator.start_send(vec![1u8; 1 << 20], to, 2).map(drop)),
        ("start_recv", communicator.start_recv(vec![0u8; 1 << 20], to, 2).map(drop)),
    ];
    for (call, result) in results {
        match result {
            Ok(()) if call.starts_with("start") => {}
            Ok(()) => shared.wrong(format!("{call} succeeded after the World was dropped")),
            Err(error) => shared.met(format!("{call} after the World was dropped"), error),
        }
    }
}

impl Part<'_> {
    /// The first error ends the script, as `?` would.
    fn acts(&mut self, world: &World, acts: &[Act]) -> Result<(), ()> {
        for (number, act) in acts.iter().enumerate() {
            let text = format!("act {number}, {act:?}");
            self.shared.stage(text.clone());
            if let Err(error) = self.act(world, act, &text) {
                self.shared.met(text, error);
                return Err(());
            }
        }
        Ok(())
    }

    fn waits(&mut self) {
        for (what, wait) in self.waiting.drain(..) {
            self.shared.stage(format!("waiting for {what}"));
            match wait() {
                Ok(None) => {}
                Ok(Some(wrong)) => self.shared.wrong(format!("{what}: {wrong}")),
                // The rest is dropped.
                Err(error) => return self.shared.met(what, error),
            }
        }
    }

    fn act(&mut self, world: &World, act: &Act, text: &str) -> Result<()> {
        match act {
            Act::Start { operation, held: Held::Pending, fate } => self.start(world, *operation, *fate, text),
            Act::Start { operation, held: Held::Prepared, fate } => {
                self.prepare(world, *operation, *fate, text)
            }
            Act::Block(operation) => self.block(world, *operation, text),
            Act::Scope { operations, leave, registered } => {
                self.scope(world, operations, *leave, *registered)
            }
            &Act::Probe { from, tag, bytes, receive, late } => {
                let message = world.probe_matched(from, tag)?;
                if late {
                    self.late.push(Box::new(message));
                } else if receive {
                    let mut came = vec![0; bytes];
                    let status = message.recv(&mut came)?;
                    self.check(text, &came, &payload(tag, bytes), status.count);
                } else {
                    drop(message);
                    self.canaries.settle(bytes);
                }
                Ok(())
            }
            Act::Keep { duplicate } => {
                let kept = if *duplicate { world.duplicate()? } else { Communicator::clone(world) };
                self.kept.push(kept);
                Ok(())
            }
            Act::Pause(us) => {
                std::thread::sleep(Duration::from_micros(*us));
                Ok(())
            }
            Act::Panic => {
                self.shared.with(|report| report.leaving = Some(clock::now()));
                panic!("rank {} {ON_PURPOSE}", self.rank)
            }
        }
    }

    fn check(&self, what: &str, came: &[u8], expected: &[u8], count: usize) {
        if count != expected.len() || came != expected {
            let at = came.iter().zip(expected).position(|(came, expected)| came != expected);
            self.shared.wrong(format!("{what}: {count} bytes came, the first wrong one is at {at:?}"));
        }
    }

    fn start(&mut self, world: &World, operation: Operation, fate: Fate, text: &str) -> Result<()> {
        let (rank, size) = (self.rank, self.size);
        match operation {
            Operation::Send { to, tag, bytes } => {
                let pending = world.start_send(payload(tag, bytes), to, tag)?;
                self.meet(pending, fate, text, bytes, move |data| differs(&data, &payload(tag, bytes)));
            }
            Operation::Sync { to, tag, bytes } => {
                let pending = world.start_send_sync(payload(tag, bytes), to, tag)?;
                self.meet(pending, fate, text, bytes, move |data| differs(&data, &payload(tag, bytes)));
            }
            Operation::Recv { from, tag, bytes } => {
                let pending = world.start_recv(vec![0; bytes], from, tag)?;
                self.meet(pending, fate, text, bytes, move |(data, status): (Vec<u8>, Status)| {
                    differs(&data[..status.count], &payload(tag, bytes))
                });
            }
            Operation::Barrier => self.meet(world.start_barrier()?, fate, text, 0, |()| None),
            Operation::AllReduce { count, panics } => {
                let data = contribution(rank, count);
                let pending = match panics {
                    None => world.start_all_reduce(data, Op::Sum)?,
                    Some(who) => world.start_all_reduce(data, fragile(rank, who))?,
                };
                self.meet(pending, fate, text, count * 8, move |data| differs(&data, &sum(size, count)));
            }
            Operation::Broadcast { root, bytes } => {
                let data = if rank == root { payload(9, bytes) } else { vec![0; bytes] };
                let pending = world.start_broadcast(data, root)?;
                self.meet(pending, fate, text, bytes, move |data| differs(&data, &payload(9, bytes)));
            }
            Operation::AllToAll { bytes } => {
                let input = payload(10 + rank as u32, bytes * size);
                let pending = world.start_all_to_all(input, vec![0; bytes * size])?;
                self.meet(pending, fate, text, bytes * size, move |(_, output)| {
                    differs(&output, &transposed(rank, size, bytes))
                });
            }
        }
        Ok(())
    }

    /// What becomes of an operation that has been begun.
    fn meet<R: Outcome + 'static>(
        &mut self,
        mut pending: Pending<R>,
        fate: Fate,
        text: &str,
        bytes: usize,
        wrong: impl FnOnce(R) -> Option<String> + 'static,
    ) {
        if matches!(fate, Fate::Poll | Fate::PollLate) {
            let polled = std::pin::Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop()));
            match polled {
                std::task::Poll::Pending => {}
                std::task::Poll::Ready(Ok(result)) => {
                    if let Some(wrong) = wrong(result) {
                        self.shared.wrong(format!("{text}: {wrong}"));
                    }
                    return;
                }
                std::task::Poll::Ready(Err(error)) => return self.shared.met(text.to_owned(), error),
            }
        }
        match fate {
            Fate::Drop | Fate::Poll => drop(pending),
            Fate::Ask => {
                let _ = pending.is_done();
                drop(pending);
            }
            Fate::Late | Fate::PollLate => return self.late.push(Box::new(pending)),
            Fate::Forget => return std::mem::forget(pending),
            Fate::Wait => {
                let wait = Box::new(move || pending.wait().map(wrong));
                return self.waiting.push((text.to_owned(), wait));
            }
        }
        self.canaries.settle(bytes);
    }

    fn prepare(&mut self, world: &World, operation: Operation, fate: Fate, text: &str) -> Result<()> {
        let (rank, size) = (self.rank, self.size);
        match operation {
            Operation::Send { to, tag, bytes } | Operation::Sync { to, tag, bytes } => {
                let prepared = world.prepare_send(payload(tag, bytes), to, tag)?;
                self.run(prepared, fate, text, bytes)
            }
            Operation::Recv { from, tag, bytes } => {
                let prepared = world.prepare_recv(vec![0; bytes], from, tag)?;
                self.run(prepared, fate, text, bytes)
            }
            Operation::Barrier => self.run(world.prepare_barrier()?, fate, text, 0),
            Operation::AllReduce { count, panics } => {
                let data = contribution(rank, count);
                let prepared = match panics {
                    None => world.prepare_all_reduce(data, Op::Sum)?,
                    Some(who) => world.prepare_all_reduce(data, fragile(rank, who))?,
                };
                self.run(prepared, fate, text, count * 8)
            }
            Operation::Broadcast { root, bytes } => {
                let data = if rank == root { payload(9, bytes) } else { vec![0; bytes] };
                let prepared = world.prepare_broadcast(data, root)?;
                self.run(prepared, fate, text, bytes)
            }
            Operation::AllToAll { bytes } => {
                let input = payload(10 + rank as u32, bytes * size);
                let prepared = world.prepare_all_to_all(input, vec![0; bytes * size])?;
                self.run(prepared, fate, text, bytes * size)
            }
        }
    }

    fn run<T: bytemuck::Pod + Send>(
        &mut self,
        mut prepared: Prepared<T>,
        fate: Fate,
        text: &str,
        bytes: usize,
    ) -> Result<()> {
        let running = prepared.start()?;
        if matches!(fate, Fate::Ask | Fate::Poll | Fate::PollLate) {
            let _ = running.is_done();
        }
        drop(running);
        match fate {
            Fate::Late | Fate::PollLate => self.late.push(Box::new(prepared)),
            Fate::Forget => std::mem::forget(prepared),
            // The next use of the buffers waits; whether the operation failed is not told any more.
            Fate::Wait => {
                let wait = Box::new(move || {
                    drop(prepared.into_buffers());
                    Ok(None)
                });
                self.waiting.push((text.to_owned(), wait));
            }
            _ => {
                drop(prepared);
                self.canaries.settle(bytes);
            }
        }
        Ok(())
    }

    fn block(&mut self, world: &World, operation: Operation, text: &str) -> Result<()> {
        match operation {
            Operation::Send { to, tag, bytes } => world.send(&payload(tag, bytes), to, tag),
            Operation::Sync { to, tag, bytes } => world.send_sync(&payload(tag, bytes), to, tag),
            Operation::Recv { from, tag, bytes } => {
                let mut came = vec![0; bytes];
                let status = world.recv(&mut came, from, tag)?;
                self.check(text, &came, &payload(tag, bytes), status.count);
                Ok(())
            }
            Operation::Barrier => world.barrier(),
            Operation::AllReduce { count, panics } => {
                let mut data = contribution(self.rank, count);
                match panics {
                    None => world.all_reduce(&mut data, Op::Sum)?,
                    Some(who) => world.all_reduce(&mut data, fragile(self.rank, who))?,
                }
                let wrong = differs(&data, &sum(self.size, count));
                if let Some(wrong) = wrong {
                    self.shared.wrong(format!("{text}: {wrong}"));
                }
                Ok(())
            }
            Operation::Broadcast { root, bytes } => {
                let mut data = if self.rank == root { payload(9, bytes) } else { vec![0; bytes] };
                world.broadcast(&mut data, root)?;
                self.check(text, &data, &payload(9, bytes), bytes);
                Ok(())
            }
            Operation::AllToAll { bytes } => {
                let input = payload(10 + self.rank as u32, bytes * self.size);
                let mut output = vec![0; bytes * self.size];
                world.all_to_all(&input, &mut output)?;
                self.check(text, &output, &transposed(self.rank, self.size, bytes), output.len());
                Ok(())
            }
        }
    }

    fn scope(
        &mut self,
        world: &World,
        operations: &[Operation],
        leave: Leave,
        registered: bool,
    ) -> Result<()> {
        let (rank, size) = (self.rank, self.size);
        let input = |operation: &Operation| match *operation {
            Operation::Send { tag, bytes, .. } | Operation::Sync { tag, bytes, .. } => payload(tag, bytes),
            Operation::AllToAll { bytes } => payload(10 + rank as u32, bytes * size),
            _ => Vec::new(),
        };
        let output = |operation: &Operation| match *operation {
            Operation::Recv { bytes, .. } => vec![0; bytes],
            Operation::AllToAll { bytes } => vec![0; bytes * size],
            Operation::Broadcast { root, bytes } if root == rank => payload(9, bytes),
            Operation::Broadcast { bytes, .. } => vec![0; bytes],
            Operation::AllReduce { count, .. } => vec![rank as u8; count],
            _ => Vec::new(),
        };
        let inputs: Vec<Vec<u8>> = operations.iter().map(input).collect();
        let outputs: Vec<Vec<u8>> = operations.iter().map(output).collect();
        let shared = self.shared;
        let body = |outputs: Vec<&mut [u8]>| {
            world.scope(|s| {
                for ((operation, input), output) in operations.iter().zip(&inputs).zip(outputs) {
                    match *operation {
                        Operation::Send { to, tag, .. } | Operation::Sync { to, tag, .. } => {
                            let _ = s.send(input, to, tag)?;
                        }
                        Operation::Recv { from, tag, .. } => {
                            let _ = s.recv(output, from, tag)?;
                        }
                        Operation::Barrier => {
                            let _ = s.barrier()?;
                        }
                        Operation::AllReduce { .. } => {
                            let _ = s.all_reduce(output, Op::Max)?;
                        }
                        Operation::Broadcast { root, .. } => {
                            let _ = s.broadcast(output, root)?;
                        }
                        Operation::AllToAll { .. } => {
                            let _ = s.all_to_all(input, output)?;
                        }
                    }
                }
                match leave {
                    Leave::Well => Ok(()),
                    Leave::Err => Err(Error::InvalidOption { detail: ON_PURPOSE.into() }),
                    Leave::Panic => {
                        shared.with(|report| report.leaving = Some(clock::now()));
                        panic!("rank {rank} {ON_PURPOSE}")
                    }
                }
            })
        };
        let mut outputs = outputs;
        if registered {
            let mut memory =
                outputs.drain(..).map(|data| world.register(data)).collect::<Result<Vec<_>>>()?;
            body(memory.iter_mut().map(|memory| &mut memory[..]).collect())?;
            outputs = memory.into_iter().map(ringworld::Registered::into_inner).collect();
        } else {
            body(outputs.iter_mut().map(|memory| &mut memory[..]).collect())?;
        }
        for (operation, came) in operations.iter().zip(&outputs) {
            let text = || format!("in a scope, {operation:?}");
            match *operation {
                Operation::Recv { tag, bytes, .. } => self.check(&text(), came, &payload(tag, bytes), bytes),
                Operation::Broadcast { bytes, .. } => self.check(&text(), came, &payload(9, bytes), bytes),
                Operation::AllToAll { bytes } => {
                    self.check(&text(), came, &transposed(rank, size, bytes), bytes * size);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn differs<T: PartialEq>(came: &[T], expected: &[T]) -> Option<String> {
    if came.len() != expected.len() {
        return Some(format!("{} elements instead of {}", came.len(), expected.len()));
    }
    let at = came.iter().zip(expected).position(|(came, expected)| came != expected)?;
    Some(format!("element {at} of {} is wrong", expected.len()))
}

fn contribution(rank: usize, count: usize) -> Vec<u64> {
    (0..count).map(|index| (rank + 1) as u64 * 1_000_003 + index as u64).collect()
}

fn sum(size: usize, count: usize) -> Vec<u64> {
    let all = (size * (size + 1) / 2) as u64 * 1_000_003;
    (0..count).map(|index| all + (size * index) as u64).collect()
}

fn transposed(rank: usize, size: usize, bytes: usize) -> Vec<u8> {
    let of = |from: usize| payload(10 + from as u32, bytes * size)[rank * bytes..][..bytes].to_vec();
    (0..size).flat_map(of).collect()
}

/// A sum that panics on one rank.
fn fragile(rank: usize, who: usize) -> UserOp<u64> {
    UserOp::new("fragile", move |a: u64, b: u64| {
        assert!(rank != who, "rank {rank} {ON_PURPOSE}");
        a.wrapping_add(b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_written_to_freed_memory_is_found() {
        let mut canaries = Canaries::default();
        [0, 300, 70_000].into_iter().for_each(|bytes| canaries.settle(bytes));
        assert_eq!(canaries.touched(), None);
        canaries.0[2][69_999] ^= 1;
        assert!(canaries.touched().unwrap().contains("at 69999"));
    }

    #[test]
    fn messages_of_different_tags_differ_everywhere_near_their_beginning() {
        let (one, other) = (payload(1, 1_000), payload(2, 1_000));
        assert!(one.iter().zip(&other).all(|(one, other)| one != other));
    }
}
