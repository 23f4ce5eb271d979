#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kernelet_fuzz::data(bytes, kernelet::data::read::Format::Csv));
