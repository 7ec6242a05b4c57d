//! Jobs that are made up: who ends when, and what is said and done about it.

use super::*;
use signal_hook::consts::SIGUSR1;

const GRACE: Duration = Duration::from_secs(2);

fn job(n: usize, timeout: Option<u64>) -> (Supervisor, Instant) {
    let now = Instant::now();
    let names = (0..n).map(|rank| format!("rank {rank} (pid {}) on h", 100 + rank)).collect();
    (Supervisor::new(names, GRACE, timeout.map(Duration::from_secs), now), now)
}

fn signals(actions: &[Action]) -> Vec<i32> {
    actions.iter().filter_map(|a| if let Action::Signal(s) = a { Some(*s) } else { None }).collect()
}

fn said(actions: &[Action]) -> String {
    actions.iter().filter_map(|a| if let Action::Say(s) = a { Some(s.as_str()) } else { None }).collect()
}

/// Of a launcher that looks at the very moment.
fn tick(s: &mut Supervisor, at: Instant) -> Vec<Action> {
    s.tick(at, at)
}

#[test]
fn ranks_may_end_well_one_by_one() {
    let (mut s, now) = job(3, None);
    for rank in [2, 0, 1] {
        assert!(!s.finished());
        s.ended(now, vec![(rank, Ending::Exited(0))]);
    }
    assert!(s.finished());
    assert_eq!((s.status(), s.deadline(), s.accused()), (Status::SUCCESS, None, None));
}

#[test]
fn the_first_failure_decides_and_ends_the_others() {
    let (mut s, now) = job(4, None);
    s.ended(now, vec![(2, Ending::Killed { signal: 9, core: false, starved: false })]);
    assert!(!s.verdict_due(now) && s.verdict_due(now + SETTLING));
    assert_eq!(s.deadline(), Some(now + SETTLING));
    let actions = s.conclude(now + SETTLING, &Account::default());
    assert_eq!(
        said(&actions),
        "rank 2 (pid 102) on h was killed by signal 9 (SIGKILL); ending the other 3 ranks"
    );
    assert_eq!(signals(&actions), [SIGTERM, SIGCONT]);
    s.ended(
        now,
        vec![(0, Ending::Exited(1)), (1, Ending::Killed { signal: 15, core: false, starved: false })],
    );
    s.ended(now, vec![(3, Ending::Exited(0))]);
    assert_eq!((s.finished(), s.status(), s.accused()), (true, Status(137), Some(2)));
}

#[test]
fn the_killed_rank_is_named_even_if_those_that_lost_it_are_seen_first() {
    let (mut s, now) = job(3, None);
    s.ended(now, vec![(0, Ending::Exited(1))]);
    s.ended(
        now,
        vec![(1, Ending::Killed { signal: 11, core: true, starved: false }), (2, Ending::Exited(1))],
    );
    assert!(s.verdict_due(now), "nothing is left to wait for");
    assert!(!s.finished(), "the verdict comes first");
    let actions = s.conclude(now, &Account::default());
    assert_eq!(said(&actions), "rank 1 (pid 101) on h was killed by signal 11 (SIGSEGV, core dumped)");
    assert_eq!((s.finished(), s.status()), (true, Status(139)));
}

#[test]
fn lack_of_memory_is_named_where_it_may_be_the_reason() {
    let killed = |signal| Ending::Killed { signal, core: false, starved: true }.describe();
    assert!(
        killed(9).starts_with("was killed by signal 9 (SIGKILL), probably for lack of memory"),
        "{}",
        killed(9)
    );
    assert_eq!(killed(15), "was killed by signal 15 (SIGTERM)");
}

#[test]
fn a_witness_decides_and_otherwise_the_order_of_sight() {
    let left = |departures: &[(usize, bool)]| Account { aborted: None, departures: departures.to_vec() };
    let gave_up = |rank, code| Account { aborted: Some((rank, code)), departures: vec![(rank, false)] };
    for (account, status) in [
        (left(&[(1, false), (0, false)]), 101),
        (Account::default(), 1),
        // Who has said goodbye fails by itself; those that still counted on it follow.
        (left(&[(1, true), (0, false)]), 101),
        (left(&[(2, true), (0, false), (1, false)]), 1),
        // Whom nobody saw fail is not blamed for failing, but is believed when it says so itself.
        (left(&[(2, false)]), 1),
        (gave_up(2, 42), 42),
        // A job that was given up has failed, whatever the code.
        (gave_up(2, 0), 1),
        (gave_up(2, 256), 1),
        (gave_up(1, 101), 101),
    ] {
        let (mut s, now) = job(3, None);
        s.ended(now, vec![(0, Ending::Exited(1))]);
        s.ended(now, vec![(1, Ending::Exited(101))]);
        let actions = s.conclude(now + SETTLING, &account);
        assert_eq!(s.status(), Status(status), "{account:?}");
        if status == 42 {
            assert!(said(&actions).starts_with("rank 2 (pid 102) on h gave the job up with status 42;"));
        }
    }
}

