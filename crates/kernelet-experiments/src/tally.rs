//! How many printed numbers come out as printed, and which do not: the largest deviations first.
use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Row,
    description::{Description, Value},
    quantity::Quantity,
    summary::AVERAGE,
};
use crate::choose::Chosen;

/// Printed numbers of one quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How many were printed and can be compared.
    pub printed: usize,
    /// Those that ours differ from by no more than rounding and chance,
    pub as_printed: usize,
    /// those that ours are below, which is better for errors,
    pub below: usize,
    /// and above.
    pub above: usize,
}

/// A number that does not come out as printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// The set.
    pub set: String,
    /// The method.
    pub method: String,
    /// What is measured.
    pub quantity: Quantity,
    /// Our mean.
    pub ours: f64,
    /// What was printed.
    pub printed: f64,
    /// By how much they may differ.
    pub allowed: f64,
}

/// A chosen value at the edge of what there was to choose from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// The set.
    pub set: String,
    /// The method.
    pub method: String,
    /// The name of the value.
    pub name: String,
    /// The value.
    pub value: f64,
}

/// The tally of each quantity, of the numbers on sets, or where none of these is printed of their averages.
pub fn tallies(rows: &[Row], quantities: &[Quantity]) -> BTreeMap<Quantity, Tally> {
    let (averages, sets): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.set == AVERAGE);
    let all = quantities.iter().map(|&quantity| {
        let tally = count(&sets, quantity);
        (quantity, if tally.printed > 0 { tally } else { count(&averages, quantity) })
    });
    all.filter(|(_, tally)| tally.printed > 0).collect()
}

fn count(rows: &[&Row], quantity: Quantity) -> Tally {
    let mut tally = Tally::default();
    for figure in rows.iter().filter_map(|row| row.figure(quantity)) {
        let (Some(printed), Some(_)) = (figure.printed, figure.allowed) else { continue };
        tally.printed += 1;
        tally.as_printed += usize::from(!figure.differs);
        tally.below += usize::from(figure.differs && figure.mean < printed);
        tally.above += usize::from(figure.differs && figure.mean > printed);
    }
    tally
}

/// All that differ, the largest in terms of what is allowed first.
pub fn deviations(rows: &[Row], quantities: &[Quantity]) -> Vec<Deviation> {
    let mut all = vec![];
    for row in rows {
        for &quantity in quantities {
            let Some(figure) = row.figure(quantity).filter(|figure| figure.differs) else { continue };
            let (Some(printed), Some(allowed), Some(times)) = (figure.printed, figure.allowed, figure.deviates()) else { continue };
            let (set, method) = (row.set.clone(), row.method.clone());
            all.push((times, Deviation { set, method, quantity, ours: figure.mean, printed, allowed }));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().map(|(_, deviation)| deviation).collect()
}

/// The chosen values of all sets that lie at the edge of their grid.
pub fn edges(description: &Description, chosen: &[Chosen]) -> Vec<Edge> {
    let mut all: Vec<Edge> = vec![];
    for (set, chosen) in description.sets.iter().zip(chosen) {
        for (method, values) in chosen {
            for (name, value) in description.choose.iter().flat_map(|choice| choice.edges(method, values)) {
                let edge = Edge { set: set.name.clone(), method: method.clone(), name: name.into(), value };
                if !all.contains(&edge) {
                    all.push(edge);
                }
            }
        }
    }
    all
}

/// True where a value of a method on a set is at the edge.
pub fn at_edge(edges: &[Edge], set: &str, method: &str, name: &str, value: &Value) -> bool {
    edges.iter().any(|edge| edge.set == set && edge.method == method && edge.name == name && Some(edge.value) == value.number())
}
