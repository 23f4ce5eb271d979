//! Kernel Fisher discriminant analysis.
//!
//! Find the direction w along which the class means lie far apart for the scatter within the classes:
//!
//! ```text
//! max  (w.(mean+ - mean-))^2 / (w'B w + penalty),      B = sum of the covariances of the classes
//! ```
//!
//! [Wu2006 (49)]. With `w = sum_i a_i Phi(x_i)` and `f = K a + b`: minimise `a'K Z K a + penalty` subject to `a'K e = 2`, where
//! `e = e+ - e-` holds `1 / rows` for the rows of a class (the sum that is printed makes no sense: it must be the difference), so
//! that the means of the classes lie 2 apart on the line [Franc2003 (6)]. The threshold is a search in one dimension,
//! [`Threshold`].
//!
//! Several classes: the same scatter B about the means of all classes is factored once, and `w_c = (B + penalty)^-1 (mean_c - mean)`
//! for every class: linear discriminant analysis in feature space. Between classes c and d the threshold of `f_c - f_d` is searched
//! as for two classes; the offsets are the least-squares fit to the thresholds of all pairs, and for `least-error` they are then
//! improved one after the other as long as training errors fall.
//!
//! Cost: n^2 d for the kernel matrix; then n^3/3 for `weight`, 4n^3/3 for `coefficients`, 9n^3 on one thread for `none`. Memory: two
//! to three matrices of n^2.
mod frame;
mod probability;
mod solve;
mod thresholds;

use super::{
    ClassWeights, Fit, Learner, Report, Threshold,
    gram::{USUAL_BYTES, kernel_matrix, require_definite, vectors},
    scatter::Scatter,
};
use crate::{
    Error, Named, Result,
    data::{Dataset, Label, check_classes},
    error::require_positive,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata},
    watch::{Status, Watch},
};
pub(crate) use solve::mixes;
use solve::{Directions, directions};

/// What keeps the direction from fitting the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Penalty {
    /// `lambda |w|^2`: independent of how the direction is written. [Wu2006 (49)]
    #[default]
    Weight,
    /// `lambda a'a` on the coefficients. [Franc2003 (5)]
    Coefficients,
    /// None: directions in which the scatter is below [`Fisher::NO_SCATTER`] of its largest are left out, a pseudo-inverse.
    None,
}

impl Named for Penalty {
    const NAMES: &'static [(&'static str, Self)] =
        &[("weight", Penalty::Weight), ("coefficients", Penalty::Coefficients), ("none", Penalty::None)];
}

/// The kernel Fisher discriminant.
#[derive(Clone, Debug)]
pub struct Fisher {
    /// The kernel. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// What is penalised.
    pub penalty: Penalty,
    /// How much; above 0, and not used by [`Penalty::None`].
    pub lambda: f64,
    /// How the offset is chosen.
    pub bias: Threshold,
    /// Factors of the classes' covariances and of errors at the threshold. Equal weights add the covariances up, as the papers do;
    /// the share of rows of each class gives the pooled covariance of linear discriminant analysis.
    pub class_weights: ClassWeights,
    /// Most bytes of the kernel matrix; more is refused.
    pub cache_bytes: usize,
}

impl Default for Fisher {
    fn default() -> Self {
        Fisher {
            kernel: Kernel::gaussian(1.0),
            penalty: Penalty::Weight,
            lambda: 1e-3,
            bias: Threshold::LeastError,
            class_weights: ClassWeights::Equal,
            cache_bytes: USUAL_BYTES,
        }
    }
}

/// The rows that count, and the classes that have any.
struct Rows {
    places: Vec<usize>,
    /// The class of each row, among `labels`.
    codes: Vec<usize>,
    /// Row weight times class weight.
    weights: Vec<f64>,
    labels: Vec<Label>,
    class_weights: Vec<f64>,
    scatter: Scatter,
}

impl Rows {
    fn decision(&self) -> Decision {
        match &self.labels[..] {
            [negative, positive] => Decision::Sign { negative: negative.clone(), positive: positive.clone() },
            _ => Decision::Largest { labels: self.labels.clone() },
        }
    }
}

impl Learner for Fisher {
    fn name(&self) -> &'static str {
        "fisher"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.bias.check()?;
        if self.penalty != Penalty::None {
            require_positive("lambda", self.lambda)?;
        }
        match self.penalty {
            // a'K Z K a is not negative for any symmetric K; the length of w needs a definite one.
            Penalty::Coefficients => Ok(()),
            _ => require_definite(&self.kernel, "fisher with this penalty"),
        }
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        let rows = self.rows(data)?;
        let before = watch.evaluations();
        let gram = kernel_matrix(&self.kernel, data, &rows.places, self.cache_bytes, watch)?;
        watch.report("solving", 0, None, None);
        let found = directions(self, gram, &rows.scatter, &rows.class_weights)?;
        let metadata = self.metadata(data, &rows, &found);
        let machine = self.machine(data, &rows, found.coefficients, metadata, watch)?;
        let evaluations = watch.evaluations() - before;
        let report = Report {
            objective: found.objective,
            dual_objective: None,
            iterations: 1,
            status: Status::Converged,
            evaluations,
            support: None,
        };
        Ok(Fit { machine, report })
    }
}

