//! Models that the R package e1071 trains, with the scale files of its `write.svm`.
use std::{fs, process::Command};

use crate::program::{Folder, run};

/// What `write.svm` wrote for a regression on three rows, by hand.
const MODEL: &str = "svm_type epsilon_svr\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 0 0\nnr_sv 0 0\nSV\n1 1:0.5 2:1 \n-1 1:-1 2:0.5 \n";

#[test]
fn a_model_of_e1071_gets_its_scale_files() {
    let folder = Folder::new();
    let (svm, scale, target) = (folder.file("m.svm", MODEL), folder.file("m.scale", "10 2\n-1 0.5\n"), folder.file("m.yscale", "100 5\n"));
    let (model, rows) = (folder.path("m.model"), folder.file("rows.csv", "a,b,y\n12,-1.5,1\n"));
    run(&["export", &svm, "-o", &model, "--to", "native", "--scale-file", &scale, "--target-scale-file", &target]).succeeded();
    // The row is (1, -1) scaled.
    let kernel = |x: f64, y: f64| (-0.5 * ((1.0 - x) * (1.0 - x) + (-1.0 - y) * (-1.0 - y))).exp();
    let want = 100.0 + 5.0 * (kernel(0.5, 1.0) - kernel(-1.0, 0.5) - 0.25);
    let have: f64 = run(&["predict", &model, &rows]).succeeded().out.lines().last().unwrap().parse().unwrap();
    assert!((have - want).abs() < 1e-9, "{have} {want}");
    let export = |flags: &[&str]| run(&[&["export", &svm, "-o", &folder.path("x"), "--to"], flags].concat());
    export(&["json", "--scale-file", &scale]).failed(2, "--scale-file and --target-scale-file goes with --to native");
    export(&["native", "--scale-file", &target]).failed(1, "the scale file has 1 lines, but the model 2 features");
    export(&["native", "--scale-file", &folder.path("none")]).failed(1, "none");
    assert!(!folder.names().contains(&"x".to_string()));
}

/// docs/r.md's script: R writes a model of its own, kernelet compresses it, and both agree.
#[test]
fn the_script_of_the_page_about_r_runs() {
    let there = |arguments: &[&str]| Command::new("Rscript").args(arguments).output().is_ok_and(|output| output.status.success());
    if !there(&["-e", "library(e1071)"]) {
        println!("R with the package e1071 is not installed: the script of docs/r.md is not run");
        return;
    }
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/r.md")).unwrap();
    let script: String = page.split("```r\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    let folder = Folder::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_kernelet")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output =
        Command::new("Rscript").arg(folder.file("page.R", script)).current_dir(folder.path(".")).env("PATH", path).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let want = page.split("```text\n").nth(1).and_then(|block| block.split("```").next()).unwrap();
    assert_eq!(printed, want);
}
