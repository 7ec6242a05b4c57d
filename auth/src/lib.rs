//! Mutual challenge and response, the same for control and data connections.
//!
//! Pure: bytes in, bytes out; the callers own the sockets and the message layouts. Both sides draw a
//! [`Nonce`], exchange them, and prove that they know the [`Secret`] by HMAC-SHA256 over the role, both
//! nonces and a context that says what the connection is for (job, ranks, purpose). The secret itself
//! never travels, a proof is worth nothing on another connection, and neither side's proof can be
//! reflected as the other's. Without a secret every process knows the (empty) secret: the exchange then
//! keeps others out by accident only, not by intent. Traffic after the handshake is not encrypted.
//!
//! ```
//! use ringworld_auth::{Nonce, Role, Secret};
//! let secret = Secret::new(b"correct horse".to_vec());
//! let (a, b) = (Nonce::fresh()?, Nonce::fresh()?);
//! let proof = secret.prove(Role::Initiator, b"job 1", &a, &b);
//! assert!(secret.verify(&proof, Role::Initiator, b"job 1", &a, &b));
//! assert!(!secret.verify(&proof, Role::Responder, b"job 1", &a, &b));
//! # Ok::<(), ringworld_auth::RandomError>(())
//! ```

#![forbid(unsafe_code)]

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Length of a [`Nonce`] and of a [`Proof`], in bytes.
pub const LENGTH: usize = 32;

/// The system has no random numbers to give.
#[derive(Debug, thiserror::Error)]
#[error("the system's random number generator failed: {0}")]
pub struct RandomError(getrandom::Error);

/// What all processes of a job know and nobody else does. Never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Wraps the bytes; empty means that none was set.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// A new secret of 32 random bytes, as 64 hexadecimal digits so that it fits an environment variable.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn random() -> Result<Self, RandomError> {
        let Nonce(bytes) = Nonce::fresh()?;
        Ok(Self(bytes.iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect()))
    }

    /// Whether no secret was set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes, for handing them to a child process. Do not print them.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Proves knowledge of the secret, on this connection and in this role only.
    #[must_use]
    pub fn prove(&self, role: Role, context: &[u8], initiator: &Nonce, responder: &Nonce) -> Proof {
        Proof(self.mac(role, context, initiator, responder).finalize().into_bytes().into())
    }

    /// Checks the other side's proof, in constant time. `role` is the role of the side that made it.
    #[must_use]
    pub fn verify(
        &self,
        proof: &Proof,
        role: Role,
        context: &[u8],
        initiator: &Nonce,
        responder: &Nonce,
    ) -> bool {
        self.mac(role, context, initiator, responder).verify_slice(&proof.0).is_ok()
    }

    fn mac(&self, role: Role, context: &[u8], initiator: &Nonce, responder: &Nonce) -> Hmac<Sha256> {
        // HMAC takes keys of any length, so `new_from_slice` cannot fail; an all-zero key of the right
        // size would be refused by the peer like any other wrong secret.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .unwrap_or_else(|_| Hmac::<Sha256>::new(&Default::default()));
        mac.update(b"ringworld handshake 1");
        mac.update(&[role as u8]);
        mac.update(&initiator.0);
        mac.update(&responder.0);
        mac.update(context);
        mac
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() { "Secret(none)" } else { "Secret(hidden)" })
    }
}

/// Which side of the connection made a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that connected.
    Initiator = 1,
    /// The side that accepted.
    Responder = 2,
}

/// A number used once: 32 random bytes that make every handshake different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce(pub [u8; LENGTH]);

impl Nonce {
    /// Draws a nonce from the system.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn fresh() -> Result<Self, RandomError> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes).map_err(RandomError)?;
        Ok(Self(bytes))
    }
}

/// Evidence that its maker knows the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof(pub [u8; LENGTH]);

#[cfg(test)]
mod tests {
    use super::*;

    const A: Nonce = Nonce([1; LENGTH]);
    const B: Nonce = Nonce([2; LENGTH]);

    #[test]
    fn only_the_same_secret_role_context_and_nonces_verify() {
        let secret = Secret::new(b"s".to_vec());
        let proof = secret.prove(Role::Responder, b"c", &A, &B);
        assert!(secret.verify(&proof, Role::Responder, b"c", &A, &B));
        assert!(!Secret::new(b"t".to_vec()).verify(&proof, Role::Responder, b"c", &A, &B));
        assert!(!Secret::default().verify(&proof, Role::Responder, b"c", &A, &B));
        assert!(!secret.verify(&proof, Role::Initiator, b"c", &A, &B));
        assert!(!secret.verify(&proof, Role::Responder, b"d", &A, &B));
        assert!(!secret.verify(&proof, Role::Responder, b"c", &B, &A));
    }

    #[test]
    fn a_secret_is_never_printed() {
        assert_eq!(format!("{:?}", Secret::new(b"hush".to_vec())), "Secret(hidden)");
    }

    #[test]
    fn random_secrets_are_printable_and_differ() {
        let (a, b) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(a, b);
        assert!(a.expose().iter().all(u8::is_ascii_hexdigit) && a.expose().len() == 64);
    }
}
