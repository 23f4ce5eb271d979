//! The kernels, compiled for every generation of cards by `cuda/compile.py` and checked in with the hash of their sources.
use std::io::Read;

use crate::{Error, Result};

/// Generations (ten times the major number of the compute capability, plus the minor) and their machine code, compressed.
const COMPILED: [(i32, &[u8]); 6] = [
    (80, include_bytes!("kernels/sm_80.z")),
    (86, include_bytes!("kernels/sm_86.z")),
    (89, include_bytes!("kernels/sm_89.z")),
    (90, include_bytes!("kernels/sm_90.z")),
    (100, include_bytes!("kernels/sm_100.z")),
    (120, include_bytes!("kernels/sm_120.z")),
];

/// For cards that are newer than all of these: text that the driver compiles, which takes it seconds.
const PORTABLE: &[u8] = include_bytes!("kernels/compute_80.z");

/// The oldest generation.
#[cfg(feature = "cuda")]
pub(super) const OLDEST: i32 = 80;

/// Code for a card of this generation: the newest of the same major number that is no newer, else the portable text.
pub(super) fn code_for(generation: i32) -> Result<Vec<u8>> {
    let fits = |of: i32| of / 10 == generation / 10 && of <= generation;
    let packed = COMPILED.iter().rev().find(|(of, _)| fits(*of)).map_or(PORTABLE, |(_, code)| code);
    let mut code = vec![];
    let unpacked = flate2::read::ZlibDecoder::new(packed).read_to_end(&mut code);
    unpacked.map(|_| code).map_err(|error| Error::device(format!("the kernels of the GPU cannot be unpacked: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn compiled_kernels_are_those_of_the_sources() {
        let prediction = [include_str!("cuda/halves.cu"), include_str!("cuda/predict.cu"), include_str!("cuda/small.cu")];
        let training = [
            include_str!("cuda/products.cu"),
            include_str!("cuda/losses.cu"),
            include_str!("cuda/newton.cu"),
            include_str!("cuda/descent.cu"),
        ];
        let sources = [&prediction[..], &training].concat();
        let hash: String = Sha256::digest(sources.concat()).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hash,
            include_str!("kernels/sources.sha256").trim(),
            "the kernels have changed: run crates/kernelet/src/device/cuda/compile.py"
        );
    }

    #[test]
    fn every_generation_has_code() {
        for generation in [80, 86, 87, 89, 90, 100, 103, 120, 121] {
            let code = code_for(generation).unwrap();
            assert!(code.starts_with(b"\x7fELF"), "{generation}");
        }
        for newer in [110, 130] {
            let text = code_for(newer).unwrap();
            assert!(
                text.windows(17).any(|part| part == b".target compute_80" as &[u8] || part == b".target sm_80\n\n.a")
                    || text.starts_with(b"//"),
                "{newer}"
            );
        }
    }

    #[test]
    fn all_of_them_are_small() {
        let bytes: usize = COMPILED.iter().map(|(_, code)| code.len()).sum::<usize>() + PORTABLE.len();
        assert!(bytes < 2_000_000, "{bytes}");
    }
}
