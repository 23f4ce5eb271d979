//! Training by passes over blocks of rows.
use std::fs;

use crate::program::{Folder, numbers, run, three_classes, two_classes};

const KEYS: [&str; 10] = ["learner", "kernel", "rows", "dim", "classes", "vectors", "objective", "train_error", "seconds", "status"];

#[test]
fn blocks_train_the_machine_that_is_trained_in_memory_and_report_the_same_keys() {
    let folder = Folder::new();
    let (data, a, b) = (folder.file("a.svm", two_classes(900)), folder.path("a"), folder.path("b"));
    for learner in ["svc", "logistic"] {
        let common =
            ["train", &data, "--learner", learner, "--vectors", "6", "--gamma", "0.5", "--c", "10", "--scale", "standard", "--json"];
        let train = |more: &[&str]| run(&[&common[..], more].concat()).json();
        let whole = train(&["-o", &a, "--blocks", "never"]);
        let blocks = train(&["-o", &b, "--blocks", "always", "--memory", "1"]);
        assert!(KEYS.iter().all(|key| !blocks[key].is_null()), "{blocks}");
        assert_eq!(
            (&blocks["rows"], &blocks["dim"], &blocks["classes"], &blocks["vectors"]),
            (&whole["rows"], &whole["dim"], &whole["classes"], &whole["vectors"])
        );
        let value = |json: &serde_json::Value, key: &str| json[key].as_f64().unwrap();
        assert!(value(&blocks, "objective") < 1.1 * value(&whole, "objective"), "{blocks} {whole}");
        let measured = run(&["evaluate", &b, &data, "--json"]).json();
        assert!((value(&measured, "error") - value(&blocks, "train_error")).abs() < 1e-12, "{measured} {blocks}");
    }
}

#[test]
fn a_model_of_blocks_recognises_the_rows_that_it_was_trained_on() {
    let folder = Folder::new();
    let (data, more) = (folder.file("a.svm", two_classes(900)), folder.file("b.svm", format!("{}1 1:9 2:9\n", two_classes(400))));
    let (model, later, small) = (folder.path("m"), folder.path("n"), folder.path("s"));
    let common = ["--vectors", "9", "--gamma", "0.5", "--c", "10", "--iterations", "5", "--blocks", "always", "--memory", "1"];
    run(&[&["train", &data, "-o", &model][..], &common].concat()).succeeded();
    let known = |model: &str| run(&["inspect", model, "--json"]).json()["known_rows"].as_u64().unwrap();
    assert_eq!(known(&model), 64);
    let kind = |model: &str, rows: &str| {
        let json = run(&["compress", model, "-o", &small, "--data", rows, "--max-loss", "0.05", "--effort", "quick", "--json"]).json();
        json["validation"]["kind"].as_str().unwrap().to_string()
    };
    assert_eq!(kind(&model, &data), "training");
    // A machine that began at another one knows the rows of both.
    run(&[&["train", &more, "-o", &later, "--start", &model][..], &common].concat()).succeeded();
    assert_eq!(kind(&later, &data), "training");
}

#[test]
fn a_cache_is_made_once_and_a_sample_may_come_first() {
    let folder = Folder::new();
    let (data, model, cache) = (folder.file("a.csv", three_classes(600)), folder.path("m"), folder.path("rows"));
    let train = |more: &[&str]| {
        run(&[&["train", &data, "-o", &model, "--vectors", "12", "--gamma", "2", "--c", "10", "--scale", "standard", "-v"], more].concat())
    };
    train(&["--cache", &cache]).succeeded();
    let first = fs::read(&model).unwrap();
    let again = train(&["--cache", &cache]);
    assert!(again.err.contains("from the cache"), "{}", again.err);
    again.succeeded();
    assert_eq!(fs::read(&model).unwrap(), first);
    train(&["--sample-first", "200", "--iterations", "40"]).succeeded();
    fs::write(&cache, &fs::read(&cache).unwrap()[..500]).unwrap();
    train(&["--cache", &cache]).failed(1, "the cache is cut short or damaged; delete it, and it is made again");
}

#[test]
fn what_blocks_cannot_do_is_wrong_usage() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model][..], flags].concat());
    train(&["--blocks", "always"]).failed(2, "--blocks is not used by svc");
    train(&["--vectors", "5", "--blocks", "always", "--learner", "one-class"])
        .failed(2, "training by blocks is for svc, logistic and ridge");
    train(&["--vectors", "5", "--blocks", "always", "--loss", "hinge"]).failed(2, "training by blocks does not work with --loss hinge");
    train(&["--vectors", "5", "--blocks", "always", "--probability", "sigmoid"])
        .failed(2, "training by blocks has no --probability; use the --learner logistic");
    train(&["--vectors", "5", "--blocks", "always", "--path"]).failed(2, "leave --path out and train once for each number of --vectors");
    let numbers = ["--vectors", "5", "--blocks", "always", "--learner", "ridge", "--probability", "normal"];
    train(&numbers).failed(2, "training by blocks has no --probability; train in memory, with --blocks never");
    train(&["--vectors", "5", "--blocks", "never", "--sample-first", "20"]).failed(2, "leave out --blocks never");
    train(&["--cache", &folder.path("rows")]).failed(2, "a file is for training by blocks");
    train(&["--vectors", "5", "--cache", &data]).failed(2, "would be read and overwritten");
}

