//! Numbers as C's `printf` writes them with `%g`: plain where that is short, with an exponent where it is not.

/// `%.17g`: enough digits for every number.
pub(super) fn seventeen_digits(value: f64) -> String {
    general(&format!("{value:.16e}"), 17)
}

/// `%.8g`, as LIBSVM writes features, or with more digits where eight do not read back as the same number.
pub(super) fn enough_digits(value: f64) -> String {
    general(&format!("{value:e}"), 8)
}

/// The form of `%.Pg` for a number written like `-1.25e-7`, P being the number of its digits or `precision` if that is more.
fn general(scientific: &str, precision: usize) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific.into() };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific.into() };
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        kept => kept,
    };
    if !(-4..precision.max(digits.len()) as i32).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.abs());
    }
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{sign}{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_printf_writes_them() {
        // Written by C's printf with %.17g.
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-10.0, "-10"),
            (0.1, "0.10000000000000001"),
            (1.0 / 3.0, "0.33333333333333331"),
            (-0.00012345, "-0.00012344999999999999"),
            (0.000012345, "1.2345e-05"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (123456.5, "123456.5"),
            (1.5e300, "1.5000000000000001e+300"),
            (5e-324, "4.9406564584124654e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ];
        for (value, text) in cases {
            assert_eq!(seventeen_digits(value), text);
        }
    }

    #[test]
    fn enough_digits_read_back_as_the_same_number_and_eight_look_as_libsvm_writes_them() {
        let cases = [
            (0.1, "0.1"),
            (1e-5, "1e-05"),
            (-250.0, "-250"),
            (12345678.0, "12345678"),
            (123456790.0, "1.2345679e+08"),
            (123456789.0, "123456789"),
            (1.0 / 3.0, "0.3333333333333333"),
        ];
        for (value, text) in cases {
            assert_eq!(enough_digits(value), text);
        }
        for value in [f64::MIN_POSITIVE, 5e-324, f64::MAX, 1.0 / 3.0, 0.1 + 0.2, -1e22, 1e17, f64::EPSILON] {
            for text in [enough_digits(value), seventeen_digits(value)] {
                assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
            }
        }
    }
}
