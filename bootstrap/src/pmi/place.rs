//! What the process that serves the rendezvous tells the others through the process manager. Pure.
//!
//! `1;HOST;PORT;ADDRESS,ADDRESS`: the form, the number of its host, the port, and its addresses, best first. Neither
//! blanks nor equals signs, which process managers read themselves.

use std::net::{IpAddr, SocketAddr};

/// Where it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// See `host_identity`.
    pub(crate) host: u64,
    pub(crate) port: u16,
    pub(crate) addresses: Vec<IpAddr>,
}

/// Nobody has more addresses than this, and who tries them has a limited time.
const MOST: usize = 64;

impl Place {
    /// As text of at most `limit` bytes, with as many addresses as that has room for.
    pub(super) fn text(&self, limit: usize) -> Result<String, String> {
        let mut text = format!("1;{:016x};{};", self.host, self.port);
        for (index, address) in self.addresses.iter().take(MOST).enumerate() {
            let more = format!("{}{address}", if index == 0 { "" } else { "," });
            if text.len() + more.len() > limit {
                if index == 0 {
                    return Err(format!(
                        "its values have at most {limit} bytes, which is too short for an address"
                    ));
                }
                break;
            }
            text += &more;
        }
        Ok(text)
    }

    pub(super) fn read(text: &str) -> Result<Self, String> {
        let expected = || format!("expected where rank 0 serves, as 1;HOST;PORT;ADDRESSES, heard {text:?}");
        let read = || {
            let mut parts = text.split(';');
            let mut next = || parts.next();
            let (form, host, port, addresses) = (next()?, next()?, next()?, next()?);
            if form != "1" || host.len() != 16 || parts.next().is_some() {
                return None;
            }
            let host = u64::from_str_radix(host, 16).ok()?;
            let port = port.parse().ok().filter(|port| *port > 0)?;
            let mut read = Vec::new();
            for address in addresses.split(',') {
                let address: IpAddr = address.parse().ok()?;
                if address.is_unspecified() || address.is_multicast() || read.len() == MOST {
                    return None;
                }
                read.push(address);
            }
            Some(Self { host, port, addresses: read })
        };
        read().ok_or_else(expected)
    }

    /// Where to connect to.
    pub(crate) fn sockets(&self) -> Vec<SocketAddr> {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(addresses: &[&str]) -> Place {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Place { host: 0xfeed, port: 29_500, addresses }
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let two = place(&["10.9.8.1", "fd00::1"]);
        let text = two.text(1024).unwrap();
        assert_eq!(text, "1;000000000000feed;29500;10.9.8.1,fd00::1");
        assert_eq!(Place::read(&text), Ok(two.clone()));
        assert_eq!(two.sockets()[1].to_string(), "[fd00::1]:29500");
        // What has no room is left out, the best last.
        assert_eq!(Place::read(&two.text(34).unwrap()), Ok(place(&["10.9.8.1"])));
        assert!(two.text(31).unwrap_err().contains("at most 31 bytes"));
        let many = Place { addresses: vec![IpAddr::from([10, 0, 0, 1]); 1000], ..two };
        assert_eq!(Place::read(&many.text(usize::MAX).unwrap()).unwrap().addresses.len(), MOST);
    }

    #[test]
    fn anything_else_is_refused_and_shown() {
        let good = "1;000000000000feed;29500;10.9.8.1";
        assert!(Place::read(good).is_ok());
        for (from, to) in [
            ("1;0", "2;0"),
            ("feed", "fee"),
            ("feed", "xxxx"),
            ("29500", "0"),
            ("29500", "65536"),
            ("29500", "-1"),
            ("10.9.8.1", ""),
            ("10.9.8.1", "n0"),
            ("10.9.8.1", "0.0.0.0"),
            ("10.9.8.1", "::"),
            ("10.9.8.1", "224.0.0.1"),
            ("10.9.8.1", "10.9.8.1,"),
            ("10.9.8.1", "10.9.8.1;"),
            ("10.9.8.1", "10.9.8.1:80"),
        ] {
            let error = Place::read(&good.replace(from, to)).unwrap_err();
            assert!(error.contains("1;HOST;PORT;ADDRESSES"), "{to}: {error}");
        }
        assert!(Place::read(&format!("{good}{}", ",10.0.0.1".repeat(MOST))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_is_read_as_something_else(text in "(1;[0-9a-f]{16};[0-9]{1,6};)?[0-9a-f:.;,]{0,60}") {
            if let Ok(place) = Place::read(&text) {
                let written = place.text(usize::MAX).unwrap();
                prop_assert_eq!(Place::read(&written), Ok(place));
            }
        }
    }
}
