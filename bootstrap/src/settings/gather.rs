//! Who says what about each knob, and who wins: overrides, environment, schedulers, file.
//!
//! The strongest source wins; two of the same strength that disagree are an error that names both, since
//! no order between them could be guessed. Neighbours: `knobs` has the names, `mod` gives the types.

use std::collections::BTreeMap;

use super::error::SettingsError;
use super::knobs::{self, KNOBS, Knob, RESERVED, Strength};
use super::launch::{self, Launch, PmiOffer};
use super::parse;

/// One source's word on one knob.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) strength: Strength,
    pub(super) source: String,
    pub(super) value: String,
}

/// The winning word per key.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    said: BTreeMap<&'static str, Vec<Said>>,
    /// Why a scheduler does not say how large the world is, where it should.
    pub(super) not_started: Option<String>,
    /// The launcher's process manager, which knows where the ranks meet.
    pub(super) pmi: Option<PmiOffer>,
    /// Hosts of the rendezvous behind the first.
    pub(super) other_nodes: Vec<String>,
    /// What is odd and no error.
    pub(super) warnings: Vec<String>,
}

impl Gathered {
    /// Collects everything that is said, and refuses names that nobody knows.
    pub(super) fn collect(
        overrides: &[(String, String)],
        env: &BTreeMap<String, String>,
        proxy: Option<&str>,
    ) -> Result<Self, SettingsError> {
        let mut gathered = Self::default();
        gathered.overrides(overrides)?;
        gathered.environment(env)?;
        if let Some(config) = gathered.winner("config")?.cloned() {
            gathered.file(&config)?;
        }
        gathered.tuning(env);
        let external = gathered.winner("master_external")?;
        let launched = gathered.winner("parent_pid")?.is_some()
            || external.is_some_and(|said| parse::flag(&said.value) == Ok(true));
        // What a scheduler says inside a launcher's rank describes the launcher.
        if !launched {
            gathered.launch(&Launch::of(env, proxy))?;
        }
        gathered.port_inside_node()?;
        Ok(gathered)
    }

    /// How many ranks there are, by those who are stronger than launchers: as stated, or hosts times ranks per host.
    fn stated_size(&self) -> Result<Option<usize>, SettingsError> {
        let read = |key| -> Result<Option<usize>, SettingsError> {
            let said = self.winner(key)?.filter(|said| said.strength > Strength::Scheduler);
            Ok(said.and_then(|said| parse::count(&said.value).ok()))
        };
        let product = match (read("num_nodes")?, read("local_world_size")?) {
            (Some(nodes), Some(local)) => nodes.checked_mul(local),
            _ => None,
        };
        Ok(read("world_size")?.or(product))
    }

