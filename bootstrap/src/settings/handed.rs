//! The secret that a launcher makes for its ranks: handed over by a descriptor that they inherit, so that it stands in
//! no environment, which children inherit, and which core dumps, logs and schedulers record.
//!
//! It is memory without a name in a file system (`memfd`), sealed, so that nothing else is ever taken for it. The first
//! program that loads its settings reads it, and closes it before it can start anything. Programs between, such as a
//! shell, keep theirs, and can start a rank again; where one closes its children's descriptors, as Python's
//! `subprocess` does, the rank finds it at its nearest ancestor that has it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ringworld_auth::Secret;
use rustix::fs::{MemfdFlags, OFlags, SealFlags};

use super::ancestors;
use crate::inherited;

const NAME: &str = "ringworld-secret";
/// What the kernel calls it.
const LINK: &str = "/memfd:ringworld-secret (deleted)";
/// Numbers below are what scripts write by hand (`exec 3>file`, `flock 9`) and shells use themselves.
const LOWEST: RawFd = 50;
/// Nobody can write to it any more.
const SEALS: SealFlags =
    SealFlags::WRITE.union(SealFlags::GROW).union(SealFlags::SHRINK).union(SealFlags::SEAL);

/// What this process has read, and the number it had: settings may be loaded more than once.
static KEPT: Mutex<Option<(RawFd, Secret)>> = Mutex::new(None);

/// Makes the descriptor that hands `secret` over; its number is for `RINGWORLD_SECRET_FD`. As every descriptor it is
/// not inherited unless its flag says so.
///
/// # Errors
///
/// When the system has no descriptor or memory to give.
pub fn hand_over(secret: &Secret) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let memory = rustix::io::fcntl_dupfd_cloexec(memory, LOWEST)?;
    let mut file = File::from(memory);
    file.write_all(secret.expose())?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file.into())
}

/// What was handed over at `number`, to this process or to its nearest ancestor that still has it.
pub(super) fn read(number: RawFd) -> Result<Secret, String> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, secret)) = kept.as_ref().filter(|(from, _)| *from == number) {
        return Ok(secret.clone());
    }
    for pid in ancestors::line() {
        if let Some(secret) = read_of(pid, number).map_err(|error| error.to_string())? {
            return Ok(secret);
        }
    }
    Err("no secret was handed over at this descriptor: a program between the launcher and this one has closed it; \
         leave descriptors open there (in Python's subprocess: close_fds=False), or give the job a secret of your own \
         in a file that RINGWORLD_SECRET_FILE names"
        .into())
}

/// Remembers `secret` and closes the descriptor that it came by, so that what this process starts does not inherit it.
pub(super) fn keep(number: RawFd, secret: &Secret) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    *kept = Some((number, secret.clone()));
    drop(inherited::take(number, is_it));
}

fn is_it(place: &Path) -> bool {
    std::fs::read_link(place).is_ok_and(|link| link.as_os_str() == LINK)
}

/// What the process holds there; `None` if that is something else, or cannot be looked at.
fn read_of(pid: u32, number: RawFd) -> io::Result<Option<Secret>> {
    let path = format!("/proc/{pid}/fd/{number}");
    if !is_it(Path::new(&path)) {
        return Ok(None);
    }
    // Should it have become a pipe since, opening must not wait.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(nonblocking).open(path) {
        Ok(file) => file,
        Err(error) if pid == std::process::id() => return Err(error),
        Err(_) => return Ok(None),
    };
    if !rustix::fs::fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS)) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // What is sealed cannot grow while it is read, and was written by a launcher.
    (&file).read_to_end(&mut bytes)?;
    Ok((!bytes.is_empty()).then(|| Secret::new(bytes)))
}
