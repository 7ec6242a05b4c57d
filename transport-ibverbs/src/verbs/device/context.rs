//! An open device, what it says about itself, its protection domain, and what it reports by itself.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use ibverbs_sys as ffi;

use super::{check, make_nonblocking, object, text};
use crate::choice::{DeviceReport, Gid, GidKind, GidReport, LinkLayer};

/// An open device.
pub(crate) struct Context {
    raw: NonNull<ffi::ibv_context>,
}

// SAFETY: libibverbs may be called with one context from any thread, and concurrently.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// How much of everything a device can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) completions: usize,
    pub(crate) shared_receives: usize,
    pub(crate) ports: u8,
}

/// Something that the device reports by itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AsyncEvent {
    /// A port can carry no traffic any more.
    PortDown { port: u8, what: String },
    /// A queue pair, by its number, is in error.
    Pair { number: u32, what: String },
    /// The whole device, or a queue that all share, is in error.
    Device { what: String },
    /// Nothing that ends anything.
    Other { what: String },
}

/// The list of devices, freed when dropped.
struct List {
    devices: NonNull<*mut ffi::ibv_device>,
    length: usize,
}

impl List {
    fn new() -> io::Result<Self> {
        let mut length = 0;
        // SAFETY: the argument points to a number that the call may write.
        let devices = object(unsafe { ffi::ibv_get_device_list(&raw mut length) })?;
        Ok(Self { devices, length: usize::try_from(length).unwrap_or(0) })
    }

    fn find(&self, name: &str) -> Option<*mut ffi::ibv_device> {
        // SAFETY: the library returned `length` device pointers, which live until the list is freed.
        let devices = unsafe { std::slice::from_raw_parts(self.devices.as_ptr(), self.length) };
        devices.iter().copied().find(|device| {
            // SAFETY: the pointer is of a device of this list.
            text(unsafe { ffi::ibv_get_device_name(*device) }) == name
        })
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the list came from `ibv_get_device_list` and is freed once; open devices do not need it.
        unsafe { ffi::ibv_free_device_list(self.devices.as_ptr()) };
    }
}

impl Context {
    /// Opens the device of this name.
    pub(crate) fn open(name: &str) -> io::Result<Arc<Self>> {
        let list = List::new()?;
        let device = list.find(name).ok_or(io::ErrorKind::NotFound)?;
        // SAFETY: the device is one of `list`, which is alive.
        let context = Self { raw: object(unsafe { ffi::ibv_open_device(device) })? };
        make_nonblocking(context.async_fd())?;
        Ok(Arc::new(context))
    }

    pub(super) fn as_raw(&self) -> *mut ffi::ibv_context {
        self.raw.as_ptr()
    }

    /// The table of the calls that C has as inline functions.
    pub(super) fn operations(&self) -> &ffi::ibv_context_ops {
        // SAFETY: the context is open; the library fills the table when it opens it and never changes it.
        unsafe { &(*self.raw.as_ptr()).ops }
    }

    /// Becomes readable when there is an asynchronous event.
    pub(crate) fn async_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the context is open; the field never changes.
        let fd = unsafe { (*self.raw.as_ptr()).async_fd };
        // SAFETY: the descriptor is open as long as the context is, which `self` is borrowed from.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }

    pub(crate) fn limits(&self) -> io::Result<Limits> {
        let mut attributes = ffi::ibv_device_attr::default();
        // SAFETY: the context is open and `attributes` may be written.
        check(unsafe { ffi::ibv_query_device(self.as_raw(), &raw mut attributes) })?;
        let size = |number| usize::try_from(number).unwrap_or(0);
        Ok(Limits {
            completions: size(attributes.max_cqe),
            shared_receives: size(attributes.max_srq_wr),
            ports: attributes.phys_port_cnt,
        })
    }

    /// Fills in what the device says about the port.
    pub(crate) fn describe(&self, report: &mut DeviceReport) -> io::Result<()> {
        let mut attributes = ffi::ibv_port_attr::default();
        let old = (&raw mut attributes).cast::<ffi::_compat_ibv_port_attr>();
        // SAFETY: the context is open. The call behind this old name writes the fields up to `flags`, which
        // `attributes` has room for; the later ones stay zero.
        check(unsafe { ffi::ibv_query_port(self.as_raw(), report.port, old) })?;
        report.active = attributes.state == ffi::ibv_port_state::IBV_PORT_ACTIVE;
        // SAFETY: any number is allowed.
        report.state = text(unsafe { ffi::ibv_port_state_str(attributes.state) });
        report.link_layer = if u32::from(attributes.link_layer) == ffi::IBV_LINK_LAYER_ETHERNET {
            LinkLayer::Ethernet
        } else {
            LinkLayer::InfiniBand
        };
        report.lid = attributes.lid;
        report.mtu = 128 << attributes.active_mtu.clamp(1, 5);
        report.max_message = attributes.max_msg_sz;
        report.speed = gigabits(attributes.active_width, attributes.active_speed);
        report.gids = self.gids(report.port, usize::try_from(attributes.gid_tbl_len).unwrap_or(0))?;
        Ok(())
    }

