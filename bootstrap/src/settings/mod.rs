//! Settings: what the builder, the environment, schedulers and a TOML file say, as types.
//!
//! Strongest first: builder, `RINGWORLD_*`, the common names (`MASTER_NODE`, `WORLD_SIZE`, …),
//! schedulers, file. [`Settings::load`] reads no global state except the files it is pointed to, so that
//! every rule can be tested. A world is never silently of size one when any source says it is larger.
//! Neighbours: `knobs` is the table, `gather` decides who wins, `launch` which launcher is heard, `parse` reads values.

mod ancestors;
mod error;
mod gather;
mod handed;
mod knobs;
mod launch;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use ringworld_auth::Secret;

pub use error::SettingsError;
pub use handed::hand_over;
pub use knobs::{KNOBS, Knob, Strength};
pub(crate) use launch::Pmi;
pub use parse::TransportChoice;

use gather::{Gathered, Said, shown};

/// One setting as it came out, for `ringworld info`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Key of the knob.
    pub key: &'static str,
    /// The value in force; a secret is hidden.
    pub value: String,
    /// Who said so, for example `environment MASTER_NODE`, `file x.toml, key timeout` or `default`.
    pub source: String,
}

/// Everything that can be set, checked. See `docs/settings.md` and [`KNOBS`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Host or address of the rendezvous, without port and brackets.
    pub master_node: Option<String>,
    /// Further hosts where who comes later may find an elastic world.
    pub other_nodes: Vec<String>,
    /// Port of the rendezvous.
    pub master_port: u16,
    /// Number of hosts.
    pub num_nodes: Option<usize>,
    /// Number of ranks, worked out from the number of hosts if need be; `None` when nothing says.
    pub world_size: Option<usize>,
    /// This process's rank, if it was given.
    pub rank: Option<usize>,
    /// This process's place on its host, if it was given.
    pub local_rank: Option<usize>,
    /// Number of ranks on this host, if it was given.
    pub local_world_size: Option<usize>,
    /// How long rendezvous and connection set-up may take.
    pub timeout: Duration,
    /// Silence after which a rank is declared dead; `None`: never, for a rank that a debugger has stopped.
    pub peer_timeout: Option<Duration>,
    /// How long one operation may wait; `None` for ever.
    pub op_timeout: Option<Duration>,
    /// After how long a call that waits is explained by a line; `None`: never.
    pub stall_warning: Option<Duration>,
    /// SIGUSR1 has a rank say what it does.
    pub status_signal: bool,
    /// What a rank has counted is printed at the end (`1`), or written to a file in this folder.
    pub statistics: Option<String>,
    /// Each rank writes a trace of its calls to a file in this folder.
    pub trace: Option<PathBuf>,
    /// The most bytes of such a file.
    pub trace_size: usize,
    /// The world may go on after a failure, and admits newcomers.
    pub elastic: bool,
    /// The fewest ranks that a later generation may have.
    pub min_ranks: usize,
    /// The most ranks that a later generation may have.
    pub max_ranks: Option<usize>,
    /// How long a next generation may take.
    pub recover_timeout: Duration,
    /// This process was started again, and joins a world that runs.
    pub rejoin: bool,
    /// Interfaces to use.
    pub if_include: Vec<String>,
    /// Interfaces not to use.
    pub if_exclude: Vec<String>,
    /// Interfaces in NCCL's syntax, heard when the two above are empty.
    pub nccl_socket_ifname: Option<String>,
    /// Transports to use.
    pub transport: TransportChoice,
    /// InfiniBand devices.
    pub ib_hca: Option<String>,
    /// Entry of the GID table.
    pub ib_gid_index: Option<u8>,
    /// Queue pairs per peer, from 1 to 16.
    pub ib_queue_pairs: Option<usize>,
    /// The secret of the job, empty if there is none.
    pub secret: Secret,
    /// Name of the job, given or from the launcher.
    pub job: Option<String>,
    /// Largest eager message, in bytes.
    pub eager_limit: Option<usize>,
    /// Unexpected bytes allowed per peer.
    pub window: Option<usize>,
    /// Segment of pipelined collectives, in bytes.
    pub segment: Option<usize>,
    /// Algorithms that collectives must use, such as `all-reduce/ring`.
    pub algorithms: Vec<String>,
    /// Reductions combine operands strictly from rank 0 upwards.
    pub reproducible: bool,
    /// How long to poll before sleeping.
    pub spin: Option<Duration>,
    /// The data of TCP connections is encrypted.
    pub encrypt: bool,
    /// TCP connections per peer.
    pub tcp_lanes: Option<usize>,
    /// TCP connections take turns among the networks of both hosts.
    pub tcp_spread: bool,
    /// Ports at which ranks wait for connections of other ranks.
    pub tcp_ports: Option<RangeInclusive<u16>>,
    /// Addresses that other ranks are told instead of those of the interfaces.
    pub advertise: Vec<IpAddr>,
    /// TCP socket buffers, in bytes.
    pub tcp_socket_buffer: Option<usize>,
    /// TCP congestion control.
    pub tcp_congestion: Option<String>,
    /// The folder of the sockets for shared memory.
    pub shm_socket_dir: Option<PathBuf>,
    /// Somebody else serves the rendezvous.
    pub launcher: bool,
    /// Process whose end ends this one.
    pub parent_pid: Option<u32>,
    /// What is logged.
    pub log: Option<String>,
    pub(crate) sources: Vec<Source>,
    pub(crate) warnings: Vec<String>,
    /// The descriptor that the secret came by.
    pub(crate) secret_fd: Option<RawFd>,
    /// The launcher's process manager, where nothing else says where the ranks meet.
    pub(crate) pmi: Option<Pmi>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            master_node: None,
            other_nodes: Vec::new(),
            master_port: 29500,
            num_nodes: None,
            world_size: None,
            rank: None,
            local_rank: None,
            local_world_size: None,
            timeout: Duration::from_secs(60),
            peer_timeout: Some(Duration::from_secs(20)),
            op_timeout: None,
            stall_warning: Some(Duration::from_secs(30)),
            status_signal: true,
            statistics: None,
            trace: None,
            trace_size: 4 << 20,
            elastic: false,
            min_ranks: 1,
            max_ranks: None,
            recover_timeout: Duration::from_secs(60),
            rejoin: false,
            if_include: Vec::new(),
            if_exclude: Vec::new(),
            nccl_socket_ifname: None,
            transport: TransportChoice::Any,
            ib_hca: None,
            ib_gid_index: None,
            ib_queue_pairs: None,
            secret: Secret::default(),
            job: None,
            eager_limit: None,
            window: None,
            segment: None,
            algorithms: Vec::new(),
            reproducible: false,
            spin: None,
            tcp_lanes: None,
            encrypt: false,
            tcp_spread: false,
            tcp_ports: None,
            advertise: Vec::new(),
            tcp_socket_buffer: None,
            tcp_congestion: None,
            shm_socket_dir: None,
            launcher: false,
            parent_pid: None,
            log: None,
            sources: Vec::new(),
            warnings: Vec::new(),
            secret_fd: None,
            pmi: None,
        }
    }
}

