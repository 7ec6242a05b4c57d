//! What the survivors of a kill may say and when. Pure.
//!
//! The promise: every pending call ends within 1 s with an error that names the killed rank; a rank that hangs, blames
//! an innocent one or none, or calculates wrongly breaks it. Of several killed together any may be named.

use std::time::Duration;

use ringworld_tests::clock;

use crate::round::Finding;

/// What is promised for a dead process.
const PROMISE: Duration = Duration::from_secs(1);
/// What a machine that does other things, too, may add.
const SLACK: Duration = Duration::from_secs(2);

/// What an error says, of all that an error can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// `PeerFailed`, with the rank.
    Down(usize),
    /// `PeerFinished`, with the rank.
    Finished(usize),
    MasterLost,
    /// Nothing that a death leads to.
    Other,
}

/// By the text, which is what a user has.
pub(crate) fn said(text: &str) -> Said {
    // `recv (…) #7 failed: rank 3 on node is down: …`
    let cause = text.split_once(" failed: ").map_or(text, |(_, cause)| cause);
    if cause.starts_with("the connection to the master was lost") {
        return Said::MasterLost;
    }
    let named = cause.strip_prefix("rank ").and_then(|rest| {
        let (rank, rest) = rest.split_once(" on ")?;
        let (_host, rest) = rest.split_once(' ')?;
        Some((rank.parse().ok()?, rest))
    });
    match named {
        Some((rank, rest)) if rest.starts_with("is down: ") => Said::Down(rank),
        Some((rank, rest)) if rest.starts_with("has already left") => Said::Finished(rank),
        _ => Said::Other,
    }
}

/// What one survivor did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survivor {
    /// How the process is called in findings.
    pub(crate) name: String,
    /// The error of its call, and when it came.
    pub(crate) failed: Option<(u64, String)>,
    /// The error of the rendezvous, and when it came.
    pub(crate) refused: Option<(u64, String)>,
    /// A wrong result.
    pub(crate) wrong: Option<String>,
    /// The signal that ended it, unless the launcher sent it.
    pub(crate) crashed: Option<i32>,
    /// Its panic.
    pub(crate) panicked: Option<String>,
    /// It has ended within the patience of the round.
    pub(crate) ended: bool,
}

/// The circumstances.
#[derive(Clone, Debug)]
pub(crate) struct Kill {
    pub(crate) at: u64,
    /// Ranks.
    pub(crate) victims: Vec<usize>,
    /// One of the victims served the rendezvous, or may have.
    pub(crate) served: bool,
    /// The world may have been forming: then ranks may wait for as long as this for one to take the place.
    pub(crate) forming: Option<Duration>,
    /// The survivors are ended by the launcher, maybe before they can say anything.
    pub(crate) launched: bool,
}

/// What is wrong with one survivor.
pub(crate) fn judge(kill: &Kill, survivor: &Survivor) -> Vec<Finding> {
    let name = &survivor.name;
    let mut findings = Vec::new();
    let mut find = |class: &str, detail: String| findings.push(Finding::new(class, detail));
    if let Some(signal) = survivor.crashed {
        find(&format!("crash by signal {signal}"), format!("{name} was ended by signal {signal}"));
    }
    if let Some(text) = &survivor.panicked {
        find("panic in a survivor", format!("{name}: {text}"));
    }
    if let Some(text) = &survivor.wrong {
        find("wrong result", format!("{name}: {text}"));
    }
    if !survivor.ended {
        let point = if survivor.failed.is_some() { "after its error" } else { "without an error" };
        find(&format!("hang {point}"), format!("{name} still ran when the round was over"));
    }
    let late = |at: u64, bound: Duration| {
        let after = clock::between(kill.at, at);
        (after > bound).then(|| format!("{name}: {after:.1?} after the kill"))
    };
    if let Some((at, text)) = &survivor.failed {
        match said(text) {
            Said::Down(rank) if kill.victims.contains(&rank) => {}
            Said::Down(rank) => {
                find("PeerFailed names an innocent rank", format!("{name}, rank {rank}: {text}"))
            }
            Said::MasterLost if kill.served => {}
            Said::MasterLost => find("MasterLost, but the master lives", format!("{name}: {text}")),
            Said::Finished(rank) if kill.victims.contains(&rank) => {
                find("PeerFinished for a killed rank", format!("{name}: {text}"));
            }
            Said::Finished(rank) => {
                find("PeerFinished names an innocent rank", format!("{name}, rank {rank}: {text}"));
            }
            Said::Other => find(&format!("no name: {}", outline(text)), format!("{name}: {text}")),
        }
        if let Some(late) = late(*at, PROMISE + SLACK) {
            find("error too late", late);
        }
    } else if let Some((at, text)) = &survivor.refused {
        match kill.forming {
            None => find("no world although it had formed", format!("{name}: {text}")),
            Some(timeout) => {
                if let Some(late) = late(*at, timeout + SLACK) {
                    find("refusal too late", late);
                }
            }
        }
    } else if survivor.ended && survivor.crashed.is_none() && survivor.wrong.is_none() && !kill.launched {
        find("ended without an error", format!("{name} said nothing"));
    }
    findings
}

