//! A random sample of rows as they come, of a stream that may be without end.
use super::{Classes, Dataset, Interner, Target};
use crate::{Error, Result, draw::Draw, linalg::Matrix};

/// So many of all rows so far, each as likely as any other.
pub struct Reservoir {
    limit: usize,
    draw: Draw,
    /// Rows with the smallest keys, in their order, in parts that are joined when there are twice too many.
    parts: Vec<Dataset>,
    keys: Vec<f64>,
    /// Rows with this key or a larger one are not among those with the smallest.
    bound: f64,
    seen: u64,
}

impl Reservoir {
    /// No rows yet.
    pub fn new(limit: usize, seed: u64) -> Result<Self> {
        match limit {
            0 => Err(Error::parameter("reservoir", 0, "at least 1")),
            _ => Ok(Reservoir { limit, draw: Draw::seeded(seed), parts: vec![], keys: vec![], bound: f64::INFINITY, seen: 0 }),
        }
    }

    /// Rows that were taken in.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Takes rows in; those with the smallest keys stay, in their order.
    pub fn add(&mut self, rows: Dataset) -> Result<()> {
        self.seen += rows.len() as u64;
        let keys: Vec<f64> = (0..rows.len()).map(|_| self.draw.uniform()).collect();
        let small: Vec<usize> = (0..rows.len()).filter(|&i| keys[i] < self.bound).collect();
        if let Some(first) = self.parts.first() {
            joined(first.select(&[]), rows.select(&[]))?;
            // Sparse rows may widen all others even where none of them stays.
            if small.is_empty() && rows.dim() <= first.dim() {
                return Ok(());
            }
        }
        self.keys.extend(small.iter().map(|&i| keys[i]));
        self.parts.push(if small.len() == rows.len() { rows } else { rows.select(&small) });
        if self.keys.len() > self.limit.saturating_mul(2) { self.join() } else { Ok(()) }
    }

    /// Makes one part of all, without the rows whose keys are too large.
    fn join(&mut self) -> Result<()> {
        let mut parts = std::mem::take(&mut self.parts);
        while parts.len() > 1 {
            let mut joining = parts.into_iter();
            parts = vec![];
            while let Some(one) = joining.next() {
                parts.push(match joining.next() {
                    Some(other) => joined(one, other)?,
                    None => one,
                });
            }
        }
        let Some(all) = parts.pop() else { return Ok(()) };
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        order.sort_by(|&a, &b| self.keys[a].total_cmp(&self.keys[b]).then(a.cmp(&b)));
        order.truncate(self.limit);
        if let Some(&last) = order.get(self.limit - 1) {
            self.bound = self.keys[last];
        }
        order.sort_unstable();
        self.keys = order.iter().map(|&i| self.keys[i]).collect();
        self.parts = vec![all.select(&order)];
        Ok(())
    }

    /// The rows that stayed; an error where there are none.
    pub fn finish(mut self) -> Result<Dataset> {
        self.join()?;
        let mut rows = self.parts.pop().ok_or_else(|| Error::data("the data have no rows"))?;
        if let Target::Classes(Classes { labels, codes }) = rows.target {
            // Labels of rows that did not stay are not there.
            rows.target = Target::Classes(Classes::new(labels, &codes));
        }
        rows.points = rows.points.densified_if_dense();
        Ok(rows)
    }
}

