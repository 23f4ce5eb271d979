//! Means and standard errors over splits, beside what the paper printed.
use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Cell, Experiment,
    choose::Chosen,
    description::{Description, Learned, Method, Set, Value, Values},
    quantity::Quantity,
    sides::{self, Sides},
    variance::{Factor, Variance, analyse},
};

/// A difference counts from so many standard errors on: two, times sqrt(2) because the printed mean has an error of its own.
const FAR: f64 = 2.0 * std::f64::consts::SQRT_2;

/// Papers print one decimal of percentages and counts, so that a printed value may be off by this much.
const ROUNDING: f64 = 0.05;

/// The name of the rows with means over all sets.
pub const AVERAGE: &str = "average";

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
    /// Splits requested; a row has the number of splits that there were.
    pub splits: usize,
    /// The quantities reported, error and vectors first.
    #[serde(skip)]
    pub quantities: Vec<Quantity>,
    /// One row for each set and method.
    pub rows: Vec<Row>,
    /// How many printed errors there are, and how many of ours are not above them.
    pub tally: Tally,
    /// Rows on the wrong side of each output, where the paper printed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<Sides>,
    /// Values that were chosen, by set and method.
    pub chosen: BTreeMap<String, Chosen>,
    /// The analysis of variance of the errors.
    pub variance: Option<Variance>,
    /// Why there is none, where one is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_variance: Option<String>,
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
    /// The line of a picture that it belongs to.
    #[serde(skip)]
    pub line: String,
    /// True where errors are in percent.
    #[serde(skip)]
    pub percent: bool,
    /// The kernel's gamma, where it is a value of the set.
    pub gamma: Option<f64>,
    /// The cost, where it is a value of the set.
    pub c: Option<f64>,
    /// How many splits.
    pub splits: usize,
    /// The quantities reported.
    #[serde(flatten)]
    figures: BTreeMap<&'static str, Figure>,
}

/// A mean over splits beside a printed value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// The standard error of the mean; for a single split the binomial one of the test rows, where the number is a fraction of them.
    pub standard_error: Option<f64>,
    /// What the paper printed.
    pub printed: Option<f64>,
    /// True where the two differ by more than 2 sqrt(2) standard errors and the rounding of what was printed.
    pub differs: bool,
}

/// Printed errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Errors with a printed value and a standard error.
    pub printed: usize,
    /// Those of ours that are below by more than the difference that counts,
    pub below: usize,
    /// and above.
    pub above: usize,
}

impl Outcome {
    /// The table of these cells.
    pub fn new(experiment: &Experiment, splits: usize, chosen: Vec<Chosen>, cells: Vec<Cell>) -> Self {
        let Experiment { name, description } = experiment;
        let quantities = description.quantities();
        let mut rows = vec![];
        for (set, chosen) in description.sets.iter().zip(&chosen) {
            for method in &description.methods {
                let these: Vec<&Cell> = cells.iter().filter(|cell| cell.set == set.name && cell.method == method.name).collect();
                rows.push(Row::new(set, method, chosen.get(&method.name), &quantities, &these));
            }
        }
        rows.extend(averages(description, &quantities, &rows));
        let names = description.sets.iter().map(|set| set.name.clone());
        let (variance, no_variance) = match variance(description, &cells) {
            Ok(variance) => (variance, None),
            Err(reason) => (None, Some(format!("There is no analysis of variance: {reason}."))),
        };
        Outcome {
            name: name.clone(),
            title: description.title.clone(),
            paper: description.paper.clone(),
            note: description.note.clone(),
            splits,
            tally: Tally::of(&rows),
            quantities: description.reported(),
            rows,
            chosen: names.zip(chosen).filter(|(_, chosen)| !chosen.is_empty()).collect(),
            sides: sides::table(description, &cells),
            variance,
            no_variance,
            cells,
        }
    }
}

impl Description {
    /// The quantities reported for each set and method: error and vectors, those that the description names, and those that the paper printed.
    fn reported(&self) -> Vec<Quantity> {
        let printed = self.sets.iter().map(|set| &set.printed).chain(self.average.iter().map(|average| &average.printed));
        let printed = printed.flat_map(BTreeMap::values).flat_map(BTreeMap::keys);
        each_once([Quantity::Error, Quantity::Vectors].iter().chain(&self.columns).chain(printed))
    }

    /// The quantities measured: those reported or drawn.
    fn quantities(&self) -> Vec<Quantity> {
        let (reported, drawn) = (self.reported(), self.figures.iter().flat_map(|figure| [&figure.x, &figure.y]));
        each_once(reported.iter().chain(drawn))
    }

    /// True where a quantity is measured.
    pub fn wants(&self, quantity: Quantity) -> bool {
        self.quantities().contains(&quantity)
    }
}

fn each_once<'a>(quantities: impl Iterator<Item = &'a Quantity>) -> Vec<Quantity> {
    let mut all = vec![];
    for &quantity in quantities {
        if !all.contains(&quantity) {
            all.push(quantity);
        }
    }
    all
}

