//! One machine for each class against all others, each with vectors of its own, as in Wu2006 (section 5.6).
//!
//! A row costs as many kernel evaluations as with shared vectors; but each class sees its own part of
//! the vectors only, which is why sharing is the default.
use super::margin::{Margin, Rows};
use crate::{
    Result,
    learn::{Fit, Report},
    linalg::Matrix,
    machine::{Coefficients, Expansion, Machine},
    watch::{Status, Watch},
};

/// Trains the machines one after another, each with its part of the vectors, and joins them.
pub(super) fn learn(rows: &Rows, parts: &[usize], watch: &Watch) -> Result<Fit> {
    let mut fits: Vec<Fit> = vec![];
    for (k, &vectors) in parts.iter().enumerate() {
        let mut part = rows.learner.clone();
        part.search.n_vectors = vectors;
        fits.push(part.search.learn(&part.kernel, &rows.of_class(k, &part), watch)?);
    }
    join(rows, rows.learner, &fits)
}

fn join(rows: &Rows, learner: &Margin, fits: &[Fit]) -> Result<Fit> {
    let (mut vectors, mut coefficients) = (vec![], vec![]);
    for (k, fit) in fits.iter().enumerate() {
        let expansion = &fit.machine.expansion;
        vectors.extend(expansion.vectors.to_dense().into_values());
        let mut each = |value: f64| coefficients.extend((0..fits.len()).map(|other| if other == k { value } else { 0.0 }));
        if let Coefficients::Dense(values) = &expansion.coefficients {
            values.iter().for_each(|row| each(row[0]));
        }
    }
    let total: usize = fits.iter().map(|fit| fit.machine.n_vectors()).sum();
    let shape = |values: Vec<f64>| {
        let cols = values.len() / total.max(1);
        Matrix::new(values, total, cols).unwrap_or_default()
    };
    let expansion = Expansion {
        kernel: learner.kernel.clone(),
        vectors: shape(vectors).into(),
        coefficients: Coefficients::Dense(shape(coefficients)),
    };
    let sum = |of: fn(&Fit) -> f64| fits.iter().map(of).sum::<f64>();
    let report = Report {
        objective: sum(|fit| fit.report.objective),
        dual_objective: None,
        iterations: fits.iter().map(|fit| fit.report.iterations).sum(),
        status: fits.iter().fold(Status::Converged, |worst, fit| worst.worse(fit.report.status)),
        evaluations: fits.iter().map(|fit| fit.report.evaluations).sum(),
        support: None,
    };
    let offsets = fits.iter().map(|fit| fit.machine.offsets[0]).collect();
    let machine: Machine = rows.machine_of(expansion, offsets, report.objective);
    machine.check()?;
    Ok(Fit { machine, report })
}
