//! The master's one state machine: forms the world, then passes on who finished, died or gave up.
//!
//! Single-threaded. Everything comes in as [`Inbound`], everything goes out through unbounded outboxes
//! with a writer each; the hub waits for those only to pass on last words, and then not for long. Each
//! rank is reported down at most once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::connection::Outgoing;
use super::roster::Roster;
use super::{MasterConfig, Outcome};
use crate::wire::{self, Hello, ReadError, ToMaster, ToRank};

/// Members per frame of the table.
const CHUNK: usize = 256;
/// How long the failure detector waits for better evidence before it believes what a peer saw.
const SUSPICION: Duration = Duration::from_millis(200);
/// How long last words may take to be handed to the system, and again to be read by everybody.
const FLUSH: Duration = Duration::from_secs(1);

/// Everything that can happen to the master.
pub(super) enum Inbound {
    Joined {
        connection: u64,
        hello: Hello,
        outbox: mpsc::UnboundedSender<Outgoing>,
    },
    Message {
        connection: u64,
        message: ToMaster,
    },
    Gone {
        connection: u64,
        cause: ReadError,
    },
    Suspected {
        by: usize,
        rank: usize,
    },
    /// The process that serves is leaving.
    Close,
    Shutdown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Alive,
    Finished,
    Down,
}

struct Rank {
    connection: u64,
    host: String,
    state: State,
    /// What it has left behind.
    left: Option<Vec<u8>>,
    /// The connections of those who have asked for it before.
    asked_by: HashSet<u64>,
}

/// See the file's head.
pub(super) struct Hub {
    roster: Option<Roster>,
    size: usize,
    timeout: Duration,
    peer_timeout: Duration,
    host: u64,
    outboxes: HashMap<u64, mpsc::UnboundedSender<Outgoing>>,
    /// Connections that are still read.
    open: HashSet<u64>,
    ranks: Vec<Rank>,
    by_connection: HashMap<u64, usize>,
    down: Vec<(usize, String)>,
    aborted: Option<Outcome>,
    /// The same for the handle, as soon as it is known.
    told: Arc<OnceLock<(usize, i32)>>,
    /// Who lost the connection to whom, and how; waiting for better evidence.
    suspicions: Vec<(usize, usize, String)>,
    back: mpsc::Sender<Inbound>,
}

impl Hub {
    pub(super) fn new(
        config: &MasterConfig,
        back: mpsc::Sender<Inbound>,
        told: Arc<OnceLock<(usize, i32)>>,
    ) -> Self {
        Self {
            roster: Some(Roster::new(config.world_size, config.num_nodes, config.job.clone())),
            size: config.world_size,
            timeout: config.timeout,
            peer_timeout: config.peer_timeout,
            host: crate::host::host_identity(),
            outboxes: HashMap::new(),
            open: HashSet::new(),
            ranks: Vec::new(),
            by_connection: HashMap::new(),
            down: Vec::new(),
            aborted: None,
            told,
            suspicions: Vec::new(),
            back,
        }
    }

    /// Runs until the world has ended or failed to form.
    pub(super) async fn run(mut self, mut inbound: mpsc::Receiver<Inbound>) -> Outcome {
        let deadline = Instant::now() + self.timeout;
        loop {
            let next = tokio::select! {
                next = inbound.recv() => next,
                () = sleep_until(deadline), if self.roster.is_some() => {
                    return self.give_up(inbound).await;
                }
            };
            match next {
                Some(Inbound::Joined { connection, hello, outbox }) => self.joined(connection, hello, outbox),
                Some(Inbound::Message { connection, message }) => self.message(connection, message).await,
                Some(Inbound::Gone { connection, cause }) => self.gone(connection, &cause),
                Some(Inbound::Suspected { by, rank }) => self.believe(by, Some(rank)),
                Some(Inbound::Close) => {
                    self.close(inbound).await;
                    return self.outcome();
                }
                Some(Inbound::Shutdown) | None => return Outcome::Stopped,
            }
            if self.roster.is_none() && self.ranks.iter().all(|rank| rank.state != State::Alive) {
                self.close(inbound).await;
                return self.outcome();
            }
        }
    }

