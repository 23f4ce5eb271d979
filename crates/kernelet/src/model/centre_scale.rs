//! The scale files that `write.svm` of the R package e1071 writes beside a LIBSVM model: one line with centre and scale for each feature, which becomes
//! `(x - centre) / scale`; for regression a second file with one line for the target.
//!
//! ```text
//! 5.84333333333333 0.828066127977863
//! 3.05733333333333 0.435866284936698
//! ```
use std::path::Path;

use crate::{
    Error, Result,
    data::{Scale, read::read_whole},
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, Machine},
};

/// The scaling in a file.
pub fn load(path: impl AsRef<Path>) -> Result<Scale> {
    let path = path.as_ref();
    let bytes = read_whole(path)?;
    from_bytes(&bytes, &path.display().to_string())
}

/// The scaling in the content of a file; `origin` names the file in errors.
pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Scale> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::format(origin, None, None, "this is not text"))?;
    let (mut shift, mut factor) = (vec![], vec![]);
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let numbers: Vec<f64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        match (&numbers[..], line.split_ascii_whitespace().count()) {
            (&[centre, scale], 2) if centre.is_finite() && scale.is_finite() && scale > 0.0 && (1.0 / scale).is_finite() => {
                shift.push(centre);
                factor.push(1.0 / scale);
            }
            _ => {
                return Err(Error::format(
                    origin,
                    Some(i + 1),
                    None,
                    format!("{line:?} is not centre and scale, a finite number and one above 0"),
                ));
            }
        }
    }
    match shift.is_empty() {
        true => Err(Error::format(origin, None, None, "the file is empty: the model was trained without scaling, and needs no such file")),
        false => Ok(Scale::new(Some(shift), factor)),
    }
}

/// The machine for rows that are not scaled yet.
pub fn scale_rows(machine: &mut Machine, scale: Scale) -> Result<()> {
    if machine.scale.is_some() {
        return Err(Error::data("the model has a scaling of its own already"));
    }
    if scale.dim() != machine.dim() {
        return Err(Error::data(format!(
            "the scale file has {} lines, but the model {} features; e1071 leaves out features that it does not scale, so that their places are not known: train with scale = TRUE and without constant features",
            scale.dim(),
            machine.dim()
        )));
    }
    machine.scale = Some(scale);
    machine.check()
}

/// The machine that predicts targets as they were before they were scaled.
pub fn unscale_target(machine: &mut Machine, scale: &Scale) -> Result<()> {
    let (Decision::Values, [factor], Some([centre])) = (&machine.decision, &scale.factor[..], scale.shift.as_deref()) else {
        return Err(Error::data("the scale of a target is one line of centre and scale, for a regression model of one target"));
    };
    let (width, centre) = (1.0 / factor, *centre);
    let stored = machine.expansion.coefficients.stored();
    machine.expansion.coefficients = Coefficients::Dense(Matrix::from_fn(stored.rows(), stored.cols(), |j, k| stored.at(j, k) * width));
    machine.offsets.iter_mut().for_each(|offset| *offset = *offset * width + centre);
    if let Some(Calibration::Sigmoid { a, .. }) = &mut machine.calibration {
        a.iter_mut().for_each(|a| *a *= width);
    }
    machine.check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Points, model::libsvm};

    const REGRESSION: &str = "svm_type epsilon_svr\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 0 0\nnr_sv 0 0\nSV\n1 1:0.5 2:1 \n-1 1:-1 2:0.5 \n";

    #[test]
    fn rows_and_targets_are_scaled_as_e1071_does() {
        let scaled = libsvm::from_bytes(REGRESSION.as_bytes(), "m").unwrap();
        let mut machine = scaled.clone();
        scale_rows(&mut machine, from_bytes(b"10 2\n-1 0.5\n", "s").unwrap()).unwrap();
        unscale_target(&mut machine, &from_bytes(b"100 5\n", "y").unwrap()).unwrap();
        let have = machine.outputs_for(&Points::from_rows(&[[12.0, -1.5]]).unwrap()).unwrap();
        let want = scaled.outputs_for(&Points::from_rows(&[[1.0, -1.0]]).unwrap()).unwrap();
        assert!((have.at(0, 0) - (5.0 * want.at(0, 0) + 100.0)).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_scale_of_this_model_is_rejected() {
        let refuse = |text: &str| from_bytes(text.as_bytes(), "s").unwrap_err().to_string();
        assert!(refuse("1 2\n3\n").starts_with("s, line 2: \"3\" is not centre and scale"));
        for bad in ["1 0\n", "1 -1\n", "nan 1\n", "1 inf\n", "1 2 3\n", "a b\n", "1 1e-320\n"] {
            assert!(refuse(bad).starts_with("s, line 1"), "{bad}");
        }
        assert!(refuse("\n").contains("trained without scaling"));
        let mut machine = libsvm::from_bytes(REGRESSION.as_bytes(), "m").unwrap();
        assert!(
            scale_rows(&mut machine, from_bytes(b"1 1\n", "s").unwrap())
                .unwrap_err()
                .to_string()
                .contains("1 lines, but the model 2 features")
        );
        assert!(unscale_target(&mut machine, &from_bytes(b"1 1\n1 1\n", "s").unwrap()).is_err());
        machine.decision = Decision::Novelty;
        assert!(unscale_target(&mut machine, &from_bytes(b"1 1\n", "s").unwrap()).is_err());
    }
}
