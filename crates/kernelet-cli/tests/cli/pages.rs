//! The examples of the tutorials, of the guides and of docs/deploy.md, run as a reader would run them.
//!
//! Blocks ```` ```LANGUAGE NAME ```` become files; blocks ```` ```sh ```` are run by bash in one folder, in order; a block ```` ```text ````
//! after one must be what it printed. A word after `sh` names a tool without which the block is left out with a message.
use std::{collections::HashSet, fs, path::Path, process::Command};

use crate::program::Folder;

/// A fenced block: the words of its first line, and its content.
struct Block {
    words: Vec<String>,
    content: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![];
    let mut open = false;
    for line in text.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(words), false) => {
                blocks.push(Block { words: words.split_whitespace().map(String::from).collect(), content: String::new() })
            }
            (None, true) => blocks.last_mut().unwrap().content += &format!("{line}\n"),
            _ => {}
        }
        open ^= line.starts_with("```");
    }
    blocks
}

/// The Python of the peers where there is one, else that of the system.
fn python() -> String {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers-venv/bin/python");
    match (std::env::var("KERNELET_PYTHON"), peers.exists()) {
        (Ok(python), _) => python,
        (Err(_), true) => peers.to_str().unwrap().into(),
        (Err(_), false) => "python3".into(),
    }
}

fn there_is(tool: &str) -> bool {
    let mut command = match tool {
        "onnxruntime" => Command::new(python()),
        tool => Command::new(tool),
    };
    match tool {
        "onnxruntime" => command.args(["-c", "import onnxruntime"]),
        _ => command.arg("--version"),
    };
    command.output().is_ok_and(|output| tool != "onnxruntime" || output.status.success())
}

fn run(folder: &Folder, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_kernelet")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let script = format!("set -e\npython() {{ '{}' \"$@\"; }}\n{script}", python());
    let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path(".")).env("PATH", path).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{script}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Runs pages in one folder, one after another.
struct Reader {
    folder: Folder,
    /// Blocks of earlier pages, which are not run again.
    done: HashSet<String>,
    left_out: Vec<String>,
}

impl Reader {
    fn new() -> Self {
        Reader { folder: Folder::new(), done: HashSet::new(), left_out: vec![] }
    }

    /// How many blocks of a page ran.
    fn run(&mut self, page: &str) -> usize {
        if !there_is("bash") {
            self.left_out.push(format!("bash is not installed: the examples of docs/{page} are not run"));
            return 0;
        }
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page)).unwrap();
        let (mut printed, mut ran) = (None, 0);
        for block in blocks(&text) {
            let words: Vec<&str> = block.words.iter().map(String::as_str).collect();
            match words[..] {
                ["sh", ref tools @ ..] => {
                    let missing: Vec<&str> = tools.iter().copied().filter(|tool| !there_is(tool)).collect();
                    let runs = missing.is_empty() && !self.done.contains(&block.content);
                    printed = runs.then(|| run(&self.folder, &block.content));
                    ran += usize::from(runs);
                    self.left_out
                        .extend(missing.iter().map(|tool| format!("{tool} is not installed: an example of docs/{page} is left out")));
                }
                ["text"] => {
                    if let Some(printed) = printed.take() {
                        assert_eq!(printed, block.content, "{page}");
                    }
                }
                [_, name] => drop(self.folder.file(name, &block.content)),
                _ => {}
            }
        }
        self.done.extend(blocks(&text).into_iter().map(|block| block.content));
        ran
    }
}

#[test]
fn the_examples_of_deploy_run_and_print_what_stands_there() {
    let mut reader = Reader::new();
    let ran = reader.run("deploy.md");
    reader.left_out.iter().for_each(|note| println!("{note}"));
    assert!(ran >= 4 || !there_is("bash"), "{ran}");
}

#[test]
fn the_guides_run_and_print_what_stands_there() {
    let mut reader = Reader::new();
    let guides = ["number-of-vectors", "tune", "probabilities", "promise", "novelty", "features", "long-training", "own-kernel"];
    for page in guides {
        let ran = reader.run(&format!("howto/{page}.md"));
        assert!(ran >= 1 || !there_is("bash"), "{page}: {ran}");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/howto");
    assert_eq!(fs::read_dir(folder).unwrap().count(), guides.len(), "a guide is not run");
    reader.left_out.iter().for_each(|note| println!("{note}"));
}

#[test]
fn the_tutorials_run_and_print_what_stands_there() {
    let mut reader = Reader::new();
    for page in ["first-model", "shrink-an-svm", "device", "table"] {
        let ran = reader.run(&format!("tutorials/{page}.md"));
        assert!(ran >= 3 || !there_is("bash"), "{page}: {ran}");
    }
    reader.left_out.iter().for_each(|note| println!("{note}"));
}
