//! Parquet tables. The decoder of the `parquet` crate panics on some damaged pages, which the reader turns into an error: only a panic that leaves the
//! reader is a finding, so that the fuzzer's own hook, which ends the process at once, is replaced.
#![no_main]
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))),
    |bytes: &[u8]| kernelet_fuzz::data(bytes, kernelet::data::read::Format::Parquet)
);
