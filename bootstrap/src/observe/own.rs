//! What a rank says of itself when it is signalled: the same as `ringworld status` says of it.

use std::fmt::Write as _;
use std::time::Duration;

use super::Whereabouts;
use super::words::doing;

/// Ranks that a call waits for, told one by one.
const PEERS: usize = 8;

/// Some lines, of which the last one ends.
pub(crate) fn own(rank: u64, hosts: &[String], pid: u32, now: &Whereabouts) -> String {
    let host =
        usize::try_from(rank).ok().and_then(|rank| hosts.get(rank)).map_or("an unknown host", String::as_str);
    let head = format!("rank {rank} of {} on {host}, pid {pid}", hosts.len());
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    match &now.waits[..] {
        [] if now.over => drop(writeln!(text, "{head}: its world has failed")),
        [] if !now.busy && !now.leaves && now.idle < Duration::from_secs(1) => {
            let last = now.last.as_ref().map_or_else(String::new, |last| format!(", last {last}"));
            let _ = writeln!(text, "{head}: at work{last}");
        }
        [] => drop(writeln!(text, "{head} {}", doing(now))),
        waits => {
            for wait in waits {
                let _ = writeln!(
                    text,
                    "{head} waits {:.1} s in {}{}",
                    wait.waited.as_secs_f64(),
                    wait.call,
                    whom(&wait.peers, wait.any)
                );
            }
        }
    }
    if !now.busy {
        let [sent, received] = now.bytes;
        let [out, into] = now.rates;
        let routes: Vec<String> =
            now.routes.iter().map(|(name, peers)| format!("{peers} by {name}")).collect();
        let _ = writeln!(
            text,
            "  {} call{} begun; bytes sent {sent} ({out}/s), received {received} ({into}/s); routes: {}",
            now.begun,
            if now.begun == 1 { "" } else { "s" },
            routes.join(", ")
        );
    }
    text
}

fn whom(peers: &[u64], any: bool) -> String {
    let told: Vec<String> = peers.iter().take(PEERS).map(u64::to_string).collect();
    let more = if peers.len() > PEERS { format!(" and {} more", peers.len() - PEERS) } else { String::new() };
    match (&told[..], any) {
        ([], false) => String::new(),
        ([], true) => ", for any rank".into(),
        ([one], false) => format!(", for rank {one}"),
        (several, false) => format!(", for ranks {}{more}", several.join(", ")),
        (several, true) => format!(", for any of ranks {}{more}, or others", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Waiting;
    use super::*;

    #[test]
    fn it_says_the_call_since_when_and_for_whom_and_how_much_was_moved() {
        let hosts = ["n0".to_owned(), "n1".into()];
        let call = "barrier() #1 at x.rs:3".to_owned();
        let waits =
            vec![Waiting { waited: Duration::from_millis(4200), call, peers: vec![0], ..Waiting::default() }];
        let now = Whereabouts {
            waits,
            begun: 7,
            bytes: [80, 40],
            routes: vec![("self".into(), 1), ("shm".into(), 1)],
            ..Whereabouts::default()
        };
        assert_eq!(
            own(1, &hosts, 77, &now),
            "rank 1 of 2 on n1, pid 77 waits 4.2 s in barrier() #1 at x.rs:3, for rank 0\n  7 calls begun; bytes sent \
             80 (0/s), received 40 (0/s); routes: 1 by self, 1 by shm\n"
        );
        let last = Some("send at x.rs:9".to_owned());
        let idle = Whereabouts { idle: Duration::from_secs(9), last, ..Whereabouts::default() };
        assert!(
            own(0, &hosts, 77, &idle).contains("has been computing for at least 9.0 s, since send at x.rs:9")
        );
        let busy = Whereabouts { busy: true, ..Whereabouts::default() };
        assert_eq!(own(0, &hosts, 77, &busy).lines().count(), 1);
        assert_eq!(
            whom(&(0..20).collect::<Vec<_>>(), false),
            ", for ranks 0, 1, 2, 3, 4, 5, 6, 7 and 12 more"
        );
        assert_eq!([whom(&[], true), whom(&[], false)], [", for any rank", ""]);
    }
}
