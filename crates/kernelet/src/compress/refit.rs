//! Coefficients for given vectors, after any method.
//!
//! | name | problem | needs |
//! |---|---|---|
//! | `projection` | the nearest machine in feature space, `beta = (K^z)^-1 K^zx alpha` [Schoelkopf1998 (17)] | the machine |
//! | `outputs` | least squares of the outputs on rows, `min sum_i abs(f(x_i) - f'(x_i))^2` | rows |
//! | `margin` | the support vector machine on the span of the vectors [Wu2006 (45)] | rows with classes, C |
//! | `rsvm` | the same with penalty `1/2 beta'beta` instead of `1/2 beta'K^z beta`: RSVM as Wu2006 (section 4.2) describes it | rows with classes, C |
//! | `rsvm-squared` | `1/2 (beta'beta + b^2) + C/2 sum_i xi_i^2`: RSVM as Lee and Mangasarian have it | rows with classes, C |
//!
//! Cost: n m d + n m^2 for coordinates; `margin` n m^2 for each of 10 to 30 steps and output.
use super::Task;
use crate::{
    Error, Named, Result,
    basis::{Frame, JITTER},
    data::{Classes, Dataset, Label, Points},
    kernel::block::block,
    learn::{
        margin::MarginSettings,
        margin_outputs::{OutputMachine, Sides, offsets_of, solve_outputs, solve_squared, weights_of},
    },
    linalg::{Cholesky, Matrix, transposed_times, weighted_gram},
    machine::{Coefficients, Decision, Expansion, Machine, inner_products},
    watch::Watch,
};

/// Which coefficients vectors get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refit {
    /// Those that are there.
    None,
    /// The projection in feature space.
    Projection,
    /// Least squares of the outputs on rows.
    Outputs,
    /// The support vector machine on the span.
    Margin,
    /// The same with the penalty on the coefficients.
    Rsvm,
    /// The same with squared slacks and the offset penalised too.
    RsvmSquared,
}

impl Named for Refit {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Refit::None),
        ("projection", Refit::Projection),
        ("outputs", Refit::Outputs),
        ("margin", Refit::Margin),
        ("rsvm", Refit::Rsvm),
        ("rsvm-squared", Refit::RsvmSquared),
    ];
}

/// The machine `small` with new coefficients, and offsets where the refit finds them. `task` has the machine that `small` stands for and the
/// rows; `c` is the cost of `margin`, `rsvm` and `rsvm-squared`, else the one the machine was trained with.
pub fn refit(small: &Machine, how: Refit, task: &Task, c: Option<f64>, watch: &Watch) -> Result<Machine> {
    let vectors = &small.expansion.vectors;
    if how == Refit::None || vectors.is_empty() {
        return Ok(small.clone());
    }
    let kernel = &small.expansion.kernel;
    let (coefficients, offsets) = match how {
        Refit::Rsvm | Refit::RsvmSquared => {
            let (rows, classes) = labelled_rows(task)?;
            let values = block(kernel, &rows, vectors);
            let solutions = machines_on(&values, how, task, &classes, c, watch)?;
            (weights_of(&solutions), offsets_of(&solutions))
        }
        _ => {
            let frame = Frame::fixed(kernel, vectors, JITTER)?;
            let (weights, offsets) = match how {
                Refit::Outputs => (least_squares(&frame, task)?, small.offsets.clone()),
                Refit::Margin => {
                    let (rows, classes) = labelled_rows(task)?;
                    let solutions = machines_on(&frame.coordinates(&rows), how, task, &classes, c, watch)?;
                    (weights_of(&solutions), offsets_of(&solutions))
                }
                _ => (projection(&frame, &task.machine.expansion)?, small.offsets.clone()),
            };
            (frame.coefficients(&weights), offsets)
        }
    };
    let expansion = Expansion { coefficients: Coefficients::Dense(coefficients), ..small.expansion.clone() };
    Ok(Machine { expansion, offsets, ..small.clone() })
}

/// The coordinates of the target's projection, `L^-1 K^zx alpha`.
fn projection(frame: &Frame, target: &Expansion) -> Result<Matrix> {
    let mut rows = inner_products(target, frame.vectors())?.transposed();
    frame.lower().solve_rows(rows.values_mut());
    Ok(rows.transposed())
}

fn least_squares(frame: &Frame, task: &Task) -> Result<Matrix> {
    let rows = task.scaled_rows()?.ok_or_else(|| missing("outputs", "rows"))?;
    let (coordinates, values) = (frame.coordinates(&rows), inner_products(&task.machine.expansion, &rows)?);
    let mut square = weighted_gram(&coordinates, &vec![1.0; rows.len()]);
    let trace: f64 = (0..square.rows()).map(|i| square.at(i, i)).sum();
    // Directions that no row has are not seen by the outputs: a trace of the diagonal keeps them at zero.
    (0..square.rows()).for_each(|i| square.row_mut(i)[i] += 1e-13 * trace);
    let columns: Vec<Vec<f64>> = (0..values.cols()).map(|k| transposed_times(&coordinates, &values.col(k))).collect();
    let mut right = Matrix::from_fn(frame.len(), values.cols(), |j, k| columns[k][j]);
    let factor = Cholesky::new(&square).ok_or_else(|| Error::data("the outputs on these rows do not determine any coefficient"))?;
    factor.solve(&mut right);
    Ok(right)
}

