//! Vectors and coefficients as the kernels of the device take them.
use super::{
    form::{Form, GAUSSIAN},
    halves::{scale_of, split, split_row},
};
use crate::{Error, Result, kernel::Kernel, linalg::Matrix};

/// Rows and vectors of a tile.
pub(super) const TILE: usize = 128;

/// Columns of a chunk.
pub(super) const CHUNK: usize = 32;

/// Chunks that are summed at once where rows are wide.
#[cfg(test)]
pub(super) const PROMOTE: usize = 2;

/// Columns that are summed at once: up to so many the error of sums that are cut off is small beside that of the exponential; other kernels feel it earlier.
const NARROW_GAUSSIAN: usize = 256;
const NARROW: usize = 64;

/// Features and outputs up to which few vectors stay in shared memory, and the bytes that they may take there.
const FEW_FEATURES: usize = 64;
const FEW_OUTPUTS: usize = 16;
const FEW_BYTES: usize = 48 << 10;

/// An expansion in halves.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub form: Form,
    pub m: usize,
    pub dim: usize,
    pub outputs: usize,
    /// Columns with zeros, in whole chunks.
    pub padded: usize,
    /// The point that rows and vectors are shifted by.
    pub centre: Vec<f64>,
    /// Vectors in whole tiles.
    pub high: Vec<u16>,
    pub low: Vec<u16>,
    pub numbers: Vec<[f32; 2]>,
    /// Outputs in groups of as many as a kernel sums at once.
    pub groups: Vec<Group>,
    pub few: Option<Few>,
}

/// Coefficients of some outputs.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub first: usize,
    pub width: usize,
    /// Blocks of 8 outputs.
    pub blocks: usize,
    /// Fragments of 16 vectors and 8 outputs.
    pub fragments: Vec<[u32; 4]>,
    /// What sums are multiplied by, and behind that what the bound of a polynomial needs.
    pub scales: Vec<f32>,
}

/// Few vectors of few features.
#[derive(Clone, Debug)]
pub(crate) struct Few {
    /// Steps of 16 columns: 1, 2 or 4.
    pub steps: usize,
    /// Blocks of 8 vectors, an even number.
    pub blocks: usize,
    pub vectors: Vec<[u32; 4]>,
    pub squares: Vec<f32>,
    pub beta: Vec<[u32; 4]>,
    pub output_blocks: usize,
    pub product: f32,
    pub shared: usize,
}

impl Packed {
    /// Packs m vectors and m x q coefficients.
    pub fn new(kernel: &Kernel, vectors: &Matrix, coefficients: &Matrix) -> Result<Self> {
        let form = Form::of(kernel)?;
        let (m, dim, outputs) = (vectors.rows(), vectors.cols(), coefficients.cols());
        let padded = dim.div_ceil(CHUNK).max(1) * CHUNK;
        let mean = |k: usize| (0..m).map(|j| vectors.at(j, k)).sum::<f64>() / m.max(1) as f64;
        let centre: Vec<f64> = (0..dim).map(|k| if form.centred { mean(k) } else { 0.0 }).collect();
        let shifted = Matrix::from_fn(m, dim, |j, k| vectors.at(j, k) - centre[k]);
        let single: Vec<f32> = shifted.values().iter().map(|v| *v as f32).collect();
        let beyond = single.iter().chain(&coefficients.values().iter().map(|b| *b as f32).collect::<Vec<_>>()).any(|v| v.abs() > 1e15);
        if beyond {
            return Err(Error::Unsupported {
                method: "prediction on a GPU",
                with: "this machine".into(),
                instead: "its vectors or coefficients are too large for single precision; use the device cpu".into(),
            });
        }
        let rows = m.div_ceil(TILE).max(1) * TILE;
        let (mut high, mut low, mut numbers) = (vec![0; rows * padded], vec![0; rows * padded], vec![[0.0; 2]; rows]);
        for j in 0..m {
            let row = split_row(&single[j * dim..(j + 1) * dim], padded, form.vector_square);
            high[j * padded..(j + 1) * padded].copy_from_slice(&row.high);
            low[j * padded..(j + 1) * padded].copy_from_slice(&row.low);
            numbers[j] = row.numbers;
        }
        let largest = shifted.iter().map(|row| row.iter().map(|v| v * v).sum::<f64>().sqrt()).fold(0.0, f64::max);
        let most = match (form.kind == GAUSSIAN, is_wide(&form, padded)) {
            (true, false) => 32,
            (true, true) | (false, false) => 16,
            (false, true) => 8,
        };
        let groups = (0..outputs)
            .step_by(most)
            .map(|first| group(coefficients, first, most.min(outputs - first), rows, form.product * largest as f32))
            .collect();
        let few = few(&form, &shifted, coefficients);
        Ok(Packed { form, m, dim, outputs, padded, centre, high, low, numbers, groups, few })
    }

    /// Whether sums of products are promoted in between.
    pub fn wide(&self) -> bool {
        is_wide(&self.form, self.padded)
    }
}

fn is_wide(form: &Form, padded: usize) -> bool {
    padded > if form.kind == GAUSSIAN { NARROW_GAUSSIAN } else { NARROW }
}

