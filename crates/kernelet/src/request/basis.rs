//! A basis alone, without an estimator on it.
use super::{plan::Plan, train::Train, vectors::Method};
use crate::{
    Error, Named, Result,
    basis::{Basis, EmpiricalPoints},
    data::Points,
    kernel::{Kernel, Linear},
    machine::Machine,
    watch::Watch,
};

/// A basis that was chosen.
#[derive(Debug)]
pub struct Spanned {
    /// A machine whose outputs are the coordinates of a row in the frame of the vectors.
    pub machine: Machine,
    /// The vectors, their frame and the distances of the rows from it.
    pub basis: Basis,
    /// True when the vectors came one after the other, so that the first of them are a basis too.
    pub grows: bool,
}

impl Train {
    /// The basis that this request would train on: `method`, `vectors` and `max-error` with the kernel. The estimator does not matter.
    pub fn span(&self, points: &Points, watch: &Watch) -> Result<Spanned> {
        let method = match self.vectors.method.unwrap_or_default() {
            Method::Auto => Method::GreedyBasis,
            method @ (Method::GreedyBasis | Method::RpCholesky | Method::KMeans | Method::Random) => method,
            method => return Err(Error::request(format!("`method` {} chooses no basis by the rows alone", method.name()))),
        };
        self.check_plan(Plan::Basis(method))?;
        let kernel = self.kernel.for_rows(points)?;
        let (chosen, budget) = self.basis(method);
        let grows = chosen.grows();
        match kernel {
            // Values between vectors are not in rows of kernel values; points with the linear kernel have them.
            Kernel::Precomputed(_) => {
                let map = EmpiricalPoints::of(points)?;
                let basis = chosen.choose(&Kernel::Linear(Linear {}), &map.points, &budget, watch)?;
                Ok(Spanned { machine: map.back(&basis.frame.coordinates_machine())?, basis, grows })
            }
            _ => {
                let basis = chosen.choose(&kernel, points, &budget, watch)?;
                Ok(Spanned { machine: basis.frame.coordinates_machine(), basis, grows })
            }
        }
    }
}
