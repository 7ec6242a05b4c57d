//! Exchanges where ranks share memory: a rank shows what it gives, once, and the others look.
//!
//! A schedule that is an [exchange](ringworld_collectives::is_exchange) has one message for each rank that wants what
//! this one gives, or a part of it. Where transports can *show* (see there), this rank shows all of it to all of them
//! instead, under the number of the collective, if it can; else it sends those messages. A caller who waits tries for a
//! moment until there is room, or, where others may want its core, leaves it to them: messages would come unasked for,
//! one by one, to those who are behind already, and that would last as long as the rank is ahead. So whoever wants
//! something is ready for either: its receive is awaited or posted like any other, and is looked for besides. Whatever
//! is said of messages so holds here: who waits for whom, reminders, ranks that leave, the end of the world.
//!
//! ```text
//! show    what is given, when the run begins          or: messages
//! look    for what is wanted, at every poll           or: a message takes its place
//! pass    all before the first that is under way, now and then
//! ```
//!
//! **Who calls something else** is found as with messages, by the signature that what is shown has with it. Nobody
//! reads what it does not want; so before a rank lets go of a number it looks what the others show there
//! ([`Runs::pass`]), as soon as it sees that all have come so far, and at the end of the world also beyond its last one
//! ([`Runs::uncalled_shown`]). Where somebody may have let go before, it is told by a reminder. Who forgets a
//! communicator could compare none, so it [leaves](Runs::leave) first, and is sent messages from then on. Neighbours:
//! `run` has the steps, `router` the transport, `channel` how far this rank has come, `agreement` does the same for
//! messages.

use std::time::{Duration, Instant};

use ringworld_collectives::{Action, Part};
use ringworld_transport::{Showing, Shown};

use super::super::owners::RunId;
use super::super::reduce::Panicked;
use super::super::router::Router;
use super::super::signature::agree;
use super::super::sync::thread;
use super::Runs;
use super::channel::Channel;
use super::context::{Called, Context, Disagreement, Mine};
use super::exchange::{Exchange, Look, Trouble};
use super::run::{Planned, Run, Wires};

/// How many collectives end before others are told: some, for they hear of it by a write that they have to fetch, and
/// far fewer than a rank may be ahead.
const BATCH: u32 = 4;
/// How often a core is left to others until there is room: once is enough if all who are behind wait for it.
const OFFERS: usize = 8;
/// Others that keep the core for longer do something else than to catch up.
const OFFER: Duration = Duration::from_micros(100);
/// How far ahead of this rank another one may have shown something: no further than a transport lets it.
const AHEAD: u32 = 64;

/// What a caller does until there is room to show something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It does not wait.
    None,
    /// It tries so often: nobody else wants its core.
    Looks(usize),
    /// It leaves its core to others.
    Offers,
}

/// Leaves the core to others until there is room, or they do something else with it.
#[cold]
fn offer(mut show: impl FnMut() -> Showing) -> Showing {
    for _ in 0..OFFERS {
        let since = Instant::now();
        thread::yield_now();
        let showing = show();
        if showing != Showing::Full || since.elapsed() > OFFER {
            return showing;
        }
    }
    Showing::Full
}

impl Run {
    /// Looks for what a step wants; what is there is taken.
    #[inline]
    pub(super) fn look(&mut self, step: u32, wires: &mut Wires<'_>) -> Look {
        let Action::Recv { from, .. } = *self.what.schedule.action(step as usize) else {
            return Look::Nowhere;
        };
        let source = self.world(from);
        if !wires.router.shows(source) {
            return Look::Nowhere;
        }
        match wires.router.shown(source, self.what.context, self.sequence) {
            Some(shown) => self.take(step, source, shown, wires),
            None => Look::NotYet,
        }
    }

    /// The same, so often.
    #[inline]
    fn look_often(&mut self, step: u32, looks: usize, wires: &mut Wires<'_>) -> Look {
        let mut look = self.look(step, wires);
        for _ in 1..looks {
            let Look::NotYet = look else { break };
            look = self.look(step, wires);
        }
        look
    }

