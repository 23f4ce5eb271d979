//! A cascade as C source: the sources of its machines, one after another in one file, and nested ifs around them.
//!
//! Every machine keeps its own functions, under `NAME_stage1_`, .. and `NAME_full_`. Of a one-vs-one machine a row that the stages do not answer needs the pairs
//! of its candidate classes alone: vectors that have no coefficient in any of them are left out, as in the cascade here.
use super::{
    Code, Options, Parts, Size, labels,
    source::{compensated, scaled_row},
    to_code, unsupported,
};
use crate::{
    Result,
    machine::{
        Coefficients, Decision, Machine,
        cascade::{Cascade, MOST_CANDIDATES, Stage},
    },
    model::target::Labels,
};

/// The header and the source of a cascade.
pub fn cascade_to_code(cascade: &Cascade, options: &Options, header_name: &str) -> Result<Code> {
    cascade.check()?;
    let part = |machine: &Machine, name: String| {
        to_code(&Machine { calibration: None, ..machine.clone() }, &Options { name, ..options.clone() }, header_name)
    };
    let mut codes = vec![];
    for (place, stage) in cascade.stages.iter().enumerate() {
        codes.push(part(&stage.evaluated(), format!("{}_stage{}", options.name, place + 1))?);
    }
    if let Some(full) = &cascade.full {
        codes.push(part(full, format!("{}_full", options.name))?);
    }
    let size =
        Size { constants: codes.iter().map(|code| code.size.constants).sum(), stack: codes.iter().map(|code| code.size.stack).sum() };
    let header = header(cascade, &codes);
    let source = codes.iter().map(|code| code.source.clone()).chain([functions(cascade, options)?]).collect::<Vec<_>>().join("\n");
    let named =
        |text: String| text.replace('@', &format!("{}_", options.name)).replace('$', &format!("{}_", options.name.to_ascii_uppercase()));
    Ok(Code { header: named(header), source: named(source), size })
}

fn header(cascade: &Cascade, codes: &[Code]) -> String {
    let parts: String = codes.iter().map(|code| code.header.clone() + "\n").collect();
    let promise = &cascade.promise;
    let predict = match &cascade.full {
        Some(_) => "/* The label of a row. */\n#define @predict(row) @label(@class((row), 0))\n\n",
        None => "",
    };
    let kind = if is_text(cascade) { "const char *" } else { "long " };
    format!(
        "{parts}/* A cascade: at most {} of rows like those of calibration are answered otherwise than by the full machine, with a confidence of {}. */\n\
         #ifndef $CASCADE_H\n#define $CASCADE_H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n#define $STAGES {}\n\n\
         typedef @stage1_real @real;\n\n\
         /* The place of the class of a row of numbers as they were measured, -1 for no answer. Where `stage` is not 0 it gets the stage that answered, \
         counted from 0; $STAGES is the full machine, or no answer. */\nint @class(const @real *row, int *stage);\n\n\
         /* The label of a class by its place. */\n{kind}@label(int place);\n\n{predict}#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        promise.max_disagreement,
        promise.confidence,
        cascade.stages.len(),
    )
}

fn is_text(cascade: &Cascade) -> bool {
    let decision = cascade.stages.first().map(|stage| &stage.machine.decision);
    matches!(decision.map(labels), Some(Ok(Some(Labels::Texts(_)))))
}

fn functions(cascade: &Cascade, options: &Options) -> Result<String> {
    let Some(first) = cascade.stages.first() else { return Ok(String::new()) };
    let (kind, list): (&str, Vec<String>) = match labels(&first.machine.decision)? {
        Some(Labels::Numbers(numbers)) => ("long ", numbers.iter().map(i64::to_string).collect()),
        Some(Labels::Texts(texts)) => ("const char *", texts.iter().map(|text| format!("\"{text}\"")).collect()),
        None => return Err(unsupported("a cascade without classes", "make it of classifiers")),
    };
    let (classes, constant) = (list.len(), if kind == "long " { "long" } else { "char *const" });
    let mut text = format!(
        "static const {constant} @labels[{classes}] = {{ {} }};\n\n{kind}@label(int place)\n{{\n    return @labels[place];\n}}\n\n",
        list.join(", ")
    );
    for (place, stage) in cascade.stages.iter().enumerate() {
        text += &drops(place + 1, stage, classes);
    }
    let among = match &cascade.full {
        Some(full) => among(&Parts::of(full, options.precision)?, classes),
        None => None,
    };
    text += among.as_deref().unwrap_or_default();
    text += "int @class(const @real *row, int *stage)\n{\n";
    for (place, stage) in cascade.stages.iter().enumerate() {
        text += &answer(place, stage);
    }
    let last = cascade.stages.len();
    text += &format!("    if (stage) {{\n        *stage = {last};\n    }}\n");
    text += &rest(cascade, classes, among.is_some());
    Ok(text + "}\n")
}

