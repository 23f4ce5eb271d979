//! The sinc function with noise, the usual first example of regression.
//!
//! One feature x, uniform in [-10, 10); the target is sin(x)/x plus normal noise of a given standard deviation.
use super::{Dataset, Target};
use crate::{Error, Result, draw::Draw, linalg::Matrix};

/// `n` rows of sinc; `noise` is the standard deviation and must be a finite number of at least 0.
pub fn sinc(n: usize, noise: f64, seed: u64) -> Result<Dataset> {
    match noise.is_finite() && noise >= 0.0 {
        true => Ok(rows(n, noise, seed)),
        false => Err(Error::parameter("noise", noise, "a finite number of at least 0")),
    }
}

pub(super) fn rows(n: usize, noise: f64, seed: u64) -> Dataset {
    let mut draw = Draw::seeded(seed);
    let (x, y) = (0..n)
        .map(|_| {
            let x = draw.between(-10.0, 10.0);
            (x, value(x) + noise * draw.normal())
        })
        .unzip();
    Dataset::new(Matrix::column(x), Target::Values(Matrix::column(y)))
}

fn value(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.sin() / x }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn targets_are_the_function_plus_noise_of_the_given_size() {
        for noise in [0.0, 0.1, 2.0] {
            let data = sinc(10_000, noise, 1).unwrap();
            let (x, y) = (data.points.to_dense(), data.values().unwrap());
            let rest: Vec<f64> = x.values().iter().zip(y.values()).map(|(&x, y)| y - value(x)).collect();
            assert!(rest.iter().sum::<f64>().abs() / 10_000.0 <= 0.04 * noise);
            let variance = rest.iter().map(|r| r * r).sum::<f64>() / 10_000.0;
            assert!((variance - noise * noise).abs() <= 0.06 * noise * noise, "{variance}");
            assert_near(x.values().iter().map(|x| x * x).sum::<f64>() / 10_000.0, 100.0 / 3.0, 1.2);
        }
        assert_eq!(value(0.0), 1.0);
    }

    #[test]
    fn bad_noise_is_rejected_with_an_error() {
        for noise in [-0.1, f64::NAN, f64::INFINITY] {
            let text = sinc(3, noise, 0).unwrap_err().to_string();
            assert_eq!(text, format!("noise is {noise}, but must be a finite number of at least 0"));
        }
    }
}
