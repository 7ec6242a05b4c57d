//! Reaching the master: resolve, perhaps serve, connect, shake hands, introduce; again until time is up.
//!
//! Anything that may pass (nobody listens yet, a name that does not resolve yet, an old job that is about
//! to end) is tried again with growing pauses; anything that will not (another secret, another program
//! on the port) is an error at once.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{sleep, timeout};

use crate::descriptors::advised;
use crate::error::Error;
use crate::frames::{FrameReader, FrameWriter};
use crate::handshake::{self, HandshakeError};
use crate::host::{host_identity, host_name};
use crate::interfaces::{Interface, InterfaceError};
use crate::master::{Master, MasterConfig, MasterHandle};
use crate::process::Process;
use crate::program::Program;
use crate::settings::Settings;
use crate::waiting::{Reminders, so_far};
use crate::wire::{EARLY_LIMIT, Hello, ToMaster, ToRank};

/// How long one connection attempt may take before the next address gets its turn.
const CONNECT: Duration = Duration::from_secs(3);
/// The same for a host where an elastic world may run already.
const NEAR: Duration = Duration::from_millis(500);
/// How long one exchange of greetings may take.
const GREETING: Duration = Duration::from_secs(10);
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);
/// The same while the name is unknown: name servers answer to a whole machine that starts at once.
const LONGEST_UNRESOLVED: Duration = Duration::from_secs(1);
/// How long the answer of a name server is believed.
const RESOLVED: Duration = Duration::from_secs(2);
/// How long a world may take to end before it is said that this process waits for it.
const ENDING: Duration = Duration::from_secs(1);

/// A connection to a master that has given this process a place.
pub(super) struct Reached {
    pub(super) reading: FrameReader<OwnedReadHalf>,
    pub(super) writing: FrameWriter<OwnedWriteHalf>,
    pub(super) local: IpAddr,
    pub(super) job: u64,
    pub(super) peer_timeout: Option<Duration>,
    /// Which serves.
    pub(super) process: Process,
    /// The master itself, when this process serves it.
    pub(super) master: Option<MasterHandle>,
    /// The master is on another host, so what it says is not seen here.
    pub(super) elsewhere: bool,
}

/// What an exchange of greetings has brought.
struct Greeted {
    reading: FrameReader<OwnedReadHalf>,
    writing: FrameWriter<OwnedWriteHalf>,
    job: u64,
    peer_timeout: Option<Duration>,
    process: Process,
}

/// A master that some process serves for certain, and has told the others of.
#[derive(Default)]
pub(crate) struct Known {
    /// Where it may be reached, best first; not all of them may lead there.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Served by this process.
    pub(crate) master: Option<MasterHandle>,
}

/// What is needed to find the master.
pub(super) struct Search<'a> {
    pub(super) settings: &'a Settings,
    pub(super) node: &'a str,
    /// Where the master is, if that need not be found out; nobody else may serve then.
    pub(super) known: Option<&'a [SocketAddr]>,
    pub(super) world_size: usize,
    pub(super) interfaces: &'a [Interface],
    /// The interfaces left out, if the user's words leave none but loopback.
    pub(super) only_loopback: Option<&'a str>,
}

enum Failure {
    /// Try again.
    Passing(String),
    /// Trying again will not help.
    Final(Error),
}

