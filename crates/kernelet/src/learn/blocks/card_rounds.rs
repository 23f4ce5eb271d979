//! Newton's method for the weights on rows that lie on a card.
use super::{
    newton::{Beginning, Optimum, Rounds},
    solver::NO_FACTOR,
};
use crate::{
    Error, Result,
    basis::{JITTER, raising},
    device::{CardRows, CardStep, CardValues, Gradient},
    linalg::Matrix,
};

/// Newton's method on the card.
pub(super) struct CardRounds<'a> {
    rows: &'a mut CardRows,
    weights: Matrix,
    n_outputs: usize,
    n_rows: f64,
    /// The values at the weights that were tried last, and whether these are the ones to go on from.
    last: Option<CardValues>,
    here: bool,
    /// The values after the last step, until they are asked for.
    stepped: Option<CardValues>,
    tries: u64,
}

impl<'a> CardRounds<'a> {
    /// Rounds on rows with the vectors that were placed last.
    pub fn new(rows: &'a mut CardRows, from: &Beginning, n_rows: f64) -> Self {
        let (weights, n_outputs) = (from.weights.transposed(), from.problem.n_outputs);
        CardRounds { rows, weights, n_outputs, n_rows, last: None, here: false, stepped: None, tries: 0 }
    }

    fn values(&mut self, found: CardValues) -> Vec<f64> {
        let values = match found.losses.len() {
            1 => vec![found.losses[0] + found.norms.iter().sum::<f64>()],
            _ => found.losses.iter().zip(&found.norms).map(|(loss, norm)| loss + norm).collect(),
        };
        self.last = Some(found);
        values
    }

    fn tried(&mut self, parts: &[f64]) -> Result<CardValues> {
        let fractions: Vec<f64> = (0..self.n_outputs).map(|k| parts[k.min(parts.len() - 1)]).collect();
        self.tries += 1;
        self.rows.after(&fractions)
    }
}

impl Rounds for CardRounds<'_> {
    fn begin(&mut self) -> Result<Vec<f64>> {
        let (rows, weights) = (&mut *self.rows, &self.weights);
        let found = raising(JITTER, |jitter| rows.begin(jitter, weights))?;
        (self.here, self.tries) = (true, self.tries + 1);
        Ok(self.values(found))
    }

    fn step(&mut self) -> Result<f64> {
        let CardStep { promised, after } = self.rows.step()?;
        (self.stepped, self.here, self.tries) = (Some(after), false, self.tries + 1);
        match promised.iter().any(|promised| promised.is_nan()) {
            true => Err(Error::data(NO_FACTOR)),
            false => Ok(promised.iter().sum()),
        }
    }

    fn after(&mut self, parts: &[f64]) -> Result<Vec<f64>> {
        let found = match self.stepped.take().filter(|_| parts.iter().all(|part| *part == 1.0)) {
            Some(found) => found,
            None => self.tried(parts)?,
        };
        self.here = false;
        Ok(self.values(found))
    }

    fn accept(&mut self) {
        self.rows.accept();
        self.here = true;
    }

    fn finish(&mut self, value: f64, gradient: Gradient) -> Result<Optimum> {
        if !self.here {
            let found = self.tried(&[0.0])?;
            self.values(found);
        }
        let found = self.rows.optimum(gradient)?;
        let (x, coefficients) = (found.weights.transposed(), found.coefficients);
        let errors = self.last.as_ref().map_or(0.0, |last| last.errors);
        Ok(Optimum { x, coefficients, value, rows: self.n_rows, errors })
    }

    fn passes(&self) -> u64 {
        self.tries
    }

    fn is_eager(&self) -> bool {
        true
    }
}
