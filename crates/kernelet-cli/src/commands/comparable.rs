//! Rows whose target is not what the model predicts: what to do about them.
use kernelet::{
    Error,
    data::{Label, Target},
    evaluate::Confusion,
};

use crate::failure::Failure;

/// Why predictions cannot be compared with the rows of a file.
pub(super) fn failure(path: &str, error: Error, target: &Target) -> Failure {
    let failure = Failure::in_file(path, error);
    match target {
        Target::None => failure.hint("every column is a feature of the model; add the column that it predicts, or use kernelet predict"),
        _ => failure,
    }
}

/// A note where no row has a label of the model: the target is probably in another column.
pub(super) fn note(confusion: &Confusion, labels: &[Label]) -> Option<String> {
    const NAMED: usize = 5;
    if labels.is_empty() || confusion.counts[..labels.len()].iter().flatten().any(|count| *count > 0) {
        return None;
    }
    let named: Vec<String> = labels.iter().take(NAMED).map(Label::to_string).collect();
    let more = if labels.len() > NAMED { ", .." } else { "" };
    Some(format!("no row has a label of the model, which are {}{more}; another column is named with --target", named.join(", ")))
}
