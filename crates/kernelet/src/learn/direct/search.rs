//! The search for vectors: one descent over all of them, for every learner that is trained directly (Wu2006, section 2).
//!
//! L-BFGS with the vectors as variables and W(Z) as value. The vectors may also grow in number: each size starts from the one before
//! and from rows where that one falls short, which gives a machine of every size of the path.
use std::{fmt, path::PathBuf};

use super::{
    checkpoint::{Keeper, Stage, State},
    grow,
    init::Init,
    inner::{Inner, Solution},
    metric::{Learned, Metric, Transform},
    objective::{Objective, Solved, Variables},
};
use crate::{
    Error, Named, Result,
    basis::{check_definite, field::check_dense},
    data::Points,
    kernel::Kernel,
    learn::{Fit, Report},
    linalg::{Begin, Descent, Ended, Lbfgs, Matrix},
    machine::{Coefficients, Expansion, Machine},
    watch::{Status, Watch},
};

/// How vectors are searched for.
#[derive(Clone, Debug)]
pub struct Search {
    /// The number of expansion vectors.
    pub n_vectors: usize,
    /// Where they start.
    pub init: Init,
    /// What of the kernel's metric is learned with them.
    pub metric: Metric,
    /// Starts, of which the best W is kept.
    pub starts: usize,
    /// Whether all vectors move together from the beginning.
    pub growth: Growth,
    /// Steps of the descent.
    pub iterations: usize,
    /// Bytes that may be used to hold the coordinates of the rows; what does not fit is computed again when it is needed.
    pub memory_bytes: usize,
    /// A model file that is written from time to time, and from which a search goes on that was stopped.
    pub checkpoint: Option<PathBuf>,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Search {
            n_vectors: 100,
            init: Init::KMeans,
            metric: Metric::default(),
            starts: 1,
            growth: Growth::None,
            iterations: 200,
            memory_bytes: 2 << 30,
            checkpoint: None,
            seed: 0,
        }
    }
}

/// How the number of vectors grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Growth {
    /// Not at all: all of them from the beginning.
    #[default]
    None,
    /// In doubling groups.
    Doubling,
    /// One after another.
    OneByOne,
}

impl Named for Growth {
    const NAMES: &'static [(&'static str, Self)] =
        &[("none", Growth::None), ("doubling", Growth::Doubling), ("one-by-one", Growth::OneByOne)];
}

/// Sizes before the last get this fraction of the steps.
const STEPS_ON_THE_WAY: usize = 5;

/// Rows of fewer features gain nothing from single precision.
const WIDE: usize = 64;

/// The last steps of a descent are made in double precision.
pub(crate) const LAST_STEPS: usize = 10;

/// The smallest size that doubling begins with.
const SMALLEST: usize = 4;

impl Growth {
    /// The size path to `vectors`, smallest first.
    pub fn sizes(self, vectors: usize) -> Vec<usize> {
        match self {
            Growth::None => vec![vectors],
            Growth::OneByOne => (1..=vectors).collect(),
            Growth::Doubling => {
                let mut sizes: Vec<usize> =
                    std::iter::successors(Some(vectors), |&size| (size > SMALLEST).then(|| size.div_ceil(2))).collect();
                sizes.reverse();
                sizes
            }
        }
    }
}

/// A learner with its rows, as the search needs it.
pub(crate) trait Direct {
    /// The phases of the descent; the value of the last is what is minimised.
    fn phases(&self) -> Vec<Phase<'_>>;
    /// The machine of vectors with these coefficients, for rows that were transformed.
    fn machine(&self, expansion: Expansion, solution: &Solution, transform: &Transform) -> Result<Machine>;
    /// Everything that the result depends on besides the kernel and the settings of the search: a checkpoint is for this problem alone.
    fn problem(&self) -> Box<dyn fmt::Debug + '_>;
}

/// A part of the descent.
pub(crate) struct Phase<'a> {
    /// What progress calls it.
    pub name: &'static str,
    pub points: &'a Points,
    pub inner: Box<dyn Inner + 'a>,
    /// Whether it may begin in single precision.
    pub single: bool,
    pub iterations: usize,
}