#[test]
fn whoever_gave_the_job_up_because_of_a_lost_peer_is_not_named_before_it() {
    let given_up =
        |departures: &[(usize, bool)]| Account { aborted: Some((0, 58)), departures: departures.to_vec() };
    let ends = [
        (0, Ending::Exited(58)),
        (1, Ending::Killed { signal: 9, core: false, starved: false }),
        (2, Ending::Exited(58)),
    ];
    for (order, account, (accused, status)) in [
        ([0, 1, 2], given_up(&[(1, false), (0, false), (2, false)]), (1, 137)),
        ([2, 0, 1], given_up(&[(1, false), (0, false), (2, false)]), (1, 137)),
        // One that had failed before, on which nobody counted any more.
        ([0, 1, 2], given_up(&[(1, true), (0, false), (2, false)]), (1, 137)),
        // One that ended because the job was given up, however it did.
        ([1, 0, 2], given_up(&[(0, false), (1, false), (2, false)]), (0, 58)),
        // Whoever gave up may still be about to exit, and whoever was lost not be seen to have failed.
        ([1, 2, 2], given_up(&[(0, false), (1, false), (2, false)]), (0, 58)),
        ([0, 2, 2], given_up(&[(1, false), (0, false), (2, false)]), (0, 58)),
    ] {
        let (mut s, now) = job(3, None);
        for rank in order {
            s.ended(now, vec![ends[rank]]);
        }
        let said = said(&s.conclude(now + SETTLING, &account));
        assert_eq!((s.accused(), s.status()), (Some(accused), Status(status)), "{account:?}: {said}");
    }
}

#[test]
fn a_rank_that_ends_well_in_the_middle_of_the_world_is_named() {
    let (mut s, now) = job(3, None);
    s.ended(now, vec![(1, Ending::Exited(0)), (0, Ending::Exited(1))]);
    let departures = vec![(2, true), (1, false), (0, false)];
    let actions = s.conclude(now + SETTLING, &Account { aborted: None, departures });
    assert_eq!(
        said(&actions),
        "rank 0 (pid 100) on h exited with status 1, after rank 1 (pid 101) on h had left the world without \
         finishing; ending the other rank"
    );
}

#[test]
fn a_job_that_has_failed_keeps_its_status_when_told_to_end() {
    let (mut s, now) = job(2, Some(0));
    s.ended(now, vec![(0, Ending::Exited(3))]);
    assert_eq!(tick(&mut s, now), []);
    assert_eq!(signals(&s.signalled(now, SIGINT)), [SIGTERM, SIGCONT]);
    assert_eq!(signals(&s.signalled(now, SIGINT)), [SIGKILL]);
    assert_eq!(s.status(), Status(3));
}

#[test]
fn those_that_outlive_the_grace_are_killed_by_name() {
    let (mut s, now) = job(2, None);
    s.ended(now, vec![(0, Ending::Exited(3))]);
    s.conclude(now, &Account::default());
    assert_eq!(s.deadline(), Some(now + GRACE));
    assert_eq!(tick(&mut s, now + GRACE / 2), []);
    let actions = tick(&mut s, now + GRACE);
    assert!(said(&actions).contains("rank 1 (pid 101) on h did not end within --grace 2s"), "{actions:?}");
    assert_eq!((signals(&actions), s.status()), (vec![SIGKILL], Status(3)));
    assert_eq!(s.deadline(), Some(now + GRACE + UNDEAD));
    assert_eq!(tick(&mut s, now + GRACE + UNDEAD / 2), []);
    let actions = tick(&mut s, now + GRACE + UNDEAD);
    assert!(
        said(&actions).starts_with("rank 1 (pid 101) on h did not end within 5s of SIGKILL"),
        "{actions:?}"
    );
    assert_eq!((s.finished(), s.deadline(), s.status()), (true, None, Status(3)));
}

