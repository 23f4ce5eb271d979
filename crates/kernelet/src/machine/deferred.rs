//! Rows that a cascade leaves to its full machine.
//!
//! Of a one-vs-one machine a row needs the pairs of its candidate classes alone, and of their vectors those that have a coefficient in one of these pairs. Each of them is
//! evaluated once for all pairs of a row ([`Listed`]). Rows are sorted by their candidates and done in chunks, in which the vectors of a class meet all rows that
//! need some of them before those of the next class do: they are read from memory once.
use std::{ops::Range, sync::OnceLock};

use super::{
    Coefficients, Decision, Expansion, Machine, Metadata, Pairwise, Predictor,
    cascade::{Left, MOST_CANDIDATES, pairwise_of, vote_among},
    each::{Rows, check_outputs, with_space},
    evaluator::Buffers,
    input::{Input, InputRows, MANY_FEATURES},
    predict::Precision,
};
use crate::{
    Result,
    data::Points,
    kernel::{Kernel, listed::Listed, simd::SimdReal},
    linalg::Matrix,
    parallel::*,
};

/// The most pairs that decide about a row.
const MOST_PAIRS: usize = MOST_CANDIDATES * (MOST_CANDIDATES - 1) / 2;

/// Rows that are done together.
const CHUNK: usize = 192;

/// A full machine, whose parts are made ready when a row first needs them.
#[derive(Debug)]
pub(super) struct Deferred {
    precision: Precision,
    whole: OnceLock<Predictor>,
    pairs: OnceLock<Pairs>,
}

/// The vectors of the pairs of a one-vs-one machine.
#[derive(Debug)]
struct Pairs {
    needed: Needed,
    vectors: Vectors,
}

/// For Gaussian kernels, where the numbers allow it.
#[derive(Debug)]
enum Vectors {
    Double(Listed<f64>),
    Single(Listed<f32>),
    Other,
}

/// Sums of the pairs of a row's candidates, in the order of [`Pairwise::pairs`].
type Sums = [f64; MOST_PAIRS];

impl Deferred {
    /// Nothing is prepared yet.
    pub fn of(precision: Precision) -> Self {
        Deferred { precision, whole: OnceLock::new(), pairs: OnceLock::new() }
    }

    /// The classes of rows by their candidates (none: by the whole machine), and the kernel evaluations that they need.
    pub fn answer(&self, full: &Machine, points: &Points, left: &[Left]) -> Result<(Vec<u32>, u64)> {
        let (mut some, whole): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|&i| !left[i].candidates.classes().is_empty());
        let mut answers = vec![0; left.len()];
        let mut evaluations = (whole.len() * full.n_vectors()) as u64;
        if !whole.is_empty() {
            let rows: Vec<usize> = whole.iter().map(|&i| left[i].row).collect();
            let ready = self.whole.get_or_init(|| self.precision.prepare(full));
            let make = |_: usize, outputs: &[f64], _: &mut Vec<()>| full.decision.class(outputs) as u32;
            let mut classes = vec![0; rows.len()];
            ready.each(points, &Rows::Some(&rows), &mut classes, make)?;
            whole.iter().zip(classes).for_each(|(&i, class)| answers[i] = class);
        }
        if let (Some(pairwise), false) = (pairwise_of(full), some.is_empty()) {
            let pairs = self.pairs.get_or_init(|| Pairs::of(full, pairwise, self.precision));
            some.sort_by_key(|&i| left[i].candidates);
            let found = some.par_chunks(CHUNK).map(|chunk| {
                let rows: Vec<&Left> = chunk.iter().map(|&i| &left[i]).collect();
                Ok((chunk, pairs.sums(full, pairwise, self.precision, points, &rows)?))
            });
            for found in found.collect::<Vec<Result<_>>>() {
                let (chunk, (sums, needed)): (&[usize], (Vec<Sums>, usize)) = found?;
                evaluations += needed as u64;
                for (&i, sums) in chunk.iter().zip(sums) {
                    answers[i] = vote(left[i].candidates.classes(), &sums).into();
                }
            }
        }
        Ok((answers, evaluations))
    }
}

/// The vote among classes by the sums of their pairs.
fn vote(classes: &[u16], sums: &Sums) -> u16 {
    let own: [usize; MOST_CANDIDATES] = std::array::from_fn(|i| i);
    classes[vote_among(&own[..classes.len()], classes.len(), sums)]
}

