//! One process's side of the agreement.
//!
//! `lead` is what only the leader does, `vote` what a voter remembers; here is the rest: what the program wants, who is
//! out of reach, what others say, and when it is enough.

mod attempt;
mod lead;
mod links;
mod planted;
mod vote;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use self::attempt::Attempt;
#[cfg(test)]
pub(crate) use self::planted::Planted;
#[cfg(not(test))]
use self::planted::Planted;
use self::vote::Vote;
use crate::failure::Failure;
use crate::message::{Ballot, Message};
use crate::table::{Id, MOST_MEMBERS, Node, Nonsense, PLACE_LIMIT, Table};

/// The most newcomers that wait at the door.
const MOST_NEWCOMERS: usize = 1 << 16;
/// The shortest time after which anything is done again.
const INSTANT: Duration = Duration::from_millis(1);
/// More than anybody waits: three hundred years.
const FOREVER: Duration = Duration::from_secs(10_000_000_000);

/// How large a generation may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The fewest ranks; 0 counts as 1.
    pub least: usize,
    /// The most.
    pub most: usize,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Patience {
    /// How long those who are ready wait for a member that is there and not ready.
    pub gather: Duration,
    /// How long whoever is ready waits for a decision.
    pub limit: Duration,
    /// How long an attempt to decide may take before the next.
    pub retry: Duration,
    /// How often what may have been lost is said again.
    pub repeat: Duration,
}

impl Patience {
    /// For a decision within `limit`, of which half may go by waiting for members that are not ready.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        let unit = limit / 60;
        Self {
            gather: limit / 2,
            limit,
            retry: unit.clamp(Duration::from_millis(20), Duration::from_secs(1)),
            repeat: unit.clamp(Duration::from_millis(20), Duration::from_millis(500)),
        }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self::within(Duration::from_secs(60))
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Say this to that process. It may be lost: if it matters, it will be said again.
    Send {
        /// To whom.
        to: Node,
        /// What.
        message: Message,
    },
    /// The next generation, in which this process is.
    Decided(Table),
    /// The next generation, in which this process does not want to be.
    Left,
    /// There is no next generation for this process.
    Failed(Failure),
    /// So many wait at the door, and would come in.
    Waiting(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    Member,
    Arbiter,
    Newcomer,
}

/// What the program wants, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wish {
    leaving: bool,
    since: Duration,
}

/// What a member has said that has done with its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Said {
    leaving: bool,
    lost: Option<Id>,
}

/// One process's side of the agreement; see the [crate](crate).
///
/// Times are those since any moment that is the same for all calls. Every call may bring [`actions`](Self::actions).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    me: Node,
    standing: Standing,
    /// The last one that is known.
    table: Table,
    limits: Limits,
    patience: Patience,
    wish: Option<Wish>,
    /// The member whose link to this one has failed in this generation.
    lost: Option<Id>,
    /// Who is out of reach, and whether it has ended for certain.
    down: BTreeMap<Id, bool>,
    vote: Vote,
    /// Those that have done with this generation.
    ready: BTreeMap<Id, Said>,
    newcomers: Vec<Node>,
    /// Whom the leader cannot reach, as it says.
    missing: BTreeSet<Id>,
    /// Those who knocked at this generation and have ended: what they said may still come.
    departed: BTreeSet<Id>,
    /// How many wait, as the leader has it.
    waiting: usize,
    /// How many the members were told, and when they may be told again.
    told: usize,
    tell_at: Duration,
    gathering: Option<Duration>,
    /// Since when no quorum can ever come together again.
    hopeless: Option<Duration>,
    /// No generation follows, as the one that decides alone knows.
    ended: bool,
    /// All members have died, and newcomers may go on without them: likewise.
    orphaned: bool,
    attempt: Option<Attempt>,
    /// The highest that was heard of.
    round: u64,
    repeat_at: Duration,
    /// When it was last told how late it is.
    ticked: Duration,
    /// There is nothing more to hope for.
    over: bool,
    actions: VecDeque<Action>,
    #[cfg(test)]
    pub(crate) planted: Option<Planted>,
}

