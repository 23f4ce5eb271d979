//! Sparse large-margin machines trained directly: the vectors Z that make the machine on their span best.
//!
//! Minimises W(Z) ([`objective`](super)) by L-BFGS over all vectors at once (Wu2006, section 3). With several classes one set of vectors is
//! shared by all of them and W is the sum over the one-vs-rest machines: a row costs m kernel evaluations whatever the number of classes.
//! The squared hinge finds the vectors; for the hinge loss it is the first phase, after which a few steps with the hinge itself follow.
//!
//! Cost of a step: n m (d + m / 2) for the coordinates, the Newton systems of rows with an error, and the gradient over rows that pull.
use super::objective::{Loss, Objective};
use crate::{
    Error, Result,
    data::{Dataset, Points},
    error::require_positive,
    frame::check_definite,
    kernel::Kernel,
    learn::{ClassWeights, Fit, Learner, Report, check_classes},
    linalg::{Ended, Lbfgs, Matrix},
    machine::{Coefficients, Decision, Expansion, Facts, Machine},
    sparsify::select::{KMeans, RpCholesky, distinct_rows},
    sparsify::{BasisBudget, BasisMethod},
    watch::{Status, Watch},
};

/// What an error costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DirectLoss {
    /// `max(0, 1 - y f)`: vectors by the squared hinge first, then by the hinge.
    Hinge,
    /// `max(0, 1 - y f)^2`.
    #[default]
    SquaredHinge,
}

/// Where the vectors start.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Init {
    /// Distinct rows drawn at random.
    Random,
    /// Centres of k-means.
    #[default]
    KMeans,
    /// Rows spread by k-means++, without rounds of k-means.
    Spread,
    /// Rows chosen by randomly pivoted Cholesky.
    RpCholesky,
    /// These.
    Given(Matrix),
}

/// Sparse large-margin classification.
#[derive(Clone, Debug)]
pub struct Margin {
    /// The kernel; smooth and positive definite.
    pub kernel: Kernel,
    /// The number of expansion vectors.
    pub vectors: usize,
    /// The cost of an error.
    pub c: f64,
    /// What an error costs.
    pub loss: DirectLoss,
    /// Factors of C for each class.
    pub class_weights: ClassWeights,
    /// Where the vectors start.
    pub init: Init,
    /// Starts, of which the best W is kept.
    pub starts: usize,
    /// Steps with the squared hinge.
    pub iterations: usize,
    /// Steps with the hinge afterwards.
    pub hinge_iterations: usize,
    /// Seed of the starts.
    pub seed: u64,
}

impl Default for Margin {
    fn default() -> Self {
        Margin {
            kernel: Kernel::gaussian(1.0),
            vectors: 100,
            c: 1.0,
            loss: DirectLoss::SquaredHinge,
            class_weights: ClassWeights::Equal,
            init: Init::KMeans,
            starts: 1,
            iterations: 200,
            hinge_iterations: 60,
            seed: 0,
        }
    }
}

/// Rows for each vector that a start looks at, and the fewest in all.
const ROWS_A_VECTOR: usize = 50;
const FEWEST_SAMPLED: usize = 10_000;

/// What one start came to.
struct Outcome {
    z: Matrix,
    value: f64,
    iterations: usize,
    ended: Ended,
}

impl Learner for Margin {
    fn name(&self) -> &'static str {
        "margin"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_positive("c", self.c)?;
        check_definite(&self.kernel)?;
        if !self.kernel.profile().smooth() {
            return Err(Error::Unsupported {
                method: "margin",
                with: format!("the {} kernel, which has a corner", self.kernel.name()),
                instead: "use gaussian, matern32, matern52 or polynomial; or a basis of given rows".into(),
            });
        }
        for (name, value) in [("vectors", self.vectors), ("starts", self.starts)] {
            if value == 0 {
                return Err(Error::parameter(name, 0, "at least 1"));
            }
        }
        Ok(())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        let classes = check_classes(data)?;
        let weights = self.class_weights.of(classes)?;
        let used: Vec<usize> = (0..data.len()).filter(|&i| weights[classes.codes[i] as usize] * data.weight(i) > 0.0).collect();
        let rows = data.points.select(&used);
        let codes: Vec<usize> = used.iter().map(|&i| classes.codes[i] as usize).collect();
        let costs: Vec<f64> = used.iter().zip(&codes).map(|(&i, &code)| self.c * weights[code] * data.weight(i)).collect();
        let labels = classes.labels.clone();
        let decision = match labels.len() {
            2 => Decision::Sign { negative: labels[0].clone(), positive: labels[1].clone() },
            _ => Decision::Largest { labels },
        };
        let outputs = decision.outputs().unwrap_or(1);
        let signs = Matrix::from_fn(rows.len(), outputs, |i, k| decision.side(k, codes[i]).unwrap_or(0.0));
        let before = watch.evaluations();
        let best = self.best_start(&rows, &signs, &costs, watch)?;
        let loss = if self.loss == DirectLoss::Hinge { Loss::Hinge } else { Loss::SquaredHinge };
        let (frame, _, inner) = Objective::new(&self.kernel, &rows, &signs, &costs, loss, watch).machines(&best.z)?;
        let coefficients = Coefficients::Dense(frame.coefficients(&inner.weights));
        let report = Report {
            objective: inner.value,
            dual_objective: None,
            iterations: best.iterations as u64,
            status: status(best.ended, watch),
            evaluations: watch.evaluations() - before,
        };
        let facts = Facts {
            learner: Some(self.name().into()),
            c: Some(self.c),
            class_weights: (self.class_weights != ClassWeights::Equal).then_some(weights),
            rows: Some(data.len()),
            objective: Some(report.objective),
            ..Facts::default()
        };
        let expansion = Expansion { kernel: self.kernel.clone(), vectors: best.z.into(), coefficients };
        let machine =
            Machine { expansion, offsets: inner.offsets, decision, scale: None, names: data.names.clone(), calibration: None, facts };
        machine.check()?;
        Ok(Fit { machine, report })
    }
}

