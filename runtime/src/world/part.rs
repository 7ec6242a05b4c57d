//! A process's part in the generations of an elastic world: its node, and where it is. Neighbour: `elastic` goes on.

use std::sync::Arc;

use ringworld_bootstrap::{ControlEvent, Elastic, Session, Settings};

use crate::{Error, Result};

/// A process's part in the generations of an elastic world.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) node: Arc<Elastic>,
    pub(super) settings: Arc<Settings>,
    pub(super) generation: u64,
    /// The rank in the generation before, of who was in it.
    pub(super) previous: Option<usize>,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part").field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Part {
    /// What the node is to be told of, from the control plane of this generation.
    pub(super) fn listener(&self) -> impl Fn(&ControlEvent) + Send + Sync + use<> {
        // It must not keep the node, whose end it may outlive.
        let (node, generation) = (Arc::downgrade(&self.node), self.generation);
        move |event| {
            if let Some(node) = node.upgrade() {
                node.hear(generation, event);
            }
        }
    }

    /// Stands among the addresses of the transports.
    pub(super) fn address(&self) -> (String, Vec<u8>) {
        self.node.address()
    }

    /// The generation has formed.
    pub(super) fn formed(&self, session: &Session) -> Result<()> {
        if self.generation == 0 {
            return self.node.begin(session).map_err(|error| Error::Bootstrap(error.to_string()));
        }
        self.node.formed();
        Ok(())
    }
}
