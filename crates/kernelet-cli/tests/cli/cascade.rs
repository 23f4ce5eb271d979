//! `kernelet compress --cascade`: small machines before the model, with a promise.
use std::process::Command;

use serde_json::Value;

use crate::{
    goals::rows,
    program::{Folder, run},
};

/// A model of two or three classes, rows it was trained on and calibration rows.
fn material(folder: &Folder, three: bool) -> [String; 4] {
    let classes = |text: String| -> String {
        let third = |line: &str| match line.split_once(" 2:") {
            Some((before, y)) if three && y.parse::<f64>().unwrap() > 0.4 => format!("2 {} 2:{y}\n", before.split_once(' ').unwrap().1),
            _ => format!("{line}\n"),
        };
        text.lines().map(third).collect()
    };
    let file = |name: &str, n, seed| folder.file(name, classes(rows(n, seed)));
    let (train, calibrate, test) = (file("train.svm", 200, 1), file("calibrate.svm", 1500, 2), file("test.svm", 300, 3));
    let model = folder.path("m.model");
    run(&["train", &train, "-o", &model, "--gamma", "2", "--c", "10", "--multiclass", "one-vs-one"]).succeeded();
    [model, train, calibrate, test]
}

fn cascade(model: &str, output: &str, data: &str, calibrate: &str, flags: &[&str]) -> Vec<String> {
    let fixed = [
        "compress",
        model,
        "-o",
        output,
        "--cascade",
        "--max-disagreement",
        "0.02",
        "--effort",
        "quick",
        "--data",
        data,
        "--calibrate",
        calibrate,
    ];
    fixed.iter().chain(flags).map(ToString::to_string).collect()
}

