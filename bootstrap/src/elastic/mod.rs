//! Generations of a world: this process's part in agreeing on the next one, and the way into it.
//!
//! An elastic world forms at the rendezvous like any other. Beside its control connection, each member then has a
//! *node*: a port at which others of the job agree with it on who goes on (`ringworld_membership` decides, `service` is
//! its thread, `link` its connections, `listen` lets others in), and another at which it can serve the rendezvous of a
//! generation. Those ports stand in the table of members, so everybody knows everybody's, and none is used before
//! somebody goes on: a world that never does sends nothing of this.
//!
//! A generation that has been decided forms as any world does: the process that the table names serves, and the others
//! come with their ranks. It has a job number, connections and memory of its own, so nothing of an older one reaches
//! it.
//!
//! Who comes later asks at the rendezvous, where those who run tell it of the table (`door`), and knocks.

mod arbiter;
mod door;
mod link;
mod listen;
mod place;
mod running;
mod server;
mod service;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringworld_membership::{Failure, Id, Limits, Machine, Node, Patience, Table};
use tokio::sync::{mpsc, watch};

use self::link::Common;
use self::place::{NAME, Place, nodes};
use self::running::Running;
use self::server::Server;
pub use self::service::Lost;
use self::service::{Known, Next, Order, Service, lock};
use crate::canary::Canary;
use crate::client::listen as bind;
use crate::error::Error;
use crate::event::ControlEvent;
use crate::master::MasterHandle;
use crate::session::Session;
use crate::settings::Settings;
use crate::wire::MASTER_LIMIT;

/// The longest table that fits into what members say to one another, in bytes.
const LONGEST_TABLE: usize = MASTER_LIMIT - (1 << 10);

/// This process's node.
pub struct Elastic {
    me: Node,
    job: u64,
    /// At which it serves a generation.
    server: Arc<Server>,
    orders: mpsc::UnboundedSender<Order>,
    known: Arc<Mutex<Known>>,
    settings: Settings,
    canary: Arc<Canary>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Elastic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elastic").field("id", &self.me.id).finish_non_exhaustive()
    }
}

/// How a wish to go on has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Onward {
    /// This process is in the next generation.
    Into(Table),
    /// It has left.
    Left,
}

/// Where a generation forms, for the process that enters it.
pub(crate) struct Meeting {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) node: String,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) master: Option<MasterHandle>,
    pub(crate) cancelled: watch::Receiver<bool>,
}

impl Elastic {
    /// Opens the node of a process of that job, which others may reach at these addresses, at any of the ports of
    /// `tcp_ports` if they are set.
    ///
    /// # Errors
    ///
    /// When the system gives no port or no thread.
    pub fn open(settings: &Settings, addresses: &[IpAddr], job: u64) -> Result<Self, Error> {
        Self::open_over(settings, addresses, job, None)
    }

    /// Likewise; over a first generation that this process serves and is no part of, if there is one.
    fn open_over(
        settings: &Settings,
        addresses: &[IpAddr],
        job: u64,
        first: Option<MasterHandle>,
    ) -> Result<Self, Error> {
        let mut id = [0; 8];
        getrandom::fill(&mut id).map_err(|error| Error::system("drawing the number of a node", error))?;
        let opening = |error| Error::system("opening a port for the generations of an elastic world", error);
        let only_here = addresses.iter().all(IpAddr::is_loopback);
        let port = || any(settings, only_here).map_err(opening);
        let (agreeing, meeting) = (port()?, port()?);
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        let place = Place::here(
            addresses.to_vec(),
            port(&agreeing).map_err(opening)?,
            port(&meeting).map_err(opening)?,
        );
        let me = place.node(Id(u64::from_le_bytes(id)));
        let (orders, taken) = mpsc::unbounded_channel();
        let (events, happened) = mpsc::unbounded_channel();
        let (secret, peer_timeout) = (settings.secret.clone(), settings.peer_timeout);
        let common = Arc::new(Common { me: me.clone(), job, secret, peer_timeout, events });
        let known = Arc::new(Mutex::new(Known::default()));
        let (tables, decided) = watch::channel(None);
        let shared = Arc::clone(&known);
        let server = Server { meeting, settings: settings.clone(), served: Mutex::default() };
        let server = Arc::new(server);
        let (this, serving, ordering) = (me.id, Arc::clone(&server), orders.clone());
        let starting = |error| Error::system("starting the thread of an elastic world", error);
        let runtime = crate::thread::Runtime::new().map_err(starting)?;
        let canary = runtime.canary();
        agreeing.set_nonblocking(true).map_err(opening)?;
        let at = first.as_ref().map(MasterHandle::local_addr);
        let told = door::Told { me: me.id, job, known: Arc::clone(&known), settings: settings.clone(), at };
        let thread = crate::thread::spawn("ringworld-elastic", move || {
            runtime.run(async move {
                let Ok(agreeing) = tokio::net::TcpListener::from_std(agreeing) else { return };
                let listening = tokio::spawn(listen::listen(agreeing, Arc::clone(&common)));
                let service = Service::new(common, shared, tables, listening.abort_handle());
                let door = tokio::spawn(door::keep(told));
                // Only the one that decides alone has generations to serve that it is not in.
                let arbiter = tokio::spawn(arbiter::serve(this, decided, serving, ordering, first));
                service.run(taken, happened).await;
                listening.abort();
                door.abort();
                arbiter.abort();
            });
        })
        .map_err(starting)?;
        let settings = settings.clone();
        Ok(Self { me, job, server, orders, known, settings, canary, thread: Some(thread) })
    }

