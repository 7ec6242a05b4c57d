//! Runs without a network: what is awaited, what comes early or too late, and what a call costs beside many others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Request, Tuning};
use ringworld_protocol::{Config, Header};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Label, Operation, Placer, Posted, RecvMemory, Refused,
    RemoteKey, Showing, Shown, Token, Transport,
};

use super::super::calls::Calls;
use super::super::observe::Observed;
use super::super::reduce::{DType, OpCode, Reducer};
use super::super::router::Router;
use super::super::signature::{Call, Signature};
use super::tag::{REMINDER, tag};
use super::*;

const CONTEXT: u64 = 1;

fn signature(root: u32) -> Signature {
    let (dtype, op) = (DType::Bytes.into(), OpCode::NONE);
    Signature { call: Call::Gather, dtype, op, root, count: 1, tuning: 0, site: [0; 8] }
}

/// A gather as its root or another rank of four sees it.
fn gather(rank: usize) -> CollectiveCall {
    let request = Request {
        collective: Collective::Gather { root: 0 },
        rank,
        size: 4,
        counts: Counts::Same(1),
        element: 1,
        order: Order::Free,
        in_place: false,
    };
    let what = Planned {
        schedule: Arc::new(ringworld_collectives::schedule(&request, &Tuning::default()).unwrap()),
        group: None,
        context: CONTEXT,
        signature: signature(0),
        element: 1,
        result: 0,
        combined: 4,
        exchange: None,
    };
    let reducer = Reducer::moving(DType::Bytes.into());
    CollectiveCall { what: Arc::new(what), reducer, caller: Location::caller(), site: [0; 8] }
}

/// A collective of one byte that is an exchange, as one rank of several sees it.
fn exchange(collective: Collective, algorithm: Algorithm, rank: usize, size: usize) -> CollectiveCall {
    let in_place = matches!(collective, Collective::Broadcast { .. });
    let (counts, order) = (Counts::Same(1), Order::Free);
    let request = Request { collective, rank, size, counts, element: 1, order, in_place };
    let choice = Choice::forced(algorithm, &request, &Tuning::default()).unwrap();
    let schedule = ringworld_collectives::build(&request, &choice).unwrap();
    let like = gather(0);
    let what = Planned {
        exchange: Some(Exchange::of(&schedule, &request, |rank| rank)),
        schedule: Arc::new(schedule),
        ..Planned::clone(&like.what)
    };
    CollectiveCall { what: Arc::new(what), ..like }
}

fn message(sequence: u32, root: u32) -> Envelope {
    Envelope {
        context: CONTEXT,
        element: Element::RAW,
        tag: tag(sequence, 0),
        signature: signature(root).to_bytes(),
    }
}

fn reminder(sequence: u32, root: u32) -> Envelope {
    Envelope { tag: tag(sequence, REMINDER), ..message(sequence, root) }
}

/// Calls the next gather; who has called something else before.
fn call(runs: &mut Runs, rank: usize) -> (RunId, Option<usize>) {
    let mut buffers = Buffers::new();
    let call = Some(Calls::default().insert([None, None]));
    let Made { run, clash, .. } = runs.make(gather(rank), [None; 2], call, &mut buffers);
    runs.keep(run);
    (run, clash.map(|(source, _)| source))
}

/// What rank `source` sends to this one, as its header and as what becomes of it there.
fn offer(
    runs: &mut Runs,
    run: RunId,
    machine: &mut Machine,
    buffers: &Buffers,
    source: usize,
    envelope: &Envelope,
    payload: &[u8],
) -> bool {
    let mut sender = Machine::new(Config::new(source, 4, 1024, 8192).unwrap());
    let departure = sender.depart(0, envelope, payload.len()).unwrap();
    let mut room = [0; Header::MAX];
    runs.take_awaited(
        run,
        machine,
        buffers,
        source,
        departure.encode(&mut room),
        (payload.len(), &mut |into| into.copy_from_slice(payload)),
    )
}

