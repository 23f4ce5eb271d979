//! Newton's method for the weights on rows that lie on a card: the frame of the vectors, systems, their factors and steps are made there, and only values come back.
use super::{
    card::Arg,
    sums::{FAILED, GRADIENT, MOVED, NORMS, OWN, PROMISED, SYSTEMS, WRONG, int},
    training::{CardRows, Placed, even},
    vectors::Gradient,
};
use crate::{Error, Result, linalg::Matrix};

/// Threads that factor a matrix, as in `cuda/newton.cu`.
const SOLVERS: usize = 384;

/// Values at weights.
#[derive(Clone, Debug)]
pub(crate) struct CardValues {
    /// Of each system.
    pub losses: Vec<f64>,
    pub errors: f64,
    /// Half of the squared weights of each output.
    pub norms: Vec<f64>,
}

/// Newton's step.
#[derive(Debug)]
pub(crate) struct CardStep {
    /// What half of it promises for each output, not a number where a system has no factor.
    pub promised: Vec<f64>,
    /// The values after all of it.
    pub after: CardValues,
}

/// What a search takes from the card.
#[derive(Debug)]
pub(crate) struct CardOptimum {
    /// Outputs x (m and the offset).
    pub weights: Matrix,
    /// m x outputs.
    pub coefficients: Matrix,
}

impl CardRows {
    /// Begins Newton's method at these weights, in the coordinates of the frame of the vectors with this jitter; its values, or none where the frame has no factor.
    pub fn begin(&mut self, jitter: f64, weights: &Matrix) -> Result<Option<CardValues>> {
        self.placed(|rows, placed| {
            rows.frame(placed, jitter)?;
            rows.card.join(&rows.stream, &rows.beside)?;
            rows.lay_coordinates(placed)?;
            rows.write_rows(weights, &mut placed.weights)?;
            rows.try_step(placed, Arg::Place(0), 0.0)?;
            let (_, values, failed) = rows.looked_at(placed)?;
            Ok((!failed).then_some(values))
        })
    }

    /// Newton's step from the weights that are gone on from, which were the last to be tried.
    pub fn step(&mut self) -> Result<CardStep> {
        self.placed(|rows, placed| {
            let (card, stream, m) = (&rows.card, &rows.stream, placed.m);
            rows.choose()?;
            rows.gradient(placed)?;
            rows.add_systems(placed)?;
            let (systems, gradient, wrong) = (rows.section(placed, SYSTEMS), rows.section(placed, GRADIENT), rows.section(placed, WRONG));
            let (q, width, each) = (rows.outputs, m + rows.offset, rows.outputs / rows.systems());
            let (weights, steps, stride) = (placed.weights.from(0), placed.steps.from(0), int(even(width)));
            let args = [systems, gradient, weights, steps, stride, int(m), int(width), int(q), int(each)];
            card.launch(stream, "prepared", [q, 1, 1], 256, 0, &args)?;
            let args = [systems, int(width), int(width), steps, stride, int(each), int(0), wrong];
            card.launch(stream, "factored", [rows.systems(), 1, 1], SOLVERS, 0, &args)?;
            let args = [systems, steps, stride, wrong, rows.section(placed, PROMISED), int(width), int(each)];
            card.launch(stream, "solved", [q, 1, 1], SOLVERS, 0, &args)?;
            rows.try_step(placed, Arg::Place(0), 1.0)?;
            let (promised, after, _) = rows.looked_at(placed)?;
            Ok(CardStep { promised, after })
        })
    }

    /// The values after a fraction of each output's step.
    pub fn after(&mut self, fractions: &[f64]) -> Result<CardValues> {
        self.placed(|rows, placed| {
            rows.card.write(&rows.stream, fractions, &mut placed.fractions, 0)?;
            rows.try_step(placed, placed.fractions.from(0), 0.0)?;
            Ok(rows.looked_at(placed)?.1)
        })
    }

    /// Goes on from the weights that were tried last.
    pub fn accept(&mut self) {
        if let Some(placed) = &mut self.small {
            std::mem::swap(&mut placed.weights, &mut placed.tried);
        }
    }

