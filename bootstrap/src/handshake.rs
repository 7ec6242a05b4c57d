//! The first words on a control connection: who speaks which version, and who knows the secret.
//!
//! ```text
//! joiner                                            master
//!   magic, version, first message of the handshake  ->
//!                  <-  magic, version, granted, second message with the job id   or   denied
//! ```
//!
//! Both messages are those of [`ringworld_auth`]. The master says nothing to anyone who does not begin with the magic,
//! and to whoever does not know the secret only whether there is one, which anybody could try: no job id, nothing that
//! a secret could be guessed by. Whoever sends again what it has recorded gets keys that it does not know, so the
//! master takes nobody for a joiner before the first frame could be opened.

use ringworld_auth::{AuthError, FIRST, Initiator, Responder, SECOND, Secret, Session};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::wire::{MAGIC, VERSION};

const GRANTED: u8 = 1;
/// The first message was not made with this job's secret.
const DENIED: u8 = 2;
/// The same, and this job has none.
const DENIED_OPEN: u8 = 3;

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("{0}")]
    Io(std::io::Error),
    #[error("it closed the connection before it had introduced itself")]
    Silent,
    #[error("it begins with {0:?}")]
    Magic(String),
    #[error(
        "it speaks version {0} of the control protocol, and this process version {VERSION}; install the same \
         ringworld everywhere"
    )]
    Version(u16),
    #[error("{0}")]
    Secret(&'static str),
    #[error("{0}")]
    System(#[from] AuthError),
}

impl From<std::io::Error> for HandshakeError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::Silent,
            _ => Self::Io(error),
        }
    }
}

/// Binds the handshake to what it is for.
fn purpose() -> Vec<u8> {
    [&b"ringworld control "[..], &VERSION.to_le_bytes()].concat()
}

fn preamble() -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes()].concat()
}

async fn read_preamble(stream: &mut (impl AsyncRead + Unpin)) -> Result<(), HandshakeError> {
    // The magic first: the first line of another protocol may be shorter than the whole preamble.
    let mut magic = [0; MAGIC.len()];
    stream.read_exact(&mut magic).await?;
    if magic != MAGIC {
        return Err(HandshakeError::Magic(String::from_utf8_lossy(&magic).into_owned()));
    }
    let mut version = [0; 2];
    stream.read_exact(&mut version).await?;
    let version = u16::from_le_bytes(version);
    if version != VERSION {
        return Err(HandshakeError::Version(version));
    }
    Ok(())
}

/// The master's side. `vouched` is called when the first message has shown that its maker knows the secret.
pub(crate) async fn accept(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    secret: &Secret,
    job: u64,
    vouched: impl FnOnce(),
) -> Result<Session, HandshakeError> {
    let mut answer = preamble();
    match read_preamble(stream).await {
        Err(error @ HandshakeError::Version(_)) => {
            // The other side can then name both versions.
            stream.write_all(&answer).await?;
            return Err(error);
        }
        other => other?,
    }
    let mut first = [0; FIRST];
    stream.read_exact(&mut first).await?;
    let responder = match Responder::new(secret, &purpose(), &first) {
        Ok((responder, _)) => responder,
        Err(AuthError::Forged) => {
            let (verdict, reason) = if secret.is_empty() {
                (DENIED_OPEN, "it has a secret and this job has none; set RINGWORLD_SECRET here as there")
            } else {
                (DENIED, "it does not know the secret of this job; set RINGWORLD_SECRET there as here")
            };
            answer.push(verdict);
            stream.write_all(&answer).await?;
            return Err(HandshakeError::Secret(reason));
        }
        Err(error) => return Err(error.into()),
    };
    vouched();
    let (session, second) = responder.answer(&job.to_le_bytes())?;
    answer.push(GRANTED);
    answer.extend(second);
    stream.write_all(&answer).await?;
    Ok(session)
}

