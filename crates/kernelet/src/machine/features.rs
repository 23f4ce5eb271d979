//! A machine of fewer inputs: features whose learned scale is negligible are left out.
use super::{Machine, MetricMetadata};
use crate::{Error, Result, data::Points, error::require_positive};

impl Machine {
    /// Features with their learned scales, the largest first; features without names are called by their places, counted from 1. Empty where no
    /// scales were learned.
    pub fn ranked_features(&self) -> Vec<(String, f64)> {
        let name = |j: usize| self.names.as_ref().and_then(|names| names.get(j).cloned()).unwrap_or_else(|| format!("feature {}", j + 1));
        let scales = self.metadata.metric.iter().flat_map(|metric| metric.feature_scales.iter());
        let mut ranked: Vec<(String, f64)> = scales.enumerate().map(|(j, scale)| (name(j), *scale)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    /// The machine without the features whose learned scale is at most `least` times the largest, and the places of those that stay. Features
    /// without names are named by their places, counted from 1.
    ///
    /// Outputs change by what the features still counted for, which is little where their scales are near 0; measure it.
    pub fn without_features(&self, least: f64) -> Result<(Machine, Vec<usize>)> {
        require_positive("drop-features", least)?;
        let Some(metric) = self.metadata.metric.as_ref().filter(|metric| metric.feature_scales.len() == self.dim()) else {
            return Err(Error::request("`drop-features` needs a model with learned scales; train it with `ard` or `projection`"));
        };
        let largest = metric.feature_scales.iter().fold(0.0, |a: f64, b| a.max(*b));
        let kept: Vec<usize> = (0..self.dim()).filter(|&j| metric.feature_scales[j] > least * largest).collect();
        if kept.is_empty() {
            return Err(Error::parameter("drop-features", least, "below 1, so that features are left"));
        }
        let choose = |values: &[f64]| kept.iter().map(|&j| values[j]).collect::<Vec<f64>>();
        let mut small = self.clone();
        let mut mapped = false;
        if let Some(scale) = &mut small.scale {
            scale.shift = scale.shift.as_deref().map(choose);
            scale.factor = choose(&scale.factor);
            mapped = scale.map.is_some();
            scale.map = scale.map.as_ref().map(|map| map.transposed().select(&kept).transposed());
        }
        if !mapped {
            let columns = self.expansion.vectors.dense("leaving out features")?.transposed().select(&kept);
            small.expansion.vectors = Points::F64(columns.transposed());
        }
        let name = |j: usize| self.names.as_ref().map_or_else(|| (j + 1).to_string(), |names| names[j].clone());
        small.names = Some(kept.iter().map(|&j| name(j)).collect());
        small.metadata.metric = Some(MetricMetadata { feature_scales: choose(&metric.feature_scales), ..metric.clone() });
        small.check()?;
        Ok((small, kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::banana, linalg::Matrix, prelude::*};

    #[test]
    fn features_of_little_scale_are_left_out_and_others_need_scales() {
        let data = banana(200, 1);
        let rows = data.points.to_dense();
        let wide = Matrix::from_fn(200, 5, |i, j| if j == 1 || j == 3 { rows.at(i, j / 2) } else { ((i * (j + 3)) as f64).sin() });
        let wide = Dataset { points: wide.into(), ..data };
        for request in [r#"{"vectors": 8, "ard": true, "iterations": 60}"#, r#"{"vectors": 8, "projection": 2, "iterations": 60}"#] {
            let full = Train::from_json(request).unwrap().run(&wide, &Given::default(), &Watch::none()).unwrap().fit.machine;
            let (small, kept) = full.without_features(0.3).unwrap();
            assert_eq!(kept, [1, 3], "{:?}", full.metadata.metric);
            assert_eq!((small.dim(), small.names.clone().unwrap()), (2, vec!["2".to_string(), "4".to_string()]));
            let narrow = Points::F64(Matrix::from_fn(200, 2, |i, j| wide.points.to_dense().at(i, kept[j])));
            let (a, b) = (full.predict(&wide.points).unwrap(), small.predict(&narrow).unwrap());
            let (Prediction::Classes { codes: a, .. }, Prediction::Classes { codes: b, .. }) = (a, b) else { panic!() };
            let same = a.iter().zip(&b).filter(|(a, b)| a == b).count();
            assert!(same >= 190, "{same}");
            assert!(full.without_features(1.0).is_err() && full.without_features(0.0).is_err());
        }
        let plain = Train::from_json(r#"{"vectors": 4}"#).unwrap().run(&wide, &Given::default(), &Watch::none()).unwrap();
        assert!(plain.machine().without_features(0.1).unwrap_err().to_string().contains("learned scales"));
    }
}
