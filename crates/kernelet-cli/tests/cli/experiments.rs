//! What a description of an experiment can ask for: parts, sizes, compression, choices, pictures, and a run that goes on.
use std::fs;

use serde_json::Value;

use crate::program::{Folder, run};

const HEAD: &str = "title = 't'\npaper = 'p'\nsplits = 2\n";
const SET: &str = "[[sets]]\nname = 'banana'\ngenerator = 'banana'\ntrain = 60\ntest = 100\nvalues = { gamma = 1, c = 10 }\n";
const SVM: &str = "[[methods]]\nname = 'svm'\ntrain = { gamma = '{gamma}', c = '{c}' }\n";

fn rows(text: &str) -> Vec<Value> {
    let folder = Folder::new();
    let json = run(&["reproduce", &folder.file("e.toml", text), "--json"]).json();
    json["experiments"][0]["rows"].as_array().unwrap().clone()
}

fn mean(rows: &[Value], method: &str, key: &str) -> f64 {
    rows.iter().find(|row| row["method"] == method).unwrap()[key]["mean"].as_f64().unwrap()
}

#[test]
fn methods_have_parts_of_a_machine_and_are_compressed() {
    let text = format!(
        "{HEAD}columns = ['train_error', 'residual', 'rows']\n{SVM}\
         [[methods]]\nname = 'part'\ntrain = {{ gamma = '{{gamma}}', c = '{{c}}', method = 'random', vectors = '{{part}}' }}\npart = 0.5\nof = {{ gamma = '{{gamma}}', c = '{{c}}' }}\n\
         [[methods]]\nname = 'rows'\ntrain = {{ gamma = '{{gamma}}', c = '{{c}}', method = 'random', vectors = '{{part}}' }}\npart = 0.1\n\
         [[methods]]\nname = 'pursuit {{size%}}'\ntrain = {{ gamma = '{{gamma}}', c = '{{c}}' }}\ncompress = {{ method = 'pursuit', fraction = '{{size}}' }}\neach = {{ size = [0.2, 1] }}\n{SET}"
    );
    let rows = rows(&text);
    let vectors = |method: &str| mean(&rows, method, "vectors");
    assert!((vectors("part") - vectors("svm") / 2.0).abs() <= 0.5 && vectors("rows") == 6.0, "{rows:?}");
    assert!(vectors("pursuit 100%") == vectors("svm") && vectors("pursuit 20%") < 0.25 * vectors("svm"));
    assert_eq!(mean(&rows, "pursuit 100%", "error_percent"), mean(&rows, "svm", "error_percent"));
    assert!(mean(&rows, "pursuit 20%", "relative_residual") > mean(&rows, "pursuit 100%", "relative_residual") + 0.01);
    assert_eq!(mean(&rows, "svm", "rows"), 60.0);
    assert!(mean(&rows, "svm", "train_error_percent") < mean(&rows, "pursuit 20%", "train_error_percent") + 1e-9);
}

#[test]
fn values_are_chosen_by_test_rows_or_by_folds_and_reported() {
    for by in ["test", "folds"] {
        let text = format!(
            "{HEAD}[[choose]]\nvalues = {{ times = [1e-6, 1] }}\nmethods = ['svm']\nalso = ['*']\nby = '{by}'\nsplits = 2\n\
             [[methods]]\nname = 'svm'\ntrain = {{ gamma = '{{gamma}}', c = '{{c*times}}' }}\n\
             [[methods]]\nname = 'other'\ntrain = {{ gamma = '{{gamma}}', c = '{{c*times}}' }}\n{SET}"
        );
        let folder = Folder::new();
        let json = run(&["reproduce", &folder.file("e.toml", &text), "--json"]).json();
        let outcome = &json["experiments"][0];
        // A cost of nearly nothing makes a machine that always says the same.
        assert_eq!(outcome["chosen"]["banana"]["other"]["times"], 1.0, "{outcome}");
        assert!(outcome["rows"][0]["error_percent"]["mean"].as_f64().unwrap() < 30.0);
        assert_eq!(outcome["rows"][0]["error_percent"], outcome["rows"][1]["error_percent"]);
    }
}

