//! What the program `kernelet` does, as a library: the Python package runs it in its own process and takes learners by their flags.
mod arguments;
mod bases;
mod commands;
mod direct;
mod experiment;
mod failure;
mod files;
mod fisher_pursuit;
mod input;
mod kernels;
mod layout;
mod learners;
mod losses;
mod makers;
mod pictures;
mod progress;
mod report;
mod scaling;
mod session;
mod settings;
mod smaller;
mod sparsifiers;
mod tune;
mod words;

use std::ffi::OsString;

use arguments::Program;
use clap::Parser;
use kernelet::{
    kernel::Kernel,
    learn::Learner,
    sparsify::{BasisBudget, BasisMethod},
};
use session::Session;

pub use smaller::{Size, Smaller, compress};

/// Runs the program with its arguments, the name of the program first, and gives the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let Program { everywhere, command } = match Program::try_parse_from(arguments) {
        Ok(program) => program,
        Err(error) => {
            // Help and the version are no errors; that nobody reads them is none either.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let session = Session::begin(&everywhere);
    match session.ended(session.in_pool(|| command.run(&session))) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// The flags of `train` that describe a learner.
#[derive(Parser, Debug)]
#[command(no_binary_name = true)]
struct LearnerFlags {
    #[arg(long, default_value = "svc", value_parser = learners::by_name())]
    learner: &'static learners::Choice,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[arg(long)]
    path: bool,
    #[command(flatten)]
    kernel: kernels::KernelFlags,
    #[command(flatten)]
    settings: learners::Settings,
}

impl LearnerFlags {
    fn read(flags: &[String]) -> Result<Self, String> {
        let flags = LearnerFlags::try_parse_from(flags).map_err(|error| failure::wrong_flags(&error))?;
        Ok(LearnerFlags { settings: flags.settings.seeded(flags.seed), ..flags })
    }

    /// The learner, checked.
    fn make(&self) -> Result<Box<dyn Learner>, String> {
        let made = || {
            self.learner.check(&self.settings)?;
            let learner = self.learner.make(self.kernel.of_flags()?, &self.settings);
            learner.check()?;
            Ok(learner)
        };
        made().map_err(|failure: failure::Failure| failure.sentence())
    }
}

/// The learner that flags of `train` describe, as the program would make it, and whether sizes on the way are to be told: they are where
/// `--path` asks for them or they cost nothing. `--gamma` must be a number.
pub fn learner(flags: &[String]) -> Result<(Box<dyn Learner>, bool), String> {
    let flags = LearnerFlags::read(flags)?;
    Ok((flags.make()?, flags.path || flags.settings.basis.is_direct(flags.learner.name)))
}

/// The kernel, the basis method and its budget that flags of `train` describe.
pub fn basis(flags: &[String]) -> Result<(Kernel, Box<dyn BasisMethod>, BasisBudget), String> {
    let LearnerFlags { kernel, settings, .. } = LearnerFlags::read(flags)?;
    let kernel = kernel.of_flags().map_err(|failure| failure.sentence())?;
    let (method, budget) = settings.basis.chosen().ok_or("these flags name no method that chooses a basis")?;
    Ok((kernel, method, budget))
}

/// True for learners that find the vectors with the machine when they are told only how many.
pub fn has_direct(learner: &str) -> bool {
    bases::Flags { vectors: Some(1), ..bases::Flags::default() }.is_direct(learner)
}