/// The rows in the space of the vectors, and their classes as places in the machine's labels.
fn labelled_rows(task: &Task) -> Result<(Points, Vec<usize>)> {
    let rows = task.scaled_rows()?.ok_or_else(|| missing("margin", "rows with their classes"))?;
    let labels = task.machine.decision.labels();
    if labels.is_empty() || task.machine.decision == Decision::Novelty {
        return Err(Error::parameter("refit", "margin", "projection or outputs for a machine that is not a classifier"));
    }
    let Some(data) = task.data else { return Err(missing("margin", "rows with their classes")) };
    Ok((rows, known_classes(&labels, data)?))
}

/// The classes of the rows as places in the machine's labels.
pub(super) fn known_classes(labels: &[Label], data: &Dataset) -> Result<Vec<usize>> {
    data.check_lengths()?;
    let Classes { labels: own, codes } = data.classes()?;
    let place = |label| labels.iter().position(|l| l == label);
    let places: Vec<Option<usize>> = own.iter().map(place).collect();
    let known = codes.iter().map(|&code| {
        places[code as usize]
            .ok_or_else(|| Error::data(format!("the data have the label {}, which the machine does not know", own[code as usize])))
    });
    known.collect()
}

/// A support vector machine on the given coordinates for each output.
fn machines_on(
    coordinates: &Matrix,
    how: Refit,
    task: &Task,
    classes: &[usize],
    c: Option<f64>,
    watch: &Watch,
) -> Result<Vec<OutputMachine>> {
    let (machine, Some(data)) = (task.machine, task.data) else { return Err(missing("margin", "rows with their classes")) };
    let c = c
        .or(machine.metadata.c)
        .ok_or_else(|| Error::parameter("c", "unknown", "given: the model does not say with which cost it was trained"))?;
    crate::error::require_cost(c)?;
    let weights = machine.metadata.class_weights.clone().unwrap_or_else(|| vec![1.0; machine.decision.labels().len()]);
    let cost = |(i, &class): (usize, &usize)| c * weights.get(class).copied().unwrap_or(1.0) * data.weight(i);
    let costs: Vec<f64> = classes.iter().enumerate().map(cost).collect();
    let sides = Sides { decision: &machine.decision, classes, costs: &costs };
    match sides.one_sided() {
        Some(output) => Err(Error::data(format!("the data have rows on one side only of output {}; margin needs both", output + 1))),
        None if how == Refit::RsvmSquared => Ok(solve_squared(coordinates, &sides, watch)),
        None => Ok(solve_outputs(coordinates, &sides, &MarginSettings::default(), watch)),
    }
}

