//! The offsets of a small machine, refitted: for each output the one with the fewest errors on rows with classes.
//!
//! A machine with fewer vectors has outputs that are shifted a little, and the offset it kept may no longer cut them best. Each output is
//! cut by itself, on the rows that it separates; where several outputs decide together, fewer errors of each need not be fewer errors of
//! all. Cost: one prediction and n log n for each output.
use super::{Task, refit::known_classes};
use crate::{
    Error, Result,
    learn::{Line, Threshold},
    machine::{Decision, Machine},
};

/// The machine `small` with the offsets of least error on the rows of the task; of several, those nearest to the middle between the means.
pub fn least_error_offsets(small: &Machine, task: &Task) -> Result<Machine> {
    let labels = small.decision.labels();
    if labels.is_empty() || small.decision == Decision::Novelty {
        return Err(Error::parameter("threshold", "train-error", "keep for a machine that is not a classifier"));
    }
    let Some(data) = task.data else {
        return Err(Error::parameter("threshold", "train-error", "keep where there are no rows with their classes"));
    };
    let classes = known_classes(&labels, data)?;
    let outputs = small.outputs_for(&data.points)?;
    let mut offsets = small.offsets.clone();
    for (output, offset) in offsets.iter_mut().enumerate() {
        let side = |i: usize| small.decision.side(output, classes[i]).map(|side| (i, side > 0.0));
        let (rows, positive): (Vec<usize>, Vec<bool>) = (0..classes.len()).filter_map(side).unzip();
        let values: Vec<f64> = rows.iter().map(|&i| outputs.at(i, output)).collect();
        let weights: Vec<f64> = rows.iter().map(|&i| data.weight(i)).collect();
        let counts = |wanted: bool| positive.iter().zip(&weights).any(|(p, w)| *p == wanted && *w > 0.0);
        if !(counts(true) && counts(false)) {
            return Err(Error::data(format!("the data have rows on one side only of output {}; train-error needs both", output + 1)));
        }
        *offset -= Threshold::LeastError.find(Line { values: &values, positive: &positive, weights: &weights })?;
    }
    Ok(Machine { offsets, ..small.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{Budget, Sparsifier, select::Pursuit},
        data::{Dataset, Target, banana, waveform3},
        kernel::Kernel,
        learn::{Learner, Multiclass, Svc},
        watch::Watch,
    };

    fn compressed(data: &Dataset, multiclass: Multiclass, vectors: usize) -> (Machine, Machine) {
        let svc = Svc { kernel: Kernel::gaussian(0.5), c: 10.0, multiclass, ..Svc::default() };
        let machine = svc.learn(data, &Watch::none()).unwrap().machine;
        let path = Pursuit::default().sparsify(&Task::of(&machine), &Budget::vectors(vectors), &Watch::none()).unwrap();
        (machine, path.last().unwrap())
    }

    /// Errors of one output among the rows it is about.
    fn errors(machine: &Machine, data: &Dataset, output: usize) -> usize {
        let values = machine.outputs_for(&data.points).unwrap();
        let codes = &data.classes().unwrap().codes;
        let wrong =
            |&i: &usize| machine.decision.side(output, codes[i] as usize).is_some_and(|side| (side > 0.0) != (values.at(i, output) > 0.0));
        (0..data.len()).filter(wrong).count()
    }

    #[test]
    fn no_other_offset_of_any_output_has_fewer_errors() {
        for (data, all) in [
            (banana(150, 3), &[Multiclass::OneVsOne][..]),
            (waveform3(120, 2), &[Multiclass::OneVsOne, Multiclass::OneVsRest, Multiclass::OutputCodes { seed: 0 }]),
        ] {
            for &multiclass in all {
                let (machine, small) = compressed(&data, multiclass, 6);
                let task = Task { data: Some(&data), ..Task::of(&machine) };
                let tuned = least_error_offsets(&small, &task).unwrap();
                assert_eq!(tuned.expansion, small.expansion);
                for output in 0..small.offsets.len() {
                    let fewest = errors(&tuned, &data, output);
                    for step in -200..=200 {
                        let mut moved = tuned.clone();
                        moved.offsets[output] += 0.02 * f64::from(step);
                        assert!(errors(&moved, &data, output) >= fewest, "{multiclass:?} {output} {step}");
                    }
                }
            }
        }
        // The test could fail: the offset that was kept is worse.
        let data = banana(150, 3);
        let (machine, small) = compressed(&data, Multiclass::OneVsOne, 4);
        let tuned = least_error_offsets(&small, &Task { data: Some(&data), ..Task::of(&machine) }).unwrap();
        assert!(errors(&tuned, &data, 0) < errors(&small, &data, 0));
    }

    #[test]
    fn missing_data_are_rejected_with_an_error() {
        let data = banana(60, 3);
        let (machine, small) = compressed(&data, Multiclass::OneVsOne, 4);
        let say = |small: &Machine, data: Option<&Dataset>| {
            least_error_offsets(small, &Task { data, ..Task::of(&machine) }).unwrap_err().to_string()
        };
        assert!(say(&small, None).ends_with("keep where there are no rows with their classes"));
        let features = Machine { decision: Decision::Features, ..small.clone() };
        assert!(say(&features, Some(&data)).contains("is not a classifier"));
        let first = data.classes().unwrap().codes[0];
        let one: Vec<usize> = (0..60).filter(|&i| data.classes().unwrap().codes[i] == first).collect();
        assert!(say(&small, Some(&data.select(&one))).contains("one side only of output 1"));
        let unlabelled = Dataset { target: Target::None, ..data.clone() };
        assert!(least_error_offsets(&small, &Task { data: Some(&unlabelled), ..Task::of(&machine) }).is_err());
    }
}
