//! What do the signs mean? Samples with their names, one below the other, to the right of the data.
use super::svg::{Anchor, INK, escaped, number, text, width, wrapped};

/// Names wider than this are broken between words.
const WIDEST: f64 = 210.0;

/// Width of a sample, distance to its name, and heights of a line of text and of the gap between entries.
const SAMPLE: f64 = 34.0;
const GAP: f64 = 8.0;
const LINE: f64 = 16.0;
const BETWEEN: f64 = 6.0;

/// A sign and its name.
pub struct Entry {
    /// The name.
    pub name: String,
    /// The sign as markup, 34 wide from the origin, around the height of the origin.
    pub sample: String,
}

/// All signs.
#[derive(Default)]
pub struct Legend {
    pub entries: Vec<Entry>,
}

impl Legend {
    /// One more sign.
    pub fn add(&mut self, name: &str, sample: String) {
        self.entries.push(Entry { name: name.into(), sample });
    }

    /// Its width and height; nothing without entries.
    pub fn size(&self) -> (f64, f64) {
        if self.entries.is_empty() {
            return (0.0, 0.0);
        }
        let names: Vec<Vec<String>> = self.entries.iter().map(|entry| wrapped(&entry.name, WIDEST)).collect();
        let widest = names.iter().flatten().map(|line| width(line)).fold(0.0, f64::max);
        let lines: usize = names.iter().map(Vec::len).sum();
        (SAMPLE + GAP + widest, LINE * lines as f64 + BETWEEN * (names.len() - 1) as f64)
    }

    /// All entries, from the left upper corner on.
    pub fn draw(&self, (left, top): (f64, f64)) -> String {
        let (mut out, mut y) = (String::new(), top);
        for entry in &self.entries {
            out += &format!("<g transform=\"translate({} {})\">\n{}</g>\n", number(left), number(y + LINE / 2.0), entry.sample);
            for name in wrapped(&entry.name, WIDEST) {
                out += &text((left + SAMPLE + GAP, y + LINE / 2.0 + 4.5), Anchor::Start, INK, &escaped(&name));
                y += LINE;
            }
            y += BETWEEN;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_below_each_other_and_long_names_take_more_lines() {
        let mut legend = Legend::default();
        assert_eq!((legend.size(), legend.draw((0.0, 0.0))), ((0.0, 0.0), String::new()));
        legend.add("short", String::new());
        let (wide, high) = legend.size();
        legend.add(&"word ".repeat(20), String::new());
        let (wider, higher) = legend.size();
        assert!(wide < wider && wider <= SAMPLE + GAP + WIDEST && higher >= 4.0 * high, "{wide} {wider} {high} {higher}");
        let drawn = legend.draw((100.0, 50.0));
        assert!(
            drawn.contains("translate(100 58)") && drawn.contains("translate(100 80)") && drawn.contains("x=\"142\" y=\"62.5\""),
            "{drawn}"
        );
    }
}
