//! The one file that knows concrete transports: opens those that are compiled in and allowed.
//!
//! In two steps, because peers must hear where this rank is reached before this rank knows who they are:
//! [`prepare`] binds the transports, [`Prepared::open`] takes the addresses of all the others.
//! Neighbours: `route.rs` decides which transport serves a peer.

use std::net::IpAddr;
use std::time::Duration;

use ringworld_bootstrap::{Joining, Member, Settings};
use ringworld_transport::{Address, Transport};

use super::route::{Closed, Route, route};
use crate::communicator::Memory;
use crate::{Error, Result};

/// The transports compiled into this library, best first.
#[must_use]
pub fn compiled_in() -> &'static [&'static str] {
    &[
        #[cfg(feature = "shm")]
        "shm",
        #[cfg(feature = "ibverbs")]
        "ibverbs",
        #[cfg(feature = "tcp")]
        "tcp",
    ]
}

/// What is known of a world before this process can be reached in it.
pub(crate) struct Place<'a> {
    job: u64,
    local: &'a [IpAddr],
    peer_timeout: Option<Duration>,
}

impl<'a> Place<'a> {
    pub(crate) fn of(joining: &'a Joining) -> Self {
        Self::new(joining.job(), joining.local_addresses(), joining.peer_timeout())
    }

    pub(crate) fn new(job: u64, local: &'a [IpAddr], peer_timeout: Option<Duration>) -> Self {
        Self { job, local, peer_timeout }
    }
}

/// Why a transport is not used that may not be.
const EXCLUDED: &str = "excluded by RINGWORLD_TRANSPORT";

/// Gives a bound transport its rank and the number of ranks.
type Open = Box<dyn FnOnce(usize, usize) -> Result<Box<dyn Transport>>>;

/// A transport that can be reached but does not know its peers yet.
struct Bound {
    name: &'static str,
    address: Address,
    open: Open,
}

/// Transports that can be reached but do not know their peers yet.
pub(crate) struct Prepared {
    bound: Vec<Bound>,
    /// Transports that this program has and does not use here, and why.
    closed: Vec<Closed>,
}

/// Opens every transport that the settings allow.
///
/// # Errors
///
/// When a transport that was asked for is not compiled in, when none is left, or when one cannot open.
pub(crate) fn prepare(settings: &Settings, place: &Place<'_>) -> Result<Prepared> {
    let allowed = allowed(settings)?;
    let mut prepared = Prepared { bound: Vec::new(), closed: Vec::new() };
    // A world of one needs no address, and is given none.
    if place.local.is_empty() {
        return Ok(prepared);
    }
    for name in compiled_in().iter().copied() {
        let bound = match allowed.contains(&name) {
            true => bind(name, settings, place)?,
            false => Err(EXCLUDED.to_owned()),
        };
        match bound {
            Ok(bound) => prepared.bound.push(bound),
            Err(why) => prepared.closed.push(Closed { name, why, behind: prepared.bound.len() }),
        }
    }
    if prepared.bound.is_empty() {
        let closed: Vec<_> =
            prepared.closed.iter().map(|Closed { name, why, .. }| format!("{name}: {why}")).collect();
        return Err(Error::Bootstrap(format!(
            "no transport can be used on this host ({}); allow another (RINGWORLD_TRANSPORT)",
            closed.join("; ")
        )));
    }
    Ok(prepared)
}

/// Binds one transport, or says why it may be done without.
fn bind(
    name: &'static str,
    settings: &Settings,
    place: &Place<'_>,
) -> Result<std::result::Result<Bound, String>> {
    match name {
        #[cfg(feature = "shm")]
        "shm" => shm::open(settings, place),
        #[cfg(feature = "ibverbs")]
        "ibverbs" => ibverbs::open(settings, place),
        #[cfg(feature = "tcp")]
        "tcp" => Ok(Ok(tcp::listen(settings, place)?)),
        _ => {
            // Without any transport nobody else reads these.
            let _ = (settings, place.job, place.peer_timeout);
            Ok(Err("it is not part of this program".into()))
        }
    }
}

