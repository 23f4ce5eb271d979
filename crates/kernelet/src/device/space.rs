//! Vectors of a descent that lie on a card: the descent reads inner products alone. Kernels and their order of sums are in `cuda/descent.cu`.
use std::sync::Arc;

use super::{
    card::{Arg, Buffer, Card, Lists, Pinned, Stream},
    sums::int,
};
use crate::{Error, Result, linalg::Space};

/// Numbers of a part of a product, as in `cuda/descent.cu`.
const PART: usize = 4096;

/// A vector on a card; without numbers where there was no memory for it.
#[derive(Debug)]
pub struct CardVector {
    numbers: Option<Buffer<f64>>,
    len: usize,
}

impl CardVector {
    /// Its address.
    pub(super) fn place(&self) -> Result<Arg> {
        self.numbers.as_ref().map(|numbers| numbers.from(0)).ok_or_else(missing)
    }

    fn word(&self) -> Result<u64> {
        self.numbers.as_ref().map(Buffer::word).ok_or_else(missing)
    }
}

fn missing() -> Error {
    Error::device("there is not enough memory on the GPU for the vectors of the search; use the device cpu, or fewer vectors")
}

/// Vectors of one length on a card. After an error all products are no numbers, which ends a descent.
pub struct CardSpace {
    card: Arc<Card>,
    stream: Stream,
    len: usize,
    spare: Vec<Buffer<f64>>,
    parts: Buffer<f64>,
    sums: Buffer<f64>,
    fetched: Pinned<f64>,
    /// Numbers on their way, each of which is to be repeated.
    sent: Pinned<f64>,
    each: Buffer<f64>,
    failed: Option<Error>,
}

impl CardSpace {
    /// For vectors of `each x times` numbers, whose work is done on this stream.
    pub(super) fn new(card: Arc<Card>, stream: Stream, each: usize, times: usize) -> Result<Self> {
        let len = each * times;
        let parts = len.div_ceil(PART);
        Ok(CardSpace {
            len,
            spare: vec![],
            parts: card.zeros(&stream, parts * Lists::LEN)?,
            sums: card.zeros(&stream, Lists::LEN)?,
            fetched: card.pinned(Lists::LEN.max(parts).max(len))?,
            sent: card.pinned(each)?,
            each: card.zeros(&stream, each)?,
            failed: None,
            card,
            stream,
        })
    }

    /// A vector with these numbers.
    pub(crate) fn upload(&mut self, values: &[f64]) -> Result<CardVector> {
        let mut numbers = self.card.zeros(&self.stream, self.len)?;
        self.card.write(&self.stream, values, &mut numbers, 0)?;
        Ok(CardVector { numbers: Some(numbers), len: self.len })
    }

    /// The numbers of a vector.
    pub(crate) fn download(&mut self, vector: &CardVector) -> Result<Vec<f64>> {
        let numbers = vector.numbers.as_ref().ok_or_else(missing)?;
        self.card.fetch(&self.stream, numbers, 0..self.len, &mut self.fetched)?;
        self.card.wait(&self.stream)?;
        Ok(self.fetched.items()?[..self.len].to_vec())
    }

    /// Writes each of these numbers to as many places of a vector as make its length.
    pub(crate) fn repeat(&mut self, each: &[f64], to: &mut CardVector) -> Result<()> {
        if each.is_empty() {
            return Ok(());
        }
        self.sent.items_mut()?[..each.len()].copy_from_slice(each);
        self.card.send(&self.stream, &self.sent, each.len(), (&mut self.each, 0))?;
        let args = [self.each.from(0), to.place()?, int(self.len / each.len()), int(self.len)];
        self.card.launch(&self.stream, "repeated", [self.len.div_ceil(256), 1, 1], 256, 0, &args)?;
        to.len = self.len;
        Ok(())
    }

