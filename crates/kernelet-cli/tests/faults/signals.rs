//! SIGINT, SIGTERM and SIGKILL at random moments of every long command: the exit status says what happened, old files are whole, nothing is left.
use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    Moments, ended_within,
    program::{Folder, command, hard, run, two_classes},
    times,
};

#[test]
fn every_long_command_ends_on_a_signal_and_leaves_whole_files() {
    let folder = Folder::new();
    let (data, small) = (folder.file("a.svm", hard(400)), folder.file("b.svm", two_classes(100)));
    let (model, output, many) = (folder.path("model"), folder.path("output"), folder.file("many.svm", hard(5_000)));
    run(&["train", &data, "-o", &model, "--gamma", "2", "--c", "10"]).succeeded();
    let commands: [&[&str]; 7] = [
        &["train", &data, "-o", &output, "--gamma", "2", "--c", "1e4", "--tolerance", "1e-6"],
        &["train", &data, "-o", &output, "--gamma", "2", "--vectors", "20"],
        &["train", &data, "-o", &output, "--tune", "--folds", "3"],
        &["train", &data, "-o", &output, "--learner", "rvm", "--gamma", "2"],
        &["compress", &model, "-o", &output, "--data", &data, "--vectors", "20"],
        &["predict", &model, &many, "-o", &output],
        &["report", &model, "--data", &small, "-o", &output],
    ];
    let usual: Vec<Duration> = commands
        .iter()
        .map(|arguments| {
            let clock = Instant::now();
            run(arguments).succeeded();
            clock.elapsed()
        })
        .collect();
    fs::remove_file(&output).unwrap();
    let before = folder.names();
    let mut moments = Moments(3);
    for turn in 0..times(7, 300) {
        let (which, signal) = (turn % commands.len(), ["INT", "TERM", "KILL"][turn % 3]);
        fs::write(&output, "old").unwrap();
        let mut child = command(commands[which]).spawn().unwrap();
        let done = ended_within(&mut child, usual[which].mul_f64(moments.next()));
        if !done {
            assert!(Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success());
        }
        // A first Ctrl-C asks; nothing may take longer than the run itself would have, with room for a busy machine.
        let ended = ended_within(&mut child, 4 * usual[which] + Duration::from_secs(30));
        assert!(ended, "{:?} hangs after SIG{signal}", commands[which]);
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let found = fs::read(&output).unwrap();
        match (ended.status.code(), signal) {
            (Some(0), _) => assert!(found != b"old", "{:?}: done, but nothing is written", commands[which]),
            (Some(130), "INT" | "TERM") => assert!(said.contains("error: interrupted; "), "{said}"),
            (None, "TERM" | "KILL") => {}
            (code, _) => panic!("{:?} SIG{signal}: {code:?} {said}", commands[which]),
        }
        // What is kept is a whole file.
        if found != b"old" && which < 5 {
            run(&["inspect", &output]).succeeded();
        }
        fs::remove_file(&output).unwrap();
        run(&["predict", &model, &small, "-o", &output]).succeeded();
        fs::remove_file(&output).unwrap();
        assert_eq!(folder.names(), before, "files are left by {:?}", commands[which]);
    }
    println!("{} signals", times(7, 300));
}
