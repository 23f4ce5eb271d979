//! How does one number depend on another? Lines with marks and error bars, and named levels across.
use super::{
    Axis,
    axis::short,
    frame::{Frame, Side},
    legend::Legend,
    marks::{Look, look},
    svg::{GREY, line, nothing, path, through},
};

/// Size of the data.
const SIZE: (f64, f64) = (470.0, 310.0);

/// Marks on a line; with more points only every so many has one.
const MARKS: usize = 30;

/// Dashes of levels, unlike those of the first lines.
const LEVELS: [&str; 4] = ["4 3", "1 3", "8 3 1 3", "12 3"];

/// A place in a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Half the length of the bar around `y`, such as a standard error.
    pub error: Option<f64>,
}

/// Points that are joined, in their order.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// Its points. Those that cannot be drawn (not finite, or not above 0 on a logarithmic axis) are left out.
    pub points: Vec<Point>,
}

/// Lines over the same axes.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The axis along.
    pub x: Axis,
    /// The axis up.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// Values of y with a name, such as that of the full machine, each a line across.
    pub levels: Vec<(String, f64)>,
}

impl Chart {
    /// The picture as the text of an SVG file; one that says so where there is nothing to draw.
    pub fn svg(&self) -> String {
        let lines: Vec<Vec<Point>> = self.lines.iter().map(|line| self.shown(line)).collect();
        let levels: Vec<&(String, f64)> = self.levels.iter().filter(|(_, y)| self.y.shows(*y)).collect();
        let ys = lines.iter().flatten().flat_map(|point| [point.y, low(point), high(point)]).chain(levels.iter().map(|(_, y)| *y));
        let spans = (self.x.span(lines.iter().flatten().map(|point| point.x)), self.y.span(ys));
        let (Some(x), Some(y)) = spans else { return nothing(&self.title) };
        let side = |axis: &Axis, span: super::axis::Span| Side { name: axis.name.clone(), ticks: span.ticks(6), span };
        let legend = self.legend(&lines, &levels);
        let (ends, floor) = (x.ends(), y.ends().0);
        let frame = Frame::new(&self.title, side(&self.x, x), side(&self.y, y), SIZE, true, legend);
        let mut data = String::new();
        for (i, (_, y)) in levels.iter().enumerate() {
            data += &line(frame.at(ends.0, *y), frame.at(ends.1, *y), GREY, &level(i));
        }
        for (i, points) in lines.iter().enumerate() {
            data += &drawn(points, &look(i), &frame, floor);
        }
        frame.picture(&self.title, &self.description(&lines, &levels), &data)
    }

    /// The points of a line that can be drawn, with errors that mean something.
    fn shown(&self, line: &Line) -> Vec<Point> {
        let shown = line.points.iter().filter(|point| self.x.shows(point.x) && self.y.shows(point.y));
        let usable = |error: &f64| error.is_finite() && *error > 0.0;
        shown.map(|point| Point { error: point.error.filter(usable), ..*point }).collect()
    }

    fn legend(&self, lines: &[Vec<Point>], levels: &[&(String, f64)]) -> Legend {
        let mut legend = Legend::default();
        for (i, line) in self.lines.iter().enumerate().filter(|(i, line)| !lines[*i].is_empty() && !line.name.is_empty()) {
            legend.add(&line.name, look(i).sample());
        }
        for (i, (name, _)) in levels.iter().enumerate() {
            legend.add(name, line((0.0, 0.0), (34.0, 0.0), GREY, &level(i)));
        }
        legend
    }

    /// A text alternative of the picture.
    fn description(&self, lines: &[Vec<Point>], levels: &[&(String, f64)]) -> String {
        let mut text = format!("Chart of {} against {}.", self.y.name, self.x.name);
        for (line, points) in self.lines.iter().zip(lines) {
            let Some((first, last)) = points.first().zip(points.last()) else { continue };
            let [x, y, to_x, to_y] = [first.x, first.y, last.x, last.y].map(short);
            text += &match points.len() {
                1 => format!(" {}: {y} at {x}.", line.name),
                count => format!(" {}: {count} points, from {y} at {x} to {to_y} at {to_x}.", line.name),
            };
        }
        text.extend(levels.iter().map(|(name, y)| format!(" Level {name}: {}.", short(*y))));
        text
    }
}

