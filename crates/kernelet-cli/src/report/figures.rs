//! What the page shows, as it stands in the page: plain numbers, one structure for each part.
use serde::Serialize;

/// Everything on the page.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Figures {
    /// The headline.
    pub title: String,
    /// `classes`, `values` or `features`.
    pub task: &'static str,
    /// Class labels: the machine's, then those that only the rows have.
    pub labels: Vec<String>,
    /// Which rows errors and agreement are of: `test`, `data` or none.
    pub measured_on: Option<&'static str>,
    /// How many rows that are.
    pub rows: usize,
    /// The machine that is made smaller.
    pub full: Full,
    /// One curve for each method.
    pub methods: Vec<Method>,
    /// The size that is shown first.
    pub chosen: Chosen,
    /// Rows on which a small machine and the full one differ, each once.
    pub differing: Vec<DifferingRow>,
    /// Features by name with their learned scales, the largest first.
    pub feature_scales: Vec<(String, f64)>,
    /// How often the model is right where it is how sure, where it has probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliability: Option<Reliability>,
    /// Pictures, where rows are images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Images>,
    /// The plane, where rows have two features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plane: Option<Plane>,
    /// True values and those of the full machine, where numbers are predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// What was left out, in sentences.
    pub notes: Vec<String>,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// The machine that is made smaller.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Full {
    /// The learner, where it is known.
    pub learner: Option<String>,
    /// The kernel with its parameters.
    pub kernel: String,
    /// Features of a row.
    pub dim: usize,
    /// Outputs.
    pub outputs: usize,
    /// Its figures.
    #[serde(flatten)]
    pub level: Level,
}

/// A reliability diagram of the model that the page is about.
#[derive(Serialize, Clone, Debug, Default, PartialEq)]
pub struct Reliability {
    /// Rows, mean confidence and accuracy of each bin that has rows.
    pub bins: Vec<(usize, f64, f64)>,
    /// The mean distance between confidence and accuracy.
    pub calibration_error: f64,
    /// The mean of -log P(true class).
    pub log_loss: f64,
}

/// A method and its machines.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Method {
    /// The name on the command line.
    pub name: String,
    /// What it does, in a line.
    pub about: String,
    /// Seconds for all sizes together.
    pub seconds: Option<f64>,
    /// What else should be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The sizes, smallest first.
    pub levels: Vec<Level>,
}

/// One machine.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Level {
    /// Its vectors.
    pub vectors: usize,
    /// The error of classes or the mean squared error of numbers, on the rows measured on.
    pub error: Option<f64>,
    /// Between which values the error on all rows like the test rows lies with 95 % confidence; only where there are test rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_band: Option<[f64; 2]>,
    /// The same for the agreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement_band: Option<[f64; 2]>,
    /// The error on the rows of `--data`, where others are measured on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_error: Option<f64>,
    /// The fraction of rows with the full machine's label.
    pub agreement: Option<f64>,
    /// The mean squared difference of the outputs from the full machine's, over their variance; for numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The squared distance of the weight vectors, divided by the squared norm of the full machine's.
    pub residual: Option<f64>,
    /// Bytes of the model file.
    pub bytes: Option<usize>,
    /// Single-row latency in microseconds, on one thread.
    pub row_us: Option<f64>,
    /// Microseconds per row in a batch, on one thread.
    pub batch_us: Option<f64>,
    /// Cells of the confusion matrix that are not zero: true class, predicted class, rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<[usize; 3]>,
    /// Confused rows that the cells leave out.
    #[serde(skip_serializing_if = "is_zero")]
    pub confusion_rest: usize,
    /// Rows on which the label is not the full machine's.
    #[serde(skip_serializing_if = "is_zero")]
    pub differ: usize,
    /// The first of them: place in [`Figures::differing`], class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<[usize; 2]>,
    /// The vectors drawn, those with the largest coefficients first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
    /// Classes over the plane, in run lengths, or values along the one feature, packed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plane: Option<String>,
    /// Predicted numbers of the rows of [`Values`], packed like them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The size that is shown first.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Chosen {
    /// The place of its method.
    pub method: usize,
    /// The place of its size in the method.
    pub level: usize,
    /// Why this one, in a sentence.
    pub why: String,
}

/// A row on which machines differ.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct DifferingRow {
    /// Counted from 1, as the rows come.
    pub row: usize,
    /// The true class, where it is known.
    pub truth: Option<usize>,
    /// The full machine's class.
    pub full: usize,
    /// The first features, rounded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
    /// The place of its picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<usize>,
}

/// A vector and its largest coefficient.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The place of its picture.
    pub picture: usize,
    /// The coefficient.
    pub coefficient: f64,
    /// The output it belongs to, in words, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// Pictures of 16 greys, two dots a byte, the left one in the high bits.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Images {
    /// Dots in a line.
    pub width: usize,
    /// Lines.
    pub height: usize,
    /// All pictures one after another, as base64.
    pub dots: String,
}

/// The plane of two features.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Plane {
    /// Names of the features.
    pub names: [String; 2],
    /// The range of the first feature.
    pub x: [f64; 2],
    /// The range of the second.
    pub y: [f64; 2],
    /// Cells along each side; the first row of cells is at the smallest y.
    pub side: usize,
    /// The full machine over the plane, as in [`Level::plane`].
    pub full: String,
    /// Points: two coordinates, and the true class where it is known.
    pub points: Vec<(f64, f64, Option<usize>)>,
}

/// Numbers that are predicted, packed in steps of a common range.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Values {
    /// The smallest and the largest number.
    pub range: [f64; 2],
    /// True numbers.
    pub truth: String,
    /// The full machine's.
    pub full: String,
    /// The one feature of a row, where rows have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
}

/// The feature of rows that have one, and the full machine along it.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Its range.
    pub range: [f64; 2],
    /// Of the rows, packed in that range.
    pub rows: String,
    /// The full machine's values at even steps of the range, packed as values.
    pub full: String,
}

/// Where the figures come from.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Provenance {
    /// The command.
    pub command: String,
    /// The version of the program.
    pub version: &'static str,
    /// The files that were read.
    pub files: Vec<SourceFile>,
    /// The seed.
    pub seed: u64,
    /// Threads used.
    pub threads: usize,
    /// Cores of the machine.
    pub cores: usize,
}

/// A file that was read.
#[derive(Serialize, Clone, Debug, Default)]
pub struct SourceFile {
    /// What it is: `model`, `data`, `test`.
    pub what: &'static str,
    /// Its name as it was given.
    pub name: String,
    /// Its rows, where it has some.
    pub rows: Option<usize>,
    /// The SHA-256 sum of its bytes, where it could be read twice.
    pub sha256: Option<String>,
}
