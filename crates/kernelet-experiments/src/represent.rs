//! How well rows are described by few vectors: the mean squared distance in feature space from the span of a basis, or from the plane of
//! kernel PCA, which no span of as many directions is nearer to on its own rows.
use kernelet::{basis::Frame, data::Dataset, evaluate::reconstruction, request::LearnerName, watch::Watch};

use super::{
    description::Set,
    settings::{self, Asked},
};

/// The mean squared distances of training and test rows, and the number of vectors or directions.
pub struct Described {
    /// Of the training rows.
    pub train: f64,
    /// Of the test rows.
    pub test: f64,
    /// Vectors of the basis, or components.
    pub vectors: usize,
}

/// Describes rows as a request says: the learner `pca` with `components`, or a method with `vectors` for a basis.
pub fn described(set: &Set, asked: &Asked, seed: u64, train: &Dataset, test: &Dataset, watch: &Watch) -> Result<Described, String> {
    let words = |error: kernelet::Error| error.to_string();
    let read = settings::read(asked, seed)?;
    if read.learner() == LearnerName::Pca {
        let machine = set.learn(asked, None, seed, train, watch)?.machine;
        let distance = |data: &Dataset| reconstruction(&machine, &data.points).map(|found| found.residual).map_err(words);
        return Ok(Described { train: distance(train)?, test: distance(test)?, vectors: machine.n_outputs() });
    }
    let chosen = read.span(&train.points, watch).map_err(words)?;
    let frame: &Frame = &chosen.basis.frame;
    let distance = |data: &Dataset| {
        let gaps = frame.gaps(&data.points);
        gaps.iter().sum::<f64>() / gaps.len().max(1) as f64
    };
    Ok(Described { train: distance(train), test: distance(test), vectors: frame.len() })
}
