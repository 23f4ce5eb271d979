//! The last error of each thread, as text.
use std::{cell::RefCell, ffi::CString};

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Keeps a sentence as the last error of this thread.
pub(crate) fn keep(sentence: &str) {
    // A zero byte would end the text.
    let text = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
    // While a thread ends there is no place for it, and nobody who asks.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

/// Where the text of the last error of this thread is, until the next error of this thread.
pub(crate) fn last() -> *const std::ffi::c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
