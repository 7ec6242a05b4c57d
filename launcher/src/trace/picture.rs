//! The timeline as a picture: ranks down, time across; calls by colour, and what of them was waiting hatched.
//!
//! What is narrower than a point is put together with its neighbours, so that a picture of a million calls is not larger
//! than one of a thousand.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ringworld_trace::{Line, Timeline, Window};

use crate::picture::escaped;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 60.0;
const RANK: f64 = 30.0;
const BAR: f64 = 22.0;
/// No more ranks are drawn.
const RANKS: usize = 128;
/// No more arrows are drawn: more would hide what is behind them.
const ARROWS: usize = 200;

/// The whole picture.
pub(super) fn draw(timeline: &Timeline) -> String {
    let lines = timeline.lines.get(..RANKS.min(timeline.lines.len())).unwrap_or_default();
    let colours = colours(lines);
    let canvas = Canvas { scale: (WIDTH - LEFT - RIGHT) / timeline.length.max(1) as f64 };
    let bottom = TOP + RANK * lines.len() as f64;
    let height = bottom + 60.0;
    let mut text = String::new();
    let left_out = timeline.lines.len() - lines.len();
    let more =
        if left_out > 0 { format!(", and {left_out} ranks that are not drawn") } else { String::new() };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        text,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">
<defs><pattern id="waits" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" stroke="#000" stroke-opacity="0.35" stroke-width="3"/></pattern></defs>
<rect width="{WIDTH}" height="{height}" fill="white"/>
<text x="12" y="24" font-size="16">{} ranks, {:.3} s{more}</text>"##,
        timeline.lines.len(),
        timeline.length as f64 / 1e9,
    );
    axis(&mut text, &canvas, timeline.length, bottom);
    for (row, line) in lines.iter().enumerate() {
        rail(&mut text, &canvas, row, line, &colours);
    }
    arrows(&mut text, &canvas, timeline, lines);
    legend(&mut text, &colours, bottom + 40.0);
    text.push_str("</svg>\n");
    text
}

struct Canvas {
    /// Points per nanosecond.
    scale: f64,
}

impl Canvas {
    fn x(&self, time: u64) -> f64 {
        LEFT + time as f64 * self.scale
    }
}

/// A colour for each name of a call, evenly around the circle of hues.
fn colours(lines: &[Line]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for line in lines {
        for call in &line.calls {
            let name = line.name(call).0;
            if !names.contains_key(name) {
                names.insert(name.to_owned(), String::new());
            }
        }
    }
    let count = names.len().max(1);
    for (index, colour) in names.values_mut().enumerate() {
        *colour = format!("hsl({}, 60%, 62%)", (200 + index * 360 / count) % 360);
    }
    names
}

/// The time axis, with about eight round numbers.
fn axis(text: &mut String, canvas: &Canvas, length: u64, bottom: f64) {
    let rough = length as f64 / 8.0;
    let magnitude = 10f64.powf(rough.max(1.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|step| *step >= rough);
    let step = (step.unwrap_or(rough) as u64).max(1);
    let (unit, per) = match length {
        0..10_000 => ("ns", 1.0),
        10_000..10_000_000 => ("us", 1e3),
        10_000_000..10_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    for tick in (0..=length).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let x = canvas.x(tick);
        let _ = writeln!(
            text,
            r##"<line x1="{x:.1}" y1="{:.1}" x2="{x:.1}" y2="{bottom:.1}" stroke="#ddd"/><text x="{x:.1}" y="{:.1}" text-anchor="middle" fill="#444">{} {unit}</text>"##,
            TOP - 8.0,
            TOP - 12.0,
            tick as f64 / per,
        );
    }
}

/// Runs of one kind, put together where less than a point lies between them.
fn runs<'a, K: PartialEq + Copy>(
    canvas: &Canvas,
    each: impl Iterator<Item = (Window, K)> + 'a,
) -> Vec<(Window, K, usize)> {
    let mut runs: Vec<(Window, K, usize)> = Vec::new();
    for (when, kind) in each {
        if let Some((last, of, count)) = runs.last_mut()
            && *of == kind
            && canvas.x(when.begin) - canvas.x(last.end) < 0.5
        {
            last.end = last.end.max(when.end);
            *count += 1;
        } else if let Some((last, ..)) = runs.last()
            && (when.length() as f64) * canvas.scale < 0.25
            && when.begin <= last.end
        {
            // Too narrow to be seen, on what is drawn already.
        } else {
            runs.push((when, kind, 1));
        }
    }
    runs
}

