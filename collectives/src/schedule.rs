//! A finished schedule: actions in program order and who waits for whom, in two flat arrays.
//!
//! Invariant: every dependency points backwards, so program order is one valid order of execution and the
//! graph of one rank has no cycle. Neighbours: [`crate::Builder`] makes schedules, the executor and
//! [`crate::check`] read them.

use std::fmt::Write as _;

use crate::{Action, Error, Layout};

/// What one rank does in a collective.
///
/// Steps are numbered in program order. A step may start when all steps it depends on have completed; the
/// collective is complete when all steps are. Sends and receives complete later than they start, and any
/// number of steps may be under way at once.
///
/// An executor keeps one counter per step, starts [`Schedule::roots`], and when a step completes takes one
/// off the counter of each of its [`Schedule::dependents`], starting those that reach zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) name: &'static str,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) layout: Layout,
    pub(crate) scratch: usize,
    actions: Vec<Action>,
    /// How many steps each step waits for.
    waits: Vec<u32>,
    /// `targets[first[i]..first[i + 1]]` wait for step `i`.
    first: Vec<u32>,
    targets: Vec<u32>,
    roots: Vec<u32>,
    receives: usize,
}

impl Schedule {
    /// Assembles a schedule by hand, each action with the steps it depends on. Nothing is derived and
    /// nothing about the spans is checked: this is for tests of executors and of the checker. Algorithms
    /// use [`crate::Builder`].
    ///
    /// # Errors
    ///
    /// When a dependency does not point backwards, or there are more than `u32::MAX` steps.
    pub fn from_steps(
        name: &'static str,
        rank: usize,
        size: usize,
        layout: Layout,
        scratch: usize,
        steps: Vec<(Action, Vec<u32>)>,
    ) -> Result<Self, Error> {
        let mut actions = Vec::with_capacity(steps.len());
        let mut edges = Vec::new();
        for (index, (action, dependencies)) in steps.into_iter().enumerate() {
            let step = u32::try_from(index).map_err(|_| Error::TooManySteps)?;
            if let Some(on) = dependencies.iter().find(|on| **on >= step) {
                return Err(Error::Dependency { step: index, on: *on });
            }
            edges.extend(dependencies.into_iter().map(|on| (on, step)));
            actions.push(action);
        }
        let header = Self::empty(name, rank, size, layout, scratch);
        header.with_steps(actions, edges)
    }

    pub(crate) fn empty(
        name: &'static str,
        rank: usize,
        size: usize,
        layout: Layout,
        scratch: usize,
    ) -> Self {
        let (actions, waits, first) = (Vec::new(), Vec::new(), vec![0]);
        let (targets, roots) = (Vec::new(), Vec::new());
        Self { name, rank, size, layout, scratch, actions, waits, first, targets, roots, receives: 0 }
    }

    /// Puts the steps in; `edges` are pairs (earlier, later), in any order, repeats allowed.
    pub(crate) fn with_steps(
        mut self,
        actions: Vec<Action>,
        mut edges: Vec<(u32, u32)>,
    ) -> Result<Self, Error> {
        let count = u32::try_from(actions.len()).map_err(|_| Error::TooManySteps)?;
        edges.sort_unstable();
        edges.dedup();
        u32::try_from(edges.len()).map_err(|_| Error::TooManySteps)?;
        self.waits = vec![0; actions.len()];
        self.first = vec![0; actions.len() + 1];
        for &(earlier, later) in &edges {
            self.waits[later as usize] += 1;
            self.first[earlier as usize + 1] += 1;
        }
        for i in 0..actions.len() {
            self.first[i + 1] += self.first[i];
        }
        self.targets = edges.into_iter().map(|(_, later)| later).collect();
        self.roots = (0..count).filter(|i| self.waits[*i as usize] == 0).collect();
        self.receives = actions.iter().filter(|action| matches!(action, Action::Recv { .. })).count();
        self.actions = actions;
        Ok(self)
    }