impl Settings {
    /// Reads the environment of this process and the file that it names.
    ///
    /// # Errors
    ///
    /// See [`SettingsError`].
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::from_env_with(&[])
    }

    /// Like [`Settings::from_env`], with keys set in code that win over everything else.
    ///
    /// # Errors
    ///
    /// See [`SettingsError`].
    pub fn from_env_with(overrides: &[(String, String)]) -> Result<Self, SettingsError> {
        let settings =
            Self::put_together(overrides, &text(std::env::vars_os())?, ancestors::proxy().as_deref())?;
        if let Some(number) = settings.secret_fd {
            handed::keep(number, &settings.secret);
        }
        Ok(settings)
    }

    /// Like [`Settings::load`], from an environment as the system has it, in which names and values need not be UTF-8.
    ///
    /// # Errors
    ///
    /// See [`SettingsError`]; also when a variable that is a setting is not UTF-8.
    ///
    /// ```
    /// use ringworld_bootstrap::Settings;
    /// let settings = Settings::load_os(&[], [("WORLD_SIZE".into(), "1".into())])?;
    /// assert_eq!(settings.size(), Some(1));
    /// # Ok::<(), ringworld_bootstrap::SettingsError>(())
    /// ```
    pub fn load_os(
        overrides: &[(String, String)],
        env: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, SettingsError> {
        Self::load(overrides, &text(env)?)
    }

    /// Puts the settings together from `overrides` (key and value) and an environment.
    ///
    /// # Errors
    ///
    /// See [`SettingsError`].
    ///
    /// ```
    /// use ringworld_bootstrap::Settings;
    /// let env = [("MASTER_NODE", "n0"), ("NUM_NODES", "4")].map(|(k, v)| (k.to_string(), v.to_string()));
    /// let settings = Settings::load(&[], &env.into())?;
    /// assert_eq!(settings.size(), Some(4));
    /// # Ok::<(), ringworld_bootstrap::SettingsError>(())
    /// ```
    pub fn load(
        overrides: &[(String, String)],
        env: &BTreeMap<String, String>,
    ) -> Result<Self, SettingsError> {
        Self::put_together(overrides, env, None)
    }

    fn put_together(
        overrides: &[(String, String)],
        env: &BTreeMap<String, String>,
        proxy: Option<&str>,
    ) -> Result<Self, SettingsError> {
        let gathered = Gathered::collect(overrides, env, proxy)?;
        let mut reader = Reader { gathered, sources: Vec::new() };
        let d = Self::default();
        let any = |text: &str| Ok::<_, String>(text.to_string());
        let list = |text: &str| Ok::<_, String>(parse::list(text));
        let micros = |text: &str| {
            parse::number::<u32>(text, "whole microseconds, 0 to 4294967295")
                .map(|micros| Duration::from_micros(micros.into()))
        };
        let r = &mut reader;
        let mut settings = Self {
            master_node: r.read("master_node", any)?,
            other_nodes: std::mem::take(&mut r.gathered.other_nodes),
            master_port: r.read("master_port", port)?.unwrap_or(d.master_port),
            num_nodes: r.read("num_nodes", parse::count)?,
            world_size: r.read("world_size", parse::count)?,
            rank: r.read("rank", |text| parse::number(text, "a rank, 0 or more"))?,
            local_rank: r.read("local_rank", |text| parse::number(text, "a rank, 0 or more"))?,
            local_world_size: r.read("local_world_size", parse::count)?,
            timeout: r.read("timeout", parse::positive_duration)?.unwrap_or(d.timeout),
            peer_timeout: r.read("peer_timeout", parse::none_or_duration)?.unwrap_or(d.peer_timeout),
            op_timeout: r.read("op_timeout", parse::none_or_duration)?.flatten(),
            stall_warning: r.read("stall_warning", parse::none_or_duration)?.unwrap_or(d.stall_warning),
            status_signal: r.read("status_signal", parse::flag)?.unwrap_or(d.status_signal),
            statistics: r.read("statistics", any)?,
            trace: r.read("trace", any)?.map(PathBuf::from),
            trace_size: r.read("trace_size", parse::size)?.unwrap_or(d.trace_size),
            elastic: r.read("elastic", parse::flag)?.unwrap_or(false),
            min_ranks: r.read("min_ranks", parse::count)?.unwrap_or(d.min_ranks),
            max_ranks: r.read("max_ranks", parse::count)?,
            recover_timeout: r
                .read("recover_timeout", parse::positive_duration)?
                .unwrap_or(d.recover_timeout),
            rejoin: r.read("rejoin", parse::flag)?.unwrap_or(false),
            if_include: r.read("if_include", list)?.unwrap_or_default(),
            if_exclude: r.read("if_exclude", list)?.unwrap_or_default(),
            nccl_socket_ifname: r.read("nccl_socket_ifname", any)?,
            transport: r.read("transport", str::parse)?.unwrap_or_default(),
            ib_hca: r.read("ib_hca", any)?,
            ib_gid_index: r.read("ib_gid_index", gid_index)?.flatten(),
            ib_queue_pairs: r.read("ib_queue_pairs", queue_pairs)?,
            secret: Secret::default(),
            job: r.read("job", any)?,
            eager_limit: r.read("eager_limit", parse::size)?,
            window: r.read("window", parse::size)?,
            segment: r.read("segment", parse::size)?,
            algorithms: r.read("algorithms", list)?.unwrap_or_default(),
            reproducible: r.read("reproducible", parse::flag)?.unwrap_or(false),
            spin: r.read("spin_us", micros)?,
            tcp_lanes: r.read("tcp_lanes", parse::count)?,
            encrypt: r.read("encrypt", parse::flag)?.unwrap_or(false),
            tcp_spread: r.read("tcp_spread", parse::flag)?.unwrap_or(false),
            tcp_ports: r.read("tcp_ports", ports)?,
            advertise: r.read("advertise", addresses)?.unwrap_or_default(),
            tcp_socket_buffer: r.read("tcp_socket_buffer", parse::size)?,
            tcp_congestion: r.read("tcp_congestion", any)?,
            shm_socket_dir: r.read("shm_socket_dir", any)?.map(PathBuf::from),
            launcher: r.read("master_external", parse::flag)?.unwrap_or(false),
            parent_pid: r.read("parent_pid", |text| parse::number(text, "a process id"))?,
            log: r.read("log", any)?,
            sources: Vec::new(),
            warnings: Vec::new(),
            secret_fd: None,
            pmi: None,
        };
        r.read("config", any)?;
        let size = r.world_size()?;
        (settings.secret, settings.secret_fd) = r.secret(size.is_none_or(|(size, _)| size == 1))?;
        settings.world_size = size.map(|(size, _)| size);
        if let Some((size, strength)) = size {
            r.silence(&mut settings, size, strength)?;
        } else if let Some(why) = r.gathered.not_started.take() {
            return Err(SettingsError::Inconsistent(why));
        }
        settings.pmi = r.pmi(&settings)?;
        r.check(&settings)?;
        settings.warnings = std::mem::take(&mut reader.gathered.warnings);
        settings.sources = reader.into_sources();
        Ok(settings)
    }

    /// Number of ranks of the world; `None` when nothing was set, which means a world of one.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        self.world_size
    }

    /// What is odd about the settings and no error, such as a secret that everybody can read; to be logged by whoever
    /// has loaded them.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The name of the job whose `count` processes the launcher in this environment has started, if it says so: what
    /// [`Settings::job`] is where nobody gives it.
    ///
    /// ```
    /// use ringworld_bootstrap::Settings;
    /// let step = [("SLURM_JOB_ID", "42"), ("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "3")];
    /// let env = step.map(|(name, value)| (name.to_string(), value.to_string())).into();
    /// assert_eq!(Settings::job_of_launcher(&env, 3).as_deref(), Some("slurm-42.0"));
    /// assert_eq!(Settings::job_of_launcher(&env, 2), None);
    /// ```
    #[must_use]
    pub fn job_of_launcher(env: &BTreeMap<String, String>, count: usize) -> Option<String> {
        launch::Launch::of(env, None).identity(count).map(|identity| identity.job)
    }

    /// Every knob with its value and who set it.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
}

