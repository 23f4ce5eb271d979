//! Data on standard output, talk on standard error; standard input; pipes.
use std::io::{BufRead, BufReader, Write};

use crate::program::{Folder, command, run, run_with_input, three_classes, two_classes};

#[test]
fn talk_is_on_standard_error_and_quiet_stops_it() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(60)), folder.path("m"));
    let spoken = run(&["train", &data, "-o", &model]).succeeded();
    assert!(spoken.err.contains("note: target: column 3, \"kind\"") && !spoken.out.contains("note"), "{spoken:?}");
    let quiet = run(&["train", &data, "-o", &model, "--quiet"]).succeeded();
    assert!(quiet.err.is_empty() && quiet.out.contains("vectors"), "{quiet:?}");
    let verbose = run(&["train", &data, "-o", &model, "-v"]).succeeded();
    assert!(verbose.err.contains("60 rows of 2 features, dense"), "{verbose:?}");
}

#[test]
fn json_is_one_object_for_every_command() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let (other, text) = (folder.path("other"), folder.path("text"));
    let cases: [&[&str]; 7] = [
        &["train", &data, "-o", &other],
        &["predict", &model, &data],
        &["evaluate", &model, &data],
        &["inspect", &model],
        &["export", &model, "-o", &text, "--to", "libsvm"],
        &["reproduce", "list"],
        &["completions", "bash"],
    ];
    for arguments in cases {
        let ran = run(&[arguments, &["--json"]].concat());
        ran.json();
        assert_eq!(ran.lines().len(), 1);
    }
}

#[test]
fn errors_in_json_runs_leave_standard_output_empty() {
    run(&["inspect", "no-such.model", "--json"]).failed(1, "error: no-such.model: there is no such file");
}

#[test]
fn standard_input_is_read_when_its_format_is_named() {
    let folder = Folder::new();
    let model = folder.path("m");
    let text = two_classes(40);
    run_with_input(&["train", "-", "-o", &model], text.as_bytes()).failed(1, "standard input: there is no file extension");
    run_with_input(&["train", "-", "-o", &model, "--format", "libsvm"], text.as_bytes()).succeeded();
    let from_input = run_with_input(&["predict", &model, "-", "--format", "libsvm"], text.as_bytes()).succeeded();
    assert_eq!(from_input.out, run(&["predict", &model, &folder.file("a.svm", &text)]).succeeded().out);
}

#[test]
fn gzip_is_unpacked_whatever_the_file_is_called() {
    let folder = Folder::new();
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    packed.write_all(two_classes(40).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    for name in ["a.svm.gz", "a.svm"] {
        let rows = run(&["train", &folder.file(name, &packed), "-o", &folder.path("m"), "--json"]).json()["rows"].clone();
        assert_eq!(rows, 40);
    }
    run(&["train", &folder.file("cut.svm.gz", &packed[..packed.len() / 2]), "-o", &folder.path("m")]).failed(1, "damaged or cut short");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let model = folder.model();
    let data = folder.file("many.svm", two_classes(30_000));
    let mut child = command(&["predict", &model, &data, "--values", "decision", "--quiet"]).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "+1\n");
    let left = child.wait_with_output().unwrap();
    assert_eq!((left.status.code(), String::from_utf8(left.stderr).unwrap().as_str()), (Some(0), ""));
}
