//! What the page may ask for.
use kernelet::{
    Error, Result,
    request::{Compress, Field, Takes, Train},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A question. Settings are texts by their names; empty ones are left out.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Ask {
    /// The settings there are.
    Fields,
    /// The built-in digits.
    Digits,
    /// A file that was dropped: data or a model, as its content says.
    Open {
        /// Its name, which gives the format of data.
        name: String,
        /// The column of the target; none for the last.
        #[serde(default)]
        target: String,
        /// Settings of training, which say what the target is read as.
        #[serde(default)]
        settings: Map<String, Value>,
    },
    /// A file of test rows for the data that are open.
    Test {
        /// Its name.
        name: String,
    },
    /// The sizes on the way to the largest, which is wanted.
    Sizes {
        /// The largest.
        largest: usize,
    },
    /// Train a machine; without a number of vectors the full one.
    Train {
        /// Settings of training.
        settings: Map<String, Value>,
        /// How many vectors.
        vectors: Option<usize>,
    },
    /// Compress the model that is open.
    Compress {
        /// Settings of compression.
        settings: Map<String, Value>,
        /// How many vectors.
        vectors: usize,
    },
    /// Take back a machine that was given out before.
    Keep,
    /// A test row as text, to try.
    Row {
        /// Its place, counted around.
        place: usize,
    },
    /// Predict one row, as text.
    Predict {
        /// The place of the machine; none for the model that is open.
        machine: Option<usize>,
        /// Numbers between commas, or the columns of the table.
        row: String,
    },
    /// The outputs of the test rows.
    Outputs {
        /// The place of the machine; none for the model that is open.
        machine: Option<usize>,
    },
    /// A machine as a file.
    Export {
        /// The place of the machine; none for the model that is open.
        machine: Option<usize>,
        /// The format.
        to: crate::export::To,
        /// The name of the file, without extension.
        name: String,
    },
}

/// Settings that have a place of their own on the page, or need files.
const LEFT_OUT: [&str; 13] = [
    "vectors",
    "fraction",
    "path",
    "checkpoint",
    "cache",
    "memory",
    "blocks",
    "cascade",
    "max-disagreement",
    "by-class",
    "abstain",
    "select-by",
    "device",
];

/// The settings of both requests for the page.
pub(crate) fn fields() -> Value {
    json!({ "train": of(Train::fields()), "compress": of(Compress::fields()) })
}

fn of(fields: &[Field]) -> Vec<Value> {
    let shown = fields.iter().filter(|field| !LEFT_OUT.contains(&field.name));
    shown
        .map(|field| json!({ "name": field.name, "value": field.value, "group": field.group, "help": field.help, "names": names(field) }))
        .collect()
}

/// What can be chosen, where there is nothing to type.
fn names(field: &Field) -> Option<Vec<&'static str>> {
    match field.takes {
        Takes::Name(names) => Some(names()),
        Takes::Switch => Some(vec!["true"]),
        _ => None,
    }
}

/// A request to train from texts.
pub(crate) fn train(settings: &Map<String, Value>, vectors: Option<usize>) -> Result<Train> {
    let mut given = read(Train::fields(), settings)?;
    given.extend(vectors.map(|vectors| ("vectors".to_string(), vectors.into())));
    Train::read(given)
}

/// A request to compress from texts.
pub(crate) fn compress(settings: &Map<String, Value>, vectors: usize) -> Result<Compress> {
    let mut given = read(Compress::fields(), settings)?;
    given.insert("vectors".into(), vectors.into());
    Compress::read(given)
}

fn read(fields: &[Field], settings: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut given = Map::new();
    for (name, value) in settings {
        let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_string());
        if text.is_empty() {
            continue;
        }
        let field = fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| Error::request(format!("there is no setting `{name}`")))?;
        given.insert(name.clone(), field.parse(&text)?);
    }
    Ok(given)
}