impl Margin {
    fn best_start(&self, rows: &Points, signs: &Matrix, costs: &[f64], watch: &Watch) -> Result<Outcome> {
        let mut best: Option<Outcome> = None;
        for start in 0..self.starts as u64 {
            if watch.cancelled() && best.is_some() {
                break;
            }
            let outcome = self.descend(self.first(rows, start, watch)?, rows, signs, costs, watch);
            if best.as_ref().is_none_or(|b| outcome.value < b.value) {
                best = Some(outcome);
            }
        }
        best.ok_or_else(|| Error::data("no start led to a machine"))
    }

    /// The vectors that a start begins with: at most as many as there are distinct rows.
    fn first(&self, all: &Points, start: u64, watch: &Watch) -> Result<Matrix> {
        let seed = self.seed.wrapping_add(start);
        // A start need not see every row: a sample of many rows for each vector has the same clusters.
        let enough = (ROWS_A_VECTOR * self.vectors).max(FEWEST_SAMPLED);
        let sample = (all.len() > enough).then(|| all.select(&distinct_rows(all, enough, seed)));
        let rows = sample.as_ref().unwrap_or(all);
        let first = match &self.init {
            Init::Random => rows.select(&distinct_rows(rows, self.vectors, seed)).to_dense(),
            Init::KMeans => KMeans { seed, ..KMeans::default() }.centres(rows, self.vectors, watch)?,
            Init::Spread => KMeans { seed, max_rounds: 0 }.centres(rows, self.vectors, watch)?,
            Init::RpCholesky => {
                let chosen = RpCholesky { seed, block: None }.choose(&self.kernel, rows, &BasisBudget::vectors(self.vectors), watch)?;
                chosen.frame.vectors().to_dense()
            }
            Init::Given(vectors) if vectors.cols() == rows.dim() && vectors.rows() > 0 => vectors.clone(),
            Init::Given(vectors) => {
                return Err(Error::Shape { what: "features of the vectors to start from", expected: rows.dim(), found: vectors.cols() });
            }
        };
        Ok(first)
    }

