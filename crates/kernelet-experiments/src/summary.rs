//! The rows of an experiment: means over splits and seeds, beside what the paper printed.
use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Cell, Experiment,
    choose::Chosen,
    description::{Description, Learned, Method, Set, Value, Values},
    figure::{Beside, Figure, Sample},
    quantity::Quantity,
    sides::{self, Sides},
    tally::{Deviation, Edge, Tally, deviations, edges, tallies},
    variance::{Factor, Variance, analyse},
};

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
    /// Seeds requested; methods that draw nothing, on rows that are given, have one.
    pub seeds: usize,
    /// The quantities reported, error and vectors first.
    #[serde(skip)]
    pub quantities: Vec<Quantity>,
    /// One row for each set and method.
    pub rows: Vec<Row>,
    /// How many numbers of each quantity are printed, and how many of ours are as printed, below and above.
    pub tally: BTreeMap<Quantity, Tally>,
    /// Those that are not as printed, the largest deviations first.
    pub deviations: Vec<Deviation>,
    /// Seconds for all sizes of a line, where the paper printed them: line, set, ours and printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_sizes: Vec<AllSizes>,
    /// Numbers of each output, where the paper printed them: rows on its wrong side, and vectors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<Sides>,
    /// How many of these numbers are as printed, below and above.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sides_tally: BTreeMap<&'static str, Tally>,
    /// Values that were chosen, by set and method.
    pub chosen: BTreeMap<String, Chosen>,
    /// Those of them at the edge of what there was to choose from.
    pub edges: Vec<Edge>,
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

/// The time of all sizes of a line of methods, the mean over splits.
#[derive(Debug, Serialize)]
pub struct AllSizes {
    /// The set.
    pub set: String,
    /// The line.
    pub line: String,
    /// How many sizes.
    pub sizes: usize,
    /// Seconds of all of them.
    pub seconds: f64,
    /// What the paper printed.
    pub printed: f64,
}

fn all_sizes(description: &Description, cells: &[Cell]) -> Vec<AllSizes> {
    let mut all = vec![];
    for set in &description.sets {
        for (line, &printed) in &set.printed_seconds {
            let methods: Vec<&str> =
                description.methods.iter().filter(|method| method.line == *line).map(|method| method.name.as_str()).collect();
            let these = cells.iter().filter(|cell| cell.set == set.name && methods.contains(&cell.method.as_str()));
            let (sum, count) = these.fold((0.0, 0usize), |(sum, count), cell| (sum + cell.seconds, count + 1));
            let seconds = sum * methods.len() as f64 / count.max(1) as f64;
            all.push(AllSizes { set: set.name.clone(), line: line.clone(), sizes: methods.len(), seconds, printed });
        }
    }
    all
}

