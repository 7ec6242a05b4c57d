//! A rank's end of its control connection, in a thread of its own.
//!
//! The thread answers heartbeats and hears of failures even while the program computes for minutes. Its
//! owner speaks to it by [`Command`]s, each answered at most once. Neighbours: `reach` finds the master, `asked` hears
//! signals,
//! `joining` and `session` are the public faces of this thread.

mod asked;
mod reach;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use crate::canary::{CLOSED, Canary};
use crate::error::Error;
use crate::event::{ControlEvent, Listener, Report};
use crate::frames::{FrameReader, FrameWriter, ReadError};
use crate::interfaces::Interface;
use crate::master::MasterHandle;
use crate::observe::own::own;
use crate::observe::{Observer, Whereabouts};
use crate::process::Process;
use crate::settings::Settings;
use crate::waiting::{Reminders, so_far};
use crate::wire::{self, Addresses, Fault, MASTER_LIMIT, Member, Notice, ToMaster, ToRank};
use asked::Asked;
use reach::{Reached, Search};

pub(crate) use reach::{Known, listen};

/// How much longer than the master a rank waits for the world to form: the master knows why it did not.
const GRACE: Duration = Duration::from_secs(2);

/// How often it is looked whether calls have begun.
const LOOK: Duration = Duration::from_secs(1);

/// What the owner asks of the thread.
pub(crate) enum Command {
    Ready {
        addresses: Addresses,
        listener: Listener,
        reply: SyncSender<Result<Formed, Error>>,
    },
    Report(Report),
    /// Who knows what this rank does.
    Observe(Arc<dyn Observer>),
    /// Words that need no answer.
    Say(ToMaster),
    /// Last words; answered when the master has passed them on.
    Last {
        words: ToMaster,
        done: SyncSender<()>,
    },
    Leave,
}

/// What is known once the master has been reached.
pub(crate) struct Begun {
    pub(crate) job: u64,
    pub(crate) local: IpAddr,
    pub(crate) peer_timeout: Option<Duration>,
    pub(crate) master: Option<MasterHandle>,
    pub(crate) label: String,
}

/// What is known once the world has formed.
pub(crate) struct Formed {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) local_rank: usize,
    pub(crate) local_size: usize,
    pub(crate) serving: Option<usize>,
    pub(crate) arbiter: Option<Vec<u8>>,
    pub(crate) members: Vec<Member>,
    pub(crate) bytes: u64,
}

