//! The kernels of `cuda/` on the processor, slow and obvious: the same halves, the same tiles, the same order of products and sums.
//!
//! What a tensor core adds up within one instruction is exact here and cut off once, as the card does it; the card's exponential differs in its last bit.
use super::{
    form::{GAUSSIAN, POLYNOMIAL},
    halves::{number, scale_of, split, split_row},
    packed::{Few, Group, PROMOTE, Packed, TILE},
};
use crate::linalg::Matrix;

/// Sixteen products, added to a sum that is cut off towards 0.
fn multiply(sum: f32, a: &[f32], b: &[f32]) -> f32 {
    let exact = f64::from(sum) + a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let rounded = exact as f32;
    if f64::from(rounded).abs() > exact.abs() { f32::from_bits(rounded.to_bits() - 1) } else { rounded }
}

/// Both halves of a row as numbers.
struct Halves {
    high: Vec<f32>,
    low: Vec<f32>,
}

impl Halves {
    fn of(high: &[u16], low: &[u16]) -> Self {
        let numbers = |halves: &[u16]| halves.iter().map(|h| number(*h)).collect();
        Halves { high: numbers(high), low: numbers(low) }
    }

    fn of_values(values: &[f32]) -> Self {
        let (high, low): (Vec<u16>, Vec<u16>) = values.iter().map(|v| split(*v)).map(|[high, low]| (high, low)).unzip();
        Halves::of(&high, &low)
    }

    /// Adds the products of 16 columns: low high, high low, high high.
    fn add(&self, other: &Halves, first: usize, sum: f32) -> f32 {
        let part = first..first + 16;
        let sum = multiply(sum, &self.low[part.clone()], &other.high[part.clone()]);
        let sum = multiply(sum, &self.high[part.clone()], &other.low[part.clone()]);
        multiply(sum, &self.high[part.clone()], &other.high[part])
    }
}

/// What stands in fragments for 16 vectors and one output.
fn coefficients(fragments: &[[u32; 4]], blocks: usize, step: usize, output: usize) -> Halves {
    let half = |j: usize, low: usize| {
        let fragment = fragments[(step * blocks + output / 8) * 32 + output % 8 * 4 + j % 8 / 2];
        (fragment[2 * low + j / 8] >> (16 * (j % 2))) as u16
    };
    Halves::of(&(0..16).map(|j| half(j, 0)).collect::<Vec<_>>(), &(0..16).map(|j| half(j, 1)).collect::<Vec<_>>())
}

fn value(packed: &Packed, u: f32) -> f32 {
    let (p0, p1) = (packed.form.p0, packed.form.p1);
    match packed.form.kind {
        1 => (-u.sqrt()).exp(),
        2 => (1.0 + u.sqrt()) * (-u.sqrt()).exp(),
        3 => (1.0 + u.sqrt() + u / 3.0) * (-u.sqrt()).exp(),
        4 => (1.0 + u).powf(p0),
        POLYNOMIAL => (u + p1).powi(p0 as i32),
        _ => (u + p1).tanh(),
    }
}

/// The outputs of rows less the centre.
pub(super) fn outputs(packed: &Packed, rows: &Matrix<f32>) -> Matrix<f32> {
    let mut out = Matrix::zeros(rows.rows(), packed.outputs);
    for i in 0..rows.rows() {
        for group in &packed.groups {
            let sums = row_sums(packed, group, rows.row(i));
            out.row_mut(i)[group.first..group.first + group.width].copy_from_slice(&sums);
        }
    }
    out
}

