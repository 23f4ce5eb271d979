//! Every setting of a request changes the machine or is rejected: nothing is ignored in silence.
#![allow(clippy::unwrap_used, clippy::panic)]
use std::collections::HashMap;

use kernelet::{
    data::{Classes, Dataset, Target, read::Wanted},
    linalg::Matrix,
    machine::Machine,
    model::native,
    request::{Compress, Field, Given, Train},
    watch::Watch,
};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// Settings that cost memory or time, or report more, and never change the machine.
const WITHOUT_EFFECT: [&str; 8] = ["no-shrinking", "cache", "memory", "blocks", "device", "checkpoint", "path", "seed"];

/// Sixty rows of three classes in the plane, which overlap; the same numbers on every machine.
fn points() -> Matrix {
    Matrix::from_fn(60, 2, |i, j| {
        let (class, t) = (i % 3, (i / 3) as f64);
        2.0 * ((class as f64) * 2.1 + j as f64).cos() + 1.3 * (t * (1.3 + 0.7 * j as f64) + class as f64).sin()
    })
}

fn classes(count: usize) -> Dataset {
    let labels: Vec<String> = (0..60).map(|i| (i % 3).min(count - 1).to_string()).collect();
    Dataset::new(points(), Target::Classes(Classes::from_texts(&labels)))
}

fn values() -> Dataset {
    let points = points();
    let values = Matrix::from_fn(60, 1, |i, _| (points.at(i, 0)).sin() + 0.3 * points.at(i, 1) + 0.2 * (7.0 * i as f64).sin());
    Dataset::new(points, Target::Values(values))
}

fn data_for(train: &Train, classes_of_it: usize) -> Dataset {
    match train.wanted() {
        Wanted::Classes => classes(classes_of_it),
        Wanted::Values => values(),
        Wanted::Nothing => Dataset { target: Target::None, ..values() },
    }
}

