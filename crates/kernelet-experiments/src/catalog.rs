//! The experiments that are built in, and those in files of the user.
use std::path::{Path, PathBuf};

use kernelet::{Error, Result, data::read::read_whole};

use super::{Outcome, description::Description, picture::plain};

/// The built-in experiments: name and description. A new one is a file in `experiments/` and a line here.
const BUILT_IN: &[(&str, &str)] = &[
    ("basis-choice", include_str!("../experiments/basis-choice.toml")),
    ("diethe2015-as-printed", include_str!("../experiments/diethe2015-as-printed.toml")),
    ("diethe2015-figures-1-4", include_str!("../experiments/diethe2015-figures-1-4.toml")),
    ("diethe2015-generated", include_str!("../experiments/diethe2015-generated.toml")),
    ("diethe2015-stages", include_str!("../experiments/diethe2015-stages.toml")),
    ("diethe2015-variants", include_str!("../experiments/diethe2015-variants.toml")),
    ("franc2003-figure1", include_str!("../experiments/franc2003-figure1.toml")),
    ("franc2003-section3", include_str!("../experiments/franc2003-section3.toml")),
    ("franc2003-table1", include_str!("../experiments/franc2003-table1.toml")),
    ("franc2003-table2", include_str!("../experiments/franc2003-table2.toml")),
    ("generated-svm", include_str!("../experiments/generated-svm.toml")),
    ("ida-svm", include_str!("../experiments/ida-svm.toml")),
    ("schoelkopf1998-polynomial", include_str!("../experiments/schoelkopf1998-polynomial.toml")),
    ("schoelkopf1998-table1", include_str!("../experiments/schoelkopf1998-table1.toml")),
    ("shared-vectors", include_str!("../experiments/shared-vectors.toml")),
    ("shared-vectors-mnist", include_str!("../experiments/shared-vectors-mnist.toml")),
    ("weston2004-averages", include_str!("../experiments/weston2004-averages.toml")),
    ("weston2004-coupling", include_str!("../experiments/weston2004-coupling.toml")),
    ("weston2004-densities", include_str!("../experiments/weston2004-densities.toml")),
    ("weston2004-figure1", include_str!("../experiments/weston2004-figure1.toml")),
    ("weston2004-figure2", include_str!("../experiments/weston2004-figure2.toml")),
    ("weston2004-figure4", include_str!("../experiments/weston2004-figure4.toml")),
    ("weston2004-figure5", include_str!("../experiments/weston2004-figure5.toml")),
    ("weston2004-l1-usps", include_str!("../experiments/weston2004-l1-usps.toml")),
    ("weston2004-outputs", include_str!("../experiments/weston2004-outputs.toml")),
    ("weston2004-section5", include_str!("../experiments/weston2004-section5.toml")),
    ("wu2006-figure1", include_str!("../experiments/wu2006-figure1.toml")),
    ("wu2006-rvm", include_str!("../experiments/wu2006-rvm.toml")),
    ("wu2006-section4", include_str!("../experiments/wu2006-section4.toml")),
    ("wu2006-section6", include_str!("../experiments/wu2006-section6.toml")),
    ("wu2006-steps", include_str!("../experiments/wu2006-steps.toml")),
    ("wu2006-table3", include_str!("../experiments/wu2006-table3.toml")),
    ("wu2006-tables-1-2", include_str!("../experiments/wu2006-tables-1-2.toml")),
    ("wu2006-usps", include_str!("../experiments/wu2006-usps.toml")),
];

/// An experiment with its name.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name, also of the files that are written.
    pub name: String,
    /// What it is.
    pub description: Description,
}

impl Experiment {
    /// The experiment that a text describes; `origin` names it in errors.
    pub fn parse(name: &str, origin: &str, text: &str) -> Result<Self> {
        let description = Description::parse(text).map_err(|reason| Error::data(format!("{origin}: {reason}")))?;
        let experiment = Experiment { name: name.into(), description };
        let mut files = [experiment.pictures(), experiment.chart_files()].concat();
        files.sort();
        match files.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::data(format!("{origin}: two pictures would have the name {}", pair[0]))),
            None => Ok(experiment),
        }
    }

    /// The files that are needed from `directory`, each once.
    pub fn files(&self, directory: &Path) -> Vec<PathBuf> {
        let read = self.description.sets.iter().filter(|set| set.generator.is_none());
        let mut files: Vec<PathBuf> = read.map(|set| set.path(directory)).collect();
        files.sort();
        files.dedup();
        files
    }

    /// The names of these files without their directories, with the SHA-256 sums of what they hold.
    pub fn checksums(&self, directory: &Path) -> Vec<(String, String)> {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.files(directory).iter().filter_map(|path| Some((name(path), kernelet::data::checksum::of_file(path)?))).collect()
    }

    /// Those of them that are not there.
    pub fn missing(&self, directory: &Path) -> Vec<PathBuf> {
        self.files(directory).into_iter().filter(|path| !path.is_file()).collect()
    }

    /// The pictures of an outcome, by the name of their file.
    pub fn charts(&self, outcome: &Outcome) -> Vec<(String, String)> {
        let drawn = self.description.figures.iter().flat_map(|figure| figure.draw(outcome));
        drawn.map(|(name, svg)| (self.chart_file(&name), svg)).collect()
    }

    fn chart_file(&self, name: &str) -> String {
        format!("{}-{}.svg", self.name, plain(name))
    }

    /// The files of the charts.
    pub fn chart_files(&self) -> Vec<String> {
        self.description.figures.iter().flat_map(|figure| figure.names(&self.description)).map(|name| self.chart_file(&name)).collect()
    }

    /// The files of the pictures of machines.
    pub fn pictures(&self) -> Vec<String> {
        let Description { sets, methods, .. } = &self.description;
        sets.iter().flat_map(|set| methods.iter().filter_map(|method| self.picture(set, method))).collect()
    }
}

/// All built-in experiments, by name.
pub fn built_in() -> Result<Vec<Experiment>> {
    BUILT_IN.iter().map(|(name, text)| Experiment::parse(name, name, text)).collect()
}

/// The names of the built-in experiments.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// The built-in experiment with this name, if there is one, or the one that a `.toml` file describes.
pub fn named(name: &str) -> Result<Option<Experiment>> {
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = String::from_utf8(read_whole(path)?).map_err(|_| Error::format(name, None, None, "this is not text"))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        return Experiment::parse(&stem, name, &text).map(Some);
    }
    let known = BUILT_IN.iter().find(|(known, _)| *known == name);
    known.map(|(name, text)| Experiment::parse(name, name, text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_in_is_not_found() {
        assert!(named("nonsense").unwrap().is_none() && named("nonsense.toml").is_err());
        assert_eq!(named("ida-svm").unwrap().unwrap().name, "ida-svm");
    }

    #[test]
    fn every_description_in_the_folder_is_built_in_and_sound() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = files.filter_map(|file| file.strip_suffix(".toml").map(String::from)).collect();
        names.sort();
        assert_eq!(built_in().unwrap().into_iter().map(|experiment| experiment.name).collect::<Vec<_>>(), names);
    }
}
