//! Whether a request can be met.
//!
//! Invariant: [`Request::validate`] is the only gate; whatever passes it can be built without arithmetic overflow or a
//! rank out of range. Neighbours: `request.rs` has the words, `error.rs` what is wrong.

use crate::{Collective, Counts, Error, Request};

impl Request {
    /// Checks that the request can be met.
    ///
    /// # Errors
    ///
    /// When the size is 0, the rank or the root is not below the size, the counts do not have the form that
    /// the collective needs on this rank, or buffers and scratch would not fit into an address space.
    pub fn validate(&self) -> Result<(), Error> {
        let Self { collective, rank, size, element, .. } = *self;
        if rank >= size {
            return Err(Error::Rank { rank, size });
        }
        if let Some(root) = collective.root().filter(|root| *root >= size) {
            return Err(Error::Root { root, size });
        }
        self.validate_counts()?;
        // Twice, because schedules may need as much scratch again; and as if all blocks were as long as the
        // longest, because slots for them are.
        let bytes = self.counts.largest().checked_mul(size).and_then(|n| n.checked_mul(element.max(1)));
        if bytes.and_then(|n| n.checked_mul(2)).is_none_or(|n| isize::try_from(n).is_err()) {
            return Err(Error::TooLarge { size, element, given: self.counts.to_string() });
        }
        Ok(())
    }

    fn validate_counts(&self) -> Result<(), Error> {
        let Self { collective, rank, size, .. } = *self;
        let refuse = |expected: &str| {
            let (given, expected) = (self.counts.to_string(), expected.to_owned());
            Err(Error::Counts { collective, rank, given, expected })
        };
        match (collective, &self.counts) {
            (_, Counts::Same(_)) => Ok(()),
            (Collective::AllGather | Collective::ReduceScatter, Counts::Each(counts)) => {
                if counts.len() == size {
                    return Ok(());
                }
                refuse(&format!("one count for each of the {size} ranks"))
            }
            (Collective::AllGather | Collective::ReduceScatter, _) => {
                refuse("the same count on every rank, or the counts of all ranks")
            }
            (Collective::Gather { root } | Collective::Scatter { root }, counts) => match counts {
                Counts::Each(counts) if rank == root && counts.len() == size => Ok(()),
                Counts::Own(_) if rank != root => Ok(()),
                _ if rank == root => refuse(&format!(
                    "at the root, the same count for all or one for each of the {size} ranks"
                )),
                _ => refuse("off the root, the same count for all or that of this rank"),
            },
            (Collective::AllToAll, Counts::Pairs { send, recv }) => {
                if send.len() != size || recv.len() != size {
                    return refuse(&format!("one count to and one from each of the {size} ranks"));
                }
                if send[rank] != recv[rank] {
                    return refuse(&format!(
                        "that rank {rank} receives from itself what it sends to itself, not {} for {}",
                        recv[rank], send[rank]
                    ));
                }
                Ok(())
            }
            (Collective::AllToAll, _) => {
                refuse("the same count on every rank, or counts to and from each rank")
            }
            _ => refuse("the same count on every rank"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::samples::{counted, each, pairs, request};

    #[test]
    fn impossible_requests_are_refused_with_what_was_given() {
        let good = request(Collective::AllReduce);
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(Request { rank: 4, ..good.clone() }.validate(), Err(Error::Rank { rank: 4, size: 4 }));
        assert!(Request { rank: 0, size: 0, ..good }.validate().is_err());
        assert!(counted(Collective::AllReduce, Counts::Same(usize::MAX / 8)).validate().is_err());
        let bad = request(Collective::Reduce { root: 9 }).validate();
        assert_eq!(
            bad.unwrap_err().to_string(),
            "root 9 does not exist: ranks of this communicator are 0..4"
        );
    }

    #[test]
    fn counts_of_the_wrong_form_are_refused_with_what_was_expected() {
        let says = |collective, counts, part: &str| {
            let error = counted(collective, counts).validate().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        says(Collective::AllReduce, each(&[1, 2, 3, 4]), "the same count on every rank");
        says(Collective::Scan, Counts::Own(3), "the same count on every rank");
        says(Collective::AllGather, each(&[1, 2, 3]), "one count for each of the 4 ranks");
        says(Collective::ReduceScatter, Counts::Own(3), "the counts of all ranks");
        says(Collective::Gather { root: 1 }, Counts::Own(3), "at the root");
        says(Collective::Gather { root: 1 }, each(&[1; 5]), "at the root");
        says(Collective::Scatter { root: 0 }, each(&[1; 4]), "off the root");
        says(Collective::AllToAll, each(&[1; 4]), "counts to and from each rank");
        says(Collective::AllToAll, pairs(&[1; 4], &[1; 3]), "one count to and one from each");
        says(Collective::AllToAll, pairs(&[1; 4], &[1, 2, 1, 1]), "receives from itself");
        let huge = usize::MAX / 2;
        says(Collective::AllGather, each(&[huge, huge, huge, huge]), "do not fit into memory");
        assert_eq!(counted(Collective::AllGather, each(&[0, 1, 2, 3])).validate(), Ok(()));
        assert_eq!(counted(Collective::Gather { root: 1 }, each(&[0, 1, 2, 3])).validate(), Ok(()));
        assert_eq!(counted(Collective::Scatter { root: 0 }, Counts::Own(3)).validate(), Ok(()));
        assert_eq!(counted(Collective::AllToAll, pairs(&[5, 1, 0, 9], &[0, 1, 7, 2])).validate(), Ok(()));
    }
}
