//! Made-up data sets: problems whose law is known, so that any number of rows can be drawn.
//!
//! Rows are drawn one after the other and independently, the class by its share: the first rows of a larger set with the same
//! seed are the smaller set. Features come as the formulas have them; the published copies of some sets are standardised.
//! Two-class labels are `-1` and `1`.
mod banana;
mod clouds;
mod gaussian;
mod noisy;
mod ringnorm;
mod ripley;
mod sinc;
mod twonorm;
mod waveform;

pub use banana::banana;
pub use clouds::clouds;
pub use gaussian::gaussian;
pub use noisy::noisy;
pub use ringnorm::ringnorm;
pub use ripley::ripley;
pub use sinc::sinc;
pub use twonorm::twonorm;
pub use waveform::{waveform, waveform3};

use super::{Classes, Dataset, Label, Target};
use crate::{Error, Result, draw::Draw, linalg::Matrix};

/// A made-up data set, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// See [`banana`].
    Banana,
    /// See [`clouds`]; 10 features.
    Clouds,
    /// See [`gaussian`]; 100 features.
    Gaussian,
    /// See [`noisy`]; 20 features.
    Noisy,
    /// See [`ringnorm`].
    Ringnorm,
    /// See [`ripley`].
    Ripley,
    /// See [`sinc`]; noise 0.1.
    Sinc,
    /// See [`twonorm`].
    Twonorm,
    /// See [`waveform`].
    Waveform,
    /// See [`waveform3`].
    Waveform3,
}

impl Generator {
    /// Every generator, by name.
    pub const ALL: [Generator; 10] = [
        Generator::Banana,
        Generator::Clouds,
        Generator::Gaussian,
        Generator::Noisy,
        Generator::Ringnorm,
        Generator::Ripley,
        Generator::Sinc,
        Generator::Twonorm,
        Generator::Waveform,
        Generator::Waveform3,
    ];

    /// The name, as the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Generator::Banana => "banana",
            Generator::Clouds => "clouds",
            Generator::Gaussian => "gaussian",
            Generator::Noisy => "noisy",
            Generator::Ringnorm => "ringnorm",
            Generator::Ripley => "ripley",
            Generator::Sinc => "sinc",
            Generator::Twonorm => "twonorm",
            Generator::Waveform => "waveform",
            Generator::Waveform3 => "waveform3",
        }
    }

    /// All names.
    pub fn names() -> Vec<&'static str> {
        Generator::ALL.into_iter().map(Generator::name).collect()
    }

    /// The generator with this name, or None.
    pub fn named(name: &str) -> Option<Self> {
        Generator::ALL.into_iter().find(|generator| generator.name() == name)
    }

    /// `n` rows.
    pub fn make(self, n: usize, seed: u64) -> Dataset {
        match self {
            Generator::Banana => banana(n, seed),
            Generator::Clouds => clouds::rows(n, 10, seed),
            Generator::Gaussian => gaussian::rows(n, 100, seed),
            Generator::Noisy => noisy::rows(n, 20, seed),
            Generator::Ringnorm => ringnorm(n, seed),
            Generator::Ripley => ripley(n, seed),
            Generator::Sinc => sinc::rows(n, 0.1, seed),
            Generator::Twonorm => twonorm(n, seed),
            Generator::Waveform => waveform(n, seed),
            Generator::Waveform3 => waveform3(n, seed),
        }
    }
}

/// `n` rows in two classes: `row` fills the features and says whether the label is `1`.
fn two_classes(n: usize, dim: usize, seed: u64, mut row: impl FnMut(&mut Draw, &mut [f64]) -> bool) -> Dataset {
    classes(n, dim, &["-1", "1"], seed, |draw, x| row(draw, x).into())
}

/// `n` rows: `row` fills the features and returns the place of the label.
fn classes(n: usize, dim: usize, labels: &[&str], seed: u64, mut row: impl FnMut(&mut Draw, &mut [f64]) -> u32) -> Dataset {
    let mut draw = Draw::seeded(seed);
    let mut points = Matrix::zeros(n, dim);
    let codes: Vec<u32> = (0..n).map(|i| row(&mut draw, points.row_mut(i))).collect();
    let labels = labels.iter().map(|&text| Label::new(text)).collect();
    Dataset::new(points, Target::Classes(Classes::new(labels, &codes)))
}