    /// Hears the launcher, unless what it has started is not this world; then none of its words describes a rank of it.
    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), SettingsError> {
        let stated = self.stated_size()?;
        let another = match (stated, launch.size()) {
            (Some(stated), Some(size)) => stated != size,
            (stated, None) => stated == Some(1),
            (None, Some(_)) => false,
        };
        if another {
            tracing::info!(
                "the variables of the launcher are not read: the world is not what it has started"
            );
        } else {
            self.schedulers(launch)?;
            self.pmi = launch.pmi();
        }
        if let Some(identity) = stated.or(launch.size()).and_then(|size| launch.identity(size)) {
            for (key, source, value) in [
                ("job", identity.source, identity.job),
                ("master_port", identity.port_source, identity.port.to_string()),
            ] {
                self.say_key(key, Strength::Default, source, &value);
            }
        }
        self.not_started = launch.not_started();
        Ok(())
    }

    /// The strongest word on `key`.
    pub(super) fn winner(&self, key: &'static str) -> Result<Option<&Said>, SettingsError> {
        let Some(all) = self.said.get(key) else { return Ok(None) };
        let Some(best) = all.iter().max_by_key(|said| said.strength) else { return Ok(None) };
        for other in all {
            if other.value != best.value {
                if other.strength == best.strength {
                    return Err(SettingsError::Conflict {
                        key,
                        first: best.source.clone(),
                        first_value: shown(key, &best.value),
                        second: other.source.clone(),
                        second_value: shown(key, &other.value),
                    });
                }
                tracing::info!(
                    "{}: {} says {}, which wins over {} of {}",
                    key,
                    best.source,
                    shown(key, &best.value),
                    shown(key, &other.value),
                    other.source
                );
            }
        }
        Ok(Some(best))
    }

    fn say(&mut self, knob: &'static Knob, strength: Strength, source: String, value: &str) {
        let value = value.trim_ascii().to_string();
        self.said.entry(knob.key).or_default().push(Said { strength, source, value });
    }

    fn say_key(&mut self, key: &str, strength: Strength, source: String, value: &str) {
        if let Some(knob) = knobs::find(key) {
            self.say(knob, strength, source, value);
        }
    }

    fn overrides(&mut self, overrides: &[(String, String)]) -> Result<(), SettingsError> {
        let mut last: BTreeMap<&'static str, (&'static Knob, &str)> = BTreeMap::new();
        for (key, value) in overrides {
            let knob = knobs::find(key).ok_or_else(|| SettingsError::UnknownKey {
                origin: "the builder".into(),
                key: key.clone(),
                nearest: knobs::nearest(key).into(),
            })?;
            // In code, the later call corrects the earlier one.
            last.insert(knob.key, (knob, value));
        }
        for (knob, value) in last.into_values() {
            refuse_empty_secret(knob, value, || format!("builder {}", knob.key))?;
            self.say(knob, Strength::Builder, format!("builder {}", knob.key), value);
        }
        Ok(())
    }

    fn environment(&mut self, env: &BTreeMap<String, String>) -> Result<(), SettingsError> {
        for (name, value) in env.iter().filter(|(name, _)| name.starts_with("RINGWORLD_")) {
            if !is_service_name(name) && !is_service_link(name, value) {
                self.known(name)?;
            }
        }
        for knob in KNOBS {
            let own = knob.env();
            if let Some(value) = env.get(&own).filter(|value| !is_service_link(&own, value)) {
                refuse_empty_secret(knob, value, || format!("environment {own}"))?;
                if !value.trim_ascii().is_empty() {
                    self.say(knob, Strength::Ringworld, format!("environment {own}"), value);
                }
            }
            for alias in knob.aliases {
                let torchs = *alias == "MASTER_PORT" && launch::port_is_torchs(env);
                let said = env.get(*alias).filter(|value| !value.trim_ascii().is_empty() && !torchs);
                if let Some(value) = said.filter(|value| !is_service_link(alias, value)) {
                    self.say(knob, Strength::Common, format!("environment {alias}"), value);
                }
            }
        }
        Ok(())
    }

    /// Refuses a name that is nearly a setting's; any other is somebody else's, such as a module's `RINGWORLD_ROOT`, or
    /// a later version's, and worth a warning.
    fn known(&mut self, name: &str) -> Result<(), SettingsError> {
        let key = name["RINGWORLD_".len()..].to_ascii_lowercase();
        let known = knobs::find(&key).is_some_and(|knob| knob.env() == name);
        if known || RESERVED.iter().any(|prefix| name.starts_with(prefix)) {
            return Ok(());
        }
        let nearest = knobs::nearest(&key);
        // Who means a secret must not run without one.
        if knobs::nearly(&key, nearest) || key.contains("secret") {
            return Err(SettingsError::UnknownKey {
                origin: "the environment".into(),
                key: name.into(),
                nearest: format!("RINGWORLD_{}", nearest.to_ascii_uppercase()),
            });
        }
        self.warnings.push(format!(
            "the environment sets {name}, which is no setting of this version and does nothing; unset it, or see \
             docs/settings.md for the settings there are"
        ));
        Ok(())
    }

    /// What tuned clusters say about devices and interfaces, whoever has started this process.
    fn tuning(&mut self, env: &BTreeMap<String, String>) {
        for knob in KNOBS {
            for name in knob.schedulers.iter().filter(|name| name.starts_with("NCCL_")) {
                if let Some(value) = env.get(*name).filter(|value| !value.trim_ascii().is_empty()) {
                    self.say(knob, Strength::Scheduler, format!("environment {name}"), value);
                }
            }
        }
    }

    fn schedulers(&mut self, launch: &Launch<'_>) -> Result<(), SettingsError> {
        if let Some(name) = launch.on_one_host() {
            let source = format!("environment {name}");
            self.say_key("master_node", Strength::Scheduler, source.clone(), "127.0.0.1");
            self.say_key("num_nodes", Strength::Scheduler, source, "1");
        }
        for knob in KNOBS {
            for name in knob.schedulers.iter().filter(|name| !name.starts_with("NCCL_")) {
                let Some(value) = launch.says(name) else { continue };
                let source = format!("environment {name}");
                if name.ends_with("NODELIST") {
                    let host = parse::first_slurm_host(value).map_err(|expected| SettingsError::Invalid {
                        origin: source.clone(),
                        value: value.into(),
                        expected,
                    })?;
                    self.say(knob, Strength::Scheduler, source, &host);
                } else if *name == "JOB_COMPLETION_INDEX" {
                    if let Some(rank) = self.kubernetes_rank(value, &source)? {
                        self.say(knob, Strength::Scheduler, source, &rank);
                    }
                } else {
                    self.say(knob, Strength::Scheduler, source, value);
                }
            }
        }
        Ok(())
    }

    /// The completion index counts pods; with several ranks per pod it is not yet a rank.
    fn kubernetes_rank(&self, index: &str, source: &str) -> Result<Option<String>, SettingsError> {
        let read = |said: Option<&Said>| said.and_then(|said| said.value.parse::<usize>().ok());
        let per_pod = read(self.winner("local_world_size")?).unwrap_or(1);
        let index: usize = index.trim_ascii().parse().map_err(|_| SettingsError::Invalid {
            origin: source.into(),
            value: index.into(),
            expected: "expected a completion index, 0 or more".into(),
        })?;
        if per_pod == 1 {
            return Ok(Some(index.to_string()));
        }
        Ok(read(self.winner("local_rank")?).map(|local| (index * per_pod + local).to_string()))
    }

    fn file(&mut self, config: &Said) -> Result<(), SettingsError> {
        let Said { source: origin, value: path, .. } = config;
        let unreadable =
            |reason: String| SettingsError::File { origin: origin.clone(), path: path.clone(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        // Not with the line itself, as the error's own text has it: that may hold a secret.
        let table: toml::Table = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            unreadable(format!("line {line}: {}", error.message()))
        })?;
        if table.contains_key("secret") {
            self.warn_of_readers(path, "holds the job's secret");
        }
        for (key, value) in &table {
            let source = format!("file {path}, key {key}");
            let knob = knobs::find(key).filter(|knob| knob.key != "config").ok_or_else(|| {
                SettingsError::UnknownKey {
                    origin: format!("file {path}"),
                    key: key.clone(),
                    nearest: knobs::nearest(key).into(),
                }
            })?;
            let value = plain(value).ok_or_else(|| SettingsError::Invalid {
                origin: source.clone(),
                // Not the value itself: a table may hold a secret.
                value: value.type_str().into(),
                expected: "expected a string, a number, a truth value, or a list of those".into(),
            })?;
            refuse_empty_secret(knob, &value, || source.clone())?;
            if !value.trim_ascii().is_empty() {
                self.say(knob, Strength::File, source, &value);
            }
        }
        Ok(())
    }

    /// Warns if others than its owner can read a file.
    pub(super) fn warn_of_readers(&mut self, path: &str, what: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
        if mode & 0o044 != 0 {
            let mode = mode & 0o777;
            self.warnings.push(format!(
                "the file {path} {what}, and others than its owner can read it (mode {mode:o}); `chmod 600 {path}`"
            ));
        }
    }

    /// A port written behind the master's address counts as a word on `master_port`.
    fn port_inside_node(&mut self) -> Result<(), SettingsError> {
        let (Some(node), Some(port_knob)) =
            (self.winner("master_node")?.cloned(), knobs::find("master_port"))
        else {
            return Ok(());
        };
        let wrong = |expected| SettingsError::Invalid {
            origin: node.source.clone(),
            value: node.value.clone(),
            expected,
        };
        let mut nodes = node.value.split(',');
        let (host, port) = parse::node(nodes.next().unwrap_or_default()).map_err(wrong)?;
        for other in nodes {
            match parse::node(other).map_err(wrong)? {
                (other, None) => self.other_nodes.push(other),
                (_, Some(_)) => {
                    return Err(wrong(
                        "expected a port behind the first host only; it is the same on all".into(),
                    ));
                }
            }
        }
        if let Some(port) = port {
            self.say(port_knob, node.strength, node.source.clone(), &port.to_string());
        }
        for said in self.said.entry("master_node").or_default() {
            if said.value == node.value {
                said.value.clone_from(&host);
            }
        }
        Ok(())
    }
}