#[test]
fn what_is_awaited_is_taken_and_all_else_goes_the_ordinary_way() {
    let (mut runs, mut owners) = (Runs::default(), Owners::default());
    let mut machine = Machine::new(Config::new(0, 4, 1024, 8192).unwrap());
    let mut router = Router::new(0, Vec::new(), vec![None; 4]);
    let mut observed = Observed::new(4, None);
    let mut buffers = Buffers::new();
    let mut blocks = [1, 4].map(|bytes| buffers.block(bytes));
    let [input, output] = blocks.each_mut().map(|block| buffers.lend_block(block));
    let call = Some(Calls::default().insert([None, None]));
    let run = runs.make(gather(0), [input.buffer, output.buffer], call, &mut buffers).run;
    runs.keep(run);
    let mut advance = |runs: &mut Runs, machine: &mut Machine, buffers: &mut Buffers, owners: &mut Owners| {
        let mut wires = Wires { machine, router: &mut router, buffers, owners, observed: &mut observed };
        runs.advance(run, &mut wires, true).map_err(|_| "a panic").unwrap()
    };
    assert_eq!(advance(&mut runs, &mut machine, &mut buffers, &mut owners), None);
    assert!(runs.is_awaiting(run) && machine.pending() == 0, "three receives, and none is posted");

    // Rank 1's message, and what is not quite it: its length, collective, signature, sender, number.
    let right = message(0, 0);
    let number = |run: &Run, from: usize| {
        let mut actions = run.what.schedule.actions().iter();
        actions.find_map(|action| match action {
            Action::Recv { from: sender, tag, .. } if *sender == from => Some(*tag),
            _ => None,
        })
    };
    let number = number(runs.runs[run].as_ref().unwrap(), 1).unwrap();
    let right = Envelope { tag: tag(0, number), ..right };
    let mut offer = |source, envelope: &Envelope, payload: &[u8]| {
        offer(&mut runs, run, &mut machine, &buffers, source, envelope, payload)
    };
    assert!(!offer(1, &right, &[7, 7]));
    assert!(!offer(1, &Envelope { tag: tag(1, number), ..right }, &[7]));
    assert!(!offer(1, &Envelope { context: CONTEXT + 2, ..right }, &[7]));
    assert!(!offer(1, &Envelope { signature: signature(3).to_bytes(), ..right }, &[7]));
    assert!(!offer(1, &Envelope { tag: tag(0, REMINDER), ..right }, &[7]));
    assert!(offer(1, &right, &[7]));
    assert!(!offer(1, &right, &[8]), "the same once more");
    assert!(!runs.awaits(run, 1, &right) && runs.is_awaiting(run));
    assert_eq!(advance(&mut runs, &mut machine, &mut buffers, &mut owners), None);
    assert_eq!(buffers.bytes(output)[1], 7);

    // The other two are posted, and known to the protocol from here on.
    runs.post_awaited(run, &mut machine, &mut owners);
    assert!(!runs.is_awaiting(run));
    assert_eq!((machine.pending(), owners.iter().count()), (2, 2));
    assert_eq!(runs.runs[run].as_ref().unwrap().due, 2);
}

#[test]
fn what_has_come_early_is_compared_with_the_call_it_is_for() {
    let mut runs = Runs::default();
    for sequence in [0, 1, 2] {
        assert!(runs.arrive(1, &message(sequence, 0)).is_none());
    }
    assert!(runs.arrive(2, &message(1, 3)).is_none());
    assert!(runs.arrive(3, &reminder(2, 3)).is_none());
    assert_eq!(call(&mut runs, 0).1, None);
    assert_eq!(call(&mut runs, 0).1, Some(2));
    assert_eq!(call(&mut runs, 0).1, Some(3));
    assert!(runs.uncalled().is_none());
    assert!(runs.arrive(1, &message(3, 0)).is_none());
    let (source, context, what) = runs.uncalled().unwrap();
    assert_eq!((source, context, what.sequence), (1, CONTEXT, 3));
}

