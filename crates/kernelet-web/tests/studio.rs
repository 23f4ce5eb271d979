//! What the page gets for its questions, without a browser.
#![allow(clippy::unwrap_used, clippy::panic)] // All of this is tests.
use kernelet::{
    data::{banana, digits_split},
    model::{self, json, native},
    prelude::*,
    request::Compress,
};
use kernelet_web::{Answer, Studio};
use serde_json::{Value, json};

fn quiet(_: &Progress) {}

fn asked(studio: &mut Studio, question: Value, file: &[u8]) -> (Value, Vec<u8>) {
    let Answer { text, bytes } = studio.answer(question.to_string().as_bytes(), file, quiet);
    (serde_json::from_str(&text).unwrap(), bytes)
}

fn error(studio: &mut Studio, question: Value, file: &[u8]) -> String {
    asked(studio, question, file).0["failed"].as_str().unwrap_or_else(|| panic!("nothing failed")).to_string()
}

const SETTINGS: &str = r#"{"gamma": "0.0004", "c": "10", "iterations": "5", "kernel": " "}"#;

fn settings() -> Value {
    serde_json::from_str(SETTINGS).unwrap()
}

fn banana_csv(rows: usize) -> String {
    let (data, mut text) = (banana(rows, 1), String::from("a,b,kind\n"));
    let (points, classes) = (data.points.to_dense(), data.classes().unwrap());
    for (row, code) in points.iter().zip(&classes.codes) {
        text += &format!("{},{},{}\n", row[0], row[1], classes.labels[*code as usize]);
    }
    text
}

