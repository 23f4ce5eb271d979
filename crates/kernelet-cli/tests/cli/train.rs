//! `train`: keys, learners, kernels, scaling, labels.
use std::fs;

use crate::program::{Folder, command, numbers, run, three_classes, two_classes};

#[test]
fn a_classifier_reports_what_scripts_need() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(80)), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--gamma", "0.5", "--c", "10", "--json"]).json();
    let keys = "learner kernel rows dim classes vectors objective train_error seconds status gamma c iterations evaluations model";
    for key in keys.split(' ') {
        assert!(!json[key].is_null(), "{key}");
    }
    assert_eq!((&json["learner"], &json["kernel"]), (&"svc".into(), &"gaussian".into()));
    assert_eq!((json["rows"].as_u64(), json["dim"].as_u64(), json["gamma"].as_f64()), (Some(80), Some(2), Some(0.5)));
    assert_eq!(json["classes"], serde_json::json!(["-1", "+1"]));
    assert_eq!((&json["status"], json["train_error"].as_f64()), (&"converged".into(), Some(0.0)));
    assert!(json["tried"].is_null() && json["lambda"].is_null());
    assert_eq!(folder.names(), ["a.svm", "m"]);
}

#[test]
fn a_regressor_has_no_classes_and_a_squared_error() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", numbers(60)), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--learner", "ridge", "--lambda", "1e-6", "--gamma", "0.5", "--json"]).json();
    assert_eq!((&json["classes"], &json["lambda"], json["vectors"].as_u64()), (&serde_json::json!([]), &1e-6.into(), Some(60)));
    assert!(json["train_error"].as_f64().unwrap() < 1e-6 && json["c"].is_null());
    let text = run(&["train", &data, "-o", &model, "--learner", "ridge"]).succeeded().out;
    assert!(text.contains("train mse") && !text.contains("classes"));
}

#[test]
fn targets_that_an_estimator_was_probably_not_meant_for_are_pointed_out() {
    let folder = Folder::new();
    let table = |shift: f64| (0..20).map(|i| format!("{i},{}\n", shift + (f64::from(i) / 3.0).sin())).collect::<String>();
    let (far, near, model) = (folder.file("far.csv", table(1000.0)), folder.file("near.csv", table(1.0)), folder.path("m"));
    let noted = |data: &str, learner: &str| {
        run(&["train", data, "-o", &model, "--learner", learner]).succeeded().err.contains("ridge has no offset: subtract it with --centre")
    };
    assert!(noted(&far, "ridge"));
    assert!(!noted(&near, "ridge"));
    assert!(!noted(&far, "svr"));
    let as_classes = |table: &str| {
        run(&["train", &folder.file("t.csv", table), "-o", &model]).succeeded().err.contains("numbers with fractions are taken as classes")
    };
    assert!(as_classes("1,0.5\n2,0.7\n3,0.5\n"));
    assert!(!as_classes("1,1.0\n2,2\n3,1\n"));
}

#[test]
fn every_kernel_trains_and_aliases_are_known() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(30)), folder.path("m"));
    let names = ["gaussian", "exponential", "matern32", "matern52", "matern72", "polynomial", "linear", "sigmoid", "inverse-multiquadric"];
    let cases = names.iter().map(|name| (*name, *name)).chain([("rbf", "gaussian"), ("poly", "polynomial")]);
    for (name, kernel) in cases {
        assert_eq!(run(&["train", &data, "-o", &model, "--kernel", name, "--json"]).json()["kernel"], kernel);
    }
    let unused = run(&["train", &data, "-o", &model, "--kernel", "linear", "--gamma", "2"]).succeeded();
    assert!(unused.err.contains("--gamma is not used by the linear kernel"));
    run(&["train", &data, "-o", &model, "--kernel", "poly", "--coef0", "-1", "--degree", "2"]).succeeded();
}

#[test]
fn the_width_comes_from_the_scaled_rows() {
    let folder = Folder::new();
    let data = folder.file("a.csv", "a,b,y\n1,100,x\n3,500,z\n1,300,x\n3,700,z\n");
    let gamma = |flags: &[&str]| run(&[&["train", &data, "-o", &folder.path("m"), "--json"], flags].concat()).json()["gamma"].as_f64();
    // After standardising both columns have mean 0 and variance 1.
    assert!((gamma(&["--scale", "standard"]).unwrap() - 0.5).abs() < 1e-12);
    assert!(gamma(&[]).unwrap() < 1e-4);
    assert_eq!(gamma(&["--gamma", "scale"]), gamma(&[]));
    let constant = folder.file("c.csv", "a,y\n1,x\n1,z\n");
    run(&["train", &constant, "-o", &folder.path("n")]).failed(1, "all features are the same number in every row");
    run(&["train", &constant, "-o", &folder.path("n")]).failed(1, "gamma cannot be found from them; give it as a number");
}

#[test]
fn a_range_file_scales_like_svm_scale() {
    let folder = Folder::new();
    let data = folder.file("a.svm", "1 1:10 2:5\n-1 1:20 2:5\n1 1:12 2:5\n-1 1:18 2:5\n");
    let range = folder.file("r", "x\n0 1\n1 10 20\n");
    let model = folder.path("m");
    run(&["train", &data, "-o", &model, "--scale-file", &range, "--kernel", "linear"]).succeeded();
    assert_eq!(run(&["inspect", &model, "--json"]).json()["scale"], "shifts and factors");
    assert_eq!(run(&["predict", &model, &data]).succeeded().out, "1\n-1\n1\n-1\n");
    run(&["train", &data, "-o", &model, "--scale-file", &range, "--scale", "minmax"])
        .failed(2, "--scale and a scale from a file contradict each other");
    run(&["train", &data, "-o", &model, "--scale-file", &data]).failed(1, "a range file begins with a line x");
}

