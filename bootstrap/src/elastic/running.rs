//! What somebody who comes to the rendezvous later is told.

use ringworld_membership::Table;
use serde::{Deserialize, Serialize};

/// What somebody who comes later is told: of which job, and who was in it last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) job: u64,
    pub(super) table: Table,
}
