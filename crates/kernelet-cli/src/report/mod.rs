//! One HTML file that shows how small a machine can be: error, agreement, residual, size and speed for every number of vectors.
//!
//! [`curves`] makes machines of many sizes, [`gather`] measures them into [`figures`], and [`page`] puts the figures into a page that needs
//! nothing else: no network, no library, one file. What the page draws is computed here; its script only shows it.
mod bands;
pub mod choose;
pub mod curves;
mod direct_curve;
mod drawings;
pub mod figures;
pub mod gather;
pub mod latency;
mod packed;
pub mod page;
mod recorded;
mod rows;
pub mod terminal;
