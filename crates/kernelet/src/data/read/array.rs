//! Arrays from NumPy files, and how they become points and targets.
use super::{Wanted, matrix};
use crate::{
    Error, Result,
    data::{Classes, Points, Target},
};

/// An array of any number of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The values; the last axis runs fastest.
    pub values: Values,
}

/// The values of an [`Array`], in the narrowest of five types that holds them.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Double precision.
    F64(Vec<f64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Integers of any width, and false and true as 0 and 1.
    I64(Vec<i64>),
    /// Unsigned integers too large for 64 bits with a sign.
    U64(Vec<u64>),
    /// Text.
    Text(Vec<String>),
}

impl Values {
    /// The same values in double precision; none for text.
    pub fn to_f64(&self) -> Option<Vec<f64>> {
        match self {
            Values::F64(values) => Some(values.clone()),
            Values::F32(values) => Some(values.iter().map(|&v| v.into()).collect()),
            Values::I64(values) => Some(values.iter().map(|&v| v as f64).collect()),
            Values::U64(values) => Some(values.iter().map(|&v| v as f64).collect()),
            Values::Text(_) => None,
        }
    }

    /// Unsigned integers, with a sign where all fit.
    pub(super) fn from_unsigned(values: Vec<u64>) -> Values {
        match values.iter().all(|&v| i64::try_from(v).is_ok()) {
            true => Values::I64(values.into_iter().map(|v| v as i64).collect()),
            false => Values::U64(values),
        }
    }

    /// Each value as a class label prints it: whole numbers without a point.
    fn labels(&self) -> Vec<String> {
        match self {
            // Adding 0 takes the sign off a negative zero.
            Values::F64(values) => values.iter().map(|v| (v + 0.0).to_string()).collect(),
            Values::F32(values) => values.iter().map(|v| (v + 0.0).to_string()).collect(),
            Values::I64(values) => values.iter().map(i64::to_string).collect(),
            Values::U64(values) => values.iter().map(u64::to_string).collect(),
            Values::Text(values) => values.clone(),
        }
    }

    pub(super) fn select(&self, places: impl Iterator<Item = usize>) -> Values {
        match self {
            Values::F64(values) => Values::F64(places.map(|at| values[at]).collect()),
            Values::F32(values) => Values::F32(places.map(|at| values[at]).collect()),
            Values::I64(values) => Values::I64(places.map(|at| values[at]).collect()),
            Values::U64(values) => Values::U64(places.map(|at| values[at]).collect()),
            Values::Text(values) => Values::Text(places.map(|at| values[at].clone()).collect()),
        }
    }
}

impl Array {
    /// The array as points, which need rows and columns of numbers; `origin` names it in messages.
    pub fn into_points(self, origin: &str) -> Result<Points> {
        let (rows, cols) = self.rows_and_columns(origin)?;
        Ok(match self.values {
            Values::F64(values) => matrix(values, rows, cols)?.into(),
            Values::F32(values) => matrix(values, rows, cols)?.into(),
            Values::I64(values) => matrix(values.into_iter().map(|v| v as f64).collect::<Vec<f64>>(), rows, cols)?.into(),
            Values::U64(values) => matrix(values.into_iter().map(|v| v as f64).collect::<Vec<f64>>(), rows, cols)?.into(),
            Values::Text(_) => return Err(Error::format(origin, None, None, "features must be numbers, but these are text")),
        })
    }

    /// The array as the target of its rows; `origin` names it in messages. One column is wanted for classes, any number for values.
    pub fn to_target(&self, wanted: Wanted, origin: &str) -> Result<Target> {
        let refuse = |reason: String| Err(Error::format(origin, None, None, reason));
        let (rows, cols) = match self.shape[..] {
            [rows] => (rows, 1),
            [rows, cols] if cols > 0 => (rows, cols),
            _ => return refuse(format!("a target needs the shape (rows) or (rows, columns), but this is {}", written(&self.shape))),
        };
        match wanted {
            Wanted::Nothing => Ok(Target::None),
            Wanted::Classes if cols != 1 => refuse(format!("there are {cols} columns, but class labels need one")),
            Wanted::Classes => match self.first_nan() {
                Some(row) => refuse(format!("row {} is NaN, which is no class label", row + 1)),
                None => Ok(Target::Classes(Classes::from_texts(&self.values.labels()))),
            },
            Wanted::Values => match self.values.to_f64() {
                Some(values) => Ok(Target::Values(matrix(values, rows, cols)?)),
                None => refuse("numbers are to be predicted, but these are text".into()),
            },
        }
    }