impl Pairs {
    fn of(full: &Machine, pairwise: &Pairwise, precision: Precision) -> Self {
        let vectors = &full.expansion.vectors;
        let vectors = match (&full.expansion.kernel, precision) {
            _ if vectors.is_sparse() && vectors.dim() > MANY_FEATURES => Vectors::Other,
            (Kernel::Gaussian(g), Precision::Double) => Listed::new(g.gamma, vectors).map_or(Vectors::Other, Vectors::Double),
            (Kernel::Gaussian(g), Precision::Single) => Listed::new(g.gamma, vectors).map_or(Vectors::Other, Vectors::Single),
            _ => Vectors::Other,
        };
        Pairs { needed: Needed::of(pairwise), vectors }
    }

    /// The outputs of the pairs of each row's candidate classes, and the kernel evaluations. Rows are sorted by their candidates.
    fn sums(
        &self,
        full: &Machine,
        pairwise: &Pairwise,
        precision: Precision,
        points: &Points,
        left: &[&Left],
    ) -> Result<(Vec<Sums>, usize)> {
        let rows: Vec<usize> = left.iter().map(|left| left.row).collect();
        let mut sums = vec![[0.0; MOST_PAIRS]; left.len()];
        let evaluations = with_space(full.dim(), |space| {
            let input = Input { rows: InputRows::Chosen(points, &rows), scale: full.scale.as_ref() };
            input.mapped(rows.len(), &mut space.work, |input, work| match &self.vectors {
                Vectors::Double(listed) => self.listed(listed, full, pairwise, input, left, &mut work.double, &mut sums),
                Vectors::Single(listed) => self.listed(listed, full, pairwise, input, left, &mut work.single, &mut sums),
                Vectors::Other => None,
            })
        });
        let evaluations = match evaluations {
            Some(evaluations) => evaluations,
            None => self.one_machine_for_each_choice(full, pairwise, precision, points, left, &mut sums)?,
        };
        check_outputs(sums.as_flattened(), MOST_PAIRS, |place| rows[place])?;
        Ok((sums, evaluations))
    }

    /// By chosen vectors, class by class; none, and nothing written, where a row is too large or has very many features.
    #[allow(clippy::too_many_arguments)]
    fn listed<R: SimdReal>(
        &self,
        listed: &Listed<R>,
        full: &Machine,
        pairwise: &Pairwise,
        input: &Input,
        left: &[&Left],
        work: &mut Buffers<R>,
        sums: &mut [Sums],
    ) -> Option<usize> {
        let Buffers { rows, chosen, .. } = work;
        if input.is_wide_and_sparse(listed.dim()) || !listed.take_rows(left.len(), input, rows) {
            return None;
        }
        let (n, mut evaluations, mut parts) = (pairwise.n_classes(), 0, vec![]);
        let groups = groups(left);
        for (classes, which) in &groups {
            for (k, (i, j)) in Pairwise::pairs(classes.len()).enumerate() {
                let offset = full.offsets[Pairwise::place(n, classes[i].into(), classes[j].into())];
                sums[which.clone()].iter_mut().for_each(|sums| sums[k] = offset);
            }
        }
        let mut columns: [&[f64]; MOST_CANDIDATES] = [&[]; MOST_CANDIDATES];
        for class in 0..n {
            let start = pairwise.starts[class];
            chosen.clear();
            let own = |classes: &[u16]| classes.binary_search(&(class as u16)).ok();
            for (classes, which) in &groups {
                let Some(own) = own(classes) else { continue };
                for (column, other) in columns.iter_mut().zip(others(classes.len(), own)) {
                    *column = &self.needed.0[class * n + usize::from(classes[other])].coefficients;
                }
                let vectors = |list: &mut Vec<usize>| self.needed.add(pairwise, class, classes, list);
                let coefficient = |j: usize, output: usize| columns[output][j - start];
                evaluations += which.len() * listed.choose(vectors, which.clone(), classes.len() - 1, coefficient, chosen);
            }
            listed.sums(chosen, rows, &mut parts);
            let mut parts = parts.as_slice();
            for (classes, which) in &groups {
                let Some(own) = own(classes) else { continue };
                for sums in &mut sums[which.clone()] {
                    for other in others(classes.len(), own) {
                        sums[Pairwise::place(classes.len(), own.min(other), own.max(other))] += parts[0];
                        parts = &parts[1..];
                    }
                }
            }
        }
        Some(evaluations)
    }

    /// For any kernel: each choice of classes as a machine of its own.
    fn one_machine_for_each_choice(
        &self,
        full: &Machine,
        pairwise: &Pairwise,
        precision: Precision,
        points: &Points,
        left: &[&Left],
        sums: &mut [Sums],
    ) -> Result<usize> {
        let mut evaluations = 0;
        for (classes, which) in groups(left) {
            let machine = self.of_classes(full, pairwise, classes);
            let rows: Vec<usize> = left[which.clone()].iter().map(|left| left.row).collect();
            let own = |_: usize, outputs: &[f64], _: &mut Vec<()>| {
                let mut sums = [0.0; MOST_PAIRS];
                sums[..outputs.len()].copy_from_slice(outputs);
                sums
            };
            precision.prepare(&machine).each(points, &Rows::Some(&rows), &mut sums[which], own)?;
            evaluations += machine.n_vectors() * rows.len();
        }
        Ok(evaluations)
    }

