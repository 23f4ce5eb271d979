//! Probabilities of classes and deviations of numbers, in C; the rules are those of `machine::probability` and `machine::posterior`.
use super::{
    Parts,
    numbers::{Arrays, number},
};
use crate::{
    linalg::Matrix,
    machine::{Calibration, Curve, Decision, LogVariance, NormalClasses, Posterior},
    model::target::Uncertainty,
};

/// Declarations for the header.
pub(super) fn header(parts: &Parts) -> &'static str {
    match parts.uncertainty {
        Uncertainty::Nothing => "",
        Uncertainty::Probabilities(_) => {
            "\n/* The $CLASSES probabilities of the classes, in the order of the labels, for these outputs. */\n\
             void @probabilities(const @real *outputs, @real *probabilities);\n"
        }
        Uncertainty::Deviations(_) | Uncertainty::Heads(_) | Uncertainty::Constant(_) => {
            "\n/* The standard deviation of each predicted number of a row. */\nvoid @deviations(const @real *row, @real *deviations);\n"
        }
    }
}

/// Whether exp is asked for.
pub(super) fn needs_exp(uncertainty: &Uncertainty) -> bool {
    matches!(uncertainty, Uncertainty::Probabilities(Calibration::Sigmoid { .. } | Calibration::NormalClasses(_)) | Uncertainty::Heads(_))
}

/// The definitions, and the arrays they need.
pub(super) fn source(parts: &Parts, arrays: &mut Arrays) -> String {
    match &parts.uncertainty {
        Uncertainty::Nothing => String::new(),
        Uncertainty::Constant(deviations) => {
            arrays.list("constant_deviations", "$OUTPUTS", deviations);
            "void @deviations(const @real *row, @real *deviations)\n{\n    (void)row;\n    for (int k = 0; k < $OUTPUTS; k++) {\n        \
             deviations[k] = @constant_deviations[k];\n    }\n}\n"
                .into()
        }
        Uncertainty::Deviations(posteriors) => deviations(parts, posteriors, arrays),
        Uncertainty::Heads(heads) => log_variances(parts, heads, arrays),
        Uncertainty::Probabilities(Calibration::NormalClasses(normal)) => normal_classes(normal, arrays),
        Uncertainty::Probabilities(calibration) => {
            let calibrated = calibrated(parts, calibration, arrays);
            format!(
                "{}void @probabilities(const @real *outputs, @real *probabilities)\n{{\n{calibrated}{}}}\n",
                functions(calibration),
                to_classes(&parts.machine.decision, parts)
            )
        }
    }
}

/// What `calibrated` calls.
fn functions(calibration: &Calibration) -> &'static str {
    match calibration {
        Calibration::Sigmoid { .. } => {
            "/* 1 / (1 + exp(x)) without overflow. */\nstatic @real @sigmoid(@real x)\n{\n    const @real e = @exp(x < 0 ? x : -x);\n    \
             return (x < 0 ? 1 : e) / (1 + e);\n}\n\n"
        }
        Calibration::Isotonic { .. } => {
            "/* A curve through n points, straight between them and level beyond. */\n\
             static @real @curve(const @real *x, const @real *p, int n, @real output)\n{\n    int right = 0;\n    \
             while (right < n && x[right] < output) {\n        right++;\n    }\n    if (right == 0) {\n        return p[0];\n    }\n    \
             if (right == n) {\n        return p[n - 1];\n    }\n    const @real part = (output - x[right - 1]) / (x[right] - x[right - 1]);\n    \
             return p[right - 1] + part * (p[right] - p[right - 1]);\n}\n\n"
        }
        _ => "",
    }
}

/// Lines that fill `positive[k]`, the probability of the positive side of each output.
fn calibrated(parts: &Parts, calibration: &Calibration, arrays: &mut Arrays) -> String {
    let c = |value: f64| number(value, parts.precision);
    let clamp = format!("positive[k] = p < {low} ? {low} : p > {high} ? {high} : p;\n    }}\n", low = c(1e-7), high = c(1.0 - 1e-7));
    let each = "    @real positive[$OUTPUTS];\n    for (int k = 0; k < $OUTPUTS; k++) {\n        ";
    match calibration {
        Calibration::Sigmoid { a, b } => {
            arrays.list("sigmoid_a", "$OUTPUTS", a);
            arrays.list("sigmoid_b", "$OUTPUTS", b);
            format!("{each}const @real p = @sigmoid(@sigmoid_a[k] * outputs[k] + @sigmoid_b[k]);\n        {clamp}")
        }
        Calibration::Isotonic { curves } => {
            curve_arrays(curves, arrays);
            format!(
                "{each}const int start = @curve_starts[k];\n        const @real p = @curve(@curve_outputs + start, @curve_probabilities + start, \
                 @curve_starts[k + 1] - start, outputs[k]);\n        {clamp}"
            )
        }
        Calibration::Marks { marks } => {
            arrays.list("marks", &marks.len().to_string(), marks);
            format!(
                "{each}int place = 0;\n        while (place < {n} && @marks[place] <= outputs[k]) {{\n            place++;\n        }}\n        \
                 positive[k] = place == 0 ? {} : place == {n} ? {} : (@real)place / {n};\n    }}\n",
                c(0.001),
                c(0.999),
                n = marks.len(),
            )
        }
        _ => format!("{each}positive[k] = outputs[k] > 0 ? outputs[k] : 0;\n    }}\n"),
    }
}

