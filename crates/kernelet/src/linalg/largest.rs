//! The largest eigenvalues of a large symmetric matrix that is only ever multiplied with.
//!
//! Block Lanczos with full reorthogonalisation and thick restarts (Wu and Simon 2000). An orthonormal basis V grows by blocks: the
//! next block is what `A V_last` has outside span V. With `T = V'A V` and an eigenvector s of T, `V s` is a Ritz vector, and
//! `|A V s - theta V s|` is the length of the part of s on the last block, measured by what is outside; so the residual of every
//! pair is known without another product. When the basis is full the best Ritz vectors stay and the rest goes.
//! Eigenvalues are then right to about the square of the tolerance, eigenvectors to the tolerance over the relative gap.
//!
//! Cost: each step one product with a block of vectors, 2 n^2 b for a dense A, and 8 n m b to keep the basis of m orthonormal. A
//! spectrum that falls fast needs two to five products a pair; one that is nearly flat needs many more, and the status says when it ran out.
use super::{Eigen, Matrix, Product, Real, dot, product_transposed};
use crate::{
    draw::Draw,
    watch::{Status, Watch},
};

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Largest {
    /// How many pairs.
    pub count: usize,
    /// A pair is found when `|A v - value v|` is below this part of the value.
    pub tolerance: f64,
    /// Blocks multiplied before the search stops unfinished.
    pub max_steps: usize,
    /// Seed of the first block.
    pub seed: u64,
}

impl Default for Largest {
    fn default() -> Self {
        Largest { count: 1, tolerance: 1e-8, max_steps: 1000, seed: 0 }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The pairs, largest first; fewer than wanted where the matrix has no more that differ from zero.
    pub eigen: Eigen,
    /// `|A v - value v|` of each pair.
    pub residuals: Vec<f64>,
    /// Vectors the matrix was multiplied with.
    pub products: u64,
    /// Whether all pairs met the tolerance.
    pub status: Status,
}

/// The basis, what the matrix looks like in it, and what lies outside.
struct Basis {
    n: usize,
    /// One basis vector a row.
    rows: Vec<f64>,
    /// The matrix in the basis.
    inside: Matrix,
    /// What `A` times the last block has outside the basis, one vector a row.
    outside: Matrix,
}

impl Largest {
    /// The largest pairs of the symmetric `n` x `n` matrix that `multiply` stands for: it takes a block of rows and returns each times
    /// the matrix. Cancelling returns the pairs as they are.
    pub fn find(&self, n: usize, multiply: &dyn Fn(&Matrix) -> Matrix, watch: &Watch) -> Found {
        let count = self.count.min(n);
        let width = (count / 4).clamp(8, 32).min(n);
        let most = (4 * count).max(count + 6 * width).min(n);
        let mut draw = Draw::seeded(self.seed);
        let first = Matrix::from_fn(width, n, |_, _| draw.normal());
        let mut basis = Basis { n, rows: vec![], inside: Matrix::zeros(0, 0), outside: first };
        let (mut products, mut scale) = (0, 0.0);
        for step in 1.. {
            let added = basis.grow(multiply, 1e-13 * scale);
            products += added as u64;
            let Some(eigen) = Eigen::of(&basis.inside) else { break };
            scale = eigen.values.iter().fold(scale, |scale: f64, value| scale.max(value.abs()));
            let residuals = basis.residuals(&eigen, added, count);
            let open = self.open(&eigen, &residuals, scale);
            watch.report("eigenvectors", (residuals.len() - open) as u64, Some(count as u64), None);
            let exhausted = added == 0 || basis.len() == n;
            let status = match (open == 0 && residuals.len() == count) || exhausted {
                true => Status::Converged,
                false if watch.cancelled() => Status::Cancelled,
                false if step >= self.max_steps => Status::IterationLimit,
                false => {
                    if basis.len() + width > most && most < n {
                        basis.keep(&eigen, count + width);
                    }
                    continue;
                }
            };
            let kept = eigen.truncated(count);
            let vectors = basis.vectors(&kept);
            return Found { eigen: Eigen { values: kept.values, vectors }, residuals, products, status };
        }
        let nothing = Eigen { values: vec![], vectors: Matrix::zeros(0, n) };
        Found { eigen: nothing, residuals: vec![], products, status: Status::IterationLimit }
    }

    /// How many pairs that stand clear of rounding are not yet found.
    fn open(&self, eigen: &Eigen, residuals: &[f64], scale: f64) -> usize {
        let rounding = 1e-14 * scale;
        let pairs = eigen.values.iter().zip(residuals);
        pairs.filter(|&(&value, &residual)| residual > (self.tolerance * value.abs()).max(rounding)).count()
    }
}

impl Basis {
    fn len(&self) -> usize {
        self.inside.rows()
    }

