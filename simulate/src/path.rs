//! The critical path: the steps that the end had to wait for, one after the other.

use ringworld_collectives::Action;

use crate::Timeline;

/// From the first step to the one that ended last, as (rank, step): each had to wait for the one before,
/// as its dependency, as the other end of its message, or because it had the port or the processor.
#[must_use]
pub fn critical_path(timeline: &Timeline) -> Vec<(usize, usize)> {
    let all = timeline.moments.iter().enumerate();
    let all = all.flat_map(|(rank, moments)| (0..moments.len()).map(move |step| (rank, step)));
    let last = all.max_by_key(|&(rank, step)| {
        (timeline.moments[rank][step].completed, std::cmp::Reverse((rank, step)))
    });
    let mut path: Vec<_> = last.into_iter().collect();
    while let Some(&(rank, step)) = path.last() {
        // A cause is never later and never a step of the path, so this ends.
        match cause(timeline, rank, step).filter(|cause| !path.contains(cause)) {
            Some(cause) => path.push(cause),
            None => break,
        }
    }
    path.reverse();
    path
}

fn cause(timeline: &Timeline, rank: usize, step: usize) -> Option<(usize, usize)> {
    let moment = timeline.moments[rank][step];
    let schedule = &timeline.schedules[rank];
    if let Some((from, send)) = timeline.sender(rank, schedule.action(step))
        && moment.completed > moment.begun
    {
        return Some((from, send));
    }
    // The dependency that came last made it begin; if it began later than that, somebody had the port.
    let earlier = (0..step).filter(|&earlier| schedule.dependents(earlier).contains(&(step as u32)));
    let dependency = earlier.max_by_key(|&earlier| timeline.moments[rank][earlier].completed);
    if moment.start > moment.begun {
        let kind = |action: &Action| std::mem::discriminant(action);
        let mut holder = (0..schedule.len()).filter(|&other| {
            other != step
                && kind(schedule.action(other)) == kind(schedule.action(step))
                && timeline.moments[rank][other].end == moment.start
        });
        if let Some(holder) = holder.next_back() {
            return Some((rank, holder));
        }
    }
    dependency.map(|dependency| (rank, dependency))
}
