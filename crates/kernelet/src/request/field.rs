//! Settings as every interface has them: a table of names, and one reader for what comes from flags, dictionaries and files.
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    Error, Result,
    text::{exact, nearest},
};

/// One setting of a request.
#[derive(Debug)]
pub struct Field {
    /// The name: a flag of the program, a key in Python, TOML and model files (where `_` may stand for `-`).
    pub name: &'static str,
    /// Names of former versions, which still work.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub takes: Takes,
    /// The group that help shows it in.
    pub group: &'static str,
    /// How help writes the value.
    pub value: &'static str,
    /// What it means, and its default.
    pub help: &'static str,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Nothing: it is given or not.
    Switch,
    /// A finite number.
    Number,
    /// A whole number of at least 0.
    Count,
    /// A whole number, or text.
    CountOrText,
    /// A list of them; for programs, not for the command line.
    Counts,
    /// One of these names.
    Name(fn() -> Vec<&'static str>),
    /// A number, or one of these names.
    NumberOr(&'static [&'static str]),
    /// Nothing, which means the first, or one of these names.
    SwitchOr(&'static [&'static str]),
    /// Text with a form of its own, or an object.
    Text,
}

impl Field {
    const fn new(name: &'static str, value: &'static str, takes: Takes, help: &'static str) -> Self {
        Field { name, aliases: &[], takes, group: "", value, help }
    }

    /// A setting that is given or not.
    pub(super) const fn switch(name: &'static str, help: &'static str) -> Self {
        Field::new(name, "", Takes::Switch, help)
    }

    /// A setting with a number.
    pub(super) const fn number(name: &'static str, value: &'static str, help: &'static str) -> Self {
        Field::new(name, value, Takes::Number, help)
    }

    /// A setting with a whole number.
    pub(super) const fn count(name: &'static str, value: &'static str, help: &'static str) -> Self {
        Field::new(name, value, Takes::Count, help)
    }

    /// A setting with one of several names.
    pub(super) const fn name(name: &'static str, value: &'static str, names: fn() -> Vec<&'static str>, help: &'static str) -> Self {
        Field::new(name, value, Takes::Name(names), help)
    }

    /// A setting that takes something else.
    pub(super) const fn other(name: &'static str, value: &'static str, takes: Takes, help: &'static str) -> Self {
        Field::new(name, value, takes, help)
    }

    /// The same with names of former versions.
    pub(super) const fn formerly(self, aliases: &'static [&'static str]) -> Self {
        Field { aliases, ..self }
    }

    /// The same in a group.
    pub(super) const fn in_group(self, group: &'static str) -> Self {
        Field { group, ..self }
    }

    /// The value that a text stands for.
    pub fn parse(&self, text: &str) -> Result<Value> {
        let value = match self.takes {
            Takes::Number => text.parse().ok().and_then(number),
            Takes::NumberOr(_) => Some(text.parse().ok().and_then(number).unwrap_or_else(|| text.into())),
            Takes::Count => text.parse::<u64>().ok().map(Value::from),
            Takes::CountOrText => Some(text.parse::<u64>().map_or_else(|_| text.into(), Value::from)),
            Takes::Counts => {
                text.split(',').map(|part| part.trim().parse::<u64>().ok().map(Value::from)).collect::<Option<Vec<_>>>().map(Value::from)
            }
            Takes::Switch | Takes::SwitchOr(_) if text == "true" => Some(true.into()),
            Takes::Switch => None,
            Takes::Name(_) | Takes::SwitchOr(_) | Takes::Text => Some(text.into()),
        };
        let value = value.ok_or_else(|| Error::parameter(self.name, text, self.allowed() + of_a_hundred(text).as_str()))?;
        self.check(&value)?;
        Ok(value)
    }

    /// An error when a value is not what this setting takes.
    fn check(&self, value: &Value) -> Result<()> {
        let among = |names: &[&str]| value.as_str().is_some_and(|text| names.contains(&text));
        let good = match self.takes {
            Takes::Switch => value.as_bool() == Some(true),
            Takes::Number => value.is_number(),
            Takes::Count => value.as_u64().is_some(),
            Takes::CountOrText => value.as_u64().is_some() || value.as_str().is_some_and(|text| !text.is_empty()),
            Takes::Counts => value.as_array().is_some_and(|items| items.iter().all(|item| item.as_u64().is_some())),
            Takes::Name(names) => among(&names()),
            Takes::NumberOr(names) => value.is_number() || among(names),
            Takes::SwitchOr(names) => value.as_bool() == Some(true) || among(names),
            Takes::Text => value.is_string() || value.is_object(),
        };
        let shown = || value.as_str().map_or_else(|| value.to_string(), String::from);
        if good { Ok(()) } else { Err(Error::parameter(self.name, shown(), self.allowed())) }
    }

    fn allowed(&self) -> String {
        match self.takes {
            Takes::Switch => "true or left out".into(),
            Takes::Number => "a finite number".into(),
            Takes::Count => "a whole number of at least 0".into(),
            Takes::CountOrText => "a whole number of at least 0, or text".into(),
            Takes::Counts => "whole numbers with commas between them".into(),
            Takes::Name(names) => format!("one of {}", names().join(", ")),
            Takes::NumberOr(names) => format!("a number or {}", names.join(", ")),
            Takes::SwitchOr(names) => format!("true or one of {}", names.join(", ")),
            Takes::Text => "text".into(),
        }
    }
}

