//! Worlds of two ranks of a session, over one transport and without a control plane of their own: what `ringworld
//! check` measures. A pair that cannot be reached ends its own small world and no other.
//!
//! Each side opens its [`Half`], tells the other where that is reached, by whatever means, and [meets](Half::meet) it.
//! The transports are opened, and judged to lead to one another or not, as those of a world are. Internal: the
//! interface may change with every version.

use std::net::IpAddr;
use std::sync::Arc;

use ringworld_bootstrap::{Member, Settings, TransportChoice};
use ringworld_engine::{NoControl, Parts, REMIND};

use super::transports::{self, Place, Prepared};
use super::{World, limits, spin};
use crate::{Error, Result};

pub use super::descriptors::Needed;

/// One side of a pair that has not met yet.
pub struct Half {
    prepared: Prepared,
    settings: Settings,
}

impl std::fmt::Debug for Half {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Half")
    }
}

impl Half {
    /// Opens a transport, as the settings say otherwise. `number` is of this pair, and of no other of the session that
    /// might still be trying to connect; `local` are the addresses of this host that lead to others. Connections, and
    /// operations, are waited for as long as `timeout`, `peer_timeout` and `op_timeout` of the settings say.
    ///
    /// # Errors
    ///
    /// When the transport cannot be opened here, with the reason.
    pub fn open(settings: &Settings, transport: &str, number: u64, local: &[IpAddr]) -> Result<Self> {
        let mut settings = settings.clone();
        settings.transport = TransportChoice::Only(vec![transport.to_owned()]);
        let prepared = transports::prepare(&settings, &Place::new(number, local, settings.peer_timeout))?;
        Ok(Self { prepared, settings })
    }

    /// Where this side is reached: for the other side.
    #[must_use]
    pub fn address(&self) -> Vec<u8> {
        self.prepared.addresses().into_iter().next().map(|(_, address)| address).unwrap_or_default()
    }

    /// Makes a world with the other side, which may not have been reached when this returns: the first message finds
    /// out. `pair` are the members of the session that the two are, and `rank`, 0 or 1, says which of them is this
    /// side; `theirs` is what the other side's [`Half::address`] says, and `busy` how many ranks of this host are at
    /// work.
    ///
    /// # Errors
    ///
    /// When the address leads nowhere by this transport, with the reason: the other side finds the same.
    ///
    /// # Panics
    ///
    /// When `rank` is not below 2.
    pub fn meet(self, rank: usize, mut pair: [Member; 2], theirs: Vec<u8>, busy: usize) -> Result<World> {
        let Self { prepared, settings } = self;
        pair[rank].addresses = prepared.addresses();
        pair[1 - rank].addresses =
            pair[rank].addresses.iter().map(|(name, _)| (name.clone(), theirs.clone())).collect();
        let opened = prepared.open(rank, &pair, |_| false)?;
        let shared = pair[0].host_id == pair[1].host_id;
        let host_ids: Box<[u64]> = pair.iter().map(|member| member.host_id).collect();
        let parts = Parts {
            rank,
            local: if shared { (rank, 2) } else { (0, 1) },
            hosts: pair.iter().map(|member| member.host.clone()).collect(),
            transports: opened.transports,
            routes: opened.routes,
            limits: limits(&host_ids, &settings)?,
            control: Arc::new(NoControl),
            inbox: Arc::default(),
            spin: spin(&settings, busy),
            op_timeout: settings.op_timeout,
            stall_warning: None,
            remind: REMIND,
            trace: None,
        };
        let memory = transports::memory_of(&pair);
        World::assemble(parts, opened.reasons, None, &settings, host_ids, memory)
    }
}

/// The transports that the settings allow, best first, and whether each can be opened here: its reason if not.
///
/// # Errors
///
/// [`Error::Bootstrap`] when the settings leave none, or ask for one that is not there.
pub fn transports(
    settings: &Settings,
    local: &[IpAddr],
) -> Result<Vec<(&'static str, std::result::Result<(), String>)>> {
    let try_out = |name| match Half::open(settings, name, 0, local) {
        Ok(_) => Ok(()),
        Err(Error::Bootstrap(why)) => Err(why),
        Err(error) => Err(error.to_string()),
    };
    Ok(transports::allowed(settings)?.into_iter().map(|name| (name, try_out(name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringworld_bootstrap::Joining;
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    const LOCAL: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::LOCALHOST)];

    fn settings() -> Settings {
        let mut settings = Settings::default();
        settings.timeout = Duration::from_millis(800);
        settings.peer_timeout = Some(settings.timeout);
        settings.op_timeout = Some(Duration::from_secs(3));
        settings
    }

    /// This process, as a member of a world.
    fn member() -> Member {
        let session = Joining::begin(&settings()).unwrap().join(Vec::new(), Box::new(drop)).unwrap();
        session.members[0].clone()
    }

    fn pair() -> [Member; 2] {
        [member(), member()]
    }

    #[test]
    fn two_halves_meet_over_every_transport_and_part_in_good_order() {
        let usable = transports(&settings(), &LOCAL).unwrap();
        assert!(usable.iter().any(|(_, open)| open.is_ok()));
        for (name, _) in usable.iter().filter(|(_, open)| open.is_ok()) {
            let (to_one, for_one) = std::sync::mpsc::channel();
            let (to_other, for_other) = std::sync::mpsc::channel();
            let sides = [(to_other, for_one), (to_one, for_other)].into_iter().enumerate();
            std::thread::scope(|scope| {
                for (rank, (tell, hear)) in sides {
                    scope.spawn(move || {
                        let half = Half::open(&settings(), name, 7, &LOCAL).unwrap();
                        tell.send(half.address()).unwrap();
                        let world = half.meet(rank, pair(), hear.recv().unwrap(), 2).unwrap();
                        assert_eq!(
                            (world.rank(), world.size(), world.route(1 - rank).transport),
                            (rank, 2, *name)
                        );
                        let mut sums = vec![rank as u64 + 1; 100_000];
                        world.all_reduce(&mut sums, ringworld_engine::Op::Sum).unwrap();
                        assert!(sums.iter().all(|sum| *sum == 3));
                        world.finish().unwrap();
                    });
                }
            });
        }
    }

    #[cfg(feature = "tcp")]
    #[test]
    fn whoever_is_not_there_ends_the_pair_in_time_with_the_reason() {
        let half = || Half::open(&settings(), "tcp", 7, &LOCAL).unwrap();
        // Its listener is gone when its address is used.
        let gone = half().address();
        let world = half().meet(0, pair(), gone, 1).unwrap();
        let began = Instant::now();
        let error = world.send_sync(&[0u8], 1, 0).unwrap_err();
        assert!(matches!(&error, Error::PeerFailed { rank: 1, cause, .. } if !cause.is_empty()), "{error}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        drop(world);
        assert!(matches!(half().meet(0, pair(), b"nonsense".to_vec(), 1), Err(Error::Bootstrap(_))));
        assert!(matches!(Half::open(&settings(), "pigeon", 7, &LOCAL), Err(Error::Bootstrap(_))));
    }
}
