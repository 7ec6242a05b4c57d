//! The door of a world that runs: who comes to the rendezvous later is told where the members are.
//!
//! In its first generation the process that serves the rendezvous tells it. When that one has ended, or another
//! generation has formed, the port is free, and one member on each host that `MASTER_NODE` names takes it; when that
//! one ends, the next.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringworld_membership::{Id, Node, Table};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::place::Place;
use super::running::Running;
use super::service::{Known, lock};
use crate::client::listen as bind;
use crate::frames::{FrameReader, FrameWriter};
use crate::handshake;
use crate::host::host_identity;
use crate::interfaces;
use crate::master;
use crate::places::Places;
use crate::settings::Settings;
use crate::thread;
use crate::wire::{EARLY_LIMIT, Hello, ToMaster, ToRank};

/// How often to try for the port.
const TRY: Duration = Duration::from_millis(100);
/// How long to wait where somebody else has it.
const AGAIN: Duration = Duration::from_millis(400);
/// How long a stranger may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many strangers may wait.
const STRANGERS: usize = 256;

/// What the door needs to know.
pub(super) struct Told {
    pub(super) me: Id,
    pub(super) job: u64,
    pub(super) known: Arc<Mutex<Known>>,
    pub(super) settings: Settings,
    /// Where the first generation was served, if it was by the process that decides alone; else where the settings say.
    pub(super) at: Option<SocketAddr>,
}

/// Keeps the door, where and when this process may, until the task is dropped.
pub(super) async fn keep(told: Told) {
    let told = Arc::new(told);
    loop {
        sleep(TRY).await;
        let Some(table) = told.due() else { continue };
        let listener = match told.take().await {
            Taken::Free(listener) => listener,
            Taken::InUse(address) => {
                // Perhaps by a process that was started again and found nobody here: its world is not to form anew.
                if let Err(why) = timeout(PATIENCE, told.redirect(address, table)).await {
                    tracing::debug!("whoever has the port of the rendezvous does not answer: {why}");
                }
                sleep(AGAIN).await;
                continue;
            }
            Taken::Unknown => {
                sleep(AGAIN).await;
                continue;
            }
            Taken::NotHere => return,
        };
        tracing::debug!("keeping the door at port {}", told.settings.master_port);
        let places = Places::new(STRANGERS);
        let mut number = 0;
        while let Ok((stream, from)) = listener.accept().await {
            number += 1;
            let (waiting, _) = places.enter(number, from.ip());
            let told = Arc::clone(&told);
            let task = tokio::spawn(async move {
                let answered = timeout(PATIENCE, answer(stream, &told)).await;
                drop(waiting);
                if let Ok(Err(reason)) = answered {
                    tracing::debug!("{from} came to the door, and was turned away: {reason}");
                }
            });
            places.note(number, task.abort_handle());
        }
    }
}

impl Told {
    /// The table, if the door is this process's to keep: in the first generation whoever serves it has the port, as
    /// long as it lives, and afterwards it is the arbiter's, or that of the first member of each host.
    fn due(&self) -> Option<Table> {
        let known = lock(&self.known);
        // Whoever has served the first one may be gone, and those who come are told that all is over.
        let free = |table: &&Table| table.generation > 0 || known.ended || known.away.contains(&table.serves);
        let table = known.table.as_ref().filter(free)?.clone();
        let away = known.away.clone();
        drop(known);
        let here = host_identity();
        if let Some(arbiter) = &table.arbiter {
            return (arbiter.id == self.me).then_some(table);
        }
        let of_here = |node: &&Node| {
            !away.contains(&node.id) && Place::of(node).is_some_and(|place| place.host_id == here)
        };
        let first = table.members.iter().find(of_here).is_some_and(|first| first.id == self.me);
        first.then_some(table)
    }

