//! The functions that C sees. Pointers become slices here and nowhere else; no panic passes this border.
#![allow(unsafe_code)]
use std::{
    ffi::{CStr, c_char, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
};

use kernelet::{Error, Result};

use crate::{failure, model::Model};

/// Runs the work; where it fails the sentence is kept and `otherwise` is returned.
fn guarded<T>(otherwise: T, work: impl FnOnce() -> Result<T>) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => {
            failure::keep(&error.to_string());
            otherwise
        }
        Err(_) => {
            failure::keep("an error inside kernelet; please report it with the model");
            otherwise
        }
    }
}

/// The model behind a pointer.
///
/// # Safety
/// The pointer is null or comes from a function that loads models, and is not freed meanwhile.
unsafe fn model<'a>(model: *const Model) -> Result<&'a Model> {
    // SAFETY: as the caller promises.
    unsafe { model.as_ref() }.ok_or_else(|| Error::data("the model is NULL; was it loaded?"))
}

/// `count` times `each` numbers behind a pointer.
///
/// # Safety
/// The pointer is null or leads to so many numbers, which nobody writes meanwhile.
unsafe fn numbers<'a, T>(pointer: *const T, count: usize, each: usize, what: &str) -> Result<&'a [T]> {
    let length = length::<T>(count, each, what)?;
    match (pointer.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Error::data(format!("{what} are NULL"))),
        // SAFETY: as the caller promises; the length in bytes was checked.
        (false, length) => Ok(unsafe { std::slice::from_raw_parts(pointer, length) }),
    }
}

/// The same to write to.
///
/// # Safety
/// The pointer is null or leads to so many numbers, which nobody else reads or writes meanwhile.
unsafe fn numbers_mut<'a, T>(pointer: *mut T, count: usize, each: usize, what: &str) -> Result<&'a mut [T]> {
    let length = length::<T>(count, each, what)?;
    match (pointer.is_null(), length) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(Error::data(format!("{what} are NULL"))),
        // SAFETY: as the caller promises; the length in bytes was checked.
        (false, length) => Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) }),
    }
}

/// How many numbers, where memory can hold them.
fn length<T>(count: usize, each: usize, what: &str) -> Result<usize> {
    let bytes = count.checked_mul(each).and_then(|length| length.checked_mul(size_of::<T>()));
    match bytes.is_some_and(|bytes| bytes <= isize::MAX as usize) {
        true => Ok(count * each),
        false => Err(Error::data(format!("{what} of {count} rows do not fit into memory"))),
    }
}

fn loaded(model: Model) -> *mut Model {
    Box::into_raw(Box::new(model))
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn kernelet_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// What went wrong last in this thread, as a sentence; empty where nothing has. Valid until the next error in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn kernelet_last_error() -> *const c_char {
    failure::last()
}

/// The model in a file: kernelet's own format, LIBSVM text or JSON. NULL where there is an error.
///
/// # Safety
/// `path` is NULL or a text that ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_load(path: *const c_char) -> *mut Model {
    guarded(std::ptr::null_mut(), || {
        if path.is_null() {
            return Err(Error::data("the path is NULL"));
        }
        // SAFETY: not null, and a text as the caller promises.
        let path = unsafe { CStr::from_ptr(path) };
        let path = path.to_str().map_err(|_| Error::data("the path is not UTF-8; read the file and call kernelet_load_bytes"))?;
        Model::load(path).map(loaded)
    })
}

/// The model in the `length` bytes of a file in memory, which is not needed afterwards. NULL where there is an error.
///
/// # Safety
/// `bytes` is NULL or leads to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_load_bytes(bytes: *const u8, length: usize) -> *mut Model {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: as the caller promises.
        let bytes = unsafe { numbers(bytes, length, 1, "the bytes") }?;
        Model::from_bytes(bytes).map(loaded)
    })
}

/// Frees a model; NULL is allowed.
///
/// # Safety
/// `model` is NULL or was loaded, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_free(model: *mut Model) {
    guarded((), || {
        if !model.is_null() {
            // SAFETY: it was made by Box::into_raw, and the caller uses it no more.
            drop(unsafe { Box::from_raw(model) });
        }
        Ok(())
    });
}

