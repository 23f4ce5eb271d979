//! The progress bar: on standard error, only where that is a terminal.
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernelet::watch::Progress;

use crate::layout::plain;

/// A bar that appears with the first report and goes when it is dropped.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar, or one that is never seen.
    pub fn new(visible: bool) -> Self {
        // Drawing to standard error is hidden by itself where that is not a terminal.
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Bar(ProgressBar::with_draw_target(None, target).with_style(ProgressStyle::default_spinner()))
    }

    /// Shows how far the work has come.
    pub fn show(&self, progress: &Progress) {
        if self.0.is_hidden() {
            return;
        }
        if self.0.length() != progress.total || self.0.message().is_empty() {
            self.0.set_style(style(progress.total.is_some()));
            self.0.enable_steady_tick(Duration::from_millis(200));
        }
        match progress.total {
            Some(total) => self.0.set_length(total),
            None => self.0.unset_length(),
        }
        let stage = plain(progress.stage);
        self.0.set_message(match progress.figure {
            Some(figure) => format!("{stage} ({figure:.2e})"),
            None => stage.to_string(),
        });
        self.0.set_position(progress.done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn style(known_total: bool) -> ProgressStyle {
    let template = match known_total {
        true => "{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}, {eta} left",
        false => "{spinner} {msg} {pos} {elapsed}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
