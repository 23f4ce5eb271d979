//! `reproduce`: what is run, what is shown and what is written.
use serde_json::Value;

use crate::program::{Folder, run};

/// The experiments that need no data.
const GENERATED: [&str; 9] = [
    "diethe2015-generated",
    "franc2003-figure1",
    "franc2003-section3",
    "generated-svm",
    "weston2004-averages",
    "weston2004-coupling",
    "weston2004-densities",
    "weston2004-figure1",
    "weston2004-section5",
];

/// Two small sets that are drawn, with printed values that are right for neither.
const TINY: &str = "
title = 'A tiny experiment'
paper = 'No paper, Table 0'
note = 'It is small.'
splits = 3
seed = 7

[[methods]]
name = 'svm'
train = { gamma = '{gamma}', c = '{c}' }

[[sets]]
name = 'banana'
generator = 'banana'
train = 60
test = 200
values = { gamma = 1, c = 10 }
printed.svm = { error = 99, vectors = 1 }

[[sets]]
name = 'waves'
generator = 'waveform'
train = 50
test = 100
scale = 'standard'
values = { width = 20, c = 10 }
";

/// The JSON without the times, which differ from run to run.
fn without_times(mut json: Value) -> Value {
    json["seconds"].take();
    json["command"].take();
    for cell in json["experiments"].as_array_mut().unwrap().iter_mut().flat_map(|outcome| outcome["cells"].as_array_mut().unwrap()) {
        cell["seconds"].take();
    }
    json
}

#[test]
fn the_list_has_what_each_experiment_needs() {
    let list = run(&["reproduce", "list"]).succeeded();
    let line = |name: &str| list.lines().into_iter().find(|line| line.starts_with(name)).unwrap().to_string();
    assert!(line("generated-svm ").contains(" nothing "), "{list:?}");
    assert!(line("wu2006-table3 ").contains(" data "), "{list:?}");
    let json = run(&["reproduce", "list", "--json"]).json();
    let ida = json["experiments"].as_array().unwrap().iter().find(|known| known["name"] == "ida-svm").unwrap().clone();
    assert_eq!((ida["needs"].as_str(), ida["sets"].as_array().unwrap().len()), (Some("data"), 13));
}

#[test]
fn json_has_every_cell_and_every_row() {
    let folder = Folder::new();
    let json = run(&["reproduce", &folder.file("tiny.toml", TINY), "--json"]).json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json["command"].as_str().unwrap().starts_with("kernelet reproduce ") && json["seconds"].is_f64());
    assert_eq!((json["skipped"].as_array().unwrap().len(), json["files"].as_array().unwrap().len()), (0, 0));
    let outcome = &json["experiments"][0];
    assert_eq!((&outcome["name"], &outcome["splits"], &outcome["note"]), (&"tiny".into(), &3.into(), &"It is small.".into()));
    let cells = outcome["cells"].as_array().unwrap();
    let places: Vec<(&str, u64)> = cells.iter().map(|cell| (cell["set"].as_str().unwrap(), cell["split"].as_u64().unwrap())).collect();
    assert_eq!(places, [("banana", 1), ("banana", 2), ("banana", 3), ("waves", 1), ("waves", 2), ("waves", 3)]);
    assert!(cells.iter().all(|cell| cell["method"] == "svm" && cell["status"] == "converged" && cell["vectors"].as_u64() > Some(5)));
    assert_eq!((&cells[3]["train_rows"], &cells[3]["test_rows"]), (&50.into(), &100.into()));
    let rows = outcome["rows"].as_array().unwrap();
    let errors: Vec<f64> = cells[..3].iter().map(|cell| cell["error"].as_f64().unwrap()).collect();
    assert!((rows[0]["error_percent"]["mean"].as_f64().unwrap() - 100.0 * errors.iter().sum::<f64>() / 3.0).abs() < 1e-9);
    assert!(errors.iter().all(|error| (0.05..0.35).contains(error)) && errors[0] != errors[1], "{errors:?}");
    assert_eq!((&rows[0]["error_percent"]["printed"], &rows[0]["error_percent"]["differs"]), (&99.0.into(), &true.into()));
    assert_eq!((&rows[1]["gamma"], &rows[1]["c"], &rows[1]["vectors"]["printed"]), (&0.05.into(), &10.0.into(), &Value::Null));
}

