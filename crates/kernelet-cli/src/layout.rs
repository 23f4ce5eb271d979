//! How results look to people: aligned lines, tables, and numbers of a readable length.
use std::borrow::Cow;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

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

/// A table: the first column to the left, the others to the right.
pub fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let cells = |row: &[String]| row.iter().map(|cell| plain(cell).into_owned()).collect::<Vec<_>>();
    table.set_header(cells(header));
    rows.iter().for_each(|row| {
        table.add_row(cells(row));
    });
    for (j, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if j == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

/// A number with six significant digits.
pub fn figure(value: f64) -> String {
    let exponent = value.abs().log10().floor();
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(-5.0..6.0).contains(&exponent) {
        return format!("{value:.5e}");
    }
    let text = format!("{value:.*}", (5.0 - exponent) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A number with as many digits as it takes to read the same number back.
pub fn exact(value: f64) -> String {
    match value == 0.0 || (1e-5..1e16).contains(&value.abs()) || !value.is_finite() {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// A part of a whole in percent.
pub fn percent(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}

/// A whole number with commas between thousands.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 row`, `1,258 rows`.
pub fn counted(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A list in one line, cut where it is long.
pub fn list(items: &[String]) -> String {
    const SHOWN: usize = 20;
    match items.len() > SHOWN {
        true => format!("{}, .. ({} in all)", items[..SHOWN].join(", "), count(items.len())),
        false => items.join(", "),
    }
}

/// A time in seconds, or milliseconds where it is short.
pub fn seconds(seconds: f64) -> String {
    match seconds < 1.0 {
        true => format!("{:.1} ms", 1e3 * seconds),
        false => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_six_digits_and_no_empty_ones() {
        let cases =
            [(0.0, "0"), (1.0, "1"), (0.1 + 0.2, "0.3"), (123456.7, "123457"), (-0.00123456789, "-0.00123457"), (1e-9, "1.00000e-9")];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn exact_numbers_return() {
        for value in [0.1 + 0.2, -0.0, 1e-300, 123456789.0, 1e22, -2.5e-7] {
            assert_eq!(exact(value).parse::<f64>().unwrap().to_bits(), f64::to_bits(value));
        }
        assert_eq!((exact(1e-300), exact(3.0)), ("1e-300".to_string(), "3".to_string()));
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((counted(1, "row"), counted(2, "row")), ("1 row".to_string(), "2 rows".to_string()));
    }

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
