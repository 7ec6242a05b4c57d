//! The conformance kit itself: a transport with one planted fault must fail the promise it breaks.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::result_large_err,
    reason = "helpers of tests fail like tests"
)]

use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringworld_transport::conformance::{self, PROMISES};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Header, Operation, Placement, Placer, Posted, Rank,
    RecvMemory, Refused, Region, RegionId, RemoteKey, SendMemory, Token, Transport,
};
use ringworld_transport_sim::{Config, Fabric, Sim};

/// What is wrong with the transport.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    SentTwice,
    SentNever,
    ReceivedTwice,
    FilledTwice,
    MessagesSwapped,
    AskedTwice,
    WrongLength,
    HeaderCutShort,
    ShortPlacementsLoseTheMessage,
    UnknownSaysBusy,
    AnotherOperationComesBack,
    BusyLosesTheOperation,
    ClosedAtOnce,
    PeerClosedNever,
    PeerDownTwice,
    PeerDownNever,
    DisconnectForgotten,
    RefusalIgnored,
    AbortForgotten,
    NeverWakes,
    RegionNamedTwice,
    DeregisteringLosesOperations,
    RegisteredAfterAbort,
    FirstMessageWaits,
    CompleteTooEarly,
    OwedIsForgotten,
    OwesForEver,
    InjectedOvertakes,
    InjectedIsLost,
    InjectedTooLong,
    LostInGoodOrder,
    LeftIsForgotten,
}

/// A simulated transport with a fault.
struct Faulty {
    fault: Fault,
    sim: Sim,
    capabilities: Capabilities,
    closed: bool,
    /// `close` or `abort` has been called.
    over: bool,
    rank: Rank,
    polls: u64,
    /// Regions registered so far, and whether one has been deregistered.
    regions: u64,
    deregistered: bool,
    /// Which ranks of the world have been polled.
    polled: Arc<[AtomicBool]>,
    /// Which of them are closing.
    closing: Arc<[AtomicBool]>,
    /// Events held back until another rank has been polled.
    held: Vec<Event>,
    /// Messages taken over and left lying until the next poll.
    kept: Vec<Operation>,
    /// Readable for ever, or never: the poorest descriptor that keeps the promise, and one that does not.
    bell: (PipeReader, PipeWriter),
}

/// A placer with a fault, in front of the kit's.
struct FaultyPlacer<'a> {
    fault: Fault,
    inner: &'a mut dyn Placer,
}

impl Placer for FaultyPlacer<'_> {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        match self.fault {
            Fault::AskedTwice => {
                let _ = self.inner.place(peer, header, length);
            }
            Fault::WrongLength => return self.inner.place(peer, header, length + usize::from(length > 99)),
            Fault::HeaderCutShort => return self.inner.place(peer, &header[..header.len().min(95)], length),
            Fault::ShortPlacementsLoseTheMessage => {
                let mut placement = self.inner.place(peer, header, length)?;
                if placement.memory.len() < length {
                    placement.memory = RecvMemory::empty();
                }
                return Ok(placement);
            }
            Fault::RefusalIgnored => {
                let nowhere = Placement { token: Token(u64::MAX), memory: RecvMemory::empty() };
                return Ok(self.inner.place(peer, header, length).unwrap_or(nowhere));
            }
            _ => {}
        }
        self.inner.place(peer, header, length)
    }

    fn has_enough(&self) -> bool {
        self.inner.has_enough()
    }
}

impl Faulty {
    fn others_polled(&self) -> bool {
        let mut ranks = self.polled.iter().enumerate();
        ranks.any(|(rank, polled)| rank != self.rank && polled.load(Ordering::Relaxed))
    }

    /// The same message in memory that is never freed.
    fn taken_over(operation: Operation) -> Operation {
        let Operation::Message { peer, header, payload, token } = operation else { return operation };
        let payload = SendMemory::from_static(payload.as_slice().to_vec().leak());
        Operation::Message { peer, header, payload, token }
    }

