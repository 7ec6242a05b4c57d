//! A folder of sockets: how ranks reach one another that share a file system but no network namespace.
//!
//! ```text
//! FOLDER/ringworld-shm-BOOT-NAME        connections             BOOT: first half of the boot id, NAME: random
//! FOLDER/ringworld-shm-BOOT-NAME.try    who wants to know whether the owner can be reached
//! ```
//!
//! Invariants: only their owner can connect to the files (mode 0600, from their first moment); their maker removes them
//! when it needs them no more. What a killed process leaves behind hinders nobody, for no name comes twice, and is
//! removed by the next rank of the same user and host that starts there: two files for each process that was killed
//! since. Whoever makes or removes files holds the lock of the folder, so that a socket that is only just being made is
//! not taken for a dead one. Paths go by the folder's descriptor: they are short however long the folder's own is, and
//! stay right when it is renamed. Neighbours: `address.rs` says what the files are called, `transport.rs` owns them.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringworld_transport::descriptor::Descriptor;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

const PREFIX: &str = "ringworld-shm-";
/// How long others may keep the folder locked: each does so for as long as a few system calls for each file take.
const LOCKED: Duration = Duration::from_secs(10);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: Descriptor<OwnedFd>,
    path: PathBuf,
}

/// Why a rank cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// It never can.
    Apart(String),
    /// Nobody is there: never was, or not any more.
    Nobody(String),
}

impl Folder {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| {
            let shown = path.display();
            format!(
                "the folder {shown} cannot be opened: {error}; RINGWORLD_SHM_SOCKET_DIR must name one that is there \
                 and that this user can read and write"
            )
        })?;
        Ok(Self { fd: Descriptor::new(fd), path: path.to_owned() })
    }

    /// As it was given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where a socket of this name is, for the calling thread.
    pub(crate) fn socket(&self, name: &str) -> Result<SocketAddrUnix, Errno> {
        // Its own list of descriptors: that of the process is empty once its first thread has ended.
        SocketAddrUnix::new(format!("/proc/thread-self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    /// Whether a socket of this name is there that belongs to the user of this process; only then can each reach the
    /// other, whoever is root.
    ///
    /// # Errors
    ///
    /// What is there instead.
    pub(crate) fn belongs_to_us(&self, name: &str) -> Result<(), Missed> {
        let folder = self.path.display();
        let found = match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => {
                return Err(Missed::Nobody(format!(
                    "its socket is not in {folder}: it has another folder or another user there, or is gone"
                )));
            }
            Err(error) => {
                return Err(Missed::Apart(format!("its socket in {folder} cannot be looked at: {error}")));
            }
        };
        let (owner, us) = (found.st_uid, rustix::process::geteuid().as_raw());
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            Err(Missed::Apart(format!("{folder} has no socket of its name, but another file")))
        } else if owner != us {
            let why =
                format!("its socket in {folder} belongs to user {owner}, and this process to user {us}");
            Err(Missed::Apart(why))
        } else {
            Ok(())
        }
    }

    /// Runs `make` while nobody else makes or removes files here, after having removed what the dead have left.
    ///
    /// # Errors
    ///
    /// Those of `make`, or that somebody else does not let go.
    pub(crate) fn alone<T>(&self, boot: &str, make: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let since = Instant::now();
        loop {
            match rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::AGAIN | Errno::INTR) if since.elapsed() < LOCKED => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => {
                    return Err(format!("the folder {} cannot be locked: {error}", self.path.display()));
                }
            }
        }
        self.remove_dead(boot);
        let made = make();
        // The kernel does so at the latest when the descriptor is closed.
        let _ = rustix::fs::flock(&self.fd, FlockOperation::Unlock);
        made
    }

    /// Removes sockets of this host and user at which nobody listens. What cannot be looked at or removed stays: it is
    /// in nobody's way.
    fn remove_dead(&self, boot: &str) {
        let Ok(entries) = Dir::read_from(&self.fd) else { return };
        let ours = format!("{PREFIX}{boot}-");
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with(&ours) && self.belongs_to_us(name).is_ok() && self.is_dead(name) {
                self.remove(name);
            }
        }
    }

    /// Whether nobody listens there. A socket of the other kind than asked for is there, which shows that somebody
    /// does.
    fn is_dead(&self, name: &str) -> bool {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None);
        let (Ok(socket), Ok(address)) = (socket, self.socket(name)) else { return false };
        rustix::net::connect(&socket, &address) == Err(Errno::CONNREFUSED)
    }

    fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
    }
}

