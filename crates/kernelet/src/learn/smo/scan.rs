//! The two scans of a step, written in lanes so that they run in vector registers.
//!
//! Arrays are as long as a whole number of [`LANES`]; the places behind the last variable have masks that keep them from being chosen.
use crate::kernel::simd::{self, Job, multiply_add};

/// All scanned arrays have a multiple of this many places.
pub(super) const LANES: usize = 64;

/// The directions in which each variable may move, as numbers to add to v: 0 where it may, an infinity where it may not.
#[derive(Clone, Debug, Default)]
pub(super) struct Masks {
    /// -inf for variables whose beta cannot rise.
    pub up: Vec<f32>,
    /// +inf for variables whose beta cannot fall.
    pub low: Vec<f32>,
}

/// The ends of v: the largest among those that can rise, and the smallest among those that can fall.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub top: usize,
    pub top_v: f64,
    pub bottom_v: f64,
}

impl Ends {
    /// How far the point is from optimal; at most the tolerance in the end.
    pub fn gap(&self) -> f64 {
        self.top_v - self.bottom_v
    }
}

/// Takes `step * (row_i - row_j)` off v and finds its new ends.
pub(super) fn update(v: &mut [f64], masks: &Masks, row_i: &[f32], row_j: &[f32], step: f64) -> Ends {
    simd::run(Update { v, up: &masks.up, low: &masks.low, row_i, row_j, step })
}

/// The partner of variable i, by the second-order rule: the j whose exchange with i lowers the objective most, among those that violate the
/// conditions for an optimum with it. The rule is that of R.-E. Fan, P.-H. Chen, C.-J. Lin: Working set selection using second order
/// information for training support vector machines. JMLR 6, 2005.
pub(super) fn partner(v: &[f64], masks: &Masks, diagonal: &[f32], row_i: &[f32], top_v: f64, diagonal_i: f32) -> Option<usize> {
    simd::run(Partner { v, low: &masks.low, diagonal, row_i, top_v, diagonal_i })
}

/// Curvatures below this count as this, so that duplicate rows do no harm.
pub(super) const LEAST_CURVATURE: f32 = 1e-12;

struct Update<'a> {
    v: &'a mut [f64],
    up: &'a [f32],
    low: &'a [f32],
    row_i: &'a [f32],
    row_j: &'a [f32],
    step: f64,
}

impl Job for Update<'_> {
    type Output = Ends;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Ends {
        const W: usize = 16;
        let (mut top, mut bottom, mut place) = ([f64::NEG_INFINITY; W], [f64::INFINITY; W], [0i64; W]);
        let chunks = self.v.as_chunks_mut::<W>().0.iter_mut();
        let masks = self.up.as_chunks::<W>().0.iter().zip(self.low.as_chunks::<W>().0);
        let rows = self.row_i.as_chunks::<W>().0.iter().zip(self.row_j.as_chunks::<W>().0);
        for (c, ((v, (up, low)), (row_i, row_j))) in chunks.zip(masks).zip(rows).enumerate() {
            for l in 0..W {
                let new = multiply_add::<FMA>(-self.step, f64::from(row_i[l]) - f64::from(row_j[l]), v[l]);
                v[l] = new;
                let (high, deep) = (new + f64::from(up[l]), new + f64::from(low[l]));
                place[l] = if high > top[l] { c as i64 } else { place[l] };
                top[l] = if high > top[l] { high } else { top[l] };
                bottom[l] = if deep < bottom[l] { deep } else { bottom[l] };
            }
        }
        let mut ends = Ends { top: 0, top_v: f64::NEG_INFINITY, bottom_v: f64::INFINITY };
        for l in 0..W {
            let at = place[l] as usize * W + l;
            if top[l] > ends.top_v || (top[l] == ends.top_v && at < ends.top) {
                ends.top = at;
                ends.top_v = top[l];
            }
            ends.bottom_v = ends.bottom_v.min(bottom[l]);
        }
        ends
    }
}

struct Partner<'a> {
    v: &'a [f64],
    low: &'a [f32],
    diagonal: &'a [f32],
    row_i: &'a [f32],
    top_v: f64,
    diagonal_i: f32,
}

