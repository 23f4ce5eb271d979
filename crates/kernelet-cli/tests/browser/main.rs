//! The pages of `report` and `studio` in a real browser: `make test-browser`, where one is installed.
//!
//! A page is opened with a script of the test at its end, which uses the page as a reader would and leaves what it saw in an element; the
//! browser prints the page as it then is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driver;
#[path = "../cli/program.rs"]
#[allow(dead_code)]
mod program;
mod studio;

use std::{fs, process::Command};

use program::{Folder, run, three_classes};
use serde_json::{Value, json};

/// Collects whatever goes wrong, from before the page's own script on.
const LISTEN: &str = "<script>window.wrong = []; window.alert = text => window.wrong.push('alert ' + text);
addEventListener('error', event => window.wrong.push(String(event.message)));
addEventListener('securitypolicyviolation', event => window.wrong.push('refused ' + event.blockedURI));
console.error = text => window.wrong.push(String(text));</script>";

/// Moves the slider through all sizes of all methods and keeps the figures shown.
const SLIDE: &str = "const slider = document.getElementById('size'), shown = [];
document.querySelectorAll('#methods input').forEach(radio => {
  radio.click();
  const sizes = [];
  for (let i = 0; i <= Number(slider.max); i++) {
    slider.value = i;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    const figures = { summary: document.getElementById('summary').textContent, spoken: slider.getAttribute('aria-valuetext') };
    document.querySelectorAll('[data-figure]').forEach(card => { figures[card.dataset.figure] = card.textContent; });
    figures.wrong_rows = [...document.querySelectorAll('#confusion-table tbody tr')].reduce((sum, row, i) =>
      sum + [...row.querySelectorAll('td')].reduce((sum, cell, j) => sum + (i === j ? 0 : Number(cell.textContent)), 0), 0);
    const border = document.getElementById('border');
    figures.border = border ? border.getAttribute('d').length : 0;
    sizes.push(figures);
  }
  shown.push(sizes);
});
return shown;";

/// What the script `body` returns in the page, and what went wrong there.
fn seen(folder: &Folder, page: &str, body: &str) -> (Value, Vec<String>) {
    let script = format!(
        "<script>{{ let seen = null; try {{ seen = (() => {{ {body} }})(); }} catch (error) {{ window.wrong.push(String(error)); }}
        const outside = performance.getEntriesByType('resource').map(entry => entry.name);
        const pre = document.createElement('pre'); pre.id = 'seen';
        pre.textContent = btoa(unescape(encodeURIComponent(JSON.stringify({{ seen, wrong: window.wrong.concat(outside) }}))));
        document.body.append(pre); }}</script>"
    );
    let page = page.replacen("<head>", &format!("<head>{LISTEN}"), 1).replacen("</body>", &format!("{script}</body>"), 1);
    let path = folder.file("tested.html", page);
    let browser = std::env::var("KERNELET_BROWSER").expect("KERNELET_BROWSER names a browser; make test-browser sets it");
    let profile = format!("--user-data-dir={}", folder.path("profile"));
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", &profile, "--dump-dom"];
    let output = Command::new(browser).args(flags).arg(format!("file://{path}")).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = dom.split("<pre id=\"seen\">").nth(1).unwrap_or_else(|| panic!("the page did not get that far: {dom:.2000}"));
    let seen: Value = serde_json::from_slice(&decoded(text.split("</pre>").next().unwrap())).unwrap();
    let wrong = seen["wrong"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect();
    (seen["seen"].clone(), wrong)
}

fn decoded(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = text.bytes().filter_map(|byte| digits.iter().position(|digit| *digit == byte));
    let (mut bytes, mut word, mut filled) = (vec![], 0u32, 0);
    for six in bits {
        (word, filled) = (word << 6 | six as u32, filled + 6);
        if filled >= 8 {
            filled -= 8;
            bytes.push((word >> filled) as u8);
        }
    }
    bytes
}

/// A page about three classes in the plane.
fn page(folder: &Folder, flags: &[&str]) -> String {
    let (data, model, html) = (folder.file("a.csv", three_classes(150)), folder.path("m"), folder.path("r.html"));
    run(&["train", &data, "-o", &model, "--gamma", "1", "--c", "10"]).succeeded();
    run(&[&["report", &model, "--data", &data, "-o", &html][..], flags].concat()).succeeded();
    fs::read_to_string(html).unwrap()
}

fn figures(page: &str) -> Value {
    serde_json::from_str(page.split("id=\"figures\">").nth(1).unwrap().split("</script>").next().unwrap()).unwrap()
}

/// The page with other figures.
fn with(page: &str, figures: &Value) -> String {
    let (before, rest) = page.split_once("id=\"figures\">").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    format!("{before}id=\"figures\">{}</script>{after}", figures.to_string().replace('<', "\\u003c"))
}

