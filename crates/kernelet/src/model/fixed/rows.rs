//! From measured rows to whole numbers: which range of a feature they cover, and in which steps.
use super::{Width, unsupported};
use crate::{Result, data::Points, kernel::Argument, linalg::Matrix, machine::Machine};

/// Kernel evaluations times features that the choice of a step may cost.
const SAMPLE_WORK: usize = 50_000_000;
/// Rows that the choice of a step looks at, at least and at most.
const SAMPLE_ROWS: (usize, usize) = (50, 1000);
/// Steps that are tried, each finer than the one before by the square root of 2.
const STEPS: i32 = 6;

/// Feature i becomes `round((x_i - zero_i) * rate_i)`, saturated.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct Input {
    pub(in crate::model) zero: Vec<f64>,
    pub(in crate::model) rate: Vec<f64>,
}

impl Input {
    pub(super) fn quantised(&self, row: &[f64], width: Width) -> Vec<i32> {
        let number = |((x, zero), rate): ((&f64, &f64), &f64)| whole((x - zero) * rate, width);
        row.iter().zip(&self.zero).zip(&self.rate).map(number).collect()
    }
}

/// Rounded and saturated.
pub(super) fn whole(value: f64, width: Width) -> i32 {
    let most = f64::from(width.most());
    value.round().clamp(-most, most) as i32
}

/// The number q of coordinate i stands for `centre_i + step_i q`, as the kernel sees it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axes {
    pub(super) centre: Vec<f64>,
    pub(super) step: Vec<f64>,
}

/// Rows spread over all of them, few enough for the choice of a step.
pub(super) fn sample(machines: &[&Machine], rows: &Points) -> Result<Matrix> {
    rows.check_finite()?;
    let dim = machines.iter().map(|machine| machine.dim()).max().unwrap_or(0);
    let vectors: usize = machines.iter().map(|machine| machine.n_vectors()).sum();
    let count = (SAMPLE_WORK / (vectors.max(1) * dim.max(1))).clamp(SAMPLE_ROWS.0, SAMPLE_ROWS.1).min(rows.len());
    let mut dense = Matrix::zeros(count, dim);
    for i in 0..count {
        let at = i * rows.len() / count.max(1);
        rows.copy_rows(at..at + 1, dim, dense.row_mut(i));
    }
    Ok(dense)
}

/// The middle and half the width of the range of each feature as it was measured.
struct Ranges {
    middle: Vec<f64>,
    half: Vec<f64>,
}

impl Ranges {
    /// Of the sample and, unless there is a linear map, the vectors.
    fn of(machines: &[&Machine], sample: Option<&Matrix>) -> Result<Ranges> {
        let dim = machines.iter().map(|machine| machine.dim()).max().unwrap_or(0);
        let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
        let mut see = |i: usize, value: f64| (low[i], high[i]) = (low[i].min(value), high[i].max(value));
        if let Some(sample) = sample {
            sample.iter().for_each(|row| row.iter().enumerate().for_each(|(i, &value)| see(i, value)));
        } else if machines.iter().any(|machine| machine.map().is_some()) {
            let instead = "the ranges of its features cannot be seen from its vectors; give rows, with --data or X";
            return Err(unsupported("a linear map", instead));
        }
        for machine in machines.iter().filter(|machine| machine.map().is_none()) {
            let vectors = machine.expansion.vectors.to_dense();
            vectors.iter().for_each(|z| z.iter().enumerate().for_each(|(i, &value)| see(i, raw(machine, i, value))));
        }
        let seen = |i: usize| low[i] <= high[i];
        let middle: Vec<f64> = (0..dim).map(|i| if seen(i) { low[i] / 2.0 + high[i] / 2.0 } else { 0.0 }).collect();
        // Without rows their range is a guess.
        let wider = if sample.is_some() { 1.0 } else { 1.5 };
        let half = |i: usize| match wider * (high[i] / 2.0 - low[i] / 2.0) {
            half if seen(i) && half > 0.0 && half.is_finite() => half,
            _ => 1.0,
        };
        Ok(Ranges { middle, half: (0..dim).map(half).collect() })
    }
}

/// Coordinate i of a vector as it would be measured.
fn raw(machine: &Machine, i: usize, value: f64) -> f64 {
    let (shift, factor) = scale_of(machine, i);
    if factor == 0.0 { shift } else { value / factor + shift }
}

/// Shift and factor of feature i.
fn scale_of(machine: &Machine, i: usize) -> (f64, f64) {
    match &machine.scale {
        Some(scale) => (scale.shift.as_ref().map_or(0.0, |shift| shift[i]), scale.factor[i]),
        None => (0.0, 1.0),
    }
}

/// The least `2^(j/2)` that is not below the value: every second is a power of two, in which whole numbers stay exact.
fn half_octave(value: f64) -> i32 {
    (2.0 * value.log2() - 1e-9).ceil().clamp(-2000.0, 2000.0) as i32
}

fn octave(halves: i32) -> f64 {
    2f64.powf(f64::from(halves) / 2.0)
}