    /// Takes the outside into the basis and multiplies it; vectors shorter than `least` count as nothing. Returns how many came in.
    fn grow(&mut self, multiply: &dyn Fn(&Matrix) -> Matrix, least: f64) -> usize {
        let mut block = std::mem::take(&mut self.outside).into_values();
        block.truncate((self.n - self.len().min(self.n)) * self.n);
        // Twice is enough: what the first round leaves of the basis is rounding, which stretching a short vector has made larger.
        self.make_orthonormal(&mut block, least);
        self.make_orthonormal(&mut block, 0.5);
        let (added, before) = (block.len() / self.n, self.len());
        let block = Matrix::new(block, added, self.n).unwrap_or_default();
        let mut images = if added == 0 { Matrix::zeros(0, self.n) } else { multiply(&block) };
        self.rows.extend_from_slice(block.values());
        let mut products = vec![0.0; added * (before + added)];
        product_transposed(images.values(), &self.rows, self.n, &mut products);
        let old = std::mem::take(&mut self.inside);
        // Rounding makes A v.w and v.A w differ in the last digits: the newer side is used for both.
        self.inside = Matrix::from_fn(before + added, before + added, |i, j| match (i.max(j) < before, i.max(j), i.min(j)) {
            (true, ..) => old.at(i, j),
            (_, late, early) => products[(late - before) * (before + added) + early],
        });
        remove(images.values_mut(), &self.rows, self.n);
        self.outside = images;
        added
    }

    /// Makes `block` orthonormal and orthogonal to the basis; vectors that come out no longer than `least` are left out.
    fn make_orthonormal(&self, block: &mut Vec<f64>, least: f64) {
        let n = self.n;
        remove(block, &self.rows, n);
        let mut kept = 0;
        for i in 0..block.len() / n {
            let (before, rest) = block.split_at_mut(i * n);
            let vector = &mut rest[..n];
            for other in before[..kept * n].chunks_exact(n) {
                let part = dot(vector, other);
                vector.iter_mut().zip(other).for_each(|(v, o)| *v -= part * o);
            }
            let length = dot(vector, vector).sqrt();
            if length > least && length.is_finite() {
                vector.iter_mut().for_each(|v| *v /= length);
                block.copy_within(i * n..(i + 1) * n, kept * n);
                kept += 1;
            }
        }
        block.truncate(kept * n);
    }

    /// The residual of each of the first `count` Ritz pairs: the part of its eigenvector on the last block, times the outside.
    fn residuals(&self, eigen: &Eigen, added: usize, count: usize) -> Vec<f64> {
        let last = self.len() - added;
        let mut squares = vec![0.0; added * added];
        product_transposed(self.outside.values(), self.outside.values(), self.n, &mut squares);
        let residual = |vector: &[f64]| {
            let part = &vector[last..];
            let sum: f64 = (0..added).map(|i| part[i] * dot(&squares[i * added..(i + 1) * added], part)).sum();
            sum.max(0.0).sqrt()
        };
        eigen.vectors.iter().take(count).map(residual).collect()
    }

    /// Ritz vectors, one a row.
    fn vectors(&self, eigen: &Eigen) -> Matrix {
        let mut vectors = Matrix::zeros(eigen.values.len(), self.n);
        let product = Product { a: eigen.vectors.values(), stride: self.len(), inner: self.len(), b: &self.rows, cols: self.n };
        f64::add_product(product, vectors.values_mut());
        vectors
    }

