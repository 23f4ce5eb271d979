//! The two files, put together from their parts.
use super::{
    Code, Options, Parts, Size, calibrate, decide,
    kernel::{self, needs_exp, needs_sqrt},
    numbers::Arrays,
    self_test,
};
use crate::{
    machine::{Coefficients, Decision},
    model::{
        Precision,
        target::{Uncertainty, description},
    },
};

/// The header and the source.
pub(super) fn assemble(parts: &Parts, options: &Options, header_name: &str) -> Code {
    let mut arrays = Arrays::new(parts.precision);
    machine_arrays(parts, &mut arrays);
    let decide = decide::source(parts, &mut arrays);
    let calibrate = calibrate::source(parts, &mut arrays);
    let size = Size { constants: arrays.bytes, stack: stack(parts) };
    let head = head(parts, size);
    let functions = [mathematics(parts), outputs(parts), decide, calibrate, self_test::source(parts)];
    let functions: Vec<String> = functions.into_iter().filter(|text| !text.is_empty()).collect();
    let source = format!("{head}#include \"{header_name}\"\n\n{}\n{}", arrays.text, functions.join("\n"));
    Code { header: named(&header(parts, &head), &options.name), source: named(&source, &options.name), size }
}

/// `@` and `$` written out.
pub(super) fn named(text: &str, name: &str) -> String {
    text.replace('@', &format!("{name}_")).replace('$', &format!("{}_", name.to_ascii_uppercase()))
}

fn head(parts: &Parts, size: Size) -> String {
    format!(
        "/* {}\n * In {}: {} bytes of constants, at most {} bytes of arrays on the stack, no other memory.\n */\n",
        description(parts.machine),
        parts.real(),
        size.constants,
        size.stack,
    )
}

fn header(parts: &Parts, head: &str) -> String {
    let machine = parts.machine;
    let counts = match parts.labels {
        Some(_) => format!("#define $CLASSES {}\n", machine.decision.labels().len()),
        None => format!("#define $VALUES {}\n", machine.n_outputs() - usize::from(machine.decision == Decision::Ratio)),
    };
    format!(
        "{head}#ifndef $H\n#define $H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n#define $FEATURES {}\n#define $OUTPUTS {}\n{counts}\n\
         typedef {} @real;\n\n{}/* The $OUTPUTS outputs of a row of $FEATURES numbers, as they were measured. */\n\
         void @outputs(const @real *row, @real *outputs);\n\n{}{}\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        machine.dim(),
        machine.n_outputs(),
        parts.real(),
        features(parts),
        decide::header(parts),
        calibrate::header(parts),
    )
}

/// The features by name, where a table was encoded: there they are not its columns.
pub(super) fn features(parts: &Parts) -> String {
    let Some(table) = &parts.machine.metadata.table else { return String::new() };
    // Neither the end of a comment nor what a template replaces may stand in it.
    let plain = |c: char| if c.is_control() || "*/\\@$?".contains(c) { '_' } else { c };
    let names = table.feature_names();
    let lines = names.iter().enumerate().map(|(j, name)| format!(" *   [{j}] {}\n", name.chars().map(plain).collect::<String>()));
    format!(
        "/* A row is an encoded row of a table: an indicator is 1 where its column has the category, else 0, and missing numbers are medians.\n{} */\n\n",
        lines.collect::<String>()
    )
}

fn machine_arrays(parts: &Parts, arrays: &mut Arrays) {
    let machine = parts.machine;
    if let Some(scale) = machine.scale.as_ref().filter(|_| parts.reads_rows()) {
        if let Some(shift) = &scale.shift {
            arrays.list("shift", "$FEATURES", shift);
        }
        arrays.list("factor", "$FEATURES", &scale.factor);
        if let Some(map) = &scale.map {
            arrays.text.push_str(&format!("#define $MAPPED {}\n", map.rows()));
            // By feature, so that each number of a row is scaled once.
            arrays.matrix("map", "$FEATURES", "$MAPPED", &map.transposed());
        }
    }
    arrays.list("offsets", "$OUTPUTS", &machine.offsets);
    if let Some(weights) = &parts.weights {
        arrays.matrix("weights", "$OUTPUTS", parts.width(), weights);
    }
    let count = parts.vectors.rows();
    if count == 0 {
        return;
    }
    let count = count.to_string();
    let stored = machine.expansion.coefficients.stored();
    if let Coefficients::Pairwise(pairwise) = &machine.expansion.coefficients {
        let starts: Vec<i64> = pairwise.starts.iter().map(|&start| start as i64).collect();
        arrays.whole("int", 4, "starts", "$CLASSES + 1", &starts);
    }
    arrays.matrix("coefficients", &count, &stored.cols().to_string(), stored);
    arrays.matrix("vectors", &count, parts.width(), &parts.vectors);
}

/// exp, the square root and the kernel, where they are asked for.
fn mathematics(parts: &Parts) -> String {
    let (kernel, evaluated) = (&parts.machine.expansion.kernel, parts.vectors.rows() > 0);
    let mut texts = vec![];
    if evaluated && needs_exp(kernel) || calibrate::needs_exp(&parts.uncertainty) {
        texts.push(kernel::exp(parts.precision));
    }
    if evaluated && needs_sqrt(kernel) || matches!(parts.uncertainty, Uncertainty::Deviations(_)) {
        texts.push(kernel::sqrt(parts.precision));
    }
    if evaluated {
        texts.push(kernel::kernel(kernel, parts.precision, parts.width()));
    }
    texts.join("\n")
}

/// Whether the sums of the linear map keep what additions lose.
fn map_keeps_rest(parts: &Parts) -> bool {
    parts.precision == Precision::F32 && parts.machine.map().is_some() && parts.reads_rows()
}

