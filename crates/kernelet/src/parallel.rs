//! Loops on all threads, or on one where the cargo feature `parallel` is off (a browser has one).
//!
//! The names are those of rayon, which runs the loops, but a loop reaches it behind one pointer: what splits items and wakes threads is compiled once
//! for each kind of [`Items`], not once for each of a hundred loops. Without the feature the same items are taken in order on the current thread, so that
//! results are bit-equal to those of any number of threads.
use std::{
    iter::Sum,
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

#[cfg(feature = "parallel")]
pub(crate) use rayon::current_num_threads;

/// The threads of the current pool.
#[cfg(not(feature = "parallel"))]
pub(crate) fn current_num_threads() -> usize {
    1
}

/// What a loop goes through, in parts that threads may take.
pub(crate) trait Items: Send + Sized {
    /// One of them.
    type Item;
    /// How many.
    fn count(&self) -> usize;
    /// The first `at` of them, and the others.
    fn split(self, at: usize) -> (Self, Self);
    /// One after the other.
    fn each(self) -> impl Iterator<Item = Self::Item>;
}

impl Items for Range<usize> {
    type Item = usize;
    fn count(&self) -> usize {
        self.len()
    }
    fn split(self, at: usize) -> (Self, Self) {
        (self.start..self.start + at, self.start + at..self.end)
    }
    fn each(self) -> impl Iterator<Item = usize> {
        self
    }
}

impl<T: Send> Items for Vec<T> {
    type Item = T;
    fn count(&self) -> usize {
        self.len()
    }
    fn split(mut self, at: usize) -> (Self, Self) {
        let rest = self.split_off(at);
        (self, rest)
    }
    fn each(self) -> impl Iterator<Item = T> {
        self.into_iter()
    }
}

impl<'a, T: Sync> Items for &'a [T] {
    type Item = &'a T;
    fn count(&self) -> usize {
        self.len()
    }
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
    fn each(self) -> impl Iterator<Item = &'a T> {
        self.iter()
    }
}

impl<'a, T: Send> Items for &'a mut [T] {
    type Item = &'a mut T;
    fn count(&self) -> usize {
        self.len()
    }
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
    fn each(self) -> impl Iterator<Item = &'a mut T> {
        self.iter_mut()
    }
}

/// Pieces of so many numbers; the last one may have fewer.
pub(crate) struct Chunks<S>(S, usize);

impl<'a, T: Sync> Items for Chunks<&'a [T]> {
    type Item = &'a [T];
    fn count(&self) -> usize {
        self.0.len().div_ceil(self.1)
    }
    fn split(self, at: usize) -> (Self, Self) {
        let (first, rest) = self.0.split_at((at * self.1).min(self.0.len()));
        (Chunks(first, self.1), Chunks(rest, self.1))
    }
    fn each(self) -> impl Iterator<Item = &'a [T]> {
        self.0.chunks(self.1)
    }
}

impl<'a, T: Send> Items for Chunks<&'a mut [T]> {
    type Item = &'a mut [T];
    fn count(&self) -> usize {
        self.0.len().div_ceil(self.1)
    }
    fn split(self, at: usize) -> (Self, Self) {
        let (first, rest) = self.0.split_at_mut((at * self.1).min(self.0.len()));
        (Chunks(first, self.1), Chunks(rest, self.1))
    }
    fn each(self) -> impl Iterator<Item = &'a mut [T]> {
        self.0.chunks_mut(self.1)
    }
}

/// Two at a time, as long as there are both.
pub(crate) struct Zip<A, B>(A, B);

impl<A: Items, B: Items> Items for Zip<A, B> {
    type Item = (A::Item, B::Item);
    fn count(&self) -> usize {
        self.0.count().min(self.1.count())
    }
    fn split(self, at: usize) -> (Self, Self) {
        let ((a, more_a), (b, more_b)) = (self.0.split(at), self.1.split(at));
        (Zip(a, b), Zip(more_a, more_b))
    }
    fn each(self) -> impl Iterator<Item = Self::Item> {
        self.0.each().zip(self.1.each())
    }
}

/// Each with its place, counted from the number here.
pub(crate) struct Numbered<A>(A, usize);

impl<A: Items> Items for Numbered<A> {
    type Item = (usize, A::Item);
    fn count(&self) -> usize {
        self.0.count()
    }
    fn split(self, at: usize) -> (Self, Self) {
        let (first, rest) = self.0.split(at);
        (Numbered(first, self.1), Numbered(rest, self.1 + at))
    }
    fn each(self) -> impl Iterator<Item = Self::Item> {
        (self.1..).zip(self.0.each())
    }
}

