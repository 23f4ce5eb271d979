//! Which size is shown first.
//!
//! The smallest with almost no loss on the rows of `--data`. The rows of `--test` are only reported, never used for selection. Training rows
//! give optimistic error estimates, so that the tolerance is small.
use super::figures::{Chosen, Figures, Level};

/// The tolerated increase of the error rate, the tolerated relative increase of a squared error, and the required agreement.
const POINTS: f64 = 0.002;
const FRACTION: f64 = 0.05;
const AGREE: f64 = 0.99;

/// The size of at most `vectors` where that is given, else the smallest with almost no loss; the method that is best there.
pub fn choose(figures: &Figures, vectors: Option<usize>) -> Chosen {
    match vectors {
        Some(most) => of_size(figures, most),
        None => smallest(figures),
    }
}

/// The loss of a level, which selection minimises.
type Loss = fn(&Level) -> Option<f64>;

/// The loss of a level, its bound, and the criterion as a sentence.
fn loss(figures: &Figures) -> (Loss, f64, String) {
    let data_error: Loss = |level| level.data_error.or(level.error);
    let of = "the training rows";
    let any = |loss: Loss| figures.methods.iter().flat_map(|method| &method.levels).any(|level| loss(level).is_some());
    match data_error(&figures.full.level).filter(|error| error.is_finite() && any(data_error)) {
        Some(error) if figures.task == "classes" => {
            (data_error, error + POINTS, format!("the fewest vectors with at most 0.2 points more error on {of}"))
        }
        Some(error) => (data_error, error * (1.0 + FRACTION), format!("the fewest vectors with at most 5 % more squared error on {of}")),
        None if any(|level| level.agreement) => {
            (|level| level.agreement.map(|part| 1.0 - part), 1.0 - AGREE, format!("the fewest vectors that agree on 99 % of {of}"))
        }
        None => (|level| level.residual, FRACTION, "the fewest vectors with a relative residual of at most 5 %".into()),
    }
}

fn smallest(figures: &Figures) -> Chosen {
    let (loss, most, why) = loss(figures);
    let mut best: Option<(usize, usize, usize)> = None;
    for (m, method) in figures.methods.iter().enumerate() {
        let Some(place) = method.levels.iter().position(|level| loss(level).is_some_and(|loss| loss <= most)) else { continue };
        let vectors = method.levels[place].vectors;
        if best.is_none_or(|(fewest, ..)| vectors < fewest) {
            best = Some((vectors, m, place));
        }
    }
    match best {
        Some((_, method, level)) => Chosen { method, level, why },
        None => {
            let (method, level) = least(figures, loss, usize::MAX);
            Chosen { method, level, why: format!("no size meets the criterion ({why}); this one is nearest") }
        }
    }
}

fn of_size(figures: &Figures, most: usize) -> Chosen {
    let (loss, ..) = loss(figures);
    let (method, level) = least(figures, loss, most);
    Chosen { method, level, why: format!("the best of at most {most} vectors, as requested") }
}

/// The method and level of the least loss among those of at most so many vectors: of each method the largest of them.
fn least(figures: &Figures, loss: Loss, most: usize) -> (usize, usize) {
    let mut best = (0, 0, f64::INFINITY);
    for (m, method) in figures.methods.iter().enumerate() {
        let mut within = method.levels.iter().enumerate().filter(|(_, level)| level.vectors <= most);
        let candidates: Vec<_> = if most == usize::MAX { within.collect() } else { within.next_back().into_iter().collect() };
        for (place, level) in candidates {
            let value = loss(level).filter(|value| !value.is_nan()).unwrap_or(f64::MAX);
            if value < best.2 {
                best = (m, place, value);
            }
        }
    }
    (best.0, best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::{Full, Method};

    fn figures(task: &'static str, full: f64, methods: &[&[(usize, f64)]]) -> Figures {
        let level = |&(vectors, error): &(usize, f64)| Level { vectors, error: Some(error), ..Level::default() };
        let methods = methods.iter().map(|levels| Method { levels: levels.iter().map(level).collect(), ..Method::default() }).collect();
        Figures {
            task,
            methods,
            full: Full { level: level(&(100, full)), ..Full::default() },
            measured_on: Some("data"),
            ..Figures::default()
        }
    }

    fn place(chosen: &Chosen) -> (usize, usize) {
        (chosen.method, chosen.level)
    }

    #[test]
    fn the_smallest_good_size_of_any_method_is_chosen() {
        let curves: [&[(usize, f64)]; 2] = [&[(1, 0.5), (8, 0.04), (16, 0.02)], &[(1, 0.6), (6, 0.0215), (12, 0.01)]];
        let chosen = choose(&figures("classes", 0.02, &curves), None);
        assert_eq!((place(&chosen), chosen.why.contains("0.2 points")), ((1, 1), true));
        assert_eq!(place(&choose(&figures("values", 0.02, &curves), None)), (1, 2));
        let hopeless = choose(&figures("classes", 0.0, &[&[(1, 0.5), (2, 0.3), (4, f64::NAN)]]), None);
        assert_eq!((place(&hopeless), hopeless.why.contains("nearest")), ((0, 1), true));
    }

    #[test]
    fn a_size_that_is_asked_for_is_taken() {
        let curves: [&[(usize, f64)]; 2] = [&[(1, 0.5), (8, 0.04), (16, 0.02)], &[(1, 0.6), (6, 0.03)]];
        assert_eq!(place(&choose(&figures("classes", 0.02, &curves), Some(9))), (1, 1));
        assert_eq!(place(&choose(&figures("classes", 0.02, &curves), Some(16))), (0, 2));
        assert_eq!(place(&choose(&figures("classes", f64::NAN, &[&[(1, f64::NAN)]]), Some(1))), (0, 0));
    }

    #[test]
    fn without_rows_the_residual_decides() {
        let mut without = figures("classes", 0.0, &[&[(1, 0.0), (2, 0.0)]]);
        without.full.level.error = None;
        for (level, residual) in without.methods[0].levels.iter_mut().zip([0.5, 0.01]) {
            (level.error, level.residual) = (None, Some(residual));
        }
        assert_eq!(place(&choose(&without, None)), (0, 1));
    }
}
