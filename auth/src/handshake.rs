//! The two messages of the handshake. The crate's head says what each proves.

use snow::{Builder, HandshakeState};

use crate::record::Session;
use crate::{AuthError, Secret};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Bytes of the first message beside its payload: a public key and a tag.
pub const FIRST: usize = 48;
/// Bytes of the second message beside its payload.
pub const SECOND: usize = 48;

fn begin(secret: &Secret, purpose: &[u8], initiates: bool) -> Result<HandshakeState, AuthError> {
    let system = |error: snow::Error| AuthError::System(error.to_string());
    let pattern = PATTERN.parse().map_err(system)?;
    let key = secret.key();
    let builder = Builder::new(pattern).psk(0, &key).map_err(system)?.prologue(purpose).map_err(system)?;
    if initiates { builder.build_initiator() } else { builder.build_responder() }.map_err(system)
}

fn write(state: &mut HandshakeState, payload: &[u8], overhead: usize) -> Result<Vec<u8>, AuthError> {
    let mut message = vec![0; overhead + payload.len()];
    let length = state.write_message(payload, &mut message).map_err(|e| AuthError::System(e.to_string()))?;
    message.truncate(length);
    Ok(message)
}

fn read(state: &mut HandshakeState, message: &[u8], overhead: usize) -> Result<Vec<u8>, AuthError> {
    if message.len() < overhead {
        return Err(AuthError::Forged);
    }
    let mut payload = vec![0; message.len()];
    let length = state.read_message(message, &mut payload)?;
    payload.truncate(length);
    Ok(payload)
}

/// The side that connected, between the two messages.
#[derive(Debug)]
pub struct Initiator(Box<HandshakeState>);

impl Initiator {
    /// Begins; returns the message to send, which is [`FIRST`] bytes longer than the payload.
    ///
    /// `purpose` must be the same on both sides: what the connection is for and which version of the protocol it
    /// speaks.
    ///
    /// # Errors
    ///
    /// When the system has no randomness, or the payload is longer than 60,000 bytes.
    pub fn new(secret: &Secret, purpose: &[u8], payload: &[u8]) -> Result<(Self, Vec<u8>), AuthError> {
        let mut state = begin(secret, purpose, true)?;
        let message = write(&mut state, payload, FIRST)?;
        Ok((Self(Box::new(state)), message))
    }

    /// Digests the second message; returns the keys and the responder's payload.
    ///
    /// # Errors
    ///
    /// [`AuthError::Forged`] when its maker does not know the secret, or did not get this first message.
    pub fn finish(mut self, message: &[u8]) -> Result<(Session, Vec<u8>), AuthError> {
        let payload = read(&mut self.0, message, SECOND)?;
        Ok((Session::new(*self.0)?, payload))
    }
}

/// The side that accepted, between the two messages.
#[derive(Debug)]
pub struct Responder(Box<HandshakeState>);

impl Responder {
    /// Digests the first message; returns the initiator's payload.
    ///
    /// # Errors
    ///
    /// [`AuthError::Forged`] when its maker does not know the secret, or meant another purpose.
    pub fn new(secret: &Secret, purpose: &[u8], message: &[u8]) -> Result<(Self, Vec<u8>), AuthError> {
        let mut state = begin(secret, purpose, false)?;
        let payload = read(&mut state, message, FIRST)?;
        Ok((Self(Box::new(state)), payload))
    }

    /// Answers; returns the keys and the message to send, which is [`SECOND`] bytes longer than the payload.
    ///
    /// # Errors
    ///
    /// When the system has no randomness, or the payload is longer than 60,000 bytes.
    pub fn answer(mut self, payload: &[u8]) -> Result<(Session, Vec<u8>), AuthError> {
        let message = write(&mut self.0, payload, SECOND)?;
        Ok((Session::new(*self.0)?, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.into())
    }

    #[test]
    fn only_the_same_secret_and_purpose_are_believed() {
        let (_, first) = Initiator::new(&secret("s"), b"p", b"hello").unwrap();
        assert_eq!(first.len(), FIRST + 5);
        assert_eq!(Responder::new(&secret("s"), b"p", &first).unwrap().1, b"hello");
        for (other, purpose) in [("t", &b"p"[..]), ("", b"p"), ("s", b"q")] {
            let refused = Responder::new(&secret(other), purpose, &first);
            assert!(matches!(refused, Err(AuthError::Forged)), "{other} {purpose:?}");
        }
    }

    #[test]
    fn an_altered_or_cut_message_is_refused_at_every_byte() {
        let (initiator, first) = Initiator::new(&secret("s"), b"p", b"hello").unwrap();
        for at in 0..first.len() {
            let mut altered = first.clone();
            altered[at] ^= 1;
            assert!(Responder::new(&secret("s"), b"p", &altered).is_err(), "byte {at}");
            assert!(Responder::new(&secret("s"), b"p", &first[..at]).is_err(), "{at} bytes");
        }
        let (_, mut second) = Responder::new(&secret("s"), b"p", &first).unwrap().0.answer(b"").unwrap();
        second[40] ^= 1;
        assert!(matches!(initiator.finish(&second), Err(AuthError::Forged)));
    }

    #[test]
    fn a_recorded_first_message_gets_an_answer_that_its_thief_cannot_read() {
        let (_, first) = Initiator::new(&secret("s"), b"p", b"").unwrap();
        let (mut session, _) =
            Responder::new(&secret("s"), b"p", &first).unwrap().0.answer(b"job 7").unwrap();
        let (thief, _) = Initiator::new(&secret("guess"), b"p", b"").unwrap();
        let (_, second) = Responder::new(&secret("s"), b"p", &first).unwrap().0.answer(b"job 7").unwrap();
        assert!(!second.windows(5).any(|part| part == b"job 7"));
        assert!(thief.finish(&second).is_err());
        assert!(matches!(session.opener.open(&[0; 20], &mut [0; 64]), Err(AuthError::Forged)));
    }

    #[test]
    fn an_answer_to_another_handshake_is_refused() {
        let (initiator, _) = Initiator::new(&secret("s"), b"p", b"").unwrap();
        let (_, other) = Initiator::new(&secret("s"), b"p", b"").unwrap();
        let (_, second) = Responder::new(&secret("s"), b"p", &other).unwrap().0.answer(b"").unwrap();
        assert!(matches!(initiator.finish(&second), Err(AuthError::Forged)));
    }
}
