//! The tail of the F distribution.
//!
//! P(F > f) = I_x(v / 2, u / 2) with x = v / (v + u f) for u and v degrees of freedom, where I is the regularised incomplete beta function.

use kernelet::evaluate::incomplete_beta;

/// The chance of an F above `f` with `upper` and `lower` degrees of freedom; 1 up to zero, 0 at infinity.
pub fn above(f: f64, upper: usize, lower: usize) -> f64 {
    if f.is_nan() || f <= 0.0 {
        return 1.0;
    }
    let (u, v) = (upper as f64, lower as f64);
    // Both parts by themselves: one less the other would lose the digits of the smaller.
    let (part, other) = (v / (v + u * f), 1.0 / (1.0 + v / (u * f)));
    incomplete_beta(v / 2.0, u / 2.0, part, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_scipy() {
        // from scipy.stats import f
        // for x, u, v in [(0.5, 1, 1), (1.0, 2, 5), (3.7, 2, 9), (2.5, 12, 7700), (40.0, 3, 60), (40.0, 12, 7700), (1.01, 9999, 9999)]:
        //     print(f"({x}, {u}, {v}, {f.sf(x, u, v):.15e}),")
        let cases = [
            (0.5, 1, 1, 6.081734479693928e-01),
            (1.0, 2, 5, 4.312011503716922e-01),
            (3.7, 2, 9, 6.718835005742513e-02),
            (2.5, 12, 7700, 2.830283143417274e-03),
            (40.0, 3, 60, 2.501285713130403e-14),
            (40.0, 12, 7700, 3.894288123283052e-92),
            (1.01, 9999, 9999, 3.094259354933292e-01),
        ];
        for (f, upper, lower, want) in cases {
            let have = above(f, upper, lower);
            assert!((have - want).abs() < 1e-10 * want, "{f} {upper} {lower}: {have:e} {want:e}");
        }
    }

    #[test]
    fn equal_degrees_of_freedom_have_the_median_one() {
        for (freedom, tolerance) in [(1, 1e-12), (30, 1e-12), (1_000_000, 1e-8)] {
            assert!((above(1.0, freedom, freedom) - 0.5).abs() < tolerance, "{freedom}");
        }
    }

    #[test]
    fn the_ends_are_one_and_zero() {
        for (upper, lower) in [(1, 1), (2, 5000), (1_000_000, 3)] {
            assert_eq!(above(0.0, upper, lower), 1.0);
            assert_eq!(above(f64::INFINITY, upper, lower), 0.0);
            assert!((0.0..1e-3).contains(&above(1e300, upper, lower)));
            assert!((above(1e-300, upper, lower) - 1.0).abs() < 1e-12);
        }
    }
}
