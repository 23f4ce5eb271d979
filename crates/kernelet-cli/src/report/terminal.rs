//! A small curve for the terminal: error, or what stands for it, against vectors, both on logarithmic axes.
use crate::layout::{count, figure};

use super::figures::{Figures, Level};

const WIDTH: usize = 56;
const HEIGHT: usize = 9;

/// A figure of a level.
type Value = fn(&Level) -> Option<f64>;

/// The curve with its axes and a legend; empty where there is nothing to draw.
pub fn curve(figures: &Figures) -> String {
    let (name, value): (&str, Value) = match figures.methods.iter().flat_map(|method| &method.levels).any(|level| level.error.is_some()) {
        true if figures.task == "classes" => ("error", |level| level.error),
        true => ("mean squared error", |level| level.error),
        false => ("residual", |level| level.residual),
    };
    let levels = || figures.methods.iter().flat_map(|method| &method.levels);
    let known = |level: &Level| value(level).filter(|value| value.is_finite());
    let sizes: Vec<f64> = levels().filter(|level| known(level).is_some()).map(|level| level.vectors.max(1) as f64).collect();
    let full = known(&figures.full.level);
    let floor = levels().filter_map(known).chain(full).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    if sizes.is_empty() || !floor.is_finite() {
        return String::new();
    }
    let across = Axis::over(sizes.iter().copied());
    let up = Axis::over(levels().filter_map(known).chain(full).map(|value| value.max(floor)));
    let mut canvas = vec![vec![' '; WIDTH]; HEIGHT];
    if let Some(full) = full {
        canvas[HEIGHT - 1 - up.place(full.max(floor), HEIGHT)].fill('-');
    }
    let marks = marks(figures);
    for (method, mark) in figures.methods.iter().zip(&marks) {
        for level in &method.levels {
            let Some(value) = known(level) else { continue };
            let cell = &mut canvas[HEIGHT - 1 - up.place(value.max(floor), HEIGHT)][across.place(level.vectors.max(1) as f64, WIDTH)];
            *cell = if [' ', '-', *mark].contains(cell) { *mark } else { '*' };
        }
    }
    let text = |value: f64| if name == "error" { format!("{:.1} %", 100.0 * value) } else { short(value) };
    let mut lines = format!("{name}\n");
    for (i, row) in canvas.iter().enumerate() {
        let label = match i {
            0 => text(up.high),
            _ if i == HEIGHT - 1 => text(up.low),
            _ => String::new(),
        };
        lines += format!("{label:>9} |{}", row.iter().collect::<String>()).trim_end();
        lines.push('\n');
    }
    let last = format!("{} vectors", count(across.high as usize));
    let first = count(across.low as usize);
    lines += &format!("{:>9} +{}\n{:>10} {first}{last:>width$}\n", "", "-".repeat(WIDTH), "", width = WIDTH - first.len());
    let several = canvas.iter().flatten().any(|mark| *mark == '*');
    let legend: Vec<String> = figures.methods.iter().zip(marks).map(|(method, mark)| format!("{mark} {}", method.name)).collect();
    let more = [several.then_some("* several"), full.is_some().then_some("--- the full machine")];
    let legend = legend.iter().map(String::as_str).chain(more.into_iter().flatten()).collect::<Vec<_>>().join(", ");
    // Below the axis where it fits there.
    let left = 11.min(80usize.saturating_sub(legend.chars().count()));
    lines + &format!("{:>left$}{legend}\n", "")
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        Axis { low, high }
    }

    /// A place from 0 to `places` - 1.
    fn place(&self, value: f64, places: usize) -> usize {
        let width = (self.high / self.low).ln();
        let part = if width > 0.0 { (value / self.low).ln() / width } else { 0.0 };
        ((places - 1) as f64 * part.clamp(0.0, 1.0)).round() as usize
    }
}

/// A letter for each method: one of its name that no other has, else a digit.
fn marks(figures: &Figures) -> Vec<char> {
    let mut marks = vec![];
    for (i, method) in figures.methods.iter().enumerate() {
        let free = method.name.chars().find(|letter| letter.is_ascii_alphabetic() && !marks.contains(letter));
        marks.push(free.unwrap_or_else(|| char::from_digit(i as u32 % 10, 10).unwrap_or('*')));
    }
    marks
}

fn short(value: f64) -> String {
    figure(format!("{value:.2e}").parse().unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::{Full, Method};

    fn figures(methods: &[(&str, &[(usize, f64)])]) -> Figures {
        let level = |&(vectors, error): &(usize, f64)| Level { vectors, error: Some(error), ..Level::default() };
        let method = |(name, levels): &(&str, &[(usize, f64)])| Method {
            name: name.to_string(),
            levels: levels.iter().map(level).collect(),
            ..Method::default()
        };
        let full = Full { level: level(&(100, 0.02)), ..Full::default() };
        Figures { task: "classes", methods: methods.iter().map(method).collect(), full, ..Figures::default() }
    }

    #[test]
    fn curves_fall_from_the_left_to_the_line_of_the_full_machine() {
        let text = curve(&figures(&[("pursuit", &[(1, 0.8), (8, 0.1), (64, 0.02)]), ("margin", &[(8, 0.02)])]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 4, "{text}");
        assert_eq!(lines[0], "error");
        assert_eq!(lines[1], "   80.0 % |p");
        let last = lines[HEIGHT];
        assert!(last.starts_with("    2.0 % |------") && last.ends_with('p') && last.contains('m'), "{text}");
        assert!(lines[HEIGHT + 3].contains("p pursuit, m margin, --- the full machine"));
        assert!(lines.iter().all(|line| line.chars().count() <= 70), "{text}");
        let same = curve(&figures(&[("pursuit", &[(1, 0.8), (8, 0.1)]), ("margin", &[(1, 0.8), (8, 0.02)])]));
        assert!(same.contains("80.0 % |*") && same.contains("m margin, * several, ---"), "{same}");
    }

    #[test]
    fn one_size_zero_errors_and_none_at_all_are_drawn_or_left_out() {
        assert!(curve(&figures(&[("pursuit", &[(4, 0.0)])])).contains('p'));
        assert!(curve(&figures(&[("pursuit", &[(4, f64::NAN), (8, 0.5)])])).contains("50.0 %"));
        let mut none = figures(&[("pursuit", &[(4, f64::NAN)])]);
        assert_eq!(curve(&none), "");
        none.methods.clear();
        assert_eq!(curve(&none), "");
    }

    #[test]
    fn methods_with_the_same_first_letter_have_marks_of_their_own() {
        let names: [(&str, &[(usize, f64)]); 4] = [("pursuit", &[]), ("pca", &[]), ("p", &[]), ("l1", &[])];
        assert_eq!(marks(&figures(&names)), ['p', 'c', '2', 'l']);
    }
}
