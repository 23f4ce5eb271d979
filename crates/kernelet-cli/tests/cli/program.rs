//! Runs the program in a folder of its own.
use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

/// A folder that is removed in the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("kernelet-cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// The path of a file that may not be there.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    /// The names of all files, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A model by hand: three features behind a linear map to two numbers.
    pub fn mapped_model(&self) -> String {
        let model = serde_json::json!({
            "format": "kernelet-json", "version": 2, "program": "by hand", "kernel": {"name": "gaussian", "gamma": 0.5}, "dim": 2,
            "decision": {"rule": "sign", "negative": "-1", "positive": "1"}, "offsets": [0.1], "coefficients": [[1.0], [-1.0]],
            "scale": {"shift": null, "factor": [1.0, 2.0, 1.0], "map": [[1.0, 0.0, 0.5], [0.0, 1.0, -1.0]]}, "vectors": [[0.0, 0.0], [1.0, 1.0]],
        });
        self.file("mapped.json", model.to_string())
    }

    /// A model trained on [`two_classes`].
    pub fn model(&self) -> String {
        let (data, model) = (self.file("train.svm", two_classes(60)), self.path("m.model"));
        run(&["train", &data, "-o", &model, "--gamma", "0.5", "--c", "10"]).succeeded();
        model
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Failed with this exit status, nothing on standard output, no panic, and an error that holds these words.
    #[track_caller]
    pub fn failed(self, code: i32, words: &str) -> Self {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        assert!(self.err.contains("error: ") && !self.err.contains("panicked"), "{self:?}");
        assert!(self.err.contains(words), "{words:?} is not in {:?}", self.err);
        self
    }

    /// The JSON object that is all of standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        let value: Value = serde_json::from_str(&self.out).unwrap();
        assert!(value.is_object());
        value
    }

    pub fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kernelet"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn run(arguments: &[&str]) -> Ran {
    run_with_input(arguments, b"")
}

pub fn run_with_input(arguments: &[&str], input: &[u8]) -> Ran {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().unwrap();
    // A run that fails early does not read all of it.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Points on two rings, LIBSVM text, labels -1 and +1.
pub fn two_classes(n: usize) -> String {
    rows(n).map(|(class, x, y)| format!("{} 1:{x} 2:{y}\n", ["-1", "+1"][class % 2])).collect()
}

/// Labels without any pattern, which take long to fit.
pub fn hard(n: usize) -> String {
    let row = |i: usize| {
        let label = (i * i * 7919 + i * 104_729) / 13 % 2;
        let values = (1..6).map(|j| format!(" {j}:{}", ((i * j) as f64 * 0.7).sin()));
        format!("{label}{}\n", values.collect::<String>())
    };
    (0..n).map(row).collect()
}

/// Points on three rings, CSV with a header, labels that are words.
pub fn three_classes(n: usize) -> String {
    let ring =
        |class: usize, x: f64, y: f64| format!("{},{},{}\n", x * class as f64, y * class as f64, ["inner", "middle", "outer"][class]);
    let rows: String = rows(n).enumerate().map(|(i, (_, x, y))| ring(i % 3, x, y)).collect();
    format!("width,height,kind\n{rows}")
}

/// Numbers to predict: CSV without a header, the target last.
pub fn numbers(n: usize) -> String {
    rows(n).map(|(_, x, y)| format!("{x},{y},{}\n", x + y * y)).collect()
}

fn rows(n: usize) -> impl Iterator<Item = (usize, f64, f64)> {
    (0..n).map(|i| {
        let (class, angle) = (i % 2, i as f64 * 2.4);
        let radius = 1.0 + class as f64 + 0.3 * (i as f64 * 1.7).sin();
        (class, radius * angle.cos(), radius * angle.sin())
    })
}
