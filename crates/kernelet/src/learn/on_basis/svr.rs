//! Support vector regression on a basis.
//!
//! `min 1/2 |w|^2 + sum_i c_i max(0, |y_i - w.v_i - b| - epsilon)` is a sum of two hinge losses a row, see [`margin`](crate::learn::margin), and is solved to a
//! small duality gap for each target, whatever C is. The settings of the dual solver (tolerance, cache, steps) are not used. Cost: n m^2 for each of 10 to 30
//! steps and target.
use super::{FrameLearner, InFrame};
use crate::{
    Result,
    basis::Basis,
    data::Dataset,
    kernel::Kernel,
    learn::{
        Learner, Report, Svr,
        margin::{MarginSettings, MarginSolution},
        margin_active,
        margin_problem::MarginProblem,
        support::check_targets,
    },
    linalg::Matrix,
    machine::{Decision, Metadata},
    watch::{Status, Watch},
};

impl FrameLearner for Svr {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        data.check_lengths()?;
        let targets = data.values()?;
        check_targets(targets)?;
        let costs: Vec<f64> = (0..data.len()).map(|i| self.c * data.weight(i)).collect();
        let quiet = watch.silent();
        let mut solutions = vec![];
        for k in 0..targets.cols() {
            watch.report("solving", k as u64, Some(targets.cols() as u64), None);
            solutions.push(solve(&basis.coordinates, &targets.col(k), &costs, self.epsilon, &quiet));
        }
        let metadata = Metadata { learner: Some(self.name().into()), c: Some(self.c), epsilon: Some(self.epsilon), ..Metadata::default() };
        Ok(InFrame {
            weights: Matrix::from_fn(basis.frame.len(), solutions.len(), |j, k| solutions[k].weights[j]),
            offsets: solutions.iter().map(|solution| solution.offset).collect(),
            decision: Decision::Values,
            calibration: None,
            metadata,
            report: Report {
                objective: solutions.iter().map(|solution| solution.primal).sum(),
                // LIBSVM's sign: the dual that is minimised.
                dual_objective: Some(-solutions.iter().map(|solution| solution.dual).sum::<f64>()),
                iterations: solutions.iter().map(|solution| solution.iterations as u64).sum(),
                status: solutions.iter().fold(Status::Converged, |worst, solution| worst.worse(solution.status)),
                evaluations: 0,
                support: None,
            },
            multipliers: None,
        })
    }
}

