//! One request has one answer: the library and the program give the same model, to the byte. `requests.json` has requests by hand, with most settings
//! left to their defaults, and others drawn at random; the tests of the Python package run the same ones.
use std::fmt::Write;

use kernelet::{
    data::{Classes, Dataset, Target, read::Wanted},
    linalg::Matrix,
    machine::Machine,
    model::{self, native},
    request::{Compress, Given, Train},
    watch::Watch,
};
use serde_json::{Map, Value};

use crate::program::{Folder, run};

/// Sixty rows of three classes in the plane.
fn points() -> Matrix {
    Matrix::from_fn(60, 2, |i, j| {
        let (class, t, j) = ((i % 3) as f64, (i / 3) as f64, j as f64);
        2.0 * (class * 2.1 + j).cos() + 1.3 * (t * (1.3 + 0.7 * j) + class).sin()
    })
}

/// The rows with one of three targets, and as a table.
fn rows(name: &str) -> (Dataset, String) {
    let points = points();
    let values: Vec<f64> = points.iter().map(|row| row[0].sin() + 0.3 * row[1]).collect();
    let label = |i: usize| if name == "two" { (i % 3).min(1) } else { i % 3 };
    let targets: Vec<String> = (0..60).map(|i| if name == "values" { values[i].to_string() } else { label(i).to_string() }).collect();
    let table = points.iter().zip(&targets).fold(String::new(), |mut table, (row, target)| {
        writeln!(table, "{},{},{target}", row[0], row[1]).unwrap();
        table
    });
    let target = match name {
        "values" => Target::Values(Matrix::from_fn(60, 1, |i, _| values[i])),
        _ => Target::Classes(Classes::from_texts(&targets)),
    };
    (Dataset::new(points, target), table)
}

/// A request as flags.
fn flags(request: &Map<String, Value>) -> Vec<String> {
    let weights =
        |weights: &Map<String, Value>| weights.iter().map(|(label, weight)| format!("{label}={weight}")).collect::<Vec<_>>().join(",");
    let flag = |(name, value): (&String, &Value)| match value {
        Value::Bool(true) => format!("--{name}"),
        Value::Object(map) => format!("--{name}={}", weights(map)),
        Value::String(text) => format!("--{name}={text}"),
        other => format!("--{name}={other}"),
    };
    request.iter().map(flag).collect()
}

fn trained(request: &Map<String, Value>, data: &Dataset) -> Machine {
    let train = Train::read(request.clone()).unwrap();
    let data = match train.wanted() {
        Wanted::Nothing => Dataset { target: Target::None, ..data.clone() },
        _ => data.clone(),
    };
    train.run(&data, &Given::default(), &Watch::none()).unwrap().fit.machine
}

/// The model of a program's run.
fn by_program(first: &[&str], flags: Vec<String>, output: &str) -> Vec<u8> {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    run(&[first, &["-o", output, "--quiet"], &flags].concat()).succeeded();
    std::fs::read(output).unwrap()
}

#[test]
fn the_library_and_the_program_give_the_same_bytes() {
    let folder = Folder::new();
    let requests: Vec<Value> = serde_json::from_str(include_str!("../requests.json")).unwrap();
    assert!(requests.len() >= 240, "{}", requests.len());
    for (i, entry) in requests.iter().enumerate() {
        let (data, table) = rows(entry["data"].as_str().unwrap());
        let (file, output, full) = (folder.file("rows.csv", &table), folder.path("a.model"), folder.path("full.model"));
        let request = entry["request"].as_object().unwrap();
        let (ours, theirs) = match entry.get("model").and_then(Value::as_object) {
            None => (trained(request, &data), by_program(&["train", &file, "--target", "3"], flags(request), &output)),
            Some(before) => {
                let mut machine = trained(before, &data);
                model::save(&machine, &full).unwrap();
                if entry.get("libsvm").is_some() {
                    let text = folder.path("full.libsvm");
                    run(&["export", &full, "-o", &text, "--to", "libsvm", "--quiet"]).succeeded();
                    machine = model::load(&text).unwrap();
                    std::fs::rename(&text, &full).unwrap();
                }
                let data = entry["rows"].as_bool().unwrap().then_some(&data);
                let none = data.map(|data| match machine.decision.labels().is_empty() && data.classes().is_ok() {
                    true => Dataset { target: Target::None, ..data.clone() },
                    false => data.clone(),
                });
                let small = Compress::read(request.clone()).unwrap().run(&machine, none.as_ref(), None, &Watch::none()).unwrap().machine;
                let files =
                    if data.is_some() { vec!["compress", &full, "--data", &file, "--target", "3"] } else { vec!["compress", &full] };
                (small, by_program(&files, flags(request), &output))
            }
        };
        assert!(native::to_bytes(&ours).unwrap() == theirs, "request {i}: {entry}");
    }
}
