//! Passes over rows that lie on a card. The same sums as those of [`LocalEngine`], in double precision; the order in which they are added is the card's, and depends on
//! sizes alone.
use std::sync::Arc;

use crate::parallel::*;

use super::{
    ask::{Ask, FitAsk, Problem},
    engine::{Engine, LocalEngine},
    losses::Losses,
    newton::Rounds,
    solver::NO_FACTOR,
    sums::{FitSums, Sums},
};
use crate::{
    Error, Result,
    basis::Frame,
    data::{RowBlock, RowBlocks},
    device::{Card, CardLoss, CardRows, CardValues, RowParts, Wanted},
    kernel::Kernel,
    learn::direct::Transform,
    linalg::{Lower, Matrix},
};

/// Rows of the factor that one thread solves for.
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

    /// The rows on the card, with the coordinates on the vectors of an ask.
    fn place(&mut self, ask: &FitAsk) -> Result<&mut Held> {
        let Kernel::Gaussian(gaussian) = &ask.kernel else {
            let with = format!("the {} kernel", ask.kernel.name());
            return Err(Error::Unsupported {
                method: "training on a GPU",
                with,
                instead: "use the gaussian kernel, or the device cpu".into(),
            });
        };
        if self.held.as_ref().is_none_or(|held| held.problem != ask.problem) {
            self.held = None;
            self.held = Some(self.upload(&ask.problem, ask.vectors.cols())?);
        }
        let Some(held) = self.held.as_mut() else { return Err(Error::data("there are no rows")) };
        let (m, dim) = (ask.vectors.rows(), ask.vectors.cols());
        let here = (&ask.vectors, &ask.factor, gaussian.gamma);
        if held.placed.as_ref().is_none_or(|(vectors, factor, gamma)| (vectors, factor, *gamma) != here) {
            held.placed = None;
            let shifted = Matrix::from_fn(m, dim, |j, k| ask.vectors.at(j, k) - held.centre[k]);
            held.rows.place(gaussian.gamma, &shifted, &inverse(&ask.factor))?;
            held.placed = Some((ask.vectors.clone(), ask.factor.clone(), gaussian.gamma));
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
        let mut rows = CardRows::new(self.card.clone(), (n, dim), problem.n_outputs, problem.offset() == 1, loss)?;
        let mut centre = vec![];
        for index in 0..self.blocks.n_blocks() {
            let block = self.blocks.block(index)?;
            let scaled = problem.scale.as_ref().map(|scale| scale.apply(&block.points)).transpose()?;
            let points = scaled.as_ref().unwrap_or(&block.points).to_dense();
            if points.cols() != dim {
                return Err(Error::Shape { what: "features", expected: dim, found: points.cols() });
            }
            if centre.is_empty() {
                centre = (0..dim).map(|k| points.iter().map(|row| row[k]).sum::<f64>() / points.rows().max(1) as f64).collect();
            }
            push(&mut rows, problem, &block, &points, &centre)?;
        }
        Ok(Held { problem: problem.clone(), rows, centre, placed: None })
    }
}

impl Held {
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

/// Newton's method on the card.
struct OnCard<'a> {
    held: &'a mut Held,
    ask: FitAsk,
    n_rows: f64,
    /// Values of the last weights that were tried, and whether these are the weights to go on from.
    last: Option<CardValues>,
    here: bool,
    tries: u64,
}

impl OnCard<'_> {
    fn values(&mut self, found: CardValues) -> Vec<f64> {
        let values = match found.losses.len() {
            1 => vec![found.losses[0] + found.norms.iter().sum::<f64>()],
            _ => found.losses.iter().zip(&found.norms).map(|(loss, norm)| loss + norm).collect(),
        };
        self.last = Some(found);
        self.tries += 1;
        values
    }

    fn fractions(&self, parts: &[f64]) -> Vec<f64> {
        (0..self.ask.problem.n_outputs).map(|k| parts[k.min(parts.len() - 1)]).collect()
    }
}

impl Rounds for OnCard<'_> {
    fn begin(&mut self) -> Result<Vec<f64>> {
        let found = self.held.rows.begin(&self.ask.weights.transposed())?;
        self.here = true;
        Ok(self.values(found))
    }

    fn step(&mut self) -> Result<f64> {
        let promised = self.held.rows.step()?;
        match promised.iter().any(|promised| promised.is_nan()) {
            true => Err(Error::data(NO_FACTOR)),
            false => Ok(promised.iter().sum()),
        }
    }

    fn after(&mut self, parts: &[f64]) -> Result<Vec<f64>> {
        let found = self.held.rows.after(&self.fractions(parts))?;
        self.here = false;
        Ok(self.values(found))
    }

    fn accept(&mut self) {
        self.held.rows.accept();
        self.here = true;
    }

    fn finish(&mut self) -> Result<(Matrix, FitSums)> {
        if !self.here {
            self.after(&[0.0])?;
        }
        let weights = self.held.rows.weights()?.transposed();
        let mut sums = FitSums { rows: self.n_rows, ..FitSums::default() };
        if let Some(last) = &self.last {
            (sums.losses, sums.errors) = (last.losses.clone(), last.errors);
        }
        if self.ask.vectors_gradient {
            let moved = self.held.rows.moved(&coefficients(&self.ask, &weights))?;
            (sums.moved, sums.totals) = self.held.moved(&moved);
        }
        Ok((weights, sums))
    }

    fn passes(&self) -> u64 {
        self.tries
    }

    fn with_vectors(&self) -> bool {
        self.ask.vectors_gradient
    }
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

