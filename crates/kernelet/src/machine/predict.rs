//! How a machine predicts: rows in chunks over all threads, each chunk by the fastest method that its kernel allows.
//!
//! Cost a row: m d for the kernel values and m q for the outputs; one-vs-one machines evaluate each vector once for all pairs,
//! m (classes - 1) for the outputs; linear machines d q. A linear map to K numbers costs K d, and m K take the place of m d. No array of size n x m is made. A chunk is done by one thread in a
//! fixed order, so any number of threads gives the same bits.
use super::{
    Decision, Machine,
    each::{check_outputs, with_space},
    evaluator::{Evaluator, Work},
    input::{Input, InputRows},
};
#[cfg(feature = "cuda")]
use crate::device::CardArray;
use crate::{
    Error, Result,
    data::{Label, Points, Scale},
    device::Device,
    kernel::fused::{DenseRows, ROWS},
    linalg::Matrix,
    parallel::*,
};

/// What a machine says about rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    /// For each row the place of its class in `labels`.
    Classes {
        /// The classes in order.
        labels: Vec<Label>,
        /// One place a row.
        codes: Vec<u32>,
    },
    /// Real targets or features, one row of numbers each.
    Values(Matrix),
}

impl Prediction {
    /// The label predicted for a row; none where no classes are predicted or there is no such row.
    pub fn label(&self, row: usize) -> Option<&Label> {
        match self {
            Prediction::Classes { labels, codes } => labels.get(*codes.get(row)? as usize),
            Prediction::Values(_) => None,
        }
    }

    /// What is said about some of the rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Prediction {
        match self {
            Prediction::Classes { labels, codes } => {
                Prediction::Classes { labels: labels.clone(), codes: rows.iter().map(|&i| codes[i]).collect() }
            }
            Prediction::Values(values) => Prediction::Values(values.select(rows)),
        }
    }
}

impl Decision {
    /// What outputs mean.
    pub(crate) fn prediction(&self, outputs: Matrix) -> Prediction {
        match self {
            Decision::Values | Decision::Features => Prediction::Values(outputs),
            Decision::Ratio => {
                let values = outputs.iter().flat_map(|row| self.numbers(row)).collect();
                Prediction::Values(Matrix::new(values, outputs.rows(), outputs.cols().saturating_sub(1)).unwrap_or(outputs))
            }
            _ => Prediction::Classes { labels: self.labels(), codes: outputs.iter().map(|row| self.class(row) as u32).collect() },
        }
    }
}

/// A machine made ready to predict: build it once, use it for many rows, from any thread.
#[derive(Debug)]
pub struct Predictor {
    evaluator: Evaluator,
    #[cfg(feature = "cuda")]
    card: Option<super::on_card::OnCard>,
    pub(super) offsets: Vec<f64>,
    decision: Decision,
    pub(super) scale: Option<Scale>,
    pub(super) dim: usize,
}

/// In which precision machines are prepared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Precision {
    Double,
    Single,
}

impl Precision {
    pub fn prepare(self, machine: &Machine) -> Predictor {
        match self {
            Precision::Double => Predictor::new(machine),
            Precision::Single => Predictor::single(machine),
        }
    }
}

impl Predictor {
    /// Prepares a machine, in double precision.
    pub fn new(machine: &Machine) -> Self {
        Predictor::with(machine, Evaluator::double(&machine.expansion))
    }

    /// Prepares a machine in single precision, about twice as fast; kernels other than the Gaussian stay in double.
    pub fn single(machine: &Machine) -> Self {
        Predictor::with(machine, Evaluator::single(&machine.expansion))
    }

    /// Prepares a machine on a device: on the processor in double precision; on a card with the accuracy of single precision, where blocks of rows stream through it. What
    /// a card cannot hold (a row whose numbers overflow single precision) is done by the processor.
    pub fn on(machine: &Machine, device: Device) -> Result<Self> {
        #[cfg_attr(not(feature = "cuda"), allow(unused_mut))]
        let mut predictor = Predictor::new(machine);
        match device {
            Device::Cpu => Ok(predictor),
            #[cfg(feature = "cuda")]
            Device::Cuda(number) => {
                predictor.card = super::on_card::OnCard::new(machine, number)?;
                Ok(predictor)
            }
            #[cfg(not(feature = "cuda"))]
            Device::Cuda(_) => Err(Error::device(crate::device::NOT_BUILT)),
        }
    }

