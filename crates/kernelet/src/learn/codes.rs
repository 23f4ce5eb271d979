//! Error-correcting output codes: each class has a word of signs, each column of the words is a two-class problem.
//!
//! Few classes take all columns there are (Dietterich and Bakiri 1995): `2^(k-1) - 1` of them, all different up to sign. More classes take
//! `10 log2 k` random columns, the best of many draws (Allwein, Schapire and Singer 2000): the draw whose nearest words differ
//! in most places. Every column separates some classes from the others, no two columns are equal or opposite, and no
//! two classes have the same word.
use crate::{Error, Result, draw::Draw};

/// Up to this many classes take all columns.
const MOST_EXHAUSTIVE: usize = 5;

/// Classes beyond this make words that take too long to draw well.
const MOST_CLASSES: usize = 10_000;

/// Draws of random words of which the best is taken.
const DRAWS: usize = 200;

/// The word of each class: +1 and -1, one for each column.
pub fn code_words(classes: usize, seed: u64) -> Result<Vec<Vec<i8>>> {
    match classes {
        0..=1 => Err(Error::data("output codes need at least two classes")),
        2..=MOST_EXHAUSTIVE => Ok(exhaustive(classes)),
        _ if classes > MOST_CLASSES => {
            Err(Error::data(format!("output codes are there for at most {MOST_CLASSES} classes, not {classes}")))
        }
        _ => Ok(best_random(classes, seed)),
    }
}

/// All columns in which the first class is +1, but the one in which all are.
fn exhaustive(classes: usize) -> Vec<Vec<i8>> {
    let columns = (1usize << (classes - 1)) - 1;
    let sign = |class: usize, column: usize| if class == 0 || column >> (class - 1) & 1 == 1 { 1 } else { -1 };
    (0..classes).map(|class| (0..columns).map(|column| sign(class, column)).collect()).collect()
}

fn best_random(classes: usize, seed: u64) -> Vec<Vec<i8>> {
    let columns = (10.0 * (classes as f64).log2()).ceil() as usize;
    let mut draw = Draw::seeded(seed);
    // Many classes: the pairs to compare grow with their square, so fewer draws are looked at.
    let draws = (DRAWS * 100 * 100 / (classes * classes)).clamp(1, DRAWS);
    let (mut best, mut distance) = (vec![], 0);
    while best.is_empty() || distance == 0 {
        for _ in 0..draws {
            let words = random(classes, columns, &mut draw);
            let nearest = nearest(&words);
            if nearest > distance {
                (best, distance) = (words, nearest);
            }
        }
    }
    best
}

/// Random columns, each with both signs and different from all before it up to sign.
fn random(classes: usize, columns: usize, draw: &mut Draw) -> Vec<Vec<i8>> {
    let mut taken: Vec<Vec<i8>> = vec![];
    while taken.len() < columns {
        let column: Vec<i8> = (0..classes).map(|_| if draw.chance(0.5) { 1 } else { -1 }).collect();
        let opposite: Vec<i8> = column.iter().map(|sign| -sign).collect();
        let both = column.contains(&1) && column.contains(&-1);
        if both && !taken.contains(&column) && !taken.contains(&opposite) {
            taken.push(column);
        }
    }
    (0..classes).map(|class| taken.iter().map(|column| column[class]).collect()).collect()
}

/// The least number of places in which two words differ.
fn nearest(words: &[Vec<i8>]) -> usize {
    let differ = |a: &[i8], b: &[i8]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    let pairs = (0..words.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    pairs.map(|(i, j)| differ(&words[i], &words[j])).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_columns_are_all_different_and_the_seed_decides() {
        for classes in [2, 3, 4, 5, 6, 10, 26, 60] {
            let words = code_words(classes, 7).unwrap();
            let columns = words[0].len();
            assert!(words.iter().all(|word| word.len() == columns && word.iter().all(|sign| sign.abs() == 1)));
            assert!(nearest(&words) >= if classes < 4 { 1 } else { 2 }, "{classes}");
            for c in 0..columns {
                let column: Vec<i8> = words.iter().map(|word| word[c]).collect();
                assert!(column.contains(&1) && column.contains(&-1));
                for other in 0..c {
                    let product: i32 = words.iter().map(|word| i32::from(word[c] * word[other])).sum();
                    assert!(product.unsigned_abs() < classes as u32, "columns {c} and {other} ask the same");
                }
            }
            assert_eq!(words, code_words(classes, 7).unwrap());
            assert_eq!(words == code_words(classes, 8).unwrap(), classes <= MOST_EXHAUSTIVE);
        }
    }

    #[test]
    fn few_classes_take_all_columns() {
        assert_eq!(code_words(3, 1).unwrap(), [[1, 1, 1], [-1, 1, -1], [-1, -1, 1]]);
        assert_eq!(code_words(5, 1).unwrap()[0].len(), 15);
        assert_eq!(nearest(&code_words(5, 1).unwrap()), 8);
        assert!(code_words(1, 1).is_err() && code_words(1 << 40, 1).is_err());
    }
}