/// The handle of the thread.
pub(crate) struct Client {
    commands: mpsc::UnboundedSender<Command>,
    canary: Arc<Canary>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Client {
    /// Starts the thread and waits until it has a place at the master, or cannot get one.
    pub(crate) fn start(
        settings: &Settings,
        node: &str,
        known: Option<Known>,
        cancelled: Option<watch::Receiver<bool>>,
        world_size: usize,
        interfaces: Vec<Interface>,
        only_loopback: Option<String>,
    ) -> Result<(Self, Begun), Error> {
        let (settings, node) = (settings.clone(), node.to_string());
        let (commands, orders) = mpsc::unbounded_channel();
        let (reply, begun) = std::sync::mpsc::sync_channel(1);
        let runtime = crate::thread::Runtime::new()
            .map_err(|error| Error::system("starting the control plane", error))?;
        let canary = runtime.canary();
        let shows = Arc::clone(&canary);
        let (ends, ended) = std::sync::mpsc::sync_channel(1);
        let thread = crate::thread::spawn("ringworld-control", move || {
            let _ends: SyncSender<()> = ends;
            let (known, master) = known.map(|known| (known.addresses, known.master)).unzip();
            runtime.run(async move {
                let search = Search {
                    settings: &settings,
                    node: &node,
                    known: known.as_deref(),
                    world_size,
                    interfaces: &interfaces,
                    only_loopback: only_loopback.as_deref(),
                };
                let label = search.label();
                let cancelled = Cancelled(cancelled);
                let reached = tokio::select! {
                    reached = search.run(master.flatten()) => reached,
                    () = cancelled.clone().come() => Err(Error::Lost {
                        master: label.clone(),
                        reason: "a process without which this generation cannot form is gone".into(),
                    }),
                };
                match reached {
                    Err(error) => drop(reply.send(Err(error))),
                    Ok(Reached {
                        reading,
                        writing,
                        local,
                        job,
                        peer_timeout,
                        process,
                        master,
                        elsewhere,
                    }) => {
                        let begun = Begun { job, local, peer_timeout, master, label: label.clone() };
                        if reply.send(Ok(begun)).is_ok() {
                            let patience = settings.timeout + GRACE;
                            // Of the ranks of a host that know their places, one speaks.
                            let speaks = elsewhere && settings.local_rank.unwrap_or(0) == 0;
                            let halves = (reading, writing, process);
                            let control = Control::new(halves, orders, peer_timeout, patience, label);
                            let listens = settings.status_signal;
                            Control { speaks, listens, canary: Some(shows), ..control }.run(cancelled).await;
                        }
                    }
                }
            });
        })
        .map_err(|error| Error::system("starting the control plane's thread", error))?;
        let gone = || Error::system("joining the world", "the control thread ended unexpectedly");
        let begun = canary.answer(&begun, None).ok_or_else(gone)??;
        Ok((Self { commands, canary, ended, thread: Some(thread) }, begun))
    }

    /// Speaks to the thread; `false` where that listens no more.
    pub(crate) fn send(&self, command: Command) -> bool {
        !self.canary.is_gone() && self.commands.send(command).is_ok()
    }

    /// What shows whether the thread will ever answer.
    pub(crate) fn canary(&self) -> Arc<Canary> {
        Arc::clone(&self.canary)
    }

    /// Whether this is called by the thread itself, from a listener.
    pub(crate) fn is_current(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.thread().id() == std::thread::current().id())
    }

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&mut self) {
        let current = self.is_current();
        self.send(Command::Leave);
        if let Some(thread) = self.thread.take()
            && !current
        {
            // It ends at once, or, where its descriptors have been closed under it, never.
            self.canary.answer(&self.ended, None);
            if !self.canary.is_gone() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Not joined: a listener that drops the last owner would wait for itself.
        self.send(Command::Leave);
        if self.canary.is_gone() {
            // The last of them would wake the thread, as words to it would.
            std::mem::forget(self.commands.clone());
        }
    }
}

/// Comes when a generation cannot form, if it is one.
#[derive(Clone)]
struct Cancelled(Option<watch::Receiver<bool>>);

impl Cancelled {
    async fn come(self) {
        if let Some(mut cancelled) = self.0
            && cancelled.wait_for(|cancelled| *cancelled).await.is_ok()
        {
            return;
        }
        // Nobody cancels it any more.
        std::future::pending().await
    }
}

/// Comes when somebody has signalled that this rank is to say what it does, if that is listened to.
async fn signalled(asked: &mut Option<Asked>) {
    match asked {
        Some(asked) => asked.come().await,
        None => std::future::pending().await,
    }
}

type Heard = Result<(ToRank, usize), ReadError>;

/// The state of the thread.
struct Control {
    /// `None` once the master is lost.
    writing: Option<FrameWriter<OwnedWriteHalf>>,
    inbound: mpsc::Receiver<Heard>,
    orders: mpsc::UnboundedReceiver<Command>,
    peer_timeout: Option<Duration>,
    patience: Duration,
    label: String,
    forming: Option<Forming>,
    formed: Option<World>,
    /// Those who wait for their last words to be heard.
    waiting: Vec<SyncSender<()>>,
    lost: Option<String>,
    /// Where its world runs already, if it does.
    runs_already: Option<Vec<u8>>,
    bytes: u64,
    /// Says that it waits for the world: nobody on this host hears the master say so.
    speaks: bool,
    observer: Option<Arc<dyn Observer>>,
    /// SIGUSR1 is to be listened to.
    listens: bool,
    canary: Option<Arc<Canary>>,
    asked: Option<Asked>,
}

/// Between `Ready` and the end of the table.
struct Forming {
    reply: SyncSender<Result<Formed, Error>>,
    listener: Listener,
    since: Instant,
    deadline: Instant,
    reminders: Reminders,
    assigned: Option<(Formed, Option<u64>)>,
}