/// What a socket is called.
pub(crate) fn file_name(boot: &str, name: &[u8; 16], probe: bool) -> String {
    let end = if probe { ".try" } else { "" };
    format!("{PREFIX}{boot}-{:032x}{end}", u128::from_be_bytes(*name))
}

/// Files of this process, which are removed when it needs them no more.
#[derive(Debug)]
pub(crate) struct Files {
    folder: Folder,
    names: [String; 2],
    /// A child that this process forks has them, too, and must not remove them.
    maker: rustix::process::Pid,
}

impl Files {
    /// To be removed from `folder` at the end.
    pub(crate) fn new(folder: Folder, names: [String; 2]) -> Self {
        Self { folder, names, maker: rustix::process::getpid() }
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Takes them away; nobody can connect any more.
    pub(crate) fn remove(&self) {
        if rustix::process::getpid() == self.maker {
            self.names.iter().for_each(|name| self.folder.remove(name));
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("shm-folder-{}-{name}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn bound(folder: &Folder, name: &str) -> OwnedFd {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None).unwrap();
        rustix::net::bind(&socket, &folder.socket(name).unwrap()).unwrap();
        socket
    }

    #[test]
    fn what_the_dead_have_left_goes_and_all_else_stays() {
        let temporary = Temporary::new("dead");
        let folder = Folder::open(&temporary.0).unwrap();
        let name = |boot, end| file_name(boot, &[end; 16], false);
        let alive = bound(&folder, &name("aa", 1));
        drop(bound(&folder, &name("aa", 2)));
        // Of another host, for whom this one cannot speak; and what is no socket, or has another name.
        drop(bound(&folder, &name("bb", 3)));
        drop(bound(&folder, "another"));
        std::fs::write(temporary.0.join(name("aa", 4)), "a file").unwrap();
        assert_eq!(folder.alone("aa", || Ok(temporary.names().len())), Ok(4));
        let mut left = vec![name("aa", 1), name("aa", 4), name("bb", 3), "another".to_owned()];
        left.sort();
        assert_eq!(temporary.names(), left);
        drop(alive);
        folder.alone("aa", || Ok(())).unwrap();
        assert!(!temporary.names().contains(&name("aa", 1)));
    }

    #[test]
    fn files_go_with_what_holds_them_and_a_long_path_is_no_matter() {
        let temporary = Temporary::new("long");
        let long = temporary.0.join("a".repeat(120)).join("b".repeat(120));
        std::fs::create_dir_all(&long).unwrap();
        let folder = Folder::open(&long).unwrap();
        let names = [file_name("aa", &[7; 16], false), file_name("aa", &[7; 16], true)];
        let sockets: Vec<_> = names.iter().map(|name| bound(&folder, name)).collect();
        assert!(names.iter().all(|name| folder.belongs_to_us(name).is_ok()));
        // Also where the first thread of a process has ended, and with it the list of `/proc/self`.
        let path = format!("{:?}", folder.socket(&names[0]).unwrap());
        assert!(path.contains("/proc/thread-self/fd/"), "{path}");
        drop(Files::new(folder, names.clone()));
        assert_eq!(std::fs::read_dir(&long).unwrap().count(), 0);
        drop(sockets);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Folder::open(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(error.contains("/nowhere/at/all"), "{error}");
        let temporary = Temporary::new("empty");
        let folder = Folder::open(&temporary.0).unwrap();
        assert!(
            matches!(folder.belongs_to_us("nobody"), Err(Missed::Nobody(why)) if why.contains("another folder"))
        );
        std::fs::write(temporary.0.join("file"), "").unwrap();
        assert!(
            matches!(folder.belongs_to_us("file"), Err(Missed::Apart(why)) if why.contains("another file"))
        );
    }
}
