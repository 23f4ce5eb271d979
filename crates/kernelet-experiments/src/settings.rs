//! From settings with places to requests: the places are filled, and the library reads the settings.
use kernelet::{
    Named,
    data::{Dataset, Scaling, read::Wanted},
    learn::{BestSize, Fit, Multiclass},
    request::{Compress, Given, Train},
    watch::Watch,
};
use serde_json::{Map, Number, Value as Json};

use super::description::{Learned, Method, Set, Value, Values};

/// A request as a description has it: settings by name, whose values may be text with places.
pub type Asked = Map<String, Json>;

/// The largest number up to which all whole numbers are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Value {
    /// As it stands in text.
    pub fn text(&self) -> String {
        match self {
            Value::Number(number) => number.to_string(),
            Value::Word(word) => word.clone(),
        }
    }

    /// The number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Word(_) => None,
        }
    }

    /// As it stands in a request; whole numbers are counts there.
    fn json(&self) -> Result<Json, String> {
        match self {
            Value::Word(word) => Ok(word.as_str().into()),
            Value::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => Ok((*number as i64).into()),
            Value::Number(number) => Number::from_f64(*number).map(Json::Number).ok_or_else(|| NOT_FINITE.into()),
        }
    }
}

const NOT_FINITE: &str = "a setting is not a finite number";

/// The settings with their places filled: a text that is one place becomes its value, a number or a word.
pub fn filled(asked: &Asked, values: &Values) -> Result<Asked, String> {
    asked.iter().map(|(name, value)| Ok((name.clone(), filled_value(value, values)?))).collect()
}

fn filled_value(value: &Json, values: &Values) -> Result<Json, String> {
    match value {
        Json::String(text) => match only_place(text) {
            Some(name) => value_of(name, values)?.json(),
            None => filled_text(text, values).map(Json::String),
        },
        Json::Object(inner) => filled(inner, values).map(Json::Object),
        // TOML has no null, but numbers that JSON does not have.
        Json::Null => Err(NOT_FINITE.into()),
        other => Ok(other.clone()),
    }
}

/// The name of the place that is the whole text.
fn only_place(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    (!name.contains(['{', '}', '%'])).then_some(name)
}

/// A text with its places filled: `{name}` by the value of that name, `{name%}` by it in percent, `{name*other}` by the product of two.
pub fn filled_text(text: &str, values: &Values) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (place, after) = after.split_once('}').ok_or("a place is opened with { and not closed")?;
        let (name, percent) = place.strip_suffix('%').map_or((place, false), |name| (name, true));
        let value = value_of(name, values)?;
        out += before;
        out += &match (value.number(), percent) {
            // Without the digits that binary fractions add.
            (Some(number), true) => format!("{}%", (1e4 * number).round() / 100.0),
            _ => value.text(),
        };
        rest = after;
    }
    Ok(out + rest)
}

/// The value of a name, or the product of two.
fn value_of(name: &str, values: &Values) -> Result<Value, String> {
    let one = |name: &str| values.get(name).cloned().ok_or_else(|| format!("there is no value for {{{name}}}"));
    let Some((first, second)) = name.split_once('*') else { return one(name) };
    match (one(first)?.number(), one(second)?.number()) {
        (Some(first), Some(second)) => Ok(Value::Number(first * second)),
        _ => Err(format!("{{{name}}} is a product, but not of numbers")),
    }
}

impl Set {
    /// The values of a method on this set, `chosen` before the others, without those that are counted on a split.
    pub fn values_for(&self, method: &Method, chosen: &Values) -> Result<Values, String> {
        let mut values = self.values.clone();
        values.extend(method.values.clone());
        values.extend(chosen.clone());
        match (values.get("width").and_then(Value::number), values.contains_key("gamma")) {
            (Some(_), true) => return Err("either gamma or width must be given".into()),
            (Some(width), false) => drop(values.insert("gamma".into(), Value::Number(1.0 / width))),
            (None, _) => {}
        }
        Ok(values)
    }

    /// The request of settings whose places are filled, on scaled rows.
    pub fn request(&self, asked: &Asked, parts: Option<Vec<usize>>, seed: u64) -> Result<Train, String> {
        let mut train = read(asked, seed)?;
        train.search.parts = parts;
        train.scale = Some(self.scaling()?).filter(|scaling| *scaling != Scaling::None);
        train.check().map_err(|error| error.to_string())?;
        Ok(train)
    }

    /// The machine of such settings.
    pub fn learn(&self, asked: &Asked, parts: Option<Vec<usize>>, seed: u64, data: &Dataset, watch: &Watch) -> Result<Fit, String> {
        let trained = self.request(asked, parts, seed)?.run(data, &Given::default(), watch);
        trained.map(|trained| trained.fit).map_err(|error| error.to_string())
    }

