//! The C source of every case, compiled with all warnings as errors, against the predictions made here.
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use kernelet::{
    data::Points,
    linalg::Matrix,
    machine::{Decision, Machine},
    model::{Precision, c},
};

use crate::cases::{self, Case};

const ROWS: usize = 40;
const FLAGS: [&str; 6] = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The C compiler: what CC names, or else the first that is there.
pub fn compiler() -> Option<String> {
    let names = std::env::var("CC").into_iter().chain(["cc", "gcc", "clang"].map(String::from));
    let found = names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        eprintln!("there is no C compiler: what it makes of the C source is not tested");
    }
    found
}

pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles and runs; its standard output.
pub fn compile_and_run(compiler: &str, folder: &Path, arguments: &[&str]) -> String {
    let program = folder.join("program");
    let compiled =
        Command::new(compiler).current_dir(folder).args(FLAGS).args(arguments).arg("-o").arg(&program).arg("-lm").output().unwrap();
    assert!(compiled.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&compiled.stderr));
    let run = Command::new(&program).output().unwrap();
    assert!(run.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&run.stdout));
    String::from_utf8(run.stdout).unwrap()
}

/// A program that prints everything the machine says about the rows, one line each.
fn asking(machine: &Machine, rows: &Matrix, single: bool) -> String {
    let suffix = if single { "f" } else { "" };
    let list: Vec<String> = rows.values().iter().map(|v| format!("{v:?}{suffix}")).collect();
    let classes = machine.decision.labels().len();
    let print = |what: &str, count: usize| format!("for (int k = 0; k < {count}; k++) printf(\"%.17g \", (double){what}[k]);");
    let probabilities = match machine.check_probabilities().is_ok() {
        true => format!("m_real p[{classes}]; m_probabilities(o, p); {}", print("p", classes)),
        false => String::new(),
    };
    let deviations = match machine.deviations(&Points::from(rows.clone())).is_ok() {
        true => format!("m_real s[M_OUTPUTS]; m_deviations(x, s); {}", print("s", machine.n_outputs())),
        false => String::new(),
    };
    let predicted = match machine.decision {
        Decision::Values | Decision::Features | Decision::Ratio => {
            format!("m_real v[M_VALUES]; m_predict(x, v); {}", print("v", machine.decision.numbers(&vec![0.0; machine.n_outputs()]).len()))
        }
        _ if machine.decision.labels().iter().all(|label| label.value().is_some()) => "printf(\"%ld\", m_predict(x));".into(),
        _ => "printf(\"%s\", m_predict(x));".into(),
    };
    format!(
        "#include <stdio.h>\n#include \"m.h\"\nstatic const m_real rows[] = {{ {} }};\nint main(void)\n{{\nfor (int i = 0; i < {}; i++) {{\n\
         const m_real *x = rows + i * M_FEATURES; m_real o[M_OUTPUTS]; m_outputs(x, o);\n{}\n{probabilities}\n{deviations}\n{predicted}\nputchar('\\n');\n}}\nreturn 0;\n}}\n",
        list.join(","),
        rows.rows(),
        print("o", machine.n_outputs()),
    )
}

/// What the program should print, as numbers, and the labels where there are any.
fn expected(machine: &Machine, rows: &Matrix) -> Vec<(Vec<f64>, Option<String>)> {
    let points = Points::from(rows.clone());
    let outputs = machine.outputs_for(&points).unwrap();
    let probabilities = machine.check_probabilities().ok().map(|_| machine.probabilities(&outputs).unwrap());
    let deviations = machine.deviations(&points).ok();
    let line = |i: usize| {
        let out = outputs.row(i);
        let mut numbers = out.to_vec();
        numbers.extend(probabilities.iter().chain(&deviations).flat_map(|values| values.row(i).to_vec()));
        let labels = machine.decision.labels();
        if labels.is_empty() {
            numbers.extend(machine.decision.numbers(out));
        }
        let label = labels.get(machine.decision.class(out)).map(|label| label.text().trim_start_matches('+').to_string());
        (numbers, label)
    };
    (0..rows.rows()).map(line).collect()
}

fn check(compiler: &str, case: &Case, precision: Precision, tolerance: f64, macros: &[&str]) {
    let single = precision == Precision::F32;
    let folder = folder(&format!("{}-{precision:?}-{}", case.name, macros.len()));
    let options = c::Options { name: "m".into(), precision };
    c::save(&case.machine, &options, folder.join("m.c")).unwrap();
    let rows = cases::rows(&case.machine, ROWS);
    fs::write(folder.join("main.c"), asking(&case.machine, &rows, single)).unwrap();
    let printed = compile_and_run(compiler, &folder, &[&["m.c", "main.c"], macros].concat());
    let want = expected(&case.machine, &rows);
    assert_eq!(printed.lines().count(), ROWS);
    let scale = want.iter().flat_map(|(numbers, _)| numbers).fold(1.0f64, |most, v| most.max(v.abs()));
    for (i, (line, (numbers, label))) in printed.lines().zip(&want).enumerate() {
        let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let Some(label) = label {
            assert_eq!(words.pop().unwrap(), label, "{} row {i}", case.name);
        }
        assert_eq!(words.len(), numbers.len(), "{}", case.name);
        for (word, want) in words.iter().zip(numbers) {
            let apart = (word.parse::<f64>().unwrap() - want).abs();
            assert!(apart <= tolerance * scale, "{} row {i}: {word} for {want}, {apart:e}", case.name);
        }
    }
    compile_and_run(compiler, &folder, &[&["m.c", "-DM_SELF_TEST"], macros].concat());
}

#[test]
fn the_c_source_of_every_machine_compiles_without_warnings_and_predicts_the_same() {
    if let Some(compiler) = compiler() {
        cases::all().iter().for_each(|case| check(&compiler, case, Precision::F64, 1e-12, &[]));
    }
}

#[test]
fn the_c_source_in_single_precision_predicts_the_same() {
    if let Some(compiler) = compiler() {
        cases::all().iter().for_each(|case| check(&compiler, case, Precision::F32, 1e-6, &[]));
    }
}

#[test]
fn the_built_in_exp_needs_no_library() {
    let Some(compiler) = compiler() else { return };
    for name in ["values-gaussian", "votes-sigmoid", "values-sigmoid", "values-matern52"] {
        let case = cases::all().into_iter().find(|case| case.name == name).unwrap();
        check(&compiler, &case, Precision::F64, 1e-12, &["-DM_BUILTIN_EXP"]);
        check(&compiler, &case, Precision::F32, 1e-6, &["-DM_BUILTIN_EXP"]);
    }
}
