//! Vectors of each output's own, joined afterwards: what is to be compared with sharing them.
use super::pursuit::{Outputs, Pursuit};
use crate::{
    Result,
    compress::{Budget, Path, Sparsifier, Task},
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine},
    watch::Watch,
};

/// Any method that chooses vectors, for each output by itself: the budget is that of each, and the path has one size, because what penalties
/// choose for one size need not be part of what they choose for the next. Cost: that of the method for each output.
pub struct Separate {
    /// What chooses.
    pub method: Box<dyn Sparsifier>,
}

impl Sparsifier for Separate {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn check(&self) -> Result<()> {
        self.method.check()
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        budget.check()?;
        task.check()?;
        each(task, |one| Ok(self.method.sparsify(one, budget, watch)?.only_last()))
    }
}

/// A pursuit for each output; level i of the path joins level i of all of them.
pub(super) fn pursue(method: &Pursuit, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
    let method = Pursuit { outputs: Outputs::Joint, ..method.clone() };
    each(task, |one| method.sparsify(one, budget, watch))
}

/// The paths of all outputs, joined.
fn each(task: &Task, sparsify: impl Fn(&Task) -> Result<Path>) -> Result<Path> {
    let dense = task.machine.expansion.coefficients.to_dense();
    let mut parts = Vec::with_capacity(dense.cols());
    for output in 0..dense.cols() {
        let values = dense.col(output);
        let used: Vec<usize> = (0..values.len()).filter(|&j| values[j] != 0.0).collect();
        if used.is_empty() {
            continue;
        }
        let machine = one_output(task.machine, &used, values);
        let mut path = sparsify(&Task { machine: &machine, ..*task })?;
        if task.candidates.is_none() {
            path.chosen.iter_mut().for_each(|chosen| *chosen = used[*chosen]);
        }
        parts.push((output, path));
    }
    Ok(Path::joined(task.machine, parts, task.candidates()))
}

/// The machine of one output, on the vectors that it uses.
pub(in super::super) fn one_output(machine: &Machine, used: &[usize], values: Vec<f64>) -> Machine {
    let Expansion { kernel, vectors, .. } = &machine.expansion;
    let coefficients = Coefficients::Dense(Matrix::column(values).select(used));
    let expansion = Expansion { kernel: kernel.clone(), vectors: vectors.select(used), coefficients };
    Machine { expansion, offsets: vec![0.0], decision: Decision::Features, ..machine.uncalibrated() }
}

#[cfg(test)]
mod tests {
    use super::{super::L1, *};
    use crate::{
        compress::toy,
        kernel::Kernel,
        machine::{residual, squared_norm},
    };

    #[test]
    fn a_penalty_for_each_output_is_that_of_a_machine_of_one_output() {
        let machine = toy::machine(Kernel::gaussian(0.5), 24, 3);
        let task = Task { machine: &machine, data: None, candidates: None };
        let budget = Budget::vectors(5);
        let small = Separate { method: Box::new(L1::default()) }.sparsify(&task, &budget, &Watch::none()).unwrap().last().unwrap();
        let coefficients = machine.expansion.coefficients.to_dense();
        let mut sum = 0.0;
        for output in 0..3 {
            let one = one_output(&machine, &(0..24).collect::<Vec<_>>(), coefficients.col(output));
            let alone = L1::default().sparsify(&Task { machine: &one, ..task }, &budget, &Watch::none()).unwrap();
            let used = small.expansion.coefficients.to_dense().col(output).iter().filter(|beta| **beta != 0.0).count();
            assert_eq!(used, alone.levels().last().unwrap().n_vectors);
            sum += alone.levels().last().unwrap().residual;
        }
        assert!((residual(&machine.expansion, &small.expansion).unwrap() - sum).abs() < 1e-9 * sum);
    }

    #[test]
    fn each_output_is_what_it_would_be_alone() {
        let machine = toy::machine(Kernel::gaussian(0.5), 40, 3);
        let method = Pursuit { outputs: Outputs::Separate, ..Pursuit::default() };
        let path = method.sparsify(&Task::of(&machine), &Budget::vectors(6), &Watch::none()).unwrap();
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        for (i, level) in path.levels().into_iter().enumerate() {
            let joined = path.machine(i).unwrap();
            assert!(joined.check().is_ok() && level.n_vectors == joined.expansion.vectors.len() && level.n_vectors <= 3 * (i + 1));
            let direct = residual(&machine.expansion, &joined.expansion).unwrap();
            assert!((direct - level.residual).abs() < 1e-10 * start, "{direct} {level:?}");
        }
        let alone = one_output(&machine, &(0..40).collect::<Vec<_>>(), machine.expansion.coefficients.to_dense().col(1));
        let alone = Pursuit::default().sparsify(&Task::of(&alone), &Budget::vectors(6), &Watch::none()).unwrap().last().unwrap();
        let x = toy::rows(20).points;
        let (have, want) = (path.last().unwrap().outputs_for(&x).unwrap(), alone.outputs_for(&x).unwrap());
        for i in 0..20 {
            let difference = have.at(i, 1) - machine.offsets[1] - want.at(i, 0);
            assert!(difference.abs() < 1e-9, "{difference}");
        }
    }

    #[test]
    fn an_output_without_coefficients_stays_zero() {
        let mut machine = toy::machine(Kernel::gaussian(0.5), 20, 2);
        if let Coefficients::Dense(values) = &mut machine.expansion.coefficients {
            (0..20).for_each(|i| values.row_mut(i)[0] = 0.0);
        }
        let method = Pursuit { outputs: Outputs::Separate, ..Pursuit::default() };
        let small = method.sparsify(&Task::of(&machine), &Budget::vectors(4), &Watch::none()).unwrap().last().unwrap();
        assert!(small.expansion.coefficients.to_dense().col(0).iter().all(|v| *v == 0.0));
    }
}
