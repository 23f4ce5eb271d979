//! What the writers for other programs share: the precision of their numbers, how labels are written, the uncertainty of predictions, and
//! where the kernel is a plain product.
use std::collections::HashSet;

use crate::{
    Error, Result,
    data::Label,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Calibration, Decision, Expansion, LogVariance, Machine, Posterior},
};

/// The precision of the numbers in the file and of the arithmetic there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Precision {
    /// Single precision: half the memory, about seven digits.
    F32,
    /// Double precision, as here.
    #[default]
    F64,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }

    /// The nearest number of this precision.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Precision::F32 => f64::from(value as f32),
            Precision::F64 => value,
        }
    }

    /// An error where one of the machine's numbers has no place in this precision: it would become infinite, or a width or factor zero.
    pub(super) fn check(self, machine: &Machine) -> Result<()> {
        let refuse =
            |value: f64| Err(Error::parameter("a number of the model", value, "within the range of f32; export with --precision f64"));
        let lost = |value: f64| self.round(value).is_infinite();
        let vanishes = |value: f64| value != 0.0 && self.round(value) == 0.0;
        let factors = machine.scale.iter().flat_map(|scale| scale.factor.iter().copied());
        if let Some(value) = machine.expansion.kernel.gamma().into_iter().chain(factors).find(|&value| vanishes(value) || lost(value)) {
            return refuse(value);
        }
        let vectors = machine.expansion.vectors.dense("the export")?;
        let shifts = machine.scale.iter().filter_map(|scale| scale.shift.as_deref());
        let lists = [vectors.values(), machine.expansion.coefficients.stored().values(), &machine.offsets];
        match lists.into_iter().chain(shifts).chain(machine.map().map(Matrix::values)).flatten().find(|&&value| lost(value)) {
            Some(&value) => refuse(value),
            None => Ok(()),
        }
    }
}

/// Labels as programs hold them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Labels {
    /// All of them are whole numbers.
    Numbers(Vec<i64>),
    /// Text as it came.
    Texts(Vec<String>),
}

impl Labels {
    /// Whole numbers where all labels are whole numbers of at most `largest`, else text.
    pub(super) fn of(labels: &[Label], largest: f64) -> Labels {
        let whole = |label: &Label| label.whole().filter(|number| number.unsigned_abs() as f64 <= largest);
        match labels.iter().map(whole).collect() {
            Some(numbers) => Labels::Numbers(numbers),
            None => Labels::Texts(labels.iter().map(Label::to_string).collect()),
        }
    }

    /// True where no two are the same.
    pub(super) fn distinct(&self) -> bool {
        match self {
            Labels::Numbers(numbers) => numbers.iter().collect::<HashSet<_>>().len() == numbers.len(),
            Labels::Texts(texts) => texts.iter().collect::<HashSet<_>>().len() == texts.len(),
        }
    }
}

/// The uncertainty that a machine reports in addition to its prediction.
pub(super) enum Uncertainty<'a> {
    /// Nothing.
    Nothing,
    /// The probability of each class.
    Probabilities(&'a Calibration),
    /// The standard deviation of each predicted number, which depends on the row.
    Deviations(&'a [Posterior]),
    /// The same as the root of an exponential of another function on the vectors.
    Heads(&'a [LogVariance]),
    /// The standard deviation of each predicted number, the same for all rows.
    Constant(Vec<f64>),
}

impl Uncertainty<'_> {
    /// Whether it depends on the kernel values of the row.
    pub(super) fn reads_rows(&self) -> bool {
        matches!(self, Uncertainty::Deviations(_) | Uncertainty::Heads(_))
    }

    /// The uncertainty that this machine reports.
    pub(super) fn of(machine: &Machine) -> Uncertainty<'_> {
        match (&machine.decision, &machine.calibration) {
            (Decision::Values, Some(Calibration::Normal { posteriors })) => Uncertainty::Deviations(posteriors),
            (Decision::Values, Some(Calibration::LogVariance { heads })) => Uncertainty::Heads(heads),
            // Laplace noise of scale a has the variance 2 a^2.
            (Decision::Values, Some(Calibration::Sigmoid { a, .. })) => {
                Uncertainty::Constant(a.iter().map(|a| std::f64::consts::SQRT_2 * a.abs()).collect())
            }
            (Decision::Values | Decision::Ratio | Decision::Features, _) | (_, None) => Uncertainty::Nothing,
            (Decision::Codes { .. }, Some(calibration)) if !matches!(calibration, Calibration::NormalClasses(_)) => Uncertainty::Nothing,
            (_, Some(calibration)) => Uncertainty::Probabilities(calibration),
        }
    }
}

