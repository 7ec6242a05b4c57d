//! What is known of a message that has come.

use std::fmt;

use bytemuck::Pod;
use ringworld_protocol::{Done, Element, Envelope, Incoming};

use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::{DType, ElementCode};

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Who sent it: a rank of the communicator.
    pub source: usize,
    /// Its tag.
    pub tag: u32,
    /// How many elements it has: of the type received, or bytes from a probe. [`Status::elements`] counts alike in
    /// both.
    pub count: usize,
    bytes: usize,
    element: ElementCode,
}

impl Status {
    /// Of a message that the protocol knows; `size` is that of what [`Status::count`] counts.
    fn new(source: usize, envelope: &Envelope, bytes: usize, size: usize) -> Self {
        // Tags of the user are 32 bits wide when they are sent.
        let (tag, element) = (envelope.tag as u32, envelope.element.into());
        Self { source, tag, count: bytes / size, bytes, element }
    }

    /// How many elements of type `T` it has, whether it was received or only probed; `None` when it has others, or no
    /// whole number of them, so that a receive of `T` would fail.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u64, 2], 0, 3)?;
    /// let status = world.probe(0, 3)?;
    /// assert_eq!((status.elements::<u64>(), status.elements::<f64>()), (Some(2), None));
    /// let mut buffer = vec![0u64; status.elements::<u64>().unwrap_or(0)];
    /// assert_eq!(world.recv(&mut buffer, 0, 3)?.elements::<u64>(), Some(2));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias("MPI_Get_count", "Get_count", "Get_elements"))]
    pub fn elements<T: Pod>(&self) -> Option<usize> {
        let (sent, wanted) = (Element::from(self.element), ElementCode::of::<T>().into());
        let size = size_of::<T>().max(1);
        (sent.goes_into(wanted, self.bytes) && self.bytes.is_multiple_of(size)).then(|| self.bytes / size)
    }

    /// How long it is, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The type of its elements as its sender gave them: `None` when that is a type of the program's own, or when it
    /// is an object; [`DType::Bytes`] for [`Raw`](crate::Raw).
    ///
    /// ```
    /// use ringworld::DType;
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1.5f32], 0, 3)?;
    /// assert_eq!(world.probe(0, 3)?.element(), Some(DType::F32));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn element(&self) -> Option<DType> {
        self.element.dtype()
    }
}

impl Communicator {
    pub(crate) fn status<T: Pod>(&self, done: Option<Done>, operation: &dyn fmt::Display) -> Result<Status> {
        let nothing = Done { source: 0, envelope: self.envelope(DType::Bytes.into(), 0), len: 0, arrival: 0 };
        let Done { source, envelope, len, .. } = done.unwrap_or(nothing);
        let size = size_of::<T>().max(1);
        if !len.is_multiple_of(size) {
            let sent = envelope.element.into();
            return Err(self.wrong_element(
                operation,
                source,
                envelope.tag,
                len,
                sent,
                ElementCode::of::<T>(),
            ));
        }
        Ok(Status::new(self.rank_of(source), &envelope, len, size))
    }

    pub(super) fn incoming_status(&self, incoming: &Incoming) -> Status {
        Status::new(self.rank_of(incoming.source), &incoming.envelope, incoming.len, 1)
    }
}
