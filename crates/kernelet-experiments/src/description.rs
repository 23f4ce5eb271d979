//! What an experiment is: sets, methods as requests of the library, and what the paper printed. Written in TOML.
//!
//! The settings of requests have places such as `{gamma}` that are filled for each set: from its `values`, from those that a method runs through (`each`), from
//! those that are chosen (`choose`), and from what is counted for each split: `{part}` is a number of vectors: a
//! fraction of those of a full machine there, or of the rows.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    choose::Choose,
    figures::FigureOf,
    quantity::Quantity,
    settings::{self, Asked},
    summary::AVERAGE,
};
use kernelet::model::images;

/// The most splits of one set.
pub const MOST_SPLITS: usize = 10_000;

/// The most seeds.
pub const MOST_SEEDS: usize = 1000;

/// The most values that a method runs through.
const MOST_RUNS: usize = 1000;

fn one() -> usize {
    1
}

/// One experiment as its file has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// What is measured, in a line.
    pub title: String,
    /// The paper and its table.
    pub paper: String,
    /// What a reader of the table should know.
    pub note: Option<String>,
    /// How many splits of each set, where the user does not say.
    pub splits: usize,
    /// Seed of rows that are drawn.
    #[serde(default)]
    pub seed: u64,
    /// How many seeds, one after the other, where the user does not say.
    #[serde(default = "one")]
    pub seeds: usize,
    /// How many splits the printed means are over, where the paper says; sets may differ.
    pub printed_splits: Option<usize>,
    /// By how much printed values may be off by their rounding, where that is not half of the first decimal.
    #[serde(default)]
    pub rounding: BTreeMap<Quantity, f64>,
    /// Quantities that are reported in addition to error and vectors.
    #[serde(default)]
    pub columns: Vec<Quantity>,
    /// Values that are chosen before.
    #[serde(default)]
    pub choose: Vec<Choose>,
    /// Means over all sets, where they are wanted, with what the paper printed of them.
    pub average: Option<Average>,
    /// What the methods run through, for an analysis of variance of the errors; the sets are its first factor.
    #[serde(default)]
    pub variance: Vec<String>,
    /// Pictures.
    #[serde(default)]
    pub figures: Vec<FigureOf>,
    /// The methods that are compared.
    pub methods: Vec<Method>,
    /// The data sets.
    pub sets: Vec<Set>,
}

/// What the paper printed, by method.
pub type Printed = BTreeMap<String, BTreeMap<Quantity, f64>>;

/// The means over all sets.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Average {
    /// What the paper printed.
    #[serde(default)]
    pub printed: Printed,
}

/// A number or a word that stands in the place of its name.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

/// Values by name.
pub type Values = BTreeMap<String, Value>;

/// One method: an estimator, perhaps compressed afterwards, or a representation of the rows.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The name in the table; it may have places for the values that the method runs through, `{size%}` for percent.
    pub name: String,
    /// The request to train, [`kernelet::request::Train`].
    pub train: Option<Asked>,
    /// The request to compress the machine that was trained, [`kernelet::request::Compress`].
    pub compress: Option<Asked>,
    /// A basis, or kernel PCA, that represents the rows; the error is the squared distance of the rows from their representation.
    pub represent: Option<Asked>,
    /// `{part}` is this fraction
    pub part: Option<f64>,
    /// of the vectors of the machine of this request; of the rows where none is given.
    pub of: Option<Asked>,
    /// The method runs through all values of these names, and has a row for each.
    #[serde(default)]
    pub each: BTreeMap<String, Vec<Value>>,
    /// Values of this method.
    #[serde(default)]
    pub values: Values,
    /// True where the machine depends on the seed; others are made once on rows that do not.
    #[serde(default)]
    pub random: bool,
    /// True where the paper quotes what it prints from elsewhere, over other splits.
    #[serde(default)]
    pub quoted: bool,
    /// What is drawn of its machine on the first split.
    pub draw: Option<Draw>,
    /// The line of a picture: the name without the size.
    #[serde(skip_deserializing)]
    pub line: String,
}

