//! The gradients of all learners against differences.
use super::{inner::Inner, objective::Objective};
use crate::{data::Points, draw::Draw, kernel::Kernel, linalg::Matrix, watch::Watch};

/// Asserts that the gradient of W agrees with differences to this part of its largest entry, at vectors near rows. Differences are
/// extrapolated: the error of central ones would hide the seventh digit.
pub(super) fn assert_gradient<'a>(kernel: &'a Kernel, points: &'a Points, inner: impl Fn() -> Box<dyn Inner + 'a>, tolerance: f64) {
    let watch = Watch::none();
    let (count, dim, mut draw) = (6, points.dim(), Draw::seeded(1));
    let rows = points.to_dense();
    let z = Matrix::from_fn(count, dim, |j, c| rows.at(7 * j, c) + 0.05 * draw.normal());
    let value = |z: &Matrix, gradient: &mut [f64]| {
        Objective { kernel, points, inner: inner(), memory: usize::MAX, single: false, buffer: vec![], watch: &watch }.evaluate(z, gradient)
    };
    let mut gradient = vec![0.0; count * dim];
    assert!(value(&z, &mut gradient).is_finite());
    let size = gradient.iter().fold(0.0, |a: f64, g| a.max(g.abs()));
    let slope = |at: usize, h: f64| {
        let moved = |step: f64| {
            let mut moved = z.clone();
            moved.values_mut()[at] += step;
            value(&moved, &mut vec![0.0; count * dim])
        };
        (moved(h) - moved(-h)) / (2.0 * h)
    };
    for (at, &found) in gradient.iter().enumerate().take(8) {
        let want = (4.0 * slope(at, 5e-4) - slope(at, 1e-3)) / 3.0;
        assert!((found - want).abs() < tolerance * size, "{} {at}: {found} {want}, largest {size}", kernel.name());
    }
}
