//! Pictures of results as SVG text: charts of lines, box plots, and boundaries in the plane.
//!
//! A picture is self-contained, has a text alternative, and is readable on any page, since it has its own background. Colours are those of
//! Okabe and Ito, which colour-blind readers can distinguish; lines differ in dashes and marks too. The same input gives the same bytes.
//!
//! | file | answers |
//! |---|---|
//! | `chart` | How does one number depend on another? |
//! | `boxes` | How do groups of numbers spread? |
//! | `boundary` | Where do machines draw the line between two classes? |
//! | `contour` | Where is a function on a grid zero? |
//! | `axis` | Where does a value lie, and which values are named? |
//! | `frame` | What stands around the data? |
//! | `legend` | What do the signs mean? |
//! | `marks` | Which colour, dash and mark has a line? |
//! | `svg` | How are shapes and text written? |
mod axis;
mod boundary;
mod boxes;
mod chart;
mod contour;
mod frame;
mod legend;
mod marks;
mod svg;

pub use axis::Axis;
pub use boundary::Boundary;
pub use boxes::Boxes;
pub use chart::{Chart, Line, Point};
