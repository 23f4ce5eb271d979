//! `kernelet inspect`: what is in a model file.
use std::path::PathBuf;

use clap::Args;
use kernelet::{
    data::{Column, Encoding, Fingerprints, Label, MISSING, Scale},
    machine::{Machine, Metadata},
    model::{Kind, images, native, write_atomically},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{compress::cascade::Shown, trained::FeatureScales};
use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Loaded},
    layout::{count, counted, figure, lines, list, percent, table},
    session::{Answer, Session},
};

/// Flags of `inspect`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Inspect {
    /// The model: native or LIBSVM text.
    pub model: String,
    /// Draw the vectors as images of WxH pixels, each with its largest coefficient, to the PNG file of --output.
    #[arg(long, value_name = "WxH", value_parser = images::size, requires = "output")]
    pub images: Option<(usize, usize)>,
    /// Where the images are written.
    #[arg(short, long, value_name = "FILE.png", requires = "images")]
    pub output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  kernelet inspect digits.model
  kernelet inspect digits.model --json
  kernelet inspect small.model --images 16x16 -o vectors.png";

impl Inspect {
    /// Reads the model and shows it.
    pub fn run(self, session: &Session) -> Result<()> {
        if let Some(output) = &self.output {
            files::check_output(output, &[&self.model])?;
        }
        let (machine, kind) = match input::loaded(&self.model)? {
            (Loaded::Machine(machine), kind) => (*machine, kind),
            (Loaded::Cascade(_), _) if self.images.is_some() => {
                return Err(Failure::usage("--images shows the vectors of one machine, and this is a cascade of several"));
            }
            (Loaded::Cascade(cascade), _) => return session.answer(&Shown::new(&cascade, self.model.as_ref())?),
        };
        if let (Some(size), Some(output)) = (self.images, &self.output) {
            let picture = images::draw(&machine, size)?;
            write_atomically(output, |writer| writer.write_all(&picture))?;
        }
        session.answer(&Inspected::new(machine, kind)?)
    }
}

/// What is in it.
#[derive(Serialize)]
struct Inspected {
    kernel: &'static str,
    parameters: Value,
    vectors: usize,
    storage: &'static str,
    dim: usize,
    outputs: usize,
    classes: Vec<String>,
    decision: Value,
    bytes: usize,
    evaluations_per_row: usize,
    scale: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    projection: Option<Projection>,
    probabilities: bool,
    calibration: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_scales: Option<FeatureScales>,
    /// Training rows that are recognised by their fingerprints, and whether these are all.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_rows: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    knows_all_rows: Option<bool>,
    names: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<Encoding>,
    #[serde(rename = "facts")]
    metadata: Metadata,
    source: &'static str,
}

/// The size of the linear map behind the scaling.
#[derive(Serialize)]
struct Projection {
    rows: usize,
    cols: usize,
}

impl Inspected {
    fn new(mut machine: Machine, kind: Kind) -> Result<Self> {
        let bytes = native::to_bytes(&machine)?.len();
        let table = machine.metadata.table.take();
        let known = machine.metadata.seen.take();
        let kernel = &machine.expansion.kernel;
        let mut parameters = json!(kernel);
        if let Some(object) = parameters.as_object_mut() {
            object.remove("name");
        }
        Ok(Inspected {
            kernel: kernel.name(),
            parameters,
            vectors: machine.n_vectors(),
            storage: if machine.expansion.vectors.is_sparse() { "sparse" } else { "dense" },
            dim: machine.dim(),
            outputs: machine.n_outputs(),
            classes: machine.decision.labels().iter().map(Label::to_string).collect(),
            decision: json!(machine.decision)["rule"].clone(),
            bytes,
            // Every vector is shared by all outputs.
            evaluations_per_row: machine.n_vectors(),
            scale: machine.scale.as_ref().map(kind_of_scale),
            projection: machine.map().map(|map| Projection { rows: map.rows(), cols: map.cols() }),
            probabilities: machine.calibration.is_some(),
            calibration: machine.calibration.as_ref().map(|calibration| calibration.name()),
            feature_scales: FeatureScales::of(&machine),
            known_rows: known.as_ref().map(Fingerprints::len),
            knows_all_rows: known.map(|known| known.all),
            names: machine.names,
            table,
            metadata: machine.metadata,
            source: kind.name(),
        })
    }

