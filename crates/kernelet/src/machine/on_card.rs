//! Prediction on a card: rows are scaled, shifted and rounded to single precision on all threads of the pool while the card computes.
use std::ops::Range;

use crate::parallel::*;

use super::{
    Machine,
    evaluator::Work,
    input::{Input, InputRows, Mapped},
    predict::Predictor,
};
use crate::{
    Error, Result,
    device::{Card, CardArray, CardSums, Fill, Packed},
    kernel::fused::{DenseRows, Lying, ROWS, RowSource},
};

/// The sums of a machine on a card.
#[derive(Debug)]
pub(super) struct OnCard {
    sums: CardSums,
    centre: Vec<f64>,
    /// Whether rows go through a linear map first.
    mapped: bool,
}

impl OnCard {
    /// Puts a machine on the card with this number; none where it has nothing to sum.
    pub fn new(machine: &Machine, number: usize) -> Result<Option<Self>> {
        let card = Card::open(number)?;
        let expansion = &machine.expansion;
        let packed = Packed::new(&expansion.kernel, &expansion.vectors.to_dense(), &expansion.coefficients.to_dense())?;
        if packed.m == 0 || packed.outputs == 0 || packed.dim == 0 {
            return Ok(None);
        }
        let centre = packed.centre.clone();
        let (shift, factor) = machine
            .scale
            .as_ref()
            .filter(|scale| scale.map.is_none())
            .map_or((None, None), |scale| (scale.shift.as_deref(), Some(scale.factor.as_slice())));
        let sums = CardSums::new(card, packed, shift, factor)?;
        let mapped = machine.map().is_some();
        Ok(Some(OnCard { sums, centre, mapped }))
    }

    /// The outputs of the rows from each first one on.
    pub fn outputs<'a>(&self, predictor: &Predictor, rows: &(dyn Fn(usize) -> InputRows<'a> + Sync), out: &mut [f64]) -> Result<()> {
        let (q, dim, offsets) = (predictor.offsets.len(), self.centre.len(), &predictor.offsets);
        let n = out.len() / q.max(1);
        let scale = predictor.scale.as_ref();
        let first = Input { rows: rows(0), scale };
        let raw = scale.is_none() && matches!(first.lying(dim), Some(Lying { rows: DenseRows::F32(_), .. }));
        let copy = |range: Range<usize>, to: &mut [f32]| {
            to.par_chunks_mut(ROWS * dim).enumerate().for_each(|(c, to)| {
                if let Some(Lying { rows: DenseRows::F32(from), .. }) =
                    (Input { rows: rows(range.start + c * ROWS), scale: None }).lying(dim)
                {
                    to.copy_from_slice(&from[..to.len()]);
                }
            });
        };
        let centred = |range: Range<usize>, to: &mut [f32]| {
            to.par_chunks_mut(ROWS * dim).enumerate().for_each_init(Buffers::default, |buffers, (c, to)| {
                self.fill(&Input { rows: rows(range.start + c * ROWS), scale }, to, buffers);
            });
        };
        let mut doubtful = vec![];
        let mut take = |first: usize, sums: &[f32]| {
            let out = &mut out[first * q..first * q + sums.len()];
            for (i, (out, sums)) in out.chunks_exact_mut(q).zip(sums.chunks_exact(q)).enumerate() {
                out.iter_mut().zip(sums).zip(offsets).for_each(|((out, sum), offset)| *out = offset + f64::from(*sum));
                if out.iter().any(|v| !v.is_finite()) {
                    doubtful.push(first + i);
                }
            }
            Ok(())
        };
        let fill = if raw { Fill::Raw(&copy) } else { Fill::Centred(&centred) };
        self.sums.stream(n, fill, &mut take)?;
        // What single precision cannot hold.
        let mut work = Work::default();
        for i in doubtful {
            predictor.chunk(rows(i), &mut out[i * q..(i + 1) * q], &mut work);
        }
        Ok(())
    }

    /// The outputs of rows that lie on the card. What single precision cannot hold stays not a number.
    pub fn outputs_there(&self, rows: CardArray, out: CardArray, offsets: &[f64], stream: u64) -> Result<()> {
        match self.mapped {
            true => Err(Error::device("a machine with a linear map predicts rows from ordinary memory only")),
            false => self.sums.at(rows, out, offsets, stream),
        }
    }

    /// Rows as the kernel sees them, less the centre. Sparse rows with features that the machine does not know are left to the processor.
    fn fill(&self, input: &Input, to: &mut [f32], buffers: &mut Buffers) {
        let dim = self.centre.len();
        let shifted = |to: &mut [f32], row: &[f64]| to.iter_mut().zip(row).zip(&self.centre).for_each(|((to, v), c)| *to = (v - c) as f32);
        if let Some(map) = input.scale.and_then(|scale| scale.map.as_ref()) {
            input.map(map, to.len() / dim, &mut buffers.mapped);
            to.chunks_exact_mut(dim).zip(buffers.mapped.out.chunks_exact(dim)).for_each(|(to, row)| shifted(to, row));
            return;
        }
        buffers.row.resize(dim, 0.0);
        for (i, to) in to.chunks_exact_mut(dim).enumerate() {
            let (row, beyond) = input.row(i, &mut buffers.row);
            match beyond > 0.0 {
                true => to.fill(f32::NAN),
                false => shifted(to, row),
            }
        }
    }
}

#[derive(Default)]
struct Buffers {
    row: Vec<f64>,
    mapped: Mapped,
}