fn percent(value: &Value) -> String {
    format!("{:.2} %", 100.0 * value.as_f64().unwrap())
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn the_slider_shows_the_figures_of_every_size_and_nothing_goes_wrong() {
    let folder = Folder::new();
    let page = page(&folder, &["--methods", "pursuit,margin", "--largest", "16"]);
    let (shown, wrong) = seen(&folder, &page, SLIDE);
    assert_eq!(wrong, [""; 0], "errors, refused requests and requests");
    let figures = figures(&page);
    for (method, shown) in figures["methods"].as_array().unwrap().iter().zip(shown.as_array().unwrap()) {
        let levels = method["levels"].as_array().unwrap();
        assert_eq!(levels.len(), shown.as_array().unwrap().len());
        for (level, shown) in levels.iter().zip(shown.as_array().unwrap()) {
            assert_eq!((&shown["error"], &shown["agreement"]), (&json!(percent(&level["error"])), &json!(percent(&level["agreement"]))));
            assert_eq!(shown["vectors"], level["vectors"].to_string());
            assert_eq!(shown["spoken"], format!("{} vectors", level["vectors"]));
            let begins = format!("{} of {} vectors by {}", level["vectors"], figures["full"]["vectors"], method["name"].as_str().unwrap());
            assert!(shown["summary"].as_str().unwrap().starts_with(&begins), "{shown}");
            assert_eq!(shown["residual"].is_null(), level["residual"].is_null());
            let wrong = (level["error"].as_f64().unwrap() * 150.0).round();
            assert_eq!(shown["wrong_rows"].as_f64().unwrap(), wrong, "{shown}");
        }
    }
    let borders: Vec<&Value> = shown[0].as_array().unwrap().iter().map(|shown| &shown["border"]).collect();
    assert!(borders.windows(2).any(|two| two[0] != two[1]), "{borders:?}");
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn text_in_labels_is_shown_and_never_run() {
    let folder = Folder::new();
    let evil = "</script><img src=x onerror=alert(1)><b>";
    let data = folder.file("b.csv", three_classes(90).replace("middle", evil));
    let (model, html) = (folder.path("m"), folder.path("r.html"));
    run(&["train", &data, "-o", &model]).succeeded();
    run(&["report", &model, "--data", &data, "--methods", "pursuit", "--title", evil, "-o", &html]).succeeded();
    let look = "return { elements: document.querySelectorAll('main b:not([data-figure]), main img, main script').length,
      title: document.querySelector('h1').textContent, labels: [...document.querySelectorAll('#confusion-table tbody th')].map(th => th.textContent) };";
    let (shown, wrong) = seen(&folder, &fs::read_to_string(html).unwrap(), look);
    assert_eq!((wrong, &shown["elements"], &shown["title"]), (vec![], &json!(0), &json!(evil)));
    assert!(shown["labels"].as_array().unwrap().contains(&json!(evil)), "{shown}");
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn one_size_open_errors_and_many_classes_are_still_a_page() {
    let folder = Folder::new();
    let page = page(&folder, &["--methods", "pursuit", "--largest", "1"]);
    let mut figures = figures(&page);
    let look = "return { max: document.getElementById('size').max, curves: document.querySelectorAll('#curves figure').length,
      rows: document.querySelectorAll('#confusion-table tbody tr').length, summary: document.getElementById('summary').textContent };";
    let (shown, wrong) = seen(&folder, &page, look);
    assert_eq!((wrong, &shown["max"], &shown["curves"], &shown["rows"]), (vec![], &json!("0"), &json!(3), &json!(3)));
    let level = &mut figures["methods"][0]["levels"][0];
    (level["error"], level["residual"]) = (Value::Null, Value::Null);
    figures["labels"] = (0..200).map(|i| format!("class {i}")).collect();
    let (shown, wrong) = seen(&folder, &with(&page, &figures), look);
    assert_eq!((wrong, &shown["curves"]), (vec![], &json!(1)));
    assert!(shown["summary"].as_str().unwrap().contains("the same label on"), "{shown}");
}

#[test]
#[ignore = "needs a browser: make test-browser"]
fn five_hundred_sizes_of_five_methods_are_all_there() {
    let folder = Folder::new();
    let page = page(&folder, &["--methods", "pursuit", "--largest", "4"]);
    let mut figures = figures(&page);
    let level = figures["methods"][0]["levels"][1].clone();
    let sized = |m: usize, i: usize| {
        let mut level = level.clone();
        level["vectors"] = json!(i + 1);
        level["error"] = json!(0.9 / (1.0 + i as f64 + m as f64));
        level
    };
    let method = |m: usize| json!({"name": format!("method {m}"), "about": "", "seconds": 1.0, "levels": (0..500).map(|i| sized(m, i)).collect::<Vec<_>>()});
    figures["methods"] = (0..5).map(method).collect();
    let look = "const ready = performance.now(), slider = document.getElementById('size');
      for (let i = 0; i < 50; i++) { slider.value = 10 * i; slider.dispatchEvent(new Event('input')); }
      return { ready, moved: (performance.now() - ready) / 50, max: slider.max, error: document.querySelector('[data-figure=error]').textContent };";
    let (shown, wrong) = seen(&folder, &with(&page, &figures), look);
    assert_eq!((wrong, &shown["max"], shown["error"].as_str()), (vec![], &json!("499"), Some("0.18 %")));
    // A measurement to read, not to judge by: machines that test are busy.
    eprintln!(
        "500 sizes of 5 methods: ready after {:.0} ms, {:.1} ms for a move",
        shown["ready"].as_f64().unwrap(),
        shown["moved"].as_f64().unwrap()
    );
}
