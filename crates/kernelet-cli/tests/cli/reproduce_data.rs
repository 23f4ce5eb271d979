//! `reproduce` on files: the three layouts, and what can be wrong with them.
use std::fs;

use serde_json::Value;

use crate::{
    arrays::{Array, npz},
    program::{Folder, Ran, run},
};

const HEAD: &str = "title = 't'\npaper = 'p'\nsplits = 2\n[[methods]]\nname = 'svm'\ntrain = { gamma = '{gamma}', c = '{c}' }\n";

/// Points on two rings: x, y, and the label.
fn rings(n: usize) -> (Vec<f64>, Vec<i32>) {
    let row = |i: usize| {
        let (radius, angle) = (1.0 + (i % 2) as f64 + 0.6 * (i as f64 * 1.7).sin(), i as f64 * 2.4);
        [radius * angle.cos(), radius * angle.sin()]
    };
    ((0..n).flat_map(row).collect(), (0..n).map(|i| 2 * (i as i32 % 2) - 1).collect())
}

fn pool(n: usize) -> Vec<Array> {
    let (points, labels) = rings(n);
    vec![Array::table("X", &points, 2), Array::list("y", &labels)]
}

fn with_splits(train: Array, test: Array) -> Vec<Array> {
    let mut arrays = pool(60);
    arrays.extend([train, test]);
    arrays
}

/// Runs an experiment of one set `s`, with more lines for it, on these arrays.
fn reproduce(arrays: &[Array], lines: &str, flags: &[&str]) -> Ran {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("data/s")).unwrap();
    fs::write(folder.path("data/s/s.npz"), npz(arrays)).unwrap();
    let file = folder.file("e.toml", format!("{HEAD}[[sets]]\nname = 's'\nvalues = {{ gamma = 1, c = 10 }}\n{lines}"));
    run(&[&["reproduce", &file, "--data-dir", &folder.path("data")], flags].concat())
}

fn cells(ran: &Ran) -> Vec<(u64, u64, f64, u64)> {
    let number = |cell: &Value, key: &str| cell[key].as_u64().unwrap();
    let json = ran.json();
    let cell =
        |cell: &Value| (number(cell, "train_rows"), number(cell, "test_rows"), cell["error"].as_f64().unwrap(), number(cell, "vectors"));
    json["experiments"][0]["cells"].as_array().unwrap().iter().map(cell).collect()
}

#[test]
fn every_layout_is_read_and_the_same_rows_give_the_same_result() {
    let (first, rest): (Vec<i32>, Vec<i32>) = ((0..40).collect(), (40..60).collect());
    let (last, begin): (Vec<i32>, Vec<i32>) = ((20..60).rev().collect(), (0..20).collect());
    let listed = with_splits(Array::lines("train_idx", &[&first, &last]), Array::lines("test_idx", &[&rest, &begin]));
    let listed = cells(&reproduce(&listed, "", &["--json"]));
    assert_eq!(listed.iter().map(|cell| (cell.0, cell.1)).collect::<Vec<_>>(), [(40, 20), (40, 20)]);
    let (points, labels) = rings(60);
    let fixed = [
        Array::table("X_train", &points[..80], 2),
        Array::list("y_train", &labels[..40]),
        Array::table("X_test", &points[80..], 2),
        Array::list("y_test", &labels[40..]),
    ];
    let fixed = reproduce(&fixed, "", &["--json"]);
    assert!(fixed.err.contains("note: e: s has 1 split, not 2"), "{}", fixed.err);
    assert_eq!(cells(&fixed), listed[..1]);
    let drawn = |lines: &str, flags: &[&str]| cells(&reproduce(&pool(60), lines, &[flags, &["--json"]].concat()));
    let three = drawn("train = 40\n", &["--splits", "3"]);
    assert!(three.len() == 3 && three.iter().all(|cell| (cell.0, cell.1) == (40, 20)), "{three:?}");
    assert_eq!(drawn("train = 40\n", &[]), three[..2]);
    assert!(drawn("train = 30\ntest = 7\n", &[]).iter().all(|cell| (cell.0, cell.1) == (30, 7)));
}

