//! Least squares with absolute penalties, followed exactly while the penalties move.
//!
//! For a target w, candidates Phi(x_i) and penalties `c_i(tau) = e_i + tau f_i`, the minimiser of
//! `|w - sum_i beta_i Phi(x_i)|^2 + 2 sum_i c_i |beta_i|` meets, with `r_i = <w, Phi(x_i)> - (K beta)_i`,
//! `r_i = c_i sign(beta_i)` where beta_i is not zero and `|r_i| <= c_i` elsewhere. While the support and its signs stay the same, beta and r
//! are straight lines in tau; a [`Walk`] goes from one change to the next as tau falls. The factor of the support's kernel matrix gains or
//! loses one row each time, and all lines are computed anew from it, so that no error adds up.
//!
//! Kernel matrices of support vectors have condition numbers of 1e14 and more, on which coordinate descent does not finish. A candidate that
//! lies in the span of the support takes the place of the member that the exchange brings to zero first.
//!
//! Cost: 3 n m + 4 m^2 for each change, with m the size of the support.
use crate::{
    basis::DEPENDENT,
    draw::Draw,
    linalg::{Factor, Matrix},
};

/// Penalties are raised by up to this part, each by its own, so that no two candidates reach their bound at once.
const APART: f64 = 1e-10;

/// How long a candidate that left where it came rests, as a fraction of tau.
const REST: f64 = 1e-9;

/// Penalties `fixed_i + tau moving_i`. Candidates whose penalty is not finite are never used.
#[derive(Clone, Debug)]
pub(super) struct Penalties {
    pub fixed: Vec<f64>,
    pub moving: Vec<f64>,
}

impl Penalties {
    /// `tau weights_i`.
    pub fn proportional(weights: &[f64]) -> Self {
        let mut draw = Draw::seeded(0);
        let moving = weights.iter().map(|w| w * (1.0 + APART * draw.uniform())).collect();
        Penalties { fixed: vec![0.0; weights.len()], moving }
    }

    /// From `old` at tau = 1 to `new` at 0.
    pub fn between(old: &[f64], new: &[f64]) -> Self {
        let moving = old.iter().zip(new).map(|(old, new)| if new.is_finite() { old - new } else { 0.0 }).collect();
        Penalties { fixed: new.to_vec(), moving }
    }

    fn at(&self, i: usize, tau: f64) -> f64 {
        self.fixed[i] + tau * self.moving[i]
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Join { candidate: usize, sign: f64 },
    Leave { place: usize },
}

/// The solution on a stretch of tau.
#[derive(Clone, Debug)]
pub(super) struct Walk<'a> {
    gram: &'a Matrix,
    /// `<w, Phi(x_i)>`.
    values: &'a [f64],
    penalties: Penalties,
    /// Below which tau a candidate may join.
    from: Vec<f64>,
    /// The support, in the order of joining.
    pub active: Vec<usize>,
    signs: Vec<f64>,
    factor: Factor,
    /// Where the stretch begins.
    pub tau: f64,
    /// `beta = level - tau slope` on the support.
    level: Vec<f64>,
    slope: Vec<f64>,
    next: Option<(f64, Change)>,
    newest: Option<usize>,
}

impl<'a> Walk<'a> {
    /// At a tau so large that the support is empty.
    pub fn new(gram: &'a Matrix, values: &'a [f64], penalties: Penalties) -> Self {
        let usable = |i: usize| if penalties.at(i, 1.0).is_finite() { f64::INFINITY } else { f64::NEG_INFINITY };
        let from = (0..values.len()).map(usable).collect();
        let (active, signs, factor) = (vec![], vec![], Factor::default());
        let (level, slope) = (vec![], vec![]);
        let mut walk =
            Walk { gram, values, penalties, from, active, signs, factor, tau: f64::INFINITY, level, slope, next: None, newest: None };
        walk.refresh();
        walk
    }

