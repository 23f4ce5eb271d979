//! The library as C, C++ and R programs use it.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // All of this is tests.
#[path = "../../kernelet/tests/targets/cases.rs"]
mod cases;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use kernelet::{
    data::{banana, sinc},
    machine::Machine,
    model,
    prelude::*,
};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A program that is there, or a sentence that it is not.
fn tool(name: &str) -> Option<&str> {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        eprintln!("there is no {name}: what needs it is not tested");
    }
    found.then_some(name)
}

/// The library beside the program of the tests.
fn library(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().skip(1).map(|folder| folder.join(name)).find(|path| path.exists()).unwrap()
}

fn done(mut command: Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Two models and what they predict: classes with probabilities, and numbers.
fn models(folder: &Path) -> Vec<String> {
    let data = banana(120, 1);
    let train = Train::from_json(r#"{"gamma": 1, "c": 10, "vectors": 8, "probability": "sigmoid"}"#).unwrap();
    let classes = train.run(&data, &Given::default(), &Watch::none()).unwrap().fit.machine;
    model::save(&classes, folder.join("classes.model")).unwrap();
    let numbers = Train::from_json(r#"{"learner": "ridge", "gamma": 1, "vectors": 6}"#).unwrap();
    let numbers = numbers.run(&sinc(80, 0.1, 1).unwrap(), &Given::default(), &Watch::none()).unwrap().fit.machine;
    model::save(&numbers, folder.join("numbers.model")).unwrap();
    let rows = Points::from_rows(&[[0.5, -1.0], [-1.5, 1.0], [0.0, 0.25]]).unwrap();
    let outputs = classes.outputs_for(&rows).unwrap();
    let probabilities = classes.probabilities(&outputs).unwrap();
    let predicted = classes.predict(&rows).unwrap();
    let mut lines: Vec<String> =
        (0..3).map(|i| format!("{} {:.12} {:.12}", predicted.label(i).unwrap(), outputs.at(i, 0), probabilities.at(i, 1))).collect();
    let values = numbers.outputs_for(&Points::from_rows(&[[0.5], [2.0]]).unwrap()).unwrap();
    lines.extend(values.values().iter().map(|value| format!("{value:.12}")));
    lines
}

#[test]
fn the_header_is_what_cbindgen_makes() {
    let config = cbindgen::Config::from_file(here("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_config(config).with_src(here("src/border.rs")).generate().unwrap();
    let mut made = vec![];
    bindings.write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = here("include/kernelet.h");
    if std::env::var("KERNELET_WRITE_HEADER").is_ok() {
        fs::write(&path, &made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(there == made, "include/kernelet.h differs from src/border.rs; write it with KERNELET_WRITE_HEADER=1 cargo test -p kernelet-c");
}

#[test]
fn a_c_program_gets_the_same_predictions_and_sentences_for_every_mistake() {
    let Some(compiler) = tool("gcc") else { return };
    let folder = folder("c");
    let want = models(&folder);
    let mut compile = Command::new(compiler);
    compile.args([
        "-std=c99",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsanitize=address,undefined",
        "-D_POSIX_C_SOURCE=200809L",
    ]);
    compile.arg("-I").arg(here("include")).arg(here("tests/c/library.c")).arg(library("libkernelet_c.a"));
    compile.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(folder.join("library"));
    done(compile);
    let mut run = Command::new(folder.join("library"));
    run.current_dir(&folder);
    assert_eq!(done(run).lines().collect::<Vec<_>>(), want);
}

#[test]
fn the_example_in_cpp_runs_with_the_shared_library() {
    let Some(compiler) = tool("g++") else { return };
    let folder = folder("cpp");
    let want = models(&folder);
    let shared = library("libkernelet_c.so");
    let mut compile = Command::new(compiler);
    compile.args(["-std=c++17", "-Wall", "-Wextra", "-Werror"]).arg("-I").arg(here("include")).arg(here("examples/predict.cpp"));
    compile.arg(&shared).arg("-o").arg(folder.join("predict"));
    done(compile);
    let mut run = Command::new(folder.join("predict"));
    run.current_dir(&folder)
        .args(["classes.model", "0.5", "-1", "-1.5", "1", "0", "0.25"])
        .env("LD_LIBRARY_PATH", shared.parent().unwrap());
    let labels: Vec<&str> = want.iter().take(3).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(done(run).lines().collect::<Vec<_>>(), labels);
}

#[test]
fn the_example_in_r_runs_with_the_shared_library() {
    let (Some(_), Some(_)) = (tool("R"), tool("gcc")) else { return };
    let folder = folder("r");
    let want = models(&folder);
    let shared = library("libkernelet_c.so");
    for file in ["kernelet.c", "predict.R"] {
        fs::copy(here("examples/r").join(file), folder.join(file)).unwrap();
    }
    fs::copy(&shared, folder.join("libkernelet.so")).unwrap();
    let mut build = Command::new("R");
    build.current_dir(&folder).args(["CMD", "SHLIB", "-o", "kernelet_r.so", "kernelet.c", "-L.", "-lkernelet", "-Wl,-rpath,."]);
    build.env("PKG_CPPFLAGS", format!("-I{}", here("include").display()));
    done(build);
    let mut run = Command::new("Rscript");
    run.current_dir(&folder).arg("predict.R").env("LD_LIBRARY_PATH", &folder);
    let labels: Vec<&str> = want.iter().take(3).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(done(run).lines().collect::<Vec<_>>(), labels);
}

/// The numbers of a row as the library gives them: outputs, predicted numbers, probabilities, deviations.
fn said(machine: &Machine, points: &Points) -> Vec<String> {
    let outputs = machine.outputs_for(points).unwrap();
    let probabilities = machine.check_probabilities().ok().map(|_| machine.probabilities(&outputs).unwrap());
    let deviations = machine.deviations(points).ok();
    let labels = machine.decision.labels();
    let line = |i: usize| {
        let row = outputs.row(i);
        let (first, predicted) = match labels.get(machine.decision.class(row)) {
            Some(label) => (label.text().to_string(), vec![]),
            None => ("-".to_string(), machine.decision.numbers(row)),
        };
        let more = probabilities.iter().chain(&deviations).flat_map(|values| values.row(i).to_vec());
        let numbers = row.iter().copied().chain(predicted).chain(more).map(|number| format!(" {number:?}"));
        first + &numbers.collect::<String>()
    };
    (0..points.len()).map(line).collect()
}

#[test]
fn machines_of_every_kind_predict_in_c_as_here_to_the_last_bit() {
    let Some(compiler) = tool("gcc") else { return };
    let folder = folder("every");
    let (mut names, mut want) = (vec![], vec![]);
    for case in cases::all() {
        // The rows of a file are those of the test, so that none is rounded.
        let rows = cases::rows(&case.machine, 40);
        let list: Vec<String> = rows.values().iter().map(|value| format!("{value:?}")).collect();
        model::save(&case.machine, folder.join(&case.name)).unwrap();
        fs::write(folder.join(format!("{}.rows", case.name)), list.join(" ")).unwrap();
        want.extend(said(&case.machine, &Points::from(rows)));
        names.push(case.name);
    }
    assert!(names.len() >= 50);
    let mut compile = Command::new(compiler);
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsanitize=address,undefined"]);
    compile.arg("-I").arg(here("include")).arg(here("tests/c/every.c")).arg(library("libkernelet_c.a"));
    compile.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(folder.join("every"));
    done(compile);
    let mut run = Command::new(folder.join("every"));
    run.current_dir(&folder).args(&names);
    let printed = done(run);
    assert_eq!(printed.lines().count(), want.len());
    for (have, want) in printed.lines().zip(&want) {
        let (mut have, mut want) = (have.split(' '), want.split(' '));
        assert_eq!(have.next(), want.next());
        let numbers = |words: std::str::Split<char>| words.map(|word| word.parse::<f64>().unwrap().to_bits()).collect::<Vec<u64>>();
        assert_eq!(numbers(have), numbers(want));
    }
}
