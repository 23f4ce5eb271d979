//! Which devices are there?
use serde::Serialize;

/// An NVIDIA card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CardFacts {
    /// What it is called in `--device`.
    pub device: String,
    /// Its name.
    pub name: String,
    /// The generation as NVIDIA counts it: 9.0.
    pub capability: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Why it cannot be used; nothing where it can.
    pub problem: Option<String>,
}

/// The cards of this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Listing {
    /// The cards, in the order of their numbers.
    pub devices: Vec<CardFacts>,
    /// The newest CUDA that the driver knows, such as 13.0; nothing without a driver.
    pub driver: Option<String>,
    /// Why there are none.
    pub note: Option<String>,
}

/// The cards that the driver of this machine knows; none, and a sentence why, where there is no driver.
pub fn devices() -> Listing {
    #[cfg(feature = "cuda")]
    return super::card::listing();
    #[cfg(not(feature = "cuda"))]
    Listing { note: Some("this kernelet was built without support for GPUs".into()), ..Listing::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cards_there_is_a_sentence() {
        let Listing { devices, note, .. } = devices();
        assert_eq!(devices.is_empty(), note.is_some());
    }
}
