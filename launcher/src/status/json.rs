//! The status for programs. Names and units are documented in docs/observe.md, and stay.

use std::time::Duration;

use ringworld_bootstrap::{JobStatus, RankStatus, Standing, Waiting};
use serde_json::{Value, json};

/// One object on one line.
pub(super) fn line(status: &JobStatus) -> String {
    let ranks: Vec<Value> = status.ranks.iter().enumerate().map(|(number, of)| rank(number, of)).collect();
    let object = json!({
        "job": status.job,
        "size": status.size,
        "present": status.present,
        "seconds": status.age.map(seconds),
        "summary": (!status.story.is_empty()).then_some(&status.story),
        "deadlock": status.deadlock,
        "ranks": ranks,
    });
    format!("{object}\n")
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

fn rank(number: usize, rank: &RankStatus) -> Value {
    let standing = match rank.standing {
        Standing::Present => "present",
        Standing::Finished => "finished",
        _ => "down",
    };
    let mut object = json!({
        "rank": number,
        "host": rank.host,
        "pid": rank.pid,
        "standing": standing,
        "late": rank.late,
        "answered": rank.told.is_some(),
    });
    if let (Some(told), Some(object)) = (&rank.told, object.as_object_mut()) {
        let routes: serde_json::Map<String, Value> =
            told.routes.iter().map(|(name, peers)| (name.clone(), (*peers).into())).collect();
        let more = [
            ("calls", told.begun.into()),
            ("last_call", told.last.clone().into()),
            ("seconds_without_a_call", seconds(told.idle).into()),
            ("waits", told.waits.iter().map(waiting).collect()),
            ("busy", told.busy.into()),
            ("leaving", told.leaves.into()),
            ("bytes_sent", told.bytes[0].into()),
            ("bytes_received", told.bytes[1].into()),
            ("bytes_sent_per_second", told.rates[0].into()),
            ("bytes_received_per_second", told.rates[1].into()),
            ("routes", routes.into()),
        ];
        object.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    object
}

fn waiting(waiting: &Waiting) -> Value {
    json!({
        "call": waiting.call,
        "seconds": seconds(waiting.waited),
        "for_ranks": waiting.peers,
        "for_any": waiting.any,
    })
}
