//! SIGKILL at random moments: files are whole, nothing is left behind, and a search goes on where its last checkpoint was.
use std::{
    fs,
    time::{Duration, Instant},
};

use crate::{
    Moments, ended_within,
    program::{Folder, command, hard, run},
    times,
};

/// Runs until it is done, killed at random moments until `kills` are reached; how often it was killed, and how often it resumed.
fn finish(arguments: &[&str], usual: Duration, moments: &mut Moments, kills: usize) -> (usize, usize) {
    let (mut killed, mut resumed) = (0, 0);
    loop {
        let mut child = command(arguments).spawn().unwrap();
        let last = killed >= kills || ended_within(&mut child, usual.mul_f64(0.8 * moments.next()));
        if !last {
            child.kill().unwrap();
            killed += 1;
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        resumed += usize::from(said.contains("resumed after"));
        if output.status.success() {
            return (killed, resumed);
        }
        assert!(output.status.code().is_none(), "{said}");
    }
}

#[test]
fn a_search_that_is_killed_ends_with_the_same_bits_as_one_that_is_not() {
    let folder = Folder::new();
    let (data, whole, model, kept) =
        (folder.file("a.svm", hard(3000)), folder.path("whole"), folder.path("model"), folder.path("checkpoint"));
    let forms: [&[&str]; 4] = [
        &["--gamma", "1", "--c", "10", "--iterations", "400"],
        &["--gamma", "1", "--c", "10", "--loss", "hinge", "--iterations", "40"],
        &["--learner", "logistic", "--gamma", "1", "--c", "10", "--iterations", "150"],
        &["--learner", "ridge", "--gamma", "1", "--lambda", "0.01", "--iterations", "400"],
    ];
    let (wanted, mut moments) = (times(8, 200), Moments(1));
    let (mut killed, mut resumed, mut turn) = (0, 0, 0);
    while killed < wanted {
        let form = [&["train", &data, "--vectors", "16", "--threads", "1"], forms[turn % forms.len()]].concat();
        turn += 1;
        let clock = Instant::now();
        run(&[&form[..], &["-o", &whole]].concat()).succeeded();
        let usual = clock.elapsed();
        let most = (wanted - killed).min(times(2, 10));
        let (more, again) = finish(&[&form[..], &["-o", &model, "--checkpoint", &kept]].concat(), usual, &mut moments, most);
        (killed, resumed) = (killed + more, resumed + again);
        assert!(fs::read(&model).unwrap() == fs::read(&whole).unwrap(), "{form:?}: not the same bits");
        run(&["inspect", &kept]).succeeded();
        fs::remove_file(&kept).unwrap();
        fs::remove_file(&model).unwrap();
        assert_eq!(folder.names(), ["a.svm", "whole"], "temporary files are left");
    }
    println!("{killed} kills, {resumed} runs resumed of {turn}");
    // A run that is killed does not live to say that it resumed.
    assert!(resumed > 0, "{turn} runs ended, but none had resumed");
}
