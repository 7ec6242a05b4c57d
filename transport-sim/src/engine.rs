//! The wire itself: an agenda in virtual time, ports that send one fragment after another, and the faults.
//!
//! Invariant: happenings are carried out in order of (time, order of planning), so a run depends on the
//! seed and on the order of calls only. Neighbours: `end` (state of one rank), `receive` (the polling
//! side), `sim` and `fabric` (the public faces).

use std::collections::BTreeMap;

use ringworld_transport::{Cause, Event, Rank, Token};

use crate::Config;
use crate::end::{End, Link, LinkState, Notice, Stage};
use crate::trace::Trace;
use crate::wire::Packet;

/// Something planned for a time.
#[derive(Debug)]
enum Happening {
    /// The sending port of a rank takes its next fragment.
    Egress(Rank),
    /// The last fragment of an operation has left.
    Left { rank: Rank, peer: Rank, token: Token },
    /// A packet reaches its receiver.
    Arrival { from: Rank, to: Rank, flight: Option<u64>, packet: Packet },
}

/// Everything that the transports of one fabric share.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) config: Config,
    pub(crate) now: u64,
    agenda: BTreeMap<(u64, u64), Happening>,
    planned: u64,
    /// The one source of chance.
    rng: fastrand::Rng,
    pub(crate) ends: Vec<End>,
    pub(crate) trace: Trace,
}

