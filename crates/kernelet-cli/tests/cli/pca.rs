//! `--learner pca`: from data to features.
use crate::program::{Folder, run, three_classes, two_classes};

#[test]
fn components_are_trained_saved_and_make_features_of_new_rows() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(90)), folder.path("m"));
    let json =
        run(&["train", &data, "-o", &model, "--learner", "pca", "--target", "kind", "--gamma", "0.5", "--components", "3", "--json"])
            .json();
    assert_eq!((&json["learner"], json["components"].as_u64(), json["vectors"].as_u64()), (&"pca".into(), Some(3), Some(90)));
    let explained: Vec<f64> = json["explained"].as_array().unwrap().iter().map(|part| part.as_f64().unwrap()).collect();
    assert!(explained.len() == 3 && explained.windows(2).all(|pair| pair[0] >= pair[1]) && explained.iter().sum::<f64>() < 1.0);
    assert!(json["train_error"].is_null() && json["classes"].as_array().unwrap().is_empty());
    let features = run(&["predict", &model, &data, "--values", "features"]).succeeded();
    assert_eq!((features.lines()[0], features.lines().len()), ("feature1,feature2,feature3", 91));
    run(&["predict", &model, &data]).failed(2, "the model makes features, not labels; use --values features");
    run(&["predict", &model, &data, "--values", "probability"])
        .failed(2, "asking for probabilities does not work with a model that predicts no classes");
    // On the training rows the explained variance is the reported one.
    let kept = run(&["evaluate", &model, &data, "--json"]).json();
    assert!((kept["explained"].as_f64().unwrap() - explained.iter().sum::<f64>()).abs() < 1e-9, "{kept}");
    assert!((kept["residual"].as_f64().unwrap() - json["objective"].as_f64().unwrap()).abs() < 1e-9);
    assert!(run(&["evaluate", &model, &data]).succeeded().out.contains("explained"));
    assert!(run(&["inspect", &model]).succeeded().out.contains("of the variance"));
    run(&["export", &model, "-o", &folder.path("x"), "--to", "libsvm"]).failed(2, "features");
}

#[test]
fn a_part_of_the_variance_whitening_and_more_than_there_are() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model, "--learner", "pca"], flags].concat());
    let json = train(&["--explained", "0.9", "--whiten", "--json"]).json();
    let sum: f64 = json["explained"].as_array().unwrap().iter().map(|part| part.as_f64().unwrap()).sum();
    assert!(sum >= 0.9);
    assert!(run(&["inspect", &model]).succeeded().out.contains("whitened"));
    let capped = train(&["--kernel", "linear", "--components", "9", "--json"]);
    assert!(capped.err.contains("the rows span no more than 2 components; all are kept"), "{}", capped.err);
    assert_eq!((&capped.json()["status"], capped.json()["components"].as_u64()), (&"capped".into(), Some(2)));
    train(&["--components", "2", "--explained", "0.9"]).failed(2, "--components and --explained contradict each other");
    train(&["--components", "0"]).failed(2, "components is 0, but must be at least 1");
    train(&["--explained", "2"]).failed(2, "explained is 2, but must be above 0 and at most 1");
    train(&["--tune"]).failed(2, "--tune has nothing to choose for pca");
    train(&["--lambda", "2"]).failed(2, "--lambda is not used by pca, only by ridge, fisher");
    let same = folder.file("s.csv", "1,2\n1,2\n1,2\n");
    run(&["train", &same, "-o", &model, "--learner", "pca", "--gamma", "1"]).failed(1, "all rows are the same point in feature space");
}