/// The variables that are text. One that is a setting and is not must not be passed over: it may be the secret.
fn text(
    env: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<BTreeMap<String, String>, SettingsError> {
    let mut all = BTreeMap::new();
    for (name, value) in env {
        // No setting has such a name.
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => _ = all.insert(name, value),
            Err(_) if !knobs::is_read(&name) => {}
            Err(value) => {
                let secret = name == "RINGWORLD_SECRET";
                return Err(SettingsError::Invalid {
                    value: shown(if secret { "secret" } else { "" }, &value.to_string_lossy()),
                    origin: format!("environment {name}"),
                    expected: "expected text in UTF-8; a secret of any bytes may stand in a file, which \
                               RINGWORLD_SECRET_FILE names"
                        .into(),
                });
            }
        }
    }
    Ok(all)
}

fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a port from 1 to 65535".into()),
        Ok(port) => Ok(port),
    }
}

fn descriptor(text: &str) -> Result<RawFd, String> {
    let expected = "a descriptor's number, as `ringworld run` sets it";
    let number = parse::number(text, expected)?;
    if number >= 0 { Ok(number) } else { Err(format!("expected {expected}")) }
}

/// One port, or the first and the last of several.
fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let expected = || "expected ports from 1 to 65535, such as 30000-30100 or 30000".to_string();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ends = port(first.trim()).and_then(|first| Ok((first, port(last.trim())?)));
    let (first, last) = ends.map_err(|_| expected())?;
    if first <= last { Ok(first..=last) } else { Err(expected()) }
}

