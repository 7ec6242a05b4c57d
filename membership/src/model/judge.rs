//! Knows what is promised, sees all that happens, and says what broke which promise.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::{Action, Ballot, Failure, Id, Limits, Message, Table};

/// What is promised, in the order of the list in the crate's documentation, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Promise {
    OneWorld,
    Quorum,
    Order,
    Consent,
    Bounds,
    End,
    /// Two whose link has failed twice are not together a third time.
    Links,
    /// A world ends only when nobody goes on.
    GoingOn,
    /// When faults have stopped, whoever can go on does.
    Liveness,
    /// No more messages than it takes.
    Messages,
    /// Nothing is to be done at a time that is over.
    Idleness,
    /// Each wish is answered once, and nothing is answered after the end.
    Answers,
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) promise: Promise,
    pub(super) how: String,
}

pub(super) fn broken<T>(promise: Promise, how: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { promise, how: how.into() })
}

/// What one process has been promised.
#[derive(Default)]
struct Hopes {
    /// It waits for an answer since then.
    since: Option<Duration>,
    leaving: bool,
    newcomer: bool,
    over: bool,
    generation: u64,
    /// Who has ended, as far as it was told for certain.
    ended: BTreeSet<Id>,
}

/// A table in few words.
pub(super) fn brief(table: &Table) -> String {
    let members: Vec<u64> = table.members.iter().map(|member| member.id.0).collect();
    let arbiter = table.arbiter.as_ref().map_or(String::new(), |arbiter| format!(" of {}", arbiter.id.0));
    format!("generation {} {members:?}{arbiter}", table.generation)
}

pub(super) struct Judge {
    limits: Limits,
    limit: Duration,
    hopes: BTreeMap<Id, Hopes>,
    /// What has been decided, by generation.
    pub(super) tables: BTreeMap<u64, Table>,
    /// Who said in which generation that it goes on.
    said: BTreeSet<(u64, Id)>,
    /// Which link has failed for whom in which generation.
    lost: BTreeSet<(u64, Id, Id)>,
    /// Who knocked, and at which generation.
    knocked: BTreeSet<(u64, Id)>,
    proposals: HashMap<(u64, Ballot), Table>,
    accepts: HashMap<(u64, Ballot), BTreeSet<Id>>,
}

impl Judge {
    pub(super) fn new(first: Table, limits: Limits, limit: Duration) -> Self {
        let known = first.members.iter().chain(&first.arbiter).map(|node| node.id);
        let generation = first.generation;
        let hopes = known.map(|id| (id, Hopes { generation, ..Hopes::default() })).collect();
        Self {
            limits,
            limit,
            hopes,
            tables: BTreeMap::from([(first.generation, first)]),
            said: BTreeSet::new(),
            lost: BTreeSet::new(),
            knocked: BTreeSet::new(),
            proposals: HashMap::new(),
            accepts: HashMap::new(),
        }
    }

    pub(super) fn newcomer(&mut self, id: Id, generation: u64) {
        self.hopes.insert(id, Hopes { newcomer: true, generation, ..Hopes::default() });
    }

    pub(super) fn goes_on(&mut self, now: Duration, id: Id, leaving: bool, lost: Option<Id>) {
        let Some(hopes) = self.hopes.get_mut(&id).filter(|hopes| !hopes.over) else { return };
        self.lost.extend(lost.filter(|_| hopes.since.is_none()).map(|lost| (hopes.generation, id, lost)));
        (hopes.since, hopes.leaving) = (Some(now), leaving);
        if !leaving {
            self.said.insert((hopes.generation, id));
        }
    }

    pub(super) fn ended(&mut self, at: Id, of: Id) {
        self.hopes.entry(at).or_default().ended.insert(of);
    }

    /// It died, and waits for nothing.
    pub(super) fn died(&mut self, id: Id) {
        self.hopes.entry(id).or_default().since = None;
    }

