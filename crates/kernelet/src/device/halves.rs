//! Numbers as two halves: `v s = hi + lo` with a power of two s and two fp16 numbers, 22 bits together.

/// The fp16 number nearest to v, ties to even.
pub(super) fn half(v: f32) -> u16 {
    let bits = v.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x4780_0000 {
        // 65536 and more, infinite, or not a number.
        return sign | if magnitude > 0x7f80_0000 { 0x7fff } else { 0x7c00 };
    }
    if magnitude < 0x3880_0000 {
        // Below 2^-14: a whole number of 2^-24.
        return sign | (f32::from_bits(magnitude) * 16_777_216.0).round_ties_even() as u16;
    }
    let rounded = magnitude - 0x3800_0000 + 0xfff + (magnitude >> 13 & 1);
    sign | (rounded >> 13) as u16
}

/// The number that an fp16 stands for.
pub(super) fn number(half: u16) -> f32 {
    let (sign, exponent, digits) = (half >> 15, half >> 10 & 31, u32::from(half & 1023));
    let magnitude = match exponent {
        0 => digits as f32 / 16_777_216.0,
        31 if digits == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => f32::from_bits((u32::from(exponent) + 112) << 23 | digits << 13),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// Both halves of a number.
pub(super) fn split(v: f32) -> [u16; 2] {
    let high = half(v);
    [high, half(v - number(high))]
}

/// The power of two that brings the largest number into [2^7, 2^8).
pub(super) fn scale_of(largest: f32) -> f32 {
    let exponent = (largest.to_bits() >> 23 & 255).clamp(8, 250);
    f32::from_bits((127 + 7 + 127 - exponent) << 23)
}

/// A row in halves, and what it counts beside them: `c |row|^2` and 1 / scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SplitRow {
    pub high: Vec<u16>,
    pub low: Vec<u16>,
    pub numbers: [f32; 2],
}

/// A row in halves, padded with zeros: the sums of squares in the order of the 32 threads that share a row.
pub(super) fn split_row(row: &[f32], padded: usize, c: f32) -> SplitRow {
    let (mut squares, mut largest) = ([0.0f32; 32], 0.0f32);
    for (k, v) in row.iter().enumerate() {
        squares[k % 32] = v.mul_add(*v, squares[k % 32]);
        largest = largest.max(v.abs());
    }
    for half in [16, 8, 4, 2, 1] {
        let before = squares;
        (0..32).for_each(|lane| squares[lane] = before[lane] + before[lane ^ half]);
    }
    let scale = scale_of(largest);
    let halves = (0..padded).map(|k| row.get(k).map_or([0, 0], |v| split(v * scale)));
    let (high, low) = halves.map(|[high, low]| (high, low)).unzip();
    let far = squares[0] == f32::INFINITY;
    let square = if largest == f32::INFINITY { f32::NAN } else { c * squares[0] };
    SplitRow { high, low, numbers: [square, if far { 0.0 } else { 1.0 / scale }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back_and_rounding_is_to_the_nearest_with_ties_to_even() {
        for bits in 0..=u16::MAX {
            let v = number(bits);
            if v.is_nan() {
                assert!(number(half(v)).is_nan());
            } else {
                assert_eq!(half(v), bits, "{v}");
            }
        }
        for bits in (0..0x7bffu16).step_by(7) {
            let (below, above) = (number(bits), number(bits + 1));
            let middle = 0.5 * (below + above);
            assert_eq!(half(middle), if bits % 2 == 0 { bits } else { bits + 1 });
            assert_eq!(half(f32::from_bits(middle.to_bits() + 1)), bits + 1);
            assert_eq!(half(f32::from_bits(middle.to_bits() - 1)), bits);
        }
        assert_eq!((half(65519.0), half(65520.0), half(1e30)), (0x7bff, 0x7c00, 0x7c00));
    }

    #[test]
    fn two_halves_hold_22_bits() {
        let row: Vec<f32> = (0..100).map(|k| (k as f32 * 0.7).sin() * 300.0).collect();
        let split = split_row(&row, 128, -1.0);
        for (k, v) in row.iter().enumerate() {
            let back = (number(split.high[k]) + number(split.low[k])) * split.numbers[1];
            assert!((back - v).abs() <= 300.0 * 2f32.powi(-22), "{back} {v}");
        }
        assert!(split.high[100..].iter().chain(&split.low[100..]).all(|h| *h == 0));
        let squares: f64 = row.iter().map(|v| f64::from(*v).powi(2)).sum();
        assert!((f64::from(split.numbers[0]) / -squares - 1.0).abs() < 1e-6);
        let scaled: Vec<f32> = split.high.iter().map(|h| number(*h).abs()).collect();
        assert!(scaled.iter().fold(0.0f32, |a, b| a.max(*b)) < 256.5);
    }

    #[test]
    fn rows_that_overflow_are_far_and_infinite_ones_are_none() {
        assert_eq!(split_row(&[1e30, 1.0], 32, -2.0).numbers, [f32::NEG_INFINITY, 0.0]);
        assert!(split_row(&[f32::INFINITY, 1.0], 32, -2.0).numbers[0].is_nan());
        assert!(split_row(&[f32::NAN, 1.0], 32, -2.0).numbers[0].is_nan());
    }
}
