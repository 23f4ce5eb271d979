//! The page of `kernelet studio`, without a network: what a user does there, against what the program computes.
use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    driver::Browser,
    program::{Folder, run, three_classes},
};

/// The page, which `make studio` makes; None with a sentence where it was not made.
fn page() -> Option<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/studio/index.html");
    if !page.exists() {
        eprintln!("target/studio/index.html is not there: the studio is not tested; make studio makes it");
        return None;
    }
    Some(format!("file://{}", page.canonicalize().unwrap().display()))
}

fn opened(folder: &Folder) -> Option<Browser> {
    let mut browser = Browser::open(folder, &page()?);
    browser.until("document.body?.dataset.ready");
    Some(browser)
}

/// A file as if it had been dropped.
fn drop_file(browser: &mut Browser, name: &str, bytes: &[u8]) {
    let numbers = bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    browser.value(&format!(
        "(() => {{ const given = new DataTransfer(); given.items.add(new File([new Uint8Array([{numbers}])], {})); 
        document.dispatchEvent(new DragEvent('drop', {{ dataTransfer: given, cancelable: true }})); }})()",
        json!(name)
    ));
}

const DONE: &str = "!page.running && page.levels.length && byId('doing').textContent.startsWith('Done')";

/// The file that a button gives, as bytes.
fn exported(browser: &mut Browser, to: &str) -> Vec<u8> {
    let found = browser.value(&format!("exported('{to}').then(({{ answer, file }}) => answer.failed || [...new Uint8Array(file)])"));
    found.as_array().unwrap_or_else(|| panic!("{to}: {found}")).iter().map(|byte| byte.as_u64().unwrap() as u8).collect()
}

/// The numbers of a table under its header, without so many columns at the left.
fn numbers(text: &str, left_out: usize) -> Vec<Vec<f64>> {
    text.lines().skip(1).map(|line| line.split(',').skip(left_out).map(|number| number.parse().unwrap()).collect()).collect()
}

fn rows_of(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(|row| row.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()).collect()
}

