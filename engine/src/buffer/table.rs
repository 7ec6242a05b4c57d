//! The table from names to memory, and the pool of the engine's own.

#![allow(unsafe_code)]

use std::num::NonZeroU32;

use ringworld_protocol::{BufferId, Span};
use ringworld_transport::copying::copy;
use ringworld_transport::{Lease, RecvMemory, SendMemory};
use rustc_hash::FxHashMap;

use super::block::Block;
use crate::inside;
use crate::reduce::{Kernel, Panicked};

/// Copies the first bytes of a payload, as many as it is given room for, which is no more than there are.
pub(crate) type Copier<'a> = &'a mut dyn FnMut(&mut [u8]);

/// The engine's own memory is reused in powers of two up to this many bytes.
const POOLED: usize = 1 << 20;
/// The smallest of them.
const LEAST: usize = 64;
/// How many there are.
const SIZES: usize = (POOLED.ilog2() - LEAST.ilog2() + 1) as usize;
/// How many free blocks of one such size are kept.
const KEPT: usize = 64;
/// Of short ones more, so many bytes of each size: each of several threads takes in what the others wait for, by the
/// hundred, and with so few kept, that was a fifth of their time in the allocator.
const KEPT_SHORT: usize = 256 << 10;
/// Longer blocks, the scratch of long vectors, are kept up to this many bytes altogether. A block fresh from the
/// system costs a page fault for every 4 KiB: a reduce-scatter of 4 MiB between two ranks, whose ring has 2 MiB
/// of scratch, took 1.7 ms with fresh scratch and takes 0.6 ms with scratch that is kept.
const KEPT_LONG: usize = 32 << 20;

/// Lent memory by name, and the engine's own memory for unexpected messages.
pub(crate) struct Buffers {
    lent: Vec<Row>,
    free: Vec<BufferId>,
    /// Asked for in every message that comes too early; no peer chooses the keys.
    bounces: FxHashMap<u64, Block>,
    /// Free blocks of each size up to [`POOLED`].
    pool: [Vec<Block>; SIZES],
    /// Free blocks of more than [`POOLED`] bytes, the latest last.
    long: Vec<Block>,
    /// Blocks that nobody needs any more but a transport still holds, with the name they were lent by.
    held: Vec<(Block, Option<BufferId>)>,
}

#[derive(Clone, Copy)]
struct Lent {
    pointer: *mut u8,
    length: usize,
    writable: bool,
}

impl Lent {
    const NOTHING: Self =
        Self { pointer: std::ptr::NonNull::dangling().as_ptr(), length: 0, writable: false };
}

/// Where in the table a name is: 0 is none.
#[inline]
fn row(name: BufferId) -> usize {
    name.0.get() as usize - 1
}

/// Where in the pool blocks of a size are.
#[inline]
fn which(size: usize) -> usize {
    (size.ilog2() - LEAST.ilog2()) as usize
}

/// A row of the table: what a name stands for, and whether a transport holds any of it. The lease stays when the name
/// is given out again, so that lending allocates nothing.
struct Row {
    lent: Lent,
    lease: Lease,
}

