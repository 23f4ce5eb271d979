//! The C source in whole numbers of every case, compiled with all warnings as errors, against the same arithmetic here: equal to the last bit.
use std::fs;

use kernelet::{
    Named,
    data::Points,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Decision, Machine},
    model::{
        c,
        fixed::{Fixed, Width},
    },
};

use crate::{
    c_source::{compile_and_run, compiler, folder},
    cases::{self, Case},
};

const ROWS: usize = 40;

/// A program that prints the outputs and the prediction of rows of whole numbers, one line each, and what the float helpers make of the rows.
fn asking(machine: &Machine, rows: &Matrix, whole: &[Vec<i32>]) -> String {
    let list = whole.iter().flatten().map(i32::to_string).collect::<Vec<_>>().join(",");
    let measured = rows.values().iter().map(|v| format!("{v:?}f")).collect::<Vec<_>>().join(",");
    let predicted = match machine.decision {
        Decision::Values | Decision::Features => "m_output v[M_VALUES]; m_predict(x, v); printf(\"%d\", v[0] == o[0]);",
        _ if machine.decision.labels().iter().all(|label| label.value().is_some()) => "printf(\"%ld\", m_predict(x));",
        _ => "printf(\"%s\", m_predict(x));",
    };
    format!(
        "#include <stdio.h>\n#include \"m.h\"\nstatic const m_input rows[] = {{ {list} }};\nstatic const float measured[] = {{ {measured} }};\nint main(void)\n{{\n\
         int apart = 0;\nfor (int i = 0; i < {}; i++) {{\nconst m_input *x = rows + i * M_FEATURES; m_output o[M_OUTPUTS]; m_outputs(x, o);\n\
         for (int k = 0; k < M_OUTPUTS; k++) printf(\"%lld %.9g \", (long long)o[k], (double)m_value(o, k));\n{predicted}\nputchar('\\n');\n\
         if (i < {}) {{ m_input q[M_FEATURES]; m_quantise(measured + i * M_FEATURES, q);\n\
         for (int j = 0; j < M_FEATURES; j++) {{ const int d = q[j] - x[j]; apart |= d > 1 || d < -1; }} }}\n}}\nreturn apart;\n}}\n",
        whole.len(),
        rows.rows(),
    )
}

/// Rows as they were measured, and rows that no range holds: every number the type has.
fn whole_rows(fixed: &Fixed, rows: &Matrix, width: Width) -> Vec<Vec<i32>> {
    let lowest = -width.most() - 1;
    let extreme = |i: usize| (0..cases::DIM).map(|j| if (i >> (j % 3)) & 1 == 1 { lowest } else { width.most() }).collect();
    rows.iter().map(|row| fixed.quantised(row)).chain((0..8).map(extreme)).collect()
}

fn check(compiler: &str, case: &Case, width: Width, data: bool, self_test: bool) {
    let folder = folder(&format!("{}-{}-{data}", case.name, width.name()));
    let rows = cases::rows(&case.machine, ROWS);
    let points = Points::from(rows.clone());
    let fixed = Fixed::of(&case.machine, width, data.then_some(&points)).unwrap();
    let code = c::fixed_code(&case.machine, &fixed, "m", "m.h").unwrap();
    c::write(&code, folder.join("m.c")).unwrap();
    let whole = whole_rows(&fixed, &rows, width);
    fs::write(folder.join("main.c"), asking(&case.machine, &rows, &whole)).unwrap();
    // Undefined behaviour would end the program.
    let printed = compile_and_run(compiler, &folder, &["m.c", "main.c", "-DM_FLOAT", "-fsanitize=undefined", "-fno-sanitize-recover"]);
    assert_eq!(printed.lines().count(), whole.len());
    let outputs = fixed.outputs(&points).unwrap();
    let labels = case.machine.decision.labels();
    for (i, (line, row)) in printed.lines().zip(&whole).enumerate() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let sums = fixed.sums(row);
        for (k, sum) in sums.iter().enumerate() {
            assert_eq!(words[2 * k].parse::<i64>().unwrap(), *sum, "{} {width:?} row {i}", case.name);
            if i < ROWS {
                let (have, want) = (words[2 * k + 1].parse::<f64>().unwrap(), outputs.at(i, k));
                assert!((have - want).abs() <= 1e-6 * (1.0 + want.abs()), "{} {have} {want}", case.name);
            }
        }
        let last = words[2 * sums.len()];
        match labels.is_empty() {
            true => assert_eq!(last, "1"),
            false if i < ROWS => {
                let label = &labels[case.machine.decision.class(outputs.row(i))];
                assert_eq!(last, label.text().trim_start_matches('+'), "{} {width:?} row {i}", case.name);
            }
            false => {}
        }
    }
    if self_test {
        compile_and_run(compiler, &folder, &["m.c", "-DM_SELF_TEST"]);
    }
}

/// Machines without ratios.
fn whole_cases() -> Vec<Case> {
    cases::all().into_iter().filter(|case| case.machine.decision != Decision::Ratio).collect()
}

#[test]
fn c_in_whole_numbers_is_equal_to_the_last_bit() {
    let Some(compiler) = compiler() else { return };
    for (i, case) in whole_cases().iter().enumerate() {
        check(&compiler, case, if i % 2 == 0 { Width::I8 } else { Width::I16 }, true, i % 5 == 0);
        if case.machine.map().is_none() && i % 7 == 0 {
            check(&compiler, case, if i % 2 == 0 { Width::I16 } else { Width::I8 }, false, false);
        }
    }
}

#[test]
fn outputs_in_whole_numbers_are_those_of_the_machine_within_their_precision() {
    for case in whole_cases() {
        let points = Points::from(cases::rows(&case.machine, 200));
        let want = case.machine.outputs_for(&points).unwrap();
        let size = want.values().iter().fold(1.0f64, |most, v| most.max(v.abs()));
        // The width of the kernel decides how much a step of a row is worth: one case is as sharp as a step of 8 bits.
        let sharp = if matches!(&case.machine.expansion.kernel, Kernel::Gaussian(k) if k.gamma > 10.0) { 20.0 } else { 1.0 };
        for (width, tolerance) in [(Width::I8, 0.05), (Width::I16, 2e-3)] {
            let have = Fixed::of(&case.machine, width, Some(&points)).unwrap().outputs(&points).unwrap();
            let apart = want.values().iter().zip(have.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart <= sharp * tolerance * size, "{} {width:?}: {apart} of {size}", case.name);
        }
    }
}

#[test]
fn what_has_no_place_in_whole_numbers_is_rejected() {
    let find = |name: &str| cases::all().into_iter().find(|case| case.name == name).unwrap().machine;
    let error = |machine: &Machine| Fixed::of(machine, Width::I8, None).unwrap_err().to_string();
    assert!(error(&find("ratio")).contains("ratios of outputs: export with --precision f32"));
    assert!(error(&find("votes-mapped")).contains("give rows, with --data or X"));
    let mut large = find("sign-sigmoid");
    large.offsets = vec![1e300];
    assert!(error(&large).contains("--precision f64"));
    let bad = Points::from(Matrix::from_fn(2, cases::DIM, |i, _| if i == 0 { 1.0 } else { f64::NAN }));
    assert!(Fixed::of(&find("novelty"), Width::I8, Some(&bad)).unwrap_err().to_string().contains("every number must be finite"));
    let fixed = Fixed::of(&find("novelty"), Width::I16, None).unwrap();
    assert!(fixed.outputs(&Matrix::<f64>::zeros(1, cases::DIM + 1).into()).is_err());
}
