//! Long computations while Python stays responsive: other threads run, Ctrl-C is handled, progress is reported.
use std::{
    any::Any,
    cell::RefCell,
    collections::HashMap,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use kernelet::{Error, watch::Watch};
use pyo3::{
    exceptions::{PyOSError, PyRuntimeError, PyValueError},
    prelude::*,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often Python is asked whether Ctrl-C was pressed.
const TURN: Duration = Duration::from_millis(50);

/// How long work has to end after Ctrl-C before it is left alone.
const PATIENCE: Duration = Duration::from_millis(400);

/// Pools by process and number of threads.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// One report of progress: stage, done, total, figure.
type Update = (String, u64, Option<u64>, Option<f64>);

/// Does the work on a pool of so many threads, without holding Python's lock. Ctrl-C cancels it and is then raised, soon in any case: work that has not
/// ended by then finishes in the background, and its result is dropped.
pub fn interruptible<T: Send + 'static>(
    py: Python,
    threads: usize,
    report: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    interruptible_on(py, pool(threads)?, report, work, || forget_pool(threads))
}

/// The same on threads of its own, for work that waits for Python: what Python does meanwhile may need the threads of others.
pub fn interruptible_apart<T: Send + 'static>(
    py: Python,
    threads: usize,
    report: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    interruptible_on(py, new_pool(threads)?, report, work, || ())
}

fn interruptible_on<T: Send + 'static>(
    py: Python,
    pool: Arc<ThreadPool>,
    report: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
    left_alone: impl FnOnce(),
) -> PyResult<T> {
    let cancel = Arc::new(AtomicBool::new(false));
    let latest: Arc<Mutex<Option<Update>>> = Arc::default();
    let (sender, receiver) = mpsc::channel();
    let (flag, update) = (cancel.clone(), report.is_some().then(|| latest.clone()));
    let started = thread::Builder::new().spawn(move || {
        let mut watch = Watch::none().with_cancel(flag);
        if let Some(update) = update {
            watch = watch.with_reporter(move |p| {
                *update.lock().unwrap_or_else(PoisonError::into_inner) = Some((p.stage.to_string(), p.done, p.total, p.figure));
            });
        }
        let _ = sender.send(caught(|| pool.install(|| work(&watch))));
    });
    started.map_err(not_started)?;
    let mut interrupt = None;
    let listen = &mut || {
        let update = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        let heard = Python::attach(|py| match (&report, update) {
            (Some(report), Some(update)) => report.call1(py, update).and_then(|_| py.check_signals()),
            _ => py.check_signals(),
        });
        if let Err(error) = heard {
            interrupt.get_or_insert((error, Instant::now()));
            cancel.store(true, Ordering::Relaxed);
        }
        interrupt.as_ref().is_some_and(|(_, since)| since.elapsed() > PATIENCE)
    };
    let done = py.detach(move || {
        loop {
            match receiver.recv_timeout(TURN) {
                Err(RecvTimeoutError::Timeout) if listen() => break None,
                Err(RecvTimeoutError::Timeout) => {}
                ended => {
                    listen();
                    break ended.ok();
                }
            }
        }
    });
    if let Some((error, _)) = interrupt {
        if done.is_none() {
            left_alone();
        }
        return Err(error);
    }
    done.unwrap_or_else(|| Err("the work ended without a result".into())).map_err(internal)
}

/// Does work at the border of Python. A panic, which would be a fault of this package, becomes a RuntimeError.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    caught(work).unwrap_or_else(|reason| Err(internal(reason)))
}

/// The result of work, or the message of its panic. What it borrowed is not used after a panic, or holds no state that one could break.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let message = |panic: Box<dyn Any + Send>| match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(message), _) => message.clone(),
        (_, Some(message)) => message.to_string(),
        _ => "no reason is known".into(),
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(message)
}

fn internal(reason: String) -> PyErr {
    PyRuntimeError::new_err(format!("an internal error of kernelet stopped the work ({reason}); please report it"))
}

fn not_started(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(format!("the threads could not be started: {error}"))
}

/// The pools made so far.
fn pools() -> MutexGuard<'static, Pools> {
    static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Mutex::default);
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next work on so many threads has new ones: those there are still busy with work that nobody waits for.
fn forget_pool(threads: usize) {
    pools().remove(&(std::process::id(), threads.max(1)));
}

/// The pool with so many threads, made once in each process: a forked one has no threads of its parent's.
pub fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let mut pools = pools();
    let key = (std::process::id(), threads.max(1));
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let pool = new_pool(threads)?;
    pools.insert(key, pool.clone());
    Ok(pool)
}

fn new_pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    ThreadPoolBuilder::new().num_threads(threads.max(1)).build().map(Arc::new).map_err(not_started)
}

/// A pool, the process that made it, and its threads.
type OwnPool = ((u32, usize), Arc<ThreadPool>);

/// The pool of the calling thread alone, so that several of them work side by side.
pub fn own_pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    thread_local!(static OWN: RefCell<Option<OwnPool>> = const { RefCell::new(None) });
    let key = (std::process::id(), threads.max(1));
    OWN.with_borrow_mut(|own| match own {
        Some((made, pool)) if *made == key => Ok(pool.clone()),
        _ => {
            let pool = new_pool(threads)?;
            *own = Some((key, pool.clone()));
            Ok(pool)
        }
    })
}

/// An error of the library as Python has it.
pub fn refused(error: Error) -> PyErr {
    match error {
        Error::Io { .. } => PyOSError::new_err(error.to_string()),
        // Names of settings stay marked, for the names of parameters to take their place.
        _ => PyValueError::new_err(error.spelled(|name| format!("`{name}`"))),
    }
}
