//! Figures of merit of uncertainty: prediction sets, normal distributions of numbers, and how far probabilities are from frequencies.
use crate::{
    Error, Result,
    data::{Dataset, Label},
    linalg::Matrix,
    machine::PredictionSets,
};

/// Half the width, in deviations, of the interval that has 95 % of a normal distribution.
const HALF_OF_95: f64 = 1.959_963_984_540_054;

/// How often prediction sets contain the truth, and how large they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetScore {
    /// The fraction of the targets that are in their sets.
    pub cover: f64,
    /// The mean number of classes of a set, or the mean width of an interval.
    pub size: f64,
    /// The fraction of the rows whose set has exactly one class; none for intervals.
    pub single: Option<f64>,
    /// The fraction of the rows whose set is empty; none for intervals.
    pub empty: Option<f64>,
}

/// Compares prediction sets with the target of `data`. A class that is not predicted is in no set.
pub fn score_sets(sets: &PredictionSets, data: &Dataset) -> Result<SetScore> {
    data.check()?;
    let same = |found: usize| match found == data.len() {
        true => Ok(data.len() as f64),
        false => Err(Error::Shape { what: "prediction sets", expected: data.len(), found }),
    };
    match sets {
        PredictionSets::Classes { labels, members } => {
            let (n, truth) = (same(members.len())?, data.classes()?);
            let places = truth.places_in(labels);
            let has = |(row, code): (&Vec<bool>, &u32)| places[*code as usize].is_some_and(|place| row[place]);
            let covered = members.iter().zip(&truth.codes).filter(|pair| has(*pair)).count();
            let sizes: Vec<usize> = members.iter().map(|row| row.iter().filter(|member| **member).count()).collect();
            let of_size = |size: usize| Some(sizes.iter().filter(|s| **s == size).count() as f64 / n);
            Ok(SetScore { cover: covered as f64 / n, size: sizes.iter().sum::<usize>() as f64 / n, single: of_size(1), empty: of_size(0) })
        }
        PredictionSets::Intervals { lower, upper } => {
            same(lower.rows())?;
            let values = same_shape(data, lower)?.values();
            let ends = || lower.values().iter().zip(upper.values());
            let covered = ends().zip(values).filter(|((low, high), y)| low <= y && y <= high).count();
            let (width, n) = (ends().map(|(low, high)| high - low).sum::<f64>(), values.len() as f64);
            Ok(SetScore { cover: covered as f64 / n, size: width / n, single: None, empty: None })
        }
    }
}

fn same_shape<'a>(data: &'a Dataset, numbers: &Matrix) -> Result<&'a Matrix> {
    let values = data.values()?;
    match (values.rows(), values.cols()) == (numbers.rows(), numbers.cols()) {
        true => Ok(values),
        false => Err(Error::Shape { what: "predicted numbers", expected: values.values().len(), found: numbers.values().len() }),
    }
}

/// How well normal distributions fit the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributionScore {
    /// The mean negative logarithm of the predicted density at the target, lower is better.
    pub nlpd: f64,
    /// The fraction of the targets within 1.96 deviations; 0.95 is right.
    pub cover: f64,
}

/// Compares normal distributions of the predicted numbers with the target of `data`.
pub fn score_distribution(means: &Matrix, deviations: &Matrix, data: &Dataset) -> Result<DistributionScore> {
    data.check()?;
    let values = same_shape(data, means)?;
    same_shape(data, deviations)?;
    let (mut loss, mut covered) = (0.0, 0usize);
    for ((y, mean), deviation) in values.values().iter().zip(means.values()).zip(deviations.values()) {
        let apart = (y - mean) / deviation;
        loss += 0.5 * (std::f64::consts::TAU.ln() + apart * apart) + deviation.ln();
        covered += usize::from(apart.abs() <= HALF_OF_95);
    }
    let n = values.values().len() as f64;
    Ok(DistributionScore { nlpd: loss / n, cover: covered as f64 / n })
}

/// Rows whose largest probability lies in one part of the range from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ReliabilityBin {
    /// How many rows.
    pub n_rows: usize,
    /// The mean of their largest probabilities.
    pub confidence: f64,
    /// The fraction of them for which the class of the largest probability is the true one.
    pub accuracy: f64,
}