    /// The solution at `tau`, which must lie on this stretch, as the beginning of a walk with other penalties from 1 to 0.
    pub fn turned(mut self, tau: f64, new: &[f64]) -> Self {
        let old: Vec<f64> = (0..new.len()).map(|i| self.penalties.at(i, tau)).collect();
        self.penalties = Penalties::between(&old, new);
        for (from, new) in self.from.iter_mut().zip(new) {
            *from = if new.is_finite() { 1.0 } else { f64::NEG_INFINITY };
        }
        (self.tau, self.newest) = (1.0, None);
        self.refresh();
        self
    }

    /// The same walk among some of the candidates, which include the support; `gram` and `values` are theirs.
    pub fn among<'b>(self, some: &[usize], gram: &'b Matrix, values: &'b [f64]) -> Walk<'b> {
        let mut place = vec![0; self.values.len()];
        some.iter().enumerate().for_each(|(a, &i)| place[i] = a);
        let of = |all: &[f64]| some.iter().map(|&i| all[i]).collect::<Vec<f64>>();
        let penalties = Penalties { fixed: of(&self.penalties.fixed), moving: of(&self.penalties.moving) };
        let active = self.active.iter().map(|&i| place[i]).collect();
        let mut walk = Walk {
            gram,
            values,
            penalties,
            from: of(&self.from),
            active,
            signs: self.signs,
            factor: self.factor,
            tau: self.tau,
            level: self.level,
            slope: self.slope,
            next: None,
            newest: self.newest.map(|i| place[i]),
        };
        walk.refresh();
        walk
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        self.values.len()
    }

    /// Where this stretch ends: at the next change, or at 0.
    pub fn end(&self) -> f64 {
        self.next.map_or(0.0, |(tau, _)| tau)
    }

    /// Goes on to the next stretch; false where there is none.
    pub fn advance(&mut self) -> bool {
        let Some((tau, change)) = self.next.take() else { return false };
        let beta = self.coefficients(tau);
        match change {
            Change::Join { candidate, sign } => self.join(candidate, sign, &beta),
            Change::Leave { place } => {
                let candidate = self.active[place];
                if self.newest == Some(candidate) && tau >= self.tau * (1.0 - REST) {
                    self.from[candidate] = tau * (1.0 - REST);
                }
                self.leave(place);
            }
        }
        self.tau = tau;
        self.refresh();
        true
    }

    /// The coefficients on the support at a tau of this stretch.
    pub fn coefficients(&self, tau: f64) -> Vec<f64> {
        // Before anything has joined tau is infinite, and the support empty.
        self.level.iter().zip(&self.slope).map(|(level, slope)| level - tau * slope).collect()
    }

    /// The coefficients on the support without penalties, and what they leave of `square`, the squared length of the target.
    /// [Weston2004 (7)]
    pub fn projection(&self, square: f64) -> (Vec<f64>, f64) {
        let (mut beta, rest) = self.factor.row_for(self.active.iter().map(|&i| self.values[i]).collect(), square);
        self.factor.solve_column_transposed(&mut beta);
        (beta, rest.max(0.0))
    }

    fn join(&mut self, candidate: usize, sign: f64, beta: &[f64]) {
        let square = self.gram.at(candidate, candidate);
        let column = |walk: &Self| walk.active.iter().map(|&i| walk.gram.at(i, candidate)).collect::<Vec<f64>>();
        let (mut row, mut gap) = self.factor.row_for(column(self), square);
        if gap <= DEPENDENT * square {
            self.factor.solve_column_transposed(&mut row);
            let falling = (0..row.len()).filter(|&k| sign * row[k] * self.signs[k] > 0.0);
            let first = falling.min_by(|&k, &l| (beta[k] / row[k]).abs().total_cmp(&(beta[l] / row[l]).abs()));
            if let Some(place) = first {
                self.leave(place);
            }
            (row, gap) = self.factor.row_for(column(self), square);
        }
        if gap <= DEPENDENT * square {
            self.from[candidate] = f64::NEG_INFINITY;
            return;
        }
        row.push(gap.sqrt());
        self.factor.push(&row);
        self.active.push(candidate);
        self.signs.push(sign);
        self.newest = Some(candidate);
    }

