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
    /// Seed of everything random.
    pub seed: u64,
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
