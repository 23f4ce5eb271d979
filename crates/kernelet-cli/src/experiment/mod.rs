//! Experiments: sets x splits x methods become a table of means and standard errors beside what a paper printed.
//!
//! | file | answers |
//! |---|---|
//! | `description` | What is an experiment? |
//! | `catalog` | Which are built in? |
//! | `material` | Where do the rows of each split come from? |
//! | `pursuit` | How are greedy discriminants set, and their width chosen? |
//! | `cells` | What came of one set, method and split? |
//! | `summary` | How does that compare with the paper? |
//! | `tables` | How does it look on the screen, in Markdown and in CSV? |
mod catalog;
mod cells;
mod description;
mod material;
mod pursuit;
mod summary;
mod tables;

pub use catalog::{Experiment, built_in, named};
pub use cells::{Cell, run};
pub use summary::{Outcome, Row};
pub use tables::{Made, csv, markdown, text};
