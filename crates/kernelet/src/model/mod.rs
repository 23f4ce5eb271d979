//! How does a machine leave and return? The native format, LIBSVM's text, scaling in `svm-scale` range files.
mod file;

pub use file::write_atomically;
