//! Collectives that another call of the user is made of: calls on objects, and those that make communicators.
//!
//! They carry the signature of that call, so that ranks which disagree are told what they have called, and so that
//! nothing the user calls by its own name goes together with a part of something else. Neighbours: `object`, `split`.

use std::sync::Arc;

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use super::plan::Plan;
use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::Planned;
use ringworld_engine::signature::Call;

/// The collectives of a communicator, as parts of one call.
#[derive(Clone, Copy)]
pub(crate) struct Within<'a> {
    communicator: &'a Communicator,
    call: Call,
    root: u32,
}

impl Communicator {
    /// `root`: that of the call; 0 where it has none.
    pub(crate) fn within(&self, call: Call, root: usize) -> Within<'_> {
        // Ranks are 32 bits wide elsewhere too; no world is larger.
        Within { communicator: self, call, root: root as u32 }
    }
}

impl Within<'_> {
    fn named(&self, plan: Plan) -> Plan {
        let mut what = Planned::clone(&plan.what);
        what.signature.call = self.call;
        what.signature.root = self.root;
        Plan { what: Arc::new(what), ..plan }
    }

    fn is_root(&self, root: usize) -> bool {
        self.communicator.rank() == root
    }

    #[track_caller]
    pub(crate) fn broadcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        let plan = self.named(self.communicator.plan_broadcast::<T>(data.len(), root)?);
        self.communicator.call_blocking(plan, None, Some(cast_slice_mut(data)))
    }

    #[track_caller]
    pub(crate) fn all_gather<T: Pod>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let plan = self.named(self.communicator.plan_all_gather::<T>(Some(input.len()), output.len())?);
        self.communicator.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    #[track_caller]
    pub(crate) fn all_gather_varied<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        counts: &[usize],
    ) -> Result<()> {
        let plan = self.communicator.plan_all_gather_varied::<T>(input.len(), output.len(), counts)?;
        self.communicator.call_blocking(
            self.named(plan),
            Some(cast_slice(input)),
            Some(cast_slice_mut(output)),
        )
    }

    #[track_caller]
    pub(crate) fn gather_varied<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        counts: &[usize],
        root: usize,
    ) -> Result<()> {
        let plan = self.communicator.plan_gather_varied::<T>(input.len(), output.len(), counts, root)?;
        let output = self.is_root(root).then(|| cast_slice_mut(output));
        self.communicator.call_blocking(self.named(plan), Some(cast_slice(input)), output)
    }

    #[track_caller]
    pub(crate) fn scatter<T: Pod>(&self, input: &[T], output: &mut [T], root: usize) -> Result<()> {
        let plan = self.communicator.plan_scatter::<T>(input.len(), output.len(), root)?;
        let input = self.is_root(root).then(|| cast_slice(input));
        self.communicator.call_blocking(self.named(plan), input, Some(cast_slice_mut(output)))
    }

    #[track_caller]
    pub(crate) fn scatter_varied<T: Pod>(
        &self,
        input: &[T],
        counts: &[usize],
        output: &mut [T],
        root: usize,
    ) -> Result<()> {
        let plan = self.communicator.plan_scatter_varied::<T>(input.len(), counts, output.len(), root)?;
        let input = self.is_root(root).then(|| cast_slice(input));
        self.communicator.call_blocking(self.named(plan), input, Some(cast_slice_mut(output)))
    }
}
