//! Decimal numbers from text, fast for the short ones that fill data files.

const POWERS_OF_TEN: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The number at the start of the text and its length; length 0 where there is none.
///
/// Up to 15 digits around a point are a whole number below 2^53 over a power of ten, both exact, so one division rounds
/// correctly. The rest is left to the general parser.
#[inline]
pub(super) fn number(text: &[u8]) -> (f64, usize) {
    let sign = usize::from(text.first() == Some(&b'-'));
    let (mut digits, mut len) = (0u64, sign);
    while let Some(digit) = text.get(len).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        digits = digits.wrapping_mul(10).wrapping_add(u64::from(digit));
        len += 1;
    }
    let (mut count, mut behind) = (len - sign, 0);
    if text.get(len) == Some(&b'.') {
        len += 1;
        let point = len;
        while let Some(eight) = text[len..].first_chunk() {
            let (value, found) = leading_digits(*eight);
            digits = digits.wrapping_mul(WHOLE_POWERS[found]).wrapping_add(value);
            len += found;
            if found < 8 {
                break;
            }
        }
        while let Some(digit) = text.get(len).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
            digits = digits.wrapping_mul(10).wrapping_add(u64::from(digit));
            len += 1;
        }
        behind = len - point;
        count += behind;
    }
    if count == 0 || count > 15 || matches!(text.get(len), Some(b'e' | b'E')) {
        return fast_float2::parse_partial(text).unwrap_or((0.0, 0));
    }
    // Signs come in no order that a branch could foresee.
    let value = digits as f64 / POWERS_OF_TEN[behind];
    (f64::from_bits(value.to_bits() | (sign as u64) << 63), len)
}

const WHOLE_POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number that the digits at the start of eight characters spell, and how many digits these are.
///
/// All eight are treated at once, as the bytes of one word: the first character that is no digit is found by a carry into
/// the top bit of its byte; digits are moved up so that zeros stand before them; and neighbours are joined to pairs,
/// fours and eight by three products.
#[inline]
fn leading_digits(text: [u8; 8]) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(text) ^ (EACH * 0x30);
    let others = (word.wrapping_add(EACH * 0x76) | word) & (EACH * 0x80);
    let count = others.trailing_zeros() / 8;
    let word = word.checked_shl(64 - 8 * count).unwrap_or(0);
    let pairs = word.wrapping_mul(10 * 0x100 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * 0x1_0000 + 1) >> 16 & 0x0000_ffff_0000_ffff;
    let eight = fours.wrapping_mul(10_000 * 0x1_0000_0000 + 1) >> 32;
    (eight, count as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_ends_where_its_characters_do() {
        let cases = [
            ("1.5 2", 1.5, 3),
            ("-7", -7.0, 2),
            ("+7", 7.0, 2),
            (".5", 0.5, 2),
            ("5.", 5.0, 2),
            ("1e3", 1000.0, 3),
            ("1e", 1.0, 1),
            ("123456789012345678901234567890", 1.2345678901234568e29, 30),
            ("-inf", f64::NEG_INFINITY, 4),
        ];
        for (text, value, len) in cases {
            assert_eq!(number(text.as_bytes()), (value, len), "{text}");
        }
        assert!(number(b"-0").0.is_sign_negative());
        for text in ["", "-", ".", "-.", "x", "e5"] {
            assert_eq!(number(text.as_bytes()).1, 0, "{text}");
        }
    }

    #[test]
    fn leading_digits_end_at_the_first_other_character() {
        assert_eq!(leading_digits(*b"12345678"), (12_345_678, 8));
        assert_eq!(leading_digits(*b"99999999"), (99_999_999, 8));
        for other in (0..=255).filter(|b: &u8| !b.is_ascii_digit()) {
            assert_eq!(leading_digits([other; 8]), (0, 0));
            assert_eq!(leading_digits([b'4', b'2', other, b'7', b'8', b'9', other, b'1']), (42, 2));
        }
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_parser(text in "-?[0-9]{1,18}(\\.[0-9]{0,18})?([eE][-+]?[0-9]{1,3})?") {
            prop_assert_eq!(number(text.as_bytes()), (text.parse().unwrap(), text.len()));
        }
    }
}