fn curve_arrays(curves: &[Curve], arrays: &mut Arrays) {
    let mut starts = vec![0i64];
    let (mut outputs, mut probabilities) = (vec![], vec![]);
    for curve in curves {
        outputs.extend_from_slice(&curve.outputs);
        probabilities.extend_from_slice(&curve.probabilities);
        starts.push(outputs.len() as i64);
    }
    arrays.whole("int", 4, "curve_starts", "$OUTPUTS + 1", &starts);
    arrays.list("curve_outputs", &outputs.len().to_string(), &outputs);
    arrays.list("curve_probabilities", &outputs.len().to_string(), &probabilities);
}

/// Lines that make `probabilities` of `positive`.
fn to_classes(decision: &Decision, parts: &Parts) -> String {
    match decision {
        Decision::Votes { .. } => COUPLE.replace("0.005", &number(0.005, parts.precision)),
        Decision::Largest { .. } => {
            "    @real sum = 0;\n    for (int c = 0; c < $CLASSES; c++) {\n        sum += positive[c];\n    }\n    \
             for (int c = 0; c < $CLASSES; c++) {\n        probabilities[c] = sum > 0 ? positive[c] / sum : (@real)1 / $CLASSES;\n    }\n"
                .into()
        }
        _ => "    probabilities[0] = 1 - positive[0];\n    probabilities[1] = positive[0];\n".into(),
    }
}

/// The coupling of pairs, by the iteration of LIBSVM.
const COUPLE: &str = "    @real q[$CLASSES][$CLASSES] = { { 0 } };
    @real product[$CLASSES];
    int k = 0;
    for (int a = 0; a < $CLASSES; a++) {
        for (int b = a + 1; b < $CLASSES; b++) {
            const @real p = positive[k++];
            q[a][a] += (1 - p) * (1 - p);
            q[b][b] += p * p;
            q[a][b] = q[b][a] = -(1 - p) * p;
        }
    }
    for (int a = 0; a < $CLASSES; a++) {
        probabilities[a] = (@real)1 / $CLASSES;
    }
    for (int round = 0; round < ($CLASSES > 100 ? $CLASSES : 100); round++) {
        @real value = 0;
        int done = 1;
        for (int a = 0; a < $CLASSES; a++) {
            product[a] = 0;
            for (int b = 0; b < $CLASSES; b++) {
                product[a] += q[a][b] * probabilities[b];
            }
            value += product[a] * probabilities[a];
        }
        for (int a = 0; a < $CLASSES; a++) {
            const @real apart = product[a] - value;
            done = done && apart < 0.005 / $CLASSES && -apart < 0.005 / $CLASSES;
        }
        if (done) {
            return;
        }
        for (int a = 0; a < $CLASSES; a++) {
            const @real step = (value - product[a]) / q[a][a];
            const @real whole = 1 + step;
            probabilities[a] += step;
            value = (value + step * (step * q[a][a] + 2 * product[a])) / whole / whole;
            for (int b = 0; b < $CLASSES; b++) {
                product[b] = (product[b] + step * q[a][b]) / whole;
                probabilities[b] /= whole;
            }
        }
    }
";

fn normal_classes(normal: &NormalClasses, arrays: &mut Arrays) -> String {
    let list = |rows: &[Vec<f64>]| rows.iter().flatten().copied().collect::<Vec<f64>>();
    arrays.list("normal_constants", "$CLASSES", &normal.constants);
    arrays.list("normal_means", "$CLASSES * $OUTPUTS", &list(&normal.means));
    arrays.list("normal_precisions", &format!("{} * $OUTPUTS * $OUTPUTS", normal.precisions.len()), &list(&normal.precisions));
    let place = if normal.precisions.len() == 1 { "0" } else { "c * $OUTPUTS * $OUTPUTS" };
    format!(
        "void @probabilities(const @real *outputs, @real *probabilities)\n{{\n    int best = 0;\n    @real sum = 0;\n    \
         for (int c = 0; c < $CLASSES; c++) {{\n        const @real *mean = @normal_means + c * $OUTPUTS;\n        \
         const @real *precision = @normal_precisions + {place};\n        @real squared = 0;\n        for (int i = 0; i < $OUTPUTS; i++) {{\n            \
         for (int j = 0; j < $OUTPUTS; j++) {{\n                \
         squared += (outputs[i] - mean[i]) * precision[i * $OUTPUTS + j] * (outputs[j] - mean[j]);\n            }}\n        }}\n        \
         probabilities[c] = @normal_constants[c] - squared / 2;\n        if (probabilities[c] > probabilities[best]) {{\n            best = c;\n        }}\n    \
         }}\n    const @real most = probabilities[best];\n    for (int c = 0; c < $CLASSES; c++) {{\n        \
         probabilities[c] = @exp(probabilities[c] - most);\n        sum += probabilities[c];\n    }}\n    \
         for (int c = 0; c < $CLASSES; c++) {{\n        probabilities[c] /= sum;\n    }}\n}}\n"
    )
}

