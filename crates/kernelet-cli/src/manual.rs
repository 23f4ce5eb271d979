//! The reference of the program, made of its own flags: one page of Markdown for the documentation.
use std::fmt::Write;

use clap::{Arg, Command};

/// What the page begins with.
const HEAD: &str = "# Commands and flags

Which commands are there, which flags does each take, and what does the program answer with? This page is written by the program: \
`kernelet manual > docs/reference/commands.md`. [Commands by task](../commands.md) explains what they are for.
";

/// What the page ends with.
const TAIL: &str = "
## Exit status

| status | meaning |
|---|---|
| 0 | done; also where whoever read standard output has closed it |
| 1 | failed: bad data, a bad file, a full disk; nothing is written, or the file named in the message |
| 2 | wrong usage: an unknown flag, a bad value, settings that contradict each other; nothing is written |
| 130 | interrupted by Ctrl-C; the message says what was kept |

Results go to standard output, notes, progress and errors to standard error. With `--json` standard output is one JSON object.

## Environment

| variable | meaning |
|---|---|
| `KERNELET_DEVICE` | where `train`, `compress`, `predict` and `evaluate` compute: `cpu`, `gpu`, `gpu:1`; `--device` goes before |
| `KERNELET_MEMORY` | the memory that one array may take, in MB |
| `KERNELET_SIMD` | `portable`, `avx2` or `avx512`: forces an instruction set |
| `RAYON_NUM_THREADS` | threads; `--threads` goes before |
| `NO_COLOR` | no colours in help and error messages |
";

/// The page.
pub fn page(program: &Command) -> String {
    let mut program = program.clone();
    program.build();
    let mut page = HEAD.to_string();
    let commands = || program.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    let _ = writeln!(page, "\n| command | what it does |\n|---|---|");
    for command in commands() {
        let name = command.get_name();
        let _ = writeln!(page, "| [`{name}`](#kernelet-{name}) | {} |", about(command));
    }
    let everywhere = program.get_arguments().filter(|arg| arg.is_global_set());
    let _ = writeln!(page, "\n## Every command\n\n{}", everywhere.map(line).collect::<String>().trim_end());
    commands().for_each(|command| page += &section(command));
    page + TAIL
}

/// One command: its usage, its arguments in the groups of its help, its examples.
fn section(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut text = format!("\n## kernelet {}\n\n{}\n\n```text\n{usage}\n```\n", command.get_name(), about(command));
    let own: Vec<&Arg> =
        command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help").collect();
    let mut groups: Vec<&str> = vec![];
    for arg in &own {
        let group = arg.get_help_heading().unwrap_or_default();
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.sort_by_key(|group| !group.is_empty());
    for group in groups {
        if !group.is_empty() {
            let _ = write!(text, "\n**{group}**\n");
        }
        let lines = own.iter().filter(|arg| arg.get_help_heading().unwrap_or_default() == group).map(|arg| line(arg));
        let _ = write!(text, "\n{}", lines.collect::<String>());
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (examples, rest) = after.split_once("\n\n").unwrap_or((&after, ""));
    let examples = examples.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let _ = write!(text, "\n```text\n{examples}\n```\n");
    if !rest.is_empty() {
        let _ = write!(text, "\n{}\n", escaped(rest));
    }
    text
}

fn about(command: &Command) -> String {
    command.get_about().map(|about| escaped(&about.to_string())).unwrap_or_default()
}

/// An argument and what it means.
fn line(arg: &Arg) -> String {
    let help = arg.get_help().map(|help| escaped(&help.to_string())).unwrap_or_default();
    let names: Vec<String> = match arg.is_hide_possible_values_set() || !arg.get_action().takes_values() {
        true => vec![],
        false => {
            arg.get_possible_values().iter().filter(|value| !value.is_hide_set()).map(|value| format!("`{}`", value.get_name())).collect()
        }
    };
    let names = if names.is_empty() { String::new() } else { format!(" One of {}.", names.join(", ")) };
    format!("- `{}`: {help}{names}\n", spelled(arg))
}

/// The argument as it is written: `-o, --output <FILE>`.
fn spelled(arg: &Arg) -> String {
    let values = arg.get_value_names().filter(|_| arg.get_action().takes_values()).unwrap_or_default();
    let values: Vec<String> = values.iter().map(|value| format!("<{value}>")).collect();
    let flags = [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let flags: Vec<String> = flags.into_iter().flatten().collect();
    match (flags.is_empty(), values.is_empty()) {
        (true, _) => values.join(" "),
        (false, true) => flags.join(", "),
        (false, false) => format!("{} {}", flags.join(", "), values.join(" ")),
    }
}

/// Text of the help as Markdown.
fn escaped(text: &str) -> String {
    text.replace('<', "&lt;").replace('|', "\\|").replace('*', "\\*").replace("[default", "\\[default")
}