impl Search<'_> {
    /// Tries until it works, cannot work, or `timeout` is over. This process may serve already.
    pub(super) async fn run(&self, mut master: Option<MasterHandle>) -> Result<Reached, Error> {
        let begin = Instant::now();
        let deadline = begin + self.settings.timeout;
        let mut pause = SHORTEST_PAUSE;
        let mut reminders = Reminders::default();
        let mut resolved: Option<(Instant, Vec<SocketAddr>)> = None;
        let mut last;
        loop {
            resolved = resolved.filter(|(when, _)| when.elapsed() < RESOLVED);
            let found = match resolved.take() {
                Some(known) => Ok(known),
                None => self.resolve().map(|found| (Instant::now(), found)),
            };
            last = match found {
                Err(error) => format!("the name cannot be resolved ({error})"),
                Ok((when, found)) => {
                    if let Err(error) = self.check_reach(&found) {
                        stop(master);
                        return Err(error.into());
                    }
                    let mut met = Vec::new();
                    let mut taken = false;
                    // An elastic world may run already, and be found at another of its hosts.
                    if let Some(error) = self.runs_elsewhere(deadline).await {
                        stop(master);
                        return Err(error);
                    }
                    if master.is_none() && self.may_serve(&found) {
                        match self.serve(&found) {
                            Ok(handle) => {
                                taken = handle.is_none();
                                master = handle;
                            }
                            Err(Failure::Passing(reason)) => met.push(reason),
                            Err(Failure::Final(error)) => return Err(error),
                        }
                    }
                    // Who is known elsewhere by an address that no interface has may not reach itself there.
                    let itself =
                        self.may_serve(&found) && !found.iter().any(|found| self.is_mine(found.ip()));
                    let itself = itself.then_some((Ipv4Addr::LOCALHOST, self.settings.master_port).into());
                    let mut hopeless = None;
                    for address in itself.iter().chain(&found) {
                        match self.attempt(*address, master.is_some(), deadline).await {
                            Ok(mut reached) => {
                                reached.master = master;
                                reached.elsewhere = !self.settings.launcher && !self.is_here(&found);
                                return Ok(reached);
                            }
                            Err(Failure::Passing(reason)) => met.push(format!("{address}: {reason}")),
                            // From here, one of several addresses may be another host's.
                            Err(Failure::Final(error)) if self.known.is_some() && found.len() > 1 => {
                                met.push(format!("{address}: {error}"));
                                hopeless = Some((1 + hopeless.map_or(0, |(count, _)| count), error));
                            }
                            Err(Failure::Final(error)) => {
                                serve_on(master, &error);
                                return Err(error);
                            }
                        }
                    }
                    if let Some((count, error)) = hopeless
                        && count == found.len()
                    {
                        serve_on(master, &error);
                        return Err(error);
                    }
                    if taken {
                        met.push(format!(
                            "port {} is in use on this host, so this process cannot serve there; if it is another \
                             program's, which listens at another address, choose another MASTER_PORT",
                            self.settings.master_port
                        ));
                    }
                    resolved = Some((when, found));
                    if met.is_empty() { "the name has no address".into() } else { met.join("; ") }
                }
            };
            if Instant::now() + pause >= deadline {
                break;
            }
            if reminders.due(begin.elapsed()) {
                self.remind(begin.elapsed(), &last);
            } else {
                tracing::debug!("the master {} is not there yet: {last}", self.label());
            }
            sleep(jittered(pause)).await;
            let longest = if resolved.is_some() { LONGEST_PAUSE } else { LONGEST_UNRESOLVED };
            pause = (pause * 3 / 2).min(longest);
        }
        if self.known.is_some() {
            last += "; there serves rank 0, as it has said through the launcher (PMI): if none of these leads to its \
                     host, choose its interfaces with RINGWORLD_IF_INCLUDE, or set MASTER_NODE and MASTER_PORT";
        } else if master.is_none() && !self.settings.launcher {
            last += &self.whose_job_it_is();
            last += &self.node_origin();
        }
        let error = Error::Unreachable { master: self.label(), seconds: begin.elapsed().as_secs_f64(), last };
        serve_on(master, &error);
        Err(error)
    }

    /// The master's addresses, those of this host first: who serves should reach itself.
    fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        if let Some(known) = self.known {
            return Ok(known.to_vec());
        }
        let mut found: Vec<SocketAddr> = (self.node, self.settings.master_port).to_socket_addrs()?.collect();
        found.sort_by_key(|address| !self.is_mine(address.ip()));
        Ok(found)
    }

    /// Where the world that this process belongs to runs already, if another of the hosts that are named says so.
    async fn runs_elsewhere(&self, deadline: Instant) -> Option<Error> {
        if self.known.is_some() {
            return None;
        }
        for node in &self.settings.other_nodes {
            // A host that is not there, or whose name is unknown here, has nothing to say.
            let found = (node.as_str(), self.settings.master_port).to_socket_addrs();
            for address in found.into_iter().flatten() {
                let near = deadline.min(Instant::now() + NEAR);
                if let Err(Failure::Final(error @ Error::Running { .. })) =
                    self.attempt(address, false, near).await
                {
                    return Some(error);
                }
            }
        }
        None
    }

    /// Says that the master is still waited for; of the ranks of a host that know their places, one does.
    fn remind(&self, waited: Duration, last: &str) {
        let so_far = so_far(waited, self.settings.timeout);
        let text = format!("waiting for the master {}: {last} ({so_far})", self.label());
        if self.settings.local_rank.unwrap_or(0) == 0 {
            tracing::warn!("{text}");
        } else {
            tracing::info!("{text}");
        }
    }

    pub(super) fn label(&self) -> String {
        if self.node.contains(':') {
            format!("[{}]:{}", self.node, self.settings.master_port)
        } else {
            format!("{}:{}", self.node, self.settings.master_port)
        }
    }

    /// Where the port comes from, if nobody has chosen it.
    fn port_origin(&self) -> String {
        match self.source("master_port").filter(|source| source.starts_with("from the job")) {
            Some(source) => format!("; port {} is {source}", self.settings.master_port),
            None => String::new(),
        }
    }

    /// Where the host comes from, if nobody has chosen it.
    fn node_origin(&self) -> String {
        match self.source("master_node").filter(|source| source.ends_with("NODELIST")) {
            Some(source) => format!(
                "; {} is the first host of {source}, where a process of this job must run to serve the rendezvous: if \
                 none does, set MASTER_NODE to a host where one does",
                self.node
            ),
            None => String::new(),
        }
    }

    fn source(&self, key: &str) -> Option<&str> {
        let found = self.settings.sources().iter().find(|source| source.key == key);
        found.map(|source| source.source.as_str())
    }

    fn is_mine(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.interfaces.iter().any(|interface| interface.addr == address)
    }

    /// Whether an address leads to this host: one of an interface, or one that is told to the others.
    fn leads_here(&self, address: IpAddr) -> bool {
        self.is_mine(address) || self.settings.advertise.contains(&address)
    }

    /// Only on the master's host, and only if nobody else is in charge of serving.
    fn may_serve(&self, found: &[SocketAddr]) -> bool {
        !self.settings.launcher && !self.settings.rejoin && self.known.is_none() && self.is_here(found)
    }

    /// Whether the master is on this host.
    fn is_here(&self, found: &[SocketAddr]) -> bool {
        found.iter().any(|address| self.leads_here(address.ip()))
    }

    /// Refuses to offer loopback to other hosts: they would learn of it at their first message.
    fn check_reach(&self, found: &[SocketAddr]) -> Result<(), InterfaceError> {
        let Some(left_out) = self.only_loopback else { return Ok(()) };
        let others = if !found.is_empty() && !found.iter().any(|address| self.leads_here(address.ip())) {
            format!("the master {} is on another host", self.label())
        } else if self.settings.num_nodes.is_some_and(|nodes| nodes > 1) && !all_loopback(found) {
            "NUM_NODES says that there are other hosts".into()
        } else {
            return Ok(());
        };
        Err(InterfaceError::OnlyLoopback { others, left_out: left_out.into() })
    }

    /// Why the others may not come to a master that this process serves, if they are on other hosts: what they call the
    /// master means loopback here, and this host is not known to be the one that is meant.
    fn seclusion(&self, found: &[SocketAddr]) -> Option<String> {
        if self.settings.num_nodes == Some(1) || !all_loopback(found) || same_host(self.node, &host_name()) {
            return None;
        }
        let address = found.first()?.ip();
        let meaning = if self.node.parse() == Ok(address) {
            "means each host itself".into()
        } else {
            format!("is {address} on this host")
        };
        Some(format!(
            "{} {meaning}, so this process serves the rendezvous where no other host looks for it; set MASTER_NODE to \
             a name or an address that leads to one host from all of them",
            self.node
        ))
    }

    fn whose_job_it_is(&self) -> String {
        let mut mine: Vec<String> =
            self.interfaces.iter().map(|interface| interface.addr.to_string()).collect();
        mine.dedup();
        format!(
            "; the first process on the master's host serves the rendezvous, and this host has the addresses {}",
            mine.join(", ")
        )
    }

    /// The first process that gets the port serves; for the others it is taken, which is not an error.
    fn serve(&self, found: &[SocketAddr]) -> Result<Option<MasterHandle>, Failure> {
        let literal = self.node.parse::<IpAddr>().is_ok() || self.node == "localhost";
        let own: Vec<SocketAddr> = found.iter().copied().filter(|a| self.is_mine(a.ip())).collect();
        // A literal address is all that anybody will connect to. A name may mean another address
        // elsewhere (127.0.1.1 here, the real one there), so it is served on all of them.
        let bind: Vec<SocketAddr> = match own.first() {
            Some(first) if literal => vec![*first],
            _ => {
                let port = self.settings.master_port;
                vec![(std::net::Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()]
            }
        };
        let mut refused = String::new();
        for address in bind {
            match listen(address) {
                Ok(listener) => {
                    let mut config = MasterConfig::new(self.world_size, self.settings);
                    config.seclusion = self.seclusion(found);
                    // What a master needs of the system this thread has just got for itself, or it would not run.
                    return Master::serve(listener, config).map(Some).map_err(Failure::Final);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => return Ok(None),
                Err(error) => refused = format!("{address} cannot be listened on ({})", advised(error)),
            }
        }
        Err(Failure::Passing(refused))
    }

    async fn attempt(
        &self,
        address: SocketAddr,
        serves: bool,
        deadline: Instant,
    ) -> Result<Reached, Failure> {
        let left = deadline.saturating_duration_since(Instant::now());
        let passing = |reason: &str| Failure::Passing(reason.into());
        let stream = match timeout(CONNECT.min(left), TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(Failure::Passing(advised(error).to_string())),
            Err(_) => return Err(passing("no answer")),
        };
        let ends = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
        let (local, peer) = ends.map_err(|error| Failure::Passing(error.to_string()))?;
        if local == peer {
            // On one host, connecting to a port from the ephemeral range can meet itself.
            return Err(passing("nobody listens"));
        }
        // Latency matters more than the number of packets; a failure only costs speed.
        let _ = stream.set_nodelay(true);
        let greeting = timeout(GREETING.min(left), self.greet(stream, serves)).await;
        let Greeted { reading, writing, job, peer_timeout, process } =
            greeting.map_err(|_| passing("it accepted but did not answer"))??;
        Ok(Reached {
            reading,
            writing,
            local: local.ip().to_canonical(),
            job,
            peer_timeout,
            process,
            master: None,
            elsewhere: false,
        })
    }

    async fn greet(&self, mut stream: TcpStream, serves: bool) -> Result<Greeted, Failure> {
        let master = || self.label();
        let greeted =
            handshake::connect(&mut stream, &self.settings.secret).await.map_err(|error| match error {
                HandshakeError::Io(error) => Failure::Passing(format!("the connection was lost ({error})")),
                error @ HandshakeError::Silent => Failure::Passing(error.to_string()),
                HandshakeError::Magic(_) => {
                    let reason = error.to_string() + &self.port_origin();
                    Failure::Final(Error::NotMaster { master: master(), reason })
                }
                HandshakeError::Secret(reason) => {
                    Failure::Final(Error::Secret { master: master(), reason: reason.into() })
                }
                HandshakeError::Version(_) | HandshakeError::System(_) => {
                    Failure::Final(Error::Refused { master: master(), reason: error.to_string() })
                }
            });
        let (job, session) = greeted?;
        let (reading, writing) = stream.into_split();
        let mut reading = FrameReader::new(reading, session.opener);
        let mut writing = FrameWriter::new(writing, session.sealer);
        let hello = ToMaster::Hello(self.hello(serves));
        writing.write(&hello).await.map_err(|error| Failure::Passing(error.to_string()))?;
        match reading.read::<ToRank>(EARLY_LIMIT).await {
            Ok((ToRank::Welcome { peer_timeout_ms, process }, _)) => {
                let peer_timeout = (peer_timeout_ms > 0).then(|| Duration::from_millis(peer_timeout_ms));
                Ok(Greeted { reading, writing, job, peer_timeout, process })
            }
            Ok((ToRank::Running { running }, _)) => Err(Failure::Final(Error::Running { running })),
            Ok((ToRank::Reject { reason, retry: true }, _)) => Err(Failure::Passing(reason)),
            Ok((ToRank::Reject { reason, retry: false }, _)) => {
                let reason = reason + &self.port_origin();
                Err(Failure::Final(Error::Refused { master: master(), reason }))
            }
            Ok(_) => Err(Failure::Passing("it said something out of turn".into())),
            Err(error) => Err(Failure::Passing(error.to_string())),
        }
    }

    fn hello(&self, serves: bool) -> Hello {
        let wide = |number: Option<usize>| number.map(|number| number as u64);
        Hello {
            host: host_name(),
            host_id: host_identity(),
            process: Process::own(),
            job: self.settings.job.clone(),
            world_size: self.world_size as u64,
            num_nodes: wide(self.settings.num_nodes),
            rank: wide(self.settings.rank),
            local_rank: wide(self.settings.local_rank),
            program: Program::of_this_process(self.settings.rank, self.settings.local_rank),
            serves,
            elastic: self.settings.elastic,
        }
    }
}

fn all_loopback(found: &[SocketAddr]) -> bool {
    found.iter().all(|address| address.ip().is_loopback())
}

/// Whether the master's name is this host's, with or without a domain.
fn same_host(node: &str, host: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    node.parse::<IpAddr>().is_err() && short(node) == short(host)
}

/// Serves a world that this process is no part of until it has ended: its ranks are not to suffer for what is wrong
/// here.
fn serve_on(master: Option<MasterHandle>, error: &Error) {
    let Some(master) = master else { return };
    // Nothing else is on this thread. A world that does not form ends with its time-out.
    if master.wait(Some(ENDING)).is_none() {
        tracing::warn!(
            "{error}; but this process serves the rendezvous for those who were let in, and ends when they have ended"
        );
        let _ = master.wait(None);
    }
}

/// A pause that is a quarter shorter or longer, so that a machine full of processes does not ask all at once.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [128];
    // Without random numbers all pause alike, which only costs time.
    let _ = getrandom::fill(&mut byte);
    pause * (192 + u32::from(byte[0]) / 2) / 256
}

