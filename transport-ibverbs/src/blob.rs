//! What ranks tell one another before a queue pair works: addresses at the rendezvous, offers at the out-of-band
//! channel.
//!
//! ```text
//! address   version, port's part, length and name of the device, address of the out-of-band channel
//! offer     version, port's part, packet sequence number, numbers of the queue pairs
//! ```
//!
//! The port's part is in both: at the rendezvous it lets a rank say at once that it cannot reach another; in
//! the offer it is what the queue pair was really made with. Invariant: everything is checked when it is
//! read. Pure. Neighbours: `verbs/connect.rs`.

use ringworld_transport::{Address, MAX_HEADER};

use crate::choice::{Gid, LinkLayer};
use crate::config::Config;

/// Changes whenever bytes on any wire of this transport change their meaning.
pub(crate) const VERSION: u8 = 3;
pub(crate) const PORT: usize = 32;
/// Size of an offer without the numbers of queue pairs.
const OFFER: usize = 1 + PORT + 4;
/// Size of the number of a queue pair.
const NUMBER: usize = 3;
// An offer is the header of a message, behind a byte that says what it is.
const _: () = assert!(1 + OFFER + NUMBER * Config::MAX_QUEUE_PAIRS <= MAX_HEADER);
/// A queue pair number and a packet sequence number have 24 bits.
pub(crate) const BITS_24: u32 = 0xff_ffff;

/// How a port is reached, and what its rank can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortInfo {
    pub(crate) link_layer: LinkLayer,
    pub(crate) lid: u16,
    pub(crate) gid: Gid,
    /// As libibverbs numbers them: 1 for 256 bytes, to 5 for 4096.
    pub(crate) mtu: u8,
    /// Receive slots for each peer.
    pub(crate) slots: u16,
    /// Bytes of each.
    pub(crate) slot_size: u32,
    /// The longest message of a queue pair.
    pub(crate) max_message: u32,
    /// Queue pairs that its rank would have with each peer.
    pub(crate) pairs: u8,
}

impl PortInfo {
    fn encode(&self) -> [u8; PORT] {
        let mut bytes = [0; PORT];
        bytes[0] = match self.link_layer {
            LinkLayer::InfiniBand => 1,
            LinkLayer::Ethernet => 2,
        };
        bytes[1] = self.mtu;
        bytes[2..4].copy_from_slice(&self.lid.to_le_bytes());
        bytes[4..20].copy_from_slice(&self.gid.0);
        bytes[20..22].copy_from_slice(&self.slots.to_le_bytes());
        bytes[22..26].copy_from_slice(&self.slot_size.to_le_bytes());
        bytes[26..30].copy_from_slice(&self.max_message.to_le_bytes());
        bytes[30] = self.pairs;
        bytes
    }

    fn decode(bytes: &[u8; PORT]) -> Result<Self, String> {
        let [link_layer, mtu, l0, l1, rest @ ..] = *bytes;
        let Some((gid, [s0, s1, z0, z1, z2, z3, m0, m1, m2, m3, pairs, 0])) = rest.split_first_chunk() else {
            return Err(DAMAGED.to_owned());
        };
        let part = Self {
            link_layer: match link_layer {
                1 => LinkLayer::InfiniBand,
                2 => LinkLayer::Ethernet,
                _ => return Err(DAMAGED.to_owned()),
            },
            lid: u16::from_le_bytes([l0, l1]),
            gid: Gid(*gid),
            mtu,
            slots: u16::from_le_bytes([*s0, *s1]),
            slot_size: u32::from_le_bytes([*z0, *z1, *z2, *z3]),
            max_message: u32::from_le_bytes([*m0, *m1, *m2, *m3]),
            pairs: *pairs,
        };
        // The least that a prelude and the longest header need, with room for payload behind them.
        let sane = (1..=5).contains(&mtu) && part.slot_size >= 256 && part.max_message >= part.slot_size;
        let sane = sane && (1..=Config::MAX_QUEUE_PAIRS).contains(&usize::from(*pairs));
        if sane { Ok(part) } else { Err(DAMAGED.to_owned()) }
    }

