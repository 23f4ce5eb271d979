//! NumPy files as the tests need them.
use std::io::{Cursor, Write};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// One named array: its type, its shape as Python writes it, and its bytes.
pub struct Array {
    name: &'static str,
    kind: &'static str,
    shape: String,
    bytes: Vec<u8>,
}

impl Array {
    /// A table of numbers.
    pub fn table(name: &'static str, values: &[f64], columns: usize) -> Array {
        let shape = format!("({}, {columns})", values.len() / columns);
        Array { name, kind: "<f8", shape, bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect() }
    }

    /// A list of whole numbers.
    pub fn list(name: &'static str, values: &[i32]) -> Array {
        Array { shape: format!("({},)", values.len()), ..Array::lines(name, &[values]) }
    }

    /// Lines of whole numbers, all as long as the first.
    pub fn lines(name: &'static str, lines: &[&[i32]]) -> Array {
        let shape = format!("({}, {})", lines.len(), lines.first().map_or(0, |line| line.len()));
        Array { name, kind: "<i4", shape, bytes: lines.iter().flat_map(|line| line.iter()).flat_map(|value| value.to_le_bytes()).collect() }
    }
}

/// The bytes of a `.npz` file.
pub fn npz(arrays: &[Array]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(vec![]));
    for Array { name, kind, shape, bytes } in arrays {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        let len = (header.len() as u16).to_le_bytes();
        zip.write_all(&[b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), bytes].concat()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
