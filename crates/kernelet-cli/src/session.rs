//! What a run shares: how it talks, its seed and threads, and how it is stopped.
use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kernelet::watch::{Status, Watch};
use serde::Serialize;

use crate::{
    arguments::Everywhere,
    failure::{Failure, Result, flag},
    layout::{plain, plain_lines},
    progress::Bar,
};

/// One run of the program. Results go to standard output, talk to standard error.
pub struct Session {
    /// Seed of everything random.
    pub seed: u64,
    json: bool,
    quiet: bool,
    verbose: bool,
    threads: usize,
    cancel: Arc<AtomicBool>,
}

/// The result of a command: one JSON object, or text for people.
pub trait Answer: Serialize {
    /// The text, with its line ends.
    fn text(&self) -> String;
}

impl Session {
    /// Begins a run and listens for Ctrl-C: the first one asks the work to stop, the second ends the program at once.
    pub fn begin(everywhere: &Everywhere) -> Self {
        let cancel = Arc::new(AtomicBool::new(false));
        let (flag, quiet) = (cancel.clone(), everywhere.quiet);
        // Without a listener Ctrl-C ends the program at once, which is no reason to refuse the work.
        let _ = ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            if !quiet {
                say("stopping; press Ctrl-C again to stop at once");
            }
        });
        let threads = everywhere.threads.map_or(0, usize::from);
        Session { seed: everywhere.seed, json: everywhere.json, quiet, verbose: everywhere.verbose, threads, cancel }
    }

    /// Does the work in a pool of its own with as many threads as asked for.
    pub fn in_pool<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        pool.map_err(|error| Failure::failed(format!("the threads could not be started: {error}")))?.install(work)
    }

    /// Says something that people should know.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            say(&format!("note: {}", text.as_ref()));
        }
    }

    /// Notes of a request, with its settings as flags.
    pub fn notes(&self, notes: &[String]) {
        notes.iter().for_each(|note| self.note(kernelet::spelled(note, flag)));
    }

    /// Says something for people who asked for more.
    pub fn detail(&self, text: impl AsRef<str>) {
        if self.verbose {
            say(text.as_ref());
        }
    }

    /// A watch that shows progress and is cancelled by Ctrl-C.
    pub fn watch(&self) -> Watch<'static> {
        self.watch_keeping(None)
    }

    /// The same for work of which Ctrl-C keeps something: where it takes long, that is said.
    pub fn watch_keeping(&self, kept: Option<&'static str>) -> Watch<'static> {
        let bar = Bar::new(!self.quiet, kept);
        Watch::none().with_cancel(self.cancel.clone()).with_reporter(move |progress| bar.show(progress))
    }

    /// True once Ctrl-C was pressed.
    pub fn interrupted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// An error once Ctrl-C was pressed, for work that has nothing to keep.
    pub fn check_cancelled(&self) -> Result<()> {
        match self.interrupted() {
            true => Err(Failure::Cancelled),
            false => Ok(()),
        }
    }

    /// How the command has ended. One that was interrupted is never done, though Ctrl-C may have come too late to change its result.
    pub fn ended(&self, result: Result<()>) -> Result<()> {
        match (self.interrupted(), result) {
            (false, result) => result,
            (true, Ok(())) => Err(Failure::Kept("the result is complete".into())),
            (true, Err(failure)) => Err(failure.interrupted()),
        }
    }

    /// True when the result is to be JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints the result of the command.
    pub fn answer(&self, answer: &impl Answer) -> Result<()> {
        match self.json {
            false => self.print(&answer.text()),
            true => self.print_json(answer),
        }
    }

    /// Writes one JSON object to standard output.
    pub fn print_json(&self, answer: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string(answer).map_err(|error| Failure::failed(format!("no JSON could be made: {error}")))?;
        write_out(&(json + "\n"))
    }

    /// Prints the result of a command that keeps its work so far when it is interrupted, and says what it has kept.
    pub fn answer_kept(&self, answer: &impl Answer, status: Status, kept: String) -> Result<()> {
        self.answer(answer)?;
        if status == Status::Cancelled { Err(Failure::Kept(kept)) } else { Ok(()) }
    }

    /// Writes lines to standard output.
    pub fn print(&self, text: &str) -> Result<()> {
        write_out(&plain_lines(text))
    }
}

fn write_out(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::of_output)
}

/// A line on standard error; that nobody listens is no error.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", plain(text));
}
