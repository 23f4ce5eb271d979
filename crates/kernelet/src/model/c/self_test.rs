//! A `main` in C behind a macro: rows, and the outputs and classes that they had when the file was written.
use super::{Parts, numbers::Arrays};
use crate::{
    linalg::Matrix,
    machine::{Decision, Machine, Predictor, Work},
    model::Precision,
};

/// Rows tried at most.
const ROWS: usize = 8;

/// Everything between `#ifdef NAME_SELF_TEST` and `#endif`; the numbers in it are no part of the size of the machine.
pub(super) fn source(parts: &Parts) -> String {
    let tolerance = match parts.precision {
        Precision::F32 => 1e-5,
        Precision::F64 => 1e-11,
    };
    let (rows, outputs, classes) = rows(parts.machine, parts.precision, tolerance);
    // Expected values are doubles whatever the precision.
    let mut arrays = Arrays::new(Precision::F64);
    let count = rows.rows().to_string();
    let mut row_arrays = Arrays::new(parts.precision);
    row_arrays.matrix("test_rows", &count, "$FEATURES", &rows);
    arrays.matrix("test_outputs", &count, "$OUTPUTS", &outputs);
    let arrays = arrays.text.replace("@real", "double");
    let (class_array, class_check) = match &parts.labels {
        None => (String::new(), ""),
        Some(_) => {
            let list: Vec<String> = classes.iter().map(usize::to_string).collect();
            (
                format!("static const int @test_classes[{count}] = {{ {} }};\n", list.join(", ")),
                "        wrong += @class(outputs) != @test_classes[i];\n",
            )
        }
    };
    format!(
        "#ifdef $SELF_TEST\n#include <stdio.h>\n\n{}{arrays}{class_array}\nint main(void)\n{{\n    double largest = 0;\n    double scale = 1;\n    int wrong = 0;\n    \
         for (int i = 0; i < {count}; i++) {{\n        @real outputs[$OUTPUTS];\n        @outputs(@test_rows[i], outputs);\n        \
         for (int k = 0; k < $OUTPUTS; k++) {{\n            const double want = @test_outputs[i][k];\n            \
         const double apart = (double)outputs[k] - want;\n            if (want > scale || -want > scale) {{\n                scale = want < 0 ? -want : want;\n            }}\n            \
         if (!(apart <= largest && -apart <= largest)) {{\n                largest = apart < 0 ? -apart : apart;\n            }}\n        }}\n{class_check}    \
         }}\n    printf(\"{count} rows, largest error %g, wrong classes %d\\n\", largest, wrong);\n    \
         return wrong == 0 && largest <= {tolerance:?} * scale ? 0 : 1;\n}}\n#endif\n",
        row_arrays.text,
    )
}

/// Midpoints between vectors, before scaling, with outputs and classes; behind a linear map, rows around the middle of the scaling instead. Rows whose class
/// depends on the last digits are left out.
fn rows(machine: &Machine, precision: Precision, tolerance: f64) -> (Matrix, Matrix, Vec<usize>) {
    let (vectors, dim) = (machine.expansion.vectors.to_dense(), machine.dim());
    let (predictor, mut work) = (Predictor::new(machine), Work::default());
    let (mut rows, mut outputs, mut classes) = (vec![], vec![], vec![]);
    for i in 0..4 * ROWS {
        let row: Vec<f64> = (0..dim).map(|j| precision.round(unscaled(machine, j, scaled(machine, &vectors, i, j)))).collect();
        let mut out = vec![0.0; machine.n_outputs()];
        let usable = predictor.row(&row, &mut out, &mut work).is_ok() && out.iter().chain(&row).all(|value| value.is_finite());
        if usable && classes.len() < ROWS && clear(&machine.decision, &out, tolerance) {
            classes.push(machine.decision.class(&out));
            rows.extend(row);
            outputs.extend(out);
        }
    }
    if classes.is_empty() {
        // Every class of this machine depends on the last digits: a row that is asked for its outputs alone has no clear class either.
        let mut out = vec![0.0; machine.n_outputs()];
        let _ = predictor.row(&vec![0.0; dim], &mut out, &mut work);
        classes.push(machine.decision.class(&out));
        rows = vec![0.0; dim];
        outputs = out;
    }
    let (n, q) = (classes.len(), machine.n_outputs());
    let matrix = |values, columns| Matrix::new(values, n, columns).unwrap_or_else(|| Matrix::zeros(n, columns));
    (matrix(rows, dim), matrix(outputs, q), classes)
}

/// Feature j of row i as it is after scaling.
fn scaled(machine: &Machine, vectors: &Matrix, i: usize, j: usize) -> f64 {
    match machine.map() {
        None => between(vectors, i, j),
        Some(_) => (i + 1) as f64 / (4 * ROWS) as f64 * ((7 * i + 3 * j) as f64).sin(),
    }
}

fn between(vectors: &Matrix, i: usize, j: usize) -> f64 {
    match vectors.rows() {
        0 => (i + j) as f64 * 0.1,
        m => {
            let (a, b) = ((i * 7) % m, (i * 7 + i / 2 + 1) % m);
            0.5 * (vectors.at(a, j) + vectors.at(b, j))
        }
    }
}

fn unscaled(machine: &Machine, j: usize, value: f64) -> f64 {
    let Some(scale) = &machine.scale else { return value };
    let (factor, shift) = (scale.factor[j], scale.shift.as_ref().map_or(0.0, |shift| shift[j]));
    if factor == 0.0 { shift } else { value / factor + shift }
}

/// Whether the class stays when any output moves by the tolerance.
fn clear(decision: &Decision, outputs: &[f64], tolerance: f64) -> bool {
    let size = outputs.iter().fold(1.0f64, |size, f| size.max(f.abs()));
    let class = decision.class(outputs);
    (0..outputs.len()).all(|k| {
        [-4.0, 4.0].iter().all(|factor| {
            let mut moved = outputs.to_vec();
            moved[k] += factor * tolerance * size;
            decision.class(&moved) == class
        })
    })
}
