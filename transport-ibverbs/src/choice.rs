//! Which device, port and GID are used, and why: pure functions of what the devices say.
//!
//! Ports: those that the filter allows, that are active, and that have a usable address; among them the one
//! whose GID is an address of this host that leads to the other ranks, then by the rank of the GID, then by
//! speed, then in the system's order. GIDs of an Ethernet port, per device because tables differ between
//! hosts: RoCE v2 with an IPv4 address of the rendezvous' network first, other RoCE v2 IPv4, v2 global IPv6,
//! v2 link-local, then v1. InfiniBand ports use index 0, and address by LID. An index that was given is taken
//! or refused, never replaced. Neighbours: `config.rs` (the wishes), `verbs/devices.rs` (asks the devices).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::config::{Config, OpenError};

/// A global identifier of a port: sixteen bytes, on RoCE an IPv6 or mapped IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The IP address that it is, on RoCE.
    #[must_use]
    pub fn ip(&self) -> IpAddr {
        let address = Ipv6Addr::from(self.0);
        address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ip().fmt(f)
    }
}

/// What a GID is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidKind {
    /// InfiniBand.
    InfiniBand,
    /// RoCE in Ethernet frames, which no router forwards.
    RoceV1,
    /// RoCE in UDP datagrams.
    RoceV2,
}

impl fmt::Display for GidKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::RoceV1 => "RoCE v1",
            Self::RoceV2 => "RoCE v2",
        })
    }
}

/// What a port is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// Addressed by LID.
    InfiniBand,
    /// RoCE: addressed by GID.
    Ethernet,
}

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::Ethernet => "Ethernet",
        })
    }
}

/// One entry of a port's GID table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GidReport {
    /// Its place in the table, which may have holes.
    pub index: u32,
    /// The identifier.
    pub gid: Gid,
    /// What it is for.
    pub kind: GidKind,
    /// Whether it would be used if the port is.
    pub chosen: bool,
}

/// One port of one device, and what would become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceReport {
    /// As in `rdma link`.
    pub device: String,
    /// From 1.
    pub port: u8,
    /// The device's identifier, as `ibv_devices` prints it; empty when the device does not say.
    pub guid: String,
    /// Whether the port can carry traffic.
    pub active: bool,
    /// The port's state in the words of libibverbs, such as `PORT_ACTIVE`, or why it could not be asked.
    pub state: String,
    /// What it is connected to.
    pub link_layer: LinkLayer,
    /// Local identifier on InfiniBand; 0 on RoCE.
    pub lid: u16,
    /// Payload bytes of a packet.
    pub mtu: u32,
    /// The longest message of a queue pair.
    pub max_message: u32,
    /// Roughly, in Gbit/s.
    pub speed: u32,
    /// The port's GID table.
    pub gids: Vec<GidReport>,
    /// Whether this is the port that the transport would use.
    pub chosen: bool,
    /// Why, or why not.
    pub why: String,
}

impl DeviceReport {
    /// A port of which nothing is known yet but its name.
    #[must_use]
    pub fn new(device: &str, port: u8) -> Self {
        Self {
            device: device.to_owned(),
            port,
            guid: String::new(),
            active: false,
            state: String::new(),
            link_layer: LinkLayer::Ethernet,
            lid: 0,
            mtu: 0,
            max_message: 0,
            speed: 0,
            gids: Vec::new(),
            chosen: false,
            why: String::new(),
        }
    }

    /// The GID that would be used.
    #[must_use]
    pub fn gid(&self) -> Option<&GidReport> {
        self.gids.iter().find(|gid| gid.chosen)
    }
}

impl fmt::Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, port, state, link_layer, mtu, why, .. } = self;
        write!(f, "{device}:{port} {state} {link_layer}, MTU {mtu}")?;
        if self.link_layer == LinkLayer::InfiniBand {
            write!(f, ", LID {}", self.lid)?;
        }
        for gid in &self.gids {
            let mark = if gid.chosen { "*" } else { "" };
            write!(f, ", GID {}{mark} {} ({})", gid.index, gid.gid, gid.kind)?;
        }
        write!(f, ": {}{why}", if self.chosen { "chosen, " } else { "not used, " })
    }
}