#[test]
fn a_message_too_many_is_one_whenever_it_comes() {
    let receives = gather(0).what.schedule.receives();
    for early in 0..=receives + 1 {
        let mut runs = Runs::default();
        let mut told = 0;
        for sent in 0..=receives {
            if sent == early {
                told += usize::from(call(&mut runs, 0).1.is_some());
            }
            told += usize::from(runs.arrive(1 + sent % 3, &message(0, 0)).is_some());
        }
        if early > receives {
            told += usize::from(call(&mut runs, 0).1.is_some());
        }
        assert_eq!(told, 1, "{early} of {} before the call", receives + 1);
    }
}

#[test]
fn what_comes_after_the_end_is_a_disagreement_unless_it_only_asks() {
    let (mut runs, mut buffers) = (Runs::default(), Buffers::new());
    let (run, _) = call(&mut runs, 1);
    runs.remove(run, &mut buffers);
    assert!(runs.arrive(2, &reminder(0, 0)).is_none());
    for late in [message(0, 0), message(0, 1), reminder(0, 1)] {
        assert!(matches!(runs.arrive(2, &late), Some(Disagreement { mine: Mine::Called(_), .. })));
    }
}

#[test]
fn a_message_for_a_communicator_that_has_been_dropped_is_left_over_and_a_reminder_is_not() {
    let (mut runs, mut buffers) = (Runs::default(), Buffers::new());
    let (run, _) = call(&mut runs, 1);
    assert!(!runs.forget(CONTEXT), "under way");
    runs.remove(run, &mut buffers);
    runs.arrive(2, &reminder(1, 0));
    assert!(runs.uncalled().is_some(), "the communicator is there, and somebody waits");
    assert!(runs.forget(CONTEXT));
    assert!(runs.uncalled().is_none());
    runs.arrive(2, &reminder(0, 0));
    assert!(runs.uncalled().is_none(), "somebody may just not have got everything");
    runs.arrive(2, &message(1, 0));
    assert!(runs.uncalled().is_some());
}

/// Ranks that could show one another things, of whom one at most does: a 7, in every gather. Each number of tries is
/// how often this one finds no room before it does; when there is none, it cannot show anything.
struct Boards(Capabilities, Option<usize>, Vec<usize>);

impl Boards {
    fn router(own: usize, shows: Option<usize>) -> Router {
        Self::with_room(own, shows, &[])
    }

    fn with_room(own: usize, shows: Option<usize>, tries: &[usize]) -> Router {
        let tries = tries.iter().rev().copied().collect();
        let mut boards = Self(Capabilities::new("boards"), shows, tries);
        (boards.0.inject, boards.0.show) = (64, 64);
        let routes = (0..4).map(|rank| (rank != own).then_some(0)).collect();
        Router::new(own, vec![Box::new(boards)], routes)
    }
}

impl Transport for Boards {
    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn address(&self) -> Address {
        Address::new(Vec::new())
    }

    fn connect(&mut self, _: usize, _: &Address) -> Result<(), ConnectError> {
        Ok(())
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        Err(Refused::Unknown(operation))
    }

    fn pass(&mut self, _: u64, _: u32) -> bool {
        true
    }

    fn show(&mut self, _: &[usize], _: u64, _: u32, _: &Label, _: &[u8]) -> Showing {
        match self.2.last_mut() {
            None => Showing::Not,
            Some(0) => {
                self.2.pop();
                Showing::Done
            }
            Some(tries) => {
                *tries -= 1;
                Showing::Full
            }
        }
    }

    fn shown(&mut self, from: usize, _: u64, _: u32) -> Option<Shown> {
        (self.1 == Some(from)).then(|| Shown { label: signature(0).to_bytes(), length: 1 })
    }

