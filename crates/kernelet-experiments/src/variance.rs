//! Which factors of a design matter, and which of their levels differ?
//!
//! Analysis of variance of the main effects of a balanced design, and Tukey's honestly significant difference between the margin means, as
//! in section 4.1 of Diethe2015. With N values, factor f of L_f levels, margin means m_fl and grand mean m,
//! ```text
//! S_f   = N / L_f sum_l (m_fl - m)^2                   with L_f - 1 degrees of freedom
//! S     = sum_i (y_i - m - sum_f (m_f,level(i) - m))^2 with v = N - 1 - sum_f (L_f - 1)
//! F_f   = (S_f / (L_f - 1)) / (S / v)
//! q_fab = |m_fa - m_fb| / sqrt(S / v / (N / L_f))
//! ```
//! and p is the chance of a larger F, or of a larger studentized range of L_f means. In a balanced design, where any two levels of two
//! factors meet equally often, the S_f do not depend on the order of the factors; other designs are rejected. Cost: N values for each factor
//! and about 10,000 values of erfc for each pair of levels.
mod fisher;
mod studentized;

use serde::Serialize;

/// Values up to this have squares that do not overflow.
const LARGEST: f64 = 1e150;

/// A factor of the design, such as the set or the method.
#[derive(Clone, Debug, Serialize)]
pub struct Factor {
    /// What it is called.
    pub name: String,
    /// The names of its levels.
    pub levels: Vec<String>,
    /// For each observation the place of its level in `levels`.
    pub codes: Vec<usize>,
}

/// What came of an analysis.
#[derive(Clone, Debug, Serialize)]
pub struct Variance {
    /// One for each factor.
    pub effects: Vec<Effect>,
    /// Degrees of freedom of the rest.
    pub freedom: usize,
    /// Mean square of the rest.
    pub mean_square: f64,
}

/// The main effect of a factor.
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// Its degrees of freedom.
    pub freedom: usize,
    /// Its mean square.
    pub mean_square: f64,
    /// The mean square divided by that of the rest; infinite where nothing is left and 0 where nothing is there.
    pub f: f64,
    /// The chance of an F as large or larger if the factor did not matter.
    pub p: f64,
    /// The levels and their margin means.
    pub levels: Vec<(String, f64)>,
    /// All pairs of levels, the first before the second.
    pub pairs: Vec<Pair>,
}

/// Two levels of a factor.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// One level.
    pub first: String,
    /// The other.
    pub second: String,
    /// Margin mean of the first less that of the second.
    pub difference: f64,
    /// The chance that the means of so many levels lie as far apart or farther if none differed.
    pub p: f64,
}

/// The rest: what the main effects leave.
struct Rest {
    freedom: usize,
    mean_square: f64,
    /// Differences of means up to this are rounding.
    rounding: f64,
}

/// The main effects of all factors on the values. An error says why a design cannot be analysed.
pub fn analyse(factors: &[Factor], values: &[f64]) -> Result<Variance, String> {
    check(factors, values)?;
    let taken: usize = factors.iter().map(|factor| factor.levels.len() - 1).sum();
    let freedom = values.len().saturating_sub(1 + taken);
    if freedom == 0 {
        let needed = taken + 2;
        return Err(format!("the analysis of variance needs at least {needed} values for these factors, but there are {}", values.len()));
    }
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    // A power of two near the largest value: dividing by it is exact, and squares do not vanish.
    let unit = f64::from_bits(largest.to_bits() & f64::INFINITY.to_bits()).max(f64::MIN_POSITIVE);
    let values: Vec<f64> = values.iter().map(|value| value / unit).collect();
    let mut variance = analyse_checked(factors, &values, freedom);
    variance.mean_square *= unit * unit;
    for effect in &mut variance.effects {
        effect.mean_square *= unit * unit;
        effect.levels.iter_mut().for_each(|(_, mean)| *mean *= unit);
        effect.pairs.iter_mut().for_each(|pair| pair.difference *= unit);
    }
    Ok(variance)
}

