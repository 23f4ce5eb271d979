//! No command overwrites a file that it reads, nor one beside its output that it has not made.
use std::fs;

use crate::program::{Folder, run, two_classes};

const READ: &str = "would be read and overwritten";
const LOST: &str = "it would be lost";

/// A model with a scaling.
fn scaled(folder: &Folder, name: &str) -> String {
    let (data, model) = (folder.file("train.svm", two_classes(60)), folder.path(name));
    run(&["train", &data, "-o", &model, "--scale", "minmax"]).succeeded();
    model
}

#[test]
fn training_keeps_every_file_that_it_reads() {
    let folder = Folder::new();
    let (data, range) = (folder.file("d.svm", two_classes(60)), folder.file("r.range", "x\n-1 1\n1 0.0 2.0\n2 0.0 2.0\n"));
    let (model, before) = (folder.model(), fs::read(folder.path("r.range")).unwrap());
    run(&["train", &data, "-o", &range, "--scale-file", &range]).failed(2, READ);
    run(&["train", &data, "-o", &model, "--start", &model]).failed(2, READ);
    assert_eq!(fs::read(&range).unwrap(), before);
    let direct = |output: &str, checkpoint: &str| {
        run(&["train", &data, "-o", output, "--gamma", "0.5", "--vectors", "4", "--iterations", "3", "--checkpoint", checkpoint])
    };
    for same in ["new", "./new"] {
        direct(&folder.path("new"), &folder.path(same)).failed(2, READ);
    }
    direct(&folder.path("new"), &data).failed(2, READ);
    assert_eq!(fs::read_to_string(&data).unwrap(), two_classes(60));
    direct(&folder.path("new"), &folder.path("other")).succeeded();
    assert_eq!(folder.names(), ["d.svm", "m.model", "new", "other", "r.range", "train.svm"]);
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_same_file() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    fs::hard_link(&data, folder.path("hard")).unwrap();
    std::os::unix::fs::symlink(&data, folder.path("soft")).unwrap();
    for link in ["hard", "soft"] {
        run(&["train", &data, "-o", &folder.path(link)]).failed(2, READ);
        run(&["predict", &model, &data, "-o", &folder.path(link)]).failed(2, READ);
    }
    assert_eq!(fs::read_to_string(&data).unwrap(), two_classes(60));
}

#[test]
fn a_range_file_takes_neither_the_place_of_the_model_nor_of_a_file_that_is_none() {
    let folder = Folder::new();
    let model = scaled(&folder, "x.range");
    let before = fs::read(&model).unwrap();
    let export = |output: &str, more: &[&str]| run(&[&["export", &model, "-o", &folder.path(output), "--to", "libsvm"], more].concat());
    export("x", &[]).failed(2, READ);
    export("x", &["--force"]).failed(2, READ);
    assert_eq!((fs::read(&model).unwrap(), folder.names()), (before, vec!["train.svm".to_string(), "x.range".to_string()]));
    let notes = folder.file("y.range", "mountains");
    export("y", &[]).failed(1, LOST);
    assert_eq!((fs::read_to_string(&notes).unwrap().as_str(), fs::exists(folder.path("y")).unwrap()), ("mountains", false));
    export("y", &["--force"]).succeeded();
    export("y", &[]).succeeded();
    assert!(fs::read_to_string(&notes).unwrap().starts_with("x\n-1 1\n"));
}

#[test]
fn a_header_takes_neither_the_place_of_the_model_nor_of_another_header() {
    let folder = Folder::new();
    let (model, header) = (folder.model(), folder.file("y.h", "#define MINE 1\n"));
    fs::copy(&model, folder.path("m.h")).unwrap();
    run(&["export", &folder.path("m.h"), "-o", &folder.path("m.c"), "--to", "c", "--force"]).failed(2, READ);
    let export = |more: &[&str]| run(&[&["export", &model, "-o", &folder.path("y.c"), "--to", "c"], more].concat());
    export(&[]).failed(1, LOST);
    assert_eq!((fs::read_to_string(&header).unwrap().as_str(), fs::exists(folder.path("y.c")).unwrap()), ("#define MINE 1\n", false));
    export(&["--force"]).succeeded();
    export(&[]).succeeded();
}

#[test]
fn an_export_keeps_the_rows_and_scalings_that_it_reads() {
    let folder = Folder::new();
    let (model, rows) = (folder.model(), two_classes(60));
    let c = |data: &str, output: &str| {
        run(&[
            "export",
            &model,
            "-o",
            &folder.path(output),
            "--to",
            "c",
            "--precision",
            "i16",
            "--data",
            data,
            "--format",
            "libsvm",
            "--force",
        ])
    };
    for name in ["rows.c", "rows.h"] {
        let data = folder.file(name, &rows);
        c(&data, "rows.c").failed(2, READ);
        assert_eq!(fs::read_to_string(&data).unwrap(), rows);
    }
    let text = "x\n-1 1\n1 0.0 2.0\n2 0.0 2.0\n";
    for flag in ["--scale-file", "--target-scale-file"] {
        let scale = folder.file("scale", text);
        run(&["export", &model, "-o", &scale, "--to", "native", flag, &scale]).failed(2, READ);
        assert_eq!(fs::read_to_string(&scale).unwrap(), text);
    }
}

#[test]
fn the_demo_keeps_files_of_others() {
    let folder = Folder::new();
    for name in ["digits.model", "small.model", "train.svm", "test.svm", "report.html"] {
        let mine = folder.file(name, "mine");
        run(&["demo", "-o", &folder.path("")]).failed(1, LOST);
        assert_eq!((fs::read_to_string(&mine).unwrap().as_str(), folder.names()), ("mine", vec![name.to_string()]));
        fs::remove_file(mine).unwrap();
    }
    folder.file("train.svm", "mine");
    run(&["demo", "-o", &folder.path(""), "--force"]).succeeded();
    run(&["demo", "-o", &folder.path("")]).succeeded();
    assert_eq!(folder.names().len(), 5);
}

#[test]
fn an_experiment_keeps_its_data() {
    let folder = Folder::new();
    fs::create_dir(folder.path("hard.csv")).unwrap();
    let text = "title = 't'\npaper = 'p'\nsplits = 1\n[[methods]]\nname = 'svm'\ntrain = { gamma = 0.1 }\n\
        [[sets]]\nname = 'noisy'\ngenerator = 'noisy'\ntrain = 30\ntest = 10\n";
    let file = folder.file("hard.toml", text);
    fs::hard_link(&file, folder.path("hard.md")).unwrap();
    run(&["reproduce", &file, "-o", &folder.path("")]).failed(2, READ);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}
