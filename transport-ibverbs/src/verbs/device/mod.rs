//! The unsafe boundary: all foreign functions and all `unsafe` code of this crate.
//!
//! A thin layer of owners over libibverbs, in the words of the specification: a [`Context`] is an open
//! device, a [`Pd`] a protection domain, [`Channel`] and [`Cq`] report completions, a [`Qp`] is a queue
//! pair, an [`Srq`] a shared receive queue, and memory is registered while a [`Registered`], a [`Slab`] or a
//! [`Region`] lives. Each holds a reference to what it was made from, so they are destroyed in the one order that the
//! kernel accepts (another is `EBUSY`): queue pairs, memory regions, completion queue, channel, domain, device.
//!
//! What keeps this safe to use:
//!
//! * memory that a device may touch is owned by a value whose drop deregisters it first, and after that the
//!   device has no way to it; or it lies in a [`Region`] that its owner keeps allocated, and then the device is told
//!   to touch it by operations only, each of which owns its part for as long as it lasts;
//! * a slot of a [`Slab`] is lent to the device when it is posted; until it is taken back no reference to it
//!   can be had. Callers take a slot back only when its completion has been polled, or its queue pair is gone.
//!
//! The calls that C has as inline functions (`ibv_post_send` and the like) go through the context's table. The
//! shapes follow those of the `ibverbs` crate's development branch, so that its next release can take their place.

#![allow(unsafe_code)]

mod context;
mod memory;
mod pair;
mod queue;

use std::io;

pub(crate) use context::{AsyncEvent, Context, Limits, Pd};
pub(crate) use memory::{Region, Registered, Slab};
pub(crate) use pair::{Qp, Remote, Shape, Srq, Timing, Write};
pub(crate) use queue::{Arrived, Channel, Completion, Cq, status};

/// The result of a call that returns an error number, or -1 with the number in `errno`.
fn check(code: std::os::raw::c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        code => Err(io::Error::from_raw_os_error(code.abs())),
    }
}

/// The result of a call that returns an object, or null with the number in `errno`.
fn object<T>(pointer: *mut T) -> io::Result<std::ptr::NonNull<T>> {
    std::ptr::NonNull::new(pointer).ok_or_else(io::Error::last_os_error)
}

/// Text of libibverbs, which lives for ever.
fn text(pointer: *const std::os::raw::c_char) -> String {
    if pointer.is_null() {
        return "unknown".to_owned();
    }
    // SAFETY: callers pass what the library's `…_str` functions and `ibv_get_device_name` return: strings
    // with a terminating zero, static or as long-lived as the device list, copied here.
    unsafe { std::ffi::CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// Has reads of a descriptor return at once.
fn make_nonblocking(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// A destructor that failed leaves a resource behind; there is nothing better to do than to say so.
fn note(what: &str, result: io::Result<()>) {
    if let Err(error) = result {
        ringworld_transport::error!(%error, "an RDMA {what} could not be released");
    }
}