fn addresses(text: &str) -> Result<Vec<IpAddr>, String> {
    let address = |item: String| {
        let parsed = item.parse().ok().filter(|ip: &IpAddr| !ip.is_unspecified() && !ip.is_multicast());
        parsed.ok_or_else(|| {
            format!("expected IP addresses that others can connect to, with commas between; {item:?} is none")
        })
    };
    parse::list(text).into_iter().map(address).collect()
}

/// NCCL's word for "find one" is -1.
fn gid_index(text: &str) -> Result<Option<u8>, String> {
    match text {
        "-1" => Ok(None),
        text => parse::number(text, "an index from 0 to 255, or -1").map(Some),
    }
}

fn queue_pairs(text: &str) -> Result<usize, String> {
    let expected = "a number of queue pairs from 1 to 16";
    let given = parse::number(text, expected)?;
    if (1..=16).contains(&given) { Ok(given) } else { Err(format!("expected {expected}")) }
}

/// Turns winning words into values and remembers where they came from.
struct Reader {
    gathered: Gathered,
    sources: Vec<Source>,
}

impl Reader {
    fn read<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, SettingsError> {
        let Some(said) = self.gathered.winner(key)? else { return Ok(None) };
        let value = parse(&said.value).map_err(|expected| invalid(key, said, expected))?;
        self.sources.push(Source { key, value: shown(key, &said.value), source: said.source.clone() });
        Ok(Some(value))
    }

