//! Several starts of one search, by successive halving: all make a few steps, the better half goes on to twice as many, until one is left, which makes the
//! rest.
//!
//! A start that is worse after a tenth of the steps seldom ends as the best one, and steps are what training costs: k starts with s steps each cost less than
//! (1 + log2(k) / 10) s + k s / 10 instead of k s. The one that is left makes the same steps as if it had been alone. Jamieson and Talwalkar, Non-stochastic best arm
//! identification and hyperparameter optimization, 2016.
use super::{
    checkpoint::State,
    descend::{Pause, Place, Run},
    init::Init,
    metric::Metric,
    objective::Variables,
    search::{Direct, Search, check_points},
};
use crate::{Error, Result, device::Device, kernel::Kernel, learn::Fit, linalg::Ended, watch::Watch};

/// The first comparison comes after this fraction of the steps, but not before the fewest.
const FIRST: usize = 10;
const FEWEST: usize = 5;

/// A start in the race.
struct Runner {
    place: Place,
    state: Option<State>,
}

impl Search {
    /// The machine of the best of these starts and of as many random ones as `starts` of the search says, where `own` asks for them.
    pub(crate) fn race(&self, kernel: &Kernel, direct: &dyn Direct, given: Vec<Init>, own: bool, watch: &Watch) -> Result<Fit> {
        let own = if own || given.is_empty() { self.starts as u64 } else { 0 };
        let seeded = (0..own).map(|start| (self.init.clone(), self.seed.wrapping_add(start)));
        let starts: Vec<(Init, u64)> = given.into_iter().map(|init| (init, self.seed)).chain(seeded).collect();
        let points = check_points(direct, self.n_vectors)?;
        let mut runners = vec![];
        for (init, seed) in starts {
            if watch.cancelled() && !runners.is_empty() {
                break;
            }
            let at =
                Variables { z: init.first(kernel, points, self.n_vectors, seed, watch)?, metric: Metric::default().first(points.dim())? };
            runners.push(Runner { place: Place { at, value: f64::INFINITY, iterations: 0, ended: Ended::Value }, state: None });
        }
        if self.device != Device::Cpu {
            return self.race_on_device(kernel, direct, runners.into_iter().map(|runner| runner.place.at).collect(), watch);
        }
        let steps: usize = direct.phases().iter().map(|phase| phase.iterations).sum();
        let mut until = (steps / FIRST).max(FEWEST);
        while runners.len() > 1 {
            let kept = if until < steps { runners.len() / 2 } else { 1 };
            for runner in &mut runners {
                self.advance(kernel, direct, runner, until, watch)?;
            }
            // Values that are not finite come last; of equal ones the first is kept.
            runners.sort_by(|a, b| a.place.value.total_cmp(&b.place.value));
            runners.truncate(kept);
            until *= 2;
        }
        let Runner { place, state } = runners.pop().ok_or_else(|| Error::data("no start led to a machine"))?;
        let mut run = Run::new(direct);
        run.stage = state.as_ref().map_or(run.stage, |state| state.stage);
        run.resumed = state;
        Ok(self.level(kernel, &mut run, place.at, 1, watch)?.fit.ended(watch))
    }

    /// The same on a card, where steps are cheap and no state of a descent is kept: all starts make the first fraction of the steps, and the best goes on with all of
    /// them.
    fn race_on_device(&self, kernel: &Kernel, direct: &dyn Direct, starts: Vec<Variables>, watch: &Watch) -> Result<Fit> {
        let mut best: Option<Place> = None;
        let alone = starts.len() == 1;
        for at in starts {
            let place = match alone {
                true => Place { at, value: f64::INFINITY, iterations: 0, ended: Ended::Value },
                false => self.descended(kernel, &mut Run::new(direct), at, FIRST, watch)?.0,
            };
            if best.as_ref().is_none_or(|best| place.value < best.value) {
                best = Some(place);
            }
        }
        let Place { at, .. } = best.ok_or_else(|| Error::data("no start led to a machine"))?;
        Ok(self.level(kernel, &mut Run::new(direct), at, 1, watch)?.fit.ended(watch))
    }

    /// Goes on with a start to so many steps in all.
    fn advance(&self, kernel: &Kernel, direct: &dyn Direct, runner: &mut Runner, after: usize, watch: &Watch) -> Result<()> {
        let mut run = Run::new(direct);
        run.resumed = runner.state.take();
        run.stage = run.resumed.as_ref().map_or(run.stage, |state| state.stage);
        run.pause = Some(Pause { after, state: None });
        let at = std::mem::take(&mut runner.place.at);
        runner.place = self.descended(kernel, &mut run, at, 1, watch)?.0;
        runner.state = run.pause.and_then(|pause| pause.state);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::banana,
        learn::{Learner, direct::Margin},
        linalg::Matrix,
    };

    /// Two vectors far from all rows, which no step improves, and two among them.
    fn starts() -> (Init, Init) {
        let far = Matrix::from_fn(2, 2, |j, c| 40.0 + (3 * j + c) as f64);
        let near = Matrix::from_fn(2, 2, |j, c| if j == c { 0.5 } else { -0.5 });
        (Init::Given(far), Init::Given(near))
    }

    #[test]
    fn the_best_start_wins_with_the_bits_that_it_has_alone() {
        let data = banana(120, 1);
        let search = Search { n_vectors: 2, iterations: 30, ..Search::default() };
        let margin = Margin { kernel: Kernel::gaussian(1.0), c: 5.0, search, ..Margin::default() };
        let (far, near) = starts();
        let alone = |init: &Init| {
            let search = Search { init: init.clone(), ..margin.search.clone() };
            Margin { search, ..margin.clone() }.learn(&data, &Watch::none()).unwrap()
        };
        let (worse, better) = (alone(&far), alone(&near));
        assert!(better.report.objective < 0.99 * worse.report.objective);
        for given in [vec![far.clone(), near.clone()], vec![near.clone(), far.clone(), far.clone()]] {
            let raced = margin.race(given, false, &data, &Watch::none()).unwrap();
            assert_eq!((&raced.machine, raced.report.objective), (&better.machine, better.report.objective));
        }
    }

    #[test]
    fn starts_of_its_own_join_and_are_all_there_is_where_none_is_given() {
        let data = banana(120, 1);
        let search = Search { n_vectors: 3, iterations: 20, starts: 3, ..Search::default() };
        let margin = Margin { kernel: Kernel::gaussian(1.0), c: 5.0, search, ..Margin::default() };
        let (far, _) = starts();
        let objective = |given: Vec<Init>, own| margin.race(given, own, &data, &Watch::none()).unwrap().report.objective;
        let own = objective(vec![], false);
        assert_eq!(own, objective(vec![far.clone()], true), "the far start loses");
        assert!(own < objective(vec![far], false));
    }
}