/// Lines that make `x` the row as the kernel sees it.
pub(super) fn scaled_row(parts: &Parts) -> String {
    match &parts.machine.scale {
        None => "    const @real *x = row;\n".into(),
        Some(scale) => {
            let value = if scale.shift.is_some() { "(row[i] - @shift[i])" } else { "row[i]" };
            if scale.map.is_some() {
                let (rest, step) = match map_keeps_rest(parts) {
                    true => ("    @real rest[$MAPPED] = {0};\n", "@add(&x[k], &rest[k], @map[i][k] * scaled);"),
                    false => ("", "x[k] += @map[i][k] * scaled;"),
                };
                return format!(
                    "    @real x[$MAPPED] = {{0}};\n{rest}    for (int i = 0; i < $FEATURES; i++) {{\n        const @real scaled = {value} * @factor[i];\n        \
                     for (int k = 0; k < $MAPPED; k++) {{\n            {step}\n        }}\n    }}\n"
                );
            }
            format!("    @real x[$FEATURES];\n    for (int i = 0; i < $FEATURES; i++) {{\n        x[i] = {value} * @factor[i];\n    }}\n")
        }
    }
}

/// `@outputs`.
fn outputs(parts: &Parts) -> String {
    let sum = match (&parts.weights, &parts.machine.expansion.coefficients) {
        (Some(_), _) => WEIGHTS,
        _ if parts.vectors.rows() == 0 => "",
        (None, Coefficients::Dense(_)) => DENSE,
        (None, Coefficients::Pairwise(_)) => PAIRWISE,
    };
    let row = if sum.is_empty() { "    (void)row;\n".into() } else { scaled_row(parts) };
    let sum = sum.replace("VECTORS", &parts.vectors.rows().to_string()).replace("WIDTH", parts.width());
    let kept = compensated(parts);
    let sum = if kept { sum.replace("ADD(k, ", "@add(&outputs[k], &lost[k], ") } else { plainly(&sum) };
    let lost = if kept { "    @real lost[$OUTPUTS] = {0};\n" } else { "" };
    let add = if kept || map_keeps_rest(parts) { ADD } else { "" };
    format!(
        "{add}void @outputs(const @real *row, @real *outputs)\n{{\n{row}{lost}    for (int k = 0; k < $OUTPUTS; k++) {{\n        \
         outputs[k] = @offsets[k];\n    }}\n{sum}}}\n"
    )
}

/// Whether sums over vectors keep what additions lose.
pub(super) fn compensated(parts: &Parts) -> bool {
    parts.precision == Precision::F32 && parts.weights.is_none() && parts.vectors.rows() > 0
}

/// Sums as they are written without that.
fn plainly(sum: &str) -> String {
    sum.lines()
        .map(|line| match line.split_once("ADD(k, ") {
            Some((indent, term)) => format!("{indent}outputs[k] += {};\n", term.trim_end_matches(");")),
            None => format!("{line}\n"),
        })
        .collect()
}

const WEIGHTS: &str = "    for (int k = 0; k < $OUTPUTS; k++) {
        @real sum = 0;
        for (int i = 0; i < WIDTH; i++) {
            sum += @weights[k][i] * x[i];
        }
        outputs[k] += sum;
    }
";

/// Terms of both signs cancel; in single precision what an addition loses is kept and added to the next term.
const ADD: &str = "static void @add(@real *sum, @real *lost, @real term)
{
    const @real whole = term - *lost;
    const @real next = *sum + whole;
    *lost = (next - *sum) - whole;
    *sum = next;
}

";

const DENSE: &str = "    for (int j = 0; j < VECTORS; j++) {
        const @real value = @kernel(x, @vectors[j]);
        for (int k = 0; k < $OUTPUTS; k++) {
            ADD(k, @coefficients[j][k] * value);
        }
    }
";

/// Vectors of class c speak in the pairs of c with every other class.
const PAIRWISE: &str = "    for (int c = 0; c < $CLASSES; c++) {
        for (int j = @starts[c]; j < @starts[c + 1]; j++) {
            const @real value = @kernel(x, @vectors[j]);
            int k = c - 1;
            for (int other = 0; other < c; other++) {
                ADD(k, @coefficients[j][other] * value);
                k += $CLASSES - 2 - other;
            }
            k = c * (2 * $CLASSES - c - 1) / 2;
            for (int other = c + 1; other < $CLASSES; other++) {
                ADD(k, @coefficients[j][other - 1] * value);
                k++;
            }
        }
    }
";

/// Bytes of arrays on the stack in the deepest call.
fn stack(parts: &Parts) -> usize {
    let (machine, real) = (parts.machine, parts.precision.bytes());
    let (outputs, classes) = (machine.n_outputs(), machine.decision.labels().len());
    let row = machine.scale.as_ref().map_or(0, |scale| scale.output_dim() * if map_keeps_rest(parts) { 2 } else { 1 });
    let held = if parts.labels.is_some() || machine.decision == Decision::Ratio { outputs } else { 0 };
    let row = row + if compensated(parts) { outputs } else { 0 };
    let predict = (row + held) * real;
    let class =
        held * real + if matches!(machine.decision, Decision::Votes { .. } | Decision::Codes { .. }) { classes * real.max(4) } else { 0 };
    let uncertainty = match &parts.uncertainty {
        Uncertainty::Probabilities(_) if matches!(machine.decision, Decision::Votes { .. }) => {
            (outputs + classes * classes + classes) * real
        }
        Uncertainty::Probabilities(_) => outputs * real,
        Uncertainty::Deviations(posteriors) => (row + calibrate::most_places(posteriors)) * real,
        Uncertainty::Heads(_) => row * real,
        _ => 0,
    };
    predict.max(class).max(uncertainty)
}