    /// The secret, whichever way of giving it speaks loudest, and the descriptor if it came by one. A process that is
    /// `alone` needs none from a launcher, whose world it then is not of.
    fn secret(&mut self, alone: bool) -> Result<(Secret, Option<RawFd>), SettingsError> {
        let mut given = Vec::new();
        for key in ["secret", "secret_file", "secret_fd"] {
            given.extend(self.gathered.winner(key)?.map(|said| (key, said.clone())));
        }
        given.sort_by_key(|(_, said)| std::cmp::Reverse(said.strength));
        let Some((key, loudest)) = given.first() else { return Ok((Secret::default(), None)) };
        if let Some((_, other)) = given.get(1).filter(|(_, other)| other.strength == loudest.strength) {
            return Err(SettingsError::Inconsistent(format!(
                "{} and {} are both set; keep only one of them",
                loudest.source, other.source
            )));
        }
        match *key {
            "secret" => {
                let text = self.read("secret", |text| Ok(text.to_string()))?.unwrap_or_default();
                Ok((Secret::new(text.into_bytes()), None))
            }
            "secret_file" => Ok((self.secret_in_file(loudest)?, None)),
            _ => {
                let number = self.read("secret_fd", descriptor)?.unwrap_or_default();
                match handed::read(number) {
                    Ok(secret) => Ok((secret, Some(number))),
                    Err(_) if alone => Ok((Secret::default(), None)),
                    Err(why) => Err(invalid("secret_fd", loudest, why)),
                }
            }
        }
    }