/// How good a GID is; less is better.
fn preference(gid: &GidReport, local: &[IpAddr]) -> (u8, usize) {
    let ip = gid.gid.ip();
    let place = local.iter().position(|address| *address == ip);
    let class = match (gid.kind, ip) {
        (GidKind::RoceV2, IpAddr::V4(_)) if place.is_some() => 0,
        (GidKind::RoceV2, IpAddr::V4(_)) => 1,
        (GidKind::RoceV2, IpAddr::V6(ip)) if !ip.is_unicast_link_local() => 2,
        (GidKind::RoceV2, _) => 3,
        (GidKind::RoceV1, _) => 4,
        (GidKind::InfiniBand, _) => 5,
    };
    (class, place.unwrap_or(usize::MAX))
}

/// Chooses the GID of a port, by its place in `gids`.
fn choose_gid(report: &DeviceReport, config: &Config) -> Result<usize, String> {
    if let Some(index) = config.gid_index {
        return report.gids.iter().position(|gid| gid.index == index).ok_or_else(|| {
            let have: Vec<String> =
                report.gids.iter().map(|g| format!("{} ({} {})", g.index, g.kind, g.gid)).collect();
            format!("GID index {index} was asked for, and its table has {}", list(&have))
        });
    }
    let usable = |(_, gid): &(usize, &GidReport)| match report.link_layer {
        LinkLayer::InfiniBand => gid.kind == GidKind::InfiniBand,
        LinkLayer::Ethernet => gid.kind != GidKind::InfiniBand,
    };
    let candidates = report.gids.iter().enumerate().filter(usable);
    let best = candidates.min_by_key(|(_, gid)| (preference(gid, &config.local), gid.index));
    best.map(|(place, _)| place).ok_or_else(|| {
        format!(
            "it has no GID for {}; give its network interface an IP address (`ip address add`)",
            report.link_layer
        )
    })
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "no entry".to_owned() } else { words.join(", ") }
}

