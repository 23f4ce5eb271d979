//! A random small problem through learners, methods and exports: every machine is finite, saved and loaded the same, and predicts its training rows.
#![no_main]
use kernelet::{
    data::{Classes, Dataset, Target},
    linalg::Matrix,
    prelude::*,
};

const LEARNERS: [&str; 12] = ["svc", "nu-svc", "svr", "nu-svr", "one-class", "ridge", "fisher", "pca", "rvm", "logistic", "svc", "ridge"];
const KERNELS: [&str; 9] = ["gaussian", "exponential", "matern32", "matern52", "matern72", "polynomial", "linear", "sigmoid", "inverse-multiquadric"];
const METHODS: [&str; 6] = ["auto", "margin", "random", "kmeans", "greedy-basis", "rpcholesky"];
const SHRINK: [&str; 6] = ["auto", "pursuit", "l1", "l0", "fixed-point", "gradient"];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((head, rest)) = bytes.split_at_checked(8) else { return };
    let (dim, number) = (1 + head[0] as usize % 4, |byte: u8| f64::from(byte as i8) * 10f64.powi(i32::from(head[1] % 9) - 4));
    let n = (rest.len() / (dim + 1)).min(40);
    if n < 4 {
        return;
    }
    let points = Matrix::from_fn(n, dim, |i, j| number(rest[i * (dim + 1) + j]));
    let last = |i: usize| rest[i * (dim + 1) + dim];
    let learner = LEARNERS[head[2] as usize % LEARNERS.len()];
    let regression = ["svr", "nu-svr", "ridge"].contains(&learner);
    let target = match regression {
        true => Target::Values(Matrix::from_fn(n, 1, |i, _| number(last(i)))),
        false => Target::Classes(Classes::from_texts(&(0..n).map(|i| (last(i) % (2 + head[3] % 3)).to_string()).collect::<Vec<_>>())),
    };
    let data = Dataset::new(points, target);
    let mut request = format!(r#"{{"learner": "{learner}", "kernel": "{}""#, KERNELS[head[4] as usize % KERNELS.len()]);
    if head[5] % 3 == 0 {
        request += &format!(r#", "vectors": {}, "method": "{}""#, 1 + head[5] % 7, METHODS[head[6] as usize % METHODS.len()]);
    }
    // Badly scaled rows take the dual solver to its limit of 100 million steps, which is long.
    if ["svc", "nu-svc", "svr", "nu-svr", "one-class"].contains(&learner) && !request.contains("vectors") {
        request += r#", "max-iterations": 1000000"#;
    }
    request += "}";
    let Ok(train) = Train::from_json(&request) else { return };
    let Ok(trained) = train.run(&data, &Given::default(), &Watch::none()) else { return };
    let machine = trained.machine();
    let bytes = model::native::to_bytes(machine).unwrap();
    assert_eq!(&model::load_bytes(&bytes, "fuzz").unwrap(), machine);
    let _ = machine.predict(&data.points);
    kernelet_fuzz::exported(machine);
    let shrink = format!(r#"{{"vectors": 2, "method": "{}", "effort": "quick"}}"#, SHRINK[head[7] as usize % SHRINK.len()]);
    let shrink = shrink.replace(r#", "effort": "quick""#, if shrink.contains("auto") { r#", "effort": "quick""# } else { "" });
    if let Ok(small) = Compress::from_json(&shrink).and_then(|shrink| shrink.run(machine, Some(&data), None, &Watch::none())) {
        small.machine.check().unwrap();
        let _ = model::native::to_bytes(&small.machine).unwrap();
    }
});
