//! Who knows the job's secret, and records that nobody else can read or forge; the same for control and data
//! connections.
//!
//! Pure: bytes in, bytes out; the callers own the sockets and the layout of what they send. The handshake is
//! `Noise_NNpsk0_25519_ChaChaPoly_SHA256` by the crate `snow`: two messages, after which both sides have keys of their
//! own for this connection.
//!
//! ```text
//! initiator                                        responder
//!   first message (ephemeral key, sealed payload)   ->        checks that it was made with the secret
//!                                    <-   second message (ephemeral key, sealed payload)
//!   records  <->  records
//! ```
//!
//! What each side knows, and when:
//!
//! - The responder, from the first message: its maker knows the secret. It may be a recorded one that is sent again, so
//!   the initiator is believed only once a first *record* of it can be opened. Whoever does not know the secret gets no
//!   answer that depends on it.
//! - The initiator, from the second message: the responder knows the secret and answers this very handshake.
//! - The payloads are bound to the handshake like the purpose: nobody can give them another meaning on another
//!   connection.
//! - The keys are gone with the connection, so a secret that becomes known later opens nothing that was recorded.
//!
//! Without a secret every process knows the empty one: the handshake then keeps others out by accident only, not by
//! intent. Neighbours: `secret.rs` is the secret, `handshake.rs` the two messages, `record.rs` what follows, `tally.rs`
//! a line in the log for many refusals.
//!
//! ```
//! use ringworld_auth::{Initiator, Responder, Secret};
//! let secret = Secret::new(b"correct horse battery".to_vec());
//! let (initiator, first) = Initiator::new(&secret, b"example", b"I am rank 1")?;
//! let (responder, payload) = Responder::new(&secret, b"example", &first)?;
//! assert_eq!(payload, b"I am rank 1");
//! let (mut theirs, second) = responder.answer(b"welcome")?;
//! let (mut ours, payload) = initiator.finish(&second)?;
//! assert_eq!(payload, b"welcome");
//! let mut sealed = [0; 64];
//! let length = ours.sealer.seal(b"hello", &mut sealed)?;
//! let mut opened = [0; 64];
//! let length = theirs.opener.open(&sealed[..length], &mut opened)?;
//! assert_eq!(&opened[..length], b"hello");
//! # Ok::<(), ringworld_auth::AuthError>(())
//! ```

#![forbid(unsafe_code)]

mod handshake;
mod record;
mod secret;
mod tally;

pub use handshake::{FIRST, Initiator, Responder, SECOND};
pub use record::{LONGEST, OVERHEAD, Opener, Sealer, Session};
pub use secret::{RandomError, Secret, WEAK};
pub use tally::Tally;

/// Why a handshake or a record came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// It was not made with this secret, for this purpose and at this place of the connection; or was altered on its
    /// way.
    #[error("it was forged, altered on its way, or made with another secret")]
    Forged,
    /// More bytes than one message or record takes, or less room than it needs.
    #[error("{given} bytes do not fit where there is room for {room}")]
    Length {
        /// How many.
        given: usize,
        /// The most that there may be.
        room: usize,
    },
    /// The system has no random numbers to give, or the handshake cannot be made.
    #[error("the handshake cannot be made: {0}")]
    System(String),
}

impl From<snow::Error> for AuthError {
    fn from(error: snow::Error) -> Self {
        match error {
            snow::Error::Decrypt | snow::Error::Input | snow::Error::Dh => Self::Forged,
            other => Self::System(other.to_string()),
        }
    }
}
