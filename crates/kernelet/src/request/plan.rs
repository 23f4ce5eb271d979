//! From a request to a learner: how its vectors are found, which settings that uses, and the learner itself.
use super::{
    learner::{self, LearnerName},
    train::Train,
    vectors::{Coefficients, InitName, Method, Vectors},
};
use crate::{
    Error, Named, Result,
    basis::{BasisBudget, BasisMethod, FisherPursuit, GreedyBasis, KMeans, MatchingPursuit, OnePass, RandomBasis, RpCholesky, Stage},
    compress::{Baseline, BaselineLearner, construct::Starts},
    data::read::Wanted,
    kernel::{Kernel, Linear, Precomputed},
    learn::{
        BestSize, Centred, FrameLearner, Learner, Multiclass, OnBasis, OnGram, SupportBasis,
        direct::{self, DirectLearner, DirectTask, Init, Margin, Sharing},
    },
};

/// The most vectors that cross-validation looks at where nothing else is asked for.
const USUAL_MOST: usize = 200;

/// The steps between the sizes that cross-validation compares.
const USUAL_STEP: usize = 10;

/// What a request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// All rows may be vectors.
    Full,
    /// Vectors found with the machine.
    Direct,
    /// A basis chosen before.
    Basis(Method),
    /// A machine that papers compare with.
    Baseline(Baseline),
}

/// Settings of every request.
const ALWAYS: &[&str] =
    &["learner", "kernel", "gamma", "degree", "coef0", "exponent", "scale", "tune", "folds", "probability", "path", "seed"];
/// Settings of the solver of the support vector family.
const SOLVER: &[&str] = &["tolerance", "max-iterations", "no-shrinking", "cache"];
/// Settings of the search for vectors with the machine.
const SEARCH: &[&str] =
    &["vectors", "method", "init", "starts", "iterations", "growth", "checkpoint", "memory", "blocks", "sample-first", "device"];
/// Settings of a metric that is learned.
const METRIC: &[&str] = &["ard", "projection", "metric-penalty"];
/// Settings of fisher-pursuit.
const PURSUIT: &[&str] = &["vectors", "method", "criterion", "deflation", "stages", "score-threshold", "numerator", "candidates", "every"];

impl Plan {
    /// The settings that an estimator uses with this plan, beside those of every request.
    fn uses(self, learner: LearnerName) -> Vec<&'static str> {
        let own = |without: &[&str]| learner.uses().iter().copied().filter(|name| !without.contains(name)).collect::<Vec<_>>();
        match self {
            Plan::Full => [own(&[]).as_slice(), METRIC].concat(),
            Plan::Direct => {
                let own = own(&[SOLVER, &["explained", "direction"]].concat());
                let special: &[&str] = match learner {
                    LearnerName::Svc => &["loss", "parts"],
                    LearnerName::Fisher => &["coefficients"],
                    _ => &[],
                };
                [own.as_slice(), SEARCH, METRIC, special].concat()
            }
            Plan::Basis(Method::FisherPursuit) => [own(&[]).as_slice(), PURSUIT, METRIC].concat(),
            // The full machine that they support needs what the machine on them does not.
            Plan::Basis(Method::SupportVectors) => [own(&[]).as_slice(), &["method"], METRIC].concat(),
            Plan::Basis(method) => {
                let error: &[&str] = if stops_by_error(method) { &["max-error"] } else { &[] };
                let first: &[&str] = if method == Method::GreedyBasis { &["first"] } else { &[] };
                let shrink: &[&str] = if learner == LearnerName::Svc { &["shrink"] } else { &[] };
                let passes: &[&str] = match learner {
                    _ if is_chosen_on_a_sample(method, learner) => &["memory", "blocks", "sample-first"],
                    // Refused with what to use instead.
                    LearnerName::Svc => &["blocks"],
                    _ => &[],
                };
                // Machines with hinge losses on a basis are solved exactly.
                let own = if matches!(learner, LearnerName::Svc | LearnerName::Svr) { own(SOLVER) } else { own(&[]) };
                [own.as_slice(), &["vectors", "method"], METRIC, error, first, shrink, passes].concat()
            }
            Plan::Baseline(Baseline::Rs | Baseline::Mrs) => [own(&["multiclass"]).as_slice(), &["vectors", "method"]].concat(),
            Plan::Baseline(Baseline::RvmMargin) => {
                [own(&[SOLVER, &["multiclass", "class-weight"]].concat()).as_slice(), &["vectors", "method"]].concat()
            }
            Plan::Baseline(_) => [own(&[SOLVER, &["multiclass"]].concat()).as_slice(), &["vectors", "method"]].concat(),
        }
    }
}

