//! The program `kernelet`: small, fast kernel machines from the command line.
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(kernelet_cli::run(std::env::args_os()))
}
