//! Raw bytes: elements of no type, which go with messages of every type. Neighbour: `datatype` has the types that
//! messages tell apart.

use bytemuck::{Pod, Zeroable};

/// A byte of whatever the other side takes it for.
///
/// A message tells what its elements are, and a receive for others fails (`Error::WrongElement`): a sender
/// of `f32` and a receiver of `i32` are most likely a mistake, and so are a sender of `f32` and a receiver of `u8`,
/// which is a number of 8 bits. A message of `Raw` can be received as anything, and a receive of `Raw` gets anything,
/// objects included; whoever asks for that answers for the meaning of the bytes. In collectives all ranks must
/// give `Raw`, as with any other type.
///
/// ```
/// use ringworld::Raw;
/// # let world = ringworld::testing::alone();
/// let pending = world.start_recv(vec![0f32; 2], 0, 7)?;
/// // Read from a file, say.
/// let bytes = [0u8, 0, 128, 63, 0, 0, 0, 64];
/// world.send(Raw::of(&bytes), 0, 7)?;
/// assert_eq!(pending.wait()?.0, [1.0, 2.0]);
///
/// world.send(&[1.0f32], 0, 7)?;
/// let mut bytes = [0u8; 4];
/// world.recv(Raw::of_mut(&mut bytes), 0, 7)?;
/// assert_eq!(bytes, [0, 0, 128, 63]);
/// # Ok::<(), ringworld::Error>(())
/// ```
///
/// For calls that own their buffers, `Vec<u8>` becomes `Vec<Raw>` in place by `into_iter().map(Raw).collect()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Raw(pub u8);

impl Raw {
    /// The bytes of a slice.
    ///
    /// ```
    /// use ringworld::Raw;
    /// assert_eq!(Raw::of(&[1u16.to_be(), 2u16.to_be()]), [0, 1, 0, 2].map(Raw));
    /// ```
    #[must_use]
    #[doc(alias = "MPI_BYTE")]
    pub fn of<T: Pod>(data: &[T]) -> &[Self] {
        bytemuck::cast_slice(data)
    }

    /// The bytes of a slice, to be received into.
    ///
    /// ```
    /// use ringworld::Raw;
    /// let mut data = [0u32];
    /// Raw::of_mut(&mut data).fill(Raw(0xff));
    /// assert_eq!(data, [u32::MAX]);
    /// ```
    #[must_use]
    #[doc(alias = "MPI_BYTE")]
    pub fn of_mut<T: Pod>(data: &mut [T]) -> &mut [Self] {
        bytemuck::cast_slice_mut(data)
    }
}