    /// The best `count` Ritz vectors become the basis.
    fn keep(&mut self, eigen: &Eigen, count: usize) {
        let kept = eigen.truncated(count);
        self.rows = self.vectors(&kept).into_values();
        self.inside = Matrix::from_fn(kept.values.len(), kept.values.len(), |i, j| if i == j { kept.values[i] } else { 0.0 });
    }
}

/// Takes from each vector of `block` what lies in the span of the orthonormal `basis`.
fn remove(block: &mut [f64], basis: &[f64], n: usize) {
    let (b, m) = (block.len() / n, basis.len() / n);
    let mut parts = vec![0.0; b * m];
    product_transposed(block, basis, n, &mut parts);
    parts.iter_mut().for_each(|part| *part = -*part);
    f64::add_product(Product { a: &parts, stride: m, inner: m, b: basis, cols: n }, block);
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use super::*;
    use crate::linalg::{outer_product, rows_times};

    /// A matrix with these eigenvalues: reflections of a diagonal one.
    fn with_values(values: &[f64]) -> Matrix {
        let n = values.len();
        let mut a = Matrix::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 });
        for round in 0..3 {
            let mut v: Vec<f64> = (0..n).map(|i| ((i * (round + 2)) as f64 + 0.3).sin()).collect();
            let length = dot(&v, &v).sqrt();
            v.iter_mut().for_each(|x| *x /= length);
            let av: Vec<f64> = a.iter().map(|row| dot(row, &v)).collect();
            let vav = dot(&v, &av);
            a = Matrix::from_fn(n, n, |i, j| a.at(i, j) - 2.0 * v[i] * av[j] - 2.0 * av[i] * v[j] + 4.0 * vav * v[i] * v[j]);
        }
        a
    }

    fn find(a: &Matrix, wanted: &Largest) -> Found {
        wanted.find(a.rows(), &|block| rows_times(block, a), &Watch::none())
    }

    /// Values, equations, residuals and orthogonality, all by their definitions.
    fn check(a: &Matrix, found: &Found, want: &[f64], tolerance: f64) {
        assert_eq!((found.status, found.eigen.values.len()), (Status::Converged, want.len()));
        for (value, want) in found.eigen.values.iter().zip(want) {
            assert!((value - want).abs() < 1e-9 * want.abs() + 1e-13, "{value} {want}");
        }
        let images = rows_times(&found.eigen.vectors, a);
        for (i, (vector, image)) in found.eigen.vectors.iter().zip(images.iter()).enumerate() {
            let value = found.eigen.values[i];
            let residual = image.iter().zip(vector).map(|(a, v)| (a - value * v).powi(2)).sum::<f64>().sqrt();
            assert!(residual <= tolerance * value.abs() + 1e-12, "{i}: {residual}");
            assert!((residual - found.residuals[i]).abs() < 1e-12 + 0.01 * residual, "{i}: {residual} {}", found.residuals[i]);
            for other in 0..=i {
                let product = dot(vector, found.eigen.vectors.row(other));
                assert!((product - f64::from(i == other)).abs() < 1e-11, "{i} {other}");
            }
        }
    }

    #[test]
    fn fast_and_slow_spectra_and_repeated_values_are_found() {
        type Spectrum = fn(usize) -> f64;
        let spectra: [(Spectrum, usize); 4] = [
            (|i| 0.9f64.powi(i as i32), 20),
            // Falls slowly, so that the basis is restarted.
            (|i| 1.0 / (1.0 + i as f64), 30),
            (|i| if i < 7 { 2.0 } else { 1.0 / (i * i) as f64 }, 12),
            (|i| 1.0 - i as f64 / 200.0, 3),
        ];
        for (spectrum, count) in spectra {
            let values: Vec<f64> = (0..400).map(spectrum).collect();
            let a = with_values(&values);
            let found = find(&a, &Largest { count, tolerance: 1e-7, ..Largest::default() });
            check(&a, &found, &values[..count], 1e-7);
            assert!(found.products < 4000);
        }
    }

    #[test]
    fn a_matrix_of_low_rank_has_no_more_than_its_rank() {
        let rows = Matrix::from_fn(150, 5, |i, j| ((i * i * (j + 1)) as f64).sin());
        let a = outer_product(&rows);
        let found = find(&a, &Largest { count: 12, ..Largest::default() });
        assert_eq!((found.status, found.eigen.rank(150)), (Status::Converged, 5));
        let all = Eigen::of(&a).unwrap();
        check(&a, &Found { eigen: found.eigen.truncated(5), ..found }, &all.values[..5], 1e-8);
        for n in [1, 2, 9] {
            let a = Matrix::from_fn(n, n, |i, j| f64::from(i == j) * (1.0 + i as f64));
            let found = find(&a, &Largest { count: 9, ..Largest::default() });
            assert_eq!(found.eigen.values.len(), n);
        }
        let nothing = find(&Matrix::zeros(20, 20), &Largest { count: 3, ..Largest::default() });
        assert_eq!((nothing.status, nothing.eigen.rank(20)), (Status::Converged, 0));
    }

    #[test]
    fn running_out_of_steps_and_cancelling_return_the_pairs_as_they_are() {
        let values: Vec<f64> = (0..400).map(|i| 1.0 - 1e-4 * f64::from(i)).collect();
        let a = with_values(&values);
        let few = Largest { count: 5, max_steps: 3, ..Largest::default() };
        let found = find(&a, &few);
        assert_eq!((found.status, found.eigen.values.len()), (Status::IterationLimit, 5));
        assert!(found.eigen.values.iter().zip(&values).all(|(have, want)| have <= want && have > &0.9));
        let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
        let cancelled = few.find(400, &|block| rows_times(block, &a), &watch);
        assert_eq!((cancelled.status, cancelled.eigen.values.len()), (Status::Cancelled, 5));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let values: Vec<f64> = (0..600).map(|i| 0.95f64.powi(i)).collect();
        let a = with_values(&values);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| find(&a, &Largest { count: 10, ..Largest::default() }).eigen)
        };
        assert_eq!(run(1), run(3));
    }
}
