//! Gradients that are reduced while others are still computed: buckets that leave as soon as they are full.
//!
//! What `fused.rs` does for tensors that are all there, for those that come one after another, as in the backward pass
//! of a network (Li and others, "PyTorch Distributed", VLDB 2020). Invariant: what goes together, and in which order,
//! depends on the lengths and the capacity alone, so all ranks do alike.

use std::fmt;

use bytemuck::Pod;

use super::fused::{ALONE, BUCKET};
use crate::Result;
use crate::communicator::Communicator;
use crate::request::{Pending, wait_all};
use ringworld_engine::reduce::{Reduction, Shared};

/// All-reduces of tensors that come one after another; made by [`Communicator::all_reduce_buckets`],
/// where there is an example.
pub struct Buckets<T: Pod + Send, R: Reduction<T>> {
    communicator: Communicator,
    op: R,
    capacity: usize,
    /// What is not under way yet: copies of the last of these tensors, which follow one another.
    open: Vec<T>,
    inside: Vec<usize>,
    /// Every tensor by its number; those that are under way alone are not here, but with their operation.
    tensors: Vec<Vec<T>>,
    under_way: Vec<(Pending<Vec<T>>, Cargo)>,
    /// Memory of buckets that have come back.
    spare: Vec<Vec<T>>,
}

/// What an operation carries: which tensors.
enum Cargo {
    Alone(usize),
    Together(Vec<usize>),
}

impl<T: Pod + Send, R: Reduction<T>> fmt::Debug for Buckets<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tensors, under_way) = (self.tensors.len(), self.under_way.len());
        write!(f, "Buckets({tensors} tensors, {under_way} operations under way)")
    }
}

/// # Collectives on many tensors, one after another
impl Communicator {
    /// All-reduces of many tensors that come one after another, such as gradients in the backward pass: each is given
    /// as soon as it is complete, short ones travel together, and all of it goes on while the next is computed.
    ///
    /// Every rank pushes tensors of the same lengths in the same order, and finishes after the same one. The bits of
    /// the result may differ from those of single calls as they may between lengths, unless the communicator is
    /// [reproducible](crate::Options::reproducible).
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut buckets = world.all_reduce_buckets(Op::Average);
    /// for step in 0..3 {
    ///     for layer in [2, 1, 0] {
    ///         let gradient = vec![layer as f32; 100]; // computed here, while those before are on the wire
    ///         buckets.push(gradient)?;
    ///     }
    ///     let gradients = buckets.finish()?; // in the order in which they were pushed
    ///     assert_eq!((gradients.len(), gradients[0][99]), (3, 2.0));
    /// }
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Iallreduce", "DistributedDataParallel", "DDP"))]
    pub fn all_reduce_buckets<T: Pod + Send, R: Reduction<T>>(&self, op: R) -> Buckets<T, R> {
        Buckets {
            communicator: self.clone(),
            op,
            capacity: BUCKET,
            open: Vec::new(),
            inside: Vec::new(),
            tensors: Vec::new(),
            under_way: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<T: Pod + Send, R: Reduction<T>> Buckets<T, R> {
    /// Closes buckets at so many bytes, in place of 4 MiB; alike on all ranks. Tensors of at least so many bytes, and
    /// of 128 KiB, go alone and are not copied.
    #[must_use]
    pub fn capacity(self, bytes: usize) -> Self {
        Self { capacity: bytes, ..self }
    }

    /// Takes the next tensor, and begins an all-reduce when a bucket is full. Returns the tensor's number, counted
    /// from 0.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_reduce`] can be refused for. All tensors since the last
    /// [`Buckets::finish`] are lost then, and the next one is number 0. All ranks must push tensors of the same lengths
    /// in the same order; [`Buckets::finish`] returns [`Error::Mismatch`](crate::Error::Mismatch) where they have not.
    #[track_caller]
    pub fn push(&mut self, tensor: Vec<T>) -> Result<usize> {
        let taken = self.take(tensor);
        if taken.is_err() {
            self.forget();
        }
        taken
    }

    #[track_caller]
    fn take(&mut self, tensor: Vec<T>) -> Result<usize> {
        let number = self.tensors.len();
        let bytes = size_of_val(tensor.as_slice());
        if bytes >= ALONE.min(self.capacity) {
            self.tensors.push(Vec::new());
            let pending = self.communicator.start_all_reduce(tensor, Shared(&self.op))?;
            self.under_way.push((pending, Cargo::Alone(number)));
            return Ok(number);
        }
        if size_of_val(self.open.as_slice()) + bytes > self.capacity {
            self.send_open()?;
        }
        self.open.extend_from_slice(&tensor);
        self.inside.push(number);
        self.tensors.push(tensor);
        Ok(number)
    }

    /// Waits for all that was pushed, and gives the tensors back, reduced, in the order in which they were pushed. The
    /// buckets can be filled again then.
    ///
    /// # Errors
    ///
    /// The first failure in order, after all of them have ended. The tensors are lost then.
    #[track_caller]
    pub fn finish(&mut self) -> Result<Vec<Vec<T>>> {
        let sent = self.send_open();
        let mut tensors = std::mem::take(&mut self.tensors);
        let (pending, cargos): (Vec<_>, Vec<_>) = std::mem::take(&mut self.under_way).into_iter().unzip();
        let reduced = wait_all(pending);
        sent?;
        for (reduced, cargo) in reduced?.into_iter().zip(cargos) {
            let numbers = match cargo {
                Cargo::Alone(number) => {
                    tensors[number] = reduced;
                    continue;
                }
                Cargo::Together(numbers) => numbers,
            };
            let mut rest = reduced.as_slice();
            for number in numbers {
                let (mine, after) = rest.split_at(tensors[number].len());
                tensors[number].copy_from_slice(mine);
                rest = after;
            }
            self.spare.push(reduced);
        }
        Ok(tensors)
    }

    /// Nothing is given back that was not reduced.
    fn forget(&mut self) {
        (self.open, self.inside) = (Vec::new(), Vec::new());
        self.tensors.clear();
        self.under_way.clear();
    }

    /// Begins the all-reduce of what is in the open bucket.
    #[track_caller]
    fn send_open(&mut self) -> Result<()> {
        if self.inside.is_empty() {
            return Ok(());
        }
        let mut next = self.spare.pop().unwrap_or_default();
        next.clear();
        let bucket = std::mem::replace(&mut self.open, next);
        let inside = std::mem::take(&mut self.inside);
        let plan = self.communicator.plan_all_reduce::<T>(bucket.len(), &Shared(&self.op), true)?;
        let plan = plan.of_slices(inside.iter().map(|number| self.tensors[*number].len()));
        let pending = self.communicator.start(&plan, None, Some(bucket))?;
        self.under_way.push((pending, Cargo::Together(inside)));
        Ok(())
    }
}
