//! What a format cannot express, reported before it is lost. What would change predictions is rejected by the writers instead.
use kernelet::{
    data::Label,
    machine::{Calibration, Machine},
    model::{Precision, onnx::Style},
};

use crate::{commands::export::To, quantised::Numbers};

/// One sentence for each thing that is lost.
pub fn of(machine: &Machine, to: To, numbers: Numbers, style: Style) -> Vec<String> {
    let mut lost = vec![];
    let nodes = to == To::Onnx && style == Style::Svm;
    if matches!(to, To::C | To::Onnx) && numbers == Numbers::Real(Precision::F32) {
        lost.push("double precision; numbers keep about seven digits".to_string());
    }
    if let (To::C, Numbers::Whole(width)) = (to, numbers) {
        lost.push(format!("floating point; rows and vectors are whole numbers of {} bits", 8 * width.bytes()));
        if machine.calibration.is_some() {
            lost.push("the probabilities and deviations; there are the outputs and the prediction".into());
        }
    }
    if nodes && machine.calibration.is_some() {
        lost.push(
            "the probabilities; SVM nodes that have them choose labels by them, not by votes. --onnx-style operators keeps them".into(),
        );
    }
    if to == To::Libsvm {
        lost.extend(probabilities_of_libsvm(machine));
    }
    if matches!(to, To::C | To::Onnx | To::Libsvm | To::Javascript) && machine.metadata.table.is_some() {
        lost.push(
            "the encoding of the table; rows must be encoded, with the features in the order of `inspect --json`, key `names`".into(),
        );
    } else if matches!(to, To::C | To::Libsvm) && machine.names.is_some() {
        lost.push("the names of the features; rows must have the columns in the order of training".into());
    }
    if matches!(to, To::C | To::Onnx | To::Libsvm) && machine.metadata.sets.is_some() {
        lost.push("the prediction sets: the scores of the calibration rows".into());
    }
    if to == To::Libsvm && machine.metadata.c.is_some() {
        lost.push("how the machine was trained (its C and the like)".into());
    }
    if matches!(to, To::C | To::Onnx | To::Libsvm | To::Javascript) {
        lost.extend(spellings(&machine.decision.labels()));
    }
    lost
}

fn probabilities_of_libsvm(machine: &Machine) -> Option<String> {
    match &machine.calibration {
        Some(Calibration::NormalClasses(_)) => Some("the probabilities; there is no place for normal distributions of the classes".into()),
        Some(Calibration::Normal { .. } | Calibration::LogVariance { .. }) => Some("the deviations of the predicted numbers".into()),
        _ => None,
    }
}

/// Labels that are whole numbers are written as such, however they were spelled.
fn spellings(labels: &[Label]) -> Option<String> {
    let whole = |label: &Label| label.whole().map(|number| number.to_string());
    let plain: Vec<String> = labels.iter().map(whole).collect::<Option<_>>()?;
    let changed: Vec<String> = labels
        .iter()
        .zip(&plain)
        .filter(|(label, plain)| label.text() != *plain)
        .map(|(label, plain)| format!("{label} becomes {plain}"))
        .collect();
    (!changed.is_empty()).then(|| format!("the spelling of labels: {}", changed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_spelled_otherwise_are_reported() {
        let labels = |texts: &[&str]| texts.iter().map(|&text| Label::new(text)).collect::<Vec<_>>();
        assert_eq!(spellings(&labels(&["-1", "+1"])).unwrap(), "the spelling of labels: +1 becomes 1");
        assert_eq!(spellings(&labels(&["0", "1"])), None);
        assert_eq!(spellings(&labels(&["+1", "cat"])), None);
    }
}
