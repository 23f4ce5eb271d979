//! Tables as they come: text and missing values in CSV become features, in training and for every command that reads rows.
use std::fs;

use crate::program::{Folder, Ran, run, run_with_input};

/// One row of a table in the manner of a census: what stands in the file, and the same encoded by hand.
struct Person {
    age: Option<f64>,
    job: Option<&'static str>,
    hours: f64,
    sex: &'static str,
}

const JOBS: [&str; 4] = ["Clerk", "Craft, repair", "Sales", "Tech-support"];

fn people(n: usize) -> Vec<Person> {
    let person = |i: usize| Person {
        age: (i % 11 != 3).then(|| 20.0 + (i * 7 % 45) as f64),
        job: (i % 13 != 5).then(|| JOBS[i * 5 % 4]),
        hours: 20.0 + (i * 3 % 31) as f64 / 2.0,
        sex: ["Female", "Male"][i / 3 % 2],
    };
    (0..n).map(person).collect()
}

impl Person {
    fn pay(&self) -> &'static str {
        let more = self.age.unwrap_or(30.0) + self.hours > 68.0 || self.job == Some("Tech-support");
        if more { ">50K" } else { "<=50K" }
    }

    fn line(&self, id: usize) -> String {
        let age = self.age.map_or("?".to_string(), |age| age.to_string());
        let job = self.job.map_or(String::new(), |job| format!("\"{job}\""));
        format!("p{id},{age}, {job},{},{},{}\r\n", self.hours, self.sex, self.pay()).replace(", \"", ",\"")
    }

    fn encoded(&self, median: f64) -> String {
        let flag = |on: bool| f64::from(u8::from(on)).to_string();
        let mut fields = vec![self.age.unwrap_or(median).to_string(), flag(self.age.is_none())];
        fields.extend(JOBS.iter().map(|job| flag(self.job == Some(job))));
        fields.extend([flag(self.job.is_none()), self.hours.to_string(), flag(self.sex == "Female"), flag(self.sex == "Male")]);
        format!("{},{}\n", fields.join(","), self.pay())
    }
}

const HEADER: &str = "id,age,job,hours,sex,pay\r\n";
const ENCODED: [&str; 10] = [
    "age",
    "age=missing",
    "job=Clerk",
    "job=Craft, repair",
    "job=Sales",
    "job=Tech-support",
    "job=missing",
    "hours",
    "sex=Female",
    "sex=Male",
];
const SETTINGS: [&str; 6] = ["--scale", "standard", "--gamma", "0.1", "--c", "10"];

fn census(people: &[Person]) -> String {
    HEADER.to_string() + &people.iter().enumerate().map(|(i, person)| person.line(i)).collect::<String>()
}

fn median(people: &[Person]) -> f64 {
    let mut ages: Vec<f64> = people.iter().filter_map(|person| person.age).collect();
    ages.sort_by(f64::total_cmp);
    let middle = ages.len() / 2;
    if ages.len() % 2 == 1 { ages[middle] } else { (ages[middle - 1] + ages[middle]) / 2.0 }
}

fn train(data: &str, model: &str, more: &[&str]) -> Ran {
    run(&[&["train", data, "-o", model][..], &SETTINGS, more].concat())
}

/// A model of the census, trained without the id.
fn model(folder: &Folder) -> String {
    let (data, model) = (folder.file("census.csv", census(&people(120))), folder.path("census.model"));
    train(&data, &model, &["--ignore", "id"]).succeeded();
    model
}

fn decisions(model: &str, data: &str) -> Ran {
    run(&["predict", model, data, "--values", "decision"]).succeeded()
}

