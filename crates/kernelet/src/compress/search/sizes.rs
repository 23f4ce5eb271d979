//! The sizes that a search looks at, and the knee of a curve over them.

/// The smallest size that a search begins with.
const FIRST: usize = 4;

/// Sizes that double up to the last.
pub(super) fn doubling(most: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = std::iter::successors(Some(FIRST), |size| Some(2 * size)).take_while(|size| *size < most).collect();
    sizes.push(most);
    sizes
}

/// The knee of a curve of (size, value, chance): the smallest size within chance of the best; where there is no chance, the point farthest below
/// the line between the ends, over the logarithm of the size.
pub(super) fn knee_of(points: &[(usize, f64, f64)]) -> (usize, String) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return (1, String::new()) };
    let best = points.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a }).unwrap_or(*last);
    if best.2 > 0.0 || best.1 == 0.0 {
        let enough = points.iter().find(|point| point.1 <= best.1 + best.2).unwrap_or(last);
        return (enough.0, "the knee of the curve: larger ones are better by no more than chance".into());
    }
    let place = |point: &(usize, f64, f64)| (point.0 as f64).ln();
    let below = |point: &(usize, f64, f64)| {
        let part = (place(point) - place(first)) / (place(last) - place(first)).max(f64::MIN_POSITIVE);
        first.1 + part * (last.1 - first.1) - point.1
    };
    let farthest = points.iter().reduce(|a, b| if below(b) > below(a) { b } else { a }).unwrap_or(last);
    (farthest.0, "the knee of the curve: from here on more vectors gain less and less".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_to_the_last() {
        assert_eq!(doubling(20), [4, 8, 16, 20]);
        assert_eq!(doubling(4), [4]);
        assert_eq!(doubling(1), [1]);
    }

    #[test]
    fn the_knee_lies_where_the_curve_bends_or_within_chance_of_the_best() {
        let curve = [(4, 0.9, 0.0), (8, 0.3, 0.0), (16, 0.2, 0.0), (32, 0.18, 0.0)];
        assert_eq!(knee_of(&curve).0, 8);
        assert_eq!(knee_of(&[(4, 0.2, 0.01), (8, 0.105, 0.01), (16, 0.1, 0.01)]).0, 8);
        assert_eq!(knee_of(&[(3, 0.5, 0.0)]).0, 3);
        assert_eq!(knee_of(&[]).0, 1);
    }
}
