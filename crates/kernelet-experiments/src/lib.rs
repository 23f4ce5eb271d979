//! Experiments: sets x splits x methods become a table of means and standard errors beside what a paper printed.
//!
//! An [`Experiment`] is built in ([`built_in`], [`named`]) or read from a file; [`run`] gives its [`Outcome`], which [`markdown`] and [`csv`]
//! write. What a method asks for are requests of the library, [`kernelet::request`].
//!
//! | module | answers |
//! |---|---|
//! | `description` | What is an experiment? |
//! | `catalog` | Which are built in? |
//! | `context` | What does a run need of its caller? |
//! | `material` | Where do the rows of each split come from? |
//! | `settings` | How do settings with places become requests? |
//! | `machines` | Which machines does a split have? |
//! | `choose` | Which values are chosen before, and how? |
//! | `sides` | How many rows are on the wrong side of each output? |
//! | `represent` | How well are rows described by few vectors? |
//! | `cells` | What came of one set, method and split? |
//! | `journal` | What was done before an interruption? |
//! | `quantity` | What is measured? |
//! | `figure` | How does a mean compare with a printed one? |
//! | `summary` | What are the rows of the table? |
//! | `tally` | How many numbers are as printed, and which are not? |
//! | `variance` | Which differences are more than chance? |
//! | `tables` | How does it look on the screen, in Markdown and in CSV? |
//! | `figures`, `picture`, `drawing` | How does it look in pictures: curves and boxes, machines, SVG? |
mod catalog;
mod cells;
mod choose;
mod context;
pub mod description;
mod drawing;
mod figure;
mod figures;
mod journal;
mod machines;
mod material;
mod picture;
mod quantity;
mod represent;
mod settings;
mod sides;
mod summary;
mod tables;
mod tally;
mod variance;

pub use catalog::{Experiment, built_in, named, names};
pub use cells::{Cell, run};
pub use choose::{By, Choose, Chosen};
pub use context::Context;
pub use figure::{Beside, Figure, Sample};
pub use figures::{FigureOf, Kind};
pub use quantity::Quantity;
pub use settings::Asked;
pub use sides::Sides;
pub use summary::{AllSizes, Outcome, Row};
pub use tables::{Made, csv, markdown};
pub use tally::{Deviation, Edge, Tally};
pub use variance::{Effect, Pair, Variance};