    fn with(machine: &Machine, evaluator: Evaluator) -> Self {
        Predictor {
            evaluator,
            #[cfg(feature = "cuda")]
            card: None,
            offsets: machine.offsets.clone(),
            decision: machine.decision.clone(),
            scale: machine.scale.clone(),
            dim: machine.dim(),
        }
    }

    pub(super) fn check_width(&self, points: &Points) -> Result<()> {
        if !points.is_sparse() && points.dim() != self.dim {
            return Err(Error::Shape { what: "features of a row", expected: self.dim, found: points.dim() });
        }
        Ok(())
    }

    /// The outputs f_k(x) + b_k, one row for each row of `points`, on all threads of the current pool.
    pub fn outputs(&self, points: &Points) -> Result<Matrix> {
        self.check_width(points)?;
        let q = self.offsets.len();
        let mut out = Matrix::zeros(points.len(), q);
        if q == 0 {
            return Ok(out);
        }
        self.all(&|first| InputRows::Points(points, first), out.values_mut())?;
        check_outputs(out.values(), q, |row| row)?;
        Ok(out)
    }

    /// The outputs of dense rows in the caller's memory, which is not copied, written to `out`; on all threads of the current pool.
    pub fn outputs_of(&self, rows: DenseRows, out: &mut [f64]) -> Result<()> {
        let (q, numbers) = match rows {
            DenseRows::F64(values) => (self.offsets.len(), values.len()),
            DenseRows::F32(values) => (self.offsets.len(), values.len()),
        };
        let count = out.len() / q.max(1);
        if count * q != out.len() {
            return Err(Error::Shape { what: "outputs", expected: count * q, found: out.len() });
        }
        if count * self.dim != numbers {
            return Err(Error::Shape { what: "numbers of the rows", expected: count * self.dim, found: numbers });
        }
        self.all(&|first| InputRows::Borrowed(rows, first), out)?;
        check_outputs(out, q, |row| row)
    }

    /// The outputs of rows that lie on the predictor's card, written to an array there in the order of the caller's stream (0: the default one); returns when they are
    /// there. Addresses are the caller's: arrays of the card, one row after another, that stay where they are meanwhile.
    #[cfg(feature = "cuda")]
    pub fn outputs_on_card(&self, rows: CardArray, out: CardArray, stream: u64) -> Result<()> {
        let same = |what, expected, found| if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) };
        same("features of a row", self.dim, rows.cols)?;
        same("rows of the outputs", rows.rows, out.rows)?;
        same("outputs", self.offsets.len(), out.cols)?;
        match &self.card {
            Some(card) if !out.double => card.outputs_there(rows, out, &self.offsets, stream),
            Some(_) => Err(Error::device("outputs on a card are in single precision")),
            None => Err(Error::device("this predictor is not on a card")),
        }
    }

    /// The outputs of the rows from each first one on.
    fn all<'a>(&self, rows: &(dyn Fn(usize) -> InputRows<'a> + Sync), out: &mut [f64]) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let Some(card) = &self.card {
            return card.outputs(self, rows, out);
        }
        out.par_chunks_mut(ROWS * self.offsets.len().max(1)).enumerate().for_each(|(c, out)| {
            with_space(self.dim, |space| self.chunk(rows(c * ROWS), out, &mut space.work));
        });
        Ok(())
    }

    /// The outputs of one row, written to `out`. With the same `work` nothing is allocated from the second call on.
    pub fn row(&self, row: &[f64], out: &mut [f64], work: &mut Work) -> Result<()> {
        let same = |what, expected, found| if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) };
        same("features of a row", self.dim, row.len())?;
        same("outputs", self.offsets.len(), out.len())?;
        self.chunk(InputRows::One(row), out, work);
        Ok(())
    }

    /// Classes, targets or features. A row with a number that is not finite is an error that names it.
    pub fn predict(&self, points: &Points) -> Result<Prediction> {
        points.check_finite()?;
        Ok(self.decision.prediction(self.outputs(points)?))
    }

    /// True where it is known that all numbers of the rows are finite.
    pub(super) fn chunk(&self, rows: InputRows, out: &mut [f64], work: &mut Work) -> bool {
        let q = self.offsets.len().max(1);
        out.chunks_exact_mut(q).for_each(|row| row.copy_from_slice(&self.offsets));
        let (input, count) = (Input { rows, scale: self.scale.as_ref() }, out.len() / q);
        let found = input.mapped(count, work, |input, work| self.evaluator.add(input, count, out, work));
        found && self.scale.as_ref().is_none_or(|scale| scale.map.is_none())
    }
}

