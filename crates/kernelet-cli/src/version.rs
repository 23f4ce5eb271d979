//! `kernelet --version --verbose`: what a report of a problem should say of the program and the machine.
use std::io::{self, Write};

use kernelet::{device::devices, kernel};

/// Prints the version, what was compiled into the program, and what the machine has.
pub fn print() {
    let features = [
        ("cuda", cfg!(feature = "cuda")),
        ("parquet", cfg!(feature = "parquet")),
        ("reproduce", cfg!(feature = "reproduce")),
        ("studio", cfg!(feature = "studio")),
    ];
    let features: Vec<&str> = features.into_iter().filter_map(|(name, there)| there.then_some(name)).collect();
    let cards = devices().devices;
    let cards = match cards.is_empty() {
        true => "none".to_string(),
        false => cards.iter().map(|card| format!("{} ({})", card.device, card.name)).collect::<Vec<_>>().join(", "),
    };
    let lines = [
        format!("kernelet {}", env!("CARGO_PKG_VERSION")),
        format!("features      {}", features.join(", ")),
        format!("system        {} {}", std::env::consts::OS, std::env::consts::ARCH),
        format!("instructions  {}", kernel::instruction_set()),
        format!("threads       {}", std::thread::available_parallelism().map_or(1, usize::from)),
        format!("NVIDIA cards  {cards}"),
    ];
    // That nobody reads them is no error.
    let _ = writeln!(io::stdout(), "{}", lines.join("\n"));
}
