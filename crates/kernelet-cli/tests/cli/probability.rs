//! `train --probability`, and what the other commands make of it.
use crate::program::{Folder, numbers, run, three_classes, two_classes};

#[test]
fn any_classifier_can_predict_probabilities() {
    let folder = Folder::new();
    let data = folder.file("a.csv", three_classes(90));
    let cases = [
        ("sigmoid", "one-vs-one"),
        ("sigmoid", "one-vs-rest"),
        ("isotonic", "one-vs-one"),
        ("isotonic", "one-vs-rest"),
        ("softmax", "one-vs-rest"),
        ("softmax", "ecoc"),
    ];
    for (shape, how) in cases {
        let model = folder.path(&format!("{shape}-{how}"));
        let arguments = [
            "train",
            &data,
            "-o",
            &model,
            "--probability",
            shape,
            "--folds",
            "3",
            "--multiclass",
            how,
            "--gamma",
            "2",
            "--c",
            "10",
            "--json",
        ];
        assert_eq!(run(&arguments).json()["probability"], shape);
        let ran = run(&["predict", &model, &data, "--values", "probability"]).succeeded();
        assert_eq!((ran.lines()[0], ran.lines().len()), ("inner,middle,outer", 91));
        let labels = run(&["predict", &model, &data]).succeeded();
        let mut same = 0;
        for (line, label) in ran.lines()[1..].iter().zip(labels.lines()) {
            let row: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9 && row.iter().all(|p| (0.0..=1.0).contains(p)));
            let largest = (0..3).fold(0, |best, c| if row[c] > row[best] { c } else { best });
            same += usize::from(["inner", "middle", "outer"][largest] == label);
        }
        assert!(same >= 75, "{shape} {how}: {same} of 90");
        let scores = run(&["evaluate", &model, &data, "--json"]).json();
        // Measured: at most 0.358 and 0.204, of sigmoids for pairs.
        assert!(scores["log_loss"].as_f64().unwrap() < 0.4 && scores["brier"].as_f64().unwrap() < 0.23, "{scores}");
        assert!(run(&["inspect", &model]).succeeded().out.contains(&format!("yes, {shape}")));
    }
}

#[test]
fn libsvm_text_keeps_sigmoids_and_refuses_curves() {
    let folder = Folder::new();
    let (data, text) = (folder.file("a.svm", two_classes(60)), folder.path("text"));
    let train = |shape: &str| {
        let model = folder.path(shape);
        run(&["train", &data, "-o", &model, "--gamma", "0.5", "--probability", shape, "--scale", "none"]).succeeded();
        model
    };
    let sigmoid = train("sigmoid");
    run(&["export", &sigmoid, "-o", &text, "--to", "libsvm"]).succeeded();
    let probabilities = |model: &str| run(&["predict", model, &data, "--values", "probability"]).succeeded().out;
    // LIBSVM has -1 and 1, ours are spelled -1 and +1; the numbers differ in the last digits, because vectors come in another order.
    let (ours, theirs) = (probabilities(&sigmoid), probabilities(&text));
    for (a, b) in ours.lines().zip(theirs.lines()).skip(1) {
        let parse = |line: &str| line.split(',').next().unwrap().parse::<f64>().unwrap();
        assert!((parse(a) - parse(b)).abs() < 1e-12);
    }
    run(&["export", &train("isotonic"), "-o", &text, "--to", "libsvm"]).failed(2, "isotonic probabilities");
}

#[test]
fn what_cannot_be_calibrated_is_reported() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", numbers(40)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--learner", "ridge", "--probability", "sigmoid"])
        .failed(2, "--probability is for classes, but ridge does not predict any");
    let lone = folder.file("lone.svm", two_classes(20) + "7 1:3 2:3\n");
    run(&["train", &lone, "-o", &model, "--probability", "sigmoid"]).failed(1, "the class 7 has only one row");
    let good = folder.file("good.svm", two_classes(20));
    run(&["train", &good, "-o", &model, "--probability", "sigmoid", "--folds", "1"]).failed(2, "folds is 1, but must be at least 2");
    run(&["train", &good, "-o", &model, "--folds", "3"]).failed(2, "--tune or --probability");
    run(&["train", &good, "-o", &model, "--probability", "platt"]).failed(2, "possible values: sigmoid, isotonic, softmax");
    run(&["train", &good, "-o", &model]).succeeded();
    assert!(run(&["evaluate", &model, &good, "--json"]).json()["log_loss"].is_null());
    run(&["predict", &model, &good, "--values", "distribution"]).failed(2, "asking for a distribution does not work with this model");
}
