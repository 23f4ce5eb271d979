//! Experiments: sets x splits x methods become a table of means and standard errors beside what a paper printed.
//!
//! | file | answers |
//! |---|---|
//! | `description` | What is an experiment? |
//! | `catalog` | Which are built in? |
//! | `material` | Where do the rows of each split come from? |
//! | `flags` | How do flags with places become a learner? |
//! | `machines` | Which machines does a split have? |
//! | `choose` | Which values are chosen before, and how? |
//! | `sides` | How many rows are on the wrong side of each output? |
//! | `represent` | How well are rows described by few vectors? |
//! | `cells` | What came of one set, method and split? |
//! | `journal` | What was done before an interruption? |
//! | `quantity` | What is measured? |
//! | `summary` | How does that compare with the paper? |
//! | `variance` | Which differences are more than chance? |
//! | `tables` | How does it look on the screen, in Markdown and in CSV? |
//! | `figures`, `picture`, `drawing` | How does it look in pictures: curves and boxes, machines, SVG? |
mod catalog;
mod cells;
mod choose;
mod description;
mod drawing;
mod figures;
mod flags;
mod journal;
mod machines;
mod material;
mod picture;
mod quantity;
mod represent;
mod sides;
mod summary;
mod tables;
mod variance;

pub use catalog::{Experiment, built_in, named};
pub use cells::{Cell, Way, run};
pub use quantity::Quantity;
pub use summary::{Outcome, Row};
pub use tables::{Made, csv, markdown, text};