#[test]
fn several_seeds_give_their_spread_and_methods_that_draw_nothing_run_once() {
    let drawn = "printed.drawn = { error = 90 }\nprinted_splits = 2\nown_splits = 2\n\
        [[methods]]\nname = 'drawn'\ntrain = { gamma = 1, c = 10, method = 'random', vectors = 6 }\nrandom = true\n";
    let (first, rest): (Vec<i32>, Vec<i32>) = ((0..40).collect(), (40..60).collect());
    let listed = with_splits(Array::lines("train_idx", &[&first, &first]), Array::lines("test_idx", &[&rest, &rest]));
    let outcome = |seeds: &str| reproduce(&listed, drawn, &["--seeds", seeds, "--json"]).json()["experiments"][0].clone();
    let (one, three) = (outcome("1"), outcome("3"));
    let errors = |outcome: &Value, method: &str| -> Vec<(u64, f64)> {
        let cells = outcome["cells"].as_array().unwrap().iter().filter(|cell| cell["method"] == method);
        cells.map(|cell| (cell["seed"].as_u64().unwrap(), 100.0 * cell["error"].as_f64().unwrap())).collect()
    };
    assert_eq!((errors(&one, "svm").len(), errors(&one, "drawn").len()), (2, 2));
    assert_eq!((errors(&three, "svm").len(), errors(&three, "drawn").len(), &three["seeds"]), (2, 6, &3.into()));
    // Both splits are the same, so that the mean of a seed is any of its errors.
    let of_seeds: Vec<f64> = (0..3).map(|seed| errors(&three, "drawn").iter().find(|(own, _)| *own == seed).unwrap().1).collect();
    let (least, most) = of_seeds.iter().fold((f64::INFINITY, 0f64), |(least, most), &one| (least.min(one), most.max(one)));
    let row =
        |outcome: &Value| outcome["rows"].as_array().unwrap().iter().find(|row| row["method"] == "drawn").unwrap()["error_percent"].clone();
    let spread = row(&three)["spread"].clone();
    assert!(
        least < most && (spread[0].as_f64().unwrap() - least).abs() < 1e-9 && (spread[1].as_f64().unwrap() - most).abs() < 1e-9,
        "{of_seeds:?} {spread}"
    );
    assert!(row(&one)["spread"].is_null() && row(&three)["differs"] == true && row(&three)["uncertainty"].as_f64() > Some(0.0));
    assert_eq!((&three["deviations"][0]["method"], &three["tally"]["error"]["below"]), (&"drawn".into(), &1.into()));
}

#[test]
fn more_splits_than_there_are_is_capped_and_reported() {
    let listed = with_splits(Array::lines("train_idx", &[&[0, 1, 2, 3], &[4, 5, 6, 7]]), Array::lines("test_idx", &[&[9], &[8]]));
    let ran = reproduce(&listed, "", &["--splits", "9"]).succeeded();
    assert!(ran.err.contains("note: e: s has 2 splits, not 9"), "{}", ran.err);
}

#[test]
fn images_are_smoothed_and_rows_scaled() {
    let (points, labels) = rings(60);
    let images = || [Array::table("X", &points, 4), Array::list("y", &labels[..30])];
    let plain = cells(&reproduce(&images(), "train = 20\n", &["--json"]));
    let smooth = "train = 20\nsmooth = { width = 2, height = 2, pixels = 0.75 }\n";
    assert_ne!(cells(&reproduce(&images(), smooth, &["--json"])), plain);
    assert_ne!(cells(&reproduce(&images(), "train = 20\nscale = 'minmax'\n", &["--json"])), plain);
    let wrong = smooth.replace("width = 2", "width = 3");
    reproduce(&images(), &wrong, &[]).failed(1, "pixels of an image: expected 6, found 4");
}

#[test]
fn what_is_wrong_with_a_file_is_reported() {
    let rows = |lines: &'static [&'static [i32]]| move |name| Array::lines(name, lines);
    let (good, two) = (rows(&[&[0, 1, 2, 3]]), rows(&[&[4], &[5]]));
    let (points, labels) = rings(60);
    let narrow = [
        Array::table("X_train", &points, 2),
        Array::list("y_train", &labels),
        Array::table("X_test", &points, 4),
        Array::list("y_test", &labels[..30]),
    ];
    let cases: [(Vec<Array>, &str, &str); 11] = [
        (pool(60), "", "s.npz: there are no splits in it, so the description must say how many rows to train on"),
        (pool(60), "train = 60\n", "there are 60 rows, too few for 60 to train and 1 to test on"),
        (pool(60), "train = 30\ntest = 31\n", "too few for 30 to train and 31 to test on"),
        (vec![Array::table("X", &points, 2)], "train = 9\n", "s.npz: there is no array y"),
        (vec![Array::list("z", &labels)], "", "s.npz: there is no array X"),
        (vec![Array::table("X", &points, 2), Array::list("y", &labels[..3])], "", "targets: expected 60, found 3"),
        (with_splits(good("train_idx"), two("test_idx")), "", "train_idx has 1 splits, but test_idx has 2"),
        (with_splits(rows(&[&[0, 60]])("train_idx"), good("test_idx")), "", "train_idx has the row 60, but rows go from 0 to 59"),
        (with_splits(rows(&[&[0, -1]])("train_idx"), good("test_idx")), "", "train_idx has the row -1"),
        (with_splits(Array::list("train_idx", &[1]), good("test_idx")), "", "train_idx must be a table of whole numbers"),
        (narrow.into(), "", "X_train has 2 features, but X_test has 4"),
    ];
    for (arrays, lines, words) in cases {
        reproduce(&arrays, lines, &[]).failed(1, words);
    }
    let empty = with_splits(rows(&[])("train_idx"), good("test_idx"));
    reproduce(&empty, "", &[]).failed(1, "train_idx is empty");
    let one_class = with_splits(rows(&[&[0, 2, 4]])("train_idx"), good("test_idx"));
    reproduce(&one_class, "", &[]).failed(1, "e, s, split 1: svm: all 3 rows have the label -1");
}