/// Marks the GID of each port that would be used, and the one port that is chosen; says why of all.
///
/// # Errors
///
/// When no port is left: [`OpenError::Absent`] without devices, [`OpenError::Impossible`] when the settings
/// leave none, [`OpenError::Unusable`] when none of those allowed works. Each names every port and its reason.
pub fn choose(reports: &mut [DeviceReport], config: &Config) -> Result<usize, OpenError> {
    if reports.is_empty() {
        let why = "the system has none (is the driver loaded?)".to_owned();
        // Who names a device asks for it; who excludes one or names none does not.
        return Err(OpenError::Absent(why));
    }
    let mut best: Option<((u8, usize), std::cmp::Reverse<u32>, usize)> = None;
    let (mut by_filter, mut by_index) = (0, 0);
    for (place, report) in reports.iter_mut().enumerate() {
        let refused = |why: String| why;
        if let Some(filter) = config.devices.as_ref().filter(|f| !f.allows(&report.device, report.port)) {
            report.why = refused(format!("the setting {filter} excludes it"));
            by_filter += 1;
            continue;
        }
        if !report.active {
            report.why = "the port is not active; look at the cable, `ip link` and `rdma link`".to_owned();
            continue;
        }
        match choose_gid(report, config) {
            Ok(gid) => {
                report.gids[gid].chosen = true;
                let key =
                    (preference(&report.gids[gid], &config.local), std::cmp::Reverse(report.speed), place);
                report.why = "another port is better".to_owned();
                if best.is_none_or(|best| key < best) {
                    best = Some(key);
                }
            }
            Err(why) => {
                by_index += usize::from(config.gid_index.is_some());
                report.why = why;
            }
        }
    }
    if let Some(((class, _), _, place)) = best {
        let report = &mut reports[place];
        report.chosen = true;
        report.why = match (class, config.gid_index) {
            (_, Some(index)) => format!("with the GID index {index} that was asked for"),
            (0, None) => "its address leads to the other ranks".to_owned(),
            _ => "the best that is active".to_owned(),
        };
        return Ok(place);
    }
    let lines: String =
        reports.iter().map(|r| format!("\n  {}:{} ({}): {}", r.device, r.port, r.state, r.why)).collect();
    if by_filter == reports.len() {
        let filter = config.devices.as_ref().map_or(String::new(), ToString::to_string);
        return Err(OpenError::Impossible(format!(
            "the list of RDMA devices {filter:?} leaves none of this host's ports; give one of them:{lines}"
        )));
    }
    if by_filter + by_index == reports.len() {
        let index = config.gid_index.unwrap_or_default();
        return Err(OpenError::Impossible(format!(
            "no port has the GID index {index}; give one that is in the table, or none:{lines}"
        )));
    }
    Err(OpenError::Unusable(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gid(index: u32, kind: GidKind, ip: &str) -> GidReport {
        let address = match ip.parse().unwrap() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        GidReport { index, gid: Gid(address.octets()), kind, chosen: false }
    }

    fn roce(device: &str, gids: Vec<GidReport>) -> DeviceReport {
        DeviceReport { active: true, gids, ..DeviceReport::new(device, 1) }
    }

    fn config(local: &str) -> Config {
        Config::new(0, 2, 1, vec![local.parse().unwrap()])
    }

    #[test]
    fn the_gid_on_the_network_of_the_rendezvous_comes_first() {
        use GidKind::{RoceV1, RoceV2};
        let table = [
            gid(0, RoceV1, "10.0.0.1"),
            gid(1, RoceV2, "fe80::1"),
            gid(2, RoceV2, "fd00::1"),
            gid(5, RoceV2, "192.168.0.1"),
            gid(9, RoceV2, "10.0.0.1"),
        ];
        for (take, expected) in [(5, 9), (4, 5), (3, 2), (2, 1), (1, 0)] {
            let mut reports = [roce("a", table[..take].to_vec())];
            assert_eq!(choose(&mut reports, &config("10.0.0.1")).unwrap(), 0);
            assert_eq!(reports[0].gid().unwrap().index, expected);
        }
    }

    #[test]
    fn the_port_that_leads_to_the_others_is_chosen_and_the_rest_say_why_not() {
        use GidKind::RoceV2;
        let mut reports = [
            DeviceReport { speed: 400, ..roce("fast", vec![gid(1, RoceV2, "192.168.0.1")]) },
            DeviceReport { active: false, ..roce("dark", vec![gid(1, RoceV2, "10.0.0.1")]) },
            roce("right", vec![gid(3, RoceV2, "10.0.0.1")]),
            roce("bare", Vec::new()),
        ];
        assert_eq!(choose(&mut reports, &config("10.0.0.1")).unwrap(), 2);
        assert!(reports[0].why.contains("better") && reports[1].why.contains("not active"));
        assert!(reports[3].why.contains("ip address add"));
        // Where no address tells, speed does.
        assert_eq!(choose(&mut reports, &config("172.16.0.1")).unwrap(), 0);
    }

    #[test]
    fn settings_that_leave_nothing_are_told_apart_from_a_host_without_rdma() {
        let mut reports = [roce("rxe0", vec![gid(1, GidKind::RoceV2, "10.0.0.1")])];
        let named = Config { devices: Some("mlx5".parse().unwrap()), ..config("10.0.0.1") };
        let error = choose(&mut reports, &named).unwrap_err();
        assert!(!error.is_absence() && error.to_string().contains("rxe0:1"), "{error}");
        let index = Config { gid_index: Some(7), ..config("10.0.0.1") };
        let error = choose(&mut reports, &index).unwrap_err();
        assert!(!error.is_absence() && error.to_string().contains("1 (RoCE v2 10.0.0.1)"), "{error}");
        assert!(choose(&mut [], &config("10.0.0.1")).unwrap_err().is_absence());
        reports[0].active = false;
        assert!(choose(&mut reports, &config("10.0.0.1")).unwrap_err().is_absence());
    }

    #[test]
    fn infiniband_uses_its_own_gids() {
        let mut reports = [DeviceReport {
            link_layer: LinkLayer::InfiniBand,
            lid: 4,
            ..roce("mlx4_0", vec![gid(0, GidKind::InfiniBand, "fe80::2:c903:0:1")])
        }];
        assert_eq!(choose(&mut reports, &config("10.0.0.1")).unwrap(), 0);
    }
}
