//! How many slots of the peer are free: so that a send always finds one, and is never refused by the device.
//!
//! Of the peer's slots some are in reserve for what must get through without a credit: credits themselves, FIN and
//! FIN-ACK. Credits ride back on every slot; by themselves they travel once half of them have gathered, so at most two
//! such are under way, and FIN and FIN-ACK are two more: four in reserve would do. Pure.
//! Neighbours: `wire.rs`, `verbs/link.rs`.

/// Slots in reserve, of `slots`.
fn reserve(slots: u16) -> u16 {
    (slots / 8).max(4)
}

/// The credits of one connection, in both directions.
#[derive(Debug)]
pub(crate) struct Credits {
    /// Slots of the peer that this side may fill.
    available: u16,
    /// All that there can ever be.
    theirs: u16,
    /// Slots of ours that the peer has filled, and that have been posted again.
    owed: u16,
    ours: u16,
}

impl Credits {
    /// At the beginning, with `ours` slots here and `theirs` there; `None` when either is too few.
    pub(crate) fn new(ours: u16, theirs: u16) -> Option<Self> {
        let usable = |slots: u16| slots.checked_sub(reserve(slots)).filter(|usable| *usable >= 4);
        let (ours, theirs) = (usable(ours)?, usable(theirs)?);
        Some(Self { available: theirs, theirs, owed: 0, ours })
    }

    /// Takes one, if there is one.
    pub(crate) fn take(&mut self) -> bool {
        let some = self.available > 0;
        self.available -= u16::from(some);
        some
    }

    /// The peer has posted `credits` slots again.
    pub(crate) fn returned(&mut self, credits: u16) -> Result<(), String> {
        match self.available.checked_add(credits).filter(|sum| *sum <= self.theirs) {
            Some(sum) => self.available = sum,
            None => {
                let (have, all) = (self.available, self.theirs);
                return Err(format!("{credits} credits came back, with {have} of {all} here"));
            }
        }
        Ok(())
    }

    /// A slot that took a credit has been posted again here.
    pub(crate) fn owe(&mut self) -> Result<(), String> {
        if self.owed == self.ours {
            return Err(format!("it sent without credits: all {} were its already", self.ours));
        }
        self.owed += 1;
        Ok(())
    }

    /// Whether credits should travel even though nothing else does.
    pub(crate) fn should_return(&self) -> bool {
        self.owed >= self.ours.div_ceil(2)
    }

    /// All that is owed, to be put on a slot.
    pub(crate) fn settle(&mut self) -> u16 {
        std::mem::take(&mut self.owed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends as fast as credits permit, returns credits by themselves only, and never needs more slots
    /// than there are, whoever polls when.
    #[test]
    fn a_slot_is_always_free_and_senders_never_starve() {
        for (slots, seed) in [(64, 1), (16, 2), (9, 3), (64, 4), (16, 5)] {
            let mut sender = Credits::new(slots, slots).unwrap();
            let mut receiver = Credits::new(slots, slots).unwrap();
            // Filled at the receiver; credits on their way; slots of credits at the sender, unread.
            let (mut filled, mut back) = (0u16, std::collections::VecDeque::new());
            let (mut random, mut sent) = (fastrand::Rng::with_seed(seed), 0);
            while sent < 10_000 {
                match random.u8(..3) {
                    0 if sender.take() => (filled, sent) = (filled + 1, sent + 1),
                    1 if filled > 0 => {
                        filled -= 1;
                        receiver.owe().unwrap();
                        if receiver.should_return() {
                            back.push_back(receiver.settle());
                        }
                    }
                    2 => sender.returned(back.pop_front().unwrap_or(0)).unwrap(),
                    _ => {}
                }
                assert!(filled <= slots - reserve(slots), "no slot is free");
                assert!(back.len() + 2 <= usize::from(reserve(slots)), "credits fill the reserve");
            }
        }
    }

    #[test]
    fn credits_that_cannot_be_are_noticed() {
        let mut credits = Credits::new(16, 16).unwrap();
        assert_eq!(credits.available, 12);
        assert!(credits.returned(1).is_err());
        assert!(credits.take() && credits.returned(1).is_ok() && credits.returned(1).is_err());
        for _ in 0..12 {
            credits.owe().unwrap();
        }
        assert!(credits.owe().is_err());
        assert_eq!((credits.settle(), credits.settle()), (12, 0));
        assert!(Credits::new(7, 16).is_none() && Credits::new(16, 0).is_none());
    }
}