/// What a percentage is as a number, where that is what the text spells.
fn of_a_hundred(text: &str) -> String {
    let part = text.strip_suffix('%').and_then(|part| part.trim_end().parse::<f64>().ok()).filter(|part| part.is_finite());
    part.map_or(String::new(), |part| format!("; {text} is {}", exact(part / 100.0)))
}

/// JSON has no NaN and no infinity, and no setting wants one.
fn number(number: f64) -> Option<Value> {
    serde_json::Number::from_f64(number).map(Value::Number)
}

/// The request that names and values describe. A name that is unknown or given twice is an error; null and false mean "not given".
pub(super) fn read<T: DeserializeOwned>(fields: &[Field], given: Map<String, Value>) -> Result<T> {
    let mut known = Map::new();
    for (key, value) in given {
        let name = key.replace('_', "-");
        let field = fields.iter().find(|field| field.name == name || field.aliases.contains(&name.as_str()));
        let field = field.ok_or_else(|| unknown(&name, fields))?;
        if value.is_null() || value == Value::Bool(false) {
            continue;
        }
        field.check(&value)?;
        let value = match field.takes {
            Takes::SwitchOr([first, ..]) if value == Value::Bool(true) => Value::from(*first),
            _ => value,
        };
        if known.insert(field.name.into(), value).is_some() {
            return Err(Error::request(format!("`{}` is given twice", field.name)));
        }
    }
    serde_json::from_value(Value::Object(known)).map_err(|error| Error::request(error.to_string()))
}

/// An error that names the setting, and the one that was probably meant.
fn unknown(name: &str, fields: &[Field]) -> Error {
    let meant = nearest(name, fields.iter().map(|field| field.name)).map(|name| format!("; did you mean `{name}`?"));
    Error::request(format!("there is no setting `{name}`{}", meant.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, Debug, Default, PartialEq)]
    #[serde(default, rename_all = "kebab-case")]
    struct Asked {
        max_error: Option<f64>,
        vectors: Option<usize>,
        path: bool,
    }

    const FIELDS: &[Field] =
        &[Field::number("max-error", "E", ""), Field::count("vectors", "M", "").formerly(&["size"]), Field::switch("path", "")];

    fn asked(value: Value) -> std::result::Result<Asked, String> {
        read(FIELDS, value.as_object().unwrap().clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn names_may_have_either_dash_and_what_is_not_given_is_left_out() {
        assert_eq!(asked(json!({})), Ok(Asked::default()));
        let all = Asked { max_error: Some(0.5), vectors: Some(3), path: true };
        assert_eq!(asked(json!({ "max_error": 0.5, "vectors": 3, "path": true })), Ok(all));
        assert_eq!(asked(json!({ "max-error": null, "size": 3, "path": false })), Ok(Asked { vectors: Some(3), ..Asked::default() }));
    }

    #[test]
    fn wrong_settings_are_named() {
        let cases = [
            (json!({ "vektors": 3 }), "there is no setting vektors; did you mean vectors?"),
            (json!({ "colour": 3 }), "there is no setting colour"),
            (json!({ "vectors": 3, "size": 3 }), "vectors is given twice"),
            (json!({ "vectors": -3 }), "vectors is -3, but must be a whole number of at least 0"),
            (json!({ "vectors": 2.5 }), "vectors is 2.5, but must be a whole number of at least 0"),
            (json!({ "max-error": "much" }), "max-error is much, but must be a finite number"),
        ];
        for (given, sentence) in cases {
            assert_eq!(asked(given).unwrap_err(), sentence);
        }
    }

    #[test]
    fn texts_of_flags_become_values() {
        assert_eq!(FIELDS[0].parse("1e-3").unwrap(), json!(1e-3));
        assert_eq!(FIELDS[0].parse("1 %").unwrap_err().to_string(), "max-error is 1 %, but must be a finite number; 1 % is 0.01");
        assert!(FIELDS[0].parse("nan").is_err() && FIELDS[0].parse("x").is_err() && FIELDS[1].parse("-1").is_err());
        let gamma = Field::other("gamma", "G", Takes::NumberOr(&["scale"]), "");
        assert_eq!((gamma.parse("2").unwrap(), gamma.parse("scale").unwrap()), (json!(2.0), json!("scale")));
        assert!(gamma.parse("wide").is_err());
    }
}