/// The machine of one target. Half the distance between the largest and the smallest target lies within the tube where a constant is enough.
fn solve(rows: &Matrix, targets: &[f64], costs: &[f64], epsilon: f64, watch: &Watch) -> MarginSolution {
    let (least, most) = targets.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &y| (least.min(y), most.max(y)));
    let middle = 0.5 * least + 0.5 * most;
    if most - middle <= epsilon {
        let (weights, multipliers) = (vec![0.0; rows.cols()], vec![0.0; 2 * targets.len()]);
        return MarginSolution { weights, offset: middle, multipliers, primal: 0.0, dual: 0.0, iterations: 0, status: Status::Converged };
    }
    let side = |sign: f64| targets.iter().map(move |y| sign * (y - middle) - epsilon);
    let margins: Vec<f64> = side(1.0).chain(side(-1.0)).collect();
    let signs: Vec<f64> = (0..margins.len()).map(|term| if term < targets.len() { 1.0 } else { -1.0 }).collect();
    let costs = costs.repeat(2);
    let problem = MarginProblem { rows, signs: &signs, costs: &costs, margins: Some(&margins) };
    let solution = margin_active::solve(&problem, &MarginSettings::default(), watch);
    MarginSolution { offset: solution.offset + middle, ..solution }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::{BasisBudget, GreedyBasis},
        data::Generator,
        learn::{OnBasis, Shrink},
        linalg::dot,
    };

    fn learn(svr: Svr, data: &Dataset) -> crate::learn::Fit {
        let basis = Box::new(GreedyBasis::default());
        OnBasis { basis, budget: BasisBudget::vectors(8), learner: Box::new(svr), shrink: Shrink::Never }
            .learn(data, &Watch::none())
            .unwrap()
    }

    /// The objective as defined.
    fn objective(svr: &Svr, fit: &crate::learn::Fit, data: &Dataset) -> f64 {
        let (y, f) = (data.values().unwrap().col(0), fit.machine.outputs_for(&data.points).unwrap().col(0));
        let loss: f64 = (0..data.len()).map(|i| svr.c * data.weight(i) * ((y[i] - f[i]).abs() - svr.epsilon).max(0.0)).sum();
        let expansion = &fit.machine.expansion;
        let (vectors, a) = (expansion.vectors.to_dense(), expansion.coefficients.to_dense().col(0));
        let values: Vec<f64> = vectors.iter().map(|x| vectors.iter().zip(&a).map(|(z, a)| a * expansion.kernel.eval(x, z)).sum()).collect();
        0.5 * dot(&a, &values) + loss
    }

    #[test]
    fn primal_and_dual_meet_whatever_the_cost_and_the_unit_of_the_targets() {
        let sinc = Generator::Sinc.make(150, 1);
        for unit in [1e-6, 1.0, 1e6] {
            let mut data = sinc.clone();
            data.target =
                crate::data::Target::Values(Matrix::column(sinc.values().unwrap().col(0).iter().map(|y| unit * (y + 100.0)).collect()));
            for c in [1e-3, 1.0, 1e4, 1e8, 1e12] {
                let svr = Svr { kernel: Kernel::gaussian(0.5), c, epsilon: 0.05 * unit, ..Svr::default() };
                let fit = learn(svr.clone(), &data);
                assert_eq!(fit.report.status, Status::Converged, "{unit} {c}");
                let (primal, dual) = (fit.report.objective, -fit.report.dual_objective.unwrap());
                assert!(primal - dual <= 1e-9 * primal, "{unit} {c}: {primal} {dual}");
                let defined = objective(&svr, &fit, &data);
                assert!((defined - primal).abs() <= 1e-6 * primal, "{unit} {c}: {primal} {defined}");
            }
        }
    }

    #[test]
    fn many_rows_are_solved_by_those_near_the_tube_to_the_same_objective() {
        let data = Generator::Sinc.make(1500, 3);
        let basis = crate::basis::BasisMethod::choose(
            &GreedyBasis::default(),
            &Kernel::gaussian(0.5),
            &data.points,
            &BasisBudget::vectors(8),
            &Watch::none(),
        )
        .unwrap();
        let (targets, costs) = (data.values().unwrap().col(0), vec![3.0; 1500]);
        for epsilon in [0.0, 0.1, 0.3, 10.0] {
            let found = solve(&basis.coordinates, &targets, &costs, epsilon, &Watch::none());
            let values = crate::linalg::times(&basis.coordinates, &found.weights);
            let loss: f64 = (0..1500).map(|i| 3.0 * ((targets[i] - values[i] - found.offset).abs() - epsilon).max(0.0)).sum();
            let primal = 0.5 * dot(&found.weights, &found.weights) + loss;
            assert!(
                (primal - found.primal).abs() <= 1e-9 * primal && found.primal - found.dual <= 2e-9 * primal,
                "{epsilon}: {primal} {found:?}"
            );
        }
    }

    #[test]
    fn targets_within_the_tube_are_met_by_their_middle() {
        let mut data = Generator::Sinc.make(40, 1);
        data.target = crate::data::Target::Values(Matrix::from_fn(40, 1, |i, _| 5.0 + 0.1 * (i % 2) as f64));
        let fit = learn(Svr { epsilon: 0.1, ..Svr::default() }, &data);
        assert_eq!((fit.report.status, fit.report.objective), (Status::Converged, 0.0));
        assert!(fit.machine.outputs_for(&data.points).unwrap().values().iter().all(|f| (f - 5.05).abs() < 1e-12));
    }
}
