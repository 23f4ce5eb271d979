//! `devices` and `--device`. What a card computes is tested by `make test-gpu`; here is what everybody sees, with a card and without.
use crate::program::{Folder, run, two_classes};

#[test]
fn devices_are_listed_or_a_sentence_says_why_there_are_none() {
    let json = run(&["devices", "--json"]).json();
    let devices = json["devices"].as_array().unwrap();
    assert_eq!(devices.is_empty(), json["note"].is_string(), "{json}");
    let ran = run(&["devices"]).succeeded();
    match devices.first() {
        None => assert!(ran.out.is_empty() && ran.err.contains(json["note"].as_str().unwrap()), "{} {}", ran.out, ran.err),
        Some(card) => assert!(ran.out.contains(card["name"].as_str().unwrap()) && ran.out.contains("gpu:0"), "{}", ran.out),
    }
}

#[test]
fn the_processor_is_a_device_and_unknown_ones_are_wrong_usage() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let plain = run(&["predict", &model, &data]).succeeded();
    assert_eq!(run(&["predict", &model, &data, "--device", "cpu"]).succeeded().out, plain.out);
    run(&["evaluate", &model, &data, "--device", "cpu"]).succeeded();
    for command in ["predict", "evaluate"] {
        run(&[command, &model, &data, "--device", "tpu"]).failed(2, "device is tpu, but must be cpu, gpu or gpu:N");
        run(&[command, &model, &data, "--device", "gpu:999"]).failed(1, "");
    }
}

#[test]
fn what_a_card_cannot_compress_is_wrong_usage_before_it_is_looked_for() {
    let folder = Folder::new();
    let (model, data, small) = (folder.model(), folder.path("train.svm"), folder.path("small"));
    let compress = |flags: &[&str]| run(&[&["compress", &model, "-o", &small, "--vectors", "3"][..], flags].concat());
    compress(&["--device", "tpu", "--data", &data]).failed(2, "device is tpu, but must be cpu, gpu or gpu:N");
    compress(&["--device", "gpu"]).failed(2, "--device gpu trains machines on rows, and needs some");
    compress(&["--device", "gpu", "--data", &data, "--method", "pursuit"])
        .failed(2, "--device is not used by the --method pursuit, only by auto");
    compress(&["--device", "gpu:999", "--data", &data]).failed(1, "");
    compress(&["--device", "cpu", "--data", &data, "--effort", "quick"]).succeeded();
}

#[test]
fn what_a_card_cannot_train_is_wrong_usage_before_it_is_looked_for() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model][..], flags].concat());
    train(&["--device", "gpu"]).failed(2, "--device is not used by svc");
    train(&["--vectors", "5", "--device", "tpu"]).failed(2, "device is tpu, but must be cpu, gpu or gpu:N");
    train(&["--vectors", "5", "--device", "gpu", "--blocks", "never"]).failed(2, "leave out --blocks never");
    train(&["--vectors", "5", "--device", "gpu", "--kernel", "matern52"]).failed(2, "--device gpu trains with the gaussian kernel alone");
    train(&["--vectors", "5", "--device", "gpu", "--probability", "sigmoid"]).failed(2, "--device gpu is not possible here");
    train(&["--vectors", "5", "--gamma", "1", "--device", "gpu:999"]).failed(1, "");
    train(&["--vectors", "5", "--gamma", "1", "--device", "cpu"]).succeeded();
}
