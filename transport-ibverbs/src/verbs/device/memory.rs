//! Memory that devices may touch: registered spans of somebody else's, for one operation or for all that lie in them,
//! and slabs of slots of our own.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use ibverbs_sys as ffi;
use ringworld_transport::{RecvMemory, SendMemory};

use super::context::Pd;
use super::{check, object};

/// What a device must be permitted so that peers may write.
const WRITABLE: ffi::ibv_access_flags = ffi::ibv_access_flags(
    ffi::ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0 | ffi::ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0,
);

/// A registration; ends when dropped.
pub(crate) struct Region {
    raw: NonNull<ffi::ibv_mr>,
    /// The memory that it is for, unless that is owned beside this.
    kept: Option<ringworld_transport::Region>,
    _domain: Arc<Pd>,
}

// SAFETY: libibverbs may be called with one region from any thread, and concurrently.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// # Safety
    ///
    /// The memory must be valid for what `access` permits until the region is dropped, and be accessed by
    /// nobody in a way that conflicts with what the device has been told to do with it.
    unsafe fn new(
        domain: &Arc<Pd>,
        start: *mut u8,
        length: usize,
        access: ffi::ibv_access_flags,
    ) -> io::Result<Self> {
        // SAFETY: the domain exists; the caller vouches for the memory.
        let raw = unsafe { ffi::ibv_reg_mr(domain.as_raw(), start.cast(), length, access.0 as i32) };
        Ok(Self { raw: object(raw)?, kept: None, _domain: Arc::clone(domain) })
    }

    /// For the device to read and for peers to write, as operations within it ask for.
    pub(crate) fn keep(domain: &Arc<Pd>, memory: ringworld_transport::Region) -> io::Result<Self> {
        // SAFETY: the memory stays allocated while `memory` lives, which from here on is as long as the region: `drop`
        // deregisters before fields are dropped. The device is told to access what operations lend it, and nobody
        // else accesses that meanwhile.
        let mut region = unsafe { Self::new(domain, memory.as_mut_ptr(), memory.len(), WRITABLE) }?;
        region.kept = Some(memory);
        Ok(region)
    }

    /// Whether it was made by [`Region::keep`] for memory that holds all the `length` bytes from `start`.
    fn keeps(&self, start: *mut u8, length: usize) -> bool {
        self.kept.as_ref().is_some_and(|memory| {
            let before = (start as usize).checked_sub(memory.as_mut_ptr() as usize);
            before.and_then(|before| before.checked_add(length)).is_some_and(|end| end <= memory.len())
        })
    }

    fn local_key(&self) -> u32 {
        // SAFETY: the region exists; the field never changes.
        unsafe { (*self.raw.as_ptr()).lkey }
    }

    fn remote_key(&self) -> u32 {
        // SAFETY: the region exists; the field never changes.
        unsafe { (*self.raw.as_ptr()).rkey }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region exists and is given up once.
        super::note("memory region", check(unsafe { ffi::ibv_dereg_mr(self.raw.as_ptr()) }));
    }
}

/// Memory of somebody else that the device can use for as long as this lives.
///
/// Its registration ends with it, unless its owner has registered more memory around it.
pub(crate) struct Registered<M> {
    // First: of a registration of its own, so that the device has lost its way to the memory before that is given back.
    region: Arc<Region>,
    memory: M,
    start: u64,
}

