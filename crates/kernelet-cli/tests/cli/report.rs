//! `kernelet report`.
use std::fs;

use serde_json::Value;

use crate::program::{Folder, numbers, run, three_classes, two_classes};

/// The figures in a page.
fn figures(path: &str) -> Value {
    let page = fs::read_to_string(path).unwrap();
    let json = page.split("id=\"figures\">").nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_report_is_one_page_with_the_figures_that_the_other_commands_give() {
    let folder = Folder::new();
    let (model, html) = (folder.model(), folder.path("r.html"));
    let (data, test) = (folder.path("train.svm"), folder.file("test.svm", two_classes(90)));
    let flags = ["--data", &data, "--test", &test, "--methods", "pursuit,margin", "--largest", "8", "-o", &html];
    let json = run(&[&["report", &model][..], &flags, &["--json"]].concat()).json();
    let page = figures(&html);
    assert_eq!(json["bytes"].as_u64().unwrap(), fs::metadata(&html).unwrap().len());
    assert_eq!((json["rows"].as_u64(), json["methods"].as_array().unwrap().len()), (Some(90), 2));
    let small = folder.path("small.model");
    let compressed = run(&["compress", &model, "-o", &small, "--vectors", "8", "--data", &data, "--test", &test, "--json"]).json();
    let last = page["methods"][0]["levels"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["error"], &last["agreement"]), (&compressed["test_error"], &compressed["agreement"]));
    assert_eq!((&last["data_error"], last["vectors"].as_u64()), (&compressed["train_error"], Some(8)));
    let evaluated = run(&["evaluate", &model, &test, "--json"]).json();
    assert_eq!(page["full"]["error"], evaluated["error"]);
    let chosen = &json["chosen"];
    assert!(chosen["vectors"].as_u64().unwrap() <= 8 && chosen["method"].is_string(), "{json}");
    let sums: Vec<&str> = page["provenance"]["files"].as_array().unwrap().iter().map(|file| file["sha256"].as_str().unwrap()).collect();
    assert_eq!((sums.len(), sums[0].len()), (3, 64));
    let text = run(&[&["report", &model][..], &flags].concat()).succeeded().out;
    assert!(text.contains("vectors by") && text.contains("m margin") && text.contains("open it in a browser"), "{text}");
}

#[test]
fn direct_training_in_a_report_is_that_of_train() {
    let folder = Folder::new();
    let (model, html, small) = (folder.model(), folder.path("r.html"), folder.path("s"));
    let data = folder.path("train.svm");
    run(&["report", &model, "--data", &data, "--methods", "margin", "--largest", "4", "-o", &html]).succeeded();
    let trained = run(&["train", &data, "-o", &small, "--gamma", "0.5", "--c", "10", "--vectors", "4", "--json"]).json();
    let page = figures(&html);
    let last = page["methods"][0]["levels"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["error"], last["vectors"].as_u64(), last["residual"].is_null()), (&trained["train_error"], Some(4), true));
}

#[test]
fn labels_in_html_stay_labels() {
    let folder = Folder::new();
    let evil = "</script><script>alert(1)</script>";
    let data = folder.file("a.csv", three_classes(90).replace("middle", evil));
    let (model, html) = (folder.path("m"), folder.path("r.html"));
    run(&["train", &data, "-o", &model]).succeeded();
    run(&["report", &model, "--data", &data, "--methods", "pursuit", "--title", evil, "-o", &html]).succeeded();
    let page = fs::read_to_string(&html).unwrap();
    assert!(!page.contains("<script>alert") && page.matches("</script>").count() == 2);
    assert!(figures(&html)["labels"].as_array().unwrap().contains(&Value::from(evil)));
}

#[test]
fn numbers_features_and_models_without_data_have_reports_too() {
    let folder = Folder::new();
    let (data, html) = (folder.file("a.csv", numbers(60)), folder.path("r.html"));
    for (learner, task) in [("svr", "values"), ("ridge", "values"), ("pca", "features"), ("one-class", "classes")] {
        let model = folder.path(learner);
        let few: &[&str] = if learner == "pca" { &["--components", "2"] } else { &[] };
        run(&[&["train", &data, "-o", &model, "--learner", learner], few].concat()).succeeded();
        run(&["report", &model, "--data", &data, "--largest", "6", "-o", &html]).succeeded();
        let page = figures(&html);
        assert_eq!((&page["task"], page["notes"].as_array().unwrap().len()), (&Value::from(task), 0), "{learner}: {}", page["notes"]);
        run(&["report", &model, "--largest", "6", "-o", &html]).succeeded();
        let level = &figures(&html)["methods"][0]["levels"][0];
        assert!(level["error"].is_null() && level["residual"].is_number(), "{learner}");
    }
}