    /// Has this process decide alone on all generations after the one that `master` serves, of which it is no part: for
    /// a launcher that has started all ranks, which reach it at these addresses, and whose end is theirs. To be called
    /// before any rank has come.
    ///
    /// # Errors
    ///
    /// When the system gives no port or no thread.
    pub fn arbitrate(
        settings: &Settings,
        addresses: &[IpAddr],
        master: &MasterHandle,
    ) -> Result<Self, Error> {
        let node = Self::open_over(settings, addresses, master.job(), Some(master.clone()))?;
        let (orders, limits, patience) = (node.orders.clone(), node.limits(), node.patience());
        master.arbitrated_by(arbiter::arbiter(node.me.clone(), orders, limits, patience));
        Ok(node)
    }

    /// The rendezvous of the last generation that this process has served, but for the first.
    #[must_use]
    pub fn serving(&self) -> Option<MasterHandle> {
        self.server.served()
    }

    /// What stands for this node among the addresses of a member.
    #[must_use]
    pub fn address(&self) -> (String, Vec<u8>) {
        let whole = postcard::to_stdvec(&self.me).unwrap_or_default();
        (NAME.to_owned(), whole)
    }

    /// Takes part in the world that has formed at the rendezvous.
    ///
    /// # Errors
    ///
    /// When a member is not elastic.
    pub fn begin(&self, session: &Session) -> Result<(), Error> {
        let members = nodes(&session.members)?;
        let serves = members.get(session.serving.unwrap_or(0)).map_or(self.me.id, |node| node.id);
        let arbiter = session.arbiter.as_ref().and_then(|bytes| postcard::from_bytes::<Node>(bytes).ok());
        let serves = arbiter.as_ref().map_or(serves, |arbiter| arbiter.id);
        let table = Table { generation: 0, members, arbiter, serves, broken: Vec::new() };
        bearable(&table)?;
        let machine = Machine::member(self.me.clone(), table.clone(), self.limits(), self.patience())
            .map_err(|error| Error::Incomplete(error.to_string()))?;
        self.order(Order::Begin(Box::new(machine)));
        if session.rank == 0 {
            session.announce(Running::new(self.job, &table).bytes());
        }
        Ok(())
    }

    /// Opens a node and knocks with it at a world that runs, until it is let in.
    ///
    /// # Errors
    ///
    /// When nobody of that world can be reached any more, or nobody lets it in within `timeout`.
    pub fn knock(settings: &Settings, addresses: &[IpAddr], running: &[u8]) -> Result<(Self, Table), Error> {
        let Running { job, table } = postcard::from_bytes(running).map_err(|error| {
            Error::Incomplete(format!("what the running world tells of itself makes no sense: {error}"))
        })?;
        let node = Self::open(settings, addresses, job)?;
        let (me, limits, patience) = (node.me.clone(), node.limits(), node.patience());
        let generation = table.generation;
        let machine = Machine::newcomer(Duration::ZERO, me, table, limits, patience)
            .map_err(|error| Error::Incomplete(error.to_string()))?;
        let (reply, answer) = sync_channel(1);
        node.order(Order::Begin(Box::new(machine)));
        node.order(Order::Next { leaving: false, lost: None, reply });
        match answer.recv_timeout(settings.timeout) {
            Ok(Next::Table(table)) => Ok((node, table)),
            Ok(Next::Failed(failure)) => Err(Error::Incomplete(failure.to_string())),
            _ => Err(Error::Incomplete(format!(
                "the world runs, at generation {generation} or later, and nobody let this process in within {:.1} s \
                 (RINGWORLD_TIMEOUT): its ranks call regroup or recover for that, and take at most RINGWORLD_MAX_RANKS",
                settings.timeout.as_secs_f64()
            ))),
        }
    }

