//! `--learner fisher --method fisher-pursuit`: greedy kernel Fisher discriminants.
use crate::program::{Folder, run, three_classes, two_classes};

#[test]
fn every_criterion_and_deflation_goes_from_data_to_predictions() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(80)), folder.path("m"));
    let train = |flags: &[&str]| {
        let start = ["train", &data, "-o", &model, "--learner", "fisher", "--gamma", "0.5", "--method", "fisher-pursuit", "--json"];
        run(&[&start[..], flags].concat()).json()
    };
    for criterion in ["random", "optimal", "pseudo", "reverse", "reverse-pseudo"] {
        for deflation in ["none", "hotelling", "projection", "schur", "ortho-hotelling", "ortho-projection", "ortho-schur"] {
            let json = train(&["--criterion", criterion, "--deflation", deflation, "--stages", "2", "--vectors", "8"]);
            assert_eq!((&json["learner"], &json["method"], &json["vectors"]), (&"fisher".into(), &"fisher-pursuit".into(), &8.into()));
            assert_eq!(json["variant"], format!("{criterion} + {deflation}, 2 at a time"));
            assert!(json["bound"]["says_nothing"] == true && json["bound"]["probability"] == 0.95, "{json}");
        }
    }
    let json = train(&["--vectors", "8", "--numerator", "printed", "--sample", "20"]);
    assert_eq!(json["variant"], "pseudo + projection, printed numerator, 20 rows sampled");
    assert_eq!(run(&["predict", &model, &data]).succeeded().lines().len(), 80);
    assert!(run(&["evaluate", &model, &data, "--json"]).json()["error"].as_f64().unwrap() < 0.05);
    assert!(run(&["inspect", &model]).succeeded().out.contains("basis by fisher-pursuit"));
    let probable = run(&["predict", &model, &data, "--values", "probability"]).succeeded();
    assert!(probable.lines().len() >= 80, "{}", probable.out);
}

#[test]
fn several_classes_and_the_number_of_vectors_by_cross_validation() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(90)), folder.path("m"));
    let train = |flags: &[&str]| {
        run(&[&["train", &data, "-o", &model, "--learner", "fisher", "--gamma", "2", "--method", "fisher-pursuit"], flags].concat())
    };
    let json = train(&["--folds", "3", "--json"]).json();
    let sizes = json["sizes"].as_array().unwrap();
    assert!(sizes.len() == 6 && sizes[0]["vectors"] == 10 && sizes[0]["loss"].is_number(), "{json}");
    assert!(json["bound"].is_null() && json["vectors"].as_u64().unwrap() % 10 == 0);
    let json = train(&["--every", "3", "--vectors", "7", "--json"]).json();
    assert_eq!(json["sizes"].as_array().unwrap().len(), 2);
    let text = train(&["--every", "3", "--vectors", "7"]).succeeded();
    assert!(text.out.contains("chosen by      fisher-pursuit (pseudo + projection)"), "{}", text.out);
    assert!(text.out.contains("number by      cross-validation of 2 sizes"), "{}", text.out);
    // Where the search has the folds, the number of vectors stays as it is.
    let tuned = train(&["--vectors", "6", "--tune", "--folds", "3", "--json"]).json();
    assert!(tuned["tried"][0]["lambda"].is_number() && tuned["vectors"] == 6 && tuned["sizes"].is_null(), "{tuned}");
}

#[test]
fn what_makes_no_sense_is_rejected_or_reported() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(40)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model], flags].concat());
    let pursuit = |flags: &[&str]| train(&[&["--learner", "fisher", "--gamma", "1", "--method", "fisher-pursuit"], flags].concat());
    train(&["--method", "fisher-pursuit", "--vectors", "4"])
        .failed(2, "--method fisher-pursuit goes with the --learner fisher, not with svc");
    train(&["--learner", "fisher", "--method", "random", "--vectors", "4", "--stages", "2"])
        .failed(2, "--stages is not used by fisher on a basis by random, only by --method fisher-pursuit");
    pursuit(&[]).failed(2, "--method fisher-pursuit needs --vectors");
    pursuit(&["--vectors", "4", "--criterion", "best"]).failed(2, "possible values: random, optimal, pseudo");
    pursuit(&["--vectors", "4", "--deflation", "half"]).failed(2, "possible values: none, hotelling, projection");
    pursuit(&["--vectors", "4", "--stages", "0"]).failed(2, "stages is 0, but must be at least 1");
    pursuit(&["--vectors", "4", "--sample", "0"]).failed(2, "sample is 0, but must be at least 1");
    pursuit(&["--vectors", "4", "--every", "0"]).failed(2, "every is 0, but must be at least 1");
    pursuit(&["--vectors", "4", "--folds", "1"]).failed(2, "folds is 1, but must be at least 2");
    pursuit(&["--vectors", "4", "--max-error", "0.1"]).failed(2, "--max-error is not used by fisher on a basis by fisher-pursuit");
    pursuit(&["--vectors", "4", "--stages", "2", "--threshold", "1"]).failed(2, "--stages and --score-threshold contradict each other");
    pursuit(&["--vectors", "4", "--criterion", "random", "--threshold", "1"]).failed(2, "random, which has no scores");
    pursuit(&["--vectors", "4", "--threshold", "1e9"]).failed(1, "no row has a score beyond the threshold");
    let many = pursuit(&["--vectors", "4", "--stages", "9"]).succeeded();
    assert!(many.err.contains("--stages 9 is above the number of vectors"), "{}", many.err);
    let capped = pursuit(&["--vectors", "500"]).succeeded();
    assert!(capped.err.contains("500 vectors were requested"), "{}", capped.err);
    let alone = folder.file("one.svm", "1 1:2\n1 1:3\n");
    run(&["train", &alone, "-o", &model, "--learner", "fisher", "--method", "fisher-pursuit", "--vectors", "1"])
        .failed(1, "a classifier needs at least two classes");
    let single = folder.file("single.svm", "1 1:2\n-1 1:3\n-1 1:4\n-1 1:5\n");
    let json =
        run(&["train", &single, "-o", &model, "--learner", "fisher", "--method", "fisher-pursuit", "--vectors", "2", "--json"]).json();
    assert_eq!(json["vectors"], 2);
}