    /// What a process does, after which it has this table; `heard`: it was told so.
    pub(super) fn acts(
        &mut self,
        now: Duration,
        id: Id,
        actions: &[Action],
        table: &Table,
        heard: bool,
    ) -> Result<(), Broken> {
        // First what was said, then what follows from it.
        for action in actions {
            if let Action::Send { message, .. } = action {
                self.says(id, message)?;
            }
        }
        let before = self.hopes.entry(id).or_default().generation;
        if table.generation != before {
            if table.generation < before {
                return broken(
                    Promise::OneWorld,
                    format!("{id:?} went back to generation {}", table.generation),
                );
            }
            self.decided(id, table, heard)?;
            self.hopes.entry(id).or_default().generation = table.generation;
        }
        for action in actions {
            self.answers(now, id, action, table)?;
        }
        Ok(())
    }

    fn says(&mut self, id: Id, message: &Message) -> Result<(), Broken> {
        match message {
            Message::Knock { generation, node } if node.id == id => {
                if self.hopes.get(&id).is_some_and(|hopes| hopes.over) {
                    return broken(Promise::Answers, format!("{id:?} knocks after its end"));
                }
                self.knocked.insert((*generation, id));
            }
            Message::Accept { ballot, table } => {
                let generation = table.generation - 1;
                let inherited =
                    self.proposals.iter().any(|((of, _), known)| *of == generation && known == table);
                let ended = &self.hopes[&id].ended;
                if !inherited
                    && let Some(dead) = table.members.iter().find(|member| ended.contains(&member.id))
                {
                    return broken(
                        Promise::Consent,
                        format!("{id:?} proposes {:?}, which has ended", dead.id),
                    );
                }
                let known = self.proposals.entry((generation, *ballot)).or_insert_with(|| table.clone());
                if known != table {
                    return broken(Promise::OneWorld, format!("two proposals of {ballot:?}"));
                }
            }
            Message::Accepted { generation, ballot } => {
                self.accepts.entry((*generation, *ballot)).or_default().insert(id);
            }
            _ => {}
        }
        Ok(())
    }

    fn decided(&mut self, id: Id, table: &Table, heard: bool) -> Result<(), Broken> {
        if let Some(known) = self.tables.get(&table.generation) {
            if known != table {
                return broken(Promise::OneWorld, format!("decided: {} and {}", brief(known), brief(table)));
            }
            return Ok(());
        }
        if heard {
            return broken(
                Promise::Quorum,
                format!("{id:?} was told of {}, which nobody has decided", brief(table)),
            );
        }
        let last = table.generation - 1;
        let Some(old) = self.tables.get(&last) else {
            return broken(Promise::Quorum, format!("{} follows on nothing", brief(table)));
        };
        let decides = old.voters().position(|voter| voter.id == id);
        let agreed = |(key, by): (&(u64, Ballot), &BTreeSet<Id>)| {
            let (generation, ballot) = key;
            *generation == last
                && usize::try_from(ballot.voter).ok() == decides
                && self.proposals.get(key) == Some(table)
                && old.quorum(|voter| voter == id || by.contains(&voter))
        };
        // Alone, it says nothing to anybody.
        if decides.is_none() || !(old.quorum(|voter| voter == id) || self.accepts.iter().any(agreed)) {
            return broken(
                Promise::Quorum,
                format!("{id:?} decided {} without a quorum of {}", brief(table), brief(old)),
            );
        }
        let stayed: Vec<usize> = table.members.iter().map_while(|member| old.rank_of(member.id)).collect();
        let came = &table.members[stayed.len()..];
        if !stayed.is_sorted() || came.iter().any(|member| old.rank_of(member.id).is_some()) {
            return broken(Promise::Order, format!("{} after {}", brief(table), brief(old)));
        }
        for member in &table.members[..stayed.len()] {
            if !self.said.contains(&(last, member.id)) {
                return broken(
                    Promise::Consent,
                    format!("{:?} is in {} and was not ready", member.id, brief(table)),
                );
            }
        }
        for member in came {
            if !self.knocked.contains(&(last, member.id)) {
                return broken(
                    Promise::Consent,
                    format!("{:?} is in {} and has not knocked", member.id, brief(table)),
                );
            }
        }
        if table.members.len() < self.limits.least.max(1) || table.members.len() > self.limits.most {
            return broken(Promise::Bounds, format!("{} members; {:?}", table.members.len(), self.limits));
        }
        self.links(old, table)?;
        self.tables.insert(table.generation, table.clone());
        Ok(())
    }

