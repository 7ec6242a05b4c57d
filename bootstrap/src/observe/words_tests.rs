use super::super::Waiting;
use super::super::judge::judge;
use super::*;

fn host(rank: usize) -> String {
    format!("n{rank}")
}

fn waits(call: &str, seconds: u64, peers: &[u64]) -> Whereabouts {
    let waited = Duration::from_secs(seconds);
    let waiting =
        Waiting { number: 1, waited, stalled: true, call: call.into(), peers: peers.to_vec(), any: false };
    Whereabouts { waits: vec![waiting], others: Some(0), ..Whereabouts::default() }
}

fn line(told: Vec<Option<Whereabouts>>) -> String {
    let seen = |(rank, told): (usize, Option<Whereabouts>)| Seen { rank, first: told.clone(), second: told };
    let seen: Vec<Seen> = told.into_iter().enumerate().map(seen).collect();
    let found = judge(&seen, 0, |_| true);
    let line = verdict(&found, &seen, &host).unwrap();
    assert!(!line.contains('\n'));
    line
}

#[test]
fn who_is_late_is_named_with_what_it_does_and_who_waits_how_long_and_where() {
    let idle = Duration::from_millis(29_960);
    let last = Some("all_reduce #41 at src/train.rs:88".to_string());
    let late = Whereabouts { idle, last, ..Whereabouts::default() };
    let barrier = |seconds| Some(waits("barrier() #42 at src/train.rs:90", seconds, &[3]));
    assert_eq!(
        line(vec![barrier(30), barrier(31), barrier(30), Some(late)]),
        "ranks 0-2 wait for rank 3 on n3, which has been computing for at least 30.0 s, since all_reduce #41 at \
         src/train.rs:88; longest rank 1 on n1, for 31.0 s in barrier() #42 at src/train.rs:90"
    );
    assert_eq!(
        line(vec![Some(waits("recv (from rank 1, tag 5) at a.rs:3", 30, &[1])), None]),
        "rank 0 waits for rank 1 on n1, which does not answer: it is stopped, or its host is busy or out of reach; \
         longest rank 0 on n0, for 30.0 s in recv (from rank 1, tag 5) at a.rs:3"
    );
}

#[test]
fn a_deadlock_is_told_with_the_call_of_every_rank() {
    let mut told =
        vec![Some(waits("recv (from rank 1)", 3, &[1])), Some(waits("recv (from rank 0)", 4, &[0]))];
    assert_eq!(
        line(told.clone()),
        "deadlock: all ranks wait and no message is on its way, so nobody will ever go on: rank 0 on n0 for 3.0 s in \
         recv (from rank 1); rank 1 on n1 for 4.0 s in recv (from rank 0)"
    );
    told[1].as_mut().unwrap().others = Some(3);
    let unsure = line(told.clone());
    assert!(
        unsure.starts_with("deadlock, unless rank 1 makes a call in another of its threads: "),
        "{unsure}"
    );
    told[0].as_mut().unwrap().sent = 2;
    let late = line(told);
    assert!(late.contains("2 messages are on their way and do not arrive"), "{late}");
}

#[test]
fn a_line_is_no_longer_for_a_thousand_ranks_than_for_ten() {
    let told: Vec<_> = (0..1000).map(|rank| Some(waits("recv", 30, &[(rank + 1) % 1000]))).collect();
    let line = line(told);
    assert!(line.len() < 1000 && line.contains("and 992 more ranks"), "{line}");
}

#[test]
fn ranks_are_told_as_ranges() {
    assert_eq!(ranks(&[3].into()), "rank 3");
    assert_eq!(ranks(&[0, 1, 2, 7].into()), "ranks 0-2, 7");
    let odd: BTreeSet<usize> = (0..40).map(|rank| 2 * rank).collect();
    assert_eq!(ranks(&odd), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 32 more ranges");
}
