//! Caches of rows with changed bytes.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kernelet_fuzz::cache(bytes));
