//! Passes over rows that lie on a card. The same sums as those of [`LocalEngine`], in double precision; the order in which they are added is the card's, and depends on
//! sizes alone.
use std::sync::Arc;

use crate::parallel::*;

use super::{
    ask::{Ask, FitAsk, Problem},
    card_rounds::CardRounds,
    engine::{Engine, LocalEngine},
    losses::Losses,
    newton::{Beginning, Rounds},
    sums::{FitSums, Sums},
};
use crate::{
    Error, Result,
    basis::Frame,
    data::{Points, RowBlock, RowBlocks},
    device::{Card, CardLoss, CardRows, CardSpace, RowParts, Vectors, Wanted},
    kernel::Kernel,
    learn::direct::Transform,
    linalg::{Lower, Matrix, dot},
};

/// Rows that one thread works on at a time.
const ROWS: usize = 16;

/// Blocks whose rows a card holds from the first fit on. The pass before all others, of which a sample of rows comes back, is the processor's.
pub struct CardEngine<'a> {
    blocks: &'a dyn RowBlocks,
    card: Arc<Card>,
    held: Option<Held>,
}

/// Rows on the card.
struct Held {
    problem: Problem,
    rows: CardRows,
    centre: Vec<f64>,
    /// What the coordinates on the card are of.
    placed: Option<(Matrix, Matrix, f64)>,
}

impl<'a> CardEngine<'a> {
    /// Opens the card with this number.
    pub fn new(number: usize, blocks: &'a dyn RowBlocks) -> Result<Self> {
        Ok(CardEngine { blocks, card: Card::open(number)?, held: None })
    }

    /// The rows on the card, for this problem and kernel with this width.
    fn held(&mut self, problem: &Problem, kernel: &Kernel, dim: usize) -> Result<(&mut Held, f64)> {
        let Kernel::Gaussian(gaussian) = kernel else {
            let with = format!("the {} kernel", kernel.name());
            return Err(Error::Unsupported {
                method: "training on a GPU",
                with,
                instead: "use the gaussian kernel, or the device cpu".into(),
            });
        };
        if self.held.as_ref().is_none_or(|held| held.problem != *problem) {
            self.held = None;
            self.held = Some(self.upload(problem, dim)?);
        }
        let Some(held) = self.held.as_mut() else { return Err(Error::data("there are no rows")) };
        Ok((held, gaussian.gamma))
    }

    /// The rows on the card, with the coordinates on the vectors of an ask.
    fn place(&mut self, ask: &FitAsk) -> Result<&mut Held> {
        let (held, gamma) = self.held(&ask.problem, &ask.kernel, ask.vectors.cols())?;
        let here = (&ask.vectors, &ask.factor, gamma);
        if held.placed.as_ref().is_none_or(|(vectors, factor, gamma)| (vectors, factor, *gamma) != here) {
            held.placed = None;
            held.rows.place(gamma, Vectors::Held(&ask.vectors))?;
            held.rows.use_inverse(&inverse(&ask.factor))?;
            held.placed = Some((ask.vectors.clone(), ask.factor.clone(), gamma));
        }
        Ok(held)
    }

