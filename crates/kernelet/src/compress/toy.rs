//! Small machines and rows for tests.
use crate::{
    data::{Dataset, Label, Target},
    draw::Draw,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine, Metadata},
};

/// A machine with `n` random vectors of three features.
pub(crate) fn machine(kernel: Kernel, n: usize, outputs: usize) -> Machine {
    let mut draw = Draw::seeded(7 + n as u64);
    let vectors = Matrix::from_fn(n, 3, |_, _| draw.between(-2.0, 2.0));
    let coefficients = Coefficients::Dense(Matrix::from_fn(n, outputs, |_, _| draw.between(-1.0, 1.0)));
    let labels: Vec<Label> = (0..outputs.max(2)).map(|k| Label::new(k.to_string())).collect();
    let decision = match outputs {
        1 => Decision::Sign { negative: labels[0].clone(), positive: labels[1].clone() },
        _ => Decision::Largest { labels },
    };
    let offsets = (0..outputs).map(|k| 0.1 * k as f64 - 0.2).collect();
    let expansion = Expansion { kernel, vectors: vectors.into(), coefficients };
    Machine { expansion, offsets, decision, scale: None, names: None, calibration: None, metadata: Metadata::default() }
}

/// Random rows of three features.
pub(crate) fn rows(n: usize) -> Dataset {
    let mut draw = Draw::seeded(n as u64);
    Dataset::new(Matrix::from_fn(n, 3, |_, _| draw.between(-2.0, 2.0)), Target::None)
}