#[test]
fn ctrl_c_is_passed_on_then_term_then_kill() {
    let (mut s, now) = job(2, Some(100));
    assert_eq!(signals(&s.signalled(now, SIGINT)), [SIGINT, SIGCONT]);
    assert_eq!(s.deadline(), Some(now + GRACE / 2));
    assert_eq!(signals(&tick(&mut s, now + GRACE / 2)), [SIGTERM, SIGCONT]);
    assert_eq!(signals(&tick(&mut s, now + GRACE)), [SIGKILL]);
    assert_eq!(s.status(), Status(130));
}

#[test]
fn a_second_ctrl_c_kills_at_once() {
    let (mut s, now) = job(1, None);
    s.signalled(now, SIGINT);
    assert_eq!(signals(&s.signalled(now, SIGINT)), [SIGKILL]);
    assert_eq!(s.signalled(now, SIGINT), []);
}

#[test]
fn output_that_is_lost_ends_the_job_and_is_no_success() {
    let (mut s, now) = job(2, None);
    let actions = s.lost_output(now, "cannot write");
    assert_eq!(
        (said(&actions).as_str(), signals(&actions)),
        ("cannot write; ending the job", vec![SIGTERM, SIGCONT])
    );
    assert_eq!(s.status(), Status::SYSTEM);
    // After the end there is nothing to end; what failed before keeps its status.
    let (mut s, now) = job(1, None);
    s.ended(now, vec![(0, Ending::Exited(0))]);
    assert_eq!(s.lost_output(now, "cannot write"), [Action::Say("cannot write".to_owned())]);
    assert_eq!(s.status(), Status::SYSTEM);
    let (mut s, now) = job(2, None);
    s.ended(now, vec![(0, Ending::Exited(3))]);
    s.lost_output(now, "cannot write");
    s.conclude(now, &Account::default());
    assert_eq!(s.status(), Status(3));
}

#[test]
fn a_timeout_names_who_was_still_running() {
    let (mut s, now) = job(6, Some(5));
    s.ended(now, vec![(1, Ending::Exited(0))]);
    assert_eq!(tick(&mut s, now + Duration::from_secs(4)), []);
    let actions = tick(&mut s, now + Duration::from_secs(5));
    assert!(said(&actions).contains("--timeout 5s; ending rank 0 (pid 100) on h, rank 2"), "{actions:?}");
    assert!(said(&actions).ends_with("1 more"), "{actions:?}");
    assert_eq!(s.status(), Status::TIMEOUT);
}

/// A job of so many ranks that may be mended so often.
fn elastic(n: usize, restarts: usize, min_ranks: usize) -> (Supervisor, Instant) {
    let (s, now) = job(n, None);
    let limits = Limits { restarts, min_ranks, elsewhere: 0, timeout: Duration::from_secs(60) };
    (s.mending(limits, now), now)
}

const KILLED: Ending = Ending::Killed { signal: 9, core: false, starved: false };

/// The ranks are seen to have ended, and what is to be done is done; returns what was said, and who is to be
/// started.
fn fail(s: &mut Supervisor, now: Instant, ranks: &[(usize, Ending)]) -> (String, Vec<usize>) {
    s.ended(now, ranks.to_vec());
    assert!(s.verdict_due(now) && !s.finished());
    let actions = s.conclude(now, &Account::default());
    let starts = std::iter::from_fn(|| match tick(s, now)[..] {
        [Action::Start(rank)] => Some(rank),
        _ => None,
    });
    (said(&actions), starts.collect())
}

#[test]
fn a_failure_is_mended_and_the_job_ends_well() {
    let (mut s, now) = elastic(3, 2, 2);
    let (said, starts) = fail(&mut s, now, &[(1, KILLED)]);
    assert_eq!(
        (said.as_str(), &starts[..]),
        ("rank 1 (pid 101) on h was killed by signal 9 (SIGKILL); starting it again (1 of 2)", &[1][..])
    );
    assert!(!s.finished() && s.status() == Status::SUCCESS);
    s.started(now, 1, "rank 1 (pid 201) on h".into());
    // That nobody has given the job up is seen a moment later.
    assert_eq!(s.deadline(), Some(now + SETTLING));
    assert!(s.verdict_due(now + SETTLING));
    assert_eq!(s.conclude(now + SETTLING, &Account::default()), []);
    assert_eq!(s.deadline(), None);
    let now = now + Duration::from_secs(1);
    let (said, starts) = fail(&mut s, now, &[(1, Ending::Exited(3))]);
    assert_eq!(
        (said.as_str(), &starts[..]),
        ("rank 1 (pid 201) on h exited with status 3; starting it again in 100ms (2 of 2)", &[][..])
    );
    s.ended(now, vec![(0, Ending::Exited(0)), (2, Ending::Exited(0))]);
    assert!(!s.finished(), "one is to come");
    assert_eq!(
        tests::said(&tick(&mut s, now)),
        "rank 1 (pid 201) on h is not started again: all others have ended well"
    );
    assert_eq!((s.finished(), s.status(), s.accused()), (true, Status::SUCCESS, None));
}

