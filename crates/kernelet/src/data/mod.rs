//! How do numbers come in? Points, targets, data sets; where they are read, made, scaled and split.
pub mod checksum;
mod csr;
mod dataset;
mod digits;
mod generate;
mod image;
mod linear_map;
mod points;
pub mod read;
mod scale;
mod split;
mod table;
mod target;

pub use csr::{Csr, SparseRow};
pub use dataset::Dataset;
pub(crate) use dataset::check_classes;
pub use digits::{digits, digits_split};
pub use generate::{Generator, banana, clouds, gaussian, noisy, ringnorm, ripley, sinc, twonorm, waveform, waveform3};
pub use image::smooth;
pub(crate) use linear_map::map_dense;
pub use points::Points;
pub use scale::{Scale, Scaling};
pub use split::{plain_folds, plain_split, shuffled, stratified_folds, stratified_split};
pub use table::{Cell, Column, Encoder, Encoding, Gathered, MISSING, Tally};
pub(crate) use target::Interner;
pub use target::{Classes, Label, Target};
