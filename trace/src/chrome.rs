//! A timeline as Chrome's trace events: one JSON object, which Perfetto (ui.perfetto.dev) and `chrome://tracing` open.
//!
//! A rank is a process; its calls lie on one track, or on several where threads call at once; waits lie within their
//! calls, and messages are arrows. Times are microseconds, with three digits behind the point.

use std::io::{self, Read, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use super::summary::Summary;
use super::timeline::{Line, Timeline, Window};

/// What `Event` lies on, per rank, until it ends.
#[derive(Default)]
struct Tracks {
    /// Of each track the ends of what is open there, the innermost last.
    open: Vec<Vec<u64>>,
}

impl Tracks {
    /// The first track on which it lies apart from all others or within them.
    fn place(&mut self, when: Window) -> usize {
        for (index, open) in self.open.iter_mut().enumerate() {
            while open.last().is_some_and(|end| *end <= when.begin) {
                open.pop();
            }
            if open.last().is_none_or(|end| *end >= when.end) {
                open.push(when.end);
                return index;
            }
        }
        self.open.push(vec![when.end]);
        self.open.len() - 1
    }
}

/// Something that takes time on a track.
struct Event {
    when: Window,
    name: String,
    category: &'static str,
    arguments: Value,
}

fn events(line: &Line) -> Vec<Event> {
    let calls = line.calls.iter().map(|call| {
        let (name, place) = line.name(call);
        let mut arguments = json!({ "bytes": call.bytes });
        if let Some(place) = place {
            arguments["at"] = place.into();
        }
        if let Some((communicator, number)) = call.collective {
            arguments["number"] = number.into();
            if communicator > 0 {
                arguments["communicator"] = communicator.into();
            }
        }
        if let Some(algorithm) = line.algorithm(call) {
            arguments["algorithm"] = algorithm.into();
        }
        if let Some(to) = call.to {
            arguments["to"] = to.into();
        }
        if let Some(reduced) = call.reduced {
            arguments["reductions"] = reduced.times.into();
            arguments["reduced_bytes"] = reduced.bytes.into();
            arguments["reducing_us"] = (reduced.time as f64 / 1e3).into();
        }
        let category = if call.collective.is_some() { "collective" } else { "message" };
        Event { when: call.when, name: name.into(), category, arguments }
    });
    let waits = line.waits.iter().map(|wait| {
        let (name, place) = line.name_of_wait(wait);
        let whom = match (wait.peer, wait.peers) {
            (Some(peer), 0 | 1) => format!("waits for rank {peer}"),
            (Some(peer), peers) => format!("waits for {peers} ranks, rank {peer} among them"),
            (None, _) => "waits".into(),
        };
        let mut arguments = json!({ "in": name });
        if let Some(place) = place {
            arguments["at"] = place.into();
        }
        if wait.open {
            arguments["end"] = "not known: the rank was killed, or still ran".into();
        }
        Event { when: wait.when, name: whom, category: "wait", arguments }
    });
    let mut all: Vec<Event> = calls.chain(waits).collect();
    // Whoever contains others comes first; a call before the wait in it that is as long.
    all.sort_by_key(|event| (event.when.begin, std::cmp::Reverse(event.when.end), event.category == "wait"));
    all
}

/// Microseconds, exactly.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// Writes all of it, and beside it its summary, which [`summary`] finds again.
///
/// # Errors
///
/// When that cannot be written.
pub fn write(timeline: &Timeline, summary: &Summary, mut to: impl Write) -> io::Result<()> {
    let about = about(timeline, summary);
    write!(to, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut between = "\n";
    let mut event = |text: std::fmt::Arguments<'_>| {
        let written = write!(to, "{between}{text}");
        between = ",\n";
        written
    };
    for line in &timeline.lines {
        let (rank, host) = (line.info().rank, &line.info().host);
        let name = json!(format!("rank {rank} on {host}"));
        event(format_args!(r#"{{"ph":"M","pid":{rank},"name":"process_name","args":{{"name":{name}}}}}"#))?;
        event(format_args!(
            r#"{{"ph":"M","pid":{rank},"name":"process_sort_index","args":{{"sort_index":{rank}}}}}"#
        ))?;
        let mut tracks = Tracks::default();
        for Event { when, name, category, arguments } in events(line) {
            // What has no length would not be seen, and arrows would end nowhere.
            let shown = Window { end: when.end.max(when.begin + 1), ..when };
            let track = tracks.place(shown);
            let (begin, length, name) = (Micros(shown.begin), Micros(shown.length()), json!(name));
            event(format_args!(
                r#"{{"ph":"X","pid":{rank},"tid":{track},"ts":{begin},"dur":{length},"cat":"{category}","name":{name},"args":{arguments}}}"#
            ))?;
        }
        for track in 0..tracks.open.len() {
            let name = if track == 0 { "calls".into() } else { format!("calls of other threads, {track}") };
            let name = json!(name);
            event(format_args!(
                r#"{{"ph":"M","pid":{rank},"tid":{track},"name":"thread_name","args":{{"name":{name}}}}}"#
            ))?;
        }
    }
    for (id, message) in timeline.messages.iter().enumerate() {
        let (from, to, sent, came) = (message.from, message.to, Micros(message.sent), Micros(message.came));
        let bytes = message.bytes;
        event(format_args!(
            r#"{{"ph":"s","pid":{from},"tid":0,"ts":{sent},"id":{id},"cat":"message","name":"message","args":{{"bytes":{bytes}}}}}"#
        ))?;
        event(format_args!(
            r#"{{"ph":"f","bp":"e","pid":{to},"tid":0,"ts":{came},"id":{id},"cat":"message","name":"message"}}"#
        ))?;
    }
    writeln!(to, "\n]}}")?;
    to.flush()
}

/// Finds the summary in what [`write()`] has written.
///
/// # Errors
///
/// When it cannot be read, or is something else.
pub fn summary(from: impl Read) -> Result<Summary, serde_json::Error> {
    #[derive(Deserialize)]
    struct Other {
        summary: Summary,
    }
    /// All else is passed over while it is read.
    #[derive(Deserialize)]
    struct Whole {
        #[serde(rename = "otherData")]
        other: Other,
    }
    serde_json::from_reader::<_, Whole>(from).map(|whole| whole.other.summary)
}

/// What is to be known of all of it.
fn about(timeline: &Timeline, summary: &Summary) -> Value {
    let ranks: Vec<Value> = timeline
        .lines
        .iter()
        .map(|line| {
            json!({ "rank": line.info().rank, "host": line.info().host, "pid": line.info().pid,
            "program": line.info().program, "lost": line.lost(), "ended": line.closed() })
        })
        .collect();
    json!({ "made_by": concat!("ringworld ", env!("CARGO_PKG_VERSION")), "size": timeline.size,
        "ranks": ranks, "summary": summary })
}

#[cfg(test)]
mod tests {
    use super::super::slot::{Kind, NOBODY, Slot};
    use super::super::timeline::tests::{MICRO, trace};
    use super::*;

    #[test]
    fn it_is_json_with_calls_waits_and_arrows() {
        let zero = trace(0, 1, |to| {
            let send = to.label("send", None);
            to.write(Slot::new(Kind::Sent, 1_000, 1_000).labelled(send).bytes_of(8).with(1, 0));
        });
        let one = trace(1, 1, |to| {
            let recv = to.label("recv", Some(std::panic::Location::caller()));
            to.write(Slot::new(Kind::Came, 2_500, 2_500).with(0, 0));
            to.write(Slot::new(Kind::Wait, 1_100, 2_400).labelled(recv).with(0, 1));
            to.write(Slot::new(Kind::Call, 1_050, 2_600).labelled(recv).bytes_of(8).with(NOBODY, 0));
        });
        let mut text = Vec::new();
        let timeline = Timeline::new(vec![zero, one]);
        let told = Summary::of(&timeline);
        write(&timeline, &told, &mut text).unwrap();
        assert_eq!(summary(&text[..]).unwrap(), told);
        assert!(summary(&text[1..]).is_err() && summary(&b"{}"[..]).is_err());
        let all: Value = serde_json::from_slice(&text).unwrap();
        let events = all["traceEvents"].as_array().unwrap();
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        let names: Vec<&str> = of("X").iter().map(|event| event["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["send", "recv", "waits for rank 0"]);
        assert_eq!((of("X")[1]["ts"].as_f64(), of("X")[1]["dur"].as_f64()), (Some(0.05), Some(1.55)));
        assert!(of("X")[1]["args"]["at"].as_str().unwrap().contains("chrome.rs:"));
        assert_eq!((of("s")[0]["pid"].as_u64(), of("s")[0]["ts"].as_f64()), (Some(0), Some(0.0)));
        assert_eq!((of("f")[0]["pid"].as_u64(), of("f")[0]["ts"].as_f64()), (Some(1), Some(1.5)));
        assert_eq!(of("M").len(), 6);
        assert_eq!(all["otherData"]["ranks"][1]["host"], "host1");
    }

    #[test]
    fn what_overlaps_lies_on_another_track_and_what_is_within_on_the_same() {
        let mut tracks = Tracks::default();
        let mut place = |begin, end| tracks.place(Window { begin: begin * MICRO, end: end * MICRO });
        assert_eq!(place(0, 10), 0);
        assert_eq!(place(2, 5), 0);
        assert_eq!(place(4, 12), 1, "neither within nor after");
        assert_eq!(place(6, 10), 0);
        assert_eq!(place(11, 13), 0);
        assert_eq!(place(12, 13), 0);
    }
}
