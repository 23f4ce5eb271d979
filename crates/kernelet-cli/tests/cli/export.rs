//! `export`: a machine in another format.
use std::fs;

use crate::program::{Folder, run, three_classes};

#[test]
fn libsvm_text_predicts_the_same() {
    let folder = Folder::new();
    let (model, data, text) = (folder.model(), folder.path("train.svm"), folder.path("m.libsvm"));
    assert_eq!(run(&["export", &model, "-o", &text, "--to", "libsvm"]).succeeded().out, format!("{text}\n"));
    assert!(fs::read_to_string(&text).unwrap().starts_with("svm_type c_svc\nkernel_type rbf\n"));
    let decisions = |model: &str| run(&["predict", model, &data, "--values", "decision"]).succeeded().out;
    let (ours, theirs) = (decisions(&model), decisions(&text));
    for (a, b) in ours.lines().zip(theirs.lines()).skip(1) {
        assert!((a.parse::<f64>().unwrap() - b.parse::<f64>().unwrap()).abs() < 1e-12);
    }
}

/// Rows so close that all kernel values are nearly 1: what is left of the outputs, when all terms have cancelled, depends on the order of the sum. The
/// numbers in the file are the same to the last bit.
#[test]
fn libsvm_text_has_the_same_numbers_where_all_terms_cancel() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|i| format!("{} 1:{}e-10 2:{}e-10\n", ["-1", "+1"][i % 2], i * 37 % 101, i * 53 % 97)).collect();
    let (data, [model, text]) = (folder.file("tiny.svm", rows), ["m", "m.libsvm"].map(|name| folder.path(name)));
    run(&["train", &data, "-o", &model, "--learner", "logistic", "--gamma", "1"]).succeeded();
    run(&["export", &model, "-o", &text, "--to", "libsvm"]).succeeded();
    let coefficients = |model: &str| {
        run(&["export", model, "-o", &folder.path("m.json"), "--to", "json"]).succeeded();
        let json: serde_json::Value = serde_json::from_slice(&fs::read(folder.path("m.json")).unwrap()).unwrap();
        let rows = json["coefficients"].as_array().unwrap().iter();
        let mut numbers: Vec<f64> = rows.map(|row| row[0].as_f64().unwrap()).collect();
        numbers.sort_by(f64::total_cmp);
        (numbers, json["offsets"].clone())
    };
    let (ours, theirs) = (coefficients(&model), coefficients(&text));
    assert_eq!(ours, theirs);
    let decisions = |model: &str| run(&["predict", model, &data, "--values", "decision"]).succeeded().out;
    let terms: f64 = ours.0.iter().map(|number| number.abs()).sum();
    for (a, b) in decisions(&model).lines().zip(decisions(&text).lines()).skip(1) {
        assert!((a.parse::<f64>().unwrap() - b.parse::<f64>().unwrap()).abs() <= 1e-15 * terms, "{a} {b} {terms}");
    }
}

#[test]
fn a_scaling_goes_to_a_range_file() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", "1 1:10 2:5\n-1 1:20 2:4\n1 1:12 2:7\n-1 1:18 2:8\n"), folder.path("m"));
    run(&["train", &data, "-o", &model, "--scale", "minmax"]).succeeded();
    let (text, range) = (folder.path("t"), folder.path("r"));
    let json = run(&["export", &model, "-o", &text, "--to", "libsvm", "--json"]).json();
    assert_eq!(json["files"], serde_json::json!([text, format!("{text}.range")]));
    run(&["export", &model, "-o", &range, "--to", "range"]).succeeded();
    assert_eq!(fs::read_to_string(&range).unwrap(), "x\n-1 1\n1 10.0 20.0\n2 4.0 8.0\n");
    assert_eq!(fs::read_to_string(format!("{text}.range")).unwrap(), fs::read_to_string(&range).unwrap());
    assert!(run(&["inspect", &text, "--json"]).json()["scale"].is_null());
}

#[test]
fn what_a_format_cannot_hold_is_rejected_and_nothing_is_written() {
    let folder = Folder::new();
    let (data, model, out) = (folder.file("a.csv", three_classes(30)), folder.path("m"), folder.path("out"));
    run(&["train", &data, "-o", &model, "--scale", "standard"]).succeeded();
    run(&["export", &model, "-o", &out, "--to", "libsvm"]).failed(2, "LIBSVM's model format does not work with");
    run(&["export", &folder.model(), "-o", &out, "--to", "range"]).failed(1, "the model has no scaling");
    run(&["export", &model, "-o", &model, "--to", "range"]).failed(2, "would be read and overwritten");
    assert_eq!(folder.names(), ["a.csv", "m", "m.model", "train.svm"]);
}