/// A loop over items, whose parts have at least and at most so many.
pub(crate) struct Loop<P> {
    items: P,
    least: usize,
    most: usize,
}

impl<P: Items> Loop<P> {
    fn over(items: P) -> Self {
        Loop { items, least: 1, most: usize::MAX }
    }

    pub fn with_min_len(self, least: usize) -> Self {
        Loop { least, ..self }
    }

    pub fn with_max_len(self, most: usize) -> Self {
        Loop { most, ..self }
    }

    pub fn enumerate(self) -> Loop<Numbered<P>> {
        Loop { items: Numbered(self.items, 0), least: self.least, most: self.most }
    }

    pub fn zip<Q: IntoParallelIterator>(self, other: Q) -> Loop<Zip<P, Q::Items>> {
        let other = other.into_par_iter();
        Loop { items: Zip(self.items, other.items), least: self.least.max(other.least), most: self.most.min(other.most) }
    }

    pub fn for_each(self, go: impl Fn(P::Item) + Sync) {
        run(self, &|_, part| part.each().for_each(&go));
    }

    /// `init` makes what a part works with.
    pub fn for_each_init<W>(self, init: impl Fn() -> W + Sync, go: impl Fn(&mut W, P::Item) + Sync) {
        run(self, &|_, part| {
            let mut work = init();
            part.each().for_each(|item| go(&mut work, item));
        });
    }

    pub fn map<'a, T: Send>(self, make: impl Fn(P::Item) -> T + Sync + 'a) -> Map<'a, P, T> {
        self.map_init(|| (), move |(), item| make(item))
    }

    pub fn map_init<'a, W, T: Send>(
        self,
        init: impl Fn() -> W + Sync + 'a,
        make: impl Fn(&mut W, P::Item) -> T + Sync + 'a,
    ) -> Map<'a, P, T> {
        let part = move |part: P, take: &mut dyn FnMut(T) -> bool| {
            let mut work = init();
            part.each().all(|item| take(make(&mut work, item)));
        };
        Map { items: self, part: Box::new(part) }
    }
}

/// Makes the results of a part and gives them away, until it is to stop.
type Part<'a, P, T> = Box<dyn Fn(P, &mut dyn FnMut(T) -> bool) + Sync + 'a>;

/// A loop whose results are kept.
pub(crate) struct Map<'a, P, T> {
    items: Loop<P>,
    part: Part<'a, P, T>,
}

impl<P: Items, T: Send> Map<'_, P, T> {
    /// The results in the order of the items. An error ends the loop; of several the first in this order is returned.
    pub fn collect<C: Collect<T>>(self) -> C {
        let (found, over, part) = (Mutex::new(vec![]), AtomicBool::new(false), &self.part);
        run(self.items, &|first, items: P| {
            let mut made = Vec::with_capacity(items.count());
            part(items, &mut |item| {
                over.fetch_or(C::ends(&item), Ordering::Relaxed);
                made.push(item);
                !over.load(Ordering::Relaxed)
            });
            found.lock().unwrap_or_else(PoisonError::into_inner).push((first, made));
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|(first, _)| *first);
        match found.len() {
            1 => C::of(found.swap_remove(0).1),
            _ => C::of(found.into_iter().flat_map(|(_, made)| made).collect()),
        }
    }

    pub fn sum<S: Sum<T>>(self) -> S {
        self.collect::<Vec<T>>().into_iter().sum()
    }
}

/// What results become.
pub(crate) trait Collect<T> {
    /// Whether the others are wanted after this one.
    fn ends(_: &T) -> bool {
        false
    }
    /// The results in order.
    fn of(all: Vec<T>) -> Self;
}

impl<T> Collect<T> for Vec<T> {
    fn of(all: Vec<T>) -> Self {
        all
    }
}

impl<T, E> Collect<std::result::Result<T, E>> for std::result::Result<Vec<T>, E> {
    fn ends(item: &std::result::Result<T, E>) -> bool {
        item.is_err()
    }
    fn of(all: Vec<std::result::Result<T, E>>) -> Self {
        all.into_iter().collect()
    }
}

impl<T> Collect<Option<T>> for Option<Vec<T>> {
    fn ends(item: &Option<T>) -> bool {
        item.is_none()
    }
    fn of(all: Vec<Option<T>>) -> Self {
        all.into_iter().collect()
    }
}

