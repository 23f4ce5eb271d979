//! Numbers as short text: steps of a range in base64, greys, run lengths.
use base64::{Engine, prelude::BASE64_STANDARD};

/// Numbers as whole steps from 0 to 65534 of a range, two bytes each, the low one first; 65535 is a number that is not finite.
pub fn steps(values: impl Iterator<Item = f64>, [low, high]: [f64; 2]) -> String {
    let width = if high > low { high - low } else { 1.0 };
    let step = |value: f64| if value.is_finite() { (65534.0 * ((value - low) / width).clamp(0.0, 1.0)).round() as u16 } else { u16::MAX };
    BASE64_STANDARD.encode(values.flat_map(|value| step(value).to_le_bytes()).collect::<Vec<u8>>())
}

/// Greys of 4 bits, two a byte, from numbers in a range.
pub fn greys(values: &[f64], [low, high]: [f64; 2]) -> Vec<u8> {
    let width = if high > low { high - low } else { 1.0 };
    let grey = |value: f64| if value.is_finite() { (15.0 * ((value - low) / width).clamp(0.0, 1.0)).round() as u8 } else { 0 };
    values.chunks(2).map(|two| two.iter().enumerate().fold(0, |byte, (i, &value)| byte | grey(value) << (4 * (1 - i)))).collect()
}

/// Small whole numbers as runs: each its length, then the number in letters, `12b3a`: twelve times 1, three times 0.
pub fn runs(codes: &[usize]) -> String {
    let mut text = String::new();
    for run in codes.chunk_by(|a, b| a == b) {
        text += &run.len().to_string();
        text += &letters(run[0]);
    }
    text
}

/// A whole number in the digits a to z.
fn letters(mut number: usize) -> String {
    let mut text = vec![];
    loop {
        text.push((b'a' + (number % 26) as u8) as char);
        number /= 26;
        if number == 0 {
            return text.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_greys_span_their_range_and_survive_nonsense() {
        assert_eq!(steps([0.0, 2.0, f64::NAN].into_iter(), [0.0, 2.0]), "AAD+////");
        assert_eq!(greys(&[0.0, 1.0, 0.5], [0.0, 1.0]), [0x0f, 0x80]);
        assert_eq!(greys(&[1.0, f64::NAN], [1.0, 1.0]), [0]);
    }

    #[test]
    fn runs_are_lengths_and_letters() {
        assert_eq!(runs(&[1, 1, 1, 0, 26, 27]), "3b1a1ba1bb");
        assert_eq!(runs(&[]), "");
    }
}