#[test]
fn every_format_is_written_and_json_returns() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    for to in ["onnx", "c", "json", "javascript", "libsvm"] {
        let out = folder.path(&format!("m.{to}"));
        let json = run(&["export", &model, "-o", &out, "--to", to, "--json"]).json();
        assert_eq!((&json["to"], &json["files"][0]), (&serde_json::json!(to), &serde_json::json!(out)));
        assert!(fs::metadata(&out).unwrap().len() > 100);
    }
    assert!(fs::read_to_string(folder.path("m.javascript")).unwrap().contains("export const predict = "));
    assert!(fs::read_to_string(folder.path("m.h")).unwrap().contains("long m_predict(const m_real *row);"));
    let decisions = |model: &str| run(&["predict", model, &data, "--values", "decision"]).succeeded().out;
    assert_eq!(decisions(&folder.path("m.json")), decisions(&model));
    assert_eq!(run(&["inspect", &folder.path("m.json"), "--json"]).json()["source"], "json");
}

#[test]
fn what_is_lost_is_reported() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(60)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--probability", "sigmoid", "--folds", "3"]).succeeded();
    let lost = |to: &str, flags: &[&str]| {
        let out = folder.path(&format!("x.{to}"));
        let arguments = [&["export", &model, "-o", &out, "--to", to, "--json"], flags].concat();
        let ran = run(&arguments).succeeded();
        let json = ran.json();
        let list: Vec<String> = json["lost"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect();
        assert!(list.iter().all(|loss| ran.err.contains(&format!("lost in this format: {loss}"))), "{}", ran.err);
        list.join("; ")
    };
    assert_eq!(lost("onnx", &[]), "");
    assert_eq!(lost("json", &[]), "");
    assert_eq!(lost("javascript", &[]), "");
    assert!(lost("c", &["--precision", "i8"]).contains("the probabilities and deviations"));
    assert!(lost("onnx", &["--precision", "f32"]).starts_with("double precision"));
    let nodes = lost("onnx", &["--onnx-style", "svm"]);
    assert!(nodes.contains("double precision") && nodes.contains("the probabilities"), "{nodes}");
    assert!(lost("c", &[]).starts_with("the names of the features"));
    assert_eq!(lost("c", &["--precision", "float"]).matches("double precision").count(), 1);
}

#[test]
fn a_size_and_the_evaluations_of_the_target_are_reported() {
    let folder = Folder::new();
    let (data, model, small) = (folder.path("n.csv"), folder.path("m"), folder.path("s"));
    fs::write(&data, three_classes(90).replace("inner", "1").replace("middle", "2").replace("outer", "3")).unwrap();
    run(&["train", &data, "-o", &model, "--gamma", "1"]).succeeded();
    run(&["compress", &model, "-o", &small, "--vectors", "7"]).succeeded();
    let ran = run(&["export", &small, "-o", &folder.path("s.libsvm"), "--to", "libsvm", "--json"]);
    // Each of the seven stands there as a vector of the first class and of the second.
    assert_eq!(ran.json()["evaluations_per_row"], 14);
    assert!(ran.err.contains("a row costs 14 kernel evaluations there; 7 vectors shared by several classes cost copies"), "{}", ran.err);
    let ran = run(&["export", &small, "-o", &folder.path("s.c"), "--to", "c", "--precision", "f32", "--json"]);
    // 7 x 2 features, 7 x 3 coefficients, 3 offsets of 4 bytes; 3 labels of 4.
    assert_eq!((&ran.json()["evaluations_per_row"], &ran.json()["constant_bytes"]), (&7.into(), &(4 * (14 + 21 + 3) + 12).into()));
    assert!(ran.err.contains("flash: 164 bytes of constants, and the code; RAM: "), "{}", ran.err);
}

#[test]
fn what_the_format_cannot_express_is_rejected_and_nothing_is_written() {
    let folder = Folder::new();
    let data = folder.file("a.csv", three_classes(30).replace("inner", "in side"));
    let model = folder.path("m");
    run(&["train", &data, "-o", &model, "--kernel", "matern32"]).succeeded();
    let export = |out: &str, flags: &[&str]| run(&[&["export", &model, "-o", &folder.path(out), "--to"], flags].concat());
    export("x.c", &["c"]).failed(2, "C source does not work with the label \"in side\"");
    export("x.txt", &["c"]).failed(2, "a name that ends in .c");
    export("x.c", &["c", "--name", "1a"]).failed(2, "letters, digits and _");
    export("none/x.onnx", &["onnx"]).failed(1, "does not exist");
    export("x.onnx", &["onnx", "--onnx-style", "svm"]).failed(2, "the matern32 kernel in an SVM node");
    export("x.onnx", &["onnx", "--onnx-style", "svm", "--precision", "f64"]).failed(2, "they hold single precision only");
    export("x.json", &["json", "--precision", "f32"]).failed(2, "--precision goes with --to c or onnx");
    export("x.c", &["c", "--onnx-style", "svm"]).failed(2, "--onnx-style goes with --to onnx");
    export("x.onnx", &["onnx", "--name", "a"]).failed(2, "--name goes with --to c");
    export("x.onnx", &["onnx", "--precision", "f16"]).failed(2, "there are f64 (double) and f32 (float), and for c also i16 and i8");
    export("x.xml", &["xml"]).failed(2, "possible values: onnx, c, libsvm, javascript, json, range, native");
    assert_eq!(folder.names(), ["a.csv", "m"]);
}

