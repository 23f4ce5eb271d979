//! Pre-images: the points whose images in feature space are nearest to reconstructions from kernel principal components.
//!
//! Features y of a machine with the components `v_k = sum_i a_ik Phi(z_i)` stand for `P = mean + sum_k y_k v_k = sum_i g_i Phi(z_i)`, with the mean of the
//! training rows projected to the span of the vectors. For a function of the distance, `|Phi(x) - P|^2` is least where `f(x) = sum_i g_i k(z_i, x)` is
//! largest, and there `x = sum_i w_i z_i / sum_i w_i` with `w_i = g_i k'(|x - z_i|^2)` [Schoelkopf1998 (10)]. The iteration begins at the one with the
//! largest f of the vectors with the largest g; a step is halved until f does not fall.
//!
//! Cost: a step of a row is 2 m d; the mean is m kernel values for each training row, and m^3 / 3. Memory: O(m^2).
use crate::parallel::*;

use super::Frame;
use crate::{
    Error, Result,
    data::Points,
    kernel::{Argument, Kernel},
    linalg::{Matrix, dot},
    machine::{Decision, Machine},
    watch::Watch,
};

/// Steps after which a point is taken as it is.
const STEPS: usize = 200;

/// A point has arrived when it moves by less than this part of the spread of the vectors.
const ARRIVED: f64 = 1e-6;

/// Vectors of the largest weights, of which the one with the largest value is the start.
const STARTS: usize = 32;

/// Halvings of a step that does not lead up.
const HALVINGS: usize = 8;

/// What maps features back to rows.
#[derive(Clone, Debug)]
pub struct PreImages {
    kernel: Kernel,
    vectors: Matrix,
    /// The components, of unit length, on the vectors: m x q.
    components: Matrix,
    /// The factor of each feature: its variance where the features were divided by their standard deviations, else 1.
    factors: Vec<f64>,
    /// The mean of the training rows on the vectors.
    mean: Vec<f64>,
    spread: f64,
}

/// The mean of the images of rows, projected to the span of the vectors of a machine: its coefficients.
pub fn mean_on_vectors(machine: &Machine, rows: &Points) -> Result<Vec<f64>> {
    let Machine { expansion, scale, .. } = machine;
    let scaled = scale.as_ref().map(|scale| scale.apply(rows)).transpose()?;
    let frame = Frame::fixed(&expansion.kernel, &expansion.vectors, 0.0)?;
    let coordinates = frame.coordinates(scaled.as_ref().unwrap_or(rows));
    let mean = Matrix::column((0..frame.len()).map(|j| coordinates.col(j).iter().sum::<f64>() / rows.len().max(1) as f64).collect());
    Ok(frame.coefficients(&mean).values().to_vec())
}

impl PreImages {
    /// For the features of a machine, with the mean of its training rows by [`mean_on_vectors`].
    pub fn new(machine: &Machine, mean: Vec<f64>) -> Result<Self> {
        let (kernel, vectors) = (&machine.expansion.kernel, machine.expansion.vectors.to_dense());
        if machine.decision != Decision::Features {
            return Err(Error::data(
                "pre-images belong to features of kernel principal components, but this machine predicts something else",
            ));
        }
        if kernel.profile().argument() != Argument::SquaredDistance || !kernel.profile().smooth() {
            return Err(Error::Unsupported {
                method: "inverse_transform",
                with: format!("the {} kernel, which is not a smooth function of the distance", kernel.name()),
                instead: "use gaussian, matern32, matern52, matern72 or inverse-multiquadric".into(),
            });
        }
        if mean.len() != vectors.rows() {
            return Err(Error::Shape { what: "coefficients of the mean", expected: vectors.rows(), found: mean.len() });
        }
        let features = machine.metadata.features.as_ref().filter(|features| features.whitened);
        let factors = features.map_or_else(|| vec![1.0; machine.n_outputs()], |features| features.variances.clone());
        let components = machine.expansion.coefficients.to_dense();
        let spread = spread(&vectors);
        Ok(PreImages { kernel: kernel.clone(), vectors, components, factors, mean, spread })
    }

