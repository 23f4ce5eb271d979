//! The modules of the library depend on one another in one direction.
#![allow(clippy::unwrap_used)]
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A module may use those before it, never one after it.
const ORDER: [&str; 20] = [
    "text", "error", "file", "named", "watch", "draw", "clock", "parallel", "linalg", "data", "kernel", "device", "machine", "model",
    "basis", "evaluate", "learn", "compress", "request", "prelude",
];

/// A path that begins at the crate or leaves the module it stands in.
#[derive(Debug, PartialEq)]
struct Reference {
    line: usize,
    /// The top-level module, or the item of the crate's root, that the path leads to.
    to: String,
}

/// The text up to its tests, without comments and string literals; lines stay where they were.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let opens_tests = |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].ends_with('{');
    let end = lines.windows(2).position(opens_tests).unwrap_or(lines.len());
    lines[..end].iter().map(|line| format!("{}\n", without_literals(line).split("//").next().unwrap_or(""))).collect()
}

fn without_literals(line: &str) -> String {
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// Every `crate::..` and `super::..` of the code of a module, with the top-level module that it leads to.
fn references(text: &str, module: &[String]) -> Vec<Reference> {
    let code = code(text);
    let mut found = vec![];
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || "_:".contains(before) {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let tree = tree_at(&code[at..]);
            found.extend(leaves(&tree).into_iter().filter_map(|path| top(&path, module)).map(|to| Reference { line, to }));
        }
    }
    found.sort_by_key(|reference| reference.line);
    found
}

/// The path or use tree at the beginning of the code: up to the end of its last segment or brace.
fn tree_at(code: &str) -> String {
    let mut depth = 0usize;
    let part_of_path = |c: char, depth: usize| c.is_alphanumeric() || "_:{".contains(c) || depth > 0;
    let mut tree = String::new();
    for c in code.chars() {
        if !part_of_path(c, depth) {
            break;
        }
        depth = if c == '{' { depth + 1 } else { depth };
        tree.push(c);
        if c == '}' {
            depth -= 1;
            if depth == 0 {
                break;
            }
        }
    }
    tree.split_whitespace().collect()
}

/// The paths of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((before, inside)) = tree.split_once('{') else { return vec![tree.to_string()] };
    let inside = inside.strip_suffix('}').unwrap_or(inside);
    let (mut depth, mut start, mut parts) = (0usize, 0, vec![]);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    parts.iter().filter(|part| !part.is_empty()).flat_map(|part| leaves(&format!("{before}{part}"))).collect()
}

/// The first segment below the crate's root; none where the path stays within the module.
fn top(path: &str, module: &[String]) -> Option<String> {
    let segments: Vec<&str> = path.split("::").filter(|segment| !segment.is_empty()).collect();
    let ups = segments.iter().take_while(|segment| **segment == "super").count();
    let to = match (segments.first(), ups) {
        (Some(&"crate"), _) => segments.get(1).copied(),
        (_, ups) if ups >= module.len() => segments.get(ups).copied(),
        _ => None,
    };
    to.map(str::to_string).filter(|to| module.first() != Some(to))
}

/// The place of a module, or of the module whose item the root reexports.
fn place(module: &str) -> Option<usize> {
    let home = match module {
        "Error" | "Result" => "error",
        "Named" => "named",
        other => other,
    };
    ORDER.iter().position(|name| *name == home)
}

/// `file:line: from uses to` for every use of a later module.
fn upward(file: &str, text: &str, module: &[String]) -> Vec<String> {
    let Some(from) = module.first() else { return vec![] };
    let own = place(from);
    let wrong = |reference: &Reference| match (own, place(&reference.to)) {
        (None, _) => true,
        (Some(own), Some(other)) => other > own,
        (Some(_), None) => true,
    };
    let all = references(text, module);
    all.iter().filter(|reference| wrong(reference)).map(|r| format!("{file}:{}: {from} uses {}", r.line, r.to)).collect()
}