    /// What the control plane of a generation says is heard here, too.
    pub fn hear(&self, generation: u64, event: &ControlEvent) {
        if let ControlEvent::PeerDown { rank, .. } = event {
            self.order(Order::Down { generation, rank: *rank });
        }
    }

    /// Goes on into the next generation, or leaves. Waits for the others, `recover_timeout` at most. `lost` says whom
    /// this process could not reach, if that has ended the last one for it.
    ///
    /// # Errors
    ///
    /// Why there is no next generation for this process.
    pub fn go_on(&self, leaving: bool, lost: Option<Lost>) -> Result<Onward, Failure> {
        let (reply, answer) = sync_channel(1);
        self.order(Order::Next { leaving, lost, reply });
        match self.canary.answer(&answer, None) {
            Some(Next::Table(table)) => Ok(Onward::Into(table)),
            Some(Next::Left) => Ok(Onward::Left),
            Some(Next::Failed(failure)) => Err(failure),
            // The thread has ended, and with it what it knew.
            None => Err(Failure::NobodyThere { generation: self.generation() }),
        }
    }

    /// How many wait at the door and would come in, as far as this process knows.
    #[must_use]
    pub fn waiting(&self) -> usize {
        lock(&self.known).waiting
    }

    /// This process among those of a table.
    #[must_use]
    pub fn rank_in(&self, table: &Table) -> Option<usize> {
        table.rank_of(self.me.id)
    }

    fn generation(&self) -> u64 {
        lock(&self.known).table.as_ref().map_or(0, |table| table.generation)
    }

    /// The way into a generation in which this process is.
    pub(crate) fn meet(&self, table: &Table) -> Result<Meeting, Error> {
        let nonsense = || Error::Incomplete("a table of members makes no sense".into());
        let rank = table.rank_of(self.me.id).ok_or_else(nonsense)?;
        let server = table.members.iter().chain(&table.arbiter).find(|node| node.id == table.serves);
        let place = server.and_then(Place::of).ok_or_else(nonsense)?;
        let size = table.members.len();
        let (cancel, cancelled) = watch::channel(false);
        self.order(Order::Forming { generation: table.generation, cancel });
        let master = match table.serves == self.me.id {
            true => Some(self.server.serve(size)?),
            false => None,
        };
        let mut addresses = place.sockets(place.meeting);
        if place.host_id == crate::host::host_identity() {
            addresses.insert(0, (Ipv4Addr::LOCALHOST, place.meeting).into());
        }
        Ok(Meeting { addresses, node: place.host, rank, size, master, cancelled })
    }

    /// The generation that was to be entered does not form: whoever came here for it must not wait for it.
    pub fn call_off(&self) {
        self.server.call_off();
    }

    /// The generation has formed.
    pub fn formed(&self) {
        self.order(Order::Formed);
    }

    fn limits(&self) -> Limits {
        Limits { least: self.settings.min_ranks, most: self.settings.max_ranks.unwrap_or(usize::MAX) }
    }

    fn patience(&self) -> Patience {
        Patience::within(self.settings.recover_timeout)
    }

    fn order(&self, order: Order) {
        // Without the thread there is nobody to tell, and whoever waits for an answer hears that there is none.
        if !self.canary.is_gone() {
            let _ = self.orders.send(order);
        }
    }
}

impl Drop for Elastic {
    fn drop(&mut self) {
        self.order(Order::Close);
        if let Some(thread) = self.thread.take().filter(|_| !self.canary.is_gone()) {
            // What was decided has been told when this returns.
            let _ = thread.join();
        }
    }
}

