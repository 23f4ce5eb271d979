//! Loops on all threads, or on one where the cargo feature `parallel` is off (a browser has one).
//!
//! With the feature this is rayon. Without it the same names are iterators of the standard library, over the same fixed chunks in the same order, so that
//! results are bit-equal to those of any number of threads.
#[cfg(feature = "parallel")]
pub(crate) use rayon::{current_num_threads, prelude::*};

#[cfg(not(feature = "parallel"))]
pub(crate) use serial::*;

#[cfg(any(test, not(feature = "parallel")))]
mod serial {
    //! What the library uses of rayon, on the current thread.
    use std::slice::{Chunks, ChunksExactMut, ChunksMut};

    /// The threads of the current pool.
    pub fn current_num_threads() -> usize {
        1
    }

    /// Values that become an iterator.
    pub trait IntoParallelIterator: IntoIterator + Sized {
        fn into_par_iter(self) -> Self::IntoIter {
            self.into_iter()
        }
    }

    impl<I: IntoIterator> IntoParallelIterator for I {}

    /// Slices and what contains them.
    pub trait ParallelSlice<T> {
        fn of(&self) -> &[T];
        fn par_iter(&self) -> std::slice::Iter<'_, T> {
            self.of().iter()
        }
        fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
            self.of().chunks(size)
        }
        fn par_chunks_exact(&self, size: usize) -> std::slice::ChunksExact<'_, T> {
            self.of().chunks_exact(size)
        }
    }

    impl<T> ParallelSlice<T> for [T] {
        fn of(&self) -> &[T] {
            self
        }
    }

    /// The same for writing.
    pub trait ParallelSliceMut<T> {
        fn of_mut(&mut self) -> &mut [T];
        fn par_iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
            self.of_mut().iter_mut()
        }
        fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
            self.of_mut().chunks_mut(size)
        }
        fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
            self.of_mut().chunks_exact_mut(size)
        }
    }

    impl<T> ParallelSliceMut<T> for [T] {
        fn of_mut(&mut self) -> &mut [T] {
            self
        }
    }

    /// What iterators of rayon have and others do not.
    pub trait ParallelIterator: Iterator + Sized {
        fn for_each_init<T>(self, init: impl Fn() -> T, mut go: impl FnMut(&mut T, Self::Item)) {
            let mut work = init();
            self.for_each(|item| go(&mut work, item));
        }
        fn map_init<T, R>(self, init: impl Fn() -> T, mut go: impl FnMut(&mut T, Self::Item) -> R) -> impl Iterator<Item = R> {
            let mut work = init();
            self.map(move |item| go(&mut work, item))
        }
        fn with_min_len(self, _: usize) -> Self {
            self
        }
        fn with_max_len(self, _: usize) -> Self {
            self
        }
    }

    impl<I: Iterator> ParallelIterator for I {}
}

#[cfg(test)]
mod tests {
    use super::serial::{IntoParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut, current_num_threads};

    #[test]
    fn loops_on_one_thread_take_the_same_chunks_as_those_on_many() {
        use rayon::prelude as many;
        let values: Vec<f64> = (0..1003).map(|i| (i as f64).sin()).collect();
        let one: Vec<f64> = ParallelSlice::par_chunks(&values[..], 100).with_min_len(3).map(|part| part.iter().sum()).collect();
        let all: Vec<f64> = {
            use many::{ParallelIterator, ParallelSlice};
            ParallelIterator::map(ParallelSlice::par_chunks(&values[..], 100), |part| part.iter().sum()).collect()
        };
        assert_eq!((one.len(), &one), (11, &all));
        let mut out = values.clone();
        ParallelIterator::for_each_init(ParallelSliceMut::par_chunks_mut(&mut out[..], 7).enumerate(), Vec::new, |seen, (c, part)| {
            seen.push(c);
            part.iter_mut().for_each(|value| *value += c as f64 + seen.len() as f64);
        });
        assert!((0..1003).all(|i| out[i] == values[i] + (2.0 * (i / 7) as f64 + 1.0)));
        let mapped: Vec<usize> =
            ParallelIterator::map_init(IntoParallelIterator::into_par_iter(0..5).with_max_len(1), || 10, |ten, i| *ten + i).collect();
        assert_eq!((mapped, current_num_threads()), (vec![10, 11, 12, 13, 14], 1));
        let exact: Vec<usize> = ParallelSlice::par_chunks_exact(&values[..], 500).map(<[f64]>::len).collect();
        assert_eq!((exact, ParallelSliceMut::par_chunks_exact_mut(&mut out[..], 500).len()), (vec![500, 500], 2));
        assert_eq!((ParallelSlice::par_iter(&values[..]).count(), ParallelSliceMut::par_iter_mut(&mut out[..]).count()), (1003, 1003));
    }
}
