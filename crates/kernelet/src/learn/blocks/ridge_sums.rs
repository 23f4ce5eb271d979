//! Ridge regression on vectors that stay where they are, from rows as they come: what is kept of them are exact sums.
use super::{
    ask::{Ask, FitAsk, Problem, RowLossName},
    packed::{Packed, matrix},
    pass::block_sums,
    sums::{FitSums, Sums},
};
use crate::{
    Error, Result,
    basis::{Frame, JITTER},
    data::{Fingerprints, RowBlock},
    learn::direct::Transform,
    linalg::{Cholesky, Lower, Matrix},
    machine::{Coefficients, Decision, Machine, Metadata},
};

/// The sums of all rows so far. Those of different rows can be added; the machine is that of all of them at once.
#[derive(Clone, Debug)]
pub struct RidgeSums {
    /// The machine whose vectors stay.
    machine: Machine,
    lambda: f64,
    factor: Matrix,
    sums: FitSums,
}

impl RidgeSums {
    /// No rows yet, for the vectors of a machine with so many targets.
    pub fn new(machine: &Machine, lambda: f64, n_targets: usize) -> Result<Self> {
        if machine.decision != Decision::Values {
            return Err(Error::data("sums of ridge need a machine that predicts numbers"));
        }
        if machine.n_outputs() != n_targets {
            return Err(Error::Shape { what: "targets of a row", expected: machine.n_outputs(), found: n_targets });
        }
        let frame = Frame::fixed(&machine.expansion.kernel, &machine.expansion.vectors, JITTER)?;
        let m = frame.len();
        let sums = FitSums { losses: vec![0.0], systems: vec![0.0; m * m], gradient: vec![0.0; m * n_targets], ..FitSums::default() };
        Ok(RidgeSums { machine: machine.clone(), lambda, factor: frame.lower().matrix().clone(), sums })
    }

    fn n_targets(&self) -> usize {
        self.sums.gradient.len() / self.factor.rows().max(1)
    }

    /// The numbers of the sums, to compare them.
    #[cfg(test)]
    pub(super) fn sums(&self) -> Vec<f64> {
        [&self.sums.systems[..], &self.sums.gradient].concat()
    }

    /// Rows so far.
    pub fn n_rows(&self) -> f64 {
        self.sums.rows
    }

    /// Adds the rows of a block, whose features are not scaled.
    pub fn add_rows(&mut self, block: &RowBlock) -> Result<()> {
        let q = self.n_targets();
        let problem = Problem {
            loss: RowLossName::Squared,
            n_classes: 0,
            n_outputs: q,
            costs: vec![0.5 / self.lambda],
            scale: self.machine.scale.clone(),
            // The offset stays with the vectors.
            centre: self.machine.offsets.clone(),
        };
        let ask = Ask::Fit(Box::new(FitAsk {
            transform: Transform::None,
            problem,
            kernel: self.machine.expansion.kernel.clone(),
            vectors: self.machine.expansion.vectors.to_dense(),
            factor: self.factor.clone(),
            weights: Matrix::zeros(self.factor.rows(), q),
            systems: true,
            vectors_gradient: false,
            direction: None,
        }));
        match block_sums(&ask, block)? {
            Sums::Fit(sums) => self.sums.add(*sums)?,
            Sums::Scout(_) => return Err(Error::data("sums that answer different asks cannot be added")),
        }
        let most = self.machine.most_fingerprints();
        self.machine.recognise(Fingerprints::of(&block.points, most));
        Ok(())
    }

    /// Adds the rows of other sums on the same vectors.
    pub fn add(&mut self, other: &RidgeSums) -> Result<()> {
        if (self.lambda, &self.factor, &self.machine.offsets) != (other.lambda, &other.factor, &other.machine.offsets) {
            return Err(Error::data("these sums are on other vectors or of another lambda"));
        }
        self.sums.add(other.sums.clone())?;
        other.machine.metadata.seen.iter().for_each(|seen| self.machine.recognise(seen.clone()));
        Ok(())
    }

    /// The machine of all rows so far.
    pub fn machine(&self) -> Result<Machine> {
        let (m, q) = (self.factor.rows(), self.n_targets());
        let mut system = self.sums.system(0, m)?;
        (0..m).for_each(|j| system.row_mut(j)[j] += 1.0);
        let mut weights = Matrix::from_fn(m, q, |j, k| -self.sums.gradient[j * q + k]);
        Cholesky::new(&system).ok_or_else(|| Error::data("the system of ridge cannot be factored; raise lambda"))?.solve(&mut weights);
        let vectors = &self.machine.expansion.vectors;
        let frame = Frame::of(&self.machine.expansion.kernel, vectors, Lower::new(self.factor.clone()));
        let mut machine = self.machine.clone();
        machine.expansion.coefficients = Coefficients::Dense(frame.coefficients(&weights));
        machine.metadata = Metadata { n_rows: Some(self.sums.rows as usize), objective: None, ..machine.metadata };
        machine.check()?;
        Ok(machine)
    }

    /// The sums as bytes; the machine that they belong to is not part of them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let FitSums { rows, errors, losses, systems, gradient, .. } = &self.sums;
        let arrays =
            vec![vec![self.lambda, *rows, *errors], losses.clone(), systems.clone(), gradient.clone(), self.factor.values().to_vec()];
        Ok(Packed::new(&"ridge", arrays)?.to_bytes())
    }

    /// The sums of these bytes, for the machine that they belong to.
    pub fn from_bytes(bytes: &[u8], machine: &Machine) -> Result<Self> {
        let [first, losses, systems, gradient, factor] = Packed::from_bytes(bytes)?.arrays()?;
        let m = machine.n_vectors();
        let [lambda, rows, errors] = first[..] else {
            return Err(Error::Shape { what: "counts of sums", expected: 3, found: first.len() });
        };
        if systems.len() != m * m || gradient.len() % m.max(1) != 0 {
            return Err(Error::Shape { what: "numbers of sums", expected: m * m, found: systems.len() });
        }
        let sums = FitSums { rows, errors, losses, systems, gradient, ..FitSums::default() };
        Ok(RidgeSums { machine: machine.clone(), lambda, factor: matrix("a factor", factor, m, m)?, sums })
    }
}
