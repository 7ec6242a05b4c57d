//! The arguments of MPI's functions as they come from C: pointers, of which whoever made the call says what they
//! point to.
//!
//! This is where the semantic layer touches memory of the program's. Each type is made by one unsafe function of a
//! library's boundary, which promises what the standard says of that argument; what is done with it afterwards is safe.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;

use ringworld::foreign::Foreign;

use crate::host::{Function, host};
use crate::kind::Handle;
use crate::standard;
use crate::status::Status;

/// An address that the program has given: of a buffer, of a place for a pointer, or a constant such as `MPI_IN_PLACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(*mut c_void);

// SAFETY: an address alone is a number; what is there is used as the standard allows, from any thread.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

impl Address {
    /// An argument.
    ///
    /// # Safety
    ///
    /// What is there may be read and written as the standard says of the argument, until it says otherwise.
    #[inline]
    #[must_use]
    pub unsafe fn new(pointer: *mut c_void) -> Self {
        Self(pointer)
    }

    /// As a number.
    #[inline]
    pub(crate) fn number(self) -> usize {
        self.0.addr()
    }

    /// As a number that is made an address again, for a function of the program.
    pub(crate) fn exposed(self) -> usize {
        self.0.expose_provenance()
    }

    /// Whether it is `MPI_IN_PLACE`.
    #[inline]
    pub(crate) fn is_in_place(self) -> bool {
        self.number() == standard::IN_PLACE
    }

    /// Whether it is a constant, and no buffer begins there: `MPI_IN_PLACE`, or `MPI_BOTTOM`, which is `NULL`.
    #[inline]
    pub(crate) fn is_constant(self) -> bool {
        self.number() <= standard::IN_PLACE
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// So many bytes further on.
    #[inline]
    pub(crate) fn plus(self, bytes: i64) -> Self {
        Self(self.0.wrapping_byte_offset(bytes as isize))
    }

    /// The bytes that are there, for an operation.
    #[inline]
    pub(crate) fn foreign(self, length: usize) -> Foreign {
        // SAFETY: the promise of `new`, for the memory that count and datatype of the same call describe.
        unsafe { Foreign::new(self.0.cast(), length) }
    }

    /// Copies what is there.
    #[inline]
    pub(crate) fn read(self, into: &mut [u8]) {
        // SAFETY: as for `foreign`; `into` is a borrow of ours, so that the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(self.0.cast::<u8>(), into.as_mut_ptr(), into.len()) }
    }

    /// Copies runs of `length` bytes that begin `stride` apart, one behind the other, until `into` is full.
    pub(crate) fn read_runs(self, stride: i64, length: usize, into: &mut [u8]) {
        match length {
            1 => self.read_each::<1>(stride, into),
            2 => self.read_each::<2>(stride, into),
            4 => self.read_each::<4>(stride, into),
            8 => self.read_each::<8>(stride, into),
            16 => self.read_each::<16>(stride, into),
            _ => into.chunks_mut(length).zip(0..).for_each(|(run, turn)| self.plus(turn * stride).read(run)),
        }
    }

    /// The same of a length that the compiler knows: no function is called for each.
    fn read_each<const LENGTH: usize>(self, stride: i64, into: &mut [u8]) {
        let (runs, _) = into.as_chunks_mut::<LENGTH>();
        runs.iter_mut().zip(0..).for_each(|(run, turn)| self.plus(turn * stride).read(run));
    }

    /// And back.
    pub(crate) fn write_runs(self, stride: i64, length: usize, from: &[u8]) {
        match length {
            1 => self.write_each::<1>(stride, from),
            2 => self.write_each::<2>(stride, from),
            4 => self.write_each::<4>(stride, from),
            8 => self.write_each::<8>(stride, from),
            16 => self.write_each::<16>(stride, from),
            _ => from.chunks(length).zip(0..).for_each(|(run, turn)| self.plus(turn * stride).write(run)),
        }
    }

    fn write_each<const LENGTH: usize>(self, stride: i64, from: &[u8]) {
        let (runs, _) = from.as_chunks::<LENGTH>();
        runs.iter().zip(0..).for_each(|(run, turn)| self.plus(turn * stride).write(run));
    }

    /// Writes there.
    #[inline]
    pub(crate) fn write(self, from: &[u8]) {
        // SAFETY: as for `read`.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.0.cast::<u8>(), from.len()) }
    }

    /// Writes a pointer there.
    pub(crate) fn write_pointer(self, pointer: usize) {
        self.write(&pointer.to_ne_bytes());
    }

    /// Reads a pointer there.
    pub(crate) fn read_pointer(self) -> usize {
        let mut bytes = [0; size_of::<usize>()];
        self.read(&mut bytes);
        usize::from_ne_bytes(bytes)
    }

    /// For a function of the program.
    pub(crate) fn pointer(self) -> *mut c_void {
        self.0
    }

    /// Of memory of this library's.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(bytes.as_ptr().cast_mut().cast())
    }

