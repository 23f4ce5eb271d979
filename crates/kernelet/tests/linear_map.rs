//! Machines behind a linear map of their rows: every path gives what the definition gives, `map * ((x - shift) o factor)` and then the kernel.
#![allow(clippy::unwrap_used)] // All of this is tests.
use kernelet::{
    data::{Csr, Dataset, Points, Scale, Target},
    kernel::Kernel,
    learn::{HowToScale, Learner, Scaled, Svc},
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, DenseRows, Expansion, Machine, Metadata, Pairwise, Posterior, Predictor, Work},
    request::Compress,
    watch::Watch,
};
use serde_json::json;

const DIM: usize = 6;
const MAPPED: usize = 3;

fn scale(shifted: bool, dim: usize) -> Scale {
    let map = Matrix::from_fn(MAPPED, dim, |k, j| ((7 * k + 3 * j + 1) as f64).sin());
    let shift = (0..dim).map(|j| 0.1 * (j % 5) as f64).collect();
    Scale { shift: shifted.then_some(shift), factor: (0..dim).map(|j| 0.2 + (j % 3) as f64).collect(), map: Some(map) }
}

fn machine(kernel: Kernel, coefficients: Coefficients, scale: Scale) -> Machine {
    let vectors = Matrix::from_fn(coefficients.stored().rows(), MAPPED, |i, j| ((i * 5 + j) as f64).sin());
    let offsets = (0..coefficients.n_outputs()).map(|k| k as f64 * 0.1 - 0.2).collect();
    let expansion = Expansion { kernel, vectors: vectors.into(), coefficients };
    let (decision, metadata) = (Decision::Features, Metadata::default());
    Machine { expansion, offsets, decision, scale: Some(scale), names: None, calibration: None, metadata }
}

fn layouts() -> [Coefficients; 3] {
    let values = |outputs| Matrix::from_fn(9, outputs, |i, j| ((i + 3 * j) as f64).cos());
    let pairwise = Coefficients::Pairwise(Pairwise { starts: vec![0, 2, 2, 5, 9], values: values(3) });
    [Coefficients::Dense(values(1)), Coefficients::Dense(values(9)), pairwise]
}

/// Rows that single precision holds, of which a part is zero.
fn rows(n: usize, dim: usize) -> Matrix {
    Matrix::from_fn(n, dim, |i, j| if (i + j) % 4 == 0 { 0.0 } else { f64::from(((i * 7 + j * 3) as f32).cos()) })
}

fn mapped(scale: &Scale, x: &[f64]) -> Vec<f64> {
    let map = scale.map.as_ref().unwrap();
    let shift = |j: usize| scale.shift.as_ref().map_or(0.0, |shift| shift[j]);
    map.iter().map(|weights| (0..x.len()).map(|j| weights[j] * ((x[j] - shift(j)) * scale.factor[j])).sum()).collect()
}

fn naive(machine: &Machine, x: &Matrix) -> Matrix {
    let (z, beta, scale) =
        (machine.expansion.vectors.to_dense(), machine.expansion.coefficients.to_dense(), machine.scale.as_ref().unwrap());
    Matrix::from_fn(x.rows(), machine.n_outputs(), |i, k| {
        let x = mapped(scale, x.row(i));
        let sum: f64 = (0..z.rows()).map(|j| beta.at(j, k) * machine.expansion.kernel.eval(&x, z.row(j))).sum();
        sum + machine.offsets[k]
    })
}

fn assert_close(have: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(have.len(), want.len());
    for (a, b) in have.iter().zip(want) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} {b}");
    }
}

/// Every path from rows to outputs, against the definition.
fn check_paths(machine: &Machine, n: usize) {
    machine.check().unwrap();
    let (x, what) = (rows(n, machine.dim()), machine.expansion.kernel.name());
    let (want, halves) = (naive(machine, &x), x.values().iter().map(|&v| v as f32).collect::<Vec<f32>>());
    let single = Matrix::new(halves.clone(), n, machine.dim()).unwrap();
    let storages: [Points; 3] = [x.clone().into(), single.into(), Csr::from_dense(&x).into()];
    for points in &storages {
        assert_close(machine.outputs_for(points).unwrap().values(), want.values(), 1e-12, what);
        assert_close(Predictor::single(machine).outputs(points).unwrap().values(), want.values(), 1e-5, what);
    }
    for (predictor, tolerance) in [(Predictor::new(machine), 1e-12), (Predictor::single(machine), 1e-5)] {
        let (mut out, mut work) = (vec![0.0; n * machine.n_outputs()], Work::default());
        for dense in [DenseRows::F64(x.values()), DenseRows::F32(&halves)] {
            predictor.outputs_of(dense, &mut out).unwrap();
            assert_close(&out, want.values(), tolerance, what);
        }
        for (i, out) in out.chunks_exact_mut(machine.n_outputs()).enumerate() {
            predictor.row(x.row(i), out, &mut work).unwrap();
            assert_close(out, want.row(i), tolerance, what);
        }
    }
}

#[test]
fn every_path_of_prediction_agrees_with_the_definition() {
    for kernel in Kernel::examples() {
        for coefficients in layouts() {
            for shifted in [false, true] {
                let machine = machine(kernel.clone(), coefficients.clone(), scale(shifted, DIM));
                assert_eq!((machine.dim(), machine.expansion.vectors.dim()), (DIM, MAPPED));
                check_paths(&machine, 1);
                check_paths(&machine, 200);
            }
        }
    }
}

