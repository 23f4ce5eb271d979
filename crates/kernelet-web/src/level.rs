//! What the page shows of a machine, under the names of the report page.
use kernelet::{
    Result,
    data::{Dataset, Target},
    evaluate::{Scores, agreement, score},
    linalg::Matrix,
    machine::{Decision, Machine, Prediction, Predictor, Weighted},
    model::native,
};
use serde_json::{Value, json};

/// Vectors drawn, cells along a side of the plane, and points in it.
const DRAWN: usize = 60;
const SIDE: usize = 80;
const POINTS: usize = 400;

/// The machine on these rows; beside the machine that it was made from, where there is one.
pub(crate) fn level(machine: &Machine, rows: Option<&Dataset>, full: Option<&Machine>) -> Result<Value> {
    let mut level = json!({
        "vectors": machine.n_vectors(), "outputs": machine.n_outputs(), "features": machine.dim(), "kernel": kernel(machine),
        "bytes": native::to_bytes(machine)?.len(), "objective": machine.metadata.objective, "task": task(machine),
        "feature_scales": machine.ranked_features(), "drawn": drawn(machine), "image": machine.image_size(),
        "range": values(machine, rows), "probabilities": machine.check_probabilities().is_ok(),
        "names": (0..machine.dim().min(DRAWN)).map(|feature| machine.feature_name(feature)).collect::<Vec<_>>(),
    });
    let Some(rows) = rows.filter(|rows| rows.dim() == machine.dim()) else { return Ok(level) };
    let prediction = Predictor::new(machine).predict(&rows.points)?;
    if rows.target != Target::None && machine.decision != Decision::Features {
        let scores = score(&prediction, rows)?;
        level["error"] = json!(scores.loss());
        if let Scores::Classes(confusion) = &scores {
            let counts =
                confusion.counts.iter().enumerate().flat_map(|(t, row)| row.iter().enumerate().map(move |(p, &rows)| [t, p, rows]));
            let cells = counts.filter(|[.., rows]| *rows > 0).collect();
            (level["confusion"], level["confusion_rest"]) = shown_cells(cells, confusion.labels.len());
            level["labels"] = json!(confusion.labels.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
    }
    if let Some(full) = full.filter(|full| full.dim() == rows.dim()) {
        level["agreement"] = json!(agreement(&Predictor::new(full).predict(&rows.points)?, &prediction));
    }
    if let Some(plane) = plane(machine, rows, &level["labels"])? {
        level["plane"] = plane;
    }
    Ok(level)
}

/// Up to so many classes the confusion is a matrix, above it so many pairs are listed.
const MATRIX_CLASSES: usize = 26;
const PAIRS: usize = 40;

/// All cells of the matrix, or the pairs that are confused most often and how many rows are in others.
fn shown_cells(mut cells: Vec<[usize; 3]>, classes: usize) -> (Value, Value) {
    if classes <= MATRIX_CLASSES {
        return (json!(cells), json!(0));
    }
    cells.retain(|[truth, predicted, _]| truth != predicted);
    cells.sort_by_key(|[.., rows]| std::cmp::Reverse(*rows));
    let rest: usize = cells.iter().skip(PAIRS).map(|[.., rows]| rows).sum();
    cells.truncate(PAIRS);
    (json!(cells), json!(rest))
}

/// The smallest and the largest number of rows that are images, or of the vectors where there are no rows.
fn values(machine: &Machine, rows: Option<&Dataset>) -> Option<[f64; 2]> {
    machine.image_size()?;
    let first = |len: usize| (0..len.min(POINTS)).collect::<Vec<_>>();
    let values = match rows.filter(|rows| rows.dim() == machine.dim()) {
        Some(rows) => rows.points.select(&first(rows.len())).to_dense(),
        None => machine.vectors_as_rows(&first(machine.n_vectors())),
    };
    Some(values.values().iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(*v), high.max(*v)]))
}

/// What is predicted: `classes`, `values` or `features`.
pub(crate) fn task(machine: &Machine) -> &'static str {
    match machine.decision {
        Decision::Values | Decision::Ratio => "values",
        Decision::Features => "features",
        _ => "classes",
    }
}

fn kernel(machine: &Machine) -> String {
    let kernel = &machine.expansion.kernel;
    kernel.gamma().map_or(kernel.name().into(), |gamma| format!("{}, gamma {gamma:.4}", kernel.name()))
}

/// The heaviest vectors: their numbers where rows are images, else the first few, and what they speak for.
fn drawn(machine: &Machine) -> Vec<Value> {
    let heaviest = machine.heaviest_vectors(DRAWN);
    let rows = machine.vectors_as_rows(&heaviest.iter().map(|heavy| heavy.vector).collect::<Vec<_>>());
    let shown = if machine.image_size().is_some() { rows.cols() } else { rows.cols().min(8) };
    let one = |(Weighted { output, coefficient, .. }, row): (&Weighted, &[f64])| json!({ "coefficient": coefficient, "output": machine.decision.supported(*output, *coefficient), "row": row[..shown] });
    heaviest.iter().zip(rows.iter()).map(one).collect()
}

/// The classes over the plane of two features, with rows in it; none where rows have more features or no classes are predicted.
fn plane(machine: &Machine, rows: &Dataset, labels: &Value) -> Result<Option<Value>> {
    if machine.dim() != 2 || rows.is_empty() {
        return Ok(None);
    }
    let every = rows.len().div_ceil(POINTS);
    let chosen: Vec<usize> = (0..rows.len()).step_by(every).collect();
    let points = rows.points.select(&chosen).to_dense();
    let [x, y] = [0, 1].map(|j| range(&points.col(j)));
    let at = |[low, high]: [f64; 2], i: usize| low + (high - low) * (i as f64 + 0.5) / SIDE as f64;
    let grid = Matrix::from_fn(SIDE * SIDE, 2, |cell, j| if j == 0 { at(x, cell % SIDE) } else { at(y, cell / SIDE) });
    let Prediction::Classes { labels: own, codes } = Predictor::new(machine).predict(&grid.into())? else { return Ok(None) };
    let truth = |row: usize| rows.classes().ok().map(|classes| classes.labels[classes.codes[row] as usize].to_string());
    let points: Vec<Value> = points.iter().zip(&chosen).map(|(point, &row)| json!([point[0], point[1], truth(row)])).collect();
    let own: Vec<String> = own.iter().map(ToString::to_string).collect();
    let labels = if labels.is_array() { labels.clone() } else { json!(own) };
    let names = [0, 1].map(|j| machine.feature_name(j));
    Ok(Some(json!({ "x": x, "y": y, "side": SIDE, "cells": codes, "labels": labels, "points": points, "names": names })))
}

fn range(values: &[f64]) -> [f64; 2] {
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    let margin = if high > low { 0.05 * (high - low) } else { 1.0 };
    [low - margin, high + margin]
}
