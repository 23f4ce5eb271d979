//! `demo`: the main job on built-in data.
use crate::program::{Folder, command, run};

#[test]
fn the_demo_trains_measures_and_leaves_a_report_and_files_that_the_other_commands_take() {
    let folder = Folder::new();
    let directory = folder.path("a/b");
    let json = run(&["demo", "-o", &directory, "--json"]).json();
    let [looped, full, small] = &json["machines"].as_array().unwrap()[..] else { panic!("{json}") };
    assert!(looped["microseconds_one_row"].as_f64().unwrap() > 0.0 && looped["microseconds_batched"].is_null());
    for machine in [full, small] {
        assert!(machine["test_error"].as_f64().unwrap() < 0.025);
        for key in ["vectors", "agreement", "bytes", "microseconds_one_row", "microseconds_batched"] {
            assert!(machine[key].as_f64().unwrap() > 0.0, "{key}");
        }
    }
    assert_eq!((full["agreement"].as_f64(), small["vectors"].as_u64()), (Some(1.0), Some(30)));
    assert!(small["agreement"].as_f64().unwrap() > 0.97, "{json}");
    assert_eq!(json["report"].as_str().unwrap(), format!("{directory}/report.html"));
    let page = std::fs::read_to_string(format!("{directory}/report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("Handwritten digits") && page.len() < 500_000, "{}", page.len());
    for (place, model) in ["digits.model", "small.model"].iter().enumerate() {
        let [model, test] = [model, "test.svm"].map(|name| format!("{directory}/{name}"));
        let evaluated = run(&["evaluate", &model, &test, "--json"]).json();
        assert_eq!((&evaluated["error"], evaluated["rows"].as_u64()), (&json["machines"][place + 1]["test_error"], Some(539)));
    }
}

#[test]
fn the_demo_leaves_a_report_where_it_runs_and_shows_a_table_and_a_curve() {
    let folder = Folder::new();
    let ran = command(&["demo"]).current_dir(folder.path("")).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("test error") && text.contains("margin"), "{text}");
    assert!(text.contains("--- the full machine") && text.contains("open kernelet-demo-report.html in a browser"), "{text}");
    assert_eq!(folder.names(), ["kernelet-demo-report.html"]);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_an_error() {
    let folder = Folder::new();
    run(&["demo", "-o", &folder.file("a", "")]).failed(1, "error: ");
}