#[test]
fn a_table_is_trained_on_and_predicted_as_if_it_had_been_encoded_by_hand() {
    let folder = Folder::new();
    let (people, fresh) = (people(120), people(200));
    let by_hand = |people: &[Person], median: f64| {
        let quoted: Vec<String> = ENCODED.iter().map(|name| format!("\"{name}\"")).collect();
        format!("{},pay\n", quoted.join(",")) + &people.iter().map(|person| person.encoded(median)).collect::<String>()
    };
    let (data, raw) = (folder.file("census.csv", census(&people)), folder.file("fresh.csv", census(&fresh)));
    let hand = folder.file("hand.csv", by_hand(&people, median(&people)));
    let hand_fresh = folder.file("hand-fresh.csv", by_hand(&fresh, median(&people)));
    let (model, hand_model) = (folder.path("m"), folder.path("h"));
    let ran = train(&data, &model, &["--ignore", "id"]).succeeded();
    let note = "2 text columns became 7 indicator features; 1 column has missing values (imputed by the median, with an indicator)";
    assert!(ran.err.contains(note), "{}", ran.err);
    train(&hand, &hand_model, &[]).succeeded();
    assert_eq!(decisions(&model, &raw).out, decisions(&hand_model, &hand_fresh).out);
    let error = |model: &str, data: &str| run(&["evaluate", model, data, "--json"]).json()["error"].clone();
    assert_eq!(error(&model, &raw), error(&hand_model, &hand_fresh));
    assert!(fs::metadata(&hand_model).unwrap().len() < fs::metadata(&model).unwrap().len());
}

#[test]
fn columns_may_come_in_another_order_with_new_categories_and_new_gaps() {
    let folder = Folder::new();
    let model = model(&folder);
    let plain = folder.file("plain.csv", "age,job,hours,sex\n30,Sales,33,Male\n41,?,20.5,Female\n");
    let moved = folder.file("moved.csv", "sex;extra;hours;job;age\nMale;x;33;Sales;30\nFemale;y;20.5;?;41\n");
    assert_eq!(decisions(&model, &moved).out, decisions(&model, &plain).out);
    let new = folder.file("new.csv", "age,job,hours,sex\n30,Pilot,33,Male\n41,Sales,,Female\n41,Judge,,Female\n");
    let ran = decisions(&model, &new);
    assert_eq!(ran.lines().len(), 4);
    assert!(ran.err.contains("2 values of \"job\" not seen in training, first \"Pilot\""), "{}", ran.err);
    assert!(ran.err.contains("2 missing values of \"hours\", which has none in training, imputed by the median"), "{}", ran.err);
    let input = fs::read(&plain).unwrap();
    assert_eq!(
        run_with_input(&["predict", &model, "-", "--format", "csv", "--values", "decision"], &input).out,
        decisions(&model, &plain).out
    );
}

#[test]
fn many_rows_are_encoded_in_blocks_and_new_categories_counted_over_all() {
    let folder = Folder::new();
    let model = model(&folder);
    let rows: String =
        (0..60_000).map(|i| format!("{},{},33,Male\n", 20 + i % 50, if i % 10_000 == 7 { "Pilot" } else { "Sales" })).collect();
    let data = folder.file("many.csv", format!("age,job,hours,sex\n{rows}"));
    let ran = run(&["predict", &model, &data]).succeeded();
    assert_eq!(ran.lines().len(), 60_000);
    assert!(
        ran.err.contains("6 values of \"job\" not seen in training, first \"Pilot\"") && ran.err.matches("note:").count() == 1,
        "{}",
        ran.err
    );
}

#[test]
fn compressed_models_keep_the_table_and_every_command_reads_raw_rows() {
    let folder = Folder::new();
    let (model, data) = (model(&folder), folder.path("census.csv"));
    let small = folder.path("small.model");
    run(&["compress", &model, "-o", &small, "--vectors", "8", "--data", &data, "--test", &data]).succeeded();
    let table = |model: &str| run(&["inspect", model, "--json"]).json()["table"].clone();
    assert!(table(&small).is_object() && table(&small) == table(&model));
    let agreement = run(&["evaluate", &small, &data, "--against", &model, "--json"]).json()["agreement"].as_f64().unwrap();
    assert!(agreement > 0.8, "{agreement}");
    let json = folder.path("m.json");
    run(&["export", &small, "-o", &json, "--to", "json"]).succeeded();
    assert_eq!(decisions(&json, &data).out, decisions(&small, &data).out);
    run(&["report", &model, "--data", &data, "--test", &data, "-o", &folder.path("r.html")]).succeeded();
}