    fn leave(&mut self, place: usize) {
        self.active.remove(place);
        self.signs.remove(place);
        self.factor.remove(place);
    }

    /// Replaces `right` by the solution of the equations on the support.
    fn solve(&self, right: Vec<f64>) -> Vec<f64> {
        let (mut solution, _) = self.factor.row_for(right, 0.0);
        self.factor.solve_column_transposed(&mut solution);
        solution
    }

    /// Takes `sum_k weights_k K_k` off `from`, over the support.
    fn take_off(&self, weights: &[f64], from: &mut [f64]) {
        for (&i, &weight) in self.active.iter().zip(weights) {
            from.iter_mut().zip(self.gram.row(i)).for_each(|(value, k)| *value -= weight * k);
        }
    }

    /// The lines of this stretch and the change that ends it.
    fn refresh(&mut self) {
        let signed = |penalty: &[f64]| -> Vec<f64> { self.active.iter().zip(&self.signs).map(|(&i, s)| s * penalty[i]).collect() };
        let (fixed, moving) = (signed(&self.penalties.fixed), signed(&self.penalties.moving));
        let right = self.active.iter().zip(&fixed).map(|(&i, f)| self.values[i] - f).collect();
        let mut level = self.solve(right);
        let mut unexplained = self.values.to_vec();
        self.take_off(&level, &mut unexplained);
        // The factor has gone through many changes; one correction brings the equations back to rounding.
        let correction = self.solve(self.active.iter().zip(&fixed).map(|(&i, f)| unexplained[i] - f).collect());
        self.take_off(&correction, &mut unexplained);
        level.iter_mut().zip(&correction).for_each(|(level, c)| *level += c);
        let slope = self.solve(moving);
        let mut rise = vec![0.0; self.values.len()];
        self.take_off(&slope.iter().map(|s| -s).collect::<Vec<_>>(), &mut rise);
        (self.level, self.slope) = (level, slope);
        self.next = self.first_change(&unexplained, &rise);
    }

