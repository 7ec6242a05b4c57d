//! Where a rank is reached, and whether that is on this host. Pure, but for the one question to the system whether
//! somebody has a name.
//!
//! ```text
//! VERSION (1)   boot (16)   name (16)   kind (1)
//! ```
//!
//! `boot` tells running kernels apart and is a first sieve: it is the same in all containers of a host, and may be the
//! same on copies of a virtual machine. `name` is random. A socket of that name is in no file system and can be reached
//! within a network namespace only, or is a file in a folder ([`crate::folder`]) that each process finds by a path of
//! its own; `kind` says which. Whoever reaches it runs under the same kernel, where descriptors can be handed over and
//! memory mapped. Invariant: two addresses lead to one another from both sides or from neither. Neighbours:
//! `transport.rs` publishes and tries addresses.

use ringworld_transport::Address;
use ringworld_transport::shortage::advice;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::folder::{Folder, Missed, file_name};

/// Changes with the layout of addresses, links or outboxes.
pub(crate) const VERSION: u8 = 12;
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const LENGTH: usize = 34;

/// Where a rank is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    boot: [u8; 16],
    name: [u8; 16],
    kind: Kind,
}

/// What its sockets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Names in no file system.
    Abstract,
    /// Files in the folder of both.
    Files,
}

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Connections.
    Talk,
    /// To find out whether its owner can be reached.
    Probe,
}

impl Place {
    /// A new one on this host, in a folder or in none.
    pub(crate) fn new(in_folder: bool) -> Result<Self, String> {
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(|error| format!("no random numbers: {error}"))?;
        let text = std::fs::read_to_string(BOOT_ID)
            .map_err(|error| format!("{BOOT_ID}: {error}{}", advice(&error)))?;
        let boot = boot(&text).ok_or_else(|| format!("{BOOT_ID} says {text:?}"))?;
        Ok(Self { boot, name, kind: if in_folder { Kind::Files } else { Kind::Abstract } })
    }

    /// What others are told.
    pub(crate) fn address(&self) -> Address {
        let mut bytes = vec![VERSION];
        bytes.extend(self.boot);
        bytes.extend(self.name);
        bytes.push(u8::from(self.kind == Kind::Files));
        Address::new(bytes)
    }

    /// What another has told.
    ///
    /// # Errors
    ///
    /// Why it makes no sense.
    pub(crate) fn parse(address: &Address) -> Result<Self, String> {
        let bytes = address.as_bytes();
        match bytes.first() {
            Some(&VERSION) if bytes.len() == LENGTH => {}
            Some(&VERSION) | None => {
                return Err(format!("an address of {} bytes instead of {LENGTH}", bytes.len()));
            }
            Some(other) => {
                return Err(format!(
                    "version {other} of shared memory there, {VERSION} here; run the same release"
                ));
            }
        }
        let part = |from: usize| bytes[from..].first_chunk().copied().unwrap_or_default();
        let kind = match bytes.last() {
            Some(0) => Kind::Abstract,
            Some(1) => Kind::Files,
            other => return Err(format!("sockets of the unknown kind {other:?}")),
        };
        Ok(Self { boot: part(1), name: part(17), kind })
    }

    /// What tells the files of this host from those of others that share its folder.
    pub(crate) fn host(&self) -> String {
        self.boot[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The name of a rank's file in the folder.
    pub(crate) fn file(&self, purpose: Purpose) -> String {
        file_name(&self.host(), &self.name, purpose == Purpose::Probe)
    }

    /// Where a rank's sockets are, as seen from a process with this folder.
    pub(crate) fn socket(&self, folder: Option<&Folder>, purpose: Purpose) -> Result<SocketAddrUnix, Errno> {
        if let Some(folder) = folder {
            return folder.socket(&self.file(purpose));
        }
        let mut name = *b"ringworld-shm-                ";
        name[14..].copy_from_slice(&self.name);
        SocketAddrUnix::new_abstract_name(&name)
    }

    /// Whether `other` can be reached from here, found out by reaching it. A socket for datagrams is what is asked for:
    /// to be connected with one costs its owner nothing.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(crate) fn reaches(&self, other: &Self, folder: Option<&Folder>) -> Result<(), Missed> {
        if self.boot != other.boot {
            return Err(Missed::Apart("it is on another host".into()));
        }
        if self.kind != other.kind {
            let (has, lacks) =
                if self.kind == Kind::Files { ("this rank", "it") } else { ("it", "this rank") };
            return Err(Missed::Apart(format!(
                "{has} has a folder for sockets (RINGWORLD_SHM_SOCKET_DIR) and {lacks} has none"
            )));
        }
        if let Some(folder) = folder {
            folder.belongs_to_us(&other.file(Purpose::Probe))?;
        }
        let probe = || {
            let socket = rustix::net::socket_with(
                AddressFamily::UNIX,
                SocketType::DGRAM,
                SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                None,
            )?;
            rustix::net::connect(&socket, &other.socket(folder, Purpose::Probe)?)
        };
        match probe() {
            Ok(()) => Ok(()),
            Err(Errno::CONNREFUSED) if folder.is_some() => Err(Missed::Nobody("it is gone".into())),
            Err(Errno::CONNREFUSED) => Err(Missed::Nobody(
                "it is in another network namespace, on another copy of this machine, or gone".into(),
            )),
            Err(error) => Err(Missed::Apart(format!("its socket cannot be reached: {error}"))),
        }
    }
}

/// The 16 bytes of what is written with hexadecimal digits and dashes.
fn boot(text: &str) -> Option<[u8; 16]> {
    let digits: Option<Vec<u8>> =
        text.trim().chars().filter(|c| *c != '-').map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == 32)?;
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_told() {
        for in_folder in [false, true] {
            let place = Place::new(in_folder).unwrap();
            assert_eq!(Place::parse(&place.address()), Ok(place));
        }
        for wrong in [
            vec![],
            vec![VERSION],
            vec![VERSION; 33],
            vec![VERSION; 34],
            vec![VERSION; 35],
            vec![VERSION + 1; 34],
        ] {
            assert!(Place::parse(&Address::new(wrong.clone())).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_boot_has_sixteen_bytes() {
        let parsed = boot("01234567-89ab-cdef-0123-456789ABCDEF\n");
        let half = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        assert_eq!(parsed.map(|bytes| bytes.to_vec()), Some([half, half].concat()));
        assert_eq!((boot(""), boot("xyz"), boot("0123")), (None, None, None));
    }

    #[test]
    fn nobody_is_reached_whose_socket_is_not_there() {
        let (one, other) = (Place::new(false).unwrap(), Place::new(false).unwrap());
        let missed = one.reaches(&other, None).unwrap_err();
        assert!(matches!(missed, Missed::Nobody(why) if why.contains("network namespace")));
        let elsewhere = Place { boot: [1; 16], ..other };
        assert_eq!(one.reaches(&elsewhere, None), Err(Missed::Apart("it is on another host".to_owned())));
        // Whichever of the two has the folder.
        let filed = Place { kind: Kind::Files, ..other };
        let (theirs, ours) = (one.reaches(&filed, None), filed.reaches(&one, None));
        assert!(matches!(theirs, Err(Missed::Apart(why)) if why.starts_with("it has a folder")));
        assert!(matches!(ours, Err(Missed::Apart(why)) if why.starts_with("this rank has a folder")));
    }
}
