//! How many bytes a second the readers take in from memory: `cargo bench -p kernelet --bench read`.
use std::fmt::Write;

use divan::{Bencher, counter::BytesCount};
use kernelet::data::read::{Format, Reading, Wanted, read_bytes};
use rand::{RngExt, SeedableRng};

const ROWS: usize = 80_000;
const FEATURES: usize = 20;

fn main() {
    divan::main();
}

/// Rows of 20 features with six digits after the point.
fn rows() -> impl Iterator<Item = (i32, Vec<f64>)> {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    (0..ROWS).map(move |i| (if i % 3 == 0 { -1 } else { 1 }, (0..FEATURES).map(|_| rng.random_range(-1.0..1.0)).collect()))
}

fn libsvm_text() -> String {
    let mut text = String::new();
    for (label, row) in rows() {
        let _ = write!(text, "{label:+}");
        row.iter().enumerate().for_each(|(j, v)| {
            let _ = write!(text, " {}:{v:.6}", j + 1);
        });
        text.push('\n');
    }
    text
}

fn csv_text() -> String {
    let mut text = String::new();
    for (label, row) in rows() {
        row.iter().for_each(|v| {
            let _ = write!(text, "{v:.6},");
        });
        let _ = writeln!(text, "{label}");
    }
    text
}

fn measure(bencher: Bencher, text: &str, format: Format, threads: usize) {
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { return };
    let how = Reading { format: Some(format), wanted: Wanted::Classes, ..Reading::default() };
    bencher.counter(BytesCount::of_str(text)).bench(|| pool.install(|| read_bytes(text.as_bytes(), "memory", &how)));
}

#[divan::bench(args = [1, 2, 4], sample_count = 20)]
fn libsvm(bencher: Bencher, threads: usize) {
    measure(bencher, &libsvm_text(), Format::Libsvm, threads);
}

#[divan::bench(sample_count = 20)]
fn csv(bencher: Bencher) {
    measure(bencher, &csv_text(), Format::Csv, 1);
}
