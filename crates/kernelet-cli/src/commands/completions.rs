//! `kernelet completions`: a script for a shell.
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde::Serialize;

use crate::{
    arguments::Program,
    failure::Result,
    session::{Answer, Session},
};

/// Flags of `completions`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell.
    pub shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  kernelet completions bash > ~/.local/share/bash-completion/completions/kernelet
  kernelet completions zsh > ~/.zfunc/_kernelet
  kernelet completions fish > ~/.config/fish/completions/kernelet.fish";

#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

impl Completions {
    /// Prints the script.
    pub fn run(self, session: &Session) -> Result<()> {
        let mut script = vec![];
        clap_complete::generate(self.shell, &mut Program::command(), "kernelet", &mut script);
        session.answer(&Script { shell: self.shell.to_string(), script: String::from_utf8_lossy(&script).into_owned() })
    }
}

impl Answer for Script {
    fn text(&self) -> String {
        self.script.clone()
    }
}
