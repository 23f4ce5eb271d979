//! Smoothing of images that are stored as rows of points.
//!
//! Each pixel becomes a weighted mean of its surroundings, with weights exp(-d^2 / (2 sigma^2)) that sum to 1, along the columns and
//! then along the rows, up to 4 sigma away. Beyond the border the image is mirrored with its outermost pixels repeated
//! (`c b a | a b c | c b a`), so that a plain background stays plain whatever its grey value.
//! This is what `scipy.ndimage.gaussian_filter` does by default.
use crate::parallel::*;

use super::Points;
use crate::{
    Error, Result,
    linalg::{Matrix, Real},
};

/// How many `sigma` away a pixel still counts.
const REACH: f64 = 4.0;

/// Images of `width` x `height` pixels, smoothed by a Gaussian of standard deviation `sigma_pixels`.
///
/// Pixels are stored row by row, and there must be `width * height` features. `sigma_pixels` must be above 0 and at most the longer
/// side, beyond which an image is flat anyway. Single precision stays single precision; sparse points become dense.
pub fn smooth(points: &Points, width: usize, height: usize, sigma_pixels: f64) -> Result<Points> {
    for (name, side) in [("width", width), ("height", height)] {
        if side == 0 {
            return Err(Error::parameter(name, side, "at least 1"));
        }
    }
    if width.checked_mul(height) != Some(points.dim()) {
        return Err(Error::Shape { what: "pixels of an image", expected: width.saturating_mul(height), found: points.dim() });
    }
    let longer = width.max(height);
    if !(sigma_pixels > 0.0 && sigma_pixels <= longer as f64) {
        return Err(Error::parameter("sigma", sigma_pixels, format!("above 0 and at most the longer side of the image, {longer}")));
    }
    points.check_finite()?;
    let (across, down) = (taps(width, sigma_pixels), taps(height, sigma_pixels));
    Ok(match points {
        Points::F64(images) => smoothed(images.clone(), &across, &down).into(),
        Points::F32(images) => smoothed(images.clone(), &across, &down).into(),
        Points::Sparse(_) => smoothed(points.dense("smoothing")?, &across, &down).into(),
    })
}

/// The pixels that one pixel of the result is made of, along one direction, and their weights.
type Taps = Vec<(usize, f64)>;

/// For each of `len` places in a line its taps, with mirrored pixels added to those they mirror.
fn taps(len: usize, sigma: f64) -> Vec<Taps> {
    let radius = (REACH * sigma + 0.5) as usize;
    let weight = |distance: usize| (-0.5 * (distance as f64 / sigma).powi(2)).exp();
    let sum = 1.0 + 2.0 * (1..=radius).map(weight).sum::<f64>();
    let at = |place: usize| {
        let mut weights = vec![0.0; len];
        for step in 0..=2 * radius {
            // Counted from a whole number of mirror periods further on, so that places before the border are not negative.
            let periods = radius.div_ceil(2 * len) * 2 * len;
            weights[mirrored(periods + place + step - radius, len)] += weight(step.abs_diff(radius)) / sum;
        }
        weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0).collect()
    };
    (0..len).map(at).collect()
}

/// The place within 0..len that stands for `place`, when the line is repeated forwards and backwards in turn.
fn mirrored(place: usize, len: usize) -> usize {
    let place = place % (2 * len);
    if place < len { place } else { 2 * len - 1 - place }
}

