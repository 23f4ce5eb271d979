//! Products of many rows with a matrix of few columns, as outputs are made of coordinates: `V W + b`.
//!
//! General matrix products rearrange V for themselves, which costs as much as the product where W has few columns. Here W is packed once into panels of registers,
//! and each number of V is read once a panel, where it lies. One multiply-add for each row, column of V and register of W; every row is summed in the order of the
//! columns of V, whatever the rows around it.
use super::simd::{Isa, SimdReal, Vector, VectorJob, width};
use crate::linalg::{Matrix, Product, Real};

/// Columns that are worth a panel. One is a product with a vector, and many are worth what a general product rearranges.
const COLUMNS: std::ops::RangeInclusive<usize> = 2..=64;

/// Numbers of the widest panel.
const WIDEST: usize = 24;

/// W and b, packed.
pub(crate) struct FewColumns<'a> {
    /// (m + 1) x q: W, and b below it.
    weights: &'a Matrix,
    isa: Isa,
    panels: Vec<Panel>,
}

/// Some registers of columns.
struct Panel {
    first: usize,
    columns: usize,
    /// b, then the rows of W, each with zeros up to whole registers.
    lanes: Vec<f64>,
}

impl<'a> FewColumns<'a> {
    /// Packs W (m x q), which has the starts b below it.
    pub fn new(weights: &'a Matrix) -> Self {
        Self::with(weights, Isa::detect())
    }

    fn with(weights: &'a Matrix, isa: Isa) -> Self {
        let (m, q, lanes) = (weights.rows().saturating_sub(1), weights.cols(), width::<f64>(isa));
        let registers = if COLUMNS.contains(&q) { q.div_ceil(lanes) } else { 0 };
        let panels = registers.div_ceil(isa.tile().1);
        let panel = |p: usize| {
            let [first, end] = [p, p + 1].map(|p| (p * registers / panels * lanes).min(q));
            let size = (end - first).next_multiple_of(lanes);
            let mut packed = vec![0.0; (m + 1) * size];
            for (place, j) in std::iter::once(m).chain(0..m).enumerate() {
                packed[place * size..place * size + end - first].copy_from_slice(&weights.row(j)[first..end]);
            }
            Panel { first, columns: end - first, lanes: packed }
        };
        FewColumns { weights, isa, panels: (0..panels).map(panel).collect() }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.weights.cols()
    }

    /// `out = V W + b` for rows of m numbers. One thread.
    pub fn of_rows(&self, rows: &[f64], out: &mut [f64]) {
        let (m, q) = (self.weights.rows().saturating_sub(1), self.len());
        if self.panels.is_empty() || m == 0 {
            out.chunks_exact_mut(q.max(1)).for_each(|out| out.copy_from_slice(self.weights.row(m)));
            f64::add_product(Product { a: rows, stride: m, inner: m, b: &self.weights.values()[..m * q], cols: q }, out);
            return;
        }
        for panel in &self.panels {
            f64::run_vectors(self.isa, Walk { panel, rows, m, q, out });
        }
    }
}

/// All rows against one panel.
struct Walk<'a> {
    panel: &'a Panel,
    rows: &'a [f64],
    m: usize,
    q: usize,
    out: &'a mut [f64],
}

impl VectorJob<f64> for Walk<'_> {
    #[inline(always)]
    fn run<V: Vector<Real = f64>, const ROWS: usize, const COLS: usize>(mut self) {
        match self.panel.columns.div_ceil(V::WIDTH) {
            1 => self.all::<V, ROWS, 1>(),
            2 => self.all::<V, ROWS, 2>(),
            _ => self.all::<V, ROWS, COLS>(),
        }
    }
}

impl Walk<'_> {
    #[inline(always)]
    fn all<V: Vector<Real = f64>, const ROWS: usize, const COLS: usize>(&mut self) {
        let (count, mut row) = (self.rows.len() / self.m, 0);
        while count - row >= ROWS {
            self.tile::<V, ROWS, COLS>(row);
            row += ROWS;
        }
        while count > row {
            self.tile::<V, 1, COLS>(row);
            row += 1;
        }
    }

    /// `ROWS` rows: plain loops over arrays of fixed size, which stay in registers.
    #[inline(always)]
    fn tile<V: Vector<Real = f64>, const ROWS: usize, const COLS: usize>(&mut self, row: usize) {
        let (m, size) = (self.m, COLS * V::WIDTH);
        let (starts, panel) = self.panel.lanes.split_at(size);
        let mut w = [V::splat(0.0); COLS];
        for c in 0..COLS {
            w[c] = V::load(&starts[c * V::WIDTH..]);
        }
        let mut sums = [w; ROWS];
        let mut v: [&[f64]; ROWS] = [&[]; ROWS];
        for r in 0..ROWS {
            v[r] = &self.rows[(row + r) * m..][..m];
        }
        for (j, lanes) in (0..m).zip(panel.chunks_exact(size)) {
            for c in 0..COLS {
                w[c] = V::load(&lanes[c * V::WIDTH..]);
            }
            for r in 0..ROWS {
                let v = V::splat(v[r][j]);
                for c in 0..COLS {
                    sums[r][c] = v.multiply_add(w[c], sums[r][c]);
                }
            }
        }
        let mut numbers = [0.0; WIDEST];
        for r in 0..ROWS {
            for c in 0..COLS {
                sums[r][c].store(&mut numbers[c * V::WIDTH..]);
            }
            let out = &mut self.out[(row + r) * self.q + self.panel.first..][..self.panel.columns];
            out.copy_from_slice(&numbers[..self.panel.columns]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_the_definition_for_any_number_of_rows_and_columns_and_every_instruction_set() {
        for isa in Isa::available() {
            for (n, m, q) in [(1, 1, 1), (13, 3, 2), (23, 30, 10), (256, 101, 26), (17, 5, 64), (9, 4, 70), (0, 3, 5), (4, 0, 3)] {
                let weights = Matrix::from_fn(m + 1, q, |j, k| ((j * q + k) as f64).sin());
                let rows: Vec<f64> = (0..n * m).map(|v| (v as f64 * 0.7).cos()).collect();
                let packed = FewColumns::with(&weights, *isa);
                let mut out = vec![f64::NAN; n * q];
                packed.of_rows(&rows, &mut out);
                for i in 0..n {
                    for k in 0..q {
                        let want = weights.at(m, k) + (0..m).map(|j| rows[i * m + j] * weights.at(j, k)).sum::<f64>();
                        assert!((out[i * q + k] - want).abs() < 1e-12 * (m as f64 + 1.0), "{isa:?} {n} {m} {q}: {i} {k}");
                    }
                    // A row has the same bits alone.
                    let mut alone = vec![f64::NAN; q];
                    packed.of_rows(&rows[i * m..(i + 1) * m], &mut alone);
                    assert!(q == 1 || q > 64 || alone == out[i * q..(i + 1) * q]);
                }
            }
        }
    }
}
