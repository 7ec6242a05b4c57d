//! The bandwidths as a picture: a square for each direction, the darker the faster; what is slow has an edge.

use std::fmt::Write as _;

use super::report::{Grid, Report, megabytes};
use super::slow;
use crate::picture::escaped;

/// Width of a drawing without its margins.
const WIDTH: f64 = 760.0;
/// Left of the cells, for names.
const LEFT: f64 = 170.0;
/// Above the cells, for title and ranks.
const TOP: f64 = 84.0;
/// Below the cells.
const BELOW: f64 = 40.0;
/// A cell is not larger, and has no number in it when it is smaller than the second.
const LARGEST: f64 = 84.0;
const NUMBERED: f64 = 44.0;

/// The whole picture: one matrix below the other.
pub(super) fn draw(report: &Report) -> String {
    let cell = |grid: &Grid| (WIDTH / grid.ranks.len().max(1) as f64).min(LARGEST);
    let tall = |grid: &Grid| TOP + cell(grid) * grid.ranks.len() as f64 + BELOW;
    let wide = report.grids.iter().map(|grid| cell(grid) * grid.ranks.len() as f64).fold(420.0, f64::max);
    let height: f64 = report.grids.iter().map(tall).sum::<f64>().max(60.0);
    let width = LEFT + wide + 24.0;
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"white\"/>"
    );
    if report.grids.is_empty() {
        let _ = writeln!(text, "<text x=\"24\" y=\"36\">there are no two ranks to measure</text>");
    }
    let mut y = 0.0;
    for grid in &report.grids {
        matrix(&mut text, grid, y, cell(grid));
        y += tall(grid);
    }
    text.push_str("</svg>\n");
    text
}

fn matrix(text: &mut String, grid: &Grid, y: f64, cell: f64) {
    let usual = slow::usual(grid.rates.iter().flatten().flatten().copied());
    let subtitle = match usual {
        Some(usual) => format!("MB/s from the row to the column; {} are usual", megabytes(usual)),
        None => "nobody is reached".to_owned(),
    };
    let _ = writeln!(
        text,
        "<text x=\"24\" y=\"{:.1}\" font-size=\"18\">{}: bandwidth</text>\
         <text x=\"24\" y=\"{:.1}\" fill=\"#444\">{subtitle}</text>",
        y + 28.0,
        escaped(&grid.title),
        y + 48.0,
    );
    let top = y + TOP;
    let every = (24.0 / cell).ceil().max(1.0) as usize;
    for (place, (rank, name)) in grid.ranks.iter().zip(&grid.names).enumerate().step_by(every) {
        let middle = cell * (place as f64 + 0.5);
        let short: String = name.chars().take(16).collect();
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{} {rank}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{rank}</text>",
            LEFT - 8.0,
            top + middle + 4.0,
            escaped(&short),
            LEFT + middle,
            top - 8.0,
        );
    }
    for (from, row) in grid.rates.iter().enumerate() {
        for (to, rate) in row.iter().enumerate().filter(|(to, _)| *to != from) {
            let failed = grid.failed.contains(&(from.min(to), from.max(to)));
            square(
                text,
                grid,
                (from, to),
                (*rate, usual, failed),
                (LEFT + cell * to as f64, top + cell * from as f64, cell),
            );
        }
    }
    // Edges last, so that neighbours do not cover them.
    for (from, row) in grid.rates.iter().enumerate() {
        for to in (0..row.len())
            .filter(|to| grid.slow.iter().any(|slow| *to != from && slow.what.concerns(from, *to)))
        {
            let _ = writeln!(
                text,
                "<rect class=\"slow\" x=\"{:.1}\" y=\"{:.1}\" width=\"{side:.1}\" height=\"{side:.1}\" fill=\"none\" \
                 stroke=\"#d55e00\" stroke-width=\"3\"/>",
                LEFT + cell * to as f64 + 1.5,
                top + cell * from as f64 + 1.5,
                side = cell - 3.0,
            );
        }
    }
    let _ = writeln!(
        text,
        "<text x=\"24\" y=\"{:.1}\" fill=\"#444\">the darker the faster; orange edge: slow; cross: not reached</text>",
        top + cell * grid.ranks.len() as f64 + 24.0
    );
}

fn square(
    text: &mut String,
    grid: &Grid,
    (from, to): (usize, usize),
    (rate, usual, failed): (Option<f64>, Option<f64>, bool),
    (x, y, cell): (f64, f64, f64),
) {
    // The square root, so that slow ones can still be told apart.
    let part = rate.zip(usual).map_or(0.0, |(rate, usual)| (rate / usual).clamp(0.0, 1.0).sqrt());
    let lightness = 97.0 - 62.0 * part;
    let fill = if rate.is_some() { format!("hsl(212, 60%, {lightness:.0}%)") } else { "#fff".to_owned() };
    let words = match rate {
        Some(rate) => format!("{} MB/s", megabytes(rate)),
        None if failed => "not reached".to_owned(),
        None => "not measured".to_owned(),
    };
    let _ = writeln!(
        text,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\" fill=\"{fill}\" stroke=\"#ccc\" \
         stroke-width=\"0.5\"><title>rank {} to rank {}: {words}</title></rect>",
        grid.ranks.get(from).copied().unwrap_or(from),
        grid.ranks.get(to).copied().unwrap_or(to),
    );
    if failed {
        let (near, far) = (cell * 0.25, cell * 0.75);
        let _ = writeln!(
            text,
            "<path d=\"M{:.1} {:.1} L{:.1} {:.1} M{:.1} {:.1} L{:.1} {:.1}\" stroke=\"#b00020\" stroke-width=\"2\"/>",
            x + near,
            y + near,
            x + far,
            y + far,
            x + near,
            y + far,
            x + far,
            y + near
        );
    } else if let Some(rate) = rate.filter(|_| cell >= NUMBERED) {
        let ink = if lightness < 60.0 { "white" } else { "#222" };
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{ink}\">{}</text>",
            x + cell / 2.0,
            y + cell / 2.0 + 4.0,
            megabytes(rate)
        );
    }
}