    /// Rows and columns; an error for any other number of axes, or without a column.
    pub(super) fn rows_and_columns(&self, origin: &str) -> Result<(usize, usize)> {
        match self.shape[..] {
            [rows, cols] if cols > 0 => Ok((rows, cols)),
            _ => {
                let shape = written(&self.shape);
                Err(Error::format(origin, None, None, format!("features need rows and columns, but this has the shape {shape}")))
            }
        }
    }

    /// The chosen columns of an array of rows and columns.
    pub(super) fn columns(&self, rows: usize, cols: usize, chosen: &[usize]) -> Array {
        let places = (0..rows).flat_map(|i| chosen.iter().map(move |j| i * cols + j));
        Array { shape: vec![rows, chosen.len()], values: self.values.select(places) }
    }

    fn first_nan(&self) -> Option<usize> {
        match &self.values {
            Values::F64(values) => values.iter().position(|v| v.is_nan()),
            Values::F32(values) => values.iter().position(|v| v.is_nan()),
            _ => None,
        }
    }
}

/// A shape as it is usually written: `(3, 4)`.
pub(super) fn written(shape: &[usize]) -> String {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({})", lengths.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Label, linalg::Matrix};

    fn array(shape: &[usize], values: Values) -> Array {
        Array { shape: shape.to_vec(), values }
    }

    fn labels(values: Values, len: usize) -> Vec<String> {
        let target = array(&[len], values).to_target(Wanted::Classes, "y").unwrap();
        let Target::Classes(classes) = target else { panic!("no classes") };
        classes.labels.iter().map(Label::to_string).collect()
    }

    #[test]
    fn single_precision_stays_and_integers_become_double() {
        let single = array(&[1, 2], Values::F32(vec![0.1, 2.0])).into_points("X").unwrap();
        assert_eq!(single, Points::F32(Matrix::new(vec![0.1, 2.0], 1, 2).unwrap()));
        let whole = array(&[2, 1], Values::I64(vec![-3, 4])).into_points("X").unwrap();
        assert_eq!(whole, Points::F64(Matrix::new(vec![-3.0, 4.0], 2, 1).unwrap()));
    }

    #[test]
    fn whole_labels_print_without_a_point() {
        assert_eq!(labels(Values::F64(vec![3.0, -0.0, 0.5, 3.0]), 4), ["0", "0.5", "3"]);
        assert_eq!(labels(Values::F32(vec![0.1, 2.0]), 2), ["0.1", "2"]);
        assert_eq!(labels(Values::I64(vec![10, 9, -1]), 3), ["-1", "9", "10"]);
        assert_eq!(labels(Values::I64(vec![9007199254740993, 9007199254740992]), 2), ["9007199254740992", "9007199254740993"]);
        assert_eq!(labels(Values::from_unsigned(vec![u64::MAX, u64::MAX - 1]), 2), ["18446744073709551614", "18446744073709551615"]);
        assert_eq!(labels(Values::Text(vec!["b".into(), "a".into()]), 2), ["a", "b"]);
    }

    #[test]
    fn several_columns_of_numbers_are_several_targets() {
        let two = array(&[2, 2], Values::I64(vec![1, 2, 3, 4]));
        assert_eq!(two.to_target(Wanted::Values, "y").unwrap(), Target::Values(Matrix::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2).unwrap()));
        let text = two.to_target(Wanted::Classes, "y").unwrap_err().to_string();
        assert_eq!(text, "y: there are 2 columns, but class labels need one");
        assert_eq!(two.columns(2, 2, &[1]), array(&[2, 1], Values::I64(vec![2, 4])));
    }

    #[test]
    fn what_cannot_be_points_or_targets_is_rejected_with_an_error() {
        let text = Values::Text(vec!["a".into()]);
        let points = |shape: &[usize], values| array(shape, values).into_points("X").unwrap_err().to_string();
        assert_eq!(points(&[3], Values::I64(vec![1, 2, 3])), "X: features need rows and columns, but this has the shape (3)");
        assert_eq!(
            points(&[1_000_000_000_000, 0], Values::F64(vec![])),
            "X: features need rows and columns, but this has the shape (1000000000000, 0)"
        );
        assert_eq!(points(&[1, 1], text.clone()), "X: features must be numbers, but these are text");
        let target = |shape: &[usize], values, wanted| array(shape, values).to_target(wanted, "y").unwrap_err().to_string();
        assert_eq!(target(&[1], text, Wanted::Values), "y: numbers are to be predicted, but these are text");
        assert_eq!(target(&[2], Values::F64(vec![1.0, f64::NAN]), Wanted::Classes), "y: row 2 is NaN, which is no class label");
        let cube = target(&[1, 1, 1], Values::I64(vec![1]), Wanted::Values);
        assert_eq!(cube, "y: a target needs the shape (rows) or (rows, columns), but this is (1, 1, 1)");
    }
}
