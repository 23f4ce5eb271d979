//! The program `kernelet`.
mod arguments;
mod commands;
mod failure;
mod files;
mod flags;
mod input;
mod layout;
mod losses;
mod manual;
mod progress;
mod quantised;
mod report;
mod session;
mod version;

use std::{
    ffi::OsString,
    io::{self, Write},
};

use arguments::{FIRST_STEPS, Program};
use clap::{
    Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use session::Session;

/// Runs the program with its arguments, the name of the program first, and gives the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() < 2 {
        // That nobody reads it is no error.
        let _ = io::stderr().write_all(FIRST_STEPS.as_bytes());
        return 2;
    }
    let Program { everywhere, command } = match Program::try_parse_from(&arguments) {
        Ok(program) => program,
        Err(error) => {
            let error = with_the_name_here(error);
            if error.kind() == ErrorKind::DisplayVersion && arguments.iter().any(|word| word == "-v" || word == "--verbose") {
                version::print();
                return 0;
            }
            // Help and the version are no errors; that nobody reads them is none either.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let session = Session::begin(&everywhere);
    let work = || {
        kernelet::kernel::check_instruction_set()?;
        command.run(&session)
    };
    match session.ended(session.in_pool(work)) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// Estimators have other names elsewhere, whose nearest spelling here is another estimator's.
fn with_the_name_here(mut error: clap::Error) -> clap::Error {
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let name = match text(ContextKind::InvalidValue).to_lowercase().as_str() {
        "svm" | "c-svc" | "c_svc" => "svc",
        "nu_svc" => "nu-svc",
        "regression" | "krr" | "kernel-ridge" | "epsilon-svr" | "gp" => "ridge",
        "kpca" | "kernel-pca" => "pca",
        "lda" | "kfd" => "fisher",
        "one_class" | "ocsvm" | "one-class-svm" | "novelty" => "one-class",
        _ => return error,
    };
    if text(ContextKind::InvalidArg).starts_with("--learner") {
        error.insert(ContextKind::SuggestedValue, ContextValue::String(name.into()));
    }
    error
}
