//! The master's one state machine: forms the world, then passes on who finished, died or gave up.
//!
//! Single-threaded. Everything comes in as [`Inbound`], everything goes out through unbounded outboxes
//! with a writer each. Each rank is reported down at most once. What concerns everybody is gathered while there is
//! more to hear and told at once, and while much happens at intervals, so that the end of a world of n ranks costs some
//! frames for each rank and not one for each pair; only the first death is told without delay.

mod explain;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringworld_auth::Tally;
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::config::MasterConfig;
use super::inquiry::{Inquiry, LINES, Wanted};
use super::mail::{Arbiter, Inbound, Outgoing};
use super::notices::Notices;
use super::outcome::{Account, Departure, Outcome};
use super::roster::{self, Roster};
use crate::frames::{self, ReadError};
use crate::observe::said::Said;
use crate::process::Process;
use crate::program;
use crate::waiting::{Reminders, so_far};
use crate::wire::{self, Hello, Member, Notice, ToMaster, ToRank};

/// Bytes of members per frame of the table, about: one frame for any world that there is, and far from the
/// longest that a rank reads.
const BATCH: usize = 8 << 20;
/// Notices per frame, each of which may bring a text.
const NOTICES: usize = 256;
/// What telling one rank costs the master, generously; notices wait for ten times as long as telling all takes.
const TELLING: Duration = Duration::from_micros(4);
/// How long notices wait at most: who waits for a rank that has left is to know within the second.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the failure detector waits for better evidence before it believes what a peer saw.
const SUSPICION: Duration = Duration::from_millis(200);
/// How long last words may take to be handed to the system, and again to be read by everybody.
const FLUSH: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Alive,
    Finished,
    Down,
}

struct Rank {
    connection: u64,
    host: String,
    pid: u32,
    state: State,
    /// What it has left behind.
    left: Option<Vec<u8>>,
    /// The connections of those who have asked for it before.
    asked_by: HashSet<u64>,
    /// Room for what others say to it until it has been written.
    room: Arc<Semaphore>,
}

/// See the file's head.
pub(super) struct Hub {
    roster: Option<Roster>,
    size: usize,
    job: Option<String>,
    timeout: Duration,
    peer_timeout: Option<Duration>,
    host: u64,
    outboxes: HashMap<u64, mpsc::UnboundedSender<Outgoing>>,
    /// Connections that are still read.
    open: HashSet<u64>,
    ranks: Vec<Rank>,
    alive: usize,
    by_connection: HashMap<u64, usize>,
    /// The rank whose process this is, if it is one's.
    serving: Option<usize>,
    down: Vec<(usize, String)>,
    aborted: Option<Outcome>,
    /// What the handle tells while the world goes on.
    account: Arc<Account>,
    /// Who lost the connection to whom, and how; waiting for better evidence.
    suspicions: HashMap<usize, Vec<(usize, String)>>,
    /// What all are to be told.
    notices: Notices,
    /// Before this, notices are gathered only.
    quiet_until: Instant,
    /// Whose last words are to be answered when what follows from them has been passed on.
    unanswered: Vec<u64>,
    /// The same, of those whose words are on their way to the system.
    flushing: Vec<u64>,
    /// See [`MasterConfig::seclusion`].
    seclusion: Option<String>,
    /// Connections that came to nothing, of which not each is told.
    unauthenticated: Tally,
    /// Since when somebody waits for the world, and when to say so again.
    waiting: Option<(Instant, Reminders)>,
    /// When the world has.
    formed: Option<Instant>,
    inquiry: Inquiry,
    /// Who wants to know what all ranks do: of the inquiry under way, and of the next one.
    wanted: Wanted,
    wanted_next: Wanted,
    /// Before this, nobody is asked again for a line.
    rests_until: Instant,
    /// What has been said of calls that wait for too long.
    said: Said,
    /// What to tell those who come later, if the world admits them.
    running: Option<Vec<u8>>,
    /// Who decides on later generations, if one process does alone.
    arbiter: Option<Arbiter>,
    /// Ends with the forming of the world.
    door: Option<AbortHandle>,
    back: mpsc::Sender<Inbound>,
}