fn push(rows: &mut CardRows, problem: &Problem, block: &RowBlock, points: &Matrix, centre: &[f64]) -> Result<()> {
    let losses = Losses::new(problem, block)?;
    let (codes, targets, costs) = losses.parts();
    let dim = centre.len();
    let mut shifted = vec![1.0; points.rows() * (dim + 1)];
    for (to, row) in shifted.chunks_exact_mut(dim + 1).zip(points.iter()) {
        to.iter_mut().zip(row).zip(centre).for_each(|((to, v), c)| *to = v - c);
    }
    let squares: Vec<f64> = shifted.chunks_exact(dim + 1).map(|row| row[..dim].iter().map(|v| v * v).sum()).collect();
    let codes: Vec<i32> = codes.iter().map(|code| *code as i32).collect();
    rows.push(&RowParts { rows: &shifted, squares: &squares, codes: &codes, targets: targets.values(), costs })
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

    fn rounds(&mut self, ask: &FitAsk) -> Option<Result<Box<dyn Rounds + '_>>> {
        if ask.transform != Transform::None {
            return None;
        }
        let n_rows = self.blocks.outline().n_rows as f64;
        let rounds = |held| Box::new(OnCard { held, ask: ask.clone(), n_rows, last: None, here: false, tries: 0 }) as Box<dyn Rounds>;
        Some(self.place(ask).map(rounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::{JITTER, field::add_gradient},
        data::{Dataset, HeldBlocks, Scale, Target, banana, waveform3},
        draw::Draw,
        learn::{
            ClassWeights,
            blocks::{
                BlockEstimator, BlockLearner, RowLossName,
                solver::{Optimum, Solver},
            },
            direct::{Search, add_own_gradient},
        },
        watch::Watch,
    };

    fn close(have: &[f64], want: &[f64], what: &str) {
        close_to(have, want, 1e-9, what);
    }

    fn close_to(have: &[f64], want: &[f64], tolerance: f64, what: &str) {
        let size = want.iter().fold(1e-300, |a: f64, v| a.max(v.abs()));
        assert_eq!(have.len(), want.len(), "{what}");
        for (a, b) in have.iter().zip(want) {
            assert!((a - b).abs() <= tolerance * size, "{what}: {a} {b}");
        }
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
        for (data, loss, n_outputs, m) in cases {
            let (held, problem, rows) = scaled(&data, loss, n_outputs);
            let vectors = Matrix::from_fn(m, data.dim(), |j, k| rows.at(j, k));
            let frame = Frame::fixed(&Kernel::gaussian(1.0 / data.dim() as f64), &vectors.into(), JITTER).unwrap();
            let solved = |engine: &mut dyn Engine| {
                let mut solver = Solver { engine, problem: &problem, last: None, passes: 0, engine_failed: false };
                let optimum = solver.solve(&frame, 1e-11, true).unwrap();
                assert!(solver.passes > 1, "{}", solver.passes);
                optimum
            };
            let what = format!("{loss:?} {n_outputs} {m}");
            let want = solved(&mut PassesOnly(CardEngine::new(0, &held).unwrap()));
            let have = solved(&mut CardEngine::new(0, &held).unwrap());
            assert!((have.value / want.value - 1.0).abs() < 1e-9, "{what}: {} {}", have.value, want.value);
            close_to(have.x.values(), want.x.values(), 1e-6, &what);
            let gradient = |optimum: &Optimum| {
                let mut out = vec![0.0; m * data.dim()];
                let (kernel, z) = (frame.kernel(), frame.vectors().to_dense());
                add_gradient(kernel, z.values(), &optimum.sums.gradient_sums(m, data.dim()).unwrap(), 1.0, &mut out);
                if !optimum.with_vectors {
                    add_own_gradient(kernel, &z, &super::super::search::coefficients(&frame, optimum), &vec![1.0; n_outputs], &mut out);
                }
                out
            };
            assert!(have.with_vectors && !want.with_vectors);
            close_to(&gradient(&have), &gradient(&want), 1e-6, &what);
            assert_eq!((have.sums.errors.round(), have.sums.rows), (want.sums.errors.round(), want.sums.rows), "{what}");
            let again = solved(&mut CardEngine::new(0, &held).unwrap());
            assert!(have.x == again.x && have.sums == again.sums, "{what}");
        }
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
