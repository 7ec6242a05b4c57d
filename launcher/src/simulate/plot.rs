//! The crossover plot: time against size, one curve per algorithm, both axes logarithmic. A dot marks what the
//! selection would take at that size.

use plotters::prelude::*;
use ringworld_collectives::{Algorithm, Request};
use ringworld_simulate::{Fabric, Time};

use crate::network;
use crate::units;

/// Width and height.
const CANVAS: (u32, u32) = (1100, 720);

/// Colours of curves: dark enough on white, and told apart by people who do not see all colours.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x7a, 0x5a),
    RGBColor(0xaa, 0x33, 0x77),
    RGBColor(0x22, 0x22, 0x22),
    RGBColor(0x8c, 0x51, 0x0a),
    RGBColor(0x6a, 0x3d, 0x9a),
    RGBColor(0x5b, 0x7f, 0x00),
    RGBColor(0xb0, 0x00, 0x20),
    RGBColor(0x4d, 0x77, 0x88),
];

/// The times of one algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) algorithm: Algorithm,
    /// Bytes, seconds, and whether the selection takes this algorithm.
    points: Vec<(f64, f64, bool)>,
}

impl Curve {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, points: Vec::new() }
    }

    pub(crate) fn add(&mut self, bytes: usize, time: Time, selected: bool) {
        // Nothing can be shown at zero on a logarithmic axis.
        self.points.push((bytes as f64, time.seconds().max(1e-12), selected));
    }
}

/// Draws.
pub(super) fn svg(
    request: &Request,
    fabric: &Fabric,
    curves: &[Curve],
) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let least = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let most = points().map(|point| point.1).fold(0.0, f64::max);
    if most == 0.0 {
        return Err("there is no point to draw".into());
    }
    {
        let canvas = SVGBackend::with_string(&mut text, CANVAS).into_drawing_area();
        canvas.fill(&WHITE)?;
        let title = format!("{} on {} ranks: time by size", request.collective, request.size);
        let (head, below) = canvas.split_vertically(60);
        head.draw(&Text::new(title, (20, 10), ("sans-serif", 24).into_font().color(&BLACK)))?;
        let subtitle = network::describe(fabric);
        head.draw(&Text::new(subtitle, (20, 40), ("sans-serif", 14).into_font().color(&BLACK)))?;
        let sizes = (6.0..1.4e9).log_scale().base(8.0);
        let mut chart = ChartBuilder::on(&below)
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(84)
            .build_cartesian_2d(sizes, (least * 0.7..most * 1.5).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("size")
            .y_desc("simulated time")
            .x_labels(10)
            .y_labels(12)
            .x_label_formatter(&|bytes: &f64| units::short(bytes.round() as u64))
            .y_label_formatter(&|seconds: &f64| Time::from_picos((seconds * 1e12) as u64).to_string())
            .light_line_style(WHITE)
            .label_style(("sans-serif", 14))
            .draw()?;
        for (index, curve) in curves.iter().enumerate() {
            // More algorithms than colours: those come round again, and the legend has the order.
            let colour = COLOURS.get(index % COLOURS.len()).copied().unwrap_or(BLACK);
            let line = curve.points.iter().map(|&(bytes, seconds, _)| (bytes, seconds));
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
                .label(curve.algorithm.to_string())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], colour.stroke_width(2)));
            let chosen = curve.points.iter().filter(|point| point.2);
            chart.draw_series(
                chosen.map(|&(bytes, seconds, _)| Circle::new((bytes, seconds), 6, colour.filled())),
            )?;
        }
        chart
            .draw_series(std::iter::empty::<Circle<(f64, f64), i32>>())?
            .label("chosen at this size")
            .legend(|(x, y)| Circle::new((x + 12, y), 6, BLACK.filled()));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font(("sans-serif", 14))
            .draw()?;
        canvas.present()?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the Web Content Accessibility Guidelines weigh the parts of a colour.
    fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
        let linear = |part: u8| match f64::from(part) / 255.0 {
            dark if dark <= 0.04045 => dark / 12.92,
            light => ((light + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    #[test]
    fn every_curve_is_seen_on_white_and_has_a_colour_of_its_own() {
        for (index, colour) in COLOURS.iter().enumerate() {
            let contrast = 1.05 / (luminance(*colour) + 0.05);
            assert!(contrast >= 3.0, "{colour:?}: {contrast:.1}");
            assert!(!COLOURS[..index].contains(colour), "{colour:?} stands twice");
        }
    }
}
