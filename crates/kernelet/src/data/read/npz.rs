//! Named NumPy arrays in a zip file: `X` the points, `y` the target, `sample_weight` how much each row counts.
use std::{
    collections::BTreeMap,
    io::{Cursor, Read as _},
};

use zip::ZipArchive;

use super::{
    Read, Reading, Wanted,
    array::Array,
    npy,
    source::{grown_too_large, unpacked_limit},
};
use crate::{
    Error, Result,
    data::{Dataset, Target},
};

/// All arrays of a `.npz` file by name; `origin` names the file in messages.
pub fn read_arrays(bytes: &[u8], origin: &str) -> Result<BTreeMap<String, Array>> {
    Archive::open(bytes, origin)?.arrays(|_| true, unpacked_limit(bytes.len()))
}

/// Reads the arrays `X`, `y` and `sample_weight`; others are passed over.
pub(super) fn read(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    let mut archive = Archive::open(bytes, origin)?;
    let needed = |name: &str| match name {
        "y" => how.wanted != Wanted::Nothing,
        name => matches!(name, "X" | "sample_weight"),
    };
    let mut arrays = archive.arrays(needed, unpacked_limit(bytes.len()))?;
    let called = |name: &str| format!("{origin}, array {name}");
    let points = arrays.remove("X").ok_or_else(|| archive.lacks("X"))?.into_points(&called("X"))?;
    if let Some(dim) = how.expected_dim().filter(|&dim| dim != points.dim()) {
        let reason = format!("there are {} columns, but the model has {dim} features", points.dim());
        return Err(Error::format(called("X"), None, None, reason));
    }
    let mut dataset = Dataset::new(points, Target::None);
    match arrays.get("y") {
        Some(y) => {
            require_rows(&called("y"), y, dataset.len())?;
            dataset.target = y.to_target(how.wanted, &called("y"))?;
        }
        None if how.wanted == Wanted::Nothing || how.expected_dim().is_some() => {}
        None => return Err(archive.lacks("y")),
    }
    if let Some(array) = arrays.get("sample_weight") {
        dataset.weights = Some(weights(array, dataset.len(), &called("sample_weight"))?);
    }
    Ok(Read { dataset, notes: vec![] })
}

fn require_rows(origin: &str, array: &Array, rows: usize) -> Result<()> {
    match array.shape.first() {
        Some(&found) if found != rows => Err(Error::format(origin, None, None, format!("there are {found} rows, but X has {rows}"))),
        _ => Ok(()),
    }
}

fn weights(array: &Array, rows: usize, origin: &str) -> Result<Vec<f64>> {
    require_rows(origin, array, rows)?;
    match (&array.shape[..], array.values.to_f64()) {
        ([_] | [_, 1], Some(values)) => Ok(values),
        _ => Err(Error::format(origin, None, None, "weights must be one number a row")),
    }
}