#[test]
fn settings_are_chosen_on_a_sample_and_a_metric_is_learned_from_all_rows() {
    let folder = Folder::new();
    let noisy: String = two_classes(900)
        .lines()
        .enumerate()
        .map(|(i, line)| format!("{line} 3:{:.3} 4:{:.3}\n", 3.0 * (i as f64 * 1.7).sin(), 3.0 * (i as f64 * 2.9).cos()))
        .collect();
    let (data, model) = (folder.file("a.svm", noisy), folder.path("m"));
    let train = |more: &[&str]| {
        let common = ["train", &data, "-o", &model, "--vectors", "6", "--iterations", "15", "--blocks", "always", "--memory", "1"];
        run(&[&common[..], more].concat())
    };
    let ran = train(&["--ard", "--c", "10", "--json"]);
    assert!(
        ran.err.contains("settings were chosen on 900 rows") && ran.err.contains("validation rows prefer learned scales"),
        "{}",
        ran.err
    );
    let json = ran.json();
    let scales: Vec<f64> = json["feature_scales"].as_array().unwrap().iter().map(|scale| scale.as_f64().unwrap()).collect();
    assert!(scales[0].max(scales[1]) > 2.0 * scales[2].max(scales[3]), "{json}");
    let memory =
        run(&["train", &data, "-o", &folder.path("whole"), "--vectors", "6", "--iterations", "15", "--ard", "--c", "10", "--json"]).json();
    let (have, want) = (json["train_error"].as_f64().unwrap(), memory["train_error"].as_f64().unwrap());
    assert!(have < want + 0.02, "{have} by blocks, {want} in memory");
    // A penalty that is given needs no validation, and a larger one moves the scales less.
    let mut apart = vec![];
    for penalty in ["0.1", "1000"] {
        let json = train(&["--ard", "--c", "10", "--metric-penalty", penalty, "--json"]).json();
        let scales: Vec<f64> = json["feature_scales"].as_array().unwrap().iter().map(|scale| scale.as_f64().unwrap()).collect();
        apart.push(scales.iter().map(|scale| scale.ln().abs()).fold(0.0, f64::max));
    }
    assert!(apart[1] < 0.5 * apart[0], "{apart:?}");
    for form in [["--projection", "2"], ["--gamma", "learned"]] {
        let json = train(&[&["--c", "10", "--json"][..], &form].concat()).json();
        assert!(json["train_error"].as_f64().unwrap() < 0.2, "{form:?}: {json}");
    }
    train(&["--ard", "--c", "10"]).succeeded();
    let measured = run(&["evaluate", &model, &data, "--json"]).json();
    assert!((measured["error"].as_f64().unwrap() - json["train_error"].as_f64().unwrap()).abs() < 1e-12);
    let tuned = train(&["--tune", "--folds", "2", "--gamma", "0.5", "--json"]).json();
    let tried = tuned["tried"].as_array().unwrap();
    assert!(tried.len() > 1 && tried[0]["c"] == tuned["c"], "{tuned}");
}

#[test]
fn a_basis_is_chosen_on_a_sample_and_the_machine_on_it_is_that_of_all_rows() {
    let folder = Folder::new();
    let (data, table, model) = (folder.file("a.svm", two_classes(900)), folder.file("b.csv", numbers(400)), folder.path("m"));
    for (data, learner) in [(&data, "logistic"), (&table, "ridge")] {
        let train = |method: &str, more: &[&str]| {
            let common =
                ["train", data, "-o", &model, "--learner", learner, "--vectors", "8", "--gamma", "0.5", "--method", method, "--json"];
            run(&[&common[..], more].concat())
        };
        for method in ["greedy-basis", "rpcholesky", "kmeans", "random", "matching-pursuit"] {
            let json = train(method, &["--blocks", "always", "--memory", "1"]).json();
            assert_eq!((&json["vectors"], &json["method"]), (&8.into(), &method.into()), "{json}");
            let measured = run(&["evaluate", &model, data, "--json"]).json();
            let error = measured["error"].as_f64().or(measured["mse"].as_f64()).unwrap();
            assert!((error - json["train_error"].as_f64().unwrap()).abs() < 1e-9 * (1.0 + error), "{measured} {json}");
        }
        // All rows are in the sample here, and this choice depends on no order of theirs.
        let objective = |blocks: &str| train("matching-pursuit", &["--blocks", blocks]).json()["objective"].as_f64().unwrap();
        let (memory, blocks) = (objective("never"), objective("always"));
        assert!((memory - blocks).abs() < 1e-7 * memory, "{learner}: {memory} {blocks}");
        train("kmeans", &["--blocks", "always", "--ard"]).failed(2, "does not work with a learned metric on a basis");
        train("rpcholesky", &["--blocks", "always", "--max-error", "0.1"]).failed(2, "the rows of the sample alone");
        train("online-basis", &["--blocks", "always", "--max-error", "0.1"]).failed(2, "--blocks is not used by");
    }
    run(&["train", &data, "-o", &model, "--vectors", "8", "--gamma", "0.5", "--method", "kmeans", "--blocks", "always"])
        .failed(2, "has the hinge loss, which needs all rows at once; direct training with --iterations 0 and --init kmeans");
}

