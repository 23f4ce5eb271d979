//! What an experiment is: sets, methods, their settings, and what the paper printed. Written in TOML.
use std::collections::BTreeMap;

use clap::ValueEnum;
use kernelet::{
    data::{Dataset, Generator, Scaling, Target, read::Wanted},
    evaluate::Threshold,
    kernel::Kernel,
    learn::{HowToScale, Learner, Multiclass, Penalty, Scaled},
    watch::Watch,
};
use serde::Deserialize;

use super::pursuit::{Pursuit, Widths};
use crate::{
    bases,
    direct::{DirectFlags, InitFlag, LossFlag, RefitFlag},
    learners::{self, Choice, LEARNERS},
};

/// The most splits of one set.
pub const MOST_SPLITS: usize = 10_000;

/// One experiment as its file has it.
#[derive(Clone, Debug, Deserialize)]
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
    /// How the kernel's width is chosen, where it is not given.
    pub widths: Option<Widths>,
    /// Mean errors over all sets, where they are wanted, with what the paper printed of them.
    pub average: Option<Average>,
    /// Who learns.
    pub methods: Vec<Method>,
    /// From what.
    pub sets: Vec<Set>,
}

/// The mean over all sets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Average {
    /// What the paper printed, by method.
    #[serde(default)]
    pub printed: BTreeMap<String, Printed>,
}

/// One way to learn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The name in the table.
    pub name: String,
    /// The learner, as `kernelet train` names it.
    pub learner: String,
    /// Settings for all sets; what a set says goes first.
    #[serde(default)]
    pub settings: Settings,
}

/// One data set, read from `NAME/NAME.npz` or drawn by a generator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The name in the table and of the file.
    pub name: String,
    /// The generator that draws the rows; none: they are read.
    pub generator: Option<String>,
    /// Rows to train on, where they are drawn or the file has no splits of its own.
    pub train: Option<usize>,
    /// Rows to test on; for a file without splits all that are left where this is not said.
    pub test: Option<usize>,
    /// How features are scaled, by the training rows: `standard` or `minmax`.
    pub scale: Option<String>,
    /// Smoothing of images.
    pub smooth: Option<Smooth>,
    /// Settings for all methods.
    #[serde(default)]
    pub settings: Settings,
    /// What the paper printed, by method.
    #[serde(default)]
    pub printed: BTreeMap<String, Printed>,
}

/// Images of `width` x `height` pixels are smoothed by a Gaussian of standard deviation `pixels`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smooth {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// The standard deviation.
    pub pixels: f64,
}

/// Settings of a learner and its kernel; what is not given is the default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The kernel is exp(-gamma |x - z|^2).
    pub gamma: Option<f64>,
    /// The same as papers often have it: exp(-|x - z|^2 / width).
    pub width: Option<f64>,
    /// Cost of a margin error.
    pub c: Option<f64>,
    /// When to stop.
    pub tolerance: Option<f64>,
    /// The kernel [default: gaussian].
    pub kernel: Option<String>,
    /// Degree of the polynomial kernel.
    pub degree: Option<u32>,
    /// Constant of the polynomial and sigmoid kernels.
    pub coef0: Option<f64>,
    /// The penalty of Fisher's discriminant: how much.
    pub lambda: Option<f64>,
    /// Of what.
    pub penalty: Option<String>,
    /// How its threshold is chosen.
    pub bias: Option<String>,
    /// Who chooses the basis, where it is learned on one.
    pub method: Option<String>,
    /// Vectors of the basis; not looked at by methods without one.
    pub vectors: Option<usize>,
    /// The same as a part of the vectors that svc has on the same rows with the same kernel and cost.
    pub fraction: Option<f64>,
    /// How several classes become two-class problems.
    pub multiclass: Option<String>,
    /// What an error costs in direct training.
    pub loss: Option<String>,
    /// Where its vectors start.
    pub init: Option<String>,
    /// Steps of its vectors.
    pub iterations: Option<usize>,
    /// Whose coefficients a discriminant has on vectors that were found with it.
    pub refit: Option<String>,
    /// Settings of fisher-pursuit.
    pub pursuit: Option<Pursuit>,
}

/// What the paper printed for one set and method.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Test error in percent.
    pub error: Option<f64>,
    /// Number of vectors.
    pub vectors: Option<f64>,
}

