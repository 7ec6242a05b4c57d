//! Frames on a control connection: a length and a body, sealed with the keys of the connection.
//!
//! ```text
//! record: the length of the body, 32 bits, little-endian
//! record: the body, or as many as it takes of [`ringworld_auth::LONGEST`] bytes each
//! ```
//!
//! So nobody on the way can read, alter, leave out, add or repeat anything. The reader refuses lengths above its limit
//! before it allocates anything, and grows its buffer only as bytes arrive, so that nobody can make a process allocate
//! by words alone. Neighbours: `wire` says what is in a body, `handshake` gives the keys.

use std::pin::pin;
use std::time::Duration;

use ringworld_auth::{AuthError, LONGEST, OVERHEAD, Opener, Sealer};
use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

const HEAD: usize = 4;

/// Why a frame could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the connection was closed")]
    Closed,
    #[error("its process has ended")]
    Ended,
    #[error("{0}")]
    Io(std::io::Error),
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    #[error("a frame makes no sense: {0}")]
    Nonsense(postcard::Error),
    #[error("a frame on the control connection was forged, or altered on its way: somebody is in between")]
    Forged,
    #[error("nothing was heard for {0:.1} s")]
    Silence(f64),
}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

impl From<AuthError> for ReadError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Forged => Self::Forged,
            other => Self::Io(std::io::Error::other(other)),
        }
    }
}

/// The body of a frame.
pub(crate) fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, postcard::Error> {
    let body = postcard::to_stdvec(message)?;
    u32::try_from(body.len()).map_err(|_| postcard::Error::SerializeBufferFull)?;
    Ok(body)
}

/// Reads the frames of the other side.
pub(crate) struct FrameReader<R> {
    stream: R,
    opener: Opener,
    /// A record as it comes, and what was in it.
    record: Vec<u8>,
    opened: Vec<u8>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(stream: R, opener: Opener) -> Self {
        Self { stream, opener, record: Vec::new(), opened: Vec::new() }
    }

    /// Reads one record of `length` bytes, to be found in `opened`.
    async fn record(&mut self, length: usize) -> Result<(), ReadError> {
        self.record.resize(length + OVERHEAD, 0);
        self.opened.resize(length, 0);
        self.stream.read_exact(&mut self.record).await?;
        self.opener.open(&self.record, &mut self.opened)?;
        Ok(())
    }

    /// Reads one frame of at most `limit` bytes; also tells how many bytes it took.
    pub(crate) async fn read<T: DeserializeOwned>(&mut self, limit: usize) -> Result<(T, usize), ReadError> {
        self.record(HEAD).await?;
        let head = self.opened.first_chunk().copied().unwrap_or_default();
        let length = u32::from_le_bytes(head) as usize;
        if length > limit {
            return Err(ReadError::TooLong(length));
        }
        let mut taken = HEAD + OVERHEAD;
        let mut body = Vec::new();
        while body.len() < length {
            let part = (length - body.len()).min(LONGEST);
            self.record(part).await?;
            taken += part + OVERHEAD;
            body.extend_from_slice(&self.opened);
        }
        // A connection lives for long, and mostly what follows is short.
        (self.record, self.opened) = (Vec::new(), Vec::new());
        Ok((postcard::from_bytes(&body).map_err(ReadError::Nonsense)?, taken))
    }

    /// Reads one frame, or gives up after `patience`, if that ends, without a whole one.
    ///
    /// The wait has two parts, so that a process that was stopped, and finds its timer expired when it goes
    /// on, still reads what has arrived meanwhile before it blames the other side.
    pub(crate) async fn read_within<T: DeserializeOwned>(
        &mut self,
        limit: usize,
        patience: Option<Duration>,
    ) -> Result<(T, usize), ReadError> {
        let Some(patience) = patience else { return self.read(limit).await };
        let mut reading = pin!(self.read(limit));
        if let Ok(heard) = timeout(patience / 4 * 3, &mut reading).await {
            return heard;
        }
        match timeout(patience / 4, reading).await {
            Ok(heard) => heard,
            Err(_) => Err(ReadError::Silence(patience.as_secs_f64())),
        }
    }
}

/// Writes the frames of this side.
pub(crate) struct FrameWriter<W> {
    stream: W,
    sealer: Sealer,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    pub(crate) fn new(stream: W, sealer: Sealer) -> Self {
        Self { stream, sealer }
    }

    /// Writes one message; answers how many bytes it took.
    pub(crate) async fn write<T: Serialize>(&mut self, message: &T) -> std::io::Result<usize> {
        self.write_body(&encode(message).map_err(std::io::Error::other)?).await
    }

