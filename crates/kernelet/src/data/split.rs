//! Splits into training and test rows, and folds for cross-validation.
//!
//! Every split has a seed, and a seed gives the same rows for ever. Rows are counted from 0 and come in ascending order.
use super::{Classes, Target};
use crate::{Error, Result, draw::Draw};

/// The rows 0..n in random order.
pub fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..n).collect();
    Draw::seeded(seed).shuffle(&mut rows);
    rows
}

/// Training and test rows, of which `fraction` (above 0, below 1) are for testing, to the nearest whole number.
///
/// Classes keep their shares up to rounding; at least one row of each class is in training, so a class with one row is never tested.
/// Real targets are split without regard to their values. Data without a target have no rows to count here: see [`plain_split`].
pub fn stratified_split(target: &Target, fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    check_fraction(fraction)?;
    match target {
        Target::Classes(classes) => Ok(split_classes(classes, fraction, seed)),
        Target::Values(values) => plain_split(values.rows(), fraction, seed),
        Target::None => Err(Error::data("a stratified split needs a target for every row, but the data have none")),
    }
}

/// Training and test rows out of 0..n without regard to a target, of which `fraction` (above 0, below 1) are for testing.
/// At least one row is for training.
pub fn plain_split(n: usize, fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    check_fraction(fraction)?;
    let mut test = shuffled(n, seed);
    let mut train = test.split_off(nearest(fraction * n as f64).min(n.saturating_sub(1)));
    train.sort_unstable();
    test.sort_unstable();
    Ok((train, test))
}

/// The test rows of each fold. Every row is in one fold; sizes differ by at most one row, and so do the rows of each class.
///
/// Real targets are dealt out without regard to their values. Data without a target have no rows to count here: see [`plain_folds`].
pub fn stratified_folds(target: &Target, folds: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    match target {
        Target::Classes(classes) => {
            check_folds(classes.codes.len(), folds)?;
            Ok(deal(&rows_by_class(classes, seed).concat(), folds))
        }
        Target::Values(values) => plain_folds(values.rows(), folds, seed),
        Target::None => Err(Error::data("stratified folds need a target for every row, but the data have none")),
    }
}

/// The test rows of each fold of 0..n, without regard to a target.
pub fn plain_folds(n: usize, folds: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    check_folds(n, folds)?;
    Ok(deal(&shuffled(n, seed), folds))
}

/// [`stratified_split`] of classes, with a fraction known to be good.
pub(super) fn split_classes(classes: &Classes, fraction: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let groups = rows_by_class(classes, seed);
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    let (mut train, mut test) = (vec![], vec![]);
    for (rows, count) in groups.iter().zip(test_counts(&sizes, fraction)) {
        test.extend_from_slice(&rows[..count]);
        train.extend_from_slice(&rows[count..]);
    }
    train.sort_unstable();
    test.sort_unstable();
    (train, test)
}

/// How many rows of each class are tested: the whole part of each share, and one more where the rest is largest (the lower class
/// on a tie) until the total is right.
fn test_counts(sizes: &[usize], fraction: f64) -> Vec<usize> {
    let shares: Vec<f64> = sizes.iter().map(|&size| if size < 2 { 0.0 } else { fraction * size as f64 }).collect();
    let mut counts: Vec<usize> = shares.iter().zip(sizes).map(|(share, size)| (*share as usize).min(size.saturating_sub(1))).collect();
    let mut missing = nearest(shares.iter().sum()).saturating_sub(counts.iter().sum());
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|&a, &b| shares[b].fract().total_cmp(&shares[a].fract()));
    for class in order {
        if missing > 0 && counts[class] + 1 < sizes[class] {
            counts[class] += 1;
            missing -= 1;
        }
    }
    counts
}

/// The rows of each class in random order.
fn rows_by_class(classes: &Classes, seed: u64) -> Vec<Vec<usize>> {
    let mut groups = vec![vec![]; classes.labels.len()];
    for (row, &code) in classes.codes.iter().enumerate() {
        groups[code as usize].push(row);
    }
    let mut draw = Draw::seeded(seed);
    groups.iter_mut().for_each(|rows| draw.shuffle(rows));
    groups
}

/// Rows dealt out to the folds in turn, like cards.
fn deal(rows: &[usize], folds: usize) -> Vec<Vec<usize>> {
    let mut dealt: Vec<Vec<usize>> = (0..folds).map(|fold| rows.iter().skip(fold).step_by(folds).copied().collect()).collect();
    dealt.iter_mut().for_each(|rows| rows.sort_unstable());
    dealt
}

fn check_fraction(fraction: f64) -> Result<()> {
    match fraction > 0.0 && fraction < 1.0 {
        true => Ok(()),
        false => Err(Error::parameter("fraction", fraction, "a number above 0 and below 1")),
    }
}

fn check_folds(rows: usize, folds: usize) -> Result<()> {
    match folds >= 2 && folds <= rows {
        true => Ok(()),
        false => Err(Error::parameter("folds", folds, format!("at least 2 and at most the number of rows, {rows}"))),
    }
}