fn joined(one: Dataset, other: Dataset) -> Result<Dataset> {
    let (a, b) = (one.len(), other.len());
    let target = match (&one.target, &other.target) {
        (Target::None, Target::None) => Target::None,
        (Target::Classes(x), Target::Classes(y)) => {
            let mut known = Interner::default();
            let place = |known: &mut Interner, of: &Classes| of.labels.iter().map(|label| known.code(label.text())).collect::<Vec<_>>();
            let (first, second) = (place(&mut known, x), place(&mut known, y));
            let codes = x.codes.iter().map(|&code| first[code as usize]).chain(y.codes.iter().map(|&code| second[code as usize]));
            let codes: Vec<u32> = codes.collect();
            Target::Classes(Classes::new(known.labels, &codes))
        }
        (Target::Values(x), Target::Values(y)) if x.cols() == y.cols() => {
            Target::Values(Matrix::new([x.values(), y.values()].concat(), a + b, x.cols()).unwrap_or_default())
        }
        _ => return Err(Error::data("some rows have a target and some have none")),
    };
    let weight = |data: &Dataset, i: usize| data.weight(i);
    let weights = (one.weights.is_some() || other.weights.is_some())
        .then(|| (0..a).map(|i| weight(&one, i)).chain((0..b).map(|i| weight(&other, i))).collect());
    Ok(Dataset { points: one.points.stacked(&other.points)?, target, weights, names: one.names, table: one.table })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Points, waveform3};

    fn blocks(data: &Dataset, size: usize) -> Vec<Dataset> {
        (0..data.len()).step_by(size).map(|i| data.select(&(i..data.len().min(i + size)).collect::<Vec<_>>())).collect()
    }

    fn sample(data: &Dataset, size: usize, limit: usize, seed: u64) -> Dataset {
        let mut reservoir = Reservoir::new(limit, seed).unwrap();
        blocks(data, size).into_iter().for_each(|block| reservoir.add(block).unwrap());
        assert_eq!(reservoir.seen(), data.len() as u64);
        reservoir.finish().unwrap()
    }

    #[test]
    fn rows_stay_with_their_targets_however_they_come() {
        let data = waveform3(300, 1);
        let sparse = Dataset { points: Csr::from_dense(&data.points.to_dense()).into(), ..data.clone() };
        let (one, many) = (sample(&data, 300, 40, 7), sample(&data, 11, 40, 7));
        assert_eq!(one, many);
        assert_eq!(sample(&sparse, 11, 40, 7).points.to_dense(), one.points.to_dense());
        assert_ne!(sample(&data, 11, 40, 8), one);
        let (rows, all) = (one.points.to_dense(), data.points.to_dense());
        for (i, row) in rows.iter().enumerate() {
            let at = all.iter().position(|other| other == row).unwrap();
            let label = |data: &Dataset, i: usize| data.classes().unwrap().labels[data.classes().unwrap().codes[i] as usize].clone();
            assert_eq!(label(&one, i), label(&data, at));
        }
        assert_eq!(sample(&data, 50, 1000, 1), data);
    }

    #[test]
    fn every_row_is_as_likely_as_any_other() {
        let numbers = Matrix::column((0..100).map(f64::from).collect());
        let data = Dataset::new(numbers.clone(), Target::Values(numbers));
        let mean = |seed: u64| sample(&data, 9, 20, seed).points.to_dense().values().iter().sum::<f64>() / 20.0;
        let mean = (0..200).map(mean).sum::<f64>() / 200.0;
        // One mean of 20 of 100 numbers has a standard deviation of about 6.
        assert!((mean - 49.5).abs() < 2.0, "{mean}");
    }

    #[test]
    fn wider_sparse_rows_widen_the_others_and_mixtures_are_errors() {
        let sparse =
            |dim: usize| Dataset::new(Points::from(Csr::new(vec![0, 1], vec![dim as u32 - 1], vec![1.0], dim).unwrap()), Target::None);
        let mut reservoir = Reservoir::new(5, 0).unwrap();
        reservoir.add(sparse(3)).unwrap();
        reservoir.add(sparse(9)).unwrap();
        assert_eq!(reservoir.finish().unwrap().dim(), 9);
        let mut reservoir = Reservoir::new(5, 0).unwrap();
        reservoir.add(sparse(3)).unwrap();
        assert!(reservoir.add(waveform3(5, 1)).is_err());
        assert!(Reservoir::new(0, 0).is_err() && Reservoir::new(1, 0).unwrap().finish().is_err());
    }
}
