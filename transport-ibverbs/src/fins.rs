//! Whether a peer's FIN and FIN-ACK count already: what extra queue pairs carry may come after them. Pure.
//!
//! Both are said on the first queue pair, and tell how many fragments of puts the extra ones have carried by then; they
//! count as read when all of these have come. Neighbours: `wire.rs` has their bytes, `verbs/shutdown.rs` acts upon
//! them.

/// What has been read of a peer's orderly end.
#[derive(Debug, Default)]
pub(crate) struct PeerFins {
    /// What the peer's FIN says: how many fragments its extra queue pairs have carried.
    pub(crate) fin: Option<u64>,
    /// What its FIN-ACK says, as its FIN does.
    pub(crate) fin_ack: Option<u64>,
    /// Fragments that have come by extra queue pairs. What the first says may overtake them.
    fragments: u64,
}

impl PeerFins {
    /// Whether one of both has come, though fragments may be missing.
    pub(crate) fn any(&self) -> bool {
        self.fin.is_some() || self.fin_ack.is_some()
    }

    /// The peer has sent FIN, and everything before it has come.
    pub(crate) fn fin_read(&self) -> bool {
        self.fin.is_some_and(|fragments| self.fragments >= fragments)
    }

    /// The peer has acknowledged our FIN, and everything before that has come.
    pub(crate) fn fin_ack_read(&self) -> bool {
        self.fin_ack.is_some_and(|fragments| self.fragments >= fragments)
    }

    /// A fragment of a put has come by an extra queue pair.
    pub(crate) fn fragment(&mut self) -> Result<(), String> {
        self.fragments += 1;
        match self.fin.or(self.fin_ack) {
            Some(all) if self.fragments > all => Err(format!(
                "it wrote {} fragments of puts, after its FIN had spoken of {all}",
                self.fragments
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fin_counts_when_all_that_it_overtook_has_come() {
        let mut fins = PeerFins { fragments: 3, fin: Some(5), ..PeerFins::default() };
        assert!(fins.fragment().is_ok() && !fins.fin_read() && fins.any());
        assert!(fins.fragment().is_ok() && fins.fin_read());
        assert!(!fins.fin_ack_read());
        fins.fin_ack = Some(5);
        assert!(fins.fin_ack_read());
        assert!(fins.fragment().unwrap_err().contains("5"), "a fragment after the FIN went unnoticed");
    }
}