impl Machine {
    /// The outputs f_k(x) + b_k for every row: the decision values of a classifier, the predictions of a regression, the features of
    /// kernel PCA. Of two classes, a positive decision value stands for the second label.
    ///
    /// ```
    /// use kernelet::prelude::*;
    ///
    /// let rows = Points::from_rows(&[[0.0], [1.0], [4.0], [5.0]])?;
    /// let data = Dataset::new(rows, Target::from_labels(&["low", "low", "high", "high"]));
    /// let machine = Svc::default().learn(&data, &Watch::none())?.machine;
    ///
    /// let new = Points::from_rows(&[[0.5], [4.5]])?;
    /// let predicted = machine.predict(&new)?;
    /// assert_eq!(predicted.label(0).map(Label::text), Some("low"));
    /// assert_eq!(machine.decision.labels()[1].text(), "low"); // in the order of text
    /// let decision_values = machine.outputs_for(&new)?;
    /// assert!(decision_values.at(0, 0) > 0.0 && decision_values.at(1, 0) < 0.0);
    /// # Ok::<(), kernelet::Error>(())
    /// ```
    pub fn outputs_for(&self, points: &Points) -> Result<Matrix> {
        Predictor::new(self).outputs(points)
    }

    /// Classes, targets or features for every row.
    pub fn predict(&self, points: &Points) -> Result<Prediction> {
        Predictor::new(self).predict(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Csr,
        kernel::Kernel,
        machine::{Coefficients, Expansion, Metadata, Pairwise},
    };

    fn machine(kernel: Kernel, coefficients: Coefficients, decision: Decision) -> Machine {
        let m = coefficients.stored().rows();
        let vectors = Matrix::from_fn(m, 3, |i, j| ((i * 5 + j) as f64).sin());
        let offsets = (0..coefficients.n_outputs()).map(|k| k as f64 * 0.1 - 0.2).collect();
        let expansion = Expansion { kernel, vectors: vectors.into(), coefficients };
        Machine { expansion, offsets, decision, scale: None, names: None, calibration: None, metadata: Metadata::default() }
    }

    fn naive(machine: &Machine, x: &Matrix) -> Matrix {
        let (z, beta) = (machine.expansion.vectors.to_dense(), machine.expansion.coefficients.to_dense());
        Matrix::from_fn(x.rows(), machine.n_outputs(), |i, k| {
            let sum: f64 = (0..z.rows()).map(|j| beta.at(j, k) * machine.expansion.kernel.eval(x.row(i), z.row(j))).sum();
            sum + machine.offsets[k]
        })
    }

    fn coefficients() -> [Coefficients; 2] {
        let values = Matrix::from_fn(9, 3, |i, j| ((i + 3 * j) as f64).cos());
        [Coefficients::Dense(values.clone()), Coefficients::Pairwise(Pairwise { starts: vec![0, 2, 2, 5, 9], values })]
    }

    #[test]
    fn outputs_agree_with_the_definition_for_every_kernel_and_layout() {
        let x = Matrix::from_fn(600, 3, |i, j| ((i * 7 + j * 3) as f64).cos());
        for kernel in Kernel::examples() {
            for coefficients in coefficients() {
                let machine = machine(kernel.clone(), coefficients, Decision::Features);
                let want = naive(&machine, &x);
                for points in [Points::from(x.clone()), Points::from(Csr::from_dense(&x))] {
                    let have = machine.outputs_for(&points).unwrap();
                    for (a, b) in have.values().iter().zip(want.values()) {
                        assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{}: {a} {b}", kernel.name());
                    }
                }
            }
        }
    }

    fn largest_difference(have: &Matrix, want: &Matrix) -> f64 {
        have.values().iter().zip(want.values()).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max)
    }

