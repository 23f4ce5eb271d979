//! What a machine says about single rows: the confusion of classes, and where it differs from the full machine.
use std::collections::HashMap;

use kernelet::{
    data::{Dataset, Label, Target},
    machine::Prediction,
};

use super::figures::{DifferingRow, Level};

/// Up to so many classes the confusion is a matrix, above it a list of the most frequent pairs.
pub const MATRIX_CLASSES: usize = 26;

/// Pairs of confused classes that are kept where there are more classes.
const PAIRS: usize = 40;

/// Differing rows that are kept for each machine, of all machines together, and the features shown of each.
const SHOWN: usize = 24;
const SHOWN_IN_ALL: usize = 600;
const FEATURES: usize = 6;

/// The classes of rows, as places in one list of labels.
pub struct Sorted {
    /// Class labels: the machine's, then those that only the rows have.
    pub labels: Vec<Label>,
    /// The true class of each row, where it is known.
    pub truth: Option<Vec<usize>>,
    /// The full machine's.
    pub full: Vec<usize>,
}

impl Sorted {
    /// The classes of rows; none where the machine predicts no classes.
    pub fn new(full: &Prediction, data: &Dataset) -> Option<Sorted> {
        let Prediction::Classes { labels, .. } = full else { return None };
        let mut labels = labels.clone();
        let truth = match &data.target {
            Target::Classes(classes) => {
                labels.extend(classes.labels.iter().filter(|label| !labels.contains(label)).cloned().collect::<Vec<_>>());
                let places: Vec<usize> = classes.places_in(&labels).into_iter().map(Option::unwrap_or_default).collect();
                Some(classes.codes.iter().map(|&code| places[code as usize]).collect())
            }
            _ => None,
        };
        let mut sorted = Sorted { labels, truth, full: vec![] };
        sorted.full = sorted.places(full);
        Some(sorted)
    }

    /// The predicted class of each row.
    pub fn places(&self, prediction: &Prediction) -> Vec<usize> {
        let Prediction::Classes { labels, codes } = prediction else { return vec![] };
        let place = |label: &Label| self.labels.iter().position(|other| other == label).unwrap_or_default();
        let places: Vec<usize> = labels.iter().map(place).collect();
        codes.iter().map(|&code| places[code as usize]).collect()
    }

    /// Fills in the confusion of a machine.
    pub fn confuse(&self, level: &mut Level, predicted: &[usize]) {
        let Some(truth) = &self.truth else { return };
        let mut cells: HashMap<(usize, usize), usize> = HashMap::new();
        for pair in truth.iter().copied().zip(predicted.iter().copied()) {
            *cells.entry(pair).or_default() += 1;
        }
        let mut cells: Vec<[usize; 3]> = cells.into_iter().map(|((truth, predicted), rows)| [truth, predicted, rows]).collect();
        if self.labels.len() > MATRIX_CLASSES {
            cells.retain(|[truth, predicted, _]| truth != predicted);
            cells.sort_unstable_by_key(|&[truth, predicted, rows]| (std::cmp::Reverse(rows), truth, predicted));
            level.confusion_rest = cells.iter().skip(PAIRS).map(|[.., rows]| rows).sum();
            cells.truncate(PAIRS);
        } else {
            cells.sort_unstable();
        }
        level.confusion = cells;
    }
}

/// The rows on which any of the machines differs from the full one.
#[derive(Default)]
pub struct Differing {
    /// The rows, in the order in which they were met.
    pub rows: Vec<DifferingRow>,
    places: HashMap<usize, usize>,
}