    /// Of memory of this library's, to be written.
    pub(crate) fn of_bytes_mut(bytes: &mut [u8]) -> Self {
        Self(bytes.as_mut_ptr().cast())
    }
}

impl From<Address> for Function {
    fn from(address: Address) -> Self {
        Self(address.0.expose_provenance())
    }
}

/// Numbers of the program's, which are read: of 32 bits or of 64.
#[derive(Clone, Copy, Debug)]
pub struct Ints {
    pointer: *const c_void,
    wide: bool,
    map: fn(i32) -> i32,
}

// SAFETY: an address and how to read it; the promise of its makers holds for all threads.
unsafe impl Send for Ints {}

impl Ints {
    /// Numbers of 32 bits.
    ///
    /// # Safety
    ///
    /// Here and below: as many can be read as the standard says of the argument, until it says otherwise.
    #[inline]
    #[must_use]
    pub unsafe fn narrow(pointer: *const c_int) -> Self {
        Self { pointer: pointer.cast(), wide: false, map: |x| x }
    }

    /// Numbers of 64 bits.
    ///
    /// # Safety
    ///
    /// See [`Ints::narrow`].
    #[inline]
    #[must_use]
    pub unsafe fn wide(pointer: *const i64) -> Self {
        Self { pointer: pointer.cast(), wide: true, map: |x| x }
    }

    /// Numbers of 32 bits that mean something else to the host.
    ///
    /// # Safety
    ///
    /// See [`Ints::narrow`].
    #[inline]
    #[must_use]
    pub unsafe fn mapped(pointer: *const c_int, map: fn(i32) -> i32) -> Self {
        Self { pointer: pointer.cast(), wide: false, map }
    }

    pub(crate) fn is_null(self) -> bool {
        self.pointer.is_null()
    }

    pub(crate) fn number(self) -> usize {
        self.pointer.addr()
    }

    #[inline]
    pub(crate) fn get(self, place: usize) -> i64 {
        if self.wide {
            // SAFETY: the promise of whoever has made it.
            unsafe { self.pointer.cast::<i64>().wrapping_add(place).read_unaligned() }
        } else {
            // SAFETY: as above.
            (self.map)(unsafe { self.pointer.cast::<i32>().wrapping_add(place).read_unaligned() }).into()
        }
    }

    pub(crate) fn vec(self, length: usize) -> Vec<i64> {
        (0..length).map(|place| self.get(place)).collect()
    }

    /// As the numbers of 32 bits that they are.
    pub(crate) fn ints(self, length: usize) -> Vec<i32> {
        (0..length).map(|place| self.get(place) as i32).collect()
    }
}

/// Places for numbers of the program's, which are written.
#[derive(Clone, Copy, Debug)]
pub struct IntOut {
    pointer: *mut c_void,
    wide: bool,
    reads: fn(i32) -> i32,
    writes: fn(i32) -> i32,
}

impl IntOut {
    pub(crate) fn is_null(self) -> bool {
        self.pointer.is_null()
    }

    /// Numbers of 32 bits.
    ///
    /// # Safety
    ///
    /// Here and below: as many can be written, and read where they are given, as the standard says of the argument.
    #[inline]
    #[must_use]
    pub unsafe fn narrow(pointer: *mut c_int) -> Self {
        Self { pointer: pointer.cast(), wide: false, reads: |x| x, writes: |x| x }
    }