impl Machine {
    fn new(me: Node, standing: Standing, table: Table, limits: Limits, patience: Patience) -> Self {
        let limits = Limits { least: limits.least.max(1), most: limits.most.min(MOST_MEMBERS) };
        // What is done again takes some time, and no sum of times overflows.
        let Patience { gather, limit, retry, repeat } = patience;
        let patience = Patience {
            gather: gather.min(FOREVER),
            limit: limit.min(FOREVER),
            retry: retry.clamp(INSTANT, FOREVER),
            repeat: repeat.clamp(INSTANT, FOREVER),
        };
        Self {
            me,
            standing,
            table,
            limits,
            patience,
            wish: None,
            lost: None,
            down: BTreeMap::new(),
            vote: Vote::default(),
            ready: BTreeMap::new(),
            newcomers: Vec::new(),
            missing: BTreeSet::new(),
            departed: BTreeSet::new(),
            waiting: 0,
            told: 0,
            tell_at: Duration::ZERO,
            gathering: None,
            hopeless: None,
            ended: false,
            orphaned: false,
            attempt: None,
            round: 0,
            repeat_at: Duration::ZERO,
            ticked: Duration::ZERO,
            over: false,
            actions: VecDeque::new(),
            #[cfg(test)]
            planted: None,
        }
    }

    /// A member of this generation.
    ///
    /// # Errors
    ///
    /// When the table cannot be, or this process is not in it.
    pub fn member(me: Node, table: Table, limits: Limits, patience: Patience) -> Result<Self, Nonsense> {
        table.check()?;
        table.rank_of(me.id).ok_or(Nonsense::Stranger)?;
        Ok(Self::new(me, Standing::Member, table, limits, patience))
    }

    /// The one that decides alone.
    ///
    /// # Errors
    ///
    /// When the table cannot be, or this process is not its arbiter.
    pub fn arbiter(me: Node, table: Table, limits: Limits, patience: Patience) -> Result<Self, Nonsense> {
        table.check()?;
        table.arbiter.as_ref().filter(|arbiter| arbiter.id == me.id).ok_or(Nonsense::Stranger)?;
        Ok(Self::new(me, Standing::Arbiter, table, limits, patience))
    }

    /// Somebody who wants to be in a generation after this one, and knocks until it is, or until
    /// [`Failure::NobodyThere`].
    ///
    /// # Errors
    ///
    /// When the table cannot be.
    pub fn newcomer(
        now: Duration,
        me: Node,
        table: Table,
        limits: Limits,
        patience: Patience,
    ) -> Result<Self, Nonsense> {
        table.check()?;
        let mut machine = Self::new(me, Standing::Newcomer, table, limits, patience);
        machine.report(now);
        Ok(machine)
    }

    /// The last generation that is known.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How many wait at the door and would come in if all stay that are there, as far as is known here.
    #[must_use]
    pub fn waiting(&self) -> usize {
        if self.leads() { self.admissible() } else { self.waiting }
    }

    /// Of those who wait, how many there is room for beside the members that can be reached.
    fn admissible(&self) -> usize {
        let there = self.table.members.len().saturating_sub(self.missed());
        self.newcomers.len().min(self.limits.most.saturating_sub(there))
    }

    /// How many members are out of reach.
    fn missed(&self) -> usize {
        let arbiter = self.table.arbiter.as_ref().is_some_and(|node| self.down.contains_key(&node.id));
        self.down.len() - usize::from(arbiter)
    }

