//! Who says what about each knob, and who wins: overrides, environment, schedulers, file.
//!
//! The strongest source wins; two of the same strength that disagree are an error that names both, since
//! no order between them could be guessed. Neighbours: `knobs` has the names, `mod` gives the types.

use std::collections::BTreeMap;

use super::error::SettingsError;
use super::knobs::{self, KNOBS, Knob, RESERVED, Strength};
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
}

impl Gathered {
    /// Collects everything that is said, and refuses names that nobody knows.
    pub(super) fn collect(
        overrides: &[(String, String)],
        env: &BTreeMap<String, String>,
    ) -> Result<Self, SettingsError> {
        let mut gathered = Self::default();
        gathered.overrides(overrides)?;
        gathered.environment(env)?;
        if let Some(config) = gathered.winner("config")?.cloned() {
            gathered.file(&config)?;
        }
        let external = gathered.winner("master_external")?;
        let launched = gathered.winner("parent_pid")?.is_some()
            || external.is_some_and(|said| parse::flag(&said.value) == Ok(true));
        // What a scheduler says inside a launcher's rank describes the launcher.
        if !launched {
            gathered.schedulers(env)?;
        }
        gathered.port_inside_node()?;
        Ok(gathered)
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
        let value = value.trim().to_string();
        self.said.entry(knob.key).or_default().push(Said { strength, source, value });
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
            self.say(knob, Strength::Builder, format!("builder {}", knob.key), value);
        }
        Ok(())
    }

    fn environment(&mut self, env: &BTreeMap<String, String>) -> Result<(), SettingsError> {
        for name in env.keys().filter(|name| name.starts_with("RINGWORLD_")) {
            let key = name["RINGWORLD_".len()..].to_ascii_lowercase();
            let known = knobs::find(&key).is_some_and(|knob| knob.env() == *name);
            if !known && !RESERVED.iter().any(|prefix| name.starts_with(prefix)) {
                return Err(SettingsError::UnknownKey {
                    origin: "the environment".into(),
                    key: name.clone(),
                    nearest: format!("RINGWORLD_{}", knobs::nearest(&key).to_ascii_uppercase()),
                });
            }
        }
        for knob in KNOBS {
            let own = knob.env();
            if let Some(value) = env.get(&own) {
                if !value.trim().is_empty() {
                    self.say(knob, Strength::Ringworld, format!("environment {own}"), value);
                } else if matches!(knob.key, "secret" | "secret_file") {
                    // An empty secret would silently turn authentication off.
                    return Err(SettingsError::Invalid {
                        origin: format!("environment {own}"),
                        value: String::new(),
                        expected: "expected a value; unset it to run without a secret".into(),
                    });
                }
            }
            for alias in knob.aliases {
                if let Some(value) = env.get(*alias).filter(|value| !value.trim().is_empty()) {
                    self.say(knob, Strength::Common, format!("environment {alias}"), value);
                }
            }
        }
        Ok(())
    }

    fn schedulers(&mut self, env: &BTreeMap<String, String>) -> Result<(), SettingsError> {
        for knob in KNOBS {
            let mut slurm_spoke = false;
            for name in knob.schedulers {
                let Some(value) = env.get(*name).filter(|value| !value.trim().is_empty()) else { continue };
                let source = format!("environment {name}");
                // Slurm says the same thing for the step and for the job; the first is the closest.
                if name.starts_with("SLURM_") && std::mem::replace(&mut slurm_spoke, true) {
                    continue;
                }
                if name.ends_with("NODELIST") {
                    let host = parse::first_slurm_host(value).map_err(|expected| SettingsError::Invalid {
                        origin: source.clone(),
                        value: value.clone(),
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
        let index: usize = index.trim().parse().map_err(|_| SettingsError::Invalid {
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
        let table: toml::Table = toml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
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
                value: value.to_string(),
                expected: "expected a string, a number, a truth value, or a list of those".into(),
            })?;
            if !value.trim().is_empty() {
                self.say(knob, Strength::File, source, &value);
            }
        }
        Ok(())
    }

    /// A port written behind the master's address counts as a word on `master_port`.
    fn port_inside_node(&mut self) -> Result<(), SettingsError> {
        let (Some(node), Some(port_knob)) =
            (self.winner("master_node")?.cloned(), knobs::find("master_port"))
        else {
            return Ok(());
        };
        let (host, port) = parse::node(&node.value).map_err(|expected| SettingsError::Invalid {
            origin: node.source.clone(),
            value: node.value.clone(),
            expected,
        })?;
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