#[test]
fn class_weights_move_the_boundary() {
    let folder = Folder::new();
    let data = folder.file("a.svm", "-1 1:0\n-1 1:1\n-1 1:2\n-1 1:3\n-1 1:4\n+1 1:2.5\n");
    let predicted = |weight: &str| {
        let model = folder.path("m");
        run(&["train", &data, "-o", &model, "--gamma", "1", "--c", "0.2", "--class-weight", weight]).succeeded();
        run(&["predict", &model, &data]).succeeded().lines().iter().filter(|line| **line == "+1").count()
    };
    assert_eq!(predicted("-1=1,1=1"), 0);
    assert!(predicted("1=20") > 0 && predicted("balanced") > 0);
}

#[test]
fn several_classes_are_learned_in_pairs_or_against_the_rest() {
    let folder = Folder::new();
    let data = folder.file("a.csv", three_classes(90));
    for (how, outputs) in [("one-vs-one", 3), ("one-vs-rest", 3)] {
        let model = folder.path(how);
        let json = run(&["train", &data, "-o", &model, "--multiclass", how, "--c", "100", "--json"]).json();
        assert_eq!(json["classes"], serde_json::json!(["inner", "middle", "outer"]));
        assert_eq!(run(&["inspect", &model, "--json"]).json()["outputs"], outputs);
    }
}

#[test]
fn a_target_can_be_named_or_counted() {
    let folder = Folder::new();
    let data = folder.file("a.csv", "kind,x\na,1\nb,2\na,1.5\nb,3\n");
    for target in ["kind", "1"] {
        let json = run(&["train", &data, "-o", &folder.path("m"), "--target", target, "--json"]).json();
        assert_eq!((json["dim"].as_u64(), &json["classes"]), (Some(1), &serde_json::json!(["a", "b"])));
    }
    run(&["train", &data, "-o", &folder.path("m"), "--target", "sort"]).failed(1, "there is no column \"sort\" for the target");
}

#[test]
fn an_old_model_is_replaced_only_by_a_good_one() {
    let folder = Folder::new();
    let model = folder.model();
    let before = fs::read(&model).unwrap();
    run(&["train", &folder.file("bad.svm", "1 1:nan\n2 1:1\n"), "-o", &model]).failed(1, "is NaN");
    assert_eq!(fs::read(&model).unwrap(), before);
    let data = folder.path("train.svm");
    run(&["train", &data, "-o", &model, "--c", "0.1"]).succeeded();
    assert_ne!(fs::read(&model).unwrap(), before);
}

#[test]
fn the_data_are_never_overwritten() {
    let folder = Folder::new();
    let data = folder.file("a.svm", two_classes(20));
    run(&["train", &data, "-o", &data]).failed(2, "would be read and overwritten");
    run(&["train", &data, "-o", "-"]).failed(2, "cannot go to standard output");
    assert_eq!(fs::read_to_string(&data).unwrap(), two_classes(20));
}

#[test]
fn without_an_output_what_is_not_given_is_guessed_and_the_printed_command_makes_the_same_model() {
    let folder = Folder::new();
    folder.file("rings.csv", three_classes(90));
    folder.file("it's.csv", numbers(90));
    let within = |arguments: &[&str]| command(arguments).current_dir(folder.path("")).output().unwrap();
    for (data, model, learner) in [("rings.csv", "rings.model", "svc"), ("it's.csv", "it's.model", "ridge")] {
        let done = within(&["train", data, "--iterations", "20", "--vectors", "4", "--ard", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!((&json["learner"], &json["model"], &json["vectors"]), (&learner.into(), &model.into(), &4.into()));
        let told = String::from_utf8(done.stderr).unwrap();
        let printed = told.lines().find_map(|line| line.strip_prefix("note: guessed what was not given; the same as: kernelet ")).unwrap();
        let guessed = fs::read(folder.path(model)).unwrap();
        fs::remove_file(folder.path(model)).unwrap();
        let line = format!("{} {printed}", env!("CARGO_BIN_EXE_kernelet"));
        let again = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
        assert!(again.status.success(), "{line}: {again:?}");
        assert_eq!(fs::read(folder.path(model)).unwrap(), guessed, "{line}");
        // A model is replaced.
        assert!(within(&["train", data, "--iterations", "2", "--vectors", "4"]).status.success());
    }
}

#[test]
fn without_an_output_no_file_is_lost_and_standard_input_needs_a_name() {
    let folder = Folder::new();
    folder.file("a.csv", three_classes(30));
    folder.file("a.model", "letters");
    let done = command(&["train", "a.csv"]).current_dir(folder.path("")).output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(1) && told.contains("a.model is there already and is not a model made by kernelet"), "{told}");
    assert_eq!(fs::read_to_string(folder.path("a.model")).unwrap(), "letters");
    run(&["train", "-", "--format", "csv"]).failed(2, "name the model with --output");
}