#[test]
fn a_map_may_have_more_rows_than_columns_and_vectors_may_be_sparse() {
    let [one, ..] = layouts();
    let mut narrow = machine(Kernel::gaussian(0.5), one.clone(), scale(true, 2));
    check_paths(&narrow, 100);
    narrow.expansion.vectors = Csr::from_dense(&narrow.expansion.vectors.to_dense()).into();
    check_paths(&narrow, 100);
    // So many features that sparse rows are not spread out.
    check_paths(&machine(Kernel::gaussian(0.001), one, scale(false, 5000)), 3);
}

#[test]
fn rows_must_have_the_features_of_the_map() {
    let [one, ..] = layouts();
    let machine = machine(Kernel::gaussian(0.5), one, scale(true, DIM));
    let error = machine.predict(&Matrix::<f64>::zeros(1, MAPPED).into()).unwrap_err().to_string();
    assert_eq!(error, "features of a row: expected 6, found 3");
    // Sparse rows may lack features or have more, which are dropped.
    let (x, wide) = (rows(20, DIM), Csr::from_dense(&rows(20, DIM + 2)));
    assert_close(machine.outputs_for(&wide.into()).unwrap().values(), naive(&machine, &x).values(), 1e-12, "wide");
    let mut named = machine.clone();
    named.names = Some((0..MAPPED).map(|j| j.to_string()).collect());
    assert_eq!(named.check().unwrap_err().to_string(), "feature names of the machine: expected 6, found 3");
    named.names = Some((0..DIM).map(|j| j.to_string()).collect());
    named.check().unwrap();
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let x = Points::from(rows(1000, DIM));
    for coefficients in layouts() {
        let machine = machine(Kernel::gaussian(0.5), coefficients, scale(true, DIM));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (machine.outputs_for(&x).unwrap(), Predictor::single(&machine).outputs(&x).unwrap()))
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(8));
    }
}

#[test]
fn deviations_see_mapped_rows() {
    let [one, ..] = layouts();
    let mut machine = machine(Kernel::gaussian(0.5), one, scale(true, DIM));
    machine.decision = Decision::Values;
    let posterior = Posterior { noise: 0.04, vectors: vec![3, 0], offset: true, factor: vec![0.5, -0.2, 0.7, 0.1, 0.3, 0.9] };
    machine.calibration = Some(Calibration::Normal { posteriors: vec![posterior] });
    machine.check().unwrap();
    let mut plain = machine.clone();
    plain.scale = None;
    let x = rows(300, DIM);
    let behind = Matrix::new(x.iter().flat_map(|x| mapped(machine.scale.as_ref().unwrap(), x)).collect(), 300, MAPPED).unwrap();
    let (have, want) = (machine.deviations(&x.into()).unwrap(), plain.deviations(&behind.into()).unwrap());
    assert_close(have.values(), want.values(), 1e-12, "deviations");
}

/// A machine that was trained on mapped rows, and its rows before and behind the map.
fn trained(shifted: bool) -> (Machine, Dataset, Dataset) {
    let x = Matrix::from_fn(240, DIM, |i, j| ((i * 13 + j * 29) as f64 * 12.9898).sin() + (i % 2) as f64 * 0.5);
    let labels: Vec<&str> = (0..240).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
    let data = Dataset::new(x, Target::from_labels(&labels));
    let scale = scale(shifted, DIM);
    let behind = Dataset { points: scale.apply(&data.points).unwrap(), ..data.clone() };
    let learner = Scaled { how: HowToScale::Given(scale), learner: Box::new(Svc { kernel: Kernel::gaussian(0.3), ..Svc::default() }) };
    (learner.learn(&data, &Watch::none()).unwrap().machine, data, behind)
}

#[test]
fn a_machine_that_was_trained_behind_a_map_takes_rows_before_it() {
    for shifted in [false, true] {
        let (machine, data, behind) = trained(shifted);
        machine.check().unwrap();
        let plain = Machine { scale: None, ..machine.clone() };
        let want = plain.outputs_for(&behind.points).unwrap();
        assert_close(machine.outputs_for(&data.points).unwrap().values(), want.values(), 1e-11, "trained");
    }
}

#[test]
fn compressing_before_the_map_is_compressing_behind_it() {
    let (machine, data, behind) = trained(true);
    let plain = Machine { scale: None, ..machine.clone() };
    assert!(machine.n_vectors() > 40);
    let requests = [
        json!({"method": "pursuit", "vectors": 8}),
        json!({"method": "fixed-point", "vectors": 4}),
        json!({"method": "pursuit", "vectors": 8, "refit": "outputs"}),
        json!({"method": "pursuit", "vectors": 8, "from-data": true}),
        json!({"method": "auto", "vectors": 6}),
    ];
    for request in requests {
        let compress = Compress::read(request.as_object().unwrap().clone()).unwrap();
        let small = compress.run(&machine, Some(&data), None, &Watch::none()).unwrap().machine;
        let want = compress.run(&plain, Some(&behind), None, &Watch::none()).unwrap().machine;
        assert_eq!((small.scale.as_ref(), small.n_vectors()), (machine.scale.as_ref(), want.n_vectors()), "{request}");
        small.check().unwrap();
        let (have, want) = (small.outputs_for(&data.points).unwrap(), want.outputs_for(&behind.points).unwrap());
        assert_close(have.values(), want.values(), 1e-6, &request.to_string());
    }
    // A size in bytes counts the numbers of vectors behind the map.
    let bytes = 8 * 5 * (MAPPED + 1) + 4000;
    let request = json!({"method": "pursuit", "max-bytes": bytes});
    let small = Compress::read(request.as_object().unwrap().clone()).unwrap().run(&machine, Some(&data), None, &Watch::none()).unwrap();
    assert!(kernelet::model::native::to_bytes(&small.machine).unwrap().len() <= bytes);
}