/// A function that finds the class at a stage and by how much every other class is behind; for two classes how sure the stage is.
fn drops(number: usize, stage: &Stage, classes: usize) -> String {
    let body = match &stage.machine.decision {
        Decision::Sign { .. } => {
            let error = match &stage.head {
                Some(head) => format!("    const @real error = outputs[1] > {0:e} ? outputs[1] : (@real){0:e};\n", head.floor),
                None => "    const @real error = 1;\n".into(),
            };
            format!(
                "{error}    const int class = outputs[0] > 0;\n    drops[0] = (outputs[0] > 0 ? outputs[0] : -outputs[0]) / error;\n    return class;\n"
            )
        }
        Decision::Votes { .. } => format!(
            "    const int class = @stage{number}_class(outputs);\n    int k = 0;\n    drops[class] = 0;\n    for (int a = 0; a < {classes}; a++) {{\n        \
             for (int b = a + 1; b < {classes}; b++, k++) {{\n            if (a == class) {{\n                drops[b] = outputs[k] > 0 ? outputs[k] : 0;\n            }} \
             else if (b == class) {{\n                drops[a] = outputs[k] < 0 ? -outputs[k] : 0;\n            }}\n        }}\n    }}\n    return class;\n"
        ),
        _ => format!(
            "    const int class = @stage{number}_class(outputs);\n    for (int c = 0; c < {classes}; c++) {{\n        drops[c] = outputs[class] - outputs[c];\n    \
             }}\n    return class;\n"
        ),
    };
    format!("static int @drops{number}(const @real *outputs, @real *drops)\n{{\n{body}}}\n\n")
}

/// The lines of one stage.
fn answer(place: usize, stage: &Stage) -> String {
    let number = place + 1;
    let (outputs, classes) = (stage.machine.n_outputs() + usize::from(stage.head.is_some()), stage.machine.decision.labels().len());
    let least = match stage.machine.decision {
        Decision::Sign { .. } => format!("    const @real sure{number} = drops{number}[0];\n"),
        _ => format!(
            "    @real sure{number} = -1;\n    for (int c = 0; c < {classes}; c++) {{\n        if (c != class{number} && (sure{number} < 0 || drops{number}[c] < \
             sure{number})) {{\n            sure{number} = drops{number}[c];\n        }}\n    }}\n"
        ),
    };
    format!(
        "    @real outputs{number}[{outputs}], drops{number}[{classes}];\n    @stage{number}_outputs(row, outputs{number});\n    const int class{number} = \
         @drops{number}(outputs{number}, drops{number});\n{least}    if (sure{number} > {:e}) {{\n        if (stage) {{\n            *stage = {place};\n        }}\n        \
         return class{number};\n    }}\n",
        stage.threshold
    )
}

/// A function that lets the pairs of the candidate classes vote; none where the whole full machine decides.
fn among(parts: &Parts, classes: usize) -> Option<String> {
    let pairs =
        matches!((&parts.machine.expansion.coefficients, &parts.machine.decision), (Coefficients::Pairwise(_), Decision::Votes { .. }));
    if !pairs || parts.vectors.rows() == 0 {
        return None;
    }
    let row = scaled_row(parts).replace('@', "@full_").replace('$', "$FULL_");
    let (lost, add) = match compensated(parts) {
        true => (
            "    @real lost[$FULL_OUTPUTS] = {0};\n",
            "@full_add(&outputs[k], &lost[k], @full_coefficients[j][other - (other > c)] * value);",
        ),
        false => ("", "outputs[k] += @full_coefficients[j][other - (other > c)] * value;"),
    };
    let text = AMONG.replace("ROW", &row).replace("LOST", lost).replace("ADD", add);
    Some(text.replace("CLASSES", &classes.to_string()))
}

const AMONG: &str = "/* The class that the pairs of the candidate classes vote for. */
static int @among(const @real *row, const int *candidate)
{
ROW    @real outputs[$FULL_OUTPUTS];
LOST    int votes[CLASSES] = { 0 }, pair = 0, best = -1;
    for (int k = 0; k < $FULL_OUTPUTS; k++) {
        outputs[k] = @full_offsets[k];
    }
    for (int c = 0; c < CLASSES; c++) {
        for (int j = @full_starts[c]; candidate[c] && j < @full_starts[c + 1]; j++) {
            int used = 0;
            for (int other = 0; other < CLASSES; other++) {
                used |= other != c && candidate[other] && @full_coefficients[j][other - (other > c)] != 0;
            }
            if (!used) {
                continue;
            }
            const @real value = @full_kernel(x, @full_vectors[j]);
            for (int other = 0; other < CLASSES; other++) {
                if (other != c && candidate[other]) {
                    const int a = other < c ? other : c, b = other < c ? c : other, k = a * (2 * CLASSES - a - 1) / 2 + b - a - 1;
                    ADD
                }
            }
        }
    }
    for (int a = 0; a < CLASSES; a++) {
        for (int b = a + 1; b < CLASSES; b++, pair++) {
            if (candidate[a] && candidate[b]) {
                votes[outputs[pair] > 0 ? a : b]++;
            }
        }
    }
    for (int c = 0; c < CLASSES; c++) {
        if (candidate[c] && (best < 0 || votes[c] > votes[best])) {
            best = c;
        }
    }
    return best;
}

";

/// The lines for rows that no stage answers.
fn rest(cascade: &Cascade, classes: usize, among: bool) -> String {
    let Some(full) = &cascade.full else { return "    return -1;\n".into() };
    let whole = format!("    @real outputs[{}];\n    @full_outputs(row, outputs);\n    return @full_class(outputs);\n", full.n_outputs());
    if !among {
        return whole;
    }
    let (number, threshold) = (cascade.stages.len(), cascade.stages.last().map_or(0.0, |stage| stage.threshold));
    format!(
        "    int candidate[{classes}], count = 0;\n    for (int c = 0; c < {classes}; c++) {{\n        candidate[c] = drops{number}[c] <= {threshold:e};\n        \
         count += candidate[c];\n    }}\n    if (count >= 2 && count <= {MOST_CANDIDATES} && count < {classes}) {{\n        \
         return @among(row, candidate);\n    }}\n{whole}"
    )
}