#[test]
fn an_analysis_of_variance_finds_what_matters() {
    let text = format!(
        "{HEAD}variance = ['gamma', 'tolerance']\n[[methods]]\nname = '{{gamma}} {{tolerance}}'\ntrain = {{ gamma = '{{gamma}}', c = 10, tolerance = '{{tolerance}}' }}\n\
         each = {{ gamma = [1, 1e6], tolerance = [1e-3, 1e-4] }}\n[[sets]]\nname = 'a'\ngenerator = 'banana'\ntrain = 60\ntest = 100\n\
         [[sets]]\nname = 'b'\ngenerator = 'banana'\ntrain = 80\ntest = 100\n"
    );
    let folder = Folder::new();
    let json = run(&["reproduce", &folder.file("e.toml", text), "--json"]).json();
    let effects = json["experiments"][0]["variance"]["effects"].as_array().unwrap();
    let p: Vec<(&str, f64)> = effects.iter().map(|effect| (effect["factor"].as_str().unwrap(), effect["p"].as_f64().unwrap())).collect();
    assert_eq!(p.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["set", "gamma", "tolerance"]);
    assert!(p[1].1 < 1e-3 && p[2].1 > 0.5, "{p:?}");
}

#[test]
fn pictures_are_drawn_and_named_on_the_page() {
    let text = format!(
        "{HEAD}[[figures]]\nname = 'error'\nlevels = ['svm']\n[[figures]]\nname = 'spread'\nkind = 'boxes'\nover_sets = true\n{SVM}\
         [[methods]]\nname = 'basis {{size}}'\ntrain = {{ gamma = '{{gamma}}', c = '{{c}}', method = 'greedy-basis', vectors = '{{size}}' }}\neach = {{ size = [3, 9] }}\n\
         draw = {{ boundary = 'svm' }}\n{SET}"
    );
    let folder = Folder::new();
    let results = folder.path("results");
    let ran = run(&["reproduce", &folder.file("e.toml", &text), "-o", &results]).succeeded();
    let page = fs::read_to_string(folder.path("results/e.md")).unwrap();
    for name in ["e-error-banana.svg", "e-spread.svg", "e-banana-basis-3.svg", "e-banana-basis-9.svg"] {
        let picture = fs::read_to_string(folder.path(&format!("results/{name}"))).unwrap();
        assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"), "{name}");
        assert!(page.contains(&format!("![{name}](<{name}>)")) && ran.out.contains(name), "{name}");
    }
    let images = text.replace("boundary = 'svm'", "images = '1x2'");
    run(&["reproduce", &folder.file("e.toml", images), "-o", &results]).succeeded();
    assert!(fs::read(folder.path("results/e-banana-basis-3.png")).unwrap().starts_with(b"\x89PNG"));
    let wrong = text.replace("levels = ['svm']", "levels = ['svn']");
    run(&["reproduce", &folder.file("e.toml", wrong)]).failed(1, "figure error: there is no line svn");
}