    /// Numbers of 64 bits.
    ///
    /// # Safety
    ///
    /// See [`IntOut::narrow`].
    #[inline]
    #[must_use]
    pub unsafe fn wide(pointer: *mut i64) -> Self {
        Self { pointer: pointer.cast(), wide: true, reads: |x| x, writes: |x| x }
    }

    /// Numbers of 32 bits that mean something else to the host.
    ///
    /// # Safety
    ///
    /// See [`IntOut::narrow`].
    #[inline]
    #[must_use]
    pub unsafe fn mapped(pointer: *mut c_int, reads: fn(i32) -> i32, writes: fn(i32) -> i32) -> Self {
        Self { pointer: pointer.cast(), wide: false, reads, writes }
    }

    pub(crate) fn number(self) -> usize {
        self.pointer.addr()
    }

    #[inline]
    pub(crate) fn get(self, place: usize) -> i64 {
        if self.wide {
            // SAFETY: the promise of whoever has made it.
            unsafe { self.pointer.cast::<i64>().wrapping_add(place).read_unaligned() }
        } else {
            // SAFETY: as above.
            (self.reads)(unsafe { self.pointer.cast::<i32>().wrapping_add(place).read_unaligned() }).into()
        }
    }

    #[inline]
    pub(crate) fn put(self, place: usize, value: i64) {
        if self.pointer.is_null() {
            return;
        }
        if self.wide {
            // SAFETY: the promise of whoever has made it.
            unsafe { self.pointer.cast::<i64>().wrapping_add(place).write_unaligned(value) }
        } else {
            let value = (self.writes)(value as i32);
            // SAFETY: as above.
            unsafe { self.pointer.cast::<i32>().wrapping_add(place).write_unaligned(value) }
        }
    }

    #[inline]
    pub(crate) fn set(self, value: i64) {
        self.put(0, value);
    }

    pub(crate) fn flag(self, value: bool) {
        self.put(0, value.into());
    }

    /// Writes a number, or `MPI_UNDEFINED` where there is no room for it.
    #[inline]
    pub(crate) fn set_or_undefined(self, value: Option<i64>) {
        let fits = |value: &i64| self.wide || i32::try_from(*value).is_ok();
        self.put(0, value.filter(fits).unwrap_or(standard::UNDEFINED.into()));
    }
}

/// Handles of the program's, which are read and written.
#[derive(Clone, Copy, Debug)]
pub struct Handles<H> {
    pointer: *mut c_void,
    kind: PhantomData<H>,
}

impl<H: Handle> Handles<H> {
    pub(crate) fn is_null(self) -> bool {
        self.pointer.is_null()
    }

    /// An argument.
    ///
    /// # Safety
    ///
    /// As many can be read, and written where they are results, as the standard says of the argument.
    #[inline]
    #[must_use]
    pub unsafe fn new(pointer: *mut c_void) -> Self {
        Self { pointer, kind: PhantomData }
    }

    #[inline]
    pub(crate) fn get(self, place: usize) -> H {
        let host = host();
        let raw = if host.handle_bytes == 4 {
            // SAFETY: the promise of `new`.
            unsafe { self.pointer.cast::<u32>().wrapping_add(place).read_unaligned() as usize }
        } else {
            // SAFETY: as above.
            unsafe { self.pointer.cast::<usize>().wrapping_add(place).read_unaligned() }
        };
        H::from((host.handle_in)(H::KIND, raw))
    }

    #[inline]
    pub(crate) fn put(self, place: usize, handle: H) {
        let host = host();
        let raw = (host.handle_out)(H::KIND, handle.into());
        if host.handle_bytes == 4 {
            // SAFETY: as above.
            unsafe { self.pointer.cast::<u32>().wrapping_add(place).write_unaligned(raw as u32) }
        } else {
            // SAFETY: as above.
            unsafe { self.pointer.cast::<usize>().wrapping_add(place).write_unaligned(raw) }
        }
    }

    #[inline]
    pub(crate) fn set(self, handle: H) {
        self.put(0, handle);
    }

    pub(crate) fn vec(self, length: usize) -> Vec<H> {
        (0..length).map(|place| self.get(place)).collect()
    }
}

/// Places for statuses, or none.
#[derive(Clone, Copy, Debug)]
pub struct StatusOut(*mut c_void);

