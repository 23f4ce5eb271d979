//! How results look to people: aligned lines and tables, with numbers as [`kernelet::text`] writes them.
use std::borrow::Cow;

pub use kernelet::text::{count, counted, exact, figure, percent, seconds};

/// Text from files in one line that changes nothing about a terminal: control characters and line breaks are written as `\n` or `\u{1b}`.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, breaks_out)
}

/// The same for text of several lines, whose line ends and tabs stay.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| breaks_out(c) && !matches!(c, '\n' | '\t'))
}

fn breaks_out(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| if is_bad(c) { plain.extend(c.escape_default()) } else { plain.push(c) });
    Cow::Owned(plain)
}

/// Names and values, one a line, the values below each other.
pub fn lines(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    pairs.iter().map(|(name, value)| format!("{name:width$}  {}\n", plain(value))).collect()
}

/// A table: the first column to the left, the others to the right, two spaces between them.
pub fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let lines: Vec<Vec<Cow<str>>> =
        std::iter::once(header).chain(rows.iter().map(Vec::as_slice)).map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |j: usize| lines.iter().filter_map(|line| line.get(j)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(j, cell): (usize, &Cow<str>)| match j {
        0 => format!("{cell:<width$}", width = widths[j]),
        _ => format!("  {cell:>width$}", width = widths[j]),
    };
    lines.iter().map(|line| line.iter().enumerate().map(cell).collect::<String>().trim_end().to_string() + "\n").collect()
}

/// A list in one line, cut where it is long.
pub fn list(items: &[String]) -> String {
    const SHOWN: usize = 20;
    match items.len() > SHOWN {
        true => format!("{}, .. ({} in all)", items[..SHOWN].join(", "), count(items.len())),
        false => items.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_files_stays_in_its_line_and_sends_nothing_to_the_terminal() {
        assert_eq!(plain("a\nb\t\u{1b}[31m\u{9b}\u{7f}\u{2028}\\n"), "a\\nb\\t\\u{1b}[31m\\u{9b}\\u{7f}\\u{2028}\\n");
        assert_eq!(plain("caf\u{e9} +1"), "caf\u{e9} +1");
        assert_eq!(plain_lines("a\tb\n\rc\u{1b}\n"), "a\tb\n\\rc\\u{1b}\n");
        assert_eq!(lines(&[("a", "1\n2".into())]), "a  1\\n2\n");
        assert_eq!(table(&["x\n".into()], &[vec!["\u{1b}c".into()]]), "x\\n\n\\u{1b}c\n");
    }

    #[test]
    fn values_stand_below_each_other() {
        assert_eq!(lines(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2\n");
        let header = ["", "x"].map(String::from);
        assert_eq!(table(&header, &[vec!["row".into(), "12".into()]]), "      x\nrow  12\n");
    }
}