    fn outcome(self) -> Outcome {
        match self.aborted {
            Some(aborted) => aborted,
            None if self.down.is_empty() => Outcome::Finished,
            None => Outcome::Died(self.down),
        }
    }

    async fn give_up(mut self, inbound: mpsc::Receiver<Inbound>) -> Outcome {
        let reason = match &self.roster {
            Some(roster) => format!(
                "{} within {:.1} s; start the others, check their MASTER_NODE and MASTER_PORT, or raise \
                 RINGWORLD_TIMEOUT",
                roster.describe(),
                self.timeout.as_secs_f64()
            ),
            None => String::new(),
        };
        let joined: Vec<u64> = self.roster.iter().flat_map(Roster::connections).collect();
        for connection in joined {
            self.send(connection, &ToRank::Incomplete { reason: reason.clone() });
        }
        self.close(inbound).await;
        Outcome::Incomplete(reason)
    }

    fn joined(&mut self, connection: u64, hello: Hello, outbox: mpsc::UnboundedSender<Outgoing>) {
        let who = format!("process {} on {}", hello.pid, hello.host);
        let verdict = match &mut self.roster {
            Some(roster) => roster.admit(connection, hello).map_err(|reason| (reason, false)),
            None => {
                // Once a rank has left, the world is ending and the port is about to be free again.
                let ending = self.ranks.iter().any(|rank| rank.state != State::Alive);
                let reason = format!(
                    "its world of {} ranks is complete and running; start fewer processes, or use another \
                     MASTER_PORT for another job",
                    self.size
                );
                Err((reason, ending))
            }
        };
        let (answer, admitted) = match verdict {
            Ok(()) => {
                let peer_timeout_ms = u64::try_from(self.peer_timeout.as_millis()).unwrap_or(u64::MAX);
                (ToRank::Welcome { peer_timeout_ms }, true)
            }
            Err((reason, retry)) => {
                tracing::warn!("refused {who}: {reason}");
                (ToRank::Reject { reason, retry }, false)
            }
        };
        if let Some(bytes) = encode(&answer) {
            let _ = outbox.send(Outgoing::Frame(bytes));
        }
        if admitted {
            tracing::debug!("{who} has joined");
            self.outboxes.insert(connection, outbox);
        }
        // A refused one ends by itself: its writer closes as soon as the answer is out.
        self.open.insert(connection);
    }

    async fn message(&mut self, connection: u64, message: ToMaster) {
        if let Some(roster) = &mut self.roster {
            if let ToMaster::Ready { addresses } = message
                && roster.ready(connection, addresses)
                && roster.complete()
            {
                self.form();
            }
            return;
        }
        let Some(&rank) = self.by_connection.get(&connection) else { return };
        if self.ranks[rank].state != State::Alive {
            if matches!(message, ToMaster::Leaving) {
                self.send(connection, &ToRank::Heard);
            }
            return;
        }
        match message {
            ToMaster::PeerLost { rank: lost, cause } => {
                let Ok(lost) = usize::try_from(lost) else { return };
                if lost != rank && self.ranks.get(lost).is_some_and(|lost| lost.state == State::Alive) {
                    let back = self.back.clone();
                    self.suspicions.push((rank, lost, wire::clip(cause)));
                    // A dead process also closes its control connection, which says more; wait for that.
                    tokio::spawn(async move {
                        sleep(SUSPICION).await;
                        let _ = back.send(Inbound::Suspected { by: rank, rank: lost }).await;
                    });
                }
            }
            ToMaster::Fault(fault) => {
                self.tell_others(rank, &ToRank::Fault { rank: rank as u64, fault: fault.clipped() });
            }
            ToMaster::Abort { code, reason } => {
                let reason = wire::clip(reason);
                self.ranks[rank].state = State::Down;
                if self.aborted.is_none() {
                    self.aborted = Some(Outcome::Aborted { rank, code, reason: reason.clone() });
                    // Before the others hear of it, so that whoever sees them end can know why.
                    let _ = self.told.set((rank, code));
                }
                self.tell_others(rank, &ToRank::Abort { rank: rank as u64, code, reason });
                self.flush(Some(connection)).await;
                self.send(connection, &ToRank::Heard);
            }
            ToMaster::Panicked { text } => {
                self.declare_down(rank, format!("it panicked: {}", wire::clip(text)));
                self.flush(Some(connection)).await;
                self.send(connection, &ToRank::Heard);
            }
            ToMaster::Leaving => {
                self.believe(rank, None);
                if self.ranks[rank].state == State::Alive {
                    self.declare_down(rank, "it left without finishing".into());
                }
                self.flush(Some(connection)).await;
                self.send(connection, &ToRank::Heard);
            }
            ToMaster::Goodbye => {
                self.ranks[rank].state = State::Finished;
                self.tell_others(rank, &ToRank::PeerFinished { rank: rank as u64 });
                self.send(connection, &ToRank::Heard);
            }
            ToMaster::LeftBehind { mut left } => {
                left.truncate(wire::TEXT_LIMIT);
                self.ranks[rank].left = Some(left);
                for asking in std::mem::take(&mut self.ranks[rank].asked_by) {
                    self.tell_left(asking, rank);
                }
            }
            ToMaster::AskLeft { rank: other } => {
                let Ok(other) = usize::try_from(other) else { return };
                // The transports may have said that it is leaving before this is known here.
                if let Some(asked) = self.ranks.get_mut(other).filter(|asked| asked.left.is_none()) {
                    asked.asked_by.insert(connection);
                }
                self.tell_left(connection, other);
            }
            ToMaster::Hello(_) | ToMaster::Ready { .. } | ToMaster::Ping => {}
        }
    }

