//! Multipliers of 16 bits, as fine as sums without overflow allow, and the linear map of rows.
use super::{
    Width,
    rows::{Axes, Input},
    unsupported,
};
use crate::{
    Result,
    linalg::Matrix,
    machine::{Decision, Machine},
};

/// The largest multiplier.
const MOST: f64 = i16::MAX as f64;
/// Exponents of units that single precision holds as well.
const EXPONENTS: std::ops::RangeInclusive<i32> = -100..=100;

/// One row of multipliers for each term of a sum, one column for each sum.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct Multipliers {
    pub(in crate::model) rows: Vec<Vec<i32>>,
}

impl Multipliers {
    /// Adds every term times its multipliers.
    pub(super) fn add(&self, terms: impl Iterator<Item = i64>, sums: &mut [i64]) {
        for (term, row) in terms.zip(&self.rows) {
            sums.iter_mut().zip(row).for_each(|(sum, &multiplier)| *sum += term * i64::from(multiplier));
        }
    }
}

/// The multipliers, the constants and the shifts of sums whose terms are at most `most`: `values 2^shift` and `constants 2^shift` rounded, each shift as
/// large as multipliers of 16 bits and `limit` allow. Outputs that are compared with one another have one shift.
pub(super) fn finest(
    values: &Matrix,
    constants: &[f64],
    most: f64,
    limit: f64,
    decision: &Decision,
) -> Result<(Multipliers, Vec<i64>, Vec<i32>)> {
    let compared = matches!(decision, Decision::Largest { .. } | Decision::Codes { .. });
    // Losses of a code add up to twice the number of its outputs and ones.
    let limit = if matches!(decision, Decision::Codes { .. }) { limit / (4.0 * constants.len() as f64) } else { limit };
    // Their margins are compared with 1, which is not above `most`.
    let extra = if matches!(decision, Decision::Codes { .. }) { most } else { 0.0 };
    let mut shifts =
        (0..constants.len()).map(|k| shift(&values.col(k), constants[k].abs() + extra, most, limit)).collect::<Result<Vec<i32>>>()?;
    if let Some(&least) = shifts.iter().min().filter(|_| compared) {
        shifts.fill(least);
    }
    let unit: Vec<f64> = shifts.iter().map(|&shift| 2f64.powi(shift)).collect();
    let rows = values.iter().map(|row| row.iter().zip(&unit).map(|(value, unit)| (value * unit).round() as i32).collect()).collect();
    let constants = constants.iter().zip(&unit).map(|(constant, unit)| (constant * unit).round() as i64).collect();
    Ok((Multipliers { rows }, constants, shifts))
}

/// The largest shift of one sum.
fn shift(values: &[f64], constant: f64, most: f64, limit: f64) -> Result<i32> {
    let largest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let whole: f64 = values.iter().map(|value| value.abs()).sum::<f64>() * most + constant.abs();
    if !whole.is_finite() {
        return Err(unsupported("numbers of this size", "export with --precision f64"));
    }
    if whole == 0.0 {
        return Ok(0);
    }
    // Rounding adds at most a half to each multiplier and to the constant.
    let rounding = 0.5 * most * values.len() as f64 + 1.0;
    let room = limit - rounding;
    if room <= 0.0 {
        return Err(unsupported(format!("sums of {} terms", values.len()), "export with --precision i16 or f32"));
    }
    let bound = if largest > 0.0 { (MOST / largest).min(room / whole) } else { room / whole };
    let shift = bound.log2().floor();
    // Sums of very small numbers need no finer unit.
    let shift = shift.min(f64::from(*EXPONENTS.end())) as i32;
    match EXPONENTS.contains(&shift) {
        true => Ok(shift),
        false => Err(unsupported("numbers of this size", "export with --precision f64")),
    }
}

/// The linear map: `y_k = (sum_i M_ki x_i + constant_k) rate_k / 2^drop_k`, rounded and saturated.
#[derive(Clone, Debug)]
pub(in crate::model) struct Mapped {
    /// One row for each feature.
    pub(in crate::model) multipliers: Multipliers,
    pub(in crate::model) constants: Vec<i64>,
    pub(in crate::model) rates: Vec<u32>,
    pub(in crate::model) drops: Vec<u32>,
}

