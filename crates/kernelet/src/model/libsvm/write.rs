//! Writing LIBSVM model text, in the order and with the digits LIBSVM itself writes.
use std::collections::HashSet;

use super::number::{enough_digits, seventeen_digits};
use crate::{
    Error, Result,
    data::{Label, Points},
    kernel::Kernel,
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, Machine, Pairwise},
};

/// The machine as LIBSVM model text, or an error that says why LIBSVM cannot express it.
///
/// The vectors of a binary machine are grouped: coefficients of at least 0 first, those below 0 after. Several classes whose pairs all
/// use all vectors, as after a joint compression, have no place in LIBSVM's layout; there each vector is written once for every class
/// but the last that it helps to separate from the later ones.
pub fn to_text(machine: &Machine) -> Result<String> {
    machine.check()?;
    if machine.map().is_some() {
        return Err(unsupported(
            "a machine with a linear map of its features",
            "its files have no place for the map; save the native format",
        ));
    }
    if machine.scale.is_some() {
        return Err(unsupported("a machine with a scaling", "write the scaling as an svm-scale range file, and the machine without it"));
    }
    if i32::try_from(machine.dim()).is_err() {
        return Err(unsupported(format!("{} features", machine.dim()), "its indices end at 2147483647"));
    }
    let layout = Layout::of(machine)?;
    let mut text = String::new();
    let mut line = |word: &str, values: Vec<String>| {
        text.push_str(word);
        values.iter().for_each(|value| text.extend([" ", value]));
        text.push('\n');
    };
    line("svm_type", vec![layout.svm_type.into()]);
    for (word, value) in kernel_lines(&machine.expansion.kernel)? {
        line(word, vec![value]);
    }
    line("nr_class", vec![layout.classes.to_string()]);
    line("total_sv", vec![layout.rows.len().to_string()]);
    line("rho", machine.offsets.iter().map(|&offset| seventeen_digits(-offset)).collect());
    if !layout.labels.is_empty() {
        line("label", layout.labels.iter().map(i32::to_string).collect());
    }
    for (word, values) in calibration_lines(machine)? {
        line(word, values.iter().map(|&value| seventeen_digits(value)).collect());
    }
    if !layout.labels.is_empty() {
        line("nr_sv", layout.counts.iter().map(usize::to_string).collect());
    }
    line("SV", vec![]);
    write_vectors(&machine.expansion.vectors, &layout.rows, &mut text);
    Ok(text)
}

/// The vectors that stand in the file: as many kernel evaluations does a row cost where the file is used. Vectors that several classes
/// share are written once for each, so that there can be more of them than the machine has.
pub fn evaluations(machine: &Machine) -> Result<usize> {
    Ok(Layout::of(machine)?.rows.len())
}

fn unsupported(with: impl Into<String>, instead: impl Into<String>) -> Error {
    Error::Unsupported { method: "LIBSVM's model format", with: with.into(), instead: instead.into() }
}

/// What stands in the file: vectors with their coefficients, in order, and the counts above them.
struct Layout {
    svm_type: &'static str,
    classes: usize,
    /// Empty for regression and one-class machines.
    labels: Vec<i32>,
    /// Vectors of each class.
    counts: Vec<usize>,
    rows: Vec<(usize, Vec<f64>)>,
}

impl Layout {
    fn of(machine: &Machine) -> Result<Self> {
        let nu = machine.metadata.learner.as_deref().is_some_and(|learner| learner.starts_with("nu-"));
        let stored = machine.expansion.coefficients.stored();
        let single = |svm_type| Layout { svm_type, classes: 2, labels: vec![], counts: vec![], rows: rows(stored, 0..stored.rows()) };
        let svm_type = if nu { "nu_svc" } else { "c_svc" };
        match &machine.decision {
            Decision::Novelty => Ok(single("one_class")),
            Decision::Values if machine.n_outputs() == 1 => Ok(single(if nu { "nu_svr" } else { "epsilon_svr" })),
            Decision::Values => {
                Err(unsupported(format!("{} regression targets", machine.n_outputs()), "it has one; save the native format"))
            }
            Decision::Sign { negative, positive } => Ok(by_sign(svm_type, whole_numbers([positive, negative])?, stored)),
            Decision::Votes { labels } => {
                let labels = whole_numbers(labels)?;
                match &machine.expansion.coefficients {
                    _ if labels.len() == 2 => Ok(by_sign(svm_type, labels, stored)),
                    Coefficients::Pairwise(pairwise) => {
                        let counts = pairwise.starts.windows(2).map(|w| w[1] - w[0]).collect();
                        Ok(Layout { svm_type, classes: labels.len(), labels, counts, rows: rows(stored, 0..stored.rows()) })
                    }
                    Coefficients::Dense(dense) => {
                        let (counts, rows) = repeated(dense, labels.len());
                        Ok(Layout { svm_type, classes: labels.len(), labels, counts, rows })
                    }
                }
            }
            Decision::Largest { .. } => {
                Err(unsupported("a one-vs-rest machine", "its classifiers are one-vs-one; save the native format, or train one-vs-one"))
            }
            Decision::Ratio => Err(unsupported("a machine whose prediction is a ratio", "save the native format")),
            Decision::Codes { .. } => {
                Err(unsupported("output codes", "its classifiers are one-vs-one; save the native format, or train one-vs-one"))
            }
            Decision::Features => Err(unsupported("a machine whose outputs are features", "save the native format")),
        }
    }
}

