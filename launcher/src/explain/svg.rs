//! The story as a picture: ranks down, time across.
//!
//! Each rank has three lanes: what leaves, what the processor does, what arrives. A message is a bar in the
//! sender's upper lane, a bar in the receiver's lower lane, and a line between them; its colour is its chunk.
//! Boxes with a plus are reductions, with an equals sign copies. What the end had to wait for has a thick edge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ringworld_collectives::Action;
use ringworld_simulate::{Time, Timeline, critical_path};

use super::story::{Message, Story, letter};
use crate::units;

const WIDTH: f64 = 1400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 76.0;
const LANE: f64 = 18.0;
/// Three lanes and the gap to the next rank.
const RANK: f64 = 3.0 * LANE + 26.0;

/// The whole picture.
pub(crate) fn draw(title: &str, subtitle: &str, story: &Story, timeline: &Timeline) -> String {
    let ranks = timeline.schedules.len();
    let height = TOP + RANK * ranks as f64 + 56.0;
    let span = timeline.time.max(Time::from_nanos(1)).picos() as f64;
    let canvas = Canvas {
        scale: (WIDTH - LEFT - RIGHT) / span,
        path: critical_path(timeline).into_iter().collect(),
        messages: story.by_step(),
        chunks: story.chunks.len(),
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="#444"/></marker></defs>
<rect width="{WIDTH}" height="{height}" fill="white"/>
<text x="{LEFT}" y="26" font-size="18">{title}</text>
<text x="{LEFT}" y="46" fill="#444">{subtitle}</text>"##
    );
    axis(&mut text, &canvas, timeline.time, ranks);
    for rank in 0..ranks {
        rail(&mut text, rank);
    }
    // Lines first, so that bars lie on top of them.
    for message in &story.messages {
        canvas.arrow(&mut text, timeline, message);
    }
    for rank in 0..ranks {
        canvas.bars(&mut text, timeline, rank);
    }
    let _ = writeln!(
        text,
        r##"<text x="{LEFT}" y="{}" fill="#444">upper lane: leaving, middle: + reduce, = copy, lower: arriving; colours are chunks; thick edges: what the end had to wait for</text>
</svg>"##,
        height - 12.0
    );
    text
}

/// The time axis, with about eight round numbers.
fn axis(text: &mut String, canvas: &Canvas<'_>, time: Time, ranks: usize) {
    let bottom = TOP + RANK * ranks as f64;
    let rough = time.picos() as f64 / 8.0;
    let magnitude = 10f64.powf(rough.max(1.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|step| *step >= rough);
    let step = (step.unwrap_or(rough) as u64).max(1);
    for tick in (0..=time.picos()).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let x = canvas.x(Time::from_picos(tick));
        let _ = writeln!(
            text,
            r##"<line x1="{x:.1}" y1="{}" x2="{x:.1}" y2="{bottom:.1}" stroke="#ddd"/><text x="{x:.1}" y="{:.1}" text-anchor="middle" fill="#444">{}</text>"##,
            TOP - 8.0,
            bottom + 16.0,
            Time::from_picos(tick),
        );
    }
}

/// The name and the lanes of a rank.
fn rail(text: &mut String, rank: usize) {
    let top = TOP + RANK * rank as f64;
    let _ = writeln!(text, r#"<text x="12" y="{:.1}" font-size="14">rank {rank}</text>"#, top + 1.8 * LANE);
    for lane in 0..3 {
        let y = top + LANE * f64::from(lane);
        let _ = writeln!(
            text,
            r##"<rect x="{LEFT}" y="{y:.1}" width="{:.1}" height="{:.1}" fill="#f4f4f4"/>"##,
            WIDTH - LEFT - RIGHT,
            LANE - 2.0
        );
    }
}

struct Canvas<'a> {
    /// Pixels per picosecond.
    scale: f64,
    path: BTreeSet<(usize, usize)>,
    messages: BTreeMap<(usize, usize), &'a Message>,
    chunks: usize,
}

impl Canvas<'_> {
    fn x(&self, time: Time) -> f64 {
        LEFT + time.picos() as f64 * self.scale
    }

    fn lane(rank: usize, lane: f64) -> f64 {
        TOP + RANK * rank as f64 + LANE * lane
    }

    /// Evenly around the circle of hues; what has no chunk is grey.
    fn colour(&self, chunk: Option<usize>) -> String {
        chunk
            .map_or("#bbb".to_owned(), |chunk| format!("hsl({}, 65%, 68%)", chunk * 360 / self.chunks.max(1)))
    }

    fn arrow(&self, text: &mut String, timeline: &Timeline, message: &Message) {
        let (sent, received) =
            (timeline.moments[message.from][message.send], timeline.moments[message.to][message.recv]);
        let thick = self.path.contains(&(message.to, message.recv))
            && self.path.contains(&(message.from, message.send));
        let (colour, width) = if thick { ("#111", 2.0) } else { ("#999", 1.0) };
        let _ = writeln!(
            text,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}" stroke-width="{width}" marker-end="url(#head)"/>"#,
            self.x(sent.start),
            Self::lane(message.from, 1.0) - 2.0,
            self.x(received.start),
            Self::lane(message.to, 2.0),
        );
    }

    fn bars(&self, text: &mut String, timeline: &Timeline, rank: usize) {
        let schedule = &timeline.schedules[rank];
        for (step, action) in schedule.actions().iter().enumerate() {
            let moment = timeline.moments[rank][step];
            let message = self.messages.get(&(rank, step));
            let (lane, label, colour) = match action {
                Action::Send { .. } | Action::Recv { .. } => {
                    let chunk = message.and_then(|message| message.chunk);
                    let lane = if matches!(action, Action::Send { .. }) { 0.0 } else { 2.0 };
                    (lane, chunk.map_or(String::new(), letter), self.colour(chunk))
                }
                Action::Reduce { .. } => (1.0, "+".to_owned(), "#8a8a8a".to_owned()),
                Action::Copy { .. } => (1.0, "=".to_owned(), "#d8d8d8".to_owned()),
            };
            let (x, wide) = (self.x(moment.start), (moment.end - moment.start).picos() as f64 * self.scale);
            let (edge, line) = if self.path.contains(&(rank, step)) { ("#000", 2.0) } else { ("#666", 0.5) };
            let bytes = message.map_or(String::new(), |message| format!(", {}", units::sized(message.bytes)));
            let _ = writeln!(
                text,
                r#"<rect x="{x:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="{colour}" stroke="{edge}" stroke-width="{line}"><title>{action}{bytes}, {} to {}</title></rect>"#,
                Self::lane(rank, lane),
                wide.max(1.0),
                LANE - 2.0,
                moment.start,
                moment.end,
            );
            if wide > 8.0 * label.len() as f64 && !label.is_empty() {
                let _ = writeln!(
                    text,
                    r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
                    x + wide / 2.0,
                    Self::lane(rank, lane) + LANE - 6.0
                );
            }
        }
    }
}