/// Sums of the map times a rate of 16 bits stay below [`BIAS`].
const LARGEST_MAPPED: f64 = (1u64 << 45) as f64;
/// Makes numbers positive before they are shifted.
pub(in crate::model) const BIAS: i64 = 1 << 62;

impl Mapped {
    /// The map of the machine from rows of `input` to the coordinates of `axes`.
    pub(super) fn of(machine: &Machine, map: &Matrix, width: Width, input: &Input, axes: &Axes) -> Result<Mapped> {
        let scale = |i: usize| match &machine.scale {
            Some(scale) => (scale.shift.as_ref().map_or(0.0, |shift| shift[i]), scale.factor[i]),
            None => (0.0, 1.0),
        };
        let step = |i: usize| if input.rate[i] > 0.0 { scale(i).1 / input.rate[i] } else { 0.0 };
        let values = Matrix::from_fn(map.cols(), map.rows(), |i, k| map.at(k, i) * step(i));
        let centre = |i: usize| (input.zero[i] - scale(i).0) * scale(i).1;
        let constant = |k: usize| (0..map.cols()).map(|i| map.at(k, i) * centre(i)).sum::<f64>() - axes.centre[k];
        let constants: Vec<f64> = (0..map.rows()).map(constant).collect();
        let limit = width.largest_sum().min(LARGEST_MAPPED);
        let (multipliers, constants, shifts) = finest(&values, &constants, f64::from(width.most()) + 1.0, limit, &Decision::Values)?;
        let (mut rates, mut drops) = (vec![], vec![]);
        for (shift, step) in shifts.iter().zip(&axes.step) {
            let rate = 2f64.powi(-shift) / step;
            let drop = 15.0 - rate.log2().floor();
            if drop < 1.0 {
                return Err(unsupported("a linear map of this size", "export with --precision f32"));
            }
            let drop = drop.min(61.0) as u32;
            rates.push((rate * 2f64.powi(drop as i32)).round() as u32);
            drops.push(drop);
        }
        Ok(Mapped { multipliers, constants, rates, drops })
    }

    pub(super) fn apply(&self, row: &[i32], width: Width) -> Vec<i32> {
        let mut sums = self.constants.clone();
        self.multipliers.add(row.iter().map(|&x| i64::from(x)), &mut sums);
        let most = i64::from(width.most());
        let number = |((&sum, &rate), &drop): ((&i64, &u32), &u32)| {
            let biased = sum * i64::from(rate) + (1i64 << (drop - 1)) + BIAS;
            (((biased as u64) >> drop) as i64 - (BIAS >> drop)).clamp(-most, most) as i32
        };
        sums.iter().zip(&self.rates).zip(&self.drops).map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_are_the_largest_without_overflow() {
        let values = Matrix::from_fn(40, 3, |j, k| ((j * 7 + k) as f64).sin() * 10f64.powi(3 * k as i32 - 3));
        let constants = [0.5, -2.0, 1e5];
        for limit in [f64::from(i32::MAX), (1i64 << 52) as f64] {
            let (multipliers, whole, shifts) = finest(&values, &constants, 32768.0, limit, &Decision::Values).unwrap();
            for k in 0..3 {
                let bound = |unit: f64| {
                    let sum: f64 = values.col(k).iter().map(|value| (value * unit).round().abs()).sum();
                    sum * 32768.0 + (constants[k] * unit).round().abs()
                };
                let largest = |unit: f64| values.col(k).iter().fold(0.0f64, |most, value| most.max((value * unit).round().abs()));
                let unit = 2f64.powi(shifts[k]);
                assert!(bound(unit) <= limit && largest(unit) <= MOST);
                // One bit more would be too much, but for the reserve of the rounding.
                assert!(bound(4.0 * unit) > limit || largest(4.0 * unit) > MOST);
                let magnitude: i64 = multipliers.rows.iter().map(|row| i64::from(row[k].abs()) * 32768).sum::<i64>() + whole[k].abs();
                assert!(magnitude as f64 <= limit);
            }
        }
        let labels = ["a", "b", "c"].map(crate::data::Label::new).to_vec();
        let (_, _, shifts) = finest(&values, &constants, 32768.0, f64::from(i32::MAX), &Decision::Largest { labels }).unwrap();
        assert!(shifts.iter().all(|shift| *shift == shifts[0]));
        assert!(finest(&values, &[f64::MAX, 0.0, 0.0], 32768.0, f64::from(i32::MAX), &Decision::Values).is_err());
    }
}
