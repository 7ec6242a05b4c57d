//! A transport that refuses, holds on to memory, or loses a peer: one operation ends, and no memory goes back that is
//! still held. The transport is scripted, and its peer is the protocol machine of another rank.

use std::collections::VecDeque;
use std::sync::{Arc, Barrier, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ringworld::Error;
use ringworld::testing::{self, Choice, Rank};
use ringworld_protocol as protocol;
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, RecvMemory, Refused,
    RemoteKey, Token, Transport,
};

/// What the transport of rank 0 does next, and what it holds.
struct Script {
    /// Answers to the next posts; when there is none left, they complete at once.
    posts: VecDeque<Answer>,
    /// Answers to the next exposures: whether they fail, and why. When there is none left, they are accepted.
    exposures: VecDeque<Cause>,
    /// What the next poll finds: headers with payloads, and events after them.
    arriving: Vec<(protocol::Header, Vec<u8>)>,
    events: Vec<Event>,
    held: Vec<Operation>,
    exposed: Vec<(RecvMemory, Token)>,
    linked: bool,
    /// The next poll that brings something waits here, twice, with the engine's lock held.
    pause: Option<Arc<Barrier>>,
    /// The other rank.
    peer: protocol::Machine,
}

enum Answer {
    Pends,
    Refuses(Cause),
}

#[derive(Clone)]
struct Scripted(Arc<Mutex<Script>>, Arc<Capabilities>);

impl Scripted {
    fn new() -> Self {
        let config = protocol::Config::new(1, 2, testing::SMALL.0, testing::SMALL.1).unwrap();
        let script = Script {
            posts: VecDeque::new(),
            exposures: VecDeque::new(),
            arriving: Vec::new(),
            events: Vec::new(),
            held: Vec::new(),
            exposed: Vec::new(),
            linked: true,
            pause: None,
            peer: protocol::Machine::new(config),
        };
        Self(Arc::new(Mutex::new(script)), Arc::new(Capabilities::new("script")))
    }

    fn with(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap()
    }

    fn world(&self) -> Rank {
        self.world_of(2)
    }

    fn world_of(&self, size: usize) -> Rank {
        let choice = Choice { eager: testing::SMALL.0, window: testing::SMALL.1, ..Choice::default() };
        testing::rank(0, size, Some(Box::new(self.clone())), choice)
    }
}

impl Script {
    /// The peer begins to send `length` bytes with `tag`: what it says first is what arrives next.
    fn peer_sends(&mut self, length: usize, tag: u64) {
        // The highest bit of a user's tag is never set here, and the context of the world's messages is 0.
        let envelope =
            protocol::Envelope { context: 0, tag, element: protocol::Element::RAW, signature: [0; 24] };
        let data = protocol::Span::of(protocol::BufferId::FIRST, length);
        self.peer.send(0, envelope, data, protocol::Mode::Standard);
        while let Some(action) = self.peer.next_action() {
            let protocol::Action::Message { header, payload, .. } = action else { panic!("{action:?}") };
            self.arriving.push((header, vec![7; payload.map_or(0, |span| span.len)]));
        }
    }

    /// The next poll finds that the connections to these are lost.
    fn loses(&mut self, peers: &[usize]) {
        self.linked = false;
        let lost = |peer: &usize| Event::PeerDown { peer: *peer, cause: Cause::Lost("it was closed".into()) };
        self.events.extend(peers.iter().map(lost));
    }

    fn token(&self, index: usize) -> Token {
        match &self.held[index] {
            Operation::Message { token, .. } | Operation::Put { token, .. } => *token,
        }
    }

    fn bytes(&self, index: usize) -> &[u8] {
        match &self.held[index] {
            Operation::Message { payload, .. } | Operation::Put { payload, .. } => payload.as_slice(),
        }
    }
}

impl Transport for Scripted {
    fn capabilities(&self) -> &Capabilities {
        &self.1
    }

    fn address(&self) -> Address {
        Address::new(Vec::new())
    }

    fn connect(&mut self, _: usize, _: &Address) -> Result<(), ConnectError> {
        Ok(())
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        let mut script = self.with();
        match script.posts.pop_front() {
            None => Ok(Posted::Complete),
            Some(Answer::Pends) => {
                script.held.push(operation);
                Ok(Posted::Pending)
            }
            Some(Answer::Refuses(cause)) => Err(Refused::PeerDown(operation, cause)),
        }
    }

