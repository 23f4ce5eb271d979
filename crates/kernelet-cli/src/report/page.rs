//! The page: a template, a style, a script, and the figures as JSON, in one text without any reference to the outside.
use kernelet::text::escape;

use crate::{
    failure::{Failure, Result},
    layout::{count, figure, percent},
};

use super::figures::{Figures, Level};

const TEMPLATE: &str = include_str!("assets/report.html");
const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: &str = concat!(
    include_str!("assets/elements.js"),
    include_str!("assets/figures.js"),
    include_str!("assets/parts.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/axes.js"),
    include_str!("assets/curves.js"),
    include_str!("assets/drawings.js"),
    include_str!("assets/page.js"),
);

/// The whole page. What is text in the figures stays text: nothing in a label or a title can end the script or begin an element.
pub fn page(figures: &Figures) -> Result<String> {
    let json = serde_json::to_string(figures).map_err(|error| Failure::failed(format!("no JSON could be made: {error}")))?;
    let mut page = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + json.len() + 4096);
    for piece in TEMPLATE.split("<!--") {
        let (name, rest) = piece.split_once("-->").unwrap_or(("", piece));
        match name {
            "TITLE" => page += &escape(&figures.title),
            "STYLE" => page += STYLE,
            "SCRIPT" => page += SCRIPT,
            "FIGURES" => page += &inert(&json),
            "SUMMARY" => page += &escape(&summary(figures)),
            "SIZES" => sizes(&mut page, figures),
            _ => {}
        }
        page += rest;
    }
    Ok(page)
}

/// Whether this is such a page: what stands before the title is the same in all of them.
pub fn is_page(bytes: &[u8]) -> bool {
    TEMPLATE.split("<!--").next().is_some_and(|head| bytes.starts_with(head.as_bytes()))
}

/// JSON that no reader of HTML takes for anything but text, and that is the same JSON.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The chosen size in a sentence, for readers without the script and for the terminal.
pub fn summary(figures: &Figures) -> String {
    let Some((method, level)) = chosen(figures) else { return String::new() };
    let full = &figures.full.level;
    let mut parts = vec![];
    if let (Some(error), Some(before)) = (finite(level.error), finite(full.error)) {
        parts.push(if figures.task == "classes" { points(error - before) } else { relative(error, before) });
    } else if let Some(error) = finite(level.error) {
        parts.push(format!("error {}", error_text(figures, Some(error))));
    } else if let Some(agreement) = finite(level.agreement) {
        parts.push(format!("the same label on {} of the rows", percent(agreement)));
    } else if let Some(residual) = finite(level.residual) {
        parts.push(format!("relative residual {}", percent(residual)));
    }
    if full.vectors > level.vectors && level.vectors > 0 {
        parts.push(format!("{:.*}x less work", usize::from(full.vectors < 10 * level.vectors), full.vectors as f64 / level.vectors as f64));
    }
    parts.extend(level.bytes.map(bytes));
    format!("{} of {} vectors by {method}: {}", count(level.vectors), count(full.vectors), parts.join(", "))
}

