//! A compression within a limit of time: the best machine so far is the result.
use std::time::Duration;

use super::{
    compress::{Compress, check_coefficients},
    compressed::Compressed,
};
use crate::{
    Error, Result,
    data::{Dataset, Points},
    machine::Machine,
    text::exact,
    watch::{Status, Watch},
};

/// The longest time limit, in seconds.
const LONGEST: f64 = 1e9;

impl Compress {
    /// Makes the machine smaller. `data` are rows it was trained on, or like them; `start` are rows that searches begin at.
    /// Cancelling returns the best machine so far, and so does the end of the time that was given.
    pub fn run(&self, machine: &Machine, data: Option<&Dataset>, start: Option<&Points>, watch: &Watch) -> Result<Compressed> {
        self.check(data.is_some(), start.is_some())?;
        self.check_targets(data)?;
        check_coefficients(machine)?;
        let Some(limit) = self.time.map(Duration::try_from_secs_f64).transpose().unwrap_or(None) else {
            return self.run_checked(machine, data, start, watch);
        };
        let within = watch.within(limit);
        let mut small = self.run_checked(machine, data, start, &within)?;
        watch.evaluated(within.evaluations());
        if small.status == Status::Cancelled && !watch.cancelled() {
            small.status = Status::Completed;
            small.notes.push(format!(
                "stopped after the time that was given, {} s, with the best machine so far",
                exact(self.time.unwrap_or_default())
            ));
        }
        Ok(small)
    }

    pub(super) fn check_time(&self) -> Result<()> {
        match self.time.filter(|time| !(*time > 0.0 && *time <= LONGEST)) {
            Some(time) => Err(Error::parameter("time", time, format!("above 0 and at most {LONGEST:e}: seconds"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::{
        data::banana,
        kernel::Kernel,
        learn::{Learner, Svc},
    };

    fn full(data: &Dataset) -> Machine {
        Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine
    }

    fn run(text: &str, machine: &Machine, data: Option<&Dataset>) -> Compressed {
        Compress::from_json(text).unwrap().run(machine, data, None, &Watch::none()).unwrap()
    }

    #[test]
    fn a_machine_comes_back_however_short_the_time_is() {
        let data = banana(300, 1);
        let machine = full(&data);
        for goal in [
            r#""vectors": 9"#,
            r#""min-agreement": 0.97"#,
            r#""max-residual": 0.05"#,
            r#""max-loss": 0.01, "vectors": 20"#,
            r#""fraction": 0.2, "path": true"#,
        ] {
            for time in ["1e-9", "0.005"] {
                let small = run(&format!(r#"{{{goal}, "time": {time}}}"#), &machine, Some(&data));
                assert!((1..=machine.n_vectors()).contains(&small.machine.n_vectors()), "{goal}");
                small.machine.check().unwrap();
                assert_eq!(small.machine.metadata.request.as_ref().unwrap()["time"], time.parse::<f64>().unwrap());
            }
        }
        for method in ["pursuit", "fixed-point", "l1", "l0", "refine"] {
            let small = run(&format!(r#"{{"vectors": 9, "method": "{method}", "time": 1e-9}}"#), &machine, None);
            assert!((1..=9).contains(&small.machine.n_vectors()) && small.machine.check().is_ok(), "{method}");
        }
        let cut = run(r#"{"vectors": 9, "time": 1e-9}"#, &machine, Some(&data));
        assert!(cut.machine.n_vectors() <= 9 && cut.status == Status::Completed);
        assert!(cut.notes.iter().any(|note| note.contains("stopped after the time")), "{:?}", cut.notes);
        assert!(cut.machine.score(&data).unwrap().loss() < 0.4, "the largest coefficients are better than chance");
    }

    #[test]
    fn once_there_is_a_machine_an_interruption_leaves_one() {
        let data = banana(120, 1);
        let machine = full(&data);
        for request in [r#"{"min-agreement": 0.99}"#, "{}"] {
            let request = Compress::from_json(request).unwrap();
            let mut had = false;
            for step in 0..28 {
                let (answers, asked) = (1.5_f64.powi(step) as u64, AtomicU64::new(0));
                let watch = Watch::none().with_cancel_when(move || asked.fetch_add(1, Ordering::Relaxed) >= answers);
                match request.run(&machine, Some(&data), None, &watch) {
                    Ok(small) if small.status == Status::Cancelled => had = small.machine.check().is_ok(),
                    Ok(_) => break,
                    Err(error) => assert!(!had, "{answers}: {error}"),
                }
            }
            assert!(had);
        }
    }

    #[test]
    fn time_that_is_not_used_up_changes_nothing() {
        let data = banana(200, 1);
        let machine = full(&data);
        let (without, with) =
            (run(r#"{"vectors": 6}"#, &machine, Some(&data)), run(r#"{"vectors": 6, "time": 1e6}"#, &machine, Some(&data)));
        assert_eq!(
            (&with.machine.expansion, &with.machine.offsets, with.status),
            (&without.machine.expansion, &without.machine.offsets, without.status)
        );
        for bad in ["0", "-1", "1e300"] {
            let request = Compress::from_json(&format!(r#"{{"vectors": 6, "time": {bad}}}"#)).unwrap();
            assert!(request.run(&machine, None, None, &Watch::none()).unwrap_err().to_string().contains("time"));
        }
    }
}
