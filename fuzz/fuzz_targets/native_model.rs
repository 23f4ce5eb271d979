//! Native models, and cascades of them.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    kernelet_fuzz::machine(bytes);
    kernelet_fuzz::cascade(bytes);
});
