//! The story as text: a grid of rounds and ranks, what it costs, and what the end had to wait for.

use std::fmt::Write as _;
use std::ops::Range;

use ringworld_collectives::{Action, Request};
use ringworld_simulate::{Facts, Timeline, critical_path};

use super::story::{Message, Story, letter};
use crate::units;

/// The most ranks that fit side by side.
pub(crate) const MOST_COLUMNS: usize = 16;
/// Rounds that are printed without being asked for, from the beginning and from the end.
const FIRST: usize = 24;
const LAST: usize = 6;
/// Lines of the critical path.
const MOST_LINES: usize = 24;

/// Rounds down, the ranks asked for across: what each of them sends and receives.
pub(crate) fn grid(story: &Story, ranks: Range<usize>, all: bool) -> String {
    let mut text = String::new();
    if story.messages.is_empty() {
        return "No messages.\n".to_owned();
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "each round: {}", legend(story, &ranks));
    let mut cells = vec![vec![Vec::new(); ranks.len()]; story.rounds];
    for message in story.messages.iter().filter(|message| ranks.contains(&message.from)) {
        cells[message.round - 1][message.from - ranks.start].push(sent(message));
    }
    for message in story.messages.iter().filter(|message| ranks.contains(&message.to)) {
        cells[message.round - 1][message.to - ranks.start].push(received(message));
    }
    let width = cells.iter().flatten().flatten().map(String::len).max().unwrap_or(0).max(8) + 2;
    let line = |head: String, cells: Vec<String>| {
        let mut line = format!("{head:>7}  ");
        for cell in cells {
            let _ = write!(line, "{cell:<width$}");
        }
        line.trim_end().to_owned() + "\n"
    };
    text += &line("round".to_owned(), ranks.map(|rank| format!("rank {rank}")).collect());
    for (round, row) in cells.iter().enumerate() {
        let left_out = story.rounds.saturating_sub(FIRST + LAST);
        if !all && left_out > 1 && (FIRST..FIRST + left_out).contains(&round) {
            if round == FIRST {
                let _ = writeln!(text, "    ...  {left_out} rounds are left out; --all prints them");
            }
            continue;
        }
        let tall = row.iter().map(Vec::len).max().unwrap_or(0);
        for part in 0..tall {
            let head = if part == 0 { (round + 1).to_string() } else { String::new() };
            text += &line(head, row.iter().map(|cell| cell.get(part).cloned().unwrap_or_default()).collect());
        }
    }
    text
}

fn sent(message: &Message) -> String {
    format!(">{}{}", message.to, message.chunk.map_or(String::new(), |chunk| format!(" {}", letter(chunk))))
}

fn received(message: &Message) -> String {
    let plus = if message.reduced { "+" } else { "" };
    let chunk = message.chunk.map_or(String::new(), |chunk| format!(" {}", letter(chunk)));
    format!("<{}{chunk}{plus}", message.from)
}

/// What the marks mean, by messages that there are.
fn legend(story: &Story, ranks: &Range<usize>) -> String {
    let what = |message: &Message| match message.chunk {
        Some(chunk) => format!("chunk {}", letter(chunk)),
        None => "a message".to_owned(),
    };
    // The topmost of those that are shown.
    let top = |message: &&Message| (message.round, message.from);
    let mut arriving: Vec<&Message> = story.messages.iter().filter(|m| ranks.contains(&m.to)).collect();
    arriving.sort_by_key(top);
    let first = |reduced| arriving.iter().copied().find(|message| message.reduced == reduced);
    let sent_first = story.messages.iter().filter(|m| ranks.contains(&m.from)).min_by_key(top);
    let mut marks = Vec::new();
    if let Some(message) = sent_first {
        marks.push(format!("{}  sends {} to rank {}", sent(message), what(message), message.to));
    }
    for message in [first(false), first(true)].into_iter().flatten() {
        let combined = if message.reduced { " and combines it with its own" } else { "" };
        let (what, from) = (what(message), message.from);
        marks.push(format!("{}  receives {what} from rank {from}{combined}", received(message)));
    }
    marks.join(";  ")
}

/// Which letters mean which elements.
pub(crate) fn chunks(story: &Story) -> String {
    let Some(last) = story.chunks.len().checked_sub(1) else { return String::new() };
    let name = |chunk: usize| format!("{} from element {}", letter(chunk), story.chunks[chunk]);
    match last {
        0..8 => format!("chunks: {}\n", (0..=last).map(name).collect::<Vec<_>>().join(", ")),
        _ => format!("chunks: {}, {}, … {}\n", name(0), name(1), name(last)),
    }
}

/// Counts of the busiest rank.
pub(crate) fn costs(request: &Request, timeline: &Timeline, story: &Story) -> String {
    let facts = timeline.schedules.iter().map(|schedule| Facts::of(schedule, request.element));
    let facts = facts.fold(Facts::default(), Facts::max);
    format!(
        "{}; the busiest rank has {}, sends {} with {} in all, and needs {} of scratch memory\n",
        units::counted(story.rounds, "round"),
        units::counted(facts.steps as usize, "step"),
        units::counted(facts.messages as usize, "message"),
        units::sized(facts.bytes),
        units::sized(facts.scratch),
    )
}

/// What the end had to wait for.
pub(crate) fn path(timeline: &Timeline) -> String {
    let path = critical_path(timeline);
    let mut text = format!("critical path, {} steps:\n", path.len());
    for (index, &(rank, step)) in path.iter().enumerate() {
        let left_out = path.len().saturating_sub(MOST_LINES);
        if left_out > 1 && (MOST_LINES - 4..MOST_LINES - 4 + left_out).contains(&index) {
            if index == MOST_LINES - 4 {
                let _ = writeln!(text, "  …  {left_out} steps are left out");
            }
            continue;
        }
        let moment = timeline.moments[rank][step];
        let what = match timeline.schedules[rank].action(step) {
            action @ Action::Recv { .. } => format!("{action} is there"),
            action => action.to_string(),
        };
        let _ = writeln!(
            text,
            "  {:>11} to {:>11}  rank {rank:<3} {what}",
            moment.start.to_string(),
            moment.end.to_string()
        );
    }
    text
}
