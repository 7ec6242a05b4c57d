//! Unauthenticated connections: programs that know nothing of a job, and come to its ports.
//!
//! A port scanner, a web browser, a health check of a load balancer: they come to every listening port of a
//! data centre. A [`Scanner`] visits all ports on which the given processes listen, again and again, until
//! it is dropped.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::proc;
use crate::random::Random;

/// How such a program behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Says nothing and stays.
    Silent,
    /// Connects and leaves at once.
    Fleeting,
    /// Asks for a page.
    Http,
    /// Sends random bytes.
    Garbage,
    /// Sends a length that no buffer should believe.
    Huge,
}

impl Manner {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Silent, Self::Fleeting, Self::Http, Self::Garbage, Self::Huge];

    /// Connects to `address` and behaves so; a silent connection is returned, to be kept open.
    fn visit(self, address: SocketAddr, random: &mut Random) -> std::io::Result<Option<TcpStream>> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_millis(500))?;
        stream.set_write_timeout(Some(Duration::from_millis(200)))?;
        stream.set_read_timeout(Some(Duration::from_millis(5)))?;
        match self {
            Self::Silent => return Ok(Some(stream)),
            Self::Fleeting => return Ok(None),
            Self::Http => {
                stream.write_all(b"GET / HTTP/1.1\r\nHost: ringworld\r\nConnection: close\r\n\r\n")?
            }
            Self::Garbage => {
                let count = usize::try_from(1 + random.below(4000)).unwrap();
                stream.write_all(&random.bytes(count))?;
            }
            Self::Huge => stream.write_all(&[0xff; 64])?,
        }
        let _ = stream.read(&mut [0; 256]);
        Ok(None)
    }
}

/// What they did.
#[derive(Clone, Debug, Default)]
pub struct Visits {
    /// Connections made.
    pub connections: u64,
    /// The ports that were reached.
    pub ports: Vec<SocketAddr>,
}

/// A thread that visits the ports of some processes.
#[derive(Debug)]
pub struct Scanner {
    stop: Arc<AtomicBool>,
    pids: Arc<Mutex<Vec<u32>>>,
    thread: Option<JoinHandle<Visits>>,
}

/// Silent connections kept at a time; the oldest leaves when another comes.
const KEPT: usize = 40;

impl Scanner {
    /// Begins to visit the ports of `pids`, and of those added later.
    #[must_use]
    pub fn start(pids: &[u32], mut random: Random) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let pids = Arc::new(Mutex::new(pids.to_vec()));
        let (stopped, watched) = (Arc::clone(&stop), Arc::clone(&pids));
        let thread = std::thread::spawn(move || {
            let mut visits = Visits::default();
            let mut kept = std::collections::VecDeque::new();
            while !stopped.load(Ordering::Relaxed) {
                let now = watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
                for address in now.into_iter().flat_map(proc::listening) {
                    for manner in Manner::ALL {
                        let Ok(stream) = manner.visit(reachable(address), &mut random) else { continue };
                        visits.connections += 1;
                        if !visits.ports.contains(&address) {
                            visits.ports.push(address);
                        }
                        kept.extend(stream);
                        if kept.len() > KEPT {
                            kept.pop_front();
                        }
                    }
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            visits
        });
        Self { stop, pids, thread: Some(thread) }
    }

    /// Visits this process's ports, too.
    pub fn watch(&self, pid: u32) {
        self.pids.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
    }

    /// Ends the visits and says what was done.
    #[must_use]
    pub fn finish(mut self) -> Visits {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A listener on all addresses is visited on this host's own.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    address
}
