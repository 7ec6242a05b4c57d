//! Owners: for which call or step of a schedule each request of the protocol is.
//!
//! A dense table: the protocol's requests have small numbers, which are used again.

use ringworld_protocol::RequestId;

use super::calls::CallId;

/// The index of a run; used again when it has ended.
pub(crate) type RunId = usize;

/// Who waits for a request of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Call(CallId),
    Step { run: RunId, step: u32 },
}

#[derive(Default)]
pub(crate) struct Owners(Vec<Option<(RequestId, Owner)>>);

impl Owners {
    #[inline]
    pub(crate) fn insert(&mut self, request: RequestId, owner: Owner) {
        let index = request.index();
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index] = Some((request, owner));
    }

    /// Takes out whose request it was, when it has ended.
    #[inline]
    pub(crate) fn remove(&mut self, request: RequestId) -> Option<Owner> {
        self.0.get_mut(request.index()).and_then(Option::take).map(|(_, owner)| owner)
    }

    /// All requests under way.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(RequestId, Owner)> {
        self.0.iter().flatten()
    }
}
