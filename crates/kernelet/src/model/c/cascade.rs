//! A cascade as C source: the sources of its machines, one after another in one file, and nested ifs around them.
//!
//! Every machine keeps its own functions, under `NAME_stage1_`, .. and `NAME_full_`. Of a one-vs-one machine a row that the stages do not answer needs the pairs
//! of its candidate classes alone: vectors that have no coefficient in any of them are left out, as in the cascade here.
use super::{
    Code, Options, Parts, Size, fixed_cascade, labels,
    source::{compensated, scaled_row},
    to_code, unsupported,
};
use crate::{
    Result,
    machine::{
        Decision, Machine,
        cascade::{Cascade, MOST_CANDIDATES, Stage, pairwise_of},
    },
    model::{fixed::FixedCascade, target::Labels},
};

/// The header and the source of a cascade.
pub fn cascade_to_code(cascade: &Cascade, options: &Options, header_name: &str) -> Result<Code> {
    cascade.check()?;
    let part = |machine: &Machine, name: String| {
        to_code(&Machine { calibration: None, ..machine.clone() }, &Options { name, ..options.clone() }, header_name)
    };
    let mut codes = vec![];
    for (place, stage) in cascade.stages.iter().enumerate() {
        codes.push(part(&stage.evaluated(), stage_name(&options.name, place))?);
    }
    let mut among = None;
    if let Some(full) = &cascade.full {
        codes.push(part(full, full_name(&options.name))?);
        among = pairwise_of(full).map(|_| Parts::of(full, options.precision)).transpose()?.map(|parts| pairs(&parts));
    }
    let tests = cascade.stages.iter().map(test).collect();
    assemble(cascade, &options.name, Pieces { codes, tests, among, types: "typedef @stage1_real @real;\n", quantise: "" })
}

/// The header and the source of a cascade in whole numbers.
pub fn fixed_cascade_to_code(cascade: &Cascade, fixed: &FixedCascade, name: &str, header_name: &str) -> Result<Code> {
    assemble(cascade, name, fixed_cascade::pieces(cascade, fixed, name, header_name)?)
}

pub(super) fn stage_name(name: &str, place: usize) -> String {
    format!("{name}_stage{}", place + 1)
}

pub(super) fn full_name(name: &str) -> String {
    format!("{name}_full")
}

/// What depends on the type of the numbers.
pub(super) struct Pieces {
    /// Of the stages and of the full machine.
    pub codes: Vec<Code>,
    pub tests: Vec<Test>,
    pub among: Option<Among>,
    /// Definitions of the types of rows and outputs.
    pub types: &'static str,
    /// Declarations for the header where rows become whole numbers.
    pub quantise: &'static str,
}

/// The comparisons of a stage.
pub(super) struct Test {
    /// Arrays and lines before it.
    pub before: String,
    /// Two classes: whether `size`, |f|, is large enough. More: whether a class is behind the class of the row, whose outputs differ by `drop`.
    pub far: String,
}

/// How the pairs of the candidate classes are computed: in C, with those of [`AMONG`] in capitals.
pub(super) struct Among {
    pub row: String,
    pub lost: &'static str,
    pub kernel: &'static str,
    pub add: &'static str,
    /// Whether there are vectors; else all pairs are computed.
    pub vectors: bool,
}

fn assemble(cascade: &Cascade, name: &str, pieces: Pieces) -> Result<Code> {
    let codes = &pieces.codes;
    let classes = cascade.stages.first().map_or(0, |stage| stage.machine.decision.labels().len());
    // A machine at work, and the arrays of the functions below: outputs of at most 8 bytes, the classes in question and their votes.
    let machines = cascade.stages.iter().map(|stage| &stage.machine).chain(&cascade.full);
    let outputs = machines.map(|machine| machine.n_outputs() + 1).max().unwrap_or(0);
    let stack = codes.iter().map(|code| code.size.stack).max().unwrap_or(0) + 8 * outputs + 8 * classes;
    let size = Size { constants: codes.iter().map(|code| code.size.constants).sum(), stack };
    let source = codes.iter().map(|code| code.source.clone()).chain([functions(cascade, &pieces)?]).collect::<Vec<_>>().join("\n");
    let named = |text: String| text.replace('@', &format!("{name}_")).replace('$', &format!("{}_", name.to_ascii_uppercase()));
    Ok(Code { header: named(header(cascade, &pieces)), source: named(source), size })
}

