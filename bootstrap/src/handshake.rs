//! The first words on a control connection: who speaks which version, and who knows the secret.
//!
//! The joiner begins. The master says nothing to anyone who does not begin with the magic, so scanners
//! learn nothing; and it checks the joiner's proof before it gives its own, so that nobody can collect
//! proofs from it. Order on the wire: preamble, preamble with job id, proof, verdict with proof.

use ringworld_auth::{LENGTH, Nonce, Proof, Role, Secret};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::wire::{MAGIC, VERSION};

const GRANTED: u8 = 1;
const DENIED: u8 = 0;

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
        "it speaks version {0} of the control protocol, and this process version {VERSION}; install the same ringworld everywhere"
    )]
    Version(u16),
    #[error("{0}")]
    Secret(&'static str),
    #[error("{0}")]
    Random(#[from] ringworld_auth::RandomError),
}

impl From<std::io::Error> for HandshakeError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::Silent,
            _ => Self::Io(error),
        }
    }
}

/// Binds the proofs to this purpose and this job.
fn context(job: u64) -> Vec<u8> {
    let mut context = b"control ".to_vec();
    context.extend(job.to_le_bytes());
    context
}

fn preamble(nonce: &Nonce) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(nonce.0);
    bytes
}

async fn read_preamble(stream: &mut (impl AsyncRead + Unpin)) -> Result<Nonce, HandshakeError> {
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
    let mut nonce = [0; LENGTH];
    stream.read_exact(&mut nonce).await?;
    Ok(Nonce(nonce))
}

/// The master's side.
pub(crate) async fn accept(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    secret: &Secret,
    job: u64,
) -> Result<(), HandshakeError> {
    let mine = Nonce::fresh()?;
    let theirs = match read_preamble(stream).await {
        Err(error @ HandshakeError::Version(_)) => {
            // The other side can then name both versions.
            stream.write_all(&preamble(&mine)).await?;
            return Err(error);
        }
        other => other?,
    };
    let mut answer = preamble(&mine);
    answer.extend(job.to_le_bytes());
    answer.push(u8::from(!secret.is_empty()));
    stream.write_all(&answer).await?;
    let mut proof = [0; LENGTH];
    match stream.read_exact(&mut proof).await.map_err(HandshakeError::from) {
        // It has been told whether a secret is needed, and leaves when it has none, or one too many.
        Err(HandshakeError::Silent) => {
            return Err(HandshakeError::Secret(match secret.is_empty() {
                false => {
                    "it left when it heard that this job has a secret; set RINGWORLD_SECRET there as here"
                }
                true => {
                    "it left when it heard that this job has no secret; set RINGWORLD_SECRET here as there"
                }
            }));
        }
        other => other?,
    };
    let context = context(job);
    if !secret.verify(&Proof(proof), Role::Initiator, &context, &theirs, &mine) {
        stream.write_all(&[DENIED]).await?;
        return Err(HandshakeError::Secret("it does not know the secret of this job (RINGWORLD_SECRET)"));
    }
    let mut verdict = vec![GRANTED];
    verdict.extend(secret.prove(Role::Responder, &context, &theirs, &mine).0);
    stream.write_all(&verdict).await?;
    Ok(())
}

/// The joiner's side; answers the job id.
pub(crate) async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    secret: &Secret,
) -> Result<u64, HandshakeError> {
    let mine = Nonce::fresh()?;
    stream.write_all(&preamble(&mine)).await?;
    let theirs = read_preamble(stream).await?;
    let mut job = [0; 8];
    stream.read_exact(&mut job).await?;
    let job = u64::from_le_bytes(job);
    let mut guarded = [0];
    stream.read_exact(&mut guarded).await?;
    match (guarded[0] != 0, secret.is_empty()) {
        (true, true) => {
            return Err(HandshakeError::Secret(
                "RINGWORLD_SECRET is missing here; set it, or RINGWORLD_SECRET_FILE, as on the master",
            ));
        }
        (false, false) => {
            return Err(HandshakeError::Secret(
                "RINGWORLD_SECRET is missing at the master; set it there as here, or unset it here",
            ));
        }
        _ => {}
    }
    let context = context(job);
    stream.write_all(&secret.prove(Role::Initiator, &context, &mine, &theirs).0).await?;
    let differs = HandshakeError::Secret(
        "RINGWORLD_SECRET differs from the master's; set the same one for all processes of the job",
    );
    let mut verdict = [0];
    stream.read_exact(&mut verdict).await?;
    if verdict[0] != GRANTED {
        return Err(differs);
    }
    let mut proof = [0; LENGTH];
    stream.read_exact(&mut proof).await?;
    if !secret.verify(&Proof(proof), Role::Responder, &context, &mine, &theirs) {
        return Err(differs);
    }
    Ok(job)
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
                result
            };
            tokio::join!(accept(&mut a, &master, 7), joining)
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
            assert!(matches!(accept(&mut a, &Secret::default(), 1).await, Err(HandshakeError::Magic(_))));
            drop(a);
            let mut answer = Vec::new();
            b.read_to_end(&mut answer).await.unwrap();
            assert!(answer.is_empty());
        });
    }
}