#[test]
fn any_number_of_threads_gives_the_same_cells_and_another_seed_gives_others() {
    let folder = Folder::new();
    let file = folder.file("tiny.toml", TINY);
    let with = |flags: &[&str]| without_times(run(&[&["reproduce", &file, "--json"], flags].concat()).json());
    let one = with(&["--threads", "1"]);
    assert_eq!(one, with(&["--threads", "2"]));
    assert_ne!(one, with(&["--seed", "1"]));
}

#[test]
fn the_table_marks_what_differs_and_the_files_have_their_command() {
    let folder = Folder::new();
    let (file, results) = (folder.file("tiny.toml", TINY), folder.path("new/results"));
    let ran = run(&["reproduce", &file, "--splits", "2", "-o", &results]).succeeded();
    assert!(ran.out.contains("99 *") && ran.out.contains("* differs from") && ran.out.contains(" +- "), "{}", ran.out);
    assert!(ran.out.contains("It is small.") && ran.out.contains(&format!("written: {results}/tiny.md, {results}/tiny.csv")));
    let [page, cells] = ["md", "csv"].map(|extension| std::fs::read_to_string(format!("{results}/tiny.{extension}")).unwrap());
    let command = format!("kernelet reproduce {file} --splits 2 -o {results}\n");
    for text in [&page, &cells] {
        let version = format!("kernelet {}, 2 splits", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&command) && text.contains(&version), "{text}");
    }
    assert!(page.contains("| error % | banana | waves |\n|---|--:|--:|\n| svm | ") && page.contains("(99 \\*)"), "{page}");
    assert_eq!(cells.lines().filter(|line| !line.starts_with('#')).count(), 1 + 4, "{cells}");
    assert_eq!(std::fs::read_dir(&results).unwrap().count(), 3);
    let single = run(&["reproduce", &file, "--splits", "1"]).succeeded().out;
    // One split has the binomial standard error of its test rows.
    assert!(single.contains(" +- ") && single.contains("99 *"), "{single}");
}

#[test]
fn the_generated_experiments_run_without_data_and_the_others_are_named() {
    let generated = run(&["reproduce", "all", "--generated", "--splits", "1", "--seeds", "1", "--json"]).json();
    let names = |json: &Value, key: &str| -> Vec<String> {
        json[key].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names(&generated, "experiments"), GENERATED);
    let all = run(&["reproduce", "all", "--splits", "1", "--seeds", "1", "--json"]).json();
    assert_eq!(names(&all, "experiments"), GENERATED);
    assert!(names(&all, "skipped").contains(&"ida-svm".into()), "{all}");
}

#[test]
fn wrong_usage_is_reported() {
    let folder = Folder::new();
    let file = folder.file("tiny.toml", TINY);
    let cases: [(&[&str], &str); 7] = [
        (&["no-such"], "there is no experiment \"no-such\""),
        (&[&file, "--splits", "0"], "0 is not in 1..=10000"),
        (&[&file, "--splits", "some"], "invalid value 'some'"),
        (&["ida-svm"], "ida-svm cannot run: it needs data; name their directory with --data-dir"),
        (&["ida-svm", "--generated"], "ida-svm cannot run: it needs data, its rows are not drawn"),
        (&["all", "--generated", "--data-dir", "x"], "cannot be used with"),
        (&[], "required arguments were not provided"),
    ];
    for (arguments, words) in cases {
        run(&[&["reproduce"], arguments].concat()).failed(2, words);
    }
    let hint = run(&["reproduce", "ida-svm"]).err;
    assert!(hint.contains(&format!("hint: with what there is still run: {}", GENERATED.join(", "))), "{hint}");
}

#[test]
fn bad_descriptions_and_places_to_write_are_reported() {
    let folder = Folder::new();
    run(&["reproduce", &folder.path("none.toml")]).failed(1, "none.toml: there is no such file");
    run(&["reproduce", &folder.file("a.toml", "title = ")]).failed(1, "a.toml: ");
    run(&["reproduce", &folder.file("b.toml", TINY.replace("splits = 3", "splits = 0"))]).failed(1, "b.toml: splits is 0");
    let bad = folder.file("c.toml", TINY.replace("c = 10", "c = -1"));
    run(&["reproduce", &bad]).failed(1, "set banana: method svm: c is -1, but must be a finite number above 0");
    let file = folder.file("tiny.toml", TINY);
    run(&["reproduce", &file, "-o", &file]).failed(1, "error: ");
}