/// What can be looped over.
pub(crate) trait IntoParallelIterator {
    /// The items of the loop.
    type Items: Items;
    fn into_par_iter(self) -> Loop<Self::Items>;
}

impl<P: Items> IntoParallelIterator for P {
    type Items = P;
    fn into_par_iter(self) -> Loop<P> {
        Loop::over(self)
    }
}

impl<P: Items> IntoParallelIterator for Loop<P> {
    type Items = P;
    fn into_par_iter(self) -> Loop<P> {
        self
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a Vec<T> {
    type Items = &'a [T];
    fn into_par_iter(self) -> Loop<&'a [T]> {
        Loop::over(self)
    }
}

/// Slices, to read.
pub(crate) trait ParallelSlice<T: Sync> {
    fn of(&self) -> &[T];
    fn par_iter(&self) -> Loop<&[T]> {
        Loop::over(self.of())
    }
    fn par_chunks(&self, size: usize) -> Loop<Chunks<&[T]>> {
        Loop::over(Chunks(self.of(), size))
    }
    /// What is left over is left out.
    fn par_chunks_exact(&self, size: usize) -> Loop<Chunks<&[T]>> {
        let all = self.of();
        Loop::over(Chunks(&all[..all.len() - all.len() % size], size))
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn of(&self) -> &[T] {
        self
    }
}

/// The same for writing.
pub(crate) trait ParallelSliceMut<T: Send> {
    fn of_mut(&mut self) -> &mut [T];
    fn par_iter_mut(&mut self) -> Loop<&mut [T]> {
        Loop::over(self.of_mut())
    }
    fn par_chunks_mut(&mut self, size: usize) -> Loop<Chunks<&mut [T]>> {
        Loop::over(Chunks(self.of_mut(), size))
    }
    fn par_chunks_exact_mut(&mut self, size: usize) -> Loop<Chunks<&mut [T]>> {
        let all = self.of_mut();
        let whole = all.len() - all.len() % size;
        Loop::over(Chunks(&mut all[..whole], size))
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn of_mut(&mut self) -> &mut [T] {
        self
    }
}

/// Does the work part by part; it is given the place of the first item of each.
#[cfg(not(feature = "parallel"))]
fn run<P: Items>(all: Loop<P>, work: &(dyn Fn(usize, P) + Sync)) {
    work(0, all.items);
}

#[cfg(feature = "parallel")]
use threads::run;

#[cfg(feature = "parallel")]
mod threads {
    //! The border to rayon: a part is one item there, of as many as the part has.
    use rayon::iter::plumbing::{Consumer, Folder, Producer, Reducer, UnindexedConsumer, bridge_producer_consumer};

    use crate::parallel::{Items, Loop, Numbered};

    /// Does the work part by part; it is given the place of the first item of each.
    pub fn run<P: Items>(all: Loop<P>, work: &(dyn Fn(usize, P) + Sync)) {
        bridge_producer_consumer(all.items.count(), Parts(all.enumerate()), Each(work));
    }

    /// Parts until there are enough of them for the threads.
    struct Parts<P>(Loop<Numbered<P>>);

    impl<P: Items> Producer for Parts<P> {
        type Item = (usize, P);
        type IntoIter = std::option::IntoIter<(usize, P)>;
        fn into_iter(self) -> Self::IntoIter {
            let Numbered(items, first) = self.0.items;
            Some((first, items)).into_iter()
        }
        fn min_len(&self) -> usize {
            self.0.least
        }
        fn max_len(&self) -> usize {
            self.0.most
        }
        fn split_at(self, at: usize) -> (Self, Self) {
            let Loop { items, least, most } = self.0;
            let (first, rest) = items.split(at);
            (Parts(Loop { items: first, least, most }), Parts(Loop { items: rest, least, most }))
        }
    }

    struct Each<'a, P>(&'a (dyn Fn(usize, P) + Sync));

    impl<P> Clone for Each<'_, P> {
        fn clone(&self) -> Self {
            Each(self.0)
        }
    }

    impl<P: Send> Consumer<(usize, P)> for Each<'_, P> {
        type Folder = Self;
        type Reducer = Done;
        type Result = ();
        fn split_at(self, _: usize) -> (Self, Self, Done) {
            (self.clone(), self, Done)
        }
        fn into_folder(self) -> Self {
            self
        }
        fn full(&self) -> bool {
            false
        }
    }