fn rows(coefficients: &Matrix, order: impl IntoIterator<Item = usize>) -> Vec<(usize, Vec<f64>)> {
    order.into_iter().map(|j| (j, coefficients.row(j).to_vec())).collect()
}

/// Two classes: the vectors with coefficients for the first label, then those against it.
fn by_sign(svm_type: &'static str, labels: Vec<i32>, coefficients: &Matrix) -> Layout {
    let (first, second): (Vec<usize>, Vec<usize>) = (0..coefficients.rows()).partition(|&j| coefficients.at(j, 0) >= 0.0);
    let counts = vec![first.len(), second.len()];
    Layout { svm_type, classes: 2, labels, counts, rows: rows(coefficients, first.into_iter().chain(second)) }
}

/// Several classes with a coefficient of every vector for every pair: as a vector of class a it serves the pairs (a, b) with b > a.
/// The vectors of each class, and the rows with their coefficients.
pub(in crate::model) fn repeated(dense: &Matrix, classes: usize) -> (Vec<usize>, Vec<(usize, Vec<f64>)>) {
    let pairs: Vec<(usize, usize)> = Pairwise::pairs(classes).collect();
    let (mut counts, mut rows) = (vec![0; classes], vec![]);
    for class in 0..classes {
        for j in 0..dense.rows() {
            let mut row = vec![0.0; classes - 1];
            for (k, _) in pairs.iter().enumerate().filter(|(_, pair)| pair.0 == class) {
                row[pairs[k].1 - 1] = dense.at(j, k);
            }
            if row.iter().any(|&value| value != 0.0) {
                rows.push((j, row));
                counts[class] += 1;
            }
        }
    }
    (counts, rows)
}

fn whole_numbers<'a>(labels: impl IntoIterator<Item = &'a Label>) -> Result<Vec<i32>> {
    let whole = |label: &Label| label.value().filter(|value| value.fract() == 0.0 && f64::from(*value as i32) == *value);
    let refuse = |label: &Label| unsupported(format!("the label {label}"), "its labels are whole numbers of 32 bits; number the classes");
    let numbers: Vec<i32> =
        labels.into_iter().map(|label| whole(label).map(|value| value as i32).ok_or_else(|| refuse(label))).collect::<Result<_>>()?;
    match numbers.iter().collect::<HashSet<_>>().len() == numbers.len() {
        true => Ok(numbers),
        false => Err(unsupported("two classes of the same label", "give each class a label of its own")),
    }
}

fn kernel_lines(kernel: &Kernel) -> Result<Vec<(&'static str, String)>> {
    Ok(match kernel {
        Kernel::Linear(_) => vec![("kernel_type", "linear".into())],
        Kernel::Gaussian(k) => vec![("kernel_type", "rbf".into()), ("gamma", seventeen_digits(k.gamma))],
        Kernel::Polynomial(k) => vec![
            ("kernel_type", "polynomial".into()),
            ("degree", k.degree.to_string()),
            ("gamma", seventeen_digits(k.gamma)),
            ("coef0", seventeen_digits(k.coef0)),
        ],
        Kernel::Sigmoid(k) => {
            vec![("kernel_type", "sigmoid".into()), ("gamma", seventeen_digits(k.gamma)), ("coef0", seventeen_digits(k.coef0))]
        }
        other => {
            let instead = "it has linear, polynomial, gaussian and sigmoid; save the native format";
            return Err(unsupported(format!("the {} kernel", other.name()), instead));
        }
    })
}

