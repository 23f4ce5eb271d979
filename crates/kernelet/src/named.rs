//! Names of choices: one table for each enum, shared by Rust, the program, Python and model files.
use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// A choice with a name.
pub trait Named: Copy + PartialEq + 'static {
    /// Every choice with its name, the default first.
    const NAMES: &'static [(&'static str, Self)];

    /// The name.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }

    /// All choices.
    fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.iter().map(|(_, choice)| *choice)
    }

    /// The choice with this name.
    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice)
    }

    /// All names.
    fn names() -> Vec<&'static str> {
        Self::NAMES.iter().map(|(name, _)| *name).collect()
    }
}

/// Writes the name of an optional choice: `#[serde(with = "crate::named")]`.
pub(crate) fn serialize<T: Named, S: Serializer>(choice: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match choice {
        Some(choice) => serializer.serialize_str(choice.name()),
        None => serializer.serialize_none(),
    }
}

/// Reads an optional choice by its name.
pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let unknown = || D::Error::custom(format!("{name:?} is none of {}", T::names().join(", ")));
    T::named(&name).map(Some).ok_or_else(unknown)
}