/// Modules that are declared behind `#[cfg(test)]`.
fn test_only(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]" && pair[1].ends_with(';'));
    declared.filter_map(|pair| pair[1].trim_end_matches(';').rsplit_once("mod ").map(|(_, name)| name.to_string())).collect()
}

/// All files of the folder with the path of their module, without those that only tests see.
fn files(folder: &Path, module: &[String], into: &mut Vec<(PathBuf, Vec<String>)>) {
    let declaring = ["mod.rs", "lib.rs"].iter().find_map(|name| fs::read_to_string(folder.join(name)).ok()).unwrap();
    let skipped = test_only(&declaring);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if skipped.contains(&name) {
            continue;
        }
        let below: Vec<String> = module.iter().cloned().chain([name.clone()]).collect();
        if path.is_dir() {
            if path.join("mod.rs").exists() {
                files(&path, &below, into);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push((path, if ["mod", "lib"].contains(&name.as_str()) { module.to_vec() } else { below }));
        }
    }
}

#[test]
fn every_module_uses_only_those_before_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = vec![];
    files(&src, &[], &mut all);
    assert!(all.len() > 100, "only {} files were found", all.len());
    all.sort();
    let mut wrong = vec![];
    for (path, module) in &all {
        let file = path.strip_prefix(&src).unwrap().display().to_string();
        wrong.extend(upward(&file, &fs::read_to_string(path).unwrap(), module));
    }
    assert!(wrong.is_empty(), "the order is {}:\n{}", ORDER.join(", "), wrong.join("\n"));
    let tops: Vec<&str> = all.iter().filter_map(|(_, module)| module.first()).map(String::as_str).collect();
    let missing: Vec<&&str> = tops.iter().filter(|top| place(top).is_none()).collect();
    assert!(missing.is_empty(), "not in the order: {missing:?}");
}

#[cfg(test)]
mod parser {
    use super::*;

    fn module(path: &str) -> Vec<String> {
        path.split("::").map(str::to_string).collect()
    }

    #[test]
    fn upward_uses_are_found_in_trees_in_code_and_through_super() {
        let text = "use crate::{\n    Error, Result,\n    data::Points,\n    learn::{Fit, direct::{Init, Search}},\n};\n\
                    use super::super::compress::Task;\nfn f() { crate::compress::part_of(); super::own(); }\n";
        let found = upward("machine/norm.rs", text, &module("machine::norm"));
        let want = [
            "machine/norm.rs:1: machine uses learn",
            "machine/norm.rs:1: machine uses learn",
            "machine/norm.rs:1: machine uses learn",
            "machine/norm.rs:6: machine uses compress",
            "machine/norm.rs:7: machine uses compress",
        ];
        assert_eq!(found, want);
        assert_eq!(upward("x", text, &module("request::train")), [""; 0], "later modules may use all of them");
        assert!(upward("x", "use super::learn::Fit;", &module("machine")).len() == 1);
        assert!(upward("x", "use crate::unknown::Fit;", &module("machine")).len() == 1);
    }

    #[test]
    fn comments_literals_tests_and_paths_inside_a_module_do_not_count() {
        let text = "//! [`Fit`](crate::learn::Fit)\nuse super::{learn::Own, super::machine::Machine};\nconst A: &str = \"crate::learn\"; // crate::learn\n\
                    #[cfg(test)]\nmod naive;\nuse crate::kernel::Kernel;\n#[cfg(test)]\nmod tests {\n    use crate::learn::Svc;\n}\n";
        assert_eq!(references(text, &module("machine::deep::file")), [Reference { line: 6, to: "kernel".into() }]);
        assert_eq!(test_only(text), ["naive"]);
        assert_eq!(leaves("crate::{a::{b,c},d,}"), ["crate::a::b", "crate::a::c", "crate::d"]);
    }
}
