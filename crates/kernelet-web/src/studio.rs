//! What is open, and the answers.
use kernelet::{
    Error, Result,
    compress::Effort,
    machine::{Machine, Predictor},
    model::{self, native},
    request::{CompressMethod, Given},
    watch::{Progress, Watch},
};
use serde_json::{Map, Value, json};

use crate::{
    ask::{self, Ask},
    export,
    level::{level, task},
    open::{self, Rows},
};

/// An answer: JSON, and the bytes of a file where there is one. What fails is `{"failed": "a sentence"}`.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// JSON.
    pub text: String,
    /// A file.
    pub bytes: Vec<u8>,
}

/// The rows, the model and the machines of a page.
#[derive(Default)]
pub struct Studio {
    rows: Option<Rows>,
    full: Option<Machine>,
    machines: Vec<Machine>,
}

type Found = (Value, Vec<u8>);

impl Studio {
    /// Answers a question in JSON, see [`Ask`]; `file` is the content of a file that belongs to it, and `show` sees progress.
    pub fn answer(&mut self, question: &[u8], file: &[u8], show: fn(&Progress)) -> Answer {
        let asked = serde_json::from_slice(question).map_err(|error| Error::request(format!("this is no question: {error}")));
        match asked.and_then(|ask| self.found(ask, file, show)) {
            Ok((value, bytes)) => Answer { text: value.to_string(), bytes },
            Err(error) => Answer { text: json!({ "failed": error.to_string() }).to_string(), bytes: vec![] },
        }
    }

    fn found(&mut self, ask: Ask, file: &[u8], show: fn(&Progress)) -> Result<Found> {
        let shown = |value: Value| Ok((value, vec![]));
        match ask {
            Ask::Fields => shown(ask::fields()),
            Ask::Digits => {
                self.take(Rows::digits());
                shown(self.opened())
            }
            Ask::Open { name, target, settings } => shown(self.open(file, &name, &target, &settings)?),
            Ask::Test { name } => {
                let rows = self.rows.as_mut().ok_or_else(|| Error::request("open the rows to train on first"))?;
                rows.test_with(file, &name)?;
                self.machines.clear();
                shown(self.opened())
            }
            Ask::Sizes { largest } => shown(json!(sizes(largest))),
            Ask::Train { settings, vectors } => self.train(&settings, vectors, show),
            Ask::Compress { settings, vectors } => self.compress(&settings, vectors, show),
            Ask::Keep => {
                let machine = native::from_bytes(file, "a machine of this page")?;
                self.given_out(machine, json!({}))
            }
            Ask::Row { place } => shown(self.row(place)?),
            Ask::Predict { machine, row } => shown(self.predict(machine, &row)?),
            Ask::Outputs { machine } => self.outputs(machine),
            Ask::Export { machine, to, name } => export::file(self.machine(machine)?, to, &name),
        }
    }

    fn take(&mut self, rows: Rows) {
        (self.rows, self.machines) = (Some(rows), vec![]);
        // A model for rows of another kind is put away.
        self.full = self.full.take().filter(|full| self.rows.as_ref().is_some_and(|rows| rows.train.dim() == full.dim()));
    }

    fn open(&mut self, bytes: &[u8], name: &str, target: &str, settings: &Map<String, Value>) -> Result<Value> {
        let is_model = model::Kind::of(bytes).is_some();
        if is_model {
            let machine = model::load_bytes(bytes, name)?;
            self.rows = self.rows.take().filter(|rows| rows.train.dim() == machine.dim());
            (self.full, self.machines) = (Some(machine), vec![]);
        } else {
            let wanted = ask::train(settings, None)?.wanted();
            self.take(Rows::read(bytes, name, target, wanted)?);
        }
        let mut opened = self.opened();
        opened["opened"] = json!(if is_model { "model" } else { "rows" });
        Ok(opened)
    }

    /// What is open now.
    fn opened(&self) -> Value {
        let model = self.full.as_ref().map(|full| level(full, self.test(), None)).transpose();
        let model = model.unwrap_or_else(|error| Some(json!({ "failed": error.to_string() })));
        json!({ "rows": self.rows.as_ref().map(Rows::shown), "model": model })
    }

    fn test(&self) -> Option<&kernelet::data::Dataset> {
        self.rows.as_ref().and_then(|rows| rows.test.as_ref().or(Some(&rows.train)))
    }

    /// A machine by its place; none for the model that is open.
    fn machine(&self, place: Option<usize>) -> Result<&Machine> {
        let found = match place {
            Some(place) => self.machines.get(place),
            None => self.full.as_ref(),
        };
        found.ok_or_else(|| Error::request("there is no such machine yet; train one or open a model"))
    }

