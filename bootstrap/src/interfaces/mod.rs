//! Which of this host's interfaces carry traffic, and why.
//!
//! The choice is a pure function of a list of interfaces and the settings, and can be explained: every
//! interface ends up chosen or excluded, each with a reason. Neighbours: `pattern` reads the entries,
//! the rendezvous puts the address that reached the master in front.

mod interface;
mod pattern;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::settings::Settings;
use pattern::{Nccl, Pattern};

pub use interface::Interface;

/// What was chosen, and what was not; each with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Interfaces to use, best first.
    pub chosen: Vec<(Interface, String)>,
    /// Interfaces not to use.
    pub excluded: Vec<(Interface, String)>,
    /// The user named the interfaces to use, or those not to use.
    pub explicit: bool,
}

impl Choice {
    /// What was left out, if the user's words leave nothing but loopback. Where nothing was said, the address that
    /// reaches the master is taken too, so `None`.
    pub(crate) fn only_loopback(&self) -> Option<String> {
        if !self.explicit || !self.chosen.iter().all(|(interface, _)| interface.loopback) {
            return None;
        }
        let others = self.excluded.iter().filter(|(interface, _)| !interface.loopback);
        let left_out: Vec<String> = others.map(|(interface, why)| format!("{interface} ({why})")).collect();
        Some(left_out.join(", "))
    }
}

/// Why no interface can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// An entry matches nothing.
    #[error("{setting} names {entry:?}, which matches no interface of this host; it has {interfaces}")]
    Unknown {
        /// Which setting.
        setting: &'static str,
        /// The entry.
        entry: String,
        /// All there are.
        interfaces: String,
    },
    /// An entry looks like a network and is none.
    #[error("{setting} names {entry:?}, which is no network; give one such as 10.0.0.0/8 or fd00::/64")]
    NoNetwork {
        /// Which setting.
        setting: &'static str,
        /// The entry.
        entry: String,
    },
    /// Nothing is left.
    #[error("no interface is left to use ({reason}); this host has {interfaces}")]
    NothingLeft {
        /// What took them away and what to change.
        reason: String,
        /// All there are.
        interfaces: String,
    },
    /// Loopback is left, and the job has other hosts.
    #[error(
        "only loopback is left to use here, and {others}, where nobody can reach it; left out: {left_out}; leave one \
         of them in"
    )]
    OnlyLoopback {
        /// How it is known that there are other hosts.
        others: String,
        /// Interfaces that were left out, with the reasons.
        left_out: String,
    },
    /// Inclusion and exclusion are both set.
    #[error("RINGWORLD_IF_INCLUDE and RINGWORLD_IF_EXCLUDE are both set; keep only one of them")]
    Both,
    /// The system does not tell.
    #[error("the interfaces of this host cannot be listed: {0}")]
    System(String),
}

/// Lists the addresses of this host.
///
/// # Errors
///
/// When the system does not tell.
pub fn enumerate() -> Result<Vec<Interface>, InterfaceError> {
    let found = if_addrs::get_if_addrs().map_err(|error| InterfaceError::System(error.to_string()))?;
    Ok(found
        .into_iter()
        .map(|interface| Interface {
            addr: interface.ip(),
            prefix: match &interface.addr {
                if_addrs::IfAddr::V4(v4) => v4.prefixlen,
                if_addrs::IfAddr::V6(v6) => v6.prefixlen,
            },
            loopback: interface.is_loopback(),
            up: !matches!(
                interface.oper_status,
                if_addrs::IfOperStatus::Down
                    | if_addrs::IfOperStatus::NotPresent
                    | if_addrs::IfOperStatus::LowerLayerDown
            ),
            name: interface.name,
        })
        .collect())
}

/// Names that belong to bridges and pairs of containers and virtual machines: the same addresses on
/// many hosts, and no way out.
const VIRTUAL: &[&str] =
    &["docker", "veth", "br-", "virbr", "cni", "flannel", "podman", "lxcbr", "lxdbr", "cali", "kube-ipvs"];

const NCCL: &str = "NCCL_SOCKET_IFNAME";

/// Decides which interfaces to use.
///
/// # Errors
///
/// When an entry matches nothing or nothing is left.
pub fn choose(interfaces: &[Interface], settings: &Settings) -> Result<Choice, InterfaceError> {
    let parse = |entries: &[String]| -> Vec<(String, Pattern)> {
        entries.iter().map(|entry| (entry.clone(), Pattern::parse(entry))).collect()
    };
    match (settings.if_include.is_empty(), settings.if_exclude.is_empty()) {
        (false, false) => return Err(InterfaceError::Both),
        (false, true) => {
            return include(interfaces, &parse(&settings.if_include), "RINGWORLD_IF_INCLUDE");
        }
        (true, false) => {
            return exclude(interfaces, &parse(&settings.if_exclude), "RINGWORLD_IF_EXCLUDE");
        }
        (true, true) => {}
    }
    match settings.nccl_socket_ifname.as_deref().map(Nccl::parse) {
        Some(Nccl { exclude: false, patterns }) if !patterns.is_empty() => {
            include(interfaces, &patterns, NCCL)
        }
        Some(Nccl { exclude: true, patterns }) if !patterns.is_empty() => {
            exclude(interfaces, &patterns, NCCL)
        }
        _ => exclude(interfaces, &[], ""),
    }
}

