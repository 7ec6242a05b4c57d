//! The story as text: a grid of rounds and ranks, what it costs, and what the end had to wait for.

use std::fmt::Write as _;

use ringworld_collectives::{Action, Request};
use ringworld_simulate::{Facts, Timeline, critical_path};

use super::story::{Story, letter};
use crate::units;

/// The most ranks that fit side by side.
pub(crate) const MOST_COLUMNS: usize = 16;
/// Rounds that are printed without being asked for, from the beginning and from the end.
const FIRST: usize = 24;
const LAST: usize = 6;
/// Lines of the critical path.
const MOST_LINES: usize = 24;

/// Rounds down, ranks across: what each rank sends and receives.
pub(crate) fn grid(story: &Story, ranks: usize, all: bool) -> String {
    let mut text = String::new();
    if story.messages.is_empty() {
        return "No messages.\n".to_owned();
    }
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "each round: >1 a  sends chunk a to rank 1;  <5 f  receives chunk f from rank 5;  <5 f+  and adds it to its own"
    );
    let chunk = |chunk: Option<usize>| chunk.map_or(String::new(), |chunk| format!(" {}", letter(chunk)));
    let mut cells = vec![vec![Vec::new(); ranks]; story.rounds];
    for message in &story.messages {
        let row = &mut cells[message.round - 1];
        row[message.from].push(format!(">{}{}", message.to, chunk(message.chunk)));
    }
    for message in &story.messages {
        let plus = if message.reduced { "+" } else { "" };
        let row = &mut cells[message.round - 1];
        row[message.to].push(format!("<{}{}{plus}", message.from, chunk(message.chunk)));
    }
    let width = cells.iter().flatten().flatten().map(String::len).max().unwrap_or(0).max(8) + 2;
    let line = |head: String, cells: Vec<String>| {
        let mut line = format!("{head:>7}  ");
        for cell in cells {
            let _ = write!(line, "{cell:<width$}");
        }
        line.trim_end().to_owned() + "\n"
    };
    text += &line("round".to_owned(), (0..ranks).map(|rank| format!("rank {rank}")).collect());
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
        "{} rounds; the busiest rank has {} steps, sends {} messages with {} bytes in all, and needs {} of scratch memory\n",
        story.rounds,
        facts.steps,
        facts.messages,
        facts.bytes,
        units::short(facts.scratch),
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
