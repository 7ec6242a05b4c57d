//! The secret: what it is derived to, and that nobody sees it.

use hkdf::Hkdf;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Secrets with fewer bytes are weak: whoever has recorded a single handshake can try so many guesses at home.
pub const WEAK: usize = 16;

/// Names what the key is for, so that the same text used elsewhere gives another key.
const LABEL: &[u8] = b"ringworld pre-shared key 1";

/// The system has no random numbers to give.
#[derive(Debug, thiserror::Error)]
#[error("the system's random number generator failed: {0}")]
pub struct RandomError(getrandom::Error);

/// What all processes of a job know and nobody else does. Never printed; wiped from memory when dropped.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Wraps the bytes; empty means that none was set.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A new secret of 32 random bytes, as 64 hexadecimal digits so that it fits an environment variable.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn random() -> Result<Self, RandomError> {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *bytes).map_err(RandomError)?;
        Ok(Self::new(bytes.iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect()))
    }

    /// Whether no secret was set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is one, of fewer than [`WEAK`] bytes.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        !self.is_empty() && self.0.len() < WEAK
    }

    /// The bytes, for handing them to a child process. Do not print them.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The key that handshakes begin with: HKDF-SHA256 of the secret. Deriving it is quick, so it makes a weak secret
    /// no stronger.
    pub(crate) fn key(&self) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        // One block is asked for, of the 255 that there are: this cannot fail, and a key of zeros would be refused by
        // the other side like any other wrong one.
        let _ = Hkdf::<Sha256>::new(None, &self.0).expand(LABEL, &mut *key);
        key
    }
}

impl PartialEq for Secret {
    /// In a time that does not depend on where they differ.
    fn eq(&self, other: &Self) -> bool {
        self.0.as_slice().ct_eq(other.0.as_slice()).into()
    }
}

impl Eq for Secret {}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() { "Secret(none)" } else { "Secret(hidden)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        assert_eq!(format!("{:?}", Secret::new(b"hush".to_vec())), "Secret(hidden)");
    }

    #[test]
    fn random_secrets_are_printable_and_differ() {
        let (a, b) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(a, b);
        assert!(a.expose().iter().all(u8::is_ascii_hexdigit) && a.expose().len() == 64);
        assert!(!a.is_weak() && !Secret::default().is_weak());
        assert!(Secret::new(vec![1; WEAK - 1]).is_weak());
    }

    #[test]
    fn each_secret_has_a_key_of_its_own() {
        let key = |text: &str| Secret::new(text.into()).key();
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
        assert_ne!(key(""), Zeroizing::new([0; 32]));
    }
}