impl Hub {
    pub(super) fn new(config: &MasterConfig, back: mpsc::Sender<Inbound>, account: Arc<Account>) -> Self {
        Self {
            roster: Some(Roster::new(config.world_size, config.num_nodes, config.job.clone())),
            size: config.world_size,
            job: config.job.clone(),
            timeout: config.timeout,
            peer_timeout: config.peer_timeout,
            host: crate::host::host_identity(),
            outboxes: HashMap::new(),
            open: HashSet::new(),
            ranks: Vec::new(),
            alive: 0,
            by_connection: HashMap::new(),
            serving: None,
            down: Vec::new(),
            aborted: None,
            account,
            suspicions: HashMap::new(),
            notices: Notices::default(),
            quiet_until: Instant::now(),
            unanswered: Vec::new(),
            flushing: Vec::new(),
            seclusion: config.seclusion.clone(),
            unauthenticated: Tally::default(),
            waiting: None,
            formed: None,
            inquiry: Inquiry::new(Instant::now()),
            wanted: Wanted::default(),
            wanted_next: Wanted::default(),
            rests_until: Instant::now(),
            said: Said::default(),
            running: None,
            arbiter: None,
            door: None,
            back,
        }
    }

    /// Runs until the world has ended or failed to form.
    /// The door is closed when it has formed.
    pub(super) async fn run(
        mut self,
        mut inbound: mpsc::Receiver<Inbound>,
        door: Option<AbortHandle>,
    ) -> Outcome {
        self.door = door;
        let deadline = Instant::now() + self.timeout;
        loop {
            let reminder = self.waiting.as_ref().map(|(since, reminders)| *since + reminders.next());
            let first = tokio::select! {
                first = inbound.recv() => first,
                () = sleep_until(reminder.unwrap_or(deadline)), if reminder.is_some() => {
                    self.remind();
                    continue;
                }
                () = sleep_until(deadline), if self.roster.is_some() => {
                    let reason = match &self.roster {
                        Some(roster) => roster.describe(self.timeout) + &self.hint(roster),
                        None => String::new(),
                    };
                    let said = ToRank::Incomplete { reason: reason.clone() };
                    return self.give_up(inbound, &said, reason).await;
                }
                () = sleep_until(self.inquiry.until().unwrap_or(deadline)), if self.inquiry.is_under_way() => {
                    let next = self.inquiry.passed(Instant::now());
                    self.inquire(next);
                    continue;
                }
                () = sleep_until(self.rests_until), if self.wants_inquiry() => {
                    self.begin_inquiry();
                    continue;
                }
                () = sleep_until(self.quiet_until), if !self.notices.is_empty() => {
                    self.tell();
                    self.answer();
                    continue;
                }
            };
            let mut next = first;
            loop {
                match next {
                    Some(Inbound::Joined { connection, hello, outbox }) => {
                        self.joined(connection, hello, outbox);
                    }
                    Some(Inbound::Message { connection, message }) => self.message(connection, message),
                    Some(Inbound::Gone { connection, cause }) => self.gone(connection, &cause),
                    Some(Inbound::Suspected { by, rank }) => self.believe(by, Some(rank)),
                    Some(Inbound::Flushed) => self.flushed(),
                    Some(Inbound::Inquiry { reply }) => drop(reply.send(self.state())),
                    Some(Inbound::Status { reply }) => self.status_asked(reply),
                    Some(Inbound::Arbiter(arbiter)) => self.arbiter = Some(arbiter),
                    Some(Inbound::RunsAlready { job, running }) => {
                        let same = roster::of_another_job(&self.job, &job).is_none();
                        if same && self.roster.is_some() {
                            let reason = "its world runs already, and is found elsewhere".to_owned();
                            return self.give_up(inbound, &ToRank::Running { running }, reason).await;
                        }
                    }
                    Some(Inbound::Unauthenticated { from, reason }) => {
                        self.note_unauthenticated(from, &reason)
                    }
                    Some(Inbound::Close) => {
                        self.close(inbound).await;
                        return self.outcome();
                    }
                    Some(Inbound::Shutdown) | None => return Outcome::Stopped,
                }
                if self.roster.is_none() && self.alive == 0 {
                    self.close(inbound).await;
                    return self.outcome();
                }
                // Whatever is there already belongs to the same telling.
                match inbound.try_recv() {
                    Ok(more) => next = Some(more),
                    Err(_) => break,
                }
            }
            if Instant::now() >= self.quiet_until {
                self.tell();
            }
            self.answer();
        }
    }

    fn outcome(self) -> Outcome {
        match self.aborted {
            Some(aborted) => aborted,
            None if self.down.is_empty() => Outcome::Finished,
            None => Outcome::Died(self.down),
        }
    }