    fn expose(&mut self, _: usize, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        let mut script = self.with();
        match script.exposures.pop_front() {
            Some(cause) => Err(cause),
            None => {
                script.exposed.push((memory, token));
                Ok(RemoteKey::new(&[1]).unwrap())
            }
        }
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let mut script = self.with();
        let before = events.len();
        for (header, payload) in std::mem::take(&mut script.arriving) {
            let mut placement =
                placer.place(1, header.encode(&mut [0; protocol::Header::MAX]), payload.len()).unwrap();
            let room = placement.memory.as_mut_slice();
            let fits = room.len().min(payload.len());
            room[..fits].copy_from_slice(&payload[..fits]);
            events.push(Event::Received { peer: 1, token: placement.token });
        }
        events.append(&mut script.events);
        let moved = events.len() > before;
        if let Some(pause) = script.pause.take_if(|_| moved) {
            drop(script);
            pause.wait();
            pause.wait();
        }
        moved
    }

    fn is_connected(&self, _: usize) -> bool {
        self.with().linked
    }

    fn disconnect(&mut self, _: usize, _: Cause) {}

    fn close(&mut self) {
        self.with().events.push(Event::Closed);
    }

    fn abort(&mut self) {
        let mut script = self.with();
        script.held.clear();
        script.exposed.clear();
    }
}

const LONG: usize = 10_000;

#[test]
fn a_refusal_ends_one_operation_and_not_what_the_transport_has_accepted_before() {
    let script = Scripted::new();
    let world = script.world();
    script.with().posts = [Answer::Pends, Answer::Refuses(Cause::Finished)].into();
    let accepted = world.start_send(vec![7u8; 100], 1, 1).unwrap();
    let refused = world.start_send(vec![8u8; 100], 1, 2).unwrap();
    assert!(matches!(refused.wait(), Err(Error::PeerFinished { rank: 1, .. })));
    // The peer says goodbye; what it has been sent before is still to be delivered.
    script.with().events.push(Event::PeerClosed { peer: 1 });
    assert!(!accepted.is_done() && !accepted.is_done());
    let token = {
        let script = script.with();
        assert_eq!(script.bytes(0), [7; 100]);
        script.token(0)
    };
    let mut with = script.with();
    with.held.clear();
    with.events.push(Event::Sent { token });
    drop(with);
    assert_eq!(accepted.wait().unwrap(), [7; 100]);
}

#[test]
fn memory_that_a_transport_still_fills_is_not_given_back_for_a_word_of_the_control_plane() {
    for linked in [true, false] {
        let script = Scripted::new();
        let world = script.world();
        let pending = world.start_recv(vec![0u8; LONG], 1, 1).unwrap();
        script.with().peer_sends(LONG, 1);
        assert!(!pending.is_done());
        script.with().linked = linked;
        world.peer_has_left(1);
        assert!(!pending.is_done() && !pending.is_done(), "linked: {linked}");
        let mut with = script.with();
        let (mut memory, token) = with.exposed.pop().unwrap();
        memory.as_mut_slice().fill(9);
        drop(memory);
        with.events.push(Event::Filled { token });
        drop(with);
        assert_eq!(pending.wait().unwrap().0, vec![9; LONG], "linked: {linked}");
    }
}

/// What a collective has sent is complete for its caller, and nobody else hears that it never left.
#[test]
fn a_collective_whose_message_never_left_is_an_error_of_the_end() {
    for (calls, is_told) in [(true, true), (false, false)] {
        let script = Scripted::new();
        script.with().linked = false;
        let world = script.world();
        if calls {
            world.broadcast(&mut [7u8; 3], 0).unwrap();
        } else {
            world.send(&[7u8; 3], 1, 1).unwrap();
        }
        world.peer_has_left(1);
        script.with().events.push(Event::Undelivered { peer: 1 });
        script.with().loses(&[1]);
        let ended = world.finish();
        let told = matches!(&ended, Err(error @ Error::Mismatch { .. })
            if error.to_string().contains("left the world without calling it"));
        assert_eq!(told, is_told, "{ended:?}");
    }
}

#[test]
fn a_receive_that_nobody_fills_any_more_ends_with_its_peer() {
    let script = Scripted::new();
    let world = script.world();
    let pending = world.start_recv(vec![0u8; LONG], 1, 1).unwrap();
    script.with().peer_sends(LONG, 1);
    assert!(!pending.is_done());
    let mut with = script.with();
    with.exposed.clear();
    with.events.extend([Event::PeerClosed { peer: 1 }, Event::PeerDown { peer: 1, cause: Cause::Finished }]);
    drop(with);
    assert!(matches!(pending.wait(), Err(Error::PeerFinished { rank: 1, .. })));
}

/// By construction, and not because transports keep their word: the memory says itself whether it is held.
#[test]
fn memory_that_a_transport_holds_after_the_end_it_reports_is_given_back_when_it_lets_go() {
    let script = Scripted::new();
    let world = script.world();
    script.with().posts = [Answer::Pends].into();
    let pending = world.start_send(vec![7u8; 100], 1, 1).unwrap();
    let token = script.with().token(0);
    script.with().events.push(Event::Sent { token });
    assert!(!pending.is_done() && !pending.is_done());
    assert_eq!(script.with().bytes(0), [7; 100]);
    script.with().held.clear();
    assert_eq!(pending.wait().unwrap(), [7; 100]);
}