    fn train(&mut self, settings: &Map<String, Value>, vectors: Option<usize>, show: fn(&Progress)) -> Result<Found> {
        let rows = self.rows.as_ref().ok_or_else(|| Error::request("open rows to train on first"))?;
        let watch = Watch::none().with_reporter(show);
        let trained = ask::train(settings, vectors)?.run(&rows.train, &Given::default(), &watch)?;
        let (objective, status, notes) = (trained.fit.report.objective, trained.fit.report.status.name(), trained.notes);
        let machine = trained.fit.machine;
        if vectors.is_none() {
            self.full = Some(machine.clone());
        }
        self.given_out(machine, json!({ "objective": objective, "status": status, "notes": notes }))
    }

    fn compress(&mut self, settings: &Map<String, Value>, vectors: usize, show: fn(&Progress)) -> Result<Found> {
        let full = self.full.as_ref().ok_or_else(|| Error::request("open a model to compress, or train a full machine first"))?;
        let data = self.rows.as_ref().map(|rows| &rows.train);
        let mut request = ask::compress(settings, vectors)?;
        if request.method.unwrap_or_default() == CompressMethod::Auto && request.effort.is_none() {
            request.effort = Some(Effort::Quick);
        }
        let watch = Watch::none().with_reporter(show);
        let made = request.run(full, data, None, &watch)?;
        let more = json!({ "status": made.status.name(), "strategy": made.strategy, "notes": made.notes });
        self.given_out(made.machine, more)
    }

    /// Keeps a machine, shows it, and gives its bytes to the page, which brings them back after a cancelled run.
    fn given_out(&mut self, machine: Machine, more: Value) -> Result<Found> {
        let mut shown = level(&machine, self.test(), self.full.as_ref().filter(|full| **full != machine))?;
        if let (Some(shown), Value::Object(more)) = (shown.as_object_mut(), more) {
            shown.extend(more);
        }
        shown["machine"] = json!(self.machines.len());
        let bytes = native::to_bytes(&machine)?;
        self.machines.push(machine);
        Ok((shown, bytes))
    }

    fn row(&self, place: usize) -> Result<Value> {
        let rows = self.test().ok_or_else(|| Error::request("open rows first"))?;
        if rows.table.as_ref().is_some_and(|table| !table.is_plain()) {
            return Err(Error::request("rows of this table have columns of text; type one, its columns between commas"));
        }
        let place = place % rows.len().max(1);
        let text = rows.points.select(&[place]).to_dense().values().iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let truth = rows.classes().ok().map(|classes| classes.labels[classes.codes[place] as usize].to_string());
        Ok(json!({ "row": text, "truth": truth, "place": place + 1 }))
    }

    fn predict(&self, machine: Option<usize>, row: &str) -> Result<Value> {
        let machine = self.machine(machine)?;
        let points = open::typed(machine, row)?.points;
        let predictor = Predictor::new(machine);
        let outputs = predictor.outputs(&points)?;
        let prediction = predictor.predict(&points)?;
        let probabilities =
            if machine.check_probabilities().is_ok() { Some(machine.probabilities(&outputs)?.row(0).to_vec()) } else { None };
        let numbers: Vec<f64> = if task(machine) == "classes" { vec![] } else { machine.decision.numbers(outputs.row(0)) };
        Ok(json!({
            "label": prediction.label(0).map(ToString::to_string), "values": numbers, "outputs": outputs.row(0), "probabilities": probabilities,
            "labels": machine.decision.labels().iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))
    }

    /// The outputs of the test rows as CSV, each number with all its digits.
    fn outputs(&self, machine: Option<usize>) -> Result<Found> {
        let machine = self.machine(machine)?;
        let rows = self.test().ok_or_else(|| Error::request("open rows to predict first"))?;
        let predictor = Predictor::new(machine);
        let (outputs, prediction) = (predictor.outputs(&rows.points)?, predictor.predict(&rows.points)?);
        let mut text = String::from("predicted");
        (0..outputs.cols()).for_each(|k| text += &format!(",output {}", k + 1));
        for (i, row) in outputs.iter().enumerate() {
            text += "\n";
            text += &prediction.label(i).map_or(String::new(), |label| open::field(label.text()));
            row.iter().for_each(|output| text += &format!(",{output:?}"));
        }
        text += "\n";
        Ok((json!({ "name": "outputs.csv" }), text.into_bytes()))
    }
}

/// Sizes up to the largest, about two for each doubling, so that all of them together cost some three times the largest.
fn sizes(largest: usize) -> Vec<usize> {
    let grown = (0..).map(|step| std::f64::consts::SQRT_2.powi(step).round() as usize).take_while(|size| *size < largest);
    let mut sizes: Vec<usize> = grown.chain([largest.max(1)]).collect();
    sizes.dedup();
    sizes
}