/// One rank.
fn rail(text: &mut String, canvas: &Canvas, row: usize, line: &Line, colours: &BTreeMap<String, String>) {
    let top = TOP + RANK * row as f64;
    let name = escaped(&format!("rank {} on {}", line.info().rank, line.info().host));
    let (x, wide) = (canvas.x(line.when.begin), (line.when.length() as f64 * canvas.scale).max(1.0));
    let _ = writeln!(
        text,
        r##"<text x="12" y="{:.1}">{name}</text><rect x="{x:.1}" y="{top:.1}" width="{wide:.1}" height="{BAR}" fill="#f1f1f1"/>"##,
        top + 16.0
    );
    let calls = line.calls.iter().map(|call| (call.when, line.name(call)));
    for (when, (name, place), count) in runs(canvas, calls) {
        let colour = colours.get(name).map_or("#bbb", String::as_str);
        let wide = (when.length() as f64 * canvas.scale).max(0.5);
        let x = canvas.x(when.begin);
        let at = place.map_or_else(String::new, |place| format!(" at {place}"));
        let times = if count > 1 { format!(", {count} calls") } else { String::new() };
        let told = escaped(&format!("{name}{at}{times}, {:.3} ms", when.length() as f64 / 1e6));
        let _ = writeln!(
            text,
            r#"<rect x="{x:.1}" y="{top:.1}" width="{wide:.1}" height="{BAR}" fill="{colour}"><title>{told}</title></rect>"#
        );
        if wide > 8.0 * name.len() as f64 {
            let _ = writeln!(
                text,
                r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                x + wide / 2.0,
                top + 16.0,
                escaped(name)
            );
        }
    }
    let waits = line.waits.iter().map(|wait| (wait.when, wait.peer));
    for (when, peer, _) in runs(canvas, waits) {
        let wide = (when.length() as f64 * canvas.scale).max(0.5);
        let whom = peer.map_or_else(|| "waits".into(), |peer| format!("waits for rank {peer}"));
        let _ = writeln!(
            text,
            r#"<rect x="{:.1}" y="{top:.1}" width="{wide:.1}" height="{BAR}" fill="url(#waits)"><title>{whom}, {:.3} ms</title></rect>"#,
            canvas.x(when.begin),
            when.length() as f64 / 1e6,
        );
    }
}

/// The messages, where they are few enough to be told apart.
fn arrows(text: &mut String, canvas: &Canvas, timeline: &Timeline, lines: &[Line]) {
    if timeline.messages.len() > ARROWS {
        return;
    }
    let row = |rank: usize| lines.iter().position(|line| line.info().rank == rank);
    for message in &timeline.messages {
        let (Some(from), Some(to)) = (row(message.from), row(message.to)) else { continue };
        let y = |row: usize| TOP + RANK * row as f64 + BAR / 2.0;
        let _ = writeln!(
            text,
            r##"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="#333" stroke-opacity="0.6"><title>{} bytes from rank {} to rank {}</title></line>"##,
            canvas.x(message.sent),
            y(from),
            canvas.x(message.came),
            y(to),
            message.bytes,
            message.from,
            message.to,
        );
    }
}

fn legend(text: &mut String, colours: &BTreeMap<String, String>, y: f64) {
    let mut x = LEFT;
    let entries = colours.iter().map(|(name, colour)| (name.as_str(), colour.as_str()));
    for (name, colour) in entries.chain([("asleep in a call", "url(#waits)")]) {
        let _ = writeln!(
            text,
            r##"<rect x="{x:.1}" y="{:.1}" width="16" height="12" fill="{colour}" stroke="#999" stroke-width="0.5"/><text x="{:.1}" y="{y:.1}">{}</text>"##,
            y - 10.0,
            x + 22.0,
            escaped(name)
        );
        x += 44.0 + 7.0 * name.len() as f64;
    }
}
