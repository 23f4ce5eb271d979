//! Newton's method for the weights on rows that lie on a card: systems are summed, factored and solved there, and only values come back.
use super::{
    sums::{GRADIENT, MOVED, NORMS, OWN, PROMISED, SYSTEMS, int},
    training::{CardRows, Placed},
};
use crate::{Error, Result, linalg::Matrix};

/// Threads that solve a system, as in `cuda/sums.cu`.
const SOLVERS: usize = 256;

/// Values at weights.
#[derive(Debug)]
pub(crate) struct CardValues {
    /// Of each system.
    pub losses: Vec<f64>,
    pub errors: f64,
    /// Half of the squared weights of each output.
    pub norms: Vec<f64>,
}

impl CardRows {
    /// Begins Newton's method at these weights; its values.
    pub fn begin(&mut self, weights: &Matrix) -> Result<CardValues> {
        self.placed(|rows, placed| {
            rows.card.write(&rows.stream, weights.values(), &mut placed.weights, 0)?;
            rows.try_step(placed, &vec![0.0; rows.outputs])
        })
    }

    /// Newton's step from the weights of the last values; what half of it promises for each output, not a number where a system has no factor.
    pub fn step(&mut self) -> Result<Vec<f64>> {
        self.placed(|rows, placed| {
            let (card, stream, m) = (&rows.card, &rows.stream, placed.m);
            let sections = rows.sections(m);
            rows.gradient(placed)?;
            rows.choose()?;
            rows.add_systems(placed)?;
            let at = |section: usize| placed.sums.from(sections.range(section).start);
            let (weights, steps) = (placed.weights.from(0), placed.steps.from(0));
            let args = [at(SYSTEMS), at(GRADIENT), weights, steps, at(PROMISED), int(m), int(m + rows.offset), int(rows.outputs)];
            card.launch(stream, "newton_steps", [rows.systems(), 1, 1], SOLVERS, 0, &args)?;
            card.fetch(stream, &placed.sums, sections.range(PROMISED), &mut placed.fetched)?;
            card.wait(stream)?;
            Ok(placed.fetched.items()?[..rows.outputs].to_vec())
        })
    }

    /// The values after a fraction of each output's step.
    pub fn after(&mut self, fractions: &[f64]) -> Result<CardValues> {
        self.placed(|rows, placed| rows.try_step(placed, fractions))
    }

    /// Goes on from the weights of the last [`CardRows::after`].
    pub fn accept(&mut self) {
        if let Some(placed) = &mut self.small {
            std::mem::swap(&mut placed.weights, &mut placed.tried);
        }
    }

    /// The weights, outputs x (m and the offset).
    pub fn weights(&mut self) -> Result<Matrix> {
        self.placed(|rows, placed| {
            let (q, width) = (rows.outputs, placed.m + rows.offset);
            rows.card.fetch(&rows.stream, &placed.weights, 0..q * width, &mut placed.fetched)?;
            rows.card.wait(&rows.stream)?;
            let weights = placed.fetched.items()?[..q * width].to_vec();
            Matrix::new(weights, q, width).ok_or(Error::Shape { what: "weights", expected: q * width, found: 0 })
        })
    }

    /// Sums for the gradient by the vectors, for the rows' slopes at the weights and for the vectors themselves: m x (d + 1).
    pub fn moved(&mut self, coefficients: &Matrix) -> Result<Vec<f64>> {
        self.placed(|rows, placed| {
            let sections = rows.sections(placed.m);
            let (rows_part, own_part) = (sections.range(MOVED), sections.range(OWN));
            rows.choose()?;
            rows.move_vectors(placed, coefficients)?;
            rows.move_by_vectors(placed)?;
            let items = rows_part.start..own_part.end;
            rows.card.fetch(&rows.stream, &placed.sums, items.clone(), &mut placed.fetched)?;
            rows.card.wait(&rows.stream)?;
            let (of_rows, own) = placed.fetched.items()?[..items.len()].split_at(rows_part.len());
            Ok(of_rows.iter().zip(own).map(|(a, b)| a + b).collect())
        })
    }

    fn try_step(&self, placed: &mut Placed, fractions: &[f64]) -> Result<CardValues> {
        let (card, stream, m, q) = (&self.card, &self.stream, placed.m, self.outputs);
        let sections = self.sections(m);
        card.write(stream, fractions, &mut placed.fractions, 0)?;
        let norms = placed.sums.from(sections.range(NORMS).start);
        let (weights, steps, fractions) = (placed.weights.from(0), placed.steps.from(0), placed.fractions.from(0));
        let args = [weights, steps, fractions, placed.tried.from(0), norms, int(m), int(m + self.offset)];
        card.launch(stream, "stepped", [q, 1, 1], 256, 0, &args)?;
        self.evaluate(placed, &placed.tried)?;
        let small = 0..sections.range(NORMS).end;
        card.fetch(stream, &placed.sums, small.clone(), &mut placed.fetched)?;
        card.wait(stream)?;
        let fetched = &placed.fetched.items()?[small];
        let (losses, norms) = fetched.split_at(self.systems() + 1);
        let (errors, losses) = losses.split_last().unwrap_or((&0.0, &[]));
        Ok(CardValues { losses: losses.to_vec(), errors: *errors, norms: norms.to_vec() })
    }
}