impl Description {
    /// Reads and checks a description; an error says in a sentence what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let description: Description = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_string())?;
        description.check()?;
        Ok(description)
    }

    /// True where no file is needed.
    pub fn generated(&self) -> bool {
        self.sets.iter().all(|set| set.generator.is_some())
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=MOST_SPLITS).contains(&self.splits) {
            return Err(format!("splits is {}, but must be between 1 and {MOST_SPLITS}", self.splits));
        }
        require_names("set", self.sets.iter().map(|set| &set.name))?;
        require_names("method", self.methods.iter().map(|method| &method.name))?;
        self.methods.iter().try_for_each(|method| method.choice().map(drop))?;
        if let Some(widths) = &self.widths {
            widths.check(self)?;
            // The checks of the sets need a width that could be chosen.
            let sets = self.sets.iter().map(|set| set.with_width(widths.values[0])).collect();
            return Description { widths: None, sets, ..self.clone() }.check();
        }
        for set in &self.sets {
            self.check_set(set).map_err(|reason| format!("set {}: {reason}", set.name))?;
        }
        Ok(())
    }

    fn check_set(&self, set: &Set) -> Result<(), String> {
        set.scaling()?;
        if let Some(generator) = set.generator()? {
            if !matches!(generator.make(1, 0).target, Target::Classes(_)) {
                return Err(format!("the generator {} makes no classes", generator.name()));
            }
            if set.train.is_none() || set.test.is_none() {
                return Err("a generator needs the number of rows to train and to test on".into());
            }
            if set.smooth.is_some() {
                return Err("rows that are drawn are no images to smooth".into());
            }
        }
        if set.train == Some(0) || set.test == Some(0) {
            return Err("at least one row is needed to train and to test on".into());
        }
        if let Some(name) = set.printed.keys().find(|name| self.methods.iter().all(|method| method.name != **name)) {
            return Err(format!("there is no method {name} for the printed values"));
        }
        self.methods.iter().try_for_each(|method| {
            let settings = set.settings_for(method);
            settings.kernel().and(settings.flags()).map(drop)
        })
    }
}

impl Method {
    /// The learner, which must be one of classes.
    pub(super) fn choice(&self) -> Result<&'static Choice, String> {
        let fits = |choice: &&Choice| choice.wanted == Wanted::Classes;
        LEARNERS.iter().filter(fits).find(|choice| choice.name == self.learner).ok_or_else(|| {
            let names: Vec<&str> = LEARNERS.iter().filter(fits).map(|choice| choice.name).collect();
            format!("method {}: the learner is {:?}, but must be {}", self.name, self.learner, names.join(", "))
        })
    }
}

impl Set {
    /// The generator, where there is one.
    pub fn generator(&self) -> Result<Option<Generator>, String> {
        let Some(name) = &self.generator else { return Ok(None) };
        let unknown = || format!("the generator is {name:?}, but must be one of {}", Generator::names().join(", "));
        Generator::named(name).ok_or_else(unknown).map(Some)
    }

    /// The same set with a width for all methods.
    pub fn with_width(&self, width: f64) -> Set {
        let mut set = self.clone();
        set.settings.width = Some(width);
        set
    }

    pub(super) fn scaling(&self) -> Result<Scaling, String> {
        let Some(name) = &self.scale else { return Ok(Scaling::None) };
        Scaling::named(name).ok_or_else(|| format!("scale is {name:?}, but must be none, standard or minmax"))
    }

    /// The settings of a method on this set.
    pub fn settings_for(&self, method: &Method) -> Settings {
        let (first, second) = (&self.settings, &method.settings);
        let has_width = first.gamma.is_some() || first.width.is_some();
        Settings {
            gamma: first.gamma.or(second.gamma.filter(|_| !has_width)),
            width: first.width.or(second.width.filter(|_| !has_width)),
            c: first.c.or(second.c),
            tolerance: first.tolerance.or(second.tolerance),
            kernel: first.kernel.clone().or(second.kernel.clone()),
            degree: first.degree.or(second.degree),
            coef0: first.coef0.or(second.coef0),
            lambda: first.lambda.or(second.lambda),
            penalty: first.penalty.clone().or(second.penalty.clone()),
            bias: first.bias.clone().or(second.bias.clone()),
            method: first.method.clone().or(second.method.clone()),
            vectors: first.vectors.or(second.vectors),
            fraction: first.fraction.or(second.fraction),
            multiclass: first.multiclass.clone().or(second.multiclass.clone()),
            loss: first.loss.clone().or(second.loss.clone()),
            init: first.init.clone().or(second.init.clone()),
            iterations: first.iterations.or(second.iterations),
            refit: first.refit.clone().or(second.refit.clone()),
            pursuit: first.pursuit.clone().or(second.pursuit.clone()),
        }
    }

    /// The learner of a method with its settings for this set, and a seed for what it draws.
    pub fn learner(&self, method: &Method, seed: u64) -> Result<Scaled, String> {
        self.make(method.choice()?, &self.settings_for(method), None, seed)
    }