/// Where a descent has come to.
struct Place {
    at: Variables,
    iterations: usize,
    ended: Ended,
}

/// A run of the phases: what it is of, where it is, and what is kept of it.
struct Run<'a> {
    direct: &'a dyn Direct,
    stage: Stage,
    /// The state of an earlier run to go on from.
    resumed: Option<State>,
    keeper: Option<Keeper<'a>>,
}

/// A machine of the size path, and the vectors it has.
struct Level {
    fit: Fit,
    at: Variables,
    solved: Solved,
}

impl Search {
    /// Refuses what no search can use.
    pub fn check(&self, method: &'static str, kernel: &Kernel) -> Result<()> {
        kernel.check()?;
        check_definite(kernel)?;
        if !kernel.profile().smooth() {
            return Err(Error::Unsupported {
                method,
                with: format!("the {} kernel, which is not differentiable at zero distance", kernel.name()),
                instead: "use gaussian, matern32, matern52 or polynomial; or a basis of given rows".into(),
            });
        }
        for (name, value) in [("vectors", self.n_vectors), ("starts", self.starts)] {
            if value == 0 {
                return Err(Error::parameter(name, 0, "at least 1"));
            }
        }
        if self.checkpoint.is_some() && self.metric.learned != Learned::Nothing {
            return Err(Error::Unsupported {
                method: "checkpoint",
                with: "a learned metric".into(),
                instead: "leave the checkpoint out".into(),
            });
        }
        if self.checkpoint.is_some() && (self.starts > 1 || self.growth != Growth::None) {
            return Err(Error::Unsupported {
                method: "checkpoint",
                with: "several starts or growing vectors".into(),
                instead: "use one start with all vectors".into(),
            });
        }
        Ok(())
    }

    /// The best machine of all starts: that of the largest size.
    pub(crate) fn learn(&self, kernel: &Kernel, direct: &dyn Direct, watch: &Watch) -> Result<Fit> {
        Ok(self.found(kernel, direct, watch)?.0)
    }

    /// The machine of every size of the path, of the start whose largest is best.
    pub(crate) fn learn_path(&self, kernel: &Kernel, direct: &dyn Direct, watch: &Watch) -> Result<Vec<Fit>> {
        Ok(self.best(kernel, direct, watch)?.into_iter().map(|level| level.fit.ended(watch)).collect())
    }

    /// The best machine of all starts, and the variables at which its search ended.
    pub(crate) fn found(&self, kernel: &Kernel, direct: &dyn Direct, watch: &Watch) -> Result<(Fit, Variables)> {
        let level = self.best(kernel, direct, watch)?.pop().ok_or_else(|| Error::data("no start led to a machine"))?;
        Ok((level.fit.ended(watch), level.at))
    }

    /// The sizes of the path, of the start whose largest is best.
    fn best(&self, kernel: &Kernel, direct: &dyn Direct, watch: &Watch) -> Result<Vec<Level>> {
        let mut best: Option<Vec<Level>> = None;
        for start in 0..self.starts as u64 {
            if watch.cancelled() && best.is_some() {
                break;
            }
            let path = self.levels(kernel, direct, self.seed.wrapping_add(start), watch)?;
            let value = |path: &[Level]| path.last().map_or(f64::INFINITY, |level| level.fit.report.objective);
            if best.as_ref().is_none_or(|best| value(&path) < value(best)) {
                best = Some(path);
            }
        }
        best.ok_or_else(|| Error::data("no start led to a machine"))
    }