/// After the table.
struct World {
    listener: Listener,
    hosts: Vec<String>,
    serving: Option<u64>,
    rank: u64,
    leaving: bool,
}

impl Control {
    fn new(
        (mut reading, writing, process): (FrameReader<OwnedReadHalf>, FrameWriter<OwnedWriteHalf>, Process),
        orders: mpsc::UnboundedReceiver<Command>,
        peer_timeout: Option<Duration>,
        patience: Duration,
        label: String,
    ) -> Self {
        let (heard, inbound) = mpsc::channel(64);
        // A task of its own, because reading a frame must not be interrupted half-way.
        tokio::spawn(async move {
            let all = async {
                loop {
                    let next = reading.read_within(MASTER_LIMIT, peer_timeout).await;
                    let over = next.is_err();
                    if heard.send(next).await.is_err() || over {
                        return;
                    }
                }
            };
            if process.heard_out(all).await.is_none() {
                // Nobody listens any more if this fails.
                let _ = heard.send(Err(ReadError::Ended)).await;
            }
        });
        Self {
            writing: Some(writing),
            inbound,
            orders,
            peer_timeout,
            patience,
            label,
            forming: None,
            formed: None,
            waiting: Vec::new(),
            lost: None,
            runs_already: None,
            bytes: 0,
            speaks: false,
            observer: None,
            listens: false,
            canary: None,
            asked: None,
        }
    }

