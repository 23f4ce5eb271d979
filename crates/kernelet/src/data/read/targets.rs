//! Targets gathered row by row: class labels that print as they came, or numbers.
use super::Wanted;
use crate::{
    data::{
        Classes, Interner, Target,
        table::{is_missing, quoted},
    },
    linalg::Matrix,
};

/// So many distinct labels are compared byte by byte before the table of all is asked.
const RECENT: usize = 8;

/// The targets of the rows read so far.
#[derive(Debug, Default)]
pub(super) struct Targets {
    wanted: Wanted,
    interner: Interner,
    recent: Vec<(Vec<u8>, u32)>,
    codes: Vec<u32>,
    values: Vec<f64>,
}

impl Targets {
    /// No rows yet.
    pub(super) fn new(wanted: Wanted) -> Self {
        Targets { wanted, ..Targets::default() }
    }

    /// The target of the next row, or why this text cannot be one.
    pub(super) fn push(&mut self, text: &[u8]) -> Result<(), String> {
        match self.wanted {
            Wanted::Nothing => {}
            Wanted::Classes => {
                let code = self.code(text)?;
                self.codes.push(code);
            }
            Wanted::Values => match fast_float2::parse(text) {
                Ok(value) => self.values.push(value),
                Err(_) => return Err(format!("the target {} is not a number", quoted(text))),
            },
        }
        Ok(())
    }

    /// Takes the rows of `later` in after our own.
    pub(super) fn append(&mut self, later: Targets) {
        let places: Vec<u32> = later.interner.labels.iter().map(|label| self.interner.code(label.text())).collect();
        self.codes.extend(later.codes.iter().map(|&code| places[code as usize]));
        self.values.extend(later.values);
    }

    /// The target of all rows.
    pub(super) fn finish(self) -> Target {
        match self.wanted {
            Wanted::Nothing => Target::None,
            Wanted::Classes => Target::Classes(Classes::new(self.interner.labels, &self.codes)),
            Wanted::Values => Target::Values(Matrix::column(self.values)),
        }
    }

    fn code(&mut self, text: &[u8]) -> Result<u32, String> {
        if let Some((_, code)) = self.recent.iter().find(|(known, _)| known == text) {
            return Ok(*code);
        }
        if is_missing(text) {
            return Err(format!("the label is missing ({}); fill it in or leave the row out", String::from_utf8_lossy(text)));
        }
        let Ok(label) = std::str::from_utf8(text) else {
            return Err("the label is not valid UTF-8".into());
        };
        let code = self.interner.code(label);
        if self.recent.len() < RECENT {
            self.recent.push((text.to_vec(), code));
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_spelling_and_joined_parts_their_rows() {
        let mut first = Targets::new(Wanted::Classes);
        let mut second = Targets::new(Wanted::Classes);
        ["+1", "b", "+1"].iter().for_each(|t| first.push(t.as_bytes()).unwrap());
        ["c", "1", "b"].iter().for_each(|t| second.push(t.as_bytes()).unwrap());
        first.append(second);
        let Target::Classes(classes) = first.finish() else { panic!("no classes") };
        let texts: Vec<&str> = classes.codes.iter().map(|&c| classes.labels[c as usize].text()).collect();
        assert_eq!(texts, ["+1", "b", "+1", "c", "+1", "b"]);
    }

    #[test]
    fn a_missing_label_is_no_class_where_labels_are_wanted() {
        for text in ["nan", "NaN", "-nan", "?", "NA"] {
            let error = Targets::new(Wanted::Classes).push(text.as_bytes()).unwrap_err();
            assert_eq!(error, format!("the label is missing ({text}); fill it in or leave the row out"));
            Targets::new(Wanted::Nothing).push(text.as_bytes()).unwrap();
        }
        Targets::new(Wanted::Classes).push(b"nano").unwrap();
    }

    #[test]
    fn more_labels_than_are_compared_at_once_stay_apart() {
        let mut targets = Targets::new(Wanted::Classes);
        let texts: Vec<String> = (0..100).map(|i| (i % 50).to_string()).collect();
        texts.iter().for_each(|t| targets.push(t.as_bytes()).unwrap());
        assert_eq!(targets.finish(), Target::Classes(Classes::from_texts(&texts)));
    }
}
