//! Which FINs and FIN-ACKs of a peer have been read, on which lanes. Pure.
//!
//! They are frames of ours, one on each lane, and have nothing to do with the flag of that name in TCP. Neighbours:
//! `lane.rs` notes what arrives, `shutdown.rs` acts upon it.

/// The lanes on which a control frame has been read, which the peer sends once on each of its lanes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OnLanes {
    expected: u64,
    seen: u64,
}

impl OnLanes {
    /// It has been read on `lane`; the peer sends it on `lanes`.
    pub(crate) fn read(&mut self, lane: usize, lanes: u64) -> Result<(), String> {
        let bit = 1 << lane;
        if lanes & bit == 0 || self.seen & bit != 0 {
            return Err(format!("it ended lane {lane} out of turn"));
        }
        self.expected |= lanes;
        self.seen |= bit;
        Ok(())
    }

    /// Whether it has been read on some lane.
    pub(crate) fn any(&self) -> bool {
        self.seen != 0
    }

    /// Whether it has been read on `lane`.
    pub(crate) fn on(&self, lane: usize) -> bool {
        self.seen & 1 << lane != 0
    }

    /// Whether it has been read on every lane.
    pub(crate) fn on_all(&self) -> bool {
        self.expected != 0 && self.seen == self.expected
    }
}

/// What has been read of a peer's orderly end.
#[derive(Debug, Default)]
pub(crate) struct PeerFins {
    pub(crate) fin: OnLanes,
    pub(crate) fin_ack: OnLanes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fin_counts_when_it_has_been_read_on_every_lane() {
        let mut fin = OnLanes::default();
        assert!(!fin.on_all());
        fin.read(1, 0b11).unwrap();
        assert!(!fin.on_all() && fin.any() && fin.on(1) && !fin.on(0));
        assert!(fin.read(1, 0b11).is_err());
        fin.read(0, 0b11).unwrap();
        assert!(fin.on_all());
        assert!(OnLanes::default().read(1, 0b01).is_err());
    }
}