/// A picture of a machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Draw {
    /// Its vectors as images of so many pixels, such as 16x16.
    Images(String),
    /// Its boundary over the training rows, beside that of another method.
    Boundary(String),
}

/// What is learned from a set.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Learned {
    /// Its classes.
    #[default]
    Classes,
    /// Its numbers, as they are.
    Numbers,
    /// Its numbers, to mean 0 and variance 1 of the training rows.
    Standardised,
    /// One number for each class: 1 for rows of it, -1 for others.
    Indicators,
}

/// One data set, read from `FILE/FILE.npz` or drawn by a generator.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The name in the table.
    pub name: String,
    /// The name of the file, where it is another one.
    pub file: Option<String>,
    /// The generator that draws the rows; none: they are read.
    pub generator: Option<String>,
    /// Rows to train on, where they are drawn or the splits of the file are not wanted.
    pub train: Option<usize>,
    /// Rows to test on; for a file all remaining rows where this is not given.
    pub test: Option<usize>,
    /// How features are scaled, by the training rows: `standard` or `minmax`.
    pub scale: Option<String>,
    /// Smoothing of images.
    pub smooth: Option<Smooth>,
    /// The classes that are kept; all where none are named.
    #[serde(default)]
    pub classes: Vec<String>,
    /// What is learned.
    #[serde(default)]
    pub target: Learned,
    /// How many splits the printed means are over.
    pub printed_splits: Option<usize>,
    /// How many of the first splits are the paper's own.
    #[serde(default)]
    pub own_splits: usize,
    /// What fills the places in the settings; `width` is 1 / gamma.
    #[serde(default)]
    pub values: Values,
    /// What the paper printed.
    #[serde(default)]
    pub printed: Printed,
    /// Seconds for all sizes of a line of methods together, where the paper printed them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub printed_seconds: BTreeMap<String, f64>,
    /// Test rows on the wrong side of each output, where the paper printed them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub printed_sides: BTreeMap<String, Vec<f64>>,
    /// Vectors of each output, where the paper printed them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub printed_vectors: BTreeMap<String, Vec<f64>>,
}

/// Images of `width` x `height` pixels are smoothed by a Gaussian of standard deviation `pixels`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Smooth {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// The standard deviation.
    pub pixels: f64,
}