    fn copy_shown(&mut self, _: usize, _: u64, _: u32, offset: usize, into: &mut [u8]) {
        assert_eq!(offset, 0);
        into.fill(7);
    }

    fn expose(&mut self, _: usize, _: RecvMemory, _: Token) -> Result<RemoteKey, Cause> {
        Err(Cause::Finished)
    }

    fn poll(&mut self, _: &mut dyn Placer, _: &mut Vec<Event>) -> bool {
        false
    }

    fn disconnect(&mut self, _: usize, _: Cause) {}
    fn close(&mut self) {}
    fn abort(&mut self) {}
}

/// What the runs of a rank are moved by.
struct Rest {
    machine: Machine,
    router: Router,
    buffers: Buffers,
    owners: Owners,
    observed: Observed,
}

impl Rest {
    fn new(own: usize, size: usize, router: Router) -> Self {
        Self {
            machine: Machine::new(Config::new(own, size, 1024, 8192).unwrap()),
            router,
            buffers: Buffers::new(),
            owners: Owners::default(),
            observed: Observed::new(size, None),
        }
    }

    fn wires(&mut self) -> Wires<'_> {
        let Self { machine, router, buffers, owners, observed } = self;
        Wires { machine, router, buffers, owners, observed }
    }
}

#[test]
fn who_gets_a_message_instead_of_what_it_looks_for_looks_no_more_once_it_is_over() {
    let mut runs = Runs::default();
    let mut rest = Rest::new(1, 2, Boards::router(1, None));
    for sequence in 0..3 {
        let mut block = rest.buffers.block(1);
        let output = rest.buffers.lend_block(&mut block);
        let broadcast = exchange(Collective::Broadcast { root: 0 }, Algorithm::BroadcastDirect, 1, 2);
        let run = runs.make(broadcast, [None, output.buffer], None, &mut rest.buffers).run;
        let mut wires = rest.wires();
        runs.show(run, Patience::None, &mut wires);
        assert!(
            runs.runs[run].as_ref().unwrap().looks
                && !runs.try_at_once(run, 3, &mut wires).map_err(|_| "a panic").unwrap()
        );
        runs.keep(run);
        assert!(runs.advance(run, &mut wires, true).map_err(|_| "a panic").unwrap().is_none());
        assert!(runs.is_awaiting(run) && runs.is_looking());

        let message = message(sequence, 0);
        assert!(offer(&mut runs, run, wires.machine, wires.buffers, 0, &message, &[7]));
        assert!(runs.advance(run, &mut wires, true).map_err(|_| "a panic").unwrap().is_none());
        assert!(!runs.has(run) && !runs.is_looking(), "call {sequence}");
        assert_eq!(rest.buffers.bytes(output)[0], 7);
        rest.buffers.retire(block, output.buffer);
    }
}

#[test]
fn who_is_shown_a_part_at_once_goes_on_with_the_rest() {
    let mut runs = Runs::default();
    let mut rest = Rest::new(0, 4, Boards::router(0, Some(1)));
    let mut blocks = [1, 4].map(|bytes| rest.buffers.block(bytes));
    blocks[0].bytes_mut()[0] = 9;
    let [input, output] = blocks.each_mut().map(|block| rest.buffers.lend_block(block));
    let call = exchange(Collective::Gather { root: 0 }, Algorithm::GatherDirect, 0, 4);
    let received = call.what.schedule.actions().iter().filter_map(|action| match action {
        Action::Recv { from, tag, .. } => Some((*from, *tag)),
        _ => None,
    });
    let numbers: Vec<(usize, u32)> = received.collect();
    let run = runs.make(call, [input.buffer, output.buffer], None, &mut rest.buffers).run;
    let mut wires = rest.wires();
    runs.show(run, Patience::None, &mut wires);
    assert!(!runs.try_at_once(run, 1, &mut wires).map_err(|_| "a panic").unwrap());
    let made = runs.runs[run].as_ref().unwrap();
    assert_eq!((made.done, made.due), (1, 2), "rank 1's block, and no more");
    runs.keep(run);
    assert!(runs.advance(run, &mut wires, true).map_err(|_| "a panic").unwrap().is_none());
    for source in [3, 2] {
        let number = numbers.iter().find(|(from, _)| *from == source).unwrap().1;
        let envelope = Envelope { tag: tag(0, number), ..message(0, 0) };
        let payload = [source as u8];
        assert!(runs.has(run));
        assert!(offer(&mut runs, run, wires.machine, wires.buffers, source, &envelope, &payload));
        assert!(runs.advance(run, &mut wires, true).map_err(|_| "a panic").unwrap().is_none());
    }
    assert!(!runs.has(run) && !runs.is_looking());
    assert_eq!(rest.buffers.bytes(output)[..4], [9, 7, 2, 3]);
}