    impl<P: Send> UnindexedConsumer<(usize, P)> for Each<'_, P> {
        fn split_off_left(&self) -> Self {
            self.clone()
        }
        fn to_reducer(&self) -> Done {
            Done
        }
    }

    impl<P> Folder<(usize, P)> for Each<'_, P> {
        type Result = ();
        fn consume(self, (first, part): (usize, P)) -> Self {
            self.0(first, part);
            self
        }
        fn complete(self) {}
        fn full(&self) -> bool {
            false
        }
    }

    struct Done;

    impl Reducer<()> for Done {
        fn reduce(self, (): (), (): ()) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same on one thread and on four.
    fn on_threads<T: PartialEq + std::fmt::Debug + Send>(work: impl Fn() -> T + Sync) -> T {
        let with = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&work);
        let one = with(1);
        assert_eq!(with(4), one);
        one
    }

    #[test]
    fn loops_take_the_chunks_of_the_standard_library_in_their_order() {
        let values: Vec<f64> = (0..1003).map(|i| (i as f64).sin()).collect();
        for size in [1, 7, 100, 1003, 2000] {
            let sums: Vec<f64> = on_threads(|| values.par_chunks(size).with_min_len(3).map(|part| part.iter().sum()).collect());
            assert_eq!(sums, values.chunks(size).map(|part| part.iter().sum()).collect::<Vec<f64>>());
            let exact: Vec<usize> = on_threads(|| values.par_chunks_exact(size).map(<[f64]>::len).collect());
            assert_eq!(exact, vec![size; 1003 / size]);
        }
        let out = on_threads(|| {
            let mut out = values.clone();
            out.par_chunks_mut(7).enumerate().for_each(|(c, part)| part.iter_mut().for_each(|value| *value += c as f64));
            out.par_chunks_exact_mut(500).for_each(|part| part[0] = -1.0);
            out.par_iter_mut().zip(&values).for_each(|(out, value)| *out *= value);
            out
        });
        let want = |i: usize| if i == 0 || i == 500 { -1.0 } else { values[i] + (i / 7) as f64 } * values[i];
        assert!((0..1003).all(|i| out[i] == want(i)));
    }

    #[test]
    fn items_of_two_loops_meet_as_long_as_there_are_both() {
        let (rows, names): (Vec<usize>, Vec<String>) = ((0..10).collect(), (0..8).map(|i| i.to_string()).collect());
        let pairs: Vec<String> =
            on_threads(|| rows.par_chunks(1).zip(names.clone()).map(|(row, name)| format!("{}{name}", row[0])).collect());
        assert_eq!(pairs, (0..8).map(|i| format!("{i}{i}")).collect::<Vec<String>>());
        let sum: u64 = on_threads(|| rows.par_iter().map(|row| *row as u64).sum());
        assert_eq!(sum, 45);
        assert!(Vec::<u8>::new().into_par_iter().map(|byte| byte).collect::<Vec<u8>>().is_empty());
    }

    #[test]
    fn each_part_works_with_what_is_made_for_it() {
        let mapped: Vec<usize> =
            on_threads(|| (0..5).into_par_iter().with_max_len(1).map_init(|| 10, |ten, i| std::mem::replace(ten, 0) + i).collect());
        assert_eq!(mapped, [10, 11, 12, 13, 14]);
        let mut seen = [0; 50];
        seen.par_chunks_mut(3).enumerate().for_each_init(Vec::new, |before, (c, part)| {
            assert!(before.last().is_none_or(|last| last + 1 == c));
            before.push(c);
            part.fill(c);
        });
        assert!((0..50).all(|i| seen[i] == i / 3));
    }

    #[test]
    fn an_error_ends_a_loop() {
        let tried = std::sync::atomic::AtomicUsize::new(0);
        let attempt = |i: usize| {
            tried.fetch_add(1, Ordering::Relaxed);
            if i < 3 { Ok(i) } else { Err(i) }
        };
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let found: std::result::Result<Vec<usize>, usize> = one.install(|| (0..1000).into_par_iter().map(attempt).collect());
        assert_eq!((found, tried.load(Ordering::Relaxed) < 1000), (Err(3), true));
        let none: Option<Vec<usize>> = (0..1000).into_par_iter().map(|i| (i < 3).then_some(i)).collect();
        let all: Option<Vec<usize>> = (0..3).into_par_iter().map(Some).collect();
        assert_eq!((none, all), (None, Some(vec![0, 1, 2])));
    }
}