impl Engine {
    pub(crate) fn new(size: usize, config: Config) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(config.seed),
            config,
            now: 0,
            agenda: BTreeMap::new(),
            planned: 0,
            ends: (0..size).map(|_| End::new(size)).collect(),
            trace: Trace::new(),
        }
    }

    fn plan(&mut self, at: u64, happening: Happening) {
        self.planned += 1;
        self.agenda.insert((at, self.planned), happening);
    }

    /// Carries out everything that is due by now.
    pub(crate) fn run_due(&mut self) {
        while let Some(entry) = self.agenda.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let happening = entry.remove();
            self.carry_out(happening);
        }
    }

    /// Moves the clock to the next event and carries out all that is due then; `false` if nothing is
    /// planned.
    pub(crate) fn advance(&mut self) -> bool {
        let Some(((at, _), _)) = self.agenda.first_key_value() else { return false };
        self.now = self.now.max(*at);
        self.run_due();
        true
    }

    /// Carries out everything that is due by `end`, each at its time, and leaves the clock there.
    pub(crate) fn run_until(&mut self, end: u64) {
        self.run_due();
        while let Some(((at, _), _)) = self.agenda.first_key_value()
            && *at <= end
        {
            self.advance();
        }
        self.now = self.now.max(end);
    }

    fn carry_out(&mut self, happening: Happening) {
        match happening {
            Happening::Egress(rank) => self.send_fragment(rank),
            Happening::Left { rank, peer, token } => {
                let end = &mut self.ends[rank];
                if end.links.get(&peer).is_some_and(|link| !link.is_down()) {
                    end.inbox.push_back(Notice::Left { peer, token });
                }
            }
            Happening::Arrival { from, to, flight, packet } => self.arrive(from, to, flight, packet),
        }
    }

    /// Plans the next use of a rank's sending port, if anything waits for it.
    pub(crate) fn plan_egress(&mut self, rank: Rank) {
        let now = self.now;
        let end = &mut self.ends[rank];
        let ready = end.links.values().filter(|link| link.wants_port()).map(|link| link.ready_at).min();
        let Some(ready) = ready else { return };
        let at = ready.max(end.egress_free).max(now);
        // An earlier plan stands; a later one (for a connection that is still being opened) is replaced.
        if end.egress_planned.is_none_or(|planned| at < planned) {
            end.egress_planned = Some(at);
            self.plan(at, Happening::Egress(rank));
        }
    }

    /// Sends one of the fragments that wait at the port.
    fn send_fragment(&mut self, rank: Rank) {
        let (now, chunk) = (self.now, self.config.fragment);
        let end = &mut self.ends[rank];
        if end.egress_planned != Some(now) {
            return;
        }
        end.egress_planned = None;
        let can = |link: &&mut Link| link.wants_port() && link.ready_at <= now;
        let choices = end.links.values_mut().filter(can).count();
        if choices == 0 {
            // What waited has been dropped, or another link is being opened.
            return self.plan_egress(rank);
        }
        let picked = if self.config.in_order { end.oldest(now) } else { self.any_fragment(rank, choices) };
        let Some((peer, put)) = picked else { return };
        let muted = self.ends[rank].silent || self.ends[peer].silent;
        let Some(link) = self.ends[rank].links.get_mut(&peer) else { return };
        let outgoing = match put {
            None => link.messages.front_mut(),
            Some(index) => link.puts.get_mut(index),
        };
        let Some(outgoing) = outgoing else { return };
        let (flight, token) = (outgoing.flight, outgoing.token);
        let most = if chunk == 0 { usize::MAX } else { chunk };
        let (packet, length, last) = outgoing.next_fragment(most);
        if last {
            match put {
                None => drop(link.messages.pop_front()),
                Some(index) => drop(link.puts.swap_remove(index)),
            }
        } else if muted {
            // Nobody acknowledges, so the rest never gets leave to go.
            link.stalled = true;
        }
        let occupancy = self.config.occupancy(length);
        let left = now.saturating_add(occupancy);
        self.ends[rank].egress_free = left;
        if last && let Some(token) = token {
            self.plan(left, Happening::Left { rank, peer, token });
        }
        if !muted {
            let at = self.arrival_time(rank, peer, left, occupancy, &packet);
            self.plan(at, Happening::Arrival { from: rank, to: peer, flight: Some(flight), packet });
        }
        self.plan_egress(rank);
    }

    /// Lets the seed choose among the links of which a fragment could leave, and then among its fragments: the message
    /// at the front (`None`), or any put by its index.
    fn any_fragment(&mut self, rank: Rank, choices: usize) -> Option<(Rank, Option<usize>)> {
        let now = self.now;
        let choice = self.rng.usize(..choices);
        let mut links = self.ends[rank].links.iter();
        let (&peer, link) =
            links.by_ref().filter(|(_, l)| l.wants_port() && l.ready_at <= now).nth(choice)?;
        let messages = usize::from(!link.messages.is_empty());
        let pick = self.rng.usize(..messages + link.puts.len());
        Some((peer, pick.checked_sub(messages)))
    }

    /// When a fragment that has left at `left` is completely at its receiver.
    fn arrival_time(&mut self, from: Rank, to: Rank, left: u64, occupancy: u64, packet: &Packet) -> u64 {
        let free = &mut self.ends[to].ingress_free;
        let at_port = left.saturating_add(self.config.latency_ns).max(free.saturating_add(occupancy));
        *free = at_port;
        let mut at = at_port.saturating_add(self.rng.u64(..=self.config.jitter_ns));
        if let Packet::Message { .. } = packet
            && let Some(link) = self.ends[from].links.get_mut(&to)
        {
            at = at.max(link.last_arrival);
            link.last_arrival = at;
        }
        at
    }

    /// Sends a packet that carries no payload and needs no port.
    pub(crate) fn signal(&mut self, from: Rank, to: Rank, packet: Packet) {
        let at = self.now.saturating_add(self.config.latency_ns);
        self.plan(at, Happening::Arrival { from, to, flight: None, packet });
    }

    fn arrive(&mut self, from: Rank, to: Rank, flight: Option<u64>, packet: Packet) {
        if self.ends[from].silent || self.ends[to].silent {
            return;
        }
        let [kind, length] = packet.describe();
        self.trace.add(&[self.now, from as u64, to as u64, kind, length]);
        match self.ends[to].stage {
            Stage::Open | Stage::Closing => {
                let down = self.ends[to].links.get(&from).is_some_and(Link::is_down);
                if !down {
                    self.ends[to].inbox.push_back(Notice::Arrived { peer: from, flight, packet });
                }
            }
            // It has reported all there was, so it agrees to any end.
            Stage::Closed if matches!(packet, Packet::Fin) => self.signal(to, from, Packet::FinAck),
            Stage::Closed | Stage::Killed | Stage::Aborted => {}
        }
        self.fragment_arrived(from, to, flight);
    }

    fn fragment_arrived(&mut self, from: Rank, to: Rank, flight: Option<u64>) {
        let Some(link) = self.ends[from].links.get_mut(&to) else { return };
        let Some(flight) = flight.and_then(|id| link.flights.get_mut(&id)) else { return };
        flight.to_arrive -= 1;
        if flight.to_arrive == 0 {
            link.undelivered -= 1;
            self.send_fin(from, to);
        }
    }

    /// Frees the sender's room once the receiver has taken every fragment of an operation.
    pub(crate) fn fragment_taken(&mut self, from: Rank, to: Rank, flight: Option<u64>) {
        let Some(link) = self.ends[from].links.get_mut(&to) else { return };
        let Some(id) = flight else { return };
        let Some(flight) = link.flights.get_mut(&id) else { return };
        flight.to_take -= 1;
        if flight.to_take == 0 {
            link.flights.remove(&id);
        }
    }

    /// Sends `Fin` and `FinAck` if they are owed and nothing is left that must arrive before them.
    pub(crate) fn send_fin(&mut self, rank: Rank, peer: Rank) {
        let closing = self.ends[rank].stage == Stage::Closing;
        let Some(link) = self.ends[rank].links.get_mut(&peer) else { return };
        if link.is_down() || link.undelivered > 0 {
            return;
        }
        let fin = closing && !link.fin_sent;
        let ack = std::mem::take(&mut link.owes_ack);
        link.fin_sent |= fin;
        if fin {
            self.signal(rank, peer, Packet::Fin);
        }
        if ack {
            self.signal(rank, peer, Packet::FinAck);
        }
    }

    /// Begins the connection of two ranks, if there is none.
    pub(crate) fn touch(&mut self, rank: Rank, peer: Rank) {
        if self.ends[rank].links.contains_key(&peer) {
            return;
        }
        let ready_at = self.now.saturating_add(self.config.connect_ns);
        let mut link = Link::new(ready_at);
        let other = &mut self.ends[peer];
        let refusal = match other.links.get(&rank).map(|link| &link.state) {
            _ if !other.stage.listens() => Some(Cause::Unreachable(format!("rank {peer} is not there"))),
            Some(LinkState::Down(_)) => Some(Cause::Rejected(format!("rank {peer} has given this rank up"))),
            Some(LinkState::Up | LinkState::Finished) => None,
            None => {
                other.links.insert(rank, Link::new(ready_at));
                None
            }
        };
        link.stalled = refusal.is_some();
        self.ends[rank].links.insert(peer, link);
        match refusal {
            Some(cause) => self.signal(peer, rank, Packet::Lost(cause)),
            // A rank that is closing says so to whoever comes.
            None => self.send_fin(peer, rank),
        }
    }

    /// Takes `peer` down at `rank`, to be reported by the next poll, and breaks the connection.
    pub(crate) fn take_down(&mut self, rank: Rank, peer: Rank, cause: Cause) {
        if peer >= self.ends.len() || !self.ends[rank].stage.listens() {
            return;
        }
        let connected = self.ends[rank].links.get(&peer).is_some_and(|link| !link.is_down());
        if self.ends[rank].take_down(peer, cause.clone()) {
            self.ends[rank].due.push(Event::PeerDown { peer, cause });
        }
        if connected {
            let lost = Cause::Lost(format!("rank {rank} closed the connection"));
            self.signal(rank, peer, Packet::Lost(lost));
        }
    }

    /// Ends a rank for the others, who notice if they were connected to it.
    fn leave(&mut self, rank: Rank, stage: Stage, why: &str) {
        let linked: Vec<Rank> =
            self.ends[rank].links.iter().filter(|(_, link)| !link.is_down()).map(|(peer, _)| *peer).collect();
        self.ends[rank].clear(stage);
        for peer in linked.into_iter().filter(|peer| *peer != rank) {
            self.signal(rank, peer, Packet::Lost(Cause::Lost(format!("rank {rank} {why}"))));
        }
    }

    /// See [`Transport::abort`](ringworld_transport::Transport::abort).
    pub(crate) fn abort(&mut self, rank: Rank) {
        match self.ends[rank].stage {
            Stage::Open | Stage::Closing => self.leave(rank, Stage::Aborted, "ended without closing"),
            // Still `Closed` afterwards, so that the end of others is still agreed to.
            Stage::Closed => self.ends[rank].clear(Stage::Closed),
            Stage::Killed | Stage::Aborted => self.ends[rank].clear(Stage::Aborted),
        }
    }

    /// See [`Fabric::kill`](crate::Fabric::kill).
    pub(crate) fn kill(&mut self, rank: Rank) {
        let stage = self.ends[rank].stage;
        if !stage.listens() {
            return;
        }
        let end = &self.ends[rank];
        let still_up = |peer: &Rank| end.links.get(peer).is_none_or(|link| !link.is_down());
        let known: Vec<Rank> = (0..end.known.len()).filter(|p| end.knows(*p)).filter(still_up).collect();
        let mut due = self.ends[rank].due.split_off(0);
        let cause = Cause::Lost("this rank was killed by the simulator".to_owned());
        due.extend(known.into_iter().map(|peer| Event::PeerDown { peer, cause: cause.clone() }));
        if stage == Stage::Closing {
            due.push(Event::Closed);
        }
        self.leave(rank, Stage::Killed, "was killed");
        self.ends[rank].due = due;
    }

    /// See [`Fabric::cut`](crate::Fabric::cut).
    pub(crate) fn cut(&mut self, a: Rank, b: Rank) {
        for (rank, peer) in [(a, b), (b, a)] {
            let cause = Cause::Lost(format!("the connection to rank {peer} was cut"));
            if self.ends[rank].stage.listens() && self.ends[rank].take_down(peer, cause.clone()) {
                self.ends[rank].due.push(Event::PeerDown { peer, cause });
            }
        }
    }
}
