//! The one file that knows concrete transports: opens those that are compiled in and allowed, and
//! decides per peer which one serves.
//!
//! In two steps, because peers must hear where this rank is reached before this rank knows who they are:
//! [`prepare`] opens the doors, [`Prepared::open`] takes the addresses of all the others.

use std::net::IpAddr;

use ringworld_bootstrap::{Session, Settings};
use ringworld_transport::{Address, Transport};

use crate::{Error, Result};

/// The transports compiled into this library, best first.
#[must_use]
pub fn compiled_in() -> &'static [&'static str] {
    &[
        #[cfg(feature = "tcp")]
        "tcp",
    ]
}

/// Transports that can be reached but do not know their peers yet.
pub(crate) struct Prepared {
    #[cfg(feature = "tcp")]
    tcp: Option<ringworld_transport_tcp::Tcp>,
}

/// Opens every transport that the settings allow.
///
/// # Errors
///
/// When a transport that was asked for is not compiled in, when none is left, or when one cannot open.
pub(crate) fn prepare(settings: &Settings, job: u64, local: &[IpAddr]) -> Result<Prepared> {
    let allowed = allowed(settings)?;
    #[cfg(not(feature = "tcp"))]
    let _ = (job, local, allowed);
    Ok(Prepared {
        #[cfg(feature = "tcp")]
        // A world of one needs no address, and is given none.
        tcp: if allowed.contains(&"tcp") && !local.is_empty() {
            Some(tcp::listen(settings, job, local)?)
        } else {
            None
        },
    })
}

fn allowed(settings: &Settings) -> Result<Vec<&'static str>> {
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

/// Open transports, and for each rank the one that reaches it.
pub(crate) struct Opened {
    pub(crate) transports: Vec<Box<dyn Transport>>,
    pub(crate) routes: Vec<Option<usize>>,
}

impl Prepared {
    /// Where this rank is reached, per transport.
    pub(crate) fn addresses(&self) -> Vec<(String, Vec<u8>)> {
        #[cfg(feature = "tcp")]
        return self.tcp.iter().map(|tcp| ("tcp".to_owned(), tcp.address().as_bytes().to_vec())).collect();
        #[cfg(not(feature = "tcp"))]
        Vec::new()
    }

    /// Makes all members known to the transports.
    ///
    /// # Errors
    ///
    /// When a member shares no transport with this rank.
    pub(crate) fn open(self, session: &Session) -> Result<Opened> {
        let mut transports: Vec<(&'static str, Box<dyn Transport>)> = Vec::new();
        #[cfg(feature = "tcp")]
        if let Some(tcp) = self.tcp {
            transports
                .push(("tcp", Box::new(tcp.with_rank(session.rank, session.size).map_err(tcp::refused)?)));
        }
        let mut routes = Vec::with_capacity(session.size);
        for (rank, member) in session.members.iter().enumerate() {
            if rank == session.rank {
                routes.push(None);
                continue;
            }
            let shared = transports.iter_mut().enumerate().find_map(|(index, (name, transport))| {
                let (_, bytes) = member.addresses.iter().find(|(theirs, _)| theirs == name)?;
                Some((index, transport, Address::new(bytes.clone())))
            });
            let Some((index, transport, address)) = shared else {
                let theirs: Vec<_> = member.addresses.iter().map(|(name, _)| name.as_str()).collect();
                return Err(Error::Bootstrap(format!(
                    "rank {rank} on {} offers the transports [{}], none of which this rank has; set \
                     RINGWORLD_TRANSPORT alike on all hosts",
                    member.host,
                    theirs.join(", ")
                )));
            };
            transport.connect(rank, &address).map_err(|error| Error::Bootstrap(error.to_string()))?;
            routes.push(Some(index));
        }
        Ok(Opened { transports: transports.into_iter().map(|(_, transport)| transport).collect(), routes })
    }
}

#[cfg(feature = "tcp")]
mod tcp {
    use std::net::IpAddr;

    use ringworld_bootstrap::Settings;
    use ringworld_transport_tcp::{Config, Tcp};

    use crate::{Error, Result};

    pub(super) fn refused(error: impl std::fmt::Display) -> Error {
        Error::Bootstrap(format!("the TCP transport cannot be opened: {error}"))
    }

    /// Listens before this process knows its rank.
    pub(super) fn listen(settings: &Settings, job: u64, local: &[IpAddr]) -> Result<Tcp> {
        let mut config = Config::new(0, 1, job, local.to_vec());
        config.secret = settings.secret.clone();
        config.congestion = settings.tcp_congestion.clone();
        if let Some(lanes) = settings.tcp_lanes {
            config.lanes = lanes;
        }
        config.spread = settings.tcp_spread;
        if let Some(bytes) = settings.tcp_socket_buffer {
            config.socket_buffer = Some(bytes);
        }
        Tcp::bind(config).map_err(refused)
    }
}
