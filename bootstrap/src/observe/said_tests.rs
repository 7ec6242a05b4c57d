use std::time::Duration;

use super::super::{Waiting, Whereabouts};
use super::*;

/// Ranks and the numbers of the calls that they wait in; the rest computes.
fn seen(waits: &[(usize, u64, bool)], size: usize) -> Vec<Seen> {
    let told = |rank: usize| {
        let mine = waits.iter().filter(|(of, ..)| *of == rank);
        let waiting = |(_, number, stalled): &(usize, u64, bool)| Waiting {
            number: *number,
            stalled: *stalled,
            waited: Duration::from_secs(1),
            ..Waiting::default()
        };
        Some(Whereabouts { waits: mine.map(waiting).collect(), ..Whereabouts::default() })
    };
    (0..size).map(|rank| Seen { rank, first: told(rank), second: told(rank) }).collect()
}

fn late(late: &[usize]) -> Verdict {
    Verdict::Late { late: late.iter().copied().collect(), waiting: BTreeSet::new() }
}

#[test]
fn one_line_for_each_stall_by_the_first_rank_that_has_waited_too_long() {
    let mut said = Said::default();
    let now = seen(&[(0, 1, false), (1, 5, true), (2, 3, true)], 4);
    assert_eq!(said.is_due(&now, &late(&[3])), Some(1));
    assert_eq!(said.is_due(&now, &late(&[3])), None, "it has been said");
    // Somebody else comes to wait for the same, and then for too long.
    let more = seen(&[(0, 7, true), (1, 5, true), (2, 3, true)], 4);
    assert_eq!(said.is_due(&more, &late(&[3])), None);
    // All that waited then have gone on, and now others wait, or the same for something else.
    let next = seen(&[(0, 8, true), (1, 6, true)], 4);
    assert_eq!(said.is_due(&next, &late(&[3])), Some(0));
}

#[test]
fn who_came_later_to_the_stall_keeps_it_going() {
    let mut said = Said::default();
    assert!(said.is_due(&seen(&[(1, 5, true)], 4), &late(&[3])).is_some());
    assert!(said.is_due(&seen(&[(1, 5, true), (0, 7, true)], 4), &late(&[3])).is_none());
    assert!(said.is_due(&seen(&[(0, 7, true)], 4), &late(&[3])).is_none());
}

#[test]
fn another_late_rank_or_a_deadlock_is_news_and_a_shorter_list_is_not() {
    let mut said = Said::default();
    let now = seen(&[(0, 1, true)], 4);
    assert!(said.is_due(&now, &late(&[2, 3])).is_some());
    assert!(said.is_due(&now, &late(&[3])).is_none());
    assert!(said.is_due(&now, &late(&[1])).is_some());
    let deadlock = Verdict::Deadlock { others: BTreeSet::new() };
    assert!(said.is_due(&now, &deadlock).is_some());
    assert!(said.is_due(&now, &deadlock).is_none());
    assert!(said.is_due(&now, &late(&[2])).is_none());
    assert!(said.is_due(&now, &Verdict::Nothing).is_none());
}

#[test]
fn nobody_who_has_not_waited_too_long_says_anything() {
    assert_eq!(Said::default().is_due(&seen(&[(0, 1, false)], 2), &late(&[1])), None);
}