impl Differing {
    /// Fills in where a machine differs. Rows that other machines differ on as well come first, so that few are kept in all.
    pub fn compare(&mut self, level: &mut Level, sorted: &Sorted, predicted: &[usize], data: &Dataset) {
        let differ: Vec<usize> = (0..predicted.len()).filter(|&row| predicted[row] != sorted.full[row]).collect();
        level.differ = differ.len();
        let (known, new): (Vec<usize>, Vec<usize>) = differ.into_iter().partition(|row| self.places.contains_key(row));
        for row in known.into_iter().chain(new).take(SHOWN) {
            let full = self.rows.len() >= SHOWN_IN_ALL;
            let place = match self.places.get(&row) {
                Some(&place) => place,
                None if full => continue,
                None => self.add(row, sorted, data),
            };
            level.differing.push([place, predicted[row]]);
        }
        level.differing.sort_unstable_by_key(|[place, _]| self.rows[*place].row);
    }

    fn add(&mut self, row: usize, sorted: &Sorted, data: &Dataset) -> usize {
        let point = data.points.select(&[row]).to_dense();
        let values = point.values().iter().take(FEATURES).map(|&value| rounded(value)).collect();
        let truth = sorted.truth.as_ref().map(|truth| truth[row]);
        self.places.insert(row, self.rows.len());
        self.rows.push(DifferingRow { row: row + 1, truth, full: sorted.full[row], values, picture: None });
        self.rows.len() - 1
    }
}

/// A number with four digits, as it stands in the page.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernelet::{data::Classes, linalg::Matrix};

    fn classes(labels: &[&str], codes: &[u32]) -> Prediction {
        Prediction::Classes { labels: labels.iter().map(|label| Label::new(*label)).collect(), codes: codes.to_vec() }
    }

    fn data(labels: &[&str]) -> Dataset {
        Dataset::new(Matrix::from_fn(labels.len(), 2, |i, j| (i + j) as f64 / 3.0), Target::Classes(Classes::from_texts(labels)))
    }

    #[test]
    fn labels_are_matched_by_what_they_say() {
        let data = data(&["b", "a", "z"]);
        let sorted = Sorted::new(&classes(&["a", "b"], &[1, 0, 0]), &data).unwrap();
        assert_eq!((sorted.labels.len(), sorted.truth.clone().unwrap()), (3, vec![1, 0, 2]));
        assert_eq!(sorted.places(&classes(&["b", "a"], &[0, 0, 1])), [1, 1, 0]);
        let mut level = Level::default();
        sorted.confuse(&mut level, &[1, 1, 0]);
        assert_eq!(level.confusion, [[0, 1, 1], [1, 1, 1], [2, 0, 1]]);
        let mut differing = Differing::default();
        differing.compare(&mut level, &sorted, &[1, 1, 0], &data);
        assert_eq!((level.differ, level.differing), (1, vec![[0, 1]]));
        let row = DifferingRow { row: 2, truth: Some(0), full: 0, values: vec![0.3333, 0.6667], picture: None };
        assert_eq!(differing.rows, [row]);
    }

    #[test]
    fn many_classes_are_a_list_of_pairs() {
        let names: Vec<String> = (0..200).map(|i| format!("class {i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let data = data(&names);
        let sorted = Sorted::new(&classes(&names, &(0..200).collect::<Vec<_>>()), &data).unwrap();
        let mut level = Level::default();
        sorted.confuse(&mut level, &(0..200).map(|i| (i + 1) % 200).collect::<Vec<_>>());
        assert_eq!((level.confusion.len(), level.confusion_rest), (PAIRS, 200 - PAIRS));
        let mut differing = Differing::default();
        differing.compare(&mut level, &sorted, &[0; 200], &data);
        assert_eq!((level.differ, level.differing.len()), (199, SHOWN));
    }

    #[test]
    fn rows_that_were_met_before_are_met_again() {
        let data = data(&["a"; 100]);
        let sorted = Sorted::new(&classes(&["a", "b"], &[0; 100]), &data).unwrap();
        let mut differing = Differing::default();
        for from in [50, 0] {
            let predicted: Vec<usize> = (0..100).map(|row| usize::from(row >= from)).collect();
            differing.compare(&mut Level::default(), &sorted, &predicted, &data);
        }
        assert_eq!(differing.rows.len(), SHOWN);
    }
}