    fn fit(&mut self, ask: &FitAsk) -> Result<FitSums> {
        let n_rows = self.blocks.outline().n_rows as f64;
        let held = self.place(ask)?;
        let coefficients = ask.vectors_gradient.then(|| coefficients(ask, &ask.weights));
        let direction = ask.direction.as_ref().map(Matrix::transposed);
        let sums = held.rows.sums(&Wanted {
            weights: &ask.weights.transposed(),
            systems: ask.systems,
            coefficients: coefficients.as_ref(),
            direction: direction.as_ref(),
        })?;
        let (moved, totals) = held.moved(&sums.moved);
        debug_assert!(sums.gradient.len() == ask.weights.rows() * ask.weights.cols());
        Ok(FitSums {
            rows: n_rows,
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

    /// Puts all rows on the card, scaled and less the mean of the first block.
    fn upload(&self, problem: &Problem, dim: usize) -> Result<Held> {
        let n = usize::try_from(self.blocks.outline().n_rows).unwrap_or(usize::MAX);
        let loss = CardLoss::of(problem);
        let offset = problem.offset() == 1;
        let mut held: Option<Held> = None;
        let mut shifted = vec![];
        for index in 0..self.blocks.n_blocks() {
            let block = self.blocks.block(index)?;
            let scaled = problem.scale.as_ref().map(|scale| scale.apply(&block.points)).transpose()?;
            let points = scaled.as_ref().unwrap_or(&block.points);
            if points.dim() != dim {
                return Err(Error::Shape { what: "features", expected: dim, found: points.dim() });
            }
            let held = match &mut held {
                Some(held) => held,
                none => {
                    let centre = mean(points);
                    let rows = CardRows::new(self.card.clone(), n, &centre, problem.n_outputs, offset, loss)?;
                    none.insert(Held { problem: problem.clone(), rows, centre, placed: None })
                }
            };
            held.push(&block, points, &mut shifted)?;
        }
        held.ok_or_else(|| Error::data("there are no rows"))
    }
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
    /// Puts rows on the card, less the centre; `shifted` is space for them.
    fn push(&mut self, block: &RowBlock, points: &Points, shifted: &mut Vec<f64>) -> Result<()> {
        let losses = Losses::new(&self.problem, block)?;
        let (codes, targets, costs) = losses.parts();
        let (dim, n) = (self.centre.len(), points.len());
        let places = (dim + 1).next_multiple_of(2);
        let mut squares = vec![0.0; n];
        shifted.resize(n * places, 0.0);
        shifted.par_chunks_mut(ROWS * places).zip(squares.par_chunks_mut(ROWS)).enumerate().for_each(|(part, (rows, squares))| {
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
        self.rows.push(&RowParts { rows: shifted, squares: &squares, codes: &codes, targets: targets.values(), costs })
    }

    /// Weighted sums of rows and the sums of their weights, from those of rows less the centre, behind each of which stands the sum of its weights.
    fn moved(&self, sums: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let dim = self.centre.len();
        let each = sums.chunks_exact(dim + 1);
        let totals = each.clone().map(|row| row[dim]).collect();
        (each.flat_map(|row| row[..dim].iter().zip(&self.centre).map(|(v, c)| v + row[dim] * c)).collect(), totals)
    }
}

/// The coefficients on the vectors of an ask.
fn coefficients(ask: &FitAsk, weights: &Matrix) -> Matrix {
    let frame = Frame::of(&ask.kernel, &ask.vectors.clone().into(), Lower::new(ask.factor.clone()));
    frame.coefficients(&weights.select(&(0..ask.vectors.rows()).collect::<Vec<_>>()))
}

impl CardLoss {
    fn of(problem: &Problem) -> Self {
        use super::ask::RowLossName;
        match (problem.loss, problem.n_outputs) {
            (RowLossName::SquaredHinge, _) => CardLoss::SquaredHinge,
            (RowLossName::Logistic, 1) => CardLoss::Logistic,
            (RowLossName::Logistic, _) => CardLoss::Softmax,
            (RowLossName::Squared, _) => CardLoss::Squared,
        }
    }
}

/// The inverse of a lower triangle.
fn inverse(factor: &Matrix) -> Matrix {
    let (m, lower) = (factor.rows(), Lower::new(factor.clone()));
    let mut columns = Matrix::from_fn(m, m, |i, j| f64::from(u8::from(i == j)));
    columns.values_mut().par_chunks_mut(ROWS * m.max(1)).for_each(|rows| lower.solve_rows(rows));
    columns.transposed()
}

impl Engine for CardEngine<'_> {
    fn pass(&mut self, ask: &Ask) -> Result<Sums> {
        match ask {
            // A card has no sums for a metric.
            Ask::Fit(fit) if fit.transform == Transform::None => self.fit(fit).map(|sums| Sums::Fit(Box::new(sums))),
            _ => LocalEngine { blocks: self.blocks }.pass(ask),
        }
    }

    fn rounds(&mut self, from: &Beginning) -> Option<Result<Box<dyn Rounds + '_>>> {
        if *from.transform != Transform::None {
            return None;
        }
        let n_rows = self.blocks.outline().n_rows as f64;
        let placed = self.held(from.problem, from.kernel, from.vectors.cols()).and_then(|(held, gamma)| {
            // Coordinates that are made there are those of no factor that is known here.
            held.placed = None;
            held.rows.place(gamma, from.vectors)?;
            Ok(held)
        });
        Some(placed.map(|held| Box::new(CardRounds::new(&mut held.rows, from, n_rows)) as Box<dyn Rounds>))
    }

    fn space(&mut self, problem: &Problem, kernel: &Kernel, (m, dim): (usize, usize)) -> Option<Result<CardSpace>> {
        // Where outputs are bound together, rounds are those of passes.
        (!problem.is_coupled()).then(|| self.held(problem, kernel, dim)?.0.rows.space(m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::JITTER,
        data::{Dataset, HeldBlocks, Scale, Target, banana, waveform3},
        device::Gradient,
        draw::Draw,
        learn::{
            ClassWeights,
            blocks::{BlockEstimator, BlockLearner, Optimum, RowLossName, solver::Solver},
            direct::Search,
        },
        watch::Watch,
    };

    fn close(have: &[f64], want: &[f64], what: &str) {
        let distance = distance(have, want);
        assert!(distance <= 1e-9, "{what}: {distance:e}");
    }

    /// The largest difference as a fraction of the largest number.
    fn distance(have: &[f64], want: &[f64]) -> f64 {
        let size = want.iter().fold(1e-300, |a: f64, v| a.max(v.abs()));
        assert_eq!(have.len(), want.len());
        have.iter().zip(want).map(|(a, b)| (a - b).abs() / size).fold(0.0, |a: f64, b| if a.is_nan() || a >= b { a } else { b })
    }

    fn numbers(n: usize) -> Dataset {
        let mut draw = Draw::seeded(1);
        let points = Matrix::from_fn(n, 5, |_, _| 100.0 + 2.0 * draw.normal());
        let values = Matrix::from_fn(n, 2, |i, k| (points.at(i, 0) + k as f64).sin() * points.at(i, 1).cos());
        Dataset::new(points, Target::Values(values))
    }

    /// Rows in blocks, a problem with costs for each class and a scale, and the rows after it.
    fn scaled(data: &Dataset, loss: RowLossName, n_outputs: usize) -> (HeldBlocks, Problem, Matrix) {
        let held = HeldBlocks::of(data, 256).unwrap();
        let n_classes = held.outline().labels.len();
        let scale = Scale::standard(&data.points).unwrap();
        let rows = scale.apply(&data.points).unwrap().to_dense();
        let costs = (0..n_classes.max(1)).map(|k| 0.7 + k as f64).collect();
        (held, Problem { loss, n_classes, n_outputs, costs, scale: Some(scale) }, rows)
    }

    #[test]
    #[ignore = "needs an NVIDIA card: make test-gpu"]
    fn sums_of_a_card_are_those_of_the_processor_for_every_loss_and_twice_the_same() {
        let weights = |n: usize| Some((0..n).map(|i| f64::from(i as u32 % 3)).collect());
        let cases: [(Dataset, RowLossName, usize, usize); 5] = [
            (Dataset { weights: weights(1000), ..banana(1000, 3) }, RowLossName::SquaredHinge, 1, 40),
            (waveform3(3100, 1), RowLossName::SquaredHinge, 3, 130),
            (banana(700, 3), RowLossName::Logistic, 1, 7),
            (Dataset { weights: weights(900), ..waveform3(900, 1) }, RowLossName::Logistic, 3, 65),
            (numbers(801), RowLossName::Squared, 2, 33),
        ];
        for (data, loss, n_outputs, m) in cases {
            let (held, problem, rows) = scaled(&data, loss, n_outputs);
            let mut draw = Draw::seeded(2);
            let vectors = Matrix::from_fn(m, data.dim(), |j, k| rows.at(j * 5, k) + 0.1 * draw.normal());
            let kernel = Kernel::gaussian(1.0 / data.dim() as f64);
            let frame = Frame::fixed(&kernel, &vectors.clone().into(), JITTER).unwrap();
            let width = m + problem.offset();
            let ask = FitAsk {
                kernel,
                transform: Transform::None,
                vectors,
                factor: frame.lower().matrix().clone(),
                weights: Matrix::from_fn(width, n_outputs, |_, _| 0.3 * draw.normal()),
                systems: true,
                vectors_gradient: true,
                direction: (loss == RowLossName::Logistic && n_outputs > 1)
                    .then(|| Matrix::from_fn(width, n_outputs, |_, _| draw.normal())),
                problem,
            };
            let Sums::Fit(want) = (LocalEngine { blocks: &held }).pass(&Ask::Fit(Box::new(ask.clone()))).unwrap() else { panic!() };
            let mut engine = CardEngine::new(0, &held).unwrap();
            let have = engine.fit(&ask).unwrap();
            let what = format!("{loss:?} {n_outputs}");
            assert_eq!((have.rows, have.errors.round()), (want.rows, want.errors.round()), "{what}");
            close(&have.losses, &want.losses, &what);
            close(&have.gradient, &want.gradient, &what);
            let lower = |systems: &[f64]| -> Vec<f64> {
                systems.iter().enumerate().filter(|(i, _)| i % width <= i / width % width).map(|(_, v)| *v).collect()
            };
            close(&lower(&have.systems), &lower(&want.systems), &what);
            close(&have.moved, &want.moved, &what);
            close(&have.totals, &want.totals, &what);
            close(&have.curved, &want.curved, &what);
            assert_eq!(engine.fit(&ask).unwrap(), have, "{what}");
            assert_eq!(CardEngine::new(0, &held).unwrap().fit(&ask).unwrap(), have, "{what}");
        }
    }

    /// An engine without rounds of its own.
    struct PassesOnly<'a>(CardEngine<'a>);

    impl Engine for PassesOnly<'_> {
        fn pass(&mut self, ask: &Ask) -> Result<Sums> {
            self.0.pass(ask)
        }
    }

    #[test]
    #[ignore = "needs an NVIDIA card: make test-gpu"]
    fn newtons_method_on_a_card_ends_where_that_by_passes_does_for_every_loss_and_size() {
        let cases = [
            (banana(1000, 3), RowLossName::SquaredHinge, 1, 40),
            (waveform3(3100, 1), RowLossName::SquaredHinge, 3, 130),
            (waveform3(3100, 1), RowLossName::SquaredHinge, 3, 16),
            (waveform3(2100, 1), RowLossName::SquaredHinge, 3, 600),
            (banana(700, 3), RowLossName::Logistic, 1, 7),
            (numbers(801), RowLossName::Squared, 2, 33),
        ];
        let mut apart = vec![];
        for (data, loss, n_outputs, m) in cases {
            let (held, problem, rows) = scaled(&data, loss, n_outputs);
            let vectors = Matrix::from_fn(m, data.dim(), |j, k| rows.at(j, k));
            let kernel = Kernel::gaussian(1.0 / data.dim() as f64);
            let solved = |engine: &mut dyn Engine| {
                let mut solver = Solver { engine, problem: &problem, last: None, passes: 0, engine_failed: false };
                let mut gradient = vec![0.0; m * data.dim()];
                // Rounds that promise 1e-15 of the value leave its root in outputs and gradient.
                let by_vectors = Gradient::Held(&mut gradient);
                let optimum = solver.solve(&kernel, &Transform::None, Vectors::Held(&vectors), 1e-15, by_vectors).unwrap().0;
                assert!(solver.passes > 1, "{}", solver.passes);
                (optimum, gradient)
            };
            let what = format!("{loss:?} {n_outputs} {m}");
            let (want, by_vectors) = solved(&mut PassesOnly(CardEngine::new(0, &held).unwrap()));
            let (have, gradient) = solved(&mut CardEngine::new(0, &held).unwrap());
            assert!((have.value / want.value - 1.0).abs() < 1e-9, "{what}: {} {}", have.value, want.value);
            // Each has a frame of its own, so that weights differ where the vectors are nearly dependent; the outputs do not.
            let values = crate::kernel::block::block(&kernel, &rows.clone().into(), &vectors.clone().into());
            let outputs = |optimum: &Optimum| -> Vec<f64> {
                let (coefficients, offset) = (optimum.coefficients.transposed(), problem.offset() == 1);
                let of = |row: &[f64], k: usize| dot(row, coefficients.row(k)) + if offset { optimum.x.at(m, k) } else { 0.0 };
                values.iter().flat_map(|row| (0..n_outputs).map(move |k| (row, k))).map(|(row, k)| of(row, k)).collect()
            };
            let (of_outputs, of_gradient) = (distance(&outputs(&have), &outputs(&want)), distance(&gradient, &by_vectors));
            let close = of_outputs <= 1e-6 && of_gradient <= 1e-6;
            if !close {
                apart.push(format!("{what}: outputs {of_outputs:e}, gradient {of_gradient:e}"));
            }
            assert_eq!((have.errors.round(), have.rows), (want.errors.round(), want.rows), "{what}");
            assert!(solved(&mut CardEngine::new(0, &held).unwrap()) == (have, gradient), "{what}");
        }
        assert!(apart.is_empty(), "{apart:#?}");
    }

    #[test]
    #[ignore = "needs an NVIDIA card: make test-gpu"]
    fn vectors_that_coincide_are_no_trouble_on_a_card() {
        let data = waveform3(900, 1);
        let (held, problem, rows) = scaled(&data, RowLossName::SquaredHinge, 3);
        let vectors = Matrix::from_fn(40, data.dim(), |j, k| rows.at(j / 4, k));
        let kernel = Kernel::gaussian(1.0 / data.dim() as f64);
        let value = |engine: &mut dyn Engine| {
            let mut solver = Solver { engine, problem: &problem, last: None, passes: 0, engine_failed: false };
            solver.solve(&kernel, &Transform::None, Vectors::Held(&vectors), 1e-11, Gradient::Held(&mut [])).unwrap().0.value
        };
        let (have, want) = (value(&mut CardEngine::new(0, &held).unwrap()), value(&mut LocalEngine { blocks: &held }));
        assert!((have / want - 1.0).abs() < 1e-4, "{have} {want}");
    }

    #[test]
    #[ignore = "needs an NVIDIA card: make test-gpu"]
    fn training_on_a_card_ends_where_training_on_the_processor_does() {
        let data = waveform3(2000, 1);
        let held = HeldBlocks::of(&data, 256).unwrap();
        for estimator in [
            BlockEstimator::Margin { c: 2.0, class_weights: ClassWeights::Equal },
            BlockEstimator::Logistic { c: 2.0, class_weights: ClassWeights::Balanced },
        ] {
            let learner = BlockLearner {
                estimator,
                search: Search { n_vectors: 20, iterations: 15, ..Search::default() },
                // The card's rounds are more exact early in the search; here both are.
                inexact: 1e-11,
                ..BlockLearner::default()
            };
            let run = |engine: &mut dyn Engine| {
                let scout = learner.scout(engine, held.outline()).unwrap();
                learner.learn(engine, held.outline(), &scout, &Kernel::gaussian(0.05), None, &Watch::none()).unwrap().fit
            };
            let (card, processor) = (run(&mut CardEngine::new(0, &held).unwrap()), run(&mut LocalEngine { blocks: &held }));
            assert!(
                (card.report.objective / processor.report.objective - 1.0).abs() < 1e-6,
                "{} {}",
                card.report.objective,
                processor.report.objective
            );
            assert_eq!(run(&mut CardEngine::new(0, &held).unwrap()).machine, card.machine);
        }
    }
}
