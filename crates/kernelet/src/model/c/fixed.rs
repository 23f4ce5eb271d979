//! A machine in whole numbers as C: no floating point, no memory but the stack, no undefined behaviour whatever the row holds.
//!
//! Negative numbers are never shifted, sums have been bounded when the multipliers were chosen, and unsigned arithmetic stays below its range.
use super::{
    Code, Parts, Size, checked_name, decide,
    fixed_kernel::{self, sum_type},
    numbers::Arrays,
    source::{features, named},
};
use crate::{
    Named, Result,
    machine::{Decision, Machine},
    model::{
        Precision,
        fixed::{BIAS, Body, Fixed, Mapped, Multipliers, Width, class_starts},
        target::description,
    },
};

/// The header and the source of a machine in whole numbers, which includes the header under the name `header_name`.
pub fn fixed_code(machine: &Machine, fixed: &Fixed, name: &str, header_name: &str) -> Result<Code> {
    checked_name(machine, name)?;
    let mut parts = Parts::of(machine, Precision::F64)?;
    if let Decision::Codes { .. } = machine.decision {
        // Where the unit is above 1, a margin of 1 is less than a half of it.
        parts.one = match fixed.shifts.first() {
            Some(&shift) if shift >= 0 => format!("((@output)1 << {shift})"),
            _ => "0".into(),
        };
    }
    let mut arrays = Arrays::new(Precision::F64);
    machine_arrays(machine, fixed, &mut arrays);
    let kernel = fixed_kernel::source(fixed, &mut arrays);
    let decide = whole(&decide::source(&parts, &mut arrays));
    let size = Size { constants: arrays.bytes, stack: stack(machine, fixed) };
    let head = head(machine, fixed, size);
    let functions = [kernel, outputs(machine, fixed), decide, real(fixed), self_test(machine, fixed)];
    let functions: Vec<String> = functions.into_iter().filter(|text| !text.is_empty()).collect();
    let source = format!("{head}#include \"{header_name}\"\n\n{}\n{}", arrays.text, functions.join("\n"));
    let header = header(machine, fixed, &head, &parts);
    Ok(Code { header: named(&header, name), source: named(&source, name), size })
}

/// Code for real numbers as code for whole ones.
fn whole(text: &str) -> String {
    text.replace("const @real *row", "const @input *row").replace("@real", "@output")
}

/// The type of a row.
fn row_type(width: Width) -> &'static str {
    match width {
        Width::I8 => "int8_t",
        Width::I16 => "int16_t",
    }
}

fn head(machine: &Machine, fixed: &Fixed, size: Size) -> String {
    format!(
        "/* {}\n * In {} without floating point: {} bytes of constants, at most {} bytes of arrays on the stack, no other memory.\n */\n",
        description(machine),
        fixed.width.name(),
        size.constants,
        size.stack,
    )
}

fn header(machine: &Machine, fixed: &Fixed, head: &str, parts: &Parts) -> String {
    let counts = match parts.labels {
        Some(_) => format!("#define $CLASSES {}\n", machine.decision.labels().len()),
        None => format!("#define $VALUES {}\n", machine.n_outputs()),
    };
    format!(
        "{head}#ifndef $H\n#define $H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n#define $FEATURES {}\n#define $OUTPUTS {}\n{counts}\n\
         typedef {} @input;\ntypedef {} @output;\n\n{}{}/* The $OUTPUTS outputs of a row.{} */\n\
         void @outputs(const @input *row, @output *outputs);\n\n{}\n#ifdef $FLOAT\n/* The row of whole numbers that stands for one as it was measured. */\n\
         void @quantise(const float *row, @input *quantised);\n\n/* The number that output k stands for. */\nfloat @value(const @output *outputs, int k);\n#endif\n\n\
         #ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        machine.dim(),
        machine.n_outputs(),
        row_type(fixed.width),
        sum_type(fixed.width),
        features(parts),
        rows(fixed),
        units(fixed),
        whole(&decide::header(parts)),
    )
}

/// How a row is made.
fn rows(fixed: &Fixed) -> String {
    let most = fixed.width.most();
    let input = &fixed.input;
    let same = |values: &[f64]| values.iter().all(|value| Some(value) == values.first());
    let rule = match (same(&input.zero) && same(&input.rate), input.zero.first(), input.rate.first()) {
        (true, Some(zero), Some(rate)) => format!("(x[i] - {zero}) * {rate}"),
        _ => "(x[i] - zero[i]) * rate[i], which stand in the source".to_string(),
    };
    format!(
        "/* A row has for each feature i the whole number next to\n *   {rule},\n * at least -{most} and at most {most}; with $FLOAT defined, @quantise makes it. */\n\n"
    )
}

/// What the outputs stand for.
fn units(fixed: &Fixed) -> String {
    let shifts: Vec<String> = fixed.shifts.iter().map(i32::to_string).collect();
    let of = match fixed.shifts.iter().all(|shift| Some(shift) == fixed.shifts.first()) {
        true => format!("2^{}", shifts.first().map_or("0", String::as_str)),
        false => format!("2^s[k], s = {}", shifts.join(", ")),
    };
    format!(" outputs[k] stands for outputs[k] / {of}.")
}

