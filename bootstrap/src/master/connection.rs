//! One control connection as the master sees it: handshake, then a reader and a writer.
//!
//! Unauthenticated connections end here, with a log line, and never reach the hub. A reader reports every message and,
//! at the end, why there will be no more; a writer sends what the hub says and a heartbeat when it says nothing, so
//! that neither a slow nor a stopped peer can hold up the hub.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringworld_auth::Secret;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::mail::{Inbound, Outgoing};
use crate::frames::{self, FrameReader, FrameWriter, ReadError};
use crate::handshake;
use crate::places::Waiting;
use crate::process::Process;
use crate::wire::{self, EARLY_LIMIT, Hello, RANK_LIMIT, ToMaster, ToRank};

/// How long a connection may take to show who it is.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long the last words may take to leave.
const LINGER: Duration = Duration::from_secs(2);
/// How long the rank whose process this is waits until the others have heard of what ends the world. One of them may
/// have stopped; and all are to hear within a second.
const OTHERS: Duration = Duration::from_millis(200);

/// What every connection needs to know.
pub(super) struct Common {
    pub(super) secret: Secret,
    pub(super) job: u64,
    pub(super) peer_timeout: Option<Duration>,
    pub(super) hub: mpsc::Sender<Inbound>,
    pub(super) bytes_sent: Arc<AtomicU64>,
    /// There are descriptors enough to watch the processes of ranks.
    pub(super) watches: bool,
}

/// Somebody who has shown who it is.
struct Introduced {
    hello: Hello,
    reading: FrameReader<OwnedReadHalf>,
    writing: FrameWriter<OwnedWriteHalf>,
}

/// Sees one connection through, from the first byte to the last.
pub(super) async fn serve(stream: TcpStream, from: SocketAddr, common: Arc<Common>, waiting: Waiting) {
    // Latency of small frames matters more than their number; a failure only costs speed.
    let _ = stream.set_nodelay(true);
    let connection = waiting.number();
    let introduced = match timeout(HANDSHAKE, introduce(stream, &common, &waiting)).await {
        Ok(Ok(Some(introduced))) => introduced,
        Ok(Ok(None)) => return,
        Ok(Err(reason)) => return turned_away(&common, from, reason).await,
        Err(_) => return turned_away(&common, from, format!("no handshake within {HANDSHAKE:?}")).await,
    };
    drop(waiting);
    let Introduced { hello, mut reading, writing } = introduced;
    let process = if common.watches { hello.process } else { Process::default() };
    let (outbox, inbox) = mpsc::unbounded_channel();
    let joined = Inbound::Joined { connection, hello, outbox };
    if common.hub.send(joined).await.is_err() {
        return;
    }
    let mut writer = tokio::spawn(write(writing, inbox, Arc::clone(&common)));
    let all = async {
        loop {
            match reading.read_within::<ToMaster>(RANK_LIMIT, common.peer_timeout).await {
                Ok((ToMaster::Ping, _)) => {}
                Ok((message, _)) => {
                    if common.hub.send(Inbound::Message { connection, message }).await.is_err() {
                        break ReadError::Closed;
                    }
                }
                Err(error) => break error,
            }
        }
    };
    let cause = process.heard_out(all).await.unwrap_or(ReadError::Ended);
    // An error here means that the hub has ended and nobody cares any more.
    let _ = common.hub.send(Inbound::Gone { connection, cause }).await;
    if timeout(LINGER, &mut writer).await.is_err() {
        writer.abort();
    }
}

/// Tells the hub of somebody who did not come in.
async fn turned_away(common: &Common, from: SocketAddr, reason: String) {
    // A socket that listens for both kinds of addresses shows the old ones in the form of the new.
    let from = SocketAddr::new(from.ip().to_canonical(), from.port());
    // An error means that the hub has ended and nobody cares any more.
    let _ = common.hub.send(Inbound::Unauthenticated { from, reason }).await;
}

/// Who it is; `None` when it only had a question, which has been answered.
async fn introduce(
    mut stream: TcpStream,
    common: &Common,
    waiting: &Waiting,
) -> Result<Option<Introduced>, String> {
    let session = handshake::accept(&mut stream, &common.secret, common.job, || waiting.vouch()).await;
    let session = session.map_err(|error| error.to_string())?;
    let (reading, writing) = stream.into_split();
    let mut reading = FrameReader::new(reading, session.opener);
    let mut writing = FrameWriter::new(writing, session.sealer);
    match reading.read::<ToMaster>(EARLY_LIMIT).await {
        Ok((ToMaster::Hello(hello), _)) => {
            let hello = Hello { host: wire::host(&hello.host), ..hello };
            Ok(Some(Introduced { hello, reading, writing }))
        }
        Ok((ToMaster::Inquire, _)) => {
            let (reply, answer) = oneshot::channel();
            // An error here means that the hub has ended, and there is nothing to tell.
            let _ = common.hub.send(Inbound::Inquiry { reply }).await;
            if let Ok(answer) = answer.await {
                // Who has asked and left needs no answer.
                let _ = writing.write(&answer).await;
            }
            Ok(None)
        }
        Ok((ToMaster::AskStatus, _)) => {
            let (reply, answer) = oneshot::channel();
            // As above.
            let _ = common.hub.send(Inbound::Status { reply }).await;
            if let Ok(status) = answer.await {
                let _ = writing.write(&ToRank::Status(status)).await;
            }
            Ok(None)
        }
        Ok((ToMaster::RunsAlready { job, running }, _)) => {
            let _ = common.hub.send(Inbound::RunsAlready { job, running }).await;
            Ok(None)
        }
        Ok(_) => Err("it did not introduce itself".into()),
        Err(error) => Err(error.to_string()),
    }
}

async fn write(
    mut stream: FrameWriter<OwnedWriteHalf>,
    mut inbox: mpsc::UnboundedReceiver<Outgoing>,
    common: Arc<Common>,
) {
    let Ok(ping) = frames::encode(&ToRank::Ping) else { return };
    let ping: Arc<[u8]> = ping.into();
    loop {
        let next = tokio::select! {
            biased;
            next = inbox.recv() => next,
            () = sleep(wire::heartbeat(common.peer_timeout)) => Some(Outgoing::Frame(Arc::clone(&ping))),
        };
        let (bytes, _permit) = match next {
            Some(Outgoing::Frame(bytes)) => (bytes, None),
            Some(Outgoing::Words(bytes, permit)) => (bytes, Some(permit)),
            Some(Outgoing::Flush(done)) => {
                let _ = done.send(());
                continue;
            }
            Some(Outgoing::After(others)) => {
                let deadline = Instant::now() + OTHERS;
                for other in others {
                    if timeout_at(deadline, other).await.is_err() {
                        break;
                    }
                }
                continue;
            }
            None => {
                let _ = stream.shutdown().await;
                return;
            }
        };
        let Ok(written) = stream.write_body(&bytes).await else {
            // The reader finds out why.
            return;
        };
        common.bytes_sent.fetch_add(written as u64, Ordering::Relaxed);
    }
}
