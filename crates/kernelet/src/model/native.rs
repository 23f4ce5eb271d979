//! The native model file: a safetensors file with the arrays, and in its metadata one entry `kernelet` with everything else as JSON.
//!
//! Nothing is lost: a machine that is saved and loaded is the same to the last bit, and the same machine gives the same bytes.
//! The format is described for readers in other languages in `docs/model-format.md`; golden files keep every version readable.
use std::{collections::HashMap, io::Read, path::Path};

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::{
    arrays::{Array, Arrays},
    in_file, load_bytes, read_bytes, write_atomically,
};
use crate::{
    Error, Result,
    data::{Csr, Points, Scale, checksum},
    kernel::Kernel,
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata, Pairwise},
};

/// The newest version that is read. Machines are written in the oldest version that can hold them, so that older programs read them.
pub const VERSION: u32 = 3;

const FORMAT: &str = "kernelet-model";
const SPARSE: [&str; 3] = ["vectors.starts", "vectors.columns", "vectors.values"];
const SCALE: [&str; 3] = ["scale.shift", "scale.factor", "scale.map"];
const ARRAYS: [&str; 9] = ["vectors", SPARSE[0], SPARSE[1], SPARSE[2], "coefficients", "offsets", SCALE[0], SCALE[1], SCALE[2]];

/// The entry and the array of a checkpoint, which readers of models pass over.
const SEARCH: &str = "search";

/// What a checkpoint has besides the machine: a text and numbers that mean something to the search alone.
pub(crate) struct Extra {
    pub text: String,
    pub numbers: Vec<f64>,
}

impl Extra {
    /// The SHA-256 of text and numbers, which stands before the text: a search that went on from another state would end elsewhere without a word.
    fn sum(&self) -> String {
        let numbers: Vec<u8> = self.numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        checksum::of(self.text.as_bytes().chain(&numbers[..])).unwrap_or_default()
    }
}

/// The JSON text of the metadata entry `kernelet`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    format: String,
    version: u32,
    program: String,
    kernel: Kernel,
    decision: Decision,
    /// Number of features of sparse vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dim: Option<u32>,
    /// First vector of each class, and the number of vectors, for one-vs-one coefficients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    starts: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    names: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Calibration>,
    #[serde(default, rename = "facts")]
    metadata: Metadata,
}

/// What identifies a description of any version.
#[derive(Deserialize)]
struct Tag {
    format: String,
    version: u64,
}

/// The content of a model file. A machine that fails [`Machine::check`] is rejected, so that no file ever holds NaN.
pub fn to_bytes(machine: &Machine) -> Result<Vec<u8>> {
    bytes_with(machine, None)
}

/// Writes a checkpoint, whole or not at all.
pub(crate) fn save_with(machine: &Machine, extra: &Extra, path: &Path) -> Result<()> {
    let bytes = bytes_with(machine, Some(extra))?;
    write_atomically(path, |writer| writer.write_all(&bytes))
}

/// What a checkpoint has besides the machine; none where the file is a model and no more. The machine is read too, so that a damaged file is
/// an error.
pub(crate) fn load_extra(path: &Path) -> Result<Option<Extra>> {
    let (bytes, origin) = (read_bytes(path)?, path.display().to_string());
    if !Arrays::recognise(&bytes) {
        return load_bytes(&bytes, &origin).map(|_| None);
    }
    from_bytes(&bytes, &origin)?;
    let arrays = Arrays::open(&bytes, &origin)?;
    let Some(entry) = arrays.entry(SEARCH) else { return Ok(None) };
    let (sum, text) = entry.split_once(' ').unwrap_or_default();
    let extra = Extra { text: text.into(), numbers: arrays.list(SEARCH)? };
    match sum == extra.sum() {
        true => Ok(Some(extra)),
        false => Err(Error::format(origin, None, None, "the state of the search is damaged; delete the file to start anew")),
    }
}

