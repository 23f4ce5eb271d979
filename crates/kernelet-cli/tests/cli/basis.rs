//! `--method`: machines trained on a basis of few vectors.
use crate::program::{Folder, run, three_classes, two_classes};

#[test]
fn every_method_and_learner_goes_from_data_to_predictions() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(80)), folder.path("m"));
    for method in ["greedy-basis", "rpcholesky", "kmeans", "random"] {
        for learner in ["svc", "nu-svc", "fisher", "one-class", "ridge", "svr", "nu-svr"] {
            let flags =
                ["train", &data, "-o", &model, "--learner", learner, "--gamma", "0.5", "--method", method, "--vectors", "12", "--json"];
            let json = run(&flags).json();
            assert_eq!((&json["learner"], &json["method"]), (&learner.into(), &method.into()));
            assert_eq!((json["vectors"].as_u64(), json["rows"].as_u64(), json["capped"].as_bool()), (Some(12), Some(80), Some(false)));
            assert!(json["basis_error"]["largest"].as_f64() >= json["basis_error"]["mean"].as_f64(), "{json}");
            assert_eq!(json["evaluations_of_the_paper"].as_u64(), Some(2 * 80 * 12 - 66));
            assert!(json["objective"].is_number() && json["status"] == "converged" && json["seconds"].is_number(), "{json}");
            assert_eq!(run(&["predict", &model, &data]).succeeded().lines().len(), 80);
            if learner == "svc" {
                let error = run(&["evaluate", &model, &data, "--json"]).json()["error"].as_f64().unwrap();
                assert!(error < 0.05, "{method}: {error}");
                assert!(run(&["inspect", &model]).succeeded().out.contains(&format!("basis by {method}")));
            }
        }
    }
}

#[test]
fn the_text_has_the_basis_and_too_many_vectors_are_reported() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(60)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model, "--gamma", "2"], flags].concat());
    let text = train(&["--method", "rpcholesky", "--vectors", "5", "--multiclass", "one-vs-rest"]).succeeded();
    assert!(text.out.contains("chosen by    rpcholesky") && text.out.contains("basis error  mean "), "{}", text.out);
    let capped = train(&["--method", "greedy-basis", "--vectors", "500"]).succeeded();
    assert!(capped.err.contains("note: 500 vectors were requested, but the rows span no more; the machine has"), "{}", capped.err);
    let json = train(&["--method", "greedy-basis", "--vectors", "500", "--json"]).json();
    assert_eq!((json["capped"].as_bool(), json["status"].as_str()), (Some(true), Some("capped")));
    let bounded = train(&["--method", "greedy-basis", "--max-error", "0.2", "--json"]).json();
    assert!(bounded["basis_error"]["largest"].as_f64().unwrap() <= 0.2 && bounded["capped"] == false, "{bounded}");
    let probable = train(&["--method", "random", "--vectors", "5", "--probability", "sigmoid", "--json"]).json();
    assert_eq!(probable["probability"], "sigmoid");
    // Another seed draws other vectors, the same seed the same.
    let errors: Vec<f64> = ["1", "1", "2"]
        .iter()
        .map(|seed| {
            train(&["--method", "random", "--vectors", "5", "--seed", seed, "--json"]).json()["basis_error"]["mean"].as_f64().unwrap()
        })
        .collect();
    assert!(errors[0] == errors[1] && errors[0] != errors[2], "{errors:?}");
}

#[test]
fn classes_share_the_vectors_of_a_basis_unless_asked_otherwise() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(60)), folder.path("m"));
    let decisions = |flags: &[&str]| {
        let basis = ["train", &data, "-o", &model, "--gamma", "2", "--method", "rpcholesky", "--vectors", "6"];
        run(&[&basis[..], flags].concat()).succeeded();
        run(&["predict", &model, &data, "--values", "decision"]).succeeded().out
    };
    let usual = decisions(&[]);
    assert_eq!(usual, decisions(&["--multiclass", "shared"]));
    assert_eq!(usual, decisions(&["--multiclass", "one-vs-rest"]));
    let pairs = decisions(&["--multiclass", "one-vs-one"]);
    assert!(usual != pairs);
    // One class against all others allows only a small nu, so that nu-svc keeps its pairs.
    let nu = |flags: &[&str]| decisions(&[&["--learner", "nu-svc", "--nu", "0.1"], flags].concat());
    assert_eq!(nu(&[]), nu(&["--multiclass", "one-vs-one"]));
    run(&["train", &data, "-o", &model, "--multiclass", "shared"]).failed(2, "say how many vectors it may have");
}