    fn secret_in_file(&mut self, said: &Said) -> Result<Secret, SettingsError> {
        let path = self.read("secret_file", |text| Ok(text.to_string()))?.unwrap_or_default();
        let unusable =
            |reason: String| SettingsError::File { origin: said.source.clone(), path: path.clone(), reason };
        let bytes = std::fs::read(&path).map_err(|error| unusable(error.to_string()))?;
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return Err(unusable("it is empty, and should hold the job's secret".into()));
        }
        self.gathered.warn_of_readers(&path, "is the job's secret");
        Ok(Secret::new(bytes.to_vec()))
    }

    /// The number of ranks, and how strongly that is said: stated, or else hosts times ranks per host. A size that is
    /// stated gives way to nothing but hosts *and* ranks per host that are both said more strongly.
    fn world_size(&mut self) -> Result<Option<(usize, Strength)>, SettingsError> {
        let stated = self.gathered.winner("world_size")?.cloned();
        let nodes = self.gathered.winner("num_nodes")?.cloned();
        let local = self.gathered.winner("local_world_size")?.cloned();
        let count = |said: &Said| said.value.parse::<usize>().unwrap_or(1);
        let both = nodes.as_ref().zip(local.as_ref());
        let strength = both.map(|(nodes, local)| nodes.strength.min(local.strength));
        if let Some(stated) = stated.filter(|stated| strength <= Some(stated.strength)) {
            let size = count(&stated);
            let wrong = |text: String| {
                Err(SettingsError::Inconsistent(format!(
                    "{} says that the world has {size} ranks, but {text}",
                    stated.source
                )))
            };
            if let Some(nodes) = nodes.as_ref().filter(|said| said.strength >= stated.strength)
                && size < count(nodes)
            {
                let (source, nodes) = (&nodes.source, count(nodes));
                return wrong(format!(
                    "{source} says that there are {nodes} hosts; a host has at least one rank; set WORLD_SIZE to the \
                     number of all ranks"
                ));
            }
            if let Some(local) = local.as_ref().filter(|said| said.strength >= stated.strength)
                && size < count(local)
            {
                let (source, local) = (&local.source, count(local));
                return wrong(format!("{source} says that this host alone has {local}; unset one of them"));
            }
            // What launchers count need not be the same on every host.
            if let Some((nodes, local)) = both
                && strength == Some(stated.strength)
                && stated.strength != Strength::Scheduler
                && count(nodes).checked_mul(count(local)) != Some(size)
            {
                return wrong(format!(
                    "{} says {} hosts and {} says {} ranks on each; unset one of them (the number of hosts, if they \
                     differ)",
                    nodes.source,
                    count(nodes),
                    local.source,
                    count(local)
                ));
            }
            return Ok(Some((size, stated.strength)));
        }
        let (source, nodes, of) = match (&nodes, &local) {
            (Some(nodes), _) => (nodes.source.clone(), count(nodes), strength.unwrap_or(nodes.strength)),
            (None, Some(local)) => (local.source.clone(), 1, local.strength),
            (None, None) => return Ok(None),
        };
        let per_node = local.as_ref().map_or(1, count);
        let size = nodes.checked_mul(per_node).ok_or_else(|| {
            SettingsError::Inconsistent(format!("{nodes} hosts with {per_node} ranks each are too many"))
        })?;
        self.sources.retain(|entry| entry.key != "world_size");
        self.sources.push(Source {
            key: "world_size",
            value: size.to_string(),
            source: format!("{source}, {per_node} per host"),
        });
        Ok(Some((size, of)))
    }

    /// Drops what a weaker source says of another world than the one of this size.
    fn silence(
        &mut self,
        settings: &mut Settings,
        size: usize,
        strength: Strength,
    ) -> Result<(), SettingsError> {
        let weaker = |key| -> Result<bool, SettingsError> {
            Ok(self.gathered.winner(key)?.is_some_and(|said| said.strength < strength))
        };
        let mut silenced = Vec::new();
        if settings.num_nodes.is_some_and(|nodes| nodes > size) && weaker("num_nodes")? {
            settings.num_nodes = None;
            silenced.push("num_nodes");
        }
        if settings.local_world_size.is_some_and(|local| local > size) && weaker("local_world_size")? {
            settings.local_world_size = None;
            silenced.push("local_world_size");
        }
        // A world of one has no ranks to choose from; in a larger one, a rank that it has not is an error.
        if size == 1 && settings.rank.is_some_and(|rank| rank > 0) && weaker("rank")? {
            settings.rank = None;
            silenced.push("rank");
        }
        if size == 1 && settings.local_rank.is_some_and(|rank| rank > 0) && weaker("local_rank")? {
            settings.local_rank = None;
            silenced.push("local_rank");
        }
        self.sources.retain(|entry| !silenced.contains(&entry.key));
        Ok(())
    }

    /// The launcher's process manager, if only that can say where the ranks meet.
    fn pmi(&self, settings: &Settings) -> Result<Option<Pmi>, SettingsError> {
        let needed = settings.master_node.is_none() && settings.world_size.is_some_and(|size| size > 1);
        let Some(offer) = self.gathered.pmi.as_ref().filter(|_| needed) else { return Ok(None) };
        let chosen = self.gathered.winner("master_port")?.filter(|said| said.strength > Strength::Default);
        offer.read(chosen.map(|_| settings.master_port)).map(Some)
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingsError> {
        let source = |key| {
            self.sources
                .iter()
                .find(|entry| entry.key == key)
                .map_or_else(|| "default".to_string(), |entry| entry.source.clone())
        };
        let wrong = |text| Err(SettingsError::Inconsistent(text));
        match (settings.world_size, &settings.master_node, settings.rank) {
            (Some(size), None, _) if size > 1 && settings.pmi.is_none() => wrong(format!(
                "the world has {size} ranks ({}), but nothing says where they meet; set MASTER_NODE to a host of \
                 the job (127.0.0.1 if all are on this one)",
                source("world_size")
            )),
            (None, Some(node), _) => wrong(format!(
                "the master is {node} ({}), but nothing says how many ranks there are; set NUM_NODES or WORLD_SIZE",
                source("master_node")
            )),
            (None, None, Some(rank)) => wrong(format!(
                "this is rank {rank} ({}), but nothing says of how many; set WORLD_SIZE and MASTER_NODE, or \
                 RINGWORLD_WORLD_SIZE=1 for a world of this process alone",
                source("rank")
            )),
            (Some(size), _, Some(rank)) if rank >= size => wrong(format!(
                "this is rank {rank} ({}), but the world has {size} ranks ({}); ranks go from 0 to {}",
                source("rank"),
                source("world_size"),
                size - 1
            )),
            _ => Ok(()),
        }?;
        if let (Some(rank), Some(size)) = (settings.local_rank, settings.local_world_size)
            && rank >= size
        {
            return wrong(format!(
                "this is local rank {rank} ({}), but this host has {size} ranks ({})",
                source("local_rank"),
                source("local_world_size")
            ));
        }
        for key in ["min_ranks", "max_ranks", "recover_timeout", "rejoin"] {
            if !settings.elastic
                && self.sources.iter().any(|entry| entry.key == key && entry.source != "default")
            {
                return wrong(format!(
                    "{key} ({}) is about worlds that go on after a failure; set RINGWORLD_ELASTIC=1 for one, or unset \
                     it",
                    source(key)
                ));
            }
        }
        if let Some(other) = settings.other_nodes.first().filter(|_| !settings.elastic) {
            return wrong(format!(
                "{} names {other} beside {}; a world meets at one host, unless it is elastic (RINGWORLD_ELASTIC=1)",
                source("master_node"),
                settings.master_node.as_deref().unwrap_or_default()
            ));
        }
        if let Some(most) = settings.max_ranks
            && most < settings.min_ranks.max(settings.world_size.unwrap_or(1))
        {
            return wrong(format!(
                "at most {most} ranks are wanted ({}), but the world begins with {} and has at least {} ({})",
                source("max_ranks"),
                settings.world_size.unwrap_or(1),
                settings.min_ranks,
                source("min_ranks")
            ));
        }
        if !settings.if_include.is_empty() && !settings.if_exclude.is_empty() {
            return wrong(format!(
                "{} and {} are both set; keep only one of them",
                source("if_include"),
                source("if_exclude")
            ));
        }
        Ok(())
    }

    fn into_sources(self) -> Vec<Source> {
        let mut said = self.sources;
        KNOBS
            .iter()
            .map(|knob| match said.iter().position(|entry| entry.key == knob.key) {
                Some(index) => said.swap_remove(index),
                None => Source { key: knob.key, value: knob.default.into(), source: "default".into() },
            })
            .collect()
    }
}

fn invalid(key: &str, said: &Said, expected: String) -> SettingsError {
    SettingsError::Invalid { origin: said.source.clone(), value: shown(key, &said.value), expected }
}