#[test]
fn what_is_missing_is_named_with_what_still_runs() {
    let folder = Folder::new();
    let none = folder.path("none");
    let ran = run(&["reproduce", "ida-svm", "--data-dir", &none]).failed(1, "none: there is no such directory");
    assert!(
        ran.err.contains(
            "hint: without data still run: diethe2015-generated, franc2003-figure1, franc2003-section3, generated-svm, weston2004-averages, weston2004-coupling, weston2004-densities, weston2004-figure1, weston2004-section5\n"
        ),
        "{}",
        ran.err
    );
    let leave = |name: &str| {
        fs::create_dir_all(folder.path(&format!("data/{name}"))).unwrap();
        fs::write(folder.path(&format!("data/{name}/{name}.npz")), b"PK").unwrap();
    };
    ["banana", "breast-cancer", "titanic", "german"].into_iter().for_each(leave);
    let data = folder.path("data");
    let missing = "image/image.npz";
    let ran = run(&["reproduce", "wu2006-table3", "--data-dir", &data]).failed(1, missing);
    assert!(
        !ran.err.contains("banana.npz")
            && ran.err.contains(
                "hint: with what there is still run: diethe2015-generated, franc2003-figure1, franc2003-section3, generated-svm, weston2004-averages, weston2004-coupling, weston2004-densities, weston2004-figure1, weston2004-section5\n"
            ),
        "{}",
        ran.err
    );
    let all = run(&["reproduce", "all", "--data-dir", &data, "--splits", "1"]).succeeded();
    assert!(all.out.contains("not run: wu2006-table3: it needs files that are not there") && all.out.contains(missing), "{}", all.out);
    ["waveform", "image"].into_iter().for_each(leave);
    run(&["reproduce", "wu2006-table3", "--data-dir", &data]).failed(1, "banana.npz: this is not a zip file of NumPy arrays");
}

#[test]
fn classes_are_kept_and_rows_drawn_anew_where_that_is_asked_for() {
    let (points, _) = rings(60);
    let labels: Vec<i32> = (0..60).map(|i| i % 3).collect();
    let three = || {
        let all: Vec<i32> = (0..60).collect();
        [
            Array::table("X", &points, 2),
            Array::list("y", &labels),
            Array::lines("train_idx", &[&all[..50]]),
            Array::lines("test_idx", &[&all[50..]]),
        ]
    };
    let kept = cells(&reproduce(&three(), "classes = ['0', '2']\ntrain = 30\n", &["--json"]));
    assert!(kept.len() == 2 && kept.iter().all(|cell| (cell.0, cell.1) == (30, 10)), "{kept:?}");
    reproduce(&three(), "classes = ['0', '7']\ntrain = 30\n", &[]).failed(1, "s.npz: y: there is no class 7");
}

#[test]
fn numbers_are_learned_with_a_squared_error() {
    let (points, _) = rings(60);
    let targets: Vec<f64> = points.chunks(2).map(|point| 100.0 + 10.0 * point[0]).collect();
    let folder = Folder::new();
    fs::create_dir_all(folder.path("data/s")).unwrap();
    fs::write(folder.path("data/s/s.npz"), npz(&[Array::table("X", &points, 2), Array::table("y", &targets, 1)])).unwrap();
    let text = "title = 't'\npaper = 'p'\nsplits = 2\n[[methods]]\nname = 'ridge'\ntrain = { learner = 'ridge', gamma = 0.1, lambda = 1e-6 }\n\
        [[methods]]\nname = 'small'\ntrain = { learner = 'ridge', gamma = 0.1, lambda = 1e-6 }\ncompress = { method = 'pursuit', vectors = 5 }\n\
        [[sets]]\nname = 's'\ntrain = 40\ntarget = 'standardised'\n";
    let ran = run(&["reproduce", &folder.file("e.toml", text), "--data-dir", &folder.path("data"), "--json"]);
    let json = ran.json();
    let rows = json["experiments"][0]["rows"].as_array().unwrap();
    let mse = |place: usize| rows[place]["mse"]["mean"].as_f64().unwrap();
    // Measured: 7.6e-6 and 0.052.
    assert!(mse(0) < 1e-5 && mse(1) > mse(0) && mse(1) < 0.07, "{json}");
    assert_eq!(rows[1]["vectors"]["mean"], 5.0);
}