    /// The point of each row of features, in the units of the vectors.
    pub fn of(&self, features: &Matrix, watch: &Watch) -> Result<Matrix> {
        let (q, dim) = (self.components.cols(), self.vectors.cols());
        if features.cols() != q {
            return Err(Error::Shape { what: "features", expected: q, found: features.cols() });
        }
        let mut out = Matrix::zeros(features.rows(), dim);
        out.values_mut().par_chunks_mut(dim.max(1)).enumerate().for_each(|(row, out)| {
            if !watch.cancelled() {
                out.copy_from_slice(&self.climb(&self.weights(features.row(row))));
            }
        });
        Ok(out)
    }

    /// The coefficients g of the reconstruction.
    fn weights(&self, features: &[f64]) -> Vec<f64> {
        let scaled: Vec<f64> = features.iter().zip(&self.factors).map(|(y, factor)| y * factor).collect();
        self.components.iter().zip(&self.mean).map(|(row, mean)| mean + dot(row, &scaled)).collect()
    }

    fn value(&self, weights: &[f64], x: &[f64]) -> f64 {
        self.vectors.iter().zip(weights).map(|(z, g)| g * self.kernel.eval(z, x)).sum()
    }

    /// Fixed-point steps from the vector with the largest value.
    fn climb(&self, weights: &[f64]) -> Vec<f64> {
        let mut heaviest: Vec<(f64, &[f64])> = weights.iter().copied().zip(self.vectors.iter()).collect();
        heaviest.sort_by(|a, b| b.0.total_cmp(&a.0));
        let start = heaviest.iter().take(STARTS).map(|&(_, z)| (self.value(weights, z), z)).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((mut value, start)) = start else { return vec![0.0; self.vectors.cols()] };
        let mut x = start.to_vec();
        for _ in 0..STEPS {
            let Some(target) = self.step(weights, &x) else { break };
            let mut part = 1.0;
            let mut moved = None;
            for _ in 0..HALVINGS {
                let next: Vec<f64> = x.iter().zip(&target).map(|(from, to)| from + part * (to - from)).collect();
                let there = self.value(weights, &next);
                if there >= value {
                    moved = Some((there, next));
                    break;
                }
                part *= 0.5;
            }
            let Some((there, next)) = moved else { break };
            let distance = x.iter().zip(&next).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            (value, x) = (there, next);
            if distance <= ARRIVED * self.spread {
                break;
            }
        }
        x
    }

    /// The weighted mean of the vectors, [Schoelkopf1998 (10)]; none where the weights vanish.
    fn step(&self, weights: &[f64], x: &[f64]) -> Option<Vec<f64>> {
        let (mut sum, mut mean) = (0.0, vec![0.0; x.len()]);
        for (z, g) in self.vectors.iter().zip(weights) {
            let distance = z.iter().zip(x).map(|(a, b)| (a - b) * (a - b)).sum();
            let w = -g * self.kernel.profile().slope(distance);
            sum += w;
            mean.iter_mut().zip(z).for_each(|(mean, z)| *mean += w * z);
        }
        (sum > 0.0 && sum.is_finite()).then(|| mean.into_iter().map(|m| m / sum).collect())
    }
}