fn smoothed<R: Real>(mut images: Matrix<R>, across: &[Taps], down: &[Taps]) -> Matrix<R> {
    let (width, pixels) = (across.len(), across.len() * down.len());
    images.values_mut().par_chunks_mut(pixels).for_each(|image| {
        let mut between = vec![0.0; pixels];
        for (i, taps) in down.iter().enumerate() {
            for &(from, weight) in taps {
                for j in 0..width {
                    between[i * width + j] += weight * image[from * width + j].to_f64();
                }
            }
        }
        for (row, out) in between.chunks(width).zip(image.chunks_mut(width)) {
            for (taps, out) in across.iter().zip(out) {
                *out = R::from_f64(taps.iter().map(|&(from, weight)| weight * row[from]).sum());
            }
        }
    });
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Csr;

    const IMAGE: [f64; 12] = [1.0, 2.0, 0.0, -1.0, 0.0, 5.0, 3.0, 2.0, 4.0, -2.0, 1.0, 7.0];

    fn image() -> Points {
        Matrix::new(IMAGE.to_vec(), 1, 12).unwrap().into()
    }

    fn assert_close(have: &Points, want: &[f64], tolerance: f64) {
        for (have, want) in have.to_dense().values().iter().zip(want) {
            assert!((have - want).abs() < tolerance, "{have} is not {want}");
        }
    }

    /// Reference values of scipy 1.17:
    /// `gaussian_filter(np.array([[1, 2, 0, -1], [0, 5, 3, 2], [4, -2, 1, 7.0]]), sigma).ravel()`
    #[test]
    fn values_are_those_of_scipy() {
        let cases = [
            (
                0.7,
                [
                    1.1978795604327925,
                    1.7921129954195392,
                    0.8567700975242147,
                    -0.04872614530722315,
                    1.4649943023778933,
                    2.274178149987833,
                    2.215270992709482,
                    2.325407887344097,
                    2.327624255621996,
                    0.7573415682721553,
                    2.0031103516276794,
                    4.834035983989543,
                ],
            ),
            (
                3.0,
                [
                    1.8039060790334775,
                    1.8169183323389353,
                    1.8353581052165788,
                    1.8483958329085173,
                    1.8104278398223264,
                    1.8238354976434064,
                    1.8428348892535786,
                    1.8562690171703886,
                    1.816924483021922,
                    1.8307273592828237,
                    1.8502861083438904,
                    1.8641164559641559,
                ],
            ),
        ];
        for (sigma, want) in cases {
            assert_close(&smooth(&image(), 4, 3, sigma).unwrap(), &want, 1e-14);
            let sparse = Points::from(Csr::from_dense(&image().to_dense()));
            assert_close(&smooth(&sparse, 4, 3, sigma).unwrap(), &want, 1e-14);
            let single = Points::from(Matrix::new(IMAGE.map(|v| v as f32).to_vec(), 1, 12).unwrap());
            let smooth = smooth(&single, 4, 3, sigma).unwrap();
            assert!(matches!(smooth, Points::F32(_)));
            assert_close(&smooth, &want, 1e-6);
        }
    }

    #[test]
    fn a_plain_background_stays_plain_and_no_grey_is_lost() {
        let plain = Matrix::new(vec![-1.0; 3 * 256], 3, 256).unwrap();
        assert_close(&smooth(&plain.clone().into(), 16, 16, 0.75).unwrap(), plain.values(), 1e-14);
        for sigma in [0.01, 0.5, 2.0, 4.0] {
            let sum: f64 = smooth(&image(), 4, 3, sigma).unwrap().to_dense().values().iter().sum();
            assert!((sum - 22.0).abs() < 1e-12, "{sum}");
        }
        assert_close(&smooth(&image(), 4, 3, 0.1).unwrap(), &IMAGE, 1e-15);
    }

    #[test]
    fn images_are_smoothed_one_at_a_time() {
        let two = image().to_dense().select(&[0, 0]);
        let both = smooth(&two.into(), 4, 3, 1.0).unwrap();
        assert_eq!(both.select(&[0]), both.select(&[1]));
        assert_eq!(both.select(&[1]), smooth(&image(), 4, 3, 1.0).unwrap());
        assert!(smooth(&Matrix::<f64>::zeros(0, 12).into(), 4, 3, 1.0).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_image_is_rejected_with_an_error() {
        let error = |width, height, sigma| smooth(&image(), width, height, sigma).unwrap_err().to_string();
        assert_eq!(error(4, 4, 1.0), "pixels of an image: expected 16, found 12");
        assert_eq!(error(0, 12, 1.0), "width is 0, but must be at least 1");
        assert!(error(usize::MAX, 2, 1.0).starts_with("pixels of an image"));
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY, 4.1] {
            assert_eq!(error(4, 3, sigma), format!("sigma is {sigma}, but must be above 0 and at most the longer side of the image, 4"));
        }
        let bad = Matrix::new(vec![f64::NAN; 12], 1, 12).unwrap().into();
        assert!(smooth(&bad, 4, 3, 1.0).is_err());
    }
}
