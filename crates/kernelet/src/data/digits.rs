//! A real set that is always at hand: 1,797 handwritten digits of 8 x 8 pixels with grey values from 0 to 16.
//!
//! They are the test part of *Optical Recognition of Handwritten Digits* by E. Alpaydin and C. Kaynak (UCI Machine Learning
//! Repository, 1998, <https://archive.ics.uci.edu/dataset/80>), licensed under CC BY 4.0, in the order in which scikit-learn has them.
use std::io::Read;

use flate2::read::DeflateDecoder;

use super::{Classes, Dataset, Label, Target, split::split_classes};
use crate::linalg::Matrix;

const ROWS: usize = 1797;
const PIXELS: usize = 64;
const PACKED: &[u8] = include_bytes!("digits/digits.bin");

/// All 1,797 digits with the labels `0` to `9`; feature 8 r + c is the pixel in row r and column c.
pub fn digits() -> Dataset {
    let plain = unpacked();
    let (codes, grey) = plain.split_at(ROWS);
    let points = Matrix::from_fn(ROWS, PIXELS, |i, j| f64::from(grey[i * PIXELS + j]));
    let codes: Vec<u32> = codes.iter().map(|&code| code.into()).collect();
    let labels = (0..10).map(|digit| Label::new(digit.to_string())).collect();
    Dataset::new(points, Target::Classes(Classes::new(labels, &codes)))
}

/// The digits for training (1,258 rows) and for testing (539 rows): always the same stratified split, with seed 0.
pub fn digits_split() -> (Dataset, Dataset) {
    let data = digits();
    let (train, test) = match &data.target {
        Target::Classes(classes) => split_classes(classes, 0.3, 0),
        _ => (vec![], vec![]),
    };
    (data.select(&train), data.select(&test))
}

/// Labels, then grey values. The packed bytes are part of the program and a test sums all of them, so reading cannot fail.
fn unpacked() -> Vec<u8> {
    let mut plain = vec![0; ROWS * (1 + PIXELS)];
    let _ = DeflateDecoder::new(PACKED).read_exact(&mut plain);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_is_there_as_often_as_in_the_source() {
        let data = digits();
        assert!(data.check().is_ok());
        assert_eq!((data.len(), data.dim()), (1797, 64));
        let classes = data.classes().unwrap();
        assert_eq!(classes.counts(), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert_eq!(classes.labels.iter().map(Label::text).collect::<String>(), "0123456789");
        assert_eq!(classes.codes[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    }

    #[test]
    fn grey_values_are_those_of_the_source() {
        let points = digits().points.to_dense();
        assert_eq!(points.values().iter().sum::<f64>(), 561_718.0);
        assert_eq!(points.values().iter().enumerate().map(|(i, v)| (i % 1009) as f64 * v).sum::<f64>(), 283_139_404.0);
        assert_eq!(points.row(0)[..16], [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0, 0.0, 0.0, 13.0, 15.0, 10.0, 15.0, 5.0, 0.0]);
        assert_eq!(points.row(1796)[..16], [0.0, 0.0, 10.0, 14.0, 8.0, 1.0, 0.0, 0.0, 0.0, 2.0, 16.0, 14.0, 6.0, 1.0, 0.0, 0.0]);
        assert!(points.values().iter().all(|v| (0.0..=16.0).contains(v)));
    }

    #[test]
    fn the_split_is_fixed_and_keeps_the_shares() {
        let (train, test) = digits_split();
        assert_eq!((train.len(), test.len()), (1258, 539));
        assert_eq!(test.classes().unwrap().counts(), [53, 55, 53, 55, 54, 55, 54, 54, 52, 54]);
        assert_eq!(test.classes().unwrap().codes[..8], [2, 7, 9, 0, 3, 0, 1, 5]);
        assert_eq!(test.points.to_dense().values().iter().sum::<f64>(), 168_590.0);
    }

    #[test]
    fn the_nearest_training_digit_is_nearly_always_the_right_one() {
        let (train, test) = digits_split();
        let (z, x) = (train.points.to_dense(), test.points.to_dense());
        let codes = &train.classes().unwrap().codes;
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let nearest = |x: &[f64]| codes[(0..z.rows()).min_by(|&a, &b| distance(z.row(a), x).total_cmp(&distance(z.row(b), x))).unwrap()];
        let wrong = x.iter().zip(&test.classes().unwrap().codes).filter(|(x, code)| nearest(x) != **code).count();
        assert!(wrong <= 11, "{wrong} of 539 are wrong");
    }
}