/// Numbers of a row; 0 where the model is NULL.
///
/// # Safety
/// `model` is NULL or was loaded and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_features(model: *const Model) -> usize {
    // SAFETY: as the caller promises.
    guarded(0, || Ok(unsafe { self::model(model) }?.features()))
}

/// Outputs (decision values) of a row; 0 where the model is NULL.
///
/// # Safety
/// `model` is NULL or was loaded and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_outputs(model: *const Model) -> usize {
    // SAFETY: as the caller promises.
    guarded(0, || Ok(unsafe { self::model(model) }?.outputs()))
}

/// Classes of the model; 0 where it predicts numbers.
///
/// # Safety
/// `model` is NULL or was loaded and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_classes(model: *const Model) -> usize {
    // SAFETY: as the caller promises.
    guarded(0, || Ok(unsafe { self::model(model) }?.classes()))
}

/// Numbers that the model predicts for a row; 0 where it predicts classes.
///
/// # Safety
/// `model` is NULL or was loaded and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_values(model: *const Model) -> usize {
    // SAFETY: as the caller promises.
    guarded(0, || Ok(unsafe { self::model(model) }?.values()))
}

/// The label of a class, counted from 0; valid until the model is freed. NULL where there is no such class.
///
/// # Safety
/// `model` is NULL or was loaded and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_label(model: *const Model, place: usize) -> *const c_char {
    // SAFETY: as the caller promises.
    guarded(std::ptr::null(), || Ok(unsafe { self::model(model) }?.label(place)?.as_ptr()))
}

/// Writes the class of each of `n_rows` rows, counted from 0, to `classes`. Rows follow one another, kernelet_features numbers each. 0 where it is done, else -1.
///
/// # Safety
/// `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `classes` is used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_predict_classes(model: *const Model, rows: *const f64, n_rows: usize, classes: *mut i32) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises.
        let model = unsafe { self::model(model) }?;
        // SAFETY: as the caller promises.
        let (rows, out) =
            unsafe { (numbers(rows, n_rows, model.features(), "the rows")?, numbers_mut(classes, n_rows, 1, "the classes")?) };
        model.predict_classes(rows, out).map(|()| 0)
    })
}

/// Rows, an array to fill with `each` numbers a row, and how to fill it.
///
/// # Safety
/// As for kernelet_predict_values.
unsafe fn fill(
    model: *const Model,
    rows: *const f64,
    n_rows: usize,
    out: *mut f64,
    each: impl Fn(&Model) -> usize,
    work: impl Fn(&Model, &[f64], &mut [f64]) -> Result<()>,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises.
        let model = unsafe { self::model(model) }?;
        // SAFETY: as the caller promises.
        let rows = unsafe { numbers(rows, n_rows, model.features(), "the rows") }?;
        // SAFETY: as the caller promises.
        let out = unsafe { numbers_mut(out, n_rows, each(model), "the results") }?;
        work(model, rows, out).map(|()| 0)
    })
}

/// Writes the kernelet_values predicted numbers of each row to `values`. 0 where it is done, else -1.
///
/// # Safety
/// `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `values` is used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_predict_values(model: *const Model, rows: *const f64, n_rows: usize, values: *mut f64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { fill(model, rows, n_rows, values, Model::values, Model::predict_values) }
}

/// Writes the kernelet_outputs decision values of each row to `outputs`. 0 where it is done, else -1.
///
/// # Safety
/// `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `outputs` is used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_decision_values(model: *const Model, rows: *const f64, n_rows: usize, outputs: *mut f64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { fill(model, rows, n_rows, outputs, Model::outputs, Model::outputs_of) }
}

/// Writes the kernelet_classes probabilities of each row to `probabilities`. 0 where it is done, else -1: a model trained without probabilities has none.
///
/// # Safety
/// `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `probabilities` is used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_probabilities(model: *const Model, rows: *const f64, n_rows: usize, probabilities: *mut f64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { fill(model, rows, n_rows, probabilities, Model::classes, Model::probabilities) }
}

/// Writes the standard deviations of the kernelet_values predicted numbers of each row to `deviations`. 0 where it is done, else -1: few models know them.
///
/// # Safety
/// `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `deviations` is used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelet_deviations(model: *const Model, rows: *const f64, n_rows: usize, deviations: *mut f64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { fill(model, rows, n_rows, deviations, Model::values, Model::deviations) }
}
