//! What the tests of this crate share: ports, settings, worlds made of threads, and events to wait for.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringworld_bootstrap::{ControlEvent, Error, Joining, Session, Settings};

/// A port that nobody listens on. Below the ephemeral range, so that no outgoing connection takes it
/// between this check and its use; spread by process id, so that parallel test binaries rarely meet.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = (std::process::id() % 120) as u16 * 150;
    loop {
        let port = 10_000 + (base + NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000;
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}

/// Settings for a world of `size` that meets at `127.0.0.1:port`, with more keys as given.
pub(crate) fn settings(port: u16, size: usize, more: &[(&str, &str)]) -> Settings {
    let mut all = vec![
        ("master_node".to_string(), "127.0.0.1".to_string()),
        ("master_port".to_string(), port.to_string()),
        ("world_size".to_string(), size.to_string()),
        ("timeout".to_string(), "20s".to_string()),
    ];
    all.extend(more.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())));
    Settings::load(&all, &std::collections::BTreeMap::new()).unwrap()
}

/// A rank of a world made of threads, with the events it hears.
pub(crate) struct Rank {
    pub(crate) session: Session,
    pub(crate) events: Receiver<ControlEvent>,
}

/// Begins and joins; offers one address that names this joiner.
pub(crate) fn join(settings: &Settings, name: &str) -> Result<Rank, Error> {
    let joining = Joining::begin(settings)?;
    let (heard, events) = channel();
    let addresses = vec![("test".to_string(), name.as_bytes().to_vec())];
    let session = joining.join(addresses, Box::new(move |event| drop(heard.send(event))))?;
    Ok(Rank { session, events })
}

/// Joins in a thread.
pub(crate) fn spawn(settings: Settings, name: &str) -> JoinHandle<Result<Rank, Error>> {
    let name = name.to_string();
    std::thread::spawn(move || join(&settings, &name))
}

/// A world of `size` in threads, by rank.
pub(crate) fn world(size: usize, more: &[(&str, &str)]) -> Vec<Rank> {
    world_at(free_port(), size, more)
}

/// The same, at a given port.
pub(crate) fn world_at(port: u16, size: usize, more: &[(&str, &str)]) -> Vec<Rank> {
    let joining: Vec<_> =
        (0..size).map(|index| spawn(settings(port, size, more), &format!("joiner {index}"))).collect();
    let mut ranks: Vec<Rank> = joining.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
    ranks.sort_by_key(|rank| rank.session.rank);
    ranks
}

/// Says goodbye on every rank at once: the serving one waits for the others.
pub(crate) fn finish(ranks: Vec<Rank>) {
    let threads: Vec<_> =
        ranks.into_iter().map(|rank| std::thread::spawn(move || rank.session.finish())).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// The rank that serves the rendezvous, apart from the others.
pub(crate) fn split_server(ranks: Vec<Rank>) -> (Rank, Vec<Rank>) {
    let (mut server, others): (Vec<_>, Vec<_>) = ranks.into_iter().partition(|rank| rank.session.serves());
    (server.pop().expect("one serves"), others)
}

impl Rank {
    /// The first event that `wanted` accepts, within `limit`.
    pub(crate) fn hears(&self, limit: Duration, wanted: impl Fn(&ControlEvent) -> bool) -> ControlEvent {
        let deadline = Instant::now() + limit;
        let mut heard = Vec::new();
        while let Ok(event) = self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if wanted(&event) {
                return event;
            }
            heard.push(event);
        }
        panic!("rank {} waited {limit:?} in vain; it heard {heard:?}", self.session.rank);
    }

    /// The cause of the death of `rank`, once it is reported.
    pub(crate) fn hears_death(&self, rank: usize, limit: Duration) -> String {
        self.hears_death_and_link(rank, limit).0
    }

    /// And whether it is said that its link to this rank is what failed.
    pub(crate) fn hears_death_and_link(&self, rank: usize, limit: Duration) -> (String, bool) {
        match self.hears(limit, |event| matches!(event, ControlEvent::PeerDown { rank: r, .. } if *r == rank))
        {
            ControlEvent::PeerDown { cause, host, link, .. } => {
                assert_eq!(host, self.session.members[rank].host);
                (cause, link)
            }
            other => panic!("{other:?}"),
        }
    }
}
