//! A rendezvous whose place nobody has chosen: the process that the launcher calls the first serves it, at a port
//! that is free, and the others learn of it through the launcher's process manager.
//!
//! Neighbours: `pmi` speaks with the launcher, `joining` asks for an appointment where no setting says where to meet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::client::{Known, listen};
use crate::error::Error;
use crate::host::host_identity;
use crate::interfaces::{self, Choice, Interface};
use crate::master::{Master, MasterConfig, MasterHandle};
use crate::pmi::{self, Place};
use crate::settings::{Pmi, Settings};

/// Where the ranks meet.
pub(crate) struct Appointment {
    /// The settings with what was agreed upon.
    pub(crate) settings: Settings,
    /// The best of the addresses.
    pub(crate) node: String,
    /// All of them, and the master if this process serves it.
    pub(crate) known: Known,
}

impl Appointment {
    pub(crate) fn make(
        settings: &Settings,
        pmi: &Pmi,
        size: usize,
        found: &[Interface],
        choice: &Choice,
    ) -> Result<Self, Error> {
        let mut settings = settings.clone();
        let mut master = None;
        let own_job = settings.job.clone();
        let job = |name: &str| own_job.clone().unwrap_or_else(|| format!("mpi-{name}"));
        let met = pmi::meet(pmi, settings.timeout, &mut |name, again| {
            let port = again.map(|place| place.port).or(pmi.port).unwrap_or(0);
            settings.job = Some(job(name));
            let handle = serve(&settings, size, port)?;
            let port = handle.local_addr().port();
            master = Some(handle);
            Ok(Place { host: host_identity(), port, addresses: offered(&settings, choice) })
        });
        let met = match met {
            Ok(met) => met,
            Err(error) => {
                if let Some(master) = master {
                    master.shutdown();
                }
                return Err(error);
            }
        };
        settings.job = Some(job(&met.job));
        settings.master_port = met.place.port;
        let here = met.place.host == host_identity();
        if !here && met.place.addresses.iter().all(IpAddr::is_loopback) {
            return Err(Error::Launcher(
                "rank 0 is on another host and offers nothing but loopback, by which only its own host reaches it: it \
                 has no other interface, or RINGWORLD_IF_INCLUDE or RINGWORLD_IF_EXCLUDE leave none there"
                    .into(),
            ));
        }
        let mut addresses = met.place.sockets();
        // Sorting keeps the order of those that are alike.
        addresses.sort_by_key(|address| !found.iter().any(|interface| interface.reaches(address.ip())));
        let node = addresses.first().map_or_else(String::new, |address| address.ip().to_string());
        if master.is_some() {
            // Whatever address others know it by, this host reaches itself; but not so by one that is translated.
            let place = if settings.advertise.is_empty() { addresses.len() } else { 0 };
            addresses.insert(place, (Ipv4Addr::LOCALHOST, met.place.port).into());
        }
        tracing::info!(
            "the ranks meet at {node}, port {}, as the launcher (PMI) has passed on",
            met.place.port
        );
        Ok(Self { settings, node, known: Known { addresses, master } })
    }
}

/// Serves the rendezvous of a world of `size` ranks on several hosts, for a launcher: at all addresses of this host, at
/// `port`, or at a free one if that is 0. Returns the master, and the addresses that other hosts may try: those of the
/// interfaces that `settings` let through, or those that they say are to be told to others (`advertise`).
///
/// ```
/// use ringworld_bootstrap::{Secret, Settings, serve_hosts};
/// let mut settings = Settings::default();
/// settings.secret = Secret::new(b"of this job, and longer than anybody can guess".to_vec());
/// let (master, addresses) = serve_hosts(&settings, 4, 0)?;
/// assert!(master.local_addr().port() != 0 && !addresses.is_empty());
/// # Ok::<(), ringworld_bootstrap::Error>(())
/// ```
///
/// # Errors
///
/// When the settings leave no interface, the port is taken, or the system gives no thread.
pub fn serve_hosts(
    settings: &Settings,
    size: usize,
    port: u16,
) -> Result<(MasterHandle, Vec<IpAddr>), Error> {
    let choice = interfaces::choose(&interfaces::enumerate()?, settings)?;
    Ok((serve(settings, size, port)?, offered(settings, &choice)))
}

