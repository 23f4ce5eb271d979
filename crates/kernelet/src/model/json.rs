//! A machine as plain JSON, for people and scripts: every number of the machine under the name it has here.
//!
//! The format is described in `docs/deploy.md`. Numbers have as many digits as it takes to read the same double back, so that a machine
//! that is written and read predicts the same to the last bit; only the storage of vectors in single precision is not kept.
use serde::{Deserialize, Serialize};

use super::{in_file, write_atomically};
use crate::{
    Error, Result,
    data::{Csr, Points, Scale},
    kernel::Kernel,
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata, Pairwise},
};
use std::path::Path;

/// The newest version that is read. It came with linear maps; machines without one are written as version 1, so that older programs read them.
pub const VERSION: u32 = 2;

const FORMAT: &str = "kernelet-json";

/// The whole file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    version: u32,
    program: String,
    kernel: Kernel,
    /// Numbers of a vector.
    dim: usize,
    decision: Decision,
    #[serde(default)]
    names: Option<Vec<String>>,
    #[serde(default)]
    scale: Option<Scale>,
    offsets: Vec<f64>,
    /// One-vs-one coefficients: class c owns vectors `starts[c]` up to `starts[c + 1]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    starts: Option<Vec<usize>>,
    /// One row for each vector.
    coefficients: Vec<Vec<f64>>,
    /// Dense vectors, one row each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<Vec<Vec<f64>>>,
    /// Sparse vectors, one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sparse_vectors: Option<Vec<SparseRow>>,
    #[serde(default)]
    calibration: Option<Calibration>,
    #[serde(default, rename = "facts")]
    metadata: Metadata,
}

/// The features of a vector that are not zero, columns counted from 0.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SparseRow {
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// The text of the file, one vector a line.
pub fn to_text(machine: &Machine) -> Result<String> {
    machine.check()?;
    let (vectors, sparse_vectors) = match &machine.expansion.vectors {
        Points::Sparse(rows) => {
            let row = |j| {
                let (columns, values) = rows.row(j);
                SparseRow { columns: columns.to_vec(), values: values.to_vec() }
            };
            (None, Some((0..rows.len()).map(row).collect()))
        }
        dense => (Some(dense.to_dense().iter().map(<[f64]>::to_vec).collect()), None),
    };
    let document = Document {
        format: FORMAT.into(),
        version: if machine.map().is_some() || machine.expansion.kernel.has_other_exponent() { VERSION } else { 1 },
        program: concat!("kernelet ", env!("CARGO_PKG_VERSION")).into(),
        kernel: machine.expansion.kernel.clone(),
        dim: machine.expansion.vectors.dim(),
        decision: machine.decision.clone(),
        names: machine.names.clone(),
        scale: machine.scale.clone(),
        offsets: machine.offsets.clone(),
        starts: match &machine.expansion.coefficients {
            Coefficients::Dense(_) => None,
            Coefficients::Pairwise(pairwise) => Some(pairwise.starts.clone()),
        },
        coefficients: machine.expansion.coefficients.stored().iter().map(<[f64]>::to_vec).collect(),
        vectors,
        sparse_vectors,
        calibration: machine.calibration.clone(),
        metadata: machine.metadata.clone(),
    };
    write_lines(&document).map_err(|error| Error::data(format!("the machine cannot be written: {error}")))
}

/// One key a line, and one element a line for lists of lists or objects.
fn write_lines(document: &Document) -> serde_json::Result<String> {
    let value = serde_json::to_value(document)?;
    let mut lines = vec![];
    for key in KEYS {
        let Some(value) = value.get(key) else { continue };
        let text = match value.as_array().filter(|list| list.iter().any(|entry| entry.is_array() || entry.is_object())) {
            Some(list) => {
                let rows = list.iter().map(serde_json::to_string).collect::<serde_json::Result<Vec<_>>>()?;
                format!("[\n    {}\n  ]", rows.join(",\n    "))
            }
            None => serde_json::to_string(value)?,
        };
        lines.push(format!("  \"{key}\": {text}"));
    }
    Ok(format!("{{\n{}\n}}\n", lines.join(",\n")))
}

