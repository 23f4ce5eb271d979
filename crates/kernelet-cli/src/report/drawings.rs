//! Pictures of vectors and rows, the plane of two features, and values along one.
use std::collections::HashMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use kernelet::{
    data::{Dataset, Target},
    linalg::Matrix,
    machine::{Machine, Prediction, Predictor, Weighted},
};

use crate::failure::Result;

use super::{
    figures::{Drawn, Feature, Images, Level, Plane, Values},
    packed,
    rows::{Sorted, rounded},
};

/// Vectors drawn of a machine, dots along a side, and bytes of all pictures together.
const VECTORS: usize = 40;
const DOTS: usize = 28;
const BYTES: usize = 400_000;

/// Cells along a side of the plane, and steps along one feature.
const SIDE: usize = 160;
const STEPS: usize = 200;

/// Points and values shown.
const POINTS: usize = 400;

/// Pictures, each once.
pub struct Album {
    width: usize,
    height: usize,
    /// Dots of the source that become one.
    factor: usize,
    range: [f64; 2],
    dots: Vec<u8>,
    places: HashMap<Vec<u8>, usize>,
}

impl Album {
    /// An album for rows of `width` x `height` numbers in this range.
    pub fn new((width, height): (usize, usize), range: [f64; 2]) -> Album {
        let factor = width.max(height).div_ceil(DOTS).max(1);
        Album { width, height, factor, range, dots: vec![], places: HashMap::new() }
    }

    /// The place of a picture; none where the album is full.
    pub fn place(&mut self, row: &[f64]) -> Option<usize> {
        let picture = packed::greys(&self.smaller(row), self.range);
        if let Some(&place) = self.places.get(&picture) {
            return Some(place);
        }
        if self.dots.len() + picture.len() > BYTES {
            return None;
        }
        let place = self.places.len();
        self.dots.extend(&picture);
        self.places.insert(picture, place);
        Some(place)
    }

    fn size(&self) -> (usize, usize) {
        (self.width.div_ceil(self.factor), self.height.div_ceil(self.factor))
    }

    /// Means of squares of dots.
    fn smaller(&self, row: &[f64]) -> Vec<f64> {
        let (width, height) = self.size();
        let mean = |x: usize, y: usize| {
            let dots = (0..self.factor * self.factor).map(|i| (x * self.factor + i % self.factor, y * self.factor + i / self.factor));
            let dots: Vec<f64> = dots
                .filter(|(x, y)| *x < self.width && *y < self.height)
                .filter_map(|(x, y)| row.get(y * self.width + x).copied())
                .collect();
            dots.iter().sum::<f64>() / dots.len().max(1) as f64
        };
        (0..width * height).map(|i| mean(i % width, i / width)).collect()
    }

    /// The vectors of a machine with the largest coefficients.
    pub fn vectors(&mut self, machine: &Machine) -> Vec<Drawn> {
        let mut drawn = vec![];
        for Weighted { vector, output, coefficient } in machine.heaviest_vectors(VECTORS) {
            if let Some(picture) = self.place(machine.vectors_as_rows(&[vector]).values()) {
                drawn.push(Drawn { picture, coefficient: rounded(coefficient), output: machine.decision.supported(output, coefficient) });
            }
        }
        drawn
    }

    /// All pictures as they stand in the page.
    pub fn images(&self) -> Images {
        let (width, height) = self.size();
        Images { width, height, dots: BASE64_STANDARD.encode(&self.dots) }
    }
}

/// The smallest and largest number of the machine's vectors, as rows have them.
pub fn range(machine: &Machine) -> [f64; 2] {
    let first: Vec<usize> = (0..machine.n_vectors().min(POINTS)).collect();
    let vectors = machine.vectors_as_rows(&first);
    vectors.values().iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &value| [low.min(value), high.max(value)])
}

/// Places of at most so many rows, evenly over all.
fn sample(rows: usize) -> Vec<usize> {
    let count = rows.min(POINTS);
    (0..count).map(|i| i * rows / count.max(1)).collect()
}

fn widened([low, high]: [f64; 2]) -> [f64; 2] {
    let margin = if high > low { 0.05 * (high - low) } else { 1.0 };
    [low - margin, high + margin]
}

fn span(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let finite = values.filter(|value| value.is_finite());
    let span = finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)]);
    if span[0] <= span[1] { span } else { [0.0, 1.0] }
}