/// A peer that is gone is for the verdict to name, also when what notices it is an exposure that comes too late.
#[test]
fn an_exposure_that_comes_too_late_leaves_the_blame_to_the_verdict() {
    let script = Scripted::new();
    let world = script.world();
    script.with().exposures = [Cause::Lost("the connection was reset".into())].into();
    script.with().peer_sends(LONG, 1);
    let begun = Instant::now();
    let error = world.recv(&mut vec![0u8; LONG], 1, 1).unwrap_err();
    assert!(matches!(error, Error::PeerFailed { rank: 1, .. }), "{error}");
    assert!(begun.elapsed() > Duration::from_millis(200), "there was time for a verdict");
}

#[test]
fn memory_that_cannot_be_exposed_is_this_ranks_own_trouble() {
    let script = Scripted::new();
    let world = script.world();
    script.with().exposures = [Cause::Memory("the card is full".into())].into();
    script.with().peer_sends(LONG, 1);
    let error = world.recv(&mut vec![0u8; LONG], 1, 1).unwrap_err();
    assert!(matches!(error, Error::System { .. }), "{error}");
    // The world goes on.
    script.with().peer_sends(1, 2);
    assert_eq!(world.recv(&mut [0u8], 1, 2).unwrap().count, 1);
}

/// A data connection that is lost a moment before the control plane says that its peer has left in good order.
#[test]
fn a_peer_that_has_left_in_good_order_is_not_suspected() {
    let script = Scripted::new();
    let world = script.world();
    let pending = world.start_recv(vec![0u8; 1], 1, 1).unwrap();
    script.with().loses(&[1]);
    assert!(!pending.is_done());
    world.peer_has_left(1);
    let error = pending.wait().unwrap_err();
    assert!(matches!(error, Error::PeerFinished { rank: 1, .. }), "{error}");
    std::thread::sleep(Duration::from_millis(350));
    world.send(&[1u8], 0, 3).unwrap();
    world.recv(&mut [0u8], 0, 3).unwrap();
}

/// The connections to two peers are lost, and the first loss is still doubtful when the second comes.
#[test]
fn each_of_several_that_are_suspected_is_let_go_when_it_has_left() {
    let script = Scripted::new();
    let world = script.world_of(3);
    script.with().loses(&[1, 2]);
    let receives = [1, 2].map(|peer| world.start_recv(vec![0u8; 1], peer, 1).unwrap());
    assert!(!receives[0].is_done());
    // What is posted from here on is refused, and whether that fails the world is not yet known.
    let refused = || Answer::Refuses(Cause::Lost("nobody listens any more".into()));
    script.with().posts = [refused(), refused()].into();
    let sends = [1, 2].map(|peer| world.start_send(vec![0u8; 1], peer, 1).unwrap());
    world.peer_has_left(1);
    world.peer_has_left(2);
    for (rank, (receive, send)) in (1..).zip(receives.into_iter().zip(sends)) {
        for error in [receive.wait().unwrap_err(), send.wait().unwrap_err()] {
            assert!(matches!(error, Error::PeerFinished { rank: named, .. } if named == rank), "{error}");
        }
    }
    std::thread::sleep(Duration::from_millis(350));
    world.send(&[1u8], 0, 3).unwrap();
    world.recv(&mut [0u8], 0, 3).unwrap();
}

/// The same, and only the first of the two has left in good order.
#[test]
fn who_was_suspected_later_is_not_forgotten_when_the_first_has_left() {
    let script = Scripted::new();
    let world = script.world_of(3);
    let receive = world.start_recv(vec![0u8; 1], 2, 1).unwrap();
    script.with().loses(&[1, 2]);
    assert!(!receive.is_done());
    world.peer_has_left(1);
    let error = receive.wait().unwrap_err();
    assert!(matches!(error, Error::PeerFailed { rank: 2, .. }), "{error}");
}

/// A receive is dropped while another thread has the lock, and has just read its message and the next: who asks then
/// gets the first.
#[test]
fn a_receive_that_is_dropped_while_the_engine_is_driven_gives_its_message_back_in_time() {
    for _ in 0..50 {
        let script = Scripted::new();
        let world = script.world();
        let dropped = world.start_recv(vec![0u8; 4], 1, 5).unwrap();
        let pause = Arc::new(Barrier::new(2));
        {
            let mut with = script.with();
            with.peer_sends(1, 5);
            with.peer_sends(2, 5);
            with.pause = Some(Arc::clone(&pause));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| world.try_probe(1, 99).unwrap());
            pause.wait();
            drop(dropped);
            pause.wait();
            let mut data = [0u8; 4];
            assert_eq!(world.recv(&mut data, 1, 5).unwrap().count, 1);
            assert_eq!(world.recv(&mut data, 1, 5).unwrap().count, 2);
        });
    }
}