/// Ends a master that this process serves in vain.
fn stop(master: Option<MasterHandle>) {
    if let Some(master) = master {
        // `shutdown` may block, which this thread's runtime does not allow.
        let _ = std::thread::spawn(move || master.shutdown()).join();
    }
}

/// Listens with a queue long enough for a whole machine that starts at once.
pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    // The port of a job that has just ended is free for the next.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search<'a>(settings: &'a Settings, node: &'a str, left_out: Option<&'a str>) -> Search<'a> {
        Search { settings, node, known: None, world_size: 2, interfaces: &[], only_loopback: left_out }
    }

    fn at(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 1)).collect()
    }

    #[test]
    fn a_name_for_loopback_is_explained_unless_it_is_this_hosts_own() {
        let settings = Settings::default();
        let why = |node: &str, found: &[&str]| search(&settings, node, None).seclusion(&at(found));
        let text = why("some-other-host", &["127.0.1.1"]).unwrap();
        assert!(
            text.starts_with("some-other-host is 127.0.1.1 on this host, so this process serves"),
            "{text}"
        );
        assert!(why("127.0.0.1", &["127.0.0.1"]).unwrap().contains("means each host itself"));
        assert_eq!(why(&host_name(), &["127.0.1.1"]), None);
        assert_eq!(why("some-other-host", &["127.0.1.1", "10.0.0.1"]), None);
        let one = Settings { num_nodes: Some(1), ..Settings::default() };
        assert_eq!(search(&one, "127.0.0.1", None).seclusion(&at(&["127.0.0.1"])), None);
        assert!(same_host("N1.cluster", "n1") && !same_host("n1", "n11") && !same_host("10.0.0.1", "10"));
    }

    #[test]
    fn nothing_but_loopback_is_refused_where_there_are_other_hosts() {
        let two = Settings { num_nodes: Some(2), ..Settings::default() };
        let check = |settings: &Settings, found: &[&str], left_out| {
            search(settings, "n1", left_out).check_reach(&at(found)).map_err(|error| error.to_string())
        };
        let unset = Settings::default();
        let text = check(&unset, &["10.0.0.1"], Some("eth0")).unwrap_err();
        assert!(text.contains("n1:29500 is on another host") && text.contains("left out: eth0"), "{text}");
        assert_eq!(check(&unset, &["10.0.0.1"], None), Ok(()));
        assert_eq!(check(&unset, &["127.0.1.1"], Some("eth0")), Ok(()));
        // All of a job may be on this host, whatever it calls its hosts.
        assert_eq!(check(&two, &["127.0.0.1"], Some("eth0")), Ok(()));
        assert_eq!(check(&two, &[], Some("eth0")), Ok(()), "a name that does not resolve yet");
    }

    #[test]
    fn one_of_several_addresses_may_be_somebody_elses() {
        use std::io::Write as _;
        let strangers = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    // Who comes may have gone.
                    let _ = stream
                        .and_then(|mut stream| stream.write_all(b"SSH-2.0-something else that listens\r\n"));
                }
            });
            address
        };
        let settings =
            Settings { world_size: Some(2), timeout: Duration::from_secs(10), ..Settings::default() };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _master = Master::serve(listener, MasterConfig::new(2, &settings)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let reach = |known: &[SocketAddr]| {
            let search = Search { known: Some(known), ..search(&settings, "127.0.0.1", None) };
            runtime.block_on(search.run(None))
        };
        let reached = reach(&[strangers(), address]).map_err(|error| error.to_string()).ok().unwrap();
        assert!(reached.master.is_none() && !reached.elsewhere);
        let begin = Instant::now();
        for known in [vec![strangers()], vec![strangers(), strangers()]] {
            let error = reach(&known).err().unwrap().to_string();
            assert!(error.contains("is not a ringworld master"), "{error}");
        }
        assert!(begin.elapsed() < Duration::from_secs(5), "it goes on for nothing");
        // And nobody serves in the place of who has said that it does.
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = Settings { timeout: Duration::from_millis(300), ..settings.clone() };
        let known = [gone];
        let search = Search { known: Some(&known), ..search(&settings, "127.0.0.1", None) };
        let error = runtime.block_on(search.run(None)).err().unwrap().to_string();
        assert!(error.contains("there serves rank 0"), "{error}");
    }

    #[test]
    fn who_serves_a_world_that_it_is_no_part_of_ends_when_that_has_ended() {
        use crate::joining::Joining;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let master_port = listener.local_addr().unwrap().port();
        let node = "127.0.0.1".to_string();
        let settings = Settings {
            master_port,
            master_node: Some(node.clone()),
            world_size: Some(2),
            ..Settings::default()
        };
        let master = Master::serve(listener, MasterConfig::new(2, &settings)).unwrap();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let settings = settings.clone();
                std::thread::spawn(move || {
                    let (tell, heard) = std::sync::mpsc::channel();
                    let listen = move |event| drop(tell.send(event));
                    (Joining::begin(&settings).unwrap().join(Vec::new(), Box::new(listen)).unwrap(), heard)
                })
            })
            .collect();
        let others: Vec<_> = others.into_iter().map(|thread| thread.join().unwrap()).collect();
        let (tell, ended) = std::sync::mpsc::channel();
        let third = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let search = search(&settings, &node, None);
            let error = runtime.block_on(search.run(Some(master))).err().unwrap();
            tell.send(()).unwrap();
            error.to_string()
        });
        assert!(ended.recv_timeout(Duration::from_millis(1500)).is_err(), "it has left the others");
        for (_, heard) in &others {
            assert!(heard.try_recv().is_err(), "nobody is harmed");
        }
        let leaving = others.into_iter().map(|(session, _)| std::thread::spawn(move || session.finish()));
        leaving.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        ended.recv_timeout(Duration::from_secs(10)).expect("it ends with them");
        let text = third.join().unwrap();
        assert!(text.contains("refused") && text.contains("2 ranks is complete"), "{text}");
    }

    #[test]
    fn ranks_that_wait_together_do_not_ask_together() {
        const PROCESSES: usize = 1000;
        let mut asks = [0; 16];
        for _ in 0..PROCESSES {
            let pause = jittered(LONGEST_PAUSE);
            assert!(pause >= LONGEST_PAUSE * 3 / 4 && pause < LONGEST_PAUSE * 5 / 4, "{pause:?}");
            let after = (pause - LONGEST_PAUSE * 3 / 4).as_micros();
            asks[(after * 16 / (LONGEST_PAUSE / 2).as_micros()) as usize] += 1;
        }
        // An even share is 62.5, and 8 standard deviations are 61: by chance alone this never fails.
        assert!(asks.iter().all(|&asks| asks > 0 && asks < 125), "{asks:?}");
    }
}