    fn levels(&self, kernel: &Kernel, direct: &dyn Direct, seed: u64, watch: &Watch) -> Result<Vec<Level>> {
        let points = direct.phases().last().map_or_else(|| Err(Error::data("there is nothing to minimise")), |phase| Ok(phase.points))?;
        check_dense("direct training", points, self.n_vectors)?;
        let mut run = self.begin(kernel, direct, points.dim(), watch)?;
        let mut levels: Vec<Level> = vec![];
        let sizes = self.growth.sizes(self.n_vectors);
        for (step, &size) in sizes.iter().enumerate() {
            let at = match (levels.last(), &run.resumed) {
                (None, Some(state)) => {
                    let numbers = state.descent.point();
                    Variables::of_values(numbers, numbers.len() / points.dim().max(1), points.dim())
                }
                (None, None) => {
                    Variables { z: self.init.first(kernel, points, size, seed, watch)?, metric: self.metric.first(points.dim())? }
                }
                (Some(level), _) => match grown(level, points, size, seed) {
                    Some(at) => at,
                    None => break,
                },
            };
            let share = if step + 1 == sizes.len() { 1 } else { STEPS_ON_THE_WAY };
            levels.push(self.level(kernel, &mut run, at, share, watch)?);
            if watch.cancelled() {
                break;
            }
        }
        Ok(levels)
    }

    /// A run, from its checkpoint where there is one.
    fn begin<'a>(&'a self, kernel: &Kernel, direct: &'a dyn Direct, dim: usize, watch: &Watch) -> Result<Run<'a>> {
        let mut run = Run { direct, stage: Stage::default(), resumed: None, keeper: None };
        if let Some(file) = self.checkpoint.as_deref() {
            // What changes no bit of the result is left out.
            let settings = Search { checkpoint: None, memory_bytes: 0, ..self.clone() };
            let (keeper, state) = Keeper::open(file, &(kernel, settings, direct.problem()), dim, watch)?;
            run.stage = state.as_ref().map_or(run.stage, |state| state.stage);
            (run.keeper, run.resumed) = (Some(keeper), state);
        }
        Ok(run)
    }

    fn level(&self, kernel: &Kernel, run: &mut Run, at: Variables, share: usize, watch: &Watch) -> Result<Level> {
        let before = watch.evaluations();
        let earlier = run.resumed.as_ref().map_or(0, |_| run.stage.before);
        let mut place = Place { at, iterations: earlier, ended: Ended::Value };
        let mut last = None;
        for (number, Phase { name, points, inner, single, iterations }) in run.direct.phases().into_iter().enumerate() {
            if run.resumed.is_some() && number < run.stage.phase {
                continue;
            }
            let single = single && points.dim() >= WIDE;
            let (metric, memory, buffer, transformed) = (&self.metric, self.memory_bytes, vec![], vec![]);
            let mut objective = Objective { kernel, points, metric, inner, memory, single, buffer, transformed, watch };
            if run.resumed.is_none() {
                run.stage = Stage { phase: number, before_phase: place.iterations, ..Stage::default() };
            }
            place = descend(run, place, &mut objective, (name, iterations.div_ceil(share)));
            last = Some(objective);
        }
        let Some(mut objective) = last else { return Err(Error::data("there is nothing to minimise")) };
        let solved = objective.solve(&place.at)?;
        let machine = machine(run.direct, &place.at, &solved)?;
        machine.check()?;
        if let Some(keeper) = &mut run.keeper {
            keeper.write(|| Ok(machine.clone()), watch);
        }
        let report = Report {
            objective: solved.value,
            dual_objective: None,
            iterations: place.iterations as u64,
            status: status(place.ended),
            evaluations: watch.evaluations() - before,
            support: None,
        };
        Ok(Level { fit: Fit { machine, report }, at: place.at, solved })
    }
}

/// Descends in single precision as far as the objective has it, and goes on in double precision.
fn descend(run: &mut Run, from: Place, objective: &mut Objective, (name, steps): (&str, usize)) -> Place {
    let mut place = from;
    if !run.stage.again {
        place = descend_once(run, place, objective, (name, steps));
        if !objective.single || place.iterations - run.stage.before_phase >= steps || place.ended == Ended::Stopped {
            return place;
        }
        objective.single = false;
        run.stage.again = true;
    }
    let done = place.iterations.saturating_sub(run.stage.before_phase);
    descend_once(run, place, objective, (name, steps.saturating_sub(done)))
}

