//! A data set: points with what is to be predicted, weights and names.
use super::{Classes, Encoding, Points, Target};
use crate::{Error, Result, error::wrong_weight, linalg::Matrix};

/// Points, their target, optional weights and feature names.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The inputs.
    pub points: Points,
    /// What is to be predicted.
    pub target: Target,
    /// How much each row counts; none: every row counts 1.
    pub weights: Option<Vec<f64>>,
    /// Names of the features, where the source has them.
    pub names: Option<Vec<String>>,
    /// How the features were made from the columns of a table, where they are not the columns themselves.
    pub table: Option<Encoding>,
}

impl Dataset {
    /// Points with a target, without weights or names.
    pub fn new(points: impl Into<Points>, target: Target) -> Self {
        Dataset { points: points.into(), target, weights: None, names: None, table: None }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.points.dim()
    }

    /// The class labels, or an error that says there are none.
    pub fn classes(&self) -> Result<&Classes> {
        match &self.target {
            Target::Classes(classes) => Ok(classes),
            _ => Err(Error::data("this needs a class label for every row, but the data have none")),
        }
    }

    /// The real targets, or an error that says there are none.
    pub fn values(&self) -> Result<&Matrix> {
        match &self.target {
            Target::Values(values) => Ok(values),
            _ => Err(Error::data("this needs a number to predict for every row, but the data have none")),
        }
    }

    /// The weight of each row.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[row])
    }

    /// The chosen rows, in the order given.
    pub fn select(&self, indices: &[usize]) -> Dataset {
        Dataset {
            points: self.points.select(indices),
            target: self.target.select(indices),
            weights: self.weights.as_ref().map(|w| indices.iter().map(|&i| w[i]).collect()),
            names: self.names.clone(),
            table: self.table.clone(),
        }
    }

    /// All other rows, in their order.
    pub fn without(&self, indices: &[usize]) -> Dataset {
        let mut kept = vec![true; self.len()];
        indices.iter().for_each(|&i| kept[i] = false);
        self.select(&(0..self.len()).filter(|&i| kept[i]).collect::<Vec<_>>())
    }

    /// Checks what everything that reads rows with their targets relies on: one target and one weight for each row, and every class among the labels.
    pub fn check_lengths(&self) -> Result<()> {
        let targets = match &self.target {
            Target::None => self.len(),
            Target::Classes(classes) => classes.codes.len(),
            Target::Values(values) => values.rows(),
        };
        if targets != self.len() {
            return Err(Error::Shape { what: "targets", expected: self.len(), found: targets });
        }
        if let Target::Classes(Classes { labels, codes }) = &self.target
            && let Some(row) = codes.iter().position(|&code| code as usize >= labels.len())
        {
            return Err(Error::data(format!("row {} has the class number {}, but there are {} labels", row + 1, codes[row], labels.len())));
        }
        match &self.weights {
            Some(weights) if weights.len() != self.len() => {
                Err(Error::Shape { what: "weights", expected: self.len(), found: weights.len() })
            }
            _ => Ok(()),
        }
    }

    /// Checks what every learner relies on: at least one row, one target and one weight a row, all numbers finite, no negative weight.
    pub fn check(&self) -> Result<()> {
        if self.is_empty() {
            return Err(Error::data("the data have no rows"));
        }
        self.check_lengths()?;
        self.points.check_finite()?;
        if let Target::Values(values) = &self.target
            && let Some(at) = values.values().iter().position(|v| !v.is_finite())
        {
            let (row, column) = (at / values.cols(), at % values.cols());
            return Err(Error::NotFinite { what: "a target", row, column, value: values.values()[at] });
        }
        let Some(weights) = &self.weights else { return Ok(()) };
        let wrong = weights.iter().enumerate().find_map(|(row, &weight)| Some((row, wrong_weight(weight)?)));
        wrong.map_or(Ok(()), |(row, reason)| Err(Error::data(format!("the weight of row {} is {reason}", row + 1))))
    }
}

/// Checks that `data` can train a classifier: good numbers, and at least two classes among the rows that count.
pub(crate) fn check_classes(data: &Dataset) -> Result<&Classes> {
    data.check()?;
    let classes = data.classes()?;
    let mut counts = vec![0usize; classes.labels.len()];
    for (row, &code) in classes.codes.iter().enumerate() {
        counts[code as usize] += usize::from(data.weight(row) > 0.0);
    }
    match counts.iter().filter(|&&c| c > 0).count() {
        0 => Err(Error::data("no row has a weight above 0")),
        1 => {
            let label = counts.iter().position(|&c| c > 0).map_or(String::new(), |c| classes.labels[c].to_string());
            Err(Error::OneClass { label, rows: counts.iter().sum() })
        }
        _ => Ok(classes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_data_are_rejected_with_an_error() {
        let good = Dataset::new(Matrix::<f64>::zeros(2, 1), Target::Classes(Classes::from_texts(&["a", "b"])));
        assert!(good.check().is_ok());
        let empty = good.select(&[]);
        assert_eq!(empty.check().unwrap_err().to_string(), "the data have no rows");
        let short = Dataset { target: Target::Classes(Classes::from_texts(&["a"])), ..good.clone() };
        assert_eq!(short.check().unwrap_err().to_string(), "targets: expected 2, found 1");
        let foreign = Dataset { target: Target::Classes(Classes { labels: vec![], codes: vec![0, 0] }), ..good.clone() };
        assert_eq!(foreign.check().unwrap_err().to_string(), "row 1 has the class number 0, but there are 0 labels");
        let negative = Dataset { weights: Some(vec![1.0, -1.0]), ..good.clone() };
        assert_eq!(negative.check().unwrap_err().to_string(), "the weight of row 2 is -1, but must be a finite number of at least 0");
        let huge = Dataset { weights: Some(vec![1.0, 1e300]), ..negative };
        assert_eq!(huge.check().unwrap_err().to_string(), "the weight of row 2 is 1e300, but must be at most 1e12");
        let nan = Dataset { target: Target::Values(Matrix::column(vec![1.0, f64::NAN])), ..good };
        assert_eq!(nan.check().unwrap_err().to_string(), "a target in row 2, column 1 is NaN; every number must be finite");
    }
}