fn bytes_with(machine: &Machine, extra: Option<&Extra>) -> Result<Vec<u8>> {
    machine.check()?;
    let not_written = |reason: String| Error::data(format!("the machine cannot be written: {reason}"));
    let json = serde_json::to_string(&describe(machine)?).map_err(|error| not_written(error.to_string()))?;
    let mut metadata = HashMap::from([("kernelet".to_string(), json)]);
    metadata.extend(extra.map(|extra| (SEARCH.to_string(), format!("{} {}", extra.sum(), extra.text))));
    let mut arrays = arrays_of(machine);
    arrays.extend(extra.map(|extra| (SEARCH, Array::list(&extra.numbers))));
    safetensors::serialize(arrays, Some(metadata)).map_err(|error| not_written(error.to_string()))
}

/// The machine in the content of a model file; `origin` names the file in errors.
pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Machine> {
    let arrays = Arrays::open(bytes, origin)?;
    let description = read_description(&arrays)?;
    check_names(&arrays)?;
    let vectors = read_vectors(&arrays, description.dim)?;
    let values = arrays.matrix("coefficients")?;
    let coefficients = match description.starts {
        None => Coefficients::Dense(values),
        Some(starts) => Coefficients::Pairwise(Pairwise { starts, values }),
    };
    let machine = Machine {
        expansion: Expansion { kernel: description.kernel, vectors, coefficients },
        offsets: arrays.list("offsets")?,
        decision: description.decision,
        scale: read_scale(&arrays)?,
        names: description.names,
        calibration: description.calibration,
        metadata: description.metadata,
    };
    machine.check().map_err(|error| in_file(origin, error))?;
    Ok(machine)
}

/// The oldest version that can hold the machine: output codes came with version 2, linear maps and exponents of the kernel with version 3.
fn version_for(machine: &Machine) -> u32 {
    match machine.decision {
        _ if machine.map().is_some() || machine.expansion.kernel.has_other_exponent() => 3,
        Decision::Codes { .. } => 2,
        _ => 1,
    }
}

fn describe(machine: &Machine) -> Result<Description> {
    let Expansion { kernel, vectors, coefficients } = &machine.expansion;
    Ok(Description {
        format: FORMAT.into(),
        version: version_for(machine),
        program: concat!("kernelet ", env!("CARGO_PKG_VERSION")).into(),
        kernel: kernel.clone(),
        decision: machine.decision.clone(),
        dim: if vectors.is_sparse() { Some(width(vectors.dim())?) } else { None },
        starts: match coefficients {
            Coefficients::Dense(_) => None,
            Coefficients::Pairwise(pairwise) => Some(pairwise.starts.clone()),
        },
        names: machine.names.clone(),
        calibration: machine.calibration.clone(),
        metadata: machine.metadata.clone(),
    })
}

fn arrays_of(machine: &Machine) -> Vec<(&'static str, Array)> {
    let mut arrays = match &machine.expansion.vectors {
        Points::F64(matrix) => vec![("vectors", Array::matrix(matrix))],
        Points::F32(matrix) => vec![("vectors", Array::matrix(matrix))],
        Points::Sparse(rows) => {
            let (starts, columns, values) = rows.parts();
            vec![
                ("vectors.starts", Array::list(starts)),
                ("vectors.columns", Array::list(columns)),
                ("vectors.values", Array::list(values)),
            ]
        }
    };
    arrays.push(("coefficients", Array::matrix(machine.expansion.coefficients.stored())));
    arrays.push(("offsets", Array::list(&machine.offsets)));
    if let Some(scale) = &machine.scale {
        arrays.push((SCALE[1], Array::list(&scale.factor)));
        arrays.extend(scale.shift.as_ref().map(|shift| (SCALE[0], Array::list(shift))));
        arrays.extend(scale.map.as_ref().map(|map| (SCALE[2], Array::matrix(map))));
    }
    arrays
}

fn width(dim: usize) -> Result<u32> {
    u32::try_from(dim).map_err(|_| Error::parameter("the number of features", dim, format!("at most {}", u32::MAX)))
}

