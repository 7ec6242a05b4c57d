//! Collectives with the neighbours of a topology (MPI 5.0, section 8.7): a message for each edge.

use std::sync::Arc;

use crate::comms::Comm;
use crate::datatypes::Buffer;
use crate::error::{Result, fail};
use crate::plan::Plan;
use crate::standard::ERR_ARG;
use crate::steps::Messages;
use crate::topology::Neighbour;

/// From whom this process receives and to whom it sends.
pub(crate) fn neighbours(comm: &Comm) -> Result<(Vec<Neighbour>, Vec<Neighbour>)> {
    comm.topology()?.neighbours(comm.rank())
}

/// `sends`: to each destination. `receives`: from each source.
pub(crate) fn exchange(
    comm: &Arc<Comm>,
    (sources, destinations): (Vec<Neighbour>, Vec<Neighbour>),
    sends: Vec<Buffer>,
    receives: Vec<Buffer>,
) -> Result<Plan> {
    if sends.len() != destinations.len() || receives.len() != sources.len() {
        return fail(ERR_ARG, "there is not one buffer for each neighbour");
    }
    let tag = comm.sequence();
    let mut messages = Messages::new(&comm.twin);
    let rank = |neighbour: &Neighbour| usize::try_from(neighbour.rank).ok();
    for (source, buffer) in sources.iter().zip(receives) {
        if let Some(from) = rank(source) {
            messages.receive(from, tag | source.edge, buffer);
        }
    }
    for (destination, buffer) in destinations.iter().zip(sends) {
        if let Some(to) = rank(destination) {
            messages.send(to, tag | destination.edge, buffer);
        }
    }
    Ok(Plan::Steps(Box::new(|| messages.start_only())))
}
