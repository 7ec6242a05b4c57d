//! The second door of the master, for the same user on the same host: who comes in is told how the job stands, without
//! having said anything, and leaves.
//!
//! It has a name that follows from the process id, in the namespace of the network; no file is left behind. Others than
//! the user of this process, and root, are turned away unheard. Neighbours: `status` asks here.

use std::os::unix::net::UnixListener as StdListener;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::mail::Inbound;
use crate::frames;
use crate::status::local_address;

/// Askers that are answered at the same time.
const INSIDE: usize = 16;
/// How long an asker may take to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens the door, if it can be; a process that serves several worlds tells of the first.
pub(super) fn open() -> Option<StdListener> {
    let listener = StdListener::bind_addr(&local_address(std::process::id()).ok()?);
    let listener = listener.inspect_err(|error| tracing::debug!("no status by process id: {error}")).ok()?;
    listener.set_nonblocking(true).ok()?;
    Some(listener)
}

/// Lets askers in, so many at a time; all of them share one round of questions to the ranks.
pub(super) async fn serve(listener: StdListener, hub: mpsc::Sender<Inbound>) {
    let Ok(listener) = UnixListener::from_std(listener) else { return };
    let mut inside = JoinSet::new();
    loop {
        while inside.len() >= INSIDE {
            // Who does not take its answer in time goes without.
            let _ = inside.join_next().await;
        }
        while inside.try_join_next().is_some() {}
        let Ok((mut stream, _)) = listener.accept().await else {
            // Out of descriptors: others need them more.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let me = rustix::process::geteuid().as_raw();
        if stream.peer_cred().is_ok_and(|asker| asker.uid() == me || asker.uid() == 0) {
            let hub = hub.clone();
            inside.spawn(async move { timeout(PATIENCE, answer(&mut stream, &hub)).await });
        }
    }
}

async fn answer(stream: &mut UnixStream, hub: &mpsc::Sender<Inbound>) {
    let (reply, answered) = oneshot::channel();
    if hub.send(Inbound::Status { reply }).await.is_err() {
        return;
    }
    let Ok(status) = answered.await else { return };
    let Ok(body) = frames::encode(&status) else { return };
    let Ok(length) = u32::try_from(body.len()) else { return };
    // Whoever has gone needs no answer.
    let _ = stream.write_all(&length.to_le_bytes()).await;
    let _ = stream.write_all(&body).await;
}