/// Methods whose vectors are chosen by their distance from the span.
fn stops_by_error(method: Method) -> bool {
    matches!(method, Method::GreedyBasis | Method::RpCholesky | Method::OnlineBasis)
}

/// Bases that a sample of the rows determines, for estimators whose sums over all rows then give the machine.
pub(super) fn is_chosen_on_a_sample(method: Method, learner: LearnerName) -> bool {
    let able = matches!(learner, LearnerName::Ridge | LearnerName::Logistic);
    able && matches!(method, Method::GreedyBasis | Method::RpCholesky | Method::KMeans | Method::Random | Method::MatchingPursuit)
}

impl Train {
    /// How the vectors are found.
    pub(super) fn plan(&self) -> Result<Plan> {
        let (learner, direct) = (self.learner(), Method::direct_for(self.learner()));
        let precomputed = self.kernel.name.as_deref() == Some("precomputed");
        let asked = self.vectors.count.is_some() || self.vectors.max_error.is_some();
        match self.vectors.method.unwrap_or_default() {
            Method::Auto if !asked => Ok(Plan::Full),
            // New vectors have no kernel values where those are given.
            Method::Auto if direct.is_some() && !precomputed => Ok(Plan::Direct),
            Method::Auto => self.on_basis(Method::GreedyBasis),
            Method::Direct(of) if of == learner => Ok(Plan::Direct),
            method @ Method::Direct(of) => Err(self.other_learner(method, of.name())),
            Method::Baseline(baseline) if learner == LearnerName::Svc => Ok(Plan::Baseline(baseline)),
            method @ Method::Baseline(_) => Err(self.other_learner(method, "svc")),
            Method::FisherPursuit if learner != LearnerName::Fisher => Err(self.other_learner(Method::FisherPursuit, "fisher")),
            Method::SupportVectors if learner != LearnerName::Svc => Err(self.other_learner(Method::SupportVectors, "svc")),
            Method::MatchingPursuit if learner.wanted() == Wanted::Nothing => {
                Err(Error::request(format!("`method` matching-pursuit goes by targets, which {} does not have", learner.name())))
            }
            method => self.on_basis(method),
        }
    }

    fn on_basis(&self, method: Method) -> Result<Plan> {
        let able: Vec<LearnerName> = LearnerName::on_bases().collect();
        if able.contains(&self.learner()) {
            return Ok(Plan::Basis(method));
        }
        let names: Vec<&str> = able.iter().map(|learner| learner.name()).collect();
        Err(Error::request(format!(
            "{} is always a full machine; a number of `vectors` goes with {}",
            self.learner().name(),
            names.join(", ")
        )))
    }

    fn other_learner(&self, method: Method, right: &str) -> Error {
        Error::request(format!("`method` {} goes with the `learner` {right}, not with {}", method.name(), self.learner().name()))
    }

