//! What is asked of a small machine: how small, and how good.
use serde::{Deserialize, Serialize};

use super::validation::{Metrics, PrimaryMetric, Validator};
use crate::{Error, Named, Result, machine::Machine, model::native};

/// Bounds on size and on quality. The machine found is the smallest that has the quality, or the best one of the size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Goals {
    /// The most vectors.
    #[serde(rename = "vectors", skip_serializing_if = "Option::is_none")]
    pub max_vectors: Option<usize>,
    /// The most vectors as a fraction of those of the machine, above 0 and at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// The most bytes of the model file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
    /// The largest squared distance of the weight vectors, as a fraction of their squared size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_residual: Option<f64>,
    /// The largest rise of the loss on validation rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_loss: Option<f64>,
    /// The smallest fraction of the validation rows that the small machine predicts as the large one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_agreement: Option<f64>,
}

impl Goals {
    /// An error when a bound makes no sense.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("vectors", self.max_vectors), ("max-bytes", self.max_bytes)] {
            if value == Some(0) {
                return Err(Error::parameter(name, 0, "at least 1"));
            }
        }
        let part = |name: &'static str, value: Option<f64>, allowed: &str, good: fn(f64) -> bool| match value {
            Some(value) if !good(value) => Err(Error::parameter(name, value, allowed)),
            _ => Ok(()),
        };
        part("fraction", self.fraction, "above 0 and at most 1", |f| f > 0.0 && f <= 1.0)?;
        part("max-residual", self.max_residual, "between 0 and 1, a fraction of the residual without vectors", |r| {
            (0.0..=1.0).contains(&r)
        })?;
        part("max-loss", self.max_loss, "at least 0: an increase of the error, such as 0.005", |l| l >= 0.0 && l.is_finite())?;
        part("min-agreement", self.min_agreement, "between 0 and 1, a fraction of the rows", |a| (0.0..=1.0).contains(&a))
    }

    /// True when quality is asked for.
    pub fn about_quality(&self) -> bool {
        self.max_residual.is_some() || self.needs_rows()
    }

    /// True when quality is measured on rows.
    pub fn needs_rows(&self) -> bool {
        self.max_loss.is_some() || self.min_agreement.is_some()
    }

    /// The primary metric: what is asked for, else the loss.
    pub fn primary(&self) -> PrimaryMetric {
        match (self.max_residual, self.min_agreement, self.max_loss) {
            (_, Some(_), None) => PrimaryMetric::Agreement,
            (Some(_), None, None) => PrimaryMetric::Residual,
            _ => PrimaryMetric::Loss,
        }
    }

    /// True when a bound on the size is given.
    pub fn about_size(&self) -> bool {
        self.max_vectors.is_some() || self.fraction.is_some() || self.max_bytes.is_some()
    }

    /// The most vectors that all bounds on the size allow, at most those of the machine.
    pub fn most_vectors(&self, machine: &Machine) -> Result<usize> {
        let all = machine.n_vectors();
        let part = self.fraction.map(|f| ((f * all as f64).round() as usize).max(1));
        let of_bytes = self.max_bytes.map(|bytes| vectors_in(machine, bytes)).transpose()?;
        Ok([self.max_vectors, part, of_bytes].into_iter().flatten().fold(all, usize::min))
    }

    /// True when the metrics have all the quality that is asked for.
    pub fn met(&self, metrics: &Metrics, validator: &Validator) -> bool {
        self.shortfalls(metrics, validator).is_empty()
    }

    /// What is missing of the bound on the residual, a sentence.
    pub(crate) fn residual_shortfall(&self, metrics: &Metrics) -> Option<String> {
        let bound = self.max_residual.filter(|bound| metrics.residual.is_none_or(|residual| residual > *bound))?;
        let reached = metrics.residual.map_or("not known".into(), |residual| format!("{residual:.4}"));
        Some(format!("the relative residual is {reached}, above {bound}"))
    }

    /// What is missing, a sentence for each bound.
    pub fn shortfalls(&self, metrics: &Metrics, validator: &Validator) -> Vec<String> {
        let mut missing: Vec<String> = self.residual_shortfall(metrics).into_iter().collect();
        if let Some(bound) = self.max_loss {
            let rise = metrics.loss.zip(validator.loss_before()).map(|(after, before)| after - before);
            if rise.is_none_or(|rise| rise > bound) {
                let reached = rise.map_or("is not known".into(), |rise| format!("rises by {rise:.4}"));
                missing.push(format!("the {} on validation rows {reached}, more than {bound}", validator.metric.name()));
            }
        }
        if let Some(bound) = self.min_agreement
            && metrics.agreement.is_none_or(|agreement| agreement < bound)
        {
            let reached = metrics.agreement.map_or("not known".into(), |agreement| format!("{agreement:.4}"));
            missing.push(format!("the agreement is {reached}, below {bound}"));
        }
        missing
    }
}

