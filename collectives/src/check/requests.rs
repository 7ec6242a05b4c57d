//! What all ranks ask for, from one request or from one of each.
//!
//! Invariant: what comes out is one valid request per rank, and they agree with each other as far as ranks can
//! know. Neighbours: everything in [`super`] that takes the schedules of all ranks.

use std::borrow::Cow;

use super::Fault;
use crate::{Collective, Counts, Request};

/// What all ranks ask for: one request from which those of the others follow, or one of each rank, in order.
///
/// From one request they follow when all ranks know the same counts, or for gather and scatter when it is
/// that of the root. Counts per pair take one request of each rank.
pub trait Requests {
    /// How many ranks take part, as far as can be told without looking closer.
    fn ranks(&self) -> usize;

    /// One request of each rank, in rank order.
    ///
    /// # Errors
    ///
    /// [`Fault::Set`] when they do not follow, contradict each other, or cannot be met.
    fn of_all_ranks(&self) -> Result<Cow<'_, [Request]>, Fault>;
}

impl Requests for Request {
    fn ranks(&self) -> usize {
        self.size
    }

    fn of_all_ranks(&self) -> Result<Cow<'_, [Request]>, Fault> {
        let of = |rank: usize| {
            let counts = match (&self.counts, self.collective) {
                (Counts::Each(counts), Collective::Gather { root } | Collective::Scatter { root })
                    if rank != root =>
                {
                    Counts::Own(counts.get(rank).copied().unwrap_or(0))
                }
                (counts, _) => counts.clone(),
            };
            Request { rank, counts, ..self.clone() }
        };
        // Counts that only one rank can know say nothing about the others.
        let known = match self.counts {
            Counts::Same(_) | Counts::Each(_) => self.size,
            Counts::Own(_) | Counts::Pairs { .. } => self.size.min(1),
        };
        if known < self.size {
            let reason = format!("given {}: the check needs one request of each rank", self.counts);
            return Err(Fault::Set { index: self.rank, given: 1, reason });
        }
        let all: Vec<_> = (0..self.size).map(of).collect();
        agree(&all)?;
        Ok(Cow::Owned(all))
    }
}

impl Requests for [Request] {
    fn ranks(&self) -> usize {
        self.len()
    }

    fn of_all_ranks(&self) -> Result<Cow<'_, [Request]>, Fault> {
        agree(self)?;
        Ok(Cow::Borrowed(self))
    }
}

impl Requests for Vec<Request> {
    fn ranks(&self) -> usize {
        self.len()
    }

    fn of_all_ranks(&self) -> Result<Cow<'_, [Request]>, Fault> {
        self.as_slice().of_all_ranks()
    }
}

/// What all ranks ask for, given so many schedules. A request may claim any size: one for each rank is made only
/// when there is a schedule for each.
pub(crate) fn for_schedules<R: Requests + ?Sized>(
    request: &R,
    given: usize,
) -> Result<Cow<'_, [Request]>, Fault> {
    let ranks = request.ranks();
    if ranks != given {
        return Err(Fault::Set { index: given, given, reason: format!("expected {ranks} schedules") });
    }
    request.of_all_ranks()
}

/// Checks that each request is valid and that no two contradict each other.
fn agree(requests: &[Request]) -> Result<(), Fault> {
    let given = requests.len();
    let wrong = |index: usize, reason: String| Err(Fault::Set { index, given, reason });
    let Some(first) = requests.first() else {
        return wrong(0, "there is no request".into());
    };
    for (rank, request) in requests.iter().enumerate() {
        if let Err(error) = request.validate() {
            return wrong(rank, error.to_string());
        }
        if (request.rank, request.size) != (rank, given) {
            return wrong(rank, format!("the request is that of rank {} of {}", request.rank, request.size));
        }
        if (request.collective, request.order) != (first.collective, first.order) {
            return wrong(
                rank,
                format!("it asks for {}, rank 0 for {}", request.collective, first.collective),
            );
        }
        let same = match (&request.counts, &first.counts) {
            (Counts::Pairs { send, .. }, Counts::Pairs { .. }) => requests.iter().zip(send.iter()).all(
                |(other, sent)| matches!(&other.counts, Counts::Pairs { recv, .. } if recv[rank] == *sent),
            ),
            (Counts::Own(_) | Counts::Each(_), Counts::Own(_) | Counts::Each(_)) => {
                match request.collective.root().map(|root| &requests[root].counts) {
                    Some(Counts::Each(counts)) => counts[rank] == request.counts.of(rank),
                    Some(_) => false,
                    None => request.counts == first.counts,
                }
            }
            (counts, others) => counts == others,
        };
        if !same {
            return wrong(rank, format!("its counts ({}) contradict those of the others", request.counts));
        }
    }
    Ok(())
}