impl Row {
    fn new(set: &Set, method: &Method, chosen: Option<&Values>, quantities: &[Quantity], cells: &[&Cell]) -> Row {
        let values = set.values_for(method, chosen.unwrap_or(&Values::new())).unwrap_or_default();
        let number = |name: &str| values.get(name).and_then(Value::number);
        let percent = set.target == Learned::Classes && method.represent.is_none();
        let printed = |quantity: Quantity| set.printed.get(&method.name).and_then(|printed| printed.get(&quantity)).copied();
        let figure = |quantity: Quantity| {
            let values: Vec<f64> = cells.iter().map(|cell| quantity.of(cell, percent)).collect();
            let figure = match quantity {
                Quantity::Deviation => Figure::deviation(&values, printed(quantity)),
                _ => Figure::new(&values, printed(quantity), rounding(quantity, percent)),
            };
            match (cells, percent && quantity.is_part()) {
                ([only], true) => figure.of_rows(if quantity == Quantity::Error { only.test_rows } else { only.train_rows }),
                _ => figure,
            }
        };
        Row {
            set: set.name.clone(),
            method: method.name.clone(),
            line: method.line.clone(),
            percent,
            gamma: number("gamma"),
            c: number("c"),
            splits: cells.len(),
            figures: quantities.iter().map(|&quantity| (quantity.key(percent), figure(quantity))).collect(),
        }
    }

    /// One number of the row.
    pub fn figure(&self, quantity: Quantity) -> Option<Figure> {
        self.figures.get(quantity.key(self.percent)).copied().filter(|figure| figure.mean.is_finite())
    }
}

/// The mean over all sets of each method, where it is wanted: sets count equally, and their standard errors add up as independent ones.
fn averages(description: &Description, quantities: &[Quantity], rows: &[Row]) -> Vec<Row> {
    let Some(average) = &description.average else { return vec![] };
    let of = |method: &Method| {
        let these: Vec<&Row> = rows.iter().filter(|row| row.method == method.name).collect();
        let percent = these.first().is_some_and(|row| row.percent);
        let figure = |&quantity: &Quantity| {
            let printed = average.printed.get(&method.name).and_then(|printed| printed.get(&quantity)).copied();
            let figures: Vec<Figure> = these.iter().filter_map(|row| row.figure(quantity)).collect();
            (quantity.key(percent), Figure::over_sets(&figures, printed, rounding(quantity, percent)))
        };
        Row {
            set: AVERAGE.into(),
            method: method.name.clone(),
            line: method.line.clone(),
            percent,
            gamma: None,
            c: None,
            splits: these.iter().map(|row| row.splits).max().unwrap_or(0),
            figures: quantities.iter().map(figure).collect(),
        }
    };
    description.methods.iter().map(of).collect()
}

/// The analysis of variance of the errors, where it is wanted: the sets, and what the methods run through.
fn variance(description: &Description, cells: &[Cell]) -> Result<Option<Variance>, String> {
    if description.variance.is_empty() {
        return Ok(None);
    }
    let sets: Vec<String> = description.sets.iter().map(|set| set.name.clone()).collect();
    let codes = cells.iter().filter_map(|cell| sets.iter().position(|name| *name == cell.set)).collect();
    let mut factors = vec![Factor { name: "set".into(), levels: sets, codes }];
    for name in &description.variance {
        let mut factor = Factor { name: name.clone(), levels: vec![], codes: vec![] };
        for cell in cells {
            let level = match description.method(&cell.method)?.values.get(name) {
                Some(Value::Word(word)) => word.clone(),
                Some(Value::Number(number)) => number.to_string(),
                None => return Err(format!("the method {} has no {name}", cell.method)),
            };
            let place = factor.levels.iter().position(|known| *known == level).unwrap_or(factor.levels.len());
            if place == factor.levels.len() {
                factor.levels.push(level);
            }
            factor.codes.push(place);
        }
        factors.push(factor);
    }
    let errors: Vec<f64> = cells.iter().map(|cell| cell.error).collect();
    analyse(&factors, &errors).map(Some)
}

impl Figure {
    /// The mean of means beside a printed value.
    fn over_sets(figures: &[Figure], printed: Option<f64>, rounding: Option<f64>) -> Self {
        let count = figures.len() as f64;
        let mean = figures.iter().map(|figure| figure.mean).sum::<f64>() / count;
        let squares: Option<f64> = figures.iter().map(|figure| figure.standard_error.map(|error| error * error)).sum();
        Figure::beside(mean, squares.map(|squares| squares.sqrt() / count), printed, rounding)
    }

