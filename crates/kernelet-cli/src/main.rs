//! The program `kernelet`: small, fast kernel machines from the command line.
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
mod scaling;
mod session;
mod settings;
mod sparsifiers;
mod tune;
mod words;

use std::process::ExitCode;

use arguments::Program;
use clap::Parser;
use session::Session;

fn main() -> ExitCode {
    let Program { everywhere, command } = Program::parse();
    let session = Session::begin(&everywhere);
    match session.in_pool(|| command.run(&session)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