    /// What the faulty transport makes of one event.
    fn distort(&mut self, event: Event, events: &mut Vec<Event>) {
        match (self.fault, event) {
            (Fault::SentTwice, Event::Sent { token }) => {
                events.extend([Event::Sent { token }, Event::Sent { token }]);
            }
            (Fault::ReceivedTwice, Event::Received { peer, token }) => {
                events.extend([Event::Received { peer, token }, Event::Received { peer, token }]);
            }
            (Fault::FilledTwice, Event::Filled { token }) => {
                events.extend([Event::Filled { token }, Event::Filled { token }]);
            }
            (Fault::PeerDownTwice, Event::PeerDown { peer, cause }) => {
                events.extend([
                    Event::PeerDown { peer, cause: cause.clone() },
                    Event::PeerDown { peer, cause },
                ]);
            }
            (Fault::FirstMessageWaits, event @ Event::Sent { .. }) if !self.others_polled() => {
                self.held.push(event)
            }
            (
                Fault::SentNever
                | Fault::CompleteTooEarly
                | Fault::OwedIsForgotten
                | Fault::InjectedOvertakes,
                Event::Sent { .. },
            )
            | (Fault::InjectedTooLong, Event::Sent { token: Token(u64::MAX) })
            | (Fault::PeerDownNever, Event::PeerDown { .. })
            | (Fault::PeerClosedNever, Event::PeerClosed { .. }) => {}
            (Fault::ClosedAtOnce, Event::Closed) => {}
            (Fault::DeregisteringLosesOperations, Event::Filled { .. }) if self.deregistered => {}
            (Fault::RefusalIgnored, Event::Received { token: Token(u64::MAX), .. }) => {}
            (_, event) => events.push(event),
        }
    }
}

impl Transport for Faulty {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        self.sim.address()
    }

    fn connect(&mut self, peer: Rank, address: &Address) -> Result<(), ConnectError> {
        self.sim.connect(peer, address)
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        if matches!(self.fault, Fault::OwedIsForgotten | Fault::InjectedOvertakes) {
            self.kept.push(Self::taken_over(operation));
            return Ok(Posted::Complete);
        }
        if self.fault == Fault::LostInGoodOrder && self.closing[operation.peer()].load(Ordering::Relaxed) {
            self.held.push(Event::PeerDown { peer: operation.peer(), cause: Cause::Finished });
            return Ok(Posted::Complete);
        }
        match (self.fault, self.sim.post(operation)) {
            (Fault::UnknownSaysBusy, Err(Refused::Unknown(operation))) => Err(Refused::Busy(operation)),
            (Fault::BusyLosesTheOperation, Err(Refused::Busy(_))) => Ok(Posted::Complete),
            (Fault::AnotherOperationComesBack, Err(Refused::PeerDown(mut operation, cause))) => {
                if let Operation::Put { offset, .. } = &mut operation {
                    *offset += 1;
                }
                Err(Refused::PeerDown(operation, cause))
            }
            (Fault::CompleteTooEarly, Ok(_)) => Ok(Posted::Complete),
            (_, answer) => answer,
        }
    }

    fn inject(&mut self, peer: Rank, header: &[u8], payload: &[u8]) -> bool {
        match self.fault {
            // What was posted before is kept for the next poll.
            Fault::InjectedOvertakes | Fault::InjectedTooLong if payload.len() < 41 => {
                let header = Header::new(header).expect("the kit's headers fit");
                let payload = SendMemory::from_static(payload.to_vec().leak());
                self.sim.post(Operation::Message { peer, header, payload, token: Token(u64::MAX) }).is_ok()
            }
            Fault::InjectedIsLost => true,
            _ => self.sim.inject(peer, header, payload),
        }
    }

    fn owes(&self) -> bool {
        self.fault == Fault::OwesForEver && self.polls > 0
    }

    fn expose(&mut self, peer: Rank, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        self.sim.expose(peer, memory, token)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        self.polls += 1;
        self.polled[self.rank].store(true, Ordering::Relaxed);
        for operation in std::mem::take(&mut self.kept) {
            match self.sim.post(operation) {
                Ok(_answered_already) => {}
                Err(Refused::Busy(operation)) => self.kept.push(operation),
                Err(refused) => panic!("the simulator refuses {refused:?}"),
            }
        }
        let mut found = Vec::new();
        if self.others_polled() {
            found.append(&mut self.held);
        }
        let held = !found.is_empty();
        let fault = self.fault;
        let mut moved = self.sim.poll(&mut FaultyPlacer { fault, inner: placer }, &mut found) || held;
        if fault == Fault::MessagesSwapped {
            let received = |event: &Event| matches!(event, Event::Received { .. });
            if let Some(first) = found.iter().position(received)
                && let Some(second) = found.iter().skip(first + 1).position(received)
            {
                found.swap(first, first + 1 + second);
            }
        }
        if fault == Fault::LeftIsForgotten && placer.has_enough() {
            found.truncate(1);
        }
        if self.closed && fault == Fault::ClosedAtOnce {
            self.closed = false;
            moved = true;
            events.push(Event::Closed);
        }
        for event in found {
            self.distort(event, events);
        }
        moved
    }

    fn register(&mut self, region: Region) -> Result<Option<RegionId>, Cause> {
        if region.is_empty() || (self.over && self.fault != Fault::RegisteredAfterAbort) {
            return Ok(None);
        }
        self.regions += 1;
        Ok(Some(RegionId(if self.fault == Fault::RegionNamedTwice { 7 } else { self.regions })))
    }

    fn deregister(&mut self, _: RegionId) {
        self.deregistered = true;
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.0.as_fd())
    }

    fn disconnect(&mut self, peer: Rank, cause: Cause) {
        if self.fault != Fault::DisconnectForgotten {
            self.sim.disconnect(peer, cause);
        }
    }

    fn close(&mut self) {
        (self.closed, self.over) = (true, true);
        self.closing[self.rank].store(true, Ordering::Relaxed);
        self.sim.close();
    }

    fn abort(&mut self) {
        self.over = true;
        if self.fault != Fault::AbortForgotten || self.rank != 0 {
            self.sim.abort();
        }
    }
}