    /// What is said of links is true, and two without one are not together again, where all have said so.
    fn links(&self, old: &Table, new: &Table) -> Result<(), Broken> {
        let fails =
            |of: u64, a: Id, b: Id| self.lost.contains(&(of, a, b)) || self.lost.contains(&(of, b, a));
        if let Some((a, b)) = new.broken.iter().find(|(a, b)| !fails(old.generation, *a, *b)) {
            return broken(Promise::Links, format!("{a:?} and {b:?} never lost one another"));
        }
        let knows = |table: &Table, a, b| table.broken.contains(&(a, b)) || table.broken.contains(&(b, a));
        let inside = |id| new.rank_of(id).is_some();
        for (_, a, b) in self.lost.iter().filter(|(of, ..)| *of == old.generation) {
            if knows(old, *a, *b) && knows(new, *a, *b) && inside(*a) && inside(*b) {
                return broken(Promise::Links, format!("{a:?} and {b:?} are both in {}", brief(new)));
            }
        }
        Ok(())
    }

    fn answers(&mut self, now: Duration, id: Id, action: &Action, table: &Table) -> Result<(), Broken> {
        let hopes = self.hopes.entry(id).or_default();
        let arbiter = table.arbiter.as_ref().is_some_and(|arbiter| arbiter.id == id);
        let over = match action {
            Action::Send { .. } | Action::Waiting(_) => return Ok(()),
            Action::Decided(_) => false,
            Action::Left | Action::Failed(_) => true,
        };
        if hopes.over {
            return broken(Promise::Answers, format!("{id:?}: {action:?} after its end"));
        }
        let asked = arbiter || hopes.newcomer || hopes.since.is_some();
        // Those who were not ready hear that the others have gone on.
        if !asked && !matches!(action, Action::Failed(Failure::Excluded { .. })) {
            return broken(Promise::Answers, format!("{id:?}: {action:?}, and has not asked"));
        }
        if let Action::Decided(decided) = action
            && (decided != table || !(arbiter || table.rank_of(id).is_some()))
        {
            return broken(Promise::Answers, format!("{id:?} is told {decided:?} and has {table:?}"));
        }
        if hopes.since.is_some_and(|since| now > since + self.limit) {
            return broken(
                Promise::End,
                format!("{id:?} was answered after {:?}", now - hopes.since.unwrap_or_default()),
            );
        }
        hopes.over = over;
        hopes.newcomer = false;
        hopes.since = None;
        Ok(())
    }

    /// Whether nobody waits for longer than was promised.
    pub(super) fn waits(&self, now: Duration) -> Result<(), Broken> {
        for (id, hopes) in &self.hopes {
            if hopes.since.is_some_and(|since| now > since + self.limit) {
                return broken(Promise::End, format!("{id:?} has heard nothing for {:?}", self.limit));
            }
        }
        Ok(())
    }

    /// Whether a process has been in no generation yet.
    pub(super) fn is_newcomer(&self, id: Id) -> bool {
        self.hopes.get(&id).is_some_and(|hopes| hopes.newcomer)
    }

    /// Whether a process wants to leave.
    pub(super) fn leaves(&self, id: Id) -> bool {
        self.hopes.get(&id).is_some_and(|hopes| hopes.leaving)
    }

    /// Whether a process waits for an answer.
    pub(super) fn waiting(&self, id: Id) -> bool {
        self.hopes.get(&id).is_some_and(|hopes| hopes.since.is_some())
    }
}
