//! How do groups of numbers spread? A box from quartile to quartile with the median, whiskers, and points beyond them.
//!
//! Quartiles are interpolated between order statistics, (n - 1) p apart from the least, as usual. A whisker ends at the farthest value
//! within 1.5 heights of the box from it.
use super::{
    Axis,
    axis::{Label, Span, Tick, short},
    frame::{Frame, Side},
    legend::Legend,
    marks::COLOURS,
    svg::{GREY, escaped, line, nothing, number, width},
};

/// Height of the data, width of a group at least, and width of all.
const HEIGHT: f64 = 310.0;
const GROUP: f64 = 44.0;
const WIDTH: f64 = 470.0;

/// How far a whisker reaches, in heights of the box.
const REACH: f64 = 1.5;

/// Spread of several groups of numbers.
#[derive(Clone, Debug, Default)]
pub struct Boxes {
    /// What it shows.
    pub title: String,
    /// The axis up.
    pub y: Axis,
    /// Names and values. Values that cannot be drawn (not finite, or not above 0 on a logarithmic axis) are left out.
    pub groups: Vec<(String, Vec<f64>)>,
}

/// What is drawn of a group.
#[derive(Debug, PartialEq)]
struct Summary {
    quartiles: [f64; 3],
    whiskers: [f64; 2],
    beyond: Vec<f64>,
}

impl Boxes {
    /// The picture as the text of an SVG file; one that says so where there is nothing to draw.
    pub fn svg(&self) -> String {
        let shown = |values: &Vec<f64>| values.iter().copied().filter(|&value| self.y.shows(value)).collect::<Vec<f64>>();
        let summaries: Vec<Option<Summary>> = self.groups.iter().map(|(_, values)| Summary::of(shown(values))).collect();
        let Some(span) = self.y.span(self.groups.iter().flat_map(|(_, values)| values.iter().copied())) else {
            return nothing(&self.title);
        };
        let y = Side { name: self.y.name.clone(), ticks: span.ticks(6), span };
        let label = |name: &str| Label { markup: escaped(name), width: width(name) };
        let ticks = self.groups.iter().enumerate().map(|(i, (name, _))| Tick { value: i as f64, label: Some(label(name)) });
        let count = self.groups.len() as f64;
        let x = Side { name: String::new(), ticks: ticks.collect(), span: Span::exactly(-0.5, count - 0.5) };
        let across = WIDTH.max(GROUP * count);
        let frame = Frame::new(&self.title, x, y, (across, HEIGHT), true, Legend::default());
        let half = (0.3 * across / count).min(26.0);
        let drawn = summaries.iter().enumerate().filter_map(|(i, summary)| Some(summary.as_ref()?.drawn(i as f64, half, &frame)));
        frame.picture(&self.title, &self.description(&summaries), &drawn.collect::<String>())
    }

    /// A text alternative of the picture.
    fn description(&self, summaries: &[Option<Summary>]) -> String {
        let mut text = format!("Box plot of {}.", self.y.name);
        for ((name, _), summary) in self.groups.iter().zip(summaries) {
            text += &match summary {
                None => format!(" {name}: nothing."),
                Some(summary) => {
                    let [low, median, high] = summary.quartiles.map(short);
                    format!(" {name}: median {median}, quartiles {low} and {high}.")
                }
            };
        }
        text
    }
}

