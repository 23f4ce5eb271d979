//! Rows that a cascade leaves to its full machine.
//!
//! Of a one-vs-one machine a row needs the pairs of its candidate classes alone. A pair is a machine of its own with one output: the vectors of both classes that have a
//! coefficient in it. With many candidates these machines have so many vectors in common, and for few rows so many vectors to read, that it takes less to evaluate all
//! vectors of each class. All rows that need the same pair or class meet its vectors together.
use std::sync::OnceLock;

use super::{
    Coefficients, Decision, Expansion, Machine, Metadata, Pairwise, Predictor,
    cascade::{EXPONENTIAL, Left, MOST_CANDIDATES, pairwise_of, vote_among},
    each::Rows,
    predict::Precision,
};
use crate::{Result, data::Points, linalg::Matrix, parallel::*};

/// The most pairs that decide about a row.
const MOST_PAIRS: usize = MOST_CANDIDATES * (MOST_CANDIDATES - 1) / 2;

/// For so many rows a vector could be evaluated in the time in which it is read from memory.
const READ: usize = 16;

/// A full machine, whose parts are made ready when a row first needs them.
#[derive(Debug)]
pub(super) struct Deferred {
    precision: Precision,
    whole: OnceLock<Predictor>,
    pairs: Vec<OnceLock<Predictor>>,
    classes: Vec<OnceLock<Predictor>>,
    needed: Option<Needed>,
}

/// The places of candidates among themselves.
const OWN: [usize; MOST_CANDIDATES] = [0, 1, 2, 3, 4, 5];

/// Sums of the pairs of a row's candidates, in the order of [`Pairwise::pairs`].
type Sums = [f64; MOST_PAIRS];

impl Deferred {
    /// Nothing is prepared yet.
    pub fn of(full: &Machine, precision: Precision) -> Self {
        let pairwise = pairwise_of(full);
        let n = pairwise.map_or(0, Pairwise::n_classes);
        let empty = |count: usize| (0..count).map(|_| OnceLock::new()).collect();
        Deferred {
            precision,
            whole: OnceLock::new(),
            pairs: empty(n * n.saturating_sub(1) / 2),
            classes: empty(n),
            needed: pairwise.map(Needed::of),
        }
    }