    /// Writes one frame with a body that [`encode`] has made.
    pub(crate) async fn write_body(&mut self, body: &[u8]) -> std::io::Result<usize> {
        let length = u32::try_from(body.len()).map_err(std::io::Error::other)?;
        let mut records = vec![0; HEAD + OVERHEAD + body.len().min(LONGEST) + OVERHEAD];
        let mut end = self.seal(&length.to_le_bytes(), &mut records)?;
        let mut written = 0;
        // Of a long frame one record after the other, so that it is not in memory twice.
        for part in body.chunks(LONGEST) {
            end += self.seal(part, records.get_mut(end..).unwrap_or_default())?;
            self.stream.write_all(&records[..end]).await?;
            written += end;
            end = 0;
        }
        if end > 0 {
            self.stream.write_all(&records[..end]).await?;
        }
        Ok(written + end)
    }

    fn seal(&mut self, bytes: &[u8], record: &mut [u8]) -> std::io::Result<usize> {
        self.sealer.seal(bytes, record).map_err(std::io::Error::other)
    }

    /// Says that nothing more will be written.
    pub(crate) async fn shutdown(&mut self) -> std::io::Result<()> {
        self.stream.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{EARLY_LIMIT, Fault, ToMaster};
    use ringworld_auth::{Initiator, Responder, Secret, Session};

    fn block<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    fn pair() -> (Session, Session) {
        let secret = Secret::new(b"s".to_vec());
        let (initiator, first) = Initiator::new(&secret, b"", b"").unwrap();
        let (session, second) = Responder::new(&secret, b"", &first).unwrap().0.answer(b"").unwrap();
        (initiator.finish(&second).unwrap().0, session)
    }

    fn written(sealer: Sealer, bodies: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes, sealer);
        let sum: usize = bodies.iter().map(|body| block(writer.write_body(body)).unwrap()).sum();
        assert_eq!(bytes.len(), sum);
        bytes
    }

    #[test]
    fn frames_of_every_length_survive_the_journey() {
        let (a, b) = pair();
        let texts: Vec<String> =
            [0, 1, LONGEST - 20, LONGEST, 3 * LONGEST + 7].map(|length| "x".repeat(length)).into();
        let faults = texts.iter().map(|detail| ToMaster::Fault(Fault::Mismatch { detail: detail.clone() }));
        let bodies: Vec<Vec<u8>> = faults.map(|fault| encode(&fault).unwrap()).collect();
        let bytes = written(a.sealer, &bodies.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut reader = FrameReader::new(&bytes[..], b.opener);
        for text in &texts {
            let (message, _): (ToMaster, _) = block(reader.read(1 << 20)).unwrap();
            let ToMaster::Fault(Fault::Mismatch { detail }) = message else { panic!("{message:?}") };
            assert_eq!(detail.len(), text.len());
        }
        assert!(matches!(block(reader.read::<ToMaster>(10)), Err(ReadError::Closed)));
    }

    #[test]
    fn frames_above_the_limit_nonsense_and_stumps_are_refused() {
        let refuse = |body: &[u8], cut: usize| {
            let (a, b) = pair();
            let bytes = written(a.sealer, &[body]);
            let mut reader = FrameReader::new(&bytes[..bytes.len() - cut], b.opener);
            block(reader.read::<ToMaster>(EARLY_LIMIT)).unwrap_err()
        };
        assert!(matches!(refuse(&[0; EARLY_LIMIT + 1], 0), ReadError::TooLong(_)));
        assert!(matches!(refuse(&[200], 0), ReadError::Nonsense(_)));
        assert!(matches!(refuse(&[], 0), ReadError::Nonsense(_)));
        for cut in 1..=37 {
            assert!(matches!(refuse(&[1], cut), ReadError::Closed), "{cut}");
        }
    }

    #[test]
    fn silence_ends_patience_where_there_is_an_end_to_it() {
        let wait = |patience: Option<Duration>| {
            let mut clock = tokio::runtime::Builder::new_current_thread();
            clock.enable_time().start_paused(true).build().unwrap().block_on(async {
                let (silent, _open) = tokio::io::duplex(64);
                let mut reader = FrameReader::new(silent, pair().0.opener);
                let reading = reader.read_within::<ToMaster>(EARLY_LIMIT, patience);
                timeout(Duration::from_secs(1_000_000), reading).await
            })
        };
        let given_up = wait(Some(Duration::from_secs(20))).expect("it has an end").unwrap_err();
        assert!(matches!(given_up, ReadError::Silence(after) if after == 20.0), "{given_up}");
        assert!(wait(None).is_err(), "somebody without a time-out gave up");
    }

    #[test]
    fn an_altered_byte_is_noticed_wherever_it_is() {
        let body = encode(&ToMaster::Ping).unwrap();
        for at in 0..37 {
            let (a, b) = pair();
            let mut bytes = written(a.sealer, &[&body]);
            bytes[at] ^= 4;
            let mut reader = FrameReader::new(&bytes[..], b.opener);
            assert!(matches!(block(reader.read::<ToMaster>(EARLY_LIMIT)), Err(ReadError::Forged)), "{at}");
        }
    }
}