fn strings(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

#[test]
fn a_cascade_answers_as_the_model_does_and_says_what_it_promises() {
    for three in [false, true] {
        let folder = Folder::new();
        let [model, train, calibrate, test] = material(&folder, three);
        let output = folder.path("c.model");
        let json = run(&strings(&cascade(&model, &output, &train, &calibrate, &["--test", &test, "--json"]))).json();
        let number = |key: &str| json[key].as_f64().unwrap();
        assert!(number("bound") <= 0.02 && number("cost") < 1.0 && number("confidence") == 0.95 && number("agreement") > 0.96, "{json}");
        assert!(number("calibration_rows") == 1125.0, "{json}");
        let stages = json["stages"].as_array().unwrap();
        assert!(stages.iter().all(|stage| ["vectors", "threshold", "exits"].iter().all(|key| stage[key].is_number())), "{json}");
        let evaluated = run(&["evaluate", &output, &test, "--against", &model, "--json"]).json();
        assert_eq!((&evaluated["rows"], &evaluated["error"]), (&300.into(), &json["test_error"]), "{evaluated}");
        assert_eq!(evaluated["agreement"], json["agreement"]);
        let shown = run(&["inspect", &output, "--json"]).json();
        assert_eq!((&shown["kind"], &shown["stages"], &shown["cost"]), (&"cascade".into(), &json["stages"], &json["cost"]));
        let labels = run(&["predict", &output, &test]).succeeded().out;
        let one_thread = run(&["predict", &output, &test, "--threads", "1"]).succeeded().out;
        assert_eq!((labels.lines().count(), &labels), (300, &one_thread), "the same labels on any number of threads");
        let text = run(&["inspect", &output]).succeeded().out;
        assert!(text.contains("at most 2.00 % of new rows differ") && text.contains("full machine"), "{text}");
    }
}

#[test]
fn what_cannot_be_promised_is_refused_with_what_it_takes() {
    let folder = Folder::new();
    let [model, train, calibrate, _] = material(&folder, false);
    let output = folder.path("c.model");
    run(&strings(&cascade(&model, &output, &train, &train, &[])))
        .failed(1, "of the 200 calibration rows are rows that the model was trained on");
    let few = ["compress", &model, "-o", &output, "--cascade", "--max-disagreement", "0.001", "--data", &train, "--calibrate", &calibrate];
    run(&few).failed(1, "needs at least 2995 calibration rows");
    run(&few[..7]).failed(2, "--cascade makes small machines from rows; give them with --data");
    run(&few[..9]).failed(2, "give them with --calibrate");
    run(&["compress", &model, "-o", &output, "--by-class", "--vectors", "5"]).failed(2, "--abstain go with --cascade");
    run(&strings(&cascade(&model, &output, &train, &calibrate, &["--vectors", "5"]))).failed(2, "it takes --max-disagreement alone");
    run(&strings(&cascade(&model, &output, &train, &calibrate, &["--ard"]))).failed(2, "whose machines keep the metric of the model");
    assert!(!std::path::Path::new(&output).exists());
}

#[test]
fn a_cascade_may_abstain_and_formats_of_one_machine_refuse_it() {
    let folder = Folder::new();
    let [model, train, calibrate, test] = material(&folder, false);
    let output = folder.path("c.model");
    let json = run(&strings(&cascade(&model, &output, &train, &calibrate, &["--abstain", "--by-class", "--json"]))).json();
    assert_eq!((&json["abstain"], &json["by_class"]), (&true.into(), &true.into()), "{json}");
    let evaluated = run(&["evaluate", &output, &test, "--json"]).json();
    let [unanswered, error, answered_error] = ["unanswered", "error", "error_answered"].map(|key| evaluated[key].as_f64().unwrap());
    assert!((error - (unanswered + (1.0 - unanswered) * answered_error)).abs() < 1e-9 && unanswered > 0.0, "{evaluated}");
    let tested =
        run(&strings(&cascade(&model, &output, &train, &calibrate, &["--abstain", "--by-class", "--test", &test, "--json"]))).json();
    assert_eq!((&tested["test_unanswered"], &tested["test_error"]), (&evaluated["unanswered"], &evaluated["error_answered"]), "{tested}");
    assert!(tested["agreement"].as_f64().unwrap() > 0.95, "{tested}");
    let labels = run(&["predict", &output, &test]).succeeded().out;
    let full = run(&["predict", &model, &test]).succeeded().out;
    let answered: Vec<(&str, &str)> = labels.lines().zip(full.lines()).filter(|(own, _)| *own != "?").collect();
    assert!(answered.len() < 300 && answered.len() > 100, "{}", answered.len());
    assert!(answered.iter().filter(|(own, full)| own != full).count() < 15);
    for to in ["onnx", "libsvm", "json"] {
        run(&["export", &output, "-o", &folder.path("e"), "--to", to]).failed(1, "exported as C source alone");
    }
    run(&["predict", &output, &test, "--values", "decision"]).failed(2, "a cascade answers labels alone");
    run(&["compress", &output, "-o", &folder.path("e"), "--vectors", "3"]).failed(1, "this is a cascade of machines");
}

#[test]
fn c_source_answers_the_same_labels() {
    if Command::new("cc").arg("--version").output().is_err() {
        return;
    }
    for three in [false, true] {
        let folder = Folder::new();
        let [model, train, calibrate, test] = material(&folder, three);
        let (output, source) = (folder.path("c.model"), folder.path("fast.c"));
        run(&strings(&cascade(&model, &output, &train, &calibrate, &[]))).succeeded();
        run(&["export", &output, "-o", &source, "--to", "c"]).succeeded();
        let code = std::fs::read_to_string(&source).unwrap();
        assert_eq!(
            code.contains("class = fast_among(row, near);"),
            three,
            "of one-vs-one machines the pairs of the candidate classes alone"
        );
        let text = std::fs::read_to_string(&test).unwrap();
        let values =
            |line: &str| -> Vec<String> { line.split(' ').skip(1).map(|cell| cell.split_once(':').unwrap().1.to_string()).collect() };
        let rows: Vec<String> = text.lines().map(|line| format!("{{ {} }}", values(line).join(", "))).collect();
        let main = format!(
            "#include <stdio.h>\n#include \"fast.h\"\nstatic const double rows[{0}][2] = {{ {1} }};\nint main(void) {{ for (int i = 0; i < {0}; i++) \
             printf(\"%ld\\n\", fast_predict(rows[i])); return 0; }}\n",
            rows.len(),
            rows.join(", ")
        );
        let main = folder.file("main.c", main);
        let program = folder.path("program");
        let built =
            Command::new("cc").args(["-std=c99", "-O1", "-Wall", "-Werror", "-o", &program, &main, &source, "-lm"]).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let answered = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        assert_eq!(answered, run(&["predict", &output, &test]).succeeded().out, "three classes: {three}");
    }
}

#[test]
fn c_source_in_whole_numbers_has_its_loss_measured_and_a_limit_chooses_the_type() {
    let folder = Folder::new();
    let [model, train, calibrate, test] = material(&folder, true);
    let (output, source) = (folder.path("c.model"), folder.path("fast.c"));
    run(&strings(&cascade(&model, &output, &train, &calibrate, &[]))).succeeded();
    let export = ["export", &output, "-o", &source, "--to", "c"];
    let json = |more: &[&str]| run(&[&export[..], more, &["--json"]].concat()).json();
    for (precision, agreement, kind) in [("i8", 0.95, "int8_t"), ("i16", 0.99, "int16_t"), ("f32", 0.99, "fast_full_real")] {
        let answer = json(&["--precision", precision, "--data", &test]);
        let loss = &answer["loss"];
        assert_eq!((&answer["precision"], &loss["metric"]), (&precision.into(), &"error".into()));
        assert!(loss["agreement"].as_f64().unwrap() >= agreement, "{loss}");
        let rise = loss["after"].as_f64().unwrap() - loss["before"].as_f64().unwrap();
        assert!((loss["loss"].as_f64().unwrap() - rise).abs() < 1e-12 && rise.abs() <= 1.0 - agreement, "{loss}");
        let code = std::fs::read_to_string(&source).unwrap();
        assert!(code.contains(&format!("static const {kind} fast_full_vectors")), "{precision}");
    }
    let data = ["--data", &test];
    assert_eq!(json(&[&["--max-loss", "1"], &data[..]].concat())["precision"], "i8");
    assert!(["i8", "i16", "f32", "f64"].map(Value::from).contains(&json(&[&["--max-loss", "0"], &data[..]].concat())["precision"]));
    run(&[&export[..], &["--precision", "i8"]].concat()).succeeded();
}

#[test]
fn json_of_a_cascade_has_the_keys_of_the_contract() {
    let folder = Folder::new();
    let [model, train, calibrate, _] = material(&folder, false);
    let json: Value = run(&strings(&cascade(&model, &folder.path("c.model"), &train, &calibrate, &["--json"]))).json();
    for key in ["stages", "cost", "bound", "confidence", "calibration_rows"] {
        assert!(!json[key].is_null(), "{key}");
    }
}