/// The chosen method and size.
pub fn chosen(figures: &Figures) -> Option<(&str, &Level)> {
    let method = figures.methods.get(figures.chosen.method)?;
    Some((&method.name, method.levels.get(figures.chosen.level)?))
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn points(more: f64) -> String {
    match 100.0 * more {
        more if more.abs() < 0.05 => "the same error".into(),
        more if more > 0.0 => format!("{more:.1} points more error"),
        more => format!("{:.1} points less error", -more),
    }
}

fn relative(error: f64, before: f64) -> String {
    match 100.0 * (error / before - 1.0) {
        more if !more.is_finite() => format!("squared error {}", figure(error)),
        more if more.abs() < 0.05 => "the same squared error".into(),
        more if more > 0.0 => format!("{more:.1} % more squared error"),
        more => format!("{:.1} % less squared error", -more),
    }
}

/// A number of bytes for people.
pub fn bytes(bytes: usize) -> String {
    match bytes as f64 {
        bytes if bytes < 1e2 => format!("{bytes} bytes"),
        bytes if bytes < 1e4 => format!("{:.1} kB", bytes / 1e3),
        bytes if bytes < 1e6 => format!("{:.0} kB", bytes / 1e3),
        bytes => format!("{:.1} MB", bytes / 1e6),
    }
}

fn error_text(figures: &Figures, error: Option<f64>) -> String {
    match finite(error) {
        None => "–".into(),
        Some(error) if figures.task == "classes" => percent(error),
        Some(error) => figure(error),
    }
}

/// Every size of every method as a table: what the curves say, for those who cannot see them.
fn sizes(page: &mut String, figures: &Figures) {
    for method in &figures.methods {
        *page += &format!("<h3>{}</h3><p>{}</p>", escape(&method.name), escape(&method.about));
        *page += "<div class=\"wide\"><table><thead><tr><th scope=\"col\">vectors</th><th scope=\"col\">error</th><th scope=\"col\">agreement</th>\
                  <th scope=\"col\">residual</th><th scope=\"col\">bytes</th><th scope=\"col\">µs a row</th></tr></thead><tbody>";
        for level in &method.levels {
            let number = |value: Option<f64>, text: fn(f64) -> String| finite(value).map_or("–".to_string(), text);
            *page += &format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                count(level.vectors),
                error_text(figures, level.error),
                number(level.agreement, percent),
                number(level.residual, |value| format!("{value:.3e}")),
                level.bytes.map_or("–".to_string(), count),
                number(level.row_us, |value| format!("{value:.2}")),
            );
        }
        *page += "</tbody></table></div>";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::{Full, Method};

    fn figures() -> Figures {
        let level = |vectors, error| Level { vectors, error: Some(error), bytes: Some(38_000), ..Level::default() };
        let method = Method { name: "pursuit".into(), levels: vec![level(200, 0.015)], ..Method::default() };
        let full = Full { level: level(12_295, 0.012), ..Full::default() };
        Figures { task: "classes", methods: vec![method], full, labels: vec!["a".into()], ..Figures::default() }
    }

    #[test]
    fn the_summary_is_a_sentence_for_people() {
        assert_eq!(summary(&figures()), "200 of 12,295 vectors by pursuit: 0.3 points more error, 61x less work, 38 kB");
        let mut none = figures();
        (none.methods[0].levels[0].error, none.methods[0].levels[0].bytes) = (Some(f64::NAN), None);
        assert_eq!(summary(&none), "200 of 12,295 vectors by pursuit: 61x less work");
        assert_eq!(relative(1.1, 1.0), "10.0 % more squared error");
        assert_eq!([12, 736, 38_200, 2_000_000].map(bytes), ["12 bytes", "0.7 kB", "38 kB", "2.0 MB"]);
    }

    #[test]
    fn text_stays_text() {
        let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & <!-- \u{2028}";
        let mut figures = figures();
        figures.title = evil.into();
        figures.labels = vec![evil.into()];
        figures.methods[0].name = evil.into();
        let page = page(&figures).unwrap();
        assert_eq!(page.matches("<script").count(), 2, "the figures and the script");
        assert_eq!(page.matches("</script").count(), 2);
        assert!(!page.contains("<img") && !page.contains("<!-- "));
        assert!(page.contains("&lt;/script&gt;"));
        let json = page.split("id=\"figures\">").nth(1).unwrap().split("</script>").next().unwrap();
        assert!(!json.contains('<') && !json.contains('\u{2028}'));
        let back: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(back["labels"][0], evil);
    }

    #[test]
    fn nothing_outside_is_named_and_every_part_is_there() {
        let page = page(&figures()).unwrap();
        for outside in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(outside), "{outside}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("<!--"));
        assert!(page.contains("0.3 points more error") && page.contains("<th scope=\"row\">200</th><td>1.50 %</td>"));
    }
}
