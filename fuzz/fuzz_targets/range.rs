//! Range files of svm-scale, and the scale files of e1071.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kernelet_fuzz::scaling(bytes));
