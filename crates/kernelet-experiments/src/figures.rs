//! Pictures of an outcome: curves of one number against another, and boxes over splits.
use serde::{Deserialize, Serialize};

use super::{
    Cell, Outcome, Row,
    description::Description,
    drawing::{Axis, Boxes, Chart, Line, Point},
    quantity::Quantity,
    summary::AVERAGE,
};

/// A picture as the description has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FigureOf {
    /// Its name, after that of the experiment in the name of the file.
    pub name: String,
    /// What is drawn.
    #[serde(default)]
    pub kind: Kind,
    /// Across, for curves.
    #[serde(default = "vectors")]
    pub x: Quantity,
    /// Up.
    #[serde(default = "error")]
    pub y: Quantity,
    /// Axes that are logarithmic.
    #[serde(default)]
    pub logarithmic: Vec<String>,
    /// The sets, a picture for each; all where none are named.
    #[serde(default)]
    pub sets: Vec<String>,
    /// The lines, or methods for boxes; all where none are named.
    #[serde(default)]
    pub lines: Vec<String>,
    /// Methods that are drawn as a line across.
    #[serde(default)]
    pub levels: Vec<String>,
    /// One picture for all sets: a point of a curve is a set, and a box is over sets.
    #[serde(default)]
    pub over_sets: bool,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A line for each method that has sizes.
    #[default]
    Curve,
    /// A box for each method.
    Boxes,
}

fn vectors() -> Quantity {
    Quantity::Vectors
}

fn error() -> Quantity {
    Quantity::Error
}

impl FigureOf {
    /// Refuses names that there are not.
    pub fn check(&self, description: &Description) -> Result<(), String> {
        let wrong = |what: &str| format!("figure {}: there is no {what}", self.name);
        if let Some(set) = self.sets.iter().find(|name| description.sets.iter().all(|set| set.name != **name)) {
            return Err(wrong(&format!("set {set}")));
        }
        if self.kind == Kind::Boxes && self.y == Quantity::Deviation && !self.over_sets {
            return Err(format!("figure {}: a deviation over splits has no spread over splits", self.name));
        }
        let unknown = |name: &&String| description.methods.iter().all(|method| method.line != **name && method.name != **name);
        if let Some(line) = self.lines.iter().chain(&self.levels).find(unknown) {
            return Err(wrong(&format!("line {line}")));
        }
        match self.logarithmic.iter().find(|axis| !["x", "y"].contains(&axis.as_str())) {
            Some(axis) => Err(wrong(&format!("axis {axis}"))),
            None => Ok(()),
        }
    }

    /// The ends of the names of all pictures.
    pub fn names(&self, description: &Description) -> Vec<String> {
        let sets = description.sets.iter().filter(|set| self.sets.is_empty() || self.sets.contains(&set.name));
        match self.over_sets {
            true => vec![self.name.clone()],
            false => sets.map(|set| format!("{}-{}", self.name, set.name)).collect(),
        }
    }

    /// The pictures with the ends of their names.
    pub fn draw(&self, outcome: &Outcome) -> Vec<(String, String)> {
        if self.over_sets {
            return vec![(self.name.clone(), self.over_sets(outcome))];
        }
        let mut sets: Vec<&str> = vec![];
        for row in outcome.rows.iter().filter(|row| self.of_set(row)) {
            if !sets.contains(&row.set.as_str()) {
                sets.push(&row.set);
            }
        }
        let one = |set: &str| match self.kind {
            Kind::Curve => self.curve(outcome, set),
            Kind::Boxes => self.boxes(outcome, set),
        };
        sets.into_iter().map(|set| (format!("{}-{set}", self.name), one(set))).collect()
    }

    fn wanted(&self, row: &Row) -> bool {
        self.lines.is_empty() || named(&self.lines, row)
    }

    fn of_set(&self, row: &Row) -> bool {
        row.set != AVERAGE && (self.sets.is_empty() || self.sets.contains(&row.set))
    }

    fn axis(&self, quantity: Quantity, name: &str, percent: bool) -> Axis {
        Axis { name: quantity.title(percent).into(), logarithmic: self.logarithmic.iter().any(|axis| axis == name) }
    }

    fn point(&self, row: &Row) -> Option<Point> {
        let (x, y) = (row.figure(self.x)?, row.figure(self.y)?);
        Some(Point { x: x.mean, y: y.mean, error: y.standard_error })
    }

    fn curve(&self, outcome: &Outcome, set: &str) -> String {
        let rows: Vec<&Row> = outcome.rows.iter().filter(|row| row.set == set).collect();
        let levels = rows.iter().filter(|row| named(&self.levels, row));
        let levels = levels.filter_map(|row| Some((row.method.clone(), row.figure(self.y)?.mean))).collect();
        let drawn = rows.iter().filter(|row| self.wanted(row) && !named(&self.levels, row));
        let points = drawn.filter_map(|row| Some((row.line.as_str(), self.point(row)?)));
        self.chart(format!("{}: {set}", outcome.title), points, levels, rows.iter().any(|row| row.percent))
    }

    fn over_sets(&self, outcome: &Outcome) -> String {
        let rows = || outcome.rows.iter().filter(|row| self.of_set(row) && self.wanted(row) && !named(&self.levels, row));
        let percent = rows().any(|row| row.percent);
        if self.kind == Kind::Curve {
            let points = rows().filter_map(|row| Some((row.line.as_str(), self.point(row)?)));
            return self.chart(outcome.title.clone(), points, vec![], percent);
        }
        let values = rows().filter_map(|row| Some((row.method.as_str(), row.figure(self.y)?.mean)));
        let y = self.axis(self.y, "y", percent);
        Boxes { title: format!("{}, over the sets", outcome.title), y, groups: grouped(values) }.svg()
    }

    fn boxes(&self, outcome: &Outcome, set: &str) -> String {
        let percent = outcome.rows.iter().any(|row| row.set == set && row.percent);
        let line = |cell: &Cell| outcome.rows.iter().find(|row| row.method == cell.method).is_some_and(|row| self.wanted(row));
        let cells = outcome.cells.iter().filter(|cell| cell.set == set && line(cell));
        let values = cells.map(|cell| (cell.method.as_str(), self.y.of(cell, percent)));
        Boxes { title: format!("{}: {set}", outcome.title), y: self.axis(self.y, "y", percent), groups: grouped(values) }.svg()
    }

    fn chart<'a>(
        &self,
        title: String,
        points: impl Iterator<Item = (&'a str, Point)>,
        levels: Vec<(String, f64)>,
        percent: bool,
    ) -> String {
        let mut lines: Vec<Line> = grouped(points).into_iter().map(|(name, points)| Line { name, points }).collect();
        lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
        Chart { title, x: self.axis(self.x, "x", percent), y: self.axis(self.y, "y", percent), lines, levels }.svg()
    }
}

/// True where the method of a row, or its line, is among these.
fn named(names: &[String], row: &Row) -> bool {
    names.iter().any(|name| *name == row.line || *name == row.method)
}

/// The values of each name, in the order in which names come.
fn grouped<'a, T>(values: impl Iterator<Item = (&'a str, T)>) -> Vec<(String, Vec<T>)> {
    let mut groups: Vec<(String, Vec<T>)> = vec![];
    for (name, value) in values {
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => groups.push((name.into(), vec![value])),
        }
    }
    groups
}