fn read_description(arrays: &Arrays) -> Result<Description> {
    let text = arrays.entry("kernelet");
    let text =
        text.ok_or_else(|| arrays.bad("this is a safetensors file, but not a kernelet model: its metadata have no entry `kernelet`"))?;
    let not_understood = |error| arrays.bad(format!("the entry `kernelet` is not understood: {error}"));
    let tag: Tag = serde_json::from_slice(text.as_bytes()).map_err(not_understood)?;
    if tag.format == super::cascade::FORMAT {
        return Err(arrays.bad(
            "this is a cascade of machines; predict, evaluate, inspect and export --to c take it, other commands need a single machine",
        ));
    }
    if tag.format != FORMAT {
        return Err(arrays.bad(format!("the entry `kernelet` has the format {:?}, but must have {FORMAT:?}", tag.format)));
    }
    if tag.version > VERSION.into() {
        let found = u32::try_from(tag.version).unwrap_or(u32::MAX);
        return Err(Error::Version { path: arrays.origin.into(), found, newest: VERSION });
    }
    if tag.version == 0 {
        return Err(arrays.bad("the format version is 0, but versions count from 1"));
    }
    serde_json::from_slice(text.as_bytes()).map_err(not_understood)
}

/// Refuses arrays that no machine has, so that nothing in a file is passed over in silence.
fn check_names(arrays: &Arrays) -> Result<()> {
    let known = |name: &str| ARRAYS.contains(&name) || name == SEARCH && arrays.entry(SEARCH).is_some();
    match arrays.names().into_iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => Err(arrays.bad(format!("the array `{name}` is not part of a kernelet model"))),
    }
}

fn read_vectors(arrays: &Arrays, dim: Option<u32>) -> Result<Points> {
    let sparse = dim.is_some() || SPARSE.iter().any(|name| arrays.dtype(name).is_some());
    let vectors = match (arrays.dtype("vectors"), sparse) {
        (Some(_), true) => return Err(arrays.bad("the vectors are given both dense and sparse")),
        (Some(Dtype::F32), false) => Points::F32(arrays.matrix("vectors")?),
        (_, false) => Points::F64(arrays.matrix("vectors")?),
        (None, true) => {
            let dim = dim.ok_or_else(|| arrays.bad("the vectors are sparse, but the entry `kernelet` has no `dim`"))?;
            let rows = Csr::new(arrays.list(SPARSE[0])?, arrays.list(SPARSE[1])?, arrays.list(SPARSE[2])?, dim as usize);
            Points::Sparse(rows.map_err(|error| in_file(arrays.origin, error))?)
        }
    };
    width(vectors.dim()).map_err(|error| in_file(arrays.origin, error))?;
    Ok(vectors)
}

