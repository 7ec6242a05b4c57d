//! The master: serves the rendezvous, then watches over the world until it ends.
//!
//! Runs in a thread of its own, inside the launcher or inside the first process that bound the port.
//! Neighbours: `roster` decides ranks, `accept` lets connections in, `door` bounds who waits there, `connection` talks
//! to one process, `hub` is the state machine, `notices` what it has to tell, and `inquiry` when it asks all ranks what
//! they do.

mod accept;
mod config;
mod connection;
mod hub;
mod inquiry;
mod local;
mod mail;
mod notices;
mod outcome;
mod roster;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::canary::{CLOSED, Canary};
use crate::error::Error;
use connection::Common;
use hub::Hub;
use mail::Inbound;
use outcome::Account;

pub use config::MasterConfig;
pub(crate) use mail::Arbiter;
pub use outcome::{Departure, Outcome};
pub(crate) use roster::{not_elastic, of_another_job};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// Serves a rendezvous.
#[derive(Debug)]
pub struct Master;

impl Master {
    /// Serves on `listener` until the world has ended, in a thread of its own.
    ///
    /// Without a secret, a listener that can be reached from other hosts is warned about.
    ///
    /// # Errors
    ///
    /// When the system gives no thread, no event queue or no random numbers.
    pub fn serve(listener: TcpListener, config: MasterConfig) -> Result<MasterHandle, Error> {
        let address =
            listener.local_addr().map_err(|e| Error::system("reading the listener's address", e))?;
        let mut job = [0; 8];
        getrandom::fill(&mut job).map_err(|e| Error::system("drawing a job id", e))?;
        let job = u64::from_le_bytes(job);
        // Of a later generation it has been said before.
        if config.secret.is_empty() && !address.ip().is_loopback() && !config.once {
            tracing::warn!(
                "the rendezvous at {address} can be reached from other hosts and anybody may join; set \
                 RINGWORLD_SECRET to the same value for all processes of the job"
            );
        }
        if config.secret.is_weak() && !config.once {
            tracing::warn!(
                "the secret has fewer than {} bytes: whoever records one connection of this job can find it by \
                 trying; use a longer one, such as 64 random hexadecimal digits",
                ringworld_auth::WEAK
            );
        }
        // Two per rank (its connection, its process), those that unauthenticated connections may take, and some for the
        // rest of the process.
        let ranks = config.world_size as u64;
        let raised = crate::descriptors::raise_descriptor_limit(2 * (ranks + accept::MOST as u64) + 256);
        let watches = raised.is_ok();
        if let Some(most) = raised.err().filter(|most| *most < ranks + 64) {
            tracing::warn!(
                "to serve {ranks} ranks takes as many open files, and this process may have {most} in all (the hard \
                 limit of RLIMIT_NOFILE): some will not be able to join; raise the limit (`ulimit -n`)"
            );
        }
        let runtime = crate::thread::Runtime::new().map_err(|e| Error::system("starting the master", e))?;
        listener.set_nonblocking(true).map_err(|e| Error::system("preparing the listener", e))?;
        // All ranks may come in the same moment. Whoever bound the listener may have asked for a shorter queue, as the
        // standard library does (128); the system cuts this one to what it allows.
        rustix::net::listen(&listener, BACKLOG).map_err(|e| Error::system("preparing the listener", e))?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)
                .map_err(|e| Error::system("preparing the listener", e))?
        };
        let (hub, inbound) = mpsc::channel(1024);
        let shared = Arc::new(Shared::default());
        let canary = runtime.canary();
        let ended = Arc::clone(&shared);
        // The thread never ends by itself then.
        canary.tell(move || drop(LastWord { shared: ended, outcome: Outcome::Failed(CLOSED.into()) }));
        let handle = MasterHandle { address, job, hub: hub.clone(), shared: Arc::clone(&shared), canary };
        let common = Arc::new(Common {
            secret: config.secret.clone(),
            job,
            peer_timeout: config.peer_timeout,
            hub: hub.clone(),
            bytes_sent: Arc::clone(&shared.bytes_sent),
            watches,
        });
        let asked = hub.clone();
        let once = config.once;
        let state = Hub::new(&config, hub, Arc::clone(&shared.account));
        crate::thread::spawn("ringworld-master", move || {
            // Wakes those who wait even if this thread panics.
            let mut last = LastWord { shared, outcome: Outcome::Failed("its thread panicked".into()) };
            last.outcome = runtime.run(async move {
                let accepting = tokio::spawn(accept::accept(listener, common));
                let door = once.then(|| accepting.abort_handle());
                let askers = local::open().map(|listener| tokio::spawn(local::serve(listener, asked)));
                let outcome = state.run(inbound, door).await;
                // Frees the port at once for the next job.
                accepting.abort();
                let _ = accepting.await;
                askers.iter().for_each(tokio::task::JoinHandle::abort);
                outcome
            });
            // Before the last word. Writers may still be closing; they hold nothing that anybody waits for.
            drop(runtime);
        })
        .map_err(|e| Error::system("starting the master's thread", e))?;
        Ok(handle)
    }
}

