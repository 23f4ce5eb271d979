//! Which rows are these: those that a machine was trained on, or new ones?
//!
//! By the fingerprints of its training rows that a model keeps; where it keeps none, as models of LIBSVM and scikit-learn, by its vectors, which are training
//! rows. Rows that both have seen say nothing of new ones, so that the two kinds are kept apart.
use crate::{Named, Result, basis::nearest, compress::Task, linalg::dot, machine::Metadata};

/// Vectors that are looked for among the rows.
const LOOKED_FOR: usize = 200;

/// The squared distance of a vector to the row it was, over its squared size: more than files of few digits change.
const SAME: f64 = 1e-10;

/// Rows that must be looked up before none of them being known means that all are new.
const ENOUGH: usize = 30;

/// The fraction of the vectors, and of the rows, that may be alike by chance.
const BY_CHANCE: f64 = 0.01;

/// Where rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Origin {
    /// It is to be found out.
    #[default]
    Auto,
    /// The machine was not trained on them.
    Fresh,
    /// The machine was trained on them.
    Training,
}

impl Named for Origin {
    const NAMES: &'static [(&'static str, Self)] = &[("auto", Origin::Auto), ("fresh", Origin::Fresh), ("training", Origin::Training)];
}

/// What is known of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognised {
    /// For each row whether it is certainly new to the machine.
    pub fresh: Vec<bool>,
    /// Why it cannot be known of some of them, a sentence; none where it is.
    pub doubt: Option<String>,
}

impl Recognised {
    fn all(n_rows: usize, fresh: bool) -> Self {
        Recognised { fresh: vec![fresh; n_rows], doubt: None }
    }

    fn doubtful(n_rows: usize, sentence: &str) -> Self {
        Recognised { fresh: vec![false; n_rows], doubt: Some(sentence.into()) }
    }

    /// The new rows.
    pub fn fresh_rows(&self) -> Vec<usize> {
        (0..self.fresh.len()).filter(|&i| self.fresh[i]).collect()
    }
}

/// Recognises the rows of a task; `stated` is what the user knows.
pub fn recognise(task: &Task, stated: Origin) -> Result<Recognised> {
    let Some(data) = task.data else { return Ok(Recognised::all(0, false)) };
    let n = data.len();
    if stated != Origin::Auto {
        return Ok(Recognised::all(n, stated == Origin::Fresh));
    }
    let among = vectors_among(task, LOOKED_FOR)?;
    let Some(seen) = &task.machine.metadata.seen else { return Ok(by_vectors_alone(&task.machine.metadata, among, n)) };
    let known = seen.known(&data.points);
    let (looked_up, found) = (known.iter().flatten().count(), known.iter().flatten().filter(|known| **known).count());
    let vectors = among.map_or(vec![], |among| among.rows);
    if vectors.iter().zip(&known).any(|(vector, known)| *vector && *known == Some(false)) {
        // A vector of the machine without its fingerprint: these are training rows that lost digits.
        return Ok(Recognised::all(n, false));
    }
    if found == 0 && (seen.all || looked_up >= ENOUGH) {
        return Ok(Recognised::all(n, true));
    }
    if found == 0 {
        return Ok(Recognised::doubtful(n, "the model keeps fingerprints of too few of its training rows"));
    }
    // Of rows that cannot be looked up nothing is known, and they count as training rows.
    Ok(Recognised { fresh: known.iter().map(|known| *known == Some(false)).collect(), doubt: None })
}

/// Where there are no fingerprints the vectors decide, which are training rows unless they were made.
fn by_vectors_alone(metadata: &Metadata, among: Option<Among>, n: usize) -> Recognised {
    let Some(among) = among else { return Recognised::doubtful(n, "the model keeps no fingerprints of its training rows") };
    let (vectors, rows) = (among.fraction_found(), among.rows.iter().filter(|row| **row).count());
    match vectors {
        v if v == 0.0 && (metadata.request.is_some() || metadata.path.is_some()) => {
            Recognised::doubtful(n, "the model keeps no fingerprints of its training rows, and its vectors are no rows")
        }
        v if v <= BY_CHANCE && rows as f64 <= BY_CHANCE * n as f64 => {
            Recognised { fresh: among.rows.iter().map(|row| !row).collect(), doubt: None }
        }
        v if v > 0.9 => Recognised::all(n, false),
        _ => Recognised::doubtful(
            n,
            "some of the model's vectors are among the rows, and of the other rows it is not known whether it was trained on them",
        ),
    }
}

/// Vectors of a machine and rows that are alike.
pub(super) struct Among {
    /// For each vector that was looked for whether it is a row.
    vectors: Vec<bool>,
    /// For each row whether it is one of these vectors.
    rows: Vec<bool>,
}

impl Among {
    /// The fraction of the vectors that are rows.
    pub fn fraction_found(&self) -> f64 {
        self.vectors.iter().filter(|found| **found).count() as f64 / self.vectors.len().max(1) as f64
    }
}

