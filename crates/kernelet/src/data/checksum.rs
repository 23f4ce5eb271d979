//! SHA-256 as `sha256sum` prints it: is this file the one that was read before?
use std::{
    fmt::{self, Write},
    fs::File,
    io::Read,
    path::Path,
};

use sha2::{Digest, Sha256};

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
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match source.read(&mut buffer).ok()? {
            0 => break,
            read => sum.update(&buffer[..read]),
        }
    }
    Some(hexadecimal(sum))
}

/// The sum of what a value prints for debugging, which distinguishes values to the last bit of their numbers; the text is never held.
pub(crate) fn of_debug(value: &dyn fmt::Debug) -> String {
    struct Sum(Sha256);
    impl Write for Sum {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut sum = Sum(Sha256::new());
    // Printing to a sum cannot fail.
    let _ = write!(sum, "{value:?}");
    hexadecimal(sum.0)
}

fn hexadecimal(sum: Sha256) -> String {
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
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
    fn values_that_differ_in_the_last_bit_have_other_sums() {
        let sums = [vec![0.1, -0.0], vec![0.1, 0.0], vec![f64::from_bits(0.1f64.to_bits() + 1), -0.0], vec![0.1]].map(|v| of_debug(&v));
        assert!((0..4).all(|i| (0..i).all(|j| sums[i] != sums[j])), "{sums:?}");
        assert_eq!(of_debug(&12), of("12".as_bytes()).unwrap());
    }

    #[test]
    fn what_is_no_file_has_no_sum() {
        assert_eq!((of_file("-"), of_file("/dev/null")), (None, None));
    }
}