/// The outputs as plain products with the row, one row of weights for each output: where k(x, z) = x.z.
pub(super) fn weights(expansion: &Expansion) -> Option<Matrix> {
    if !matches!(expansion.kernel, Kernel::Linear(_) | Kernel::Precomputed(_)) {
        return None;
    }
    let (vectors, coefficients) = (expansion.vectors.to_dense(), expansion.coefficients.to_dense());
    let mut weights = Matrix::zeros(coefficients.cols(), vectors.cols());
    for j in 0..vectors.rows() {
        for k in 0..coefficients.cols() {
            let coefficient = coefficients.at(j, k);
            weights.row_mut(k).iter_mut().zip(vectors.row(j)).for_each(|(sum, z)| *sum += coefficient * z);
        }
    }
    Some(weights)
}

/// What is in a file made for another program, for its first line.
pub(super) fn description(machine: &Machine) -> String {
    format!(
        "Made by kernelet {}: {} kernel, {} vectors of {} features, {} outputs, decided by {}.",
        env!("CARGO_PKG_VERSION"),
        machine.expansion.kernel.name(),
        machine.n_vectors(),
        machine.dim(),
        machine.n_outputs(),
        rule(&machine.decision)
    )
}

/// The rule as inspect names it.
pub(super) fn rule(decision: &Decision) -> &'static str {
    match decision {
        Decision::Sign { .. } => "sign",
        Decision::Votes { .. } => "votes",
        Decision::Largest { .. } => "largest",
        Decision::Codes { .. } => "codes",
        Decision::Novelty => "novelty",
        Decision::Values => "values",
        Decision::Ratio => "ratio",
        Decision::Features => "features",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Scale,
        machine::{Coefficients, Metadata},
    };

    fn machine(kernel: Kernel) -> Machine {
        let vectors = Matrix::from_fn(3, 2, |i, j| (i + 2 * j) as f64 - 1.5);
        let coefficients = Coefficients::Dense(Matrix::from_fn(3, 2, |i, k| i as f64 - 0.4 * k as f64));
        Machine {
            expansion: Expansion { kernel, vectors: vectors.into(), coefficients },
            offsets: vec![0.1, 0.2],
            decision: Decision::Values,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        }
    }

    #[test]
    fn weights_of_a_product_agree_with_the_expansion() {
        let machine = machine(Kernel::named("linear", 1.0, 1, 0.0).unwrap());
        let (weights, x) = (weights(&machine.expansion).unwrap(), [0.3, -0.7]);
        let outputs = machine.outputs_for(&Matrix::new(x.to_vec(), 1, 2).unwrap().into()).unwrap();
        for k in 0..2 {
            let have = machine.offsets[k] + weights.row(k).iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
            assert!((have - outputs.at(0, k)).abs() < 1e-14);
        }
        assert!(super::weights(&super::tests::machine(Kernel::gaussian(1.0)).expansion).is_none());
    }

    #[test]
    fn numbers_out_of_the_range_of_single_precision_are_rejected() {
        let map = |value: f64| Some(Matrix::from_fn(2, 2, |i, j| if i == j { value } else { 0.0 }));
        let spoil: [&dyn Fn(&mut Machine); 5] = [
            &|m| m.offsets[0] = 1e39,
            &|m| m.expansion.kernel = Kernel::gaussian(1e-60),
            &|m| m.scale = Some(Scale::new(Some(vec![1e200, 0.0]), vec![1.0; 2])),
            &|m| m.scale = Some(Scale::new(None, vec![1.0, 1e-60])),
            &|m| m.scale = Some(Scale { map: map(1e39), ..Scale::new(None, vec![1.0; 2]) }),
        ];
        for spoil in spoil {
            let mut machine = machine(Kernel::gaussian(1.0));
            assert!(Precision::F32.check(&machine).is_ok());
            spoil(&mut machine);
            assert!(Precision::F64.check(&machine).is_ok());
            let error = Precision::F32.check(&machine).unwrap_err().to_string();
            assert!(error.contains("within the range of f32"), "{error}");
        }
    }

    #[test]
    fn labels_are_numbers_where_all_of_them_are() {
        let labels = |texts: &[&str]| texts.iter().map(|&text| Label::new(text)).collect::<Vec<_>>();
        assert_eq!(Labels::of(&labels(&["+1", "-2.0"]), 1e9), Labels::Numbers(vec![1, -2]));
        assert_eq!(Labels::of(&labels(&["1", "b"]), 1e9), Labels::Texts(vec!["1".into(), "b".into()]));
        assert_eq!(Labels::of(&labels(&["1", "3e9"]), 1e9), Labels::Texts(vec!["1".into(), "3e9".into()]));
        assert!(!Labels::Numbers(vec![1, 1]).distinct() && Labels::Texts(vec!["a".into(), "b".into()]).distinct());
    }
}
