//! The event loop: carries a [`Net`] out in virtual time.
//!
//! Invariant: what an actor does depends only on its own steps and on when heads of messages reach it, and
//! happenings of one moment are taken in the order of the actor's own step numbers. So actors whose
//! schedules are images of one another do the same at the same times, which is what lets one stand for all.
//!
//! ```text
//! eager:    send ready ─ port free ─▶ |== occupancy ==| left
//!                                      ╲ latency
//!                                       ▶ head ─ port free ─▶ |== occupancy ==| arrived ─▶ receive complete
//! long:     send ready ─▶ ask ─▶ (receive posted) ─▶ grant ─▶ then as above
//! ```
//!
//! Neighbours: [`crate::net`] for what is run, [`crate::observe`] for who wants to watch.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::net::{Kind, Net};
use crate::observe::Observer;
use crate::{Error, Fabric, Time};

/// The receive has been posted.
const POSTED: u8 = 1;
/// The whole message has arrived, or the question whether it may come.
const ARRIVED: u8 = 2;
/// The message began to arrive before the receive was posted, so it must be copied.
const BOUNCED: u8 = 4;

/// What can happen to a step; the order decides between happenings of one step at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// The head of the question reaches the receiver.
    AskHead,
    Asked,
    /// The head of the answer reaches the sender.
    GrantHead,
    Granted,
    /// The head of the message reaches the receiver.
    Head,
    Arrived,
    /// The last byte has left the sender.
    Left,
    /// A reduction or a copy is done.
    Done,
}

/// A port, or a processor: one task at a time, in the order in which they come.
#[derive(Clone, Copy, Debug, Default)]
struct Resource {
    free: Time,
    busy: Time,
}

impl Resource {
    /// The same, for a message that also takes what all ranks of a host share: that one for its bytes alone.
    fn take_with(&mut self, shared: &mut Self, now: Time, overhead: Time, bytes: Time) -> (Time, Time) {
        let start = (now.max(self.free) + overhead).max(shared.free) - overhead;
        self.free = start + overhead + bytes;
        shared.free = self.free;
        self.busy += overhead + bytes;
        shared.busy += bytes;
        (start, self.free)
    }

    /// From when to when a task has it that comes now.
    fn take(&mut self, now: Time, takes: Time) -> (Time, Time) {
        let start = now.max(self.free);
        self.free = start + takes;
        self.busy += takes;
        (start, self.free)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Actor {
    egress: Resource,
    ingress: Resource,
    processor: Resource,
    /// To and from the ranks of the same host.
    inside: [Resource; 2],
}

/// What the ranks of one host share.
#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    egress: Resource,
    ingress: Resource,
}

/// What a message is to its ports: how long it takes them and its way from one to the other.
#[derive(Clone, Copy, Debug)]
struct Link {
    latency: Time,
    overhead: Time,
    bandwidth: Option<u64>,
    is_inside: bool,
}

/// What a run comes to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// When the last actor was done.
    pub(crate) time: Time,
    /// How long the busiest port or processor was in use.
    pub(crate) busiest: Time,
}

/// Runs the net to its end.
pub(crate) fn run(net: &mut Net, fabric: &Fabric, observer: &mut impl Observer) -> Result<End, Error> {
    let actors = net.actors();
    let remaining = net.steps.len();
    let mut engine = Engine {
        net,
        fabric,
        observer,
        now: Time::ZERO,
        agenda: BinaryHeap::new(),
        actors: vec![Actor::default(); actors],
        wires: vec![Wire::default(); fabric.inside.as_ref().map_or(0, |inside| inside.placement.hosts())],
        time: Time::ZERO,
        ready: Vec::new(),
        remaining,
    };
    engine.start();
    while let Some(Reverse((at, step, happening))) = engine.agenda.pop() {
        engine.now = at;
        engine.happen(step, happening);
        engine.proceed();
    }
    match engine.remaining {
        // Sums stop there, so nothing that comes out is true.
        _ if engine.now == Time::MAX => Err(Error::TooLong),
        0 => {
            let busy = |actor: &Actor| {
                let Actor { egress, ingress, processor, inside: [to, from] } = actor;
                [egress, ingress, processor, to, from]
                    .map(|port| port.busy)
                    .into_iter()
                    .max()
                    .unwrap_or_default()
            };
            let wires = engine.wires.iter().map(|wire| wire.egress.busy.max(wire.ingress.busy));
            let busiest = engine.actors.iter().map(busy).chain(wires).max().unwrap_or_default();
            Ok(End { time: engine.time, busiest })
        }
        left => Err(Error::Stuck { left }),
    }
}

