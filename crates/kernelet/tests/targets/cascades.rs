//! The C source of cascades of every decision, in floating point against the predictions made here, in whole numbers against the same arithmetic to the last bit.
use std::fs;

use kernelet::{
    Named,
    data::Points,
    linalg::Matrix,
    machine::{
        Coefficients, Machine, Prediction,
        cascade::{Cascade, Head, Promise, Stage},
    },
    model::{
        Precision, c,
        fixed::{FixedCascade, Width},
    },
};

use crate::{
    c_source::{compile_and_run, compiler, folder},
    cases,
};

const ROWS: usize = 200;

fn find(name: &str) -> Machine {
    cases::all().into_iter().find(|case| case.name == name).unwrap().machine
}

/// The machine with every second coefficient only.
fn half(machine: &Machine) -> Machine {
    let mut half = machine.clone();
    half.calibration = None;
    match &mut half.expansion.coefficients {
        Coefficients::Dense(values) => values.values_mut().iter_mut().step_by(2).for_each(|value| *value = 0.0),
        Coefficients::Pairwise(pairwise) => pairwise.values.values_mut().iter_mut().step_by(2).for_each(|value| *value = 0.0),
    }
    half
}

/// About the median size of the outputs, so that thresholds of this size part the rows; not that of a row itself, whose last digits would decide.
fn size(machine: &Machine) -> f64 {
    let outputs = machine.outputs_for(&Points::from(cases::rows(machine, ROWS))).unwrap();
    let mut sizes: Vec<f64> = outputs.values().iter().map(|value| value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    1.001 * sizes[sizes.len() / 2]
}

/// A cascade of a machine with every second coefficient before the machine; thresholds in units of the outputs' median size.
fn cascade(full: Machine, thresholds: [f64; 2], head: bool) -> Cascade {
    let promise = Promise {
        max_disagreement: 0.01,
        confidence: 0.95,
        by_class: false,
        bound: 0.01,
        calibration_rows: 100,
        disagreements: 0,
        cost: 0.5,
        full_vectors: full.n_vectors(),
    };
    let small = half(&full);
    let unit = size(&small);
    let head = |k: usize| {
        let coefficients = (0..small.n_vectors()).map(|j| 0.3 * ((j + k) as f64).cos()).collect();
        head.then_some(Head { coefficients, offset: 0.4, floor: 0.05 })
    };
    let stages = thresholds.iter().enumerate().map(|(k, &threshold)| Stage {
        machine: small.clone(),
        head: head(k),
        threshold: threshold * unit,
        exits: 0.5,
    });
    Cascade { stages: stages.collect(), full: Some(full), promise }
}

/// Cascades of all rules that can be stages, with and without error heads, linear maps, layouts of pairs, and a full machine.
fn all() -> Vec<(&'static str, Cascade)> {
    let of = |name: &str, thresholds, head| cascade(find(name), thresholds, head);
    vec![
        ("sign", of("sign-scaled-gaussian", [1.5, 0.7], false)),
        ("sign-head", of("sign-sigmoid", [4.0, 2.0], true)),
        ("sign-abstain", Cascade { full: None, ..of("sign-sparse", [1.0, 0.5], true) }),
        ("sign-polynomial-mapped", of("sign-mapped-polynomial", [1.5, 0.5], false)),
        ("sign-never", of("sign-isotonic", [1e300, 1.0], false)),
        ("largest", of("largest-isotonic", [2.0, 0.8], false)),
        ("largest-abstain", Cascade { full: None, ..of("largest-shares", [1.0, 0.3], false) }),
        ("votes", of("votes-sigmoid", [0.05, 0.01], false)),
        ("votes-pairwise", of("votes-pairwise", [0.6, 0.2], false)),
        ("votes-polynomial", of("votes-polynomial-pairwise", [0.6, 0.2], false)),
        ("votes-linear", of("votes-linear-pairwise", [0.6, 0.2], false)),
        ("votes-mapped", of("votes-mapped", [0.05, 0.01], false)),
    ]
}

/// A program that prints class and stage of rows, one line each.
fn asking(kind: &str, list: &str, rows: usize) -> String {
    format!(
        "#include <stdio.h>\n#include \"m.h\"\nstatic const m_{kind} rows[] = {{ {list} }};\nint main(void)\n{{\nfor (int i = 0; i < {rows}; i++) {{\n\
         int stage; const int class = m_class(rows + i * M_FEATURES, &stage); if (class >= 0) (void)m_label(class);\nprintf(\"%d %d\\n\", class, stage);\n}}\nreturn 0;\n}}\n"
    )
}

fn answered(name: &str, compiler: &str, code: &c::Code, main: String) -> Vec<(i64, usize)> {
    let folder = folder(&format!("cascade-{name}"));
    c::write(code, folder.join("m.c")).unwrap();
    fs::write(folder.join("main.c"), main).unwrap();
    // Undefined behaviour would end the program.
    let printed = compile_and_run(compiler, &folder, &["m.c", "main.c", "-DM_FLOAT", "-fsanitize=undefined", "-fno-sanitize-recover"]);
    let numbers = |line: &str| line.split_once(' ').map(|(class, stage)| (class.parse().unwrap(), stage.parse().unwrap())).unwrap();
    printed.lines().map(numbers).collect()
}

/// The classes, -1 for no answer.
fn classes(cascade: &Cascade, prediction: &Prediction) -> Vec<i64> {
    let Prediction::Classes { labels, codes } = prediction else { return vec![] };
    let abstained = |code: u32| cascade.full.is_none() && code as usize + 1 == labels.len();
    codes.iter().map(|&code| if abstained(code) { -1 } else { i64::from(code) }).collect()
}

fn rows_of(cascade: &Cascade) -> Matrix {
    cases::rows(&cascade.stages[0].machine, ROWS)
}

#[test]
fn c_of_cascades_answers_as_here_at_the_same_stage() {
    let Some(compiler) = compiler() else { return };
    for (name, cascade) in all() {
        let rows = rows_of(&cascade);
        let want = cascade.predict(&Points::from(rows.clone())).unwrap();
        let want: Vec<(i64, usize)> = classes(&cascade, &want.prediction).into_iter().zip(want.stages).collect();
        let used = (0..3).filter(|stage| want.iter().any(|answer| answer.1 == *stage)).count();
        assert!(used >= 2, "{name}: all rows leave at one stage");
        for (precision, suffix, apart) in [(Precision::F64, "", 0), (Precision::F32, "f", 1)] {
            let code = c::cascade_to_code(&cascade, &c::Options { name: "m".into(), precision }, "m.h").unwrap();
            let list = rows.values().iter().map(|value| format!("{value:?}{suffix}")).collect::<Vec<_>>().join(",");
            let have = answered(&format!("{name}-{precision:?}"), &compiler, &code, asking("real", &list, ROWS));
            let differ = have.iter().zip(&want).filter(|(have, want)| have != want).count();
            assert!(have.len() == ROWS && differ <= apart, "{name} {precision:?}: {differ}");
        }
    }
}

#[test]
fn c_of_cascades_in_whole_numbers_is_equal_to_the_last_bit() {
    let Some(compiler) = compiler() else { return };
    for (name, cascade) in all() {
        let rows = rows_of(&cascade);
        for width in [Width::I8, Width::I16] {
            let fixed = FixedCascade::of(&cascade, width, Some(&Points::from(rows.clone()))).unwrap();
            let code = c::fixed_cascade_to_code(&cascade, &fixed, "m", "m.h").unwrap();
            let lowest = -width.most() - 1;
            let extreme = |i: usize| (0..cases::DIM).map(|j| if (i >> (j % 3)) & 1 == 1 { lowest } else { width.most() }).collect();
            let whole: Vec<Vec<i32>> = rows.iter().map(|row| fixed.quantised(row)).chain((0..8).map(extreme)).collect();
            let list = whole.iter().flatten().map(i32::to_string).collect::<Vec<_>>().join(",");
            let have = answered(&format!("{name}-{}", width.name()), &compiler, &code, asking("input", &list, whole.len()));
            let want: Vec<(i64, usize)> =
                whole.iter().map(|row| fixed.class(row)).map(|(class, stage)| (class.map_or(-1, |c| c as i64), stage)).collect();
            assert_eq!(have, want, "{name} {width:?}");
        }
    }
}

#[test]
fn cascades_in_whole_numbers_answer_as_in_floating_point_but_for_rows_close_to_a_threshold() {
    for (name, cascade) in all() {
        let points = Points::from(rows_of(&cascade));
        let want = cascade.predict(&points).unwrap();
        for (width, most) in [(Width::I8, 0.05), (Width::I16, 0.01)] {
            let fixed = FixedCascade::of(&cascade, width, Some(&points)).unwrap();
            let have = fixed.predict(&points).unwrap();
            let pairs = classes(&cascade, &have).into_iter().zip(classes(&cascade, &want.prediction));
            let differ = pairs.filter(|(have, want)| have != want).count() as f64 / ROWS as f64;
            assert!(differ <= most, "{name} {width:?}: {differ}");
        }
    }
}

#[test]
fn machines_that_scale_rows_in_different_ways_have_no_whole_numbers_in_common() {
    let mut cascade = cascade(find("sign-scaled-gaussian"), [1.0, 0.5], false);
    cascade.stages[1].machine.scale = None;
    let error = FixedCascade::of(&cascade, Width::I8, None).unwrap_err().to_string();
    assert!(error.contains("scale rows in different ways"), "{error}");
}
