//! What a description of an experiment can ask for: parts, sizes, compression, choices, pictures, and a run that goes on.
use std::fs;

use serde_json::Value;

use crate::program::{Folder, run};

const HEAD: &str = "title = 't'\npaper = 'p'\nsplits = 2\n";
const SET: &str = "[[sets]]\nname = 'banana'\ngenerator = 'banana'\ntrain = 60\ntest = 100\nvalues = { gamma = 1, c = 10 }\n";
const SVM: &str = "[[methods]]\nname = 'svm'\ntrain = '--gamma {gamma} --c {c}'\n";

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
         [[methods]]\nname = 'part'\ntrain = '--gamma {{gamma}} --c {{c}} --method random --vectors {{part}}'\npart = 0.5\nof = '--gamma {{gamma}} --c {{c}}'\n\
         [[methods]]\nname = 'rows'\ntrain = '--gamma {{gamma}} --c {{c}} --method random --vectors {{part}}'\npart = 0.1\n\
         [[methods]]\nname = 'pursuit {{size%}}'\ntrain = '--gamma {{gamma}} --c {{c}}'\ncompress = '--method pursuit --fraction {{size}}'\neach = {{ size = [0.2, 1] }}\n{SET}"
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
fn values_are_chosen_by_test_rows_or_by_folds_and_told() {
    for by in ["test", "folds"] {
        let text = format!(
            "{HEAD}[[choose]]\nvalues = {{ times = [1e-6, 1] }}\nmethods = ['svm']\nalso = ['*']\nby = '{by}'\nsplits = 2\n\
             [[methods]]\nname = 'svm'\ntrain = '--gamma {{gamma}} --c {{c*times}}'\n\
             [[methods]]\nname = 'other'\ntrain = '--gamma {{gamma}} --c {{c*times}}'\n{SET}"
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
        "{HEAD}variance = ['gamma', 'tolerance']\n[[methods]]\nname = '{{gamma}} {{tolerance}}'\ntrain = '--gamma {{gamma}} --c 10 --tolerance {{tolerance}}'\n\
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
         [[methods]]\nname = 'basis {{size}}'\ntrain = '--gamma {{gamma}} --c {{c}} --method greedy-basis --vectors {{size}}'\neach = {{ size = [3, 9] }}\n\
         draw = {{ boundary = 'svm' }}\n{SET}"
    );
    let folder = Folder::new();
    let results = folder.path("results");
    let ran = run(&["reproduce", &folder.file("e.toml", &text), "-o", &results]).succeeded();
    let page = fs::read_to_string(folder.path("results/e.md")).unwrap();
    for name in ["e-error-banana.svg", "e-spread.svg", "e-banana-basis-3.svg", "e-banana-basis-9.svg"] {
        let picture = fs::read_to_string(folder.path(&format!("results/{name}"))).unwrap();
        assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"), "{name}");
        assert!(page.contains(&format!("![{name}]({name})")) && ran.out.contains(name), "{name}");
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
    // A cell that could not have been computed tells that it was kept; the second was cut off.
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
    run(&["reproduce", &file, "-o", &none]).failed(1, "error: ");
}
