//! `kernelet manual`: the reference of the program, for the documentation and for packages.
use std::{fs, path::PathBuf};

use clap::{Args, CommandFactory};
use kernelet::Error;
use serde::Serialize;

use crate::{
    arguments::Program,
    failure::{Failure, Result},
    manual,
    session::{Answer, Session},
};

/// Flags of `manual`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Manual {
    /// Write a man page for each command into this folder instead.
    #[arg(long, value_name = "DIR")]
    pub man: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  kernelet manual > docs/reference/commands.md
  kernelet manual --man /usr/local/share/man/man1";

/// What was made.
#[derive(Serialize)]
struct Made {
    page: Option<String>,
    files: Vec<String>,
}

impl Manual {
    /// Prints the page, or writes the man pages.
    pub fn run(self, session: &Session) -> Result<()> {
        let Some(folder) = &self.man else {
            return session.answer(&Made { page: Some(manual::page(&Program::command())), files: vec![] });
        };
        fs::create_dir_all(folder).map_err(|error| Failure::from(Error::io(folder, error)))?;
        clap_mangen::generate_to(Program::command(), folder).map_err(|error| Failure::from(Error::io(folder, error)))?;
        let mut files: Vec<String> = Program::command()
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(|command| folder.join(format!("kernelet-{}.1", command.get_name())).display().to_string())
            .collect();
        files.push(folder.join("kernelet.1").display().to_string());
        session.answer(&Made { page: None, files })
    }
}

impl Answer for Made {
    fn text(&self) -> String {
        match &self.page {
            Some(page) => page.clone(),
            None => self.files.iter().map(|file| format!("{file}\n")).collect(),
        }
    }
}
