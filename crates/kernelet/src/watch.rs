//! How a caller sees progress and stops a run.
//!
//! Long work takes a [`Watch`] as its last argument. It calls [`Watch::report`], where several threads share the work from any of them,
//! and inner loops ask [`Watch::cancelled`]. A cancelled run returns the work so far with the status [`Status::Cancelled`].
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// How a run ended. Only bad input is an error; a run that stops early still has a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The stopping rule was met.
    Converged,
    /// All planned steps were made: the normal end of a descent on vectors, whose objective has no one minimum to reach.
    Completed,
    /// Less came out than was asked for, because there is no more.
    Capped,
    /// The objective no longer improves, though the stopping rule is not met: rounding allows no more.
    Stalled,
    /// The limit of iterations came before the tolerance was reached.
    IterationLimit,
    /// The caller cancelled.
    Cancelled,
}

impl Status {
    /// The word used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::Completed => "completed",
            Status::Capped => "capped",
            Status::Stalled => "stalled",
            Status::IterationLimit => "iteration-limit",
            Status::Cancelled => "cancelled",
        }
    }

    /// The less finished of two: cancelled before limited before stalled before capped before completed before converged.
    pub fn worse(self, other: Status) -> Status {
        match (self, other) {
            (Status::Cancelled, _) | (_, Status::Cancelled) => Status::Cancelled,
            (Status::IterationLimit, _) | (_, Status::IterationLimit) => Status::IterationLimit,
            (Status::Stalled, _) | (_, Status::Stalled) => Status::Stalled,
            (Status::Capped, _) | (_, Status::Capped) => Status::Capped,
            (Status::Completed, _) | (_, Status::Completed) => Status::Completed,
            _ => Status::Converged,
        }
    }
}

/// One report of progress.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// What is being done: `solving`, `kernel matrix`.
    pub stage: &'a str,
    /// How much is done.
    pub done: u64,
    /// Out of how much, where that is known.
    pub total: Option<u64>,
    /// The figure that is being driven down, where there is one.
    pub figure: Option<f64>,
}

type Reporter<'a> = Box<dyn Fn(&Progress) + Send + Sync + 'a>;

type Wish = Arc<dyn Fn() -> bool + Send + Sync>;

/// Receives progress, passes on the wish to stop, and counts kernel evaluations.
///
/// A cancelled run returns the machine of the work so far:
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicBool, AtomicU64, Ordering}};
/// use kernelet::{data::banana, prelude::*};
///
/// let (steps, cancel) = (AtomicU64::new(0), Arc::new(AtomicBool::new(false)));
/// let show = |progress: &Progress| {
///     eprintln!("{} {} of {:?}: {:?}", progress.stage, progress.done, progress.total, progress.figure);
///     // Here another thread, a signal handler or a button would set the flag.
///     cancel.store(steps.fetch_add(1, Ordering::Relaxed) >= 3, Ordering::Relaxed);
/// };
/// let watch = Watch::none().with_reporter(show).with_cancel(cancel.clone());
/// let train = Train::from_json(r#"{"gamma": 1, "c": 10, "vectors": 10}"#)?;
/// let trained = train.run(&banana(200, 1), &Given::default(), &watch)?;
/// assert_eq!(trained.fit.report.status, Status::Cancelled);
/// assert!(trained.machine().n_vectors() <= 10);
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Default)]
pub struct Watch<'a> {
    reporter: Option<Reporter<'a>>,
    cancel: Option<Wish>,
    evaluations: AtomicU64,
    notes: Arc<Mutex<Vec<String>>>,
    deadline: Option<Instant>,
}

impl<'a> Watch<'a> {
    /// Sees nothing, stops nothing.
    pub fn none() -> Self {
        Watch::default()
    }

    /// Calls `reporter` on every report.
    pub fn with_reporter(mut self, reporter: impl Fn(&Progress) + Send + Sync + 'a) -> Self {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// Stops the run soon after `flag` becomes true.
    pub fn with_cancel(self, flag: Arc<AtomicBool>) -> Self {
        self.with_cancel_when(move || flag.load(Ordering::Relaxed))
    }

    /// Stops the run soon after `wish` returns true, which it must then do for ever. It is called often and from any thread.
    pub fn with_cancel_when(mut self, wish: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.cancel = Some(Arc::new(wish));
        self
    }

    /// A watch for a part of the work on another thread: it forwards cancellation and notes, reports nothing and has its own counts.
    pub fn silent(&self) -> Watch<'static> {
        Watch {
            reporter: None,
            cancel: self.cancel.clone(),
            evaluations: AtomicU64::new(0),
            notes: self.notes.clone(),
            deadline: self.deadline,
        }
    }

