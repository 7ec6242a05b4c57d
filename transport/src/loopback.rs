//! A transport that reaches only its own rank, for messages that a rank sends to itself.
//!
//! Invariant: nothing is buffered but short messages that are injected. An accepted operation keeps its
//! [`SendMemory`](crate::SendMemory) until the next poll, which asks where the payload goes and copies it there, once.
//! Neighbours: the runtime, which uses it whatever transports reach the other ranks.
//!
//! The peer of a loopback is itself, so [`Transport::close`] ends with [`Event::Closed`] alone: there is
//! nobody else to see [`Event::PeerClosed`]. Exposures that nobody filled are dropped then.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    Address, Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, Rank, RecvMemory, Refused,
    RemoteKey, Token, Transport, copying,
};

/// The longest payload that may be injected, in bytes: beyond that a second copy costs more than it saves.
const INJECT: usize = 1 << 10;

/// What waits for the next poll.
#[derive(Debug)]
enum Waiting {
    Posted(Operation),
    /// The next so many bytes of what has been copied: a header and a payload.
    Injected {
        header: usize,
        payload: usize,
    },
}

/// Memory opened to puts of this rank to itself.
#[derive(Debug)]
struct Exposure {
    memory: RecvMemory,
    token: Token,
    /// Bytes not yet written.
    missing: usize,
}

/// Whether operations are accepted.
#[derive(Debug)]
enum State {
    Open,
    /// `close` was called; `Closed` is reported once the queue is empty.
    Closing,
    /// Nothing is accepted for this reason; reported if `true`.
    Ended(Cause, bool),
}

/// See the [module documentation](self).
#[derive(Debug)]
pub struct Loopback {
    rank: Rank,
    capabilities: Capabilities,
    queue: VecDeque<Waiting>,
    /// Messages that were injected, one behind the other.
    injected: Vec<u8>,
    exposures: BTreeMap<u64, Exposure>,
    next_key: u64,
    state: State,
}

impl Loopback {
    /// A transport for `rank` to reach itself; its own address need not be given to it.
    #[must_use]
    pub fn new(rank: Rank) -> Self {
        let mut capabilities = Capabilities::new("self");
        capabilities.inject = INJECT;
        capabilities.latency_ns = 200;
        capabilities.bytes_per_us = 8_000;
        Self {
            rank,
            capabilities,
            queue: VecDeque::new(),
            injected: Vec::new(),
            exposures: BTreeMap::new(),
            next_key: 0,
            state: State::Open,
        }
    }

    /// Drops everything; `reported` says whether `PeerDown` or `Closed` has been reported already.
    fn end(&mut self, cause: Cause, reported: bool) {
        self.queue.clear();
        self.injected.clear();
        self.exposures.clear();
        self.state = State::Ended(cause, reported);
    }

    /// What a put needs to be possible: its exposure, still open, with room behind the offset.
    fn put_fits(&self, key: &RemoteKey, offset: usize, length: usize) -> Result<(), &'static str> {
        let exposure = self.exposures.get(&key_id(key).ok_or("this key is not one of the loopback")?);
        let Some(exposure) = exposure else { return Err("this memory is not exposed, or no longer") };
        match offset.checked_add(length) {
            _ if length == 0 => Err("a put must not be empty"),
            Some(end) if end <= exposure.memory.len() => Ok(()),
            _ => Err("the put reaches beyond the end of the exposed memory"),
        }
    }

    /// Moves one operation; the error is the reason for which its header was refused.
    fn deliver(
        &mut self,
        operation: Operation,
        placer: &mut dyn Placer,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        match operation {
            Operation::Message { header, payload, token, .. } => {
                let payload = payload.as_slice();
                // It may be long.
                let copy = &mut |into: &mut [u8]| copying::copy(&payload[..into.len()], into);
                placer.deliver_from(self.rank, header.as_bytes(), payload.len(), copy, events)?;
                events.push(Event::Sent { token });
            }
            Operation::Put { key, offset, payload, token, .. } => {
                events.push(Event::Sent { token });
                let Some(id) = key_id(&key) else { return Ok(()) };
                // Gone only if other puts overlapped this one and so filled the exposure by count.
                let Some(exposure) = self.exposures.get_mut(&id) else { return Ok(()) };
                let room = &mut exposure.memory.as_mut_slice()[offset..offset + payload.len()];
                copying::copy(payload.as_slice(), room);
                exposure.missing = exposure.missing.saturating_sub(payload.len());
                if exposure.missing == 0 {
                    events.push(Event::Filled { token: exposure.token });
                    self.exposures.remove(&id);
                }
            }
        }
        Ok(())
    }
}