/// Looks for some vectors of the machine among the rows; none where there are no rows, or they have other features.
pub(super) fn vectors_among(task: &Task, most: usize) -> Result<Option<Among>> {
    task.check()?;
    let vectors = &task.machine.expansion.vectors;
    let Some(rows) = task.scaled_rows()?.filter(|rows| rows.dim() == vectors.dim()) else { return Ok(None) };
    let every = vectors.len().div_ceil(most).max(1);
    let some = vectors.select(&(0..vectors.len()).step_by(every).collect::<Vec<_>>()).to_dense();
    let mut among = Among { vectors: vec![false; some.rows()], rows: vec![false; rows.len()] };
    for (row, (place, distance)) in nearest(&rows, &some).into_iter().enumerate() {
        let vector = some.row(place);
        if distance <= SAME * dot(vector, vector) {
            (among.vectors[place], among.rows[row]) = (true, true);
        }
    }
    Ok(Some(among))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Fingerprints, Points, Scale, banana},
        kernel::Kernel,
        learn::{Learner, Svc},
        linalg::Matrix,
        machine::Machine,
        watch::Watch,
    };

    fn machine(data: &Dataset, most: Option<usize>) -> Machine {
        let mut full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine;
        full.metadata.seen = most.map(|most| Fingerprints::of(&data.points, most));
        full
    }

    fn known(machine: &Machine, data: &Dataset) -> Recognised {
        recognise(&Task { machine, data: Some(data), candidates: None }, Origin::Auto).unwrap()
    }

    fn joined(one: &Dataset, other: &Dataset) -> Dataset {
        let (a, b) = (one.points.to_dense(), other.points.to_dense());
        let rows = Matrix::from_fn(a.rows() + b.rows(), a.cols(), |i, j| if i < a.rows() { a.at(i, j) } else { b.at(i - a.rows(), j) });
        Dataset::new(rows, crate::data::Target::None)
    }

    #[test]
    fn training_rows_are_recognised_in_any_order_and_part_and_new_rows_are_not() {
        let (data, new) = (banana(300, 1), banana(300, 2));
        for most in [Some(1000), Some(80), None] {
            let machine = machine(&data, most);
            assert_eq!(known(&machine, &new), Recognised::all(300, true), "{most:?}");
            let shuffled: Vec<usize> = (0..300).map(|i| i * 7 % 300).collect();
            assert_eq!(known(&machine, &data.select(&shuffled)).fresh_rows(), [0; 0], "{most:?}");
            let part = known(&machine, &data.select(&shuffled[..90]));
            assert_eq!(part.fresh_rows(), [0; 0], "{most:?}");
            assert_eq!(part.doubt.is_some(), most.is_none(), "where the other rows come from does not follow from vectors alone");
        }
    }

    #[test]
    fn mixed_rows_are_split() {
        let (data, new) = (banana(300, 1), banana(200, 2));
        let mixed = joined(&data, &new);
        let recognised = known(&machine(&data, Some(1000)), &mixed);
        assert_eq!(recognised.fresh_rows(), (300..500).collect::<Vec<_>>());
        let sampled = known(&machine(&data, Some(100)), &mixed).fresh_rows();
        assert!(sampled.iter().all(|&row| row >= 300) && (30..110).contains(&sampled.len()), "{}", sampled.len());
        assert_eq!(known(&machine(&data, None), &mixed).fresh_rows(), [0; 0]);
    }

    #[test]
    fn scaling_and_lost_digits_do_not_hide_training_rows() {
        let data = banana(300, 1);
        let scale = Scale::standard(&data.points).unwrap();
        let scaled = Dataset { points: scale.apply(&data.points).unwrap(), ..data.clone() };
        let rows = data.points.to_dense();
        let written = Dataset { points: Matrix::from_fn(300, 2, |i, j| (rows.at(i, j) * 1e7).round() / 1e7).into(), ..data.clone() };
        for seen in [Some(Fingerprints::of(&data.points, 1000)), None] {
            let mut own = Machine { scale: Some(scale.clone()), ..machine(&scaled, None) };
            own.metadata.seen = seen;
            for rows in [&data, &written] {
                assert_eq!(known(&own, rows).fresh_rows(), [0; 0]);
            }
            assert_eq!(known(&own, &banana(300, 2)).fresh_rows().len(), 300);
        }
    }

    #[test]
    fn what_cannot_be_known_is_doubted_and_what_the_user_says_holds() {
        let data = banana(100, 1);
        let mut made = machine(&data, None);
        made.expansion.vectors = Points::from(Matrix::from_fn(made.n_vectors(), 2, |i, j| (i + j) as f64));
        made.metadata.request = Some(serde_json::json!({ "vectors": 5 }));
        assert!(known(&made, &data).doubt.is_some());
        let task = Task { machine: &made, data: Some(&data), candidates: None };
        assert_eq!(recognise(&task, Origin::Fresh).unwrap(), Recognised::all(100, true));
        assert_eq!(recognise(&task, Origin::Training).unwrap(), Recognised::all(100, false));
    }
}