/// How many connections two ranks may have between them.
pub(crate) fn lanes(settings: &Settings) -> usize {
    #[cfg(feature = "tcp")]
    let usual = ringworld_transport_tcp::Config::LANES;
    #[cfg(not(feature = "tcp"))]
    let usual = 1;
    settings.tcp_lanes.unwrap_or(usual)
}

pub(crate) fn allowed(settings: &Settings) -> Result<Vec<&'static str>> {
    let names = compiled_in();
    if let Some(unknown) = settings.transport.names().iter().find(|name| !names.contains(&name.as_str())) {
        // Excluding what is not there is harmless; asking for it is not.
        if !settings.transport.is_exclusion() {
            return Err(Error::Bootstrap(format!(
                "transport {unknown:?} was asked for (RINGWORLD_TRANSPORT), but this program has only {}; \
                 enable the cargo feature of that name, or choose another",
                names.join(", ")
            )));
        }
    }
    let allowed: Vec<_> = names.iter().copied().filter(|name| settings.transport.allows(name)).collect();
    if allowed.is_empty() {
        return Err(Error::Bootstrap(format!(
            "RINGWORLD_TRANSPORT leaves no transport; this program has {}",
            names.join(", ")
        )));
    }
    Ok(allowed)
}

/// Which ranks share memory, by what all of them have published: settings may differ from rank to rank.
pub(crate) fn memory_of(members: &[Member]) -> Memory {
    let offers = |member: &Member| member.addresses.iter().any(|(name, _)| name == "shm");
    if members.iter().all(offers) { Memory::OfHosts } else { Memory::Nobody }
}

/// Open transports, and for each rank the one that reaches it.
pub(crate) struct Opened {
    pub(crate) transports: Vec<Box<dyn Transport>>,
    /// For each rank a place in `transports`; `None` for this rank.
    pub(crate) routes: Vec<Option<usize>>,
    /// The same in words.
    pub(crate) reasons: Vec<Route>,
}

impl Prepared {
    /// Where this rank is reached, per transport.
    pub(crate) fn addresses(&self) -> Vec<(String, Vec<u8>)> {
        self.bound.iter().map(|bound| (bound.name.to_owned(), bound.address.as_bytes().to_vec())).collect()
    }

    /// Makes all members, of which this rank is one, known to the transports. `gone` says whether a rank has left
    /// already, and is asked when nobody is at its address.
    ///
    /// # Errors
    ///
    /// When a member that has not left shares no transport with this rank.
    pub(crate) fn open(self, own: usize, members: &[Member], gone: impl Fn(usize) -> bool) -> Result<Opened> {
        let Self { bound, closed } = self;
        let mut transports: Vec<(&'static str, Box<dyn Transport>)> = Vec::with_capacity(bound.len());
        for Bound { name, open, .. } in bound {
            transports.push((name, open(own, members.len())?));
        }
        let mut routes = Vec::with_capacity(members.len());
        let mut reasons = Vec::with_capacity(members.len());
        for (rank, member) in members.iter().enumerate() {
            if rank == own {
                routes.push(None);
                reasons.push(Route::to_self());
                continue;
            }
            let who = format!("rank {rank} on {}", member.host);
            let (index, route) = route(rank, &who, &mut transports, &closed, &member.addresses, &gone)?;
            tracing::debug!("{who} is reached by {} ({})", route.transport, route.why);
            routes.push(Some(index));
            reasons.push(route);
        }
        let transports = transports.into_iter().map(|(_, transport)| transport).collect();
        Ok(Opened { transports, routes, reasons }.without_idle())
    }
}

impl Opened {
    /// Without the transports that reach nobody: nobody reaches this rank by them either, since both ends of a pair
    /// choose alike, and each would be asked at every poll whether something has come.
    fn without_idle(mut self) -> Self {
        let mut index = 0;
        while index < self.transports.len() {
            if self.routes.contains(&Some(index)) {
                index += 1;
                continue;
            }
            self.transports.remove(index).abort();
            for route in self.routes.iter_mut().flatten() {
                *route -= usize::from(*route > index);
            }
        }
        self
    }
}

/// One transport of this program, as `ringworld info` shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransportReport {
    /// As in `RINGWORLD_TRANSPORT`.
    pub name: &'static str,
    /// Whether a rank started here and now would open it.
    pub usable: bool,
    /// Why, or why not.
    pub verdict: String,
    /// What there is of it on this host, a line each.
    pub details: Vec<String>,
}