struct Faults {
    fault: Fault,
    fabric: Option<Fabric>,
}

impl conformance::Fabric for Faults {
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> {
        let config = Config { inline: 0, max_in_flight: 4, fragment: 32_768, ..Config::default() };
        let mut fabric = Fabric::new(size, config);
        let sims = fabric.connected_transports();
        self.fabric = Some(fabric);
        let flags = || (0..size).map(|_| AtomicBool::new(false)).collect();
        let (polled, closing): (Arc<[AtomicBool]>, Arc<[AtomicBool]>) = (flags(), flags());
        let faulty = |sim: Sim| {
            let mut bell = std::io::pipe().expect("a pipe can be made");
            if self.fault != Fault::NeverWakes {
                bell.1.write_all(b"!").expect("a pipe takes a byte");
            }
            let mut capabilities = sim.capabilities().clone();
            if matches!(self.fault, Fault::InjectedOvertakes | Fault::InjectedIsLost) {
                capabilities.inject = 64;
            }
            Faulty {
                fault: self.fault,
                rank: sim.rank(),
                capabilities,
                sim,
                closed: false,
                over: false,
                polls: 0,
                polled: Arc::clone(&polled),
                closing: Arc::clone(&closing),
                held: Vec::new(),
                kept: Vec::new(),
                regions: 0,
                deregistered: false,
                bell,
            }
        };
        sims.into_iter().map(|sim| Box::new(faulty(sim)) as Box<dyn Transport>).collect()
    }

    fn advance(&mut self) {
        if let Some(fabric) = &self.fabric {
            fabric.advance();
        }
    }

    fn patience(&self) -> std::time::Duration {
        // A planted hang must not cost the usual patience.
        std::time::Duration::from_secs(if self.fault == Fault::None { 20 } else { 2 })
    }
}

/// Checks that the promise fails with the fault, for the reason given, and holds without it.
#[track_caller]
fn caught(fault: Fault, promise: &str, reason: &str) {
    let (_, check) = PROMISES.iter().find(|(name, _)| *name == promise).expect("the promise is in the kit");
    check(&mut Faults { fault: Fault::None, fabric: None });
    let verdict = catch_unwind(AssertUnwindSafe(|| check(&mut Faults { fault, fabric: None })));
    let panic = verdict.expect_err(&format!("{fault:?} passed {promise}"));
    let message = panic.downcast_ref::<String>().expect("the kit panics with a text");
    assert!(message.contains(promise), "the message names the promise: {message}");
    assert!(message.contains(reason), "{fault:?} was caught for another reason: {message}");
}