fn row_sums(packed: &Packed, group: &Group, row: &[f32]) -> Vec<f32> {
    let (form, padded) = (&packed.form, packed.padded);
    let x = split_row(row, padded, form.row_square);
    let halves = Halves::of(&x.high, &x.low);
    let bound = match form.kind {
        POLYNOMIAL => {
            let largest = (x.numbers[0].sqrt() * group.scales[group.width] + form.p1.abs()).powi(form.p0 as i32);
            64.0 * scale_of(largest.clamp(1e-30, 1e30))
        }
        _ => 1024.0,
    };
    let square = if form.kind == POLYNOMIAL { 0.0 } else { x.numbers[0] };
    let mut parts = vec![[0.0f32; 4]; group.width];
    for first in (0..packed.m.div_ceil(TILE) * TILE).step_by(16) {
        let values: Vec<f32> = (first..first + 16)
            .map(|j| {
                let z = Halves::of(&packed.high[j * padded..(j + 1) * padded], &packed.low[j * padded..(j + 1) * padded]);
                let sum = product(&halves, &z, padded, packed.wide());
                let factor = form.product * x.numbers[1] * packed.numbers[j][1];
                if form.kind == GAUSSIAN {
                    return sum.mul_add(factor, square + 10.0 + packed.numbers[j][0]).min(10.0).exp2();
                }
                let mut u = sum.mul_add(factor, square + packed.numbers[j][0]);
                if form.centred {
                    u = u.max(0.0);
                }
                if form.kind == 1 && u < 0.015625 * (square + packed.numbers[j][0]) {
                    let number = |h: &Halves, scale: f32, k: usize| (h.high[k] + h.low[k]) * scale;
                    let difference = |k: usize| number(&halves, x.numbers[1], k) - number(&z, packed.numbers[j][1], k);
                    u = (0..padded).map(|k| difference(k).powi(2)).sum::<f32>() * -0.5 * form.product;
                }
                value(packed, u) * bound
            })
            .collect();
        let kernel = Halves::of_values(&values);
        for (k, parts) in parts.iter_mut().enumerate() {
            let beta = coefficients(&group.fragments, group.blocks, first / 16, k);
            let part = &mut parts[first % TILE / 32];
            *part += kernel.add(&beta, 0, 0.0);
        }
    }
    parts.iter().zip(&group.scales).map(|(p, scale)| ((p[0] / bound + p[1] / bound) + (p[2] / bound + p[3] / bound)) * scale).collect()
}

/// A product of padded rows, promoted every 256 columns where they are wide.
fn product(x: &Halves, z: &Halves, padded: usize, wide: bool) -> f32 {
    let (mut total, mut sum) = (0.0, 0.0);
    for first in (0..padded).step_by(16) {
        sum = x.add(z, first, sum);
        if wide && (first + 16) % (PROMOTE * 32) == 0 {
            total += std::mem::take(&mut sum);
        }
    }
    total + sum
}