    /// Whether nothing is under way: nobody is ready, and nobody waits at the door.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.wish.is_none()
            && self.gathering.is_none()
            && self.newcomers.is_empty()
            && self.standing != Standing::Newcomer
    }

    /// Those of this generation that are out of reach.
    pub fn away(&self) -> impl Iterator<Item = Id> + '_ {
        self.down.keys().copied()
    }

    /// Whether that process is thought to be out of reach, and may come back.
    #[cfg(test)]
    pub(crate) fn misses(&self, id: Id) -> bool {
        self.down.get(&id) == Some(&false)
    }

    /// Whether there is nothing more to hope for: this process has left, or failed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// What is to be done, in this order; each is answered once.
    pub fn actions(&mut self) -> impl Iterator<Item = Action> + '_ {
        self.actions.drain(..)
    }

    /// The program has done with this generation, and wants to be in the next, or not.
    pub fn go_on(&mut self, now: Duration, leaving: bool) {
        if self.over
            || self.standing != Standing::Member
            || self.wish.is_some_and(|wish| wish.leaving == leaving)
        {
            return;
        }
        self.wish = Some(Wish { leaving, since: now });
        self.report(now);
        self.despair(now);
    }

    /// The link of this process to that member has failed, and that has ended this generation for it: to be said before
    /// [`go_on`](Self::go_on). Where it happens twice, one of the two is left out: see [`Failure::Unlinked`].
    pub fn lost(&mut self, id: Id) {
        if self.standing == Standing::Member && self.wish.is_none() && id != self.me.id {
            self.lost = Some(id).filter(|id| self.table.rank_of(*id).is_some());
        }
    }

    /// All members of that generation have ended. `done`: they had done what they were there for, and no other follows,
    /// as those hear who knock; else whoever knocks may be the next. For the one that decides alone, which cannot tell
    /// by itself.
    pub fn ended(&mut self, now: Duration, generation: u64, done: bool) {
        if self.standing != Standing::Arbiter || self.table.generation != generation {
            return;
        }
        match done {
            true => self.turn_away(),
            false => {
                self.orphaned = true;
                self.lead(now);
            }
        }
    }

    /// A process is out of reach; `certain`: it has ended.
    pub fn down(&mut self, now: Duration, id: Id, certain: bool) {
        if id == self.me.id {
            return;
        }
        let before = self.leader().map(|leader| leader.id);
        if self.table.knows(id) {
            *self.down.entry(id).or_default() |= certain;
        }
        if self.ready.remove(&id).is_some() && self.ready.is_empty() {
            // Whoever is ready next waits for the others as long.
            self.gathering = None;
        }
        if let Some(place) = self.newcomers.iter().position(|node| node.id == id) {
            self.newcomers.remove(place);
        }
        if certain && !self.table.knows(id) && self.departed.len() < MOST_NEWCOMERS {
            self.departed.insert(id);
        }
        if self.leader().map(|leader| leader.id) != before {
            if self.leads() && self.waiting > 0 {
                // Those who wait knock here from now on: by then it is known how many they are.
                (self.told, self.tell_at) = (self.waiting, now + 2 * self.patience.repeat);
            }
            self.report(now);
        }
        self.tell_waiting(now);
        self.lead(now);
        self.despair(now);
    }

    /// A process can be reached again. Nobody who has ended for certain can.
    pub fn up(&mut self, now: Duration, id: Id) {
        if self.down.get(&id) != Some(&false) {
            return;
        }
        let before = self.leader().map(|leader| leader.id);
        self.down.remove(&id);
        if self.leader().map(|leader| leader.id) != before {
            self.report(now);
        }
        // It may have missed this.
        if self.leads()
            && self.told > 0
            && let Some(rank) = self.table.rank_of(id)
        {
            let (to, generation) = (self.table.members[rank].clone(), self.table.generation);
            self.send(&to, Message::Waiting { generation, count: self.told as u64 });
        }
        self.tell_waiting(now);
    }

    /// When to call [`tick`](Self::tick) at the latest.
    #[must_use]
    pub fn next_tick(&self) -> Option<Duration> {
        if self.over {
            return None;
        }
        let leads = self.leads();
        let repeats = match self.standing {
            Standing::Newcomer => true,
            _ if leads => self.gathering.is_some(),
            _ => self.wish.is_some(),
        };
        let gathered = self.gathering.filter(|_| leads && self.attempt.is_none());
        let times = [
            self.wish.map(|wish| wish.since + self.patience.limit),
            repeats.then_some(self.repeat_at),
            self.attempt_ends(),
            (leads && self.told != self.admissible()).then_some(self.tell_at),
            self.hopeless_ends().filter(|_| self.wish.is_some()),
            // Afterwards there is nothing to wait for but newcomers.
            gathered.map(|since| since + self.patience.gather).filter(|end| *end > self.ticked),
        ];
        times.into_iter().flatten().min()
    }

    /// It is so late now.
    pub fn tick(&mut self, now: Duration) {
        if self.over {
            return;
        }
        self.ticked = now;
        if let Some(wish) = self.wish
            && now >= wish.since + self.patience.limit
        {
            let failure = self.reason();
            self.fail(failure);
            return;
        }
        if now >= self.repeat_at {
            self.report(now);
        }
        self.tell_waiting(now);
        if self.attempt_ends().is_some_and(|end| now >= end) {
            self.attempt = None;
        }
        self.lead(now);
        self.despair(now);
    }

    /// Somebody has said something.
    pub fn receive(&mut self, now: Duration, from: &Node, message: Message) {
        match message {
            Message::Ready { generation, leaving, lost } => {
                if self.is_now(from, generation) && self.table.rank_of(from.id).is_some() {
                    self.up(now, from.id);
                    // Unless it has ended since.
                    if !self.down.contains_key(&from.id) {
                        if self.ready.insert(from.id, Said { leaving, lost }).is_some() {
                            self.tell_missing(from);
                        }
                        self.lead(now);
                    }
                }
            }
            Message::Summons { generation } => {
                if self.is_now(from, generation)
                    && let Some(Wish { leaving, .. }) = self.wish
                {
                    self.send(from, Message::Ready { generation, leaving, lost: self.lost });
                }
            }
            Message::Prepare { generation, ballot } => {
                if self.is_now(from, generation) && self.is_voters(from, ballot) {
                    self.round = self.round.max(ballot.round);
                    let answer = match self.vote.prepare(ballot) {
                        Ok(accepted) => Message::Promise { generation, ballot, accepted },
                        Err(ballot) => Message::Refused { generation, ballot },
                    };
                    self.send(from, answer);
                }
            }
            Message::Accept { ballot, table } => {
                let Some(generation) = table.generation.checked_sub(1) else { return };
                if self.is_now(from, generation) && self.is_voters(from, ballot) && table.check().is_ok() {
                    self.round = self.round.max(ballot.round);
                    if self.has(Planted::ForgetsPromises) {
                        self.vote = Vote::default();
                    }
                    let answer = match self.vote.accept(ballot, table) {
                        Ok(()) => Message::Accepted { generation, ballot },
                        Err(ballot) => Message::Refused { generation, ballot },
                    };
                    self.send(from, answer);
                }
            }
            Message::Promise { generation, ballot, accepted } => {
                let fits = |(_, table): &(Ballot, Table)| {
                    table.generation.checked_sub(1) == Some(generation) && table.check().is_ok()
                };
                if self.is_answer(generation) && accepted.as_ref().is_none_or(fits) {
                    self.promised(now, from.id, ballot, accepted);
                }
            }
            Message::Accepted { generation, ballot } => {
                if self.is_answer(generation) {
                    self.accepted(now, from.id, ballot);
                }
            }
            Message::Refused { generation, ballot } => {
                if self.is_answer(generation) {
                    self.refused(ballot);
                }
            }
            Message::Decided { table } => self.decided(now, table),
            Message::Ask { generation } => {
                if generation < self.table.generation {
                    self.send(from, Message::Decided { table: self.table.clone() });
                }
            }
            Message::Knock { generation, node } => self.knocked(now, from, generation, node),
            Message::Missing { generation, ranks } => {
                if self.is_answer(generation) {
                    let members = &self.table.members;
                    let member = |rank: u64| members.get(usize::try_from(rank).ok()?);
                    self.missing = ranks.into_iter().filter_map(member).map(|member| member.id).collect();
                }
            }
            Message::Waiting { generation, count } => {
                if self.is_answer(generation) && self.waiting as u64 != count {
                    self.waiting = usize::try_from(count).unwrap_or(usize::MAX);
                    self.actions.push_back(Action::Waiting(self.waiting));
                }
            }
            Message::Over { generation } => self.heard_of_the_end(generation),
        }
    }

    /// No generation follows on that one.
    fn heard_of_the_end(&mut self, generation: u64) {
        let ours = self.table.generation;
        match self.standing {
            Standing::Newcomer if !self.over && generation >= ours => {
                self.fail(Failure::Ended { generation })
            }
            Standing::Member if generation == ours && self.wish.is_some_and(|wish| wish.leaving) => {
                self.leave()
            }
            _ => {}
        }
    }

    fn leave(&mut self) {
        self.over = true;
        self.wish = None;
        self.attempt = None;
        self.actions.push_back(Action::Left);
    }

    /// The first voter that can be reached.
    fn leader(&self) -> Option<&Node> {
        self.table.voters().find(|voter| !self.down.contains_key(&voter.id))
    }

    fn leads(&self) -> bool {
        self.standing != Standing::Newcomer && self.leader().is_some_and(|leader| leader.id == self.me.id)
    }

    /// Whether something is about this process's generation. If not, one of the two is behind, and hears of it.
    fn is_now(&mut self, from: &Node, generation: u64) -> bool {
        let ours = self.table.generation;
        let newcomer = self.standing == Standing::Newcomer;
        if generation > ours {
            // It may be that a newcomer has come in, and was not told.
            self.send(from, Message::Ask { generation: ours });
        } else if generation < ours && !newcomer {
            self.send(from, Message::Decided { table: self.table.clone() });
        }
        generation == ours && !newcomer
    }

    /// The same for what need not be answered itself: whoever was asked hears what was decided without asking.
    fn is_answer(&self, generation: u64) -> bool {
        self.standing != Standing::Newcomer && generation == self.table.generation
    }

    fn is_voters(&self, from: &Node, ballot: Ballot) -> bool {
        let voter = usize::try_from(ballot.voter).unwrap_or(usize::MAX);
        self.table.voters().nth(voter).is_some_and(|voter| voter.id == from.id)
    }

    /// Says what this process wants to whoever leads; the leader asks those who have not said anything.
    fn report(&mut self, now: Duration) {
        if self.over {
            return;
        }
        if !self.has(Planted::BusyLoop) {
            self.repeat_at = now + self.patience.repeat;
        }
        match (self.standing, self.wish) {
            (Standing::Newcomer, _) => match self.leader().cloned() {
                Some(leader) => self.send(
                    &leader,
                    Message::Knock { generation: self.table.generation, node: self.me.clone() },
                ),
                None => self.fail(Failure::NobodyThere { generation: self.table.generation }),
            },
            (Standing::Member, Some(wish)) => {
                if self.leads() {
                    self.ready.insert(self.me.id, Said { leaving: wish.leaving, lost: self.lost });
                    self.summon();
                    self.lead(now);
                } else if let Some(leader) = self.leader().cloned() {
                    let generation = self.table.generation;
                    let said = Message::Ready { generation, leaving: wish.leaving, lost: self.lost };
                    self.send(&leader, said);
                }
            }
            _ => self.summon(),
        }
    }

    /// Tells somebody who waits for a decision for long whom this process cannot reach.
    fn tell_missing(&mut self, to: &Node) {
        let members = self.table.members.iter().enumerate();
        let missing = members.filter(|(_, member)| self.down.contains_key(&member.id));
        let ranks: Vec<u64> = missing.map(|(rank, _)| rank as u64).collect();
        if !ranks.is_empty() && self.leads() {
            self.send(to, Message::Missing { generation: self.table.generation, ranks });
        }
    }

    fn knocked(&mut self, now: Duration, from: &Node, generation: u64, node: Node) {
        if self.standing == Standing::Newcomer || node.place.len() > PLACE_LIMIT {
            return;
        }
        let ours = self.table.generation;
        if generation < ours || self.table.rank_of(node.id).is_some() {
            // It has not heard of what was decided, and knocks again if it must. What it said before is over: since
            // then it may have come in, and have gone.
            self.send(&node, Message::Decided { table: self.table.clone() });
        } else if generation > ours {
            self.send(from, Message::Ask { generation: ours });
        } else if self.over || self.departed.contains(&node.id) {
            // It comes too late.
        } else if self.ended {
            self.send(&node, Message::Over { generation });
        } else if self.leads() {
            let known = self.newcomers.iter().any(|known| known.id == node.id);
            if !known && self.newcomers.len() < self.limits.most.min(MOST_NEWCOMERS) {
                self.newcomers.push(node);
                self.tell_waiting(now);
                self.lead(now);
            }
        } else if from.id == node.id
            && let Some(leader) = self.leader().cloned()
        {
            self.send(&leader, Message::Knock { generation, node });
        }
    }

    /// Tells the members how many wait, if that is something new, and not too often: a thousand may come at once.
    fn tell_waiting(&mut self, now: Duration) {
        let (generation, count) = (self.table.generation, self.admissible());
        if !self.leads() || self.told == count || now < self.tell_at {
            return;
        }
        (self.told, self.waiting, self.tell_at) = (count, count, now + self.patience.repeat);
        self.actions.push_back(Action::Waiting(count));
        let others = self.table.members.iter().filter(|member| member.id != self.me.id);
        let others = others.filter(|member| !self.down.contains_key(&member.id));
        for member in others.cloned().collect::<Vec<_>>() {
            self.send(&member, Message::Waiting { generation, count: count as u64 });
        }
    }

    fn decided(&mut self, now: Duration, table: Table) {
        if (self.over && !self.has(Planted::AnswersAfterTheEnd)) || table.check().is_err() {
            return;
        }
        let ours = self.table.generation;
        let admitted = self.standing == Standing::Newcomer && table.rank_of(self.me.id).is_some();
        if table.generation > ours || (admitted && table.generation == ours) {
            self.adopt(now, table);
        }
    }

    /// Goes over to a generation that has been decided.
    fn adopt(&mut self, now: Duration, table: Table) {
        let inside = table.rank_of(self.me.id).is_some();
        let excluded = self.excluded(&table);
        (self.lost, self.ended, self.orphaned) = (None, false, false);
        // They are told, and knock again.
        self.newcomers.clear();
        self.departed.clear();
        self.down.retain(|id, _| table.knows(*id));
        self.vote = Vote::default();
        self.ready.clear();
        self.missing.clear();
        (self.gathering, self.hopeless, self.attempt, self.round) = (None, None, None, 0);
        (self.waiting, self.told) = (0, 0);
        self.table = table;
        match self.standing {
            Standing::Newcomer if inside => {
                self.standing = Standing::Member;
                self.actions.push_back(Action::Decided(self.table.clone()));
            }
            Standing::Newcomer => self.report(now),
            Standing::Arbiter => {
                self.actions.push_back(Action::Decided(self.table.clone()));
                self.lead(now);
            }
            Standing::Member if inside => {
                // Somebody had not heard that it leaves.
                match self.wish.filter(|wish| wish.leaving) {
                    Some(_) => self.report(now),
                    None => {
                        self.wish = None;
                        self.actions.push_back(Action::Decided(self.table.clone()));
                    }
                }
            }
            Standing::Member => {
                self.over = true;
                let left = self.wish.is_some_and(|wish| wish.leaving);
                self.wish = None;
                self.actions.push_back(match left {
                    true => Action::Left,
                    false => Action::Failed(excluded),
                });
            }
        }
    }

    /// Why this process is not in that generation.
    fn excluded(&self, table: &Table) -> Failure {
        let generation = table.generation;
        let again = |pair: &&(Id, Id)| {
            (pair.0 == self.me.id || pair.1 == self.me.id) && self.table.broken.contains(pair)
        };
        // Those of the last generation are told in the one that follows on it.
        let follows = self.table.generation + 1 == generation;
        let links = table.broken.iter().filter(again).filter(|_| follows);
        let others: Vec<Id> = links.map(|(a, b)| if *a == self.me.id { *b } else { *a }).collect();
        // What others say may be hearsay.
        let other = self.lost.filter(|lost| others.contains(lost)).or(others.first().copied());
        match other.and_then(|id| self.table.rank_of(id)) {
            Some(other) => Failure::Unlinked { generation, other },
            None => Failure::Excluded { generation },
        }
    }

    /// Gives up where nobody who could help will ever come back. A decision may have been made before they ended, of
    /// which this process has not heard: it asks those who are left, and gives them, and newcomers who have been let
    /// in, a moment to say so.
    fn despair(&mut self, now: Duration) {
        if self.wish.is_none() || self.over {
            return;
        }
        let ended = |id: Id| self.down.get(&id) == Some(&true);
        if self.table.quorum(|id| !ended(id)) {
            return;
        }
        match self.hopeless_ends() {
            None => {
                self.hopeless = Some(now);
                let nodes = self.table.members.iter().chain(&self.table.arbiter);
                let others = nodes.filter(|node| node.id != self.me.id && !ended(node.id));
                for node in others.cloned().collect::<Vec<_>>() {
                    self.send(&node, Message::Ask { generation: self.table.generation });
                }
            }
            Some(end) if now >= end => {
                let failure = self.reason();
                self.fail(failure);
            }
            Some(_) => {}
        }
    }

    /// When there is nothing more to wait for.
    fn hopeless_ends(&self) -> Option<Duration> {
        self.hopeless.map(|since| since + 2 * self.patience.repeat)
    }

    /// Why there is no decision.
    fn reason(&self) -> Failure {
        let generation = self.table.generation;
        let there = |id: Id| !self.down.contains_key(&id) && !self.missing.contains(&id);
        let waited = self.patience.limit;
        if !self.table.quorum(there) {
            if self.table.arbiter.is_some() {
                return Failure::NoArbiter { generation };
            }
            let members = self.table.members.iter().enumerate();
            let present = members.filter(|(_, member)| there(member.id)).map(|(rank, _)| rank).collect();
            return Failure::NoQuorum { generation, voters: self.table.members.len(), present };
        }
        let members = self.table.members.iter().filter(|member| there(member.id)).count();
        let there = match self.leads() {
            true => self.candidates(),
            false => members + self.waiting,
        };
        match there < self.limits.least {
            true => Failure::TooFew { generation, there, least: self.limits.least, waited },
            false => Failure::Undecided { generation, waited },
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.over = true;
        self.wish = None;
        self.attempt = None;
        self.actions.push_back(Action::Failed(failure));
    }

    #[cfg(test)]
    fn has(&self, fault: Planted) -> bool {
        self.planted == Some(fault)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "as in tests")]
    const fn has(&self, _: Planted) -> bool {
        false
    }

    fn send(&mut self, to: &Node, message: Message) {
        self.actions.push_back(Action::Send { to: to.clone(), message });
    }
}
