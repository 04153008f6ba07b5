//! A picture of delays: over time and by percentile, on a scale of powers of ten.

use std::fmt::Write as _;
use std::time::Duration;

/// What was late by how much.
#[derive(Clone, Copy)]
pub(crate) struct Pickup {
    /// When it was written or due, since the load began.
    pub(crate) at: Duration,
    /// How long it took from there.
    pub(crate) delay: Duration,
}

/// One load, and how it fared.
pub(crate) struct Run {
    pub(crate) name: &'static str,
    pub(crate) color: &'static str,
    pub(crate) pickups: Vec<Pickup>,
}

impl Run {
    /// The delay that this share did not exceed.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        let mut delays: Vec<_> = self.pickups.iter().map(|pickup| pickup.delay).collect();
        delays.sort_unstable();
        let at = (delays.len() as f64 * share) as usize;
        delays.get(at.min(delays.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// What a picture says.
pub(crate) struct Picture {
    pub(crate) title: &'static str,
    /// What a delay is.
    pub(crate) delay: &'static str,
    /// What the time of a pick-up is.
    pub(crate) at: &'static str,
    /// What the percentiles are of.
    pub(crate) all: &'static str,
    pub(crate) lasts: Duration,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 470.0;
const TOP: f64 = 116.0;
const BOTTOM: f64 = 400.0;

/// The left panel and the right one.
const PANELS: [Panel; 2] =
    [Panel { left: 96.0, right: 506.0 }, Panel { left: 544.0, right: 936.0 }];

struct Panel {
    left: f64,
    right: f64,
}

impl Panel {
    /// The x position of a share of the width.
    fn x(&self, share: f64) -> f64 {
        self.left + (self.right - self.left) * share
    }
}

/// The powers of ten, in milliseconds, between which all delays are.
#[derive(Clone, Copy)]
struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    fn of(runs: &[Run]) -> Self {
        let ends = runs.iter().flat_map(|run| [run.percentile(0.0), run.percentile(1.0)]);
        let powers: Vec<f64> = ends.map(|delay| milliseconds(delay).log10()).collect();
        let low = powers.iter().copied().fold(f64::MAX, f64::min).floor() as i32;
        let high = powers.iter().copied().fold(f64::MIN, f64::max).ceil() as i32;
        Self { low, high }
    }

    fn y(self, delay: Duration) -> f64 {
        let share =
            (milliseconds(delay).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        BOTTOM - (BOTTOM - TOP) * share
    }
}

fn milliseconds(delay: Duration) -> f64 {
    (delay.as_secs_f64() * 1e3).max(1e-3)
}

/// The whole picture as SVG.
pub(crate) fn draw(picture: &Picture, runs: &[Run]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"14\" fill=\"#222\">\n\
         <!-- Written by `make bench`; do not edit. -->\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    let bold = "font-size=\"17\" font-weight=\"bold\"";
    text(&mut svg, (24.0, 30.0), "start", bold, picture.title);
    let upright = format!("transform=\"rotate(-90 24 {0})\"", (TOP + BOTTOM) / 2.0);
    text(&mut svg, (24.0, (TOP + BOTTOM) / 2.0), "middle", &upright, picture.delay);
    let mut x = 24.0;
    for run in runs.iter() {
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.0} 56h28\" stroke=\"{}\" stroke-width=\"4\"/>",
            run.color
        );
        text(&mut svg, (x + 36.0, 61.0), "start", "", run.name);
        x += 72.0 + run.name.len() as f64 * 7.2;
    }
    let scale = Scale::of(runs);
    let [over_time, by_percentile] = &PANELS;
    grid(&mut svg, scale);
    draw_over_time(&mut svg, over_time, picture, runs, scale);
    draw_by_percentile(&mut svg, by_percentile, picture, runs, scale);
    svg + "</svg>\n"
}

/// The lines of the powers of ten, and their names.
fn grid(svg: &mut String, scale: Scale) {
    for power in scale.low..=scale.high {
        let delay = Duration::from_secs_f64(10_f64.powi(power) / 1e3);
        let y = scale.y(delay);
        for panel in &PANELS {
            rule(svg, (panel.left, y), (panel.right, y));
        }
        let name = match power {
            ..=-1 => format!("{} ms", 10_f64.powi(power)),
            0..=2 => format!("{} ms", 10_i64.pow(power as u32)),
            _ => format!("{} s", 10_i64.pow(power as u32 - 3)),
        };
        text(svg, (PANELS[0].left - 8.0, y + 5.0), "end", "", &name);
    }
}

/// The median of each second as a line, and from the least to the longest as a band.
fn draw_over_time(svg: &mut String, panel: &Panel, picture: &Picture, runs: &[Run], scale: Scale) {
    let seconds = picture.lasts.as_secs().max(1);
    heading(svg, panel, "Delay over time: median and range of each second", picture.at);
    for second in (0..=seconds).step_by(if seconds > 30 { 10 } else { 5 }) {
        let x = panel.x(second as f64 / seconds as f64);
        tick(svg, x, &second.to_string());
    }
    for run in runs {
        let (mut line, mut above, mut below) = (Vec::new(), Vec::new(), Vec::new());
        for second in 0..seconds {
            let written = run.pickups.iter().filter(|pickup| pickup.at.as_secs() == second);
            let mut delays: Vec<_> = written.map(|pickup| pickup.delay).collect();
            delays.sort_unstable();
            let [Some(least), Some(longest)] = [delays.first(), delays.last()] else { continue };
            let x = panel.x((second as f64 + 0.5) / seconds as f64);
            line.push((x, scale.y(delays[delays.len() / 2])));
            above.push((x, scale.y(*longest)));
            below.push((x, scale.y(*least)));
        }
        above.extend(below.into_iter().rev());
        let color = run.color;
        path(svg, &above, &format!("fill=\"{color}\" fill-opacity=\"0.15\""));
        path(svg, &line, &format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2.5\""));
    }
}

/// All delays from the least to the longest, stretched towards the long ones.
fn draw_by_percentile(
    svg: &mut String,
    panel: &Panel,
    picture: &Picture,
    runs: &[Run],
    scale: Scale,
) {
    heading(svg, panel, "Delay by percentile", picture.all);
    // Each third of the width is a tenth of what was left of the messages.
    let place = |share: f64| -(1.0 - share).log10() / 3.0;
    for (share, name) in [(0.0, "0"), (0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9")] {
        tick(svg, panel.x(place(share)), name);
    }
    for run in runs {
        let points: Vec<_> = (0..=150)
            .map(|step| {
                let at = f64::from(step) / 150.0;
                let share = 1.0 - 10_f64.powf(-3.0 * at);
                (panel.x(at), scale.y(run.percentile(share)))
            })
            .collect();
        let style = format!("fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"", run.color);
        path(svg, &points, &style);
    }
}

fn heading(svg: &mut String, panel: &Panel, above: &str, below: &str) {
    text(svg, (panel.left, TOP - 14.0), "start", "font-weight=\"bold\"", above);
    text(svg, (panel.x(0.5), BOTTOM + 48.0), "middle", "", below);
}

fn tick(svg: &mut String, x: f64, name: &str) {
    rule(svg, (x, BOTTOM), (x, BOTTOM + 6.0));
    text(svg, (x, BOTTOM + 24.0), "middle", "", name);
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    path(svg, &[from, to], "stroke=\"#d0d0d0\"");
}

fn path(svg: &mut String, points: &[(f64, f64)], style: &str) {
    let mut places = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(places, "{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
    }
    let _ = writeln!(svg, "<path d=\"{places}\" stroke-linejoin=\"round\" {style}/>");
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, style: &str, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {style}>{words}</text>"
    );
}