impl Job for Partner<'_> {
    type Output = Option<usize>;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Option<usize> {
        const W: usize = 16;
        let (mut best, mut place) = ([0f32; W], [0i32; W]);
        let chunks = self.v.as_chunks::<W>().0.iter().zip(self.low.as_chunks::<W>().0);
        let rows = self.diagonal.as_chunks::<W>().0.iter().zip(self.row_i.as_chunks::<W>().0);
        for (c, ((v, low), (diagonal, row_i))) in chunks.zip(rows).enumerate() {
            for l in 0..W {
                let descent = (self.top_v - v[l]) as f32 - low[l];
                let descent = if descent > 0.0 { descent } else { 0.0 };
                let curvature = self.diagonal_i + diagonal[l] - 2.0 * row_i[l];
                let curvature = if curvature > LEAST_CURVATURE { curvature } else { LEAST_CURVATURE };
                let gain = descent * descent / curvature;
                place[l] = if gain > best[l] { c as i32 } else { place[l] };
                best[l] = if gain > best[l] { gain } else { best[l] };
            }
        }
        let mut chosen: Option<(f32, usize)> = None;
        for l in 0..W {
            let at = place[l] as usize * W + l;
            let better = chosen.is_none_or(|(gain, other)| best[l] > gain || (best[l] == gain && at < other));
            if best[l] > 0.0 && better {
                chosen = Some((best[l], at));
            }
        }
        chosen.map(|(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_agree_with_the_obvious_loops() {
        for seed in 0..20 {
            let n = LANES * (1 + seed % 3);
            let number = |i: usize, k: usize| ((i * 31 + k * 17 + seed * 7) as f64 * 0.61).sin();
            let mut v: Vec<f64> = (0..n).map(|i| number(i, 0)).collect();
            let masks = Masks {
                up: (0..n).map(|i| if number(i, 1) > 0.2 { f32::NEG_INFINITY } else { 0.0 }).collect(),
                low: (0..n).map(|i| if number(i, 2) > 0.2 { f32::INFINITY } else { 0.0 }).collect(),
            };
            let row_i: Vec<f32> = (0..n).map(|i| number(i, 3) as f32).collect();
            let row_j: Vec<f32> = (0..n).map(|i| number(i, 4) as f32).collect();
            let diagonal = vec![1.0f32; n];
            let mut naive = v.clone();
            for t in 0..n {
                naive[t] -= 0.3 * (f64::from(row_i[t]) - f64::from(row_j[t]));
            }
            let ends = update(&mut v, &masks, &row_i, &row_j, 0.3);
            let top = (0..n).filter(|&t| masks.up[t] == 0.0).max_by(|&a, &b| naive[a].total_cmp(&naive[b])).unwrap();
            let bottom = (0..n).filter(|&t| masks.low[t] == 0.0).map(|t| naive[t]).fold(f64::INFINITY, f64::min);
            assert_eq!(ends.top, top);
            assert!((ends.top_v - naive[top]).abs() < 1e-12 && (ends.bottom_v - bottom).abs() < 1e-12);
            let gain = |t: usize| {
                let (b, a) = (ends.top_v - v[t], 2.0 - 2.0 * f64::from(row_i[t]));
                if masks.low[t] == 0.0 && b > 0.0 { b * b / a.max(1e-12) } else { 0.0 }
            };
            let best = (0..n).max_by(|&a, &b| gain(a).total_cmp(&gain(b))).unwrap();
            let j = partner(&v, &masks, &diagonal, &row_i, ends.top_v, 1.0).unwrap();
            assert!(gain(j) >= gain(best) * (1.0 - 1e-5), "{j} {best}");
        }
    }

    #[test]
    fn nothing_can_be_chosen_where_nothing_can_move() {
        let n = LANES;
        let masks = Masks { up: vec![f32::NEG_INFINITY; n], low: vec![f32::INFINITY; n] };
        assert_eq!(partner(&vec![0.0; n], &masks, &vec![1.0; n], &vec![0.0; n], 1.0, 1.0), None);
        assert!(update(&mut vec![0.0; n], &masks, &vec![0.0; n], &vec![0.0; n], 1.0).gap() < 0.0);
    }
}
