//! Each output by itself: how many rows are on its wrong side and how many vectors it has, as papers print it for machines of one class against the others.
use std::collections::BTreeMap;

use kernelet::{Result, data::Dataset, machine::Machine};
use serde::Serialize;

use super::{
    Cell,
    description::{Description, Set},
    figure::Beside,
    summary::sample,
    tally::Tally,
};

/// Numbers of whole rows or vectors are rounded by this.
const ROUNDING: f64 = 0.5;

/// A number of each output of a method, the means over splits and seeds.
#[derive(Debug, Serialize)]
pub struct Sides {
    /// The set.
    pub set: String,
    /// The method.
    pub method: String,
    /// What is counted.
    pub what: &'static str,
    /// Ours, of each output.
    pub ours: Vec<f64>,
    /// What the paper printed.
    pub printed: Option<Vec<f64>>,
    /// By how much each may differ from what is printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<f64>,
}

impl Sides {
    /// True where an output has another number than printed.
    pub fn differs(&self, k: usize) -> bool {
        let printed = self.printed.as_ref().and_then(|printed| printed.get(k));
        printed.zip(self.allowed.get(k)).is_some_and(|(printed, allowed)| (self.ours[k] - printed).abs() > allowed * (1.0 + 1e-9))
    }
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

/// The vectors of each output.
pub fn own_vectors(machine: &Machine) -> Vec<usize> {
    let coefficients = machine.expansion.coefficients.to_dense();
    (0..machine.n_outputs()).map(|k| coefficients.iter().filter(|row| row[k] != 0.0).count()).collect()
}

/// The tables of all methods, where the paper printed one.
pub fn tables(description: &Description, cells: &[Cell]) -> Vec<Sides> {
    let mut all = vec![];
    for set in &description.sets {
        let wrong = |cell: &Cell| cell.wrong_sides.clone();
        let vectors = |cell: &Cell| cell.own_vectors.clone();
        all.extend(table(description, (set, &set.printed_sides), cells, "wrong rows of each output", wrong));
        all.extend(table(description, (set, &set.printed_vectors), cells, "vectors of each output", vectors));
    }
    all
}

fn table(
    description: &Description,
    (set, printed): (&Set, &BTreeMap<String, Vec<f64>>),
    cells: &[Cell],
    what: &'static str,
    counts: impl Fn(&Cell) -> Option<Vec<usize>>,
) -> Vec<Sides> {
    if printed.is_empty() {
        return vec![];
    }
    let mut all = vec![];
    for method in &description.methods {
        let these: Vec<&Cell> = cells.iter().filter(|cell| cell.set == set.name && cell.method == method.name).collect();
        let Some(first) = these.first().and_then(|cell| counts(cell)) else { continue };
        let printed = printed.get(&method.name);
        // Rows as percent of the test rows, which have a binomial standard error; vectors as they are.
        let rows = these.first().map(|cell| cell.test_rows).filter(|_| what.starts_with("wrong"));
        let unit = rows.map_or(1.0, |rows| 100.0 / rows.max(1) as f64);
        let figures = (0..first.len()).map(|k| {
            let number = |cell: &Cell| unit * counts(cell).and_then(|counts| counts.get(k).copied()).unwrap_or(0) as f64;
            let printed = printed.and_then(|printed| printed.get(k)).map(|printed| unit * printed);
            let only_split = !set.is_random();
            let beside = Beside { printed, rounding: Some(unit * ROUNDING), only_split, ..description.beside(set, method) };
            sample(set, &these, number).mean(&beside, rows)
        });
        let (ours, allowed): (Vec<f64>, Vec<Option<f64>>) =
            figures.map(|figure| (figure.mean / unit, figure.allowed.map(|allowed| allowed / unit))).unzip();
        let allowed = allowed.into_iter().collect::<Option<Vec<f64>>>().unwrap_or_default();
        all.push(Sides { set: set.name.clone(), method: method.name.clone(), what, ours, printed: printed.cloned(), allowed });
    }
    all
}

/// The tally of what is counted, over all methods and outputs.
pub fn tallies(sides: &[Sides]) -> BTreeMap<&'static str, Tally> {
    let mut all: BTreeMap<&'static str, Tally> = BTreeMap::new();
    for one in sides {
        let Some(printed) = &one.printed else { continue };
        for (k, printed) in printed.iter().enumerate().take(one.allowed.len()) {
            let tally = all.entry(one.what).or_default();
            let differs = one.differs(k);
            tally.printed += 1;
            tally.as_printed += usize::from(!differs);
            tally.below += usize::from(differs && one.ours[k] < *printed);
            tally.above += usize::from(differs && one.ours[k] > *printed);
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

    #[test]
    fn own_vectors_are_those_with_a_coefficient() {
        let train = waveform3(90, 1);
        let svc = Svc { kernel: Kernel::gaussian(0.05), multiclass: Multiclass::OneVsRest, ..Svc::default() };
        let machine = svc.learn(&train, &Watch::none()).unwrap().machine;
        let own = own_vectors(&machine);
        let coefficients = machine.expansion.coefficients.to_dense();
        for (k, own) in own.iter().enumerate() {
            assert_eq!(*own, (0..machine.n_vectors()).filter(|&i| coefficients.at(i, k) != 0.0).count());
        }
        assert!(own.iter().all(|&own| own < machine.n_vectors()) && own.iter().sum::<usize>() > machine.n_vectors());
    }

    #[test]
    fn numbers_of_outputs_are_compared_by_their_test_rows_and_vectors_exactly() {
        let text = "title = 't'\npaper = 'p'\nsplits = 1\n[[methods]]\nname = 'svm'\ntrain = { gamma = 0.1, multiclass = 'one-vs-rest' }\n\
            [[sets]]\nname = 'w'\n\
            printed_sides.svm = [20, 60, 0]\nprinted_vectors.svm = [30, 31, 29]\n";
        let description = Description::parse(text).unwrap();
        let cell = serde_json::json!({
            "set": "w", "method": "svm", "split": 1, "train_rows": 90, "test_rows": 200, "error": 0.1, "train_error": null, "vectors": 50,
            "relative_residual": null, "wrong_sides": [25, 20, 2], "own_vectors": [30, 30, 30], "objective": 1.0, "iterations": 1,
            "evaluations": 1, "status": "converged", "seconds": 0.1
        });
        let sides = tables(&description, &[serde_json::from_value(cell).unwrap()]);
        let differs = |sides: &Sides| (0..3).map(|k| sides.differs(k)).collect::<Vec<_>>();
        // Two such counts out of 200 differ by up to 2 sqrt(2 n p (1 - p)) and half a row: 13.7 of 25, 12.5 of 20, 4.5 of 2.
        assert_eq!(sides.iter().map(differs).collect::<Vec<_>>(), [[false, true, false], [false, true, true]]);
        assert!((sides[0].allowed[0] - (0.5 + 2.0 * (2.0 * 25.0 * 0.875f64).sqrt())).abs() < 1e-9, "{:?}", sides[0].allowed);
        assert_eq!(sides[1].allowed, [0.5; 3]);
        let tally = tallies(&sides);
        assert_eq!(tally["wrong rows of each output"], Tally { printed: 3, as_printed: 2, below: 1, above: 0 });
        assert_eq!(tally["vectors of each output"], Tally { printed: 3, as_printed: 1, below: 1, above: 1 });
    }
}