    /// What is known of the training, in one line.
    fn metadata_text(&self) -> Option<String> {
        let metadata = &self.metadata;
        let mut parts: Vec<String> = metadata.learner.iter().cloned().collect();
        let numbers = [
            ("c", metadata.c),
            ("nu", metadata.nu),
            ("epsilon", metadata.epsilon),
            ("lambda", metadata.lambda),
            ("objective", metadata.objective),
        ];
        parts.extend(numbers.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {}", figure(value)))));
        parts.extend(metadata.penalty.as_ref().map(|penalty| format!("penalty {penalty}")));
        parts.extend(metadata.bias.as_ref().map(|bias| format!("bias {bias}")));
        parts.extend(metadata.metric.as_ref().map(|metric| match metric.used {
            true => format!("{} learned", metric.learned),
            false => "one width, which validation rows preferred".into(),
        }));
        parts.extend(metadata.basis.as_ref().map(|basis| format!("basis by {}", basis.method)));
        parts.extend(metadata.rank.map(|rank| format!("rank {rank}")));
        parts.extend(metadata.features.as_ref().map(|features| {
            let whitened = if features.whitened { ", whitened" } else { "" };
            format!("{} of the variance{whitened}", percent(features.explained().iter().sum()))
        }));
        parts.extend(metadata.n_rows.map(|rows| counted(rows, "row")));
        parts.extend(metadata.class_weights.as_ref().map(|weights| {
            let weights: Vec<String> = weights.iter().map(|&weight| figure(weight)).collect();
            format!("class weights {}", weights.join(" "))
        }));
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn kind_of_scale(scale: &Scale) -> &'static str {
    match scale.shift {
        Some(_) => "shifts and factors",
        None => "factors",
    }
}

impl Answer for Inspected {
    fn text(&self) -> String {
        let parameters = self.parameters.as_object().into_iter().flatten();
        let parameters = parameters.map(|(name, value)| format!(", {name} {}", value.as_f64().map_or(value.to_string(), figure)));
        let mut pairs = vec![
            ("kernel", format!("{}{}", self.kernel, parameters.collect::<String>())),
            ("vectors", format!("{} of {}, {}", count(self.vectors), counted(self.dim, "feature"), self.storage)),
            ("outputs", format!("{}, decided by {}", count(self.outputs), self.decision.as_str().unwrap_or_default())),
        ];
        if !self.classes.is_empty() {
            pairs.push(("classes", list(&self.classes)));
        }
        pairs.push(("bytes", count(self.bytes)));
        pairs.push(("a row costs", counted(self.evaluations_per_row, "kernel evaluation")));
        pairs.push(("scaling", self.scale.unwrap_or("none").into()));
        pairs.extend(self.projection.as_ref().map(|map| ("map", format!("{} x {}", count(map.rows), count(map.cols)))));
        pairs.push(("probabilities", self.calibration.map_or("no".into(), |name| format!("yes, {name}"))));
        pairs.extend(self.names.as_ref().map(|names| ("features", list(names))));
        pairs.extend(self.metadata_text().map(|metadata| ("trained", metadata)));
        pairs.extend(self.known_rows.map(|rows| {
            let which = if self.knows_all_rows == Some(true) { "all" } else { "a sample" };
            ("recognises", format!("{} of training, {which}", counted(rows, "row")))
        }));
        pairs.push(("file", self.source.into()));
        let columns = self.table.as_ref().map_or(String::new(), columns_text);
        lines(&pairs) + &columns + &self.feature_scales.as_ref().map_or(String::new(), FeatureScales::bars)
    }
}

/// The columns of the training table, one a line.
fn columns_text(encoding: &Encoding) -> String {
    let header = ["column", "kind", "features", "missing values"].map(String::from);
    let row = |column: &Column| {
        let (kind, missing) = match column {
            Column::Number { fill, flagged, .. } => {
                ("numbers", format!("the median {}{}", figure(*fill), if *flagged { ", with an indicator" } else { "" }))
            }
            Column::Text { categories, .. } if categories.iter().any(|category| category == MISSING) => ("text", "a category".into()),
            Column::Text { .. } => ("text", "no indicator".into()),
            Column::Ignored { .. } => ("ignored", String::new()),
        };
        vec![column.name().to_string(), kind.into(), count(column.n_features()), missing]
    };
    format!("\n{}", table(&header, &encoding.columns.iter().map(row).collect::<Vec<_>>()))
}
