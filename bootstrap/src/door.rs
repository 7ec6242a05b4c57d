//! Who may wait at the master's door: connections that have not yet shown who they are.
//!
//! Every connection is let in at once, so that a joiner is heard however many others knock; what is bounded is how many
//! wait. When there are too many, one of the address that has the most of them is dropped, the oldest first: whoever
//! belongs to the job speaks as soon as it is connected. Those whose first words were made with the secret are counted
//! apart and dropped only when there are too many of them: somebody may send recorded ones again. Pure; neighbours:
//! `connection` is what waits, `mod.rs` drops it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

/// Connections that wait, by number.
pub(crate) struct Door {
    limit: usize,
    /// Where each has come from; numbers that are no longer here are left over in the queues.
    unknown: HashMap<u64, IpAddr>,
    queues: HashMap<IpAddr, Queue>,
    vouched: HashSet<u64>,
    vouched_queue: VecDeque<u64>,
}

/// Those of one address, oldest first, of which `count` are still there.
#[derive(Default)]
struct Queue {
    count: usize,
    numbers: VecDeque<u64>,
}

/// One host, as far as an address tells: an IPv6 host has as many as it likes of one network.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

impl Door {
    /// A door where `limit` of each kind may wait.
    pub(crate) fn new(limit: usize) -> Self {
        let (unknown, queues) = (HashMap::new(), HashMap::new());
        Self { limit, unknown, queues, vouched: HashSet::new(), vouched_queue: VecDeque::new() }
    }

    /// Connection `number`, higher than any before, waits; another is to be dropped for it.
    pub(crate) fn enter(&mut self, number: u64, from: IpAddr) -> Option<u64> {
        let dropped = if self.unknown.len() >= self.limit { self.drop_one() } else { None };
        let host = host(from);
        self.unknown.insert(number, host);
        let queue = self.queues.entry(host).or_default();
        queue.count += 1;
        queue.numbers.push_back(number);
        dropped
    }

    /// Its first words were made with the secret; another of those is to be dropped for it.
    pub(crate) fn vouch(&mut self, number: u64) -> Option<u64> {
        self.leave(number);
        let mut dropped = None;
        while dropped.is_none() && self.vouched.len() >= self.limit {
            dropped = self.vouched_queue.pop_front().filter(|oldest| self.vouched.remove(oldest));
        }
        self.vouched.insert(number);
        self.vouched_queue.push_back(number);
        dropped
    }

    /// It no longer waits.
    pub(crate) fn leave(&mut self, number: u64) {
        if self.vouched.remove(&number) {
            let vouched = &self.vouched;
            tidy(&mut self.vouched_queue, vouched.len(), |number| vouched.contains(number));
        }
        let Some(host) = self.unknown.remove(&number) else { return };
        let Some(queue) = self.queues.get_mut(&host) else { return };
        queue.count -= 1;
        if queue.count == 0 {
            self.queues.remove(&host);
            return;
        }
        let unknown = &self.unknown;
        tidy(&mut queue.numbers, queue.count, |number| unknown.contains_key(number));
    }

    /// The oldest of the address that has the most.
    pub(crate) fn drop_one(&mut self) -> Option<u64> {
        let queue = self.queues.values_mut().max_by_key(|queue| queue.count)?;
        let unknown = &self.unknown;
        let oldest = std::iter::from_fn(|| queue.numbers.pop_front()).find(|n| unknown.contains_key(n))?;
        self.leave(oldest);
        Some(oldest)
    }
}

/// Forgets what is no longer there, when that is most of a queue.
fn tidy(queue: &mut VecDeque<u64>, there: usize, is_there: impl Fn(&u64) -> bool) {
    if queue.len() > 2 * there + 16 {
        queue.retain(is_there);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_oldest_of_the_greediest_address_makes_room() {
        let mut door = Door::new(4);
        assert_eq!(door.enter(1, ip("10.0.0.1")), None);
        for number in 2..5 {
            assert_eq!(door.enter(number, ip("10.0.0.9")), None);
        }
        assert_eq!(door.enter(5, ip("10.0.0.9")), Some(2));
        assert_eq!(door.enter(6, ip("10.0.0.2")), Some(3));
        assert_eq!(door.enter(7, ip("::ffff:10.0.0.9")), Some(4), "the same address in another form");
        door.leave(5);
        assert_eq!(door.enter(8, ip("10.0.0.3")), None, "somebody has left");
    }

    #[test]
    fn all_addresses_of_an_ipv6_network_share() {
        let mut door = Door::new(3);
        door.enter(1, ip("fd00:1::1"));
        door.enter(2, ip("fd00:2::1"));
        door.enter(3, ip("fd00:2::2"));
        assert_eq!(door.enter(4, ip("fd00:3::1")), Some(2));
    }

    #[test]
    fn whoever_was_vouched_for_is_not_dropped_for_others_and_is_bounded_too() {
        let mut door = Door::new(2);
        door.enter(1, ip("10.0.0.1"));
        assert_eq!(door.vouch(1), None);
        for number in 2..100 {
            assert_ne!(door.enter(number, ip("10.0.0.1")), Some(1));
        }
        assert_eq!(door.vouch(98), None);
        assert_eq!(door.vouch(99), Some(1), "the oldest of its kind");
        door.leave(98);
        door.enter(100, ip("10.0.0.1"));
        assert_eq!(door.vouch(100), None);
    }

    #[test]
    fn what_is_kept_stays_bounded_over_a_long_flood() {
        let mut door = Door::new(64);
        for number in 0..100_000 {
            door.enter(number, IpAddr::from((number as u32 % 7).to_be_bytes()));
            if number % 3 == 0 {
                door.vouch(number);
            }
            if number % 2 == 0 {
                door.leave(number);
            }
        }
        let kept: usize = door.queues.values().map(|queue| queue.numbers.len()).sum();
        assert!(kept <= 7 * 16 + 3 * 64, "{kept}");
        assert!(door.unknown.len() <= 64 && door.vouched.len() <= 64);
        assert!(door.vouched_queue.len() <= 16 + 3 * 64, "{}", door.vouched_queue.len());
    }
}
