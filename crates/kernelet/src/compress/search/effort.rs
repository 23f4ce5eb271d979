//! How much time may be spent, in steps, starts and rows.
use crate::Named;

/// How much time may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Effort {
    /// One strategy, few steps.
    Quick,
    /// Some strategies.
    #[default]
    Normal,
    /// More strategies, starts and steps.
    Thorough,
}

/// Fewer steps of training than this gain nothing.
const FEWEST_STEPS: usize = 10;

/// Where steps cost next to nothing, so many times as many are made, and so many starts.
const MORE_STEPS: usize = 3;
const MORE_STARTS: usize = 8;

impl Named for Effort {
    const NAMES: &'static [(&'static str, Self)] = &[("quick", Effort::Quick), ("normal", Effort::Normal), ("thorough", Effort::Thorough)];
}

impl Effort {
    /// Steps in which all vectors are moved together.
    pub(super) fn steps(self) -> usize {
        match self {
            Effort::Quick => 30,
            Effort::Normal => 100,
            Effort::Thorough => 300,
        }
    }

    /// Steps in which vectors are trained; of the starts one makes all of them, and the machine that is kept as many again with all rows.
    fn training_steps(self) -> usize {
        match self {
            Effort::Quick => 30,
            Effort::Normal => 60,
            Effort::Thorough => 300,
        }
    }

    /// Rows that are looked at.
    pub fn most_rows(self) -> usize {
        match self {
            Effort::Quick => 5_000,
            Effort::Normal => 20_000,
            Effort::Thorough => usize::MAX,
        }
    }

    /// Steps and starts of training of which a step makes so many multiplications: more where they cost next to nothing, which small machines need
    /// most, and fewer where they take long; none where that leaves too few, unless there `must` be some.
    pub(super) fn training(self, step: f64, must: bool) -> Option<(usize, usize)> {
        let (little, much, fewest_starts) = match self {
            Effort::Quick => (1e8, 2e10, 1),
            Effort::Normal => (1e9, 3e12, 1),
            Effort::Thorough => (1e10, f64::INFINITY, 3),
        };
        let affordable = |work: f64| (work / step.max(1.0)).min(1e9) as usize;
        let steps = affordable(little).clamp(self.training_steps(), MORE_STEPS * self.steps()).min(affordable(much));
        let starts = (affordable(little) / steps.max(1)).clamp(fewest_starts, MORE_STARTS);
        (must || steps >= FEWEST_STEPS).then_some((steps.max(FEWEST_STEPS), starts))
    }

    /// Steps of a machine that is trained on all rows from a start of its own, of which one makes so many multiplications; none where a quarter of them takes
    /// too long.
    pub(super) fn steps_on_all_rows(self, step: f64) -> Option<usize> {
        let (steps, work) = match self {
            Effort::Quick => (60, 3e11),
            Effort::Normal => (200, 3e12),
            Effort::Thorough => (300, f64::INFINITY),
        };
        let affordable = (work / step.max(1.0)).min(1e9) as usize;
        (4 * affordable >= steps).then_some(affordable.min(steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_machines_are_trained_longer_and_large_ones_shorter() {
        let normal = |step| Effort::Normal.training(step, false);
        assert_eq!(normal(1e4), Some((300, 8)));
        assert_eq!(normal(1e6), Some((300, 3)));
        assert_eq!(normal(1e9), Some((60, 1)));
        assert_eq!(normal(1e11), Some((30, 1)));
        assert_eq!(normal(1e12), None);
        assert_eq!(normal(f64::INFINITY), None);
        assert_eq!(Effort::Normal.training(1e12, true), Some((10, 1)));
        assert_eq!(Effort::Quick.training(1e10, false), None);
        assert_eq!(Effort::Thorough.training(1e12, false), Some((300, 3)));
    }

    #[test]
    fn steps_on_all_rows_are_bounded_by_their_work() {
        assert_eq!(Effort::Normal.steps_on_all_rows(1e9), Some(200));
        assert_eq!(Effort::Normal.steps_on_all_rows(5e10), Some(60));
        assert_eq!(Effort::Normal.steps_on_all_rows(1e11), None);
        assert_eq!(Effort::Quick.steps_on_all_rows(1e9), Some(60));
        assert_eq!(Effort::Thorough.steps_on_all_rows(1e12), Some(300));
    }
}
