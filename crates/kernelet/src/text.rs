//! How are numbers and text written for people? Shared by the program and the experiments, so that a number looks the same everywhere.

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

/// A time in seconds, or milliseconds where it is short.
pub fn seconds(seconds: f64) -> String {
    match seconds < 1.0 {
        true => format!("{:.1} ms", 1e3 * seconds),
        false => format!("{seconds:.2} s"),
    }
}

/// Text as HTML and SVG have it.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            _ => escaped.push(character),
        }
    }
    escaped
}

/// The one of some names that was probably meant: few letters differ, and not all of them.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = name.chars().count();
    let near = names.into_iter().map(|known| (distance(name, known), known)).min();
    near.filter(|(distance, known)| *distance <= 1 + letters / 4 && *distance < letters.max(known.chars().count())).map(|(_, known)| known)
}

/// The number of letters to insert, remove or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
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
    fn the_nearest_name_is_meant_where_it_is_near() {
        let names = ["age", "bought", "city"];
        let cases = [("bougth", Some("bought")), ("cty", Some("city")), ("Age", Some("age")), ("b", None), ("income", None), ("", None)];
        for (name, meant) in cases {
            assert_eq!(nearest(name, names), meant, "{name}");
        }
        assert_eq!((nearest("x", ["y"]), nearest("x", [])), (None, None));
    }

    #[test]
    fn marks_of_html_are_escaped() {
        assert_eq!(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    }
}
