//! Files that cannot be written or read: a full disk, a read-only folder, closed descriptors, input that ends early. Each is a sentence and exit
//! status 1, and files that were there before are untouched.
use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use crate::{
    Moments,
    program::{Folder, Ran, command, hard, run, two_classes},
    times,
};

/// Runs a shell line with the program as `$0`, so that limits and redirections of the shell apply.
fn shell(line: &str) -> Ran {
    let output = Command::new("sh").args(["-c", line, env!("CARGO_BIN_EXE_kernelet")]).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Every command that writes a file, as a shell line with FILE for the file.
fn writers(folder: &Folder) -> Vec<String> {
    let (data, model) = (folder.file("d.svm", two_classes(300)), folder.model());
    [
        format!("train {data} -o FILE --gamma 0.5"),
        format!("train {data} -o {} --gamma 0.5 --vectors 4 --iterations 5 --checkpoint FILE", folder.path("m2")),
        format!("compress {model} -o FILE --vectors 3"),
        format!("predict {model} {data} -o FILE"),
        format!("export {model} -o FILE --to libsvm"),
        format!("export {model} -o FILE --to onnx"),
        format!("export {model} -o FILE --to json"),
        format!("export {model} -o FILE.c --to c --force"),
        format!("report {model} --data {data} -o FILE"),
    ]
    .map(|line| format!("\"$0\" {line}"))
    .to_vec()
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new();
    let (lines, mut moments) = (writers(&folder), Moments(5));
    let file = folder.file("kept", "old");
    // The header belongs to the source: both are written or none.
    let source = ["kept.c", "kept.h"].map(|name| folder.file(name, "old"));
    let before = folder.names();
    for turn in 0..times(9, 180) {
        let line = lines[turn % lines.len()].replace("FILE", &file);
        // So many blocks of 512 bytes may be written; of that the signal is ignored, and writing fails as on a full disk.
        let blocks = (moments.next() * 1.9) as usize;
        let ran = shell(&format!("ulimit -f {blocks}; trap '' XFSZ; {line}"));
        let is_old = |file: &String| fs::read_to_string(file).is_ok_and(|text| text == "old");
        let untouched = if line.contains("--to c") { is_old(&source[0]) } else { is_old(&file) };
        assert_eq!(is_old(&source[0]), is_old(&source[1]), "{line}");
        // A checkpoint that cannot be written does not end the run; it is noted. Small files fit.
        match ran.code {
            Some(0) if line.contains("--checkpoint") => assert!(!untouched || ran.err.contains("no checkpoint"), "{line} {ran:?}"),
            Some(0) => assert!(!untouched, "{line} {ran:?}"),
            code => assert!(code == Some(1) && untouched && ran.err.contains("error: "), "{line} {ran:?}"),
        }
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        source.iter().chain([&file]).for_each(|file| fs::write(file, "old").unwrap());
        let _ = fs::remove_file(folder.path("m2"));
        assert_eq!(folder.names(), before, "{line}");
    }
    println!("{} full disks", times(9, 180));
}

#[test]
fn a_missing_or_read_only_folder_is_a_sentence() {
    let folder = Folder::new();
    let lines = writers(&folder);
    for line in &lines {
        let ran = shell(&line.replace("FILE", &folder.path("none/file")));
        assert!(ran.code == Some(1) && ran.err.contains("does not exist"), "{line} {ran:?}");
        let ran = shell(&line.replace("FILE", "/proc/kernelet-file"));
        assert!(ran.code == Some(1) && ran.err.contains("error: ") && !ran.err.contains("panicked"), "{line} {ran:?}");
    }
}

#[test]
fn closed_descriptors_are_no_panic() {
    let folder = Folder::new();
    let (data, model) = (folder.file("d.svm", two_classes(60)), folder.model());
    for command in [format!("predict {model} {data}"), format!("evaluate {model} {data}"), format!("inspect {model}")] {
        for closed in [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "> /dev/full"] {
            let ran = shell(&format!("\"$0\" {command} {closed}"));
            assert!(matches!(ran.code, Some(0 | 1)) && !ran.err.contains("panicked"), "{command} {closed} {ran:?}");
            // What cannot be printed is not called done.
            assert!(closed != "> /dev/full" || ran.code == Some(1), "{command} {ran:?}");
        }
    }
}

#[test]
fn input_that_ends_anywhere_is_a_sentence_or_shorter_data() {
    let folder = Folder::new();
    let (text, model) = (two_classes(40), folder.model());
    let native = fs::read(&model).unwrap();
    let mut moments = Moments(9);
    for _ in 0..times(15, 300) {
        let end = (moments.next() * text.len() as f64) as usize;
        let mut child = command(&["predict", &model, "-", "--format", "libsvm"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // In two pieces: the reader sees short reads.
        let _ = input.write_all(&text.as_bytes()[..end / 2]);
        let _ = input.write_all(&text.as_bytes()[end / 2..end]);
        drop(input);
        let output = child.wait_with_output().unwrap();
        let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        let rows = text.as_bytes()[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        assert!(output.status.code() == Some(1) || lines == rows, "{end}: {lines} lines of {rows} rows");
        let cut = folder.file("cut", &native[..(moments.next() * native.len() as f64) as usize]);
        run(&["inspect", &cut]).failed(1, "cut");
        let mut damaged = native.clone();
        let place = (moments.next() * native.len() as f64) as usize;
        damaged[place] ^= 1 << ((moments.next() * 8.0) as u32);
        let ran = run(&["predict", &folder.file("damaged", &damaged), &folder.file("d.svm", &text)]);
        assert!(matches!(ran.code, Some(0 | 1)) && !ran.err.contains("panicked"), "{place} {ran:?}");
    }
    println!("{} inputs that ended early or were damaged", 3 * times(15, 300));
}

#[test]
fn two_runs_that_write_the_same_file_leave_one_of_both_whole() {
    let folder = Folder::new();
    let (data, other) = (folder.file("a.svm", two_classes(200)), folder.file("b.svm", hard(200)));
    let [one, two, both] = ["one", "two", "both"].map(|name| folder.path(name));
    run(&["train", &data, "-o", &one, "--gamma", "0.5"]).succeeded();
    run(&["train", &other, "-o", &two, "--gamma", "0.5"]).succeeded();
    for _ in 0..times(3, 50) {
        let start = |data: &str| command(&["train", data, "-o", &both, "--gamma", "0.5"]).spawn().unwrap();
        let children = [start(&data), start(&other)];
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        let found = fs::read(&both).unwrap();
        assert!(found == fs::read(&one).unwrap() || found == fs::read(&two).unwrap());
    }
    assert_eq!(folder.names(), ["a.svm", "b.svm", "both", "one", "two"]);
}
