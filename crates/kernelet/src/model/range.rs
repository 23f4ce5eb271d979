//! `svm-scale` range files: the scaling that people keep beside a LIBSVM model.
//!
//! The file says that feature j, with `min_j` and `max_j` in the training data, becomes
//! `lower + (upper - lower) (x_j - min_j) / (max_j - min_j)`:
//!
//! ```text
//! x
//! -1 1
//! 1 0.5 12.25
//! 3 -4 4
//! ```
//!
//! Features that the file leaves out were constant in the training data: `svm-scale` makes them 0.
use std::{path::Path, str::FromStr};

use super::write_atomically;
use crate::{
    Error, Result,
    data::{Scale, memory, read::read_whole},
    text::exact,
};

/// The content of a range file.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// What a feature's minimum becomes.
    pub lower: f64,
    /// What a feature's maximum becomes.
    pub upper: f64,
    /// The features that are not constant, in ascending order.
    pub features: Vec<Feature>,
}

/// The minimum and maximum of one feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// Its column, from 0; files count from 1.
    pub column: usize,
    /// The least value in the training data.
    pub min: f64,
    /// The largest value in the training data, above `min`.
    pub max: f64,
}

impl Range {
    /// Reads a range file.
    pub fn load(path: impl AsRef<Path>) -> Result<Range> {
        let path = path.as_ref();
        let bytes = read_whole(path)?;
        Range::from_bytes(&bytes, &path.display().to_string())
    }

    /// The content of a range file; `origin` names the file in errors.
    pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Range> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::format(origin, None, None, "this is not text"))?;
        let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, line)| !line.is_empty());
        let bad = |line: usize, reason: String| Error::format(origin, Some(line), None, reason);
        match lines.next() {
            Some((_, "x")) => {}
            Some((line, "y")) => {
                let reason = "the file scales the target too (its section y), which a machine here does not; scale the features alone";
                return Err(bad(line, reason.into()));
            }
            other => return Err(bad(other.map_or(1, |(line, _)| line), "a range file begins with a line x".into())),
        }
        let (line, text) = lines.next().ok_or_else(|| bad(1, "the file ends before the line with lower and upper".into()))?;
        let [lower, upper] = numbers(text).ok_or_else(|| bad(line, format!("{text:?} is not lower and upper, two finite numbers")))?;
        if lower >= upper {
            return Err(bad(line, format!("lower is {} and upper is {}, but lower must be below upper", exact(lower), exact(upper))));
        }
        let mut features: Vec<Feature> = vec![];
        for (line, text) in lines {
            let feature = feature(text).ok_or_else(|| bad(line, format!("{text:?} is not index, minimum and maximum of a feature")))?;
            if features.last().is_some_and(|last| last.column >= feature.column) {
                return Err(bad(line, format!("the index {} does not ascend", feature.column + 1)));
            }
            if feature.min >= feature.max {
                return Err(bad(
                    line,
                    format!("the minimum is {} and the maximum {}, but it must be larger", exact(feature.min), exact(feature.max)),
                ));
            }
            features.push(feature);
        }
        Ok(Range { lower, upper, features })
    }

    /// How many features a row must have for all of the file's to be among them.
    pub fn dim(&self) -> usize {
        self.features.last().map_or(0, |last| last.column + 1)
    }

    /// The scaling of rows of `dim` features, not fewer than [`Range::dim`].
    pub fn to_scale(&self, dim: usize) -> Result<Scale> {
        if dim < self.dim() {
            return Err(Error::Shape { what: "features of the range file", expected: dim, found: self.dim() });
        }
        memory::require("scaling", 2, dim)?;
        let (mut shift, mut factor) = (vec![0.0; dim], vec![0.0; dim]);
        for Feature { column, min, max } in &self.features {
            // Halves, because the difference of two finite numbers need not be finite.
            let half_width = 0.5 * max - 0.5 * min;
            factor[*column] = (0.5 * self.upper - 0.5 * self.lower) / half_width;
            shift[*column] = min - self.lower / factor[*column];
            if !factor[*column].is_finite() || !shift[*column].is_finite() {
                return Err(Error::data(format!(
                    "the range from {} to {} of feature {} is out of bounds",
                    exact(*min),
                    exact(*max),
                    column + 1
                )));
            }
        }
        Ok(Scale::new(Some(shift), factor))
    }

    /// The range that scales like this, with `lower` -1 and `upper` 1. The minima and maxima are rounded: `svm-scale` then agrees to
    /// about the last digit, not to the bit.
    pub fn of(scale: &Scale) -> Result<Range> {
        if scale.map.is_some() {
            let (with, instead) = ("a linear map of the features".into(), "save the native format".into());
            return Err(Error::Unsupported { method: "a range file", with, instead });
        }
        let mut features = vec![];
        for (column, &factor) in scale.factor.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            let shift = scale.shift.as_ref().map_or(0.0, |shift| shift.get(column).copied().unwrap_or(f64::NAN));
            let (min, max) = (shift - 1.0 / factor, shift + 1.0 / factor);
            // Also false for a factor below 0 and for numbers that are not finite.
            if !(min < max && min.is_finite() && max.is_finite()) {
                let with = format!("the scaling (x - {}) * {} of feature {}", exact(shift), exact(factor), column + 1);
                return Err(Error::Unsupported { method: "a range file", with, instead: "save the native format".into() });
            }
            features.push(Feature { column, min, max });
        }
        Ok(Range { lower: -1.0, upper: 1.0, features })
    }

    /// The text of the file, with as many digits as each number needs.
    pub fn to_text(&self) -> String {
        let mut text = format!("x\n{} {}\n", self.lower, self.upper);
        for Feature { column, min, max } in &self.features {
            text.push_str(&format!("{} {min:?} {max:?}\n", column + 1));
        }
        text
    }

    /// Writes the range file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_atomically(path, |writer| writer.write_all(self.to_text().as_bytes()))
    }
}