impl Registered<SendMemory> {
    /// For the device to read: by the registration `around` it, if that holds all of it, else by one of its own. Gives
    /// the memory back if that is refused.
    pub(crate) fn to_read(
        domain: &Arc<Pd>,
        around: Option<&Arc<Region>>,
        memory: SendMemory,
    ) -> Result<Self, (SendMemory, io::Error)> {
        let start = memory.as_slice().as_ptr().cast_mut();
        if let Some(region) = around.filter(|region| region.keeps(start, memory.len())) {
            return Ok(Self { region: Arc::clone(region), memory, start: start as u64 });
        }
        // SAFETY: the memory is valid and unchanged while `memory` lives, which is longer than the region,
        // by the order of fields and because nobody else gets it; without an access flag the device may only read it.
        match unsafe { Region::new(domain, start, memory.len(), ffi::ibv_access_flags(0)) } {
            Ok(region) => Ok(Self { region: Arc::new(region), memory, start: start as u64 }),
            Err(error) => Err((memory, error)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.memory.len()
    }

    /// Names `length` bytes at `offset` for a work request; `None` when there are none such.
    pub(super) fn element(&self, offset: usize, length: usize) -> Option<ffi::ibv_sge> {
        let end = offset.checked_add(length).filter(|end| *end <= self.memory.len())?;
        let length = u32::try_from(end - offset).ok()?;
        Some(ffi::ibv_sge { addr: self.start + offset as u64, length, lkey: self.region.local_key() })
    }
}

impl Registered<RecvMemory> {
    /// For peers to write: by the registration `around` it, if that holds all of it, else by one of its own. Gives the
    /// memory back if that is refused.
    pub(crate) fn to_write(
        domain: &Arc<Pd>,
        around: Option<&Arc<Region>>,
        mut memory: RecvMemory,
    ) -> Result<Self, (RecvMemory, io::Error)> {
        let start = memory.as_mut_ptr();
        if let Some(region) = around.filter(|region| region.keeps(start, memory.len())) {
            return Ok(Self { region: Arc::clone(region), memory, start: start as u64 });
        }
        // SAFETY: the memory is valid and accessed by nobody else while `memory` lives, which is longer than
        // the region, by the order of fields and because nobody else gets it.
        match unsafe { Region::new(domain, start, memory.len(), WRITABLE) } {
            Ok(region) => Ok(Self { region: Arc::new(region), memory, start: start as u64 }),
            Err(error) => Err((memory, error)),
        }
    }

    /// Where a peer writes, and the key that lets it.
    pub(crate) fn remote(&self) -> (u64, u32) {
        (self.start, self.region.remote_key())
    }
}

#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; 4096]);

/// Slots of equal size in one registered block of memory of our own.
pub(crate) struct Slab {
    // First, so that the device has lost its way to the memory before that is freed.
    region: Region,
    memory: Pages,
    slot: usize,
    /// Whether the device has the slot.
    lent: Vec<bool>,
}

/// Owned pages behind a raw pointer, because a device writes to them beside Rust's knowledge.
struct Pages(NonNull<[Page]>);

// SAFETY: the pages are owned by this value alone.
unsafe impl Send for Pages {}
// SAFETY: shared references give no access.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw` and is given back once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Slab {
    /// `slots` slots of `slot` bytes, all zero.
    pub(crate) fn new(domain: &Arc<Pd>, slots: usize, slot: usize) -> io::Result<Self> {
        let length = slots * slot;
        let pages = vec![Page([0; 4096]); length.div_ceil(size_of::<Page>())].into_boxed_slice();
        // SAFETY: `into_raw` of a box is not null.
        let memory = Pages(unsafe { NonNull::new_unchecked(Box::into_raw(pages)) });
        let access = ffi::ibv_access_flags::IBV_ACCESS_LOCAL_WRITE;
        // SAFETY: the memory belongs to the slab and outlives the region, by the order of fields; slots that
        // the device has are not referred to from here (`lent`).
        let region = unsafe { Region::new(domain, memory.0.as_ptr().cast(), length, access) }?;
        Ok(Self { region, memory, slot, lent: vec![false; slots] })
    }

    pub(crate) fn slot_size(&self) -> usize {
        self.slot
    }

    pub(crate) fn slots(&self) -> usize {
        self.lent.len()
    }

    fn start(&self, slot: usize) -> *mut u8 {
        self.memory.0.as_ptr().cast::<u8>().wrapping_add(slot * self.slot)
    }

    /// The first `length` bytes of a slot; `None` while the device has it, or when there is no such.
    pub(crate) fn bytes(&self, slot: usize, length: usize) -> Option<&[u8]> {
        if *self.lent.get(slot)? || length > self.slot {
            return None;
        }
        // SAFETY: the slot lies within the pages, has been initialised, and the device does not have it.
        Some(unsafe { std::slice::from_raw_parts(self.start(slot), length) })
    }

    /// A slot to be filled; `None` while the device has it, or when there is no such.
    pub(crate) fn bytes_mut(&mut self, slot: usize) -> Option<&mut [u8]> {
        if *self.lent.get(slot)? {
            return None;
        }
        // SAFETY: as in `bytes`, and `self` is borrowed exclusively.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start(slot), self.slot) })
    }

    /// The slot's work request has completed: the device does not have it any more. Returns whether it had.
    pub(crate) fn take_back(&mut self, slot: usize) -> bool {
        self.lent.get_mut(slot).is_some_and(|lent| std::mem::replace(lent, false))
    }

    /// Names the first `length` bytes of a slot for a work request.
    pub(super) fn element(&self, slot: usize, length: usize) -> Option<ffi::ibv_sge> {
        let free = !*self.lent.get(slot)? && length <= self.slot;
        let length = u32::try_from(length).ok().filter(|_| free)?;
        Some(ffi::ibv_sge { addr: self.start(slot) as u64, length, lkey: self.region.local_key() })
    }

    /// A work request with the slot has been posted.
    pub(super) fn lend(&mut self, slot: usize) {
        if let Some(lent) = self.lent.get_mut(slot) {
            *lent = true;
        }
    }
}