    /// Takes what is shown for a step, if it is what that wants.
    #[inline]
    fn take(&mut self, step: u32, source: usize, shown: Shown, wires: &mut Wires<'_>) -> Look {
        let Shown { label, length } = shown;
        let (context, sequence) = (self.what.context, self.sequence);
        // A message of it that had come before would be one too many.
        if self.due == 0 || !agree(&self.signature, &label) {
            let mine = Mine::Called(self.called());
            return Look::Wrong(Trouble::Disagree(
                source,
                context,
                Disagreement { sequence, theirs: label, mine },
            ));
        }
        let Action::Recv { from, into, .. } = *self.what.schedule.action(step as usize) else {
            return Look::Nowhere;
        };
        let into = self.span(into);
        let (offset, expected) = match self.what.exchange.as_ref().and_then(|exchange| exchange.blocks) {
            Some(blocks) => {
                let Part { offset, whole } = blocks.part_of(from);
                (offset * self.what.element, whole * self.what.element)
            }
            None => (0, into.len),
        };
        if expected != length {
            let signature = &self.what.signature;
            return Look::Wrong(Trouble::Wrong(format!(
                "rank {source} shows {length} bytes in {signature} #{sequence}, of which {expected} are expected"
            )));
        }
        if into.len > 0 {
            let router = &mut *wires.router;
            wires.buffers.change(into, |bytes| router.copy_shown(source, (context, sequence), offset, bytes));
        }
        self.due -= 1;
        wires.observed.taken(source, into.len);
        Look::Taken
    }
}

impl Runs {
    /// Shows what a run gives that has just been made, if it is an exchange and that can be. Returns to whom, if it may
    /// not be seen.
    #[inline]
    pub(crate) fn show(&mut self, id: RunId, patience: Patience, wires: &mut Wires<'_>) -> Option<&[usize]> {
        let run = self.runs.get_mut(id)?.as_mut()?;
        let Exchange { gives, wants, .. } = run.what.exchange.as_ref()?;
        let number = (run.what.context, run.sequence);
        let context = self.contexts.get_mut(&number.0)?;
        let channel = context.channel.get_or_insert_with(|| open_channel(number.1, &run.what, wires.router));
        if *wants + 1 == run.what.schedule.size() {
            channel.note(number.1);
        }
        run.looks = channel.open;
        let (span, to) = gives.as_ref().filter(|_| run.looks)?;
        let payload = wires.buffers.bytes(run.span(*span));
        // Behind an older one that lasts there will be no room: most often it is under way everywhere.
        let patience = if context.under_way.is_empty() { patience } else { Patience::None };
        let mut show = || wires.router.show(to, number, &run.signature, payload);
        let mut showing = show();
        match patience {
            _ if showing == Showing::Not => {}
            _ if showing != Showing::Full => channel.offered_in_vain = false,
            Patience::None => {}
            Patience::Looks(looks) => {
                for _ in 0..looks {
                    let Showing::Full = showing else { break };
                    showing = show();
                }
            }
            // Not again before those who are behind have caught up by themselves: they have something else to do.
            Patience::Offers if channel.offered_in_vain => {}
            Patience::Offers => {
                showing = offer(show);
                channel.offered_in_vain = showing == Showing::Full;
            }
        }
        run.shown = !matches!(showing, Showing::Not | Showing::Full);
        (showing == Showing::Unsure).then_some(to)
    }

    /// Does all of a run that has just been made, one step after the other, while what it wants is shown by the time it
    /// is looked for, `looks` times; whether that was all of it. Nobody else knows of the run, so nothing need be
    /// remembered of it meanwhile: it is let go of. If not it is to be [kept](Runs::keep), and goes on from where it
    /// is.
    ///
    /// # Errors
    ///
    /// When a user's operation panics, as [`Runs::advance`].
    #[inline]
    pub(crate) fn try_at_once(
        &mut self,
        id: RunId,
        looks: usize,
        wires: &mut Wires<'_>,
    ) -> Result<bool, Panicked> {
        let Some(Some(run)) = self.runs.get_mut(id) else { return Ok(false) };
        if !run.looks {
            return Ok(false);
        }
        while run.done < run.what.schedule.len() {
            let step = run.done as u32;
            match run.what.schedule.action(run.done) {
                Action::Recv { .. } => match run.look_often(step, looks, wires) {
                    Look::Taken => {}
                    Look::Wrong(trouble) => {
                        self.trouble.get_or_insert(trouble);
                        return Ok(false);
                    }
                    Look::NotYet | Look::Nowhere => return Ok(false),
                },
                Action::Send { .. } if !run.shown => return Ok(false),
                _ => {
                    let request = run.perform(step, wires)?;
                    debug_assert!(request.is_none(), "it is shown or local");
                }
            }
            run.done += 1;
        }
        run.complete_result(wires.buffers);
        run.let_go(wires.buffers);
        let context = run.what.context;
        // Its operation is not the last: the caller, who is here, has it.
        self.runs[id] = None;
        self.free.push(id);
        self.pass(context, wires.router);
        Ok(true)
    }

