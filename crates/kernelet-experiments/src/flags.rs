//! From flags with places to learners: the places are filled, and the flags read as the program reads them.
use kernelet::{
    Named,
    data::{Dataset, Scaling, read::Wanted},
    learn::{BestSize, Fit, Multiclass},
    request::{Compress, Field, Given, Takes, Train},
    watch::Watch,
};
use serde_json::{Map, Value as Json};

use super::description::{Learned, Method, Set, Value, Values};

impl Value {
    /// As it stands in flags.
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
}

/// A text with its places filled: `{name}` by the value of that name, `{name%}` by it in percent, `{name*other}` by the product of two.
pub fn filled(text: &str, values: &Values) -> Result<String, String> {
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

    /// The request of flags whose places are filled, on scaled rows.
    pub fn request(&self, flags: &str, parts: Option<Vec<usize>>, seed: u64) -> Result<Train, String> {
        let mut train = read(flags, seed)?;
        train.search.parts = parts;
        train.scale = Some(self.scaling()?).filter(|scaling| *scaling != Scaling::None);
        train.check().map_err(|error| error.to_string())?;
        Ok(train)
    }

    /// The machine of such flags.
    pub fn learn(&self, flags: &str, parts: Option<Vec<usize>>, seed: u64, data: &Dataset, watch: &Watch) -> Result<Fit, String> {
        let trained = self.request(flags, parts, seed)?.run(data, &Given::default(), watch);
        trained.map(|trained| trained.fit).map_err(|error| error.to_string())
    }

    /// The learner where cross-validation is to choose the number of vectors, which can be asked about it.
    pub fn best_size(&self, flags: &str, seed: u64) -> Result<Option<BestSize>, String> {
        read(flags, seed)?.best_size().map_err(|error| error.to_string())
    }
}

/// A request to train from flags, with a seed for what is drawn.
pub fn read(flags: &str, seed: u64) -> Result<Train, String> {
    let train = Train::read(settings(flags, Train::fields())?).map_err(|error| error.to_string())?;
    Ok(Train { seed, ..train })
}

/// A request to compress from flags.
pub fn read_compress(flags: &str, seed: u64) -> Result<Compress, String> {
    let compress = Compress::read(settings(flags, Compress::fields())?).map_err(|error| error.to_string())?;
    Ok(Compress { seed, ..compress })
}

/// The settings of a line of flags: `--name value`, `--name=value` or a switch `--name`.
fn settings(flags: &str, fields: &[Field]) -> Result<Map<String, Json>, String> {
    let mut settings = Map::new();
    let mut words = flags.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let flag = word.strip_prefix("--").ok_or_else(|| format!("{word} is no flag"))?;
        let (name, joined) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        let field = fields.iter().find(|field| field.name == name || field.aliases.contains(&name));
        let field = field.ok_or_else(|| format!("there is no flag --{name}"))?;
        let value = match (field.takes, joined) {
            (_, Some(value)) => value,
            (Takes::Switch | Takes::SwitchOr(_), None) => "true",
            (_, None) => words.next().ok_or_else(|| format!("--{name} needs a value"))?,
        };
        settings.insert(field.name.into(), field.parse(value).map_err(|error| error.to_string())?);
    }
    Ok(settings)
}

/// True where every class has vectors of its own, so that a part is one of those of each class.
pub fn own_vectors(flags: &str) -> Result<bool, String> {
    Ok(read(flags, 0)?.settings.multiclass == Some(Multiclass::OneVsRest))
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
    for (flags, learner) in [(&method.train, true), (&method.of, true), (&method.represent, false)] {
        let Some(flags) = flags else { continue };
        let read = read(&filled(flags, &values)?, 0)?;
        if learner {
            read.check().map_err(|error| error.to_string())?;
            check_target(&read, set.target)?;
        }
    }
    match &method.compress {
        Some(flags) => read_compress(&filled(flags, &values)?, 0)?.check(true).map_err(|error| error.to_string()),
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
    use super::*;

    #[test]
    fn places_are_filled() {
        let values =
            Values::from([("c".into(), Value::Number(316.2)), ("size".into(), Value::Number(0.07)), ("a".into(), Value::Word("b".into()))]);
        assert_eq!(filled("--c {c} x{a}y {size%}", &values).unwrap(), "--c 316.2 xby 7%");
        assert_eq!(filled("{d}", &values).unwrap_err(), "there is no value for {d}");
        assert_eq!(filled("{size*c}", &values).unwrap(), (0.07 * 316.2).to_string());
        assert!(filled("{c", &values).is_err() && filled("{c*a}", &values).is_err());
    }

    #[test]
    fn the_seed_reaches_what_a_learner_draws() {
        let (set, data) = (Set::default(), kernelet::data::banana(40, 1));
        let vectors = |seed: u64| {
            set.learn("--gamma 1 --method random --vectors 4", None, seed, &data, &Watch::none()).unwrap().machine.expansion.vectors
        };
        assert!(vectors(0) == vectors(0) && vectors(0) != vectors(1));
    }
}