/// A reliability diagram: rows in `bins` parts of equal width by their largest probability.
pub fn reliability(probabilities: &Matrix, labels: &[Label], data: &Dataset, bins: usize) -> Result<Vec<ReliabilityBin>> {
    data.check_lengths()?;
    if (probabilities.rows(), probabilities.cols()) != (data.len(), labels.len()) || labels.is_empty() || bins == 0 {
        let (expected, found) = (data.len() * labels.len(), probabilities.values().len());
        return Err(Error::Shape { what: "probabilities of all rows and labels", expected, found });
    }
    let truth = data.classes()?;
    let places = truth.places_in(labels);
    let mut parts = vec![ReliabilityBin::default(); bins];
    for (row, &code) in probabilities.iter().zip(&truth.codes) {
        let top = (1..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        let part = &mut parts[((row[top] * bins as f64) as usize).min(bins - 1)];
        part.n_rows += 1;
        part.confidence += row[top];
        part.accuracy += f64::from(u8::from(places[code as usize] == Some(top)));
    }
    for part in parts.iter_mut().filter(|part| part.n_rows > 0) {
        (part.confidence, part.accuracy) = (part.confidence / part.n_rows as f64, part.accuracy / part.n_rows as f64);
    }
    Ok(parts)
}

/// The expected calibration error: the mean over all rows of the distance between confidence and accuracy in their bin.
pub fn calibration_error(bins: &[ReliabilityBin]) -> f64 {
    let n: usize = bins.iter().map(|bin| bin.n_rows).sum();
    bins.iter().map(|bin| bin.n_rows as f64 * (bin.confidence - bin.accuracy).abs()).sum::<f64>() / n.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Target;

    fn of_classes(texts: &[&str]) -> Dataset {
        Dataset::new(Matrix::<f64>::zeros(texts.len(), 1), Target::from_labels(texts))
    }

    #[test]
    fn sets_are_counted_by_the_definition() {
        let labels: Vec<Label> = ["a", "b", "c"].map(Label::new).to_vec();
        let members = vec![vec![true, false, false], vec![true, true, false], vec![false; 3], vec![true; 3]];
        let sets = PredictionSets::Classes { labels, members };
        let score = score_sets(&sets, &of_classes(&["a", "c", "b", "z"])).unwrap();
        assert_eq!(score, SetScore { cover: 0.25, size: 1.5, single: Some(0.25), empty: Some(0.25) });
        assert!(score_sets(&sets, &of_classes(&["a"])).is_err());
        let column = |values: &[f64]| Matrix::column(values.to_vec());
        let intervals = PredictionSets::Intervals { lower: column(&[0.0, 1.0]), upper: column(&[1.0, 4.0]) };
        let data = Dataset::new(Matrix::<f64>::zeros(2, 1), Target::Values(column(&[1.0, 5.0])));
        assert_eq!(score_sets(&intervals, &data).unwrap(), SetScore { cover: 0.5, size: 2.0, single: None, empty: None });
    }

    #[test]
    fn densities_are_those_of_normal_distributions() {
        let column = |values: &[f64]| Matrix::column(values.to_vec());
        let data = Dataset::new(Matrix::<f64>::zeros(2, 1), Target::Values(column(&[1.0, 5.0])));
        let score = score_distribution(&column(&[0.5, 1.0]), &column(&[0.5, 2.0]), &data).unwrap();
        let density = |apart: f64, deviation: f64| (-0.5 * apart * apart).exp() / (deviation * std::f64::consts::TAU.sqrt());
        let want = -(density(1.0, 0.5).ln() + density(2.0, 2.0).ln()) / 2.0;
        assert!((score.nlpd - want).abs() < 1e-14);
        assert_eq!(score.cover, 0.5);
    }

    #[test]
    fn bins_have_the_mean_confidence_and_the_accuracy() {
        let labels: Vec<Label> = ["a", "b"].map(Label::new).to_vec();
        let p = Matrix::new(vec![0.9, 0.1, 0.92, 0.08, 0.4, 0.6, 0.0, 1.0], 4, 2).unwrap();
        let bins = reliability(&p, &labels, &of_classes(&["a", "b", "b", "b"]), 5).unwrap();
        assert_eq!(bins.iter().map(|bin| bin.n_rows).collect::<Vec<_>>(), [0, 0, 0, 1, 3]);
        assert!((bins[4].confidence - 2.82 / 3.0).abs() < 1e-15 && (bins[4].accuracy - 2.0 / 3.0).abs() < 1e-15);
        let want = (0.4 + 3.0 * (2.82 / 3.0 - 2.0 / 3.0)) / 4.0;
        assert!((calibration_error(&bins) - want).abs() < 1e-15);
    }
}