fn descend_once(run: &mut Run, from: Place, objective: &mut Objective, (name, steps): (&str, usize)) -> Place {
    let (m, dim, watch) = (from.at.z.rows(), from.at.z.cols(), objective.watch);
    let lbfgs = Lbfgs { max_iterations: steps, first_step: 0.1 * spread(&from.at.z), ..Lbfgs::default() };
    let variables = |point: &[f64]| Variables::of_values(point, m, dim);
    let begin = match run.resumed.take() {
        None => Begin::Point(from.at.into_values()),
        Some(State { descent, memory, stage }) => {
            objective.single = stage.single;
            objective.inner.remember(&memory, m);
            Begin::Descent(descent)
        }
    };
    run.stage.before = from.iterations;
    let objective = std::cell::RefCell::new(objective);
    let minimum = lbfgs.minimise_preconditioned(
        begin,
        |point, gradient, preconditioner| objective.borrow_mut().evaluate_preconditioned(&variables(point), gradient, preconditioner),
        |descent| {
            // What is computed once the run is cancelled may be anything.
            let whole = !watch.cancelled();
            watch.report(name, descent.iterations() as u64, Some(steps as u64), Some(descent.value()));
            if descent.iterations() + LAST_STEPS >= steps {
                objective.borrow_mut().single = false;
            }
            if whole {
                run.keep(descent, *objective.borrow_mut(), &variables);
            }
            !watch.cancelled()
        },
    );
    Place { at: variables(&minimum.point), iterations: from.iterations + minimum.iterations, ended: minimum.ended }
}

impl Run<'_> {
    /// Keeps the state after a step, and writes it when it is time. The machine in the file leaves no trace in the objective.
    fn keep(&mut self, descent: &Descent, objective: &mut Objective, variables: &dyn Fn(&[f64]) -> Variables) {
        let Run { direct, stage, keeper: Some(keeper), .. } = self else { return };
        let memory = objective.inner.memory();
        keeper.keep(State { stage: Stage { single: objective.single, ..*stage }, descent: descent.clone(), memory: memory.clone() });
        if keeper.due() {
            let (at, watch) = (variables(descent.point()), objective.watch);
            keeper.write(|| machine(*direct, &at, &objective.solve(&at)?), watch);
            objective.inner.remember(&memory, at.z.rows());
        }
    }
}

/// The variables of a level with new vectors up to `size`; none where no row is of use.
fn grown(level: &Level, points: &Points, size: usize, seed: u64) -> Option<Variables> {
    let (z, Solved { transform, frame, solution, .. }) = (&level.at.z, &level.solved);
    let transformed = transform.rows(points, vec![]);
    let rows = grow::more(frame, &transformed, solution, size.saturating_sub(z.rows()), seed);
    let more = points.select(&rows).to_dense();
    let mut values = z.values().to_vec();
    values.extend_from_slice(more.values());
    let z = (!rows.is_empty()).then(|| Matrix::new(values, z.rows() + rows.len(), z.cols())).flatten()?;
    Some(Variables { z, metric: level.at.metric.clone() })
}

/// The machine of the optimum at these variables.
fn machine(direct: &dyn Direct, at: &Variables, solved: &Solved) -> Result<Machine> {
    let Solved { transform, frame, solution, .. } = solved;
    let coefficients = Coefficients::Dense(frame.coefficients(&solution.weights));
    let vectors = transform.vectors(&at.z).into_owned().into();
    let expansion = Expansion { kernel: frame.kernel().clone(), vectors, coefficients };
    let machine = direct.machine(expansion, solution, transform)?;
    Ok(Machine { scale: transform.scale().or_else(|| machine.scale.clone()), ..machine })
}

/// How far the vectors lie from their mean, all together; 1 where they coincide.
pub(crate) fn spread(z: &Matrix) -> f64 {
    let mean: Vec<f64> = (0..z.cols()).map(|j| z.iter().map(|row| row[j]).sum::<f64>() / z.rows().max(1) as f64).collect();
    let squares: f64 = z.iter().flat_map(|row| row.iter().zip(&mean).map(|(v, m)| (v - m) * (v - m))).sum();
    if squares > 0.0 { squares.sqrt() } else { 1.0 }
}

/// A limit of steps is how these runs are meant to end.
pub(crate) fn status(ended: Ended) -> Status {
    match ended {
        Ended::Stopped => Status::Cancelled,
        Ended::Iterations => Status::Completed,
        _ => Status::Converged,
    }
}
