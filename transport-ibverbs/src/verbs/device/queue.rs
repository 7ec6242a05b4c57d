//! Completions: the queue that they are polled from and the channel that one can sleep on.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use ibverbs_sys as ffi;

use super::context::Context;
use super::{check, make_nonblocking, object, text};

/// Completions polled at a time.
const BATCH: usize = 32;

/// A completion channel: its descriptor is readable when a queue that was armed has a completion.
pub(crate) struct Channel {
    raw: NonNull<ffi::ibv_comp_channel>,
    context: Arc<Context>,
}

// SAFETY: libibverbs may be called with one channel from any thread, and concurrently.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

impl Channel {
    pub(crate) fn new(context: &Arc<Context>) -> io::Result<Arc<Self>> {
        // SAFETY: the context is open.
        let raw = object(unsafe { ffi::ibv_create_comp_channel(context.as_raw()) })?;
        let channel = Self { raw, context: Arc::clone(context) };
        make_nonblocking(channel.fd())?;
        Ok(Arc::new(channel))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel exists; the field never changes.
        let fd = unsafe { (*self.raw.as_ptr()).fd };
        // SAFETY: the descriptor is open as long as the channel exists, which `self` is borrowed from.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: the queues of the channel hold references to it, so it goes after them.
        super::note("completion channel", check(unsafe { ffi::ibv_destroy_comp_channel(self.raw.as_ptr()) }));
    }
}

/// What a completion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// A message of so many bytes is in the slot.
    Message(usize),
    /// The peer has written so many bytes; the slot is untouched. The immediate is with it.
    Written(usize, u32),
    /// A work request of this side's send queue is done.
    Done,
}

/// The end of a work request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// The number that was posted with the work request.
    pub(crate) id: u64,
    /// The queue pair.
    pub(crate) pair: u32,
    /// What came, or why it failed; a flush is `None`: the cause was reported before, or is elsewhere.
    pub(crate) result: Result<Arrived, Option<ffi::ibv_wc_status::Type>>,
}

/// What a status means.
pub(crate) fn status(code: ffi::ibv_wc_status::Type) -> String {
    // SAFETY: any number is allowed.
    text(unsafe { ffi::ibv_wc_status_str(code) })
}

/// A completion queue.
pub(crate) struct Cq {
    raw: NonNull<ffi::ibv_cq>,
    channel: Arc<Channel>,
}

// SAFETY: libibverbs may be called with one queue from any thread, and concurrently.
unsafe impl Send for Cq {}
// SAFETY: as above.
unsafe impl Sync for Cq {}

impl Cq {
    /// A queue for `capacity` completions. More would be fatal, so everything that uses it must be counted.
    pub(crate) fn new(channel: &Arc<Channel>, capacity: usize) -> io::Result<Arc<Self>> {
        let capacity = i32::try_from(capacity).map_err(|_| io::ErrorKind::InvalidInput)?;
        let context = channel.context.as_raw();
        // SAFETY: context and channel exist; no private pointer is given, and vector 0 always exists.
        let raw =
            unsafe { ffi::ibv_create_cq(context, capacity, std::ptr::null_mut(), channel.raw.as_ptr(), 0) };
        Ok(Arc::new(Self { raw: object(raw)?, channel: Arc::clone(channel) }))
    }

    pub(super) fn as_raw(&self) -> *mut ffi::ibv_cq {
        self.raw.as_ptr()
    }

    /// Takes up to a batch of completions; returns whether there may be more.
    pub(crate) fn poll(&self, into: &mut VecDeque<Completion>) -> io::Result<bool> {
        let call = self.channel.context.operations().poll_cq.ok_or(io::ErrorKind::Unsupported)?;
        let mut batch = [const { MaybeUninit::<ffi::ibv_wc>::uninit() }; BATCH];
        // SAFETY: the queue exists, and there is room for as many completions as are asked for.
        let found = unsafe { call(self.as_raw(), BATCH as i32, batch.as_mut_ptr().cast()) };
        let found = usize::try_from(found).map_err(|_| io::Error::last_os_error())?;
        for one in batch.iter().take(found) {
            // SAFETY: the call has written the first `found` entries.
            let one = unsafe { one.assume_init_ref() };
            let result = match one.error() {
                Some((ffi::ibv_wc_status::IBV_WC_WR_FLUSH_ERR, _)) => Err(None),
                Some((status, _)) => Err(Some(status)),
                None => Ok(match one.opcode() {
                    ffi::ibv_wc_opcode::IBV_WC_RECV => Arrived::Message(one.len()),
                    ffi::ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM => {
                        Arrived::Written(one.len(), u32::from_be(one.imm_data))
                    }
                    _ => Arrived::Done,
                }),
            };
            into.push_back(Completion { id: one.wr_id(), pair: one.qp_num, result });
        }
        Ok(found == BATCH)
    }

    /// Has the channel report the next completion.
    pub(crate) fn arm(&self) -> io::Result<()> {
        let call = self.channel.context.operations().req_notify_cq.ok_or(io::ErrorKind::Unsupported)?;
        // SAFETY: the queue exists.
        check(unsafe { call(self.as_raw(), 0) })
    }

    /// Takes what the channel has reported, so that its descriptor is no longer readable.
    pub(crate) fn drain_events(&self) {
        let mut events = 0;
        loop {
            let (mut queue, mut private) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: the channel exists, both pointers may be written, and the descriptor does not block.
            let code =
                unsafe { ffi::ibv_get_cq_event(self.channel.raw.as_ptr(), &raw mut queue, &raw mut private) };
            if code != 0 {
                break;
            }
            events += 1;
        }
        if events > 0 {
            // SAFETY: the channel serves this queue only, so all of these events were its own.
            unsafe { ffi::ibv_ack_cq_events(self.as_raw(), events) };
        }
    }
}

impl Drop for Cq {
    fn drop(&mut self) {
        // SAFETY: the queue pairs hold references to the queue, so it goes after them; `drain_events`
        // acknowledges all that it takes.
        super::note("completion queue", check(unsafe { ffi::ibv_destroy_cq(self.as_raw()) }));
    }
}