/// Whether a generation of that size can be agreed on.
fn bearable(table: &Table) -> Result<(), Error> {
    let bytes = postcard::to_stdvec(table).map_or(usize::MAX, |bytes| bytes.len());
    if bytes > LONGEST_TABLE {
        let (members, mib) = (table.members.len(), |bytes: usize| bytes >> 20);
        return Err(Error::Incomplete(format!(
            "the table of {members} elastic ranks takes {} MiB, and may take {}: start fewer, give them fewer \
             addresses (RINGWORLD_IF_INCLUDE), or do without RINGWORLD_ELASTIC",
            mib(bytes),
            mib(MASTER_LIMIT)
        )));
    }
    Ok(())
}

/// A port of this host at which others may come, by either kind of address, or nobody but this host itself.
fn any(settings: &Settings, only_here: bool) -> std::io::Result<TcpListener> {
    let ports = match &settings.tcp_ports {
        Some(ports) => ports.clone().collect(),
        None => vec![0],
    };
    let mut refused = std::io::Error::from(std::io::ErrorKind::AddrInUse);
    for port in ports {
        let any: [SocketAddr; 2] = match only_here {
            true => [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()],
            false => [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()],
        };
        match bind(any[0]).or_else(|_| bind(any[1])) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_whose_table_nobody_could_be_told_is_refused_by_name() {
        let table = |members: u64, place: usize| Table {
            generation: 0,
            members: (0..members).map(|id| Node { id: Id(id), place: vec![7; place] }).collect(),
            arbiter: None,
            serves: Id(0),
            broken: Vec::new(),
        };
        // An address takes some twenty bytes, so that is a rank with four.
        assert!(bearable(&table(200_000, 120)).is_ok());
        let error = bearable(&table(80_000, 1000)).unwrap_err().to_string();
        for part in ["80000 elastic ranks takes 76 MiB, and may take 64", "RINGWORLD_IF_INCLUDE"] {
            assert!(error.contains(part), "{error}");
        }
    }

    /// Two members of a first generation, of which the first leads.
    fn two() -> (Elastic, Elastic) {
        let settings = Settings { max_ranks: Some(8), ..Settings::default() };
        let here = [Ipv4Addr::LOCALHOST.into()];
        let [first, second] = [0, 1].map(|_| Elastic::open(&settings, &here, 7).unwrap());
        let members = vec![first.me.clone(), second.me.clone()];
        let table = Table { generation: 0, members, arbiter: None, serves: first.me.id, broken: Vec::new() };
        for node in [&first, &second] {
            let (limits, patience) = (node.limits(), node.patience());
            let machine = Machine::member(node.me.clone(), table.clone(), limits, patience).unwrap();
            node.order(Order::Begin(Box::new(machine)));
        }
        (first, second)
    }

    fn both_go_on(first: &Elastic, second: &Elastic) -> Table {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| second.go_on(false, None));
            let table = match first.go_on(false, None) {
                Ok(Onward::Into(table)) => table,
                other => panic!("{other:?}"),
            };
            assert_eq!(other.join().unwrap(), Ok(Onward::Into(table.clone())));
            table
        })
    }

    #[test]
    fn a_generation_with_which_somebody_has_done_forms_no_more() {
        for early in [false, true] {
            let (first, second) = two();
            let table = both_go_on(&first, &second);
            let (serves, waits) =
                if table.serves == first.me.id { (&first, &second) } else { (&second, &first) };
            // Whoever serves gives it up before the other has come, or has even begun to come.
            std::thread::scope(|scope| {
                let meeting = (!early).then(|| waits.meet(&table).unwrap());
                let next = scope.spawn(|| serves.go_on(false, None));
                std::thread::sleep(Duration::from_millis(if early { 300 } else { 0 }));
                let mut meeting = meeting.unwrap_or_else(|| waits.meet(&table).unwrap());
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let cancelled = meeting.cancelled.wait_for(|cancelled| *cancelled);
                let cancelled =
                    async { tokio::time::timeout(Duration::from_secs(10), cancelled).await.is_ok() };
                assert!(runtime.block_on(cancelled), "it waits for a generation that nobody serves");
                let (next, mine) = (next, waits.go_on(false, Some(Lost::Forming)));
                assert_eq!(next.join().unwrap(), mine);
                assert!(matches!(mine, Ok(Onward::Into(table)) if table.generation == 2));
            });
        }
    }
}