#[test]
fn a_machine_is_refitted_on_all_rows_by_blocks() {
    let folder = Folder::new();
    let (few, data) = (folder.file("a.svm", two_classes(100)), folder.file("b.svm", two_classes(900)));
    let (first, model) = (folder.path("first"), folder.path("m"));
    let train = |rows: &str, output: &str, more: &[&str]| {
        let common = ["train", rows, "-o", output, "--vectors", "6", "--gamma", "0.5", "--c", "10", "--iterations", "0", "--json"];
        run(&[&common[..], more].concat()).json()
    };
    train(&few, &first, &[]);
    let refitted =
        |blocks: &str| train(&data, &model, &["--start", &first, "--blocks", blocks, "--memory", "1"])["objective"].as_f64().unwrap();
    let (memory, blocks) = (refitted("never"), refitted("always"));
    assert!((memory - blocks).abs() < 1e-9 * memory, "{memory} {blocks}");
    let errors = |model: &str| run(&["evaluate", model, &data, "--json"]).json()["error"].as_f64().unwrap();
    assert!(errors(&model) <= errors(&first));
}

#[test]
fn targets_far_from_0_are_centred_by_blocks_as_in_memory() {
    let folder = Folder::new();
    let far: String = numbers(400)
        .lines()
        .filter_map(|line| line.rsplit_once(','))
        .map(|(rest, y)| format!("{rest},{}\n", 1000.0 + y.parse::<f64>().unwrap()))
        .collect();
    let (data, model) = (folder.file("a.csv", far), folder.path("m"));
    let train = |more: &[&str]| {
        let common = [
            "train",
            &data,
            "-o",
            &model,
            "--learner",
            "ridge",
            "--vectors",
            "6",
            "--gamma",
            "0.5",
            "--method",
            "matching-pursuit",
            "--json",
        ];
        run(&[&common[..], more].concat())
    };
    let value = |json: &serde_json::Value, key: &str| json[key].as_f64().unwrap();
    let (plain, memory) = (train(&[]), train(&["--centre"]));
    assert!(plain.err.contains("subtract it with --centre") && !memory.err.contains("far from 0"), "{} {}", plain.err, memory.err);
    let (plain, memory) = (plain.json(), memory.json());
    assert!(value(&memory, "train_error") < 0.1 * value(&plain, "train_error"), "{plain} {memory}");
    for more in [&["--blocks", "always", "--memory", "1"][..], &["--blocks", "always"]] {
        let blocks = train(&[&["--centre"], more].concat()).json();
        assert!(
            (value(&blocks, "objective") - value(&memory, "objective")).abs() < 1e-7 * value(&memory, "objective"),
            "{blocks} {memory}"
        );
        let measured = run(&["evaluate", &model, &data, "--json"]).json();
        assert!(
            (value(&measured, "mse") - value(&blocks, "train_error")).abs() < 1e-6 * value(&blocks, "train_error"),
            "{measured} {blocks}"
        );
    }
}

#[test]
fn rows_may_come_from_standard_input() {
    let folder = Folder::new();
    let model = folder.path("m");
    let flags = ["train", "-", "--format", "libsvm", "-o", &model, "--vectors", "4", "--gamma", "0.5", "--blocks", "always", "--json"];
    let json = crate::program::run_with_input(&flags, two_classes(300).as_bytes()).json();
    assert_eq!((json["rows"].as_u64(), json["vectors"].as_u64()), (Some(300), Some(4)));
}

#[test]
fn a_stream_goes_on_from_a_model_with_a_sample_of_its_rows() {
    let folder = Folder::new();
    let (data, old, new) = (folder.file("a.svm", two_classes(100)), folder.path("old"), folder.path("new"));
    let common = ["--vectors", "4", "--gamma", "0.5", "--c", "10", "--json"];
    run(&[&["train", &data, "-o", &old][..], &common].concat()).succeeded();
    let flags = ["train", "-", "--format", "libsvm", "-o", &new, "--start", &old, "--reservoir", "300", "--iterations", "10"];
    let ran = crate::program::run_with_input(&[&flags[..], &common].concat(), two_classes(3000).as_bytes());
    assert!(ran.err.contains("trained on 300 rows of 3,000 rows"), "{}", ran.err);
    let json = ran.json();
    assert_eq!((json["rows"].as_u64(), json["vectors"].as_u64()), (Some(300), Some(4)));
    assert!(json["train_error"].as_f64().unwrap() < 0.1, "{json}");
    run(&[&["train", &data, "-o", &new, "--reservoir", "0"][..], &common].concat()).failed(2, "reservoir is 0, but must be at least 1");
    let both = ["train", &data, "-o", &new, "--reservoir", "300", "--blocks", "always"];
    run(&[&both[..], &common].concat()).failed(2, "--reservoir holds its sample in memory");
}