    /// Bytes of a packet between these two ports.
    pub(crate) fn agreed_packet(&self, there: &Self) -> usize {
        128 << self.mtu.min(there.mtu)
    }

    /// How many queue pairs this rank and that one have with each other: both come to the same number.
    pub(crate) fn agreed_pairs(&self, other: &Self) -> usize {
        usize::from(self.pairs.min(other.pairs))
    }

    /// Whether packets can go from this port to that one; says why not.
    pub(crate) fn reaches(&self, other: &Self) -> Result<(), String> {
        if self.link_layer != other.link_layer {
            return Err(format!(
                "its port is on {} and this rank's on {}; choose devices of one kind on all hosts",
                other.link_layer, self.link_layer
            ));
        }
        let (here, there) = (self.gid.ip(), other.gid.ip());
        if self.link_layer == LinkLayer::Ethernet && here.is_ipv4() != there.is_ipv4() {
            return Err(format!(
                "its GID is {there} and this rank's {here}, of another family; choose GID indices that match"
            ));
        }
        Ok(())
    }
}

const DAMAGED: &str = "it is cut short or damaged";
const OTHER_VERSION: &str =
    "it is not of this version of the ibverbs transport; run the same version of ringworld on every host";

/// What stands at the rendezvous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortAddress {
    pub(crate) port: PortInfo,
    pub(crate) device: String,
    pub(crate) oob: Address,
}

impl PortAddress {
    pub(crate) fn encode(&self) -> Address {
        let mut bytes = vec![VERSION];
        bytes.extend(self.port.encode());
        let name = &self.device.as_bytes()[..self.device.len().min(255)];
        bytes.push(name.len() as u8);
        bytes.extend(name);
        bytes.extend(self.oob.as_bytes());
        Address::new(bytes)
    }

    /// The reverse; says what is wrong otherwise.
    pub(crate) fn decode(address: &Address) -> Result<Self, String> {
        let Some((&VERSION, rest)) = address.as_bytes().split_first() else {
            return Err(OTHER_VERSION.to_owned());
        };
        let (port, rest) = rest.split_first_chunk().ok_or(DAMAGED)?;
        let (&length, rest) = rest.split_first().ok_or(DAMAGED)?;
        let (name, oob) = rest.split_at_checked(usize::from(length)).ok_or(DAMAGED)?;
        let device = String::from_utf8(name.to_vec()).map_err(|_| DAMAGED)?;
        Ok(Self { port: PortInfo::decode(port)?, device, oob: Address::new(oob.to_vec()) })
    }
}

/// Queue pairs that wait for their other ends, the first to the first, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) port: PortInfo,
    /// Where the packet numbers of all of them begin.
    pub(crate) sequence: u32,
    /// One at least.
    pub(crate) numbers: Vec<u32>,
}

