//! The parts of a machine for people who look at them: vectors as rows, and what their coefficients speak for.
use super::{Decision, Machine, Pairwise};
use crate::{kernel::Kernel, linalg::Matrix};

/// A vector with the largest of its coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// Its place among the vectors.
    pub vector: usize,
    /// The output that the coefficient belongs to.
    pub output: usize,
    /// The coefficient.
    pub coefficient: f64,
}

impl Machine {
    /// Vectors as rows have them, before they are scaled. Behind a linear map they are no rows, and only their scaling is undone.
    pub fn vectors_as_rows(&self, which: &[usize]) -> Matrix {
        let mut vectors = self.expansion.vectors.select(which).to_dense();
        let (Some(scale), dim) = (&self.scale, vectors.cols().max(1)) else { return vectors };
        for row in vectors.values_mut().chunks_exact_mut(dim) {
            for (j, value) in row.iter_mut().enumerate() {
                let shift = scale.shift.as_ref().map_or(0.0, |shift| shift[j]);
                *value = if scale.factor[j] == 0.0 { shift } else { *value / scale.factor[j] + shift };
            }
        }
        vectors
    }

    /// The vectors with the largest coefficients, at most so many of them, the largest first.
    pub fn heaviest_vectors(&self, most: usize) -> Vec<Weighted> {
        let coefficients = self.expansion.coefficients.to_dense();
        let largest = |row: &[f64]| (0..row.len()).fold(0, |best, k| if row[k].abs() > row[best].abs() { k } else { best });
        let weighted = |(vector, row): (usize, &[f64])| {
            let output = largest(row);
            row.get(output).map(|&coefficient| Weighted { vector, output, coefficient })
        };
        let mut heaviest: Vec<Weighted> = coefficients.iter().enumerate().filter_map(weighted).collect();
        heaviest.sort_by(|a, b| b.coefficient.abs().total_cmp(&a.coefficient.abs()));
        heaviest.truncate(most);
        heaviest
    }

    /// The width and height of rows that may be square images: from 8 pixels on, without names for the features.
    pub fn image_size(&self) -> Option<(usize, usize)> {
        let side = self.dim().isqrt();
        let square = side * side == self.dim() && (8..=64).contains(&side);
        let precomputed = matches!(self.expansion.kernel, Kernel::Precomputed(_));
        (square && self.names.is_none() && self.map().is_none() && !precomputed).then_some((side, side))
    }

    /// The name of a feature; its number, counted from 1, where features have no names.
    pub fn feature_name(&self, feature: usize) -> String {
        self.names.as_ref().and_then(|names| names.get(feature).cloned()).unwrap_or_else(|| format!("feature {}", feature + 1))
    }
}

impl Decision {
    /// The class or output that a coefficient supports; empty where there is nothing to choose between.
    pub fn supported(&self, output: usize, coefficient: f64) -> String {
        let labels: Vec<String> = self.labels().iter().map(ToString::to_string).collect();
        let label = |place: usize| labels.get(place).cloned().unwrap_or_default();
        match self {
            Decision::Sign { .. } => format!("for {}", label(usize::from(coefficient > 0.0))),
            Decision::Largest { .. } => format!("{} {}", if coefficient > 0.0 { "for" } else { "against" }, label(output)),
            Decision::Votes { labels } => {
                let (a, b) = Pairwise::pairs(labels.len()).nth(output).unwrap_or_default();
                let (one, other) = if coefficient > 0.0 { (a, b) } else { (b, a) };
                format!("for {}, not {}", label(one), label(other))
            }
            Decision::Novelty => String::new(),
            _ if output == 0 => String::new(),
            _ => format!("output {}", output + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Label, banana},
        prelude::{Given, Train, Watch},
    };

    #[test]
    fn a_coefficient_speaks_for_a_class() {
        let labels: Vec<Label> = ["a", "b", "c"].into_iter().map(Label::new).collect();
        assert_eq!(Decision::Votes { labels: labels.clone() }.supported(1, 2.0), "for a, not c");
        assert_eq!(Decision::Votes { labels: labels.clone() }.supported(1, -2.0), "for c, not a");
        assert_eq!(Decision::Largest { labels }.supported(2, -1.0), "against c");
        assert_eq!(Decision::Values.supported(0, 1.0), "");
    }

    #[test]
    fn vectors_are_rows_again_and_the_heaviest_come_first() {
        let train = Train::from_json(r#"{"gamma": 1, "c": 10, "scale": "standard"}"#).unwrap();
        let data = banana(60, 1);
        let machine = train.run(&data, &Given::default(), &Watch::none()).unwrap().fit.machine;
        let heaviest = machine.heaviest_vectors(7);
        assert_eq!(heaviest.len(), 7);
        assert!(heaviest.windows(2).all(|two| two[0].coefficient.abs() >= two[1].coefficient.abs()));
        let rows = data.points.to_dense();
        for vector in machine.vectors_as_rows(&heaviest.iter().map(|heavy| heavy.vector).collect::<Vec<_>>()).iter() {
            let near = |row: &[f64]| row.iter().zip(vector).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(rows.iter().any(near), "support vectors are rows");
        }
        assert_eq!(machine.feature_name(1), "feature 2");
    }
}
