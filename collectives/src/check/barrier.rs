//! Nobody leaves a barrier before everybody has come.
//!
//! For each step, the set of ranks that must have entered before it completes: the own rank, those of the steps it
//! waits for, and for a receive those of the send when that starts. A send learns nothing from its
//! receiver, because it may be eager.

use super::Fault;
use crate::{Action, Schedule};

pub(crate) fn check(schedules: &[Schedule], partners: &[Vec<Option<u32>>]) -> Result<(), Fault> {
    let size = schedules.len();
    let alone = |rank: usize| {
        let mut set = vec![false; size];
        set[rank] = true;
        set
    };
    let mut seen: Vec<Vec<Vec<bool>>> =
        schedules.iter().enumerate().map(|(rank, schedule)| vec![alone(rank); schedule.len()]).collect();
    // What a set receives only ever grows: repeat until nothing changes.
    let mut changed = true;
    while changed {
        changed = false;
        for (rank, schedule) in schedules.iter().enumerate() {
            for (step, action) in schedule.actions().iter().enumerate() {
                if let (Action::Recv { from, .. }, Some(other)) = (action, partners[rank][step]) {
                    let news = seen[*from][other as usize].clone();
                    changed |= merge(&mut seen[rank][step], &news);
                }
                let news = seen[rank][step].clone();
                for &later in schedule.dependents(step) {
                    changed |= merge(&mut seen[rank][later as usize], &news);
                }
            }
        }
    }
    for (rank, steps) in seen.iter().enumerate() {
        let mut all = alone(rank);
        for set in steps {
            merge(&mut all, set);
        }
        if let Some(absent) = all.iter().position(|come| !come) {
            return Err(Fault::Early { rank, absent });
        }
    }
    Ok(())
}

fn merge(set: &mut [bool], news: &[bool]) -> bool {
    let mut changed = false;
    for (have, new) in set.iter_mut().zip(news) {
        changed |= *new && !*have;
        *have |= new;
    }
    changed
}
