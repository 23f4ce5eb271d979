//! What a run needs of its caller.
use std::path::Path;

use kernelet::{Error, Result, watch::Watch};

/// Where data and results are, the seed, and who watches. Splits run side by side in the current pool of rayon.
pub struct Context<'a> {
    /// Where the sets are, each as `NAME/NAME.npz`.
    pub data_dir: &'a Path,
    /// Where pictures of machines and the journal are written; nowhere where this is not given.
    pub output: Option<&'a Path>,
    /// Splits of each set; those of the description where this is not given.
    pub splits: Option<usize>,
    /// Seed of everything random, the first of
    pub seed: u64,
    /// so many; those of the description where this is not given.
    pub seeds: Option<usize>,
    /// Receives progress, and cancels the run.
    pub watch: Watch<'a>,
    /// Receives what people should know.
    pub note: &'a (dyn Fn(&str) + Sync),
    /// Receives what people may want to know.
    pub detail: &'a (dyn Fn(&str) + Sync),
}

impl Context<'_> {
    /// An error once the run is to stop.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if self.watch.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, atomic::AtomicBool};

    use super::*;
    use crate::{Experiment, run};

    const TEXT: &str = "title = 't'\npaper = 'p'\nsplits = 2\n[[methods]]\nname = 'svm'\ntrain = { gamma = '{gamma}' }\n\
        [[sets]]\nname = 'banana'\ngenerator = 'banana'\ntrain = 40\ntest = 50\nvalues = { gamma = 1 }\n";

    #[test]
    fn a_run_reports_to_its_caller_and_stops_when_asked() {
        let experiment = Experiment::parse("e", "e.toml", TEXT).unwrap();
        let (said, stages) = (Mutex::new(vec![]), Mutex::new(vec![]));
        let detail = |text: &str| said.lock().unwrap().push(text.to_string());
        let context = |cancelled: bool| {
            let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(cancelled)));
            let watch = watch.with_reporter(|progress| stages.lock().unwrap().push((progress.stage.to_string(), progress.total)));
            Context { data_dir: Path::new("."), output: None, splits: None, seed: 0, seeds: None, watch, note: &|_| {}, detail: &detail }
        };
        let outcome = run(&experiment, &context(false)).unwrap();
        assert_eq!((outcome.cells.len(), outcome.rows[0].splits), (2, 2));
        assert_eq!(*said.lock().unwrap(), ["e: 2 cells"]);
        assert_eq!(*stages.lock().unwrap(), [("e".to_string(), Some(2)), ("e".to_string(), Some(2))]);
        assert!(matches!(run(&experiment, &context(true)), Err(Error::Cancelled)));
    }
}
