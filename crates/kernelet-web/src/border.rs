//! The border to JavaScript: questions and answers in two buffers, and a clock and progress from the host.
//!
//! The page asks for a buffer ([`kernelet_buffer`]), writes the question and the file into it one after the other, calls [`kernelet_answer`], and reads the text
//! of the answer and then its file at [`kernelet_reply`]. No pointer is read here, so that nothing the page does is unsafe for the library.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]
#![allow(unsafe_code)]
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernelet::watch::Progress;
use serde_json::json;

use crate::{Answer, Studio};

/// The page's studio with its buffers.
struct Desk {
    studio: Studio,
    question: Vec<u8>,
    answer: Answer,
}

static DESK: Mutex<Option<Desk>> = Mutex::new(None);

mod host {
    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        /// Seconds since any moment.
        pub safe fn seconds() -> f64;
        /// Progress as JSON of so many bytes at this address, which is valid during the call.
        pub safe fn progress(text: *const u8, bytes: usize);
    }
}

fn desk() -> MutexGuard<'static, Option<Desk>> {
    DESK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn show(progress: &Progress) {
    let text = json!({ "stage": progress.stage, "done": progress.done, "total": progress.total, "figure": progress.figure }).to_string();
    host::progress(text.as_ptr(), text.len());
}

/// A buffer for a question and a file of so many bytes together.
#[unsafe(no_mangle)]
pub extern "C" fn kernelet_buffer(bytes: usize) -> *mut u8 {
    kernelet::set_clock(|| host::seconds());
    let mut desk = desk();
    let desk = desk.get_or_insert_with(|| Desk { studio: Studio::default(), question: vec![], answer: Answer::default() });
    desk.question = vec![0; bytes];
    desk.question.as_mut_ptr()
}

/// Answers the question of so many bytes at the front of the buffer; the rest of it is the file. Returns the bytes of the answer's text.
#[unsafe(no_mangle)]
pub extern "C" fn kernelet_answer(question: usize) -> usize {
    let mut desk = desk();
    let Some(desk) = desk.as_mut() else { return 0 };
    let (asked, file) = desk.question.split_at(question.min(desk.question.len()));
    desk.answer = desk.studio.answer(asked, file, show);
    desk.question = vec![];
    desk.answer.text.len()
}

/// Where the text of the answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn kernelet_reply() -> *const u8 {
    desk().as_ref().map_or(std::ptr::null(), |desk| desk.answer.text.as_ptr())
}

/// Where the file of the answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn kernelet_file() -> *const u8 {
    desk().as_ref().map_or(std::ptr::null(), |desk| desk.answer.bytes.as_ptr())
}

/// The bytes of the answer's file.
#[unsafe(no_mangle)]
pub extern "C" fn kernelet_file_bytes() -> usize {
    desk().as_ref().map_or(0, |desk| desk.answer.bytes.len())
}
