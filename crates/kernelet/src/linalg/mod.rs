//! The only place that sees the linear-algebra crate: matrices, products, factors.
mod cholesky;
mod descent;
mod eigen;
mod factor;
mod gram;
mod largest;
mod lbfgs;
mod matrix;
mod product;
mod space;
mod vector;

pub(crate) use cholesky::Cholesky;
pub(crate) use descent::{Begin, Descent};
pub use eigen::Eigen;
pub use factor::Factor;
pub(crate) use factor::Lower;
pub(crate) use gram::{add_outer, add_outer_sum, outer_sum, weighted_gram};
pub use largest::{Found, Largest};
pub(crate) use lbfgs::{Ended, Lbfgs, Minimum};
pub use matrix::Matrix;
pub use product::Product;
pub(crate) use product::{add_transposed_product, outer_product, product_transposed, rows_times};
#[cfg(feature = "cuda")]
pub(crate) use space::Space;
pub(crate) use vector::{times, transposed_times};

/// The two number types in which points are stored and machines predict.
pub trait Real: Copy + Default + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number in double precision.
    fn to_f64(self) -> f64;
    /// Adds a matrix product to `out`, on one thread.
    fn add_product(product: Product<Self>, out: &mut [Self]);
}

impl Real for f64 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    fn add_product(product: Product<Self>, out: &mut [Self]) {
        product.add_to(1.0, out);
    }
}

impl Real for f32 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn add_product(product: Product<Self>, out: &mut [Self]) {
        product.add_to(1.0, out);
    }
}

/// The inner product of two equally long slices, in four running sums.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (xs, ys) = (x.chunks_exact(4), y.chunks_exact(4));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in xs.zip(ys) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
