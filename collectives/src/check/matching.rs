//! Which send belongs to which receive.

use std::collections::BTreeMap;

use super::Fault;
use crate::{Action, Schedule, Span};

/// For each rank and step, the step of the peer that is the other side; `None` for local steps.
pub(crate) fn partners(schedules: &[Schedule]) -> Result<Vec<Vec<Option<u32>>>, Fault> {
    let fault = |rank: usize, step: u32, reason: String| {
        let action = schedules[rank].action(step as usize).to_string();
        Err(Fault::Match { rank, step: step as usize, action, reason })
    };
    let mut partners: Vec<Vec<_>> = schedules.iter().map(|schedule| vec![None; schedule.len()]).collect();
    // Keyed by sender, receiver and tag.
    let (mut sends, mut recvs) = (BTreeMap::new(), BTreeMap::new());
    for (rank, schedule) in schedules.iter().enumerate() {
        for (step, action) in (0..).zip(schedule.actions()) {
            let (key, map) = match *action {
                Action::Send { to, tag, .. } => ((rank, to, tag), &mut sends),
                Action::Recv { from, tag, .. } => ((from, rank, tag), &mut recvs),
                _ => continue,
            };
            if let Some(other) = map.insert(key, step) {
                return fault(rank, step, format!("step {other} has the same peer and tag"));
            }
        }
    }
    for (&(from, to, tag), &step) in &sends {
        let Some(other) = recvs.remove(&(from, to, tag)) else {
            return fault(from, step, "nobody receives it".into());
        };
        let (sent, received) = (length(&schedules[from], step), length(&schedules[to], other));
        if sent != received {
            return fault(from, step, format!("rank {to} expects {received} elements in step {other}"));
        }
        partners[from][step as usize] = Some(other);
        partners[to][other as usize] = Some(step);
    }
    match recvs.into_iter().next() {
        Some(((_, to, _), step)) => fault(to, step, "nobody sends it".into()),
        None => Ok(partners),
    }
}

/// What a rank sends.
pub(crate) fn sends(schedule: &Schedule) -> impl Iterator<Item = Span> {
    schedule.actions().iter().filter_map(|action| match action {
        Action::Send { from, .. } => Some(*from),
        _ => None,
    })
}

fn length(schedule: &Schedule, step: u32) -> usize {
    match *schedule.action(step as usize) {
        Action::Send { from: span, .. } | Action::Recv { into: span, .. } => span.len,
        _ => 0,
    }
}