/// A text without what differs from case to case: the same for the same cause.
pub(crate) fn outline(text: &str) -> String {
    let cause = text.split_once(" failed: ").map_or(text, |(_, cause)| cause);
    let mut outline = String::new();
    for c in cause.chars().take(100) {
        match c {
            '0'..='9' if outline.ends_with('N') => {}
            '0'..='9' => outline.push('N'),
            c => outline.push(c),
        }
    }
    outline
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOWN: &str = "recv (from rank 2, tag 6) #7 failed: rank 2 on vm is down: it was killed";

    fn kill() -> Kill {
        Kill { at: 1_000, victims: vec![2], served: false, forming: None, launched: false }
    }

    fn survivor(text: &str) -> Survivor {
        let failed = Some((2_000, text.to_owned()));
        Survivor { name: "rank 0".into(), failed, ended: true, ..Survivor::default() }
    }

    fn classes(kill: &Kill, survivor: &Survivor) -> Vec<String> {
        judge(kill, survivor).into_iter().map(|finding| finding.class).collect()
    }

    #[test]
    fn errors_are_told_apart_by_their_text() {
        assert_eq!(said(DOWN), Said::Down(2));
        assert_eq!(said("send failed: rank 11 on a has already left the world; …"), Said::Finished(11));
        assert_eq!(said("x failed: the connection to the master was lost: gone"), Said::MasterLost);
        let memory = "recv failed: the memory for a message from rank 3 could not be opened to that rank";
        assert_eq!(said(memory), Said::Other);
    }

    #[test]
    fn a_survivor_that_names_the_victim_in_time_is_right_and_every_other_is_found() {
        assert_eq!(judge(&kill(), &survivor(DOWN)), []);
        let wrong = |text: &str| classes(&kill(), &survivor(text)).len() == 1;
        assert!(wrong(&DOWN.replace("rank 2 on", "rank 1 on")));
        assert!(wrong("recv failed: rank 2 on vm has already left the world; …"));
        assert!(wrong("recv failed: the connection to the master was lost: gone"));
        assert!(wrong("recv failed: something else"));
        let late = Survivor { failed: Some((5_000_000_000, DOWN.into())), ..survivor(DOWN) };
        assert_eq!(classes(&kill(), &late), ["error too late"]);
        let hanging = Survivor { failed: None, ended: false, ..survivor(DOWN) };
        assert_eq!(classes(&kill(), &hanging), ["hang without an error"]);
        let silent = Survivor { failed: None, ..survivor(DOWN) };
        assert_eq!(classes(&kill(), &silent), ["ended without an error"]);
        let crashed = Survivor { crashed: Some(11), ..silent };
        assert_eq!(classes(&kill(), &crashed), ["crash by signal 11"]);
        let wrong = Survivor { wrong: Some("7 instead of 8".into()), ..survivor(DOWN) };
        assert_eq!(classes(&kill(), &wrong), ["wrong result"]);
    }

    #[test]
    fn the_loss_of_the_master_may_be_said_where_it_was_killed_and_a_refusal_while_the_world_formed() {
        let lost = survivor("recv failed: the connection to the master was lost: gone");
        assert_eq!(judge(&Kill { served: true, ..kill() }, &lost), []);
        let refused = Survivor { refused: Some((2_000, "1 missing".into())), failed: None, ..survivor("") };
        assert_eq!(judge(&Kill { forming: Some(PROMISE), ..kill() }, &refused), []);
        assert_eq!(classes(&kill(), &refused), ["no world although it had formed"]);
    }

    #[test]
    fn outlines_leave_out_numbers() {
        assert_eq!(outline("recv #12 failed: rank 17 of 3"), "rank N of N");
    }
}
