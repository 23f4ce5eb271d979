//! What Node makes of the JavaScript module of every case, against the predictions made here.
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use kernelet::{data::Points, machine::Decision, model::javascript};
use serde_json::Value;

use crate::cases;

const ROWS: usize = 40;

/// Asks every module about every row and prints one line for each module.
const ASKING: &str = "import { readFileSync } from 'node:fs';
for (const { name, rows } of JSON.parse(readFileSync('cases.json'))) {
  const machine = await import(`./${name}.mjs`);
  const plain = (value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
  const about = (row) => [machine.outputs, machine.predict, machine.probabilities, machine.deviations].map((ask) => plain(ask(row)));
  let refused = 0;
  for (const bad of [rows[0].slice(1), rows[0].map(() => NaN)]) {
    try { machine.predict(bad); } catch (error) { refused += error instanceof RangeError ? 1 : 0; }
  }
  console.log(JSON.stringify({ refused, features: machine.features, rows: rows.map(about) }));
}
";

fn assert_close(name: &str, have: &Value, want: &[f64], tolerance: f64) {
    let have: Vec<f64> = have.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(have.len(), want.len(), "{name}");
    let size = want.iter().fold(1.0f64, |most, value| most.max(value.abs()));
    have.iter().zip(want).for_each(|(a, b)| assert!((a - b).abs() <= tolerance * size, "{name}: {a} for {b}"));
}

#[test]
fn the_module_of_every_machine_predicts_the_same_in_node() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("javascript");
    fs::create_dir_all(&folder).unwrap();
    let cases = cases::all();
    let rows = |i: usize| cases::rows(&cases[i].machine, ROWS);
    let list = |i: usize| serde_json::json!({ "name": cases[i].name, "rows": rows(i).iter().collect::<Vec<_>>() });
    cases.iter().for_each(|case| javascript::save(&case.machine, folder.join(format!("{}.mjs", case.name))).unwrap());
    fs::write(folder.join("cases.json"), serde_json::to_string(&(0..cases.len()).map(list).collect::<Vec<_>>()).unwrap()).unwrap();
    fs::write(folder.join("ask.mjs"), ASKING).unwrap();
    let Ok(ran) = Command::new("node").arg("ask.mjs").current_dir(&folder).stdin(Stdio::null()).output() else {
        eprintln!("there is no Node: what it makes of the JavaScript modules is not tested");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(printed.lines().count(), cases.len());
    for ((i, case), line) in cases.iter().enumerate().zip(printed.lines()) {
        let (name, machine) = (&case.name, &case.machine);
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&answer["refused"], &answer["features"]), (&2.into(), &machine.dim().into()), "{name}");
        let points = Points::from(rows(i));
        let outputs = machine.outputs_for(&points).unwrap();
        let known = machine.check_probabilities().is_ok() && !(matches!(machine.decision, Decision::Codes { .. }) && name == "codes");
        let probabilities = known.then(|| machine.probabilities(&outputs).unwrap());
        let deviations = machine.deviations(&points).ok();
        for (r, row) in answer["rows"].as_array().unwrap().iter().enumerate() {
            assert_close(name, &row[0], outputs.row(r), 1e-12);
            match machine.decision.labels().get(machine.decision.class(outputs.row(r))) {
                Some(label) => {
                    let have = row[1].as_str().map_or_else(|| row[1].to_string(), String::from);
                    assert_eq!(have, label.text().trim_start_matches('+'), "{name} row {r}");
                }
                None => assert_close(name, &row[1], &machine.decision.numbers(outputs.row(r)), 1e-12),
            }
            for (have, want) in [(&row[2], &probabilities), (&row[3], &deviations)] {
                match want {
                    Some(want) => assert_close(name, have, want.row(r), 1e-10),
                    None => assert!(have.is_null(), "{name}"),
                }
            }
        }
    }
}