    /// Rejects settings that the plan would ignore, and budgets that say too little.
    pub(super) fn check_plan(&self, plan: Plan) -> Result<()> {
        let uses = plan.uses(self.learner());
        if let Some(setting) = self.given().into_iter().find(|name| !uses.contains(&name.as_str()) && !ALWAYS.contains(&name.as_str())) {
            return Err(Error::request(format!("`{setting}` is not used by {}{}", self.described(plan), users_of(&setting))));
        }
        match plan {
            Plan::Full => Ok(()),
            Plan::Direct => self.check_direct(),
            Plan::Baseline(Baseline::RvmMargin) if self.vectors.count.is_some() => {
                Err(Error::request("`vectors` is not used by rvm-margin, which finds their number"))
            }
            Plan::Baseline(Baseline::RvmMargin) => Ok(()),
            Plan::Baseline(_) | Plan::Basis(Method::KMeans | Method::Random | Method::MatchingPursuit) => self.need_vectors(plan),
            Plan::Basis(Method::SupportVectors) => Ok(()),
            Plan::Basis(Method::FisherPursuit) => match self.vectors.count.is_some() || self.step().is_some() {
                true => Ok(()),
                false => Err(Error::request(
                    "`method` fisher-pursuit needs `vectors`; `folds` 5 chooses their number by cross-validation, every 10 up to 200",
                )),
            },
            Plan::Basis(Method::OnlineBasis) if self.vectors.max_error.is_none_or(|error| error == 0.0) => Err(Error::request(
                "`method` online-basis needs a `max-error` above 0: rows farther than this from the vectors before them join",
            )),
            Plan::Basis(_) if self.vectors.count.is_none() && self.vectors.max_error.is_none_or(|error| error == 0.0) => {
                Err(Error::request(format!("`method` {} needs `vectors`, a `max-error` above 0, or both", self.method_of(plan))))
            }
            Plan::Basis(_) => Ok(()),
        }
    }

    fn need_vectors(&self, plan: Plan) -> Result<()> {
        match self.vectors.count {
            Some(_) => Ok(()),
            None => Err(Error::request(format!("`method` {} needs `vectors`", self.method_of(plan)))),
        }
    }

    fn check_direct(&self) -> Result<()> {
        self.need_vectors(Plan::Direct)?;
        let how = self.settings.multiclass;
        if self.learner() == LearnerName::Svc && how.is_some_and(|how| !matches!(how, Multiclass::Shared | Multiclass::OneVsRest)) {
            return Err(Error::request(
                "margin has one machine for each class against the others; use `multiclass` shared (one set of vectors) or one-vs-rest (each its own), \
                 or choose a basis with `method`",
            ));
        }
        Ok(())
    }

    /// The estimator and its method, for messages.
    pub(super) fn described(&self, plan: Plan) -> String {
        let learner = self.learner().name();
        match plan {
            Plan::Full => learner.into(),
            Plan::Direct => format!("direct training of {learner}"),
            Plan::Basis(method) => format!("{learner} on a basis by {}", method.name()),
            Plan::Baseline(baseline) => baseline.name().into(),
        }
    }

