//! Fast prediction, with the vector instructions of `kernel/simd.rs`, against the sum of its definition: any number of rows, vectors, features and outputs,
//! dense in both precisions and sparse.
#![no_main]
use kernelet::{
    data::Csr,
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Metadata},
    prelude::*,
};

const KERNELS: [&str; 4] = ["gaussian", "exponential", "polynomial", "linear"];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((head, rest)) = bytes.split_at_checked(7) else { return };
    if rest.is_empty() {
        return;
    }
    let (n, m) = (1 + head[0] as usize % 40, 1 + head[1] as usize % 130);
    let (dim, outputs) = (1 + head[2] as usize % 40, 1 + head[3] as usize % 4);
    let number = |place: usize| f64::from(rest[place % rest.len()] as i8) / 64.0;
    let Some(kernel) = Kernel::named(KERNELS[head[4] as usize % KERNELS.len()], 0.3, 3, 1.0) else { return };
    let place = |points: Matrix| match head[5] % 3 {
        0 => Points::from(points),
        1 => Points::from(Matrix::from_fn(points.rows(), points.cols(), |i, j| points.at(i, j) as f32)),
        _ => Csr::from_dense(&points).into(),
    };
    let shift = f64::from(head[6]);
    let vectors = place(Matrix::from_fn(m, dim, |i, j| shift + number(i * dim + j)));
    let rows = place(Matrix::from_fn(n, dim, |i, j| shift + number(7 + (i * dim + j) * 3)));
    let coefficients = Matrix::from_fn(m, outputs, |i, k| number(i + 5 * k));
    let machine = Machine {
        expansion: Expansion { kernel: kernel.clone(), vectors: vectors.clone(), coefficients: Coefficients::Dense(coefficients.clone()) },
        offsets: vec![0.5; outputs],
        decision: Decision::Values,
        scale: None,
        names: None,
        calibration: None,
        metadata: Metadata::default(),
    };
    let Ok(fast) = Predictor::new(&machine).outputs(&rows) else { return };
    let (rows, vectors) = (rows.to_dense(), vectors.to_dense());
    for i in 0..n {
        let values: Vec<f64> = (0..m).map(|j| kernel.eval(rows.row(i), vectors.row(j))).collect();
        for k in 0..outputs {
            let terms = values.iter().enumerate().map(|(j, value)| coefficients.at(j, k) * value);
            let (sum, size) = terms.fold((0.5, 0.5), |(sum, size): (f64, f64), term| (sum + term, size + term.abs()));
            assert!((fast.at(i, k) - sum).abs() <= 1e-6 * size, "row {i}, output {k}: {} {sum} of {size}", fast.at(i, k));
        }
    }
});
