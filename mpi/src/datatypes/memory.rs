//! The buffers of calls: address, count and datatype, as memory for an operation.
//!
//! Elements without holes are given to operations where they lie, whatever their number; others are packed into
//! memory of this library, and unpacked when the operation has ended.

use std::sync::Arc;

use ringworld::foreign::Foreign;

use super::datatype::Datatype;
use crate::arguments::Address;
use crate::error::{Result, fail};
use crate::standard::{ERR_BUFFER, ERR_COUNT};

/// A buffer of a call.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) address: Address,
    pub(crate) count: usize,
    pub(crate) datatype: Arc<Datatype>,
}

/// Memory of this library's, aligned for elements of any type.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    words: Vec<u128>,
    length: usize,
}

impl Owned {
    pub(crate) fn new(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(size_of::<u128>())], length }
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut owned = Self::new(bytes.len());
        owned.bytes_mut().copy_from_slice(bytes);
        owned
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &ringworld::bytemuck::cast_slice(&self.words)[..self.length]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut ringworld::bytemuck::cast_slice_mut(&mut self.words)[..self.length]
    }

    /// For an operation, which ends before this is dropped.
    pub(crate) fn foreign(&mut self) -> Foreign {
        crate::arguments::owned(self.bytes_mut())
    }
}

/// An address that is no buffer's: `MPI_IN_PLACE` where that means nothing, or `NULL`, which is `MPI_BOTTOM` for
/// datatypes that say where their elements lie.
#[cold]
fn nowhere(address: Address, datatype: &Datatype) -> Result<()> {
    if address.is_in_place() {
        return fail(ERR_BUFFER, "MPI_IN_PLACE was given, and this call does nothing in place");
    }
    if datatype.true_lb == 0 {
        return fail(ERR_BUFFER, "NULL was given for a buffer that has elements");
    }
    Ok(())
}

/// As many bytes as memory can have, which is also how far an address can be moved.
const MOST: usize = isize::MAX as usize;

#[cold]
fn too_long(count: usize, datatype: &Datatype) -> Result<Buffer> {
    let size = datatype.size;
    fail(
        ERR_COUNT,
        format!("{count} elements of {size} bytes cannot be in memory, which has at most {MOST} bytes"),
    )
}

impl Buffer {
    #[inline]
    pub(crate) fn new(address: Address, count: i64, datatype: Arc<Datatype>) -> Result<Self> {
        match usize::try_from(count) {
            Ok(count) => {
                if count.checked_mul(datatype.size).is_none_or(|bytes| bytes > MOST) {
                    return too_long(count, &datatype);
                }
                if address.is_constant() && count > 0 && datatype.size > 0 {
                    nowhere(address, &datatype)?;
                }
                Ok(Self { address, count, datatype })
            }
            Err(_) => fail(ERR_COUNT, format!("{count} is no number of elements; it must be 0 or more")),
        }
    }

    /// How many bytes of data there are.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.count.saturating_mul(self.datatype.size)
    }

    /// The memory itself, if its elements lie one behind the other.
    #[inline]
    pub(crate) fn dense(&self) -> Option<Foreign> {
        let dense = self.datatype.is_dense() || self.bytes() == 0;
        dense.then(|| self.address.foreign(self.bytes()))
    }

    /// The same elements further on: `elements` extents, or bytes.
    pub(crate) fn shifted(&self, bytes: i64, count: usize) -> Self {
        Self { address: self.address.plus(bytes), count, datatype: Arc::clone(&self.datatype) }
    }

    /// The part that begins so many elements further on.
    pub(crate) fn part(&self, elements: i64, count: usize) -> Self {
        self.shifted(elements * self.datatype.extent(), count)
    }

    /// A copy of the elements, without holes.
    pub(crate) fn pack(&self) -> Owned {
        let mut owned = Owned::new(self.bytes());
        self.pack_into(owned.bytes_mut());
        owned
    }

    pub(crate) fn pack_into(&self, packed: &mut [u8]) {
        if !packed.is_empty() {
            let Datatype { layout, .. } = &*self.datatype;
            layout.pack(self.count, self.datatype.extent(), self.address, packed);
        }
    }

    /// Puts elements into their places, as far as they go.
    pub(crate) fn unpack(&self, packed: &[u8]) {
        if !packed.is_empty() {
            let Datatype { layout, .. } = &*self.datatype;
            layout.unpack(self.count, self.datatype.extent(), packed, self.address);
        }
    }
}