    /// The classes of rows by their candidates (none: by the whole machine), and the kernel evaluations that they need.
    pub fn answer(&self, full: &Machine, points: &Points, left: &[Left]) -> Result<(Vec<u32>, u64)> {
        let (some, whole): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|&i| !left[i].candidates.classes().is_empty());
        let of = |places: &[usize]| places.iter().map(|&place| left[place].row).collect::<Vec<usize>>();
        let mut answers = vec![0; left.len()];
        let mut evaluations = (whole.len() * full.n_vectors()) as u64;
        whole.iter().zip(self.by_all(full, points, &of(&whole))?).for_each(|(&place, class)| answers[place] = class);
        if let (Some(pairwise), Some(needed)) = (pairwise_of(full), &self.needed) {
            let chosen: Vec<&[u16]> = some.iter().map(|&place| left[place].candidates.classes()).collect();
            let sums = self.sums(full, pairwise, needed, points, &of(&some), &chosen)?;
            for ((&place, classes), sums) in some.iter().zip(chosen).zip(sums) {
                evaluations += needed.vectors(classes) as u64;
                answers[place] = classes[vote_among(&OWN[..classes.len()], classes.len(), &sums)].into();
            }
        }
        Ok((answers, evaluations))
    }

    fn by_all(&self, full: &Machine, points: &Points, rows: &[usize]) -> Result<Vec<u32>> {
        let mut classes = vec![0; rows.len()];
        if !rows.is_empty() {
            let make = |_: usize, outputs: &[f64], _: &mut Vec<()>| full.decision.class(outputs) as u32;
            self.whole.get_or_init(|| self.precision.prepare(full)).each(points, &Rows::Some(rows), &mut classes, make)?;
        }
        Ok(classes)
    }

    /// The outputs of the pairs of each row's candidate classes.
    fn sums(
        &self,
        full: &Machine,
        pairwise: &Pairwise,
        needed: &Needed,
        points: &Points,
        rows: &[usize],
        candidates: &[&[u16]],
    ) -> Result<Vec<Sums>> {
        let n = pairwise.n_classes();
        let mut sums = vec![[0.0; MOST_PAIRS]; rows.len()];
        // For each pair and each class the rows that ask for it.
        let (mut by_pair, mut by_class) = (vec![vec![]; self.pairs.len()], vec![vec![]; n]);
        let in_pairs = needed.in_pairs(candidates, full.expansion.vectors.dim());
        for (row, classes) in candidates.iter().enumerate() {
            let pairs = pairs_of(n, classes);
            if in_pairs[row] {
                pairs.for_each(|pair| by_pair[pair].push(row));
            } else {
                classes.iter().for_each(|&class| by_class[usize::from(class)].push(row));
                sums[row].iter_mut().zip(pairs).for_each(|(sum, pair)| *sum = full.offsets[pair]);
            }
        }
        let of = |asking: &[usize]| asking.iter().map(|&row| rows[row]).collect::<Vec<usize>>();
        let all: Vec<(usize, usize)> = Pairwise::pairs(n).collect();
        let asked: Vec<usize> = (0..all.len()).filter(|&pair| !by_pair[pair].is_empty()).collect();
        let found = asked.into_par_iter().map(|pair| {
            let ready = self.pairs[pair].get_or_init(|| self.precision.prepare(&of_pair(full, pairwise, all[pair])));
            let mut values = vec![0.0; by_pair[pair].len()];
            ready.each(points, &Rows::Some(&of(&by_pair[pair])), &mut values, |_, outputs, _: &mut Vec<()>| outputs[0])?;
            Ok((pair, values))
        });
        for found in found.collect::<Vec<Result<_>>>() {
            let (pair, values): (usize, Vec<f64>) = found?;
            let (a, b) = all[pair];
            for (&row, value) in by_pair[pair].iter().zip(values) {
                sums[row][within(candidates[row], a, b)] = value;
            }
        }
        let asked: Vec<usize> = (0..n).filter(|&class| !by_class[class].is_empty()).collect();
        let found = asked.into_par_iter().map(|class| {
            let ready = self.classes[class].get_or_init(|| self.precision.prepare(&of_class(full, pairwise, class)));
            let own = |i: usize, outputs: &[f64], _: &mut Vec<()>| {
                let mut part = [0.0; MOST_CANDIDATES];
                for (part, &other) in part.iter_mut().zip(candidates[by_class[class][i]]).filter(|(_, other)| usize::from(**other) != class)
                {
                    *part = outputs[column(class, other.into())];
                }
                part
            };
            let mut parts = vec![[0.0; MOST_CANDIDATES]; by_class[class].len()];
            ready.each(points, &Rows::Some(&of(&by_class[class])), &mut parts, own)?;
            Ok((class, parts))
        });
        for found in found.collect::<Vec<Result<_>>>() {
            let (class, parts): (usize, Vec<[f64; MOST_CANDIDATES]>) = found?;
            for (&row, part) in by_class[class].iter().zip(parts) {
                for (part, &other) in part.into_iter().zip(candidates[row]).filter(|(_, other)| usize::from(**other) != class) {
                    sums[row][within(candidates[row], class, other.into())] += part;
                }
            }
        }
        Ok(sums)
    }
}

/// The pairs of some classes, by their places among all.
fn pairs_of(n_classes: usize, classes: &[u16]) -> impl Iterator<Item = usize> {
    Pairwise::pairs(classes.len()).map(move |(i, j)| Pairwise::place(n_classes, classes[i].into(), classes[j].into()))
}

/// The place of a pair of classes among those of the candidates.
fn within(candidates: &[u16], a: usize, b: usize) -> usize {
    let place = |class: usize| candidates.partition_point(|&other| usize::from(other) < class);
    Pairwise::place(candidates.len(), place(a.min(b)), place(a.max(b)))
}

