//! Cascades in files: a safetensors file with one array of bytes for each machine, which are native model files, and everything else as JSON.
use std::{collections::HashMap, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    arrays::{Array, Arrays},
    in_file, native, write_atomically,
};
use crate::{
    Error, Result,
    machine::cascade::{Cascade, Head, Promise, Stage},
};

/// The newest version that is read.
pub const VERSION: u32 = 1;

pub(super) const FORMAT: &str = "kernelet-cascade";
const FULL: &str = "full";

/// The JSON text of the metadata entry `kernelet`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    format: String,
    version: u32,
    program: String,
    stages: Vec<StageDescription>,
    promise: Promise,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StageDescription {
    threshold: f64,
    exits: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<Head>,
}

/// What identifies a description of any version.
#[derive(Deserialize)]
struct Tag {
    format: String,
    version: u64,
}

/// The content of a file with a cascade.
pub fn to_bytes(cascade: &Cascade) -> Result<Vec<u8>> {
    cascade.check()?;
    let not_written = |reason: String| Error::data(format!("the cascade cannot be written: {reason}"));
    let stage = |stage: &Stage| StageDescription { threshold: stage.threshold, exits: stage.exits, head: stage.head.clone() };
    let description = Description {
        format: FORMAT.into(),
        version: VERSION,
        program: concat!("kernelet ", env!("CARGO_PKG_VERSION")).into(),
        stages: cascade.stages.iter().map(stage).collect(),
        promise: cascade.promise.clone(),
    };
    let json = serde_json::to_string(&description).map_err(|error| not_written(error.to_string()))?;
    let mut arrays = vec![];
    for (place, stage) in cascade.stages.iter().enumerate() {
        arrays.push((stage_name(place), Array::list(&native::to_bytes(&stage.machine)?)));
    }
    if let Some(full) = &cascade.full {
        arrays.push((FULL.to_string(), Array::list(&native::to_bytes(full)?)));
    }
    let metadata = HashMap::from([("kernelet".to_string(), json)]);
    safetensors::serialize(arrays, Some(metadata)).map_err(|error| not_written(error.to_string()))
}

/// True when the content of a file is a cascade of any version, whole or not.
pub fn recognise(bytes: &[u8]) -> bool {
    Arrays::recognise(bytes) && Arrays::open(bytes, "").ok().and_then(|arrays| tag_of(&arrays)).is_some_and(|tag| tag.format == FORMAT)
}

fn tag_of(arrays: &Arrays) -> Option<Tag> {
    serde_json::from_slice(arrays.entry("kernelet")?.as_bytes()).ok()
}

/// The cascade in the content of a file; `origin` names the file in errors.
pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Cascade> {
    let arrays = Arrays::open(bytes, origin)?;
    let tag = tag_of(&arrays).filter(|tag| tag.format == FORMAT).ok_or_else(|| arrays.bad("this is not a cascade of machines"))?;
    if tag.version > VERSION.into() {
        let found = u32::try_from(tag.version).unwrap_or(u32::MAX);
        return Err(Error::Version { path: origin.into(), found, newest: VERSION });
    }
    let text = arrays.entry("kernelet").unwrap_or_default();
    let description: Description =
        serde_json::from_slice(text.as_bytes()).map_err(|error| arrays.bad(format!("the entry `kernelet` is not understood: {error}")))?;
    let machine = |name: &str| native::from_bytes(&arrays.list::<u8>(name)?, &format!("{origin} ({name})"));
    let mut stages = vec![];
    for (place, StageDescription { threshold, exits, head }) in description.stages.into_iter().enumerate() {
        stages.push(Stage { machine: machine(&stage_name(place))?, head, threshold, exits });
    }
    let known: Vec<String> = (0..stages.len()).map(stage_name).chain([FULL.to_string()]).collect();
    if let Some(name) = arrays.names().into_iter().find(|name| !known.contains(name)) {
        return Err(arrays.bad(format!("the array `{name}` is not part of a cascade")));
    }
    let full = arrays.dtype(FULL).map(|_| machine(FULL)).transpose()?;
    let cascade = Cascade { stages, full, promise: description.promise };
    cascade.check().map_err(|error| in_file(origin, error))?;
    Ok(cascade)
}

fn stage_name(place: usize) -> String {
    format!("stage.{}", place + 1)
}

/// Writes a cascade to a file, whole or not at all.
pub fn save(cascade: &Cascade, path: impl AsRef<Path>) -> Result<()> {
    let bytes = to_bytes(cascade)?;
    write_atomically(path, |writer| writer.write_all(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::part_of,
        data::banana,
        kernel::Kernel,
        learn::{Learner, Svc},
        watch::Watch,
    };

    fn example() -> Cascade {
        let full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&banana(60, 1), &Watch::none()).unwrap().machine;
        let head = Head { coefficients: vec![0.1, -0.2, 0.3], offset: 0.5, floor: 0.01 };
        let stages = vec![Stage { machine: part_of(&full, &[0, 1, 2]), head: Some(head), threshold: 0.25, exits: 0.75 }];
        let promise = Promise {
            max_disagreement: 0.01,
            confidence: 0.95,
            by_class: true,
            bound: 0.009,
            calibration_rows: 1000,
            disagreements: 3,
            cost: 0.2,
            full_vectors: full.n_vectors(),
        };
        Cascade { stages, full: Some(full), promise }
    }

    #[test]
    fn a_cascade_returns_as_it_left_and_gives_the_same_bytes() {
        for cascade in [example(), Cascade { full: None, ..example() }] {
            let bytes = to_bytes(&cascade).unwrap();
            let back = from_bytes(&bytes, "c").unwrap();
            assert_eq!(back, cascade);
            assert_eq!(to_bytes(&back).unwrap(), bytes);
            assert!(recognise(&bytes) && !recognise(&bytes[..40]) && !recognise(b"solver_type"));
        }
        let machine = native::to_bytes(&example().full.unwrap()).unwrap();
        assert!(!recognise(&machine) && from_bytes(&machine, "m").unwrap_err().to_string().contains("not a cascade"));
        let error = native::from_bytes(&to_bytes(&example()).unwrap(), "c").unwrap_err().to_string();
        assert!(error.contains("a cascade of machines"), "{error}");
    }

    #[test]
    fn damaged_files_are_rejected() {
        let bytes = to_bytes(&example()).unwrap();
        for length in [0, 7, 100, bytes.len() / 2, bytes.len() - 1] {
            assert!(from_bytes(&bytes[..length], "c").is_err(), "{length}");
        }
        for place in (0..bytes.len()).step_by(211) {
            let mut other = bytes.clone();
            other[place] ^= 0x20;
            drop(from_bytes(&other, "c"));
        }
    }
}
