//! Model files under random fire: any machine there and back, any bytes, any damage to a good file.
#![allow(clippy::unwrap_used)] // All of this is tests.
use std::{
    fs,
    path::{Path, PathBuf},
};

use kernelet::{
    data::{Csr, Label, Points, Scale},
    kernel::Kernel,
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata, Pairwise},
    model::{self, libsvm, native, range::Range},
};
use proptest::{collection::vec, prelude::*, sample::Index};

/// Any finite number, with those that are hard to write among them.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
        prop::sample::select(vec![0.0, -0.0, 1.0, 0.1, 1e-5, 1e16, 1e17, f64::MAX, f64::MIN_POSITIVE]),
        -3.0..3.0,
    ]
}

fn matrix(rows: usize, cols: usize) -> impl Strategy<Value = Matrix> {
    vec(number(), rows * cols).prop_map(move |values| Matrix::new(values, rows, cols).unwrap())
}

fn points(rows: usize, dim: usize) -> impl Strategy<Value = Points> {
    (matrix(rows, dim), vec(any::<bool>(), rows * dim), 0..3).prop_map(move |(mut matrix, holes, storage)| {
        matrix.values_mut().iter_mut().zip(holes).filter(|(_, hole)| *hole).for_each(|(value, _)| *value = 0.0);
        let single = matrix.values().iter().map(|&value| if value.abs() < 1e30 { value as f32 } else { 1.0 }).collect();
        match storage {
            0 => Points::F64(matrix),
            1 => Points::F32(Matrix::new(single, rows, dim).unwrap()),
            _ => Points::Sparse(Csr::from_dense(&matrix)),
        }
    })
}

/// Machines of every decision, storage and kernel.
fn machine() -> impl Strategy<Value = Machine> {
    let sizes = (0usize..6, 0usize..5, 0usize..7, 2usize..5, prop::sample::select(Kernel::examples()));
    sizes.prop_flat_map(|(count, dim, rule, classes, kernel)| {
        let labels: Vec<Label> = (0..classes).map(|class| Label::new((3 * class as i64 - 4).to_string())).collect();
        let pairs = classes * (classes - 1) / 2;
        let (decision, outputs) = match rule {
            0 => (Decision::Sign { negative: labels[0].clone(), positive: labels[1].clone() }, 1),
            1 | 2 => (Decision::Votes { labels }, pairs),
            3 => (Decision::Largest { labels }, classes),
            4 => (Decision::Novelty, 1),
            5 => (Decision::Values, 1),
            _ => (Decision::Features, classes),
        };
        let width = if rule == 1 { classes - 1 } else { outputs };
        // Rows have as many features as vectors unless there is a linear map between them.
        let features = proptest::option::of(1usize..5).prop_map(move |features| features.filter(|_| dim > 0));
        let scale = proptest::option::of(features.prop_flat_map(move |features| {
            let n = features.unwrap_or(dim);
            let map = features.map_or(Just(None).boxed(), |n| matrix(dim, n).prop_map(Some).boxed());
            (proptest::option::of(vec(number(), n)), vec(number(), n), map).prop_map(|(shift, factor, map)| Scale { shift, factor, map })
        }));
        let scale = scale.prop_flat_map(move |scale| {
            let n = scale.as_ref().map_or(dim, Scale::dim);
            (proptest::option::of(vec(any::<String>(), n)), Just(scale))
        });
        let parts = (points(count, dim), matrix(count, width), vec(number(), outputs), vec(0..=count, classes - 1), scale);
        (parts, any::<bool>(), vec(number(), 10)).prop_map(
            move |((vectors, values, offsets, mut cuts, (names, scale)), probable, extra)| {
                cuts.sort_unstable();
                let starts = [&[0], &cuts[..], &[count]].concat();
                let sigmoid = |b: usize| Calibration::Sigmoid { a: vec![extra[0]; outputs], b: vec![extra[1]; b] };
                let calibration = match decision {
                    Decision::Novelty => Calibration::Marks { marks: extra.clone() },
                    Decision::Values => sigmoid(0),
                    _ => sigmoid(outputs),
                };
                let coefficients = match rule {
                    1 => Coefficients::Pairwise(Pairwise { starts, values }),
                    _ => Coefficients::Dense(values),
                };
                Machine {
                    expansion: Expansion { kernel: kernel.clone(), vectors, coefficients },
                    offsets,
                    decision: decision.clone(),
                    scale,
                    names,
                    calibration: probable.then_some(calibration),
                    metadata: Metadata {
                        c: probable.then_some(extra[2]),
                        learner: probable.then(|| "nu-svc".into()),
                        ..Metadata::default()
                    },
                }
            },
        )
    })
}