/// The plane of two features with its points; none where rows have more or no classes are predicted.
pub fn plane(machine: &Machine, rows: &Dataset, sorted: &Sorted) -> Result<Option<(Plane, Matrix)>> {
    if machine.dim() != 2 {
        return Ok(None);
    }
    let chosen = sample(rows.len());
    let points = rows.points.select(&chosen).to_dense();
    let [x, y] = [0, 1].map(|j| widened(span(points.col(j).into_iter())));
    let at = |[low, high]: [f64; 2], i: usize| low + (high - low) * (i as f64 + 0.5) / SIDE as f64;
    let grid = Matrix::from_fn(SIDE * SIDE, 2, |cell, j| if j == 0 { at(x, cell % SIDE) } else { at(y, cell / SIDE) });
    let full = regions(machine, &grid, sorted)?;
    let truth = |row: usize| sorted.truth.as_ref().map(|truth| truth[row]);
    let points = points.iter().zip(&chosen).map(|(point, &row)| (rounded(point[0]), rounded(point[1]), truth(row))).collect();
    let names = [0, 1].map(|j| machine.feature_name(j));
    Ok(Some((Plane { names, x, y, side: SIDE, full, points }, grid)))
}

/// The classes of a machine over the plane.
pub fn regions(machine: &Machine, grid: &Matrix, sorted: &Sorted) -> Result<String> {
    let prediction = Predictor::new(machine).predict(&grid.clone().into())?;
    Ok(packed::runs(&sorted.places(&prediction)))
}

/// Predicted numbers against the true ones, for the first target.
pub struct Scatter {
    /// What all machines share.
    pub values: Values,
    chosen: Vec<usize>,
    along: Option<Matrix>,
}

impl Scatter {
    /// The true numbers beside the full machine's; none where no numbers are predicted or the truth is not known.
    pub fn new(machine: &Machine, rows: &Dataset, full: &Prediction) -> Result<Option<Scatter>> {
        let (Target::Values(truth), Prediction::Values(predicted)) = (&rows.target, full) else { return Ok(None) };
        let chosen = sample(rows.len());
        let truth: Vec<f64> = chosen.iter().map(|&row| truth.at(row, 0)).collect();
        let of_full: Vec<f64> = chosen.iter().map(|&row| predicted.at(row, 0)).collect();
        let range = widened(span(truth.iter().chain(&of_full).copied()));
        let pack = |values: &[f64]| packed::steps(values.iter().copied(), range);
        let values = Values { range, truth: pack(&truth), full: pack(&of_full), feature: None };
        let mut scatter = Scatter { values, chosen, along: None };
        if machine.dim() == 1 {
            scatter.along(machine, rows)?;
        }
        Ok(Some(scatter))
    }

    fn along(&mut self, machine: &Machine, rows: &Dataset) -> Result<()> {
        let at = rows.points.select(&self.chosen).to_dense().col(0);
        let range = widened(span(at.iter().copied()));
        let steps = Matrix::from_fn(STEPS, 1, |i, _| range[0] + (range[1] - range[0]) * i as f64 / (STEPS - 1) as f64);
        let full = self.packed(&Predictor::new(machine).predict(&steps.clone().into())?);
        let rows = packed::steps(at.into_iter(), range);
        self.values.feature = Some(Feature { name: machine.feature_name(0), range, rows, full });
        self.along = Some(steps);
        Ok(())
    }

    fn packed(&self, prediction: &Prediction) -> String {
        let Prediction::Values(values) = prediction else { return String::new() };
        packed::steps(values.iter().map(|row| row[0]), self.values.range)
    }

    /// Fills in what a machine predicts.
    pub fn fill(&self, level: &mut Level, machine: &Machine, prediction: &Prediction) -> Result<()> {
        let Prediction::Values(values) = prediction else { return Ok(()) };
        level.predicted = Some(packed::steps(self.chosen.iter().map(|&row| values.at(row, 0)), self.values.range));
        if let Some(steps) = &self.along {
            level.plane = Some(self.packed(&Predictor::new(machine).predict(&steps.clone().into())?));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pictures_are_kept_once_and_large_ones_are_made_smaller() {
        let mut album = Album::new((2, 2), [0.0, 1.0]);
        let places = [[0.0, 1.0, 0.0, 1.0], [1.0; 4], [0.0, 1.0, 0.0, 1.0]].map(|row| album.place(&row));
        assert_eq!(places, [Some(0), Some(1), Some(0)]);
        assert_eq!(album.images().dots, "Dw///w==");
        let large = Album::new((100, 30), [0.0, 1.0]);
        assert_eq!((large.size(), large.smaller(&[0.5; 3000]).iter().all(|v| *v == 0.5)), ((25, 8), true));
        // Each of these pictures has 392 bytes, and no two are the same.
        let mut full = Album::new((28, 28), [0.0, 1.0]);
        let picture = |i: usize| (0..784).map(|bit| (i >> (bit % 11) & 1) as f64).collect::<Vec<f64>>();
        let kept = (0..1100).filter(|&i| full.place(&picture(i)).is_some()).count();
        assert_eq!(kept, BYTES / 392);
    }

    #[test]
    fn ranges_of_nothing_are_still_ranges() {
        assert_eq!(span([f64::NAN].into_iter()), [0.0, 1.0]);
        assert_eq!(widened([2.0, 2.0]), [1.0, 3.0]);
        assert_eq!((sample(3), sample(1000).len(), sample(0)), (vec![0, 1, 2], POINTS, vec![]));
    }
}
