//! How a run fails, and the one place that prints errors.
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use kernelet::{Error, text::nearest};

use crate::layout::plain;

/// A `Result` of this program.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a run ended without its result.
#[derive(Debug)]
pub enum Failure {
    /// Bad data or a bad file: exit 1.
    Failed(Message),
    /// A wrong flag or value: exit 2.
    Usage(Message),
    /// Interrupted before there was anything to keep: exit 130, as shells have it.
    Cancelled,
    /// Interrupted, and what is there all the same: exit 130.
    Kept(String),
    /// Whoever read standard output has seen enough: that is success.
    BrokenPipe,
}

/// A sentence, and what to do about it.
#[derive(Debug)]
pub struct Message {
    sentence: String,
    hint: Option<String>,
}

impl Failure {
    /// Bad data or a bad file.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Failure::Failed(Message { sentence: sentence.into(), hint: None })
    }

    /// A wrong flag or value.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Failure::Usage(Message { sentence: sentence.into(), hint: None })
    }

    /// The same with a line that says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Failure::Failed(message) | Failure::Usage(message) = &mut self {
            message.hint = Some(hint.into());
        }
        self
    }

    /// An error about the content of a file, which is named where the error does not name it.
    pub fn in_file(path: &str, error: Error) -> Self {
        let names_it = matches!(error, Error::Format { .. } | Error::Version { .. } | Error::Io { .. });
        match Failure::from(error) {
            Failure::Failed(Message { sentence, hint }) if !names_it => {
                Failure::Failed(Message { sentence: format!("{path}: {sentence}"), hint })
            }
            other => other,
        }
    }

    /// A failed write to standard output.
    pub fn of_output(error: io::Error) -> Self {
        Error::io("standard output", error).into()
    }

    /// Says what is wrong on standard error and gives the exit status.
    pub fn report(&self) -> u8 {
        let (code, message) = match self {
            Failure::BrokenPipe => return 0,
            Failure::Cancelled => (130, &Message { sentence: "interrupted; nothing was written".into(), hint: None }),
            Failure::Kept(what) => (130, &Message { sentence: format!("interrupted; {what}"), hint: None }),
            Failure::Failed(message) => (1, message),
            Failure::Usage(message) => (2, message),
        };
        let mut text = format!("error: {}\n", plain(&message.sentence));
        if let Some(hint) = &message.hint {
            text.push_str(&format!("hint: {}\n", plain(hint)));
        }
        let _ = io::stderr().write_all(text.as_bytes());
        code
    }

    /// The same where the run was interrupted: what failed may have failed for work that was left out.
    pub fn interrupted(self) -> Self {
        match self {
            Failure::Failed(message) => Failure::Kept(message.sentence),
            Failure::BrokenPipe => Failure::Kept("standard output was closed".into()),
            other => other,
        }
    }

    /// The sentence without the hint.
    pub fn sentence(&self) -> String {
        match self {
            Failure::Failed(message) | Failure::Usage(message) => message.sentence.clone(),
            Failure::Cancelled | Failure::Kept(_) | Failure::BrokenPipe => "interrupted".into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = match &error {
            Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            Error::Cancelled => Failure::Cancelled,
            Error::Parameter { .. } | Error::Unsupported { .. } | Error::Request(_) => Failure::usage(error.spelled(flag)),
            _ => Failure::failed(error.to_string()),
        };
        match hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// What to do about an error whose sentence does not say it.
fn hint(error: &Error) -> Option<String> {
    if let Error::Io { path, source } = error {
        return (source.kind() == io::ErrorKind::NotFound).then(|| similar_file(path.as_ref())).flatten();
    }
    let hint = match error {
        Error::NotFinite { .. } => Some("leave such rows out or fill the values in"),
        Error::OneClass { .. } => Some("if the label stands in another column, name it with --target"),
        Error::Shape { what: "features of a row" | "features", .. } => Some("the rows need the features that the model was trained on"),
        _ => None,
    };
    hint.map(String::from)
}

/// The file that was probably meant.
fn similar_file(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names: Vec<String> = fs::read_dir(place).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let meant = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(format!("did you mean {}?", folder.join(meant).display()))
}

/// The name of a setting as a flag.
pub fn flag(name: &str) -> String {
    format!("--{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_usage_data_are_failures_and_a_broken_pipe_is_success() {
        let cases: [(Failure, u8); 6] = [
            (Error::parameter("gamma", -1, "above 0").into(), 2),
            (Error::data("no rows").into(), 1),
            (Failure::of_output(io::ErrorKind::BrokenPipe.into()), 0),
            (Failure::Cancelled, 130),
            (Failure::Kept("the model is kept".into()), 130),
            (Failure::from(Error::data("no vector was found")).interrupted(), 130),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.report(), code);
        }
    }

    #[test]
    fn a_file_is_named_once() {
        let sentence = |error| match Failure::in_file("a.svm", error) {
            Failure::Failed(message) => message.sentence,
            other => format!("{other:?}"),
        };
        assert_eq!(sentence(Error::data("no rows")), "a.svm: no rows");
        assert_eq!(sentence(Error::format("a.svm", Some(2), None, "no colon")), "a.svm, line 2: no colon");
    }
}
