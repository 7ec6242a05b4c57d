//! Records: what travels once both sides have keys. Each is sealed with its number, so none can be altered, left out,
//! repeated, moved to another place or to another connection, nor sent back to where it comes from.

use std::sync::Arc;

use snow::{HandshakeState, StatelessTransportState};

use crate::AuthError;

/// Bytes that a record has beside what was sealed.
pub const OVERHEAD: usize = 16;
/// The most bytes that are sealed in one record.
pub const LONGEST: usize = 65_535 - OVERHEAD;

/// Both directions of a connection; each may be handed to another task.
#[derive(Debug)]
pub struct Session {
    /// Of this side.
    pub sealer: Sealer,
    /// For what the other side has sealed.
    pub opener: Opener,
}

impl Session {
    pub(crate) fn new(state: HandshakeState) -> Result<Self, AuthError> {
        let state =
            Arc::new(state.into_stateless_transport_mode().map_err(|e| AuthError::System(e.to_string()))?);
        let sealer = Sealer { state: Arc::clone(&state), next: 0 };
        Ok(Self { sealer, opener: Opener { state, next: 0 } })
    }
}

/// Seals records, in the order in which they are to be sent.
#[derive(Debug)]
pub struct Sealer {
    state: Arc<StatelessTransportState>,
    next: u64,
}

impl Sealer {
    /// Seals up to [`LONGEST`] bytes into the front of `record`; returns the length of the record, which is
    /// [`OVERHEAD`] bytes longer.
    ///
    /// # Errors
    ///
    /// [`AuthError::Length`] when the bytes are too many or `record` is too short; nothing is sealed then.
    pub fn seal(&mut self, bytes: &[u8], record: &mut [u8]) -> Result<usize, AuthError> {
        let room = record.len().saturating_sub(OVERHEAD).min(LONGEST);
        if bytes.len() > room {
            return Err(AuthError::Length { given: bytes.len(), room });
        }
        let length = self.state.write_message(self.next, bytes, record)?;
        self.next += 1;
        Ok(length)
    }
}

/// Opens the other side's records, in the order in which they were sealed.
#[derive(Debug)]
pub struct Opener {
    state: Arc<StatelessTransportState>,
    next: u64,
}

impl Opener {
    /// Opens a record into the front of `bytes`, which must have room for it; returns how many bytes were sealed in it.
    ///
    /// # Errors
    ///
    /// [`AuthError::Forged`] when it is not the record that the other side has sealed next; the connection is to be
    /// given up then. [`AuthError::Length`] when `bytes` is too short.
    pub fn open(&mut self, record: &[u8], bytes: &mut [u8]) -> Result<usize, AuthError> {
        let Some(given) = record.len().checked_sub(OVERHEAD).filter(|given| *given <= LONGEST) else {
            return Err(AuthError::Forged);
        };
        if given > bytes.len() {
            return Err(AuthError::Length { given, room: bytes.len() });
        }
        let length = self.state.read_message(self.next, record, bytes)?;
        self.next += 1;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Initiator, Responder, Secret};

    fn pair() -> (Session, Session) {
        let secret = Secret::new(b"s".to_vec());
        let (initiator, first) = Initiator::new(&secret, b"p", b"").unwrap();
        let (session, second) = Responder::new(&secret, b"p", &first).unwrap().0.answer(b"").unwrap();
        (initiator.finish(&second).unwrap().0, session)
    }

    fn sealed(sealer: &mut Sealer, bytes: &[u8]) -> Vec<u8> {
        let mut record = vec![0; bytes.len() + OVERHEAD];
        assert_eq!(sealer.seal(bytes, &mut record).unwrap(), record.len());
        record
    }

    #[test]
    fn records_of_every_length_travel_both_ways() {
        let (mut a, mut b) = pair();
        let mut room = vec![0; LONGEST];
        for length in [0, 1, 100, LONGEST] {
            let bytes = vec![7; length];
            let record = sealed(&mut a.sealer, &bytes);
            assert_eq!(b.opener.open(&record, &mut room).unwrap(), length);
            assert_eq!(room[..length], bytes);
            let record = sealed(&mut b.sealer, &bytes);
            assert_eq!(a.opener.open(&record, &mut room).unwrap(), length);
        }
    }

    #[test]
    fn altered_repeated_skipped_and_returned_records_are_refused() {
        let mut room = [0; 64];
        let (mut a, mut b) = pair();
        let first = sealed(&mut a.sealer, b"one");
        let second = sealed(&mut a.sealer, b"two");
        assert!(matches!(b.opener.open(&second, &mut room), Err(AuthError::Forged)), "skipped");
        assert!(matches!(a.opener.open(&first, &mut room), Err(AuthError::Forged)), "returned");
        for at in 0..first.len() {
            let mut altered = first.clone();
            altered[at] ^= 0x80;
            assert!(matches!(b.opener.open(&altered, &mut room), Err(AuthError::Forged)), "byte {at}");
        }
        assert!(b.opener.open(&first, &mut room).is_ok());
        assert!(matches!(b.opener.open(&first, &mut room), Err(AuthError::Forged)), "repeated");
        let (_, mut other) = pair();
        assert!(matches!(other.opener.open(&first, &mut room), Err(AuthError::Forged)), "another connection");
    }

    #[test]
    fn what_does_not_fit_is_refused_by_its_length() {
        let (mut a, mut b) = pair();
        assert!(matches!(
            a.sealer.seal(&[0; 10], &mut [0; 25]),
            Err(AuthError::Length { given: 10, room: 9 })
        ));
        let too_long = vec![0; LONGEST + 1];
        assert!(a.sealer.seal(&too_long, &mut vec![0; LONGEST + 100]).is_err());
        let record = sealed(&mut a.sealer, &[0; 10]);
        assert!(matches!(b.opener.open(&record, &mut [0; 9]), Err(AuthError::Length { .. })));
        assert!(matches!(b.opener.open(&[0; OVERHEAD - 1], &mut [0; 9]), Err(AuthError::Forged)));
        assert_eq!(b.opener.open(&record, &mut [0; 10]).unwrap(), 10, "a failure uses up no number");
    }
}