/// The keys in the order in which people read them.
const KEYS: [&str; 15] = [
    "format",
    "version",
    "program",
    "kernel",
    "dim",
    "decision",
    "names",
    "scale",
    "offsets",
    "calibration",
    "facts",
    "starts",
    "coefficients",
    "vectors",
    "sparse_vectors",
];

/// Writes the machine as JSON, whole or not at all.
pub fn save(machine: &Machine, path: impl AsRef<Path>) -> Result<()> {
    let text = to_text(machine)?;
    write_atomically(path, |writer| writer.write_all(text.as_bytes()))
}

/// The machine in the content of a JSON file; `origin` names the file in errors.
pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Machine> {
    #[derive(Deserialize)]
    struct Tag {
        format: String,
        version: u64,
    }
    let bad = |reason: String| Error::format(origin, None, None, reason);
    let broken = |error: serde_json::Error| Error::format(origin, Some(error.line()), Some(error.column()), error.to_string());
    let tag: Tag =
        serde_json::from_slice(bytes).map_err(|_| bad("this JSON is not a kernelet model: it has no format and version".into()))?;
    if tag.format != FORMAT {
        return Err(bad(format!("this JSON has the format {:?}, but a model has {FORMAT:?}", tag.format)));
    }
    if tag.version > u64::from(VERSION) {
        let found = u32::try_from(tag.version).unwrap_or(u32::MAX);
        return Err(Error::Version { path: origin.into(), found, newest: VERSION });
    }
    let document: Document = serde_json::from_slice(bytes).map_err(broken)?;
    let machine = document.into_machine().map_err(|error| in_file(origin, error))?;
    machine.check().map_err(|error| in_file(origin, error))?;
    Ok(machine)
}

impl Document {
    fn into_machine(self) -> Result<Machine> {
        let vectors: Points = match (self.vectors, self.sparse_vectors) {
            (Some(rows), None) => matrix(rows, self.dim, "features of a vector")?.into(),
            (None, Some(rows)) => sparse(rows, self.dim)?.into(),
            _ => return Err(Error::data("a model has either vectors or sparse_vectors")),
        };
        let columns = match &self.starts {
            Some(starts) => starts.len().saturating_sub(2),
            None => self.offsets.len(),
        };
        let values = matrix(self.coefficients, columns, "coefficients of a vector")?;
        let coefficients = match self.starts {
            None => Coefficients::Dense(values),
            Some(starts) => Coefficients::Pairwise(Pairwise { starts, values }),
        };
        Ok(Machine {
            expansion: Expansion { kernel: self.kernel, vectors, coefficients },
            offsets: self.offsets,
            decision: self.decision,
            scale: self.scale,
            names: self.names,
            calibration: self.calibration,
            metadata: self.metadata,
        })
    }
}

fn matrix(rows: Vec<Vec<f64>>, columns: usize, what: &'static str) -> Result<Matrix> {
    if let Some(row) = rows.iter().find(|row| row.len() != columns) {
        return Err(Error::Shape { what, expected: columns, found: row.len() });
    }
    let count = rows.len();
    Matrix::new(rows.into_iter().flatten().collect(), count, columns).ok_or(Error::Shape { what, expected: columns, found: 0 })
}

fn sparse(rows: Vec<SparseRow>, dim: usize) -> Result<Csr> {
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in rows {
        if row.columns.len() != row.values.len() {
            return Err(Error::Shape { what: "values of a sparse vector", expected: row.columns.len(), found: row.values.len() });
        }
        columns.extend(row.columns);
        values.extend(row.values);
        starts.push(values.len());
    }
    Csr::new(starts, columns, values, dim)
}

