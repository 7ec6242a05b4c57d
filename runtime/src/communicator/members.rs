//! Who takes part: the ranks of a communicator, where they run, and what else their collectives go by.

use std::sync::Arc;

use super::{Communicator, Options};

/// # Who takes part
impl Communicator {
    /// This process's rank here, from 0 to the size less one.
    #[must_use]
    #[doc(alias("MPI_Comm_rank", "Get_rank", "this_process"))]
    #[inline]
    pub fn rank(&self) -> usize {
        self.inner.rank
    }

    /// How many ranks there are.
    #[must_use]
    #[doc(alias("MPI_Comm_size", "Get_size", "get_world_size"))]
    #[inline]
    pub fn size(&self) -> usize {
        self.inner.size
    }

    /// This process's number among the ranks of the *world* on its host, from 0; the same on every
    /// communicator. It says which of the host's devices to use. For the place among the ranks of this
    /// communicator, use the rank in [`Communicator::split_by_host`].
    #[must_use]
    #[doc(alias = "get_node_local_rank")]
    pub fn local_rank(&self) -> usize {
        self.inner.shared.local_rank
    }

    /// How many ranks of the *world* run on this host; the same on every communicator. For those of this
    /// communicator, use the size of [`Communicator::split_by_host`].
    #[must_use]
    pub fn local_size(&self) -> usize {
        self.inner.shared.local_size
    }

    /// The host that `rank` runs on.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`Communicator::size`].
    #[must_use]
    #[doc(alias("MPI_Get_processor_name", "Get_processor_name", "processor_name", "hostname"))]
    pub fn host(&self, rank: usize) -> &str {
        &self.engine().hosts()[self.world_rank(rank)]
    }
}

/// # Other options
impl Communicator {
    /// This communicator with other options: the same ranks and messages, so nothing is exchanged and
    /// nothing must be agreed on beforehand. Collectives count in one sequence whichever handle calls them;
    /// all ranks must use the same options for the same call. Communicators made from the handle inherit
    /// its options.
    ///
    /// See [`Options`] for an example.
    #[must_use]
    #[doc(alias = "MPI_Comm_set_info")]
    pub fn with(&self, options: &Options) -> Communicator {
        self.reoptioned(Arc::new(options.apply(&self.inner.options)))
    }
}