#[test]
fn a_run_goes_on_where_another_was_and_begins_anew_where_something_changed() {
    let folder = Folder::new();
    let (results, journal) = (folder.path("results"), folder.path("results/e.jsonl"));
    let file = folder.file("e.toml", format!("{HEAD}{SVM}{SET}"));
    let again = |flags: &[&str]| run(&[&["reproduce", &file, "-o", &results, "--json"], flags].concat());
    let error = |json: &Value, split: usize| json["experiments"][0]["cells"][split]["error"].as_f64().unwrap();
    let first = again(&[]).json();
    // An error that no run computes shows that the first cell was reused; the second was cut off.
    let lines: Vec<String> = fs::read_to_string(&journal).unwrap().lines().map(String::from).collect();
    assert_eq!(lines.len(), 3);
    let mut cell: Value = serde_json::from_str(lines.iter().find(|line| line.contains("\"split\":1,")).unwrap()).unwrap();
    cell["cell"]["error"] = 0.875.into();
    fs::write(&journal, format!("{}\n{cell}\n{{\"cell\":{{\"set\":\"ban", lines[0])).unwrap();
    let second = again(&[]);
    assert!(second.err.contains("1 cell of an earlier run"), "{}", second.err);
    assert_eq!((error(&second.json(), 0), error(&second.json(), 1)), (0.875, error(&first, 1)));
    // More splits take what there is; another seed does not.
    assert_eq!(error(&again(&["--splits", "3"]).json(), 0), 0.875);
    let other = again(&["--seed", "5"]);
    assert!(other.err.contains("all cells are computed anew") && error(&other.json(), 0) != 0.875, "{}", other.err);
    let none = folder.file("none", "");
    run(&["reproduce", &file, "-o", &none]).failed(1, "none: ");
}

#[test]
fn choices_follow_one_another_and_a_median_is_that_of_values() {
    let both = format!(
        "{HEAD}[[choose]]\nvalues = {{ a = [1, 0.25] }}\nmethods = ['svm']\nby = 'test'\nsplits = 1\n\
         [[choose]]\nvalues = {{ b = [10] }}\nmethods = ['svm']\nby = 'test'\nsplits = 1\n\
         [[methods]]\nname = 'svm'\ntrain = {{ gamma = '{{a}}', c = '{{b}}' }}\n{SET}"
    );
    let folder = Folder::new();
    // The second choice has no b for the first one, so that the order matters.
    run(&["reproduce", &folder.file("e.toml", &both)]).failed(1, "there is no value for {b}");
    let both = both.replace("c = '{b}'", "c = 10").replace("values = { b = [10] }", "values = { b = [0.5] }");
    let json = run(&["reproduce", &folder.file("e.toml", both), "--json"]).json();
    assert_eq!(json["experiments"][0]["chosen"]["banana"]["svm"]["b"], 0.5);
    let chosen = |values: &str| {
        let text = format!(
            "{HEAD}[[choose]]\nvalues = {{ a = {values} }}\nmethods = ['svm']\nby = 'test'\nsplits = 5\nmedian = true\n\
             [[methods]]\nname = 'svm'\ntrain = {{ gamma = '{{a}}', c = 10 }}\n{SET}"
        );
        let json = run(&["reproduce", &folder.file("m.toml", text), "--json"]).json();
        json["experiments"][0]["chosen"]["banana"]["svm"]["a"].as_f64().unwrap()
    };
    assert_eq!(chosen("[0.2, 0.6, 1.7, 5]"), chosen("[5, 0.6, 0.2, 1.7]"));
}

#[test]
fn an_analysis_that_cannot_be_made_does_not_take_the_table_with_it() {
    let text = format!(
        "{HEAD}variance = ['c']\n[[methods]]\nname = '{{c}}'\ntrain = {{ gamma = 1, c = '{{c}}' }}\neach = {{ c = [1, 10] }}\n{SET}"
    );
    let folder = Folder::new();
    let ran = run(&["reproduce", &folder.file("e.toml", text)]).succeeded();
    assert!(ran.out.contains("There is no analysis of variance: ") && ran.out.contains("banana"), "{}", ran.out);
}

#[test]
fn a_choice_at_the_edge_of_its_grid_is_marked() {
    let text = format!(
        "{HEAD}[[choose]]\nvalues = {{ c = [0.000001, 0.00001, 10] }}\nmethods = ['svm']\nby = 'test'\nsplits = 1\n\
         [[methods]]\nname = 'svm'\ntrain = {{ gamma = 1, c = '{{c}}' }}\n{SET}"
    );
    let folder = Folder::new();
    let results = folder.path("results");
    let json = run(&["reproduce", &folder.file("e.toml", text.replace(", c = 10 }", " }")), "-o", &results, "--json"]).json();
    assert_eq!(json["experiments"][0]["edges"], serde_json::json!([{ "set": "banana", "method": "svm", "name": "c", "value": 10.0 }]));
    assert!(std::fs::read_to_string(format!("{results}/e.md")).unwrap().contains("c 10 (edge)"));
}