/// Who leaves its core to others in vain does not so again before there is room without it.
#[test]
fn who_waits_for_room_gives_up_and_does_not_try_again_at_once() {
    let mut runs = Runs::default();
    let mut rest = Rest::new(0, 2, Boards::with_room(0, None, &[0, 5, 20, 0, 1]));
    let mut shows = |patience| {
        let mut block = rest.buffers.block(1);
        let input = rest.buffers.lend_block(&mut block);
        let broadcast = exchange(Collective::Broadcast { root: 0 }, Algorithm::BroadcastDirect, 0, 2);
        let run = runs.make(broadcast, [None, input.buffer], None, &mut rest.buffers).run;
        runs.show(run, patience, &mut rest.wires());
        let shown = runs.runs[run].as_ref().unwrap().shown;
        runs.remove(run, &mut rest.buffers);
        rest.buffers.retire(block, input.buffer);
        shown
    };
    assert!(shows(Patience::None), "there is room");
    assert!(!shows(Patience::None), "one look finds none");
    assert!(!shows(Patience::Looks(2)), "nor do three");
    assert!(shows(Patience::Offers), "the next one finds none, and the first after the core was left does");
    let refused = (0..100).take_while(|_| !shows(Patience::Offers)).count();
    // A first look, up to eight after the core was left, fewer if others keep it, and then one for each call.
    assert!((12..=19).contains(&refused), "{refused}");
    assert!(shows(Patience::Offers), "there is room");
    assert!(shows(Patience::Offers), "it is waited for again");
}

/// How long a call takes beside so many messages for later ones, and so many collectives under way.
fn per_call(ahead: u32, under_way: u32) -> Duration {
    let (mut runs, mut buffers) = (Runs::default(), Buffers::new());
    let call = Some(Calls::default().insert([None, None]));
    assert!((0..ahead).all(|early| runs.arrive(1, &message(1_000_000 + early, 0)).is_none()));
    for _ in 0..under_way {
        let run = runs.make(gather(1), [None; 2], call, &mut buffers).run;
        runs.keep(run);
    }
    let calls: Vec<CollectiveCall> = (0..2_000).map(|_| gather(1)).collect();
    let begun = Instant::now();
    for again in calls {
        let Made { run, sequence, .. } = runs.make(again, [None; 2], call, &mut buffers);
        runs.keep(run);
        runs.arrive(2, &reminder(sequence, 0));
        runs.remove(run, &mut buffers);
    }
    begun.elapsed()
}

#[test]
fn a_call_costs_the_same_however_far_others_are_ahead_and_however_many_are_under_way() {
    let least = |ahead, under_way| (0..5).map(|_| per_call(ahead, under_way)).min().unwrap();
    let (few, ahead, many) = (least(20, 20), least(20_000, 20), least(20, 20_000));
    assert!(ahead < 5 * few && many < 5 * few, "{few:?}, far ahead {ahead:?}, many under way {many:?}");
}
