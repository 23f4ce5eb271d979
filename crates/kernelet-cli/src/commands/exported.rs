//! What `kernelet export` says in the end.
use std::path::Path;

use serde::Serialize;

use super::export::To;
use crate::{
    layout::{count, counted},
    quantised::Loss,
    session::{Answer, Session},
};

/// What was written.
#[derive(Serialize)]
pub(super) struct Exported {
    pub(super) to: To,
    pub(super) files: Vec<String>,
    pub(super) lost: Vec<String>,
    pub(super) precision: Option<&'static str>,
    /// What the rounding costs, where rows were given.
    pub(super) loss: Option<Loss>,
    /// Kernel evaluations that a row costs where the file is used.
    pub(super) evaluations_per_row: Option<usize>,
    pub(super) constant_bytes: Option<usize>,
    pub(super) stack_bytes: Option<usize>,
    pub(super) opset: Option<i64>,
    #[serde(skip)]
    pub(super) shared_vectors: Option<usize>,
}

impl Exported {
    pub(super) fn new(to: To, output: &Path) -> Self {
        Exported {
            to,
            files: vec![output.display().to_string()],
            lost: vec![],
            precision: None,
            loss: None,
            evaluations_per_row: None,
            constant_bytes: None,
            stack_bytes: None,
            opset: None,
            shared_vectors: None,
        }
    }

    /// What a row costs there, and what the code takes.
    pub(super) fn talk(&self, session: &Session) {
        if let Some(evaluations) = self.evaluations_per_row {
            let copies = self.shared_vectors.filter(|&vectors| vectors < evaluations);
            let copies =
                copies.map_or(String::new(), |vectors| format!("; {} shared by several classes cost copies", counted(vectors, "vector")));
            session.note(format!("a row costs {} there{copies}", counted(evaluations, "kernel evaluation")));
        }
        if let (Some(constants), Some(stack)) = (self.constant_bytes, self.stack_bytes) {
            session.note(format!("flash: {} bytes of constants, and the code; RAM: {} bytes of stack", count(constants), count(stack)));
        }
        if let Some(opset) = self.opset {
            session.note(format!("the graph needs operator set {opset}; its input is row"));
        }
    }
}

impl Answer for Exported {
    fn text(&self) -> String {
        self.files.iter().map(|file| format!("{file}\n")).collect()
    }
}