#[test]
fn settings_are_searched_on_the_basis() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--method", "kmeans", "--vectors", "4", "--tune", "--json"]).json();
    assert!(json["tried"][0]["c"].is_number() && json["tried"][0]["gamma"].is_number() && json["vectors"] == 4, "{json}");
}

#[test]
fn few_support_vectors_may_take_the_place_of_the_basis() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(80)), folder.path("m"));
    let train = |shrink: &str| {
        run(&[
            "train",
            &data,
            "-o",
            &model,
            "--gamma",
            "0.5",
            "--c",
            "100",
            "--method",
            "greedy-basis",
            "--vectors",
            "30",
            "--shrink",
            shrink,
            "--json",
        ])
        .json()
    };
    let (never, exact, retrained) = (train("never"), train("sv"), train("retrain"));
    assert!(never["shrunk"].is_null() && exact["shrunk"] == "sv" && retrained["shrunk"] == "retrain", "{never} {exact} {retrained}");
    assert!(exact["vectors"].as_u64() < never["vectors"].as_u64() && exact["vectors"] == retrained["vectors"]);
    assert_eq!((exact["train_error"].as_f64(), retrained["train_error"].as_f64()), (Some(0.0), Some(0.0)));
}

#[test]
fn what_makes_no_sense_is_rejected_with_an_error() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(40)), folder.path("m"));
    let fails = |flags: &[&str], words: &str| {
        run(&[&["train", &data, "-o", &model], flags].concat()).failed(2, words);
    };
    fails(&["--method", "kmeans"], "--method kmeans needs --vectors");
    fails(
        &["--method", "kmeans", "--max-error", "0.1"],
        "--max-error is not used by svc on a basis by kmeans, only by --method greedy-basis, online-basis, rpcholesky",
    );
    fails(&["--method", "kmeans", "--vectors", "0"], "vectors is 0, but must be at least 1");
    fails(&["--method", "greedy-basis", "--vectors", "4", "--max-error", "-1"], "max-error is -1, but must be 0 or above");
    fails(&["--method", "greedy-basis", "--max-error", "0"], "--method greedy-basis needs --vectors, a --max-error above 0, or both");
    fails(&["--method", "kmeans", "--vectors", "4", "--kernel", "sigmoid"], "not positive definite");
    fails(
        &["--method", "kmeans", "--vectors", "4", "--learner", "rvm"],
        "rvm is always a full machine; a number of --vectors goes with svc, nu-svc, svr",
    );
    fails(
        &["--method", "kmeans", "--vectors", "4", "--learner", "fisher", "--shrink", "sv"],
        "--shrink is not used by fisher on a basis by kmeans, only by svc on a basis",
    );
    fails(&["--method", "kmeans", "--vectors", "4", "--shrink", "half"], "possible values: never, sv, retrain");
    fails(&["--method", "kmeans", "--vectors", "4", "--start", &data], "--start is not used by svc on a basis by");
    fails(&["--method", "grid", "--vectors", "4"], "grid");
    let alone = folder.file("one.svm", "1 1:2\n1 1:3\n");
    run(&["train", &alone, "-o", &model, "--method", "random", "--vectors", "1"]).failed(1, "a classifier needs at least two classes");
    let same = folder.file("same.svm", "1 1:2\n-1 1:2\n1 1:2\n");
    let json = run(&["train", &same, "-o", &model, "--gamma", "1", "--method", "kmeans", "--vectors", "3", "--json"]).json();
    assert_eq!((json["vectors"].as_u64(), json["capped"].as_bool()), (Some(1), Some(true)));
}