    /// The world does not form here; those who wait for it are told so.
    async fn give_up(mut self, inbound: mpsc::Receiver<Inbound>, said: &ToRank, reason: String) -> Outcome {
        let joined: Vec<u64> = self.roster.iter().flat_map(Roster::connections).collect();
        for connection in joined {
            self.send(connection, said);
        }
        self.close(inbound).await;
        Outcome::Incomplete(reason)
    }

    /// How the world stands.
    fn state(&self) -> ToRank {
        let (present, formed) = match &self.roster {
            Some(roster) => (roster.connections().count(), false),
            None => (self.alive, true),
        };
        ToRank::State { present: present as u64, size: self.size as u64, formed }
    }

    /// Says whom the world waits for.
    fn remind(&mut self) {
        let Some((since, reminders)) = &mut self.waiting else { return };
        let waited = since.elapsed();
        if reminders.due(waited)
            && let Some(roster) = &self.roster
            && let Some(text) = roster.waiting()
        {
            tracing::warn!("{text} ({}){}", so_far(waited, self.timeout), self.hint(roster));
        }
    }

    /// Why nobody comes from other hosts, if nobody does and something is known.
    fn hint(&self, roster: &Roster) -> String {
        match &self.seclusion {
            Some(why) if roster.only_from(self.host) => {
                format!("\n  if the others are on other hosts: {why}")
            }
            _ => String::new(),
        }
    }

    fn note_unauthenticated(&mut self, from: SocketAddr, reason: &str) {
        match self.unauthenticated.note(std::time::Instant::now()) {
            Some(0) => tracing::warn!("dropped a connection from {from}: {reason}"),
            Some(more) => tracing::warn!(
                "dropped a connection from {from}: {reason}; and {more} others since the last time that this was said"
            ),
            None => tracing::debug!("dropped a connection from {from}: {reason}"),
        }
        if let Some(roster) = &mut self.roster {
            roster.note_unauthenticated(&format!("a connection from {}", from.ip()), reason);
        }
    }