#[test]
fn digits_are_trained_as_by_the_library() {
    let mut studio = Studio::default();
    let (opened, _) = asked(&mut studio, json!({"do": "digits"}), b"");
    assert_eq!((&opened["rows"]["rows"], &opened["rows"]["test_rows"], &opened["model"]), (&json!(1258), &json!(539), &Value::Null));
    assert_eq!(opened["rows"]["settings"], json!({"gamma": "0.0004", "c": "10"}));
    let (shown, bytes) = asked(&mut studio, json!({"do": "train", "settings": settings(), "vectors": 6}), b"");
    let request = Train::from_json(r#"{"gamma": 4e-4, "c": 10, "iterations": 5, "vectors": 6}"#).unwrap();
    let (train, test) = digits_split();
    let trained = request.run(&train, &Given::default(), &Watch::none()).unwrap();
    assert_eq!(&native::from_bytes(&bytes, "bytes").unwrap(), trained.machine());
    assert_eq!(shown["objective"].as_f64().unwrap(), trained.fit.report.objective);
    assert_eq!(shown["error"].as_f64().unwrap(), trained.machine().score(&test).unwrap().loss());
    assert_eq!((&shown["vectors"], &shown["machine"], &shown["image"]), (&json!(6), &json!(0), &json!([8, 8])));
    let rows: u64 = shown["confusion"].as_array().unwrap().iter().map(|cell| cell[2].as_u64().unwrap()).sum();
    assert_eq!((rows, shown["drawn"].as_array().unwrap().len(), shown["drawn"][0]["row"].as_array().unwrap().len()), (539, 6, 64));
    // The outputs of the test rows, all digits of them.
    let (_, csv) = asked(&mut studio, json!({"do": "outputs", "machine": 0}), b"");
    let text = String::from_utf8(csv).unwrap();
    let outputs = trained.machine().outputs_for(&test.points).unwrap();
    for (line, row) in text.lines().skip(1).zip(outputs.iter()) {
        assert_eq!(line.split(',').skip(1).map(|number| number.parse::<f64>().unwrap()).collect::<Vec<_>>(), row);
    }
    assert_eq!(text.lines().count(), 540);
    // One row, as it would be drawn.
    let (row, _) = asked(&mut studio, json!({"do": "row", "place": 539 + 4}), b"");
    let (predicted, _) = asked(&mut studio, json!({"do": "predict", "machine": 0, "row": row["row"]}), b"");
    assert_eq!((&row["place"], predicted["outputs"].as_array().unwrap().len()), (&json!(5), 10));
    assert_eq!(predicted["outputs"][3].as_f64().unwrap(), outputs.at(4, 3));
    assert_eq!(text.lines().nth(5).unwrap().split(',').next().unwrap(), format!("{:?}", predicted["label"].as_str().unwrap()));
}

#[test]
fn a_model_is_compressed_and_machines_come_back_after_a_stop() {
    let csv = banana_csv(120);
    let mut studio = Studio::default();
    asked(&mut studio, json!({"do": "open", "name": "b.csv"}), csv.as_bytes());
    let (full, bytes) = asked(&mut studio, json!({"do": "train", "settings": {"gamma": "1", "c": "10"}}), b"");
    assert_eq!(full["status"], "converged");
    let (small, kept) = asked(&mut studio, json!({"do": "compress", "settings": {"method": "pursuit"}, "vectors": 5}), b"");
    let machine = native::from_bytes(&bytes, "full").unwrap();
    let again = Compress::from_json(r#"{"method": "pursuit", "vectors": 5}"#).unwrap().run(&machine, None, None, &Watch::none()).unwrap();
    assert_eq!((&small["vectors"], native::from_bytes(&kept, "kept").unwrap().expansion), (&json!(5), again.machine.expansion));
    assert!(small["agreement"].as_f64().unwrap() > 0.5);
    // Another worker: the model and the machine come back from the page.
    let mut studio = Studio::default();
    let (opened, _) = asked(&mut studio, json!({"do": "open", "name": "full.model"}), &bytes);
    assert_eq!((&opened["rows"], &opened["model"]["vectors"]), (&Value::Null, &json!(machine.n_vectors())));
    asked(&mut studio, json!({"do": "open", "name": "b.csv"}), csv.as_bytes());
    let (back, _) = asked(&mut studio, json!({"do": "keep"}), &kept);
    assert_eq!((&back["machine"], &back["error"], &back["agreement"]), (&json!(0), &small["error"], &small["agreement"]));
    // A model of other rows is put away, and so are rows of another model.
    let (opened, _) = asked(&mut studio, json!({"do": "digits"}), b"");
    assert_eq!(opened["model"], Value::Null);
}

#[test]
fn every_format_is_the_librarys() {
    let mut studio = Studio::default();
    asked(&mut studio, json!({"do": "open", "name": "2 b.csv"}), banana_csv(90).as_bytes());
    let (_, bytes) = asked(&mut studio, json!({"do": "train", "settings": {"gamma": "1"}, "vectors": 4}), b"");
    let machine = native::from_bytes(&bytes, "bytes").unwrap();
    let mut get = |to: &str| asked(&mut studio, json!({"do": "export", "machine": 0, "to": to, "name": "2 b"}), b"");
    let names: Vec<String> = ["native", "json", "javascript", "c", "header", "onnx", "libsvm"]
        .iter()
        .map(|to| get(to).0["name"].as_str().unwrap().into())
        .collect();
    let stem = "model_2_b";
    assert_eq!(names, ["model", "json", "js", "c", "h", "onnx", "libsvm"].map(|extension| format!("{stem}.{extension}")));
    assert_eq!(get("native").1, bytes);
    assert_eq!(get("json").1, json::to_text(&machine).unwrap().into_bytes());
    assert_eq!(get("javascript").1, model::javascript::to_text(&machine).unwrap().into_bytes());
    assert!(String::from_utf8(get("c").1).unwrap().contains(&format!("#include \"{stem}.h\"")));
    assert_eq!(get("onnx").1, model::onnx::to_bytes(&machine, &model::onnx::Options::default()).unwrap().bytes);
}

#[test]
fn tables_have_a_target_a_plane_and_rows_that_are_typed() {
    let mut studio = Studio::default();
    let table = "size,colour,price\n1,red,2.0\n2,blue,4.1\n3,red,6.2\n4,\"dark, blue\",7.9\n5,red,10\n6,blue,12.1\n7,red,14\n8,blue,16\n9,red,18\n10,blue,20\n";
    let settings = json!({"learner": "ridge"});
    let (opened, _) = asked(&mut studio, json!({"do": "open", "name": "t.csv", "settings": settings}), table.as_bytes());
    assert_eq!((&opened["rows"]["task"], &opened["rows"]["columns"]), (&json!("values"), &json!(["size", "colour"])));
    let (shown, _) = asked(&mut studio, json!({"do": "train", "settings": settings}), b"");
    assert_eq!((&shown["task"], shown["error"].is_number()), (&json!("values"), true));
    let (predicted, _) = asked(&mut studio, json!({"do": "predict", "machine": 0, "row": "3,\"dark, blue\""}), b"");
    assert!(predicted["values"][0].is_number() && predicted["label"].is_null(), "{predicted}");
    assert!(error(&mut studio, json!({"do": "row", "place": 0}), b"").contains("columns of text"));
    // Another target: the column is a class then.
    let (opened, _) = asked(&mut studio, json!({"do": "open", "name": "t.csv", "target": "colour"}), table.as_bytes());
    assert_eq!(opened["rows"]["columns"], json!(["size", "price"]));
    // Two features have a plane, with the classes of the rows.
    asked(&mut studio, json!({"do": "open", "name": "b.csv"}), banana_csv(60).as_bytes());
    let (shown, _) = asked(&mut studio, json!({"do": "train", "settings": {}, "vectors": 3}), b"");
    let plane = &shown["plane"];
    let side = plane["side"].as_u64().unwrap() as usize;
    assert_eq!((plane["cells"].as_array().unwrap().len(), &plane["names"]), (side * side, &json!(["a", "b"])));
    // Test rows of their own free the others for training.
    let before = asked(&mut studio, json!({"do": "test", "name": "b2.csv"}), banana_csv(30).as_bytes()).0;
    assert_eq!((&before["rows"]["rows"], &before["rows"]["test_rows"]), (&json!(60), &json!(30)));
}

#[test]
fn whatever_is_asked_the_answer_is_a_sentence() {
    let mut studio = Studio::default();
    assert!(error(&mut studio, json!({"do": "fly"}), b"").starts_with("this is no question"));
    assert!(error(&mut studio, json!({"do": "train", "settings": {}, "vectors": 3}), b"").contains("open rows"));
    assert!(error(&mut studio, json!({"do": "compress", "settings": {}, "vectors": 3}), b"").contains("open a model"));
    assert!(error(&mut studio, json!({"do": "export", "machine": 7, "to": "c", "name": "a"}), b"").contains("no such machine"));
    assert!(error(&mut studio, json!({"do": "open", "name": "a.doc"}), b"1,2").contains("extension .doc"));
    assert!(error(&mut studio, json!({"do": "open", "name": "a.model"}), b"").contains("extension"));
    asked(&mut studio, json!({"do": "open", "name": "b.csv"}), banana_csv(60).as_bytes());
    let train = |settings: Value, vectors: usize| json!({"do": "train", "settings": settings, "vectors": vectors});
    assert!(error(&mut studio, train(json!({"gamma": "wide"}), 3), b"").contains("gamma"));
    assert!(error(&mut studio, train(json!({"colour": "red"}), 3), b"").contains("no setting colour"));
    assert!(error(&mut studio, train(json!({}), 0), b"").contains("vectors"));
    asked(&mut studio, train(json!({}), 3), b"");
    for row in ["", "1", "1,2,3", "a,b", "1,nan"] {
        assert!(!error(&mut studio, json!({"do": "predict", "machine": 0, "row": row}), b"").is_empty(), "{row:?}");
    }
    assert_eq!(studio.answer(b"", b"", quiet).bytes, b"");
}

#[test]
fn sizes_lead_to_the_largest_and_every_setting_has_a_field() {
    let mut studio = Studio::default();
    assert_eq!(asked(&mut studio, json!({"do": "sizes", "largest": 30}), b"").0, json!([1, 2, 3, 4, 6, 8, 11, 16, 23, 30]));
    assert_eq!(asked(&mut studio, json!({"do": "sizes", "largest": 0}), b"").0, json!([1]));
    let (fields, _) = asked(&mut studio, json!({"do": "fields"}), b"");
    let names =
        |of: &str| fields[of].as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap().to_string()).collect::<Vec<_>>();
    assert!(["learner", "kernel", "gamma", "c", "scale"].iter().all(|name| names("train").iter().any(|other| other == name)));
    assert!(["method", "effort"].iter().all(|name| names("compress").iter().any(|other| other == name)));
    assert!(!names("train").iter().any(|name| name == "vectors" || name == "checkpoint"));
}