fn feature(text: &str) -> Option<Feature> {
    let (index, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    let column = u32::from_str(index).ok()?.checked_sub(1)? as usize;
    let [min, max] = numbers(rest)?;
    Some(Feature { column, min, max })
}

/// The two finite numbers of a text.
fn numbers(text: &str) -> Option<[f64; 2]> {
    let mut words = text.split_ascii_whitespace().map(|word| f64::from_str(word).ok().filter(|value| value.is_finite()));
    let pair = [words.next()??, words.next()??];
    words.next().is_none().then_some(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Range {
        Range::from_bytes(text.as_bytes(), "r").unwrap()
    }

    fn refuse(text: &str) -> String {
        Range::from_bytes(text.as_bytes(), "r").unwrap_err().to_string()
    }

    fn scaled(scale: &Scale, column: usize, x: f64) -> f64 {
        (x - scale.shift.as_ref().map_or(0.0, |shift| shift[column])) * scale.factor[column]
    }

    #[test]
    fn features_are_scaled_as_svm_scale_does() {
        for (lower, upper) in [(-1.0, 1.0), (0.0, 1.0), (2.0, 5.0)] {
            let range = read(&format!("x\n{lower} {upper}\n1 0.5 12.25\n3 -4 -1\n"));
            assert_eq!(range.dim(), 3);
            let scale = range.to_scale(4).unwrap();
            for Feature { column, min, max } in &range.features {
                for x in [*min, *max, 0.0, 100.0] {
                    let want = lower + (upper - lower) * (x - min) / (max - min);
                    let have = scaled(&scale, *column, x);
                    assert!((have - want).abs() < 1e-13 * want.abs().max(1.0), "{have} {want}");
                }
            }
            // Constant features become 0, whatever they are at prediction.
            assert_eq!((scaled(&scale, 1, 7.0), scaled(&scale, 3, -7.0)), (0.0, 0.0));
        }
    }

    #[test]
    fn a_scaling_returns_from_its_file() {
        let scale = Scale::new(Some(vec![0.25, -3.0, 1e6, 0.0]), vec![2.0, 0.0, 1e-3, 1e5]);
        let range = Range::of(&scale).unwrap();
        assert_eq!(read(&range.to_text()), range);
        let back = range.to_scale(4).unwrap();
        for column in 0..4 {
            for x in [-1.0, 0.0, 0.3, 1e6] {
                let (have, want) = (scaled(&back, column, x), scaled(&scale, column, x));
                assert!((have - want).abs() <= 1e-12 * want.abs().max(1.0), "{have} {want}");
            }
        }
        let mixed = Scale::new(Some(vec![0.25, 0.0, -0.5]), vec![2.0, 0.0, 1e-3]);
        assert_eq!(Range::of(&mixed).unwrap().to_text(), "x\n-1 1\n1 -0.25 0.75\n3 -1000.5 999.5\n");
        let plain = Range::of(&Scale::new(None, vec![4.0])).unwrap();
        assert_eq!(plain.to_text(), "x\n-1 1\n1 -0.25 0.25\n");
    }

    #[test]
    fn what_a_range_cannot_express_is_rejected() {
        let of = |shift, factor| Range::of(&Scale::new(Some(vec![shift]), vec![factor]));
        assert!(of(0.0, -1.0).unwrap_err().to_string().contains("the scaling (x - 0) * -1 of feature 1"));
        assert!(of(1e20, 1.0).is_err() && of(0.0, 1e-310).is_err());
        let mapped = Scale { map: Some(crate::linalg::Matrix::zeros(2, 1)), ..Scale::new(None, vec![1.0]) };
        assert!(Range::of(&mapped).unwrap_err().to_string().contains("a range file does not work with a linear map of the features"));
        assert!(read("x\n-1 1\n5 0 1\n").to_scale(4).is_err());
        assert!(read("x\n-1 1\n1 0 5e-324\n").to_scale(1).is_err());
    }

    #[test]
    fn broken_files_are_rejected_with_line_and_reason() {
        let cases = [
            ("", "r, line 1: a range file begins with a line x"),
            ("1 2\n", "r, line 1: a range file begins with a line x"),
            ("x\n", "r, line 1: the file ends before the line with lower and upper"),
            ("x\n-1\n", "r, line 2: \"-1\" is not lower and upper, two finite numbers"),
            ("x\n1 -1\n", "r, line 2: lower is 1 and upper is -1, but lower must be below upper"),
            ("x\n-1 1\n0 1 2\n", "r, line 3: \"0 1 2\" is not index, minimum and maximum of a feature"),
            ("x\n-1 1\n1 nan 2\n", "r, line 3: \"1 nan 2\" is not index, minimum and maximum of a feature"),
            ("x\n-1 1\n1 1 2 3\n", "r, line 3: \"1 1 2 3\" is not index, minimum and maximum of a feature"),
            ("x\n-1 1\n2 0 1\n2 0 1\n", "r, line 4: the index 2 does not ascend"),
            ("x\n-1 1\n2 1 1\n", "r, line 3: the minimum is 1 and the maximum 1, but it must be larger"),
        ];
        for (text, reason) in cases {
            assert_eq!(refuse(text), reason);
        }
        assert!(refuse("y\n-1 1\n0 5\nx\n-1 1\n").starts_with("r, line 1: the file scales the target too"));
        assert!(Range::from_bytes(b"x\n\xff", "r").is_err());
    }
}