    /// A watch that also stops the run when so much time is over. It forwards progress, cancellation and notes, and has its own counts.
    pub fn within(&self, limit: Duration) -> Watch<'_> {
        let (cancel, deadline) = (self.cancel.clone(), Instant::now().checked_add(limit));
        let over = move || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let wish = move || over() || cancel.as_ref().is_some_and(|wish| wish());
        let forward = |progress: &Progress| {
            if let Some(reporter) = &self.reporter {
                reporter(progress);
            }
        };
        Watch { deadline, notes: self.notes.clone(), ..Watch::none().with_reporter(forward).with_cancel_when(wish) }
    }

    /// True once the time limit of the run is over.
    pub fn out_of_time(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Takes note of a sentence that the user should read at the end, once however often it is said.
    pub fn note(&self, sentence: impl Into<String>) {
        let (mut notes, sentence) = (self.notes.lock().unwrap_or_else(PoisonError::into_inner), sentence.into());
        if !notes.contains(&sentence) {
            notes.push(sentence);
        }
    }

    /// The sentences noted so far; they are returned once.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports progress to the caller.
    pub fn report(&self, stage: &str, done: u64, total: Option<u64>, figure: Option<f64>) {
        if let Some(reporter) = &self.reporter {
            reporter(&Progress { stage, done, total, figure });
        }
    }

    /// True once the caller wants the run to stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|wish| wish())
    }

    /// How a run has ended that otherwise ends with `status`: a run that was cancelled may have left out work at any place, so that nothing
    /// else can be said of it.
    pub fn ended(&self, status: Status) -> Status {
        if self.cancelled() { Status::Cancelled } else { status }
    }

    /// Counts kernel evaluations.
    pub fn evaluated(&self, count: u64) {
        self.evaluations.fetch_add(count, Ordering::Relaxed);
    }

    /// The kernel evaluations counted so far.
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_time_ends_a_run_and_forwards_what_the_caller_sees_and_wants() {
        let (seen, flag) = (AtomicU64::new(0), Arc::new(AtomicBool::new(false)));
        let report = |_: &Progress| _ = seen.fetch_add(1, Ordering::Relaxed);
        let watch = Watch::none().with_reporter(report).with_cancel(flag.clone());
        let (long, none) = (watch.within(Duration::MAX), watch.within(Duration::ZERO));
        assert!(none.cancelled() && none.out_of_time() && none.silent().out_of_time());
        assert!(!long.cancelled() && !long.out_of_time() && !watch.out_of_time() && !watch.cancelled());
        long.report("steps", 1, None, None);
        long.note("a note");
        assert_eq!((seen.load(Ordering::Relaxed), watch.take_notes()), (1, vec!["a note".to_string()]));
        flag.store(true, Ordering::Relaxed);
        assert!(long.cancelled() && !long.out_of_time());
    }

    #[test]
    fn reports_reach_the_caller_and_cancel_reaches_the_work() {
        let seen = Mutex::new(vec![]);
        let flag = Arc::new(AtomicBool::new(false));
        let watch =
            Watch::none().with_reporter(|p| seen.lock().unwrap().push((p.stage.to_string(), p.done, p.total))).with_cancel(flag.clone());
        watch.report("solving", 3, Some(10), None);
        assert!(!watch.cancelled());
        flag.store(true, Ordering::Relaxed);
        assert!(watch.cancelled());
        assert!(watch.silent().cancelled());
        watch.silent().report("unseen", 1, None, None);
        watch.silent().evaluated(100);
        watch.evaluated(7);
        watch.evaluated(5);
        assert_eq!(watch.evaluations(), 12);
        drop(watch);
        assert_eq!(seen.into_inner().unwrap(), vec![("solving".to_string(), 3, Some(10))]);
    }

    #[test]
    fn a_silent_watch_stops_with_its_parent_and_counts_for_itself() {
        let flag = Arc::new(AtomicBool::new(false));
        let watch = Watch::none().with_reporter(|_| panic!("a silent watch reported")).with_cancel(flag.clone());
        let silent = watch.silent();
        silent.report("solving", 1, None, None);
        silent.evaluated(3);
        assert_eq!((silent.evaluations(), watch.evaluations(), silent.cancelled()), (3, 0, false));
        flag.store(true, Ordering::Relaxed);
        assert!(silent.cancelled());
    }

    #[test]
    fn notes_are_kept_once_and_taken_once() {
        let watch = Watch::none();
        watch.note("a");
        watch.silent().note("b");
        watch.note("a");
        assert_eq!(watch.take_notes(), ["a", "b"]);
        assert!(watch.take_notes().is_empty());
    }

    #[test]
    fn a_cancelled_run_never_ends_converged() {
        let checks = AtomicU64::new(0);
        let watch = Watch::none().with_cancel_when(move || checks.fetch_add(1, Ordering::Relaxed) >= 1);
        assert_eq!(watch.ended(Status::Capped), Status::Capped);
        assert_eq!(watch.ended(Status::Converged), Status::Cancelled);
        assert_eq!(Watch::none().ended(Status::Converged), Status::Converged);
    }

    #[test]
    fn the_worse_status_wins() {
        use Status::*;
        assert_eq!(Converged.worse(IterationLimit), IterationLimit);
        assert_eq!(Cancelled.worse(IterationLimit), Cancelled);
        assert_eq!(Converged.worse(Capped), Capped);
        assert_eq!(Capped.worse(IterationLimit), IterationLimit);
        assert_eq!((Capped.worse(Stalled), IterationLimit.worse(Stalled)), (Stalled, IterationLimit));
        assert_eq!(Converged.worse(Completed), Completed);
        assert_eq!(Completed.worse(Capped), Capped);
        assert_eq!(Completed.worse(IterationLimit), IterationLimit);
        assert_eq!(Converged.worse(Converged), Converged);
    }
}