    /// The learner where cross-validation is to choose the number of vectors, which can be asked about it.
    pub fn best_size(&self, asked: &Asked, seed: u64) -> Result<Option<BestSize>, String> {
        read(asked, seed)?.best_size().map_err(|error| error.to_string())
    }
}

/// A request to train, with a seed for what is drawn.
pub fn read(asked: &Asked, seed: u64) -> Result<Train, String> {
    let train = Train::read(asked.clone()).map_err(|error| error.to_string())?;
    Ok(Train { seed, ..train })
}

/// A request to compress.
pub fn read_compress(asked: &Asked, seed: u64) -> Result<Compress, String> {
    let compress = Compress::read(asked.clone()).map_err(|error| error.to_string())?;
    Ok(Compress { seed, ..compress })
}

/// True where every class has vectors of its own, so that a part is one of those of each class.
pub fn own_vectors(asked: &Asked) -> Result<bool, String> {
    Ok(read(asked, 0)?.settings.multiclass == Some(Multiclass::OneVsRest))
}

/// Refuses a method that cannot be run on a set, with values that could be chosen.
pub fn check(method: &Method, set: &Set, chosen: &Values) -> Result<(), String> {
    if method.part.is_some_and(|part| !(part > 0.0 && part <= 1.0)) {
        return Err("a part must be above 0 and at most 1".into());
    }
    let mut values = set.values_for(method, chosen)?;
    if method.of.is_some() && method.part.is_none() {
        return Err("it says of what, but not which part".into());
    }
    if method.part.is_some() {
        values.insert("part".into(), Value::Number(1.0));
    }
    for (asked, learner) in [(&method.train, true), (&method.of, true), (&method.represent, false)] {
        let Some(asked) = asked else { continue };
        let read = read(&filled(asked, &values)?, 0)?;
        if learner {
            read.check().map_err(|error| error.to_string())?;
            check_target(&read, set.target)?;
        }
    }
    match &method.compress {
        Some(asked) => read_compress(&filled(asked, &values)?, 0)?.check(true, false).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

fn check_target(train: &Train, target: Learned) -> Result<(), String> {
    let name = train.learner().name();
    match (train.wanted(), target) {
        (Wanted::Classes, Learned::Classes) | (Wanted::Values, Learned::Numbers | Learned::Standardised | Learned::Indicators) => Ok(()),
        (Wanted::Classes, _) => Err(format!("{name} learns classes, but the set has numbers")),
        (Wanted::Values, _) => Err(format!("{name} learns numbers, but the set has classes")),
        (Wanted::Nothing, _) => Err(format!("{name} learns no target, so that it has no error")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(value: Json) -> Asked {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn places_are_filled() {
        let number = Value::Number;
        let values = Values::from([
            ("c".into(), number(316.2)),
            ("size".into(), number(0.07)),
            ("m".into(), number(12.0)),
            ("a".into(), Value::Word("b".into())),
        ]);
        assert_eq!(filled_text("C {c} x{a}y {size%}", &values).unwrap(), "C 316.2 xby 7%");
        let found =
            filled(&asked(json!({ "c": "{c}", "vectors": "{m}", "method": "{a}", "tune": true, "folds": 3, "x": "{a}{m}" })), &values);
        assert_eq!(found.unwrap(), asked(json!({ "c": 316.2, "vectors": 12, "method": "b", "tune": true, "folds": 3, "x": "b12" })));
        let one = |text: &str| filled(&asked(json!({ "c": text })), &values).map(|filled| filled["c"].clone());
        assert_eq!(one("{size*c}").unwrap(), json!(0.07 * 316.2));
        assert_eq!((one("{m*m}").unwrap(), one("{size%}").unwrap()), (json!(144), json!("7%")));
        assert_eq!(one("{d}").unwrap_err(), "there is no value for {d}");
        assert!(one("{c").is_err() && one("{c*a}").is_err());
        assert_eq!(filled(&asked(json!({ "c": null })), &values).unwrap_err(), NOT_FINITE);
        assert_eq!(number(f64::NAN).json().unwrap_err(), NOT_FINITE);
    }

    #[test]
    fn the_seed_reaches_what_a_learner_draws() {
        let (set, data) = (Set::default(), kernelet::data::banana(40, 1));
        let random = asked(json!({ "gamma": 1, "method": "random", "vectors": 4 }));
        let vectors = |seed: u64| set.learn(&random, None, seed, &data, &Watch::none()).unwrap().machine.expansion.vectors;
        assert!(vectors(0) == vectors(0) && vectors(0) != vectors(1));
    }
}
