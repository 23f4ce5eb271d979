//! Speed of what everything else is made of: exp, blocks of kernel values, kernel rows, steps of the solver.
//!
//! It guards against a cliff: a fused multiply-add outside a function compiled for it becomes a library call, and a loop that misses
//! the vector instructions runs ten times slower. `exp` must stay several times faster than the library's, one call a number.
use divan::{Bencher, black_box, counter::ItemsCount};
use kernelet::{
    data::{Generator, Points, noisy},
    kernel::{
        Kernel,
        block::{block, symmetric},
        exp_in_place, exp_in_place_f32,
    },
    learn::smo::{Problem, Settings, rows_of, solve},
    linalg::Matrix,
    watch::Watch,
};

fn main() {
    divan::main();
}

const NUMBERS: usize = 4096;

fn numbers() -> Vec<f64> {
    (0..NUMBERS).map(|i| -20.0 * i as f64 / NUMBERS as f64).collect()
}

#[divan::bench]
fn exp_double(bencher: Bencher) {
    bencher.counter(ItemsCount::new(NUMBERS)).with_inputs(numbers).bench_local_refs(|x| exp_in_place(x));
}

#[divan::bench]
fn exp_single(bencher: Bencher) {
    let input = || numbers().iter().map(|&x| x as f32).collect::<Vec<f32>>();
    bencher.counter(ItemsCount::new(NUMBERS)).with_inputs(input).bench_local_refs(|x| exp_in_place_f32(x));
}

/// The yardstick of the two above.
#[divan::bench]
fn exp_of_the_library(bencher: Bencher) {
    bencher.counter(ItemsCount::new(NUMBERS)).with_inputs(numbers).bench_local_refs(|x| x.iter_mut().for_each(|x| *x = x.exp()));
}

fn points(rows: usize, dim: usize) -> Points {
    noisy(rows, dim, 1).map_or_else(|_| Matrix::<f64>::zeros(0, dim).into(), |data| data.points)
}

fn kernel_names() -> Vec<&'static str> {
    Kernel::NAMES.to_vec()
}

/// Kernel values a second of a block of 512 x 512 in 20 features.
#[divan::bench(args = kernel_names())]
fn kernel_block(bencher: Bencher, name: &str) {
    let (x, kernel) = (points(512, 20), Kernel::named(name, 0.05, 3, 1.0));
    bencher.counter(ItemsCount::new(512usize * 512)).bench_local(|| kernel.as_ref().map(|kernel| block(kernel, black_box(&x), &x)));
}

#[divan::bench(args = [4, 20, 256])]
fn symmetric_block(bencher: Bencher, dim: usize) {
    let x = points(512, dim);
    bencher.counter(ItemsCount::new(512usize * 512)).bench_local(|| symmetric(&Kernel::gaussian(0.05), black_box(&x)));
}

/// Kernel values a second of one row of the solver: 5,000 points, 20 features; the tolerance decides the precision.
#[divan::bench(args = [1e-3, 1e-6])]
fn gaussian_row(bencher: Bencher, tolerance: f64) {
    row(bencher, &Kernel::gaussian(0.05), tolerance);
}

#[divan::bench(args = kernel_names())]
fn kernel_row(bencher: Bencher, name: &str) {
    if let Some(kernel) = Kernel::named(name, 0.05, 3, 1.0) {
        row(bencher, &kernel, 1e-6);
    }
}

fn row(bencher: Bencher, kernel: &Kernel, tolerance: f64) {
    let x = points(5000, 20);
    let Ok(rows) = rows_of(kernel, &x, tolerance) else { return };
    let mut out = vec![0f32; x.len().next_multiple_of(64)];
    bencher.counter(ItemsCount::new(x.len())).bench_local(|| rows.row(black_box(17), &mut out));
}

/// Steps a second of the solver on 2,000 rows: the first 5,000 steps, with and without a cache for the kernel rows.
#[divan::bench(args = [200 << 20, 0], sample_count = 5)]
fn solver_step(bencher: Bencher, cache_bytes: usize) {
    const STEPS: u64 = 5000;
    let data = Generator::Noisy.make(2000, 1);
    let Ok(classes) = data.classes() else { return };
    let signs: Vec<f64> = classes.codes.iter().map(|&code| if code == 1 { 1.0 } else { -1.0 }).collect();
    let bounds = |sign: f64| signs.iter().map(|&y| if y == sign { 100.0 * y } else { 0.0 }).collect();
    let problem = Problem { lower: bounds(-1.0), upper: bounds(1.0), targets: signs.clone(), ..Problem::default() };
    let settings = Settings { tolerance: 1e-9, max_iterations: STEPS, cache_bytes, shrinking: false };
    let Ok(rows) = rows_of(&Kernel::gaussian(0.05), &data.points, 1e-3) else { return };
    bencher.counter(ItemsCount::new(STEPS)).bench_local(|| solve(&problem, &*rows, &settings, &Watch::none()).iterations);
}