fn check_dim(dim: usize) -> Result<()> {
    match dim {
        0 => Err(Error::parameter("dim", dim, "at least 1")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Points;

    /// The dense rows with the code of each class.
    pub fn labelled(data: &Dataset) -> Vec<(&[f64], u32)> {
        match &data.points {
            Points::F64(matrix) => matrix.iter().zip(data.classes().unwrap().codes.iter().copied()).collect(),
            _ => panic!("made-up data are dense"),
        }
    }

    /// The share of rows for which `rule` does not give the class.
    pub fn error_of(data: &Dataset, rule: impl Fn(&[f64]) -> u32) -> f64 {
        labelled(data).iter().filter(|(x, code)| rule(x) != *code).count() as f64 / data.len() as f64
    }

    /// Mean and variance of each feature within one class.
    pub fn moments(data: &Dataset, class: u32) -> (Vec<f64>, Vec<f64>) {
        let rows: Vec<&[f64]> = labelled(data).into_iter().filter(|(_, code)| *code == class).map(|(x, _)| x).collect();
        let average = |f: &dyn Fn(&[f64]) -> f64| rows.iter().map(|x| f(x)).sum::<f64>() / rows.len() as f64;
        let means: Vec<f64> = (0..data.dim()).map(|j| average(&|x| x[j])).collect();
        let variances = (0..data.dim()).map(|j| average(&|x| (x[j] - means[j]).powi(2))).collect();
        (means, variances)
    }

    pub fn squared_distance(x: &[f64], centre: &[f64]) -> f64 {
        x.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum()
    }

    pub fn assert_near(have: f64, want: f64, error: f64) {
        assert!((have - want).abs() < error, "{have} is not within {error} of {want}");
    }

    #[test]
    fn every_set_has_a_name_and_depends_on_its_seed_alone() {
        for generator in Generator::ALL {
            let name = generator.name();
            assert_eq!(Generator::named(name), Some(generator));
            let data = generator.make(40, 7);
            assert!(data.check().is_ok() && data.len() == 40, "{name}");
            assert_eq!(data, generator.make(40, 7), "{name}");
            assert_ne!(data, generator.make(40, 8), "{name}");
            let first: Vec<usize> = (0..40).collect();
            assert_eq!(data, generator.make(100, 7).select(&first), "{name}");
            assert!(generator.make(0, 7).is_empty(), "{name}");
        }
        assert_eq!(Generator::named("apple"), None);
        assert_eq!(Generator::names()[0], "banana");
    }

    #[test]
    fn the_first_row_of_each_seed_is_fixed() {
        let first = [
            (Generator::Banana, 1.3467270457152913),
            (Generator::Clouds, -2.0141138415208957),
            (Generator::Noisy, -0.17473207738360572),
            (Generator::Ringnorm, -1.5070569207604478),
            (Generator::Ripley, -0.6186208555075388),
            (Generator::Sinc, -1.9502867267030393),
            (Generator::Twonorm, -0.306314864880266),
            (Generator::Waveform, 0.4698427097914394),
            (Generator::Waveform3, 0.4698427097914394),
        ];
        for (generator, want) in first {
            assert_near(generator.make(1, 1).points.to_dense().at(0, 0), want, 1e-12);
        }
    }

    #[test]
    fn classes_have_their_shares() {
        for generator in Generator::ALL.into_iter().filter(|g| *g != Generator::Sinc) {
            let data = generator.make(9000, 3);
            let counts = data.classes().unwrap().counts();
            let share = match generator {
                Generator::Banana => 0.55,
                Generator::Waveform => 2.0 / 3.0,
                Generator::Waveform3 => 1.0 / 3.0,
                _ => 0.5,
            };
            // Four standard errors of a share of a half.
            assert_near(counts[0] as f64 / 9000.0, share, 0.021);
            let texts: Vec<&str> = data.classes().unwrap().labels.iter().map(Label::text).collect();
            assert_eq!(texts, if generator == Generator::Waveform3 { vec!["1", "2", "3"] } else { vec!["-1", "1"] });
        }
    }
}
