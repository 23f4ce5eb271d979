//! Relevance vector machines, Parzen windows and Nadaraya-Watson regression, from data to predictions.
use crate::program::{Folder, numbers, run, three_classes, two_classes};

#[test]
fn a_relevance_vector_machine_predicts_classes_and_probabilities() {
    let folder = Folder::new();
    let data = folder.file("a.csv", three_classes(90));
    let model = folder.path("m");
    let trained = run(&["train", &data, "-o", &model, "--learner", "rvm", "--gamma", "1", "--json"]).json();
    assert_eq!((&trained["learner"], &trained["status"]), (&"rvm".into(), &"converged".into()));
    // Measured: 17 vectors, 0.122, and a log loss of 0.264.
    assert!(trained["vectors"].as_u64().unwrap() < 22 && trained["train_error"].as_f64().unwrap() < 0.15, "{trained}");
    let ran = run(&["predict", &model, &data, "--values", "probability"]).succeeded();
    assert_eq!((ran.lines()[0], ran.lines().len()), ("inner,middle,outer", 91));
    assert!(run(&["evaluate", &model, &data, "--json"]).json()["log_loss"].as_f64().unwrap() < 0.3);
    let again = run(&["train", &data, "-o", &model, "--learner", "rvm", "--gamma", "1", "--json", "--threads", "1"]).json();
    assert_eq!(again["objective"], trained["objective"]);
    assert!(run(&["inspect", &model]).succeeded().out.contains("rvm, objective"));
}

#[test]
fn a_relevance_vector_machine_predicts_numbers_and_their_deviation() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", numbers(60)), folder.path("m"));
    let arguments = ["train", &data, "-o", &model, "--learner", "rvm", "--task", "regression", "--gamma", "0.1", "--scale", "standard"];
    run(&arguments).succeeded();
    let ran = run(&["predict", &model, &data, "--values", "distribution"]).succeeded();
    assert_eq!((ran.lines()[0], ran.lines().len()), ("mean1,deviation1", 61));
    let bare = run(&["predict", &model, &data]).succeeded();
    for ((line, mean), row) in ran.lines()[1..].iter().zip(bare.lines()).zip(numbers(60).lines()) {
        let (have, deviation) = line.split_once(',').unwrap();
        assert_eq!(have, mean);
        let truth: f64 = row.rsplit(',').next().unwrap().parse().unwrap();
        let deviation: f64 = deviation.parse().unwrap();
        assert!(deviation > 0.0 && (have.parse::<f64>().unwrap() - truth).abs() < 0.2 + 6.0 * deviation, "{line} {truth}");
    }
    assert!(run(&["evaluate", &model, &data, "--json"]).json()["r2"].as_f64().unwrap() > 0.95);
    run(&["train", &data, "-o", &model, "--learner", "ridge", "--task", "regression"])
        .failed(2, "--task is not used by ridge, only by rvm");
    run(&["train", &data, "-o", &model, "--learner", "rvm", "--c", "1"]).failed(2, "--c is not used by rvm");
    run(&["train", &data, "-o", &model, "--learner", "rvm", "--task", "regression", "--tune", "--gamma", "1"])
        .failed(2, "the width is given");
}

#[test]
fn windows_learn_at_once() {
    let folder = Folder::new();
    let (classes, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let trained =
        run(&["train", &classes, "-o", &model, "--learner", "parzen", "--gamma", "2", "--class-weight", "balanced", "--json"]).json();
    assert_eq!((trained["vectors"].as_u64(), trained["iterations"].as_u64()), (Some(60), Some(0)));
    let ran = run(&["predict", &model, &classes, "--values", "probability"]).succeeded();
    assert_eq!(ran.lines()[0], "-1,+1");
    assert!(run(&["evaluate", &model, &classes, "--json"]).json()["error"].as_f64().unwrap() < 0.1);
    let (data, text) = (folder.file("a.csv", numbers(60)), folder.path("text"));
    let tuned = run(&["train", &data, "-o", &model, "--learner", "nadaraya-watson", "--tune", "--folds", "3", "--json"]).json();
    assert!(tuned["tried"].as_array().unwrap().iter().all(|tried| tried["gamma"].is_f64() && tried.as_object().unwrap().len() == 2));
    let bare = run(&["predict", &model, &data]).succeeded();
    let sums = run(&["predict", &model, &data, "--values", "decision"]).succeeded();
    assert_eq!(sums.lines()[0], "sum1,weight");
    for (value, line) in bare.lines().iter().zip(&sums.lines()[1..]) {
        let (sum, weight) = line.split_once(',').unwrap();
        let ratio = sum.parse::<f64>().unwrap() / weight.parse::<f64>().unwrap();
        assert_eq!(value.parse::<f64>().unwrap(), ratio);
    }
    assert!(run(&["evaluate", &model, &data, "--json"]).json()["r2"].as_f64().unwrap() > 0.9);
    assert_eq!(run(&["inspect", &model, "--json"]).json()["decision"], "ratio");
    run(&["export", &model, "-o", &text, "--to", "libsvm"]).failed(2, "whose prediction is a ratio");
    run(&["train", &data, "-o", &model, "--learner", "nadaraya-watson", "--kernel", "linear"]).failed(2, "function of the distance");
}