fn machine_arrays(machine: &Machine, fixed: &Fixed, arrays: &mut Arrays) {
    let (sum, bytes) = (sum_type(fixed.width), 4 * fixed.width.bytes());
    arrays.whole(sum, bytes, "offsets", "$OUTPUTS", &fixed.offsets);
    if let Some(Mapped { multipliers, constants, rates, drops }) = &fixed.map {
        arrays.text.push_str(&format!("#define $MAPPED {}\n", constants.len()));
        arrays.whole(sum, bytes, "map_constants", "$MAPPED", constants);
        let list = |values: &[u32]| values.iter().map(|&value| i64::from(value)).collect::<Vec<i64>>();
        arrays.whole("uint32_t", 4, "map_rates", "$MAPPED", &list(rates));
        arrays.whole("uint8_t", 1, "map_drops", "$MAPPED", &list(drops));
        arrays.whole_matrix("int16_t", 2, "map", "$FEATURES", "$MAPPED", &multipliers.rows);
    }
    match &fixed.body {
        Body::Weights(weights) => arrays.whole_matrix("int16_t", 2, "weights", "$FEATURES", "$OUTPUTS", &weights.rows),
        Body::Expansion { vectors, values, coefficients } if !vectors.is_empty() => {
            let count = vectors.len().to_string();
            let stored = match class_starts(machine) {
                None => coefficients.rows.clone(),
                Some(starts) => {
                    let list: Vec<i64> = starts.iter().map(|&start| start as i64).collect();
                    arrays.whole("int32_t", 4, "starts", "$CLASSES + 1", &list);
                    by_class(coefficients, starts)
                }
            };
            let columns = stored.first().map_or(0, Vec::len).to_string();
            arrays.whole_matrix("int16_t", 2, "coefficients", &count, &columns, &stored);
            let width = if fixed.map.is_some() { "$MAPPED" } else { "$FEATURES" };
            arrays.whole_matrix(row_type(fixed.width), fixed.width.bytes(), "vectors", &count, width, vectors);
            if let Some(constants) = &values.constants {
                arrays.whole("int64_t", 8, "constants", &count, constants);
            }
        }
        Body::Expansion { .. } => {}
    }
}

/// One-vs-one coefficients as LIBSVM stores them: for each vector those of the pairs of its class.
fn by_class(coefficients: &Multipliers, starts: &[usize]) -> Vec<Vec<i32>> {
    let classes = starts.len().saturating_sub(1);
    let pair = |a: usize, b: usize| a * (2 * classes - a - 1) / 2 + b - a - 1;
    let mut stored = vec![];
    for (c, ends) in starts.windows(2).enumerate() {
        for row in coefficients.rows.iter().take(ends[1]).skip(ends[0]) {
            let column = |other: usize| if other < c { pair(other, c) } else { pair(c, other) };
            stored.push((0..classes).filter(|&other| other != c).map(|other| row[column(other)]).collect());
        }
    }
    stored
}

/// Lines that make `x` the row as the kernel sees it.
pub(super) fn mapped_row(fixed: &Fixed) -> String {
    let Some(_) = &fixed.map else { return "    const @input *x = row;\n".into() };
    let most = fixed.width.most();
    format!(
        "    @input x[$MAPPED];\n    for (int k = 0; k < $MAPPED; k++) {{\n        @output sum = @map_constants[k];\n        \
         for (int i = 0; i < $FEATURES; i++) {{\n            sum += (int32_t)@map[i][k] * row[i];\n        }}\n        \
         /* Made positive, so that the shift rounds down. */\n        const int drop = @map_drops[k];\n        \
         const uint64_t biased = (uint64_t)((int64_t)sum * (int64_t)@map_rates[k] + ((int64_t)1 << (drop - 1)) + INT64_C({BIAS}));\n        \
         const int64_t y = (int64_t)(biased >> drop) - (INT64_C({BIAS}) >> drop);\n        \
         x[k] = (@input)(y < -{most} ? -{most} : y > {most} ? {most} : y);\n    }}\n"
    )
}

/// `@outputs`.
fn outputs(machine: &Machine, fixed: &Fixed) -> String {
    let sum = match &fixed.body {
        Body::Weights(_) => WEIGHTS,
        Body::Expansion { vectors, .. } if vectors.is_empty() => "",
        Body::Expansion { .. } if class_starts(machine).is_some() => PAIRWISE,
        Body::Expansion { .. } => DENSE,
    };
    let row = if sum.is_empty() { "    (void)row;\n".into() } else { mapped_row(fixed) };
    let sum = sum.replace("VECTORS", &machine.n_vectors().to_string());
    format!(
        "void @outputs(const @input *row, @output *outputs)\n{{\n{row}    for (int k = 0; k < $OUTPUTS; k++) {{\n        \
         outputs[k] = @offsets[k];\n    }}\n{sum}}}\n"
    )
}