/// What a rank started here and now could use, best first: the answer of the same code that opens transports.
///
/// # Errors
///
/// When the settings of the environment make no sense.
///
/// ```
/// for transport in ringworld::available_transports()? {
///     println!("{}: {}", transport.name, transport.verdict);
/// }
/// # Ok::<(), ringworld::Error>(())
/// ```
pub fn available_transports() -> Result<Vec<TransportReport>> {
    let settings = Settings::from_env().map_err(|error| Error::Bootstrap(error.to_string()))?;
    Ok(compiled_in().iter().map(|name| report(name, &settings)).collect())
}

fn report(name: &'static str, settings: &Settings) -> TransportReport {
    if !settings.transport.allows(name) {
        let verdict = EXCLUDED.to_owned();
        return TransportReport { name, usable: false, verdict, details: Vec::new() };
    }
    match name {
        #[cfg(feature = "shm")]
        "shm" => shm::report(settings),
        #[cfg(feature = "ibverbs")]
        "ibverbs" => ibverbs::report(settings),
        #[cfg(feature = "tcp")]
        "tcp" => tcp::report(settings),
        _ => TransportReport { name, usable: true, verdict: "usable".into(), details: Vec::new() },
    }
}

#[cfg(feature = "shm")]
mod shm {
    use ringworld_bootstrap::Settings;
    use ringworld_collectives::Tuning;
    use ringworld_transport::Transport as _;
    use ringworld_transport_shm::{BindError, Config, Shm};

    use super::{Bound, Place, TransportReport};
    use crate::{Error, Result};

    /// Makes this rank's part of the memory before it knows its rank. `Err` says why there is none, so that another
    /// transport may serve; what was asked for by name and cannot be is an error.
    pub(super) fn open(settings: &Settings, place: &Place<'_>) -> Result<std::result::Result<Bound, String>> {
        let mut config = Config::new(0, 1, place.job);
        config.secret = settings.secret.clone();
        config.socket_dir = settings.shm_socket_dir.clone();
        let refused = |error: BindError| {
            let folder = match &settings.shm_socket_dir {
                Some(_) => "set RINGWORLD_SHM_SOCKET_DIR to a folder that this user can write, or ",
                None => "",
            };
            Error::Bootstrap(format!(
                "shared memory cannot be used: {error}; {folder}RINGWORLD_TRANSPORT=^shm does without it"
            ))
        };
        // Whoever asks for a folder wants shared memory.
        let may_go_without = settings.shm_socket_dir.is_none()
            && (settings.transport.is_exclusion() || settings.transport.names().is_empty());
        match Shm::bind(config) {
            Ok(shm) => {
                let address = shm.address();
                let open = move |rank, size| {
                    let refused = |error| Error::Bootstrap(format!("shared memory cannot be used: {error}"));
                    Ok(Box::new(shm.with_rank(rank, size).map_err(refused)?) as _)
                };
                Ok(Ok(Bound { name: "shm", address, open: Box::new(open) }))
            }
            Err(error) if may_go_without => {
                tracing::warn!("shared memory is not used: {error}");
                Ok(Err(error.to_string()))
            }
            Err(error) => Err(refused(error)),
        }
    }