    #[test]
    fn single_rows_and_single_precision_agree_with_the_definition() {
        let x = Matrix::from_fn(30, 3, |i, j| ((i * 7 + j * 3) as f64).cos());
        for kernel in Kernel::examples() {
            for coefficients in coefficients() {
                let machine = machine(kernel.clone(), coefficients, Decision::Features);
                let want = naive(&machine, &x);
                let single = Predictor::single(&machine).outputs(&x.clone().into()).unwrap();
                assert!(largest_difference(&single, &want) < 3e-6, "{}", kernel.name());
                let (predictor, mut work, mut out) = (Predictor::new(&machine), Work::default(), vec![0.0; machine.n_outputs()]);
                for i in 0..x.rows() {
                    predictor.row(x.row(i), &mut out, &mut work).unwrap();
                    let have = Matrix::new(out.clone(), 1, out.len()).unwrap();
                    assert!(largest_difference(&have, &want.select(&[i])) < 1e-12, "{}", kernel.name());
                }
                assert!(predictor.row(&[0.0], &mut out, &mut work).is_err());
            }
        }
    }

    #[test]
    fn borrowed_rows_have_the_outputs_of_points() {
        let x = Matrix::from_fn(600, 3, |i, j| ((i * 7 + j * 3) as f64).cos());
        let halves: Vec<f32> = x.values().iter().map(|&v| v as f32).collect();
        let single = Points::from(Matrix::new(halves.clone(), 600, 3).unwrap());
        for kernel in Kernel::examples() {
            for scale in [None, Some(Scale::new(Some(vec![0.3; 3]), vec![0.5; 3]))] {
                let [dense, _] = coefficients();
                let machine = Machine { scale, ..machine(kernel.clone(), dense, Decision::Features) };
                let predictor = Predictor::new(&machine);
                let mut out = vec![0.0; 600 * 3];
                predictor.outputs_of(DenseRows::F64(x.values()), &mut out).unwrap();
                assert_eq!(out, machine.outputs_for(&x.clone().into()).unwrap().values());
                predictor.outputs_of(DenseRows::F32(&halves), &mut out).unwrap();
                assert_eq!(out, machine.outputs_for(&single).unwrap().values());
                assert!(predictor.outputs_of(DenseRows::F64(&[1.0; 5]), &mut out).is_err());
                assert!(predictor.outputs_of(DenseRows::F64(x.values()), &mut out[1..]).is_err());
            }
        }
    }

    #[test]
    fn sparse_rows_with_features_that_the_machine_does_not_know_are_farther_away() {
        let [dense, _] = coefficients();
        let machine = machine(Kernel::gaussian(0.5), dense, Decision::Features);
        let wide = Matrix::from_fn(20, 5, |i, j| (i + j) as f64 * 0.05);
        let mut padded = machine.clone();
        let vectors = machine.expansion.vectors.to_dense();
        padded.expansion.vectors = Matrix::from_fn(9, 5, |i, j| if j < 3 { vectors.at(i, j) } else { 0.0 }).into();
        let have = machine.outputs_for(&Csr::from_dense(&wide).into()).unwrap();
        assert!(largest_difference(&have, &naive(&padded, &wide)) < 1e-13);
    }