/// The root of the mean squared distance of the vectors from their mean.
fn spread(vectors: &Matrix) -> f64 {
    let n = vectors.rows().max(1) as f64;
    let mean: Vec<f64> = (0..vectors.cols()).map(|j| vectors.col(j).iter().sum::<f64>() / n).collect();
    let squares: f64 = vectors.iter().flat_map(|row| row.iter().zip(&mean).map(|(v, m)| (v - m) * (v - m))).sum();
    (squares / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Target, banana},
        machine::{Coefficients, Expansion, Metadata},
    };

    /// One feature for each vector: the coordinates of a frame, whose components are orthonormal.
    fn coordinates(kernel: &Kernel, points: &Points) -> Machine {
        Machine { decision: Decision::Features, ..Frame::fixed(kernel, points, 0.0).unwrap().coordinates_machine() }
    }

    #[test]
    fn the_image_of_a_point_in_the_span_comes_back() {
        for kernel in [Kernel::gaussian(0.5), Kernel::named("matern52", 1.0, 0, 0.0).unwrap()] {
            let points: Points = Matrix::from_fn(12, 2, |i, j| 3.0 * ((i * 2 + j) as f64 * 1.7).sin()).into();
            let machine = coordinates(&kernel, &points);
            // All coordinates are kept, and they are not centred: the image of a vector is the vector itself.
            let back = PreImages::new(&machine, vec![0.0; 12]).unwrap();
            let found = back.of(&machine.outputs_for(&points).unwrap(), &Watch::none()).unwrap();
            for (a, b) in found.values().iter().zip(points.to_dense().values()) {
                assert!((a - b).abs() < 1e-3, "{} {a} {b}", kernel.name());
            }
        }
    }

    #[test]
    fn no_point_nearby_is_nearer_to_the_reconstruction() {
        let points = banana(40, 1).points;
        let machine = coordinates(&Kernel::gaussian(0.3), &points.select(&(0..8).collect::<Vec<_>>()));
        let back = PreImages::new(&machine, mean_on_vectors(&machine, &points).unwrap()).unwrap();
        let features = machine.outputs_for(&points).unwrap();
        let found = back.of(&features, &Watch::none()).unwrap();
        for i in 0..40 {
            let weights = back.weights(features.row(i));
            let best = back.value(&weights, found.row(i));
            for (dx, dy) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
                let near = [found.at(i, 0) + dx, found.at(i, 1) + dy];
                assert!(back.value(&weights, &near) <= best + 1e-9, "row {i}");
            }
        }
    }

    #[test]
    fn the_mean_has_the_kernel_values_of_the_mean_of_all_rows() {
        let points = banana(30, 2).points;
        let machine = coordinates(&Kernel::gaussian(1.0), &points.select(&[1, 5, 9, 20]));
        let mean = mean_on_vectors(&machine, &points).unwrap();
        let (vectors, rows) = (machine.expansion.vectors.to_dense(), points.to_dense());
        for z in vectors.iter() {
            let have: f64 = vectors.iter().zip(&mean).map(|(v, g)| g * machine.expansion.kernel.eval(v, z)).sum();
            let want: f64 = rows.iter().map(|x| machine.expansion.kernel.eval(x, z)).sum::<f64>() / 30.0;
            assert!((have - want).abs() < 1e-9, "{have} {want}");
        }
    }

    #[test]
    fn other_machines_and_kernels_are_rejected() {
        let data = Dataset::new(Matrix::from_fn(3, 1, |i, _| i as f64), Target::None);
        let features = |kernel: Kernel, decision: Decision| Machine {
            expansion: Expansion { kernel, vectors: data.points.clone(), coefficients: Coefficients::Dense(Matrix::column(vec![1.0; 3])) },
            offsets: vec![0.0],
            decision,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        };
        let rejected = |machine: Machine, mean: usize| PreImages::new(&machine, vec![0.0; mean]).unwrap_err().to_string();
        assert!(rejected(features(Kernel::gaussian(1.0), Decision::Values), 3).contains("pre-images belong to features"));
        let linear = Kernel::named("linear", 1.0, 0, 0.0).unwrap();
        assert!(rejected(features(linear, Decision::Features), 3).contains("linear kernel"));
        assert!(rejected(features(Kernel::gaussian(1.0), Decision::Features), 2).contains("coefficients of the mean"));
        let back = PreImages::new(&features(Kernel::gaussian(1.0), Decision::Features), vec![0.0; 3]).unwrap();
        assert!(back.of(&Matrix::zeros(2, 4), &Watch::none()).is_err());
    }
}