/// The most places that a posterior of one output has.
pub(super) fn most_places(posteriors: &[Posterior]) -> usize {
    posteriors.iter().map(|posterior| posterior.vectors.len() + usize::from(posterior.offset)).max().unwrap_or(0).max(1)
}

fn deviations(parts: &Parts, posteriors: &[Posterior], arrays: &mut Arrays) -> String {
    let (mut starts, mut places, mut factors) = (vec![0i64], vec![], vec![]);
    for posterior in posteriors {
        places.extend(posterior.vectors.iter().map(|&j| j as i64).chain(posterior.offset.then_some(-1)));
        starts.push(places.len() as i64);
        factors.extend_from_slice(&posterior.factor);
    }
    if places.is_empty() {
        // C has no empty arrays.
        places.push(-1);
        factors.push(0.0);
    }
    let noises = Matrix::column(posteriors.iter().map(|posterior| posterior.noise).collect());
    arrays.whole("int", 4, "posterior_starts", "$OUTPUTS + 1", &starts);
    arrays.whole("int", 4, "posterior_places", &places.len().to_string(), &places);
    arrays.list("posterior_factors", &factors.len().to_string(), &factors);
    arrays.list("posterior_noises", "$OUTPUTS", noises.values());
    let kernel = if parts.vectors.rows() == 0 { "0" } else { "@kernel(x, @vectors[places[i]])" };
    format!(
        "void @deviations(const @real *row, @real *deviations)\n{{\n{}    @real product[{}];\n    const @real *factor = @posterior_factors;\n    \
         for (int k = 0; k < $OUTPUTS; k++) {{\n        const int *places = @posterior_places + @posterior_starts[k];\n        \
         const int size = @posterior_starts[k + 1] - @posterior_starts[k];\n        @real sum = @posterior_noises[k];\n        \
         for (int i = 0; i < size; i++) {{\n            const @real value = places[i] < 0 ? 1 : {kernel};\n            product[i] = 0;\n            \
         for (int c = 0; c <= i; c++) {{\n                product[c] += factor[c] * value;\n            }}\n            factor += i + 1;\n        }}\n        \
         for (int i = 0; i < size; i++) {{\n            sum += product[i] * product[i];\n        }}\n        deviations[k] = @sqrt(sum);\n    }}\n}}\n",
        super::source::scaled_row(parts),
        most_places(posteriors),
    )
}

/// exp of half a sum over vectors, for each predicted number.
fn log_variances(parts: &Parts, heads: &[LogVariance], arrays: &mut Arrays) -> String {
    let (mut starts, mut places, mut coefficients) = (vec![0i64], vec![], vec![]);
    for head in heads {
        places.extend(head.vectors.iter().map(|&j| j as i64));
        coefficients.extend_from_slice(&head.coefficients);
        starts.push(places.len() as i64);
    }
    if places.is_empty() {
        // C has no empty arrays.
        places.push(0);
        coefficients.push(0.0);
    }
    arrays.whole("int", 4, "head_starts", "$OUTPUTS + 1", &starts);
    arrays.whole("int", 4, "head_places", &places.len().to_string(), &places);
    arrays.list("head_coefficients", &coefficients.len().to_string(), &coefficients);
    arrays.list("head_offsets", "$OUTPUTS", &heads.iter().map(|head| head.offset).collect::<Vec<_>>());
    let kernel = if parts.vectors.rows() == 0 { "0" } else { "@kernel(x, @vectors[@head_places[i]])" };
    format!(
        "void @deviations(const @real *row, @real *deviations)\n{{\n{}    for (int k = 0; k < $OUTPUTS; k++) {{\n        \
         @real sum = @head_offsets[k];\n        for (int i = @head_starts[k]; i < @head_starts[k + 1]; i++) {{\n            \
         sum += @head_coefficients[i] * {kernel};\n        }}\n        deviations[k] = @exp(sum / 2);\n    }}\n}}\n",
        super::source::scaled_row(parts),
    )
}