fn furthest(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn digits_are_trained_shown_drawn_and_taken_away_as_by_the_program() {
    let folder = Folder::new();
    let Some(mut browser) = opened(&folder) else { return };
    browser.value("byId('digits').click()");
    browser.until("page.opened.rows");
    browser.value("set('iterations', '20'); byId('vectors').value = '8'; byId('run').click()");
    browser.until(DONE);
    assert_eq!(browser.value("page.levels.map(level => level.vectors)"), json!([1, 2, 3, 4, 6, 8]));

    // The same by the program: the objective, and with the model of the page the outputs.
    let (digits, test) = digits_files(&folder);
    let (model, ours) = (folder.path("page.model"), folder.path("ours.model"));
    fs::write(&model, exported(&mut browser, "native")).unwrap();
    run(&["train", &digits, "-o", &ours, "--gamma", "0.0004", "--c", "10", "--vectors", "8", "--iterations", "20"]).succeeded();
    let objective = |model: &str| run(&["inspect", model, "--json"]).json()["facts"]["objective"].as_f64().unwrap();
    let (here, there) = (objective(&model), objective(&ours));
    eprintln!("objective in the browser {here}, of the program {there}");
    assert!((here - there).abs() <= 1e-3 * there.abs(), "{here} {there}");
    let csv = String::from_utf8(exported(&mut browser, "outputs")).unwrap();
    let out = folder.path("out.csv");
    run(&["predict", &model, &test, "--values", "decision", "-o", &out]).succeeded();
    let apart = furthest(&numbers(&csv, 1), &numbers(&fs::read_to_string(&out).unwrap(), 0));
    eprintln!("the outputs of the test rows are {apart:e} apart");
    assert!(apart <= 1e-9, "{apart}");

    // Sliding by keys, and what is shown then.
    browser.value("byId('size').focus()");
    browser.key("ArrowLeft", 37);
    let look = "({ shown: byId('size-shown').textContent, spoken: byId('size').getAttribute('aria-valuetext'), pictures: document.querySelectorAll('#vectors-drawn canvas').length,
      error: document.querySelector('[data-figure=error]').textContent, cells: [...document.querySelectorAll('#confusion-table td')].reduce((sum, td) => sum + Number(td.textContent), 0) })";
    let shown = browser.value(look);
    let error = browser.value("page.levels[4].error").as_f64().unwrap();
    assert_eq!(
        (&shown["shown"], &shown["spoken"], &shown["pictures"], &shown["cells"]),
        (&json!("6"), &json!("6 vectors"), &json!(6), &json!(539))
    );
    assert_eq!(shown["error"], format!("{:.2} %", 100.0 * error));
    browser.key("ArrowRight", 39);

    // A vertical stroke is something, and typing what was drawn says the same.
    browser.value("byId('clear').click()");
    browser.drag("#pad", &[(0.5, 0.1), (0.5, 0.3), (0.5, 0.5), (0.5, 0.7), (0.5, 0.9)]);
    browser.until("byId('predicted').textContent.startsWith('Predicted') && document.querySelectorAll('#outputs tbody tr').length === 10");
    let (row, said) = (browser.value("byId('row').value"), browser.value("byId('predicted').textContent"));
    let pixels: Vec<f64> = row.as_str().unwrap().split(',').map(|pixel| pixel.parse().unwrap()).collect();
    assert!(pixels.len() == 64 && pixels.iter().filter(|pixel| **pixel > 8.0).count() >= 6, "{row}");
    let drawn = folder.file("drawn.csv", row.as_str().unwrap().to_string() + "\n");
    let label = run(&["predict", &model, &drawn]).succeeded().out;
    assert_eq!(said.as_str().unwrap(), format!("Predicted: {}", label.trim()));

    // What is taken away loads elsewhere.
    let path = folder.path("json");
    fs::write(&path, exported(&mut browser, "json")).unwrap();
    assert_eq!(run(&["inspect", &path, "--json"]).json()["vectors"], json!(8));
    assert!(String::from_utf8(exported(&mut browser, "c")).unwrap().contains("#include \"digits.h\""));
    assert!(String::from_utf8(exported(&mut browser, "javascript")).unwrap().contains("export"));
    assert!(exported(&mut browser, "onnx").len() > 1000);
    // What a format cannot hold is said on the page.
    browser.value("document.querySelector('[data-to=libsvm]').click()");
    browser.until("byId('failed').textContent.includes('LIBSVM')");
    assert_eq!(browser.wrong, [""; 0], "errors, refused requests and requests");
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn a_run_that_is_cancelled_leaves_its_machines_and_a_page_that_works() {
    let folder = Folder::new();
    let Some(mut browser) = opened(&folder) else { return };
    browser.value("byId('digits').click()");
    browser.until("page.opened.rows");
    browser.value("byId('vectors').value = '400'; byId('run').click()");
    browser.until("page.levels.length >= 2");
    browser.value("byId('cancel').click()");
    browser.until("!page.running && library.worker && byId('doing').textContent.startsWith('Stopped')");
    let kept = browser.value("page.levels.length").as_u64().unwrap();
    assert!(kept >= 2 && browser.value("byId('failed').hidden") == json!(true));
    browser.value("byId('next-row').click()");
    browser.until("byId('predicted').textContent.includes('true ')");
    assert!(exported(&mut browser, "native").len() > 500);
    assert_eq!(browser.wrong, [""; 0]);
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn a_dropped_model_is_compressed_with_dropped_rows_and_a_plane_is_drawn() {
    let folder = Folder::new();
    let Some(mut browser) = opened(&folder) else { return };
    let rows = three_classes(150).replace("inner", "1").replace("middle", "2").replace("outer", "3");
    let (csv, model) = (folder.file("a.csv", rows.clone()), folder.path("m"));
    run(&["train", &csv, "-o", &model, "--gamma", "1", "--c", "10"]).succeeded();
    drop_file(&mut browser, "m", &fs::read(&model).unwrap());
    browser.until("page.opened.model");
    drop_file(&mut browser, "a.csv", rows.as_bytes());
    browser.until("page.opened.rows && page.opened.model");
    // What is taken away as LIBSVM text is read again.
    let libsvm = folder.path("m.libsvm");
    fs::write(&libsvm, exported(&mut browser, "libsvm")).unwrap();
    let vectors = |model: &str| run(&["inspect", model, "--json"]).json()["vectors"].as_u64().unwrap();
    assert_eq!(vectors(&libsvm), vectors(&model));
    browser.value("document.querySelector('[value=compress]').click(); byId('vectors').value = '4'; byId('run').click()");
    browser.until(DONE);
    let look = "({ plane: !byId('plane-part').hidden, clear: getComputedStyle(byId('clear')).display, agreement: document.querySelector('[data-figure=agreement]').textContent, dashed: document.querySelectorAll('#curves .full').length })";
    let shown = browser.value(look);
    // There is nothing to draw on, and so nothing to clear.
    assert_eq!((&shown["plane"], &shown["dashed"], &shown["clear"]), (&json!(true), &json!(1), &json!("none")), "{shown}");
    assert!(shown["agreement"].as_str().unwrap().ends_with('%'));
    // The model itself predicts as the program does.
    let outputs = browser.value(
        "Promise.all(['0.1,0.2', '1.5,1.4'].map(row => ask({ do: 'predict', machine: null, row }).then(({ answer }) => answer.outputs)))",
    );
    let (two, out) = (folder.file("two.csv", "width,height\n0.1,0.2\n1.5,1.4\n"), folder.path("two-out.csv"));
    run(&["predict", &model, &two, "--values", "decision", "-o", &out]).succeeded();
    assert!(furthest(&rows_of(&outputs), &numbers(&fs::read_to_string(&out).unwrap(), 0)) <= 1e-9);
    // What cannot be read is said, and nothing else is lost.
    drop_file(&mut browser, "what.xls", b"1,2");
    browser.until("!byId('failed').hidden && byId('failed').textContent.includes('.xls')");
    assert_eq!((browser.value("page.levels.length > 0"), &browser.wrong), (json!(true), &vec![]));
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn text_in_files_is_shown_and_never_run() {
    let folder = Folder::new();
    let Some(mut browser) = opened(&folder) else { return };
    let evil = "<img src=x onerror=alert(1)>";
    drop_file(&mut browser, "a.csv", three_classes(90).replace("middle", evil).as_bytes());
    browser.until("page.opened.rows");
    browser.value("byId('vectors').value = '3'; byId('run').click()");
    browser.until(DONE);
    assert_eq!(browser.value("document.querySelectorAll('main img').length"), json!(0));
    assert_eq!(
        browser.value(&format!("[...document.querySelectorAll('#confusion-table th')].some(th => th.textContent === {})", json!(evil))),
        json!(true)
    );
    assert_eq!(browser.wrong, [""; 0]);
}

/// The digits of the demo as files, split as on the page.
fn digits_files(folder: &Folder) -> (String, String) {
    run(&["demo", "-o", &folder.path("demo"), "--quiet"]).succeeded();
    (folder.path("demo/train.svm"), folder.path("demo/test.svm"))
}