    /// Tells a world that is forming at the rendezvous that it runs already.
    async fn redirect(&self, address: SocketAddr, table: Table) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let mut stream = TcpStream::connect(address).await.map_err(|error| text(&error))?;
        let (_, session) =
            handshake::connect(&mut stream, &self.settings.secret).await.map_err(|error| text(&error))?;
        let (_reading, writing) = stream.into_split();
        let running = Running::new(self.job, &table).bytes();
        let mut writing = FrameWriter::new(writing, session.sealer);
        let words = ToMaster::RunsAlready { job: self.settings.job.clone(), running };
        writing.write(&words).await.map_err(|error| text(&error))?;
        writing.shutdown().await.map_err(|error| text(&error))
    }
}

/// What has become of the port of the rendezvous.
enum Taken {
    Free(TcpListener),
    InUse(SocketAddr),
    /// It could not be found out for now whether this host is one that is named.
    Unknown,
    /// This host is none that is named.
    NotHere,
}

impl Told {
    async fn take(&self) -> Taken {
        match self.at {
            Some(at) => listen_at(at).map_or(Taken::InUse(at), Taken::Free),
            None => take(&self.settings).await,
        }
    }
}

fn listen_at(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = bind(address)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Takes the port of the rendezvous, if this host is one that is named and nobody else has it.
async fn take(settings: &Settings) -> Taken {
    let Some(node) = settings.master_node.clone() else { return Taken::NotHere };
    let port = settings.master_port;
    let nodes: Vec<String> = std::iter::once(&node).chain(&settings.other_nodes).cloned().collect();
    // Names may have to be asked for.
    let found = thread::aside("ringworld-names", move || {
        let found = interfaces::enumerate().unwrap_or_default();
        let mine: Vec<IpAddr> = found.into_iter().map(|interface| interface.addr).collect();
        let named =
            |node: &String| (node.as_str(), port).to_socket_addrs().map(Vec::from_iter).unwrap_or_default();
        let here = |address: &SocketAddr| address.ip().is_loopback() || mine.contains(&address.ip());
        nodes.iter().flat_map(named).find(here)
    });
    let first = match found.await {
        Ok(Some(first)) => first,
        Ok(None) => return Taken::NotHere,
        Err(error) => {
            tracing::debug!("asking for the names of hosts: {error}");
            return Taken::Unknown;
        }
    };
    let literal = node.parse::<IpAddr>().is_ok() || node == "localhost";
    let all: [SocketAddr; 2] = [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()];
    let listening = match literal {
        true => listen_at(first),
        false => listen_at(all[0]).or_else(|_| listen_at(all[1])),
    };
    listening.map_or(Taken::InUse(first), Taken::Free)
}

async fn answer(mut stream: TcpStream, told: &Told) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let session = handshake::accept(&mut stream, &told.settings.secret, told.job, || ()).await;
    let session = session.map_err(|error| text(&error))?;
    let (reading, writing) = stream.into_split();
    let mut reading = FrameReader::new(reading, session.opener);
    let mut writing = FrameWriter::new(writing, session.sealer);
    let table = lock(&told.known).table.clone().ok_or("there is no table yet")?;
    let size = table.members.len() as u64;
    let words = match reading.read::<ToMaster>(EARLY_LIMIT).await {
        Ok((ToMaster::Hello(hello), _)) => words(&hello, told, table),
        Ok((ToMaster::Inquire, _)) => ToRank::State { present: size, size, formed: true },
        Ok(_) => return Err("it did not introduce itself".into()),
        Err(error) => return Err(text(&error)),
    };
    writing.write(&words).await.map_err(|error| text(&error))?;
    writing.shutdown().await.map_err(|error| text(&error))
}

/// What is said to somebody who comes.
fn words(hello: &Hello, told: &Told, table: Table) -> ToRank {
    let other = master::of_another_job(&told.settings.job, &hello.job);
    match (other, hello.elastic) {
        (Some(reason), _) => ToRank::Reject { reason, retry: false },
        (None, false) => ToRank::Reject { reason: master::not_elastic(), retry: false },
        (None, true) => ToRank::Running { running: Running::new(told.job, &table).bytes() },
    }
}
