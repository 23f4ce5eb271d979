//! Reading LIBSVM model text. Every count of the header is checked against what the file holds; none of them allocates anything.
use std::{collections::HashSet, str::FromStr};

use super::{WORDS, vectors::read_vectors};
use crate::{
    Error, Result,
    data::Label,
    kernel::Kernel,
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata, Pairwise},
    model::in_file,
};

/// The machine in LIBSVM model text; `origin` names the file in errors.
pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Machine> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::format(origin, Some(line), None, "this is not text")
    })?;
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    let header = Header::read(&mut lines, origin)?;
    let (learner, kind) = header.kind()?;
    let kernel = header.kernel()?;
    let classes = header.classes(kind)?;
    let pairs = classes * (classes - 1) / 2;
    let offsets: Vec<f64> = header.numbers("rho", pairs)?.into_iter().map(|rho| -rho).collect();
    let (decision, starts) = header.decision(kind, classes)?;
    let calibration = header.calibration(kind, pairs)?;
    let (vectors, values) = read_vectors(lines, &header, classes - 1)?;
    let machine = Machine {
        expansion: Expansion {
            kernel,
            vectors,
            coefficients: match classes {
                2 => Coefficients::Dense(values),
                _ => Coefficients::Pairwise(Pairwise { starts, values }),
            },
        },
        offsets,
        decision,
        scale: None,
        names: None,
        calibration,
        metadata: Metadata { learner: Some(learner.into()), ..Metadata::default() },
    };
    machine.check().map_err(|error| in_file(origin, error))?;
    Ok(machine)
}

/// What an svm type predicts.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Classes,
    Novelty,
    Values,
}

/// The lines above `SV`: a word and the rest of its line.
pub(super) struct Header<'a> {
    entries: Vec<(&'a str, usize, &'a str)>,
    /// The line of `SV`.
    pub(super) end: usize,
    pub(super) origin: &'a str,
}