fn bits(matrix: &Matrix) -> Vec<u64> {
    matrix.values().iter().map(|value| value.to_bits()).collect()
}

/// The golden files, for damage.
fn valid_files() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "model" || extension == "kernelet"));
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Reading may fail with an error; it may not panic, and what it returns is sound.
fn read_or_refuse(bytes: &[u8]) {
    match model::load_bytes(bytes, "m") {
        Ok(machine) => machine.check().unwrap(),
        Err(error) => assert!(error.to_string().starts_with('m'), "{error}"),
    }
}

proptest! {
    #[test]
    fn any_machine_returns_from_a_native_file_to_the_bit(machine in machine()) {
        let bytes = native::to_bytes(&machine).unwrap();
        let back = model::load_bytes(&bytes, "m").unwrap();
        prop_assert_eq!(&back, &machine);
        prop_assert_eq!(native::to_bytes(&back).unwrap(), bytes);
    }

    #[test]
    fn any_machine_that_libsvm_can_express_returns_from_its_text_to_the_bit(machine in machine()) {
        // Behind a linear map the names are those of other features.
        let names = machine.names.clone().filter(|_| machine.map().is_none());
        let machine = Machine { scale: None, names, ..machine };
        let Ok(text) = libsvm::to_text(&machine) else { return Ok(()) };
        let back = model::load_bytes(text.as_bytes(), "m").unwrap();
        prop_assert_eq!(libsvm::to_text(&back).unwrap(), text);
        prop_assert_eq!(back.offsets.iter().map(|b| b.to_bits()).collect::<Vec<_>>(), machine.offsets.iter().map(|b| b.to_bits()).collect::<Vec<_>>());
        prop_assert_eq!(&back.calibration, &machine.calibration);
        let stored = machine.expansion.coefficients.stored();
        let mut order: Vec<usize> = (0..machine.n_vectors()).collect();
        if machine.n_outputs() == 1 && !machine.decision.labels().is_empty() && machine.decision != Decision::Novelty {
            order.sort_by_key(|&j| stored.at(j, 0) < 0.0);
        }
        let repeated = machine.n_outputs() > 1 && matches!(machine.expansion.coefficients, Coefficients::Dense(_));
        if !repeated && !order.is_empty() {
            prop_assert_eq!(bits(back.expansion.coefficients.stored()), bits(&stored.select(&order)));
            prop_assert_eq!(bits(&back.expansion.vectors.to_dense()), bits(&machine.expansion.vectors.select(&order).to_dense()));
        }
    }

    #[test]
    fn arbitrary_bytes_are_rejected_without_a_panic(bytes in vec(any::<u8>(), 0..300), length in 0u64..400) {
        read_or_refuse(&bytes);
        let framed = [&length.to_le_bytes()[..], b"{", &bytes].concat();
        read_or_refuse(&framed);
        read_or_refuse(&[b"svm_type c_svc\n", &bytes[..]].concat());
        let _ = Range::from_bytes(&[b"x\n-1 1\n", &bytes[..]].concat(), "m");
    }

    #[test]
    fn damaged_files_are_read_or_rejected_without_a_panic(
        which in any::<Index>(), damage in vec((any::<Index>(), any::<u8>(), 0..4), 1..6), end in any::<Index>()
    ) {
        let files = valid_files();
        let mut bytes = files[which.index(files.len())].clone();
        for (place, byte, kind) in damage {
            let place = place.index(bytes.len());
            match kind {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                2 => drop(bytes.remove(place)),
                _ => bytes[place] ^= 1 << (byte % 8),
            }
        }
        read_or_refuse(&bytes);
        read_or_refuse(&bytes[..end.index(bytes.len())]);
    }

    #[test]
    fn hostile_claims_are_rejected_without_an_allocation(which in any::<Index>(), place in any::<Index>(), claim in 0usize..9) {
        let claims = ["18446744073709551615", "4294967296", "9223372036854775808", "-1", "0", "1e999", "nan", "[[[[", ""];
        let files = valid_files();
        let bytes = &files[which.index(files.len())];
        // Replace one run of digits, wherever it is: in a count, an index, a shape, an offset into the file.
        let starts: Vec<usize> = (1..bytes.len()).filter(|&i| bytes[i].is_ascii_digit() && !bytes[i - 1].is_ascii_digit()).collect();
        let start = starts[place.index(starts.len())];
        let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut hostile = [&bytes[..start], claims[claim].as_bytes(), &bytes[start + length..]].concat();
        read_or_refuse(&hostile);
        // The same with the header's length put right, so that the claim itself is read.
        if bytes[8] == b'{' {
            let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) + claims[claim].len() as u64 - length as u64;
            hostile[..8].copy_from_slice(&header.to_le_bytes());
            read_or_refuse(&hostile);
        }
    }
}