// SAFETY: the pointers are lent under the promise that any thread may use them.
unsafe impl Send for Buffers {}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            lent: Vec::new(),
            free: Vec::new(),
            bounces: FxHashMap::default(),
            pool: [const { Vec::new() }; SIZES],
            long: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Names memory that will only be read.
    ///
    /// # Safety
    ///
    /// Until it is reclaimed, the slice's memory stays valid and is written by nobody, although the
    /// borrow may end earlier in the eyes of the compiler.
    #[inline]
    pub(crate) unsafe fn lend(&mut self, bytes: &[u8]) -> Span {
        self.insert(Lent { pointer: bytes.as_ptr().cast_mut(), length: bytes.len(), writable: false })
    }

    /// Names memory that will be read and written.
    ///
    /// # Safety
    ///
    /// Until it is reclaimed, the slice's memory stays valid and is touched by nobody else, although the
    /// borrow may end earlier in the eyes of the compiler.
    #[inline]
    pub(crate) unsafe fn lend_mut(&mut self, bytes: &mut [u8]) -> Span {
        self.insert(Lent { pointer: bytes.as_mut_ptr(), length: bytes.len(), writable: true })
    }

    /// Names memory that will be read and written, by the pointer that its owner will use afterwards.
    ///
    /// # Safety
    ///
    /// Until it is reclaimed, the `length` bytes are valid for reads and writes and touched by nobody else.
    #[inline]
    pub(crate) unsafe fn lend_raw(&mut self, pointer: std::ptr::NonNull<u8>, length: usize) -> Span {
        self.insert(Lent { pointer: pointer.as_ptr(), length, writable: true })
    }

    #[inline]
    fn insert(&mut self, lent: Lent) -> Span {
        if let Some(name) = self.free.pop() {
            self.lent[row(name)].lent = lent;
            return Span::of(name, lent.length);
        }
        // More than 2^32 buffers would need more memory than there are addresses for their rows.
        let name = BufferId(NonZeroU32::MIN.saturating_add(self.lent.len() as u32));
        self.lent.push(Row { lent, lease: Lease::new() });
        Span::of(name, lent.length)
    }

    /// Whether a transport holds any of the memory: then the loan cannot end.
    #[inline]
    pub(crate) fn is_out(&mut self, id: BufferId) -> bool {
        self.lent[row(id)].lease.is_out()
    }

    /// Ends a loan. The name may be given out again.
    ///
    /// # Panics
    ///
    /// When a transport holds any of the memory: ask [`Buffers::is_out`] first.
    #[inline]
    pub(crate) fn reclaim(&mut self, id: BufferId) {
        let row = &mut self.lent[row(id)];
        assert!(
            !row.lease.is_out(),
            "memory that a transport holds is given back: this is a bug in ringworld"
        );
        row.lent = Lent::NOTHING;
        self.free.push(id);
    }

    /// Start and length of a span, checked.
    #[inline]
    fn resolve(&self, span: Span, write: bool) -> (*mut u8, usize) {
        if span.len == 0 {
            // Barriers have steps without any buffer.
            return (std::ptr::NonNull::dangling().as_ptr(), 0);
        }
        let lent = span.buffer.map_or(Lent::NOTHING, |name| self.lent[row(name)].lent);
        let fits = span.offset.checked_add(span.len).is_some_and(|end| end <= lent.length);
        assert!(fits && (lent.writable || !write), "a span outside its buffer: this is a bug in ringworld");
        // SAFETY: the offset is inside the lent memory, as just checked.
        (unsafe { lent.pointer.add(span.offset) }, span.len)
    }

    /// Memory to send from.
    #[inline]
    pub(crate) fn to_send(&self, span: Span) -> SendMemory {
        let (pointer, length) = self.resolve(span, false);
        // SAFETY: the lender's promise; the name is reclaimed only when no lease of it is out.
        let memory = unsafe { SendMemory::new(pointer, length) };
        self.with_lease(span, memory, SendMemory::leased)
    }

    /// Memory to receive into.
    #[inline]
    pub(crate) fn to_receive(&self, span: Span) -> RecvMemory {
        let (pointer, length) = self.resolve(span, true);
        // SAFETY: the lender's promise, and one message at a time has this memory; the name is reclaimed only when no
        // lease of it is out.
        let memory = unsafe { RecvMemory::new(pointer, length) };
        self.with_lease(span, memory, RecvMemory::leased)
    }

    /// Gives a span the lease of its buffer. An empty one may have no buffer, and holds nothing.
    #[inline]
    fn with_lease<M>(&self, span: Span, memory: M, leased: impl FnOnce(M, &Lease) -> M) -> M {
        match span.buffer {
            Some(name) if span.len > 0 => leased(memory, &self.lent[row(name)].lease),
            _ => memory,
        }
    }

    /// What a span holds.
    #[inline]
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        let (pointer, length) = self.resolve(span, false);
        // SAFETY: the lender's promise; nobody writes here meanwhile (schedules order conflicts).
        unsafe { std::slice::from_raw_parts(pointer, length) }
    }

    #[expect(clippy::mut_from_ref, reason = "the memory is not part of the table; see the module's text")]
    fn bytes_mut(&self, span: Span) -> &mut [u8] {
        let (pointer, length) = self.resolve(span, true);
        // SAFETY: the lender's promise; nobody else uses this span meanwhile (schedules order conflicts).
        unsafe { std::slice::from_raw_parts_mut(pointer, length) }
    }

    /// Writes the beginning of a payload to a span, as much as it has room for: no more than there is.
    #[inline]
    pub(crate) fn fill(&self, span: Span, copy: Copier<'_>) {
        copy(self.bytes_mut(span));
    }

    /// Copies one span to another; they may not overlap unless they are the same.
    pub(crate) fn copy(&self, from: Span, into: Span) {
        if self.resolve(from, false) != self.resolve(into, true) {
            copy(self.bytes(from), self.bytes_mut(into));
        }
    }

    /// `into[i] = left[i] op right[i]`; `into` is the same memory as one of them or apart from both.
    ///
    /// # Errors
    ///
    /// When a user's operation panics, or asks something of the engine.
    pub(crate) fn reduce(
        &self,
        kernel: &Kernel,
        left: Span,
        right: Span,
        into: Span,
    ) -> Result<(), Panicked> {
        let Kernel::User(user) = kernel else { return self.reduce_by(kernel, left, right, into) };
        let (result, refused) = inside::run(self, user, || self.reduce_by(kernel, left, right, into));
        refused.map_or(result, |call| Err(Panicked::by_calling(user.name(), call)))
    }

    #[inline]
    fn reduce_by(&self, kernel: &Kernel, left: Span, right: Span, into: Span) -> Result<(), Panicked> {
        let at = self.resolve(into, true);
        if at == self.resolve(left, false) {
            kernel.reduce_left(self.bytes_mut(into), self.bytes(right))
        } else if at == self.resolve(right, false) {
            kernel.reduce_right(self.bytes(left), self.bytes_mut(into))
        } else {
            kernel.reduce_apart(self.bytes(left), self.bytes(right), self.bytes_mut(into))
        }
    }

    /// Changes a span where it lies; nobody else uses it meanwhile.
    pub(crate) fn change(&self, span: Span, change: impl FnOnce(&mut [u8])) {
        change(self.bytes_mut(span));
    }

    /// Memory of the engine for a message that nobody has asked for yet.
    pub(crate) fn bounce(&mut self, token: u64, length: usize) -> RecvMemory {
        let mut block = self.block(length);
        let pointer = block.bytes_mut().as_mut_ptr();
        // SAFETY: the block lives on the heap, and is neither used for anything else nor freed while its lease is out.
        let memory = unsafe { RecvMemory::new(pointer, length) }.leased(&block.lease);
        self.bounces.insert(token, block);
        memory
    }

    /// Keeps a message that was received once, as if nobody had asked for it yet.
    pub(crate) fn keep(&mut self, token: u64, length: usize, copy: Copier<'_>) {
        let mut block = self.block(length);
        copy(&mut block.bytes_mut()[..length]);
        self.bounces.insert(token, block);
    }

    /// Whether a message of this token lies in memory of the engine's own, or is on its way there.
    pub(crate) fn is_bouncing(&self, token: u64) -> bool {
        self.bounces.contains_key(&token)
    }

    /// Hands a bounced message over to the receive that has matched it.
    pub(crate) fn unbounce(&self, token: u64, into: Span) {
        if let Some(block) = self.bounces.get(&token) {
            copy(&block.bytes()[..into.len], self.bytes_mut(into));
        }
    }

    /// Hands the beginning of a bounced message over, and takes its memory back.
    pub(crate) fn take(&mut self, token: u64, into: &mut [u8]) {
        if let Some(block) = self.bounces.remove(&token) {
            copy(&block.bytes()[..into.len()], into);
            self.retire(block, None);
        }
    }

    /// Takes the memory of a bounced message back.
    pub(crate) fn release(&mut self, token: u64) {
        if let Some(block) = self.bounces.remove(&token) {
            self.retire(block, None);
        }
    }

    /// Forgets all bounced messages.
    pub(crate) fn release_all(&mut self) {
        for (_, block) in std::mem::take(&mut self.bounces) {
            self.retire(block, None);
        }
    }

    /// Takes a block back that nobody needs any more, and the name it was lent by: at once, or when the transports have
    /// let go of it.
    pub(crate) fn retire(&mut self, mut block: Block, name: Option<BufferId>) {
        if block.lease.is_out() || name.is_some_and(|name| self.is_out(name)) {
            self.held.push((block, name));
            return;
        }
        if let Some(name) = name {
            self.reclaim(name);
        }
        self.recycle(block);
    }

    /// Whether blocks wait for a transport to let go of them.
    #[inline]
    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes those back that it has let go of.
    pub(crate) fn retire_held(&mut self) {
        for (block, name) in std::mem::take(&mut self.held) {
            self.retire(block, name);
        }
    }

    /// A block of at least `length` bytes, aligned for every element type, contents unspecified.
    pub(crate) fn block(&mut self, length: usize) -> Block {
        if length > POOLED {
            return self.long_block(length).unwrap_or_else(|| Block::new(length));
        }
        let size = length.next_power_of_two().max(LEAST);
        self.pool[which(size)].pop().unwrap_or_else(|| Block::new(size))
    }

    /// The shortest kept block that is long enough, unless it is more than twice as long.
    fn long_block(&mut self, length: usize) -> Option<Block> {
        let fitting = |block: &Block| (length..=2 * length).contains(&block.bytes().len());
        let shortest = self.long.iter().enumerate().filter(|(_, block)| fitting(block));
        let (at, _) = shortest.min_by_key(|(_, block)| block.bytes().len())?;
        Some(self.long.remove(at))
    }

    /// Keeps a block for later, as far as there is room for its kind; of long ones the latest.
    pub(crate) fn recycle(&mut self, block: Block) {
        let size = block.bytes().len();
        if size <= POOLED {
            let kept = &mut self.pool[which(size)];
            if kept.len() < KEPT.max(KEPT_SHORT / size) {
                kept.push(block);
            }
        } else if size <= KEPT_LONG {
            self.long.push(block);
            let mut excess: usize =
                self.long.iter().map(|block| block.bytes().len()).sum::<usize>().saturating_sub(KEPT_LONG);
            while excess > 0 {
                excess = excess.saturating_sub(self.long.remove(0).bytes().len());
            }
        }
    }

    /// Names a block of the engine's own as writable memory. The caller keeps the block until the name
    /// has been reclaimed.
    pub(crate) fn lend_block(&mut self, block: &mut Block) -> Span {
        // SAFETY: whoever names a block (the executor its scratch, an exchange what it stages) keeps it
        // until the name has been reclaimed.
        unsafe { self.lend_mut(block.bytes_mut()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce::{Op, Reduction};

    #[test]
    fn reductions_write_where_they_are_told() {
        let mut buffers = Buffers::new();
        let (mut a, mut b, mut c) = ([1f32, 2.0], [10f32, 20.0], [0f32; 2]);
        // SAFETY: the arrays outlive `buffers`, and are looked at only after the last use of it.
        let x = unsafe { buffers.lend_mut(bytemuck::cast_slice_mut(&mut a)) };
        // SAFETY: as above.
        let y = unsafe { buffers.lend_mut(bytemuck::cast_slice_mut(&mut b)) };
        // SAFETY: as above.
        let z = unsafe { buffers.lend_mut(bytemuck::cast_slice_mut(&mut c)) };
        let sum = Reduction::<f32>::plan(&Op::Sum).unwrap().kernel;
        buffers.reduce(&sum, x, y, z).unwrap();
        buffers.reduce(&sum, x, y, x).unwrap();
        buffers.reduce(&sum, x, y, y).unwrap();
        assert_eq!((a, b, c), ([11.0, 22.0], [21.0, 42.0], [11.0, 22.0]));
    }

    #[test]
    #[should_panic(expected = "outside its buffer")]
    fn a_span_outside_its_buffer_is_never_used() {
        let mut buffers = Buffers::new();
        let data = [0u8; 4];
        // SAFETY: the array outlives `buffers`.
        let whole = unsafe { buffers.lend(&data) };
        let _memory = buffers.to_send(Span { offset: 2, len: 3, ..whole });
    }

    #[test]
    fn released_blocks_are_used_again() {
        let mut buffers = Buffers::new();
        let first = buffers.bounce(1, 1000).as_mut_ptr();
        buffers.release(1);
        assert_eq!(buffers.bounce(2, 600).as_mut_ptr(), first);
    }

    #[test]
    fn short_blocks_are_kept_by_their_bytes_and_longer_ones_by_their_number() {
        let mut buffers = Buffers::new();
        for (size, many) in [(LEAST, KEPT_SHORT / LEAST), (4 << 10, KEPT), (64 << 10, KEPT)] {
            let taken: Vec<_> = (0..many + 1).map(|_| Block::new(size)).collect();
            taken.into_iter().for_each(|block| buffers.recycle(block));
        }
        let kept = [LEAST, 4 << 10, 64 << 10].map(|size| buffers.pool[which(size)].len());
        assert_eq!(kept, [KEPT_SHORT / LEAST, KEPT, KEPT]);
    }

    #[test]
    fn what_has_bounced_is_handed_over_as_far_as_it_is_wanted() {
        let mut buffers = Buffers::new();
        buffers.keep(1, 3, &mut |into| into.copy_from_slice(&[1, 2, 3]));
        let block = buffers.bounces[&1].bytes().as_ptr();
        let mut into = [0; 2];
        buffers.take(1, &mut into);
        assert_eq!((into, buffers.is_bouncing(1)), ([1, 2], false));
        assert_eq!(buffers.block(3).bytes().as_ptr(), block, "it is used again");
    }

    #[test]
    fn long_blocks_are_used_again_where_they_fit_and_kept_within_bounds() {
        let mut buffers = Buffers::new();
        let address = |block: &Block| block.bytes().as_ptr();
        let (long, longer) = (buffers.block(3 << 20), buffers.block(5 << 20));
        let (first, second) = (address(&long), address(&longer));
        buffers.recycle(longer);
        buffers.recycle(long);
        let again = buffers.block((3 << 20) - 100);
        assert_eq!(address(&again), first, "the shortest that is long enough");
        let other = buffers.block((2 << 20) + 1);
        assert_eq!(other.bytes().len(), (2 << 20) + 64, "a block twice as long would be wasted");
        assert_eq!(address(&buffers.block(4 << 20)), second);

        let blocks: Vec<Block> = (0..12).map(|_| buffers.block(4 << 20)).collect();
        let latest = address(&blocks[11]);
        blocks.into_iter().for_each(|block| buffers.recycle(block));
        buffers.recycle(Block::new(KEPT_LONG + 64));
        assert_eq!(buffers.long.iter().map(|block| block.bytes().len()).sum::<usize>(), KEPT_LONG);
        assert!(buffers.long.iter().any(|block| address(block) == latest), "the latest are kept");
    }
}
