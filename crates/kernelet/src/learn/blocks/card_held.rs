//! Rows on a card, scaled and less a centre: all of them, or as many as a pass looks at side by side.
use std::sync::Arc;

use crate::parallel::*;

use super::{
    ask::{FitAsk, Problem},
    losses::Losses,
    sums::FitSums,
};
use crate::{
    Error, Result,
    basis::Frame,
    data::{Points, RowBlock},
    device::{Card, CardLoss, CardRows, RowParts, Vectors, Wanted},
    kernel::Kernel,
    linalg::{Lower, Matrix, dot},
};

/// Rows that one thread works on at a time.
const ROWS: usize = 16;

/// Rows on the card.
pub(super) struct Held {
    pub problem: Problem,
    pub rows: CardRows,
    centre: Vec<f64>,
    /// What the coordinates on the card are of.
    placed: Option<(Matrix, Matrix, f64)>,
}

/// The mean of rows.
fn mean(points: &Points) -> Vec<f64> {
    let (mut sums, mut row) = (vec![0.0; points.dim()], vec![0.0; points.dim()]);
    for i in 0..points.len() {
        points.copy_rows(i..i + 1, row.len(), &mut row);
        sums.iter_mut().zip(&row).for_each(|(s, v)| *s += v);
    }
    sums.iter_mut().for_each(|s| *s /= points.len().max(1) as f64);
    sums
}

impl Held {
    /// Space for `n` rows, less the mean of these.
    pub fn new(card: Arc<Card>, n: usize, problem: &Problem, first: &Points) -> Result<Self> {
        let centre = mean(first);
        let rows = CardRows::new(card, n, &centre, problem.n_outputs, problem.offset() == 1, loss(problem))?;
        Ok(Held { problem: problem.clone(), rows, centre, placed: None })
    }

    /// Makes place for other rows.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.placed = None;
    }

    /// The coordinates that are there become those of no factor that is known here.
    pub fn forget(&mut self) {
        self.placed = None;
    }

    /// The sums of an ask over the rows that are there.
    pub fn fit(&mut self, ask: &FitAsk) -> Result<FitSums> {
        let gamma = width(&ask.kernel)?;
        let here = (&ask.vectors, &ask.factor, gamma);
        if self.placed.as_ref().is_none_or(|(vectors, factor, gamma)| (vectors, factor, *gamma) != here) {
            self.placed = None;
            self.rows.place(gamma, Vectors::Held(&ask.vectors))?;
            self.rows.use_inverse(&inverse(&ask.factor))?;
            self.placed = Some((ask.vectors.clone(), ask.factor.clone(), gamma));
        }
        let coefficients = ask.vectors_gradient.then(|| coefficients(ask));
        let direction = ask.direction.as_ref().map(Matrix::transposed);
        let sums = self.rows.sums(&Wanted {
            weights: &ask.weights.transposed(),
            systems: ask.systems,
            coefficients: coefficients.as_ref(),
            direction: direction.as_ref(),
        })?;
        let (moved, totals) = self.moved(&sums.moved);
        Ok(FitSums {
            rows: self.rows.len() as f64,
            errors: sums.errors,
            losses: sums.losses,
            systems: sums.systems,
            gradient: sums.gradient,
            moved,
            totals,
            metric: vec![],
            curved: sums.curved,
        })
    }

    /// Puts rows on the card behind those that are there, scaled and less the centre.
    pub fn push(&mut self, block: &RowBlock, points: &Points) -> Result<()> {
        let losses = Losses::new(&self.problem, block)?;
        let (codes, targets, costs) = losses.parts();
        let (dim, n) = (self.centre.len(), points.len());
        let places = (dim + 1).next_multiple_of(2);
        let mut squares = vec![0.0; n];
        let sending = self.rows.sending(n)?.par_chunks_mut(ROWS * places);
        sending.zip(squares.par_chunks_mut(ROWS)).enumerate().for_each(|(part, (rows, squares))| {
            for ((i, row), square) in rows.chunks_exact_mut(places).enumerate().zip(squares) {
                let (row, behind) = row.split_at_mut(dim);
                points.copy_rows(part * ROWS + i..part * ROWS + i + 1, dim, row);
                row.iter_mut().zip(&self.centre).for_each(|(v, c)| *v -= c);
                behind.fill(0.0);
                behind[0] = 1.0;
                *square = dot(row, row);
            }
        });
        let codes: Vec<i32> = codes.iter().map(|code| *code as i32).collect();
        self.rows.push(&RowParts { squares: &squares, codes: &codes, targets: targets.values(), costs })
    }

    /// Weighted sums of rows and the sums of their weights, from those of rows less the centre, behind each of which stands the sum of its weights.
    fn moved(&self, sums: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let dim = self.centre.len();
        let each = sums.chunks_exact(dim + 1);
        let totals = each.clone().map(|row| row[dim]).collect();
        (each.flat_map(|row| row[..dim].iter().zip(&self.centre).map(|(v, c)| v + row[dim] * c)).collect(), totals)
    }
}

/// The width of a kernel that a card trains with.
pub(super) fn width(kernel: &Kernel) -> Result<f64> {
    let Kernel::Gaussian(gaussian) = kernel else {
        let with = format!("the {} kernel", kernel.name());
        let instead = "use the gaussian kernel, or the device cpu".into();
        return Err(Error::Unsupported { method: "training on a GPU", with, instead });
    };
    Ok(gaussian.gamma)
}

/// The number of a loss in `cuda/losses.cu`.
fn loss(problem: &Problem) -> CardLoss {
    use super::ask::RowLossName;
    match (problem.loss, problem.n_outputs) {
        (RowLossName::SquaredHinge, _) => CardLoss::SquaredHinge,
        (RowLossName::Taught, _) => CardLoss::Taught,
        (RowLossName::Logistic, 1) => CardLoss::Logistic,
        (RowLossName::Logistic, _) => CardLoss::Softmax,
        (RowLossName::Squared, _) => CardLoss::Squared,
    }
}

/// The coefficients on the vectors of an ask.
fn coefficients(ask: &FitAsk) -> Matrix {
    let frame = Frame::of(&ask.kernel, &ask.vectors.clone().into(), Lower::new(ask.factor.clone()));
    frame.coefficients(&ask.weights.select(&(0..ask.vectors.rows()).collect::<Vec<_>>()))
}

/// The inverse of a lower triangle.
fn inverse(factor: &Matrix) -> Matrix {
    let (m, lower) = (factor.rows(), Lower::new(factor.clone()));
    let mut columns = Matrix::from_fn(m, m, |i, j| f64::from(u8::from(i == j)));
    columns.values_mut().par_chunks_mut(ROWS * m.max(1)).for_each(|rows| lower.solve_rows(rows));
    columns.transposed()
}