impl Offer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.port.encode());
        bytes.extend(self.sequence.to_le_bytes());
        for number in &self.numbers {
            bytes.extend(&number.to_le_bytes()[..NUMBER]);
        }
        bytes
    }

    /// The reverse; says what is wrong otherwise.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some((&VERSION, rest)) = bytes.split_first() else { return Err(OTHER_VERSION.to_owned()) };
        let (port, rest) = rest.split_first_chunk().ok_or(DAMAGED)?;
        let (sequence, rest) = rest.split_first_chunk().ok_or(DAMAGED)?;
        let (port, sequence) = (PortInfo::decode(port)?, u32::from_le_bytes(*sequence));
        let (numbers, rest) = rest.as_chunks::<NUMBER>();
        let numbers: Vec<u32> = numbers.iter().map(|[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0])).collect();
        let several = (1..=usize::from(port.pairs)).contains(&numbers.len());
        // Two queue pairs of one port never have the same number.
        let distinct = numbers.iter().enumerate().all(|(at, number)| !numbers[..at].contains(number));
        if sequence > BITS_24 || !rest.is_empty() || !several || !distinct {
            return Err(DAMAGED.to_owned());
        }
        Ok(Self { port, sequence, numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(ip: &str) -> PortInfo {
        PortInfo {
            link_layer: LinkLayer::Ethernet,
            lid: 0x1234,
            gid: Gid(ip.parse::<std::net::Ipv6Addr>().unwrap().octets()),
            mtu: 5,
            slots: 64,
            slot_size: 8192,
            max_message: 1 << 30,
            pairs: 3,
        }
    }

    #[test]
    fn addresses_and_offers_survive() {
        let address = PortAddress {
            port: part("::ffff:10.0.0.1"),
            device: "rxe0".to_owned(),
            oob: Address::new(vec![1, 2, 3]),
        };
        assert_eq!(PortAddress::decode(&address.encode()), Ok(address));
        for numbers in [vec![17], vec![BITS_24, 1, 0x01_0203]] {
            let offer = Offer { port: part("fe80::1"), sequence: BITS_24, numbers };
            assert_eq!(Offer::decode(&offer.encode()), Ok(offer));
        }
        let port = PortInfo { pairs: Config::MAX_QUEUE_PAIRS as u8, ..part("fe80::1") };
        let most = Offer { port, sequence: 0, numbers: (0..u32::from(port.pairs)).collect() };
        assert_eq!(Offer::decode(&most.encode()), Ok(most));
    }

    #[test]
    fn the_smaller_number_of_queue_pairs_holds_whoever_asks() {
        let (few, many) = (part("fe80::1"), PortInfo { pairs: 8, ..part("fe80::1") });
        assert_eq!((few.agreed_pairs(&many), many.agreed_pairs(&few), many.agreed_pairs(&many)), (3, 3, 8));
        let short = PortInfo { mtu: 3, ..part("10::1") };
        assert_eq!(
            (few.agreed_packet(&many), few.agreed_packet(&short), short.agreed_packet(&few)),
            (4096, 1024, 1024)
        );
    }

    #[test]
    fn damaged_ones_are_refused() {
        let offer = |numbers| Offer { port: part("fe80::1"), sequence: 1, numbers };
        let whole = offer(vec![17]).encode();
        for end in 0..whole.len() {
            assert!(Offer::decode(&whole[..end]).is_err(), "{end}");
        }
        // Version, link layer, MTU, slot size, queue pairs (none, and too many), what is always zero, sequence.
        for (at, value) in [(0, 1), (1, 3), (2, 0), (2, 6), (24, 0), (31, 0), (31, 17), (32, 1), (36, 1)] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            assert!(Offer::decode(&bytes).is_err(), "{at}");
        }
        // None, more than the port's part says, one twice, and a part of one.
        for numbers in [vec![], vec![1, 2, 3, 4], vec![5, 6, 5]] {
            assert!(Offer::decode(&offer(numbers.clone()).encode()).is_err(), "{numbers:?}");
        }
        assert!(Offer::decode(&[&whole[..], &[1]].concat()).is_err());
        let address =
            PortAddress { port: part("fe80::1"), device: "a".to_owned(), oob: Address::new(vec![]) };
        let address = address.encode();
        for end in 0..address.as_bytes().len() {
            assert!(PortAddress::decode(&Address::new(address.as_bytes()[..end].to_vec())).is_err(), "{end}");
        }
    }

    #[test]
    fn ports_that_cannot_reach_each_other_say_why() {
        let (v4, v6) = (part("::ffff:10.0.0.1"), part("fe80::1"));
        let infiniband = PortInfo { link_layer: LinkLayer::InfiniBand, ..v6 };
        assert!(v4.reaches(&v4).is_ok());
        assert!(v4.reaches(&v6).unwrap_err().contains("family"));
        assert!(v4.reaches(&infiniband).unwrap_err().contains("InfiniBand"));
    }
}
