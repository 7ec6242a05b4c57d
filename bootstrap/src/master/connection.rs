//! One control connection as the master sees it: handshake, then a reader and a writer.
//!
//! Unauthenticated connections end here, with a log line, and never reach the hub. A reader reports every message and, at
//! the end, why there will be no more; a writer sends what the hub says and a heartbeat when it says
//! nothing, so that neither a slow nor a stopped peer can hold up the hub.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringworld_auth::Secret;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::mail::{Inbound, Outgoing};
use crate::handshake;
use crate::wire::{self, EARLY_LIMIT, Hello, RANK_LIMIT, ReadError, ToMaster, ToRank};

/// How long an unauthenticated connection may keep a place among the handshakes.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long the last words may take to leave.
const LINGER: Duration = Duration::from_secs(2);

/// What every connection needs to know.
pub(super) struct Common {
    pub(super) secret: Secret,
    pub(super) job: u64,
    pub(super) peer_timeout: Option<Duration>,
    pub(super) hub: mpsc::Sender<Inbound>,
    pub(super) bytes_sent: Arc<AtomicU64>,
}

/// Sees one connection through, from the first byte to the last.
pub(super) async fn serve(
    mut stream: TcpStream,
    from: SocketAddr,
    connection: u64,
    common: Arc<Common>,
    permit: OwnedSemaphorePermit,
) {
    // Latency of small frames matters more than their number; a failure only costs speed.
    let _ = stream.set_nodelay(true);
    let hello = match timeout(HANDSHAKE, introduce(&mut stream, &common)).await {
        Ok(Ok(Some(hello))) => hello,
        Ok(Ok(None)) => return,
        Ok(Err(reason)) => return turned_away(&common, from, reason).await,
        Err(_) => return turned_away(&common, from, format!("no handshake within {HANDSHAKE:?}")).await,
    };
    drop(permit);
    let (mut reading, writing) = stream.into_split();
    let (outbox, inbox) = mpsc::unbounded_channel();
    let joined = Inbound::Joined { connection, hello, outbox };
    if common.hub.send(joined).await.is_err() {
        return;
    }
    let mut writer = tokio::spawn(write(writing, inbox, Arc::clone(&common)));
    let cause = loop {
        match wire::read_within::<ToMaster>(&mut reading, RANK_LIMIT, common.peer_timeout).await {
            Ok((ToMaster::Ping, _)) => {}
            Ok((message, _)) => {
                if common.hub.send(Inbound::Message { connection, message }).await.is_err() {
                    break ReadError::Closed;
                }
            }
            Err(error) => break error,
        }
    };
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
async fn introduce(stream: &mut TcpStream, common: &Common) -> Result<Option<Hello>, String> {
    handshake::accept(stream, &common.secret, common.job).await.map_err(|error| error.to_string())?;
    match wire::read::<ToMaster>(stream, EARLY_LIMIT).await {
        Ok((ToMaster::Hello(hello), _)) => Ok(Some(hello)),
        Ok((ToMaster::Inquire, _)) => {
            let (reply, answer) = oneshot::channel();
            // An error here means that the hub has ended, and there is nothing to tell.
            let _ = common.hub.send(Inbound::Inquiry { reply }).await;
            if let Ok(answer) = answer.await {
                // Who has asked and left needs no answer.
                let _ = wire::write(stream, &answer).await;
            }
            Ok(None)
        }
        Ok(_) => Err("it did not introduce itself".into()),
        Err(error) => Err(error.to_string()),
    }
}

async fn write(
    mut stream: OwnedWriteHalf,
    mut inbox: mpsc::UnboundedReceiver<Outgoing>,
    common: Arc<Common>,
) {
    let Ok(ping) = wire::frame(&ToRank::Ping) else { return };
    let ping: Arc<[u8]> = ping.into();
    loop {
        let next = tokio::select! {
            biased;
            next = inbox.recv() => next,
            () = sleep(wire::heartbeat(common.peer_timeout)) => Some(Outgoing::Frame(Arc::clone(&ping))),
        };
        match next {
            Some(Outgoing::Frame(bytes)) => {
                if stream.write_all(&bytes).await.is_err() {
                    // The reader finds out why.
                    return;
                }
                common.bytes_sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            Some(Outgoing::Flush(done)) => {
                let _ = done.send(());
            }
            None => {
                let _ = stream.shutdown().await;
                return;
            }
        }
    }
}