/// The exposure that a key names; `None` if another transport made it.
fn key_id(key: &RemoteKey) -> Option<u64> {
    key.as_bytes().try_into().ok().map(u64::from_le_bytes)
}

impl Transport for Loopback {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        Address::new(Vec::new())
    }

    fn connect(&mut self, peer: Rank, _address: &Address) -> Result<(), ConnectError> {
        if peer == self.rank {
            return Ok(());
        }
        let reason = format!("it reaches rank {} only, itself; use another transport", self.rank);
        Err(ConnectError { peer, transport: self.capabilities.name, reason, nobody: false })
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        if operation.peer() != self.rank {
            return Err(Refused::Unknown(operation));
        }
        match &self.state {
            State::Open => {}
            State::Closing => return Err(Refused::PeerDown(operation, Cause::Finished)),
            State::Ended(cause, _) => return Err(Refused::PeerDown(operation, cause.clone())),
        }
        if let Operation::Put { key, offset, payload, .. } = &operation
            && let Err(why) = self.put_fits(key, *offset, payload.len())
        {
            return Err(Refused::Invalid(operation, why));
        }
        self.queue.push_back(Waiting::Posted(operation));
        Ok(Posted::Pending)
    }

    fn inject(&mut self, peer: Rank, header: &[u8], payload: &[u8]) -> bool {
        if peer != self.rank || payload.len() > INJECT || !matches!(self.state, State::Open) {
            return false;
        }
        self.injected.extend_from_slice(header);
        self.injected.extend_from_slice(payload);
        self.queue.push_back(Waiting::Injected { header: header.len(), payload: payload.len() });
        true
    }

    fn expose(&mut self, peer: Rank, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        match &self.state {
            _ if peer != self.rank => {
                let rank = self.rank;
                return Err(Cause::Unreachable(format!("the loopback of rank {rank} reaches only itself")));
            }
            State::Open => {}
            State::Closing => return Err(Cause::Finished),
            State::Ended(cause, _) => return Err(cause.clone()),
        }
        if memory.is_empty() {
            return Err(Cause::Memory("no bytes were given; expose at least one".to_owned()));
        }
        let id = self.next_key;
        let key = RemoteKey::new(&id.to_le_bytes())
            .ok_or_else(|| Cause::Memory("a key of 8 bytes did not fit".to_owned()))?;
        self.next_key += 1;
        self.exposures.insert(id, Exposure { missing: memory.len(), memory, token });
        Ok(key)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        if let State::Ended(cause, reported @ false) = &mut self.state {
            *reported = true;
            events.push(Event::PeerDown { peer: self.rank, cause: cause.clone() });
            return true;
        }
        let mut moved = false;
        let mut injected = 0..0;
        while let Some(waiting) = self.queue.pop_front() {
            moved = true;
            let delivered = match waiting {
                Waiting::Posted(operation) => self.deliver(operation, placer, events),
                Waiting::Injected { header, payload } => {
                    injected = injected.end..injected.end + header + payload;
                    let (header, payload) = self.injected[injected.clone()].split_at(header);
                    placer.deliver(self.rank, header, payload, events)
                }
            };
            if let Err(reason) = delivered {
                let cause = Cause::Protocol(reason);
                let closing = matches!(self.state, State::Closing);
                self.end(cause.clone(), true);
                events.push(Event::PeerDown { peer: self.rank, cause });
                if closing {
                    events.push(Event::Closed);
                }
                return true;
            }
        }
        if moved {
            self.injected.clear();
        }
        if matches!(self.state, State::Closing) {
            self.end(Cause::Finished, true);
            events.push(Event::Closed);
            moved = true;
        }
        moved
    }

    /// There is no descriptor: what lies here was put here by this process, and only this tells of it.
    fn arm(&mut self) -> bool {
        self.queue.is_empty() && !matches!(self.state, State::Closing | State::Ended(_, false))
    }

    fn disconnect(&mut self, peer: Rank, cause: Cause) {
        if peer == self.rank && !matches!(self.state, State::Ended(..)) {
            self.end(cause, false);
        }
    }

    fn close(&mut self) {
        if matches!(self.state, State::Open) {
            self.state = State::Closing;
        }
    }

    fn abort(&mut self) {
        self.end(Cause::Finished, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Buffer;
    use crate::{Header, Placement, SendMemory};

    /// Places every message in a buffer of the room that is given first.
    #[derive(Default)]
    struct Desk {
        rooms: VecDeque<usize>,
        asked: Vec<(Rank, Vec<u8>, usize)>,
        buffers: Vec<Buffer>,
    }

    impl Placer for Desk {
        fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
            self.asked.push((peer, header.to_vec(), length));
            if header == b"bad" {
                return Err("bad header".to_owned());
            }
            let buffer = Buffer::new(vec![0; self.rooms.pop_front().unwrap_or(length)]);
            let memory = buffer.lend_to_receive();
            self.buffers.push(buffer);
            Ok(Placement { token: Token(100 + self.buffers.len() as u64), memory })
        }
    }

    fn message(header: &[u8], payload: &'static [u8], token: u64) -> Operation {
        let header = Header::new(header).unwrap();
        Operation::Message { peer: 3, header, payload: SendMemory::from_static(payload), token: Token(token) }
    }

    fn put(key: RemoteKey, offset: usize, payload: &'static [u8], token: u64) -> Operation {
        Operation::Put {
            peer: 3,
            key,
            offset,
            payload: SendMemory::from_static(payload),
            token: Token(token),
        }
    }

    fn poll(loopback: &mut Loopback, desk: &mut Desk) -> Vec<String> {
        let mut events = Vec::new();
        let moved = loopback.poll(desk, &mut events);
        assert_eq!(moved, !events.is_empty());
        events.iter().map(|event| format!("{event:?}")).collect()
    }

    #[test]
    fn messages_to_oneself_are_placed_in_order_and_completed_once() {
        let mut loopback = Loopback::new(3);
        let mut desk = Desk { rooms: VecDeque::from([5, 2, 0]), ..Desk::default() };
        for (index, payload) in [&b"hello"[..], b"cut", b""].into_iter().enumerate() {
            let posted = loopback.post(message(&[index as u8], payload, index as u64)).unwrap();
            assert_eq!(posted, Posted::Pending);
        }
        assert!(desk.asked.is_empty(), "placement is asked for while polling only");
        assert!(!loopback.arm(), "nothing else tells that something lies here");
        assert_eq!(
            poll(&mut loopback, &mut desk),
            [
                "Received { peer: 3, token: Token(101) }",
                "Sent { token: Token(0) }",
                "Received { peer: 3, token: Token(102) }",
                "Sent { token: Token(1) }",
                "Received { peer: 3, token: Token(103) }",
                "Sent { token: Token(2) }"
            ]
        );
        assert_eq!(desk.asked, [(3, vec![0], 5), (3, vec![1], 3), (3, vec![2], 0)]);
        let texts: Vec<Vec<u8>> = desk.buffers.iter().map(Buffer::copy_out).collect();
        assert_eq!(texts, [b"hello".to_vec(), b"cu".to_vec(), vec![]]);
        assert!(poll(&mut loopback, &mut desk).is_empty() && loopback.arm());
    }

    #[test]
    fn injected_messages_keep_their_place_among_those_that_are_posted() {
        let (mut loopback, mut desk) = (Loopback::new(3), Desk::default());
        for round in 0..3 {
            assert!(loopback.inject(3, b"first", b"in memory that goes"));
            assert_eq!(loopback.post(message(b"second", b"posted", round)).unwrap(), Posted::Pending);
            assert!(loopback.inject(3, b"third", b""));
            assert!(!loopback.inject(4, b"", b"") && !loopback.inject(3, b"", &[0; INJECT + 1]));
            assert_eq!(poll(&mut loopback, &mut desk).len(), 4, "three messages, of which one was posted");
        }
        let headers: Vec<&[u8]> = desk.asked.iter().map(|(_, header, _)| header.as_slice()).collect();
        assert_eq!(headers, [&b"first"[..], b"second", b"third"].repeat(3));
        let texts: Vec<Vec<u8>> = desk.buffers.iter().map(Buffer::copy_out).collect();
        assert_eq!(texts, [&b"in memory that goes"[..], b"posted", b""].repeat(3));
        loopback.close();
        assert!(!loopback.inject(3, b"late", b""));
    }

    #[test]
    fn puts_fill_an_exposure_once_in_any_order() {
        let (mut loopback, mut desk) = (Loopback::new(3), Desk::default());
        let buffer = Buffer::new(vec![0; 6]);
        let key = loopback.expose(3, buffer.lend_to_receive(), Token(9)).unwrap();
        assert_eq!(loopback.post(put(key, 2, b"cdef", 1)).unwrap(), Posted::Pending);
        assert_eq!(poll(&mut loopback, &mut desk), ["Sent { token: Token(1) }"]);
        assert_eq!(loopback.post(put(key, 0, b"ab", 2)).unwrap(), Posted::Pending);
        assert_eq!(
            poll(&mut loopback, &mut desk),
            ["Sent { token: Token(2) }", "Filled { token: Token(9) }"]
        );
        assert_eq!(buffer.copy_out(), b"abcdef");
        assert!(matches!(loopback.post(put(key, 0, b"x", 3)), Err(Refused::Invalid(..))));
    }

    #[test]
    fn impossible_operations_come_back_with_the_reason() {
        let mut loopback = Loopback::new(3);
        let buffer = Buffer::new(vec![0; 4]);
        let key = loopback.expose(3, buffer.lend_to_receive(), Token(9)).unwrap();
        for (key, offset, payload) in [
            (key, 1, &b"four"[..]),
            (key, usize::MAX, b"x"),
            (key, 0, b""),
            (RemoteKey::new(b"other").unwrap(), 0, b"x"),
        ] {
            assert!(matches!(loopback.post(put(key, offset, payload, 1)), Err(Refused::Invalid(..))));
        }
        let mut foreign = message(b"h", b"x", 1);
        if let Operation::Message { peer, .. } = &mut foreign {
            *peer = 4;
        }
        assert!(matches!(loopback.post(foreign), Err(Refused::Unknown(_))));
        assert!(loopback.expose(4, RecvMemory::empty(), Token(1)).is_err());
        assert!(loopback.connect(4, &Loopback::new(4).address()).is_err());
        assert!(loopback.connect(3, &Loopback::new(3).address()).is_ok());
    }

    #[test]
    fn close_delivers_first_and_refuses_afterwards() {
        let (mut loopback, mut desk) = (Loopback::new(3), Desk::default());
        assert_eq!(loopback.post(message(b"h", b"data", 1)).unwrap(), Posted::Pending);
        loopback.close();
        assert!(matches!(loopback.post(message(b"h", b"late", 2)), Err(Refused::PeerDown(..))));
        assert_eq!(
            poll(&mut loopback, &mut desk),
            ["Received { peer: 3, token: Token(101) }", "Sent { token: Token(1) }", "Closed"]
        );
        assert_eq!(desk.buffers[0].copy_out(), b"data");
        assert!(matches!(loopback.post(message(b"h", b"late", 2)), Err(Refused::PeerDown(..))));
        assert!(poll(&mut loopback, &mut desk).is_empty());
    }

    #[test]
    fn a_refused_header_and_a_disconnect_end_it_with_one_peer_down() {
        let (mut loopback, mut desk) = (Loopback::new(3), Desk::default());
        for header in [&b"good"[..], b"bad", b"good"] {
            assert_eq!(loopback.post(message(header, b"x", 1)).unwrap(), Posted::Pending);
        }
        let events = poll(&mut loopback, &mut desk);
        assert_eq!(events.len(), 3, "{events:?}");
        assert!(events[2].contains("Protocol"), "{events:?}");
        loopback.disconnect(3, Cause::Finished);
        assert!(poll(&mut loopback, &mut desk).is_empty());

        let mut loopback = Loopback::new(3);
        assert_eq!(loopback.post(message(b"h", b"x", 1)).unwrap(), Posted::Pending);
        loopback.disconnect(3, Cause::Declared("said so".to_owned()));
        assert_eq!(poll(&mut loopback, &mut desk), ["PeerDown { peer: 3, cause: Declared(\"said so\") }"]);
        assert!(poll(&mut loopback, &mut desk).is_empty());
    }

    #[test]
    fn abort_is_silent_and_drops_everything() {
        let (mut loopback, mut desk) = (Loopback::new(3), Desk::default());
        assert_eq!(loopback.post(message(b"h", b"x", 1)).unwrap(), Posted::Pending);
        loopback.abort();
        assert!(poll(&mut loopback, &mut desk).is_empty());
        assert!(desk.asked.is_empty());
    }
}
