//! The losses of the rows of one block.
use super::ask::{Problem, RowLossName};
use crate::{
    Error, Result,
    data::RowBlock,
    learn::direct::{LogisticLoss, RowLoss, Softmax, hinge_error, is_short},
    linalg::Matrix,
};

/// The rows of a block as their loss sees them.
pub(super) struct Losses {
    loss: RowLossName,
    n_outputs: usize,
    n_systems: usize,
    /// Numbers of the classes; empty for values.
    codes: Vec<usize>,
    /// +1 and -1 for the second and the first of two classes.
    signs: Vec<f64>,
    /// Values; empty for classes.
    targets: Matrix,
    costs: Vec<f64>,
}

/// The targets less a number for each column, where there are some.
fn less(targets: &Matrix, centre: &[f64]) -> Matrix {
    let mut out = targets.clone();
    out.values_mut().iter_mut().zip(centre.iter().cycle()).for_each(|(value, mean)| *value -= mean);
    out
}

impl Losses {
    pub fn new(problem: &Problem, block: &RowBlock) -> Result<Self> {
        let n = block.points.len();
        let weight = |i: usize| block.weights.as_ref().map_or(1.0, |weights| weights[i]);
        let values = matches!(problem.loss, RowLossName::Squared | RowLossName::Taught);
        let expected = if values { problem.n_outputs } else { 1 };
        if block.targets.cols() != expected {
            return Err(Error::Shape { what: "targets of a row", expected, found: block.targets.cols() });
        }
        let codes: Vec<usize> = if values { vec![] } else { (0..n).map(|i| block.targets.at(i, 0) as usize).collect() };
        if let Some(code) = codes.iter().find(|&&code| code >= problem.costs.len()) {
            return Err(Error::data(format!("a row has the class number {code}, but there are {} labels", problem.costs.len())));
        }
        Ok(Losses {
            loss: problem.loss,
            n_outputs: problem.n_outputs,
            n_systems: problem.n_systems(),
            signs: codes.iter().map(|&code| if code == 1 { 1.0 } else { -1.0 }).collect(),
            costs: (0..n).map(|i| weight(i) * problem.costs[codes.get(i).copied().unwrap_or(0)]).collect(),
            codes,
            targets: if values { less(&block.targets, &problem.centre) } else { Matrix::default() },
        })
    }

    /// Classes, values and costs of the rows.
    #[cfg(feature = "cuda")]
    pub fn parts(&self) -> (&[usize], &Matrix, &[f64]) {
        (&self.codes, &self.targets, &self.costs)
    }

    pub fn n_systems(&self) -> usize {
        self.n_systems
    }

    fn logistic(&self) -> LogisticLoss<'_> {
        LogisticLoss { signs: &self.signs, costs: &self.costs }
    }

    fn softmax(&self) -> Softmax<'_> {
        Softmax { codes: &self.codes, costs: &self.costs, classes: self.n_outputs }
    }

    /// The side of an output that row i should be on, or the value that it should have.
    fn target(&self, i: usize, output: usize) -> f64 {
        match self.n_outputs {
            _ if self.loss == RowLossName::Taught => self.targets.at(i, output),
            1 => self.signs[i],
            _ => {
                if self.codes[i] == output {
                    1.0
                } else {
                    -1.0
                }
            }
        }
    }

    /// Adds the losses of row i, and writes their derivatives by the outputs.
    pub fn at(&self, i: usize, outputs: &[f64], slopes: &mut [f64], losses: &mut [f64]) {
        let cost = self.costs[i];
        match self.loss {
            RowLossName::Logistic if self.n_outputs == 1 => losses[0] += self.logistic().loss(i, outputs, slopes),
            RowLossName::Logistic => losses[0] += self.softmax().loss(i, outputs, slopes),
            RowLossName::SquaredHinge | RowLossName::Taught => {
                for (k, ((output, slope), loss)) in outputs.iter().zip(slopes).zip(losses).enumerate() {
                    let short = hinge_error(self.target(i, k), *output);
                    *slope = -2.0 * cost * short;
                    *loss += cost * short * short;
                }
            }
            RowLossName::Squared => {
                for ((output, slope), target) in outputs.iter().zip(slopes).zip(self.targets.row(i)) {
                    *slope = -2.0 * cost * (target - output);
                    losses[0] += cost * (target - output) * (target - output);
                }
            }
        }
    }

    /// What row i counts in each system.
    pub fn curvatures(&self, i: usize, outputs: &[f64], out: &mut [f64]) {
        match self.loss {
            RowLossName::Logistic if self.n_outputs == 1 => out[0] = self.logistic().curvature(i, outputs),
            RowLossName::Logistic => out[0] = self.softmax().curvature(i, outputs),
            RowLossName::SquaredHinge | RowLossName::Taught => {
                for (k, (output, out)) in outputs.iter().zip(out).enumerate() {
                    *out = if is_short(self.target(i, k), *output) { 2.0 * self.costs[i] } else { 0.0 };
                }
            }
            RowLossName::Squared => out[0] = 2.0 * self.costs[i],
        }
    }

    /// The second derivatives of row i times a direction, for losses that bind outputs together.
    pub fn curve(&self, i: usize, outputs: &[f64], direction: &[f64], out: &mut [f64]) {
        match (self.loss, self.n_outputs) {
            (RowLossName::Logistic, 2..) => self.softmax().curve(i, outputs, direction, out),
            _ => {
                let mut curvatures = vec![0.0; self.n_systems];
                self.curvatures(i, outputs, &mut curvatures);
                let of = |k: usize| curvatures[k.min(curvatures.len() - 1)];
                out.iter_mut().zip(direction).enumerate().for_each(|(k, (out, d))| *out = of(k) * d);
            }
        }
    }

    /// 1 where the label is wrong; squared errors for values.
    pub fn error(&self, i: usize, outputs: &[f64]) -> f64 {
        if matches!(self.loss, RowLossName::Squared | RowLossName::Taught) {
            return outputs.iter().zip(self.targets.row(i)).map(|(f, y)| (f - y) * (f - y)).sum();
        }
        let class = match outputs {
            [output] => usize::from(*output > 0.0),
            _ => (0..outputs.len()).fold(0, |best, k| if outputs[k] > outputs[best] { k } else { best }),
        };
        f64::from(u8::from(class != self.codes[i]))
    }
}