/// The analysis of a balanced design of values up to 2.
fn analyse_checked(factors: &[Factor], values: &[f64], freedom: usize) -> Variance {
    let grand = values.iter().sum::<f64>() / values.len() as f64;
    let margins: Vec<Vec<f64>> = factors.iter().map(|factor| margin_means(factor, values)).collect();
    let left = |(i, value): (usize, &f64)| {
        let effects: f64 = factors.iter().zip(&margins).map(|(factor, means)| means[factor.codes[i]] - grand).sum();
        value - grand - effects
    };
    let rounding = 32.0 * factors.len() as f64 * f64::EPSILON;
    let residuals: Vec<f64> = values.iter().enumerate().map(left).collect();
    let none = residuals.iter().all(|residual| residual.abs() <= rounding);
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let rest = Rest { freedom, mean_square: if none { 0.0 } else { squares / freedom as f64 }, rounding };
    let effects = factors.iter().zip(&margins).map(|(factor, means)| effect(factor, means, grand, values.len(), &rest)).collect();
    Variance { effects, freedom, mean_square: rest.mean_square }
}

fn effect(factor: &Factor, means: &[f64], grand: f64, count: usize, rest: &Rest) -> Effect {
    let (levels, freedom) = (means.len(), means.len() - 1);
    let each = (count / levels) as f64;
    let none = means.iter().all(|mean| (mean - grand).abs() <= rest.rounding);
    let squares: f64 = means.iter().map(|mean| (mean - grand) * (mean - grand)).sum();
    let mean_square = if none { 0.0 } else { each * squares / freedom as f64 };
    let f = ratio(mean_square, rest.mean_square);
    let mut pairs = vec![];
    for a in 0..levels {
        for b in a + 1..levels {
            let difference = means[a] - means[b];
            let apart = if difference.abs() <= rest.rounding { 0.0 } else { difference.abs() };
            let p = studentized::above(ratio(apart, (rest.mean_square / each).sqrt()), levels, rest.freedom);
            pairs.push(Pair { first: factor.levels[a].clone(), second: factor.levels[b].clone(), difference, p });
        }
    }
    Effect {
        factor: factor.name.clone(),
        freedom,
        mean_square,
        f,
        p: fisher::above(f, freedom, rest.freedom),
        levels: factor.levels.iter().cloned().zip(means.iter().copied()).collect(),
        pairs,
    }
}

/// a / b of numbers from 0 on, where nothing divided by nothing is nothing.
fn ratio(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

fn margin_means(factor: &Factor, values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; factor.levels.len()];
    factor.codes.iter().zip(values).for_each(|(&code, value)| sums[code] += value);
    let each = values.len() as f64 / factor.levels.len() as f64;
    sums.iter().map(|sum| sum / each).collect()
}

fn check(factors: &[Factor], values: &[f64]) -> Result<(), String> {
    if factors.is_empty() {
        return Err("the analysis of variance needs at least one factor".into());
    }
    if let Some(i) = values.iter().position(|value| value.is_nan() || value.abs() > LARGEST) {
        return Err(format!("value {} of the analysis of variance is {}, but must be finite and at most 1e150", i + 1, values[i]));
    }
    for factor in factors {
        let (name, levels) = (&factor.name, factor.levels.len());
        if levels < 2 {
            return Err(format!("factor {name} has fewer than two levels; leave it out of the analysis of variance"));
        }
        if factor.codes.len() != values.len() {
            return Err(format!("factor {name} has levels for {} values, but there are {}", factor.codes.len(), values.len()));
        }
        if factor.codes.iter().any(|&code| code >= levels) {
            return Err(format!("factor {name} has an observation of a level beyond its {levels}"));
        }
        let counts = meetings(factor, &Factor { name: String::new(), levels: vec![String::new()], codes: vec![0; values.len()] });
        if let Some(level) = counts.iter().position(|&count| count != counts[0]) {
            let (first, other) = (&factor.levels[0], &factor.levels[level]);
            return Err(format!(
                "the design is not balanced: factor {name} has {} values at {first} but {} at {other}; every level needs as many",
                counts[0], counts[level]
            ));
        }
    }
    factors.iter().enumerate().try_for_each(|(i, a)| factors[..i].iter().try_for_each(|b| check_crossed(b, a)))
}

/// An error unless any two levels of two factors meet equally often.
fn check_crossed(a: &Factor, b: &Factor) -> Result<(), String> {
    let counts = meetings(a, b);
    if counts.iter().all(|&count| count == counts[0]) {
        return Ok(());
    }
    let (least, most) = counts.iter().fold((usize::MAX, 0), |(least, most), &count| (least.min(count), most.max(count)));
    Err(format!(
        "the design is not balanced: levels of {} and {} meet between {least} and {most} times; all pairs of levels need as many values",
        a.name, b.name
    ))
}

