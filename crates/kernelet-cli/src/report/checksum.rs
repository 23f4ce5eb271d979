//! SHA-256 (FIPS 180-4), so that the reader of a page can tell with `sha256sum` whether a file is the one that was read.
use std::{fs::File, io::Read, path::Path};

const START: [u32; 8] = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// The sum of a file's bytes in hexadecimal digits; none where it cannot be read again, as standard input.
pub fn of_file(path: impl AsRef<Path>) -> Option<String> {
    let path = path.as_ref();
    if !path.is_file() {
        return None;
    }
    of(File::open(path).ok()?)
}

/// The sum of all that a source holds.
pub fn of(mut source: impl Read) -> Option<String> {
    let (mut state, mut block, mut filled, mut bytes) = (START, [0u8; 64], 0, 0u64);
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        let read = source.read(&mut buffer).ok()?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        for &byte in &buffer[..read] {
            block[filled] = byte;
            filled += 1;
            if filled == 64 {
                mix(&mut state, &block);
                filled = 0;
            }
        }
    }
    block[filled] = 0x80;
    block[filled + 1..].fill(0);
    if filled >= 56 {
        mix(&mut state, &block);
        block.fill(0);
    }
    block[56..].copy_from_slice(&(8 * bytes).to_be_bytes());
    mix(&mut state, &block);
    Some(state.iter().map(|word| format!("{word:08x}")).collect())
}

fn mix(state: &mut [u32; 8], block: &[u8; 64]) {
    let constants = constants();
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for i in 16..64 {
        let (a, b) = (words[i - 15], words[i - 2]);
        let early = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let late = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        words[i] = words[i - 16].wrapping_add(early).wrapping_add(words[i - 7]).wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(constants) {
        let turned = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let one = h.wrapping_add(turned).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
        let other = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(other));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *old = old.wrapping_add(new);
    }
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes, by whole numbers alone.
fn constants() -> &'static [u32; 64] {
    static CONSTANTS: std::sync::OnceLock<[u32; 64]> = std::sync::OnceLock::new();
    CONSTANTS.get_or_init(|| {
        let primes = (2u128..).filter(|n| (2..*n).take_while(|k| k * k <= *n).all(|k| n % k != 0));
        let mut constants = [0; 64];
        for (constant, prime) in constants.iter_mut().zip(primes) {
            // The largest r with r^3 <= prime 2^96 is the cube root times 2^32.
            let (mut low, mut high) = (0u128, 1 << 36);
            while high - low > 1 {
                let middle = (low + high) / 2;
                if middle * middle * middle <= prime << 96 { low = middle } else { high = middle }
            }
            *constant = low as u32;
        }
        constants
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_of_the_standard_come_out() {
        let cases = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ];
        for (text, sum) in cases {
            assert_eq!(of(text.as_bytes()).unwrap(), sum);
        }
        let million = vec![b'a'; 1_000_000];
        assert_eq!(of(&million[..]).unwrap(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }

    #[test]
    fn what_is_no_file_has_no_sum() {
        assert_eq!((of_file("-"), of_file("/dev/null")), (None, None));
    }
}