    fn gone(&mut self, connection: u64, cause: &ReadError) {
        self.open.remove(&connection);
        if let Some(roster) = &mut self.roster {
            if let Some(who) = roster.leave(connection) {
                tracing::info!("{who} left before the world had formed: {cause}");
            }
            self.outboxes.remove(&connection);
            return;
        }
        if let Some(&rank) = self.by_connection.get(&connection)
            && self.ranks[rank].state == State::Alive
        {
            self.believe(rank, None);
            let text = match cause {
                ReadError::Closed => "its process ended without finishing".to_string(),
                ReadError::Silence(seconds) => {
                    format!("it has been silent for {seconds:.1} s (RINGWORLD_PEER_TIMEOUT)")
                }
                cause => format!("its control connection was lost: {cause}"),
            };
            self.send(connection, &ToRank::Expelled { cause: text.clone() });
            self.declare_down(rank, text);
        }
        self.outboxes.remove(&connection);
    }

    /// Acts on what `by` said it lost: on one rank, or on all when `by` itself is leaving, since then
    /// its loss is the cause and must be heard of before its own end.
    fn believe(&mut self, by: usize, rank: Option<usize>) {
        let mut believed = Vec::new();
        self.suspicions.retain(|suspicion| {
            let hit = suspicion.0 == by && rank.is_none_or(|rank| suspicion.1 == rank);
            if hit {
                believed.push((suspicion.1, suspicion.2.clone()));
            }
            !hit
        });
        for (rank, cause) in believed {
            // When two ranks blame one another, the first is believed.
            if self.ranks[by].state != State::Alive || self.ranks[rank].state != State::Alive {
                continue;
            }
            let text = format!("rank {by} on {} lost its connection to it: {cause}", self.ranks[by].host);
            let connection = self.ranks[rank].connection;
            self.send(connection, &ToRank::Expelled { cause: text.clone() });
            self.declare_down(rank, text);
            self.outboxes.remove(&connection);
        }
    }

    fn declare_down(&mut self, rank: usize, cause: String) {
        self.ranks[rank].state = State::Down;
        tracing::info!("rank {rank} on {} is down: {cause}", self.ranks[rank].host);
        self.tell_others(rank, &ToRank::PeerDown { rank: rank as u64, cause: cause.clone() });
        self.down.push((rank, cause));
    }