macro_rules! faults {
    ($($name:ident: $fault:ident, $promise:ident, $reason:literal;)*) => {
        $(#[test] fn $name() { caught(Fault::$fault, stringify!($promise), $reason); })*
    };
}

faults! {
    sent_twice: SentTwice, operations_complete_exactly_once, "has ended already";
    sent_never: SentNever, operations_complete_exactly_once, "not in time: everything sent";
    received_twice: ReceivedTwice, each_message_is_placed_and_received_once, "has ended already";
    filled_twice: FilledTwice, puts_fill_exposures_in_any_order, "has ended already";
    messages_swapped: MessagesSwapped, messages_arrive_in_order_and_intact, "before an earlier message";
    asked_twice: AskedTwice, each_message_is_placed_and_received_once, "before an earlier message";
    wrong_length: WrongLength, messages_arrive_in_order_and_intact, "announced";
    header_cut_short: HeaderCutShort, headers_of_every_length_are_intact, "header";
    short_placements: ShortPlacementsLoseTheMessage, short_placements_truncate_and_the_stream_goes_on, "differs";
    unknown_says_busy: UnknownSaysBusy, a_peer_without_address_is_unknown, "post answered Err(Busy";
    another_operation_comes_back: AnotherOperationComesBack, refusals_hand_back_the_operation, "came back";
    busy_loses_the_operation: BusyLosesTheOperation, a_receiver_that_does_not_poll_loses_nothing, "not in time";
    closed_at_once: ClosedAtOnce, close_delivers_everything_first, "Closed was reported";
    peer_closed_never: PeerClosedNever, close_delivers_everything_first, "PeerClosed";
    peer_down_twice: PeerDownTwice, a_vanished_peer_is_down_exactly_once, "a second PeerDown";
    peer_down_never: PeerDownNever, a_vanished_peer_is_down_exactly_once, "not in time: PeerDown";
    never_wakes_for_a_message: NeverWakes, waiting_wakes_for_a_message, "not woken: a message";
    left_is_forgotten: LeftIsForgotten, what_a_poll_leaves_is_not_slept_through, "not woken: what had been left";
    never_wakes_for_a_send: NeverWakes, waiting_wakes_for_a_finished_send, "not woken: the rest";
    never_wakes_for_a_loss: NeverWakes, waiting_wakes_for_a_lost_peer, "not woken: a lost peer";
    never_wakes_one_of_several: NeverWakes, a_sleeper_is_woken_although_others_poll_and_arm, "not woken: the one";
    disconnect_forgotten: DisconnectForgotten, disconnect_is_reported_once, "post after disconnect";
    refusal_ignored: RefusalIgnored, a_refused_header_takes_only_that_peer_down, "after its header was refused";
    region_named_twice: RegionNamedTwice, puts_from_and_into_registered_memory_arrive, "to two regions";
    deregistering_loses_operations: DeregisteringLosesOperations,
        deregistering_leaves_operations_under_way_alone, "not in time";
    registered_after_abort: RegisteredAfterAbort, nothing_is_registered_after_the_end, "after the end";
    first_message_waits: FirstMessageWaits, the_first_message_waits_for_nobody, "while its receiver does nothing";
    complete_too_early: CompleteTooEarly, the_first_message_waits_for_nobody, "differs at byte";
    owed_is_forgotten: OwedIsForgotten, the_first_message_waits_for_nobody, "polled only while it owes";
    owes_for_ever: OwesForEver, the_first_message_waits_for_nobody, "nothing owed once all has arrived";
    injected_overtakes: InjectedOvertakes, injected_messages_keep_their_order, ": header";
    injected_is_lost: InjectedIsLost, injected_messages_keep_their_order, "not in time";
    injected_too_long: InjectedTooLong, injected_messages_keep_their_order, "but `inject` is 0";
    lost_in_good_order: LostInGoodOrder,
        a_first_message_to_a_rank_that_closes_is_not_lost_in_silence, "the sender was told";
    abort_forgotten: AbortForgotten, abort_frees_everything_at_once, "after abort";
}
