//! Metrics that a model stores of the sizes it was chosen from.
use kernelet::machine::Machine;

use super::figures::{Chosen, Figures, Level, Method};

/// The curves that the model stores, if any.
pub fn methods(machine: &Machine) -> Option<Vec<Method>> {
    if let Some(path) = machine.metadata.path.as_ref().filter(|path| !path.levels.is_empty()) {
        let level = |size: &kernelet::machine::SizeMetrics| Level {
            vectors: size.n_vectors,
            residual: size.relative_residual,
            error: size.test_error.or(size.train_error),
            data_error: size.test_error.and(size.train_error),
            ..Level::default()
        };
        let about = "the size path that compress recorded".into();
        return Some(vec![Method {
            name: path.method.clone(),
            about,
            levels: path.levels.iter().map(level).collect(),
            ..Method::default()
        }]);
    }
    let basis = machine.metadata.basis.as_ref().filter(|basis| !basis.sizes.is_empty())?;
    let level = |size: &kernelet::machine::SizeLoss| Level { vectors: size.n_vectors, error: Some(size.loss), ..Level::default() };
    let about = "errors are cross-validation estimates".into();
    Some(vec![Method { name: basis.method.clone(), about, levels: basis.sizes.iter().map(level).collect(), ..Method::default() }])
}

/// The vectors of the machine that was made smaller, as far as they are known.
pub fn vectors_before(machine: &Machine) -> usize {
    machine.metadata.path.as_ref().map_or(machine.n_vectors(), |path| path.vectors_before)
}

/// Puts what was measured of the machine itself beside the figures of its size.
pub fn set_own(figures: &mut Figures, own: Level) {
    let own_size = figures.methods.iter_mut().flat_map(|method| &mut method.levels).find(|level| level.vectors == own.vectors);
    if let Some(level) = own_size {
        *level = Level { error: level.error, data_error: level.data_error, residual: level.residual, ..own };
    }
}

/// The size that was asked for, else the machine's own, else the last.
pub fn choose(figures: &Figures, own: usize, vectors: Option<usize>) -> Chosen {
    let levels = figures.methods.first().map_or(&[][..], |method| &method.levels);
    let wanted = vectors.unwrap_or(own);
    let level = levels.iter().rposition(|level| level.vectors <= wanted).unwrap_or_default();
    let why = if vectors.is_some() { "the requested size" } else { "the size of the model" };
    Chosen { method: 0, level, why: why.into() }
}
