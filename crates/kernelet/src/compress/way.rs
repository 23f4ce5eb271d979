//! One way from a large machine to a small one of a given size.
use crate::{
    Error, Result,
    data::Dataset,
    learn::Learner,
    machine::{Decision, Machine},
    sparsify::{
        Budget, Refit, Sparsifier, Task,
        construct::{Refinement, refine},
        direct::{Distil, Init, Margin, Search},
        least_error_offsets, refit,
    },
    watch::Watch,
};

/// What is done.
pub enum Steps {
    /// Vectors by a method, moved together and with new coefficients and offsets where that is asked for.
    Sparsify {
        /// How vectors are found.
        method: Box<dyn Sparsifier>,
        /// How they are moved together afterwards.
        refinement: Option<Refinement>,
        /// Their coefficients.
        refit: Refit,
        /// The cost of refits that need one.
        c: Option<f64>,
        /// Offsets of least error on the rows instead of those kept.
        least_error: bool,
    },
    /// Trained on the outputs of the large machine.
    Distil(Distil),
    /// Trained on the labels of the rows, with the kernel of the large machine.
    Margin(Margin),
}

/// A way with its name.
pub struct Way {
    /// What people read: `pursuit + refine`.
    pub name: String,
    /// What is done.
    pub steps: Steps,
    /// The way, by its place among all, whose vectors training starts from; none for a start of its own.
    pub from: Option<usize>,
    /// Whether its machine may be the one that is kept; else others start from it.
    pub rival: bool,
}

impl Way {
    /// A machine of at most so many vectors; `start` is the machine of the way that this one starts from.
    pub fn machine(&self, task: &Task, vectors: usize, start: Option<&Machine>, watch: &Watch) -> Result<Machine> {
        let search = |search: &Search| match start {
            None => Search { vectors, ..search.clone() },
            Some(start) => from_vectors(search, start, search.iterations),
        };
        match &self.steps {
            Steps::Sparsify { method, refinement, refit: how, c, least_error } => {
                let path = method.sparsify(task, &Budget::vectors(vectors), watch)?;
                let mut small = path.last().ok_or_else(|| Error::data("no vector was found"))?;
                if let Some(refinement) = refinement {
                    small = refine(&small, refinement, task, watch)?.machine;
                }
                small = refit(&small, *how, task, *c, watch)?;
                if *least_error { least_error_offsets(&small, task) } else { Ok(small) }
            }
            Steps::Distil(distil) => Ok(Distil { search: search(&distil.search), ..distil.clone() }.learn(task, watch)?.machine),
            Steps::Margin(margin) => learn_margin(margin, task, search(&margin.search), watch),
        }
    }

    /// The machine once more, from where it stands, with more rows; as it is where rows do not matter.
    pub fn again(&self, small: Machine, task: &Task, watch: &Watch) -> Result<Machine> {
        match &self.steps {
            Steps::Sparsify { refit: how, c, least_error, .. } => {
                let fitted = match how {
                    Refit::Outputs | Refit::Margin | Refit::Rsvm => refit(&small, *how, task, *c, watch)?,
                    Refit::None | Refit::Projection => small,
                };
                if *least_error { least_error_offsets(&fitted, task) } else { Ok(fitted) }
            }
            Steps::Distil(distil) => {
                let search = from_vectors(&distil.search, &small, distil.search.iterations / 2);
                Ok(Distil { search, ..distil.clone() }.learn(task, watch)?.machine)
            }
            Steps::Margin(margin) => learn_margin(margin, task, from_vectors(&margin.search, &small, margin.search.iterations / 2), watch),
        }
    }
}

/// The search from where the vectors of a machine stand.
fn from_vectors(search: &Search, small: &Machine, iterations: usize) -> Search {
    let init = Init::Given(small.expansion.vectors.to_dense());
    Search { vectors: small.vectors(), init, starts: 1, iterations, ..search.clone() }
}

/// Direct training on the labels, in the space of the machine's vectors.
fn learn_margin(margin: &Margin, task: &Task, search: Search, watch: &Watch) -> Result<Machine> {
    let (Some(points), Some(data)) = (task.scaled_rows()?, task.data) else {
        return Err(Error::data("training on labels needs rows with labels; give them with the data"));
    };
    let scaled = Dataset { points, ..data.clone() };
    let found = Margin { search, ..margin.clone() }.learn(&scaled, watch)?.machine;
    let same = match (&found.decision, &task.machine.decision) {
        (found, Decision::Votes { labels }) => found.labels() == *labels,
        (found, before) => found.labels() == before.labels(),
    };
    if !same {
        return Err(Error::data("the rows have other labels than the model; training on labels needs rows of all its classes"));
    }
    Ok(Machine { scale: task.machine.scale.clone(), names: task.machine.names.clone(), ..found })
}