    /// Whether this process can share memory, found out by making some.
    pub(super) fn report(settings: &Settings) -> TransportReport {
        let mut config = Config::new(0, 1, 0);
        config.socket_dir = settings.shm_socket_dir.clone();
        let among = match &settings.shm_socket_dir {
            Some(folder) => format!("that share the folder {} (RINGWORLD_SHM_SOCKET_DIR)", folder.display()),
            None => "and network namespace".to_owned(),
        };
        let (usable, verdict) = match Shm::bind(config) {
            Ok(_) => (true, format!("usable, between ranks of one host {among}")),
            Err(error) => (false, format!("cannot be used: {error}")),
        };
        let mut details = Shm::layout();
        let most = Tuning::default().in_shared_memory(true).show_ranks;
        details.push(format!(
            "boards serve communicators of up to {most} ranks that all run on one host; others send messages"
        ));
        TransportReport { name: "shm", usable, verdict, details }
    }
}

#[cfg(feature = "tcp")]
mod tcp {
    use ringworld_bootstrap::Settings;
    use ringworld_transport::Transport as _;
    use ringworld_transport_tcp::{Config, Tcp};
    use rustix::net::{AddressFamily, SocketType, sockopt};

    use super::{Bound, Place, TransportReport};
    use crate::{Error, Result};

    /// What the sockets of a rank would be like, found out by asking one.
    pub(super) fn report(settings: &Settings) -> TransportReport {
        let kernel = |name: &str| {
            let path = format!("/proc/sys/net/ipv4/{name}");
            std::fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
        };
        let asked = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
        let accepts =
            |name: &str| asked.as_ref().is_ok_and(|socket| sockopt::set_tcp_congestion(socket, name).is_ok());
        let offered = kernel("tcp_available_congestion_control");
        let (usable, chosen) = match &settings.tcp_congestion {
            Some(name) if accepts(name) => (true, format!("{name} (RINGWORLD_TCP_CONGESTION)")),
            Some(name) => (false, format!("{name} (RINGWORLD_TCP_CONGESTION), which the kernel refuses")),
            None => match Config::CONGESTION.into_iter().find(|name| accepts(name)) {
                Some(name) => (true, format!("{name} (by default)")),
                None => (true, format!("{} (the system's)", kernel("tcp_congestion_control"))),
            },
        };
        let verdict = if usable { "usable" } else { "cannot be opened" }.to_owned();
        let details = vec![format!("congestion control {chosen}; the kernel offers {offered}")];
        TransportReport { name: "tcp", usable, verdict, details }
    }

    fn refused(error: impl std::fmt::Display) -> Error {
        Error::Bootstrap(format!("the TCP transport cannot be opened: {error}"))
    }

    /// Listens before this process knows its rank.
    pub(super) fn listen(settings: &Settings, place: &Place<'_>) -> Result<Bound> {
        let mut config = Config::new(0, 1, place.job, place.local.to_vec());
        config.silence = place.peer_timeout;
        config.connect_timeout = settings.timeout;
        config.ports = settings.tcp_ports.clone();
        config.advertise = settings.advertise.clone();
        config.secret = settings.secret.clone();
        config.congestion = settings.tcp_congestion.clone();
        if let Some(lanes) = settings.tcp_lanes {
            config.lanes = lanes;
        }
        config.spread = settings.tcp_spread;
        config.encrypt = settings.encrypt;
        if let Some(bytes) = settings.tcp_socket_buffer {
            config.socket_buffer = Some(bytes);
        }
        let tcp = Tcp::bind(config).map_err(refused)?;
        let address = tcp.address();
        let open = |rank, size| Ok(Box::new(tcp.with_rank(rank, size).map_err(refused)?) as _);
        Ok(Bound { name: "tcp", address, open: Box::new(open) })
    }
}

#[cfg(feature = "ibverbs")]
mod ibverbs {
    use std::net::IpAddr;

    use ringworld_bootstrap::{Settings, interfaces};
    use ringworld_transport::Transport as _;
    use ringworld_transport_ibverbs::{Config, Ibverbs, OpenError, available_devices};

    use super::{Bound, Place, TransportReport};
    use crate::{Error, Result};