#[derive(Default)]
struct Shared {
    outcome: Mutex<Option<Outcome>>,
    ended: Condvar,
    bytes_sent: Arc<AtomicU64>,
    account: Arc<Account>,
}

impl Shared {
    fn outcome(&self) -> MutexGuard<'_, Option<Outcome>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Publishes the outcome when the master's thread ends, however it ends.
struct LastWord {
    shared: Arc<Shared>,
    outcome: Outcome,
}

impl Drop for LastWord {
    fn drop(&mut self) {
        *self.shared.outcome() = Some(self.outcome.clone());
        self.shared.ended.notify_all();
    }
}

/// A running master, of which there may be several handles. Dropping them leaves it running until its world has ended.
#[derive(Clone)]
pub struct MasterHandle {
    address: SocketAddr,
    job: u64,
    hub: mpsc::Sender<Inbound>,
    shared: Arc<Shared>,
    canary: Arc<Canary>,
}

impl std::fmt::Debug for MasterHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MasterHandle").field("address", &self.address).finish_non_exhaustive()
    }
}

impl MasterHandle {
    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The random number that tells this job from all others.
    #[must_use]
    pub fn job(&self) -> u64 {
        self.job
    }

    /// Bytes sent to ranks so far, heartbeats included, handshakes not.
    #[must_use]
    pub fn bytes_sent(&self) -> u64 {
        self.shared.bytes_sent.load(Ordering::Relaxed)
    }

    /// From now on that process decides on later generations. To be called before any rank has come.
    pub(crate) fn arbitrated_by(&self, arbiter: Arbiter) {
        // A full queue means a busy master: wait for room.
        if !self.canary.is_gone() {
            let _ = self.hub.blocking_send(Inbound::Arbiter(arbiter));
        }
    }

    /// Whether all ranks have come.
    pub(crate) fn has_formed(&self) -> bool {
        self.shared.account.formed.get().is_some()
    }

    /// How the world ended; `None` while it goes on.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.shared.outcome().clone()
    }

    /// The rank that gave the world up, and its exit code; known before any other rank hears of it.
    #[must_use]
    pub fn aborted(&self) -> Option<(usize, i32)> {
        self.shared.account.aborted.get().copied()
    }

    /// The ranks that have left so far, in the order in which they did.
    #[must_use]
    pub fn departures(&self) -> Vec<Departure> {
        self.shared.account.departures().clone()
    }

    /// Waits until the world has ended, at most `limit` if there is one.
    #[must_use]
    pub fn wait(&self, limit: Option<Duration>) -> Option<Outcome> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut outcome = self.shared.outcome();
        while outcome.is_none() {
            outcome = match deadline {
                None => self.shared.ended.wait(outcome).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    self.shared.ended.wait_timeout(outcome, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        outcome.clone()
    }

    /// Stops serving. Returns, after at most `limit`, when all ranks have read what was said to them.
    pub(crate) fn close(&self, limit: Duration) {
        // A full queue means that many are leaving as well; nothing may block on them here.
        let deadline = Instant::now() + limit;
        if self.canary.is_gone() {
            return;
        }
        while let Err(mpsc::error::TrySendError::Full(_)) = self.hub.try_send(Inbound::Close) {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.wait(Some(deadline.saturating_duration_since(Instant::now())));
    }

    /// Stops serving and drops all connections; ranks that are still there see their master lost.
    pub fn shutdown(self) {
        // A full queue means a busy master: wait for room. It must not be called inside a runtime.
        if !self.canary.is_gone() && self.hub.blocking_send(Inbound::Shutdown).is_ok() {
            let _ = self.wait(Some(Duration::from_secs(5)));
        }
    }
}
