//! What may be promised of a small machine on new rows, and how sure that is.
use serde::{Serialize, Serializer};

use super::{
    goals::Goals,
    validation::{Metric, Metrics},
};
use crate::{
    Error, Named, Result,
    data::{Dataset, Target},
    evaluate::{
        agreement,
        binomial::rows_needed,
        paired::{Counts, Estimate, disagreement, rise_of_error, rise_of_mean},
    },
    machine::Prediction,
};

/// The most rows that are asked for.
const MOST_ROWS: usize = 1 << 24;

/// Whether the goals hold on new rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They hold, with the confidence that was asked for.
    Met,
    /// They do not hold, with the same confidence.
    Missed,
    /// The rows do not decide it.
    Unknown,
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Verdict::Met => serializer.serialize_bool(true),
            Verdict::Missed => serializer.serialize_bool(false),
            Verdict::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

/// The rows that a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// Rows that neither machine has seen: a promise.
    Fresh,
    /// Training rows, by machines trained again without them: an estimate.
    Training,
}

/// The rise of the loss and the agreement of a small machine with bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// The rise of the metric on the rows; none without targets, or where it could not be estimated.
    pub loss: Option<f64>,
    /// What it is at least, one-sided at the confidence.
    pub lower: Option<f64>,
    /// What it is at most, one-sided at the confidence.
    pub upper: Option<f64>,
    /// The fraction of the rows that is predicted as before.
    pub agreement: Option<f64>,
    /// What it is at least, one-sided at the confidence.
    pub agreement_lower: Option<f64>,
    /// Rows that it was measured on.
    #[serde(rename = "rows")]
    pub n_rows: usize,
    /// Which rows these are.
    pub kind: RowKind,
    /// The probability with which each bound holds.
    pub confidence: f64,
    /// True where the bounds hold only for many rows (mean squared error), or where machines were trained again.
    pub approximate: bool,
    /// Fresh rows that would do for the goals at the rates that were seen; none where they are met, or no number of rows would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_needed: Option<usize>,
    #[serde(skip)]
    agreement_upper: Option<f64>,
}

/// What two machines predict for rows with targets, counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    groups: Vec<Counts>,
    differences: Vec<f64>,
    different: usize,
    labels: bool,
    n_rows: usize,
}

impl Tally {
    /// Adds rows that a large and a small machine predicted.
    pub fn add(&mut self, before: &Prediction, after: &Prediction, rows: &Dataset, metric: Metric) -> Result<()> {
        self.n_rows += rows.len();
        if let Some(same) = agreement(before, after) {
            self.labels = true;
            self.different += ((1.0 - same) * rows.len() as f64).round() as usize;
        }
        match (&rows.target, before, after) {
            (Target::Classes(truth), Prediction::Classes { .. }, Prediction::Classes { .. }) => {
                let balanced = metric == Metric::BalancedError;
                self.groups.resize(self.groups.len().max(if balanced { truth.labels.len() } else { 1 }), Counts::default());
                for (row, &code) in truth.codes.iter().enumerate() {
                    let truth = &truth.labels[code as usize];
                    let wrong = |prediction: &Prediction| prediction.label(row) != Some(truth);
                    self.groups[if balanced { code as usize } else { 0 }].add(wrong(before), wrong(after));
                }
            }
            (Target::Values(truth), Prediction::Values(before), Prediction::Values(after))
                if before.cols() == truth.cols() && after.cols() == truth.cols() =>
            {
                let squared = |have: &[f64], want: &[f64]| have.iter().zip(want).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                let mean = truth.cols().max(1) as f64;
                let row = |i: usize| (squared(after.row(i), truth.row(i)) - squared(before.row(i), truth.row(i))) / mean;
                self.differences.extend((0..truth.rows()).map(row));
            }
            _ => {}
        }
        Ok(())
    }

    fn loss(&self, level: f64, seed: u64) -> Option<Estimate> {
        match (self.groups.is_empty(), self.differences.is_empty()) {
            (false, _) => Some(rise_of_error(&self.groups, level)),
            (true, false) => Some(rise_of_mean(&self.differences, level, seed)),
            (true, true) => None,
        }
    }

    /// The statement that the rows allow.
    pub fn certificate(&self, kind: RowKind, confidence: f64, seed: u64) -> Certificate {
        let level = 1.0 - confidence;
        let loss = self.loss(level, seed);
        let apart = self.labels.then(|| disagreement(self.different, self.n_rows, level));
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Certificate {
            loss: loss.map(|loss| loss.value),
            lower: loss.and_then(|loss| finite(loss.lower)),
            upper: loss.and_then(|loss| finite(loss.upper)),
            agreement: apart.map(|apart| 1.0 - apart.value),
            agreement_lower: apart.map(|apart| 1.0 - apart.upper),
            agreement_upper: apart.map(|apart| 1.0 - apart.lower),
            n_rows: self.n_rows,
            kind,
            confidence,
            approximate: kind == RowKind::Training || !self.differences.is_empty(),
            rows_needed: None,
        }
    }