fn calibration_lines(machine: &Machine) -> Result<Vec<(&'static str, &[f64])>> {
    Ok(match &machine.calibration {
        None => vec![],
        Some(Calibration::Marks { marks }) => vec![("prob_density_marks", marks)],
        Some(Calibration::Sigmoid { .. }) if machine.decision == Decision::Novelty => {
            return Err(unsupported("sigmoid probabilities of a one-class machine", "drop the probabilities"));
        }
        Some(Calibration::Sigmoid { a, b }) if b.is_empty() => vec![("probA", a)],
        Some(Calibration::Sigmoid { a, b }) => vec![("probA", a), ("probB", b)],
        // Normal distributions of the classes have no place there and are lost, as docs/model-format.md says.
        Some(Calibration::NormalClasses(_)) => vec![],
        // The distribution around a predicted number has no place there and is lost, as docs/model-format.md says.
        Some(Calibration::Normal { .. } | Calibration::LogVariance { .. }) => vec![],
        Some(other) => {
            let instead = "it has sigmoids only; train with --probability sigmoid, or without probabilities";
            return Err(unsupported(format!("{} probabilities", other.name()), instead));
        }
    })
}

/// One line for each vector. LIBSVM files have no line for the number of features: where the last one is zero in all vectors, the first
/// vector says so.
fn write_vectors(vectors: &Points, rows: &[(usize, Vec<f64>)], text: &mut String) {
    let (mut last_is_used, mut end_of_first) = (vectors.dim() == 0, None);
    for (j, coefficients) in rows {
        coefficients.iter().for_each(|&value| text.extend([&seventeen_digits(value), " "]));
        for (column, value) in nonzeros(vectors, *j) {
            text.extend([&(column + 1).to_string(), ":", &enough_digits(value), " "]);
            last_is_used |= column + 1 == vectors.dim();
        }
        end_of_first.get_or_insert(text.len());
        text.push('\n');
    }
    if let Some(place) = end_of_first.filter(|_| !last_is_used) {
        text.insert_str(place, &format!("{}:0 ", vectors.dim()));
    }
}

