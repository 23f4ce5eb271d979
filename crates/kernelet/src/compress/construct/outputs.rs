//! Several outputs: one set of vectors for all, one for each, or one for each that all of them use in the end.
use crate::parallel::*;

use super::{residual::Residual, target::Target};
use crate::{
    Result,
    compress::{
        Path, Task,
        select::{Outputs, one_output},
    },
    linalg::Matrix,
    watch::{Status, Watch},
};

/// Runs `construct` as the outputs are to share vectors. Outputs of their own are worked on side by side.
pub(super) fn shared(
    outputs: Outputs,
    task: &Task,
    watch: &Watch,
    construct: impl Fn(&Task, &Watch) -> Result<Path> + Sync,
) -> Result<Path> {
    if outputs == Outputs::Joint || task.machine.n_outputs() == 1 {
        return construct(task, watch);
    }
    let dense = task.machine.expansion.coefficients.to_dense();
    let part = |output: usize| -> Result<Option<(usize, Path)>> {
        let values = dense.col(output);
        let used: Vec<usize> = (0..values.len()).filter(|&j| values[j] != 0.0).collect();
        if used.is_empty() {
            return Ok(None);
        }
        let machine = one_output(task.machine, &used, values);
        construct(&Task { machine: &machine, ..*task }, &watch.silent()).map(|path| Some((output, path)))
    };
    let parts: Vec<Option<(usize, Path)>> = (0..dense.cols()).into_par_iter().map(part).collect::<Result<_>>()?;
    let parts: Vec<(usize, Path)> = parts.into_iter().flatten().filter(|(_, part)| !part.is_empty()).collect();
    // Outputs that have no vector yet are left out, and how they ended with them.
    let mut path = if outputs == Outputs::Pooled { pooled(task, &parts)? } else { own(task, parts) };
    path.status = watch.ended(path.status);
    Ok(path)
}

/// Every output on its own vectors.
fn own(task: &Task, mut parts: Vec<(usize, Path)>) -> Path {
    let (mut all, mut count) = (vec![], 0);
    for (_, part) in &mut parts {
        let vectors = vectors_of(part);
        part.chosen = (count..count + vectors.rows()).collect();
        count += vectors.rows();
        all.extend(vectors.into_values());
    }
    let all = Matrix::new(all, count, task.machine.expansion.vectors.dim()).unwrap_or_default();
    Path::joined(task.machine, parts, &all.into())
}

fn vectors_of(path: &Path) -> Matrix {
    path.last().map_or(Matrix::default(), |machine| machine.expansion.vectors.to_dense())
}

/// Every output refitted on the vectors of all: the first vector of each output, then the second of each, and so on.
fn pooled(task: &Task, parts: &[(usize, Path)]) -> Result<Path> {
    let target = Target::of(task, "pooled vectors")?;
    let mut residual = Residual::new(&target);
    let vectors: Vec<Matrix> = parts.iter().map(|(_, part)| target.inside(&vectors_of(part).into())).collect();
    let most = vectors.iter().map(Matrix::rows).max().unwrap_or(0);
    for i in 0..most {
        for vectors in vectors.iter().filter(|vectors| i < vectors.rows()) {
            // Vectors that another output has too add nothing.
            let _ = residual.add(vectors.row(i));
        }
    }
    let status = parts.iter().fold(Status::Converged, |worst, (_, part)| worst.worse(part.status));
    let vectors = target.outside(residual.vectors());
    let (factor, coordinates, residuals) = residual.into_parts();
    Ok(Path::nested(task.machine, vectors, factor, coordinates, residuals, target.norm).ended(vec![], status))
}