    fn joined(&mut self, connection: u64, hello: Hello, outbox: mpsc::UnboundedSender<Outgoing>) {
        let who = format!("process {} on {}", hello.process.pid, hello.host);
        if let Some(running) = self.later(&hello) {
            if let Some(bytes) = encode(&running) {
                let _ = outbox.send(Outgoing::Frame(bytes));
            }
            // It ends by itself, as one that is refused.
            self.open.insert(connection);
            return;
        }
        let verdict = match &mut self.roster {
            Some(roster) => roster.admit(connection, hello).map_err(|reason| (reason, false)),
            None => {
                // Once a rank has left, the world is ending and the port is about to be free again.
                let ending = self.alive < self.ranks.len();
                let reason = roster::of_another_job(&self.job, &hello.job).unwrap_or_else(|| {
                    format!(
                        "its world of {} ranks is complete and running; start fewer processes, or use another \
                         MASTER_PORT for another job{}",
                        self.size,
                        if self.job.is_none() { roster::two_jobs() } else { "" }
                    )
                });
                Err((reason, ending))
            }
        };
        let (answer, admitted) = match verdict {
            Ok(()) => {
                let millis =
                    |silence: Duration| u64::try_from(silence.as_millis()).unwrap_or(u64::MAX).max(1);
                let peer_timeout_ms = self.peer_timeout.map_or(0, millis);
                (ToRank::Welcome { peer_timeout_ms, process: Process::own() }, true)
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
            // From the first joiner on: a program that never joins any world waits for none.
            self.waiting.get_or_insert_with(|| (Instant::now(), Reminders::default()));
            self.outboxes.insert(connection, outbox);
        }
        // A refused one ends by itself: its writer closes as soon as the answer is out.
        self.open.insert(connection);
    }

    /// What an elastic world that has formed says to those who come later.
    fn later(&self, hello: &Hello) -> Option<ToRank> {
        let same = roster::of_another_job(&self.job, &hello.job).is_none();
        let running = self.running.clone().filter(|_| same)?;
        Some(match hello.elastic {
            true => ToRank::Running { running },
            false => ToRank::Reject { reason: roster::not_elastic(), retry: false },
        })
    }

    fn message(&mut self, connection: u64, message: ToMaster) {
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
            ToMaster::Running { running } => self.running = Some(running),
            ToMaster::PeerLost { rank: lost, cause } => {
                let Ok(lost) = usize::try_from(lost) else { return };
                let alive = self.ranks.get(lost).is_some_and(|lost| lost.state == State::Alive);
                let suspicions = self.suspicions.entry(rank).or_default();
                // However often a rank says so, it is noted once.
                if lost != rank && alive && suspicions.iter().all(|(known, _)| *known != lost) {
                    let back = self.back.clone();
                    suspicions.push((lost, wire::clip(cause)));
                    // A dead process also closes its control connection, which says more; wait for that.
                    tokio::spawn(async move {
                        sleep(SUSPICION).await;
                        let _ = back.send(Inbound::Suspected { by: rank, rank: lost }).await;
                    });
                }
            }
            ToMaster::Fault(fault) => {
                if self.notices.fault(rank as u64, fault.clipped()) {
                    self.tell();
                }
            }
            ToMaster::Abort { code, reason } => {
                let reason = wire::clip(reason);
                if self.aborted.is_none() {
                    // Where it gives up because of a peer, that is lost first.
                    self.believe(rank, None);
                }
                self.gone_from(rank, State::Down);
                // The others follow the first.
                if self.aborted.is_none() {
                    self.aborted = Some(Outcome::Aborted { rank, code, reason: reason.clone() });
                    // Before the others hear of it, so that whoever sees them end can know why.
                    let _ = self.account.aborted.set((rank, code));
                    self.tell();
                    let abort = ToRank::Abort { rank: rank as u64, code, reason };
                    self.others_first(|hub| hub.tell_all(&abort));
                }
                self.unanswered.push(connection);
            }
            ToMaster::Panicked { text } => {
                self.declare_down(rank, format!("it panicked: {}", wire::clip(text)));
                self.unanswered.push(connection);
            }
            ToMaster::Leaving => {
                self.believe(rank, None);
                if self.ranks[rank].state == State::Alive {
                    self.declare_down(rank, "it left without finishing".into());
                }
                self.unanswered.push(connection);
            }
            ToMaster::Goodbye => {
                self.gone_from(rank, State::Finished);
                self.notices.finished(rank as u64);
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
            ToMaster::Tell { rank: to, words } => self.pass_on(rank, to, words),
            ToMaster::Stalled => {
                self.wanted_next.lines = LINES;
                self.begin_inquiry();
            }
            ToMaster::AskStory => {
                self.wanted_next.stories.insert(connection);
                self.begin_inquiry();
            }
            ToMaster::Where { number, told } => {
                let next = self.inquiry.told(Instant::now(), rank, number, told);
                self.inquire(next);
            }
            ToMaster::Hello(_)
            | ToMaster::Ready { .. }
            | ToMaster::Ping
            | ToMaster::Inquire
            | ToMaster::AskStatus
            | ToMaster::RunsAlready { .. } => {}
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
                ReadError::Closed | ReadError::Ended => "its process ended without finishing".to_string(),
                ReadError::Silence(seconds) => {
                    format!("it has been silent for {seconds:.1} s (RINGWORLD_PEER_TIMEOUT)")
                }
                cause => format!("its control connection was lost: {cause}"),
            };
            self.send(connection, &ToRank::Expelled { by: None, cause: text.clone() });
            self.declare_down(rank, text);
        }
        self.outboxes.remove(&connection);
    }

    /// Acts on what `by` said it lost: on one rank, or on all when `by` itself is leaving, since then
    /// its loss is the cause and must be heard of before its own end.
    fn believe(&mut self, by: usize, rank: Option<usize>) {
        let Some(suspicions) = self.suspicions.get_mut(&by) else { return };
        let wanted = |suspicion: &mut (usize, String)| rank.is_none_or(|rank| suspicion.0 == rank);
        let believed: Vec<_> = suspicions.extract_if(.., wanted).collect();
        for (rank, cause) in believed {
            // When two ranks blame one another, the first is believed.
            if self.ranks[by].state != State::Alive || self.ranks[rank].state != State::Alive {
                continue;
            }
            let text = format!("rank {by} on {} lost its connection to it: {cause}", self.ranks[by].host);
            let connection = self.ranks[rank].connection;
            self.send(connection, &ToRank::Expelled { by: Some(by as u64), cause });
            self.declare_down(rank, text);
            self.outboxes.remove(&connection);
        }
    }

    fn declare_down(&mut self, rank: usize, cause: String) {
        self.gone_from(rank, State::Down);
        tracing::info!("rank {rank} on {} is down: {cause}", self.ranks[rank].host);
        self.notices.down(rank as u64, &cause);
        self.down.push((rank, cause));
        if self.down.len() == 1 {
            // It is the cause of all that follows, and the others may see its effects already.
            self.tell();
        }
    }

