//! Faults: processes that are killed, disks that are full, folders that take no file. A short part of each runs with all tests; with `KERNELET_HARD=1`
//! (`make test-hard`) there are many more of the same.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
#[path = "../cli/program.rs"]
#[allow(dead_code, reason = "the tests of the program use more of it")]
mod program;

mod kill;

use std::{
    process::Child,
    time::{Duration, Instant},
};

/// How often a fault is tried: `few` times with all tests, `many` in the long run.
fn times(few: usize, many: usize) -> usize {
    if std::env::var_os("KERNELET_HARD").is_some() { many } else { few }
}

/// Numbers from 0 to 1 that look random.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Waits so long for a process to end; true when it has.
fn ended_within(child: &mut Child, limit: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.try_wait().unwrap().is_some()
}

/// Rows of two classes without any pattern, which take long to fit.
fn hard(n: usize) -> String {
    let row = |i: usize| {
        let label = (i * i * 7919 + i * 104_729) / 13 % 2;
        let values = (1..6).map(|j| format!(" {j}:{}", ((i * j) as f64 * 0.7).sin()));
        format!("{label}{}\n", values.collect::<String>())
    };
    (0..n).map(row).collect()
}