fn header(cascade: &Cascade, pieces: &Pieces) -> String {
    let parts: String = pieces.codes.iter().map(|code| code.header.clone() + "\n").collect();
    let promise = &cascade.promise;
    let predict = match &cascade.full {
        Some(_) => "/* The label of a row. */\n#define @predict(row) @label(@class((row), 0))\n\n",
        None => "",
    };
    let kind = if is_text(cascade) { "const char *" } else { "long " };
    let (float, of, row, beside) = match pieces.quantise {
        "" => ("", "numbers as they were measured", "real", ""),
        _ => (
            "#ifdef $FLOAT\n#define $STAGE1_FLOAT\n#endif\n\n",
            "whole numbers, as the machines above have them",
            "input",
            " That holds in floating point; the rounding to whole numbers comes on top.",
        ),
    };
    format!(
        "/* Made by kernelet {}: a cascade. */\n{float}{parts}/* A cascade: at most {} of rows like those of calibration are answered otherwise than by the full machine, with a confidence of {}.{beside} */\n\
         #ifndef $CASCADE_H\n#define $CASCADE_H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n#define $STAGES {}\n#define $FEATURES {}\n\n\
         {}\n{}/* The place of the class of a row of {of}, -1 for no answer. Where `stage` is not 0 it gets the stage that answered, \
         counted from 0; $STAGES is the full machine, or no answer. */\nint @class(const @{row} *row, int *stage);\n\n\
         /* The label of a class by its place. */\n{kind}@label(int place);\n\n{predict}#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        env!("CARGO_PKG_VERSION"),
        promise.max_disagreement,
        promise.confidence,
        cascade.stages.len(),
        cascade.dim(),
        pieces.types,
        pieces.quantise,
    )
}

fn is_text(cascade: &Cascade) -> bool {
    let decision = cascade.stages.first().map(|stage| &stage.machine.decision);
    matches!(decision.map(labels), Some(Ok(Some(Labels::Texts(_)))))
}

fn functions(cascade: &Cascade, pieces: &Pieces) -> Result<String> {
    let Some(first) = cascade.stages.first() else { return Ok(String::new()) };
    let (kind, list): (&str, Vec<String>) = match labels(&first.machine.decision)? {
        Some(Labels::Numbers(numbers)) => ("long ", numbers.iter().map(i64::to_string).collect()),
        Some(Labels::Texts(texts)) => ("const char *", texts.iter().map(|text| format!("\"{text}\"")).collect()),
        None => return Err(unsupported("a cascade without classes", "make it of classifiers")),
    };
    let (classes, constant) = (list.len(), if kind == "long " { "long" } else { "char *const" });
    let mut text = format!(
        "static const {constant} @labels[{classes}] = {{ {} }};\n\n{kind}@label(int place)\n{{\n    return @labels[place];\n}}\n\n{}",
        list.join(", "),
        COUNT.replace("CLASSES", &classes.to_string()),
    );
    for ((place, stage), test) in cascade.stages.iter().enumerate().zip(&pieces.tests) {
        text += &judge(place + 1, stage, test, classes);
    }
    text += &pieces.among.as_ref().map_or(String::new(), |among| among.source(classes));
    text += &format!("int @class(const @real *row, int *stage)\n{{\n    int near[{classes}], class, answered = 0;\n");
    for number in 1..=cascade.stages.len() {
        text += &format!("    class = @stage{number}_near(row, near);\n    if (@count(near) > 1) {{\n        answered = {number};\n");
    }
    text += &rest(cascade, classes, pieces.among.is_some());
    for _ in &cascade.stages {
        text += "    }\n";
    }
    text += "    if (stage) {\n        *stage = answered;\n    }\n    return class;\n}\n";
    Ok(match pieces.quantise {
        "" => text,
        _ => text.replace("const @real *row", "const @input *row").replace("@real", "@output"),
    })
}
const COUNT: &str = "static int @count(const int *near)
{
    int count = 0;
    for (int c = 0; c < CLASSES; c++) {
        count += near[c];
    }
    return count;
}

";

