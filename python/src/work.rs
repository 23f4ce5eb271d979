//! Long work beside a Python that stays alive: other threads run, Ctrl-C is seen, progress is told.
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use kernelet::{Error, watch::Watch};
use pyo3::{
    exceptions::{PyOSError, PyRuntimeError, PyValueError},
    prelude::*,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often Python is asked whether Ctrl-C was pressed.
const TURN: Duration = Duration::from_millis(50);

/// Pools by process and number of threads.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// One report of progress: stage, done, total, figure.
type Told = (String, u64, Option<u64>, Option<f64>);

/// Does the work on a pool of so many threads, without holding Python's lock. Ctrl-C cancels it and is then raised.
pub fn interruptible<T: Send>(py: Python, threads: usize, report: Option<Py<PyAny>>, work: impl FnOnce(&Watch) -> T + Send) -> PyResult<T> {
    let pool = pool(threads)?;
    let cancel = Arc::new(AtomicBool::new(false));
    let latest: Mutex<Option<Told>> = Mutex::new(None);
    let mut watch = Watch::none().with_cancel(cancel.clone());
    if report.is_some() {
        watch = watch.with_reporter(|p| {
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((p.stage.to_string(), p.done, p.total, p.figure));
        });
    }
    let mut interrupt = None;
    let listen = |interrupt: &mut Option<PyErr>| {
        let told = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        let heard = Python::attach(|py| match (&report, told) {
            (Some(report), Some(told)) => report.call1(py, told).and_then(|_| py.check_signals()),
            _ => py.check_signals(),
        });
        if let Err(error) = heard {
            interrupt.get_or_insert(error);
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let done = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel::<()>();
            let watch = &watch;
            let worker = scope.spawn(move || {
                // Dropped at the end, whatever the end is: the listener wakes at once.
                let _sender = sender;
                pool.install(|| work(watch))
            });
            while let Err(mpsc::RecvTimeoutError::Timeout) = receiver.recv_timeout(TURN) {
                listen(&mut interrupt);
            }
            listen(&mut interrupt);
            worker.join()
        })
    });
    if let Some(error) = interrupt {
        return Err(error);
    }
    done.map_err(|_| PyRuntimeError::new_err("an internal error stopped the work; please report it with the message above"))
}

/// The pool with so many threads, made once in each process: a forked one has no threads of its parent's.
pub fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    static POOLS: Mutex<Option<Pools>> = Mutex::new(None);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    let key = (std::process::id(), threads.max(1));
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let pool = ThreadPoolBuilder::new().num_threads(key.1).build();
    let pool = Arc::new(pool.map_err(|error| PyRuntimeError::new_err(format!("the threads could not be started: {error}")))?);
    pools.insert(key, pool.clone());
    Ok(pool)
}

/// An error of the library as Python has it.
pub fn refused(error: Error) -> PyErr {
    match error {
        Error::Io { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
