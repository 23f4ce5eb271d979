//! How many passes over the rows does training by blocks take? Rounds that are left out early in the search, beside exact ones; the latter also with one
//! more pass for each evaluation, which the gradient by the vectors takes where it does not come along with Newton's rounds.
//!
//! `scale DATA VECTORS GAMMA STEPS`: the large-margin estimator with C = 10 on the rows of a file.
use std::{
    env,
    io::{Write, stdout},
};

use kernelet::{
    Error, Result,
    data::{
        HeldBlocks, RowBlocks,
        read::{Reading, Wanted, read},
    },
    kernel::Kernel,
    learn::{
        ClassWeights,
        blocks::{Ask, BlockEstimator, BlockLearner, Engine, LocalEngine, Sums},
        direct::Search,
    },
    watch::Watch,
};

/// Counts the evaluations of the value and its gradient.
struct Counting<'a> {
    engine: LocalEngine<'a>,
    evaluations: u64,
    with_gradient: bool,
}

impl Engine for Counting<'_> {
    fn pass(&mut self, ask: &Ask) -> Result<Sums> {
        let with_gradient = matches!(ask, Ask::Fit(fit) if fit.vectors_gradient);
        self.evaluations += u64::from(with_gradient && !self.with_gradient);
        self.with_gradient = with_gradient;
        self.engine.pass(ask)
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [data, vectors, gamma, steps] = &arguments[..] else {
        return Err(Error::data("scale DATA VECTORS GAMMA STEPS"));
    };
    let number = |text: &str| text.parse::<f64>().map_err(|_| Error::data(format!("{text} is no number")));
    let rows = read(data, &Reading { wanted: Wanted::Classes, ..Reading::default() })?.dataset;
    let held = HeldBlocks::of(&rows, rows.len().div_ceil(8))?;
    let kernel = Kernel::gaussian(number(gamma)?);
    let run = |inexact: f64| -> Result<(u64, u64, f64)> {
        let search = Search { n_vectors: number(vectors)? as usize, iterations: number(steps)? as usize, ..Search::default() };
        let estimator = BlockEstimator::Margin { c: 10.0, class_weights: ClassWeights::Equal };
        let learner = BlockLearner { estimator, search, inexact, ..BlockLearner::default() };
        let mut engine = Counting { engine: LocalEngine { blocks: &held }, evaluations: 0, with_gradient: false };
        let scout = learner.scout(&mut engine, held.outline())?;
        let found = learner.learn(&mut engine, held.outline(), &scout, &kernel, None, &Watch::none())?;
        Ok((found.passes, engine.evaluations, found.fit.report.objective))
    };
    let ((exact, evaluations, a), (fused, _, b)) = (run(1e-11)?, run(BlockLearner::default().inexact)?);
    let part = |of: u64| 100.0 * fused as f64 / of as f64;
    let (apart, value) = (exact + evaluations, 100.0 * (b / a - 1.0));
    writeln!(
        stdout(),
        "exact {apart} passes, {exact} with the gradient along, W {a:.3}; fused {fused} passes ({:.1} and {:.1} %), W {b:.3} ({value:+.2} %)",
        part(apart),
        part(exact)
    )
    .map_err(|error| Error::io("the standard output", error))?;
    Ok(())
}