    #[test]
    fn sparse_rows_of_very_many_features_agree_with_the_definition() {
        let dim = 6000;
        let sparse = |n: usize, seed: usize| {
            let columns = (0..n * 20).map(|i| ((i % 20) * 300 + (i * 7 + seed) % 300) as u32).collect();
            let values = (0..n * 20).map(|i| ((i + seed) as f64).sin()).collect();
            Csr::new((0..=n).map(|i| i * 20).collect(), columns, values, dim).unwrap()
        };
        let (x, z) = (sparse(110, 1), sparse(9, 2));
        for kernel in [Kernel::gaussian(0.1), Kernel::named("linear", 1.0, 0, 0.0).unwrap()] {
            for coefficients in coefficients() {
                let mut machine = machine(kernel.clone(), coefficients, Decision::Features);
                machine.expansion.vectors = z.clone().into();
                let want = naive(&machine, &Points::from(x.clone()).to_dense());
                assert!(largest_difference(&machine.outputs_for(&x.clone().into()).unwrap(), &want) < 1e-12);
                machine.expansion.vectors = Points::from(z.clone()).to_dense().into();
                assert!(largest_difference(&machine.outputs_for(&x.clone().into()).unwrap(), &want) < 1e-12);
            }
        }
    }

    #[test]
    fn huge_numbers_give_finite_outputs() {
        let [dense, _] = coefficients();
        let machine = machine(Kernel::gaussian(0.5), dense, Decision::Features);
        let x = Matrix::from_fn(2, 3, |i, _| if i == 0 { 1e200 } else { 0.1 });
        let have = machine.outputs_for(&x.clone().into()).unwrap();
        assert!(largest_difference(&have, &naive(&machine, &x)) < 1e-12, "{have:?}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let x = Points::from(Matrix::from_fn(1000, 3, |i, j| ((i * 7 + j * 3) as f64).cos()));
        for coefficients in coefficients() {
            let machine = machine(Kernel::gaussian(0.5), coefficients, Decision::Features);
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| (machine.outputs_for(&x).unwrap(), Predictor::single(&machine).outputs(&x).unwrap()))
            };
            assert_eq!(run(1), run(2));
            assert_eq!(run(1), run(8));
        }
    }

    #[test]
    fn without_vectors_the_offsets_remain() {
        let none = || Matrix::zeros(0, 2);
        let pairwise = Coefficients::Pairwise(Pairwise { starts: vec![0; 4], values: none() });
        for coefficients in [Coefficients::Dense(none()), pairwise] {
            let machine = machine(Kernel::gaussian(0.5), coefficients, Decision::Features);
            let outputs = machine.outputs_for(&Matrix::<f64>::zeros(2, 3).into()).unwrap();
            assert!(outputs.iter().all(|row| row == machine.offsets));
        }
    }

    #[test]
    fn raw_rows_are_scaled_first() {
        let [dense, _] = coefficients();
        let mut machine = machine(Kernel::gaussian(0.5), dense, Decision::Features);
        let x = Matrix::from_fn(300, 3, |i, j| (i + j) as f64 * 0.01);
        let plain = machine.outputs_for(&x.clone().into()).unwrap();
        machine.scale = Some(Scale::new(Some(vec![1.0; 3]), vec![0.5; 3]));
        let raw = Matrix::from_fn(300, 3, |i, j| 2.0 * x.at(i, j) + 1.0);
        let scaled = machine.outputs_for(&raw.into()).unwrap();
        for (a, b) in plain.values().iter().zip(scaled.values()) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn wrong_widths_and_bad_numbers_are_rejected() {
        let [dense, _] = coefficients();
        let machine = machine(Kernel::gaussian(0.5), dense, Decision::Features);
        let narrow = machine.predict(&Matrix::<f64>::zeros(1, 2).into()).unwrap_err();
        assert_eq!(narrow.to_string(), "features of a row: expected 3, found 2");
        let nan = machine.predict(&Matrix::from_fn(2, 3, |i, _| if i == 1 { f64::NAN } else { 0.0 }).into()).unwrap_err();
        assert_eq!(nan.to_string(), "a value in row 2, column 1 is NaN; every number must be finite");
    }
}
