//! The gradients of all learners against differences.
use super::{
    inner::Inner,
    metric::{Learned, Metric},
    objective::{Objective, Variables},
};
use crate::{data::Points, draw::Draw, kernel::Kernel, linalg::Matrix, watch::Watch};

/// Asserts that the gradient of W by the vectors and by every kind of metric agrees with differences to this fraction of its largest entry, at
/// vectors near rows. Differences are extrapolated: the error of central ones would hide the seventh digit.
pub(super) fn assert_gradient<'a>(kernel: &'a Kernel, points: &'a Points, inner: impl Fn() -> Box<dyn Inner + 'a>, tolerance: f64) {
    let dim = points.dim();
    let kinds = [Learned::Nothing, Learned::Width, Learned::Scales, Learned::Map(dim), Learned::Map(dim.min(2))];
    for (learned, centred) in kinds.map(|learned| (learned, false)).into_iter().chain([(Learned::Scales, true)]) {
        let metric = Metric { learned, centred, penalty: 0.7, ..Metric::default() };
        assert_with_metric(kernel, points, &metric, &inner, tolerance);
    }
}

fn assert_with_metric<'a>(
    kernel: &'a Kernel,
    points: &'a Points,
    metric: &Metric,
    inner: &impl Fn() -> Box<dyn Inner + 'a>,
    tolerance: f64,
) {
    let watch = Watch::none();
    let (count, dim, mut draw) = (6, points.dim(), Draw::seeded(1));
    let rows = points.to_dense();
    let z = Matrix::from_fn(count, dim, |j, c| rows.at(7 * j, c) + 0.05 * draw.normal());
    let numbers: Vec<f64> = metric.first(dim).unwrap().into_iter().map(|v| v + 0.2 * draw.normal()).collect();
    let start = Variables { z, metric: numbers }.into_values();
    let value = |point: &[f64], gradient: &mut [f64]| {
        let (memory, single, buffer, transformed) = (usize::MAX, false, vec![], vec![]);
        let inner: Box<dyn Inner> = inner();
        Objective { kernel, points, metric, inner, memory, single, buffer, transformed, watch: &watch }
            .evaluate(&Variables::of_values(point, count, dim), gradient)
    };
    let mut gradient = vec![0.0; start.len()];
    assert!(value(&start, &mut gradient).is_finite());
    let size = gradient.iter().fold(0.0, |a: f64, g| a.max(g.abs()));
    let slope = |at: usize, h: f64| {
        let moved = |step: f64| {
            let mut moved = start.clone();
            moved[at] += step;
            value(&moved, &mut vec![0.0; start.len()])
        };
        (moved(h) - moved(-h)) / (2.0 * h)
    };
    let own = count * dim..start.len();
    let tested = (0..8.min(count * dim)).chain(own.take(8));
    for at in tested {
        let (found, want) = (gradient[at], (4.0 * slope(at, 5e-4) - slope(at, 1e-3)) / 3.0);
        assert!(
            (found - want).abs() < tolerance * size,
            "{} {:?} {at} of {}: {found} {want}, largest {size}",
            kernel.name(),
            metric.learned,
            start.len()
        );
    }
}