#[test]
fn inspect_lists_the_columns() {
    let folder = Folder::new();
    let model = model(&folder);
    let json = run(&["inspect", &model, "--json"]).json();
    assert_eq!(json["names"], serde_json::json!(ENCODED));
    assert!(json["facts"]["table"].is_null());
    let columns = &json["table"]["columns"];
    assert_eq!((&columns[0], &columns[1]["flagged"]), (&serde_json::json!({"kind": "ignored", "name": "id"}), &true.into()));
    assert_eq!(columns[2]["categories"], serde_json::json!([JOBS[0], JOBS[1], JOBS[2], JOBS[3], "missing"]));
    let text = run(&["inspect", &model]).succeeded().out;
    for line in [
        "column  kind     features",
        "id      ignored  0",
        "job     text     5         a category",
        "sex     text     2         no indicator",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let found = text.lines().any(|line| line.split_whitespace().take(words.len()).eq(words.iter().copied()));
        assert!(found, "{line:?} is not in {text}");
    }
}

#[test]
fn exports_for_devices_name_the_encoded_features() {
    let folder = Folder::new();
    let data = folder.file("words.csv", census(&people(120)).replace("<=50K", "low").replace(">50K", "high"));
    let (model, source) = (folder.path("m"), folder.path("census.c"));
    train(&data, &model, &["--ignore", "id"]).succeeded();
    let ran = run(&["export", &model, "-o", &source, "--to", "c"]).succeeded();
    assert!(ran.err.contains("the encoding of the table"), "{}", ran.err);
    let header = fs::read_to_string(folder.path("census.h")).unwrap();
    assert!(header.contains(" *   [1] age=missing\n *   [2] job=Clerk\n"), "{header}");
    let graph = folder.path("census.onnx");
    run(&["export", &model, "-o", &graph, "--to", "onnx"]).succeeded();
    let bytes = String::from_utf8_lossy(&fs::read(&graph).unwrap()).into_owned();
    assert!(bytes.contains("rows are encoded rows of a table, with the features age, age=missing, job=Clerk"));
}

#[test]
fn complete_numbers_store_no_table_and_predict_as_strictly_as_before() {
    let folder = Folder::new();
    let data = folder.file("a.csv", "x,y,z\n1,2,a\n3,4,b\n2,1,a\n5,4,b\n");
    let model = folder.path("m");
    run(&["train", &data, "-o", &model]).succeeded();
    assert!(run(&["inspect", &model, "--json"]).json()["table"].is_null());
    let gap = folder.file("gap.csv", "x,y\n1,2\n3,NaN\n");
    run(&["predict", &model, &gap]).failed(1, "gap.csv, line 3, column 2: the value of \"y\" is missing (NaN)");
    let word = folder.file("word.csv", "x,y\n1,2\n3,red\n");
    run(&["predict", &model, &word]).failed(1, "word.csv, line 3, column 2: the value \"red\" of \"y\" is not a number");
}

