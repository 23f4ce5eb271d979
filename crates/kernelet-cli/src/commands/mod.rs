//! The commands. Each is one file: its flags, what it does, and how its result looks.
mod comparable;
mod completions;
pub mod compress;
mod demo;
mod devices;
mod evaluate;
pub mod export;
mod exported;
mod inspect;
mod manual;
mod predict;
mod predicted;
pub mod report;
#[cfg(feature = "reproduce")]
mod reproduce;
mod studio;
mod train;
mod trained;
mod uncertainty;

use clap::Subcommand;

use crate::{failure::Result, session::Session};

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Do the main job on built-in data: train, measure, show.
    Demo(demo::Demo),
    /// Train a machine on data.
    Train(Box<train::Train>),
    /// Make a machine smaller: fewer expansion vectors, nearly the same predictions.
    Compress(Box<compress::Compress>),
    /// Predict each row of data.
    Predict(predict::Predict),
    /// Compare a machine's predictions with the truth.
    Evaluate(evaluate::Evaluate),
    /// Show what is in a model file.
    Inspect(inspect::Inspect),
    /// Write a machine in another format.
    Export(export::Export),
    /// Show how small a machine can be: one HTML page with error, size and speed for every number of vectors.
    Report(report::Report),
    /// Train and compress in the browser: a page on this machine that sends nothing anywhere.
    Studio(studio::Studio),
    /// Make the tables of papers again: data sets x splits x methods.
    #[cfg(feature = "reproduce")]
    Reproduce(reproduce::Reproduce),
    /// List the NVIDIA cards that --device can name.
    Devices(devices::Devices),
    /// Print a script that completes commands and flags in a shell.
    Completions(completions::Completions),
    /// Write the reference of all commands and flags, or man pages.
    #[command(hide = true)]
    Manual(manual::Manual),
}

impl Command {
    /// Does it.
    pub fn run(self, session: &Session) -> Result<()> {
        match self {
            Command::Demo(command) => command.run(session),
            Command::Train(command) => command.run(session),
            Command::Compress(command) => command.run(session),
            Command::Predict(command) => command.run(session),
            Command::Evaluate(command) => command.run(session),
            Command::Inspect(command) => command.run(session),
            Command::Export(command) => command.run(session),
            Command::Report(command) => command.run(session),
            Command::Studio(command) => command.run(session),
            #[cfg(feature = "reproduce")]
            Command::Reproduce(command) => command.run(session),
            Command::Devices(command) => command.run(session),
            Command::Completions(command) => command.run(session),
            Command::Manual(command) => command.run(session),
        }
    }
}
