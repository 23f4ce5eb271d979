#![no_main]
use kernelet::model::range::Range;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(range) = Range::from_bytes(bytes, "fuzz") {
        let _ = range.to_scale(range.dim());
    }
});