    /// The same for training rows: where the method has a part of the full machine's vectors, that machine is trained first.
    pub fn learner_for(&self, method: &Method, train: &Dataset, seed: u64, watch: &Watch) -> Result<Scaled, String> {
        let settings = self.settings_for(method);
        let Some(fraction) = settings.fraction else { return self.learner(method, seed) };
        let full = Settings { method: None, vectors: None, fraction: None, ..settings.clone() };
        let svc = self.make(&LEARNERS[0], &full, None, seed)?;
        let machine = svc.learn(train, watch).map_err(|error| error.to_string())?.machine;
        let part = |count: usize| ((fraction * count as f64).round() as usize).max(1);
        let coefficients = machine.expansion.coefficients.to_dense();
        let own = |k: usize| part(coefficients.iter().filter(|row| row[k] != 0.0).count());
        let parts = match settings.multiclass.as_deref() {
            Some("one-vs-rest") if machine.outputs() > 1 => Some((0..machine.outputs()).map(own).collect()),
            _ => None,
        };
        let vectors = Some(parts.as_ref().map_or(part(machine.vectors()), |parts: &Vec<usize>| parts.iter().sum()));
        self.make(method.choice()?, &Settings { vectors, ..settings }, parts, seed)
    }

    fn make(&self, choice: &Choice, settings: &Settings, parts: Option<Vec<usize>>, seed: u64) -> Result<Scaled, String> {
        let mut flags = settings.flags()?.seeded(seed);
        flags.direct.parts = parts;
        Ok(Scaled { how: HowToScale::Fitted(self.scaling()?), learner: choice.make(settings.kernel()?, &flags) })
    }
}

impl Settings {
    /// The kernel.
    pub(super) fn kernel(&self) -> Result<Kernel, String> {
        let name = self.kernel.as_deref().unwrap_or("gaussian");
        let kernel = Kernel::named(name, self.gamma()?, self.degree.unwrap_or(3), self.coef0.unwrap_or(0.0));
        kernel.ok_or_else(|| format!("there is no kernel {name:?}"))
    }

    /// The same as flags of `kernelet train`.
    pub(super) fn flags(&self) -> Result<learners::Settings, String> {
        let penalty = self.penalty.as_deref().map(|name| Penalty::named(name).ok_or(format!("there is no penalty {name:?}")));
        let bias = self.bias.as_deref().map(|name| Threshold::named(name, 1.0).ok_or(format!("there is no bias {name:?}")));
        let method = self.method.as_deref().map(|name| bases::named(name).ok_or(format!("there is no method {name:?} for a basis")));
        let pursuit = self.pursuit.as_ref().map(Pursuit::flags).transpose()?.unwrap_or_default();
        // A set may say how many vectors its bases have; a method without a basis is the full machine all the same.
        let vectors = self.vectors.filter(|_| method.is_some());
        let basis = bases::Flags { method: method.transpose()?, vectors, pursuit, ..Default::default() };
        if basis.method.is_some() && basis.vectors.is_none() && basis.pursuit.every.is_none() && self.fraction.is_none() {
            return Err("a basis needs the number of its vectors".into());
        }
        if self.fraction.is_some_and(|part| !(part > 0.0 && part <= 1.0)) {
            return Err("a fraction must be above 0 and at most 1".into());
        }
        let multiclass = self.multiclass.as_deref().map(|name| Multiclass::named(name).ok_or(format!("there is no multiclass {name:?}")));
        let direct = DirectFlags {
            loss: self.loss.as_deref().map(|name| LossFlag::from_str(name, false)).transpose()?,
            init: self.init.as_deref().map(|name| InitFlag::from_str(name, false)).transpose()?,
            iterations: self.iterations,
            refit: self.refit.as_deref().map(|name| RefitFlag::from_str(name, false)).transpose()?,
            ..Default::default()
        };
        Ok(learners::Settings {
            basis,
            direct,
            multiclass: multiclass.transpose()?,
            c: self.c,
            tolerance: self.tolerance,
            lambda: self.lambda,
            penalty: penalty.transpose()?,
            bias: bias.transpose()?,
            ..Default::default()
        })
    }

    /// The kernel's gamma, however it is given.
    pub fn gamma(&self) -> Result<f64, String> {
        match (self.gamma, self.width) {
            (Some(gamma), None) => Ok(gamma),
            (None, Some(width)) => Ok(1.0 / width),
            _ => Err("either gamma or width must be given".into()),
        }
    }
}