    /// The largest tau at which a candidate reaches its bound or a coefficient zero.
    fn first_change(&self, unexplained: &[f64], rise: &[f64]) -> Option<(f64, Change)> {
        let mut best: Option<(f64, Change)> = None;
        let mut consider = |tau: f64, change: Change| {
            let tau = tau.min(self.tau);
            if tau > best.map_or(0.0, |(tau, _)| tau) {
                best = Some((tau, change));
            }
        };
        for (place, sign) in self.signs.iter().enumerate() {
            if sign * self.slope[place] < 0.0 {
                consider(self.level[place] / self.slope[place], Change::Leave { place });
            }
        }
        let mut is_active = vec![false; self.values.len()];
        self.active.iter().for_each(|&i| is_active[i] = true);
        for i in (0..self.values.len()).filter(|&i| !is_active[i] && self.from[i] > 0.0) {
            let (fixed, moving) = (self.penalties.fixed[i], self.penalties.moving[i]);
            for sign in [1.0, -1.0] {
                let fall = moving - sign * rise[i];
                if fall > APART * moving.abs() {
                    let tau = (sign * unexplained[i] - fixed) / fall;
                    consider(tau.min(self.from[i]), Change::Join { candidate: i, sign });
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::toy,
        kernel::{Kernel, block::symmetric},
        linalg::dot,
    };

    /// The conditions for a minimum, by definition, as a fraction of the penalty.
    fn violation(gram: &Matrix, values: &[f64], weights: &[f64], walk: &Walk, tau: f64) -> f64 {
        let mut beta = vec![0.0; values.len()];
        walk.active.iter().zip(walk.coefficients(tau)).for_each(|(&i, b)| beta[i] = b);
        let size = beta.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let worst = (0..values.len()).map(|i| {
            let (r, bound) = (values[i] - dot(gram.row(i), &beta), tau * weights[i]);
            let off = if walk.active.contains(&i) { (r.abs() - bound).abs() } else { r.abs() - bound };
            // At the ends of a stretch a coefficient is zero, up to what the condition of the matrix makes of rounding.
            off / bound + f64::from(beta[i].abs() > 1e-6 * size && beta[i] * r < 0.0)
        });
        worst.fold(0.0, f64::max)
    }

    #[test]
    fn every_stretch_meets_the_conditions_for_a_minimum() {
        for (gamma, n) in [(1.0, 40), (0.02, 60), (0.001, 60)] {
            let machine = toy::machine(Kernel::gaussian(gamma), n, 1);
            let gram = symmetric(&machine.expansion.kernel, &machine.expansion.vectors);
            let alpha = machine.expansion.coefficients.to_dense().col(0);
            let values: Vec<f64> = gram.iter().map(|row| dot(row, &alpha)).collect();
            for weights in [vec![1.0; n], alpha.iter().map(|a| 1.0 / a.abs()).collect()] {
                let mut walk = Walk::new(&gram, &values, Penalties::proportional(&weights));
                let (first, mut stretches) = (walk.end(), 0);
                while walk.advance() && walk.end() > 1e-6 * first && stretches < 1000 {
                    let worst =
                        violation(&gram, &values, &weights, &walk, walk.tau).max(violation(&gram, &values, &weights, &walk, walk.end()));
                    assert!(worst < 1e-8, "gamma {gamma}, {} vectors, tau {:e}: {worst:e}", walk.active.len(), walk.tau);
                    stretches += 1;
                }
                assert!(stretches > 5 && stretches < 1000, "{stretches}");
            }
        }
    }

    #[test]
    fn other_penalties_are_reached_with_the_conditions_met() {
        let n = 40;
        let machine = toy::machine(Kernel::gaussian(0.3), n, 1);
        let gram = symmetric(&machine.expansion.kernel, &machine.expansion.vectors);
        let alpha = machine.expansion.coefficients.to_dense().col(0);
        let values: Vec<f64> = gram.iter().map(|row| dot(row, &alpha)).collect();
        let mut walk = Walk::new(&gram, &values, Penalties::proportional(&vec![1.0; n]));
        while walk.active.len() < 20 {
            assert!(walk.advance());
        }
        let tau = 0.5 * (walk.tau + walk.end());
        let new: Vec<f64> = (0..n).map(|i| tau * (1.0 + (i as f64).sin().abs())).collect();
        let mut turned = walk.turned(tau, &new);
        while turned.advance() {}
        assert!(!turned.active.is_empty());
        let mut beta = vec![0.0; n];
        turned.active.iter().zip(turned.coefficients(0.0)).for_each(|(&i, b)| beta[i] = b);
        for i in 0..n {
            let r = values[i] - dot(gram.row(i), &beta);
            assert!(r.abs() <= new[i] * (1.0 + 1e-8), "{i}");
            assert!(beta[i] == 0.0 || (r - new[i] * beta[i].signum()).abs() < 1e-8 * new[i], "{i}");
        }
    }

    #[test]
    fn a_candidate_in_the_span_takes_a_place_instead_of_wrecking_the_factor() {
        // Points of a line: any two span it, and the outer one is always the better bargain.
        let points = Matrix::from_fn(6, 2, |i, j| if j == 0 { 1.0 + i as f64 } else { 2.0 - 0.5 * i as f64 });
        let gram = symmetric(&Kernel::named("linear", 1.0, 0, 0.0).unwrap(), &points.into());
        let alpha = [1.0, -0.5, 0.3, 0.7, 0.2, 0.1];
        let values: Vec<f64> = gram.iter().map(|row| dot(row, &alpha)).collect();
        let mut walk = Walk::new(&gram, &values, Penalties::proportional(&[1.0; 6]));
        let first = walk.end();
        let mut steps = 0;
        while walk.advance() && walk.end() > 1e-9 * first {
            steps += 1;
            assert!(walk.active.len() <= 2 && steps < 50);
            assert!(violation(&gram, &values, &[1.0; 6], &walk, walk.tau) < 1e-8);
        }
        let square = dot(&values, &alpha);
        assert!(walk.projection(square).1 < 1e-12 * square);
    }
}