/// One line: bars below, then the line, then the marks.
fn drawn(points: &[Point], look: &Look, frame: &Frame, floor: f64) -> String {
    let mut out = String::new();
    for point in points.iter().filter(|point| point.error.is_some()) {
        // On a logarithmic axis a bar down to zero or below ends at the edge.
        let ((x, top), (_, bottom)) = (frame.at(point.x, high(point)), frame.at(point.x, low(point).max(floor)));
        out += &line((x, top), (x, bottom), look.colour, "stroke-width=\"1\"");
        for y in [top, bottom] {
            out += &line((x - 3.0, y), (x + 3.0, y), look.colour, "stroke-width=\"1\"");
        }
    }
    let places: Vec<(f64, f64)> = points.iter().map(|point| frame.at(point.x, point.y)).collect();
    if places.len() > 1 {
        out += &path(&through(places.iter().copied()), look.colour, &look.stroke());
    }
    let every = if places.len() > MARKS { places.len().div_ceil(MARKS / 2) } else { 1 };
    out.extend(places.iter().step_by(every).map(|&place| look.mark(place)));
    out
}

fn level(i: usize) -> String {
    format!("stroke-width=\"1.4\" stroke-dasharray=\"{}\"", LEVELS[i % LEVELS.len()])
}

fn low(point: &Point) -> f64 {
    point.y - point.error.unwrap_or(0.0)
}

fn high(point: &Point) -> f64 {
    point.y + point.error.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{super::svg::well_formed, *};

    fn chart(points: &[(f64, f64)], logarithmic: bool) -> Chart {
        let points = points.iter().map(|&(x, y)| Point { x, y, error: None }).collect();
        let axis = |name: &str| Axis { name: name.into(), logarithmic };
        Chart {
            title: "A <title>".into(),
            x: axis("vectors"),
            y: axis("error %"),
            lines: vec![Line { name: "a & b".into(), points }],
            levels: vec![],
        }
    }

    #[test]
    fn a_chart_has_its_words_marks_bars_and_levels_and_the_same_bytes_each_time() {
        let mut chart = chart(&[(1.0, 3.0), (2.0, 2.0), (4.0, 1.5)], false);
        chart.lines[0].points[1].error = Some(0.25);
        chart.levels.push(("full machine".into(), 1.0));
        let svg = chart.svg();
        assert!(well_formed(&svg), "{svg}");
        for text in ["<title>A &lt;title&gt;</title>", ">a &amp; b</text>", ">full machine</text>", ">vectors</text>", ">error %</text>"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(svg.contains("a &amp; b: 3 points, from 3 at 1 to 1.5 at 4. Level full machine: 1."));
        // Three marks and a sample; a bar of three strokes.
        assert_eq!((svg.matches("a3.4 3.4 0 1 0 6.8 0").count(), svg.matches("stroke=\"#0072b2\" stroke-width=\"1\"/>").count()), (4, 3));
        assert_eq!(svg, chart.svg());
    }

    #[test]
    fn points_that_cannot_be_drawn_are_left_out() {
        let bad = [(f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, 1.0), (1.0, -2.0), (10.0, 5.0), (20.0, 7.0)];
        let svg = chart(&bad, true).svg();
        assert!(well_formed(&svg) && svg.contains("2 points, from 5 at 10 to 7 at 20"), "{svg}");
        let svg = chart(&bad[..4], true).svg();
        assert!(well_formed(&svg) && svg.contains("nothing to draw"));
        assert!(Chart::default().svg().contains("nothing to draw"));
    }

    #[test]
    fn strange_values_give_whole_pictures() {
        for logarithmic in [false, true] {
            for points in [vec![(5.0, 5.0)], vec![(1.0, 0.2); 3], vec![(1e300, 1e-300), (1e-300, 1e300)]] {
                let mut chart = chart(&points, logarithmic);
                chart.lines[0].points[0].error = Some(1e308);
                chart.levels = vec![("x".into(), f64::NAN), ("y".into(), 0.5)];
                assert!(well_formed(&chart.svg()), "{points:?}");
            }
        }
    }

    #[test]
    fn long_lines_have_few_marks() {
        let points: Vec<(f64, f64)> = (1..=1000).map(|i| (f64::from(i), f64::from(i).sqrt())).collect();
        let marks = chart(&points, false).svg().matches("a3.4 3.4 0 1 0 6.8 0").count();
        assert!((10..=MARKS + 1).contains(&marks), "{marks}");
    }
}
