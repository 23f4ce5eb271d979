//! Vectors chosen by Fisher's criterion, before a discriminant is trained on them (Diethe2015).
mod criterion;
mod deflation;
#[cfg(test)]
mod oracle;
mod pursuit;

pub use criterion::{FisherCriterion, Numerator};
pub use deflation::Deflation;
pub use pursuit::{FisherPursuit, Stage};