/// The column of the coefficients that the vectors of a class have for another.
fn column(own: usize, other: usize) -> usize {
    if other < own { other } else { other - 1 }
}

/// The vectors of a class with what they add to its pairs with all others.
fn of_class(machine: &Machine, pairwise: &Pairwise, class: usize) -> Machine {
    let rows: Vec<usize> = (pairwise.starts[class]..pairwise.starts[class + 1]).collect();
    let coefficients = pairwise.values.select(&rows);
    let offsets = vec![0.0; coefficients.cols()];
    part(machine, &rows, coefficients, offsets)
}

/// The machine of a pair.
fn of_pair(machine: &Machine, pairwise: &Pairwise, (a, b): (usize, usize)) -> Machine {
    let half = |own: usize, other: usize| {
        let column = column(own, other);
        (pairwise.starts[own]..pairwise.starts[own + 1]).map(move |j| (j, pairwise.values.at(j, column))).filter(|(_, value)| *value != 0.0)
    };
    let (rows, values): (Vec<usize>, Vec<f64>) = half(a, b).chain(half(b, a)).unzip();
    let offset = machine.offsets[Pairwise::place(pairwise.n_classes(), a, b)];
    part(machine, &rows, Matrix::from_fn(values.len(), 1, |j, _| values[j]), vec![offset])
}

fn part(machine: &Machine, rows: &[usize], coefficients: Matrix, offsets: Vec<f64>) -> Machine {
    let expansion = Expansion {
        kernel: machine.expansion.kernel.clone(),
        vectors: machine.expansion.vectors.select(rows),
        coefficients: Coefficients::Dense(coefficients),
    };
    let (scale, metadata) = (machine.scale.clone(), Metadata::default());
    Machine { expansion, offsets, decision: Decision::Features, scale, names: None, calibration: None, metadata }
}

/// Which vectors of a one-vs-one machine take part in which pairs, one bit each.
#[derive(Debug)]
struct Needed {
    /// Vectors of each class.
    sizes: Vec<usize>,
    /// For each class and each other: the vectors of the class with a coefficient in their pair.
    bits: Vec<Vec<u64>>,
    /// For each pair the number of its vectors.
    pairs: Vec<usize>,
}

impl Needed {
    fn of(pairwise: &Pairwise) -> Self {
        let n = pairwise.n_classes();
        let sizes: Vec<usize> = pairwise.starts.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let mut bits: Vec<Vec<u64>> = (0..n * n).map(|k| vec![0; sizes[k / n].div_ceil(64)]).collect();
        for (own, other) in (0..n * n).map(|k| (k / n, k % n)).filter(|(own, other)| own != other) {
            for (place, j) in (pairwise.starts[own]..pairwise.starts[own + 1]).enumerate() {
                bits[own * n + other][place / 64] |= u64::from(pairwise.values.at(j, column(own, other)) != 0.0) << (place % 64);
            }
        }
        let count = |own: usize, other: usize| bits[own * n + other].iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let pairs = Pairwise::pairs(n).map(|(a, b)| count(a, b) + count(b, a)).collect();
        Needed { sizes, bits, pairs }
    }

    /// The number of vectors that take part in the pairs of some classes.
    fn vectors(&self, classes: &[u16]) -> usize {
        let n = self.sizes.len();
        let of = |own: usize| {
            let word = |w: usize| classes.iter().fold(0, |all, &other| all | self.bits[own * n + usize::from(other)][w]);
            (0..self.sizes[own].div_ceil(64)).map(|w| word(w).count_ones() as usize).sum::<usize>()
        };
        classes.iter().map(|&own| of(own.into())).sum()
    }