    /// The first error so far.
    pub(crate) fn failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// What was computed, or this after an error.
    fn or<T>(&mut self, outcome: Result<T>, other: T) -> T {
        outcome.unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            other
        })
    }

    /// A vector whose numbers may be anything.
    fn unset(&mut self) -> CardVector {
        let numbers = match self.spare.pop() {
            Some(numbers) => Some(numbers),
            None => {
                let made = self.card.zeros(&self.stream, self.len).map(Some);
                self.or(made, None)
            }
        };
        CardVector { numbers, len: self.len }
    }

    fn combine(&self, terms: &[(f64, &CardVector)], divisor: Option<&CardVector>, out: &CardVector) -> Result<()> {
        let divisor = divisor.filter(|divisor| divisor.len > 0).map_or(Ok(Arg::Place(0)), CardVector::place)?;
        let mut rest = terms.iter().map(|(factor, vector)| Ok((vector.word()?, factor.to_bits()))).collect::<Result<Vec<_>>>()?;
        while !rest.is_empty() {
            let mut lists = Lists([[0; Lists::LEN]; 2]);
            let some = rest.drain(..rest.len().min(Lists::LEN)).collect::<Vec<_>>();
            some.iter().enumerate().for_each(|(t, (place, factor))| (lists.0[0][t], lists.0[1][t]) = (*place, *factor));
            // Terms for which there is no space are added to the sum of the others.
            let by = if rest.is_empty() { divisor } else { Arg::Place(0) };
            if !rest.is_empty() {
                rest.insert(0, (out.word()?, 1f64.to_bits()));
            }
            let args = [int(some.len()), by, out.place()?, int(self.len)];
            self.card.launch_lists(&self.stream, "combined", [self.len.div_ceil(256), 1, 1], &lists, &args)?;
        }
        Ok(())
    }

    fn multiply(&mut self, pairs: &[(&CardVector, &CardVector)]) -> Result<Vec<f64>> {
        let (mut found, parts) = (vec![], self.len.div_ceil(PART));
        for pairs in pairs.chunks(Lists::LEN) {
            let mut lists = Lists([[0; Lists::LEN]; 2]);
            for (p, (x, y)) in pairs.iter().enumerate() {
                (lists.0[0][p], lists.0[1][p]) = (x.word()?, y.word()?);
            }
            let (card, stream, count) = (&self.card, &self.stream, pairs.len());
            card.launch_lists(stream, "paired", [parts, count, 1], &lists, &[self.parts.from(0), int(self.len)])?;
            let args = [self.parts.from(0), self.sums.from(0), int(count), int(parts)];
            card.launch(stream, "add_many", [count, 1, 1], 256, 0, &args)?;
            card.fetch(stream, &self.sums, 0..count, &mut self.fetched)?;
            card.wait(stream)?;
            found.extend_from_slice(&self.fetched.items()?[..count]);
        }
        Ok(found)
    }

    fn most(&mut self, vector: &CardVector) -> Result<f64> {
        let parts = self.len.div_ceil(PART);
        self.card.launch(&self.stream, "largest", [parts, 1, 1], 256, 0, &[vector.place()?, self.parts.from(0), int(self.len)])?;
        self.card.fetch(&self.stream, &self.parts, 0..parts, &mut self.fetched)?;
        self.card.wait(&self.stream)?;
        Ok(self.fetched.items()?[..parts].iter().fold(0.0, |most: f64, part| most.max(*part)))
    }
}

impl Space for CardSpace {
    type Vector = CardVector;

    fn zeros(&mut self, len: usize) -> CardVector {
        let mut vector = self.unset();
        vector.len = len;
        if len > 0
            && let Some(numbers) = &mut vector.numbers
        {
            let cleared = self.card.clear(&self.stream, numbers);
            self.or(cleared, ());
        }
        vector
    }

    fn keep(&mut self, vector: CardVector) {
        self.spare.extend(vector.numbers);
    }

    fn len(&self, vector: &CardVector) -> usize {
        vector.len
    }

    fn combined(&mut self, terms: &[(f64, &CardVector)], divisor: Option<&CardVector>) -> CardVector {
        let out = self.unset();
        let made = self.combine(terms, divisor, &out);
        self.or(made, ());
        out
    }

    fn products(&mut self, pairs: &[(&CardVector, &CardVector)]) -> Vec<f64> {
        let found = self.multiply(pairs);
        self.or(found, vec![f64::NAN; pairs.len()])
    }

    fn largest(&mut self, vector: &CardVector) -> f64 {
        let found = self.most(vector);
        self.or(found, f64::NAN)
    }
}