#[test]
fn the_size_path_that_a_model_stores_is_shown_without_data() {
    let folder = Folder::new();
    let (data, model, html) = (folder.file("train.svm", two_classes(60)), folder.path("m"), folder.path("r.html"));
    let pursuit = ["--learner", "fisher", "--method", "fisher-pursuit", "--vectors", "6", "--every", "2", "--folds", "3"];
    run(&[&["train", &data, "-o", &model][..], &pursuit].concat()).succeeded();
    let metadata = run(&["inspect", &model, "--json"]).json()["facts"]["basis"]["sizes"].clone();
    let json = run(&["report", &model, "-o", &html, "--json"]).json();
    let path = json["methods"][0]["path"].as_array().unwrap();
    assert_eq!(path.len(), metadata.as_array().unwrap().len());
    assert!(
        path.iter()
            .zip(metadata.as_array().unwrap())
            .all(|(shown, fact)| shown["error"] == fact["loss"] && shown["vectors"] == fact["vectors"])
    );
    assert!(figures(&html)["notes"][0].as_str().unwrap().contains("those that the model keeps"));
}

#[test]
fn usual_methods_that_do_not_work_with_a_model_are_left_out_with_a_sentence() {
    let folder = Folder::new();
    let (data, model, html) = (folder.file("train.svm", two_classes(60)), folder.path("m"), folder.path("r.html"));
    run(&["train", &data, "-o", &model, "--kernel", "polynomial", "--degree", "2"]).succeeded();
    let ran = run(&["report", &model, "--data", &data, "--largest", "4", "-o", &html]).succeeded();
    assert!(ran.err.contains("fixed-point is left out: "), "{ran:?}");
    let page = figures(&html);
    assert!(page["notes"][0].as_str().unwrap().starts_with("fixed-point is left out: "));
    assert_eq!(page["methods"][1]["name"], "pursuit");
    run(&["report", &model, "--data", &data, "--methods", "fixed-point", "-o", &html]).failed(2, "fixed-point");
}

#[test]
fn the_same_seed_gives_the_same_figures_for_any_number_of_threads() {
    let folder = Folder::new();
    let (model, html) = (folder.model(), folder.path("r.html"));
    let data = folder.path("train.svm");
    let with = |threads: &str| {
        run(&["report", &model, "--data", &data, "--largest", "6", "-o", &html, "--seed", "3", "--threads", threads]).succeeded();
        let mut page = figures(&html);
        for method in page["methods"].as_array_mut().unwrap() {
            method["seconds"] = Value::Null;
            method["levels"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .for_each(|level| (level["row_us"], level["batch_us"]) = (0.into(), 0.into()));
        }
        page["methods"].clone()
    };
    assert_eq!(with("1"), with("2"));
}

#[test]
fn wrong_flags_are_rejected_with_an_error_and_leave_no_page() {
    let folder = Folder::new();
    let (model, html) = (folder.model(), folder.path("r.html"));
    let data = folder.path("train.svm");
    run(&["report", &model, "-o", &html, "--methods", "magic"]).failed(2, "there are auto, pursuit");
    run(&["report", &model, "-o", &html, "--methods", "margin"])
        .failed(2, "margin trains on rows with class labels; give them with --data");
    run(&["report", &model, "-o", &html, "--images", "8x8"]).failed(2, "but the vectors have 2 features");
    run(&["report", &model, "-o", &html, "--test", &data]).failed(2, "--data");
    run(&["report", &model, "-o", &model]).failed(2, "would be read and overwritten");
    run(&["report", &model, "-o", &folder.path("no/r.html")]).failed(1, "does not exist");
    assert!(!folder.names().contains(&"r.html".to_string()));
}