    /// The weights that are gone on from, which were the last to be tried, and their coefficients. Writes the gradient by the vectors, m x d, where there
    /// is space for it.
    pub fn optimum(&mut self, gradient: Gradient) -> Result<CardOptimum> {
        self.placed(|rows, placed| {
            let (card, stream, m, q, dim) = (&rows.card, &rows.stream, placed.m, rows.outputs, rows.dim);
            let (width, inverse, weights) = (m + rows.offset, placed.inverse.from(0), placed.weights.from(0));
            let args = [inverse, int(even(m)), weights, int(even(width)), placed.coefficients.from(0), int(even(q)), int(m)];
            card.launch(stream, "coefficients", [m.div_ceil(32), q, 1], 256, 0, &args)?;
            if gradient.is_wanted() {
                rows.choose()?;
                rows.move_vectors(placed)?;
                rows.move_by_vectors(placed)?;
                let (moved, own) = (rows.section(placed, MOVED), rows.section(placed, OWN));
                let out = match &gradient {
                    Gradient::Held(_) => placed.by_vectors.from(0),
                    Gradient::OnCard(gradient) => gradient.place()?,
                };
                let args = [moved, own, placed.z.from(0), int(even(dim + 1)), out, int(dim)];
                card.launch(stream, "vectors_gradient", [m, 1, 1], 256, 0, &args)?;
            }
            if matches!(&gradient, Gradient::Held(gradient) if !gradient.is_empty()) {
                card.fetch(stream, &placed.by_vectors, 0..m * dim, &mut placed.fetched_by_vectors)?;
            }
            card.fetch(stream, &placed.coefficients, 0..m * even(q), &mut placed.fetched_coefficients)?;
            card.fetch(stream, &placed.weights, 0..q * even(width), &mut placed.fetched)?;
            card.wait(stream)?;
            let coefficients = placed.fetched_coefficients.items()?;
            if let Gradient::Held(gradient) = gradient {
                gradient.copy_from_slice(&placed.fetched_by_vectors.items()?[..gradient.len()]);
            }
            Ok(CardOptimum {
                weights: matrix(&placed.fetched.items()?[..q * even(width)], q, width)?,
                coefficients: matrix(coefficients, m, q)?,
            })
        })
    }

    /// The inverse of the factor of the vectors' kernel matrix, beside the stream.
    fn frame(&self, placed: &Placed, jitter: f64) -> Result<()> {
        let (card, stream, m, stride) = (&self.card, &self.beside, placed.m, int(even(placed.m)));
        let (factor, inverse) = (placed.factor.from(0), placed.inverse.from(0));
        card.launch(stream, "framed", [m, 1, 1], 256, 0, &[placed.own_values.from(0), factor, inverse, stride, Arg::Double(jitter)])?;
        let args = [factor, int(m), stride, inverse, stride, int(m), int(1), self.section(placed, FAILED)];
        card.launch(stream, "factored", [1, 1, 1], SOLVERS, 0, &args)?;
        card.launch(stream, "turned", [m, 1, 1], 256, 0, &[inverse, stride])
    }

    /// Tries the weights after these parts of the step, or all of each.
    fn try_step(&self, placed: &Placed, parts: Arg, all: f64) -> Result<()> {
        let (m, width) = (placed.m, placed.m + self.offset);
        let (weights, steps, tried) = (placed.weights.from(0), placed.steps.from(0), placed.tried.from(0));
        let norms = self.section(placed, NORMS);
        let args = [weights, steps, parts, Arg::Double(all), tried, norms, int(m), int(width), int(even(width))];
        self.card.launch(&self.stream, "stepped", [self.outputs, 1, 1], 256, 0, &args)?;
        self.evaluate(placed, &placed.tried)
    }

    /// What was promised, the values at the weights that were tried, and whether the frame has no factor.
    fn looked_at(&self, placed: &mut Placed) -> Result<(Vec<f64>, CardValues, bool)> {
        let sections = self.sections(placed.m);
        let small = 0..sections.range(FAILED).end;
        self.card.fetch(&self.stream, &placed.sums, small.clone(), &mut placed.fetched)?;
        self.card.wait(&self.stream)?;
        let fetched = &placed.fetched.items()?[small];
        let (losses, rest) = fetched.split_at(self.systems() + 1);
        let (errors, losses) = losses.split_last().unwrap_or((&0.0, &[]));
        let values = CardValues { losses: losses.to_vec(), errors: *errors, norms: rest[..self.outputs].to_vec() };
        Ok((fetched[sections.range(PROMISED)].to_vec(), values, fetched[sections.range(FAILED).start] != 0.0))
    }
}

/// A matrix from rows with an even number of places.
fn matrix(numbers: &[f64], rows: usize, columns: usize) -> Result<Matrix> {
    let values = numbers.chunks_exact(even(columns)).take(rows).flat_map(|row| &row[..columns]).copied().collect();
    Matrix::new(values, rows, columns).ok_or(Error::Shape { what: "numbers", expected: rows * columns, found: numbers.len() })
}