/// Serves at all addresses: by which of them the others come, nobody knows yet.
fn serve(settings: &Settings, size: usize, port: u16) -> Result<MasterHandle, Error> {
    let any: [SocketAddr; 2] = [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()];
    let listener = listen(any[0]).or_else(|_| listen(any[1])).map_err(|error| {
        let chosen =
            if port == 0 { String::new() } else { format!(" at port {port}; choose another MASTER_PORT") };
        Error::system(format!("serving the rendezvous{chosen}"), error)
    })?;
    Master::serve(listener, MasterConfig::new(size, settings))
}

/// What the others may connect to.
fn offered(settings: &Settings, choice: &Choice) -> Vec<IpAddr> {
    if !settings.advertise.is_empty() {
        return settings.advertise.clone();
    }
    let usable = |(interface, _): &&(Interface, String)| {
        interface.up && !matches!(interface.addr, IpAddr::V6(v6) if v6.is_unicast_link_local())
    };
    let address = |(interface, _): &(Interface, String)| interface.addr;
    let chosen = choice.chosen.iter();
    // Where nothing leads out for certain, what is usually a bridge of containers may.
    if !choice.explicit && choice.chosen.iter().all(|(interface, _)| interface.loopback) {
        let others = choice.excluded.iter().filter(|(interface, _)| !interface.loopback).filter(usable);
        return others.chain(chosen).map(address).collect();
    }
    chosen.map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, addr: &str, prefix: u8) -> Interface {
        let addr: IpAddr = addr.parse().unwrap();
        Interface { name: name.into(), addr, prefix, loopback: addr.is_loopback(), up: name != "down" }
    }

    fn addresses(settings: &Settings, found: &[Interface]) -> Vec<String> {
        let choice = interfaces::choose(found, settings).unwrap();
        offered(settings, &choice).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_leads_out_is_offered_and_bridges_only_where_there_is_nothing_else() {
        let lo = interface("lo", "127.0.0.1", 8);
        let docker = interface("docker0", "172.17.0.1", 16);
        let down = interface("down", "10.0.0.7", 24);
        let local = interface("veth1", "fe80::1", 64);
        let found =
            [lo.clone(), docker.clone(), down.clone(), local.clone(), interface("eth0", "10.0.0.1", 24)];
        let unset = Settings::default();
        assert_eq!(addresses(&unset, &found), ["10.0.0.1"]);
        assert_eq!(addresses(&unset, &[lo.clone(), docker, down, local]), ["172.17.0.1", "127.0.0.1"]);
        assert_eq!(addresses(&unset, &[lo]), ["127.0.0.1"]);
        let only = Settings { if_include: vec!["lo".into()], ..Settings::default() };
        assert_eq!(addresses(&only, &found), ["127.0.0.1"], "nothing that the user has left out");
        let elsewhere = Settings { advertise: vec!["192.0.2.7".parse().unwrap()], ..Settings::default() };
        assert_eq!(addresses(&elsewhere, &found), ["192.0.2.7"]);
    }

    #[test]
    fn addresses_of_a_network_of_ones_own_are_tried_first() {
        let eth = interface("eth0", "10.0.0.2", 24);
        assert!(eth.reaches("10.0.0.9".parse().unwrap()) && !eth.reaches("10.0.1.9".parse().unwrap()));
        assert!(!eth.reaches("fd00::1".parse().unwrap()));
        let six = interface("eth0", "fd00::2", 64);
        assert!(six.reaches("fd00::1".parse().unwrap()) && !six.reaches("fd01::1".parse().unwrap()));
    }
}