impl Description {
    /// Reads and checks a description; an error says in a sentence what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut description: Description = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_string())?;
        description.methods = description.methods.iter().map(Method::runs).collect::<Result<Vec<_>, _>>()?.concat();
        description.check()?;
        Ok(description)
    }

    /// True where no file is needed.
    pub fn generated(&self) -> bool {
        self.sets.iter().all(|set| set.generator.is_some())
    }

    /// The method with this name.
    pub fn method(&self, name: &str) -> Result<&Method, String> {
        self.methods.iter().find(|method| method.name == name).ok_or_else(|| format!("there is no method {name}"))
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=MOST_SPLITS).contains(&self.splits) {
            return Err(format!("splits is {}, but must be between 1 and {MOST_SPLITS}", self.splits));
        }
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            return Err(format!("seeds is {}, but must be between 1 and {MOST_SEEDS}", self.seeds));
        }
        if self.printed_splits == Some(0) || self.sets.iter().any(|set| set.printed_splits == Some(0)) {
            return Err("printed_splits is 0, but a printed mean is one over at least 1 split".into());
        }
        require_names("set", self.sets.iter().map(|set| &set.name))?;
        if self.sets.iter().any(|set| set.name == AVERAGE) {
            return Err(format!("{AVERAGE} is the name of the means over all sets; call the set otherwise"));
        }
        require_names("method", self.methods.iter().map(|method| &method.name))?;
        self.choose.iter().try_for_each(|choose| choose.check(self))?;
        self.figures.iter().try_for_each(|figure| figure.check(self))?;
        let printed = self.sets.iter().map(|set| &set.printed).chain(self.average.iter().map(|average| &average.printed));
        let sides = self.sets.iter().flat_map(|set| set.printed_sides.keys().chain(set.printed_vectors.keys()));
        for name in printed.flat_map(BTreeMap::keys).chain(sides) {
            self.method(name).map_err(|reason| format!("{reason} for the printed values"))?;
        }
        let lines = self.sets.iter().flat_map(|set| set.printed_seconds.keys());
        if let Some(line) = lines.into_iter().find(|line| !self.methods.iter().any(|method| method.line == **line)) {
            return Err(format!("there is no line {line} for the printed seconds"));
        }
        for factor in &self.variance {
            if let Some(method) = self.methods.iter().find(|method| !method.values.contains_key(factor)) {
                return Err(format!("the method {} has no {factor} for the analysis of variance", method.name));
            }
        }
        for set in &self.sets {
            self.check_set(set).map_err(|reason| format!("set {}: {reason}", set.name))?;
        }
        Ok(())
    }

    /// Refuses pictures that cannot be drawn.
    fn check_drawn(&self, method: &Method) -> Result<(), String> {
        let Some(draw) = &method.draw else { return Ok(()) };
        if method.represent.is_some() {
            return Err(format!("method {}: what describes rows has no picture", method.name));
        }
        match draw {
            Draw::Images(size) => images::size(size).map(drop).map_err(|reason| format!("method {}: images {reason}", method.name)),
            Draw::Boundary(other) => match self.method(other)? {
                Method { compress: None, represent: None, part: None, .. } => Ok(()),
                _ => Err(format!("method {}: the boundary beside it must be that of a full machine", method.name)),
            },
        }
    }

    fn check_set(&self, set: &Set) -> Result<(), String> {
        set.scaling()?;
        set.check_rows()?;
        for method in &self.methods {
            let chosen = Choose::first(&self.choose, method);
            settings::check(method, set, &chosen).map_err(|reason| format!("method {}: {reason}", method.name))?;
            self.check_drawn(method)?;
        }
        Ok(())
    }
}

impl Method {
    /// A method for each combination of the values that this one runs through, the last name fastest.
    fn runs(&self) -> Result<Vec<Method>, String> {
        let count = self.each.values().fold(1usize, |count, values| count.saturating_mul(values.len()));
        if !(1..=MOST_RUNS).contains(&count) {
            return Err(format!("method {}: it would have {count} rows, but there are 1 to {MOST_RUNS}", self.name));
        }
        let mut runs = vec![Method { each: BTreeMap::new(), line: self.name.clone(), ..self.clone() }];
        for (key, values) in &self.each {
            let with = |method: &Method, value: &Value| {
                let mut method = method.clone();
                method.values.insert(key.clone(), value.clone());
                method
            };
            runs = runs.iter().flat_map(|method| values.iter().map(move |value| with(method, value))).collect();
        }
        for run in &mut runs {
            let one = [&run.train, &run.represent].into_iter().flatten().count() == 1;
            if !one {
                return Err(format!("method {}: a request is needed, either train or represent", run.name));
            }
            let sized = run.line.replace("{size%}", "").replace("{size}", "");
            run.line = settings::filled_text(&sized, &run.values)?.trim().to_string();
            run.name = settings::filled_text(&run.name, &run.values)?;
        }
        Ok(runs)
    }
}