struct Engine<'a, O> {
    net: &'a mut Net,
    fabric: &'a Fabric,
    observer: &'a mut O,
    now: Time,
    agenda: BinaryHeap<Reverse<(Time, u32, Happening)>>,
    actors: Vec<Actor>,
    /// By host, where ranks share one.
    wires: Vec<Wire>,
    /// The latest completion so far.
    time: Time,
    /// Steps to begin now, the last one first.
    ready: Vec<u32>,
    remaining: usize,
}

impl<O: Observer> Engine<'_, O> {
    fn plan(&mut self, at: Time, step: u32, happening: Happening) {
        self.agenda.push(Reverse((at, step, happening)));
    }

    /// Begins what waits for nothing, actor by actor.
    fn start(&mut self) {
        for actor in 0..self.net.actors() {
            let steps = self.net.bases[actor]..self.net.bases[actor + 1];
            let steps = &self.net.steps[steps.start as usize..steps.end as usize];
            let base = self.net.bases[actor];
            let roots = (base..).zip(steps).filter(|(_, step)| step.waits == 0).map(|(index, _)| index);
            self.ready.extend(roots);
            self.ready.reverse();
            self.proceed();
        }
    }

    /// Begins every step that is ready. Those that a step makes ready come before those that were ready with it,
    /// as in the runtime.
    fn proceed(&mut self) {
        while let Some(step) = self.ready.pop() {
            self.observer.begun(step, self.now);
            let state = &mut self.net.steps[step as usize];
            let bytes = state.bytes;
            match state.kind {
                Kind::Send if bytes > self.fabric.eager => {
                    let other = state.partner;
                    self.control(step, other, Happening::AskHead);
                }
                Kind::Send => self.transmit(step),
                Kind::Recv => {
                    state.state |= POSTED;
                    if state.state & ARRIVED != 0 {
                        if bytes > self.fabric.eager { self.grant(step) } else { self.received(step) }
                    }
                }
                Kind::Reduce => self.process(step, self.fabric.reduction(bytes)),
                Kind::Copy => self.process(step, self.fabric.copying(bytes)),
            }
        }
    }

    fn happen(&mut self, step: u32, happening: Happening) {
        let state = &mut self.net.steps[step as usize];
        let bytes = state.bytes;
        match happening {
            Happening::AskHead => {
                let (_, end) = self.ingress(step, 0);
                self.plan(end, step, Happening::Asked);
            }
            Happening::Asked => {
                state.state |= ARRIVED;
                if state.state & POSTED != 0 {
                    self.grant(step);
                }
            }
            Happening::GrantHead => {
                let (_, end) = self.ingress(step, 0);
                self.plan(end, step, Happening::Granted);
            }
            Happening::Granted => self.transmit(step),
            Happening::Head => {
                if state.state & POSTED == 0 {
                    state.state |= BOUNCED;
                }
                let (start, end) = self.ingress(step, bytes);
                self.observer.landing(step, start, end);
                self.plan(end, step, Happening::Arrived);
            }
            Happening::Arrived => {
                state.state |= ARRIVED;
                if state.state & POSTED != 0 {
                    self.received(step);
                }
            }
            Happening::Left | Happening::Done => self.complete(step),
        }
    }

    /// What lies between a step's rank and the one at the other end of its message.
    fn link(&self, step: u32) -> Link {
        let Fabric { latency, overhead, bandwidth, .. } = *self.fabric;
        let state = &self.net.steps[step as usize];
        let other = self.net.steps[state.partner as usize].actor;
        match &self.fabric.inside {
            Some(inside) if self.host(state.actor) == self.host(other) => Link {
                latency: inside.latency,
                overhead: inside.overhead,
                bandwidth: inside.bandwidth,
                is_inside: true,
            },
            _ => Link { latency, overhead, bandwidth, is_inside: false },
        }
    }

    /// The host of an actor, where ranks share one.
    fn host(&self, actor: u32) -> Option<usize> {
        self.fabric.inside.as_ref().map(|inside| inside.placement.host(actor as usize))
    }

    /// Takes the sending port of a step's rank, behind all that wait for it already: from when to when, and the way.
    fn egress(&mut self, step: u32, bytes: u64) -> (Time, Time, Time) {
        let link = self.link(step);
        let (start, end) = self.port(step, link, bytes, 0);
        (start, end, link.latency)
    }

    /// Takes the receiving port.
    fn ingress(&mut self, step: u32, bytes: u64) -> (Time, Time) {
        let link = self.link(step);
        self.port(step, link, bytes, 1)
    }

    fn port(&mut self, step: u32, link: Link, bytes: u64, side: usize) -> (Time, Time) {
        let actor = self.net.steps[step as usize].actor;
        let host = self.host(actor);
        let bytes = Time::of_bytes(bytes, link.bandwidth);
        let ports = &mut self.actors[actor as usize];
        if link.is_inside {
            return ports.inside[side].take(self.now, link.overhead + bytes);
        }
        let port = if side == 0 { &mut ports.egress } else { &mut ports.ingress };
        match host.and_then(|host| self.wires.get_mut(host)) {
            Some(wire) => {
                let shared = if side == 0 { &mut wire.egress } else { &mut wire.ingress };
                port.take_with(shared, self.now, link.overhead, bytes)
            }
            None => port.take(self.now, link.overhead + bytes),
        }
    }

    fn transmit(&mut self, step: u32) {
        let state = &self.net.steps[step as usize];
        let (partner, bytes) = (state.partner, state.bytes);
        let (start, left, latency) = self.egress(step, bytes);
        self.observer.leaving(step, start, left);
        self.plan(start + latency, partner, Happening::Head);
        self.plan(left, step, Happening::Left);
    }

    /// Sends a question or an answer to the step at the other end.
    fn control(&mut self, step: u32, other: u32, happening: Happening) {
        let (start, _, latency) = self.egress(step, 0);
        self.plan(start + latency, other, happening);
    }

    /// Tells the sender that its long message may come.
    fn grant(&mut self, step: u32) {
        let partner = self.net.steps[step as usize].partner;
        self.control(step, partner, Happening::GrantHead);
    }

    /// A message is there, and wanted.
    fn received(&mut self, step: u32) {
        let state = &self.net.steps[step as usize];
        if state.state & BOUNCED != 0 {
            self.process(step, self.fabric.copying(state.bytes));
        } else {
            self.complete(step);
        }
    }

    /// Gives the processor a task.
    fn process(&mut self, step: u32, takes: Time) {
        if takes == Time::ZERO {
            return self.complete(step);
        }
        let actor = self.net.steps[step as usize].actor as usize;
        let (start, end) = self.actors[actor].processor.take(self.now, takes);
        self.observer.processing(step, start, end);
        self.plan(end, step, Happening::Done);
    }

    fn complete(&mut self, step: u32) {
        self.observer.completed(step, self.now);
        self.remaining -= 1;
        self.time = self.now;
        for index in self.net.dependents(step).rev() {
            let later = self.net.targets[index];
            let waits = &mut self.net.steps[later as usize].waits;
            *waits -= 1;
            if *waits == 0 {
                self.ready.push(later);
            }
        }
    }
}