/// How rows may be quantised for all of these machines. Where one of them needs the distances of rows as they are, all features have one step as scaled: the
/// coarsest covers the whole range, finer ones saturate what is farther out. Else each feature has its own, which covers its range.
pub(super) fn inputs(machines: &[&Machine], width: Width, sample: Option<&Matrix>) -> Result<Vec<Input>> {
    let Some(&first) = machines.first() else { return Ok(vec![]) };
    if machines.iter().any(|machine| machine.dim() != first.dim() || (0..first.dim()).any(|i| scale_of(machine, i) != scale_of(first, i))) {
        return Err(unsupported("machines that scale rows in different ways", "export with --precision f32"));
    }
    let (ranges, most) = (Ranges::of(machines, sample)?, f64::from(width.most()));
    if !machines.iter().any(|machine| machine.map().is_none() && !of_products(machine)) {
        let steps: Vec<f64> = ranges.half.iter().map(|half| octave(half_octave(half / most))).collect();
        return Ok(vec![placed(first, &ranges, &steps)]);
    }
    let factors: Vec<f64> = (0..first.dim()).map(|i| scale_of(first, i).1.abs()).collect();
    // With one factor for all features, steps are powers of the square root of 2 in what was measured.
    let unit = factors.first().copied().filter(|first| *first > 0.0 && factors.iter().all(|factor| factor == first)).unwrap_or(1.0);
    let widest = ranges.half.iter().zip(&factors).map(|(half, factor)| half * factor / unit).fold(0.0, f64::max);
    let coarsest = half_octave(if widest > 0.0 { widest / most } else { 1.0 });
    let input = |j: i32| {
        let steps: Vec<f64> = factors.iter().map(|factor| octave(coarsest - j) * unit / factor).collect();
        placed(first, &ranges, &steps)
    };
    Ok((0..tried(sample)).map(input).collect())
}

fn of_products(machine: &Machine) -> bool {
    machine.expansion.kernel.profile().argument() == Argument::DotProduct
}

fn tried(sample: Option<&Matrix>) -> i32 {
    if sample.is_some() { STEPS } else { 1 }
}

/// The rows in these steps of each feature as it was measured; zeros lie on the steps.
fn placed(machine: &Machine, ranges: &Ranges, steps: &[f64]) -> Input {
    let mut input = Input { zero: vec![], rate: vec![] };
    for (i, (&middle, &step)) in ranges.middle.iter().zip(steps).enumerate() {
        let used = scale_of(machine, i).1 != 0.0 && step.is_finite();
        input.zero.push(if used { (middle / step).round() * step } else { 0.0 });
        input.rate.push(if used { 1.0 / step } else { 0.0 });
    }
    input
}

/// What the whole numbers of a row stand for in the kernel of a machine; behind a linear map those of the mapped row, in one of several steps.
pub(super) fn axes(machine: &Machine, width: Width, input: &Input, behind_map: bool, sample: Option<&Matrix>) -> Vec<Axes> {
    if behind_map && machine.map().is_some() {
        let (centre, half) = mapped_ranges(machine, sample);
        let coarsest = half_octave(half / f64::from(width.most()));
        let axes = |j: i32| Axes { centre: centre.clone(), step: vec![octave(coarsest - j); centre.len()] };
        return (0..tried(sample)).map(axes).collect();
    }
    let mut axes = Axes { centre: vec![], step: vec![] };
    for (i, (&zero, &rate)) in input.zero.iter().zip(&input.rate).enumerate() {
        let (shift, factor) = scale_of(machine, i);
        axes.centre.push(if rate > 0.0 { (zero - shift) * factor } else { 0.0 });
        axes.step.push(if rate > 0.0 { factor / rate } else { 0.0 });
    }
    if !of_products(machine) {
        // A feature of factor 0 is the same in every row; vectors may still differ there.
        let step = axes.step.iter().map(|step| step.abs()).find(|&step| step > 0.0).unwrap_or(1.0);
        axes.step.iter_mut().filter(|own| **own == 0.0).for_each(|own| *own = step);
    }
    vec![axes]
}

/// The middle of each number behind the linear map, and half the widest range.
fn mapped_ranges(machine: &Machine, sample: Option<&Matrix>) -> (Vec<f64>, f64) {
    let vectors = machine.expansion.vectors.to_dense();
    let mapped = |row: &[f64]| machine.scale.as_ref().map_or_else(|| row.to_vec(), |scale| scale.apply_row(row.to_vec()));
    let rows: Vec<Vec<f64>> =
        vectors.iter().map(<[f64]>::to_vec).chain(sample.iter().flat_map(|sample| sample.iter()).map(mapped)).collect();
    let range = |k: usize| rows.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| (row[k].min(low), row[k].max(high)));
    let ranges: Vec<(f64, f64)> = (0..vectors.cols()).map(range).collect();
    let centre = ranges.iter().map(|(low, high)| if low <= high { low / 2.0 + high / 2.0 } else { 0.0 }).collect();
    let half = ranges.iter().map(|(low, high)| high / 2.0 - low / 2.0).fold(0.0, f64::max);
    (centre, if half > 0.0 && half.is_finite() { half } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_powers_of_the_square_root_of_two_that_cover_the_range() {
        for (value, want) in [(1.0, 1.0), (0.9, 1.0), (0.7, 0.5f64.sqrt()), (0.25, 0.25), (3.0, 4.0), (8.0 / 127.0, 2f64.powf(-3.5))] {
            let step = octave(half_octave(value));
            assert!((step - want).abs() < 1e-12 && step >= value * (1.0 - 1e-9), "{value} {step}");
        }
    }

    #[test]
    fn numbers_beyond_the_range_are_saturated() {
        let input = Input { zero: vec![8.0, 0.0], rate: vec![16.0, 0.5] };
        assert_eq!(input.quantised(&[9.0, 3.0], Width::I8), [16, 2]);
        assert_eq!(input.quantised(&[1e300, -1e300], Width::I8), [127, -127]);
        assert_eq!(input.quantised(&[1e300, -1e300], Width::I16), [32767, -32767]);
    }
}
