//! The promises about showing, and transports that break one: each must fail the check of that promise.

use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ringworld_transport::conformance::{self, Check, Fabric};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Label, Operation, Placer, Posted, Rank, RecvMemory,
    Refused, RemoteKey, Showing, Shown, Token, Transport,
};
use ringworld_transport_shm::{Config, Shm};

/// What is wrong with the transport.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Passes more than it was told.
    PassesTooMuch,
    /// Takes part, and never says that it has passed anything.
    PassesNothing,
    LabelCutShort,
    BytesCutShort,
    /// Copies the beginning for any part.
    CopiesTheBeginning,
    /// Never says that there is no room.
    NeverFull,
    /// Shows to those who are not there, as far as it says.
    ShowsToAnybody,
    NeverUnsure,
    GoneWithItsOwner,
    LeavesWithWhatItShows,
    NeverLeaves,
    SleepsThrough,
}

struct Faulty {
    fault: Fault,
    shm: Shm,
    closed: Vec<Rank>,
    /// It takes part in a channel.
    passes: bool,
}

impl Transport for Faulty {
    fn capabilities(&self) -> &Capabilities {
        self.shm.capabilities()
    }

    fn address(&self) -> Address {
        self.shm.address()
    }

    fn connect(&mut self, peer: Rank, address: &Address) -> Result<(), ConnectError> {
        self.shm.connect(peer, address)
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        self.shm.post(operation)
    }

    fn show(&mut self, to: &[Rank], channel: u64, number: u32, label: &Label, payload: &[u8]) -> Showing {
        let showing = self.shm.show(to, channel, number, label, payload);
        match (self.fault, showing) {
            (Fault::ShowsToAnybody, Showing::Not) | (Fault::NeverUnsure, Showing::Unsure) => Showing::Done,
            (Fault::NeverFull, Showing::Full) => Showing::Not,
            _ => showing,
        }
    }

    fn shown(&mut self, from: Rank, channel: u64, number: u32) -> Option<Shown> {
        let shown = self.shm.shown(from, channel, number)?;
        match self.fault {
            Fault::GoneWithItsOwner if self.closed.contains(&from) => None,
            Fault::LabelCutShort => {
                let mut label = shown.label;
                label[23] = 0;
                Some(Shown { label, ..shown })
            }
            _ => Some(shown),
        }
    }

    fn copy_shown(&mut self, from: Rank, channel: u64, number: u32, offset: usize, into: &mut [u8]) {
        let room = if self.fault == Fault::BytesCutShort { into.len().min(32) } else { into.len() };
        let offset = if self.fault == Fault::CopiesTheBeginning { 0 } else { offset };
        self.shm.copy_shown(from, channel, number, offset, &mut into[..room]);
    }

    fn pass(&mut self, channel: u64, number: u32) -> bool {
        match self.fault {
            Fault::PassesTooMuch => self.shm.pass(channel, number.wrapping_add(2)),
            Fault::PassesNothing if std::mem::replace(&mut self.passes, true) => true,
            _ => self.shm.pass(channel, number),
        }
    }

    fn leave(&mut self, channel: u64) {
        match self.fault {
            Fault::NeverLeaves => {}
            Fault::LeavesWithWhatItShows => {
                self.shm.leave(channel);
                // Nothing holds its place any more.
                self.shm.abort();
            }
            _ => self.shm.leave(channel),
        }
    }

    fn expose(&mut self, peer: Rank, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        self.shm.expose(peer, memory, token)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let moved = self.shm.poll(placer, events);
        let closed = events.iter().filter_map(|event| match event {
            Event::PeerClosed { peer } => Some(*peer),
            _ => None,
        });
        self.closed.extend(closed);
        moved
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.shm.wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.fault == Fault::SleepsThrough || self.shm.arm()
    }

    fn disconnect(&mut self, peer: Rank, cause: Cause) {
        self.shm.disconnect(peer, cause);
    }

    fn close(&mut self) {
        self.shm.close();
    }

    fn abort(&mut self) {
        self.shm.abort();
    }
}

struct World(Fault);

impl Fabric for World {
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> {
        let mut world: Vec<Shm> =
            (0..size).map(|rank| Shm::bind(Config::new(rank, size, 1)).unwrap()).collect();
        let addresses: Vec<_> = world.iter().map(|shm| shm.address()).collect();
        for (rank, shm) in world.iter_mut().enumerate() {
            for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                shm.connect(peer, address).unwrap();
            }
        }
        let faulty = |shm| {
            Box::new(Faulty { fault: self.0, shm, closed: Vec::new(), passes: false }) as Box<dyn Transport>
        };
        world.into_iter().map(faulty).collect()
    }

    fn patience(&self) -> std::time::Duration {
        std::time::Duration::from_secs(if self.0 == Fault::None { 20 } else { 1 })
    }
}

const SHOWING: [(&str, Check); 6] = [
    ("stays", conformance::what_is_shown_stays_until_all_have_passed_it),
    ("there", conformance::nothing_is_shown_to_who_is_not_there),
    ("told", conformance::who_shows_what_is_passed_is_told),
    ("outlives", conformance::what_was_shown_outlives_a_good_end),
    ("channels", conformance::channels_come_and_go),
    ("wakes", conformance::waiting_wakes_for_what_is_shown),
];

/// Which promises a transport with that fault breaks.
fn broken(fault: Fault) -> Vec<&'static str> {
    let breaks = |check: &Check| catch_unwind(AssertUnwindSafe(|| check(&mut World(fault)))).is_err();
    SHOWING.iter().filter(|(_, check)| breaks(check)).map(|(name, _)| *name).collect()
}

#[test]
fn every_fault_of_showing_breaks_its_promise_and_no_fault_breaks_none() {
    assert_eq!(broken(Fault::None), [] as [&str; 0]);
    for (fault, promise) in [
        (Fault::PassesTooMuch, "stays"),
        (Fault::PassesNothing, "stays"),
        (Fault::LabelCutShort, "stays"),
        (Fault::BytesCutShort, "stays"),
        (Fault::CopiesTheBeginning, "stays"),
        (Fault::NeverFull, "stays"),
        (Fault::ShowsToAnybody, "there"),
        (Fault::NeverUnsure, "told"),
        (Fault::GoneWithItsOwner, "outlives"),
        (Fault::LeavesWithWhatItShows, "channels"),
        (Fault::NeverLeaves, "channels"),
        (Fault::SleepsThrough, "wakes"),
    ] {
        let broken = broken(fault);
        assert!(broken.contains(&promise), "{fault:?} breaks {broken:?}, and not {promise:?}");
    }
}
