//! Which colour, dash and mark has a line? One of each in turn, so that no two of the first 35 lines look the same.
use super::svg::{line, number};

/// The colours of Okabe and Ito, without yellow, which is too pale on white: blue, vermilion, green, purple, orange, sky blue, black.
pub const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// Lengths of dashes and gaps; the first is a whole line.
const DASHES: [&str; 5] = ["", "7 3", "2 2.5", "9 3 2 3", "14 4"];

/// Shapes around a place, of about the same weight: what follows the first move of a closed path.
const SHAPES: [&str; 7] = [
    "m-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",
    "m-3.1 -3.1h6.2v6.2h-6.2z",
    "m0 -4.2l4 7h-8z",
    "m0 -4.5l4.1 4.5l-4.1 4.5l-4.1 -4.5z",
    "m0 4.2l4 -7h-8z",
    "m-1.2 -4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z",
    "m0 -4.6l4.4 3.2l-1.7 5.2h-5.4l-1.7 -5.2z",
];

/// How line `i` looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub colour: &'static str,
    dash: &'static str,
    shape: &'static str,
}

/// How line `i` looks.
pub fn look(i: usize) -> Look {
    let (round, place) = (i / COLOURS.len(), i % COLOURS.len());
    Look { colour: COLOURS[place], dash: DASHES[(place + round) % DASHES.len()], shape: SHAPES[(place + round) % SHAPES.len()] }
}

impl Look {
    /// Attributes of its line.
    pub fn stroke(&self) -> String {
        "stroke-width=\"1.8\" stroke-linejoin=\"round\"".to_string() + &dashed(self.dash)
    }

    /// Its mark at a place, with a white rim that sets it off from lines below.
    pub fn mark(&self, (x, y): (f64, f64)) -> String {
        let (x, y, shape, colour) = (number(x), number(y), self.shape, self.colour);
        format!("<path d=\"M{x} {y}{shape}\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.7\"/>\n")
    }

    /// A piece of the line with its mark, 34 wide around the origin's height.
    pub fn sample(&self) -> String {
        line((0.0, 0.0), (34.0, 0.0), self.colour, &self.stroke()) + &self.mark((17.0, 0.0))
    }
}

/// How the `i`th of several plain lines without marks is dashed: the first not at all.
pub fn dash(i: usize) -> &'static str {
    DASHES[i % DASHES.len()]
}

/// The attribute for a dash; nothing for a whole line.
pub fn dashed(dash: &str) -> String {
    if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_five_lines_look_different() {
        let looks: Vec<Look> = (0..35).map(look).collect();
        for (i, a) in looks.iter().enumerate() {
            assert!(looks[..i].iter().all(|b| a != b), "{i}");
        }
    }
}