fn nearest(count: f64) -> usize {
    count.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;

    /// Three classes of 6, 3 and 1 rows.
    fn target() -> Target {
        Target::Classes(Classes::from_texts(&["a", "b", "a", "a", "c", "b", "a", "a", "b", "a"]))
    }

    fn counts(target: &Target, rows: &[usize]) -> Vec<usize> {
        match target.select(rows) {
            Target::Classes(classes) => classes.counts(),
            _ => vec![],
        }
    }

    fn is_partition(parts: &[&[usize]], n: usize) -> bool {
        let mut all = parts.concat();
        all.sort_unstable();
        all.into_iter().eq(0..n)
    }

    #[test]
    fn the_rows_of_a_seed_are_fixed_for_ever() {
        assert_eq!(shuffled(10, 0), [6, 1, 8, 3, 2, 9, 0, 5, 4, 7]);
        assert_eq!(shuffled(10, 1), [2, 7, 8, 5, 3, 6, 1, 9, 0, 4]);
        assert_eq!(stratified_split(&target(), 0.3, 0).unwrap(), (vec![0, 3, 4, 5, 7, 8, 9], vec![1, 2, 6]));
        assert_eq!(plain_split(10, 0.3, 0).unwrap(), (vec![0, 2, 3, 4, 5, 7, 9], vec![1, 6, 8]));
        assert_eq!(stratified_folds(&target(), 3, 0).unwrap(), [vec![1, 4, 6, 9], vec![2, 3, 8], vec![0, 5, 7]]);
        assert_eq!(plain_folds(7, 2, 0).unwrap(), [vec![3, 4, 5, 6], vec![0, 1, 2]]);
    }

    #[test]
    fn classes_keep_their_shares() {
        for seed in 0..20 {
            let (train, test) = stratified_split(&target(), 0.34, seed).unwrap();
            assert!(is_partition(&[&train, &test], 10));
            assert_eq!(counts(&target(), &test), [2, 1, 0]);
            for fold in stratified_folds(&target(), 3, seed).unwrap() {
                let counts = counts(&target(), &fold);
                assert!(counts[0] == 2 && counts[1] == 1 && counts[2] <= 1, "{counts:?}");
            }
        }
    }

    #[test]
    fn a_class_never_leaves_training_and_the_total_is_to_the_nearest_row() {
        let codes: Vec<u32> = (0..1000).map(|i| (i % 7 * i % 5) as u32).collect();
        let labels = ["0", "1", "2", "3", "4"].map(super::super::Label::new).to_vec();
        let target = Target::Classes(Classes::new(labels, &codes));
        for fraction in [0.001, 0.1, 1.0 / 3.0, 0.5, 0.9] {
            let (train, test) = stratified_split(&target, fraction, 4).unwrap();
            assert!(is_partition(&[&train, &test], 1000));
            assert_eq!(test.len(), nearest(fraction * 1000.0));
            for (have, all) in counts(&target, &test).iter().zip(counts(&target, &(0..1000).collect::<Vec<_>>())) {
                assert!((*have as f64 - fraction * all as f64).abs() < 1.0);
            }
        }
        let (train, test) = stratified_split(&self::target(), 0.999, 0).unwrap();
        assert_eq!(counts(&self::target(), &train), [1, 1, 1]);
        assert_eq!(test.len(), 7);
        assert_eq!(plain_split(1, 0.9, 0).unwrap(), (vec![0], vec![]));
        assert_eq!(plain_split(0, 0.9, 0).unwrap(), (vec![], vec![]));
    }

    #[test]
    fn folds_are_a_partition_with_sizes_that_differ_by_at_most_one() {
        let values = Target::Values(Matrix::column(vec![0.0; 10]));
        for (target, folds) in [(target(), 2), (target(), 4), (target(), 10), (values.clone(), 3), (values, 10)] {
            let parts = stratified_folds(&target, folds, 5).unwrap();
            assert_eq!(parts.len(), folds);
            assert!(is_partition(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), 10));
            assert!(parts.iter().all(|part| part.len() == 10 / folds || part.len() == 10usize.div_ceil(folds)));
        }
    }

    #[test]
    fn what_cannot_be_split_is_rejected_with_an_error() {
        for fraction in [0.0, 1.0, -0.1, f64::NAN] {
            let error = stratified_split(&target(), fraction, 0).unwrap_err();
            assert_eq!(error.to_string(), format!("fraction is {fraction}, but must be a number above 0 and below 1"));
        }
        for folds in [0, 1, 11] {
            let error = stratified_folds(&target(), folds, 0).unwrap_err();
            assert_eq!(error.to_string(), format!("folds is {folds}, but must be at least 2 and at most the number of rows, 10"));
        }
        assert!(stratified_split(&Target::None, 0.5, 0).is_err());
        assert!(stratified_folds(&Target::None, 2, 0).is_err());
    }
}