    /// Whether any run looks for something.
    #[inline]
    pub(crate) fn is_looking(&self) -> bool {
        !self.looking.is_empty()
    }

    /// One of the runs that look for something.
    pub(crate) fn looking(&self, index: usize) -> Option<RunId> {
        self.looking.get(index).copied()
    }

    /// A step of a run for which something is shown by now, and whether its receive is awaited, not posted.
    #[inline]
    pub(crate) fn find_shown(&self, id: RunId, router: &mut Router) -> Option<(u32, bool)> {
        let run = self.runs.get(id)?.as_ref()?;
        let is_shown = |step: &&u32| match *run.what.schedule.action(**step as usize) {
            Action::Recv { from, .. } => {
                router.shown(run.world(from), run.what.context, run.sequence).is_some()
            }
            _ => false,
        };
        let step = *run.steps.looked_for.iter().find(is_shown)?;
        Some((step, run.steps.awaited.contains(&step)))
    }

    /// Whether anything is shown for anybody who looks.
    pub(crate) fn sees_anything(&self, router: &mut Router) -> bool {
        self.looking.iter().any(|run| self.find_shown(*run, router).is_some())
    }

    /// Takes what is shown for a step whose receive is not posted (any more); the run is to be advanced then. Whether
    /// it was there.
    pub(crate) fn take_shown(&mut self, id: RunId, step: u32, wires: &mut Wires<'_>) -> bool {
        let Some(Some(run)) = self.runs.get_mut(id) else { return false };
        if !run.steps.looked_for.contains(&step) {
            return false;
        }
        match run.look(step, wires) {
            Look::Taken => {
                run.steps.awaited.retain(|other| *other != step);
                run.complete_step(step);
                self.stop_looking(id);
                true
            }
            Look::Wrong(trouble) => {
                self.trouble.get_or_insert(trouble);
                false
            }
            Look::NotYet | Look::Nowhere => false,
        }
    }

    /// From here on only a message will do for a step.
    pub(crate) fn look_no_more(&mut self, id: RunId, step: u32) {
        if let Some(Some(run)) = self.runs.get_mut(id) {
            run.steps.looked_for.retain(|other| *other != step);
        }
        self.stop_looking(id);
    }

    /// Takes a run off the list of those who look for something, if it does no more.
    #[inline]
    pub(super) fn stop_looking(&mut self, id: RunId) {
        if let Some(Some(run)) = self.runs.get_mut(id)
            && run.is_listed
            && run.steps.looked_for.is_empty()
        {
            run.is_listed = false;
            self.looking.retain(|other| *other != id);
        }
    }

    /// What has been seen that cannot be.
    #[inline]
    pub(crate) fn take_trouble(&mut self) -> Option<Trouble> {
        self.trouble.take()
    }

    /// A run of the communicator has ended: lets go of what others show under numbers that are over, once there are
    /// some, and looks at what of it nobody here has wanted.
    #[inline]
    pub(super) fn pass(&mut self, number: u64, router: &mut Router) {
        let Some(context) = self.contexts.get_mut(&number) else { return };
        let Some(channel) = context.channel.as_ref().filter(|channel| channel.open) else { return };
        let done = context.under_way.first().unwrap_or(context.next);
        if done.wrapping_sub(channel.passed) >= BATCH {
            self.pass_up_to(done, number, router);
        } else if channel.has_gaps_before(done) {
            self.look_into_gaps(done, number, router);
        }
    }

    /// All others have come as far as this rank, so what they have shown before is there, and can be looked at before
    /// it is passed: at once, so that this call fails.
    fn look_into_gaps(&mut self, done: u32, number: u64, router: &mut Router) {
        let Some(context) = self.contexts.get_mut(&number) else { return };
        let Some(channel) = &mut context.channel else { return };
        let mut gaps = channel.close_gaps(done);
        let context = &*context;
        let trouble = gaps.find_map(|sequence| context.unwanted(number, sequence, router));
        if let Some(trouble) = trouble {
            self.trouble.get_or_insert(trouble);
        }
    }

