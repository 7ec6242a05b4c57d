//! Whether what the ranks of a disorderly world met is right. Pure.
//!
//! Disorder may lead to errors, and they must be of the kinds that the documents promise, and name a rank that has
//! left, or has panicked, by then.

use crate::kills::judge::outline;
use crate::round::Finding;

use super::play::{Met, ON_PURPOSE, Report};
use super::script::{Act, Last, Leave, Operation, Plan, Script};

/// In what way a rank left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It dropped its World.
    Order,
    /// It panicked, exited with its World, or crashed.
    Death,
    Abort,
}

pub(super) fn manner(script: &Script) -> Manner {
    let panics = |act: &Act| matches!(act, Act::Panic | Act::Scope { leave: Leave::Panic, .. });
    match script.last {
        _ if script.acts.iter().any(panics) => Manner::Death,
        Last::Drop => Manner::Order,
        Last::Abort => Manner::Abort,
        Last::Forget | Last::Exit | Last::Crash => Manner::Death,
    }
}

/// What is wrong with a world in which all ranks have ended. `processes`: a rank may take the rendezvous with it.
pub(crate) fn judge(plan: &Plan, reports: &[Report], processes: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rank, report) in reports.iter().enumerate() {
        for wrong in &report.wrong {
            findings.push(Finding::new("wrong result", format!("rank {rank}: {wrong}")));
        }
        for met in &report.errors {
            if let Some(class) = wrong_error(plan, reports, rank, met, processes) {
                findings.push(Finding::new(class, format!("rank {rank} in {}: {}", met.call, met.text)));
            }
        }
    }
    findings
}

fn wrong_error(plan: &Plan, reports: &[Report], rank: usize, met: &Met, processes: bool) -> Option<String> {
    if met.text.contains("Bad address") {
        return Some("the system was given memory that is gone".into());
    }
    // Its own panic or exit aside, a rank may have begun to leave before the other noticed.
    let gone =
        |named: usize| named != rank && reports[named].leaving.is_some_and(|leaving| leaving <= met.at);
    let manner = met.named.map(|named| manner(&plan.scripts[named]));
    let named = met.named.filter(|named| *named < reports.len());
    match (met.variant.as_str(), named, manner) {
        ("PeerFinished", Some(named), Some(Manner::Order)) if gone(named) => None,
        ("PeerFinished", ..) => Some("PeerFinished names a rank that has not left in good order".into()),
        ("PeerFailed", Some(named), Some(Manner::Death)) if gone(named) => None,
        // Ranks do not call the same when one of them leaves before a collective: both are told, and it is not called
        // dead.
        ("Mismatch", ..) if deserter(&met.text).is_some_and(|named| named < reports.len() && gone(named)) => {
            None
        }
        ("PeerFailed", ..) => Some(format!("PeerFailed names a rank that lives: {}", outline(&met.text))),
        ("Aborted", Some(_), Some(Manner::Abort)) => None,
        ("Panicked", ..) if operation_panics(plan) => None,
        ("Finalized", ..) if met.call.contains("after the World") => None,
        ("InvalidOption", ..) if met.text == ON_PURPOSE => None,
        ("MasterLost", ..)
            if processes && plan.scripts.iter().any(|script| self::manner(script) != Manner::Order) =>
        {
            None
        }
        (variant, ..) => Some(format!("{variant}: {}", outline(&met.text))),
    }
}

/// The rank of which a text says that it leaves, or has left, and did not call what others have called.
fn deserter(text: &str) -> Option<usize> {
    let at = ["which has left the world", "is leaving the world"].iter().find_map(|left| text.find(left))?;
    let (_, rank) = text[..at].rsplit_once("rank ")?;
    rank.split_whitespace().next()?.parse().ok()
}

fn operation_panics(plan: &Plan) -> bool {
    plan.scripts.iter().flat_map(|script| &script.acts).any(|act| match act {
        Act::Start { operation, .. } | Act::Block(operation) => {
            matches!(operation, Operation::AllReduce { panics: Some(_), .. })
        }
        Act::Scope { leave, .. } => *leave == Leave::Panic,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(variant: &str, named: usize, leaving: Option<u64>, acts: Vec<Act>) -> Vec<String> {
        let script = |acts| Script { acts, world_first: false, last: Last::Drop };
        let mode = super::super::script::Mode::Crossed;
        let plan = Plan { mode, settings: Vec::new(), scripts: vec![script(Vec::new()), script(acts)] };
        let text = format!("x failed: rank {named} …");
        let met = Met { at: 10, call: "recv".into(), variant: variant.into(), named: Some(named), text };
        let zero = Report { errors: vec![met], ..Report::default() };
        let one = Report { leaving, ..Report::default() };
        judge(&plan, &[zero, one], false).into_iter().map(|finding| finding.class).collect()
    }

    #[test]
    fn who_has_left_is_read_from_the_text() {
        let called =
            "x failed: rank 3 on vm called barrier() at a.rs:1 as collective #0 of communicator 0 and needs";
        assert_eq!(
            deserter(&format!("{called} rank 1 on vm, which has left the world without calling it")),
            Some(1)
        );
        assert_eq!(deserter("rank 1 on vm called x, but rank 0 on vm is leaving the world"), Some(0));
        assert_eq!(deserter("rank 1 on vm called x, but rank 0 on vm called y"), None);
    }

    #[test]
    fn a_rank_that_has_left_may_be_named_and_one_that_has_not_may_not() {
        assert!(world("PeerFinished", 1, Some(9), Vec::new()).is_empty());
        assert_eq!(world("PeerFinished", 1, Some(11), Vec::new()).len(), 1);
        assert_eq!(world("PeerFinished", 0, Some(9), Vec::new()).len(), 1);
        assert_eq!(world("PeerFailed", 1, Some(9), Vec::new()).len(), 1);
        assert!(world("PeerFailed", 1, Some(9), vec![Act::Panic]).is_empty());
        assert_eq!(world("System", 1, Some(9), Vec::new()).len(), 1);
    }
}