/// An empty secret would silently turn authentication off.
fn refuse_empty_secret(knob: &Knob, value: &str, origin: impl Fn() -> String) -> Result<(), SettingsError> {
    if !matches!(knob.key, "secret" | "secret_file" | "secret_fd") || !value.trim_ascii().is_empty() {
        return Ok(());
    }
    Err(SettingsError::Invalid {
        origin: origin(),
        value: String::new(),
        expected: "expected a value; unset it to run without a secret".into(),
    })
}

/// Kubernetes gives every pod variables for each service of its namespace, in the style of Docker's links; those of one
/// named `ringworld` or `ringworld-…` look like settings.
fn is_service_name(name: &str) -> bool {
    if name.ends_with("_SERVICE_HOST") || name.contains("_SERVICE_PORT") {
        return true;
    }
    let Some((_, rest)) = name.split_once("_PORT_") else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = ["_TCP", "_UDP", "_SCTP"].iter().find_map(|protocol| rest.strip_prefix(protocol));
    rest.is_some_and(|rest| matches!(rest, "" | "_PROTO" | "_PORT" | "_ADDR"))
}

/// The same for names that *are* settings: a service named `master` sets `MASTER_PORT=tcp://10.0.0.1:29500`.
fn is_service_link(name: &str, value: &str) -> bool {
    let link = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.trim_ascii().starts_with(scheme));
    let link = link && name.ends_with("_PORT");
    if link {
        tracing::info!("{name} is {value:?}, which Kubernetes says of a service; it is not read");
    }
    link
}

/// A value as it may be printed.
pub(super) fn shown(key: &str, value: &str) -> String {
    if key == "secret" { "(hidden)".into() } else { value.into() }
}

fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Array(entries) => {
            let entries: Option<Vec<String>> = entries.iter().map(plain).collect();
            Some(entries?.join(","))
        }
        _ => None,
    }
}
