//! Registered memory: prepared once for all transfers in which it takes part.
//!
//! A network card reaches memory only where it has been pinned and registered. That is work for every page, which each
//! long transfer otherwise does at both ends. [`Registered`] owns its memory: a guard on borrowed memory
//! could be forgotten, and would leave a card with access to memory that has become something else; one that owns it
//! leaks it then. Neighbours: `engine/lend` keeps the memory and its registrations together, `prepared` registers by
//! itself.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;
use ringworld_transport::Cause;

use crate::communicator::Communicator;
use crate::{Error, Result};
use ringworld_engine::Engine;
use ringworld_engine::lend::Loan;

/// A vector whose memory the transports have prepared for transfers, made by [`Communicator::register`].
///
/// It derefs to a slice, so any blocking call and any [scope](Communicator::scope) takes it or a part of it. Which
/// communicator it is used on plays no part: it is registered for this process.
///
/// Dropping it ends the registration and frees the memory; leaking it leaks both, which is safe. It may outlive the
/// `World`, and then is a vector like any other.
pub struct Registered<T: Pod + Send> {
    /// Without any operation of its own: those that use the memory borrow it from here.
    loan: Loan<T, Arc<Engine>>,
}

impl<T: Pod + Send> Registered<T> {
    /// Whether any transport pinned the memory when it was registered. If not, nothing is lost but the gain: no
    /// transport of this world gains by it (TCP has nothing to prepare), the vector is empty, the limit on pinned
    /// memory was reached, of which a warning tells, or the world was over already.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// // A world of one needs no card.
    /// assert!(!world.register(vec![0u8; 4096])?.is_pinned());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.loan.is_registered()
    }

    /// Ends the registration, and gives the vector back.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// assert_eq!(world.register(vec![1, 2, 3])?.into_inner(), vec![1, 2, 3]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn into_inner(mut self) -> Vec<T> {
        self.loan.take_buffers().1.unwrap_or_default()
    }
}

impl<T: Pod + Send> Deref for Registered<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.loan.at_rest()
    }
}

impl<T: Pod + Send> DerefMut for Registered<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.loan.buffers().1.unwrap_or_default()
    }
}

impl<T: Pod + Send> fmt::Debug for Registered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pinned = if self.is_pinned() { "pinned" } else { "not pinned" };
        write!(f, "Registered({} elements, {pinned})", self.len())
    }
}

/// # Memory of many transfers
impl Communicator {
    /// Has the transports prepare a vector's memory once for all transfers in which it will take part. That pays over
    /// InfiniBand and RoCE, for memory of which messages longer than [the eager limit](crate::eager_limit) are sent or
    /// received more than a few times. Shorter ones are not affected, and nor are collectives that cut long vectors
    /// into segments below that limit, as most do by default ([`Options::segment`](crate::Options::segment)); nor is
    /// anything over TCP or in shared memory. Prepared operations (`prepare_*`) register by themselves what gains by
    /// it.
    ///
    /// Pinning takes time, during which other calls of this process wait. The memory stays pinned until the
    /// [`Registered`] is dropped, and counts against the limit on pinned memory (`ulimit -l`). So long, a rank that
    /// once was to write a message into it could write to it again: ranks of a world trust each other not to.
    ///
    /// # Errors
    ///
    /// [`Error::System`] when a card refuses the memory for another reason than that limit; the vector is freed.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// # let (left, right) = (0, 0);
    /// let (outgoing, mut incoming) = (world.register(vec![1f64; 100_000])?, world.register(vec![0.0; 100_000])?);
    /// for step in 0..3 {
    ///     world.send_recv(&outgoing, right, step, &mut incoming, left, step)?;
    ///     world.broadcast(&mut incoming[..10], 0)?;
    /// }
    /// let incoming: Vec<f64> = incoming.into_inner();
    /// assert_eq!(incoming, vec![1.0; 100_000]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Alloc_mem", "MPI_Free_mem"))]
    pub fn register<T: Pod + Send>(&self, data: Vec<T>) -> Result<Registered<T>> {
        let mut loan = Loan::new(Arc::clone(self.engine()), None, Some(data));
        loan.register().map_err(|cause| refused("register".into(), &cause))?;
        Ok(Registered { loan })
    }
}

/// The error of a call whose memory no card will have.
pub(crate) fn refused(operation: String, cause: &Cause) -> Error {
    Error::System { operation, cause: cause.to_string() }
}
