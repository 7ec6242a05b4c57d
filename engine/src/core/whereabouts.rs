//! What this rank is doing, for those who ask from outside. Nothing here changes how anything goes on.
//!
//! What is told is true of one moment, under the lock. Of a call that sleeps it says whom the call waits for; a call
//! whose end has come, and whose thread has not looked yet, is none that waits.

use std::time::Instant;

use ringworld_protocol::{Kind, Selector, Stage, TagSelector};
use smallvec::SmallVec;

use super::super::calls::CallId;
use super::super::observe::{CallTally, PeerTally, Told, Verb};
use super::super::owners::Owner;
use super::super::signature::Signature;
use super::super::sleepers::{Sleeper, Wanted};
use super::super::wait::For;
use super::super::waiters::Topic;
use super::super::whereabouts::{Waiting, Whereabouts};
use super::Core;

/// Of how many peers a sleeper notes that it waits for them.
const NOTED: usize = 16;

impl Core {
    /// A thread is about to sleep in a call that has waited since then.
    pub(crate) fn sleeps(&mut self, what: For<'_>, since: Instant) -> u64 {
        let wanted = match what {
            For::Calls(calls) => Wanted::Calls(calls.into()),
            For::Message(selector, told) => Wanted::Message(selector, told),
            For::Topic(topic) => Wanted::Topic(topic),
        };
        self.post_line();
        let mut peers = SmallVec::new();
        self.each_peer(&wanted, |peer| {
            if let Some(peer) = peer
                && peers.len() < NOTED
                && !peers.contains(&peer)
            {
                peers.push(peer);
            }
        });
        let told = self.told(&wanted);
        let number = self.sleepers.sleep(since, wanted, peers.clone());
        if let Some(tracer) = self.observed.tracer() {
            tracer.sleeps(number, since, told, &peers);
        }
        number
    }

    /// Such a call is over.
    pub(crate) fn wakes(&mut self, number: u64) {
        let Some(sleeper) = self.sleepers.wake(number) else { return };
        let told = self.told(&sleeper.wanted);
        let waited = sleeper.since.elapsed();
        self.observed.waited(told.map(|told| told.verb), &sleeper.peers, waited);
        if let Some(tracer) = self.observed.tracer() {
            tracer.wakes(number, waited);
        }
    }

    /// Which call it is, by the first of what it waits for.
    fn told(&self, wanted: &Wanted) -> Option<Told> {
        match wanted {
            Wanted::Calls(calls) => calls.first().and_then(|call| self.calls.told(*call)),
            Wanted::Message(_, told) => Some(*told),
            Wanted::Topic(_) => None,
        }
    }

    /// Tells whom a call waits for, some of them more than once; `None` stands for any rank.
    fn each_peer(&self, wanted: &Wanted, mut tell: impl FnMut(Option<usize>)) {
        match wanted {
            Wanted::Calls(calls) => {
                for (request, owner) in self.owners.iter() {
                    if calls.iter().any(|call| self.is_of(*call, *owner))
                        && let Some(described) = self.machine.describe(*request)
                    {
                        tell(described.peer);
                    }
                }
            }
            Wanted::Message(selector, _) => tell(selector.source),
            Wanted::Topic(_) => {}
        }
    }

    /// Whether a call has what it waits for, and its thread does not know yet.
    fn is_over(&self, sleeper: &Sleeper) -> bool {
        match &sleeper.wanted {
            Wanted::Calls(calls) => calls.iter().any(|call| self.is_done(*call)),
            Wanted::Message(selector, _) => self.lies_here(selector),
            Wanted::Topic(_) => false,
        }
    }

    /// Whether a message has come that a probe by `selector` would find.
    fn lies_here(&self, selector: &Selector) -> bool {
        self.machine.unexpected(selector.context).any(|message| {
            selector.source.is_none_or(|source| source == message.source)
                && match selector.tag {
                    TagSelector::Any => true,
                    TagSelector::Exact(tag) => tag == message.envelope.tag,
                }
        })
    }

    /// What this rank is doing.
    #[must_use]
    pub fn whereabouts(&mut self) -> Whereabouts {
        let now = Instant::now();
        let moves = self.moves() || self.runs.sees_anything(&mut self.router);
        let there = || self.observed.peers().iter().zip(&self.finished).filter(|(_, left)| !**left);
        let waits = self.sleepers.iter().filter(|sleeper| !self.is_over(sleeper));
        Whereabouts {
            begun: self.observed.begun(),
            sent: there().map(|(peer, _)| peer.sent.messages + peer.taken).sum(),
            received: there().map(|(peer, _)| peer.received.messages + peer.shown).sum(),
            left: self.finished.iter().filter(|left| **left).count(),
            moves,
            leaves: self.closing.is_some() || self.sleepers.iter().any(|sleeper| is_leaving(&sleeper.wanted)),
            over: self.fault.is_some(),
            waits: waits.map(|sleeper| self.waiting(sleeper, now)).collect(),
            last: self.observed.last().map(|told| self.last_words(told)),
        }
    }

