//! PAPERS.md, the tags in the source and the tests stay in step.
#![allow(clippy::unwrap_used)]
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const KEYS: [&str; 5] = ["Wu2006", "Franc2003", "Weston2004", "Diethe2015", "Schoelkopf1998"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_files(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// Tags such as `[Schoelkopf1998 (4)]` in a text.
fn tags(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices('[').map(|(at, _)| &text[at + 1..]);
    let inside = starts.filter_map(|rest| rest.split_once(']')).map(|(tag, _)| tag);
    inside.filter(|tag| KEYS.iter().any(|key| tag.starts_with(&format!("{key} (")))).map(str::to_string).collect()
}

/// Rows `| formula | meaning | symbol | test |` of PAPERS.md.
fn listed() -> BTreeMap<String, (String, String)> {
    let text = fs::read_to_string(root().join("PAPERS.md")).unwrap();
    let rows = text.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    rows.filter(|cells| cells.len() == 6 && KEYS.iter().any(|key| cells[1].starts_with(&format!("{key} ("))))
        .map(|cells| (cells[1].to_string(), (cells[3].trim_matches('`').to_string(), cells[4].trim_matches('`').to_string())))
        .collect()
}

#[test]
fn every_tag_in_the_source_is_listed_and_every_listed_formula_is_tagged_and_tested() {
    let mut sources = vec![];
    rust_files(&root().join("crates/kernelet/src"), &mut sources);
    let tagged: BTreeSet<String> = sources.iter().flat_map(|text| tags(text)).collect();
    rust_files(&root().join("crates/kernelet/tests"), &mut sources);
    let listed = listed();
    assert!(!listed.is_empty());
    assert_eq!(tagged, listed.keys().cloned().collect::<BTreeSet<_>>());
    for (formula, (symbol, test)) in listed {
        let name = symbol.rsplit("::").next().unwrap();
        let defined = ["fn", "struct", "trait", "enum"].iter().any(|kind| sources.iter().any(|s| s.contains(&format!("{kind} {name}"))));
        assert!(defined, "{formula}: there is no {symbol}");
        assert!(sources.iter().any(|s| s.contains(&format!("fn {test}("))), "{formula}: there is no test {test}");
    }
}
