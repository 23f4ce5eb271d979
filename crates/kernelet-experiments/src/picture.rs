//! Pictures of a machine: its vectors as images, or its boundary beside that of another machine.
use std::path::{Path, PathBuf};

use kernelet::{
    data::Dataset,
    machine::Machine,
    model::{images, write_atomically},
    watch::Watch,
};

use super::{
    Experiment,
    choose::Chosen,
    description::{Draw, Method, Set, Values},
    drawing::Boundary,
    machines::Machines,
};

/// What a picture is drawn from.
pub struct Drawn<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The set.
    pub set: &'a Set,
    /// The method.
    pub method: &'a Method,
    /// Its machine.
    pub machine: &'a Machine,
    /// The rows it learned from.
    pub train: &'a Dataset,
    /// What was chosen for the set.
    pub chosen: &'a Chosen,
}

impl Experiment {
    /// The file of a picture of a machine.
    pub fn picture(&self, set: &Set, method: &Method) -> Option<String> {
        let extension = match method.draw.as_ref()? {
            Draw::Images(_) => "png",
            Draw::Boundary(_) => "svg",
        };
        Some(format!("{}-{}-{}.{extension}", self.name, plain(&set.name), plain(&method.name)))
    }
}

/// The longest part of a file's name that comes from a name of a description.
const LONGEST: usize = 80;

/// A name for a file: letters, digits, and a dash for all else.
pub fn plain(name: &str) -> String {
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase().chars().take(LONGEST).collect()
}

impl Drawn<'_> {
    /// Draws the picture of the method into a directory.
    pub fn write(&self, machines: &mut Machines, directory: &Path, watch: &Watch) -> Result<(), String> {
        let (Some(draw), Some(name)) = (&self.method.draw, self.experiment.picture(self.set, self.method)) else { return Ok(()) };
        let bytes = match draw {
            Draw::Images(size) => images::draw(self.machine, images::size(size)?).map_err(|error| error.to_string())?,
            Draw::Boundary(other) => self.boundary(other, machines, watch)?.into_bytes(),
        };
        let path: PathBuf = directory.join(name);
        write_atomically(&path, |writer| writer.write_all(&bytes)).map_err(|error| error.to_string())
    }

    fn boundary(&self, other: &str, machines: &mut Machines, watch: &Watch) -> Result<String, String> {
        let method = self.experiment.description.method(other)?;
        let ready = machines.ready(method, self.chosen.get(other).unwrap_or(&Values::new()), watch)?;
        let beside = machines.full(&ready.train, ready.parts, watch)?;
        let title = format!("{} and {other} on {}", self.method.name, self.set.name);
        let both = vec![(other.to_string(), &beside.fit.machine), (self.method.name.clone(), self.machine)];
        Boundary { title, machines: both, rows: self.train }.svg()
    }
}
