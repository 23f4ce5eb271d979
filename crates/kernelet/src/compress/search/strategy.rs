//! A strategy: how a small machine of a given size is made of a large one.
use super::scales::{behind_scaling, with_scales};
use crate::{
    Error, Result,
    compress::{
        Budget, Distil, Refit, Sparsifier, Task,
        construct::{Refinement, refine},
        least_error_offsets, owned_by_class, refit,
    },
    data::Dataset,
    learn::{
        Learner,
        direct::{Init, Margin, Search},
    },
    machine::{Decision, Machine},
    watch::Watch,
};

/// What is done.
pub enum Steps {
    /// Vectors by a method.
    Sparsify {
        /// How vectors are found.
        method: Box<dyn Sparsifier>,
        /// What is done with them afterwards.
        finish: Finish,
    },
    /// Trained on the outputs of the large machine.
    Distil {
        /// How.
        taught: Distil,
        /// Also from starts of its own.
        own: bool,
    },
    /// Trained on the labels of the rows, with the kernel of the large machine.
    Margin {
        /// How.
        taught: Margin,
        /// Also from starts of its own.
        own: bool,
    },
}

/// What is done with vectors once they are found.
#[derive(Clone, Debug)]
pub struct Finish {
    /// How they are moved together.
    pub refinement: Option<Refinement>,
    /// Their coefficients.
    pub refit: Refit,
    /// The cost of refits that need one; none for that of the machine.
    pub c: Option<f64>,
    /// Offsets of least error on the rows instead of those kept.
    pub least_error: bool,
    /// Each vector belongs to one class, as LIBSVM's files have it.
    pub owned: bool,
}

impl Default for Finish {
    fn default() -> Self {
        Finish { refinement: None, refit: Refit::None, c: None, least_error: false, owned: false }
    }
}

impl Finish {
    /// The machine that was found, with all that is done afterwards.
    pub fn apply(&self, found: Machine, task: &Task, watch: &Watch) -> Result<Machine> {
        let moved = match &self.refinement {
            Some(refinement) => refine(&found, refinement, task, watch)?.machine,
            None => found,
        };
        let small = refit(&moved, self.refit, task, self.c, watch)?;
        let small = if self.owned { owned_by_class(&small, task)? } else { small };
        if self.least_error { least_error_offsets(&small, task) } else { Ok(small) }
    }

    /// True when nothing is done.
    pub fn is_nothing(&self) -> bool {
        self.refinement.is_none() && self.refit == Refit::None && !self.least_error && !self.owned
    }

    /// The same without moving the vectors again, for more rows; none where rows do not matter.
    fn on_more_rows(&self) -> Option<Finish> {
        let by_rows = matches!(self.refit, Refit::Outputs | Refit::Margin | Refit::Rsvm | Refit::RsvmSquared);
        let refit = if by_rows { self.refit } else { Refit::None };
        (by_rows || self.least_error).then(|| Finish { refinement: None, refit, owned: self.owned && by_rows, ..self.clone() })
    }
}

/// A strategy with its name.
pub struct Strategy {
    /// What people read: `pursuit + refine`.
    pub name: String,
    /// What is done.
    pub steps: Steps,
    /// The strategies, by their places among all, whose vectors training starts from, of which the best objective is kept; none for starts of its own.
    pub from: Vec<usize>,
    /// Whether its machine may be the one that is kept; otherwise it is a warm start for others.
    pub candidate: bool,
    /// The relative penalty of feature scales that training learns too; none where the metric stays.
    pub scales: Option<f64>,
}

impl Strategy {
    /// True where the machine is trained on rows, not constructed from the weights of the large one.
    pub fn is_trained(&self) -> bool {
        matches!(self.steps, Steps::Distil { .. } | Steps::Margin { .. })
    }