/// True when the content begins like JSON.
pub(super) fn recognise(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Label, machine::Curve};

    fn machine() -> Machine {
        let labels: Vec<Label> = ["a", "b", "c"].map(Label::new).into();
        let values = Matrix::from_fn(4, 2, |i, k| (i as f64 + 0.1) / 3.0 - k as f64);
        Machine {
            expansion: Expansion {
                kernel: Kernel::gaussian(1.0 / 3.0),
                vectors: Matrix::from_fn(4, 3, |i, j| if j == 1 { 0.0 } else { (i as f64).sin() + j as f64 }).into(),
                coefficients: Coefficients::Pairwise(Pairwise { starts: vec![0, 1, 3, 4], values }),
            },
            offsets: vec![0.1, -1e-300, 1e300],
            decision: Decision::Votes { labels },
            scale: Some(Scale::new(Some(vec![1.0, 2.0, 3.0]), vec![0.5; 3])),
            names: Some(["x", "y", "z"].map(String::from).into()),
            calibration: Some(Calibration::Isotonic { curves: vec![Curve { outputs: vec![0.0, 1.0], probabilities: vec![0.1, 0.9] }; 3] }),
            metadata: Metadata { learner: Some("svc".into()), c: Some(10.0), ..Metadata::default() },
        }
    }

    #[test]
    fn machines_return_as_they_were() {
        let dense = machine();
        let mut sparse = dense.clone();
        sparse.expansion.vectors = Csr::from_dense(&dense.expansion.vectors.to_dense()).into();
        let mut plain = dense.clone();
        plain.expansion.coefficients = Coefficients::Dense(dense.expansion.coefficients.to_dense());
        (plain.scale, plain.names, plain.calibration) = (None, None, None);
        let mut mapped = dense.clone();
        let map = Matrix::from_fn(3, 2, |k, j| (k as f64 + 0.1) / 3.0 - j as f64);
        (mapped.scale, mapped.names) = (Some(Scale { map: Some(map), ..Scale::new(None, vec![0.5; 2]) }), None);
        let mut other = dense.clone();
        other.expansion.kernel =
            crate::kernel::Kernel::InverseMultiquadric(crate::kernel::InverseMultiquadric { gamma: 0.3, exponent: -1.0 });
        for machine in [dense, sparse, plain, mapped, other] {
            let text = to_text(&machine).unwrap();
            let version = if machine.map().is_some() || text.contains("\"exponent\"") { 2 } else { 1 };
            assert_eq!(
                (text.contains("\"map\""), text.contains(&format!("\"version\": {version}"))),
                (machine.map().is_some(), true),
                "{text}"
            );
            assert_eq!(from_bytes(text.as_bytes(), "m").unwrap(), machine, "{text}");
        }
    }

    #[test]
    fn each_vector_has_a_line() {
        let text = to_text(&machine()).unwrap();
        assert!(text.starts_with("{\n  \"format\": \"kernelet-json\",\n  \"version\": 1,\n"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("    [")).count(), 8);
    }

    #[test]
    fn broken_files_are_rejected_with_an_error() {
        let text = to_text(&machine()).unwrap();
        let cases = [
            ("{}", "this JSON is not a kernelet model"),
            (&text.replace("kernelet-json", "other"), "has the format \"other\""),
            (&text.replace("\"version\": 1", "\"version\": 9"), "format version 9"),
            (&text.replace("\"dim\": 3", "\"dim\": 4"), "features of a vector: expected 4, found 3"),
            (&text.replace("\"gamma\":0.3333333333333333", "\"gamma\":-1.0"), "gamma is -1"),
            (&text.replace("[0,1,3,4]", "[0,1,4]"), "coefficients of a vector: expected 1, found 2"),
            (&text.replace("\"starts\"", "\"strats\""), "unknown field"),
            (&text.replace("\"vectors\"", "\"sparse_vectors\""), "invalid type"),
            (&text[..text.len() / 2], "this JSON is not a kernelet model"),
        ];
        for (text, words) in cases {
            let error = from_bytes(text.as_bytes(), "m").unwrap_err().to_string();
            assert!(error.starts_with("m") && error.contains(words), "{error}");
        }
        let mut nan = machine();
        nan.offsets[0] = f64::NAN;
        assert!(to_text(&nan).is_err());
    }
}
