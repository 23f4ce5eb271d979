//! The outputs of a machine for the rows of an array: few rows at once on this thread, many in turns on a pool, so that Ctrl-C is heard.
use std::sync::{Mutex, OnceLock, TryLockError};

use kernelet::{
    Result,
    device::Device,
    linalg::Matrix,
    machine::{DenseRows, Machine, Predictor, Work},
};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    arrays::Rows,
    work::{pool, refused},
};

/// Kernel values times features of the work between two looks at Ctrl-C: some tenths of a second on one thread.
const TURN: usize = 2_000_000_000;

/// Up to so many multiplications are done at once where they are asked for: starting threads would take longer.
const SMALL: usize = 200_000;

/// What predictions of one machine keep from call to call.
#[derive(Default)]
pub struct Ready {
    predictor: OnceLock<Predictor>,
    device: Device,
    spare: Mutex<Work>,
}

impl Ready {
    /// A machine that predicts on a device.
    pub fn on(machine: &Machine, device: Device) -> Result<Self> {
        Ok(Ready { predictor: Predictor::on(machine, device)?.into(), device, ..Ready::default() })
    }

    /// Where it predicts.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The predictor, made when it is first needed.
    pub fn predictor(&self, machine: &Machine) -> &Predictor {
        self.predictor.get_or_init(|| Predictor::new(machine))
    }

    /// The outputs of all rows. Dense rows are read where they are.
    pub fn outputs(&self, py: Python, machine: &Machine, rows: &Rows, threads: usize) -> PyResult<Matrix> {
        let (n, q) = (rows.len(), machine.n_outputs());
        if rows.dim() != machine.dim() {
            return Err(PyValueError::new_err(format!("X has {} features, but the machine expects {}", rows.dim(), machine.dim())));
        }
        let cost = machine.n_vectors().max(1).saturating_mul(machine.dim().max(1));
        let Some(dense) = rows.borrowed()? else {
            let points = rows.to_points()?;
            let pool = pool(threads)?;
            return py.detach(|| pool.install(|| self.predictor(machine).outputs(&points))).map_err(refused);
        };
        let mut out = Matrix::zeros(n, q);
        if cost.saturating_mul(n) <= SMALL && self.device == Device::Cpu {
            self.few(machine, dense, &mut out)?;
            return Ok(out);
        }
        let pool = pool(threads)?;
        let turn = (TURN / cost).clamp(1024, usize::MAX / 2).saturating_mul(threads.max(1));
        for (place, out) in out.values_mut().chunks_mut(turn.saturating_mul(q.max(1))).enumerate() {
            let first = place * turn;
            let part = part(dense, first, first + out.len() / q.max(1), machine.dim());
            py.detach(|| pool.install(|| self.predictor(machine).outputs_of(part, out))).map_err(refused)?;
            py.check_signals()?;
        }
        Ok(out)
    }

    /// Few rows, one after another on this thread.
    fn few(&self, machine: &Machine, rows: DenseRows, out: &mut Matrix) -> PyResult<()> {
        let mut own = Work::default();
        let mut spare = match self.spare.try_lock() {
            Ok(spare) => Some(spare),
            Err(TryLockError::Poisoned(spare)) => Some(spare.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let work = spare.as_deref_mut().unwrap_or(&mut own);
        let (dim, mut row) = (machine.dim(), vec![]);
        for i in 0..out.rows() {
            let row: &[f64] = match part(rows, i, i + 1, dim) {
                DenseRows::F64(values) => values,
                DenseRows::F32(values) => {
                    row.clear();
                    row.extend(values.iter().map(|&v| f64::from(v)));
                    &row
                }
            };
            self.predictor(machine).row(row, out.row_mut(i), work).map_err(refused)?;
        }
        Ok(())
    }
}

/// Rows `first..end`.
fn part(rows: DenseRows, first: usize, end: usize, dim: usize) -> DenseRows {
    match rows {
        DenseRows::F64(values) => DenseRows::F64(&values[first * dim..end * dim]),
        DenseRows::F32(values) => DenseRows::F32(&values[first * dim..end * dim]),
    }
}
