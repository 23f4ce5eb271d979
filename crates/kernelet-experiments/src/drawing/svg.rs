//! How are shapes and text written? Elements of SVG as text.
use std::fmt::Write;

use kernelet::text::escape;

/// Colours of text, of axes and of grid lines.
pub const INK: &str = "#1a1a1a";
pub const GREY: &str = "#5f5f5f";
pub const PALE: &str = "#e4e4e4";

/// Size of text, and the width that one character takes at most, as a rule.
pub const TEXT: f64 = 13.0;
const CHARACTER: f64 = 7.2;

/// Where a text begins, seen from its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A whole picture on white, with its title and a description of its contents.
pub fn document(width: f64, height: f64, title: &str, description: &str, body: &str) -> String {
    let (w, h) = (number(width.ceil()), number(height.ceil()));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"{TEXT}\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{body}</svg>\n",
        escaped(title),
        escaped(description)
    )
}

/// The picture of nothing.
pub fn nothing(title: &str) -> String {
    let body = text((24.0, 34.0), Anchor::Start, INK, &bold(title)) + &text((24.0, 64.0), Anchor::Start, GREY, "nothing to draw");
    document((48.0 + width(title) * 1.15).max(240.0), 92.0, title, "nothing to draw", &body)
}

/// A straight line; `style` is more attributes.
pub fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, style: &str) -> String {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
    format!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\"{}/>\n", spaced(style))
}

/// A line that is not filled along `data`; `style` is more attributes.
pub fn path(data: &str, colour: &str, style: &str) -> String {
    format!("<path d=\"{data}\" fill=\"none\" stroke=\"{colour}\"{}/>\n", spaced(style))
}

/// Text that is markup already at a place.
pub fn text((x, y): (f64, f64), anchor: Anchor, colour: &str, markup: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    format!("<text x=\"{}\" y=\"{}\"{anchor} fill=\"{colour}\">{markup}</text>\n", number(x), number(y))
}

/// Text that is markup already, turned by `degrees` about its place.
pub fn turned_text((x, y): (f64, f64), degrees: f64, anchor: Anchor, markup: &str) -> String {
    let (x, y, degrees) = (number(x), number(y), number(degrees));
    format!("<g transform=\"translate({x} {y}) rotate({degrees})\">{}</g>\n", text((0.0, 0.0), anchor, INK, markup).trim_end())
}

/// Bold markup of a text.
pub fn bold(text: &str) -> String {
    format!("<tspan font-weight=\"bold\" font-size=\"15\">{}</tspan>", escaped(text))
}

/// Straight lines through the points, as path data.
pub fn through(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut data = String::new();
    for (i, (x, y)) in points.enumerate() {
        // Writing to a string does not fail.
        let _ = write!(data, "{}{} {}", if i == 0 { 'M' } else { 'L' }, number(x), number(y));
    }
    data
}

/// A text as SVG wants it; characters that it cannot hold become spaces.
pub fn escaped(text: &str) -> String {
    escape(&text.replace(|c: char| c.is_control() || ['\u{fffe}', '\u{ffff}'].contains(&c), " "))
}

/// A coordinate with two digits after the point at most.
pub fn number(value: f64) -> String {
    let text = format!("{:.2}", if value.is_finite() { value } else { 0.0 });
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// About how wide a text is.
pub fn width(text: &str) -> f64 {
    CHARACTER * text.chars().count() as f64
}

/// A text in lines not wider than `limit`, where its words allow it; at least one.
pub fn wrapped(text: &str, limit: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}")) <= limit => *line += &format!(" {word}"),
            _ => lines.push(word.into()),
        }
    }
    if lines.is_empty() { vec![String::new()] } else { lines }
}

fn spaced(style: &str) -> String {
    if style.is_empty() { String::new() } else { format!(" {style}") }
}

/// True where every element that is opened is closed, in order, and no coordinate is missing: what a reader of SVG insists on.
#[cfg(test)]
pub fn well_formed(text: &str) -> bool {
    let mut open = vec![];
    for piece in text.split('<').skip(1) {
        let Some((tag, rest)) = piece.split_once('>') else { return false };
        if rest.contains('>') || tag.matches('"').count() % 2 == 1 {
            return false;
        }
        match tag.strip_prefix('/') {
            Some(name) if open.pop() != Some(name) => return false,
            Some(_) => (),
            None if tag.ends_with('/') => (),
            None => open.push(tag.split(' ').next().unwrap()),
        }
    }
    open.is_empty() && text.starts_with("<svg") && !text.contains("NaN") && !text.contains("inf\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_escaped() {
        assert_eq!([0.0, -0.001, 1.5, 100.0, -2.346, f64::NAN].map(number), ["0", "0", "1.5", "100", "-2.35", "0"]);
        assert_eq!(escaped("a<b> & \"c\" 'd'\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;  ");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", width("one two")), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable", 1.0), ["unbreakable"]);
        assert_eq!(wrapped(" ", 100.0), [""]);
    }

    #[test]
    fn the_check_of_form_finds_what_is_wrong() {
        assert!(well_formed(&nothing("a < b")));
        assert!(!well_formed("<svg><g></svg>") && !well_formed("<svg>") && !well_formed("<svg><a x=\"NaN\"/></svg>"));
        assert!(!well_formed("<svg>a > b</svg>"));
    }
}