/// There is at least one name, and none twice.
fn require_names<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let names: Vec<&String> = names.collect();
    if names.is_empty() {
        return Err(format!("there is no {what}"));
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
        [[methods]]\nname = 'svm'\nlearner = 'svc'\nsettings = { gamma = 2, c = 3, tolerance = 1e-4 }\n\
        [[sets]]\nname = 'a'\ngenerator = 'banana'\ntrain = 5\ntest = 5\nsettings = { width = 4 }\nprinted.svm = { error = 1 }\n";

    #[test]
    fn what_a_set_says_goes_before_what_a_method_says() {
        let description = Description::parse(GOOD).unwrap();
        let settings = description.sets[0].settings_for(&description.methods[0]);
        assert_eq!((settings.gamma(), settings.c, settings.tolerance), (Ok(0.25), Some(3.0), Some(1e-4)));
        assert!(description.generated() && description.sets[0].learner(&description.methods[0], 0).is_ok());
    }

    #[test]
    fn the_seed_reaches_what_a_learner_draws() {
        let text = GOOD.replace("c = 3,", "c = 3, method = 'random', vectors = 4,");
        let description = Description::parse(&text).unwrap();
        let data = kernelet::data::banana(40, 1);
        let vectors = |seed: u64| {
            let learner = description.sets[0].learner(&description.methods[0], seed).unwrap();
            learner.learn(&data, &kernelet::watch::Watch::none()).unwrap().machine.expansion.vectors
        };
        assert!(vectors(0) == vectors(0) && vectors(0) != vectors(1));
    }

    #[test]
    fn vectors_of_a_set_are_for_its_bases_alone() {
        let text = GOOD.replace("width = 4", "width = 4, vectors = 5");
        let description = Description::parse(&text).unwrap();
        let learner = description.sets[0].learner(&description.methods[0], 0).unwrap();
        let data = kernelet::data::banana(60, 1);
        assert!(learner.learn(&data, &kernelet::watch::Watch::none()).unwrap().machine.vectors() > 5);
    }

    #[test]
    fn a_wrong_description_is_refused_in_words() {
        let cases = [
            ("splits = 2", "splits = 0", "splits is 0, but must be between 1 and 10000"),
            ("splits = 2", "split = 2", "unknown field `split`"),
            ("'svc'", "'ridge'", "method svm: the learner is \"ridge\", but must be svc, nu-svc"),
            ("'banana'", "'apple'", "set a: the generator is \"apple\", but must be one of banana,"),
            ("'banana'", "'sinc'", "set a: the generator sinc makes no classes"),
            ("test = 5\n", "", "set a: a generator needs the number of rows to train and to test on"),
            ("test = 5\n", "test = 0\n", "set a: at least one row is needed"),
            ("test = 5\n", "test = 5\nscale = 'log'\n", "set a: scale is \"log\", but must be none, standard or minmax"),
            ("test = 5\n", "test = 5\nsmooth = { width = 1, height = 2, pixels = 1 }\n", "set a: rows that are drawn are no images"),
            ("printed.svm", "printed.rvm", "set a: there is no method rvm for the printed values"),
            ("{ width = 4 }", "{ width = 4, gamma = 1 }", "set a: either gamma or width must be given"),
            ("{ width = 4 }", "{ width = 4, kernel = 'cubic' }", "set a: there is no kernel \"cubic\""),
            ("{ width = 4 }", "{ width = 4, penalty = 'all' }", "set a: there is no penalty \"all\""),
            ("{ width = 4 }", "{ width = 4, bias = 'mean' }", "set a: there is no bias \"mean\""),
            ("{ width = 4 }", "{ width = 4, method = 'grid', vectors = 3 }", "set a: there is no method \"grid\" for a basis"),
            ("{ width = 4 }", "{ width = 4, method = 'margin', fraction = 2 }", "set a: a fraction must be above 0"),
            ("{ width = 4 }", "{ width = 4, loss = 'cubic' }", "set a: invalid variant: cubic"),
            ("{ width = 4 }", "{ width = 4, method = 'random' }", "set a: a basis needs the number of its vectors"),
            ("gamma = 2, c", "c", ""),
        ];
        for (good, bad, words) in cases {
            let text = GOOD.replace(good, bad);
            assert_ne!(text, GOOD);
            match Description::parse(&text) {
                Ok(_) => assert_eq!(words, "", "{bad}"),
                Err(error) => assert!(!words.is_empty() && error.contains(words), "{error}"),
            }
        }
        let twice = format!("{GOOD}[[sets]]\nname = 'a'\n");
        assert_eq!(Description::parse(&twice).unwrap_err(), "there are two sets with the name a");
        let none = "title = 't'\npaper = 'p'\nsplits = 1\nmethods = []\nsets = []\n";
        assert_eq!(Description::parse(none).unwrap_err(), "there is no set");
    }
}