#[test]
fn averages_are_those_of_the_sets_and_counted_only_where_sets_are_not_printed() {
    let other = SET.replace("name = 'banana'", "name = 'other'").replace("train = 60", "train = 90");
    let text = format!("{HEAD}[average]\nprinted.svm = {{ error = 90 }}\n{SVM}{SET}{other}");
    let folder = Folder::new();
    let json = run(&["reproduce", &folder.file("e.toml", &text), "--json"]).json();
    let outcome = &json["experiments"][0];
    let error = |place: usize| outcome["rows"][place]["error_percent"]["mean"].as_f64().unwrap();
    assert_eq!((outcome["rows"][2]["set"].as_str(), error(2)), (Some("average"), (error(0) + error(1)) / 2.0));
    assert_eq!(outcome["tally"], serde_json::json!({ "error": { "printed": 1, "as_printed": 0, "below": 1, "above": 0 } }));
    assert_eq!((&outcome["deviations"][0]["set"], outcome["deviations"].as_array().unwrap().len()), (&"average".into(), 1));
    let printed = text.replace("[[sets]]\nname = 'other'", "printed.svm = { error = 90 }\n[[sets]]\nname = 'other'");
    let json = run(&["reproduce", &folder.file("e.toml", printed), "--json"]).json();
    assert_eq!(json["experiments"][0]["tally"]["error"]["printed"], 1);
}

#[test]
fn rows_are_described_by_a_basis_or_by_components() {
    let text = format!(
        "{HEAD}columns = ['train_error']\n[[methods]]\nname = 'pca {{size}}'\nrepresent = {{ learner = 'pca', kernel = 'linear', components = '{{size}}' }}\neach = {{ size = [1, 5] }}\n\
         [[methods]]\nname = 'greedy {{size}}'\nrepresent = {{ kernel = 'linear', method = 'greedy-basis', vectors = '{{size}}' }}\neach = {{ size = [1, 5] }}\n\
         [[sets]]\nname = 'noise'\ngenerator = 'clouds'\ntrain = 40\ntest = 30\n"
    );
    let rows = rows(&text);
    for key in ["mse", "train_mse"] {
        assert!(mean(&rows, "pca 5", key) < mean(&rows, "pca 1", key) && mean(&rows, "greedy 5", key) < mean(&rows, "greedy 1", key));
    }
    // On its own rows no span of as many directions is nearer, but for the mean, which PCA takes off.
    assert!(mean(&rows, "pca 5", "train_mse") <= mean(&rows, "greedy 5", "train_mse"));
}

#[test]
fn what_cannot_be_drawn_or_chosen_is_rejected_before_the_work() {
    let folder = Folder::new();
    let cases = [
        (format!("{HEAD}{SVM}draw = {{ images = 'large' }}\n{SET}"), "method svm: images must be WIDTHxHEIGHT"),
        (
            format!(
                "{HEAD}{SVM}compress = {{ method = 'pursuit', vectors = 3 }}\n[[methods]]\nname = 'b'\ntrain = {{ gamma = 1 }}\ndraw = {{ boundary = 'svm' }}\n{SET}"
            ),
            "the boundary beside it must be that of a full machine",
        ),
        (
            format!(
                "{HEAD}[[choose]]\nvalues = {{ a = [1] }}\nmethods = ['svm']\nby = 'test'\nsplits = 1\n{SVM}compress = {{ method = 'pursuit', vectors = 3 }}\n{SET}"
            ),
            "svm is compressed",
        ),
        (format!("{HEAD}[[figures]]\nname = 'f'\n[[figures]]\nname = 'F'\n{SVM}{SET}"), "two pictures would have the name e-f-banana.svg"),
        (format!("{HEAD}{SVM}each = {{ size = [] }}\n{SET}"), "method svm: it would have 0 rows"),
        (format!("{HEAD}{SVM}{}", SET.replace("'banana'\ngen", "'average'\ngen")), "average is the name of the means"),
        (format!("{HEAD}{SVM}{}", SET.replace("train = 60", "train = 9000000000000")), "9000000000000 rows are too many"),
        (format!("{HEAD}{SVM}{}", SET.replace("name = 'banana'", "name = \"a\\nb\"")), "is no name for a set"),
    ];
    for (text, words) in cases {
        run(&["reproduce", &folder.file("e.toml", text)]).failed(1, words);
    }
}