    fn gone_from(&mut self, rank: usize, state: State) {
        self.ranks[rank].state = state;
        self.alive -= 1;
        self.account.departures().push(Departure { rank, finished: state == State::Finished });
        let next = self.inquiry.gone(Instant::now(), rank);
        self.inquire(next);
    }

    /// Tells everybody what there is to tell.
    fn tell(&mut self) {
        let notices = self.notices.take();
        if notices.is_empty() {
            return;
        }
        let tell = |hub: &Self| {
            for notices in notices.chunks(NOTICES) {
                hub.tell_all(&ToRank::Notices(notices.to_vec()));
            }
        };
        // Whoever hears that a rank has left goes on.
        match notices.iter().all(|notice| matches!(notice, Notice::Finished { .. })) {
            true => tell(self),
            false => self.others_first(tell),
        }
        let alive = u32::try_from(self.alive).unwrap_or(u32::MAX);
        self.quiet_until = Instant::now() + TELLING.saturating_mul(alive).saturating_mul(10).min(PATIENCE);
    }

    /// Sees to it that those whose last words have been passed on hear so.
    fn answer(&mut self) {
        if self.unanswered.is_empty() || !self.flushing.is_empty() || !self.notices.is_empty() {
            return;
        }
        self.flushing = std::mem::take(&mut self.unanswered);
        let (flushed, back) = (self.handed_over(), self.back.clone());
        tokio::spawn(async move {
            flushed.await;
            let _ = back.send(Inbound::Flushed).await;
        });
    }

    fn flushed(&mut self) {
        for connection in std::mem::take(&mut self.flushing) {
            self.send(connection, &ToRank::Heard);
        }
    }