    /// The vectors of the pairs of some classes, and an output for each of these pairs.
    fn of_classes(&self, full: &Machine, pairwise: &Pairwise, classes: &[u16]) -> Machine {
        let vectors = |own: usize| {
            let mut list = vec![];
            self.needed.add(pairwise, usize::from(classes[own]), classes, &mut list);
            list.into_iter().map(move |j| (own, j))
        };
        let chosen: Vec<(usize, usize)> = (0..classes.len()).flat_map(vectors).collect();
        let pairs: Vec<(usize, usize)> = Pairwise::pairs(classes.len()).collect();
        let coefficient = |(own, j): (usize, usize), (a, b): (usize, usize)| match own == a || own == b {
            true => pairwise.values.at(j, column(usize::from(classes[own]), usize::from(classes[a + b - own]))),
            false => 0.0,
        };
        let coefficients = Matrix::from_fn(chosen.len(), pairs.len(), |i, k| coefficient(chosen[i], pairs[k]));
        let offset = |&(a, b): &(usize, usize)| full.offsets[Pairwise::place(pairwise.n_classes(), classes[a].into(), classes[b].into())];
        let rows: Vec<usize> = chosen.iter().map(|(_, j)| *j).collect();
        let expansion = Expansion {
            kernel: full.expansion.kernel.clone(),
            vectors: full.expansion.vectors.select(&rows),
            coefficients: Coefficients::Dense(coefficients),
        };
        let (offsets, scale, metadata) = (pairs.iter().map(offset).collect(), full.scale.clone(), Metadata::default());
        Machine { expansion, offsets, decision: Decision::Features, scale, names: None, calibration: None, metadata }
    }
}

/// The candidates of sorted rows, and the places of the rows that have them.
fn groups<'a>(left: &[&'a Left]) -> Vec<(&'a [u16], Range<usize>)> {
    let mut first = 0;
    let group = |rows: &[&'a Left]| {
        let range = first..first + rows.len();
        first = range.end;
        (rows[0].candidates.classes(), range)
    };
    left.chunk_by(|a, b| a.candidates == b.candidates).map(group).collect()
}

/// The places of the other candidates.
fn others(candidates: usize, own: usize) -> impl Iterator<Item = usize> {
    (0..candidates).filter(move |other| *other != own)
}

/// The column of the coefficients that the vectors of a class have for another.
fn column(own: usize, other: usize) -> usize {
    if other < own { other } else { other - 1 }
}

/// Which vectors of a one-vs-one machine take part in which pairs.
#[derive(Debug)]
struct Needed(Vec<Side>);

/// A class in its pair with another.
#[derive(Debug)]
struct Side {
    /// One bit for each vector of the class: whether it has a coefficient.
    bits: Vec<u64>,
    /// These coefficients, one after another: in the machine's layout each lies in a cache line of its own.
    coefficients: Vec<f64>,
}

impl Needed {
    fn of(pairwise: &Pairwise) -> Self {
        let n = pairwise.n_classes();
        let side = |own: usize, other: usize| {
            let vectors = pairwise.starts[own]..pairwise.starts[own + 1];
            let coefficients: Vec<f64> = match own == other {
                true => vec![0.0; vectors.len()],
                false => vectors.map(|j| pairwise.values.at(j, column(own, other))).collect(),
            };
            let mut bits = vec![0; coefficients.len().div_ceil(64)];
            coefficients.iter().enumerate().for_each(|(place, value)| bits[place / 64] |= u64::from(*value != 0.0) << (place % 64));
            Side { bits, coefficients }
        };
        Needed((0..n * n).map(|k| side(k / n, k % n)).collect())
    }

