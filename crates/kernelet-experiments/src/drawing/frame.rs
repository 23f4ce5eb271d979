//! What stands around the data? The title above, two axes with their ticks, the legend to the right.
use super::{
    axis::{Span, Tick},
    legend::Legend,
    svg::{Anchor, GREY, INK, PALE, bold, document, escaped, line, path, text, through, turned_text, width, wrapped},
};

/// Free space at the edges of the picture, between axis and legend, and the height of a line of the title.
const EDGE: f64 = 18.0;
const ASIDE: f64 = 22.0;
const LINE: f64 = 20.0;

/// Bold text of the title is wider than other text.
const BOLD: f64 = 1.15;

/// How far names of ticks are turned where they do not fit side by side.
const TURN: f64 = 32.0;

/// One side of the data: a name, the range, and the places that are marked.
pub struct Side {
    pub name: String,
    pub span: Span,
    pub ticks: Vec<Tick>,
}

/// The rectangle of the data and what stands around it.
pub struct Frame {
    x: Side,
    y: Side,
    title: Vec<String>,
    legend: Legend,
    /// Left, top, width and height of the data.
    area: [f64; 4],
    /// True where the names along x are turned.
    turned: bool,
    /// True where lines across mark the ticks of y; without them the data are framed on all sides.
    grid: bool,
}

impl Frame {
    /// A frame for data of this size.
    pub fn new(title: &str, x: Side, y: Side, (across, high): (f64, f64), grid: bool, legend: Legend) -> Self {
        let named = |side: &Side| side.ticks.iter().filter(|tick| tick.label.is_some()).count().max(1) as f64;
        let turned = widest(&x) + 10.0 > across / named(&x);
        let left = EDGE + if y.name.is_empty() { 0.0 } else { 22.0 } + widest(&y) + 10.0;
        // A turned name at the first tick may reach beyond the left end.
        let left = if turned { left.max(EDGE + widest(&x) * TURN.to_radians().cos() - 0.3 * across / named(&x)) } else { left };
        let title = wrapped(title, (across + left - EDGE) / BOLD);
        let top = EDGE + LINE * title.len() as f64 + 6.0;
        Frame { x, y, title, legend, area: [left, top, across, high], turned, grid }
    }

    /// Where a pair of values lies.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let [left, top, across, high] = self.area;
        (left + across * self.x.span.place(x), top + high * (1.0 - self.y.span.place(y)))
    }

    /// The whole picture with these data in it.
    pub fn picture(&self, title: &str, description: &str, data: &str) -> String {
        let [left, top, across, high] = self.area;
        let (beside, legend_high) = self.legend.size();
        let right = if beside > 0.0 { ASIDE + beside + EDGE } else { (EDGE + 8.0).max(widest(&self.x) / 2.0 + 6.0) };
        let names = if self.turned { widest(&self.x) * TURN.to_radians().sin() + 16.0 } else { 18.0 };
        let below = 8.0 + names + if self.x.name.is_empty() { 0.0 } else { 22.0 } + EDGE - 4.0;
        let titles = self.title.iter().enumerate();
        let mut body: String =
            titles.map(|(i, line)| text((EDGE, EDGE + 12.0 + LINE * i as f64), Anchor::Start, INK, &bold(line))).collect();
        body += &self.lines_across();
        body += data;
        body += &self.axes();
        if !self.x.name.is_empty() {
            body += &text((left + across / 2.0, top + high + 8.0 + names + 16.0), Anchor::Middle, INK, &escaped(&self.x.name));
        }
        if !self.y.name.is_empty() {
            body += &turned_text((EDGE + 10.0, top + high / 2.0), -90.0, Anchor::Middle, &escaped(&self.y.name));
        }
        body += &self.legend.draw((left + across + ASIDE, top));
        let widest_title = self.title.iter().map(|line| width(line) * BOLD).fold(0.0, f64::max);
        let page = (left + across + right).max(2.0 * EDGE + widest_title);
        document(page, (top + high + below).max(top + legend_high + EDGE), title, description, &body)
    }

    fn lines_across(&self) -> String {
        let [left, _, across, _] = self.area;
        let named = self.y.ticks.iter().filter(|tick| self.grid && tick.label.is_some());
        named
            .map(|tick| {
                let (_, y) = self.at(0.0, tick.value);
                line((left, y), (left + across, y), PALE, "stroke-width=\"1\"")
            })
            .collect()
    }

    /// The two axes, their ticks and the names of those.
    fn axes(&self) -> String {
        let [left, top, across, high] = self.area;
        let bottom = top + high;
        let mut corners = vec![(left, top), (left, bottom), (left + across, bottom)];
        if !self.grid {
            corners.extend([(left + across, top), (left, top)]);
        }
        let mut out = path(&through(corners.into_iter()), GREY, "stroke-width=\"1\"");
        for Tick { value, label } in &self.y.ticks {
            let (_, y) = self.at(0.0, *value);
            let reach = if label.is_some() { 5.0 } else { 3.0 };
            out += &line((left - reach, y), (left, y), GREY, "stroke-width=\"1\"");
            out.extend(label.as_ref().map(|label| text((left - 9.0, y + 4.5), Anchor::End, INK, &label.markup)));
        }
        for Tick { value, label } in &self.x.ticks {
            let (x, _) = self.at(*value, 0.0);
            let reach = if label.is_some() { 5.0 } else { 3.0 };
            out += &line((x, bottom), (x, bottom + reach), GREY, "stroke-width=\"1\"");
            let Some(label) = label else { continue };
            out += &match self.turned {
                true => turned_text((x + 4.0, bottom + 17.0), -TURN, Anchor::End, &label.markup),
                false => text((x, bottom + 20.0), Anchor::Middle, INK, &label.markup),
            };
        }
        out
    }
}

fn widest(side: &Side) -> f64 {
    side.ticks.iter().filter_map(|tick| tick.label.as_ref()).map(|label| label.width).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            axis::Label,
            svg::{number, well_formed},
        },
        *,
    };

    fn side(names: &[&str]) -> Side {
        let label = |name: &str| Label { markup: name.into(), width: width(name) };
        let ticks = names.iter().enumerate().map(|(i, name)| Tick { value: i as f64, label: Some(label(name)) }).collect();
        Side { name: "side".into(), span: Span::exactly(0.0, names.len() as f64), ticks }
    }

    #[test]
    fn the_data_fill_their_area_and_the_legend_stands_to_the_right() {
        let mut legend = Legend::default();
        legend.add("sign", String::new());
        let frame = Frame::new("title", side(&["a", "b"]), side(&["c"]), (200.0, 100.0), true, legend);
        let ((left, bottom), (right, top)) = (frame.at(0.0, 0.0), frame.at(2.0, 1.0));
        assert_eq!((right - left, bottom - top), (200.0, 100.0));
        let svg = frame.picture("title", "", "");
        assert!(well_formed(&svg) && svg.contains(&format!("translate({} {})", number(right + ASIDE), number(top + 8.0))), "{svg}");
    }

    #[test]
    fn names_that_do_not_fit_side_by_side_are_turned() {
        let turned = |names: &[&str]| {
            let frame = Frame::new("t", side(names), side(&["c"]), (200.0, 100.0), true, Legend::default());
            frame.picture("t", "", "").matches("rotate(-32)").count()
        };
        assert_eq!((turned(&["a", "b"]), turned(&["a long name", "a longer name", "b"])), (0, 3));
    }
}
