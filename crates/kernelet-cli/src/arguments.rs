//! The command line as a whole, and the flags that every command has.
use clap::{Args, Parser};

use crate::commands::Command;

/// Small, fast kernel machines: train them, look at them, run them.
#[derive(Parser, Debug)]
#[command(name = "kernelet", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
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

/// What the program without arguments says.
pub const FIRST_STEPS: &str = "\
kernelet trains small, fast kernel machines and compresses those you have.

Usage: kernelet COMMAND ..

See what it does, in a minute, on built-in handwritten digits:
  kernelet demo

You have a table; the last column is what is to be predicted:
  kernelet train data.csv                guesses the settings, writes data.model
  kernelet evaluate data.model test.csv  its error on other rows
  kernelet predict data.model new.csv    one line for each row

You have a model of LIBSVM or kernelet that is too large or too slow:
  kernelet compress big.model -o small.model --data rows.csv
  kernelet export small.model -o small.c      or .onnx, .js, .json, .libsvm

All commands: kernelet --help. All flags of one: kernelet train --help.
";

const EXAMPLES: &str = "\
Examples:
  kernelet demo                                 the main job on built-in data
  kernelet train data.csv                       guesses what is not given
  kernelet train data.csv -o data.model --tune  settings by cross-validation
  kernelet evaluate data.model test.csv         error and confusion
  kernelet predict data.model new.csv           one line for each row

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

    /// The commands of a page: lines of fenced blocks that begin with the program, as a shell splits them. Patterns with `[`, `|` or `..` are left out.
    fn commands(page: &str) -> Vec<Vec<String>> {
        let (mut open, mut commands) = (false, vec![]);
        for line in page.lines() {
            if line.trim_start().starts_with("```") {
                open = !open;
                continue;
            }
            let line = line.trim_start_matches("$ ");
            if !open || !line.starts_with("kernelet ") {
                continue;
            }
            let (mut words, mut word, mut quote, mut spaces) = (vec![], String::new(), None, 0);
            for c in line.chars().chain([' ']) {
                match (c, quote) {
                    ('\'' | '"', None) => quote = Some(c),
                    (c, Some(q)) if c == q => quote = None,
                    (' ', None) => {
                        spaces += 1;
                        if !word.is_empty() {
                            words.push(std::mem::take(&mut word));
                        }
                    }
                    ('#' | '>' | '<' | '|' | '&' | ';', None) if word.is_empty() => break,
                    // Two spaces begin a remark.
                    _ if spaces > 1 && word.is_empty() => break,
                    _ => {
                        word.push(c);
                        spaces = 0;
                    }
                }
            }
            let pattern = |word: &String| word.contains("..") || word.contains('[') || word.contains('|') || word == "\\";
            if words.len() > 1 && !words.iter().any(pattern) {
                commands.push(words);
            }
        }
        commands
    }

    #[test]
    fn every_command_of_the_documentation_is_understood() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut folders = vec![root.join("docs")];
        let mut pages = vec![root.join("README.md")];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    pages.push(path);
                }
            }
        }
        let (mut wrong, mut seen) = (vec![], 0);
        for page in pages {
            for words in commands(&std::fs::read_to_string(&page).unwrap()) {
                seen += 1;
                if let Err(error) = Program::try_parse_from(&words)
                    && error.use_stderr()
                {
                    wrong.push(format!("{}: {}\n{error}", page.display(), words.join(" ")));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn every_command_has_examples() {
        for command in Program::command().get_subcommands() {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.starts_with("Example"), "{}", command.get_name());
        }
    }
}
