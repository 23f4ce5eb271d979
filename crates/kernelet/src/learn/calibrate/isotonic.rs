//! The curve from outputs to probabilities that never falls and fits best in squares.
//!
//! Rows are sorted by their output, equal outputs joined to their mean; neighbours that are out of order are pooled until none are
//! (the pool-adjacent-violators algorithm). Between the pools the curve is straight, as scikit-learn has it. Cost: n log n.
use crate::machine::Curve;

/// A run of rows that share one probability.
struct Pool {
    first: f64,
    last: f64,
    mean: f64,
    weight: f64,
}

/// The curve for outputs, whether each is of the positive class, and the weight of each; None where no row has a weight.
pub fn fit_isotonic(outputs: &[f64], positive: &[bool], weights: &[f64]) -> Option<Curve> {
    let mut order: Vec<usize> = (0..outputs.len()).filter(|&i| weights[i] > 0.0 && outputs[i].is_finite()).collect();
    order.sort_by(|&i, &j| outputs[i].total_cmp(&outputs[j]));
    let mut pools: Vec<Pool> = vec![];
    for i in order {
        let (output, value) = (outputs[i], f64::from(u8::from(positive[i])));
        match pools.last_mut().filter(|pool| pool.first == output && pool.last == output) {
            Some(pool) => pool.join(output, value, weights[i]),
            None => pools.push(Pool { first: output, last: output, mean: value, weight: weights[i] }),
        }
    }
    let pools = pooled(pools);
    let (mut x, mut p) = (vec![], vec![]);
    for pool in &pools {
        let ends = if pool.first < pool.last { vec![pool.first, pool.last] } else { vec![pool.first] };
        p.extend(ends.iter().map(|_| pool.mean.clamp(0.0, 1.0)));
        x.extend(ends);
    }
    (!x.is_empty()).then_some(Curve { outputs: x, probabilities: p })
}

/// Pools of ascending outputs, joined where a mean does not rise.
fn pooled(pools: Vec<Pool>) -> Vec<Pool> {
    let mut done: Vec<Pool> = vec![];
    for mut pool in pools {
        while let Some(before) = done.pop_if(|before| before.mean >= pool.mean) {
            let Pool { first, last, mean, weight } = pool;
            pool = before;
            pool.join(last, mean, weight);
            pool.first = pool.first.min(first);
        }
        done.push(pool);
    }
    done
}

impl Pool {
    fn join(&mut self, last: f64, mean: f64, weight: f64) {
        self.mean = (self.mean * self.weight + mean * weight) / (self.weight + weight);
        self.weight += weight;
        self.last = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same fit by its definition: p_i = max over j <= i of min over k >= i of the mean of rows j..=k.
    fn slow(values: &[f64], weights: &[f64]) -> Vec<f64> {
        let n = values.len();
        let mean = |j: usize, k: usize| {
            let weight: f64 = weights[j..=k].iter().sum();
            values[j..=k].iter().zip(&weights[j..=k]).map(|(v, w)| v * w).sum::<f64>() / weight
        };
        let least = |i: usize, j: usize| (i..n).map(|k| mean(j, k)).fold(f64::INFINITY, f64::min);
        (0..n).map(|i| (0..=i).map(|j| least(i, j)).fold(f64::NEG_INFINITY, f64::max)).collect()
    }

    #[test]
    fn the_curve_agrees_with_its_definition() {
        for seed in 0..8 {
            let n = 40;
            let mut outputs: Vec<f64> = (0..n).map(|i| ((i * 7 + seed * 11) as f64).sin()).collect();
            outputs.sort_by(f64::total_cmp);
            let positive: Vec<bool> = outputs.iter().enumerate().map(|(i, f)| f + ((i * 5 + seed) as f64).cos() > 0.0).collect();
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 4) as f64).collect();
            let values: Vec<f64> = positive.iter().map(|&p| f64::from(u8::from(p))).collect();
            let want = slow(&values, &weights);
            // In any order of the rows.
            let order: Vec<usize> = (0..n).map(|i| (i * 17 + 3) % n).collect();
            let pick = |v: &[f64]| order.iter().map(|&i| v[i]).collect::<Vec<_>>();
            let picked: Vec<bool> = order.iter().map(|&i| positive[i]).collect();
            let curve = fit_isotonic(&pick(&outputs), &picked, &pick(&weights)).unwrap();
            for (f, want) in outputs.iter().zip(want) {
                assert!((curve.at(*f) - want).abs() < 1e-12, "{} {want}", curve.at(*f));
            }
        }
    }

    #[test]
    fn equal_outputs_share_their_mean_and_nothing_gives_nothing() {
        let curve = fit_isotonic(&[0.0, 0.0, 1.0, 1.0], &[true, false, true, true], &[1.0, 3.0, 1.0, 1.0]).unwrap();
        assert_eq!(curve, Curve { outputs: vec![0.0, 1.0], probabilities: vec![0.25, 1.0] });
        let falling = fit_isotonic(&[0.0, 1.0], &[true, false], &[1.0; 2]).unwrap();
        assert_eq!(falling, Curve { outputs: vec![0.0, 1.0], probabilities: vec![0.5, 0.5] });
        assert!(fit_isotonic(&[], &[], &[]).is_none() && fit_isotonic(&[1.0], &[true], &[0.0]).is_none());
    }
}
