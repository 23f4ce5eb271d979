//! A machine as one module of JavaScript without dependencies, for browsers and Node: `predict(row)`, `outputs(row)`, `probabilities(row)`, `deviations(row)`.
//!
//! The numbers are typed arrays with every digit; the functions (`runtime.js`) are the same for every machine and see its numbers as `model`.
//! Linear machines are stored as their weights. Cost of writing: one pass over the numbers.
use std::path::Path;

use serde::Serialize;

use super::{
    target::{Labels, Uncertainty, description, rule, weights},
    write_atomically,
};
use crate::{
    Error, Result,
    data::Label,
    linalg::Matrix,
    machine::{Coefficients, Decision, Machine},
};

const RUNTIME: &str = include_str!("runtime.js");

/// The largest whole number up to which JavaScript has all.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_991.0;

/// The text of the module.
pub fn to_text(machine: &Machine) -> Result<String> {
    machine.check()?;
    Ok(format!("/* {} */\nconst model = {{\n{}}};\n\n{RUNTIME}", description(machine), fields(machine)?))
}

/// Writes the module, whole or not at all.
pub fn save(machine: &Machine, path: impl AsRef<Path>) -> Result<()> {
    let text = to_text(machine)?;
    write_atomically(path, |writer| writer.write_all(text.as_bytes()))
}

/// The numbers of the machine, one name a line.
fn fields(machine: &Machine) -> Result<String> {
    let expansion = &machine.expansion;
    let mut text = String::new();
    let mut add = |name: &str, value: String| text.push_str(&format!("  {name}: {value},\n"));
    let uncertainty = Uncertainty::of(machine);
    // Weights are the vectors of one coefficient for each output, unless deviations ask for the kernel.
    let weights = if matches!(uncertainty, Uncertainty::Deviations(_)) { None } else { weights(expansion) };
    let (vectors, coefficients) = match weights {
        Some(weights) => {
            let one = Matrix::from_fn(weights.rows(), weights.rows(), |j, k| f64::from(u8::from(j == k)));
            (weights, Coefficients::Dense(one))
        }
        None => (expansion.vectors.to_dense(), expansion.coefficients.clone()),
    };
    let scale = machine.scale.as_ref();
    add("features", machine.dim().to_string());
    add("names", json(&machine.names)?);
    add("kernel", json(&expansion.kernel)?);
    add("rule", json(&rule(&machine.decision))?);
    add("labels", labels(&machine.decision)?);
    add("words", json(&if let Decision::Codes { words, .. } = &machine.decision { Some(words) } else { None })?);
    add("calibration", json(&if matches!(uncertainty, Uncertainty::Nothing) { None } else { machine.calibration.as_ref() })?);
    add("shift", scale.and_then(|scale| scale.shift.as_deref()).map_or("null".into(), array));
    add("factor", scale.map_or("null".into(), |scale| array(&scale.factor)));
    add("map", machine.map().map_or("null".into(), |map| array(map.values())));
    add("width", vectors.cols().to_string());
    add("vectorCount", vectors.rows().to_string());
    add("starts", json(&if let Coefficients::Pairwise(pairwise) = &coefficients { Some(&pairwise.starts) } else { None })?);
    add("offsets", array(&machine.offsets));
    add("coefficients", array(coefficients.stored().values()));
    add("vectors", array(vectors.values()));
    Ok(text)
}

/// Numbers with all their digits.
fn array(values: &[f64]) -> String {
    let list: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("new Float64Array([{}])", list.join(","))
}

/// Whole numbers where all labels are whole numbers, else text.
fn labels(decision: &Decision) -> Result<String> {
    let labels: Vec<Label> = decision.labels();
    match Labels::of(&labels, LARGEST_WHOLE) {
        Labels::Numbers(numbers) => json(&numbers),
        Labels::Texts(texts) => json(&texts),
    }
}

/// JSON that is also JavaScript, in a page as well: no text in it can end a script.
fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|error| Error::data(format!("the machine cannot be written: {error}")))?;
    Ok(text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_digits_and_text_cannot_end_a_script() {
        assert_eq!(array(&[0.1, -0.0, 1e300, 1.0 / 3.0]), "new Float64Array([0.1,-0.0,1e300,0.3333333333333333])");
        assert_eq!(json(&["</script>", "a\u{2028}b\"c"]).unwrap(), "[\"\\u003c/script>\",\"a\\u2028b\\\"c\"]");
        assert_eq!(labels(&Decision::Novelty).unwrap(), "[-1,1]");
        let sign = |a: &str, b: &str| Decision::Sign { negative: Label::new(a), positive: Label::new(b) };
        assert_eq!(labels(&sign("0", "1e300")).unwrap(), "[\"0\",\"1e300\"]");
        assert_eq!(labels(&Decision::Values).unwrap(), "[]");
    }
}