    fn descend(&self, z: Matrix, rows: &Points, signs: &Matrix, costs: &[f64], watch: &Watch) -> Outcome {
        let squared = self.phase(z, Loss::SquaredHinge, self.iterations, rows, signs, costs, watch);
        match self.loss {
            DirectLoss::SquaredHinge => squared,
            DirectLoss::Hinge => {
                let hinge = self.phase(squared.z, Loss::Hinge, self.hinge_iterations, rows, signs, costs, watch);
                Outcome { iterations: squared.iterations + hinge.iterations, ..hinge }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the problem, and how far to go")]
    fn phase(&self, z: Matrix, loss: Loss, iterations: usize, rows: &Points, signs: &Matrix, costs: &[f64], watch: &Watch) -> Outcome {
        let (m, dim) = (z.rows(), z.cols());
        let mut objective = Objective::new(&self.kernel, rows, signs, costs, loss, watch);
        let lbfgs = Lbfgs { max_iterations: iterations, first_step: 0.1 * spread(&z), ..Lbfgs::default() };
        let stage = if loss == Loss::Hinge { "steps, hinge" } else { "steps" };
        let mut gradient = Matrix::zeros(m, dim);
        let minimum = lbfgs.minimise(
            z.into_values(),
            |point, out| {
                let z = Matrix::new(point.to_vec(), m, dim).unwrap_or_default();
                let value = objective.evaluate(&z, &mut gradient);
                out.copy_from_slice(gradient.values());
                value
            },
            |iteration, value| {
                watch.report(stage, iteration as u64, Some(iterations as u64), Some(value));
                !watch.cancelled()
            },
        );
        let z = Matrix::new(minimum.point, m, dim).unwrap_or_default();
        Outcome { z, value: minimum.value, iterations: minimum.iterations, ended: minimum.ended }
    }
}

/// How far the vectors lie from their mean, all together; 1 where they coincide.
fn spread(z: &Matrix) -> f64 {
    let mean: Vec<f64> = (0..z.cols()).map(|j| z.iter().map(|row| row[j]).sum::<f64>() / z.rows().max(1) as f64).collect();
    let squares: f64 = z.iter().flat_map(|row| row.iter().zip(&mean).map(|(v, m)| (v - m) * (v - m))).sum();
    if squares > 0.0 { squares.sqrt() } else { 1.0 }
}

/// A limit of steps is how these runs are meant to end.
fn status(ended: Ended, watch: &Watch) -> Status {
    match ended {
        Ended::Stopped if watch.cancelled() => Status::Cancelled,
        Ended::Iterations => Status::IterationLimit,
        _ => Status::Converged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Generator, Target, banana, waveform3},
        learn::Svc,
    };

    #[test]
    fn few_vectors_reach_the_error_of_the_full_machine() {
        let (train, test) = (banana(400, 1), banana(2000, 2));
        let kernel = Kernel::gaussian(1.0);
        let full = Svc { kernel: kernel.clone(), c: 10.0, ..Svc::default() }.learn(&train, &Watch::none()).unwrap().machine;
        for loss in [DirectLoss::Hinge, DirectLoss::SquaredHinge] {
            let small =
                Margin { kernel: kernel.clone(), vectors: 10, c: 10.0, loss, ..Margin::default() }.learn(&train, &Watch::none()).unwrap();
            assert_eq!(small.machine.vectors(), 10);
            let (a, b) = (small.machine.score(&test).unwrap().loss(), full.score(&test).unwrap().loss());
            assert!(a < b + 0.02, "{loss:?}: {a} {b}, {} vectors", full.vectors());
        }
    }

    #[test]
    fn classes_share_their_vectors_and_w_falls_from_every_start() {
        let (train, test) = (waveform3(300, 1), waveform3(1000, 2));
        for init in [Init::Random, Init::KMeans, Init::Spread, Init::RpCholesky] {
            let learner = Margin { kernel: Kernel::gaussian(0.02), vectors: 6, c: 1.0, init, ..Margin::default() };
            let fit = learner.learn(&train, &Watch::none()).unwrap();
            let none = Margin { iterations: 0, ..learner.clone() }.learn(&train, &Watch::none()).unwrap();
            assert!(fit.report.objective < none.report.objective);
            assert!(fit.machine.score(&test).unwrap().loss() < 0.19, "{:?}", learner.init);
            assert_eq!((fit.machine.vectors(), fit.machine.outputs()), (6, 3));
        }
    }

    #[test]
    fn more_starts_are_never_worse_and_seeds_repeat() {
        let train = banana(200, 1);
        let learner = |starts, seed| Margin {
            kernel: Kernel::gaussian(1.0),
            vectors: 4,
            init: Init::Random,
            starts,
            seed,
            iterations: 30,
            ..Margin::default()
        };
        let run = |starts, seed| learner(starts, seed).learn(&train, &Watch::none()).unwrap();
        assert!(run(4, 0).report.objective <= run(1, 0).report.objective);
        assert_eq!(run(1, 5).machine, run(1, 5).machine);
    }

    #[test]
    fn hard_settings_give_finite_machines() {
        let train = Generator::Banana.make(80, 1);
        for (gamma, c) in [(1e-12, 1.0), (1e6, 1.0), (1.0, 1e9), (1.0, 1e-9)] {
            for loss in [DirectLoss::Hinge, DirectLoss::SquaredHinge] {
                let fit = Margin {
                    kernel: Kernel::gaussian(gamma),
                    vectors: 5,
                    c,
                    loss,
                    iterations: 20,
                    hinge_iterations: 5,
                    ..Margin::default()
                };
                let machine = fit.learn(&train, &Watch::none()).unwrap().machine;
                assert!(machine.check().is_ok() && machine.offsets[0].is_finite(), "{gamma} {c} {loss:?}");
            }
        }
        let points = Matrix::from_fn(20, 2, |_, j| j as f64);
        let equal = Dataset::new(
            points,
            Target::Classes(crate::data::Classes::from_texts(&(0..20).map(|i| (i % 2).to_string()).collect::<Vec<_>>())),
        );
        let fit = Margin { vectors: 5, ..Margin::default() }.learn(&equal, &Watch::none()).unwrap();
        assert_eq!(fit.machine.vectors(), 1);
        assert!(Margin { vectors: 0, ..Margin::default() }.learn(&train, &Watch::none()).is_err());
        assert!(Margin { kernel: Kernel::named("exponential", 1.0, 0, 0.0).unwrap(), ..Margin::default() }.check().is_err());
    }
}
