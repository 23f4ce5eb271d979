//! What the C source of a cascade has in whole numbers: its machines, and thresholds in the units of their outputs.
use super::{
    cascade::{Among, Pieces, Test, full_name, stage_name},
    fixed::{fixed_code, mapped_row},
    fixed_kernel::wide_type,
    numbers::Arrays,
};
use crate::{
    Result,
    machine::{Decision, Machine, cascade::Cascade},
    model::{
        Precision,
        fixed::{FixedCascade, FixedStage},
    },
};

/// The pieces of a cascade that was made of whole numbers.
pub(super) fn pieces(cascade: &Cascade, fixed: &FixedCascade, name: &str, header_name: &str) -> Result<Pieces> {
    let (mut codes, mut tests) = (vec![], vec![]);
    for (place, stage) in fixed.stages.iter().enumerate() {
        let mut arrays = Arrays::new(Precision::F64);
        tests.push(test(stage, place + 1, &mut arrays));
        let mut code = fixed_code(&stage.machine, &stage.fixed, &stage_name(name, place), header_name)?;
        code.size.constants += arrays.bytes;
        codes.push(code);
    }
    let mut among = None;
    if let (Some(full), Some(machine)) = (&fixed.full, &cascade.full) {
        let plain = Machine { calibration: None, ..machine.clone() };
        codes.push(fixed_code(&plain, full, &full_name(name), header_name)?);
        among = fixed.pairs.then(|| Among {
            row: mapped_row(full),
            lost: "",
            kernel: "@full_kernel(x, j)",
            add: "outputs[k] += value * @full_coefficients[j][other - (other > c)];",
            vectors: full.has_vectors(),
        });
    }
    let types = "typedef @stage1_input @input;\ntypedef @stage1_output @output;\n";
    let quantise = "#ifdef $FLOAT\n/* The row of whole numbers that stands for one as it was measured. */\n#define @quantise @stage1_quantise\n#endif\n\n";
    Ok(Pieces { codes, tests, among, types, quantise })
}

/// The comparisons of a stage. Thresholds are not negative, and differences of outputs with one unit are taken unsigned, which holds the largest.
fn test(stage: &FixedStage, number: usize, arrays: &mut Arrays) -> Test {
    let first = stage.bounds.first().copied().unwrap_or(0);
    let far = match &stage.machine.decision {
        _ if stage.head => format!("size > (outputs[1] > {first} ? outputs[1] : {first})"),
        Decision::Votes { .. } => {
            arrays.whole(
                "@real",
                4 * stage.fixed.width().bytes(),
                &format!("bounds{number}"),
                &stage.bounds.len().to_string(),
                &stage.bounds,
            );
            format!("drop > @bounds{number}[k]")
        }
        Decision::Largest { .. } => {
            let wide = wide_type(stage.fixed.width());
            format!("({wide})outputs[class] - ({wide})outputs[c] > {first}u")
        }
        _ => format!("size > {first}"),
    };
    Test { before: arrays.text.clone(), far }
}
