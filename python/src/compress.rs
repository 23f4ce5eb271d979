//! A machine made smaller by a request.
use kernelet::{Named, data::Dataset, request::Compress};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::{
    arrays::{self, Rows},
    machine::PyMachine,
    path::PyPath,
    work,
};

/// Makes a machine smaller as a request in JSON asks for; gives it, every size of the size path, and as JSON text the metrics of the sizes and how it
/// went. Classes are the places of the machine's labels.
#[pyfunction]
#[pyo3(signature = (request, machine, rows=None, codes=None, values=None, threads=1, report=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn compress(
    py: Python,
    request: &str,
    machine: &PyMachine,
    rows: Option<Rows>,
    codes: Option<PyReadonlyArray1<u32>>,
    values: Option<PyReadonlyArray2<f64>>,
    threads: usize,
    report: Option<Py<PyAny>>,
) -> PyResult<(PyMachine, PyPath, String)> {
    work::guarded(|| {
        let request = Compress::from_json(request).map_err(work::refused)?;
        let labels = machine.inner().decision.labels();
        let target = arrays::target(codes, values, (!labels.is_empty()).then_some(labels))?;
        let data = rows.map(|rows| rows.to_points()).transpose()?.map(|points| Dataset::new(points, target));
        let (original, before) = (machine.inner().clone(), machine.inner().n_vectors());
        let done = work::interruptible(py, threads, report, move |watch| request.run(&original, data.as_ref(), None, watch))?;
        let mut small = done.map_err(work::refused)?;
        let auto = small.method == kernelet::request::CompressMethod::Auto;
        let sizes: Vec<_> = small.sizes.iter().map(|(metrics, _)| *metrics).collect();
        let mut about = json!({
            "method": if auto { format!("auto: {}", small.strategy) } else { small.method.name().to_string() },
            "status": small.status.name(), "notes": small.notes, "path": sizes,
            "vectors_before": before, "vectors": small.machine.n_vectors(), "capped": small.capped,
        });
        if let (Value::Object(about), Some(validation)) = (&mut about, &small.validation) {
            let tried = validation.tried.iter().map(|attempt| {
                json!({
                    "way": attempt.strategy, "vectors": attempt.n_vectors, "relative_residual": attempt.metrics.residual,
                    "agreement": attempt.metrics.agreement, "loss": attempt.metrics.loss, "seconds": attempt.seconds, "failed": attempt.failed,
                })
            });
            about.extend([
                ("why".to_string(), json!(validation.why)),
                ("goals_met".into(), json!(small.goals_met())),
                ("validation".into(), json!(validation.certificate)),
                ("missing".into(), json!(small.missing)),
                ("held_out_rows".into(), json!(validation.n_rows)),
                ("held_out_loss".into(), json!(validation.metrics.loss)),
                ("held_out_loss_before".into(), json!(validation.loss_before)),
                ("held_out_agreement".into(), json!(validation.metrics.agreement)),
                ("trained_further".into(), json!(validation.trained_further)),
                ("tried".into(), tried.collect()),
            ]);
        }
        let machines = small.sizes.drain(..).map(|(_, machine)| machine).collect();
        Ok((PyMachine::new(small.machine), PyPath { machines, path: small.path }, about.to_string()))
    })
}