    /// Adds the vectors of a class that take part in its pairs with others to a list.
    fn add(&self, pairwise: &Pairwise, own: usize, classes: &[u16], list: &mut Vec<usize>) {
        let (n, mut first) = (pairwise.n_classes(), pairwise.starts[own]);
        for w in 0..self.0[own * n].bits.len() {
            let mut word = classes.iter().fold(0, |all, &other| all | self.0[own * n + usize::from(other)].bits[w]);
            while word != 0 {
                list.push(first + word.trailing_zeros() as usize);
                word &= word - 1;
            }
            first += 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::waveform3,
        kernel::Kernel,
        learn::{Learner, Svc},
        machine::cascade::{Candidates, vectors_of},
        watch::Watch,
    };

    fn machine(kernel: Kernel, n: usize) -> (Machine, Points) {
        let data = waveform3(n, 1);
        (Svc { kernel, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine, data.points)
    }

    /// Rows with all kinds of candidates in turn.
    fn left(rows: &[usize], sets: &[&[usize]]) -> Vec<Left> {
        let left = |(i, &row): (usize, &usize)| Left { row, class: 0, candidates: Candidates::of(sets[i % sets.len()].iter().copied(), 9) };
        rows.iter().enumerate().map(left).collect()
    }

    #[test]
    fn shared_kernel_values_give_the_outputs_of_the_whole_machine() {
        let rows: Vec<usize> = (0..200).step_by(3).collect();
        let left = left(&rows, &[&[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]]);
        for kernel in [Kernel::gaussian(0.05), Kernel::named("polynomial", 0.05, 2, 1.0).unwrap()] {
            let (full, points) = machine(kernel, 200);
            let pairwise = pairwise_of(&full).unwrap();
            let whole = full.outputs_for(&points).unwrap();
            for (precision, tolerance) in [(Precision::Double, 1e-11), (Precision::Single, 1e-3)] {
                let (classes, evaluations) = Deferred::of(precision).answer(&full, &points, &left).unwrap();
                let needed = |left: &Left| {
                    let classes: Vec<usize> = left.candidates.classes().iter().map(|&class| class as usize).collect();
                    vectors_of(pairwise, &classes).len()
                };
                assert_eq!(evaluations as usize, left.iter().map(needed).sum::<usize>());
                let pairs = Pairs::of(&full, pairwise, precision);
                let mut sorted: Vec<&Left> = left.iter().collect();
                sorted.sort_by_key(|left| left.candidates);
                let sums = pairs.sums(&full, pairwise, precision, &points, &sorted).unwrap().0;
                let mut again = vec![[0.0; MOST_PAIRS]; left.len()];
                pairs.one_machine_for_each_choice(&full, pairwise, precision, &points, &sorted, &mut again).unwrap();
                for (left, sums) in sorted.iter().zip(sums.iter().zip(&again)) {
                    let classes = left.candidates.classes();
                    for (k, (i, j)) in Pairwise::pairs(classes.len()).enumerate() {
                        let want = whole.at(left.row, Pairwise::place(3, classes[i].into(), classes[j].into()));
                        for sum in [sums.0[k], sums.1[k]] {
                            assert!((sum - want).abs() < tolerance * (1.0 + want.abs()), "{classes:?}: {sum} {want}");
                        }
                    }
                }
                for (left, class) in left.iter().zip(&classes).filter(|_| tolerance < 1e-9) {
                    let candidates: Vec<usize> = left.candidates.classes().iter().map(|&class| class as usize).collect();
                    assert_eq!(*class as usize, vote_among(&candidates, 3, whole.row(left.row)));
                }
            }
        }
    }

    #[test]
    fn rows_too_large_for_registers_and_scaled_or_sparse_rows_have_the_answers_of_the_whole_machine() {
        let (mut full, points) = machine(Kernel::gaussian(0.05), 100);
        full.scale = Some(crate::data::Scale::new(Some(vec![0.5; 21]), vec![2.0; 21]));
        let mut rows = points.to_dense();
        rows.values_mut().iter_mut().for_each(|value| *value = *value / 2.0 + 0.5);
        let sparse = Points::from(crate::data::Csr::from_dense(&rows));
        let mut huge = rows.clone();
        huge.row_mut(4).fill(1e200);
        let left = left(&[3, 4, 50, 51], &[&[0, 1], &[0, 2], &[1, 2]]);
        for points in [rows.into(), sparse, huge.into()] {
            let points: Points = points;
            let whole = full.outputs_for(&points).unwrap();
            let (classes, _) = Deferred::of(Precision::Double).answer(&full, &points, &left).unwrap();
            for (left, class) in left.iter().zip(classes) {
                let candidates: Vec<usize> = left.candidates.classes().iter().map(|&class| class as usize).collect();
                assert_eq!(class as usize, vote_among(&candidates, 3, whole.row(left.row)));
            }
        }
    }

    #[test]
    fn rows_without_candidates_are_answered_by_the_whole_machine() {
        let (full, points) = machine(Kernel::gaussian(0.05), 100);
        let left = left(&[3, 50], &[&[]]);
        let (classes, evaluations) = Deferred::of(Precision::Double).answer(&full, &points, &left).unwrap();
        let whole = full.outputs_for(&points).unwrap();
        assert_eq!(classes, [3, 50].map(|row| full.decision.class(whole.row(row)) as u32));
        assert_eq!(evaluations as usize, 2 * full.n_vectors());
    }
}