const WEIGHTS: &str = "    for (int i = 0; i < $FEATURES; i++) {
        for (int k = 0; k < $OUTPUTS; k++) {
            outputs[k] += (int32_t)@weights[i][k] * x[i];
        }
    }
";

const DENSE: &str = "    for (int32_t j = 0; j < VECTORS; j++) {
        const int32_t value = @kernel(x, j);
        for (int k = 0; k < $OUTPUTS; k++) {
            outputs[k] += value * @coefficients[j][k];
        }
    }
";

/// Vectors of class c speak in the pairs of c with every other class.
const PAIRWISE: &str = "    for (int c = 0; c < $CLASSES; c++) {
        for (int32_t j = @starts[c]; j < @starts[c + 1]; j++) {
            const int32_t value = @kernel(x, j);
            int k = c - 1;
            for (int other = 0; other < c; other++) {
                outputs[k] += value * @coefficients[j][other];
                k += $CLASSES - 2 - other;
            }
            k = c * (2 * $CLASSES - c - 1) / 2;
            for (int other = c + 1; other < $CLASSES; other++) {
                outputs[k++] += value * @coefficients[j][other - 1];
            }
        }
    }
";

/// `@quantise` and `@value`, for programs that have floating point.
fn real(fixed: &Fixed) -> String {
    let most = fixed.width.most();
    let mut arrays = Arrays::new(Precision::F32);
    arrays.list("zero", "$FEATURES", &fixed.input.zero);
    arrays.list("rate", "$FEATURES", &fixed.input.rate);
    let units: Vec<f64> = fixed.shifts.iter().map(|&shift| 2f64.powi(-shift)).collect();
    arrays.list("units", "$OUTPUTS", &units);
    format!(
        "#ifdef $FLOAT\n{}\nvoid @quantise(const float *row, @input *quantised)\n{{\n    for (int i = 0; i < $FEATURES; i++) {{\n        \
         const float value = (row[i] - @zero[i]) * @rate[i];\n        /* What is no number becomes 0. */\n        \
         quantised[i] = value != value ? 0 : value >= {most} ? {most} : value <= -{most} ? -{most} : (@input)(value + (value < 0 ? -0.5f : 0.5f));\n    \
         }}\n}}\n\nfloat @value(const @output *outputs, int k)\n{{\n    return (float)outputs[k] * @units[k];\n}}\n#endif\n",
        arrays.text.replace("@real", "float"),
    )
}

/// Rows tried by the self test.
const ROWS: usize = 8;

/// A `main` behind a macro: rows, and the outputs that they had when the file was written, to the last bit.
fn self_test(machine: &Machine, fixed: &Fixed) -> String {
    let (most, dim) = (i64::from(fixed.width.most()), machine.dim());
    let number = |i: usize, j: usize| ((i as i64 + 1) * (j as i64 + 3) * 7919 % (2 * most + 1)) - most;
    let rows: Vec<Vec<i32>> = (0..ROWS).map(|i| (0..dim).map(|j| (number(i, j) / (1 << (i / 2))) as i32).collect()).collect();
    let want: Vec<i64> = rows.iter().flat_map(|row| fixed.sums(row)).collect();
    let mut arrays = Arrays::new(Precision::F64);
    arrays.whole_matrix("@input", 1, "test_rows", &ROWS.to_string(), "$FEATURES", &rows);
    arrays.whole("@output", 1, "test_outputs", &format!("{ROWS} * $OUTPUTS"), &want);
    format!(
        "#ifdef $SELF_TEST\n#include <stdio.h>\n\n{}\nint main(void)\n{{\n    int wrong = 0;\n    for (int i = 0; i < {ROWS}; i++) {{\n        \
         @output outputs[$OUTPUTS];\n        @outputs(@test_rows[i], outputs);\n        for (int k = 0; k < $OUTPUTS; k++) {{\n            \
         wrong += outputs[k] != @test_outputs[i * $OUTPUTS + k];\n        }}\n    }}\n    printf(\"{ROWS} rows, wrong outputs %d\\n\", wrong);\n    \
         return wrong == 0 ? 0 : 1;\n}}\n#endif\n",
        arrays.text,
    )
}

/// Bytes of arrays on the stack in the deepest call.
fn stack(machine: &Machine, fixed: &Fixed) -> usize {
    let (outputs, classes) = (machine.n_outputs(), machine.decision.labels().len());
    let sum = 4 * fixed.width.bytes();
    let held = if classes > 0 { outputs * sum } else { 0 };
    let row = fixed.map.as_ref().map_or(0, |map| map.constants.len() * fixed.width.bytes());
    let class = match machine.decision {
        Decision::Votes { .. } => classes * 4,
        Decision::Codes { .. } => classes * sum,
        _ => 0,
    };
    held + row.max(class)
}