    fn pass_up_to(&mut self, done: u32, number: u64, router: &mut Router) {
        let Some(context) = self.contexts.get_mut(&number) else { return };
        let Some(channel) = &mut context.channel else { return };
        let mut unseen = channel.pass(done);
        router.pass(number, done);
        // After that, so that whoever shows something there now, and does not see that it is passed, is seen.
        let context = &*context;
        let trouble = unseen.find_map(|sequence| context.unwanted(number, sequence, router));
        if let Some(trouble) = trouble {
            self.trouble.get_or_insert(trouble);
        }
    }

    /// At the end of this rank's part: lets go of everything, and looks whether others show anything that this rank has
    /// not called.
    pub(crate) fn uncalled_shown(&mut self, router: &mut Router) {
        let open: Vec<u64> =
            self.contexts.iter().filter(|(_, context)| context.is_open()).map(|(n, _)| *n).collect();
        for number in open {
            let next = self.contexts[&number].next;
            self.pass_up_to(next, number, router);
            let trouble = self.contexts[&number].uncalled(number, || Mine::NeverCalled, router);
            if let Some(trouble) = trouble {
                self.trouble.get_or_insert(trouble);
            }
        }
    }

    /// Before a communicator is forgotten, if nothing is under way there: looks once more at what others show, and lets
    /// go of all of it, so that they can use its place again.
    ///
    /// Others may be far behind, and some may still hold the communicator, so nothing is waited for. Who has shown
    /// this rank something before it leaves is seen here, also where that number was passed, and the reminder may still
    /// be on its way. Who comes later sends it, and a message that nobody here has called for is found at the end
    /// ([`Runs::uncalled`]). Only when it has looked does this rank pass what is there, for then others may replace it.
    pub(crate) fn leave(&mut self, number: u64, router: &mut Router) {
        let Some(context) = self.contexts.get(&number) else { return };
        if !context.is_open() || !context.under_way.is_empty() {
            return;
        }
        router.leave(number);
        let unwanted = context.recent.iter().find_map(|called| context.differs(called, number, router));
        let trouble = unwanted.or_else(|| context.uncalled(number, || Mine::Dropped, router));
        router.pass(number, context.next);
        if let Some(trouble) = trouble {
            self.trouble.get_or_insert(trouble);
        }
    }

    /// Whether a communicator's ranks have shown one another anything.
    pub(crate) fn has_channel(&self, context: u64) -> bool {
        self.contexts.get(&context).is_some_and(Context::is_open)
    }
}

impl Context {
    fn is_open(&self) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.open)
    }

    /// Somebody shows, under a number that this rank has done with, what it has not called.
    fn unwanted(&self, number: u64, sequence: u32, router: &mut Router) -> Option<Trouble> {
        let called = self.recent.iter().rev().find(|called| called.sequence == sequence)?;
        self.differs(called, number, router)
    }

    /// Somebody shows something else than this rank has called.
    fn differs(&self, called: &Called, number: u64, router: &mut Router) -> Option<Trouble> {
        let sequence = called.sequence;
        let (source, shown) = self
            .shown(number, sequence, router)
            .find(|(_, shown)| !agree(&called.signature, &shown.label))?;
        let disagreement = Disagreement { sequence, theirs: shown.label, mine: Mine::Called(*called) };
        Some(Trouble::Disagree(source, number, disagreement))
    }

    /// Somebody shows something beyond the last collective of this rank, which says why it has not called it.
    fn uncalled(&self, number: u64, mine: fn() -> Mine, router: &mut Router) -> Option<Trouble> {
        (0..AHEAD).find_map(|step| {
            let sequence = self.next.wrapping_add(step);
            let (source, shown) = self.shown(number, sequence, router).next()?;
            let disagreement = Disagreement { sequence, theirs: shown.label, mine: mine() };
            Some(Trouble::Disagree(source, number, disagreement))
        })
    }

    /// What the others show under a number.
    fn shown(&self, number: u64, sequence: u32, router: &mut Router) -> impl Iterator<Item = (usize, Shown)> {
        let others = self.channel.iter().flat_map(|channel| &channel.others);
        others.filter_map(move |source| Some((*source, router.shown(*source, number, sequence)?)))
    }
}

fn open_channel(number: u32, what: &Planned, router: &mut Router) -> Channel {
    let world = |rank: usize| what.group.as_ref().map_or(rank, |group| group[rank]);
    let own = what.schedule.rank();
    let others: Box<[usize]> = (0..what.schedule.size()).filter(|rank| *rank != own).map(world).collect();
    // Where some are out of reach most would send messages, and be looked for in vain.
    let open = others.iter().all(|rank| router.shows(*rank)) && router.pass(what.context, number);
    Channel::new(number, open, others)
}
