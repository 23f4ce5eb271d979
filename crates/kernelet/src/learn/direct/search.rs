//! The search for vectors: one descent over all of them, for every learner that is trained directly (Wu2006, section 2).
//!
//! L-BFGS with the vectors as variables and W(Z) as value. The vectors may also grow in number: each size starts from the one before
//! and from rows where that one falls short, which gives a machine of every size of the path.
use std::{fmt, path::PathBuf};

use super::{
    checkpoint::{Keeper, Stage},
    descend::{Place, Run},
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
    device::Device,
    kernel::Kernel,
    learn::{Fit, Report, blocks::taught_on_device},
    linalg::{Ended, Matrix},
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
    /// Where the sums over rows of a descent are computed. On a card that is the squared hinge and the squared loss with the gaussian kernel; the rest is done by the
    /// processor, as is the solution on the vectors that were found.
    pub device: Device,
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
            device: Device::Cpu,
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
pub(super) const LAST_STEPS: usize = 10;

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
    /// The machine of vectors with these coefficients, for rows that were transformed, and how what was solved for it alone ended.
    fn machine(&self, expansion: Expansion, solution: &Solution, transform: &Transform) -> Result<(Machine, Status)>;
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

/// A machine of the size path, and the vectors it has.
pub(super) struct Level {
    pub fit: Fit,
    at: Variables,
    solved: Solved,
}

impl Search {
    /// Refuses what no search can use.
    pub fn check(&self, method: &'static str, kernel: &Kernel) -> Result<()> {
        kernel.check()?;
        check_definite(kernel)?;
        // Vectors that stay where they are need no gradient.
        if !kernel.profile().smooth() && self.iterations > 0 {
            return Err(Error::Unsupported {
                method,
                with: format!("the {} kernel, which is not differentiable at zero distance", kernel.name()),
                instead: "use gaussian, matern32, matern52, matern72 or polynomial; or a basis of given rows".into(),
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

    /// An error where starts and steps would take years: a slip of the keyboard, not a wish.
    fn check_work(&self, direct: &dyn Direct) -> Result<()> {
        const MOST: f64 = 1e17;
        const A_DAY: f64 = 1e9 * 86_400.0;
        let (rows, dim) = direct.phases().last().map_or((0, 0), |phase| (phase.points.len(), phase.points.dim()));
        let step = rows as f64 * self.n_vectors as f64 * (dim as f64).min(1e6);
        let work = self.starts as f64 * (self.iterations as f64 + 1.0) * step;
        match work > MOST && self.starts > 1 {
            false => Ok(()),
            true => Err(Error::parameter(
                "starts",
                self.starts,
                format!("fewer: each makes up to {} steps, and all together would take about {:.0} days", self.iterations, work / A_DAY),
            )),
        }
    }

    /// The sizes of the path, of the start whose largest is best.
    fn best(&self, kernel: &Kernel, direct: &dyn Direct, watch: &Watch) -> Result<Vec<Level>> {
        self.check_work(direct)?;
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
        let points = check_points(direct, self.n_vectors)?;
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
        let mut run = Run::new(direct);
        if let Some(file) = self.checkpoint.as_deref() {
            // What changes no bit of the result is left out.
            let settings = Search { checkpoint: None, memory_bytes: 0, ..self.clone() };
            let (keeper, state) = Keeper::open(file, &(kernel, settings, direct.problem()), dim, watch)?;
            run.stage = state.as_ref().map_or(run.stage, |state| state.stage);
            (run.keeper, run.resumed) = (Some(keeper), state);
        }
        Ok(run)
    }

    /// Where the phases lead, and the objective of the last.
    pub(super) fn descended<'b>(
        &'b self,
        kernel: &'b Kernel,
        run: &mut Run<'b>,
        at: Variables,
        share: usize,
        watch: &'b Watch,
    ) -> Result<(Place, Objective<'b>)> {
        let earlier = run.resumed.as_ref().map_or(0, |_| run.stage.before);
        let mut place = Place { at, value: f64::INFINITY, iterations: earlier, ended: Ended::Value };
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
            let steps = iterations.div_ceil(share);
            place = match descend_on_device(self, &objective, &place, steps)? {
                Some(found) => found,
                None => run.descend(place, &mut objective, (name, steps)),
            };
            last = Some(objective);
            if run.is_paused() {
                break;
            }
        }
        last.map(|objective| (place, objective)).ok_or_else(|| Error::data("there is nothing to minimise"))
    }

    pub(super) fn level<'b>(
        &'b self,
        kernel: &'b Kernel,
        run: &mut Run<'b>,
        at: Variables,
        share: usize,
        watch: &'b Watch,
    ) -> Result<Level> {
        let (before, unwatched) = (watch.evaluations(), Watch::none());
        let (place, mut objective) = self.descended(kernel, run, at, share, watch)?;
        // A run that was stopped has a machine too, whose coefficients suit its vectors.
        objective.watch = &unwatched;
        let solved = objective.solve(&place.at)?;
        let (machine, ended) = machine(run.direct, &place.at, &solved)?;
        machine.check()?;
        if let Some(keeper) = &mut run.keeper {
            keeper.write(|| Ok(machine.clone()), watch);
        }
        let report = Report {
            objective: solved.value,
            dual_objective: None,
            iterations: place.iterations as u64,
            status: status(place.ended).worse(ended),
            evaluations: watch.evaluations() - before,
            support: None,
        };
        Ok(Level { fit: Fit { machine, report }, at: place.at, solved })
    }
}

/// Where a descent on the device of the search leads; none where it is not made there.
fn descend_on_device(search: &Search, objective: &Objective, place: &Place, steps: usize) -> Result<Option<Place>> {
    let Some(rows) = objective.inner.rows() else { return Ok(None) };
    let found = taught_on_device(search, objective.kernel, (objective.points, &rows), &place.at, steps, objective.watch)?;
    Ok(found.map(|(at, value, iterations, ended)| Place { at, value, iterations: place.iterations + iterations, ended }))
}

/// The rows of a search for so many vectors, where they can be held.
pub(super) fn check_points(direct: &dyn Direct, vectors: usize) -> Result<&Points> {
    let points = direct.phases().last().map_or_else(|| Err(Error::data("there is nothing to minimise")), |phase| Ok(phase.points))?;
    check_dense("direct training", points, vectors)?;
    Ok(points)
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

/// The machine of the optimum at these variables, and how what was solved for it alone ended.
pub(super) fn machine(direct: &dyn Direct, at: &Variables, solved: &Solved) -> Result<(Machine, Status)> {
    let Solved { transform, frame, solution, .. } = solved;
    let coefficients = Coefficients::Dense(frame.coefficients(&solution.weights));
    let vectors = transform.vectors(&at.z).into_owned().into();
    let expansion = Expansion { kernel: frame.kernel().clone(), vectors, coefficients };
    let (machine, status) = direct.machine(expansion, solution, transform)?;
    Ok((Machine { scale: transform.scale().or_else(|| machine.scale.clone()), ..machine }, status))
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