    async fn run(mut self, cancelled: Cancelled) {
        let mut cancelled = pin!(cancelled.come());
        let mut heartbeat = interval(wire::heartbeat(self.peer_timeout));
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let patience = self.forming.as_ref().map(|forming| forming.deadline);
            let reminder = self.forming.as_ref().filter(|_| self.speaks);
            let reminder = reminder.map(|forming| forming.since + forming.reminders.next());
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(Command::Leave) | None => return,
                    Some(order) => self.order(order).await,
                },
                heard = self.inbound.recv(), if self.lost.is_none() => match heard {
                    Some(Ok((ToRank::AskWhere { number }, _))) => self.tell_where(number).await,
                    Some(Ok((message, bytes))) => {
                        self.bytes += bytes as u64;
                        self.message(message);
                    }
                    Some(Err(error)) => self.master_lost(error.to_string()),
                    None => self.master_lost("the connection was closed".into()),
                },
                _ = look.tick(), if self.observer.is_some() => {
                    self.observer.iter().for_each(|observer| observer.look());
                }
                () = signalled(&mut self.asked) => self.tell_itself(),
                // Once it has formed, what happens is told in the ordinary way.
                () = &mut cancelled, if self.formed.is_none() => return,
                _ = heartbeat.tick(), if self.lost.is_none() => self.say(&ToMaster::Ping).await,
                () = sleep_until(reminder.unwrap_or_else(Instant::now)), if reminder.is_some() => self.remind(),
                () = sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => {
                    self.fail_forming(Error::Incomplete(format!(
                        "the master {} gave no ranks within {:.1} s; raise RINGWORLD_TIMEOUT if the others need longer",
                        self.label,
                        self.patience.as_secs_f64()
                    )));
                }
            }
        }
    }

    /// Says that the world has not formed yet.
    fn remind(&mut self) {
        let Some(forming) = &mut self.forming else { return };
        let waited = forming.since.elapsed();
        if forming.reminders.due(waited) {
            let so_far = so_far(waited, self.patience.saturating_sub(GRACE));
            tracing::warn!("reached the master {}; it waits for other ranks ({so_far})", self.label);
        }
    }

    async fn order(&mut self, order: Command) {
        match order {
            Command::Ready { addresses, listener, reply } => {
                let since = Instant::now();
                let (deadline, reminders) = (since + self.patience, Reminders::default());
                self.forming = Some(Forming { reply, listener, since, deadline, reminders, assigned: None });
                match (self.runs_already.clone(), self.lost.clone()) {
                    (Some(running), _) => self.fail_forming(Error::Running { running }),
                    (None, Some(cause)) => self.fail_forming(self.lost_before(cause)),
                    (None, None) => self.say(&ToMaster::Ready { addresses }).await,
                }
            }
            Command::Report(report) => {
                let message = match report {
                    Report::PeerLost { rank, cause } => {
                        ToMaster::PeerLost { rank: rank as u64, cause: wire::clip(cause) }
                    }
                    Report::Fault(fault) => ToMaster::Fault(fault.clipped()),
                };
                self.say(&message).await;
            }
            Command::Observe(observer) => {
                self.observer = Some(observer);
                // Not before: only now is there anything to say.
                self.asked = if self.listens { Asked::listen() } else { None };
            }
            Command::Say(words) => self.say(&words).await,
            Command::Last { words, done } => {
                if let Some(world) = &mut self.formed {
                    world.leaving = true;
                }
                self.say(&words).await;
                if self.lost.is_some() {
                    let _ = done.try_send(());
                } else {
                    self.waiting.push(done);
                }
            }
            Command::Leave => {}
        }
    }

    /// Says on standard error what this rank does.
    fn tell_itself(&self) {
        if let (Some(world), Some(observer)) = (&self.formed, &self.observer) {
            let now = observer.tell().clipped();
            asked::tell(own(world.rank, &world.hosts, std::process::id(), &now));
        }
    }

    /// Says what this rank does.
    async fn tell_where(&mut self, number: u64) {
        let unknown = || Whereabouts { busy: true, ..Whereabouts::default() };
        let told = self.observer.as_ref().map_or_else(unknown, |observer| observer.tell());
        self.say(&ToMaster::Where { number, told }).await;
    }

    async fn say(&mut self, message: &ToMaster) {
        let Some(writing) = &mut self.writing else { return };
        let write = writing.write(message);
        let written = match self.peer_timeout {
            Some(limit) => timeout(limit, write).await,
            None => Ok(write.await),
        };
        match written {
            Ok(Ok(_)) => {}
            // To drop it would shut down what has its number now.
            Ok(Err(_)) if self.is_cut_off() => std::mem::forget(self.writing.take()),
            // What the master said before it ended is still to be read, and says more.
            Ok(Err(_)) => self.writing = None,
            Err(_) => self.master_lost("it no longer reads".into()),
        }
    }

    /// Whether this process's own descriptors have been closed under it.
    fn is_cut_off(&self) -> bool {
        self.canary.as_ref().is_some_and(|canary| canary.is_gone())
    }

    fn message(&mut self, message: ToRank) {
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        match message {
            ToRank::Ping
            | ToRank::Welcome { .. }
            | ToRank::State { .. }
            | ToRank::AskWhere { .. }
            | ToRank::Status(_) => {}
            ToRank::Stall { text, deadlock: true } => tracing::error!("{text}"),
            ToRank::Stall { text, deadlock: false } => tracing::warn!("{text}"),
            ToRank::Story { text } => self.tell(ControlEvent::Story { text }),
            ToRank::Reject { reason, .. } => {
                self.fail_forming(Error::Refused { master: self.label.clone(), reason });
            }
            ToRank::Incomplete { reason } => self.fail_forming(Error::Incomplete(reason)),
            ToRank::Assigned { rank, size, local_rank, local_size, serving, arbiter } => {
                if let Some(forming) = &mut self.forming {
                    let formed = Formed {
                        rank: number(rank),
                        size: number(size),
                        local_rank: number(local_rank),
                        local_size: number(local_size),
                        serving: serving.map(number),
                        arbiter,
                        members: Vec::new(),
                        bytes: 0,
                    };
                    forming.assigned = Some((formed, serving));
                }
            }
            ToRank::Running { running } => {
                self.fail_forming(Error::Running { running: running.clone() });
                self.runs_already = Some(running);
            }
            ToRank::Members(batch) => self.members(batch),
            ToRank::Notices(notices) => notices.into_iter().for_each(|notice| self.notice(notice)),
            ToRank::Left { rank, left } => self.tell(ControlEvent::Left { rank: number(rank), left }),
            ToRank::Told { rank, words } => self.tell(ControlEvent::Told { rank: number(rank), words }),
            ToRank::Abort { rank, code, reason } => {
                self.tell(ControlEvent::Abort { rank: number(rank), code, reason });
            }
            ToRank::Heard => {
                for done in self.waiting.drain(..) {
                    let _ = done.try_send(());
                }
            }
            ToRank::Expelled { by, cause } => {
                // The master lives, so the rank that serves it must not be named.
                if let Some(world) = &mut self.formed {
                    world.serving = None;
                }
                // To this rank, whoever has lost the connection is the one out of reach.
                if let Some(by) = by {
                    let rank = number(by);
                    let cause = format!("it has lost its connection to this rank: {cause}");
                    self.tell(ControlEvent::PeerDown { rank, host: self.host(rank), cause, link: true });
                }
                self.master_lost(format!("the others have given this rank up: {cause}"));
            }
        }
    }

    fn notice(&self, notice: Notice) {
        let Some(world) = &self.formed else { return };
        let size = world.hosts.len();
        match notice {
            Notice::Finished { ranks } => {
                for rank in ranks.within(size) {
                    self.tell(ControlEvent::PeerFinished { rank });
                }
            }
            Notice::Down { ranks, cause } => {
                for rank in ranks.within(size) {
                    let cause = cause.clone();
                    self.tell(ControlEvent::PeerDown { rank, host: self.host(rank), cause, link: false });
                }
            }
            // Who found it knows.
            Notice::Fault { rank, .. } if rank == world.rank => {}
            Notice::Fault { rank, fault } => {
                let rank = usize::try_from(rank).unwrap_or(usize::MAX);
                self.tell(ControlEvent::Fault { rank, fault });
            }
        }
    }

    fn members(&mut self, batch: Vec<Member>) {
        let Some(mut forming) = self.forming.take() else { return };
        let Some((mut formed, serving)) = forming.assigned.take() else {
            self.forming = Some(forming);
            return;
        };
        formed.members.extend(batch);
        if formed.members.len() < formed.size {
            forming.assigned = Some((formed, serving));
            self.forming = Some(forming);
            return;
        }
        formed.bytes = self.bytes;
        let listener = Arc::clone(&forming.listener);
        self.formed = Some(World {
            listener: forming.listener,
            hosts: formed.members.iter().map(|member| member.host.clone()).collect(),
            serving,
            rank: formed.rank as u64,
            leaving: false,
        });
        if let Some(canary) = &self.canary {
            let (listener, rank) = (Arc::clone(&listener), formed.rank);
            let detail = format!("rank {rank} on {} cannot go on: {CLOSED}", self.host(rank));
            canary.tell(move || listener(ControlEvent::Fault { rank, fault: Fault::System { detail } }));
        }
        let _ = forming.reply.try_send(Ok(formed));
    }

    fn host(&self, rank: usize) -> String {
        let known = self.formed.as_ref().and_then(|world| world.hosts.get(rank));
        known.cloned().unwrap_or_else(|| "an unknown host".into())
    }

    fn tell(&self, event: ControlEvent) {
        if let Some(world) = &self.formed {
            (world.listener)(event);
        }
    }

    fn lost_before(&self, reason: String) -> Error {
        Error::Lost { master: self.label.clone(), reason }
    }

    fn fail_forming(&mut self, error: Error) {
        if let Some(forming) = self.forming.take() {
            let _ = forming.reply.try_send(Err(error));
        }
    }

    fn master_lost(&mut self, cause: String) {
        if self.lost.is_some() {
            return;
        }
        if self.is_cut_off() {
            // It is this process that lacks its end of the connection, as those who should know have been told. What
            // has its number now stays as it is.
            self.lost = Some(CLOSED.into());
            return;
        }
        self.lost = Some(cause.clone());
        self.writing = None;
        self.fail_forming(self.lost_before(cause.clone()));
        for done in self.waiting.drain(..) {
            let _ = done.try_send(());
        }
        let Some(world) = &self.formed else { return };
        if world.leaving {
            return;
        }
        // The rank whose process served the rendezvous is dead too, and naming it helps more.
        if let Some(serving) = world.serving.filter(|serving| *serving != world.rank) {
            let rank = usize::try_from(serving).unwrap_or(usize::MAX);
            let cause = format!("its process, which served the rendezvous, is gone ({cause})");
            self.tell(ControlEvent::PeerDown { rank, host: self.host(rank), cause, link: true });
        }
        self.tell(ControlEvent::MasterLost { cause: format!("the master {} was lost: {cause}", self.label) });
    }
}