    fn method_of(&self, plan: Plan) -> &'static str {
        match plan {
            Plan::Full | Plan::Direct => Method::Direct(self.learner()).name(),
            Plan::Basis(method) => method.name(),
            Plan::Baseline(baseline) => baseline.name(),
        }
    }

    /// How several classes become two-class problems: as asked for, else one against all others on shared vectors where there is a budget.
    pub(super) fn multiclass(&self) -> Multiclass {
        let usual = if self.plan().is_ok_and(|plan| plan == Plan::Full) { Multiclass::default() } else { Multiclass::Shared };
        match self.settings.multiclass.unwrap_or(usual) {
            Multiclass::OutputCodes { .. } => Multiclass::OutputCodes { seed: self.seed },
            how => how,
        }
    }

    /// The learner for a kernel.
    pub(super) fn learner_for(&self, kernel: Kernel) -> Result<Box<dyn Learner>> {
        let learner = self.uncentred(kernel)?;
        Ok(if self.settings.centre { Box::new(Centred { learner }) } else { learner })
    }

    fn uncentred(&self, kernel: Kernel) -> Result<Box<dyn Learner>> {
        let (plan, learner) = (self.plan()?, self.learner());
        Ok(match plan {
            Plan::Baseline(baseline) => {
                let vectors = self.vectors.count.unwrap_or(0);
                let svc = learner::svc(kernel, self);
                Box::new(BaselineLearner { baseline, svc, n_vectors: vectors, starts: Starts::default().count, seed: self.seed })
            }
            Plan::Direct => self.direct(kernel),
            Plan::Full | Plan::Basis(_) => {
                let points = matches!(plan, Plan::Basis(_)) || matches!(learner, LearnerName::Ridge | LearnerName::Logistic);
                match kernel == Kernel::Precomputed(Precomputed {}) && points {
                    // Points with the linear kernel take the place of rows of kernel values where those between vectors are needed too.
                    true => Box::new(OnGram { learner: self.spanned(plan, Kernel::Linear(Linear {})) }),
                    false => self.spanned(plan, kernel),
                }
            }
        })
    }

    /// The learner, on a basis where the plan has one.
    fn spanned(&self, plan: Plan, kernel: Kernel) -> Box<dyn Learner> {
        let Some(learner) = self.learner().in_frame(kernel.clone(), self) else { return self.learner().only_full(kernel, self) };
        let Plan::Basis(method) = plan else { return learner };
        if let Some(sized) = self.best_size_on(method, kernel) {
            return Box::new(sized);
        }
        Box::new(self.with_basis(method, learner))
    }

    /// The estimator on a basis.
    pub(super) fn with_basis(&self, method: Method, learner: Box<dyn FrameLearner>) -> OnBasis {
        let (basis, budget) = self.basis(method);
        OnBasis { basis, budget, learner, shrink: self.vectors.shrink.unwrap_or_default() }
    }

    /// The learner on a basis whose size cross-validation chooses, where that is asked for.
    fn best_size_on(&self, method: Method, kernel: Kernel) -> Option<BestSize> {
        let every = self.step().filter(|_| method == Method::FisherPursuit)?;
        let on_basis = self.with_basis(method, self.learner().in_frame(kernel, self)?);
        Some(BestSize { on_basis, every, folds: self.folds(), seed: self.seed })
    }

    /// The same for the kernel of this request, whose width must be given.
    pub fn best_size(&self) -> Result<Option<BestSize>> {
        Ok(match self.plan()? {
            Plan::Basis(method) => self.best_size_on(method, self.kernel.kernel()?),
            _ => None,
        })
    }

    /// The method that chooses the basis, and its budget.
    pub(super) fn basis(&self, method: Method) -> (Box<dyn BasisMethod>, BasisBudget) {
        let (seed, Vectors { count, max_error, .. }) = (self.seed, &self.vectors);
        let basis: Box<dyn BasisMethod> = match method {
            Method::RpCholesky => Box::new(RpCholesky { seed, ..RpCholesky::default() }),
            Method::KMeans => Box::new(KMeans { seed, ..KMeans::default() }),
            Method::Random => Box::new(RandomBasis { seed }),
            Method::FisherPursuit => Box::new(self.pursuit()),
            Method::OnlineBasis => Box::new(OnePass {}),
            Method::MatchingPursuit => Box::new(MatchingPursuit::default()),
            Method::SupportVectors => Box::new(SupportBasis { svc: learner::svc(Kernel::gaussian(1.0), self) }),
            _ => Box::new(GreedyBasis { seed, first: self.vectors.first.unwrap_or_default() }),
        };
        let most = count.unwrap_or(if method == Method::FisherPursuit { USUAL_MOST } else { usize::MAX });
        (basis, BasisBudget { max_vectors: most, max_error: max_error.unwrap_or(0.0) })
    }

    /// The steps between the sizes that cross-validation compares: as given, or where folds have nothing else to do.
    fn step(&self) -> Option<usize> {
        let alone = self.folds.is_some() && !self.tune && self.probability.is_none() && self.vectors.method == Some(Method::FisherPursuit);
        self.pursuit.every.or(alone.then_some(USUAL_STEP))
    }

    fn pursuit(&self) -> FisherPursuit {
        let (asked, usual) = (&self.pursuit, FisherPursuit::default());
        FisherPursuit {
            criterion: asked.criterion.unwrap_or_default(),
            deflation: asked.deflation.unwrap_or_default(),
            stage: match (asked.stages, asked.score_threshold) {
                (Some(count), _) => Stage::Count(count),
                (_, Some(bound)) => Stage::Beyond(bound),
                _ => usual.stage,
            },
            numerator: asked.numerator.unwrap_or_default(),
            sample: asked.candidates,
            cache_bytes: self.settings.cache_bytes(usual.cache_bytes),
            seed: self.seed,
        }
    }

    /// The estimator whose vectors are found with it, and the metric of its kernel where that is asked for.
    fn direct(&self, kernel: Kernel) -> Box<dyn Learner> {
        let one_width = self.learned().is_empty();
        match self.learner() {
            LearnerName::Svc if one_width => Box::new(self.margin(kernel)),
            LearnerName::Svc => Box::new(self.with_metric(&kernel, Train::margin)),
            _ if one_width => Box::new(self.direct_learner(kernel)),
            _ => Box::new(self.with_metric(&kernel, Train::direct_learner)),
        }
    }

    pub(super) fn direct_learner(&self, kernel: Kernel) -> DirectLearner {
        let margin = self.search.coefficients == Some(Coefficients::Margin);
        let task = match self.learner() {
            LearnerName::Svr => DirectTask::Svr(learner::svr(kernel, self)),
            LearnerName::Huber => DirectTask::Huber(learner::huber(kernel, self)),
            LearnerName::Fisher => {
                DirectTask::Fisher { fisher: learner::fisher(kernel, self), margin: margin.then(|| self.settings.c.unwrap_or(1.0)) }
            }
            LearnerName::Logistic => DirectTask::Logistic(learner::logistic(kernel, self)),
            LearnerName::OneClass => DirectTask::OneClass(learner::one_class(kernel, self)),
            LearnerName::Pca => DirectTask::Pca(learner::pca(kernel, self)),
            _ => DirectTask::Ridge(learner::ridge(kernel, self)),
        };
        DirectLearner { task, search: self.search() }
    }

    pub(super) fn margin(&self, kernel: Kernel) -> Margin {
        let usual = Margin::default();
        Margin {
            kernel,
            c: self.settings.c.unwrap_or(usual.c),
            loss: self.search.loss.unwrap_or_default(),
            class_weights: self.settings.class_weight.clone().unwrap_or_default(),
            sharing: match (&self.search.parts, self.settings.multiclass) {
                (Some(parts), _) => Sharing::Parts(parts.clone()),
                (None, Some(Multiclass::OneVsRest)) => Sharing::Own,
                _ => Sharing::All,
            },
            search: self.search(),
            ..usual
        }
    }

    pub(super) fn search(&self) -> direct::Search {
        let (asked, usual) = (&self.search, direct::Search::default());
        direct::Search {
            n_vectors: self.vectors.count.unwrap_or(usual.n_vectors),
            init: match asked.init.unwrap_or_default() {
                InitName::KMeans => Init::KMeans,
                InitName::Random => Init::Random,
                InitName::Spread => Init::Spread,
                InitName::RpCholesky => Init::RpCholesky,
            },
            metric: usual.metric,
            growth: asked.growth.unwrap_or_default(),
            memory_bytes: asked.memory.map_or(usual.memory_bytes, |megabytes| megabytes.saturating_mul(1 << 20)),
            checkpoint: asked.checkpoint.clone(),
            starts: asked.starts.unwrap_or(usual.starts),
            iterations: asked.iterations.unwrap_or(usual.iterations),
            seed: self.seed,
            // Estimators that a card trains pass over blocks, see `blocks`.
            device: usual.device,
        }
    }
}

