//! The machines of one split, trained when they are asked for: full ones that others are parts of or are compressed from are kept.
use std::{collections::HashMap, sync::Arc, time::Instant};

use kernelet::{data::Dataset, learn::Fit, watch::Watch};

use super::{
    description::{Method, Set, Value, Values},
    settings::{self, Asked},
};

/// The machines of one split.
pub struct Machines<'a> {
    set: &'a Set,
    train: &'a Dataset,
    seed: u64,
    known: HashMap<(Asked, Option<Vec<usize>>), Arc<Trained>>,
}

/// A machine and the time that it took.
pub struct Trained {
    /// The machine.
    pub fit: Fit,
    /// The time.
    pub seconds: f64,
}

/// A method with all places filled.
pub struct Ready {
    /// The request to train, or what describes the rows.
    pub train: Asked,
    /// The request to compress.
    pub compress: Option<Asked>,
    /// Vectors of each class, where every class has its own.
    pub parts: Option<Vec<usize>>,
}

impl<'a> Machines<'a> {
    /// No machine yet.
    pub fn new(set: &'a Set, train: &'a Dataset, seed: u64) -> Self {
        Machines { set, train, seed, known: HashMap::new() }
    }

    /// The method with the values of the set, those that were chosen, and what is counted on this split.
    pub fn ready(&mut self, method: &Method, chosen: &Values, watch: &Watch) -> Result<Ready, String> {
        let mut values = self.set.values_for(method, chosen)?;
        let mut parts = None;
        if let Some(part) = method.part {
            let count = |all: usize| ((part * all as f64).round() as usize).max(1);
            let vectors = match &method.of {
                None => count(self.train.len()),
                Some(of) => {
                    let of = settings::filled(of, &values)?;
                    let full = self.full(&of, None, watch)?;
                    let machine = &full.fit.machine;
                    let coefficients = machine.expansion.coefficients.to_dense();
                    let own = |k: usize| count(coefficients.iter().filter(|row| row[k] != 0.0).count());
                    parts = (settings::own_vectors(&of)? && machine.n_outputs() > 1).then(|| (0..machine.n_outputs()).map(own).collect());
                    parts.as_ref().map_or(count(machine.n_vectors()), |parts: &Vec<usize>| parts.iter().sum())
                }
            };
            values.insert("part".into(), Value::Number(vectors as f64));
        }
        let ready = |asked: &Option<Asked>| asked.as_ref().map(|asked| settings::filled(asked, &values)).transpose();
        let train = ready(if method.train.is_some() { &method.train } else { &method.represent })?.unwrap_or_default();
        let compress = ready(&method.compress)?;
        // Only machines of one class against the others take vectors of their own for each class; all others have as many in all.
        let own = parts.is_some() && compress.is_none() && settings::own_vectors(&train)?;
        let parts = parts.filter(|_| own);
        Ok(Ready { train, compress, parts })
    }

    /// The machine of this request, with so many vectors for each class where that is given; it is cached.
    pub fn full(&mut self, asked: &Asked, parts: Option<Vec<usize>>, watch: &Watch) -> Result<Arc<Trained>, String> {
        let key = (asked.clone(), parts.clone());
        if let Some(fit) = self.known.get(&key) {
            return Ok(fit.clone());
        }
        let fit = Arc::new(self.learn(asked, parts, watch)?);
        self.known.insert(key, fit.clone());
        Ok(fit)
    }

    /// The machine of this request.
    pub fn learn(&self, asked: &Asked, parts: Option<Vec<usize>>, watch: &Watch) -> Result<Trained, String> {
        let clock = Instant::now();
        let fit = self.set.learn(asked, parts, self.seed, self.train, watch)?;
        Ok(Trained { fit, seconds: clock.elapsed().as_secs_f64() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Description;

    #[test]
    fn vectors_of_its_own_for_each_class_has_only_a_machine_of_one_class_against_the_others() {
        let full = "{ gamma = 0.05, multiclass = 'one-vs-rest' }";
        let text = format!(
            "title = 't'\npaper = 'p'\nsplits = 1\n\
            [[methods]]\nname = 'random'\ntrain = {{ gamma = 0.05, method = 'rsvm', vectors = '{{part}}' }}\npart = 0.1\nof = {full}\n\
            [[methods]]\nname = 'own'\ntrain = {{ gamma = 0.05, method = 'margin', multiclass = 'one-vs-rest', vectors = '{{part}}' }}\npart = 0.1\nof = {full}\n\
            [[sets]]\nname = 'w'\ngenerator = 'waveform3'\ntrain = 90\ntest = 20\n"
        );
        let description = Description::parse(&text).unwrap();
        let train = kernelet::data::waveform3(90, 1);
        let mut machines = Machines::new(&description.sets[0], &train, 0);
        let mut ready = |name: &str| machines.ready(description.method(name).unwrap(), &Values::new(), &Watch::none()).unwrap();
        let (random, own) = (ready("random"), ready("own"));
        let parts = own.parts.unwrap();
        assert!(parts.len() == 3 && random.parts.is_none(), "{parts:?}");
        // As many in all.
        assert_eq!(random.train["vectors"].as_f64(), Some(parts.iter().sum::<usize>() as f64));
        let trained = machines.learn(&random.train, random.parts, &Watch::none()).unwrap();
        assert_eq!(trained.fit.machine.n_vectors(), parts.iter().sum::<usize>());
    }
}
