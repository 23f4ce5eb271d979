//! Where is the work done: on the processor, or on an NVIDIA card?
//!
//! A card needs its driver and nothing else: the driver's library is opened when a card is asked for, and the kernels (`cuda/`) come compiled for every
//! generation of cards with this library (`kernels/`). Numbers are split into two halves of 11 bits, three products of which have the accuracy of single
//! precision at twice the rate of three TF32 products (`halves`); `packed` lays vectors and coefficients out as the tensor cores take them, and
//! `twin` computes the same on the processor, split by split and tile by tile, as the reference of the kernels' tests. `card` is the one file with `unsafe`.
#[cfg(feature = "cuda")]
mod card;
#[cfg(any(feature = "cuda", test))]
mod form;
#[cfg(any(feature = "cuda", test))]
mod halves;
#[cfg(any(feature = "cuda", test))]
mod kernels;
mod listing;
#[cfg(feature = "cuda")]
mod newton;
#[cfg(any(feature = "cuda", test))]
mod packed;
#[cfg(feature = "cuda")]
mod space;
#[cfg(feature = "cuda")]
mod stream;
#[cfg(feature = "cuda")]
mod sums;
#[cfg(feature = "cuda")]
mod training;
#[cfg(test)]
mod twin;
#[cfg(test)]
mod twin_training;
mod vectors;

#[cfg(all(test, feature = "cuda"))]
pub(crate) use twin_training::paired;

pub use listing::{CardFacts, Listing, devices};
#[cfg(feature = "cuda")]
pub(crate) use packed::Packed;
#[cfg(feature = "cuda")]
pub use space::{CardSpace, CardVector};
#[cfg(feature = "cuda")]
pub use stream::CardArray;
pub use vectors::{Gradient, Vectors};
#[cfg(feature = "cuda")]
pub(crate) use {
    card::Card,
    newton::{CardStep, CardValues},
    stream::{CardSums, Fill},
    training::{CardLoss, CardRows, RowParts, Wanted},
};

use crate::{Error, Result};

/// Where work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The NVIDIA card with this number, from 0.
    Cuda(usize),
}

/// What is said where support for cards was left out.
#[cfg(not(feature = "cuda"))]
pub(crate) const NOT_BUILT: &str = "this kernelet was built without support for GPUs; use the device cpu";

/// The variable of the environment that names a device where a program is given none.
pub const DEVICE_VARIABLE: &str = "KERNELET_DEVICE";

impl Device {
    /// `cpu`, `gpu` (the first card), `gpu:N`; `cuda` and `cuda:N` mean the same.
    pub fn named(name: &str) -> Result<Self> {
        let wrong = || Error::parameter("device", name, "cpu, gpu or gpu:N");
        let (kind, number) = name.split_once(':').map_or((name, None), |(kind, number)| (kind, Some(number)));
        match (kind, number) {
            ("cpu", None) => Ok(Device::Cpu),
            ("gpu" | "cuda", None) => Ok(Device::Cuda(0)),
            ("gpu" | "cuda", Some(number)) => number.parse().map(Device::Cuda).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// The device of this name; without one that of `KERNELET_DEVICE`, and the processor where that is not set.
    pub fn chosen(name: Option<&str>) -> Result<Self> {
        match (name, std::env::var(DEVICE_VARIABLE)) {
            (Some(name), _) => Device::named(name),
            (None, Ok(name)) if !name.is_empty() => Device::named(&name)
                .map_err(|_| Error::request(format!("the variable {DEVICE_VARIABLE} is {name}, but must be cpu, gpu or gpu:N"))),
            _ => Ok(Device::Cpu),
        }
    }

    /// An error where the device cannot be used.
    pub fn open(self) -> Result<()> {
        match self {
            Device::Cpu => Ok(()),
            #[cfg(feature = "cuda")]
            Device::Cuda(number) => Card::open(number).map(drop),
            #[cfg(not(feature = "cuda"))]
            Device::Cuda(_) => Err(Error::device(NOT_BUILT)),
        }
    }

    /// The name: `cpu` or `gpu:N`.
    pub fn name(self) -> String {
        match self {
            Device::Cpu => "cpu".into(),
            Device::Cuda(number) => format!("gpu:{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names() {
        for (name, device) in [("cpu", Device::Cpu), ("gpu", Device::Cuda(0)), ("cuda", Device::Cuda(0)), ("gpu:3", Device::Cuda(3))] {
            assert_eq!(Device::named(name).unwrap(), device);
            assert_eq!(Device::named(&device.name()).unwrap(), device);
        }
        for name in ["", "cpu:0", "gpu:", "gpu:x", "gpu:-1", "tpu"] {
            let error = Device::named(name).unwrap_err().to_string();
            assert_eq!(error, format!("device is {name}, but must be cpu, gpu or gpu:N"));
        }
    }
}