impl Summary {
    /// Of values in any order; None where there are none.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let quartiles = [quantile(&values, 0.25)?, quantile(&values, 0.5)?, quantile(&values, 0.75)?];
        let reach = REACH * (quartiles[2] - quartiles[0]);
        let (low, high) = (quartiles[0] - reach, quartiles[2] + reach);
        let (within, beyond): (Vec<f64>, Vec<f64>) = values.into_iter().partition(|value| (low..=high).contains(value));
        let (least, most) = within.first().zip(within.last())?;
        // Quartiles between values may lie beyond all values within reach.
        Some(Summary { quartiles, whiskers: [least.min(quartiles[0]), most.max(quartiles[2])], beyond })
    }

    fn drawn(&self, at: f64, half: f64, frame: &Frame) -> String {
        let x = frame.at(at, 0.0).0;
        let y = |value: f64| frame.at(at, value).1;
        let [low, median, high] = self.quartiles.map(y);
        let mut out = String::new();
        for (end, edge) in [(y(self.whiskers[0]), low), (y(self.whiskers[1]), high)] {
            out += &line((x, end), (x, edge), GREY, "stroke-width=\"1.2\" stroke-dasharray=\"4 2.5\"");
            out += &line((x - half / 2.0, end), (x + half / 2.0, end), GREY, "stroke-width=\"1.2\"");
        }
        let [left, top, wide, tall] = [x - half, high, 2.0 * half, (low - high).max(0.0)].map(number);
        out += &format!("<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{tall}\" fill=\"#e3eff7\" ");
        out += &format!("stroke=\"{}\" stroke-width=\"1.4\"/>\n", COLOURS[0]);
        out += &line((x - half, median), (x + half, median), MEDIAN, "stroke-width=\"2.2\"");
        for place in self.beyond.iter().map(|&value| y(value)) {
            let (x, y) = (number(x), number(place));
            out += &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"2.6\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.1\"/>\n", COLOURS[0]);
        }
        out
    }
}

/// Red as in papers: the vermilion that colour-blind readers distinguish from blue.
const MEDIAN: &str = COLOURS[1];

/// The quantile `p` of sorted values, interpolated linearly.
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let place = p * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    let part = place - place.floor();
    Some(low * (1.0 - part) + high * part)
}

#[cfg(test)]
mod tests {
    use super::{super::svg::well_formed, *};

    #[test]
    fn a_box_is_made_of_quartiles_whiskers_and_points_beyond() {
        // numpy.percentile([1, 2, 3, 4, 5, 6, 30], [25, 50, 75]) is 2.5, 4, 5.5; whiskers reach from -2 to 10.
        let summary = Summary::of(vec![30.0, 1.0, 6.0, 2.0, 5.0, 4.0, 3.0]).unwrap();
        assert_eq!(summary, Summary { quartiles: [2.5, 4.0, 5.5], whiskers: [1.0, 6.0], beyond: vec![30.0] });
        let one = Summary::of(vec![2.0]).unwrap();
        assert_eq!(one, Summary { quartiles: [2.0; 3], whiskers: [2.0; 2], beyond: vec![] });
        assert_eq!(Summary::of(vec![]), None);
        let far = Summary::of(vec![0.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(far, Summary { quartiles: [0.0; 3], whiskers: [0.0; 2], beyond: vec![1.0] });
    }

    #[test]
    fn boxes_have_names_red_medians_and_the_same_bytes_each_time() {
        let groups = vec![("a<b".into(), vec![1.0, 2.0, 3.0]), ("none".into(), vec![f64::NAN]), ("c".into(), vec![2.0, 2.0])];
        let boxes = Boxes { title: "Spread".into(), y: Axis { name: "error".into(), logarithmic: false }, groups };
        let svg = boxes.svg();
        assert!(well_formed(&svg), "{svg}");
        assert!(svg.contains(">a&lt;b</text>") && svg.contains(">none</text>") && svg.contains("none: nothing."));
        assert_eq!((svg.matches(MEDIAN).count(), svg.matches("fill=\"#e3eff7\"").count()), (2, 2));
        assert_eq!(svg, boxes.svg());
    }

    #[test]
    fn nothing_and_strange_values_give_whole_pictures() {
        assert!(Boxes::default().svg().contains("nothing to draw"));
        for logarithmic in [false, true] {
            let groups = vec![("a".into(), vec![-1.0, 0.0, 1e300, 3.0]), ("b".into(), vec![7.0]), ("x".repeat(80), vec![])];
            let svg = Boxes { title: "t".into(), y: Axis { name: "y".into(), logarithmic }, groups }.svg();
            assert!(well_formed(&svg), "{svg}");
        }
    }
}