/// Who uses a setting, for messages.
fn users_of(setting: &str) -> String {
    let full = LearnerName::NAMES.iter().filter(|(_, learner)| learner.uses().contains(&setting)).map(|(name, _)| *name);
    let direct = LearnerName::NAMES.iter().filter(|(_, learner)| {
        Method::direct_for(*learner).is_some() && Plan::Direct.uses(*learner).contains(&setting) && !learner.uses().contains(&setting)
    });
    let direct: Vec<&str> = direct.map(|(name, _)| *name).collect();
    let mut users: Vec<String> = full.map(String::from).collect();
    if !direct.is_empty() {
        users.push(format!("direct training of {} (`vectors` without another `method`)", direct.join(", ")));
    }
    match setting {
        "max-error" => users.push("`method` greedy-basis, online-basis, rpcholesky".into()),
        "memory" | "blocks" | "sample-first" => users.push("ridge and logistic on a basis of rows or centres".into()),
        "first" => users.push("`method` greedy-basis".into()),
        "shrink" => users.push("svc on a basis".into()),
        _ if PURSUIT[2..].contains(&setting) => users.push("`method` fisher-pursuit".into()),
        _ => {}
    }
    if users.is_empty() { String::new() } else { format!(", only by {}", users.join(", ")) }
}
