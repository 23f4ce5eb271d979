//! Numbers and arrays of numbers as C has them, with as many digits as it takes to read the same number back.
use std::fmt::Write;

use crate::{linalg::Matrix, model::target::Precision};

/// A number of this precision.
pub(super) fn number(value: f64, precision: Precision) -> String {
    let mut text = String::new();
    push(&mut text, value, precision);
    text
}

fn push(text: &mut String, value: f64, precision: Precision) {
    // Writing to a String cannot fail.
    let _ = match precision {
        Precision::F32 => write!(text, "{:?}f", value as f32),
        Precision::F64 => write!(text, "{value:?}"),
    };
}

/// The arrays of a source, and the bytes they take.
pub(super) struct Arrays {
    /// Their text.
    pub(super) text: String,
    /// Bytes of constants.
    pub(super) bytes: usize,
    precision: Precision,
}

impl Arrays {
    pub(super) fn new(precision: Precision) -> Self {
        Arrays { text: String::new(), bytes: 0, precision }
    }

    /// `static const @real @NAME[SIZE] = { .. };`
    pub(super) fn list(&mut self, name: &str, size: &str, values: &[f64]) {
        self.text.push_str(&format!("static const @real @{name}[{size}] = "));
        self.braces(values);
        self.text.push_str(";\n");
    }

    /// `static const @real @NAME[ROWS][COLUMNS] = { .. };`
    pub(super) fn matrix(&mut self, name: &str, rows: &str, columns: &str, values: &Matrix) {
        self.text.push_str(&format!("static const @real @{name}[{rows}][{columns}] = {{\n"));
        for row in values.iter() {
            self.text.push_str("    ");
            self.braces(row);
            self.text.push_str(",\n");
        }
        self.text.push_str("};\n");
    }

    /// `static const TYPE @NAME[SIZE] = { .. };` of whole numbers, `bytes` each.
    pub(super) fn whole(&mut self, kind: &str, bytes: usize, name: &str, size: &str, values: &[i64]) {
        let list: Vec<String> = values.iter().map(i64::to_string).collect();
        self.text.push_str(&format!("static const {kind} @{name}[{size}] = {{ {} }};\n", list.join(", ")));
        self.bytes += bytes * values.len();
    }

    /// `static const TYPE @NAME[ROWS][COLUMNS] = { .. };` of whole numbers, `bytes` each.
    pub(super) fn whole_matrix(&mut self, kind: &str, bytes: usize, name: &str, rows: &str, columns: &str, values: &[Vec<i32>]) {
        self.text.push_str(&format!("static const {kind} @{name}[{rows}][{columns}] = {{\n"));
        for row in values {
            let list: Vec<String> = row.iter().map(i32::to_string).collect();
            self.text.push_str(&format!("    {{ {} }},\n", list.join(", ")));
            self.bytes += bytes * row.len();
        }
        self.text.push_str("};\n");
    }

    fn braces(&mut self, values: &[f64]) {
        self.text.push_str("{ ");
        for (i, &value) in values.iter().enumerate() {
            if i > 0 {
                self.text.push_str(if i % 12 == 0 { ",\n      " } else { ", " });
            }
            push(&mut self.text, value, self.precision);
        }
        self.text.push_str(" }");
        self.bytes += values.len() * self.precision.bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (value, single, double) in [
            (1.0, "1.0f", "1.0"),
            (-0.1, "-0.1f", "-0.1"),
            (1e-7, "1e-7f", "1e-7"),
            (1e30, "1e30f", "1e30"),
            (-0.0, "-0.0f", "-0.0"),
            (1.0 / 3.0, "0.33333334f", "0.3333333333333333"),
        ] {
            assert_eq!((number(value, Precision::F32).as_str(), number(value, Precision::F64).as_str()), (single, double));
        }
    }

    #[test]
    fn arrays_count_their_bytes() {
        let mut arrays = Arrays::new(Precision::F32);
        arrays.list("offsets", "$OUTPUTS", &[1.0, 2.0]);
        arrays.matrix("m", "2", "1", &Matrix::column(vec![0.5, 0.25]));
        arrays.whole("signed char", 1, "s", "3", &[1, -1, 1]);
        assert_eq!(arrays.bytes, 8 + 8 + 3);
        let text = "static const @real @offsets[$OUTPUTS] = { 1.0f, 2.0f };\nstatic const @real @m[2][1] = {\n    { 0.5f },\n    { 0.25f },\n};\n\
            static const signed char @s[3] = { 1, -1, 1 };\n";
        assert_eq!(arrays.text, text);
    }
}
