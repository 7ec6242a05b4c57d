//! The two steps into a world: find the master, then say where this process is reached.
//!
//! In two steps because the transports need to know, before they listen, which job this is and which of
//! this host's addresses lead to the others; and the others need to know where they listen.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::appointment::Appointment;
use crate::client::{Begun, Client, Command, Formed, Known};
use crate::elastic::{Elastic, Meeting};
use crate::error::Error;
use crate::event::{ControlEvent, Hook, Listener};
use crate::host::{host_identity, host_name};
use crate::interfaces::{self, Choice};
use crate::master::MasterHandle;
use crate::parent;
use crate::pmi;
use crate::session::Session;
use crate::settings::{Settings, SettingsError};
use crate::wire::Member;
use ringworld_membership::Table;

/// A process that has a place at the master and has not said yet where it is reached.
pub struct Joining {
    job: u64,
    local: Vec<IpAddr>,
    peer_timeout: Option<Duration>,
    hook: Hook,
    /// The launcher has said where to meet, and waits to hear that this is done.
    appointed: bool,
    /// `None` in a world of one.
    link: Option<(Client, Option<MasterHandle>)>,
}

impl std::fmt::Debug for Joining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joining").field("local", &self.local).finish_non_exhaustive()
    }
}

impl Joining {
    /// Finds the master, or becomes it, and gets a place there. A world of one needs neither network nor
    /// master, unless a launcher serves it.
    ///
    /// # Errors
    ///
    /// When no interface can be used, the master is not reached within `timeout`, or it refuses.
    pub fn begin(settings: &Settings) -> Result<Self, Error> {
        let hook = Hook::default();
        if let Some(pid) = settings.parent_pid {
            parent::watch(pid, hook.clone())?;
        }
        let size = settings.size().unwrap_or(1);
        let node = match (&settings.master_node, &settings.pmi) {
            (Some(node), _) if size > 1 || settings.launcher || settings.elastic => Some(node),
            (None, Some(_)) if size > 1 => None,
            (None, None) if size > 1 => {
                return Err(SettingsError::Inconsistent(format!(
                    "the world has {size} ranks, but nothing says where they meet; set MASTER_NODE to a host of the job"
                ))
                .into());
            }
            _ => {
                let mut job = [0; 8];
                getrandom::fill(&mut job).map_err(|error| Error::system("drawing a job id", error))?;
                let (job, peer_timeout) = (u64::from_le_bytes(job), settings.peer_timeout);
                return Ok(Self { job, local: Vec::new(), peer_timeout, hook, appointed: false, link: None });
            }
        };
        let found = interfaces::enumerate()?;
        let choice = interfaces::choose(&found, settings)?;
        let only_loopback = choice.only_loopback();
        let (begun, local) = match (node, &settings.pmi) {
            (None, Some(pmi)) => {
                let Appointment { settings, node, known } =
                    Appointment::make(settings, pmi, size, &found, &choice)?;
                let begun = Client::start(&settings, &node, Some(known), None, size, found, only_loopback)?;
                let local = addresses_of(&node, begun.1.local, &choice);
                (begun, local)
            }
            (node, _) => {
                let node = node.map_or("", String::as_str);
                let begun = Client::start(settings, node, None, None, size, found, only_loopback)?;
                let local = addresses_of(node, begun.1.local, &choice);
                (begun, local)
            }
        };
        let (client, Begun { job, peer_timeout, master, label, .. }) = begun;
        tracing::debug!("reached the master {label}; offering the addresses {local:?}");
        let appointed = node.is_none();
        Ok(Self { job, local, peer_timeout, hook, appointed, link: Some((client, master)) })
    }

    /// The way into a generation of an elastic world in which this process is.
    ///
    /// # Errors
    ///
    /// When no interface can be used, or those without whom it cannot form are gone.
    pub fn enter(settings: &Settings, elastic: &Elastic, table: &Table) -> Result<Self, Error> {
        let hook = Hook::default();
        if let Some(pid) = settings.parent_pid {
            parent::watch(pid, hook.clone())?;
        }
        let found = interfaces::enumerate()?;
        let choice = interfaces::choose(&found, settings)?;
        let only_loopback = choice.only_loopback();
        let Meeting { mut addresses, node, rank, size, master, cancelled } = elastic.meet(table)?;
        // Sorting keeps the order of those that are alike.
        addresses.sort_by_key(|address| !found.iter().any(|interface| interface.reaches(address.ip())));
        let settings = Settings {
            rank: Some(rank),
            world_size: Some(size),
            num_nodes: None,
            local_rank: None,
            local_world_size: None,
            master_port: addresses.first().map_or(0, std::net::SocketAddr::port),
            timeout: settings.recover_timeout.min(settings.timeout),
            ..settings.clone()
        };
        let known = Known { addresses, master };
        let (client, begun) =
            Client::start(&settings, &node, Some(known), Some(cancelled), size, found, only_loopback)?;
        let Begun { job, local, peer_timeout, master, label } = begun;
        let local = addresses_of(settings.master_node.as_deref().unwrap_or_default(), local, &choice);
        tracing::debug!("reached the master {label}; offering the addresses {local:?}");
        Ok(Self { job, local, peer_timeout, hook, appointed: false, link: Some((client, master)) })
    }

    /// Where a process that comes later may be reached, best first.
    ///
    /// # Errors
    ///
    /// When no interface can be used.
    pub fn own_addresses(settings: &Settings) -> Result<Vec<IpAddr>, Error> {
        let found = interfaces::enumerate()?;
        let choice = interfaces::choose(&found, settings)?;
        let node = settings.master_node.as_deref().unwrap_or_default();
        let loopback = std::net::Ipv4Addr::LOCALHOST.into();
        Ok(match is_here_alone(node) && !choice.explicit {
            true => vec![loopback],
            false => choice.chosen.iter().map(|(interface, _)| interface.addr).collect(),
        })
    }

