//! The promises of the transport interface, kept in shared memory, with a secret and without one, and with sockets in a
//! folder.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use ringworld_auth::Secret;
use ringworld_transport::Transport;
use ringworld_transport::conformance::Fabric;
use ringworld_transport_shm::{Config, Shm};

static JOBS: AtomicU64 = AtomicU64::new(1);

struct Memory {
    secret: bool,
    folder: Option<Folder>,
}

/// For the sockets of a world; nothing may be left in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let number = JOBS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("shm-sockets-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let left: Vec<_> =
            std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        std::fs::remove_dir_all(&self.0).unwrap();
        assert!(left.is_empty() || std::thread::panicking(), "left in the folder: {left:?}");
    }
}

impl Fabric for Memory {
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> {
        let job = JOBS.fetch_add(1, Ordering::Relaxed);
        let mut world: Vec<Shm> = (0..size)
            .map(|rank| {
                let mut config = Config::new(rank, size, job);
                if self.secret {
                    config.secret = Secret::new(b"a secret of the job".to_vec());
                }
                config.socket_dir = self.folder.as_ref().map(|folder| folder.0.clone());
                Shm::bind(config).unwrap()
            })
            .collect();
        let addresses: Vec<_> = world.iter().map(|shm| shm.address()).collect();
        for (rank, shm) in world.iter_mut().enumerate() {
            for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                shm.connect(peer, address).unwrap();
            }
        }
        world.into_iter().map(|shm| Box::new(shm) as Box<dyn Transport>).collect()
    }
}

mod without_a_secret {
    ringworld_transport::conformance_tests!(super::Memory { secret: false, folder: None });
}

mod with_a_secret {
    ringworld_transport::conformance_tests!(super::Memory { secret: true, folder: None });
}

mod with_sockets_in_a_folder {
    ringworld_transport::conformance_tests!(super::Memory {
        secret: true,
        folder: Some(super::Folder::new())
    });
}