    /// How much this rank has done with each peer.
    #[must_use]
    pub fn peers(&self) -> &[PeerTally] {
        self.observed.peers()
    }

    /// How much each kind of call has done.
    pub fn call_tallies(&self) -> impl Iterator<Item = (Verb, CallTally)> + '_ {
        self.observed.calls()
    }

    /// How many calls have begun.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.observed.begun()
    }

    /// Whether bytes are on their way that are no message of which all has been sent or nothing come, or something is
    /// about to be done without anybody's call.
    fn moves(&self) -> bool {
        let stages =
            self.owners.iter().filter_map(|(request, _)| Some(self.machine.describe(*request)?.stage));
        stages.into_iter().any(|stage| matches!(stage, Stage::Leaving | Stage::Bytes))
            || self.is_deferred()
            || self.router.owes()
            || self.inbox.is_full()
            || self.calls.has_held()
            || !self.suspects.is_empty()
            || self.desertion.is_some()
            || !self.doubts.is_empty()
    }

    fn waiting(&self, sleeper: &Sleeper, now: Instant) -> Waiting {
        let (mut peers, mut any) = (Vec::new(), false);
        self.each_peer(&sleeper.wanted, |peer| match peer {
            Some(peer) => peers.push(peer),
            None => any = true,
        });
        peers.sort_unstable();
        peers.dedup();
        let call = match &sleeper.wanted {
            Wanted::Calls(calls) => {
                any |= calls.len() > 1;
                let each: Vec<_> = calls.iter().filter_map(|call| self.description_of(*call)).collect();
                each.join(", or ")
            }
            Wanted::Message(selector, told) => self.message_in_words("probe", selector, Some(*told)),
            Wanted::Topic(Topic::Message(_)) => "a probe".into(),
            Wanted::Topic(Topic::End) => Verb::FINISH.name().into(),
        };
        Waiting {
            number: sleeper.number,
            waited: now.saturating_duration_since(sleeper.since),
            call,
            peers,
            any,
        }
    }

    fn last_words(&self, told: Told) -> String {
        let (name, at) = (told.verb.name(), told.at());
        match told.place.and_then(|place| self.runs.latest_at(place)) {
            Some((context, sequence)) => format!("{name} #{sequence}{}{at}", of_communicator(context)),
            None => format!("{name}{at}"),
        }
    }

    /// What was called, in words.
    pub(super) fn description_of(&self, call: CallId) -> Option<String> {
        let (request, owner) = self.owners.iter().find(|(_, owner)| self.is_of(call, *owner))?;
        if let Owner::Step { run, .. } = *owner {
            let (context, called) = self.runs.called(run)?;
            return Some(format!(
                "{} #{}{} at {}:{}",
                Signature::describe(called.signature),
                called.sequence,
                of_communicator(context),
                called.caller.file(),
                called.caller.line()
            ));
        }
        let described = self.machine.describe(*request)?;
        let selector = Selector { context: described.context, source: described.peer, tag: described.tag };
        let verb = if described.kind == Kind::Receive { "recv" } else { "send" };
        Some(self.message_in_words(verb, &selector, self.calls.told(call)))
    }

    fn message_in_words(&self, verb: &str, selector: &Selector, told: Option<Told>) -> String {
        let way = if verb == "send" { "to" } else { "from" };
        let peer = selector.source.map_or_else(|| "any rank".into(), |rank| format!("rank {rank}"));
        let tag = match selector.tag {
            TagSelector::Any => "any tag".into(),
            // Of users' messages, which have 32 bits of it.
            TagSelector::Exact(tag) => format!("tag {}", tag & u64::from(u32::MAX)),
        };
        let (within, at) = (of_communicator(selector.context), told.map(Told::at).unwrap_or_default());
        format!("{verb} ({way} {peer}, {tag}){within}{at}")
    }
}

fn is_leaving(wanted: &Wanted) -> bool {
    matches!(wanted, Wanted::Topic(Topic::End))
}

/// Of which communicator, unless it is the world's.
fn of_communicator(context: u64) -> String {
    match context / 2 {
        0 => String::new(),
        number => format!(" of communicator {number}"),
    }
}
