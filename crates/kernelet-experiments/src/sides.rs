//! Each output by itself: how many rows are on its wrong side, as papers print it for machines of one class against the others.
use kernelet::{Result, data::Dataset, machine::Machine};
use serde::Serialize;

use super::{Cell, description::Description};

/// Rows on the wrong side of each output of a method, the mean over splits.
#[derive(Debug, Serialize)]
pub struct Sides {
    /// The set.
    pub set: String,
    /// The method.
    pub method: String,
    /// Wrong test rows of each output.
    pub wrong: Vec<f64>,
    /// What the paper printed.
    pub printed: Option<Vec<f64>>,
}

/// Rows on the wrong side of each output; rows that an output is not about are on no side.
pub fn wrong_sides(machine: &Machine, data: &Dataset) -> Result<Vec<usize>> {
    let classes = data.classes()?;
    let labels = machine.decision.labels();
    let known: Vec<Option<usize>> = classes.labels.iter().map(|label| labels.iter().position(|known| known == label)).collect();
    let outputs = machine.outputs_for(&data.points)?;
    let wrong = |k: usize| {
        let is_wrong = |(row, code): (&[f64], &u32)| {
            let side = known[*code as usize].and_then(|class| machine.decision.side(k, class));
            side.is_some_and(|side| (row[k] > 0.0) != (side > 0.0))
        };
        outputs.iter().zip(&classes.codes).filter(|pair| is_wrong(*pair)).count()
    };
    Ok((0..machine.n_outputs()).map(wrong).collect())
}

/// The table of all methods, where the paper printed one.
pub fn table(description: &Description, cells: &[Cell]) -> Vec<Sides> {
    let mut all = vec![];
    for set in description.sets.iter().filter(|set| !set.printed_sides.is_empty()) {
        for method in &description.methods {
            let these = cells.iter().filter(|cell| cell.set == set.name && cell.method == method.name);
            let counts: Vec<&Vec<usize>> = these.filter_map(|cell| cell.wrong_sides.as_ref()).collect();
            let Some(first) = counts.first() else { continue };
            let mean = |k: usize| counts.iter().filter_map(|one| one.get(k)).sum::<usize>() as f64 / counts.len() as f64;
            let (wrong, printed) = ((0..first.len()).map(mean).collect(), set.printed_sides.get(&method.name).cloned());
            all.push(Sides { set: set.name.clone(), method: method.name.clone(), wrong, printed });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernelet::{
        data::{banana, waveform3},
        kernel::Kernel,
        learn::{Learner, Multiclass, Svc},
        watch::Watch,
    };

    #[test]
    fn one_output_is_wrong_where_the_prediction_is() {
        let (train, test) = (banana(80, 1), banana(60, 2));
        let machine = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&train, &Watch::none()).unwrap().machine;
        let error = machine.score(&test).unwrap().loss();
        assert_eq!(wrong_sides(&machine, &test).unwrap(), [(error * 60.0).round() as usize]);
    }

    #[test]
    fn every_class_has_its_own_side() {
        let (train, test) = (waveform3(90, 1), waveform3(70, 2));
        let svc = Svc { kernel: Kernel::gaussian(0.05), multiclass: Multiclass::OneVsRest, ..Svc::default() };
        let machine = svc.learn(&train, &Watch::none()).unwrap().machine;
        let wrong = wrong_sides(&machine, &test).unwrap();
        let outputs = machine.outputs_for(&test.points).unwrap();
        let classes = test.classes().unwrap();
        for (k, wrong) in wrong.iter().enumerate() {
            let slow = (0..70).filter(|&i| (outputs.at(i, k) > 0.0) != (classes.codes[i] as usize == k)).count();
            assert_eq!(*wrong, slow);
        }
    }
}
