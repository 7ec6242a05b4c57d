//! What somebody who comes to the rendezvous later is told.

use ringworld_membership::Table;
use serde::{Deserialize, Serialize};

use crate::wire::EARLY_LIMIT;

/// What somebody who comes later is told: of which job, and who was in it last. Of a large world only the first ranks:
/// whoever comes needs one that it can reach, and hears of all when it is let in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) job: u64,
    pub(super) table: Table,
}

impl Running {
    /// So short that it fits into the first frame of a connection, however large the world is.
    pub(super) fn new(job: u64, table: &Table) -> Self {
        let mut most = table.members.len();
        let mut running = Self { job, table: table.roll(most) };
        while most > 1 && running.bytes().len() > EARLY_LIMIT / 2 {
            most /= 2;
            running.table = table.roll(most);
        }
        running
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        // A vector has room for everything.
        postcard::to_stdvec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elastic::place::Place;
    use ringworld_membership::Id;

    #[test]
    fn of_a_world_of_any_size_a_newcomer_is_told_in_one_frame_and_whom_to_ask() {
        for size in [1, 4, 700, 20_000] {
            let addresses = vec!["10.0.0.1".parse().unwrap(), "fd00::1234:5678".parse().unwrap()];
            let place =
                Place { host: "n0123.cluster.example".into(), ..Place::here(addresses, 40_001, 40_002) };
            let members: Vec<_> = (1..=size).map(|id| place.node(Id(id))).collect();
            let (arbiter, serves) = (Some(place.node(Id(0))), Id(size));
            let table = Table { generation: 7, members, arbiter, serves, broken: Vec::new() };
            let running = Running::new(9, &table);
            let read: Running = postcard::from_bytes(&running.bytes()).unwrap();
            assert!(running.bytes().len() < EARLY_LIMIT - 1024, "{size}: {} bytes", running.bytes().len());
            assert_eq!(read.table.check(), Ok(()));
            assert_eq!(
                (read.table.generation, read.table.members[0].id, read.table.serves),
                (7, Id(1), serves)
            );
            assert!(read.table.members.len() as u64 >= size.min(100));
        }
    }
}
