//! The command line as a whole, and the flags that every command has.
use clap::{Args, Parser};

use crate::commands::Command;

/// Small, fast kernel machines: train them, look at them, run them.
#[derive(Parser, Debug)]
#[command(name = "kernelet", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 100)]
pub struct Program {
    /// Flags that every command has.
    #[command(flatten)]
    pub everywhere: Everywhere,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub struct Everywhere {
    /// Print the result as one JSON object on standard output.
    #[arg(long, global = true)]
    pub json: bool,
    /// Seed of everything random; the same seed gives the same result for any number of threads.
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads to use [default: one for each core].
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Say nothing on standard error but errors, and show no progress.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more about what is being done.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

const EXAMPLES: &str = "\
Examples:
  kernelet demo                                   the main job on built-in data
  kernelet train data.csv                         train; what is not given is guessed from the rows and printed
  kernelet train data.csv -o data.model --tune    train, with settings found by cross-validation
  kernelet evaluate data.model test.csv           error and confusion on other rows
  kernelet predict data.model new.csv             one line for each row

Data are read by their extension: .svm .libsvm .svmlight .txt .csv .tsv .npy .npz, packed with gzip or not; - is standard input.
kernelet --version --verbose says what the program was built with and what this machine has.
Exit status: 0 done, 1 failed (bad data or file), 2 wrong usage, 130 interrupted.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Program::command().debug_assert();
    }

    #[test]
    fn every_flag_and_command_is_described_in_one_line() {
        fn check(command: &clap::Command) {
            let about = command.get_about().unwrap_or_else(|| panic!("{} is not described", command.get_name()));
            assert!(!about.to_string().contains('\n'), "{about}");
            for argument in command.get_arguments() {
                let help = argument.get_help().unwrap_or_else(|| panic!("{} is not described", argument.get_id()));
                assert!(!help.to_string().contains('\n'), "{help}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Program::command());
    }

    #[test]
    fn every_command_has_examples() {
        for command in Program::command().get_subcommands() {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.starts_with("Example"), "{}", command.get_name());
        }
    }
}
