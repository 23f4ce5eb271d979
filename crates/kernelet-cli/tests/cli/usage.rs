//! Exit 2, help, version, completions, threads.
use crate::program::{Folder, command, run, three_classes, two_classes};

#[test]
fn help_and_version_are_data_and_end_well() {
    for arguments in [&["--help"][..], &["--version"], &["train", "--help"], &["help", "predict"]] {
        let ran = run(arguments).succeeded();
        assert!(!ran.out.is_empty() && ran.err.is_empty(), "{ran:?}");
    }
    let told = run(&["--version", "--verbose"]).succeeded().out;
    for part in ["features      ", "instructions  ", "threads       ", "NVIDIA cards  "] {
        assert!(told.starts_with("kernelet ") && told.contains(part), "{told}");
    }
    assert_eq!(run(&["--version"]).out, format!("kernelet {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_bare_program_shows_its_help() {
    let ran = run(&[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("Usage: kernelet") && ran.err.contains("kernelet demo"));
    assert!(ran.err.lines().all(|line| line.len() <= 80), "{}", ran.err);
}

#[test]
fn the_reference_page_is_the_one_that_the_program_writes() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md")).unwrap();
    let written = run(&["manual"]).succeeded().out;
    assert!(page == written, "docs/reference/commands.md is stale: cargo run -- manual > docs/reference/commands.md");
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let folder = Folder::new();
    let files = run(&["manual", "--man", &folder.path("man")]).succeeded().out;
    for name in ["kernelet", "kernelet-train", "kernelet-compress", "kernelet-predict"] {
        assert!(files.contains(&format!("{name}.1\n")), "{files}");
    }
    let mut there: Vec<String> =
        std::fs::read_dir(folder.path("man")).unwrap().map(|file| file.unwrap().path().display().to_string()).collect();
    let mut listed: Vec<String> = files.lines().map(String::from).collect();
    there.sort();
    listed.sort();
    assert_eq!(there, listed);
    let train = std::fs::read_to_string(folder.path("man/kernelet-train.1")).unwrap();
    assert!(train.contains(".TH kernelet-train 1") && train.contains("vectors"), "{train}");
}

#[test]
fn what_was_probably_meant_is_suggested() {
    let folder = Folder::new();
    let table = folder.file("people.csv", three_classes(30));
    let model = folder.path("people.model");
    run(&["train", &table, "-o", &model, "--gamma", "1"]).succeeded();
    let cases: [(&[&str], i32, &str); 13] = [
        (&["tran", &table], 2, "similar subcommand exists: 'train'"),
        (&["train", &table, "-o", &model, "--vector", "3"], 2, "similar argument exists: '--vectors'"),
        (&["train", &table, "-o", &model, "--kernel", "gausian"], 2, "similar value exists: 'gaussian'"),
        (&["train", &table, "-o", &model, "--learner", "svm"], 2, "similar value exists: 'svc'"),
        (&["train", &table, "-o", &model, "--learner", "kernel-ridge"], 2, "similar value exists: 'ridge'"),
        (&["compress", &folder.file("svc.pkl", "no model"), "-o", &folder.path("s")], 1, "in Python: kernelet.compress("),
        (&["inspect", &folder.file("net.onnx", "no model")], 1, "models are read in kernelet's own format"),
        (&["train", &table, "-o", &model, "--target", "knid"], 1, "did you mean \"kind\"?)"),
        (&["train", &table, "-o", &model, "--ignore", "widht"], 1, "did you mean \"width\"?)"),
        (&["predict", &folder.path("poeple.model"), &table], 1, "did you mean "),
        (&["evaluate", &table, &model], 1, "the model comes first, then the data"),
        (&["reproduce", "franc2003-table"], 2, "did you mean "),
        (&["export", &model, "-o", &folder.path("small.txt")], 2, "give it with --to: onnx, c, libsvm"),
    ];
    for (arguments, code, words) in cases {
        run(arguments).failed(code, words);
    }
    run(&["train", &folder.path(".")]).failed(1, "this is a directory, not a file");
    run(&["compress", &model, "-o", &folder.path("s"), "--max-loss", "1%"]).failed(2, "1% is 0.01");
    assert_eq!(folder.names(), ["net.onnx", "people.csv", "people.model", "svc.pkl"]);
}

#[test]
fn the_name_of_an_export_says_its_format() {
    let folder = Folder::new();
    let model = folder.model();
    for name in ["m.onnx", "m.c", "m.js", "m.json", "m.libsvm"] {
        run(&["export", &model, "-o", &folder.path(name), "--quiet"]).succeeded();
    }
    assert!(folder.names().contains(&"m.h".to_string()));
    assert!(std::fs::read_to_string(folder.path("m.libsvm")).unwrap().starts_with("svm_type"));
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(run(&["completions", shell]).succeeded().out.contains("kernelet"));
        assert_eq!(run(&["completions", shell, "--json"]).json()["shell"], shell);
    }
    run(&["completions", "tcsh"]).failed(2, "possible values");
}

#[test]
fn the_studio_has_help_and_without_its_page_says_how_to_make_it() {
    assert!(run(&["studio", "--help"]).succeeded().out.contains("--no-open"));
    run(&["studio", "--port", "0"]).failed(2, "0 is not in 1..");
    if cfg!(not(feature = "studio")) {
        run(&["studio", "--no-open"]).failed(1, "this build has no studio");
    }
}

#[test]
fn wrong_flags_and_values_are_wrong_usage_and_write_nothing() {
    let folder = Folder::new();
    let data = folder.file("a.svm", two_classes(20));
    let model = folder.path("m");
    let cases: [(&[&str], &str); 23] = [
        (&["--gamma", "-1"], "gamma is -1, but must be a finite number above 0"),
        (&["--gamma", "0"], "gamma is 0"),
        (&["--gamma", "nan"], "gamma is nan, but must be a number"),
        (&["--gamma", "wide"], "gamma is wide, but must be a number or scale, auto"),
        (&["--c", "0"], "c is 0, but must be a finite number above 0"),
        (&["--c", "-1"], "c is -1"),
        (&["--tolerance", "0"], "tolerance is 0"),
        (&["--max-iterations", "0"], "max-iterations is 0, but must be at least 1"),
        (&["--kernel", "poly", "--degree", "0"], "degree is 0"),
        (&["--kernel", "cosine"], "possible values: gaussian, exponential"),
        (&["--learner", "forest"], "possible values: svc, nu-svc, svr, nu-svr, one-class, ridge"),
        (&["--multiclass", "all-pairs"], "possible values: one-vs-one, one-vs-rest, ecoc, shared"),
        (&["--class-weight", "heavy"], "LABEL=WEIGHT"),
        (&["--class-weight", "7=2"], "given for a label of the data: -1, +1"),
        (&["--class-weight", "1=-2"], "must be a finite number above 0"),
        (&["--lambda", "1"], "--lambda is not used by svc, only by ridge"),
        (&["--learner", "ridge", "--c", "1"], "--c is not used by ridge, only by svc"),
        (&["--learner", "ridge", "--kernel", "sigmoid"], "ridge does not work with the sigmoid kernel"),
        (&["--cache", "0"], "cache is 0, but must be at least 1"),
        (&["--threads", "0"], "0 is not in 1.."),
        (&["--scale", "log"], "possible values: none, standard, minmax"),
        (&["--format", "xls"], "must be libsvm, csv, npy, npz or parquet"),
        (&["--learner", "rvm", "--vectors", "8"], "rvm is always a full machine"),
    ];
    for (flags, words) in cases {
        run(&[&["train", &data, "-o", &model], flags].concat()).failed(2, words);
    }
    run(&["compress", &data]).failed(2, "--output <SMALL>");
    run(&["squeeze", &data]).failed(2, "unrecognized subcommand");
    assert_eq!(folder.names(), ["a.svm"]);
}

#[test]
fn one_thread_and_three_give_the_same_model_to_the_bit() {
    let folder = Folder::new();
    let data = folder.file("a.svm", two_classes(300));
    let trained = |threads: &str| {
        let model = folder.path(threads);
        run(&["train", &data, "-o", &model, "--gamma", "1", "--threads", threads]).succeeded();
        std::fs::read(model).unwrap()
    };
    assert_eq!(trained("1"), trained("3"));
}

#[test]
fn instruction_sets_can_be_forced_and_unknown_ones_are_rejected() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--gamma", "0.5"]).succeeded();
    let predicted = |set: &str| {
        let output = command(&["predict", &model, &data, "--values", "decision"]).env("KERNELET_SIMD", set).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, _, err) = predicted("mmx");
    assert_eq!(code, Some(2));
    assert!(err.contains("KERNELET_SIMD is mmx, but this machine has") && err.contains("portable"), "{err}");
    let (code, out, _) = predicted("portable");
    assert_eq!(code, Some(0));
    let widest = run(&["predict", &model, &data, "--values", "decision"]).succeeded();
    for (a, b) in out.lines().zip(widest.lines()).skip(1) {
        assert!((a.parse::<f64>().unwrap() - b.parse::<f64>().unwrap()).abs() < 1e-12, "{a} {b}");
    }
}
