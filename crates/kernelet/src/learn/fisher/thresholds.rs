//! The offsets: a threshold for two classes, a compromise between those of all pairs for several.
use crate::{
    Result,
    learn::{Line, Threshold},
    linalg::Matrix,
    machine::Pairwise,
};

/// Rounds of improvement of the offsets, each over all classes.
const MOST_ROUNDS: usize = 20;

/// The offsets for outputs without any, by a rule for two classes.
pub(super) fn offsets(rule: &Threshold, outputs: &Matrix, codes: &[usize], weights: &[f64], classes: usize) -> Result<Vec<f64>> {
    if classes == 2 {
        let positive: Vec<bool> = codes.iter().map(|&code| code == 1).collect();
        return Ok(vec![-rule.find(Line { values: outputs.values(), positive: &positive, weights })?]);
    }
    let mut offsets = from_pairs(rule, outputs, codes, weights, classes)?;
    if *rule == Threshold::LeastError {
        improve(&mut offsets, outputs, codes, weights)?;
    }
    Ok(offsets)
}

/// With the threshold t_ab of f_a - f_b for each pair, offsets with b_a - b_b = -t_ab as nearly as can be: the means of -t_ab over b.
fn from_pairs(rule: &Threshold, outputs: &Matrix, codes: &[usize], weights: &[f64], classes: usize) -> Result<Vec<f64>> {
    let mut offsets = vec![0.0; classes];
    for (a, b) in Pairwise::pairs(classes) {
        let rows: Vec<usize> = (0..codes.len()).filter(|&i| codes[i] == a || codes[i] == b).collect();
        let values: Vec<f64> = rows.iter().map(|&i| outputs.at(i, a) - outputs.at(i, b)).collect();
        let positive: Vec<bool> = rows.iter().map(|&i| codes[i] == a).collect();
        let weights: Vec<f64> = rows.iter().map(|&i| weights[i]).collect();
        let threshold = rule.find(Line { values: &values, positive: &positive, weights: &weights })?;
        offsets[a] -= threshold / classes as f64;
        offsets[b] += threshold / classes as f64;
    }
    Ok(offsets)
}

/// Moves one offset at a time to where the fewest training rows are wrong, until a round changes nothing.
fn improve(offsets: &mut [f64], outputs: &Matrix, codes: &[usize], weights: &[f64]) -> Result<()> {
    let mut fewest = wrong(offsets, outputs, codes, weights);
    for _ in 0..MOST_ROUNDS {
        let before = fewest;
        for class in 0..offsets.len() {
            let mut tried = offsets.to_vec();
            tried[class] = best_offset(class, offsets, outputs, codes, weights)?;
            let errors = wrong(&tried, outputs, codes, weights);
            if errors < fewest * (1.0 - 1e-12) {
                fewest = errors;
                offsets.copy_from_slice(&tried);
            }
        }
        if fewest == before {
            break;
        }
    }
    Ok(())
}

/// With the other offsets fixed, row i goes to `class` once its offset is above the best other output less its own: a cut of a line.
/// Rows that are wrong whoever else wins do not count.
fn best_offset(class: usize, offsets: &[f64], outputs: &Matrix, codes: &[usize], weights: &[f64]) -> Result<f64> {
    let (mut values, mut positive, mut counts) = (vec![], vec![], vec![]);
    for (i, row) in outputs.iter().enumerate() {
        let others = (0..row.len()).filter(|&c| c != class).map(|c| (row[c] + offsets[c], c));
        let best = others.fold((f64::NEG_INFINITY, class), |best, other| if other.0 > best.0 { other } else { best });
        if codes[i] == class || codes[i] == best.1 {
            values.push(row[class] - best.0);
            positive.push(codes[i] == class);
            counts.push(weights[i]);
        }
    }
    let line = Line { values: &values, positive: &positive, weights: &counts };
    match line.class(true).is_ok() && line.class(false).is_ok() {
        true => Ok(-Threshold::LeastError.find(line)?),
        false => Ok(offsets[class]),
    }
}

/// The weight of the training rows whose largest output is of another class.
fn wrong(offsets: &[f64], outputs: &Matrix, codes: &[usize], weights: &[f64]) -> f64 {
    let winner = |row: &[f64]| (1..row.len()).fold(0, |best, c| if row[c] + offsets[c] > row[best] + offsets[best] { c } else { best });
    outputs.iter().enumerate().filter(|(i, row)| winner(row) != codes[*i]).map(|(i, _)| weights[i]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up() -> (Matrix, Vec<usize>, Vec<f64>) {
        let codes: Vec<usize> = (0..90).map(|i| i % 3).collect();
        let outputs = Matrix::from_fn(90, 3, |i, c| f64::from(codes[i] == c) + 0.9 * ((i * (3 + c) + 1) as f64 * 1.7).sin());
        let weights = (0..90).map(|i| 1.0 + (i % 2) as f64).collect();
        (outputs, codes, weights)
    }

    #[test]
    fn for_the_midpoint_the_thresholds_of_all_pairs_agree() {
        let (outputs, codes, weights) = made_up();
        let mean = |c: usize, k: usize| {
            let rows = (0..90).filter(|&i| codes[i] == c);
            let (sum, weight) = rows.fold((0.0, 0.0), |(s, w), i| (s + weights[i] * outputs.at(i, k), w + weights[i]));
            sum / weight
        };
        let offsets = offsets(&Threshold::Midpoint, &outputs, &codes, &weights, 3).unwrap();
        let threshold = |a: usize, b: usize| 0.5 * (mean(a, a) - mean(a, b) + mean(b, a) - mean(b, b));
        let want: Vec<f64> = (0..3).map(|a| -(0..3).filter(|&b| b != a).map(|b| threshold(a, b)).sum::<f64>() / 3.0).collect();
        assert!(offsets.iter().zip(&want).all(|(have, want)| (have - want).abs() < 1e-12), "{offsets:?} {want:?}");
    }

    #[test]
    fn least_error_has_no_better_offset_in_any_one_class() {
        let (outputs, codes, weights) = made_up();
        let found = offsets(&Threshold::LeastError, &outputs, &codes, &weights, 3).unwrap();
        let start = from_pairs(&Threshold::LeastError, &outputs, &codes, &weights, 3).unwrap();
        let fewest = wrong(&found, &outputs, &codes, &weights);
        assert!(fewest <= wrong(&start, &outputs, &codes, &weights));
        for class in 0..3 {
            for step in -300..300 {
                let mut moved = found.clone();
                moved[class] += f64::from(step) * 0.01;
                assert!(wrong(&moved, &outputs, &codes, &weights) >= fewest - 1e-9);
            }
        }
    }
}