    /// The random number that tells this job from all others.
    #[must_use]
    pub fn job(&self) -> u64 {
        self.job
    }

    /// Addresses under which transports may offer themselves, best first: the one that reached the
    /// master, then the other chosen ones; loopback only when everything is on it. Empty in a world of
    /// one.
    #[must_use]
    pub fn local_addresses(&self) -> &[IpAddr] {
        &self.local
    }

    /// Silence after which a rank is down, as the master has it for all; `None`: never.
    #[must_use]
    pub fn peer_timeout(&self) -> Option<Duration> {
        self.peer_timeout
    }

    /// Says where this process is reached (transport and address, opaque to everybody else) and waits
    /// until all others have done the same.
    ///
    /// `on_event` is called from the control thread for whatever happens from then on. It must be quick
    /// and must not call back into the session.
    ///
    /// # Errors
    ///
    /// When the others do not come in time or the master is lost.
    pub fn join(
        self,
        addresses: Vec<(String, Vec<u8>)>,
        on_event: Box<dyn Fn(ControlEvent) + Send + Sync>,
    ) -> Result<Session, Error> {
        let listener: Listener = Arc::from(on_event);
        self.hook.set(Some(Arc::clone(&listener)));
        let Some((client, master)) = self.link else {
            let me =
                Member { host: host_name(), host_id: host_identity(), pid: std::process::id(), addresses };
            let alone = Formed {
                rank: 0,
                size: 1,
                local_rank: 0,
                local_size: 1,
                serving: None,
                arbiter: None,
                members: vec![me],
                bytes: 0,
            };
            return Ok(Session::new(self.job, alone, None, self.hook));
        };
        let (reply, formed) = std::sync::mpsc::sync_channel(1);
        let ended = || Error::system("joining the world", "the control thread ended unexpectedly");
        if !client.send(Command::Ready { addresses, listener, reply }) {
            return Err(ended());
        }
        match client.canary().answer(&formed, None).ok_or_else(ended).and_then(|formed| formed) {
            Ok(formed) => {
                if self.appointed {
                    pmi::formed();
                }
                Ok(Session::new(self.job, formed, Some((client, master)), self.hook))
            }
            Err(error) => {
                self.hook.set(None);
                // Its own connection first, for which the master would wait.
                drop(client);
                if let Some(master) = master {
                    // The others should hear the reason too before this process ends.
                    master.close(Duration::from_secs(1));
                }
                Err(error)
            }
        }
    }
}

/// Whether everything is on this host.
fn is_here_alone(node: &str) -> bool {
    node == "localhost" || node.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// See [`Joining::local_addresses`].
fn addresses_of(node: &str, reached: IpAddr, choice: &Choice) -> Vec<IpAddr> {
    let chosen: Vec<IpAddr> = choice.chosen.iter().map(|(interface, _)| interface.addr).collect();
    // Only a literal loopback address says that everything is on this host; a name may mean 127.0.1.1
    // here and the real address elsewhere.
    if is_here_alone(node) && !choice.explicit {
        return vec![reached];
    }
    let link_local = matches!(reached, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let first = match choice.explicit {
        true => chosen.contains(&reached),
        false => !reached.is_loopback() && !link_local,
    };
    let mut all = Vec::with_capacity(chosen.len() + 1);
    all.extend(first.then_some(reached));
    all.extend(chosen.into_iter().filter(|address| !first || *address != reached));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interfaces::Interface;

    fn choice(addresses: &[&str], explicit: bool) -> Choice {
        let interface = |address: &&str| {
            let addr: IpAddr = address.parse().unwrap();
            let loopback = addr.is_loopback();
            (Interface { name: "x".into(), addr, prefix: 24, loopback, up: true }, String::new())
        };
        Choice { chosen: addresses.iter().map(interface).collect(), excluded: Vec::new(), explicit }
    }

    fn offered(node: &str, reached: &str, choice: &Choice) -> Vec<String> {
        addresses_of(node, reached.parse().unwrap(), choice).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_address_that_reached_the_master_comes_first() {
        let two = choice(&["10.0.0.1", "10.1.0.1"], false);
        assert_eq!(offered("n0", "10.1.0.1", &two), ["10.1.0.1", "10.0.0.1"]);
        assert_eq!(offered("n0", "172.17.0.1", &two), ["172.17.0.1", "10.0.0.1", "10.1.0.1"]);
    }

    #[test]
    fn loopback_is_offered_only_when_everything_is_on_it() {
        let one = choice(&["10.0.0.1"], false);
        assert_eq!(offered("127.0.0.1", "127.0.0.1", &one), ["127.0.0.1"]);
        assert_eq!(offered("localhost", "::1", &one), ["::1"]);
        assert_eq!(offered("n0", "127.0.0.1", &one), ["10.0.0.1"], "the master's own name is 127.0.1.1");
        let only = choice(&["127.0.0.1"], false);
        assert_eq!(offered("n0", "127.0.0.1", &only), ["127.0.0.1"]);
    }

    #[test]
    fn what_the_user_left_out_is_never_offered() {
        let explicit = choice(&["10.0.0.1"], true);
        assert_eq!(offered("n0", "10.1.0.1", &explicit), ["10.0.0.1"]);
        assert_eq!(offered("127.0.0.1", "127.0.0.1", &explicit), ["10.0.0.1"]);
    }
}
