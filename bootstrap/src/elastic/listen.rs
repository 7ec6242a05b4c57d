//! Lets others of the job in, and bounds those that have not yet shown who they are.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::link::{self, Common};
use crate::places::Places;

/// How many may wait to be known.
const STRANGERS: usize = 256;
/// Pause after the system has refused a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Takes what comes, until the task is dropped.
pub(super) async fn listen(listener: TcpListener, common: Arc<Common>) {
    let places = Places::new(STRANGERS);
    let mut number = 0;
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                number += 2;
                let (waiting, _) = places.enter(number, from.ip());
                let common = Arc::clone(&common);
                let task = tokio::spawn(async move {
                    if let Err(reason) = link::answer(number, stream, &common, || drop(waiting)).await {
                        tracing::debug!(
                            "{from} came to agree on a generation, and was turned away: {reason}"
                        );
                    }
                });
                places.note(number, task.abort_handle());
            }
            Err(error) => {
                tracing::debug!("a connection could not be accepted: {error}");
                let made_room = places.drop_one();
                tokio::time::sleep(if made_room { Duration::from_millis(1) } else { PAUSE }).await;
            }
        }
    }
}