impl StatusOut {
    /// An argument; a null pointer for `MPI_STATUS_IGNORE`.
    ///
    /// # Safety
    ///
    /// As many can be written, and read where they are given, as the standard says of the argument.
    #[inline]
    #[must_use]
    pub unsafe fn new(pointer: *mut c_void) -> Self {
        Self(pointer)
    }

    /// Whether it is not `MPI_STATUS_IGNORE`.
    #[inline]
    pub(crate) fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    #[inline]
    pub(crate) fn put(self, place: usize, status: &Status) {
        if !self.0.is_null() {
            let host = host();
            // SAFETY: the promise of `new`.
            unsafe { (host.write_status)(self.0.wrapping_byte_add(place * host.status_bytes), status) }
        }
    }

    /// Like [`StatusOut::put`], but leaves the error as it is: of calls that return it.
    #[inline]
    pub(crate) fn set(self, status: &Status) {
        if !self.0.is_null() {
            let error = self.get(0).error;
            self.put(0, &Status { error, ..*status });
        }
    }

    pub(crate) fn get(self, place: usize) -> Status {
        if self.0.is_null() {
            return Status::EMPTY;
        }
        let host = host();
        // SAFETY: the promise of `new`.
        unsafe { (host.read_status)(self.0.wrapping_byte_add(place * host.status_bytes)) }
    }
}

/// A text of the program's, or none.
#[derive(Clone, Copy, Debug)]
pub struct Text(*const c_char);

impl Text {
    /// An argument.
    ///
    /// # Safety
    ///
    /// It is null or ends with a zero.
    #[must_use]
    pub unsafe fn new(pointer: *const c_char) -> Self {
        Self(pointer)
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn get(self) -> String {
        if self.0.is_null() {
            return String::new();
        }
        // SAFETY: the promise of `new`.
        unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned()
    }
}

/// A place for a text.
#[derive(Clone, Copy, Debug)]
pub struct TextOut(*mut c_char);

impl TextOut {
    /// An argument.
    ///
    /// # Safety
    ///
    /// There is room for as much as the standard says of the argument.
    #[must_use]
    pub unsafe fn new(pointer: *mut c_char) -> Self {
        Self(pointer)
    }

    /// Writes a text of at most `room` bytes, with the zero at its end; how long it is without.
    pub(crate) fn set(self, text: &str, room: usize) -> usize {
        let mut end = text.len().min(room.saturating_sub(1));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = CString::new(text[..end].replace('\0', "?")).unwrap_or_default();
        let bytes = text.as_bytes_with_nul();
        if !self.0.is_null() && room > 0 {
            // SAFETY: the promise of `new`; the text with its end is no longer than `room`.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len()) }
        }
        bytes.len() - 1
    }
}

/// Memory of this library's own for an operation, whose owner keeps it until the operation has ended.
pub(crate) fn owned(bytes: &mut [u8]) -> Foreign {
    // SAFETY: the staging memory of an operation lies on the heap, is kept beside it until it has ended (`work`), or
    // leaked with it, and is touched by nobody meanwhile.
    unsafe { Foreign::new(bytes.as_mut_ptr(), bytes.len()) }
}

/// Memory for the program, with `before` bytes in front of it that say how much it is: its address.
pub(crate) fn allocate(size: usize, before: usize) -> Option<usize> {
    let layout = std::alloc::Layout::from_size_align(size.checked_add(before)?, before).ok()?;
    // SAFETY: the layout is not empty.
    let memory = unsafe { std::alloc::alloc(layout) };
    if memory.is_null() {
        return None;
    }
    Address(memory.cast()).write(&layout.size().to_ne_bytes());
    Some(memory.expose_provenance() + before)
}

/// Frees what [`allocate`] has given.
pub(crate) fn release(base: Address, before: usize) {
    if base.number() == 0 {
        return;
    }
    let memory = base.plus(-(before as i64));
    if let Ok(layout) = std::alloc::Layout::from_size_align(memory.read_pointer(), before) {
        // SAFETY: the program gives back what `MPI_Alloc_mem` has given it, as the standard says, and so with this
        // layout.
        unsafe { std::alloc::dealloc(memory.0.cast(), layout) }
    }
}