    fn refused(error: impl std::fmt::Display) -> Error {
        Error::Bootstrap(format!("the verbs transport cannot be opened: {error}"))
    }

    fn config(settings: &Settings, place: &Place<'_>) -> Result<Config> {
        let mut config = Config::new(0, 1, place.job, place.local.to_vec());
        config.silence = place.peer_timeout;
        config.connect_timeout = settings.timeout;
        config.ports = settings.tcp_ports.clone();
        config.advertise = settings.advertise.clone();
        config.secret = settings.secret.clone();
        config.gid_index = settings.ib_gid_index.map(u32::from);
        if let Some(pairs) = settings.ib_queue_pairs {
            config.queue_pairs = pairs;
        }
        if let Some(devices) = &settings.ib_hca {
            let parsed = devices.parse();
            config.devices = Some(parsed.map_err(|error| {
                Error::Bootstrap(format!("RINGWORLD_IB_HCA (or NCCL_IB_HCA) is {devices:?}: {error}"))
            })?);
        }
        Ok(config)
    }

    /// Whether somebody wants verbs in particular, and should be told that they cannot be had.
    fn asked_for(settings: &Settings) -> bool {
        let by_name = !settings.transport.is_exclusion() && !settings.transport.names().is_empty();
        by_name || settings.ib_hca.is_some() || settings.ib_gid_index.is_some()
    }

    /// Opens the devices before this process knows its rank. Without devices, or with none that works, `Err` says
    /// why, so that another transport may serve; what was asked for and cannot be is an error.
    pub(super) fn open(settings: &Settings, place: &Place<'_>) -> Result<std::result::Result<Bound, String>> {
        match Ibverbs::open(config(settings, place)?) {
            Ok(verbs) => {
                let address = verbs.address();
                let open = |rank, size| Ok(Box::new(verbs.with_rank(rank, size).map_err(refused)?) as _);
                Ok(Ok(Bound { name: "ibverbs", address, open: Box::new(open) }))
            }
            Err(error) => fallback(settings, &error),
        }
    }

    fn fallback(settings: &Settings, error: &OpenError) -> Result<std::result::Result<Bound, String>> {
        match (error.is_absence(), asked_for(settings)) {
            (true, false) => tracing::debug!("verbs are not used: {error}"),
            (true, true) => tracing::warn!("verbs were asked for, and there are none here: {error}"),
            (false, false) => tracing::warn!("verbs are not used: {error}"),
            (false, true) => return Err(refused(error)),
        }
        Ok(Err(error.to_string()))
    }

    /// Every device of this host, and what would become of it.
    pub(super) fn report(settings: &Settings) -> TransportReport {
        if settings.encrypt {
            let verdict = "not used: it cannot encrypt what travels (RINGWORLD_ENCRYPT)".to_owned();
            return TransportReport { name: "ibverbs", usable: false, verdict, details: Vec::new() };
        }
        // Without a rendezvous nobody knows which addresses lead to the others: any that would be used.
        let choice = interfaces::enumerate().ok().and_then(|all| interfaces::choose(&all, settings).ok());
        let chosen = choice.map(|choice| choice.chosen).unwrap_or_default();
        let local: Vec<IpAddr> = chosen.iter().map(|(interface, _)| interface.addr).collect();
        let place = Place { job: 0, local: &local, peer_timeout: settings.peer_timeout };
        let devices = config(settings, &place).map_err(|error| error.to_string());
        let devices =
            devices.and_then(|config| available_devices(&config).map_err(|error| error.to_string()));
        let name = "ibverbs";
        let devices = match devices {
            Ok(devices) => devices,
            Err(verdict) => return TransportReport { name, usable: false, verdict, details: Vec::new() },
        };
        let usable = devices.iter().any(|device| device.chosen);
        let verdict = if usable { "usable, to every rank that has it too" } else { "no port can be used" };
        let details = devices.iter().map(ToString::to_string).collect();
        TransportReport { name, usable, verdict: verdict.into(), details }
    }
}