fn group(coefficients: &Matrix, first: usize, width: usize, rows: usize, bound: f32) -> Group {
    let blocks = width.div_ceil(8).next_power_of_two();
    let (scaled, mut scales) = scaled(coefficients, first, width);
    scales.push(bound.abs());
    let value = |j: usize, k: usize| if j < coefficients.rows() && k < width { scaled[j * width + k] } else { 0.0 };
    Group { first, width, blocks, fragments: fragments(rows / 16, blocks, value), scales }
}

/// Coefficients of some outputs, each times a power of two of its own, and the inverse powers.
fn scaled(coefficients: &Matrix, first: usize, width: usize) -> (Vec<f32>, Vec<f32>) {
    let single = |j: usize, k: usize| coefficients.at(j, first + k) as f32;
    let scales: Vec<f32> =
        (0..width).map(|k| scale_of((0..coefficients.rows()).fold(0.0f32, |a, j| a.max(single(j, k).abs())).max(1e-30))).collect();
    let values = (0..coefficients.rows() * width).map(|i| single(i / width, i % width) * scales[i % width]).collect();
    (values, scales.iter().map(|s| 1.0 / s).collect())
}

/// Second factors of the tensor cores: `[steps of 16][blocks of 8][32 threads]` of the halves (high, high, low, low) of value(inner, outer).
fn fragments(steps: usize, blocks: usize, value: impl Fn(usize, usize) -> f32) -> Vec<[u32; 4]> {
    let mut out = Vec::with_capacity(steps * blocks * 32);
    for step in 0..steps {
        for block in 0..blocks {
            for lane in 0..32 {
                let mut fragment = [0u32; 4];
                for part in 0..2 {
                    for place in 0..2 {
                        let [high, low] = split(value(step * 16 + part * 8 + lane % 4 * 2 + place, block * 8 + lane / 4));
                        fragment[part] |= u32::from(high) << (16 * place);
                        fragment[2 + part] |= u32::from(low) << (16 * place);
                    }
                }
                out.push(fragment);
            }
        }
    }
    out
}

fn few(form: &Form, shifted: &Matrix, coefficients: &Matrix) -> Option<Few> {
    let (m, dim, outputs) = (shifted.rows(), shifted.cols(), coefficients.cols());
    if form.kind != GAUSSIAN || dim > FEW_FEATURES || outputs == 0 || outputs > FEW_OUTPUTS || m == 0 {
        return None;
    }
    let steps = dim.div_ceil(16).max(1).next_power_of_two();
    let blocks = 2 * m.div_ceil(16);
    let output_blocks = outputs.div_ceil(8);
    let shared = 16 * 32 * (steps * blocks + blocks / 2 * output_blocks) + 4 * (blocks * 8 + 3 * steps * 16);
    if shared > FEW_BYTES {
        return None;
    }
    let largest = shifted.values().iter().fold(0.0f32, |a, v| a.max(v.abs() as f32)).max(1e-30);
    let scale = scale_of(largest);
    let vector = |k: usize, j: usize| if k < dim && j < m { shifted.at(j, k) as f32 * scale } else { 0.0 };
    let (scaled, _) = scaled(coefficients, 0, outputs);
    let value = |j: usize, k: usize| if j < m && k < outputs { scaled[j * outputs + k] } else { 0.0 };
    let square = |j: usize| if j < m { shifted.row(j).iter().map(|v| v * v).sum::<f64>() } else { 0.0 };
    Some(Few {
        steps,
        blocks,
        vectors: fragments(steps, blocks, vector),
        squares: (0..blocks * 8).map(|j| (f64::from(form.vector_square) * square(j)) as f32).collect(),
        beta: fragments(blocks / 2, output_blocks, value),
        output_blocks,
        product: form.product / scale,
        shared,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_tiles_and_outputs_come_in_groups() {
        let number = |i: usize, j: usize| ((i * 7 + j) as f64).sin();
        let packed = Packed::new(&Kernel::gaussian(0.1), &Matrix::from_fn(130, 33, number), &Matrix::from_fn(130, 45, number)).unwrap();
        assert_eq!((packed.padded, packed.high.len(), packed.numbers.len()), (64, 256 * 64, 256));
        assert_eq!(packed.groups.iter().map(|g| (g.first, g.width, g.blocks)).collect::<Vec<_>>(), [(0, 32, 4), (32, 13, 2)]);
        assert!(packed.few.is_none() && !packed.wide());
        assert_eq!(packed.groups[0].fragments.len(), 16 * 4 * 32);
    }

    #[test]
    fn what_a_card_cannot_do_is_a_sentence() {
        let (vectors, beta) = (Matrix::from_fn(2, 2, |i, j| (i + j) as f64), Matrix::from_fn(2, 1, |_, _| 1.0));
        let linear = Packed::new(&Kernel::named("linear", 1.0, 0, 0.0).unwrap(), &vectors, &beta).unwrap_err().to_string();
        assert!(linear.starts_with("prediction on a GPU does not work with the linear kernel: use the device cpu"), "{linear}");
        let huge = Packed::new(&Kernel::gaussian(1.0), &vectors, &Matrix::from_fn(2, 1, |_, _| 1e40)).unwrap_err().to_string();
        assert!(huge.contains("too large for single precision"), "{huge}");
    }
}