#[test]
fn a_picture_that_is_gone_is_drawn_again_and_a_foreign_journal_is_left_alone() {
    let folder = Folder::new();
    let file = folder.file("e.toml", format!("{HEAD}{SVM}draw = {{ images = '2x1' }}\n{SET}"));
    let (results, picture) = (folder.path("results"), folder.path("results/e-banana-svm.png"));
    run(&["reproduce", &file, "-o", &results]).succeeded();
    fs::remove_file(&picture).unwrap();
    run(&["reproduce", &file, "-o", &results]).succeeded();
    assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    fs::write(folder.path("results/e.jsonl"), "{\"my\":\"data\"}\n").unwrap();
    run(&["reproduce", &file, "-o", &results]).failed(1, "e.jsonl is not a journal of kernelet reproduce; move it away");
    assert_eq!(fs::read_to_string(folder.path("results/e.jsonl")).unwrap(), "{\"my\":\"data\"}\n");
}

#[test]
fn parts_of_each_class_stay_what_they_are_whoever_else_is_there() {
    let set = "[[sets]]\nname = 'waves'\ngenerator = 'waveform3'\ntrain = 90\ntest = 200\nvalues = { gamma = 0.05, c = 10 }\n";
    let train = "{ gamma = '{gamma}', c = '{c}', multiclass = 'one-vs-rest', vectors = '{part}', iterations = 5 }";
    let part = |name: &str, more: &str, c: &str| {
        let of = format!("{{ gamma = '{{gamma}}', c = {c}, multiclass = 'one-vs-rest' }}");
        format!("[[methods]]\nname = '{name}'\ntrain = {train}\n{more}part = 0.27\nof = {of}\n")
    };
    let alone = part("a", "", "'{c}'");
    let other = part("b", "compress = { method = 'pursuit', vectors = 4 }\n", "'{c}'");
    let same = part("a", "", "10");
    let [alone, beside, same] = [alone.clone(), alone + &other, same].map(|methods| rows(&format!("{HEAD}{methods}{set}")));
    for key in ["error_percent", "vectors"] {
        assert_eq!(mean(&alone, "a", key), mean(&beside, "a", key));
        assert_eq!(mean(&alone, "a", key), mean(&same, "a", key));
    }
    assert!(mean(&beside, "b", "vectors") <= 4.0 && mean(&alone, "a", "vectors") > 9.0);
}

#[test]
fn classes_become_numbers_for_regression_and_a_wrong_setting_is_one_sentence() {
    let ridge = "[[methods]]\nname = 'ridge'\ntrain = { learner = 'ridge', gamma = '{gamma}', lambda = 0.1 }\n";
    let text = format!("{HEAD}{ridge}{SET}target = 'indicators'\n");
    // Two numbers of -1 and 1 for each row: all zeros would be wrong by 1.
    let mse = mean(&rows(&text), "ridge", "mse");
    assert!((0.05..0.7).contains(&mse), "{mse}");
    let folder = Folder::new();
    let bad = folder.file("e.toml", text.replace("lambda", "lamda"));
    run(&["reproduce", &bad]).failed(1, "method ridge: there is no setting lamda; did you mean lambda?");
}
