//! Two classes in the plane, entangled like bananas, in the manner of Raetsch's toy set of that name.
//!
//! With N normal noise and t uniform in [-1, 1):
//!
//! | class | share of all | shape | formula |
//! |---|---|---|---|
//! | `-1` | 35.75 % | a roof | (0.1 + 1.7 t, 1.75 - 2 abs(t)), noise 0.17 |
//! | `-1` | 19.25 % | a block under the arch | (-0.3 + 0.9 t, -1.2 + 0.35 t'), noise 0.1 |
//! | `1` | 38.25 % | an arch between roof and block | (-0.25 + r sin(0.62 pi t), -1.15 + r cos(0.62 pi t)), r = 1.5 + 0.45 t', noise 0.1 |
//! | `1` | 6.75 % | a bar across the ridge of the roof | (1.15 + 1.5 t, 1.5 - 0.35 t), noise 0.1 across and 0.2 up |
//!
//! The law is our own; it was tuned until support vector machines behave as on the original. With gamma 1 and C 316, trained on 400
//! rows they keep about 92 vectors and err on 11.3 % (original: 90 vectors, 11.5 %), trained on 1,000 rows about 224 and 10.4 %
//! (original: 231, 10.3 %).
use std::f64::consts::PI;

use super::{Dataset, two_classes};
use crate::draw::Draw;

/// `n` rows of banana; 45 % are positive.
pub fn banana(n: usize, seed: u64) -> Dataset {
    two_classes(n, 2, seed, |draw, x| {
        let positive = draw.chance(0.45);
        let ([across, up], noise) = match positive {
            false if draw.chance(0.35) => (block(draw), [0.1, 0.1]),
            false => (roof(draw), [0.17, 0.17]),
            true if draw.chance(0.15) => (bar(draw), [0.1, 0.2]),
            true => (arch(draw), [0.1, 0.1]),
        };
        x[0] = across + noise[0] * draw.normal();
        x[1] = up + noise[1] * draw.normal();
        positive
    })
}

fn roof(draw: &mut Draw) -> [f64; 2] {
    let t = draw.between(-1.0, 1.0);
    [0.1 + 1.7 * t, 1.75 - 2.0 * t.abs()]
}

fn block(draw: &mut Draw) -> [f64; 2] {
    [-0.3 + 0.9 * draw.between(-1.0, 1.0), -1.2 + 0.35 * draw.between(-1.0, 1.0)]
}

fn arch(draw: &mut Draw) -> [f64; 2] {
    let angle = 0.62 * PI * draw.between(-1.0, 1.0);
    let radius = 1.5 + 0.45 * draw.between(-1.0, 1.0);
    [-0.25 + radius * angle.sin(), -1.15 + radius * angle.cos()]
}

fn bar(draw: &mut Draw) -> [f64; 2] {
    let t = draw.between(-1.0, 1.0);
    [1.15 + 1.5 * t, 1.5 - 0.35 * t]
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn the_majority_of_neighbours_errs_on_about_a_tenth() {
        let (train, test) = (banana(3000, 1), banana(1500, 2));
        let train = labelled(&train);
        let error = error_of(&test, |x| {
            let mut near: Vec<(f64, u32)> = train.iter().map(|(z, code)| (squared_distance(x, z), *code)).collect();
            near.select_nth_unstable_by(24, |a, b| a.0.total_cmp(&b.0));
            u32::from(near[..25].iter().map(|(_, code)| code).sum::<u32>() > 12)
        });
        assert_near(error, 0.105, 0.02);
    }

    #[test]
    fn a_straight_line_through_the_means_is_hopeless() {
        let data = banana(5000, 3);
        let (negative, positive) = (moments(&data, 0).0, moments(&data, 1).0);
        let error = error_of(&data, |x| u32::from(squared_distance(x, &positive) < squared_distance(x, &negative)));
        assert!(error > 0.35, "{error}");
    }
}