    /// Gives out the ranks and streams the table: encoded once, sent to everybody.
    fn form(&mut self) {
        let Some(roster) = self.roster.take() else { return };
        if let Some(text) = roster.other_hosts_than_stated() {
            tracing::warn!("{text}");
        }
        self.waiting = None;
        let seats = roster.assign(self.host);
        self.serving = seats.iter().position(|seat| seat.serves);
        let serving = self.serving.map(|rank| rank as u64);
        // Who has given the job a name has said that they belong together.
        if self.job.is_none()
            && let Some(text) = program::unlike(seats.iter().map(|seat| &seat.program))
        {
            tracing::warn!("{text}");
        }
        if let Some(arbiter) = &self.arbiter {
            (arbiter.begin)(&seats.iter().map(|seat| seat.member.clone()).collect::<Vec<_>>());
        }
        let table = table(seats.iter().map(|seat| seat.member.clone()));
        for (rank, seat) in seats.into_iter().enumerate() {
            let assigned = ToRank::Assigned {
                rank: rank as u64,
                size: self.size as u64,
                local_rank: seat.local_rank as u64,
                local_size: seat.local_size as u64,
                serving,
                arbiter: self.arbiter.as_ref().map(|arbiter| arbiter.node.clone()),
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
                pid: seat.member.pid,
                state: State::Alive,
                left: None,
                asked_by: HashSet::new(),
                room: Arc::new(Semaphore::new(wire::WORDS_LIMIT)),
            });
        }
        self.alive = self.ranks.len();
        self.formed = Some(Instant::now());
        let _ = self.account.formed.set(());
        if let Some(door) = self.door.take() {
            door.abort();
        }
        tracing::debug!("a world of {} ranks has formed", self.size);
    }

    /// Tells what a rank has left behind, if it has.
    fn tell_left(&self, connection: u64, rank: usize) {
        if let Some(left) = self.ranks.get(rank).and_then(|rank| rank.left.clone()) {
            self.send(connection, &ToRank::Left { rank: rank as u64, left });
        }
    }

    /// Passes on what a rank says to another.
    fn pass_on(&self, from: usize, to: u64, words: Vec<u8>) {
        let to = usize::try_from(to).ok().and_then(|to| self.ranks.get(to));
        let Some(to) = to.filter(|to| to.state == State::Alive && words.len() <= wire::TEXT_LIMIT) else {
            return;
        };
        let Some(outbox) = self.outboxes.get(&to.connection) else { return };
        let Some(bytes) = encode(&ToRank::Told { rank: from as u64, words }) else { return };
        let share = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        match Arc::clone(&to.room).try_acquire_many_owned(share) {
            Ok(permit) => drop(outbox.send(Outgoing::Words(bytes, permit))),
            Err(_) => tracing::warn!(
                "what rank {from} says to a rank on {} is lost: {} bytes wait for that already",
                to.host,
                wire::WORDS_LIMIT
            ),
        }
    }

    fn send(&self, connection: u64, message: &ToRank) {
        if let (Some(outbox), Some(bytes)) = (self.outboxes.get(&connection), encode(message)) {
            let _ = outbox.send(Outgoing::Frame(bytes));
        }
    }

    /// Tells what ends the world. The rank whose process this is hears of it when the others' systems have it: it may
    /// end at once, and then nobody would hear any more why.
    fn others_first(&self, tell: impl FnOnce(&Self)) {
        let alive = |rank: &usize| self.ranks.get(*rank).filter(|rank| rank.state == State::Alive);
        let outbox = |rank: usize| self.outboxes.get(&alive(&rank)?.connection);
        let Some((serving, last)) = self.serving.and_then(|rank| Some((rank, outbox(rank)?))) else {
            return tell(self);
        };
        let others = (0..self.ranks.len()).filter(|rank| *rank != serving).filter_map(outbox);
        let (told, heard): (Vec<_>, Vec<_>) = others
            .map(|outbox| {
                let (done, flushed) = oneshot::channel();
                ((outbox, done), flushed)
            })
            .unzip();
        let _ = last.send(Outgoing::After(heard));
        tell(self);
        for (outbox, done) in told {
            let _ = outbox.send(Outgoing::Flush(done));
        }
    }

    /// Tells all who are still there.
    fn tell_all(&self, message: &ToRank) {
        let Some(bytes) = encode(message) else { return };
        for rank in self.ranks.iter().filter(|rank| rank.state == State::Alive) {
            if let Some(outbox) = self.outboxes.get(&rank.connection) {
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
        self.tell();
        self.handed_over().await;
        self.flushed();
        self.flushing = std::mem::take(&mut self.unanswered);
        self.flushed();
        self.outboxes.clear();
        let deadline = Instant::now() + FLUSH;
        while !self.open.is_empty() {
            match timeout_at(deadline, inbound.recv()).await {
                Ok(Some(Inbound::Gone { connection, .. })) => drop(self.open.remove(&connection)),
                // Dropping its outbox refuses it.
                Ok(Some(Inbound::Joined { .. } | Inbound::Message { .. })) => {}
                Ok(Some(Inbound::Suspected { .. } | Inbound::Unauthenticated { .. })) => {}
                Ok(Some(Inbound::Flushed | Inbound::Close)) => {}
                Ok(Some(Inbound::Inquiry { .. } | Inbound::Status { .. })) => {}
                Ok(Some(Inbound::RunsAlready { .. } | Inbound::Arbiter(_))) => {}
                Ok(Some(Inbound::Shutdown) | None) | Err(_) => return,
            }
        }
    }

    /// Comes, before long, when everything said so far has been handed to the system.
    fn handed_over(&self) -> impl Future<Output = ()> + Send + use<> {
        let waiting: Vec<_> = self
            .outboxes
            .values()
            .filter_map(|outbox| {
                let (done, flushed) = oneshot::channel();
                outbox.send(Outgoing::Flush(done)).ok().map(|()| flushed)
            })
            .collect();
        let deadline = Instant::now() + FLUSH;
        async move {
            for flushed in waiting {
                // A stopped peer must not hold up the others' last words.
                if timeout_at(deadline, flushed).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// The table of members in frames, which are the same for everybody.
fn table(members: impl Iterator<Item = Member>) -> Vec<Arc<[u8]>> {
    let (mut frames, mut batch, mut length) = (Vec::new(), Vec::new(), 0);
    for member in members {
        let addresses = member.addresses.iter().map(|(name, address)| name.len() + address.len() + 16);
        length += member.host.len() + 64 + addresses.sum::<usize>();
        batch.push(member);
        if length >= BATCH {
            frames.extend(encode(&ToRank::Members(std::mem::take(&mut batch))));
            length = 0;
        }
    }
    if !batch.is_empty() {
        frames.extend(encode(&ToRank::Members(batch)));
    }
    frames
}

fn encode<T: Serialize>(message: &T) -> Option<Arc<[u8]>> {
    match frames::encode(message) {
        Ok(bytes) => Some(bytes.into()),
        Err(error) => {
            tracing::error!("a control message cannot be encoded: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests;