impl<'a> Header<'a> {
    fn read(lines: &mut impl Iterator<Item = (usize, &'a str)>, origin: &'a str) -> Result<Self> {
        let mut header = Header { entries: vec![], end: 0, origin };
        for (number, line) in lines {
            let line = line.trim();
            let (word, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
            if line == "SV" {
                header.end = number;
                return Ok(header);
            }
            let Some(word) = WORDS.iter().find(|known| **known == word) else {
                return Err(header.bad(number, format!("LIBSVM models have no header line {word:?}")));
            };
            if header.find(word).is_some() {
                return Err(header.bad(number, format!("there is a second line {word}")));
            }
            header.entries.push((word, number, rest));
            header.end = number;
        }
        Err(header.bad(header.end, "the file ends before its vectors: there is no line SV"))
    }

    pub(super) fn bad(&self, line: usize, reason: impl Into<String>) -> Error {
        Error::format(self.origin, Some(line), None, reason)
    }

    fn find(&self, word: &str) -> Option<(usize, &'a str)> {
        self.entries.iter().find(|entry| entry.0 == word).map(|&(_, line, rest)| (line, rest))
    }

    fn need(&self, word: &str) -> Result<(usize, &'a str)> {
        self.find(word).ok_or_else(|| self.bad(self.end, format!("the header has no line {word}")))
    }

    /// The one value of a line.
    pub(super) fn single<T: FromStr>(&self, word: &str, what: &str) -> Result<T> {
        let (line, rest) = self.need(word)?;
        rest.trim().parse().map_err(|_| self.bad(line, format!("{word} is {:?}, but must be {what}", rest.trim())))
    }

    /// All values of a line.
    fn several<T: FromStr>(&self, word: &str, count: usize, what: &str) -> Result<Vec<T>> {
        let (line, rest) = self.need(word)?;
        let found = rest.split_ascii_whitespace().count();
        if found != count {
            return Err(self.bad(line, format!("{word} has {found} values, but {count} are needed")));
        }
        let parse = |text: &str| text.parse().map_err(|_| self.bad(line, format!("{word} holds {text:?}, which is not {what}")));
        rest.split_ascii_whitespace().map(parse).collect()
    }

    fn numbers(&self, word: &str, count: usize) -> Result<Vec<f64>> {
        let numbers: Vec<f64> = self.several(word, count, "a number")?;
        match numbers.iter().find(|value| !value.is_finite()) {
            None => Ok(numbers),
            Some(value) => Err(self.bad(self.need(word)?.0, format!("{word} holds {value}; every number must be finite"))),
        }
    }

    /// The learner's name and what it predicts.
    fn kind(&self) -> Result<(&'static str, Kind)> {
        let (line, rest) = self.need("svm_type")?;
        Ok(match rest.trim() {
            "c_svc" => ("svc", Kind::Classes),
            "nu_svc" => ("nu-svc", Kind::Classes),
            "one_class" => ("one-class", Kind::Novelty),
            "epsilon_svr" => ("svr", Kind::Values),
            "nu_svr" => ("nu-svr", Kind::Values),
            other => {
                let reason = format!("svm_type is {other:?}, but must be c_svc, nu_svc, one_class, epsilon_svr or nu_svr");
                return Err(self.bad(line, reason));
            }
        })
    }

    fn kernel(&self) -> Result<Kernel> {
        let (line, rest) = self.need("kernel_type")?;
        let name = rest.trim();
        if name == "precomputed" {
            return Err(self.bad(line, "the kernel is precomputed, so the file holds no vectors to compute with"));
        }
        if !["linear", "polynomial", "rbf", "sigmoid"].contains(&name) {
            return Err(self.bad(line, format!("kernel_type is {name:?}, but must be linear, polynomial, rbf or sigmoid")));
        }
        let gamma = if name == "linear" { 1.0 } else { self.single("gamma", "a number")? };
        let degree = if name == "polynomial" { self.single("degree", "a whole number from 1 to 100")? } else { 1 };
        let coef0 = if name == "polynomial" || name == "sigmoid" { self.single("coef0", "a number")? } else { 0.0 };
        let kernel = Kernel::named(name, gamma, degree, coef0).ok_or_else(|| self.bad(line, format!("the kernel {name} is unknown")))?;
        kernel.check().map_err(|error| self.bad(line, format!("the {name} kernel cannot be used: {error}")))?;
        Ok(kernel)
    }

    /// The number of classes, with no fewer offsets in the file than it needs.
    fn classes(&self, kind: Kind) -> Result<usize> {
        let classes: usize = self.single("nr_class", "a whole number")?;
        let (line, _) = self.need("nr_class")?;
        if kind != Kind::Classes && classes != 2 {
            return Err(self.bad(line, format!("nr_class is {classes}, but must be 2 for regression and one-class models")));
        }
        if classes < 2 {
            return Err(self.bad(line, format!("nr_class is {classes}, but a classifier needs at least two classes")));
        }
        let offsets = self.need("rho")?.1.split_ascii_whitespace().count();
        if classes.checked_mul(classes - 1).is_none_or(|double| double / 2 != offsets) {
            return Err(self.bad(line, format!("nr_class is {classes}, which does not fit the {offsets} values of rho")));
        }
        Ok(classes)
    }

    /// What outputs mean, and where each class begins among the vectors.
    fn decision(&self, kind: Kind, classes: usize) -> Result<(Decision, Vec<usize>)> {
        if kind != Kind::Classes {
            // The R package e1071 writes them with zeros for every model.
            let zeros = |text: &str| text.split_ascii_whitespace().all(|word| word == "0");
            if let Some((line, _)) = ["label", "nr_sv"].iter().filter_map(|key| self.find(key)).find(|(_, text)| !zeros(text)) {
                return Err(self.bad(line, "only classifiers have lines label and nr_sv"));
            }
            return Ok((if kind == Kind::Novelty { Decision::Novelty } else { Decision::Values }, vec![]));
        }
        let labels: Vec<i32> = self.several("label", classes, "a whole number")?;
        if labels.iter().collect::<HashSet<_>>().len() < classes {
            return Err(self.bad(self.need("label")?.0, "two classes have the same label"));
        }
        let labels: Vec<Label> = labels.iter().map(|label| Label::new(label.to_string())).collect();
        let mut starts = vec![0usize];
        for count in self.several::<usize>("nr_sv", classes, "a whole number")? {
            starts.push(starts[starts.len() - 1].saturating_add(count));
        }
        let (total, sum): (usize, usize) = (self.single("total_sv", "a whole number")?, starts[classes]);
        if sum != total {
            return Err(self.bad(self.need("nr_sv")?.0, format!("nr_sv adds up to {sum}, but total_sv is {total}")));
        }
        let decision = match &labels[..] {
            [positive, negative] => Decision::Sign { negative: negative.clone(), positive: positive.clone() },
            _ => Decision::Votes { labels },
        };
        Ok((decision, starts))
    }

    fn calibration(&self, kind: Kind, pairs: usize) -> Result<Option<Calibration>> {
        let allowed: &[&str] = match kind {
            Kind::Classes => &["probA", "probB"],
            Kind::Values => &["probA"],
            Kind::Novelty => &["prob_density_marks"],
        };
        for word in ["probA", "probB", "prob_density_marks"] {
            if let Some((line, _)) = self.find(word).filter(|_| !allowed.contains(&word)) {
                return Err(self.bad(line, format!("a model of this svm_type has no line {word}")));
            }
        }
        if allowed.iter().all(|word| self.find(word).is_none()) {
            return Ok(None);
        }
        Ok(Some(match kind {
            Kind::Classes => Calibration::Sigmoid { a: self.numbers("probA", pairs)?, b: self.numbers("probB", pairs)? },
            Kind::Values => Calibration::Sigmoid { a: self.numbers("probA", 1)?, b: vec![] },
            Kind::Novelty => Calibration::Marks { marks: self.numbers("prob_density_marks", 10)? },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: &str =
        "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:0.5 3:2 \n-1 2:1 \n";

    fn refuse(text: &str) -> String {
        from_bytes(text.as_bytes(), "m").unwrap_err().to_string()
    }

    #[test]
    fn a_positive_decision_is_the_first_label_and_the_offset_is_minus_rho() {
        let machine = from_bytes(BINARY.as_bytes(), "m").unwrap();
        assert_eq!(machine.decision, Decision::Sign { positive: Label::new("1"), negative: Label::new("-1") });
        assert_eq!(machine.offsets, [-0.25]);
        assert_eq!(machine.expansion.vectors.to_dense().values(), [0.5, 0.0, 2.0, 0.0, 1.0, 0.0]);
        assert_eq!(machine.expansion.coefficients.stored().values(), [1.0, -1.0]);
        assert_eq!(machine.metadata.learner.as_deref(), Some("svc"));
        let windows = BINARY.replace('\n', "\r\n") + "\r\n";
        assert_eq!(from_bytes(windows.as_bytes(), "m").unwrap(), machine);
    }

    #[test]
    fn a_written_zero_keeps_the_number_of_features() {
        let machine = from_bytes(BINARY.replace("2:1 ", "2:1 9:0").as_bytes(), "m").unwrap();
        assert_eq!((machine.dim(), machine.expansion.vectors.is_sparse()), (9, true));
    }

    #[test]
    fn broken_files_are_rejected_with_line_and_reason() {
        let cases = [
            ("c_svc", "d_svc", "m, line 1: svm_type is \"d_svc\", but must be c_svc, nu_svc, one_class, epsilon_svr or nu_svr"),
            ("rbf", "precomputed", "m, line 2: the kernel is precomputed, so the file holds no vectors to compute with"),
            ("rbf", "cosine", "m, line 2: kernel_type is \"cosine\", but must be linear, polynomial, rbf or sigmoid"),
            ("gamma 0.5\n", "", "m, line 8: the header has no line gamma"),
            ("0.5\n", "-1\n", "m, line 2: the rbf kernel cannot be used: gamma is -1, but must be a finite number above 0"),
            ("gamma 0.5", "gamma x", "m, line 3: gamma is \"x\", but must be a number"),
            ("gamma 0.5", "delta 0.5", "m, line 3: LIBSVM models have no header line \"delta\""),
            ("gamma 0.5", "svm_type c_svc", "m, line 3: there is a second line svm_type"),
            ("nr_class 2", "nr_class 1", "m, line 4: nr_class is 1, but a classifier needs at least two classes"),
            ("nr_class 2", "nr_class 3", "m, line 4: nr_class is 3, which does not fit the 1 values of rho"),
            (
                "nr_class 2",
                "nr_class 18446744073709551615",
                "m, line 4: nr_class is 18446744073709551615, which does not fit the 1 values of rho",
            ),
            ("rho 0.25", "rho nan", "m, line 6: rho holds NaN; every number must be finite"),
            ("rho 0.25", "rho a", "m, line 6: rho holds \"a\", which is not a number"),
            ("label 1 -1", "label 1", "m, line 7: label has 1 values, but 2 are needed"),
            ("label 1 -1", "label 1 1", "m, line 7: two classes have the same label"),
            ("label 1 -1", "label 1 0.5", "m, line 7: label holds \"0.5\", which is not a whole number"),
            ("nr_sv 1 1", "nr_sv 1 2", "m, line 8: nr_sv adds up to 3, but total_sv is 2"),
            ("nr_sv 1 1", "probA 1\nnr_sv 1 1", "m, line 10: the header has no line probB"),
            ("SV\n", "", "m, line 9: LIBSVM models have no header line \"1\""),
            ("-1 2:1 \n", "", "m, line 10: the file ends after 1 of 2 vectors"),
            ("-1 2:1 \n", "-1 2:1 \n-1 2:1 \n", "m, line 12: a line follows the last vector: total_sv is 2"),
            ("-1 2:1 ", "2:1", "m, line 11: the vector has 0 coefficients, but 1 are needed"),
            ("-1 2:1 ", "-1 2", "m, line 11, column 4: \"2\" is not of the form index:value"),
            ("-1 2:1 ", "-1 0:1", "m, line 11, column 4: the index is 0, but indices count from 1"),
            ("-1 2:1 ", "-1 2:1 2:1", "m, line 11, column 8: index 2 follows index 2, but indices must ascend"),
            ("-1 2:1 ", "-1 2:1 -3:1", "m, line 11, column 8: \"-3\" is not an index"),
            ("-1 2:1 ", "-1 2:one", "m, line 11, column 4: \"one\" is not a number"),
            ("-1 2:1 ", "-inf 2:1", "m, line 11, column 1: the number is -inf; every number must be finite"),
        ];
        for (from, to, reason) in cases {
            assert!(BINARY.contains(from), "{from}");
            assert_eq!(refuse(&BINARY.replacen(from, to, 1)), reason);
        }
        assert_eq!(refuse("svm_type c_svc\n"), "m, line 1: the file ends before its vectors: there is no line SV");
        assert_eq!(from_bytes(b"svm_type c_svc\n\xff", "m").unwrap_err().to_string(), "m, line 2: this is not text");
    }

    #[test]
    fn lines_of_another_kind_of_model_are_rejected() {
        let regression = "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 1\nSV\n";
        assert_eq!(from_bytes(regression.as_bytes(), "m").unwrap().decision, Decision::Values);
        let with = |line: &str| refuse(&regression.replace("SV\n", line));
        assert_eq!(with("label 1 2\nSV\n"), "m, line 6: only classifiers have lines label and nr_sv");
        assert_eq!(with("label 0 0\nnr_sv 0 1\nSV\n"), "m, line 7: only classifiers have lines label and nr_sv");
        let of_r = regression.replace("SV\n", "label 0 0\nnr_sv 0 0\nSV\n");
        assert_eq!(from_bytes(of_r.as_bytes(), "m").unwrap(), from_bytes(regression.as_bytes(), "m").unwrap());
        assert_eq!(with("probA 1\nprobB 1\nSV\n"), "m, line 7: a model of this svm_type has no line probB");
        let three = regression.replace("nr_class 2", "nr_class 3");
        assert_eq!(refuse(&three), "m, line 3: nr_class is 3, but must be 2 for regression and one-class models");
    }

    #[test]
    fn claims_beyond_what_the_file_holds_allocate_nothing() {
        let claims = [
            ("total_sv 2", "total_sv 18446744073709551615"),
            ("nr_sv 1 1", "nr_sv 18446744073709551615 18446744073709551615"),
            ("nr_class 2", "nr_class 4294967296"),
        ];
        for (from, to) in claims {
            refuse(&BINARY.replace(from, to));
        }
        let wide = from_bytes(BINARY.replace("2:1 ", "4294967295:1").as_bytes(), "m").unwrap();
        assert!(wide.expansion.vectors.is_sparse());
    }
}