/// A function that finds the class of a row at a stage, and which classes are not behind it by more than the threshold; itself is one of them.
fn judge(number: usize, stage: &Stage, test: &Test, classes: usize) -> String {
    let Test { before, far } = test;
    let outputs = stage.machine.n_outputs() + usize::from(stage.head.is_some());
    let body = match &stage.machine.decision {
        Decision::Sign { .. } => format!(
            "    const int class = outputs[0] > 0;\n    const @real size = class ? outputs[0] : -outputs[0];\n    near[class] = 1;\n    \
             near[1 - class] = !({far});\n"
        ),
        Decision::Votes { .. } => format!(
            "    const int class = @stage{number}_class(outputs);\n    int k = 0;\n    near[class] = 1;\n    for (int a = 0; a < {classes}; a++) {{\n        \
             for (int b = a + 1; b < {classes}; b++, k++) {{\n            if (a == class || b == class) {{\n                \
             const @real drop = a == class ? outputs[k] : -outputs[k];\n                near[a == class ? b : a] = !({far});\n            }}\n        }}\n    }}\n"
        ),
        _ => format!(
            "    const int class = @stage{number}_class(outputs);\n    for (int c = 0; c < {classes}; c++) {{\n        near[c] = c == class || !({far});\n    }}\n"
        ),
    };
    format!(
        "{before}static int @stage{number}_near(const @real *row, int *near)\n{{\n    @real outputs[{outputs}];\n    \
         @stage{number}_outputs(row, outputs);\n{body}    return class;\n}}\n\n"
    )
}

/// The comparisons of a stage in floating point.
fn test(stage: &Stage) -> Test {
    let (most, before) = (stage.threshold, String::new());
    let far = match &stage.machine.decision {
        Decision::Sign { .. } => match &stage.head {
            Some(head) => format!("size / (outputs[1] > {0:e} ? outputs[1] : (@real){0:e}) > {most:e}", head.floor),
            None => format!("size > {most:e}"),
        },
        Decision::Votes { .. } => format!("(drop > 0 ? drop : 0) > {most:e}"),
        _ => format!("outputs[class] - outputs[c] > {most:e}"),
    };
    Test { before, far }
}

/// The pairs of the candidate classes in floating point.
fn pairs(parts: &Parts) -> Among {
    let (lost, add) = match compensated(parts) {
        true => (
            "    @real lost[$FULL_OUTPUTS] = {0};\n",
            "@full_add(&outputs[k], &lost[k], @full_coefficients[j][other - (other > c)] * value);",
        ),
        false => ("", "outputs[k] += @full_coefficients[j][other - (other > c)] * value;"),
    };
    Among { row: scaled_row(parts), lost, kernel: "@full_kernel(x, @full_vectors[j])", add, vectors: parts.vectors.rows() > 0 }
}

impl Among {
    /// A function that lets the pairs of the candidate classes vote.
    fn source(&self, classes: usize) -> String {
        let row = self.row.replace('@', "@full_").replace('$', "$FULL_");
        let sums = match self.vectors {
            true => SUMS.replace("ROW", &row).replace("LOST", self.lost).replace("KERNEL", self.kernel).replace("ADD", self.add),
            false => "    @real outputs[$FULL_OUTPUTS];\n    @full_outputs(row, outputs);\n".into(),
        };
        VOTE.replace("SUMS", &sums).replace("CLASSES", &classes.to_string())
    }
}

const SUMS: &str = "ROW    @real outputs[$FULL_OUTPUTS];
LOST    for (int k = 0; k < $FULL_OUTPUTS; k++) {
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
            const @real value = KERNEL;
            for (int other = 0; other < CLASSES; other++) {
                if (other != c && candidate[other]) {
                    const int a = other < c ? other : c, b = other < c ? c : other, k = a * (2 * CLASSES - a - 1) / 2 + b - a - 1;
                    ADD
                }
            }
        }
    }
";

const VOTE: &str = "/* The class that the pairs of the candidate classes vote for. */
static int @among(const @real *row, const int *candidate)
{
SUMS    int votes[CLASSES] = { 0 }, pair = 0, best = -1;
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
    let Some(full) = &cascade.full else { return "    class = -1;\n".into() };
    let whole = format!("@real outputs[{}];\n    @full_outputs(row, outputs);\n    class = @full_class(outputs);\n", full.n_outputs());
    if !among {
        return format!("    {whole}");
    }
    let most = MOST_CANDIDATES.min(classes.saturating_sub(1));
    format!(
        "    if (@count(near) <= {most}) {{\n        class = @among(row, near);\n    }} else {{\n        {}    }}\n",
        whole.replace("\n    ", "\n        ")
    )
}