/// There is at least one name, and none twice.
fn require_names<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let names: Vec<&String> = names.collect();
    if names.is_empty() {
        return Err(format!("there is no {what}"));
    }
    if let Some(name) = names.iter().find(|name| name.is_empty() || name.contains(char::is_control)) {
        return Err(format!("{name:?} is no name for a {what}"));
    }
    match names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        Some((_, name)) => Err(format!("there are two {what}s with the name {name}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "title = 't'\npaper = 'p'\nsplits = 2\n\
        [[methods]]\nname = 'svm'\ntrain = { gamma = '{gamma}', c = 3 }\n\
        [[sets]]\nname = 'a'\ngenerator = 'banana'\ntrain = 5\ntest = 5\nvalues = { width = 4 }\nprinted.svm = { error = 1 }\n";

    #[test]
    fn a_method_runs_through_all_its_values() {
        let text = GOOD.replace(
            "name = 'svm'\ntrain = { ",
            "name = '{kind} {size%}'\neach = { kind = ['svc', 'fisher'], size = [0.05, 1] }\ntrain = { learner = '{kind}', ",
        );
        let text = text.replace(", c = 3", "").replace("printed.svm = { error = 1 }\n", "");
        let description = Description::parse(&text).unwrap();
        let names: Vec<(&str, &str)> = description.methods.iter().map(|method| (method.name.as_str(), method.line.as_str())).collect();
        assert_eq!(names, [("svc 5%", "svc"), ("svc 100%", "svc"), ("fisher 5%", "fisher"), ("fisher 100%", "fisher")]);
    }

    #[test]
    fn a_wrong_description_is_rejected_with_an_error() {
        let cases = [
            ("splits = 2", "splits = 0", "splits is 0, but must be between 1 and 10000"),
            ("splits = 2", "split = 2", "unknown field `split`"),
            ("c = 3", "learner = 'ridge'", "set a: method svm: ridge learns numbers, but the set has classes"),
            ("c = 3", "cost = 3", "set a: method svm: there is no setting cost"),
            ("c = 3", "c = '3'", "set a: method svm: c is 3, but must be a finite number"),
            ("c = 3", "c = nan", "set a: method svm: a setting is not a finite number"),
            ("c = 3", "c = '{c}'", "set a: method svm: there is no value for {c}"),
            ("c = 3", "c = '{c'", "set a: method svm: a place is opened with { and not closed"),
            ("c = 3", "vectors = '{part}'", "set a: method svm: there is no value for {part}"),
            ("c = 3 }", "vectors = '{part}' }\npart = 2", "set a: method svm: a part must be above 0 and at most 1"),
            ("train = {", "draw = { boundary = 'other' }\ntrain = {", "there is no method other"),
            ("train = { gamma = '{gamma}', c = 3 }", "", "method svm: a request is needed, either train or represent"),
            ("{ gamma = '{gamma}', c = 3 }", "'--c 3'", "invalid type: string"),
            (
                "c = 3 }",
                "c = 3 }\ncompress = { method = 'nothing', vectors = 3 }",
                "set a: method svm: method is nothing, but must be one of",
            ),
            ("'banana'", "'apple'", "set a: the generator is \"apple\", but must be one of banana,"),
            ("'banana'", "'sinc'", "set a: the generator sinc makes no classes"),
            ("test = 5\n", "", "set a: a generator needs the number of rows to train and to test on"),
            ("test = 5\n", "test = 0\n", "set a: at least one row is needed"),
            ("test = 5\n", "test = 5\nscale = 'log'\n", "set a: scale is \"log\", but must be none, standard or minmax"),
            ("test = 5\n", "test = 5\nsmooth = { width = 1, height = 2, pixels = 1 }\n", "set a: rows that are drawn are no images"),
            ("printed.svm", "printed.rvm", "there is no method rvm for the printed values"),
            ("printed.svm = { error = 1 }", "printed.svm = { luck = 1 }", "unknown variant `luck`"),
            ("{ width = 4 }", "{ width = 4, gamma = 1 }", "set a: method svm: either gamma or width must be given"),
            ("splits = 2", "splits = 2\nvariance = ['kind']", "the method svm has no kind for the analysis of variance"),
        ];
        for (good, bad, words) in cases {
            let text = GOOD.replace(good, bad);
            assert_ne!(text, GOOD);
            let error = Description::parse(&text).unwrap_err();
            assert!(error.contains(words), "{bad}: {error}");
        }
        let twice = format!("{GOOD}[[sets]]\nname = 'a'\n");
        assert_eq!(Description::parse(&twice).unwrap_err(), "there are two sets with the name a");
        let none = "title = 't'\npaper = 'p'\nsplits = 1\nmethods = []\nsets = []\n";
        assert_eq!(Description::parse(none).unwrap_err(), "there is no set");
    }
}