/// The outputs of rows less the centre, as the kernel for few vectors computes them.
pub(super) fn few_outputs(packed: &Packed, few: &Few, rows: &Matrix<f32>) -> Matrix<f32> {
    let padded = 16 * few.steps;
    let mut out = Matrix::zeros(rows.rows(), packed.outputs);
    for i in 0..rows.rows() {
        let x = split_row(rows.row(i), padded, packed.form.row_square);
        let halves = Halves::of(&x.high, &x.low);
        let (mut sums, mut parts) = (vec![0.0f32; packed.outputs], vec![0.0f32; packed.outputs]);
        for step in 0..few.blocks / 2 {
            let vector = |j: usize| {
                let of = |s: usize| {
                    // Blocks of 8 vectors are the outer places of these fragments, columns the inner ones.
                    coefficients(&few.vectors, few.blocks, s, step * 16 + j)
                };
                (0..few.steps).fold(0.0, |sum, s| {
                    let (z, part) = (of(s), s * 16..s * 16 + 16);
                    Halves { high: halves.high[part.clone()].to_vec(), low: halves.low[part].to_vec() }.add(&z, 0, sum)
                })
            };
            let value =
                |j: usize| vector(j).mul_add(few.product * x.numbers[1], x.numbers[0] + 10.0 + few.squares[step * 16 + j]).min(10.0).exp2();
            let kernel = Halves::of_values(&(0..16).map(value).collect::<Vec<_>>());
            for (k, part) in parts.iter_mut().enumerate() {
                *part = kernel.add(&coefficients(&few.beta, few.output_blocks, step, k), 0, *part);
            }
            // Four blocks of 8 vectors at a time.
            if step % 2 == 1 || step + 1 == few.blocks / 2 {
                sums.iter_mut().zip(&mut parts).for_each(|(sum, part)| *sum += std::mem::take(part));
            }
        }
        let scales = &packed.groups[0].scales;
        out.row_mut(i).iter_mut().zip(sums).zip(scales).for_each(|((out, sum), scale)| *out = sum / 1024.0 * scale);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{draw::Draw, kernel::Kernel};

    /// Halves hold 22 bits of a number: errors below that of one term are no errors of the sum.
    const RESOLUTION: f64 = 1.0 / 4_194_304.0;

    /// Rows and vectors of a kind that is hard for single precision.
    pub fn hard(kind: &str, n: usize, m: usize, dim: usize) -> (Matrix<f32>, Matrix) {
        let mut draw = Draw::seeded(7);
        let mut number = |i: usize, k: usize| match kind {
            "offset" => 1000.0 + draw.normal(),
            "scales" => draw.normal() * 10f64.powf((k % 5) as f64 - 2.0),
            "outliers" => draw.normal() * if i.is_multiple_of(7) { 50.0 } else { 1.0 },
            _ => (draw.uniform() * 2.0 - 0.6).clamp(0.0, 1.0),
        };
        let rows = Matrix::from_fn(n, dim, |i, k| number(i, k) as f32);
        (rows, Matrix::from_fn(m, dim, |j, k| number(j + 1, k) as f32 as f64))
    }

    /// A width at which kernel values are neither 0 nor 1.
    pub fn width(kernel: &str, rows: &Matrix<f32>, vectors: &Matrix) -> Kernel {
        let dim = rows.cols();
        let distance = |i: usize, j: usize| (0..dim).map(|k| (f64::from(rows.at(i, k)) - vectors.at(j, k)).powi(2)).sum::<f64>();
        let product = |i: usize, j: usize| (0..dim).map(|k| f64::from(rows.at(i, k)) * vectors.at(j, k)).sum::<f64>().abs();
        let mean = |of: &dyn Fn(usize, usize) -> f64| {
            ((0..rows.rows()).map(|i| of(i, i % vectors.rows())).sum::<f64>() / rows.rows() as f64).max(1e-3)
        };
        let gamma = match kernel {
            "polynomial" | "sigmoid" => 1.0 / mean(&product),
            "gaussian" | "inverse-multiquadric" => 1.0 / mean(&distance),
            _ => 1.0 / mean(&distance).sqrt(),
        };
        Kernel::named(kernel, gamma, 3, 0.5).unwrap()
    }

    fn exact(kernel: &Kernel, rows: &Matrix<f32>, vectors: &Matrix, beta: &Matrix) -> Matrix {
        Matrix::from_fn(rows.rows(), beta.cols(), |i, k| {
            let row: Vec<f64> = rows.row(i).iter().map(|v| f64::from(*v)).collect();
            (0..vectors.rows()).map(|j| beta.at(j, k) * kernel.eval(&row, vectors.row(j))).sum()
        })
    }

    /// In single precision throughout, as a program without halves does it: squares and products of centred rows, a kernel value, a sum.
    fn plain(kernel: &Kernel, rows: &Matrix<f32>, packed: &Packed, vectors: &Matrix, beta: &Matrix) -> Matrix<f32> {
        let z = Matrix::from_fn(vectors.rows(), vectors.cols(), |j, k| (vectors.at(j, k) - packed.centre[k]) as f32);
        let square = |row: &[f32]| row.iter().fold(0.0f32, |sum, v| sum + v * v);
        Matrix::from_fn(rows.rows(), beta.cols(), |i, k| {
            let mut sum = 0.0f32;
            for j in 0..z.rows() {
                let product = rows.row(i).iter().zip(z.row(j)).fold(0.0f32, |sum, (a, b)| sum + a * b);
                let u = if packed.form.centred { (square(rows.row(i)) + square(z.row(j)) - 2.0 * product).max(0.0) } else { product };
                sum += beta.at(j, k) as f32 * kernel.profile().value(f64::from(u)) as f32;
            }
            sum
        })
    }

    /// How much larger the terms of the sums are than the sums.
    fn cancelled(kernel: &Kernel, rows: &Matrix<f32>, vectors: &Matrix, beta: &Matrix, want: &Matrix) -> f64 {
        let square = |matrix: &Matrix| matrix.values().iter().map(|v| v * v).sum::<f64>();
        let terms = Matrix::from_fn(rows.rows(), beta.cols(), |i, k| {
            let row: Vec<f64> = rows.row(i).iter().map(|v| f64::from(*v)).collect();
            (0..vectors.rows()).map(|j| (beta.at(j, k) * kernel.eval(&row, vectors.row(j))).abs()).sum()
        });
        (square(&terms) / square(want)).sqrt()
    }

    fn error(have: &Matrix<f32>, want: &Matrix) -> f64 {
        let square: f64 = have.values().iter().zip(want.values()).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum();
        (square / want.values().iter().map(|b| b * b).sum::<f64>()).sqrt()
    }

    pub fn shifted(packed: &Packed, rows: &Matrix<f32>) -> Matrix<f32> {
        Matrix::from_fn(rows.rows(), rows.cols(), |i, k| (f64::from(rows.at(i, k)) - packed.centre[k]) as f32)
    }

    #[test]
    fn halves_are_as_accurate_as_single_precision_on_hard_data_for_every_kernel() {
        for (m, dim, q) in [(150, 40, 3), (20, 300, 1), (1, 1, 9), (60, 200, 2)] {
            for kind in ["offset", "scales", "outliers", "pixels"] {
                let (rows, vectors) = hard(kind, 12, m, dim);
                let mut draw = Draw::seeded(3);
                let beta = Matrix::from_fn(m, q, |_, _| draw.normal());
                for name in ["gaussian", "exponential", "matern32", "matern52", "inverse-multiquadric", "polynomial", "sigmoid"] {
                    let kernel = width(name, &rows, &vectors);
                    let packed = Packed::new(&kernel, &vectors, &beta).unwrap();
                    let centred = shifted(&packed, &rows);
                    let want = exact(&kernel, &rows, &vectors, &beta);
                    let resolution = RESOLUTION * cancelled(&kernel, &rows, &vectors, &beta, &want);
                    let (mine, theirs) =
                        (error(&outputs(&packed, &centred), &want), error(&plain(&kernel, &centred, &packed, &vectors, &beta), &want));
                    assert!(mine <= 3.0 * theirs.max(resolution), "{name} {kind} {m} {dim}: {mine:.1e} and {theirs:.1e}");
                    if let Some(few) = &packed.few {
                        let mine = error(&few_outputs(&packed, few, &centred), &want);
                        assert!(mine <= 3.0 * theirs.max(resolution), "few {kind} {m} {dim}: {mine:.1e} and {theirs:.1e}");
                    }
                }
            }
        }
    }

    #[cfg(feature = "cuda")]
    mod on_a_card {
        use super::*;
        use crate::device::{Card, CardSums, Fill};

        const KERNELS: [&str; 7] = ["gaussian", "exponential", "matern32", "matern52", "inverse-multiquadric", "polynomial", "sigmoid"];

        /// Vectors, features and outputs.
        const SHAPES: [(usize, usize, usize); 10] = [
            (1, 1, 1),
            (1, 7, 3),
            (17, 54, 1),
            (100, 54, 10),
            (300, 64, 2),
            (130, 100, 17),
            (257, 256, 40),
            (90, 300, 5),
            (40, 784, 12),
            (129, 513, 1),
        ];

        fn on_card(card: &std::sync::Arc<Card>, packed: &Packed, rows: &Matrix<f32>, raw: bool) -> Matrix<f32> {
            let sums = CardSums::new(card.clone(), packed.clone(), None, None).unwrap();
            let (dim, q) = (rows.cols(), packed.outputs);
            let centred = shifted(packed, rows);
            let from = if raw { rows } else { &centred };
            let write =
                |range: std::ops::Range<usize>, to: &mut [f32]| to.copy_from_slice(&from.values()[range.start * dim..range.end * dim]);
            let mut out = Matrix::zeros(rows.rows(), q);
            let fill = if raw { Fill::Raw(&write) } else { Fill::Centred(&write) };
            let mut take = |first: usize, sums: &[f32]| {
                out.values_mut()[first * q..first * q + sums.len()].copy_from_slice(sums);
                Ok(())
            };
            sums.stream(rows.rows(), fill, &mut take).unwrap();
            out
        }

        #[test]
        #[ignore = "needs an NVIDIA card: make test-gpu"]
        fn every_kernel_computes_what_its_twin_does_and_twice_the_same() {
            let card = Card::open(0).unwrap();
            for (m, dim, q) in SHAPES {
                for kind in ["offset", "scales", "outliers", "pixels"] {
                    let (rows, vectors) = hard(kind, 150, m, dim);
                    let mut draw = Draw::seeded(3);
                    let beta = Matrix::from_fn(m, q, |_, _| draw.normal());
                    for name in KERNELS {
                        let kernel = width(name, &rows, &vectors);
                        let packed = Packed::new(&kernel, &vectors, &beta).unwrap();
                        let centred = shifted(&packed, &rows);
                        let want = exact(&kernel, &rows, &vectors, &beta);
                        let resolution = RESOLUTION * cancelled(&kernel, &rows, &vectors, &beta, &want);
                        // The twin computes a few rows, and what it may differ by is that of these rows.
                        let few_rows = [0, 1, 127, 128, 149];
                        let some = centred.select(&few_rows);
                        let (some_rows, some_want) = (rows.select(&few_rows), want.select(&few_rows));
                        let plainly = error(&plain(&kernel, &some, &packed, &vectors, &beta), &some_want);
                        let allowed = 8.0 * plainly.max(RESOLUTION * cancelled(&kernel, &some_rows, &vectors, &beta, &some_want));
                        let twin = match &packed.few {
                            Some(few) => few_outputs(&packed, few, &some),
                            None => outputs(&packed, &some),
                        };
                        let theirs = error(&plain(&kernel, &centred, &packed, &vectors, &beta), &want);
                        for raw in [false, true] {
                            let have = on_card(&card, &packed, &rows, raw);
                            assert_eq!(have, on_card(&card, &packed, &rows, raw), "{name} {kind} {m} {dim} {q}");
                            let mine = error(&have, &want);
                            assert!(mine <= 3.0 * theirs.max(resolution), "{name} {kind} {m} {dim} {q} {raw}: {mine:.1e} and {theirs:.1e}");
                            let twin =
                                Matrix::new(twin.values().iter().map(|v| f64::from(*v)).collect(), twin.rows(), twin.cols()).unwrap();
                            let apart = error(&have.select(&few_rows), &twin);
                            assert!(apart <= allowed, "{name} {kind} {m} {dim} {q} {raw}: {apart:.1e} from the twin");
                        }
                    }
                }
            }
        }

        /// What memcheck and racecheck run: every kernel once for each shape, without the twin, which takes minutes.
        #[test]
        #[ignore = "needs an NVIDIA card: make test-gpu"]
        fn every_kernel_is_close_to_double_precision() {
            let card = Card::open(0).unwrap();
            for (m, dim, q) in SHAPES {
                let (rows, vectors) = hard("pixels", 150, m, dim);
                let mut draw = Draw::seeded(3);
                let beta = Matrix::from_fn(m, q, |_, _| draw.normal());
                for name in KERNELS {
                    let kernel = width(name, &rows, &vectors);
                    let packed = Packed::new(&kernel, &vectors, &beta).unwrap();
                    let want = exact(&kernel, &rows, &vectors, &beta);
                    let resolution = 1e-5 * cancelled(&kernel, &rows, &vectors, &beta, &want);
                    for raw in [false, true] {
                        let apart = error(&on_card(&card, &packed, &rows, raw), &want);
                        assert!(apart <= resolution, "{name} {m} {dim} {q} {raw}: {apart:.1e}");
                    }
                }
            }
        }
    }
}