    /// Gives out the ranks and streams the table: encoded once, sent to everybody.
    fn form(&mut self) {
        let Some(roster) = self.roster.take() else { return };
        let seats = roster.assign(self.host);
        let serving = seats.iter().position(|seat| seat.serves).map(|rank| rank as u64);
        let members: Vec<_> = seats.iter().map(|seat| seat.member.clone()).collect();
        let table: Vec<Arc<[u8]>> =
            members.chunks(CHUNK).filter_map(|chunk| encode(&ToRank::Members(chunk.to_vec()))).collect();
        for (rank, seat) in seats.into_iter().enumerate() {
            let assigned = ToRank::Assigned {
                rank: rank as u64,
                size: self.size as u64,
                local_rank: seat.local_rank as u64,
                local_size: seat.local_size as u64,
                serving,
            };
            self.send(seat.connection, &assigned);
            if let Some(outbox) = self.outboxes.get(&seat.connection) {
                for frame in &table {
                    let _ = outbox.send(Outgoing::Frame(Arc::clone(frame)));
                }
            }
            self.by_connection.insert(seat.connection, rank);
            self.ranks.push(Rank {
                connection: seat.connection,
                host: seat.member.host,
                state: State::Alive,
                left: None,
                asked_by: HashSet::new(),
            });
        }
        tracing::debug!("a world of {} ranks has formed", self.size);
    }

    /// Tells what a rank has left behind, if it has.
    fn tell_left(&self, connection: u64, rank: usize) {
        if let Some(left) = self.ranks.get(rank).and_then(|rank| rank.left.clone()) {
            self.send(connection, &ToRank::Left { rank: rank as u64, left });
        }
    }

    fn send(&self, connection: u64, message: &ToRank) {
        if let (Some(outbox), Some(bytes)) = (self.outboxes.get(&connection), encode(message)) {
            let _ = outbox.send(Outgoing::Frame(bytes));
        }
    }

    fn tell_others(&self, except: usize, message: &ToRank) {
        let Some(bytes) = encode(message) else { return };
        for (rank, state) in self.ranks.iter().enumerate() {
            if rank != except
                && state.state == State::Alive
                && let Some(outbox) = self.outboxes.get(&state.connection)
            {
                let _ = outbox.send(Outgoing::Frame(Arc::clone(&bytes)));
            }
        }
    }

    /// Says no more, and waits, not for long, until everybody has read what was said and closes as well.
    ///
    /// A socket that is closed while something lies in it unread, such as a heartbeat, resets the
    /// connection, and what is still on its way to the peer is lost. Nor is a process done that has handed
    /// its last words to the system: only the peer's end of the connection shows that they have arrived.
    async fn close(&mut self, mut inbound: mpsc::Receiver<Inbound>) {
        self.flush(None).await;
        self.outboxes.clear();
        let deadline = Instant::now() + FLUSH;
        while !self.open.is_empty() {
            match timeout_at(deadline, inbound.recv()).await {
                Ok(Some(Inbound::Gone { connection, .. })) => drop(self.open.remove(&connection)),
                // Dropping its outbox refuses it.
                Ok(Some(Inbound::Joined { .. } | Inbound::Message { .. } | Inbound::Suspected { .. })) => {}
                Ok(Some(Inbound::Close)) => {}
                Ok(Some(Inbound::Shutdown) | None) | Err(_) => return,
            }
        }
    }

    /// Waits, not for long, until everything said so far has been handed to the system.
    async fn flush(&mut self, except: Option<u64>) {
        let waiting: Vec<_> = self
            .outboxes
            .iter()
            .filter(|(connection, _)| Some(**connection) != except)
            .filter_map(|(_, outbox)| {
                let (done, flushed) = oneshot::channel();
                outbox.send(Outgoing::Flush(done)).ok().map(|()| flushed)
            })
            .collect();
        let deadline = Instant::now() + FLUSH;
        for flushed in waiting {
            // A stopped peer must not hold up the others' last words.
            if timeout_at(deadline, flushed).await.is_err() {
                return;
            }
        }
    }
}

fn encode<T: Serialize>(message: &T) -> Option<Arc<[u8]>> {
    match wire::frame(message) {
        Ok(bytes) => Some(bytes.into()),
        Err(error) => {
            tracing::error!("a control message cannot be encoded: {error}");
            None
        }
    }
}