fn read_scale(arrays: &Arrays) -> Result<Option<Scale>> {
    if SCALE.iter().all(|name| arrays.dtype(name).is_none()) {
        return Ok(None);
    }
    let shift = arrays.dtype(SCALE[0]).map(|_| arrays.list(SCALE[0])).transpose()?;
    let map = arrays.dtype(SCALE[2]).map(|_| arrays.matrix(SCALE[2])).transpose()?;
    Ok(Some(Scale { shift, factor: arrays.list(SCALE[1])?, map }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{data::Label, kernel::InverseMultiquadric, linalg::Matrix};

    /// A machine that uses every part of the format: one-vs-one, sparse vectors, scaling, names, probabilities, metadata.
    fn full() -> Machine {
        let vectors = Csr::new(vec![0, 2, 2, 3], vec![0, 4, 2], vec![0.1, -0.0, 1e-300], 5).unwrap();
        let values = Matrix::from_fn(3, 2, |i, j| (i as f64 - 0.3) / (j as f64 + 0.7));
        Machine {
            expansion: Expansion {
                kernel: Kernel::named("polynomial", 0.1 + 0.2, 3, -1.0 / 3.0).unwrap(),
                vectors: vectors.into(),
                coefficients: Coefficients::Pairwise(Pairwise { starts: vec![0, 1, 1, 3], values }),
            },
            offsets: vec![-0.0, 0.1, 1e22],
            decision: Decision::Votes { labels: ["+1", "zwei", "3.0"].map(Label::new).to_vec() },
            scale: Some(Scale::new(Some(vec![0.1; 5]), vec![3.0; 5])),
            names: Some(["a", "b\"", "ü", "", "e"].map(String::from).to_vec()),
            calibration: Some(Calibration::Sigmoid { a: vec![-1.5, 0.1, 0.3], b: vec![0.7; 3] }),
            metadata: Metadata {
                learner: Some("svc".into()),
                c: Some(0.1),
                class_weights: Some(vec![1.0, 2.0, 0.3]),
                ..Metadata::default()
            },
        }
    }

    fn dense(vectors: impl Into<Points>) -> Machine {
        let vectors = vectors.into();
        let coefficients = Coefficients::Dense(Matrix::from_fn(vectors.len(), 2, |i, j| i as f64 - 0.1 * j as f64));
        let expansion = Expansion { kernel: Kernel::gaussian(0.3), vectors, coefficients };
        Machine {
            expansion,
            offsets: vec![0.1, 0.2],
            decision: Decision::Values,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        }
    }

    /// Vectors of three numbers, and a map to them from five features.
    fn mapped() -> Machine {
        let mut machine = dense(Matrix::from_fn(2, 3, |i, j| 0.1 * i as f64 - j as f64));
        let map = Matrix::from_fn(3, 5, |k, j| (k as f64 - 0.3) / (j as f64 + 0.7));
        machine.scale = Some(Scale { shift: Some(vec![-0.0; 5]), factor: vec![0.1; 5], map: Some(map) });
        machine.names = Some(["a", "b", "c", "d", "e"].map(String::from).to_vec());
        machine
    }

    /// The file with its header changed, the description within it as JSON.
    fn edited(bytes: &[u8], edit: impl Fn(&mut Value, &mut Value)) -> Vec<u8> {
        let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        let mut description: Value = serde_json::from_str(header["__metadata__"]["kernelet"].as_str().unwrap()).unwrap();
        edit(&mut header, &mut description);
        if header["__metadata__"]["kernelet"].is_string() {
            header["__metadata__"]["kernelet"] = description.to_string().into();
        }
        let text = header.to_string();
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &bytes[8 + length..]].concat()
    }

    #[test]
    fn a_machine_returns_as_it_left_and_gives_the_same_bytes() {
        let f32s = Matrix::new(vec![0.1f32, -0.0, f32::MIN_POSITIVE], 3, 1).unwrap();
        for machine in [
            full(),
            dense(Matrix::from_fn(2, 3, |i, j| 0.1 * i as f64 - j as f64)),
            dense(f32s),
            dense(Matrix::<f64>::zeros(0, 3)),
            mapped(),
        ] {
            let bytes = to_bytes(&machine).unwrap();
            let back = from_bytes(&bytes, "m").unwrap();
            assert_eq!(back, machine);
            assert_eq!(to_bytes(&back).unwrap(), bytes);
        }
        assert!(from_bytes(&to_bytes(&full()).unwrap(), "m").unwrap().offsets[0].is_sign_negative());
    }

    #[test]
    fn output_codes_return_and_need_version_2() {
        let mut machine = dense(Matrix::from_fn(2, 3, |i, j| 0.1 * i as f64 - j as f64));
        let labels = ["a", "b", "c"].map(Label::new).to_vec();
        machine.decision = Decision::Codes { labels, words: vec![vec![1, 1], vec![1, -1], vec![-1, 1]] };
        let bytes = to_bytes(&machine).unwrap();
        assert_eq!(from_bytes(&bytes, "m").unwrap(), machine);
        edited(&bytes, |_, description| assert_eq!(description["version"], 2));
        edited(&to_bytes(&full()).unwrap(), |_, description| assert_eq!(description["version"], 1));
        for words in [json!([[1, 1], [1, 1], [-1, 1]]), json!([[1, 1], [1], [-1, 1]]), json!([[1, 1], [1, 0], [-1, 1]]), json!([])] {
            let broken = edited(&bytes, |_, description| description["decision"]["words"] = words.clone());
            assert!(from_bytes(&broken, "m").unwrap_err().to_string().contains("the code words do not fit their classes"));
        }
    }

    #[test]
    fn exponents_of_the_kernel_need_version_3_and_the_usual_one_is_not_written() {
        for (exponent, version) in [(-0.5, 1), (-1.0, 3)] {
            let mut machine = full();
            machine.expansion.kernel = Kernel::InverseMultiquadric(InverseMultiquadric { gamma: 0.3, exponent });
            let bytes = to_bytes(&machine).unwrap();
            edited(&bytes, |_, d| assert_eq!((&d["version"], d["kernel"].get("exponent").is_some()), (&json!(version), version == 3)));
            assert_eq!(from_bytes(&bytes, "m").unwrap(), machine);
        }
    }

    #[test]
    fn linear_maps_need_version_3_and_must_fit() {
        let bytes = to_bytes(&mapped()).unwrap();
        type Edit<'a> = &'a dyn Fn(&mut Value, &mut Value);
        let cases: [(Edit, &str); 9] = [
            (&|_, d| assert_eq!(d["version"], 3), ""),
            (&|h, _| h["scale.map"]["shape"] = json!([5, 3]), "rows of the machine's linear map: expected 3, found 5"),
            (&|h, _| h["scale.map"]["shape"] = json!([1, 15]), "rows of the machine's linear map: expected 3, found 1"),
            (&|h, _| h["scale.map"]["shape"] = json!([15]), "the array `scale.map` has 1 dimensions, but must have 2"),
            (&|h, _| h["scale.map"]["shape"] = json!([3, 6]), "the header is not understood"),
            (&|h, _| h["scale.map"]["shape"] = json!([1u64 << 60, 1u64 << 60]), "the header is not understood"),
            (&|h, _| h["scale.map"]["dtype"] = json!("I64"), "the array `scale.map` has the type I64, but must have F64"),
            (&|_, d| d["names"] = json!(["a", "b", "c"]), "feature names of the machine: expected 5, found 3"),
            (&|h, _| h["scale.factor"]["shape"] = json!([5, 1]), "the array `scale.factor` has 2 dimensions, but must have 1"),
        ];
        for (edit, reason) in cases {
            match from_bytes(&edited(&bytes, edit), "m") {
                Ok(machine) => assert_eq!((reason, machine), ("", mapped())),
                Err(error) => assert!(!reason.is_empty() && error.to_string().contains(reason), "{error}\n{reason}"),
            }
        }
        // A NaN that a damaged file brings along.
        let third = (2.0f64 - 0.3) / 4.7;
        let place = bytes.windows(8).position(|window| window == third.to_le_bytes()).unwrap();
        let mut nan = bytes.clone();
        nan[place..place + 8].copy_from_slice(&f64::NAN.to_le_bytes());
        let error = from_bytes(&nan, "m").unwrap_err().to_string();
        assert!(error.contains("a number of the linear map in row 3, column 5 is NaN"), "{error}");
        let without_factors = arrays_of(&mapped()).into_iter().filter(|(name, _)| *name != SCALE[1]);
        let error = from_bytes(&file(without_factors, &mapped()), "m").unwrap_err().to_string();
        assert!(error.contains("the array `scale.factor` is missing"), "{error}");
    }

    /// A file of these arrays, checked or not.
    fn file(arrays: impl IntoIterator<Item = (&'static str, Array)>, machine: &Machine) -> Vec<u8> {
        let description = serde_json::to_string(&describe(machine).unwrap()).unwrap();
        safetensors::serialize(arrays, Some(HashMap::from([("kernelet".into(), description)]))).unwrap()
    }

    #[test]
    fn a_map_without_columns_claims_nothing() {
        // Two thousand million numbers a row, backed by no byte of the file.
        let mut machine = dense(Matrix::<f64>::zeros(0, 1 << 31));
        machine.scale = Some(Scale { map: Some(Matrix::zeros(1 << 31, 0)), ..Scale::new(None, vec![]) });
        assert!(to_bytes(&machine).unwrap_err().to_string().contains("the linear map is empty"));
        assert!(from_bytes(&file(arrays_of(&machine), &machine), "m").unwrap_err().to_string().contains("the linear map is empty"));
    }

    #[test]
    fn a_machine_with_a_number_that_is_not_finite_is_not_written() {
        let parts: [&dyn Fn(&mut Machine); 5] = [
            &|m| m.offsets[0] = f64::NAN,
            &|m| m.scale.as_mut().unwrap().factor[2] = f64::INFINITY,
            &|m| m.calibration = Some(Calibration::Sigmoid { a: vec![f64::NAN; 3], b: vec![0.0; 3] }),
            &|m| m.metadata.c = Some(f64::NAN),
            &|m| m.scale.as_mut().unwrap().map = Some(Matrix::from_fn(5, 5, |_, _| f64::INFINITY)),
        ];
        for spoil in parts {
            let mut machine = full();
            spoil(&mut machine);
            assert!(to_bytes(&machine).is_err());
        }
    }

    #[test]
    fn a_newer_version_and_a_broken_file_have_different_errors() {
        let bytes = to_bytes(&full()).unwrap();
        let newer = edited(&bytes, |_, d| *d = json!({"format": FORMAT, "version": 4, "shape": "unheard of"}));
        let error = from_bytes(&newer, "m").unwrap_err();
        assert!(matches!(error, Error::Version { found: 4, newest: 3, .. }), "{error}");
        let far = edited(&bytes, |_, d| d["version"] = json!(u64::MAX));
        assert!(matches!(from_bytes(&far, "m"), Err(Error::Version { found: u32::MAX, .. })));
    }

    #[test]
    fn broken_files_are_rejected_with_an_error() {
        let (sparse, dense) = (to_bytes(&full()).unwrap(), to_bytes(&dense(Matrix::<f64>::zeros(2, 3))).unwrap());
        type Edit<'a> = &'a dyn Fn(&mut Value, &mut Value);
        let rename = |header: &mut Value, from: &str, to: &str| {
            let array = header.as_object_mut().unwrap().remove(from).unwrap();
            header[to] = array;
        };
        let cases: [(&[u8], Edit, &str); 20] = [
            (&dense, &|h, _| h["__metadata__"] = json!({}), "this is a safetensors file, but not a kernelet model"),
            (&dense, &|_, d| d["format"] = json!("other"), "has the format \"other\""),
            (&dense, &|_, d| d["version"] = json!(0), "versions count from 1"),
            (&dense, &|_, d| d["version"] = json!("1"), "the entry `kernelet` is not understood: invalid type"),
            (&dense, &|_, d| d["kernel"] = json!({"name": "cosine"}), "unknown variant `cosine`, expected one of `gaussian`"),
            (&dense, &|_, d| d["kernel"]["gamma"] = json!(-1), "gamma is -1, but must be a finite number above 0"),
            (&dense, &|_, d| d["kernel"]["gamma"] = json!(null), "the entry `kernelet` is not understood"),
            (&dense, &|_, d| d["unheard"] = json!(1), "unknown field `unheard`"),
            (&dense, &|_, d| d["names"] = json!(["a"]), "feature names of the machine: expected 3, found 1"),
            (&dense, &|_, d| d["decision"] = json!({"rule": "novelty"}), "outputs for the machine's labels: expected 1, found 2"),
            (&dense, &|_, d| d["dim"] = json!(3), "both dense and sparse"),
            (&dense, &|h, _| rename(h, "vectors", "points"), "the array `points` is not part of a kernelet model"),
            (&dense, &|h, _| rename(h, "vectors", "scale.shift"), "the array `vectors` is missing"),
            (&dense, &|h, _| h["vectors"]["shape"] = json!([3, 2]), "rows of coefficients: expected 3, found 2"),
            (&dense, &|h, _| h["vectors"]["dtype"] = json!("I64"), "the array `vectors` has the type I64, but must have F64"),
            (&dense, &|h, _| h["coefficients"]["shape"] = json!([4]), "the array `coefficients` has 1 dimensions, but must have 2"),
            (&dense, &|h, _| h["coefficients"]["shape"] = json!([4, 1]), "rows of coefficients: expected 2, found 4"),
            (&sparse, &|_, d| d["dim"] = json!(null), "the vectors are sparse, but the entry `kernelet` has no `dim`"),
            (&sparse, &|_, d| d["dim"] = json!(4), "must ascend and stay below 4"),
            (&sparse, &|_, d| d["starts"] = json!([0, 2, 1, 3]), "the classes of the one-vs-one coefficients do not fit their vectors"),
        ];
        for (bytes, edit, reason) in cases {
            let edited = edited(bytes, edit);
            let error = match from_bytes(&edited, "m") {
                Err(error) => error.to_string(),
                Ok(machine) => panic!("{reason}: {machine:?}"),
            };
            assert!(error.starts_with("m: ") && error.contains(reason), "{error}\n{reason}");
        }
    }
}