/// The joiner's side; answers the job id and the keys.
pub(crate) async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    secret: &Secret,
) -> Result<(u64, Session), HandshakeError> {
    let (initiator, first) = Initiator::new(secret, &purpose(), b"")?;
    let mut greeting = preamble();
    greeting.extend(first);
    stream.write_all(&greeting).await?;
    read_preamble(stream).await?;
    let mut verdict = [0];
    stream.read_exact(&mut verdict).await?;
    let differs = HandshakeError::Secret(
        "RINGWORLD_SECRET differs from the master's; set the same one for all processes of the job",
    );
    match (verdict[0], secret.is_empty()) {
        (GRANTED, _) => {}
        (DENIED, true) => {
            return Err(HandshakeError::Secret(
                "RINGWORLD_SECRET is missing here; set it, or RINGWORLD_SECRET_FILE, as on the master",
            ));
        }
        (DENIED_OPEN, false) => {
            return Err(HandshakeError::Secret(
                "RINGWORLD_SECRET is missing at the master; set it there as here, or unset it here",
            ));
        }
        _ => return Err(differs),
    }
    let mut second = [0; SECOND + 8];
    stream.read_exact(&mut second).await?;
    match initiator.finish(&second) {
        Ok((session, job)) => {
            let job = job.first_chunk().ok_or(AuthError::Forged)?;
            Ok((u64::from_le_bytes(*job), session))
        }
        Err(AuthError::Forged) => Err(HandshakeError::Secret(
            "what answers there does not know RINGWORLD_SECRET; is it the master, or somebody in between?",
        )),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shake_hands(
        master: &[u8],
        joiner: &[u8],
    ) -> (Result<(), HandshakeError>, Result<u64, HandshakeError>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut a, mut b) = tokio::io::duplex(4096);
        let (master, joiner) = (Secret::new(master.to_vec()), Secret::new(joiner.to_vec()));
        runtime.block_on(async move {
            let joining = async {
                let result = connect(&mut b, &joiner).await;
                drop(b);
                result.map(|(job, _)| job)
            };
            let accepting = async { accept(&mut a, &master, 7, || {}).await.map(drop) };
            tokio::join!(accepting, joining)
        })
    }

    #[test]
    fn the_same_secret_opens_both_sides_and_tells_the_job() {
        let (master, joiner) = shake_hands(b"s", b"s");
        assert!(master.is_ok());
        assert_eq!(joiner.unwrap(), 7);
        assert_eq!(shake_hands(b"", b"").1.unwrap(), 7);
    }

    #[test]
    fn another_or_no_secret_is_refused_by_name() {
        for (master, joiner, part) in [
            (&b"s"[..], &b"t"[..], "differs"),
            (b"s", b"", "missing here"),
            (b"", b"s", "missing at the master"),
        ] {
            let (accepted, connected) = shake_hands(master, joiner);
            assert!(accepted.is_err());
            let text = connected.unwrap_err().to_string();
            assert!(text.contains("RINGWORLD_SECRET") && text.contains(part), "{text}");
        }
    }

    #[test]
    fn whoever_speaks_another_protocol_gets_no_answer() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut a, mut b) = tokio::io::duplex(4096);
        runtime.block_on(async {
            b.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            assert!(matches!(
                accept(&mut a, &Secret::default(), 1, || {}).await,
                Err(HandshakeError::Magic(_))
            ));
            drop(a);
            let mut answer = Vec::new();
            b.read_to_end(&mut answer).await.unwrap();
            assert!(answer.is_empty());
        });
    }

    /// What a master with a secret says to `greeting`, and whether it took its maker for one who knows the secret.
    fn answer_to(greeting: &[u8]) -> (Vec<u8>, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut a, mut b) = tokio::io::duplex(4096);
        runtime.block_on(async {
            b.write_all(greeting).await.unwrap();
            let mut vouched = false;
            let _ =
                accept(&mut a, &Secret::new(b"s".to_vec()), 0x0123_4567_89ab_cdef, || vouched = true).await;
            drop(a);
            let mut answer = Vec::new();
            b.read_to_end(&mut answer).await.unwrap();
            (answer, vouched)
        })
    }

    #[test]
    fn an_unauthenticated_peer_learns_neither_the_job_nor_anything_made_with_the_secret() {
        let job = 0x0123_4567_89ab_cdef_u64.to_le_bytes();
        let tells = |answer: &[u8]| answer.windows(8).any(|part| part == job);
        let (_, guess) = Initiator::new(&Secret::new(b"guess".to_vec()), &purpose(), b"").unwrap();
        let (answer, vouched) = answer_to(&[preamble(), guess].concat());
        assert_eq!((answer.len(), vouched), (preamble().len() + 1, false), "a refusal and nothing else");
        // Not even whoever sends what a joiner has sent before.
        let (_, recorded) = Initiator::new(&Secret::new(b"s".to_vec()), &purpose(), b"").unwrap();
        let (answer, vouched) = answer_to(&[preamble(), recorded].concat());
        assert!(vouched && !tells(&answer));
    }
}