    /// The rows with which the goals would be met at the rates that were seen.
    pub fn rows_needed(&self, goals: &Goals, confidence: f64) -> Option<usize> {
        let enough = |n: usize| {
            let scaled = |count: usize, of: usize| (count as f64 / of.max(1) as f64 * n as f64).round() as usize;
            let group = |group: &Counts| {
                let n_rows = scaled(group.n_rows, self.n_rows).max(1);
                let part = |count: usize| (count as f64 / group.n_rows.max(1) as f64 * n_rows as f64).round() as usize;
                Counts { n_rows, newly_wrong: part(group.newly_wrong), newly_right: part(group.newly_right) }
            };
            let groups = self.groups.iter().filter(|group| group.n_rows > 0).map(group).collect();
            let other =
                Tally { groups, different: scaled(self.different, self.n_rows), labels: self.labels, n_rows: n, differences: vec![] };
            other.certificate(RowKind::Fresh, confidence, 0).meets(goals)
        };
        if !self.differences.is_empty() {
            return None;
        }
        let mut high = self.n_rows.max(16);
        while !enough(high) {
            high *= 2;
            if high > MOST_ROWS {
                return None;
            }
        }
        let mut low = high / 2;
        for _ in 0..12 {
            let middle = usize::midpoint(low, high);
            if enough(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}

impl Certificate {
    /// A statement that says nothing, where nothing could be measured.
    pub fn silent(kind: RowKind, confidence: f64) -> Self {
        Tally::default().certificate(kind, confidence, 0)
    }

    /// True when the bounds meet the goals that are about rows.
    pub fn meets(&self, goals: &Goals) -> bool {
        goals.max_loss.is_none_or(|bound| self.upper.is_some_and(|upper| upper <= bound))
            && goals.min_agreement.is_none_or(|bound| self.agreement_lower.is_some_and(|lower| lower >= bound))
    }

    /// True when the values themselves meet the goals that are about rows.
    pub fn seems_to_meet(&self, goals: &Goals) -> bool {
        goals.max_loss.is_none_or(|bound| self.loss.is_some_and(|loss| loss <= bound))
            && goals.min_agreement.is_none_or(|bound| self.agreement.is_some_and(|agreement| agreement >= bound))
    }

    /// Whether the goals hold; `metrics` has what is known without rows. Estimates never say that they do.
    pub fn verdict(&self, goals: &Goals, metrics: &Metrics) -> Verdict {
        let residual = goals.max_residual.is_none_or(|bound| metrics.residual.is_some_and(|residual| residual <= bound));
        let missed = goals.max_loss.is_some_and(|bound| self.lower.is_some_and(|lower| lower > bound))
            || goals.min_agreement.is_some_and(|bound| self.agreement_upper.is_some_and(|upper| upper < bound));
        match (self.kind, residual && !missed) {
            (_, false) => Verdict::Missed,
            (RowKind::Fresh, true) if self.meets(goals) => Verdict::Met,
            _ => Verdict::Unknown,
        }
    }

    /// What is missing and what it would take, in sentences.
    pub fn shortfalls(&self, goals: &Goals, metric: Metric) -> Vec<String> {
        let confidence = format!("{} % confidence", 100.0 * self.confidence);
        let rows = match (self.kind, self.n_rows) {
            (RowKind::Fresh, rows) => format!("with {rows} fresh rows and {confidence}"),
            (RowKind::Training, 0) => "with the rows given".to_string(),
            (RowKind::Training, _) => "by an estimate on training rows, which is no promise,".to_string(),
        };
        let mut missing = vec![];
        if let Some(bound) = goals.max_loss.filter(|bound| self.kind == RowKind::Training || self.upper.is_none_or(|upper| upper > *bound))
        {
            let rise = match (self.kind, self.upper, self.loss) {
                (RowKind::Training, _, Some(loss)) => format!("rises by {loss:.4}"),
                (RowKind::Fresh, Some(upper), _) => format!("is promised to rise by at most {upper:.4}"),
                _ => "cannot be bounded".into(),
            };
            missing.push(format!("{rows} the {} {rise}; asked for: {bound}", metric.name()));
        }
        if let Some(bound) =
            goals.min_agreement.filter(|bound| self.kind == RowKind::Training || self.agreement_lower.is_none_or(|lower| lower < *bound))
        {
            let reached = match (self.kind, self.agreement_lower, self.agreement) {
                (RowKind::Training, _, Some(agreement)) => format!("is {agreement:.4}"),
                (RowKind::Fresh, Some(lower), _) => format!("is promised to be at least {lower:.4}"),
                _ => "cannot be bounded".into(),
            };
            missing.push(format!("{rows} the agreement {reached}; asked for: {bound}"));
        }
        if !missing.is_empty() {
            missing.push(self.advice(goals));
        }
        missing
    }

    fn advice(&self, goals: &Goals) -> String {
        let level = 1.0 - self.confidence;
        // Half of the rows choose, and half certify.
        let fewest =
            [goals.max_loss.map(|bound| rows_needed(bound, 0.5 * level)), goals.min_agreement.map(|a| rows_needed(1.0 - a, level))];
        let fewest = fewest.into_iter().flatten().max().unwrap_or(0).saturating_mul(2);
        match (self.kind, self.rows_needed) {
            (_, Some(rows)) => {
                format!("about {} fresh rows would do: half of them choose the size, half certify it", rows.saturating_mul(2))
            }
            (RowKind::Training, _) if fewest < MOST_ROWS => {
                format!(
                    "a promise needs rows that the model was not trained on, at least {fewest}; give them with the data, or say where the rows come from"
                )
            }
            _ => "loosen the goal, allow more vectors, or give more fresh rows".into(),
        }
    }
}

/// An error where a confidence is none.
pub(crate) fn check_confidence(confidence: f64) -> Result<()> {
    match confidence > 0.0 && confidence < 1.0 {
        true => Ok(()),
        false => Err(Error::parameter("confidence", confidence, "above 0 and below 1, such as 0.95")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Classes, Label},
        linalg::Matrix,
    };

    fn predicted(codes: &[u32]) -> Prediction {
        Prediction::Classes { labels: vec![Label::new("a"), Label::new("b")], codes: codes.to_vec() }
    }

    fn rows(target: Target, n: usize) -> Dataset {
        Dataset::new(Matrix::<f64>::zeros(n, 1), target)
    }

    #[test]
    fn rows_are_counted_and_bounds_decide() {
        let n = 400;
        let truth = vec!["a"; n];
        let data = rows(Target::Classes(Classes::from_texts(&truth)), n);
        let after: Vec<u32> = (0..n as u32).map(|i| u32::from(i < 4)).collect();
        let mut tally = Tally::default();
        tally.add(&predicted(&vec![0; n]), &predicted(&after), &data, Metric::Error).unwrap();
        let certificate = tally.certificate(RowKind::Fresh, 0.95, 0);
        assert_eq!((certificate.loss, certificate.agreement, certificate.n_rows), (Some(0.01), Some(0.99), 400));
        let goal = |max_loss| Goals { max_loss: Some(max_loss), ..Goals::default() };
        let verdict = |bound| certificate.verdict(&goal(bound), &Metrics::default());
        assert_eq!([verdict(0.05), verdict(0.012)], [Verdict::Met, Verdict::Unknown]);
        let (mut worse, many) = (Tally::default(), (0..n as u32).map(|i| u32::from(i < 80)).collect::<Vec<_>>());
        worse.add(&predicted(&vec![0; n]), &predicted(&many), &data, Metric::Error).unwrap();
        assert_eq!(worse.certificate(RowKind::Fresh, 0.95, 0).verdict(&goal(0.05), &Metrics::default()), Verdict::Missed);
        assert!(certificate.shortfalls(&goal(0.05), Metric::Error).is_empty());
        let needed = tally.rows_needed(&goal(0.015), 0.95).unwrap();
        assert!((1000..6000).contains(&needed), "{needed}");
        assert_eq!(tally.rows_needed(&goal(0.005), 0.95), None);
        let trained = tally.certificate(RowKind::Training, 0.95, 0);
        assert_eq!(trained.verdict(&goal(0.05), &Metrics::default()), Verdict::Unknown, "an estimate is no promise");
        assert!(trained.shortfalls(&goal(0.05), Metric::Error)[0].contains("no promise"));
        assert_eq!(serde_json::to_string(&[Verdict::Met, Verdict::Missed, Verdict::Unknown]).unwrap(), r#"[true,false,"unknown"]"#);
    }

    #[test]
    fn squared_errors_are_compared_row_by_row() {
        let n = 200;
        let truth = Matrix::from_fn(n, 1, |i, _| (i as f64).sin());
        let near = |off: f64| Prediction::Values(Matrix::from_fn(n, 1, |i, _| (i as f64).sin() + off));
        let mut tally = Tally::default();
        tally.add(&near(0.1), &near(0.2), &rows(Target::Values(truth), n), Metric::Mse).unwrap();
        let certificate = tally.certificate(RowKind::Fresh, 0.9, 0);
        assert!((certificate.loss.unwrap() - 0.03).abs() < 1e-12 && certificate.approximate && certificate.agreement.is_none());
        assert_eq!(Certificate::silent(RowKind::Training, 0.9).loss, None);
        assert!(check_confidence(1.0).is_err() && check_confidence(f64::NAN).is_err() && check_confidence(0.5).is_ok());
    }
}
