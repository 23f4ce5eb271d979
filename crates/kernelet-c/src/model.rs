//! A model ready to predict; everything here is safe code and returns sentences where something is wrong.
use std::ffi::CString;

use kernelet::{
    Error, Result,
    data::Points,
    linalg::Matrix,
    machine::{Decision, DenseRows, Machine, Predictor},
    model,
};

/// A model: opaque in C.
pub struct Model {
    machine: Machine,
    predictor: Predictor,
    labels: Vec<CString>,
}

impl Model {
    pub(crate) fn load(path: &str) -> Result<Model> {
        Model::of(model::load(path)?)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::of(model::load_bytes(bytes, "the model in memory")?)
    }

    fn of(machine: Machine) -> Result<Model> {
        let text = |label: &kernelet::data::Label| {
            CString::new(label.text()).map_err(|_| Error::data("a label has a zero byte, which C cannot hold; rename the class"))
        };
        let labels = machine.decision.labels().iter().map(text).collect::<Result<Vec<_>>>()?;
        Ok(Model { predictor: Predictor::new(&machine), machine, labels })
    }

    pub(crate) fn features(&self) -> usize {
        self.machine.dim()
    }

    pub(crate) fn outputs(&self) -> usize {
        self.machine.n_outputs()
    }

    pub(crate) fn classes(&self) -> usize {
        self.labels.len()
    }

    /// Predicted numbers of a row; 0 where classes are predicted.
    pub(crate) fn values(&self) -> usize {
        match (&self.machine.decision, self.labels.is_empty()) {
            (_, false) => 0,
            (Decision::Ratio, true) => self.outputs() - 1,
            _ => self.outputs(),
        }
    }

    pub(crate) fn label(&self, place: usize) -> Result<&CString> {
        let found = self.labels.get(place);
        found.ok_or_else(|| Error::data(format!("there is no class {place}; the model has {}, counted from 0", self.labels.len())))
    }

    /// The outputs of rows, written to `out`.
    pub(crate) fn outputs_of(&self, rows: &[f64], out: &mut [f64]) -> Result<()> {
        let dim = self.features().max(1);
        if let Some(at) = rows.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { what: "a value", row: at / dim, column: at % dim, value: rows[at] });
        }
        self.predictor.outputs_of(DenseRows::F64(rows), out)
    }

    fn output_matrix(&self, rows: &[f64], count: usize) -> Result<Matrix> {
        let mut outputs = Matrix::zeros(count, self.outputs());
        self.outputs_of(rows, outputs.values_mut())?;
        Ok(outputs)
    }

    /// The place of the class of each row.
    pub(crate) fn predict_classes(&self, rows: &[f64], out: &mut [i32]) -> Result<()> {
        if self.labels.is_empty() {
            return Err(Error::data("the model predicts numbers, not classes; call kernelet_predict_values"));
        }
        let outputs = self.output_matrix(rows, out.len())?;
        out.iter_mut().zip(outputs.iter()).for_each(|(out, row)| *out = self.machine.decision.class(row) as i32);
        Ok(())
    }

    /// The predicted numbers of each row.
    pub(crate) fn predict_values(&self, rows: &[f64], out: &mut [f64]) -> Result<()> {
        let values = self.values();
        if values == 0 {
            return Err(Error::data("the model predicts classes, not numbers; call kernelet_predict_classes"));
        }
        let outputs = self.output_matrix(rows, out.len() / values)?;
        let numbers = outputs.iter().flat_map(|row| self.machine.decision.numbers(row));
        out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number);
        Ok(())
    }

    /// The probability of each class for each row.
    pub(crate) fn probabilities(&self, rows: &[f64], out: &mut [f64]) -> Result<()> {
        let classes = self.machine.check_probabilities()?;
        let outputs = self.output_matrix(rows, out.len() / classes.max(1))?;
        let probabilities = self.machine.probabilities(&outputs)?;
        copy(&probabilities, out)
    }

    /// The standard deviation of each predicted number of each row.
    pub(crate) fn deviations(&self, rows: &[f64], out: &mut [f64]) -> Result<()> {
        let count = out.len() / self.values().max(1);
        let matrix = Matrix::new(rows.to_vec(), count, self.features());
        let points = Points::from(matrix.ok_or_else(|| Error::data("the rows do not fit the model"))?);
        points.check_finite()?;
        copy(&self.machine.deviations(&points)?, out)
    }
}

fn copy(from: &Matrix, out: &mut [f64]) -> Result<()> {
    match from.values().len() == out.len() {
        true => out.copy_from_slice(from.values()),
        false => return Err(Error::Shape { what: "numbers of the result", expected: from.values().len(), found: out.len() }),
    }
    Ok(())
}