fn missing(how: &'static str, what: &str) -> Error {
    Error::parameter("refit", how, format!("projection where there are no data; {how} needs {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{Budget, Sparsifier, select::Pursuit},
        data::{Generator, banana},
        kernel::Kernel,
        learn::{Learner, Multiclass, OneClass, Svc, Svr},
        linalg::dot,
        machine::residual,
    };

    fn trained() -> (Machine, crate::data::Dataset) {
        let data = banana(200, 3);
        let svc = Svc { kernel: Kernel::gaussian(1.0), c: 10.0, tolerance: 1e-6, ..Svc::default() };
        (svc.learn(&data, &Watch::none()).unwrap().machine, data)
    }

    #[test]
    fn eq_17_the_projection_is_what_pursuit_with_backfitting_has() {
        let (machine, _) = trained();
        let task = Task::of(&machine);
        let small = Pursuit::default().sparsify(&task, &Budget::vectors(12), &Watch::none()).unwrap().last().unwrap();
        let again = refit(&small, Refit::Projection, &task, None, &Watch::none()).unwrap();
        let (a, b) = (residual(&machine.expansion, &small.expansion).unwrap(), residual(&machine.expansion, &again.expansion).unwrap());
        assert!((a - b).abs() < 1e-6 * a, "{a} {b}");
        assert_eq!(refit(&small, Refit::None, &task, None, &Watch::none()).unwrap(), small);
    }

    #[test]
    fn least_squares_leave_an_error_orthogonal_to_every_column() {
        let (machine, data) = trained();
        let task = Task { data: Some(&data), ..Task::of(&machine) };
        let small = Pursuit::default().sparsify(&task, &Budget::vectors(8), &Watch::none()).unwrap().last().unwrap();
        let fitted = refit(&small, Refit::Outputs, &task, None, &Watch::none()).unwrap();
        let (want, have) = (machine.outputs_for(&data.points).unwrap(), fitted.outputs_for(&data.points).unwrap());
        let error: Vec<f64> = want.col(0).iter().zip(have.col(0)).map(|(a, b)| a - b).collect();
        let columns = block(&small.expansion.kernel, &small.expansion.vectors, &data.points);
        assert!(columns.iter().all(|c| dot(c, &error).abs() < 1e-6), "{error:?}");
    }

    #[test]
    fn a_margin_refit_is_rejected_for_machines_that_are_not_classifiers() {
        let (classes, numbers) = (banana(60, 1), Generator::Sinc.make(60, 1));
        let one_class = OneClass::default().learn(&classes, &Watch::none()).unwrap().machine;
        let regression = Svr::default().learn(&numbers, &Watch::none()).unwrap().machine;
        for (machine, data) in [(&one_class, &classes), (&regression, &numbers)] {
            let task = Task { data: Some(data), ..Task::of(machine) };
            let error = refit(machine, Refit::Margin, &task, Some(1.0), &Watch::none()).unwrap_err().to_string();
            assert_eq!(error, "refit is margin, but must be projection or outputs for a machine that is not a classifier");
        }
    }

    /// `1/2 beta'K beta + C sum of hinge losses`.
    fn objective(machine: &Machine, data: &crate::data::Dataset, c: f64) -> f64 {
        let values = inner_products(&machine.expansion, &machine.expansion.vectors).unwrap();
        let norm = dot(&values.col(0), &machine.expansion.coefficients.to_dense().col(0));
        let outputs = machine.outputs_for(&data.points).unwrap();
        let codes = &data.classes().unwrap().codes;
        let loss: f64 = (0..data.len()).map(|i| (1.0 - (2.0 * f64::from(codes[i]) - 1.0) * outputs.at(i, 0)).max(0.0)).sum();
        0.5 * norm + c * loss
    }

    #[test]
    fn eq_45_on_all_support_vectors_margin_is_the_full_machine_and_on_few_nothing_is_better() {
        let (machine, data) = trained();
        let task = Task { data: Some(&data), ..Task::of(&machine) };
        let all = refit(&machine, Refit::Margin, &task, None, &Watch::none()).unwrap();
        let (full, again) = (objective(&machine, &data, 10.0), objective(&all, &data, 10.0));
        assert!((full - again).abs() < 1e-5 * full, "{full} {again}");
        let small = Pursuit::default().sparsify(&task, &Budget::vectors(8), &Watch::none()).unwrap().last().unwrap();
        let best = refit(&small, Refit::Margin, &task, None, &Watch::none()).unwrap();
        let least = objective(&best, &data, 10.0);
        for other in [Refit::None, Refit::Outputs, Refit::Rsvm, Refit::RsvmSquared] {
            assert!(objective(&refit(&small, other, &task, None, &Watch::none()).unwrap(), &data, 10.0) >= least);
        }
        // Moving any coefficient or the offset a little makes it worse.
        for j in 0..=8 {
            for step in [-1e-3, 1e-3] {
                let mut moved = best.clone();
                match &mut moved.expansion.coefficients {
                    Coefficients::Dense(values) if j < 8 => values.row_mut(j)[0] += step,
                    _ => moved.offsets[0] += step,
                }
                assert!(objective(&moved, &data, 10.0) > least - 1e-7 * least, "{j}");
            }
        }
    }

    #[test]
    fn several_classes_are_refitted_each_with_its_rows() {
        let data = crate::data::waveform3(150, 2);
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            let machine =
                Svc { kernel: Kernel::gaussian(0.05), multiclass, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
            let task = Task { data: Some(&data), ..Task::of(&machine) };
            let again = refit(&machine, Refit::Margin, &task, None, &Watch::none()).unwrap();
            let (want, have) = (machine.outputs_for(&data.points).unwrap(), again.outputs_for(&data.points).unwrap());
            let largest = want.values().iter().zip(have.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 2e-2, "{largest}");
        }
    }

    #[test]
    fn what_is_missing_is_reported() {
        let (machine, data) = trained();
        let none = Task::of(&machine);
        let say = |how, task: &Task| refit(&machine, how, task, None, &Watch::none()).unwrap_err().to_string();
        assert_eq!(
            say(Refit::Margin, &none),
            "refit is margin, but must be projection where there are no data; margin needs rows with their classes"
        );
        assert!(say(Refit::Outputs, &none).contains("outputs needs rows"));
        let mut unknown = machine.clone();
        unknown.metadata.c = None;
        let task = Task { machine: &unknown, data: Some(&data), candidates: None };
        assert!(say(Refit::Margin, &task).contains("c is unknown"));
        for refit in Refit::all() {
            assert_eq!(Refit::named(refit.name()), Some(refit));
        }
    }
}