fn bytes(machine: &Machine) -> Vec<u8> {
    let mut plain = machine.clone();
    plain.metadata.request = None;
    native::to_bytes(&plain).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Values to try for a setting of `train`, none of which is a default.
fn tried(field: &Field) -> Vec<Value> {
    match field.name {
        "learner" | "kernel" | "method" | "parts" | "degree" | "coef0" | "exponent" | "path" => vec![],
        "checkpoint" => vec![],
        "gamma" => vec![json!(0.7)],
        "scale" => vec![json!("standard")],
        "c" => vec![json!(0.05)],
        "nu" => vec![json!(0.2)],
        "epsilon" => vec![json!(0.4)],
        "lambda" => vec![json!(0.03)],
        "explained" => vec![json!(0.6)],
        "tolerance" => vec![json!(0.3)],
        "max-error" => vec![json!(0.6)],
        "score-threshold" => vec![json!(1e-3)],
        "task" => vec![json!("regression")],
        "class-weight" => vec![json!({ "1": 4.0 })],
        "multiclass" => vec![json!("one-vs-rest"), json!("ecoc")],
        "penalty" => vec![json!("coefficients")],
        "bias" => vec![json!("midpoint")],
        "probability" => vec![json!("sigmoid")],
        "first" => vec![json!("random")],
        "shrink" => vec![json!("sv")],
        "loss" => vec![json!("hinge")],
        "coefficients" => vec![json!("margin")],
        "init" => vec![json!("random")],
        "growth" => vec![json!("doubling")],
        "criterion" => vec![json!("random")],
        "deflation" => vec![json!("none")],
        "numerator" | "direction" => vec![json!("printed")],
        "components" => vec![json!(2)],
        "folds" => vec![json!(3)],
        "vectors" => vec![json!(5)],
        "iterations" | "max-iterations" | "stages" | "candidates" | "every" => vec![json!(3)],
        // The first of so many starts is hardly the best for every estimator.
        "starts" => vec![json!(16)],
        "cache" | "memory" => vec![json!(50)],
        "blocks" => vec![json!("always")],
        "sample-first" => vec![json!(20)],
        // What a card answers is tested on one.
        "device" => vec![json!("cpu")],
        "seed" => vec![json!(7)],
        "tune" | "no-shrinking" | "whiten" | "centre" | "ard" => vec![json!(true)],
        "projection" => vec![json!(1)],
        "metric-penalty" => vec![json!(1e-3)],
        other => panic!("no value to try for {other}; add one"),
    }
}

/// Every estimator in every form.
fn forms() -> Vec<(String, Map<String, Value>)> {
    let mut forms = vec![];
    for learner in
        ["svc", "nu-svc", "svr", "nu-svr", "one-class", "ridge", "huber", "fisher", "logistic", "pca", "rvm", "parzen", "nadaraya-watson"]
    {
        forms.push((learner.to_string(), object(json!({ "learner": learner }))));
    }
    for learner in ["svc", "svr", "one-class", "ridge", "huber", "fisher", "logistic", "pca"] {
        let mut direct = object(json!({ "learner": learner, "vectors": 9 }));
        if learner == "pca" {
            direct.insert("components".into(), 3.into());
        }
        forms.push((format!("{learner}, direct"), direct));
    }
    for learner in ["svc", "nu-svc", "svr", "nu-svr", "one-class", "ridge", "huber", "fisher", "logistic", "pca"] {
        forms.push((format!("{learner}, rpcholesky"), object(json!({ "learner": learner, "vectors": 12, "method": "rpcholesky" }))));
    }
    for method in ["greedy-basis", "matching-pursuit", "kmeans", "random"] {
        forms.push((format!("svc, {method}"), object(json!({ "method": method, "vectors": 12 }))));
    }
    for method in ["rs", "mrs", "rsvm", "rsvm-squared", "mrsvm"] {
        forms.push((method.into(), object(json!({ "method": method, "vectors": 6 }))));
    }
    forms.push(("svc, online-basis".into(), object(json!({ "method": "online-basis", "max-error": 0.3 }))));
    forms.push(("svc, support-vectors".into(), object(json!({ "method": "support-vectors" }))));
    forms.push(("rvm-margin".into(), object(json!({ "method": "rvm-margin" }))));
    forms.push(("fisher-pursuit".into(), object(json!({ "learner": "fisher", "method": "fisher-pursuit", "vectors": 12 }))));
    forms
}

/// Settings whose effect depends on the rows: few components of few rows are found exactly, support vectors may be more than the basis has,
/// and on given vectors one against the rest is what sharing them means.
fn by_data(form: &str, name: &str, value: &Value) -> bool {
    (form.starts_with("pca") && name == "tolerance") || name == "shrink" || (form.starts_with("svc, ") && value == "one-vs-rest")
}

/// What a base request needs beside the setting, so that the setting has something to act on.
fn with(mut base: Map<String, Value>, name: &str, value: &Value) -> Map<String, Value> {
    let learner = base.get("learner").and_then(Value::as_str).unwrap_or("svc").to_string();
    if name == "folds" && value.is_number() {
        base.insert("tune".into(), true.into());
    }
    if name == "coefficients" || (name == "c" && learner == "fisher" && base.contains_key("vectors") && !base.contains_key("method")) {
        base.insert("lambda".into(), 0.1.into());
    }
    if name == "metric-penalty" {
        base.insert("ard".into(), true.into());
        base.insert("metric-penalty".into(), 10.0.into());
    }
    if name == "starts" {
        base.insert("init".into(), "random".into());
        base.insert("iterations".into(), 5.into());
        base.insert("seed".into(), 3.into());
    }
    if name == "first" {
        base.insert("kernel".into(), "polynomial".into());
    }
    if name == "c" && learner == "fisher" {
        base.insert("bias".into(), "svm".into());
    }
    base
}

fn run(request: Map<String, Value>, few: bool) -> Result<Vec<u8>, String> {
    let train = Train::read(request).map_err(|error| error.to_string())?;
    train.check().map_err(|error| error.to_string())?;
    let data = data_for(&train, if few { 2 } else { 3 });
    let trained = train.run(&data, &Given::default(), &Watch::none()).map_err(|error| format!("run: {error}"))?;
    Ok(bytes(trained.machine()))
}

/// What became of the settings of one form of a request: those that changed nothing, and those that were rejected.
#[derive(Default)]
struct Effects {
    ignored: Vec<String>,
    rejected: Vec<&'static str>,
}

#[test]
fn every_setting_of_training_changes_the_machine_or_is_rejected() {
    compare("refused-train.txt", forms().into_par_iter().map(|(form, base)| (effects_in_training(&form, &base), form)).collect());
}

fn effects_in_training(form: &str, base: &Map<String, Value>) -> Effects {
    let mut effects = Effects::default();
    let mut machines_of_bases = HashMap::new();
    for field in Train::fields() {
        for value in tried(field) {
            let base = with(base.clone(), field.name, &value);
            // Cross-validation is the same for every form; it takes long.
            let repeated = ["tune", "folds", "probability"].contains(&field.name) && base.contains_key("method");
            if repeated || base.get(field.name) == Some(&value) {
                continue;
            }
            let mut asked = base.clone();
            asked.insert(field.name.into(), value.clone());
            if ["ard", "projection"].contains(&field.name) {
                // Validation is the same for every form; it takes long.
                asked.insert("metric-penalty".into(), 0.01.into());
            }
            // Two classes where a setting is about a single output.
            let few = ["score-threshold", "numerator"].contains(&field.name);
            match run(asked, few) {
                Err(sentence) if sentence.starts_with("run: ") => {
                    panic!("{form}: {} {value} passes the check, then: {sentence}", field.name)
                }
                Err(_) => effects.rejected.push(field.name),
                Ok(_) if WITHOUT_EFFECT.contains(&field.name) || by_data(form, field.name, &value) => {}
                Ok(changed) => {
                    let of_base = machines_of_bases.entry((few, Value::from(base.clone()).to_string()));
                    if changed == *of_base.or_insert_with(|| run(base, few).unwrap()) {
                        effects.ignored.push(format!("{form}: {} {value}", field.name));
                    }
                }
            }
        }
    }
    effects
}

/// Nothing is ignored, and the list of rejected settings is part of the sources: a setting that is rejected anew must be looked at.
fn compare(file: &str, effects: Vec<(Effects, String)>) {
    let (mut ignored, mut found) = (vec![], String::new());
    for (mut effects, form) in effects {
        effects.rejected.dedup();
        found += &format!("{form}: {}\n", effects.rejected.join(" "));
        ignored.append(&mut effects.ignored);
    }
    assert!(ignored.is_empty(), "ignored in silence:\n{}", ignored.join("\n"));
    let path = format!("{}/tests/requests/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("KERNELET_UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == found, "{file} differs; run with KERNELET_UPDATE=1 and look at the change:\n{found}");
}

/// Values to try for a setting of `compress`.
fn tried_in_compress(field: &Field) -> Vec<Value> {
    match field.name {
        "method" => vec![],
        "effort" => vec![json!("quick")],
        "layout" => vec![json!("libsvm")],
        "refit" => vec![json!("outputs"), json!("margin"), json!("rsvm"), json!("rsvm-squared"), json!("projection")],
        "c" => vec![json!(0.3)],
        "threshold" => vec![json!("train-error")],
        "vectors" => vec![json!(5)],
        "fraction" => vec![json!(0.1)],
        "max-bytes" => vec![json!(1300)],
        "max-residual" => vec![json!(0.5)],
        "max-loss" => vec![json!(0.2)],
        "min-agreement" => vec![json!(0.5)],
        "confidence" => vec![json!(0.6)],
        // A cascade is another question, with rows of its own.
        "max-disagreement" => vec![json!(0.1)],
        "cascade" | "by-class" | "abstain" => vec![json!(true)],
        "rows" => vec![json!("fresh")],
        "metric" => vec![json!("balanced-error")],
        "select-by" => vec![json!("outputs"), json!("refitted-weights")],
        "outputs" => vec![json!("separate")],
        "candidates" => vec![json!(3)],
        "passes" => vec![json!(1)],
        "starts" => vec![json!(1)],
        "chunk" => vec![json!(10)],
        "weights" => vec![json!("inverse")],
        "tolerance" => vec![json!(0.1)],
        "init" => vec![json!("kmeans")],
        "refine" => vec![json!("outputs")],
        "refine-steps" => vec![json!(2)],
        "seed" => vec![json!(7)],
        "time" => vec![json!(1e6)],
        "device" => vec![json!("cpu")],
        "labels" | "ard" | "from-data" | "path" | "plain" | "lossless" | "refine-joint" => vec![json!(true)],
        other => panic!("no value to try for {other}; add one"),
    }
}

#[test]
fn every_setting_of_compression_changes_the_machine_or_is_rejected() {
    let data = classes(3);
    let full = Train::from_json(r#"{"gamma": 0.5, "c": 2}"#).unwrap().run(&data, &Given::default(), &Watch::none()).unwrap();
    let methods = ["auto", "pursuit", "l1", "l0", "independent", "fixed-point", "gradient", "refine"];
    let effects = |method: &str| (effects_in_compression(method, full.machine(), &data), method.to_string());
    compare("refused-compress.txt", methods.into_par_iter().map(effects).collect());
}

fn effects_in_compression(method: &str, full: &Machine, data: &Dataset) -> Effects {
    let run = |request: Map<String, Value>| -> Result<Vec<u8>, String> {
        let compress = Compress::read(request).map_err(|error| error.to_string())?;
        compress.check(true, false).map_err(|error| error.to_string())?;
        let small = compress.run(full, Some(data), None, &Watch::none()).map_err(|error| format!("run: {error}"))?;
        let mut machine = small.machine;
        machine.metadata.path = None;
        Ok(bytes(&machine))
    };
    let mut effects = Effects::default();
    let mut machines_of_bases = HashMap::new();
    for field in Compress::fields() {
        for value in tried_in_compress(field) {
            let mut base = object(json!({ "method": method, "vectors": 8 }));
            match field.name {
                "vectors" | "fraction" | "max-bytes" => drop(base.remove("vectors")),
                "lossless" => drop(base.remove("vectors")),
                "tolerance" if method == "l0" => drop(base.insert("lossless".into(), true.into())),
                "c" if method != "auto" => drop(base.insert("refit".into(), "margin".into())),
                "c" => drop(base.insert("labels".into(), true.into())),
                "metric" | "confidence" | "rows" => drop(base.insert("max-loss".into(), 0.1.into())),
                "passes" => drop(base.insert("chunk".into(), 5.into())),
                "refine-steps" | "refine-joint" => drop(base.insert("refine".into(), true.into())),
                _ => {}
            }
            // Clusters are what the method refine starts from anyway.
            let value = if (method, field.name) == ("refine", "init") { json!("vectors") } else { value };
            let mut asked = base.clone();
            asked.insert(field.name.into(), value.clone());
            match run(asked) {
                Err(sentence) if sentence.starts_with("run: ") => {
                    panic!("{method}: {} {value} passes the check, then: {sentence}", field.name)
                }
                Err(_) => effects.rejected.push(field.name),
                // Time that is not used up changes nothing, nor does the device that is used anyway.
                Ok(_) if ["path", "seed", "time", "device"].contains(&field.name) => {}
                // A goal that is met anyway, a pass that changes nothing any more, and scales that validation rows do not prefer.
                Ok(_)
                    if ["ard", "max-residual", "max-loss", "min-agreement", "confidence", "rows", "metric", "passes"]
                        .contains(&field.name) => {}
                Ok(changed) => {
                    let of_base = machines_of_bases.entry(Value::from(base.clone()).to_string()).or_insert_with(|| run(base));
                    if of_base.as_ref() == Ok(&changed) {
                        effects.ignored.push(format!("{method}: {} {value}", field.name));
                    }
                }
            }
        }
    }
    effects
}
