//! The progress bar: on standard error, only where that is a terminal.
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernelet::watch::Progress;

use crate::layout::plain;

/// A bar that appears with the first report and goes when it is dropped.
pub struct Bar {
    bar: ProgressBar,
    /// What Ctrl-C keeps, and whether that was said.
    kept: Option<&'static str>,
    said: AtomicBool,
}

/// Work that takes longer is worth a sentence on how to stop it.
const LONG: Duration = Duration::from_secs(5);

impl Bar {
    /// A bar, or one that is never seen.
    pub fn new(visible: bool, kept: Option<&'static str>) -> Self {
        // Drawing to standard error is hidden by itself where that is not a terminal.
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target).with_style(ProgressStyle::default_spinner());
        Bar { bar, kept, said: AtomicBool::new(false) }
    }

    /// Shows how far the work has come.
    pub fn show(&self, progress: &Progress) {
        if self.bar.is_hidden() {
            return;
        }
        if self.bar.length() != progress.total || self.bar.message().is_empty() {
            self.bar.set_style(style(progress.total.is_some()));
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
        match progress.total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        let stage = plain(progress.stage);
        self.bar.set_message(match progress.figure {
            Some(figure) => format!("{stage} ({figure:.2e})"),
            None => stage.to_string(),
        });
        self.bar.set_position(progress.done);
        let kept = self.kept.filter(|_| self.bar.elapsed() > LONG && !self.said.swap(true, Ordering::Relaxed));
        if let Some(kept) = kept {
            self.bar.println(format!("Ctrl-C keeps {kept}"));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(known_total: bool) -> ProgressStyle {
    let template = match known_total {
        true => "{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}, {eta} left",
        false => "{spinner} {msg} {pos} {elapsed}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