/// How often each level of one factor meets each of another.
fn meetings(a: &Factor, b: &Factor) -> Vec<usize> {
    let mut counts = vec![0; a.levels.len() * b.levels.len()];
    a.codes.iter().zip(&b.codes).for_each(|(&a, &b_code)| counts[a * b.levels.len() + b_code] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The observations of the script below: `a` of four levels, `b` of three, `c` of two, two observations of each.
    ///
    /// ```python
    /// import numpy as np, pandas as pd
    /// import statsmodels.formula.api as smf
    /// from statsmodels.stats.anova import anova_lm
    /// from statsmodels.stats.multicomp import pairwise_tukeyhsd
    /// from scipy.stats import studentized_range
    /// i = np.arange(48)
    /// t = pd.DataFrame({"a": i // 12, "b": i // 4 % 3, "c": i // 2 % 2})
    /// t["y"] = 10 + 1.5 * t.a + 0.2 * t.b + (i * 37 % 17) / 10
    /// table = anova_lm(smf.ols("y ~ C(a) + C(b) + C(c)", t).fit(), typ=2)
    /// rest = table.sum_sq["Residual"] / table.df["Residual"]
    /// for name in "abc":
    ///     row, m = table.loc[f"C({name})"], t.groupby(name).y.mean()
    ///     print(row.sum_sq / row.df, row.F, row["PR(>F)"])
    ///     for j, k in zip(*np.triu_indices(len(m), 1)):
    ///         print(studentized_range.sf(abs(m[j] - m[k]) / np.sqrt(rest / (48 // len(m))), len(m), table.df["Residual"]))
    /// print(pairwise_tukeyhsd(t.y, t.a).pvalues, pairwise_tukeyhsd(t.y, t.b).pvalues)
    /// ```
    fn design() -> (Vec<Factor>, Vec<f64>) {
        let factor = |name: &str, every: usize, levels: usize| Factor {
            name: name.into(),
            levels: (0..levels).map(|level| format!("{name}{level}")).collect(),
            codes: (0..48).map(|i| i / every % levels).collect(),
        };
        let factors = vec![factor("a", 12, 4), factor("b", 4, 3), factor("c", 2, 2)];
        let value = |i: usize| 10.0 + 1.5 * (i / 12) as f64 + 0.2 * (i / 4 % 3) as f64 + (i * 37 % 17) as f64 / 10.0;
        (factors, (0..48).map(value).collect())
    }

    fn close(have: f64, want: f64, tolerance: f64) {
        assert!((have - want).abs() <= tolerance, "{have:e} {want:e}");
    }

    #[test]
    fn main_effects_are_those_of_statsmodels() {
        let (factors, values) = design();
        let variance = analyse(&factors, &values).unwrap();
        assert_eq!(variance.freedom, 41);
        close(variance.mean_square, 2.724441056911e-01, 1e-12);
        let want = [
            (3, 4.597909722222e+01, 1.687652485841e+02, 4.251800638356e-23),
            (2, 1.429375, 5.246488986702, 9.359117065261e-03),
            (1, 1.6875e-02, 6.193931029339e-02, 8.046991443479e-01),
        ];
        for (effect, (freedom, mean_square, f, p)) in variance.effects.iter().zip(want) {
            assert_eq!(effect.freedom, freedom);
            close(effect.mean_square, mean_square, 1e-10 * mean_square);
            close(effect.f, f, 1e-10 * f);
            close(effect.p, p, 1e-9 * p);
        }
        assert_eq!(variance.effects[2].levels.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["c0", "c1"]);
    }

    #[test]
    fn pairs_of_margin_means_are_those_of_scipy_with_the_rest_of_all_factors() {
        let (factors, values) = design();
        let want = [
            vec![
                (-1.416666666667, 3.0572385734e-07),
                (-2.975, 0.0),
                (-4.533333333333, 0.0),
                (-1.558333333333, 3.5413015631e-08),
                (-3.116666666667, 0.0),
                (-1.558333333333, 3.5413015631e-08),
            ],
            vec![(-0.125, 7.7789970895e-01), (-0.56875, 1.0042945174e-02), (-0.44375, 5.3156689838e-02)],
            vec![(0.0375, 8.0469914435e-01)],
        ];
        for (effect, want) in analyse(&factors, &values).unwrap().effects.iter().zip(want) {
            assert_eq!(effect.pairs.len(), want.len());
            for (pair, (difference, p)) in effect.pairs.iter().zip(want) {
                close(pair.difference, difference, 1e-11);
                close(pair.p, p, 1e-10);
            }
        }
    }

    #[test]
    fn pairs_of_one_factor_are_those_of_statsmodels() {
        let (factors, values) = design();
        let want = [
            vec![1.2285741723e-06, 3.4416913763e-15, 2.5535129566e-15, 1.5424644328e-07, 2.7755575616e-15, 1.5424644328e-07],
            vec![9.7942961783e-01, 6.5327338060e-01, 7.7081810399e-01],
        ];
        for (factor, want) in factors.iter().zip(want) {
            let variance = analyse(std::slice::from_ref(factor), &values).unwrap();
            assert_eq!(variance.effects[0].pairs.len(), want.len());
            variance.effects[0].pairs.iter().zip(want).for_each(|(pair, p)| close(pair.p, p, 1e-9));
            // With two levels the pair says what F says; with more it is another question.
            let first = &variance.effects[0].pairs[0];
            assert_eq!((first.first.as_str(), first.second.as_str()), (&*factor.levels[0], &*factor.levels[1]));
        }
        let two = analyse(&factors[2..], &values).unwrap();
        close(two.effects[0].pairs[0].p, two.effects[0].p, 1e-10);
    }

    #[test]
    fn without_a_rest_effects_are_certain_or_absent() {
        let (factors, _) = design();
        for unit in [1.0, 1e-200, 1e140] {
            let values: Vec<f64> = (0..48).map(|i| unit * (0.1 + 0.3 * (i / 12) as f64)).collect();
            let variance = analyse(&factors, &values).unwrap();
            assert_eq!(variance.mean_square, 0.0);
            let p: Vec<f64> = variance.effects.iter().map(|effect| effect.p).collect();
            assert_eq!(p, [0.0, 1.0, 1.0]);
            assert!(variance.effects[0].pairs.iter().all(|pair| pair.p == 0.0));
            assert!(variance.effects[1].pairs.iter().all(|pair| pair.p == 1.0));
        }
        let constant = analyse(&factors, &[7.0; 48]).unwrap();
        assert!(constant.effects.iter().all(|effect| (effect.f, effect.p) == (0.0, 1.0) && effect.pairs.iter().all(|pair| pair.p == 1.0)));
    }

    #[test]
    fn what_cannot_be_analysed_is_rejected_with_an_error() {
        let (factors, values) = design();
        let refused = |factors: &[Factor], values: &[f64]| analyse(factors, values).unwrap_err();
        assert_eq!(refused(&[], &values), "the analysis of variance needs at least one factor");
        let mut bad = values.clone();
        bad[2] = f64::NAN;
        assert_eq!(refused(&factors, &bad), "value 3 of the analysis of variance is NaN, but must be finite and at most 1e150");
        bad[2] = -1e160;
        assert!(refused(&factors, &bad).starts_with("value 3 "));
        assert_eq!(refused(&factors, &values[1..]), "factor a has levels for 48 values, but there are 47");
        let with = |change: fn(&mut Factor)| {
            let mut factors = factors.clone();
            change(&mut factors[1]);
            factors
        };
        let text = "the design is not balanced: factor b has 15 values at b0 but 17 at b1; every level needs as many";
        assert_eq!(refused(&with(|factor| factor.codes[0] = 1), &values), text);
        let text = "the design is not balanced: levels of a and b meet between 0 and 12 times; all pairs of levels need as many values";
        assert_eq!(refused(&with(|factor| factor.codes.sort_unstable()), &values), text);
        assert_eq!(refused(&with(|factor| factor.codes[5] = 3), &values), "factor b has an observation of a level beyond its 3");
        let text = "factor b has fewer than two levels; leave it out of the analysis of variance";
        assert_eq!(refused(&with(|factor| factor.levels.truncate(1)), &values), text);
        let lone = Factor { name: "a".into(), levels: vec!["x".into(), "y".into()], codes: vec![0, 1] };
        let text = "the analysis of variance needs at least 3 values for these factors, but there are 2";
        assert_eq!(refused(std::slice::from_ref(&lone), &[1.0, 2.0]), text);
        assert_eq!(refused(&[Factor { codes: vec![], ..lone }], &[]), text.replace("are 2", "are 0"));
    }
}
