//! What a sparsifier may look at.
use crate::{
    Error, Result,
    data::{Dataset, Points},
    kernel::Kernel,
    machine::{Coefficients, Expansion, Machine, Metadata},
};

/// A machine to make smaller, and what else there is.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Rows as they come from files, before the machine's scaling; with targets where a method needs them.
    pub data: Option<&'a Dataset>,
    /// Points to choose vectors from, in the space of the machine's vectors; none: the vectors themselves.
    pub candidates: Option<&'a Points>,
}

impl<'a> Task<'a> {
    /// The machine alone.
    pub fn of(machine: &'a Machine) -> Self {
        Task { machine, data: None, candidates: None }
    }

    /// The points to choose from.
    pub fn candidates(&self) -> &'a Points {
        self.candidates.unwrap_or(&self.machine.expansion.vectors)
    }

    /// The rows of the data in the space of the machine's vectors.
    pub fn scaled_rows(&self) -> Result<Option<Points>> {
        let Some(data) = self.data else { return Ok(None) };
        data.points.check_finite()?;
        match &self.machine.scale {
            None => Ok(Some(data.points.clone())),
            Some(scale) => scale.apply(&data.points).map(Some),
        }
    }

    /// An error when there is nothing to work on.
    pub fn check(&self) -> Result<()> {
        self.machine.check()?;
        let expansion = &self.machine.expansion;
        if expansion.vectors.is_empty() {
            return Err(Error::data("the machine has no vectors; there is nothing to compress"));
        }
        if let Kernel::Precomputed(_) = expansion.kernel {
            return Err(Error::Unsupported {
                method: "compression",
                with: "a precomputed kernel, whose values between vectors are not in the model".into(),
                instead: "compress the EmpiricalMap of the machine, which reads them from the training rows, or train with a kernel that has a formula"
                    .into(),
            });
        }
        if expansion.coefficients.stored().values().iter().all(|v| *v == 0.0) {
            return Err(Error::data("all coefficients of the machine are zero; there is nothing to compress"));
        }
        let dim = expansion.vectors.dim();
        if let Some(data) = self.data {
            data.check()?;
            // Sparse rows may end with the last feature that is not zero.
            if !data.points.is_sparse() && data.dim() != self.machine.dim() {
                return Err(Error::Shape { what: "features of the data", expected: self.machine.dim(), found: data.dim() });
            }
        }
        match self.candidates {
            Some(points) if points.dim() != dim => {
                Err(Error::Shape { what: "features of the candidates", expected: dim, found: points.dim() })
            }
            Some(points) => points.check_finite(),
            None => Ok(()),
        }
    }
}

/// The machine of some of the vectors, with the coefficients they have.
pub(crate) fn part_of(machine: &Machine, chosen: &[usize]) -> Machine {
    let Expansion { kernel, vectors, coefficients } = &machine.expansion;
    let coefficients = Coefficients::Dense(coefficients.to_dense().select(chosen));
    let expansion = Expansion { kernel: kernel.clone(), vectors: vectors.select(chosen), coefficients };
    // Which rows a machine was trained on is its own affair: a part of it is validated by whoever makes it.
    let metadata = Metadata { seen: None, ..machine.metadata.clone() };
    Machine { expansion, calibration: None, metadata, ..machine.clone() }
}
