//! Lets connections in, and drops those that wait too long or are too many. Neighbours: `places` keeps those that wait,
//! `connection` sees one connection through.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringworld_auth::Tally;
use rustix::process::{Resource, getrlimit};

use super::connection::{self, Common};
use super::mail::Inbound;
use crate::places::Places;

/// The most connections that may wait, of those of which nothing is known and of those that have spoken well.
pub(super) const MOST: usize = 1024;
/// Pause after the system has refused a connection, if nobody could make room.
const PAUSE: Duration = Duration::from_millis(50);

/// A quarter of the files that this process may open, so that most are left for the ranks.
fn limit() -> usize {
    let quarter = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize / 4);
    quarter.clamp(16, MOST)
}

/// Takes what the listener has, until the task is dropped.
pub(super) async fn accept(listener: tokio::net::TcpListener, common: Arc<Common>) {
    let places = Places::new(limit());
    let mut number = 0;
    let mut refused = Tally::default();
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                number += 1;
                let (waiting, dropped) = places.enter(number, from.ip());
                // It runs at this task's next pause, not before it is noted.
                let task = tokio::spawn(connection::serve(stream, from, Arc::clone(&common), waiting));
                places.note(number, task.abort_handle());
                if dropped {
                    let reason = "more connections waited than there is room for".to_owned();
                    // If the hub is busy, one more or less is not worth waiting for.
                    let _ = common.hub.try_send(Inbound::Unauthenticated { from, reason });
                }
            }
            Err(error) => {
                // Out of descriptors, or a connection that died in the queue; both pass.
                if let Some(more) = refused.note(Instant::now()) {
                    tracing::warn!("a connection could not be accepted: {error} ({more} more before it)");
                }
                let dropped = places.drop_one();
                // Whoever made room does so when its task is dropped, which is at this one's next pause.
                tokio::time::sleep(if dropped { Duration::from_millis(1) } else { PAUSE }).await;
            }
        }
    }
}