#[test]
fn a_linear_map_goes_along_or_the_format_is_refused() {
    let folder = Folder::new();
    let (model, data, out) = (folder.mapped_model(), folder.file("rows.svm", "1 1:0.5 2:1\n-1 1:1 2:1 3:1\n"), folder.path("out"));
    run(&["export", &model, "-o", &out, "--to", "libsvm"]).failed(2, "does not work with a linear map of the features");
    run(&["export", &model, "-o", &out, "--to", "range"]).failed(2, "does not work with a linear map of the features");
    assert_eq!(folder.names(), ["mapped.json", "rows.svm"]);
    for to in ["onnx", "c", "json", "javascript"] {
        run(&["export", &model, "-o", &folder.path(&format!("m.{to}")), "--to", to]).succeeded();
    }
    let decisions = |model: &str| run(&["predict", model, &data, "--values", "decision"]).succeeded().out;
    let text = decisions(&model);
    assert_eq!(decisions(&folder.path("m.json")), text);
    // Rows (0.5, 2) and (1.5, 1) behind the map, vectors (0, 0) and (1, 1).
    let output = |x: f64, y: f64| (-0.5 * (x * x + y * y)).exp() - (-0.5 * ((x - 1.0).powi(2) + (y - 1.0).powi(2))).exp() + 0.1;
    for (line, want) in text.lines().skip(1).zip([output(0.5, 2.0), output(1.5, 1.0)]) {
        assert!((line.parse::<f64>().unwrap() - want).abs() < 1e-12, "{line} {want}");
    }
}

#[test]
fn whole_numbers_are_written_and_their_loss_is_measured() {
    let folder = Folder::new();
    let data = folder.file("n.csv", three_classes(150).replace("inner", "1").replace("middle", "2").replace("outer", "3"));
    let (model, out) = (folder.path("m"), folder.path("q.c"));
    run(&["train", &data, "-o", &model, "--gamma", "1", "--scale", "standard"]).succeeded();
    for (precision, kind) in [("i8", "int8_t"), ("i16", "int16_t")] {
        let ran = run(&["export", &model, "-o", &out, "--to", "c", "--precision", precision, "--json"]).succeeded();
        assert!(ran.err.contains("guessed from the vectors"), "{}", ran.err);
        assert!(ran.json()["loss"].is_null() && ran.json()["precision"] == precision);
        let ran = run(&["export", &model, "-o", &out, "--to", "c", "--precision", precision, "--data", &data, "--json"]).succeeded();
        let loss = &ran.json()["loss"];
        assert_eq!((&loss["metric"], &loss["rows"]), (&"error".into(), &150.into()));
        assert!(loss["agreement"].as_f64().unwrap() > 0.95 && loss["loss"].as_f64().unwrap() < 0.05, "{loss}");
        assert!(ran.err.contains(&format!("{precision}: error ")) && ran.err.contains("of the labels agree"), "{}", ran.err);
        let (source, header) = (fs::read_to_string(&out).unwrap(), fs::read_to_string(folder.path("q.h")).unwrap());
        assert!(header.contains(&format!("typedef {kind} q_input;")) && header.contains("long q_predict(const q_input *row);"));
        // Without the helpers for programs that have floating point there is none.
        let whole = source.split("#ifdef Q_FLOAT").next().unwrap();
        assert!(!whole.contains("float ") && !whole.contains("double "), "{whole}");
    }
}

#[test]
fn the_smallest_type_of_an_allowed_loss_is_chosen() {
    let folder = Folder::new();
    let (data, model, out) = (folder.file("n.csv", three_classes(150)), folder.path("m"), folder.path("q.c"));
    run(&["train", &data, "-o", &model, "--gamma", "1", "--vectors", "12"]).succeeded();
    let chosen = |most: &str| run(&["export", &model, "-o", &out, "--to", "c", "--max-loss", most, "--data", &data, "--json"]).json();
    assert_eq!(chosen("1")["precision"], "i8");
    let exact = chosen("0");
    assert!(exact["loss"]["loss"].as_f64().unwrap() <= 0.0, "{exact}");
    let export = |flags: &[&str]| run(&[&["export", &model, "-o", &folder.path("x.c"), "--to"], flags].concat());
    export(&["c", "--max-loss", "0.1"]).failed(2, "--data");
    export(&["c", "--max-loss", "-1", "--data", &data]).failed(2, "must be a finite number of at least 0");
    export(&["c", "--max-loss", "0.1", "--data", &data, "--precision", "i8"]).failed(2, "cannot be used with");
    export(&["c", "--data", &data]).failed(2, "--data goes with --to c and --precision f32, i16 or i8, or --max-loss");
    export(&["onnx", "--precision", "i8"]).failed(2, "--precision i16 or i8 goes with --to c");
    assert!(!folder.names().contains(&"x.c".to_string()));
}
