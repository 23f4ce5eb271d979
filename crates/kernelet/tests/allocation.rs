//! A single row is predicted without touching the allocator.
#![allow(clippy::unwrap_used)]
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use kernelet::{
    data::Scale,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine, Metadata, Pairwise, Predictor, Work},
};

/// Counts what the current thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

#[allow(unsafe_code)]
// SAFETY: every call is handed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.with(|asked| asked.set(asked.get() + 1));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from `alloc` above with this layout.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A machine of rows of `dim` features, which go through a linear map to `mapped` numbers where that is given.
fn machine(kernel: Kernel, coefficients: Coefficients, dim: usize, mapped: Option<usize>) -> Machine {
    let m = coefficients.stored().rows();
    let vectors = Matrix::from_fn(m, mapped.unwrap_or(dim), |i, j| ((i * 5 + j) as f64).sin());
    let scale = mapped.map(|width| Scale {
        map: Some(Matrix::from_fn(width, dim, |k, j| ((k + 3 * j) as f64).sin() / dim as f64)),
        ..Scale::new(Some(vec![0.1; dim]), vec![0.5; dim])
    });
    let offsets = vec![0.1; coefficients.n_outputs()];
    let expansion = Expansion { kernel, vectors: vectors.into(), coefficients };
    Machine { expansion, offsets, decision: Decision::Features, scale, names: None, calibration: None, metadata: Metadata::default() }
}

#[test]
fn a_row_allocates_nothing_from_the_second_call_on() {
    let values = |outputs| Matrix::from_fn(100, outputs, |i, k| ((i + 7 * k) as f64).cos());
    let layouts = [
        Coefficients::Dense(values(1)),
        Coefficients::Dense(values(3)),
        Coefficients::Dense(values(12)),
        Coefficients::Pairwise(Pairwise { starts: vec![0, 30, 60, 100], values: values(2) }),
    ];
    for kernel in Kernel::examples() {
        for coefficients in layouts.clone() {
            for (dim, mapped) in [(20, None), (900, None), (20, Some(7)), (900, Some(30))] {
                let machine = machine(kernel.clone(), coefficients.clone(), dim, mapped);
                for predictor in [Predictor::new(&machine), Predictor::single(&machine)] {
                    let rows = Matrix::from_fn(10, dim, |i, j| ((i * 3 + j) as f64).cos());
                    let (mut out, mut work) = (vec![0.0; machine.n_outputs()], Work::default());
                    predictor.row(rows.row(0), &mut out, &mut work).unwrap();
                    let before = ASKED.with(Cell::get);
                    for i in 0..10 {
                        predictor.row(rows.row(i), &mut out, &mut work).unwrap();
                    }
                    let asked = ASKED.with(Cell::get) - before;
                    assert_eq!(asked, 0, "{}, {} outputs, {dim} features", kernel.name(), machine.n_outputs());
                }
            }
        }
    }
}
