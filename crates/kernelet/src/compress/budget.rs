//! When to stop adding vectors.
use crate::{Error, Result, clock::Clock};

/// When to stop: whichever bound is met first.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The most vectors; for methods that treat each output separately, of each output.
    pub max_vectors: usize,
    /// Stop once the residual is at most this fraction of the residual without vectors.
    pub max_residual: f64,
    /// Stop after this long.
    pub max_seconds: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { max_vectors: usize::MAX, max_residual: 0.0, max_seconds: f64::INFINITY }
    }
}

impl Budget {
    /// So many vectors.
    pub fn vectors(max_vectors: usize) -> Self {
        Budget { max_vectors, ..Budget::default() }
    }

    /// An error when a bound makes no sense.
    pub fn check(&self) -> Result<()> {
        if self.max_vectors == 0 {
            return Err(Error::parameter("vectors", 0, "at least 1"));
        }
        if !(0.0..=1.0).contains(&self.max_residual) {
            return Err(Error::parameter("max-residual", self.max_residual, "between 0 and 1, a fraction of the residual without vectors"));
        }
        match self.max_seconds > 0.0 {
            true => Ok(()),
            false => Err(Error::parameter("max-seconds", self.max_seconds, "above 0")),
        }
    }
}

/// A budget being spent.
pub(crate) struct Spending<'a> {
    budget: &'a Budget,
    begun: Clock,
}

impl<'a> Spending<'a> {
    pub fn begin(budget: &'a Budget) -> Self {
        Spending { budget, begun: Clock::start() }
    }

    /// True when a machine of so many vectors, whose residual is this part of the first, is enough.
    pub fn is_spent(&self, vectors: usize, relative_residual: f64) -> bool {
        vectors >= self.budget.max_vectors || relative_residual <= self.budget.max_residual || self.out_of_time()
    }

    /// True when the time is over.
    pub fn out_of_time(&self) -> bool {
        self.begun.seconds() >= self.budget.max_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_checked_with_an_error() {
        assert!(Budget::vectors(3).check().is_ok());
        assert_eq!(Budget::vectors(0).check().unwrap_err().to_string(), "vectors is 0, but must be at least 1");
        assert!(Budget { max_residual: 2.0, ..Budget::default() }.check().is_err());
        assert!(Budget { max_residual: f64::NAN, ..Budget::default() }.check().is_err());
        assert!(Budget { max_seconds: 0.0, ..Budget::default() }.check().is_err());
    }

    #[test]
    fn the_first_bound_met_ends_the_run() {
        let budget = Budget { max_residual: 0.1, ..Budget::vectors(5) };
        let spending = Spending::begin(&budget);
        assert!(!spending.is_spent(4, 0.5) && spending.is_spent(5, 0.5) && spending.is_spent(1, 0.1));
        let none = Budget { max_seconds: 1e-9, ..Budget::default() };
        assert!(Spending::begin(&none).is_spent(0, 1.0));
    }
}
