//! Ctrl-C.
use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command},
    thread::sleep,
    time::Duration,
};

use crate::program::{Folder, command, hard, run};

/// Starts the program, waits until it has read its data, and presses Ctrl-C.
fn interrupted(arguments: &[&str]) -> (Option<i32>, String, String) {
    interrupted_after("rows of", arguments)
}

/// The same, waiting for a line with these words.
fn interrupted_after(words: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    interrupted_later(words, 300, arguments)
}

/// The same, so many milliseconds after that line.
fn interrupted_later(words: &str, milliseconds: u64, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut child = command(&[arguments, &["-v"]].concat()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "the program ended early");
    }
    sleep(Duration::from_millis(milliseconds));
    press(&child);
    let (mut said, mut out) = (String::new(), String::new());
    err.read_to_string(&mut said).unwrap();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    (child.wait().unwrap().code(), out, said)
}

fn press(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn training_keeps_the_work_so_far_and_says_so() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", hard(6000)), folder.path("m"));
    let (code, out, err) =
        interrupted(&["train", &data, "-o", &model, "--c", "1e6", "--kernel", "poly", "--coef0", "1", "--tolerance", "1e-9", "--json"]);
    assert_eq!(code, Some(130), "{err}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["status"], json["train_error"].is_null()), (&"cancelled".into(), true));
    assert!(err.contains("stopping"), "{err}");
    assert!(err.contains(&format!("error: interrupted; the machine of the work so far is kept in {model}\n")), "{err}");
    run(&["inspect", &model]).succeeded();
}

/// Interrupted at any moment a run is cancelled, and says so, or was done before.
#[test]
fn a_baseline_never_calls_unfinished_work_finished() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", hard(400)), folder.path("m"));
    let flags = ["train", &data, "-o", &model, "--c", "100", "--gamma", "2", "--method", "mrs", "--vectors", "40", "--json"];
    for milliseconds in [0, 30, 80, 150, 300, 700] {
        let (code, out, err) = interrupted_later("rows of", milliseconds, &flags);
        let json: Option<serde_json::Value> = serde_json::from_str(&out).ok();
        let status = json.as_ref().map(|json| json["status"].clone());
        let consistent = match code {
            Some(0) => status == Some("converged".into()) && !err.contains("stopping"),
            Some(130) => status.is_none() || status == Some("cancelled".into()) || err.contains("the result is complete"),
            _ => false,
        };
        assert!(consistent, "{milliseconds} {code:?} {status:?} {err}");
    }
}

#[test]
fn compression_keeps_the_work_so_far_and_says_so() {
    let folder = Folder::new();
    let (data, model, small) = (folder.file("a.svm", hard(1500)), folder.path("m"), folder.path("small"));
    run(&["train", &data, "-o", &model, "--c", "10", "--gamma", "2"]).succeeded();
    let named = ["--method", "fixed-point", "--vectors", "700"];
    for flags in [&named[..], &[&named[..], &["--json"]].concat(), &["--vectors", "300", "--effort", "thorough"]] {
        let (code, out, err) = interrupted(&[&["compress", &model, "-o", &small, "--data", &data], flags].concat());
        assert_eq!(code, Some(130), "{err}");
        assert!(out.contains("cancelled") && err.contains("error: interrupted; the "), "{out} {err}");
        assert!(err.contains(&format!("so far is kept in {small}\n")), "{err}");
        std::fs::remove_file(&small).unwrap();
    }
}

#[test]
fn what_was_printed_is_reported_and_a_file_of_predictions_is_whole_or_absent() {
    let folder = Folder::new();
    let (data, model, rows) = (folder.file("a.svm", hard(3000)), folder.path("m"), folder.file("many.svm", hard(800_000)));
    run(&["train", &data, "-o", &model, "--c", "10", "--gamma", "2"]).succeeded();
    let out = folder.path("out");
    let mut child = command(&["predict", &model, &rows, "-o", &out]).spawn().unwrap();
    sleep(Duration::from_millis(300));
    press(&child);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), std::fs::exists(&out).unwrap()), (Some(130), false), "{err}");
    assert!(err.contains("error: interrupted; nothing was written"), "{err}");
    // Nobody reads, so that the program waits before it has printed all.
    let child = command(&["predict", &model, &rows]).spawn().unwrap();
    sleep(Duration::from_millis(300));
    press(&child);
    sleep(Duration::from_millis(100));
    let output = child.wait_with_output().unwrap();
    let (lines, err) = (output.stdout.iter().filter(|&&byte| byte == b'\n').count(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.replace(',', "").contains(&format!("error: interrupted; {lines} predictions printed and no more")), "{lines} {err}");
}

#[test]
fn a_search_has_nothing_to_keep() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", hard(4000)), folder.path("m"));
    let (code, out, err) = interrupted(&["train", &data, "-o", &model, "--tune"]);
    assert_eq!((code, out.as_str()), (Some(130), ""), "{err}");
    assert!(err.contains("error: interrupted; nothing was written"));
    assert_eq!(folder.names(), ["a.svm"]);
}

#[test]
fn an_experiment_that_is_not_done_goes_on_with_the_same_command() {
    let folder = Folder::new();
    let text = "title = 't'\npaper = 'p'\nsplits = 10000\n[[methods]]\nname = 'svm'\ntrain = { gamma = 0.01, c = 1e3 }\n\
        [[sets]]\nname = 'noisy'\ngenerator = 'noisy'\ntrain = 300\ntest = 10\n";
    let (file, results) = (folder.file("hard.toml", text), folder.path("results"));
    let (code, out, err) = interrupted_after("hard: 10,000 cells", &["reproduce", &file, "-o", &results]);
    assert_eq!((code, out.as_str()), (Some(130), ""), "{err}");
    assert!(err.contains("the same command goes on from there"), "{err}");
    let left: Vec<_> = std::fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["hard.jsonl"]);
    let ran = run(&["reproduce", &file, "-o", &results, "--splits", "3"]).succeeded();
    assert!(ran.err.contains("of an earlier run are kept"), "{}", ran.err);
}
