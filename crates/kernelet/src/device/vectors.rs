//! Vectors of a machine and the gradient by them, in memory or on a card.
#[cfg(feature = "cuda")]
use super::space::CardVector;
#[cfg(feature = "cuda")]
use crate::Error;
use crate::{Result, linalg::Matrix};

/// Vectors of a machine, a row for each.
#[derive(Clone, Copy, Debug)]
pub enum Vectors<'a> {
    /// In memory.
    Held(&'a Matrix),
    /// On a card: so many, of so many features.
    #[cfg(feature = "cuda")]
    OnCard(&'a CardVector, usize, usize),
}

impl<'a> Vectors<'a> {
    /// How many there are.
    pub fn rows(&self) -> usize {
        match self {
            Vectors::Held(vectors) => vectors.rows(),
            #[cfg(feature = "cuda")]
            Vectors::OnCard(_, rows, _) => *rows,
        }
    }

    /// The features of each.
    pub fn cols(&self) -> usize {
        match self {
            Vectors::Held(vectors) => vectors.cols(),
            #[cfg(feature = "cuda")]
            Vectors::OnCard(_, _, cols) => *cols,
        }
    }

    /// Those in memory.
    pub fn held(&self) -> Result<&'a Matrix> {
        match self {
            Vectors::Held(vectors) => Ok(vectors),
            #[cfg(feature = "cuda")]
            Vectors::OnCard(..) => Err(Error::device("the vectors are on the GPU, but are needed in memory")),
        }
    }
}

/// Space for the gradient by vectors.
#[derive(Debug)]
pub enum Gradient<'a> {
    /// In memory; empty where it is not wanted.
    Held(&'a mut [f64]),
    /// On a card.
    #[cfg(feature = "cuda")]
    OnCard(&'a mut CardVector),
}

impl<'a> Gradient<'a> {
    /// Whether there is any.
    pub fn is_wanted(&self) -> bool {
        !matches!(self, Gradient::Held([]))
    }

    /// That in memory.
    pub fn held(self) -> Result<&'a mut [f64]> {
        match self {
            Gradient::Held(numbers) => Ok(numbers),
            #[cfg(feature = "cuda")]
            Gradient::OnCard(_) => Err(Error::device("the gradient is on the GPU, but is needed in memory")),
        }
    }
}
