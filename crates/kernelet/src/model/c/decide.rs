//! From outputs to a prediction, in C.
use super::{Parts, numbers::Arrays};
use crate::{machine::Decision, model::target::Labels};

/// Declarations for the header.
pub(super) fn header(parts: &Parts) -> String {
    match (&parts.labels, &parts.machine.decision) {
        (Some(labels), _) => {
            let (kind, names) = match labels {
                Labels::Numbers(_) => ("long", String::new()),
                Labels::Texts(texts) => {
                    let constants: Vec<String> = texts.iter().enumerate().map(|(i, text)| format!("$LABEL_{text} = {i}")).collect();
                    ("const char *", format!("/* The places of the labels. */\nenum {{ {} }};\n\n", constants.join(", ")))
                }
            };
            format!(
                "{names}/* The place among the labels, from 0, of the class that these outputs stand for. */\nint @class(const @real *outputs);\n\n\
                 /* The label at a place. */\n{kind} @label(int place);\n\n/* The label of a row. */\n{kind} @predict(const @real *row);\n"
            )
            .replace("* @", "*@")
        }
        (None, Decision::Ratio) => "/* The $VALUES predicted numbers of a row: the outputs divided by the last of them. */\n\
             void @predict(const @real *row, @real *values);\n"
            .into(),
        (None, Decision::Features) => {
            "/* The $VALUES features of a row: its outputs. */\nvoid @predict(const @real *row, @real *values);\n".into()
        }
        (None, _) => "/* The $VALUES predicted numbers of a row: its outputs. */\nvoid @predict(const @real *row, @real *values);\n".into(),
    }
}

/// The definitions, and the arrays they need.
pub(super) fn source(parts: &Parts, arrays: &mut Arrays) -> String {
    let Some(labels) = &parts.labels else { return numbers(&parts.machine.decision) };
    let (kind, list, bytes): (_, Vec<String>, usize) = match labels {
        Labels::Numbers(numbers) => ("long", numbers.iter().map(i64::to_string).collect(), 4 * numbers.len()),
        Labels::Texts(texts) => {
            // Text, its end, and a pointer to it.
            ("char *const", texts.iter().map(|text| format!("\"{text}\"")).collect(), texts.iter().map(|text| text.len() + 5).sum())
        }
    };
    let returned = if kind == "long" { "long " } else { "const char *" };
    arrays.text.push_str(&format!("static const {kind} @labels[$CLASSES] = {{ {} }};\n", list.join(", ")));
    arrays.bytes += bytes;
    format!(
        "int @class(const @real *outputs)\n{{\n{}}}\n\n{returned}@label(int place)\n{{\n    return @labels[place];\n}}\n\n\
         {returned}@predict(const @real *row)\n{{\n    @real outputs[$OUTPUTS];\n    @outputs(row, outputs);\n    \
         return @labels[@class(outputs)];\n}}\n",
        class(parts, arrays)
    )
}

/// The body of `@class`.
fn class(parts: &Parts, arrays: &mut Arrays) -> String {
    let largest = |scores: &str| {
        format!(
            "    int best = 0;\n    for (int c = 1; c < $CLASSES; c++) {{\n        if ({scores}[c] > {scores}[best]) {{\n            best = c;\n        \
             }}\n    }}\n    return best;\n"
        )
    };
    match &parts.machine.decision {
        Decision::Votes { .. } => {
            "    int votes[$CLASSES] = { 0 };\n    int k = 0;\n    for (int a = 0; a < $CLASSES; a++) {\n        for (int b = a + 1; b < $CLASSES; b++) {\n            \
             votes[outputs[k++] > 0 ? a : b]++;\n        }\n    }\n"
                .to_string()
                + &largest("votes")
        }
        Decision::Largest { .. } => largest("outputs"),
        Decision::Codes { words, .. } => {
            let signs: Vec<i64> = words.iter().flatten().map(|&sign| i64::from(sign)).collect();
            arrays.whole("signed char", 1, "words", "$CLASSES * $OUTPUTS", &signs);
            "    @real gains[$CLASSES];\n    for (int c = 0; c < $CLASSES; c++) {\n        gains[c] = 0;\n        for (int k = 0; k < $OUTPUTS; k++) {\n            \
             const @real margin = @words[c * $OUTPUTS + k] * outputs[k] - ONE;\n            gains[c] += margin < 0 ? margin : 0;\n        }\n    }\n"
                .replace("ONE", &parts.one)
                + &largest("gains")
        }
        _ => "    return outputs[0] > 0;\n".into(),
    }
}

/// `@predict` where numbers are predicted.
fn numbers(decision: &Decision) -> String {
    let ratio = "    @real outputs[$OUTPUTS];\n    @outputs(row, outputs);\n    for (int k = 0; k < $VALUES; k++) {\n        \
         values[k] = outputs[k] / outputs[$VALUES];\n    }\n";
    let body = if *decision == Decision::Ratio { ratio } else { "    @outputs(row, values);\n" };
    format!("void @predict(const @real *row, @real *values)\n{{\n{body}}}\n")
}