#[test]
fn who_fails_after_all_others_have_ended_well_is_not_missed() {
    let (mut s, now) = elastic(3, 1, 3);
    s.ended(now, vec![(0, Ending::Exited(0)), (1, Ending::Exited(0))]);
    let (said, starts) = fail(&mut s, now, &[(2, Ending::Exited(1))]);
    assert_eq!(
        (said.as_str(), starts),
        ("rank 2 (pid 102) on h exited with status 1 after all others had ended well", vec![])
    );
    assert_eq!((s.finished(), s.status(), s.accused()), (true, Status::SUCCESS, None));
    let (mut s, now) = elastic(3, 1, 1);
    assert_eq!(fail(&mut s, now, &[(1, KILLED)]).1, [1]);
    s.started(now, 1, "rank 1 (pid 201) on h".into());
    let now = now + Duration::from_secs(1);
    s.ended(now, vec![(0, Ending::Exited(0)), (2, Ending::Exited(0))]);
    assert_eq!(
        fail(&mut s, now, &[(1, Ending::Exited(3))]).0,
        "rank 1 (pid 201) on h exited with status 3 after others had ended well; it was started again too late to \
         join them"
    );
    assert_eq!((s.finished(), s.status(), s.accused()), (true, Status::SUCCESS, None));
}

#[test]
fn ranks_are_missed_until_they_are_too_few() {
    let (mut s, now) = elastic(4, 0, 2);
    let (said, _) = fail(&mut s, now, &[(3, KILLED), (2, Ending::Exited(7))]);
    assert_eq!(
        said.replace("onrank", "on\nrank"),
        "rank 3 (pid 103) on h was killed by signal 9 (SIGKILL); 2 of 4 ranks go on\n\
         rank 2 (pid 102) on h exited with status 7; 2 of 4 ranks go on"
    );
    let now = now + SETTLING / 2;
    assert_eq!(fail(&mut s, now, &[(1, Ending::Exited(1))]), (String::new(), Vec::new()));
    // As ever, the one that was killed is to blame, though it was seen second; and not one that was mended before.
    s.ended(now, vec![(0, Ending::Killed { signal: 11, core: false, starved: false })]);
    let actions = s.conclude(now, &Account::default());
    assert_eq!(
        tests::said(&actions),
        "rank 0 (pid 100) on h was killed by signal 11 (SIGSEGV); fewer than --min-ranks 2 are left"
    );
    assert_eq!((s.finished(), s.status(), s.accused()), (true, Status(139), Some(0)));
}

#[test]
fn a_world_that_falls_after_all_is_blamed_on_who_failed_first() {
    let (mut s, now) = elastic(3, 5, 1);
    assert_eq!(fail(&mut s, now, &[(2, KILLED)]).1, [2]);
    s.started(now, 2, "rank 2 (pid 202) on h".into());
    s.ended(now, vec![(1, Ending::Exited(1)), (0, Ending::Exited(1))]);
    assert_eq!(s.conclude(now, &Account::default()), []);
    assert_eq!(tick(&mut s, now), [], "nobody is started while the job ends");
    let actions = s.conclude(now + SETTLING, &Account::default());
    assert_eq!(
        said(&actions),
        "rank 2 (pid 102) on h was killed by signal 9 (SIGKILL); no rank is left that it could join if it were \
         started again; ending the other rank"
    );
    assert_eq!((signals(&actions), s.status()), (vec![SIGTERM, SIGCONT], Status(137)));
}