    /// For each row whether it is evaluated by the machines of its pairs; else by all vectors of its classes. Together the pairs have several times the vectors of the
    /// machine, and to read a vector takes as long as to evaluate it for some rows: few rows ask the classes.
    fn in_pairs(&self, candidates: &[&[u16]], dim: usize) -> Vec<bool> {
        let n = self.sizes.len();
        let (pair, class) = (dim + EXPONENTIAL + 1, dim + EXPONENTIAL + n - 1);
        let pairs_cost = |classes: &[u16]| pairs_of(n, classes).map(|k| self.pairs[k] * pair).sum::<usize>();
        let classes_cost = |classes: &[u16]| classes.iter().map(|&c| self.sizes[usize::from(c)] * class).sum::<usize>();
        let less: Vec<bool> = candidates.iter().map(|classes| pairs_cost(classes) <= classes_cost(classes)).collect();
        let (mut pairs_asked, mut classes_asked, mut gained) = (vec![false; self.pairs.len()], vec![false; n], 0);
        for classes in candidates.iter().zip(&less).filter(|(_, less)| **less).map(|(classes, _)| classes) {
            pairs_of(n, classes).for_each(|pair| pairs_asked[pair] = true);
            classes.iter().for_each(|&class| classes_asked[usize::from(class)] = true);
            gained += classes_cost(classes) - pairs_cost(classes);
        }
        let read = |asked: &[bool], sizes: &[usize], cost: usize| -> usize {
            asked.iter().zip(sizes).filter(|(asked, _)| **asked).map(|(_, size)| READ * size * cost).sum()
        };
        let (of_pairs, of_classes) = (read(&pairs_asked, &self.pairs, pair), read(&classes_asked, &self.sizes, class));
        let enough = of_pairs <= of_classes + gained;
        less.into_iter().map(|less| less && enough).collect()
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

    fn left(rows: &[usize], sets: &[&[usize]]) -> Vec<Left> {
        let left = |(i, &row): (usize, &usize)| Left { row, class: 0, candidates: Candidates::of(sets[i % sets.len()].iter().copied(), 9) };
        rows.iter().enumerate().map(left).collect()
    }

    #[test]
    fn pairs_and_classes_have_the_outputs_of_the_whole_machine() {
        let data = waveform3(200, 1);
        let full = Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let pairwise = pairwise_of(&full).unwrap();
        let whole = full.outputs_for(&data.points).unwrap();
        let rows: Vec<usize> = (0..200).step_by(3).collect();
        let left = left(&rows, &[&[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]]);
        let chosen: Vec<&[u16]> = left.iter().map(|left| left.candidates.classes()).collect();
        let candidates: Vec<Vec<usize>> = chosen.iter().map(|classes| classes.iter().map(|&class| class.into()).collect()).collect();
        let ready = Deferred::of(&full, Precision::Double);
        let mut needed = Needed::of(pairwise);
        let (classes, evaluations) = ready.answer(&full, &data.points, &left).unwrap();
        assert_eq!(evaluations as usize, candidates.iter().map(|classes| vectors_of(pairwise, classes).len()).sum::<usize>());
        // First all by classes, then all by pairs.
        for (sizes, by_pairs) in [(vec![0; 3], false), (vec![100_000; 3], true)] {
            needed.sizes = sizes;
            assert!(needed.in_pairs(&chosen, 21).iter().all(|pairs| *pairs == by_pairs));
            let sums = ready.sums(&full, pairwise, &needed, &data.points, &rows, &chosen).unwrap();
            for (((row, classes), sums), class) in rows.iter().zip(&candidates).zip(&sums).zip(&classes) {
                for (k, (i, j)) in Pairwise::pairs(classes.len()).enumerate() {
                    let want = whole.at(*row, Pairwise::place(3, classes[i], classes[j]));
                    assert!((sums[k] - want).abs() < 1e-12, "{classes:?}: {} {want}", sums[k]);
                }
                assert_eq!(*class as usize, vote_among(classes, 3, whole.row(*row)));
            }
        }
    }

    #[test]
    fn rows_without_candidates_are_answered_by_the_whole_machine() {
        let data = waveform3(100, 1);
        let full = Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let (classes, evaluations) = Deferred::of(&full, Precision::Double).answer(&full, &data.points, &left(&[3, 50], &[&[]])).unwrap();
        let whole = full.outputs_for(&data.points).unwrap();
        assert_eq!(classes, [3, 50].map(|row| full.decision.class(whole.row(row)) as u32));
        assert_eq!(evaluations as usize, 2 * full.n_vectors());
    }
}