    /// The valid entries of a port's GID table; holes are not among them.
    fn gids(&self, port: u8, length: usize) -> io::Result<Vec<GidReport>> {
        let ports = usize::from(self.limits()?.ports.max(1));
        let mut entries = vec![ffi::ibv_gid_entry::default(); length.max(1) * ports];
        let size = size_of::<ffi::ibv_gid_entry>();
        // SAFETY: the context is open; pointer and number describe `entries`, and the size is that of one.
        let found =
            unsafe { ffi::_ibv_query_gid_table(self.as_raw(), entries.as_mut_ptr(), entries.len(), 0, size) };
        let found = usize::try_from(found).map_err(|_| io::Error::from_raw_os_error(-found as i32))?;
        let wanted = |entry: &ffi::ibv_gid_entry| entry.port_num == u32::from(port);
        Ok(entries[..found.min(entries.len())]
            .iter()
            .filter(|entry| wanted(entry))
            .map(|entry| {
                // SAFETY: both variants of the union are plain bytes, and the library has filled it.
                let gid = Gid(unsafe { entry.gid.raw });
                let kind = match entry.gid_type {
                    ffi::IBV_GID_TYPE_IB => GidKind::InfiniBand,
                    ffi::IBV_GID_TYPE_ROCE_V1 => GidKind::RoceV1,
                    _ => GidKind::RoceV2,
                };
                GidReport { index: entry.gid_index, gid, kind, chosen: false }
            })
            .collect())
    }

    /// The next asynchronous event, if there is one.
    pub(crate) fn next_event(&self) -> Option<AsyncEvent> {
        let mut event = ffi::ibv_async_event::default();
        // SAFETY: the context is open and `event` may be written; the descriptor does not block.
        check(unsafe { ffi::ibv_get_async_event(self.as_raw(), &raw mut event) }).ok()?;
        // SAFETY: any number is allowed.
        let what = text(unsafe { ffi::ibv_event_type_str(event.event_type) });
        let event_of = match event.event_type {
            ffi::IBV_EVENT_PORT_ERR => {
                // SAFETY: for events of ports this is the variant that the library has filled.
                let port = unsafe { event.element.port_num };
                AsyncEvent::PortDown { port: u8::try_from(port).unwrap_or(0), what }
            }
            ffi::IBV_EVENT_QP_FATAL | ffi::IBV_EVENT_QP_REQ_ERR | ffi::IBV_EVENT_QP_ACCESS_ERR => {
                // SAFETY: for events of queue pairs this is the variant that the library has filled.
                let pair = unsafe { event.element.qp };
                // SAFETY: destroying a queue pair waits until its events are acknowledged, which comes below.
                let number = unsafe { (*pair).qp_num };
                AsyncEvent::Pair { number, what }
            }
            ffi::IBV_EVENT_DEVICE_FATAL | ffi::IBV_EVENT_CQ_ERR | ffi::IBV_EVENT_SRQ_ERR => {
                AsyncEvent::Device { what }
            }
            _ => AsyncEvent::Other { what },
        };
        // SAFETY: the event came from `ibv_get_async_event` and is acknowledged once.
        unsafe { ffi::ibv_ack_async_event(&raw mut event) };
        Some(event_of)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: everything made from the context holds a reference to it, so it is the last to go.
        super::note("device context", check(unsafe { ffi::ibv_close_device(self.as_raw()) }));
    }
}

/// A protection domain: memory and queue pairs of one domain work together, and no others.
pub(crate) struct Pd {
    raw: NonNull<ffi::ibv_pd>,
    context: Arc<Context>,
}

// SAFETY: libibverbs may be called with one domain from any thread, and concurrently.
unsafe impl Send for Pd {}
// SAFETY: as above.
unsafe impl Sync for Pd {}

impl Pd {
    pub(crate) fn new(context: &Arc<Context>) -> io::Result<Arc<Self>> {
        // SAFETY: the context is open.
        let raw = object(unsafe { ffi::ibv_alloc_pd(context.as_raw()) })?;
        Ok(Arc::new(Self { raw, context: Arc::clone(context) }))
    }

    pub(super) fn as_raw(&self) -> *mut ffi::ibv_pd {
        self.raw.as_ptr()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Pd {
    fn drop(&mut self) {
        // SAFETY: everything made from the domain holds a reference to it, so it goes after them.
        super::note("protection domain", check(unsafe { ffi::ibv_dealloc_pd(self.as_raw()) }));
    }
}

/// Roughly, from the codes for lanes and for the speed of each.
fn gigabits(width: u8, speed: u8) -> u32 {
    let lanes = match width {
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => 1,
    };
    let each = match speed {
        1 => 2,
        2 => 5,
        4 | 8 => 10,
        16 => 14,
        32 => 25,
        64 => 50,
        128 => 100,
        _ => 0,
    };
    lanes * each
}