#[test]
fn a_job_that_is_given_up_is_not_mended() {
    let gave_up = Account { aborted: Some((1, 42)), departures: vec![(0, false), (1, false)] };
    let (mut s, now) = elastic(3, 5, 1);
    s.ended(now, vec![(1, Ending::Exited(42))]);
    let actions = s.conclude(now, &gave_up);
    assert_eq!(said(&actions), "rank 1 (pid 101) on h exited with status 42; ending the other 2 ranks");
    assert_eq!((signals(&actions), s.status()), (vec![SIGTERM, SIGCONT], Status(42)));
    assert_eq!(tick(&mut s, now), []);
    // Also when that is heard of only after it was started again.
    let (mut s, now) = elastic(3, 5, 1);
    assert_eq!(fail(&mut s, now, &[(1, Ending::Exited(42))]).1, [1]);
    s.started(now, 1, "rank 1 (pid 201) on h".into());
    assert!(s.verdict_due(now + SETTLING));
    let actions = s.conclude(now + SETTLING, &gave_up);
    assert_eq!(said(&actions), "rank 1 (pid 101) on h exited with status 42; ending the other 3 ranks");
    assert_eq!(s.status(), Status(42));
    // In a later generation it has another number.
    let (mut s, now) = elastic(3, 5, 1);
    s.ended(now, vec![(0, Ending::Exited(1)), (2, Ending::Exited(42))]);
    let actions = s.conclude(now, &gave_up);
    assert_eq!(said(&actions), "rank 2 (pid 102) on h exited with status 42; ending the other rank");
    let (mut s, now) = elastic(3, 5, 1);
    s.ended(now, vec![(1, Ending::Exited(1))]);
    let actions = s.conclude(now, &gave_up);
    assert_eq!(said(&actions), "a rank gave the job up with status 42; ending the other 2 ranks");
    assert_eq!((s.status(), s.accused()), (Status(42), None));
}

#[test]
fn nobody_is_started_again_while_the_job_ends() {
    for ending in [SIGINT, SIGTERM] {
        let (mut s, now) = elastic(2, 5, 1);
        fail(&mut s, now, &[(1, KILLED)]);
        s.started(now, 1, "rank 1 (pid 201) on h".into());
        assert!(fail(&mut s, now, &[(1, KILLED)]).1.is_empty(), "it pauses");
        assert_eq!(signals(&s.signalled(now, ending)), [ending, SIGCONT]);
        let later = now + Duration::from_secs(1);
        assert!(!tick(&mut s, later).iter().any(|action| matches!(action, Action::Start(_))));
        s.ended(later, vec![(0, KILLED)]);
        assert_eq!((s.finished(), s.status()), (true, Status::signal(ending)));
    }
    // A failure that was seen and not yet mended makes no difference; nor does one that is seen when all are gone.
    let (mut s, now) = elastic(2, 5, 1);
    s.ended(now, vec![(1, KILLED)]);
    assert_eq!((signals(&s.signalled(now, SIGINT)), s.status()), (vec![SIGINT, SIGCONT], Status(130)));
    let (mut s, now) = elastic(2, 5, 1);
    s.ended(now, vec![(1, KILLED)]);
    assert_eq!(said(&s.lost_output(now, "cannot write")), "cannot write; ending the job");
    assert_eq!(s.status(), Status::SYSTEM);
}

#[test]
fn the_time_limit_holds_while_a_rank_is_to_be_started() {
    let (s, now) = job(1, Some(1));
    let limits = Limits { restarts: 9, min_ranks: 1, elsewhere: 1, timeout: Duration::from_secs(60) };
    let mut s = s.mending(limits, now);
    let at = |millis| now + Duration::from_millis(millis);
    assert_eq!(fail(&mut s, at(900), &[(0, KILLED)]).1, [0]);
    s.started(at(900), 0, "rank 0 (pid 200) on h".into());
    assert!(fail(&mut s, at(950), &[(0, KILLED)]).1.is_empty());
    assert!(!s.finished());
    assert_eq!(s.deadline(), Some(at(1000)));
    assert_eq!(signals(&tick(&mut s, at(1000))), [SIGTERM, SIGCONT]);
    assert_eq!((s.finished(), s.status()), (true, Status::TIMEOUT));
}

#[test]
fn a_rank_that_cannot_be_started_again_ends_the_job() {
    let (mut s, now) = elastic(3, 5, 1);
    assert_eq!(fail(&mut s, now, &[(1, Ending::Exited(5))]).1, [1]);
    let actions = s.not_started(now, 1, "no processes");
    assert_eq!(
        said(&actions),
        "rank 1 (pid 101) on h exited with status 5; it cannot be started again: no processes; ending \
         the other 2 ranks"
    );
    assert_eq!((signals(&actions), s.status()), (vec![SIGTERM, SIGCONT], Status(5)));
    assert_eq!(s.not_started(now, 1, "no processes"), []);
}

#[test]
fn other_signals_pass_through_and_change_nothing() {
    let (mut s, now) = job(1, None);
    assert_eq!(s.signalled(now, SIGUSR1), [Action::Signal(SIGUSR1)]);
    assert_eq!(s.signalled(now, SIGTSTP), [Action::Signal(SIGTSTP), Action::Suspend]);
    assert_eq!(s.signalled(now, SIGCONT), [Action::Signal(SIGCONT)]);
    assert!(!s.finished() && s.status() == Status::SUCCESS);
}
