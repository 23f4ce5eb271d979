//! Machines trained with few vectors.
use crate::program::{Folder, run, three_classes, two_classes};

#[test]
fn a_budget_alone_trains_directly_and_the_machine_keeps_it() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(200)), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--vectors", "6", "--gamma", "0.5", "--c", "10", "--json"]).json();
    assert_eq!((json["learner"].as_str(), json["vectors"].as_u64()), (Some("svc"), Some(6)));
    assert!(json["train_error"].as_f64().unwrap() < 0.05 && json["iterations"].as_u64().unwrap() > 5, "{json}");
    let named =
        run(&["train", &data, "-o", &model, "--method", "margin", "--vectors", "6", "--gamma", "0.5", "--c", "10", "--json"]).json();
    assert_eq!(named["objective"], json["objective"]);
    assert_eq!(run(&["inspect", &model, "--json"]).json()["vectors"], 6);
    let test = folder.file("b.svm", two_classes(90));
    assert!(run(&["evaluate", &model, &test, "--json"]).json()["error"].as_f64().unwrap() < 0.1);
}

#[test]
fn several_classes_share_their_vectors_whatever_the_start_and_the_loss() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(150)), folder.path("m"));
    let common = ["train", &data, "-o", &model, "--c", "10", "--gamma", "2", "--scale", "standard", "--json"];
    let full = run(&common).json()["train_error"].as_f64().unwrap();
    for flags in [
        &["--init", "random"][..],
        &["--init", "spread", "--starts", "2"],
        &["--loss", "hinge", "--iterations", "20"],
        &["--multiclass", "shared"],
        &["--multiclass", "one-vs-rest"],
        &["--growth", "doubling", "--memory", "0"],
    ] {
        let json = run(&[&common, &["--vectors", "12"][..], flags].concat()).json();
        assert_eq!((json["vectors"].as_u64(), json["classes"].as_array().unwrap().len()), (Some(12), 3));
        // The rings overlap, so that the full machine errs too; guessing has an error of two thirds.
        assert!(json["train_error"].as_f64().unwrap() < full + 0.1, "{full} {flags:?} {json}");
    }
}

#[test]
fn flags_that_do_not_go_together_are_wrong_usage() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(40)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model][..], flags].concat());
    train(&["--method", "margin"]).failed(2, "--method margin needs --vectors");
    train(&["--loss", "hinge"]).failed(2, "--loss is not used by svc, only by direct training of svc");
    train(&["--vectors", "3", "--multiclass", "one-vs-one"]).failed(2, "use --multiclass shared (one set of vectors) or one-vs-rest");
    train(&["--vectors", "0"]).failed(2, "vectors is 0, but must be at least 1");
    train(&["--vectors", "3", "--kernel", "exponential"]).failed(2, "which is not differentiable at zero distance");
    train(&["--vectors", "3", "--max-error", "0.1"])
        .failed(2, "--max-error is not used by direct training of svc, only by --method greedy-basis, online-basis, rpcholesky");
    train(&["--learner", "ridge", "--method", "margin", "--vectors", "3"])
        .failed(2, "--method margin goes with the --learner svc, not with ridge");
    train(&["--vectors", "3", "--checkpoint", &folder.path("so-far"), "--tune"]).failed(2, "--checkpoint is for one run");
    train(&["--vectors", "3", "--checkpoint", &folder.path("so-far"), "--growth", "doubling"])
        .failed(2, "checkpoint does not work with several starts or growing vectors");
    train(&["--vectors", "3", "--loss", "hinge", "--memory", "0"]).failed(1, "raise the limit, or use squared-hinge");
    train(&["--vectors", "3", "--path", "--probability", "sigmoid"]).failed(2, "--path goes neither");
    train(&["--multiclass", "shared"]).succeeded();
    let three = folder.file("a.csv", three_classes(30));
    run(&["train", &three, "-o", &model, "--multiclass", "shared"]).failed(2, "say how many vectors it may have");
}

#[test]
fn growing_vectors_give_a_size_path() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(150)), folder.path("m"));
    let common = ["train", &data, "-o", &model, "--c", "10", "--gamma", "2", "--vectors", "12", "--growth", "doubling", "--path"];
    let json = run(&[&common[..], &["--json"]].concat()).json();
    let path = json["path"].as_array().unwrap();
    assert_eq!(path.iter().map(|level| level["vectors"].as_u64().unwrap()).collect::<Vec<_>>(), [3, 6, 12]);
    assert!(path.windows(2).all(|pair| pair[1]["objective"].as_f64() < pair[0]["objective"].as_f64()), "{json}");
    assert_eq!(path[2]["train_error"], json["train_error"]);
    let text = run(&common).out;
    assert!(text.contains("objective  train error"), "{text}");
}

#[test]
fn a_run_starts_from_a_model_and_goes_on_from_a_checkpoint() {
    let folder = Folder::new();
    let (data, model, file) = (folder.file("a.svm", two_classes(200)), folder.path("m"), folder.path("so-far"));
    let to = |model: &str, flags: &[&str]| {
        run(&[&["train", &data, "-o", model, "--vectors", "6", "--gamma", "0.5", "--json"][..], flags].concat())
    };
    let train = |flags: &[&str]| to(&folder.path("more"), flags);
    let short = to(&model, &["--iterations", "5"]).json();
    let more = train(&["--iterations", "5", "--start", &model]).json();
    assert!(more["objective"].as_f64() < short["objective"].as_f64(), "{short} {more}");
    // The checkpoint is a model of so many steps; a model that is none is neither gone on with nor overwritten.
    std::fs::copy(&model, &file).unwrap();
    train(&["--checkpoint", &file]).failed(1, "is not a checkpoint of this search");
    std::fs::remove_file(&file).unwrap();
    let done = train(&["--checkpoint", &file]).json();
    assert_eq!(run(&["evaluate", &file, &data, "--json"]).json()["error"], done["train_error"]);
    // Once done, there is nothing to go on with.
    let again = train(&["--checkpoint", &file]).json();
    let change = again["objective"].as_f64().unwrap() / done["objective"].as_f64().unwrap() - 1.0;
    assert!(change.abs() < 1e-9, "{change} {again}");
    train(&["--checkpoint", &folder.path("none/so-far")]).failed(1, "none");
}
