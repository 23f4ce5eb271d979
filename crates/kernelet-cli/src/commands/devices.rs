//! `kernelet devices`: the NVIDIA cards of this machine.
use clap::Args;
use kernelet::device::{CardFacts, Listing, devices};
use serde::Serialize;

use crate::{
    failure::Result,
    layout::table,
    session::{Answer, Session},
};

/// Flags of `devices`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Devices {}

const EXAMPLES: &str = "\
Examples:
  kernelet devices                                    the cards, and whether kernelet can use them
  kernelet predict m.model rows.npy --device gpu:0    predict on the first of them

The name in the first column is what --device takes. The driver is all that is needed; without one the list is empty.";

/// What is there.
#[derive(Serialize)]
struct Found(Listing);

impl Devices {
    /// Lists them; that there are none is an answer, not an error.
    pub fn run(self, session: &Session) -> Result<()> {
        let found = Found(devices());
        if let (Some(note), false) = (&found.0.note, session.json()) {
            session.note(note);
        }
        session.answer(&found)
    }
}

impl Answer for Found {
    fn text(&self) -> String {
        let Listing { devices, driver, .. } = &self.0;
        if devices.is_empty() {
            return String::new();
        }
        let row = |card: &CardFacts| {
            let usable = card.problem.clone().unwrap_or_else(|| "yes".into());
            vec![card.device.clone(), card.name.clone(), card.capability.clone(), format!("{:.1} GB", card.memory as f64 / 1e9), usable]
        };
        let header = ["device", "name", "compute capability", "memory", "usable"].map(String::from);
        let about = driver.as_ref().map(|driver| format!("driver for CUDA {driver}\n")).unwrap_or_default();
        table(&header, &devices.iter().map(row).collect::<Vec<_>>()) + &about
    }
}