#[test]
fn bad_tables_are_rejected_with_the_place() {
    let folder = Folder::new();
    let model = model(&folder);
    let refused = |name: &str, content: &str, words: &str| {
        let data = folder.file(name, content);
        run(&["predict", &model, &data]).failed(1, words);
    };
    refused(
        "b.csv",
        "age,job,sex\n1,x,Male\n",
        "b.csv: there is no column \"hours\", which the model needs; the columns are age, job, sex",
    );
    refused(
        "c.csv",
        "age,job,hours,sex\n1,x,2,Male\n1,x,many,Male\n",
        "c.csv, line 3, column 3: the value \"many\" of \"hours\" is not a number",
    );
    refused("d.csv", "age,job,hours,sex\n1,x,2,Male\n1,x,2\n", "d.csv, line 3: this row has 3 fields, but the first row has 4");
    refused("e.csv", "age,job,hours,sex\n1,x,inf,Male\n", "e.csv, line 2, column 3: the value \"inf\" of \"hours\" is not a finite number");
    let data = folder.path("census.csv");
    let hint =
        "census.csv: the column \"id\" has 120 different texts in 120 rows, too many to be categories; leave it out with --ignore id";
    train(&data, &folder.path("n"), &[]).failed(1, hint);
    let gap = folder.file("gap.csv", "job,hours,wage\nx,1,2.5\ny,2,NA\n");
    let ridge = run(&["train", &gap, "-o", &folder.path("n"), "--learner", "ridge"]);
    ridge.failed(1, "gap.csv, line 3, column 3: the value of \"wage\" is missing (NA)");
    let sparse = folder.file("a.svm", "1 1:1\n2 1:2\n");
    train(&sparse, &folder.path("n"), &["--ignore", "1"]).failed(1, "a.svm: only tables, CSV and Parquet, have columns to ignore");
    train(&data, &folder.path("n"), &["--ignore", "id,gone"]).failed(1, "census.csv: there is no column \"gone\" to ignore");
    assert!(!folder.names().contains(&"n".to_string()));
}

#[test]
fn a_table_without_a_header_is_found_by_the_numbers_of_its_columns() {
    let folder = Folder::new();
    let body = |people: &[Person]| people.iter().enumerate().map(|(i, person)| person.line(i)).collect::<String>();
    let data = folder.file("bare.csv", body(&people(120)));
    let (model, named) = (folder.path("m"), model(&folder));
    train(&data, &model, &["--ignore", "1"]).succeeded();
    let fresh = folder.file("fresh.csv", body(&people(40)));
    assert_eq!(decisions(&model, &fresh).out, decisions(&named, &folder.file("named.csv", census(&people(40)))).out);
    assert_eq!(run(&["inspect", &model, "--json"]).json()["names"][1], "column 2=missing");
}

/// The features of a machine that starts from another are those of that one, whatever rows it is trained on.
#[test]
fn training_from_a_start_keeps_its_columns_and_categories() {
    let folder = Folder::new();
    let start = model(&folder);
    // Fewer categories, no gaps, a new job, and the columns in another order.
    let line = |(i, person): (usize, &Person)| {
        let job = if i == 0 { "Pilot" } else { person.job.filter(|job| *job == "Sales").unwrap_or("Clerk") };
        format!("{},{},{job},{},{}\n", person.sex, person.age.unwrap_or(30.0), person.hours, person.pay())
    };
    let lines: String = people(150).iter().enumerate().skip(30).map(|(i, person)| line((i - 30, person))).collect();
    let data = folder.file("later.csv", format!("sex,age,job,hours,pay\n{lines}"));
    let features = |model: &str| run(&["inspect", model, "--json"]).succeeded().json()["table"].clone();
    for more in [&[][..], &["--vectors", "6"], &["--vectors", "6", "--reservoir", "100"], &["--vectors", "6", "--blocks", "always"]] {
        let (census, from, later) = (folder.path("census.csv"), folder.path("from.model"), folder.path("later.model"));
        let shaped = [&["train", &census, "-o", &from, "--ignore", "id"][..], &SETTINGS, if more.is_empty() { &[] } else { &more[..2] }];
        run(&shaped.concat()).succeeded();
        let ran = train(&data, &later, &[&["--start", &from][..], more].concat()).succeeded();
        assert!(ran.err.contains("1 value of \"job\" not seen in training, first \"Pilot\""), "{more:?}: {}", ran.err);
        assert_eq!(features(&later), features(&from), "{more:?}");
        decisions(&later, &folder.path("census.csv"));
    }
    let ran = train(&data, &folder.path("x.model"), &["--vectors", "6", "--reservoir", "100"]);
    assert!(ran.err.contains("need a model of the table with --start"), "{}", ran.err);
    let ran = train(&data, &folder.path("x.model"), &["--start", &start, "--ignore", "age"]);
    ran.failed(1, "column 2, \"age\" is a feature of the model and cannot be ignored");
}