impl Outcome {
    /// The table of these cells.
    pub fn new(experiment: &Experiment, (splits, seeds): (usize, usize), chosen: Vec<Chosen>, cells: Vec<Cell>) -> Self {
        let Experiment { name, description } = experiment;
        let quantities = description.quantities();
        let mut rows = vec![];
        for (set, chosen) in description.sets.iter().zip(&chosen) {
            for method in &description.methods {
                let these: Vec<&Cell> = cells.iter().filter(|cell| cell.set == set.name && cell.method == method.name).collect();
                rows.push(Row::new(description, (set, method), chosen.get(&method.name), &quantities, &these));
            }
        }
        rows.extend(averages(description, &quantities, &rows));
        let names = description.sets.iter().map(|set| set.name.clone());
        let (variance, no_variance) = match variance(description, &cells) {
            Ok(variance) => (variance, None),
            Err(reason) => (None, Some(format!("There is no analysis of variance: {reason}."))),
        };
        let sides = sides::tables(description, &cells);
        Outcome {
            name: name.clone(),
            title: description.title.clone(),
            paper: description.paper.clone(),
            note: description.note.clone(),
            splits,
            seeds,
            tally: tallies(&rows, &description.reported()),
            deviations: deviations(&rows, &description.reported()),
            edges: edges(description, &chosen),
            quantities: description.reported(),
            rows,
            chosen: names.zip(chosen).filter(|(_, chosen)| !chosen.is_empty()).collect(),
            all_sizes: all_sizes(description, &cells),
            sides_tally: sides::tallies(&sides),
            sides,
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

    /// How far a printed value may be off by its rounding; none where a difference says nothing.
    fn rounding(&self, quantity: Quantity, percent: bool) -> Option<f64> {
        let usual = if percent || quantity == Quantity::Vectors { ROUNDING } else { 0.0 };
        quantity.compares().then(|| self.rounding.get(&quantity).copied().unwrap_or(usual))
    }

    /// Which splits the printed means of a set are over, and whether a method draws anything.
    pub(super) fn beside(&self, set: &Set, method: &Method) -> Beside {
        let splits = set.printed_splits.or(self.printed_splits).filter(|_| !method.quoted);
        Beside { splits, own: set.own_splits, random: method.random, ..Beside::default() }
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
    fn new(
        description: &Description,
        (set, method): (&Set, &Method),
        chosen: Option<&Values>,
        quantities: &[Quantity],
        cells: &[&Cell],
    ) -> Row {
        let values = set.values_for(method, chosen.unwrap_or(&Values::new())).unwrap_or_default();
        let number = |name: &str| values.get(name).and_then(Value::number);
        let percent = set.target == Learned::Classes && method.represent.is_none();
        let printed = |quantity: Quantity| set.printed.get(&method.name).and_then(|printed| printed.get(&quantity)).copied();
        let figure = |quantity: Quantity| {
            let rounding = description.rounding(quantity, percent);
            let only_split = quantity == Quantity::Vectors && !set.is_random();
            let beside = Beside { printed: printed(quantity), rounding, only_split, ..description.beside(set, method) };
            let sample = sample(set, cells, |cell| quantity.of(cell, percent));
            let rows = cells.first().filter(|_| percent && quantity.is_part());
            let rows = rows.map(|cell| if quantity == Quantity::Error { cell.test_rows } else { cell.train_rows });
            match quantity {
                Quantity::Deviation => sample.deviation(&beside),
                _ => sample.mean(&beside, rows),
            }
        };
        Row {
            set: set.name.clone(),
            method: method.name.clone(),
            line: method.line.clone(),
            percent,
            gamma: number("gamma"),
            c: number("c"),
            splits: cells.iter().map(|cell| cell.split).max().unwrap_or(0),
            figures: quantities.iter().map(|&quantity| (quantity.key(percent), figure(quantity))).collect(),
        }
    }

    /// One number of the row.
    pub fn figure(&self, quantity: Quantity) -> Option<Figure> {
        self.figures.get(quantity.key(self.percent)).copied().filter(|figure| figure.mean.is_finite())
    }
}

/// The numbers of these cells by split. Where rows are drawn, every seed has splits of its own.
pub(super) fn sample(set: &Set, cells: &[&Cell], number: impl Fn(&Cell) -> f64) -> Sample {
    let mut splits: BTreeMap<(usize, u64), Vec<f64>> = BTreeMap::new();
    for cell in cells {
        let own = if set.is_random() { cell.seed } else { 0 };
        splits.entry((cell.split, own)).or_default().push(number(cell));
    }
    Sample(splits.into_values().collect())
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
            let beside = Beside { printed, rounding: description.rounding(quantity, percent), ..Beside::default() };
            (quantity.key(percent), Figure::over_sets(&figures, &beside))
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
    // Of one seed, so that all combinations have the same number of errors.
    let first = cells.first().map_or(0, |cell| cell.seed);
    let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.seed == first).collect();
    let sets: Vec<String> = description.sets.iter().map(|set| set.name.clone()).collect();
    let codes = cells.iter().filter_map(|cell| sets.iter().position(|name| *name == cell.set)).collect();
    let mut factors = vec![Factor { name: "set".into(), levels: sets, codes }];
    for name in &description.variance {
        let mut factor = Factor { name: name.clone(), levels: vec![], codes: vec![] };
        for cell in &cells {
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
