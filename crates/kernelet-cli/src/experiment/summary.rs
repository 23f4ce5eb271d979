//! Means and standard errors over splits, beside what the paper printed.
use serde::Serialize;

use super::{
    Cell, Experiment,
    description::{Description, Method},
};

/// A difference counts from so many standard errors on: two, times sqrt(2) because the printed mean has an error of its own.
const FAR: f64 = 2.0 * std::f64::consts::SQRT_2;

/// Papers print one decimal, so that a printed value may be off by this much.
const ROUNDING: f64 = 0.05;

/// What came of an experiment.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The experiment's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The paper and table it is compared with.
    pub paper: String,
    /// What a reader should know.
    pub note: Option<String>,
    /// Splits asked for; a row tells how many there were.
    pub splits: usize,
    /// One row for each set and method.
    pub rows: Vec<Row>,
    /// Every cell the rows are made of.
    pub cells: Vec<Cell>,
}

/// One set and method.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The set.
    pub set: String,
    /// The method.
    pub method: String,
    /// The kernel's gamma.
    pub gamma: Option<f64>,
    /// The cost, where it is given.
    pub c: Option<f64>,
    /// How many splits.
    pub splits: usize,
    /// Test error in percent.
    pub error_percent: Figure,
    /// Number of vectors.
    pub vectors: Figure,
}

/// A mean over splits beside a printed value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// The standard error of the mean; None for a single split.
    pub standard_error: Option<f64>,
    /// What the paper printed.
    pub printed: Option<f64>,
    /// True where the two differ by more than 2 sqrt(2) standard errors and the rounding of what was printed.
    pub differs: bool,
}

impl Outcome {
    /// The table of these cells.
    pub fn new(experiment: &Experiment, splits: usize, cells: Vec<Cell>) -> Self {
        let Experiment { name, description } = experiment;
        let mut rows = vec![];
        for set in &description.sets {
            for method in &description.methods {
                let these: Vec<&Cell> = cells.iter().filter(|cell| cell.set == set.name && cell.method == method.name).collect();
                let figures = |of: fn(&Cell) -> f64| these.iter().map(|cell| of(cell)).collect::<Vec<f64>>();
                let (settings, printed) = (set.settings_for(method), set.printed.get(&method.name).copied().unwrap_or_default());
                rows.push(Row {
                    set: set.name.clone(),
                    method: method.name.clone(),
                    gamma: settings.gamma().ok(),
                    c: settings.c,
                    splits: these.len(),
                    error_percent: Figure::new(&figures(|cell| 100.0 * cell.error), printed.error),
                    vectors: Figure::new(&figures(|cell| cell.vectors as f64), printed.vectors),
                });
            }
        }
        rows.extend(averages(description, &rows));
        let (title, paper, note) = (description.title.clone(), description.paper.clone(), description.note.clone());
        Outcome { name: name.clone(), title, paper, note, splits, rows, cells }
    }
}

/// The mean over all sets of each method, where it is wanted: sets count equally, and their standard errors add up as independent ones.
fn averages(description: &Description, rows: &[Row]) -> Vec<Row> {
    let Some(average) = &description.average else { return vec![] };
    let of = |method: &Method| {
        let these: Vec<&Row> = rows.iter().filter(|row| row.method == method.name).collect();
        let printed = average.printed.get(&method.name).copied().unwrap_or_default();
        Row {
            set: "average".into(),
            method: method.name.clone(),
            gamma: None,
            c: None,
            splits: these.iter().map(|row| row.splits).max().unwrap_or(0),
            error_percent: Figure::over_sets(these.iter().map(|row| row.error_percent), printed.error),
            vectors: Figure::over_sets(these.iter().map(|row| row.vectors), printed.vectors),
        }
    };
    description.methods.iter().map(of).collect()
}

impl Figure {
    /// The mean of means beside a printed value.
    fn over_sets(figures: impl Iterator<Item = Figure> + Clone, printed: Option<f64>) -> Self {
        let count = figures.clone().count() as f64;
        let mean = figures.clone().map(|figure| figure.mean).sum::<f64>() / count;
        let squares: Option<f64> = figures.map(|figure| figure.standard_error.map(|error| error * error)).sum();
        Figure::beside(mean, squares.map(|squares| squares.sqrt() / count), printed)
    }

    /// The mean of `values` beside a printed value.
    fn new(values: &[f64], printed: Option<f64>) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let standard_error = (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt());
        Figure::beside(mean, standard_error, printed)
    }

    fn beside(mean: f64, standard_error: Option<f64>, printed: Option<f64>) -> Self {
        let far = |(printed, error): (f64, f64)| (mean - printed).abs() > FAR * error + ROUNDING;
        Figure { mean, standard_error, printed, differs: printed.zip(standard_error).is_some_and(far) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // Deviations -1, 0, 1: variance 1, standard error 1 / sqrt(3).
        let figure = Figure::new(&[1.0, 2.0, 3.0], None);
        assert_eq!((figure.mean, figure.printed, figure.differs), (2.0, None, false));
        assert!((figure.standard_error.unwrap() - 3f64.sqrt().recip()).abs() < 1e-15);
    }

    #[test]
    fn an_average_counts_sets_equally() {
        let figure = |mean, standard_error| Figure { mean, standard_error, printed: None, differs: false };
        let average = Figure::over_sets([figure(1.0, Some(3.0)), figure(5.0, Some(4.0))].into_iter(), Some(13.0));
        assert_eq!((average.mean, average.standard_error, average.differs), (3.0, Some(2.5), true));
        assert_eq!(Figure::over_sets([figure(1.0, None), figure(5.0, Some(1.0))].into_iter(), None).standard_error, None);
    }

    #[test]
    fn a_difference_counts_beyond_two_root_two_standard_errors_and_rounding() {
        let limit = 2.0 * 2f64.sqrt() / 3f64.sqrt() + 0.05;
        for (printed, differs) in [(2.0 + limit - 0.01, false), (2.0 + limit + 0.01, true), (2.0 - limit - 0.01, true)] {
            assert_eq!(Figure::new(&[1.0, 2.0, 3.0], Some(printed)).differs, differs, "{printed}");
        }
        assert!(!Figure::new(&[1.66, 1.66], Some(1.7)).differs);
        let single = Figure::new(&[2.0], Some(50.0));
        assert_eq!((single.standard_error, single.differs), (None, false));
    }
}
