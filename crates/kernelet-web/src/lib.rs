//! What the page of `kernelet studio` asks of the library: it opens files, trains and compresses machine after machine, shows and exports them.
//!
//! A [`Studio`] answers questions in JSON, with the bytes of files beside them. Settings go through the library's requests as in every other interface;
//! the page shows what is answered and computes nothing. In WebAssembly `border.rs` passes questions and answers on.
mod ask;
mod border;
mod export;
mod level;
mod open;
mod studio;

pub use ask::Ask;
pub use studio::{Answer, Studio};
