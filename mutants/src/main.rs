//! Mutation testing in one build: which lines could change without a test that fails?
//!
//! `mutants FILE .. -- FILTER ..` copies the workspace to `target/mutants`, puts a switch around every operator, negation and function body
//! of the files ([`switch`]), compiles the unit tests of the library once, and runs those that the filters name once for each mutant, chosen
//! by `KERNELET_MUTANT`. The operators and return values are those of cargo-mutants, which compiles anew for each mutant: minutes here.
//!
//! A mutant is caught when a test fails, or none ends in time; the others are printed. Mutants that do not compile are left out.
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

mod switch;
use switch::{Mutant, switch};

type Failure = Box<dyn std::error::Error>;

/// A mutant has five times as long as the tests without one, at least this.
const LEAST_SECONDS: u64 = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (files, filters) = match arguments.iter().position(|a| a == "--") {
        Some(at) if at > 0 => (&arguments[..at], &arguments[at + 1..]),
        _ => {
            eprintln!("usage: mutants FILE .. -- TEST-FILTER ..   (MUTANTS=K: every K-th mutant only)");
            return ExitCode::from(2);
        }
    };
    match run(files, filters) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(files: &[String], filters: &[String]) -> Result<(), Failure> {
    let root = env::current_dir()?;
    let copy = root.join("target/mutants");
    copy_sources(&root, &copy)?;
    let mut excluded = BTreeSet::new();
    let (tests, mutants) = loop {
        let mutants = write_switched(&root, &copy, files, &excluded)?;
        match compile(&root, &copy, files)? {
            Ok(tests) => break (tests, mutants),
            Err(broken) if broken.is_empty() => return Err("the switched sources do not compile".into()),
            Err(broken) => {
                eprintln!("{} mutants do not compile and are left out", broken.len());
                excluded.extend(broken);
            }
        }
    };
    let every: usize = env::var("MUTANTS").ok().and_then(|k| k.parse().ok()).unwrap_or(1);
    let chosen: Vec<&Mutant> = mutants.iter().filter(|m| !excluded.contains(&m.id)).step_by(every).collect();
    let crate_folder = copy.join("crates/kernelet");
    let started = Instant::now();
    if !passes(&tests, &crate_folder, filters, 0, Duration::from_secs(600))? {
        return Err("the tests fail without a mutant".into());
    }
    let limit = Duration::from_secs(LEAST_SECONDS).max(started.elapsed() * 5);
    println!("{} of {} mutants, {:.1} s a run without one", chosen.len(), mutants.len(), started.elapsed().as_secs_f64());
    let missed = survivors(&tests, &crate_folder, filters, &chosen, limit)?;
    for mutant in &missed {
        println!("missed  {}:{}  {}", mutant.file, mutant.line, mutant.what);
    }
    let caught = chosen.len() - missed.len();
    println!("{caught} of {} mutants caught, {:.1} %", chosen.len(), 100.0 * caught as f64 / chosen.len().max(1) as f64);
    Ok(())
}

/// The mutants that all tests pass with, in their order; as many run at a time as there are cores.
fn survivors<'a>(
    tests: &Path,
    folder: &Path,
    filters: &[String],
    chosen: &[&'a Mutant],
    limit: Duration,
) -> Result<Vec<&'a Mutant>, Failure> {
    let workers = thread::available_parallelism()?.get();
    let parts: Vec<Vec<&Mutant>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|w| {
                scope.spawn(move || {
                    let mine = chosen.iter().skip(w).step_by(workers);
                    mine.filter(|m| passes(tests, folder, filters, m.id, limit).unwrap_or(false)).copied().collect()
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or_default()).collect()
    });
    let mut missed = parts.concat();
    missed.sort_by_key(|m| m.id);
    Ok(missed)
}

fn passes(tests: &Path, folder: &Path, filters: &[String], id: u32, limit: Duration) -> Result<bool, Failure> {
    let mut child = Command::new(tests)
        .args(filters)
        .args(["--quiet", "--test-threads", "1"])
        .env("KERNELET_MUTANT", id.to_string())
        .env("RAYON_NUM_THREADS", "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Copies what git tracks, with the times of the files, so that nothing is compiled anew without need.
fn copy_sources(root: &Path, copy: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(copy) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output()?;
    for name in String::from_utf8(listed.stdout)?.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root.join(name), copy.join(name));
        if !from.is_file() {
            continue;
        }
        fs::create_dir_all(to.parent().unwrap_or(copy))?;
        // Switched sources have warnings; flags for the compiler would compile all dependencies anew.
        match name {
            "Cargo.toml" => fs::write(&to, fs::read_to_string(&from)?.replace("= \"deny\"", "= \"allow\""))?,
            _ => drop(fs::copy(&from, &to)?),
        }
        let time = fs::metadata(&from)?.modified()?;
        fs::File::options().write(true).open(&to)?.set_modified(time)?;
    }
    Ok(())
}

fn write_switched(root: &Path, copy: &Path, files: &[String], excluded: &BTreeSet<u32>) -> Result<Vec<Mutant>, Failure> {
    let mut mutants = vec![];
    for file in files {
        let source = fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        fs::write(copy.join(file), switch(file, &source, &mut mutants, excluded)?)?;
    }
    let entry = root.join("crates/kernelet/src/lib.rs");
    fs::write(copy.join("crates/kernelet/src/lib.rs"), fs::read_to_string(entry)? + switch::ACTIVE)?;
    Ok(mutants)
}

/// The test program, or the mutants on whose lines the compiler found errors.
fn compile(root: &Path, copy: &Path, files: &[String]) -> Result<Result<PathBuf, BTreeSet<u32>>, Failure> {
    let output = Command::new("cargo")
        .args(["test", "-p", "kernelet", "--lib", "--no-run", "--message-format=json"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", root.join("target"))
        .stderr(Stdio::inherit())
        .output()?;
    let mut broken = BTreeSet::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        if let Some(program) = message["executable"].as_str()
            && message["target"]["name"] == "kernelet"
        {
            return Ok(Ok(program.into()));
        }
        if message["message"]["level"] == "error" {
            for span in message["message"]["spans"].as_array().into_iter().flatten() {
                if let (Some(name), Some(line)) = (span["file_name"].as_str(), span["line_start"].as_u64())
                    && files.iter().any(|file| file == name)
                {
                    broken.extend(switch::mutant_at(&fs::read_to_string(copy.join(name))?, line as usize));
                }
            }
        }
    }
    Ok(Err(broken))
}