impl Fisher {
    /// Directions with less than this part of the largest scatter count as having none, where nothing is penalised.
    pub const NO_SCATTER: f64 = 1e-10;

    /// How much each row that counts has of the scatter, and its class.
    pub(crate) fn scatter(&self, data: &Dataset) -> Result<Scatter> {
        Ok(self.rows(data)?.scatter)
    }

    fn rows(&self, data: &Dataset) -> Result<Rows> {
        let classes = check_classes(data)?;
        let all_weights = self.class_weights.of(classes)?;
        let places: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
        let mut sums = vec![0.0; classes.labels.len()];
        places.iter().for_each(|&i| sums[classes.codes[i] as usize] += data.weight(i));
        let present: Vec<usize> = (0..sums.len()).filter(|&c| sums[c] > 0.0).collect();
        let mut place_of = vec![0; sums.len()];
        present.iter().enumerate().for_each(|(place, &c)| place_of[c] = place);
        let of_row = |numbers: &[f64], i: usize| numbers[classes.codes[i] as usize];
        let shares: Vec<f64> = places.iter().map(|&i| of_row(&all_weights, i) * (data.weight(i) / of_row(&sums, i))).collect();
        if let Some(row) = shares.iter().position(|share| !(share.is_finite() && *share > 0.0)) {
            return Err(Error::data(format!("the weight of row {} is too large or too small beside the others", places[row] + 1)));
        }
        let codes: Vec<usize> = places.iter().map(|&i| place_of[classes.codes[i] as usize]).collect();
        Ok(Rows {
            weights: places.iter().map(|&i| data.weight(i) * of_row(&all_weights, i)).collect(),
            labels: present.iter().map(|&c| classes.labels[c].clone()).collect(),
            class_weights: present.iter().map(|&c| all_weights[c]).collect(),
            scatter: Scatter::new(&shares, codes.clone()),
            places,
            codes,
        })
    }

    fn metadata(&self, data: &Dataset, rows: &Rows, found: &Directions) -> Metadata {
        let svm_cost = if let Threshold::Svm { c } = self.bias { Some(c) } else { None };
        Metadata {
            learner: Some(self.name().into()),
            c: svm_cost,
            lambda: (self.penalty != Penalty::None).then_some(self.lambda),
            class_weights: (self.class_weights != ClassWeights::Equal).then(|| rows.class_weights.clone()),
            n_rows: Some(data.len()),
            objective: Some(found.objective),
            penalty: Some(self.penalty.name().into()),
            bias: Some(self.bias.name().into()),
            rank: found.rank,
            ..Metadata::default()
        }
    }

    /// Offsets and probabilities come from the projections of the training rows, with the kernel values computed once more: the matrix
    /// they were solved from is gone by now, and n^2 values are cheap beside its factor.
    fn machine(&self, data: &Dataset, rows: &Rows, coefficients: Matrix, metadata: Metadata, watch: &Watch) -> Result<Machine> {
        let decision = rows.decision();
        let expansion = Expansion {
            kernel: self.kernel.clone(),
            vectors: vectors(&self.kernel, data, &rows.places),
            coefficients: Coefficients::Dense(coefficients),
        };
        let offsets = vec![0.0; expansion.coefficients.n_outputs()];
        let mut machine = Machine { expansion, offsets, decision, scale: None, names: data.names.clone(), calibration: None, metadata };
        watch.report("threshold", 0, None, None);
        let mut outputs = machine.outputs_for(&data.points.select(&rows.places))?;
        watch.evaluated((rows.places.len() * rows.places.len()) as u64);
        (machine.offsets, machine.calibration) = self.offsets_and_calibration(data, rows, &mut outputs)?;
        machine.check()?;
        Ok(machine)
    }
    /// Offsets for outputs without any, which are added to them, and the distributions of the outputs within the classes.
    fn offsets_and_calibration(&self, data: &Dataset, rows: &Rows, outputs: &mut Matrix) -> Result<(Vec<f64>, Option<Calibration>)> {
        let offsets = thresholds::offsets(&self.bias, outputs, &rows.codes, &rows.weights, rows.labels.len())?;
        for i in 0..outputs.rows() {
            outputs.row_mut(i).iter_mut().zip(&offsets).for_each(|(output, offset)| *output += offset);
        }
        let prior_weights: Vec<f64> = rows.places.iter().map(|&i| data.weight(i)).collect();
        let normal = probability::normal_classes(outputs, &rows.codes, &prior_weights, rows.labels.len())?;
        Ok((offsets, normal.map(Calibration::NormalClasses)))
    }
}