/// A zip file of arrays.
struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    origin: &'a str,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8], origin: &'a str) -> Result<Self> {
        match ZipArchive::new(Cursor::new(bytes)) {
            Ok(zip) => Ok(Archive { zip, origin }),
            Err(_) => Err(Error::format(origin, None, None, "this is not a zip file of NumPy arrays, or it is damaged")),
        }
    }

    /// The arrays whose names are wanted. Together they may unpack to `limit` bytes, whatever sizes the file declares.
    fn arrays(&mut self, wanted: impl Fn(&str) -> bool, limit: u64) -> Result<BTreeMap<String, Array>> {
        let (mut arrays, mut left) = (BTreeMap::new(), limit);
        for name in self.names().into_iter().filter(|name| wanted(name)) {
            let called = format!("{}, array {name}", self.origin);
            let damaged = |_| Error::format(&called, None, None, "the packed data are damaged");
            let entry = self.zip.by_name(&format!("{name}.npy")).map_err(|error| Error::format(&called, None, None, error.to_string()))?;
            let mut bytes = Vec::new();
            entry.take(left.saturating_add(1)).read_to_end(&mut bytes).map_err(damaged)?;
            left = left.checked_sub(bytes.len() as u64).ok_or_else(|| grown_too_large(&called))?;
            arrays.insert(name, npy::parse(&bytes, &called)?);
        }
        Ok(arrays)
    }

    fn names(&self) -> Vec<String> {
        let files = self.zip.file_names().flatten();
        files.filter_map(|file| file.strip_suffix(".npy").map(str::to_string)).collect()
    }

    fn lacks(&self, name: &str) -> Error {
        let mut names = self.names();
        names.sort();
        let present = if names.is_empty() { "there are none".into() } else { format!("the arrays are {}", names.join(", ")) };
        Error::format(self.origin, None, None, format!("there is no array {name}; {present}"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    use super::*;
    use crate::{
        data::{
            Points,
            read::{array::Values, npy::tests::written},
        },
        linalg::Matrix,
    };

    /// A zip file of these arrays.
    pub(in crate::data::read) fn zipped(arrays: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(vec![]));
        for (name, bytes) in arrays {
            zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method)).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn points() -> (&'static str, Vec<u8>) {
        ("X", written("|u1", false, "(2, 2)", &[1, 2, 3, 4]))
    }

    fn labels() -> (&'static str, Vec<u8>) {
        ("y", written("|i1", false, "(2,)", &[1, 255]))
    }

    const CLASSES: Reading = Reading::CLASSES;

    fn reading(arrays: &[(&str, Vec<u8>)], how: &Reading) -> std::result::Result<Dataset, String> {
        let bytes = zipped(arrays, CompressionMethod::Deflated);
        read(&bytes, "a.npz", how).map(|read| read.dataset).map_err(|error| error.to_string())
    }

    #[test]
    fn points_labels_and_weights_are_read() {
        let weight = ("sample_weight", written("<f4", false, "(2, 1)", &[0, 0, 0, 63, 0, 0, 0, 64]));
        let pickled = ("more", written("|O", false, "(1,)", &[]));
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let bytes = zipped(&[points(), labels(), weight.clone(), pickled.clone()], method);
            let dataset = read(&bytes, "a.npz", &CLASSES).unwrap().dataset;
            assert_eq!(dataset.points, Points::F64(Matrix::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2).unwrap()));
            let classes = dataset.classes().unwrap();
            assert_eq!((classes.labels[0].text(), &classes.codes[..]), ("-1", &[1, 0][..]));
            assert_eq!(dataset.weights, Some(vec![0.5, 2.0]));
        }
        let words = ("y", written("|S1", false, "(2, 1)", b"ba"));
        assert_eq!(reading(&[points(), words], &CLASSES).unwrap().classes().unwrap().labels[0].text(), "a");
        let values = Reading { wanted: Wanted::Values, ..CLASSES };
        assert_eq!(reading(&[points(), labels()], &values).unwrap().values().unwrap().values(), [1.0, -1.0]);
    }

    #[test]
    fn the_target_may_be_absent_where_none_is_wanted_or_a_model_is_there() {
        let nothing = Reading::default();
        assert_eq!(reading(&[points(), labels()], &nothing).unwrap().target, Target::None);
        let model = Reading { dim: Some(2), ..CLASSES };
        assert_eq!(reading(&[points()], &model).unwrap().target, Target::None);
        assert_eq!(reading(&[points()], &CLASSES).unwrap_err(), "a.npz: there is no array y; the arrays are X");
    }

    #[test]
    fn what_does_not_fit_is_rejected_with_an_error() {
        let three = ("y", written("|i1", false, "(3,)", &[1, 2, 3]));
        let fixed = ["y_train", "X_train"].map(|name| (name, points().1));
        let weights = ("sample_weight", written("|S1", false, "(2,)", b"ab"));
        let model = Reading { dim: Some(3), ..CLASSES };
        let cases = [
            (reading(&fixed, &CLASSES), "a.npz: there is no array X; the arrays are X_train, y_train"),
            (reading(&[], &CLASSES), "a.npz: there is no array X; there are none"),
            (reading(&[points(), three], &CLASSES), "a.npz, array y: there are 3 rows, but X has 2"),
            (reading(&[points(), labels()], &model), "a.npz, array X: there are 2 columns, but the model has 3 features"),
            (reading(&[points(), labels(), weights], &CLASSES), "a.npz, array sample_weight: weights must be one number a row"),
            (reading(&[("X", vec![1, 2])], &CLASSES), "a.npz, array X: this is not a NumPy array"),
        ];
        for (found, expected) in cases {
            assert_eq!(found.unwrap_err(), expected);
        }
        let text = read(b"PK", "a.npz", &CLASSES).unwrap_err().to_string();
        assert_eq!(text, "a.npz: this is not a zip file of NumPy arrays, or it is damaged");
    }

    #[test]
    fn all_arrays_can_be_had_by_name() {
        let bytes = zipped(&[points(), ("train_idx", written("<i2", false, "(1, 2)", &[1, 0, 0, 0]))], CompressionMethod::Deflated);
        let arrays = read_arrays(&bytes, "a.npz").unwrap();
        assert_eq!(arrays.keys().collect::<Vec<_>>(), ["X", "train_idx"]);
        assert_eq!(arrays["train_idx"], Array { shape: vec![1, 2], values: Values::I64(vec![1, 0]) });
    }

    #[test]
    fn arrays_may_not_unpack_beyond_the_limit() {
        let bytes = zipped(&[points(), labels()], CompressionMethod::Deflated);
        let size = points().1.len() + labels().1.len();
        let within = |limit: usize| Archive::open(&bytes, "a.npz").unwrap().arrays(|_| true, limit as u64);
        assert_eq!(within(size).unwrap().len(), 2);
        let text = within(size - 1).unwrap_err().to_string();
        assert!(text.starts_with("a.npz, array y: the data unpack to more than 200 times their size"), "{text}");
    }
}