/// Only what is named, in the order in which it is named.
fn include(
    interfaces: &[Interface],
    patterns: &[(String, Pattern)],
    setting: &'static str,
) -> Result<Choice, InterfaceError> {
    let mut choice = Choice { explicit: true, ..Choice::default() };
    // NCCL users list several prefixes to cover hosts that differ.
    let strict = setting != NCCL;
    for (entry, pattern) in patterns {
        let mut known = false;
        for interface in interfaces.iter().filter(|interface| pattern.matches(interface)) {
            known = true;
            let seen = choice.chosen.iter().chain(&choice.excluded).any(|(other, _)| other == interface);
            if seen {
                continue;
            }
            match unusable(interface) {
                Some(reason) => choice.excluded.push((interface.clone(), reason.into())),
                None => choice.chosen.push((interface.clone(), format!("{setting} names {entry}"))),
            }
        }
        if !known && strict {
            return Err(unknown(setting, entry, interfaces));
        }
    }
    for interface in interfaces {
        if !choice.chosen.iter().chain(&choice.excluded).any(|(other, _)| other == interface) {
            choice.excluded.push((interface.clone(), format!("{setting} does not name it")));
        }
    }
    finish(choice, interfaces, &format!("{setting} names none that is up and usable"))
}

/// All but what is named and what never serves.
fn exclude(
    interfaces: &[Interface],
    patterns: &[(String, Pattern)],
    setting: &'static str,
) -> Result<Choice, InterfaceError> {
    for (entry, pattern) in patterns {
        // Prefixes and NCCL's lists are meant for hosts that differ.
        let strict = !matches!(pattern, Pattern::Prefix(_)) && setting != NCCL;
        if strict && !interfaces.iter().any(|interface| pattern.matches(interface)) {
            return Err(unknown(setting, entry, interfaces));
        }
    }
    let mut choice = Choice { explicit: !patterns.is_empty(), ..Choice::default() };
    let mut loopback = Vec::new();
    for interface in interfaces {
        let named = patterns.iter().find(|(_, pattern)| pattern.matches(interface));
        if let Some((entry, _)) = named {
            choice.excluded.push((interface.clone(), format!("{setting} names {entry}")));
        } else if let Some(reason) = unusable(interface) {
            choice.excluded.push((interface.clone(), reason.into()));
        } else if interface.loopback {
            loopback.push(interface.clone());
        } else if let Some(reason) = unlikely(interface) {
            choice.excluded.push((interface.clone(), reason));
        } else {
            choice.chosen.push((interface.clone(), "up, and leads out of this host".into()));
        }
    }
    // Networks of their own kind first, IPv4 before IPv6: most hosts route the former everywhere.
    choice.chosen.sort_by_key(|(interface, _)| interface.addr.is_ipv6());
    if choice.chosen.is_empty() {
        choice.chosen = loopback.into_iter().map(|lo| (lo, "there is nothing else".into())).collect();
    } else {
        let reason = "only reaches this host; used when the master is on it";
        choice.excluded.extend(loopback.into_iter().map(|lo| (lo, reason.into())));
    }
    let reason = match setting {
        "" => "set RINGWORLD_IF_INCLUDE to use one that is left out by default".to_string(),
        setting => format!("{setting} and the defaults take them all away"),
    };
    finish(choice, interfaces, &reason)
}

/// Cannot work, however much it is wished for.
fn unusable(interface: &Interface) -> Option<&'static str> {
    match interface.addr {
        _ if !interface.up => Some("down"),
        IpAddr::V6(v6) if v6.is_unicast_link_local() => {
            Some("an IPv6 link-local address means something only together with an interface")
        }
        _ => None,
    }
}

/// Works, but hardly ever leads to the other hosts.
fn unlikely(interface: &Interface) -> Option<String> {
    if let Some(prefix) = VIRTUAL.iter().find(|prefix| interface.name.starts_with(**prefix)) {
        return Some(format!("{prefix}*: a bridge of containers or virtual machines leads nowhere"));
    }
    match interface.addr {
        IpAddr::V4(v4) if v4.is_link_local() => Some("a link-local address is not routed".into()),
        _ => None,
    }
}

fn unknown(setting: &'static str, entry: &str, interfaces: &[Interface]) -> InterfaceError {
    // No interface has a slash in its name.
    if entry.contains('/') && entry.parse::<ipnet::IpNet>().is_err() {
        return InterfaceError::NoNetwork { setting, entry: entry.into() };
    }
    InterfaceError::Unknown { setting, entry: entry.into(), interfaces: names(interfaces) }
}

fn finish(choice: Choice, interfaces: &[Interface], reason: &str) -> Result<Choice, InterfaceError> {
    if choice.chosen.is_empty() {
        return Err(InterfaceError::NothingLeft { reason: reason.into(), interfaces: names(interfaces) });
    }
    Ok(choice)
}

fn names(interfaces: &[Interface]) -> String {
    if interfaces.is_empty() {
        return "none".into();
    }
    let all: Vec<String> = interfaces.iter().map(ToString::to_string).collect();
    all.join(", ")
}