    /// A machine of at most so many vectors; `starts` are the machines of the strategies that this one starts from.
    pub fn machine(&self, task: &Task, vectors: usize, starts: &[Machine], watch: &Watch) -> Result<Machine> {
        match &self.steps {
            Steps::Sparsify { method, finish } => {
                let path = method.sparsify(task, &Budget::vectors(vectors), watch)?;
                let found = path.last().ok_or_else(|| Error::data("no vector was found"))?;
                finish.apply(found, task, watch)
            }
            Steps::Distil { taught, own } => {
                let search = Search { n_vectors: vectors, ..taught.search.clone() };
                let distil = |search| Distil { search, ..taught.clone() };
                match self.scales {
                    None => Ok(distil(search).race(inits(starts), *own, task, watch)?.machine),
                    Some(penalty) => {
                        let found = with_scales(penalty, search, starts.first(), |search| distil(search).learn(task, watch))?;
                        behind_scaling(found, task)
                    }
                }
            }
            Steps::Margin { taught, own } => {
                let search = Search { n_vectors: vectors, ..taught.search.clone() };
                let margin = |search| Margin { search, ..taught.clone() };
                learn_margin(task, |rows| match self.scales {
                    None => Ok(margin(search).race(inits(starts), *own, rows, watch)?.machine),
                    Some(penalty) => with_scales(penalty, search, starts.first(), |search| margin(search).learn(rows, watch)),
                })
            }
        }
    }

    /// The machine trained further, from where it stands, with more rows; as it is where rows do not matter, and where its scales were validated.
    pub fn again(&self, small: Machine, task: &Task, watch: &Watch) -> Result<Machine> {
        if self.scales.is_some() {
            return Ok(small);
        }
        match &self.steps {
            Steps::Sparsify { finish, .. } => match finish.on_more_rows() {
                Some(finish) => finish.apply(small, task, watch),
                None => Ok(small),
            },
            Steps::Distil { taught, .. } => {
                let search = from_vectors(&taught.search, &small);
                Ok(Distil { search, ..taught.clone() }.learn(task, watch)?.machine)
            }
            Steps::Margin { taught, .. } => {
                let search = from_vectors(&taught.search, &small);
                learn_margin(task, |rows| Ok(Margin { search, ..taught.clone() }.learn(rows, watch)?.machine))
            }
        }
    }
}

/// The vectors of machines that training starts from.
fn inits(starts: &[Machine]) -> Vec<Init> {
    starts.iter().map(|start| Init::Given(start.expansion.vectors.to_dense())).collect()
}

/// The search from where the vectors of a machine stand.
fn from_vectors(search: &Search, small: &Machine) -> Search {
    let init = Init::Given(small.expansion.vectors.to_dense());
    Search { n_vectors: small.n_vectors(), init, starts: 1, ..search.clone() }
}

/// Direct training on the labels, in the space of the machine's vectors.
fn learn_margin(task: &Task, learn: impl FnOnce(&Dataset) -> Result<Machine>) -> Result<Machine> {
    let (Some(points), Some(data)) = (task.scaled_rows()?, task.data) else {
        return Err(Error::data("training on labels needs rows with labels; give them with the data"));
    };
    let found = learn(&Dataset { points, ..data.clone() })?;
    let same = match (&found.decision, &task.machine.decision) {
        (found, Decision::Votes { labels }) => found.labels() == *labels,
        (found, before) => found.labels() == before.labels(),
    };
    if !same {
        return Err(Error::data("the rows have other labels than the model; training on labels needs rows of all its classes"));
    }
    behind_scaling(found, task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compress::part_of, data::banana, kernel::Kernel, learn::Svc};

    #[test]
    fn of_several_starts_the_least_objective_is_kept() {
        let data = banana(200, 1);
        let full = Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let task = Task { machine: &full, data: Some(&data), candidates: None };
        let taught = Distil { c: 10.0, search: Search { iterations: 5, ..Search::default() } };
        let starts = [[0, 1, 2], [5, 20, 40], [3, 9, 30]].map(|chosen| part_of(&full, &chosen));
        let objective = |start: &Machine| {
            let search = from_vectors(&taught.search, start);
            Distil { search, ..taught.clone() }.learn(&task, &Watch::none()).unwrap()
        };
        let mut fits = starts.iter().map(objective).collect::<Vec<_>>();
        fits.sort_by(|a, b| a.report.objective.total_cmp(&b.report.objective));
        assert!(fits[0].report.objective < 0.999 * fits[1].report.objective);
        let strategy =
            Strategy { name: "distil".into(), steps: Steps::Distil { taught, own: false }, from: vec![], candidate: true, scales: None };
        assert_eq!(strategy.machine(&task, 3, &starts, &Watch::none()).unwrap(), fits[0].machine);
        assert_eq!(strategy.machine(&task, 4, &[], &Watch::none()).unwrap().n_vectors(), 4, "without a start it has its own");
    }
}
