//! PAPERS.md, the tags in the source and the tests stay in step.
#![allow(clippy::unwrap_used, clippy::panic)]
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const KEYS: [&str; 5] = ["Wu2006", "Franc2003", "Weston2004", "Diethe2015", "Schoelkopf1998"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A source file: the end of its path, and its text.
type Source = (String, String);

/// More places than these under one name do not help a reader.
const MOST: usize = 3;

fn rust_files(folder: &Path, into: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push((path.to_string_lossy().replace('\\', "/"), fs::read_to_string(path).unwrap()));
        }
    }
}

/// How many functions and types of this name a text defines.
fn definitions(text: &str, name: &str) -> usize {
    let starts = |kind: &str| text.match_indices(&format!("{kind} {name}")).map(|(at, found)| at + found.len()).collect::<Vec<_>>();
    let whole = |end: &usize| !text[*end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    ["fn", "struct", "trait", "enum"].iter().flat_map(|kind| starts(kind)).filter(whole).count()
}

/// The one file that a symbol means: `name`, `Type::name` in the file of the type, or `file.rs: name`. A sentence where there is none, or where
/// a reader would find too many.
fn place<'a>(symbol: &str, sources: &'a [Source]) -> Result<&'a Source, String> {
    let (file, symbol) = symbol.split_once(": ").map_or((None, symbol), |(file, symbol)| (Some(format!("/{file}")), symbol));
    let (owner, name) = symbol.rsplit_once("::").map_or((None, symbol), |(owner, name)| (Some(owner), name));
    let of_owner = |text: &str| owner.is_none_or(|owner| definitions(text, owner) > 0);
    let named: Vec<(&Source, usize)> = sources
        .iter()
        .filter(|(_, text)| of_owner(text))
        .map(|source| (source, definitions(&source.1, name)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let all: usize = named.iter().map(|(_, count)| count).sum();
    if all > MOST {
        return Err(format!("{symbol} is the name of {all} things; name one that is defined at most {MOST} times"));
    }
    let meant: Vec<&Source> =
        named.iter().map(|(source, _)| *source).filter(|(path, _)| file.as_ref().is_none_or(|file| path.ends_with(file))).collect();
    match meant[..] {
        [one] => Ok(one),
        [] => Err(format!("there is no {symbol}")),
        _ => Err(format!("{symbol} is in {} files; write `file.rs: {symbol}`", meant.len())),
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
    let tagged: BTreeSet<String> = sources.iter().flat_map(|(_, text)| tags(text)).collect();
    let mut tests = sources.clone();
    rust_files(&root().join("crates/kernelet/tests"), &mut tests);
    let listed = listed();
    assert_eq!(tagged, listed.keys().cloned().collect::<BTreeSet<_>>());
    for (formula, (symbol, test)) in listed {
        let (path, text) = place(&symbol, &sources).unwrap_or_else(|why| panic!("{formula}: {why}"));
        assert!(tags(text).contains(&formula), "{formula}: {symbol} is in {path}, which does not have the tag");
        assert_eq!(tests.iter().map(|(_, text)| definitions(text, &test)).sum::<usize>(), 1, "{formula}: the test {test}");
    }
}

#[test]
fn symbols_that_a_reader_could_not_find_are_rejected() {
    let source = |path: &str, text: &str| (path.to_string(), text.to_string());
    let sources = [
        source("src/a/one.rs", "struct One; impl One { fn new() {} fn step() {} fn stepwise() {} }"),
        source("src/b/two.rs", "struct Two<'a>; impl Two { fn new() {} fn step() {} }"),
        source("src/b/three.rs", "enum Three {} impl Three { fn new() {} } trait Four { fn new(); }"),
    ];
    let found = |symbol: &str| place(symbol, &sources).map(|(path, _)| path.as_str());
    assert_eq!(found("stepwise"), Ok("src/a/one.rs"));
    assert_eq!(found("Two"), Ok("src/b/two.rs"));
    assert_eq!(found("Two::step"), Ok("src/b/two.rs"));
    assert_eq!(found("one.rs: step"), Ok("src/a/one.rs"));
    assert!(found("step").unwrap_err().contains("in 2 files"));
    assert!(found("new").unwrap_err().contains("4 things"));
    assert!(found("one.rs: new").unwrap_err().contains("4 things"));
    assert!(found("one.rs: Two").unwrap_err().contains("there is no"));
    assert!(found("ste").unwrap_err().contains("there is no"));
}