    /// The mean of `values` beside a printed value.
    fn new(values: &[f64], printed: Option<f64>, rounding: Option<f64>) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let standard_error = (values.len() > 1).then(|| (squares(values, mean) / (count - 1.0) / count).sqrt());
        Figure::beside(mean, standard_error, printed, rounding)
    }

    /// The standard deviation of `values`.
    fn deviation(values: &[f64], printed: Option<f64>) -> Self {
        let count = values.len() as f64;
        let deviation = (squares(values, values.iter().sum::<f64>() / count) / (count - 1.0)).sqrt();
        Figure::beside(deviation, None, printed, None)
    }

    /// The same for a number that is percent of so many rows: its standard error is that of a part.
    fn of_rows(self, rows: usize) -> Self {
        let rows = rows.max(1) as f64;
        // That none of a few rows is wrong does not mean that none ever is.
        let part = (self.mean / 100.0).clamp(1.0 / (rows + 2.0), 1.0 - 1.0 / (rows + 2.0));
        let error = 100.0 * (part * (1.0 - part) / rows).sqrt();
        Figure::beside(self.mean, Some(error), self.printed, Some(ROUNDING))
    }

    /// `rounding` is that of the printed value; none where the two are not to be compared.
    fn beside(mean: f64, standard_error: Option<f64>, printed: Option<f64>, rounding: Option<f64>) -> Self {
        let far = |(printed, error): (f64, f64)| rounding.is_some_and(|rounding| (mean - printed).abs() > FAR * error + rounding);
        Figure { mean, standard_error, printed, differs: printed.zip(standard_error).is_some_and(far) }
    }
}

/// How far a printed value may be off by its rounding; none where a difference says nothing.
fn rounding(quantity: Quantity, percent: bool) -> Option<f64> {
    quantity.compares().then_some(if percent || quantity == Quantity::Vectors { ROUNDING } else { 0.0 })
}

/// The sum of squared differences from the mean.
fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

impl Tally {
    /// The tally of the errors on sets, or where none of these is printed of their averages.
    fn of(rows: &[Row]) -> Tally {
        let (averages, sets): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.set == AVERAGE);
        let count = |rows: &[&Row]| Tally::count(rows.iter().filter_map(|row| row.figure(Quantity::Error)));
        let tally = count(&sets);
        if tally.printed > 0 { tally } else { count(&averages) }
    }

    fn count(errors: impl Iterator<Item = Figure>) -> Tally {
        let mut tally = Tally::default();
        for Figure { mean, standard_error, printed, differs } in errors {
            let (Some(printed), Some(_)) = (printed, standard_error) else { continue };
            tally.printed += 1;
            tally.below += usize::from(differs && mean < printed);
            tally.above += usize::from(differs && mean > printed);
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(mean: f64, standard_error: Option<f64>) -> Figure {
        Figure { mean, standard_error, printed: None, differs: false }
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // Deviations -1, 0, 1: variance 1, standard error 1 / sqrt(3).
        let found = Figure::new(&[1.0, 2.0, 3.0], None, Some(ROUNDING));
        assert_eq!((found.mean, found.printed, found.differs), (2.0, None, false));
        assert!((found.standard_error.unwrap() - 3f64.sqrt().recip()).abs() < 1e-15);
        assert_eq!(Figure::deviation(&[1.0, 2.0, 3.0], Some(9.0)).mean, 1.0);
    }

    #[test]
    fn an_average_counts_sets_equally() {
        let average = Figure::over_sets(&[figure(1.0, Some(3.0)), figure(5.0, Some(4.0))], Some(13.0), Some(ROUNDING));
        assert_eq!((average.mean, average.standard_error, average.differs), (3.0, Some(2.5), true));
        assert_eq!(Figure::over_sets(&[figure(1.0, None), figure(5.0, Some(1.0))], None, Some(ROUNDING)).standard_error, None);
    }

    #[test]
    fn a_difference_counts_beyond_two_root_two_standard_errors_and_rounding() {
        let limit = 2.0 * 2f64.sqrt() / 3f64.sqrt() + 0.05;
        for (printed, differs) in [(2.0 + limit - 0.01, false), (2.0 + limit + 0.01, true), (2.0 - limit - 0.01, true)] {
            assert_eq!(Figure::new(&[1.0, 2.0, 3.0], Some(printed), Some(ROUNDING)).differs, differs, "{printed}");
            assert!(!Figure::new(&[1.0, 2.0, 3.0], Some(printed), None).differs);
        }
        assert!(!Figure::new(&[1.66, 1.66], Some(1.7), Some(ROUNDING)).differs);
        let single = Figure::new(&[2.0], Some(50.0), Some(ROUNDING));
        assert_eq!((single.standard_error, single.differs), (None, false));
        // 20 percent of 400 rows: the standard error is 2 percent.
        let part = Figure::new(&[20.0], Some(25.8), Some(ROUNDING)).of_rows(400);
        assert!((part.standard_error.unwrap() - 2.0).abs() < 1e-12 && part.differs);
        assert!(Figure::new(&[0.0], None, Some(ROUNDING)).of_rows(1).standard_error.unwrap() > 40.0);
    }

    #[test]
    fn the_tally_counts_both_sides() {
        let with = |mean, printed| Figure::beside(mean, Some(0.1), Some(printed), Some(ROUNDING));
        let all = [with(1.0, 1.0), with(1.0, 2.0), with(3.0, 2.0), figure(1.0, Some(0.1)), with(1.1, 1.0)];
        assert_eq!(Tally::count(all.into_iter()), Tally { printed: 4, below: 1, above: 1 });
    }
}
