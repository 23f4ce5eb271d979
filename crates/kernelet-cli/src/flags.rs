//! The settings of requests as flags: the library's tables become arguments, and what was given a request.
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches,
    builder::{PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};
use kernelet::request::{self, Field, Takes};
use serde_json::{Map, Value};

use crate::failure::flag as spelled_flag;

/// The flags of a request to train.
#[derive(Clone, Debug)]
pub struct TrainFlags(pub request::Train);

/// The flags of a request to compress.
#[derive(Clone, Debug)]
pub struct CompressFlags(pub request::Compress);

impl TrainFlags {
    /// The settings that are given, as flags.
    pub fn spelled(&self) -> String {
        let Ok(Value::Object(given)) = serde_json::to_value(&self.0) else { return String::new() };
        let spell = |(name, value): (&String, &Value)| match value {
            Value::Bool(_) => format!("--{name}"),
            Value::String(text) => format!("--{name} {}", quoted(text)),
            Value::Object(parts) => {
                let parts: Vec<String> = parts.iter().map(|(part, value)| format!("{part}={value}")).collect();
                format!("--{name} {}", quoted(&parts.join(",")))
            }
            value => format!("--{name} {}", quoted(&value.to_string())),
        };
        given.iter().map(spell).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

impl Args for TrainFlags {
    fn augment_args(command: Command) -> Command {
        with_flags(command, request::Train::fields())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TrainFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        request::Train::read(given(matches, request::Train::fields())).map(TrainFlags).map_err(wrong)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|flags| *self = flags)
    }
}

impl Args for CompressFlags {
    fn augment_args(command: Command) -> Command {
        with_flags(command, request::Compress::fields())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CompressFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        request::Compress::read(given(matches, request::Compress::fields())).map(CompressFlags).map_err(wrong)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|flags| *self = flags)
    }
}

fn wrong(error: kernelet::Error) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, error.spelled(spelled_flag) + "\n")
}

/// The settings that are flags: the seed is one of every command.
fn flags(fields: &'static [Field]) -> impl Iterator<Item = &'static Field> {
    fields.iter().filter(|field| field.name != "seed")
}

fn with_flags(command: Command, fields: &'static [Field]) -> Command {
    flags(fields).fold(command, |command, field| command.arg(flag(field)))
}

fn flag(field: &'static Field) -> Arg {
    let arg = Arg::new(field.name).long(field.name).help(field.help).value_name(field.value).aliases(field.aliases);
    let arg = if field.group.is_empty() { arg } else { arg.help_heading(field.group) };
    let parse = move |text: &str| field.parse(text);
    match field.takes {
        Takes::Switch => arg.action(ArgAction::SetTrue),
        Takes::SwitchOr(_) => arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_parser(parse),
        Takes::Name(names) => {
            let explained = names().iter().all(|name| field.help.contains(name));
            arg.value_parser(PossibleValuesParser::new(names()).map(Value::from)).hide_possible_values(explained)
        }
        Takes::Counts => arg.value_parser(parse).hide(true),
        Takes::Number | Takes::NumberOr(_) => arg.value_parser(parse).allow_negative_numbers(true),
        Takes::Count | Takes::CountOrText => arg.value_parser(parse),
        Takes::Text => arg.value_parser(parse).allow_hyphen_values(true),
    }
}

fn given(matches: &ArgMatches, fields: &'static [Field]) -> Map<String, Value> {
    let value = |field: &Field| match field.takes {
        Takes::Switch => matches.get_flag(field.name).then_some(Value::Bool(true)),
        _ => matches.get_one::<Value>(field.name).cloned(),
    };
    flags(fields).filter_map(|field| Some((field.name.to_string(), value(field)?))).collect()
}