    /// The collective and the algorithm, such as `all-reduce/ring`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whose schedule this is.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks take part.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The lengths of the caller's buffers, and how they overlap.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How much memory the schedule itself takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let numbers = [&self.waits, &self.first, &self.targets, &self.roots];
        size_of::<Self>()
            + self.actions.capacity() * size_of::<Action>()
            + numbers.map(|list| list.capacity() * size_of::<u32>()).iter().sum::<usize>()
    }

    /// Elements of scratch memory needed.
    #[must_use]
    pub fn scratch(&self) -> usize {
        self.scratch
    }

    /// How many steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// How many messages this rank receives.
    #[must_use]
    pub fn receives(&self) -> usize {
        self.receives
    }

    /// The action of step `step`.
    ///
    /// # Panics
    ///
    /// When there is no such step; numbers from this schedule always exist.
    #[must_use]
    pub fn action(&self, step: usize) -> &Action {
        &self.actions[step]
    }

    /// All actions, in program order.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The steps that wait for `step`, ascending; all of them come after it.
    ///
    /// # Panics
    ///
    /// When there is no such step.
    #[must_use]
    pub fn dependents(&self, step: usize) -> &[u32] {
        &self.targets[self.first[step] as usize..self.first[step + 1] as usize]
    }

    /// How many steps `step` waits for.
    ///
    /// # Panics
    ///
    /// When there is no such step.
    #[must_use]
    pub fn dependencies(&self, step: usize) -> usize {
        self.waits[step] as usize
    }

    /// The steps that wait for nothing, ascending.
    #[must_use]
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// Every step with the list of steps it depends on: what [`Schedule::from_steps`] takes.
    #[must_use]
    pub fn to_steps(&self) -> Vec<(Action, Vec<u32>)> {
        let mut steps: Vec<_> = self.actions.iter().map(|action| (*action, Vec::new())).collect();
        for (step, earlier) in (0..).zip(0..self.len()) {
            for &later in self.dependents(earlier) {
                steps[later as usize].1.push(step);
            }
        }
        steps
    }

    /// The schedule as text: a head line, then one line per step with what it waits for.
    ///
    /// ```
    /// use ringworld_collectives::{Collective, Counts, Order, Request, Tuning, schedule};
    /// let request = Request {
    ///     collective: Collective::AllReduce, rank: 0, size: 2, counts: Counts::Same(3), element: 4,
    ///     order: Order::Free, in_place: false,
    /// };
    /// let text = schedule(&request, &Tuning::default())?.render();
    /// assert!(text.starts_with("all-reduce/direct: rank 0 of 2, 3 steps, 3 elements of scratch\n"));
    /// assert!(text.contains("reduce output[0..3] = input[0..3] op scratch[0..3], last  (after 1)"));
    /// # Ok::<(), ringworld_collectives::Error>(())
    /// ```
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = format!(
            "{}: rank {} of {}, {} steps, {} elements of scratch\n",
            self.name,
            self.rank,
            self.size,
            self.len(),
            self.scratch
        );
        for (index, (action, dependencies)) in self.to_steps().into_iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{index:5}  {action}");
            if !dependencies.is_empty() {
                let list: Vec<_> = dependencies.iter().map(u32::to_string).collect();
                let _ = write!(text, "  (after {})", list.join(", "));
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const LAYOUT: Layout = Layout { input: 2, output: 2, alias: None, result: Span::output(0, 2) };

    fn copy() -> Action {
        Action::Copy { from: Span::input(0, 2), into: Span::output(0, 2) }
    }

    #[test]
    fn dependents_and_counts_tell_the_same_graph() {
        let steps = vec![(copy(), vec![]), (copy(), vec![0]), (copy(), vec![0, 1, 1]), (copy(), vec![])];
        let schedule = Schedule::from_steps("test", 0, 1, LAYOUT, 0, steps).unwrap();
        assert_eq!(schedule.dependents(0), [1, 2]);
        assert_eq!(schedule.dependents(1), [2]);
        assert_eq!([0, 1, 2, 3].map(|i| schedule.dependencies(i)), [0, 1, 2, 0]);
        assert_eq!(schedule.roots(), [0, 3]);
        let again = Schedule::from_steps("test", 0, 1, LAYOUT, 0, schedule.to_steps()).unwrap();
        assert_eq!(again, schedule);
    }

    #[test]
    fn a_dependency_on_itself_or_the_future_is_refused() {
        let steps = vec![(copy(), vec![0])];
        let error = Schedule::from_steps("test", 0, 1, LAYOUT, 0, steps).unwrap_err();
        assert_eq!(error, Error::Dependency { step: 0, on: 0 });
    }
}