/// The bytes of a model file without vectors, and those of each dense vector.
pub(crate) fn bytes_of(machine: &Machine) -> Result<(usize, usize)> {
    let one = machine.n_vectors().min(1);
    let small = crate::compress::part_of(machine, &(0..one).collect::<Vec<_>>());
    let each = 8 * (machine.expansion.vectors.dim() + machine.n_outputs());
    Ok((native::to_bytes(&small)?.len().saturating_sub(one * each), each))
}

/// How many dense vectors fit into a model file of so many bytes.
fn vectors_in(machine: &Machine, bytes: usize) -> Result<usize> {
    let (around, each) = bytes_of(machine)?;
    match bytes.saturating_sub(around) / each.max(1) {
        0 => Err(Error::parameter("max-bytes", bytes, format!("at least {}, the size of a model with one vector", around + each))),
        vectors => Ok(vectors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compress::toy, kernel::Kernel};

    #[test]
    fn what_is_asked_for_is_the_primary_metric() {
        let primary = |max_residual, max_loss, min_agreement| Goals { max_residual, max_loss, min_agreement, ..Goals::default() }.primary();
        let some = Some(0.5);
        assert_eq!([primary(None, None, None), primary(None, some, some), primary(some, some, None)], [PrimaryMetric::Loss; 3]);
        assert_eq!([primary(None, None, some), primary(some, None, some)], [PrimaryMetric::Agreement; 2]);
        assert_eq!(primary(some, None, None), PrimaryMetric::Residual);
    }

    #[test]
    fn bounds_are_checked_with_an_error_and_the_tightest_holds() {
        let machine = toy::machine(Kernel::gaussian(0.4), 60, 2);
        let goals = Goals { max_vectors: Some(30), fraction: Some(0.25), ..Goals::default() };
        assert_eq!(goals.most_vectors(&machine).unwrap(), 15);
        assert_eq!(Goals::default().most_vectors(&machine).unwrap(), 60);
        let bytes = |vectors: usize| {
            let all: Vec<usize> = (0..vectors).collect();
            native::to_bytes(&crate::compress::part_of(&machine, &all)).unwrap().len()
        };
        let limit = Goals { max_bytes: Some(bytes(20)), ..Goals::default() }.most_vectors(&machine).unwrap();
        assert!((19..=20).contains(&limit), "{limit}");
        assert!(bytes(limit) <= bytes(20));
        let tiny = Goals { max_bytes: Some(10), ..Goals::default() };
        assert!(tiny.most_vectors(&machine).unwrap_err().to_string().contains("one vector"));
        for bad in [
            Goals { fraction: Some(0.0), ..Goals::default() },
            Goals { max_loss: Some(f64::NAN), ..Goals::default() },
            Goals { min_agreement: Some(1.5), ..Goals::default() },
            Goals { max_vectors: Some(0), ..Goals::default() },
        ] {
            assert!(bad.check().unwrap_err().to_string().contains("must be"), "{bad:?}");
        }
    }
}