/// The features of a vector that are not zero, and their columns. Minus zero is not zero: nothing is lost.
fn nonzeros(vectors: &Points, row: usize) -> Vec<(usize, f64)> {
    let mut features: Vec<(usize, f64)> = match vectors {
        Points::F64(matrix) => matrix.row(row).iter().copied().enumerate().collect(),
        Points::F32(matrix) => matrix.row(row).iter().map(|&value| value.into()).enumerate().collect(),
        Points::Sparse(rows) => {
            let (columns, values) = rows.row(row);
            columns.iter().map(|&column| column as usize).zip(values.iter().copied()).collect()
        }
    };
    features.retain(|(_, value)| value.to_bits() != 0);
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Csr, Scale},
        machine::{Expansion, Metadata},
        model::libsvm::from_bytes,
    };

    fn labels(texts: &[&str]) -> Vec<Label> {
        texts.iter().map(|&text| Label::new(text)).collect()
    }

    /// Three vectors in four features, the last of them never used.
    fn machine(decision: Decision, coefficients: Matrix) -> Machine {
        let vectors = Matrix::from_fn(3, 4, |i, j| if j == 3 { 0.0 } else { 0.1 * i as f64 - j as f64 });
        Machine {
            offsets: (0..coefficients.cols()).map(|k| 0.3 * k as f64 - 0.1).collect(),
            expansion: Expansion {
                kernel: Kernel::gaussian(0.1),
                vectors: vectors.into(),
                coefficients: Coefficients::Dense(coefficients),
            },
            decision,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        }
    }

    fn binary() -> Machine {
        let decision = Decision::Sign { negative: Label::new("-1"), positive: Label::new("+1.0") };
        machine(decision, Matrix::column(vec![-0.5, 2.0, -1.0 / 3.0]))
    }

    fn refuse(machine: &Machine) -> String {
        to_text(machine).unwrap_err().to_string()
    }

    #[test]
    fn a_binary_machine_is_written_as_libsvm_would() {
        let text = "svm_type c_svc\nkernel_type rbf\ngamma 0.10000000000000001\nnr_class 2\ntotal_sv 3\n\
            rho 0.10000000000000001\nlabel 1 -1\nnr_sv 1 2\nSV\n\
            2 1:0.1 2:-0.9 3:-1.9 4:0 \n-0.5 2:-1 3:-2 \n-0.33333333333333331 1:0.2 2:-0.8 3:-1.8 \n";
        assert_eq!(to_text(&binary()).unwrap(), text);
        let back = from_bytes(text.as_bytes(), "m").unwrap();
        assert_eq!(back.dim(), 4);
        assert_eq!(back.decision, binary().decision);
        assert_eq!(to_text(&back).unwrap(), text);
    }

    #[test]
    fn storage_makes_no_difference() {
        let dense = binary();
        let matrix = dense.expansion.vectors.to_dense();
        let mut sparse = dense.clone();
        sparse.expansion.vectors = Csr::from_dense(&matrix).into();
        assert_eq!(to_text(&sparse).unwrap(), to_text(&dense).unwrap());
        let mut single = dense;
        single.expansion.vectors = Matrix::new(matrix.values().iter().map(|&v| v as f32).collect(), 3, 4).unwrap().into();
        let back = from_bytes(to_text(&single).unwrap().as_bytes(), "m").unwrap();
        assert_eq!(back.expansion.vectors.to_dense(), single.expansion.vectors.select(&[1, 0, 2]).to_dense());
    }

    #[test]
    fn vectors_shared_by_all_pairs_are_repeated_and_mean_the_same() {
        let coefficients = Matrix::from_fn(3, 3, |i, k| if (i, k) == (0, 2) { 0.0 } else { 1.0 + i as f64 - 0.7 * k as f64 });
        let shared = machine(Decision::Votes { labels: labels(&["3", "1", "2"]) }, coefficients);
        let back = from_bytes(to_text(&shared).unwrap().as_bytes(), "m").unwrap();
        assert_eq!((back.n_vectors(), &back.decision, &back.offsets), (5, &shared.decision, &shared.offsets));
        assert_eq!((evaluations(&shared).unwrap(), evaluations(&back).unwrap(), evaluations(&binary()).unwrap()), (5, 5, 3));
        let outputs = |machine: &Machine, x: &[f64]| -> Vec<f64> {
            let (vectors, coefficients) = (machine.expansion.vectors.to_dense(), machine.expansion.coefficients.to_dense());
            let output =
                |k| (0..machine.n_vectors()).map(|j| coefficients.at(j, k) * machine.expansion.kernel.eval(vectors.row(j), x)).sum();
            (0..3).map(output).collect()
        };
        let x = [0.3, -0.4, 1.0, 0.2];
        for (a, b) in outputs(&shared, &x).into_iter().zip(outputs(&back, &x)) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
    }

    #[test]
    fn what_libsvm_has_no_place_for_is_rejected_with_an_error() {
        let with = |change: &dyn Fn(&mut Machine)| {
            let mut machine = binary();
            change(&mut machine);
            refuse(&machine)
        };
        let scaled = with(&|m| m.scale = Some(Scale::new(None, vec![1.0; 4])));
        assert!(scaled.contains("a machine with a scaling: write the scaling as an svm-scale range file"), "{scaled}");
        let mapped = with(&|m| m.scale = Some(Scale { map: Some(Matrix::zeros(4, 2)), ..Scale::new(None, vec![1.0; 2]) }));
        assert!(mapped.contains("a machine with a linear map of its features: its files have no place for the map"), "{mapped}");
        let kernel = with(&|m| m.expansion.kernel = Kernel::named("matern32", 1.0, 1, 0.0).unwrap());
        assert!(kernel.starts_with("LIBSVM's model format does not work with the matern32 kernel"), "{kernel}");
        for label in ["cat", "0.5", "3000000000"] {
            let text = with(&|m| m.decision = Decision::Sign { negative: Label::new(label), positive: Label::new("1") });
            assert!(text.contains(&format!("the label {label}: its labels are whole numbers")), "{text}");
        }
        let text = with(&|m| m.decision = Decision::Sign { negative: Label::new("1"), positive: Label::new("1.0") });
        assert!(text.contains("two classes of the same label"), "{text}");
        let two = Matrix::zeros(3, 2);
        assert!(refuse(&machine(Decision::Values, two.clone())).contains("2 regression targets"));
        assert!(refuse(&machine(Decision::Largest { labels: labels(&["1", "2"]) }, two.clone())).contains("a one-vs-rest machine"));
        let words = vec![vec![1, 1], vec![1, -1]];
        assert!(refuse(&machine(Decision::Codes { labels: labels(&["1", "2"]), words }, two.clone())).contains("output codes"));
        assert!(refuse(&machine(Decision::Features, two)).contains("outputs are features"));
        assert!(with(&|m| m.offsets[0] = f64::NAN).contains("NaN"));
    }
}
