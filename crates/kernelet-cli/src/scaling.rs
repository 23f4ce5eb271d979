//! Flags that choose how features are scaled.
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::{
    data::{Dataset, Points, Scaling},
    learn::HowToScale,
    model::range::Range,
};

use crate::{failure::Result, session::Session};

/// Flags that choose how features are scaled.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Scaling")]
pub struct ScaleFlags {
    /// Scale the features; the scaling becomes part of the model.
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = names())]
    pub scale: Scaling,
    /// Scale by a range file of svm-scale instead.
    #[arg(long, value_name = "FILE", conflicts_with = "scale")]
    pub scale_file: Option<String>,
}

impl ScaleFlags {
    /// Where the scale comes from.
    pub fn how(&self, data: &Dataset, session: &Session) -> Result<HowToScale> {
        if let Some(path) = &self.scale_file {
            return Ok(HowToScale::Given(Range::load(path)?.to_scale(data.dim())?));
        }
        if let Some(note) = self.scale.note(&data.points) {
            session.note(note);
        }
        Ok(HowToScale::Fitted(self.scale))
    }
}

/// The rows as the learner will see them.
pub fn scaled(how: &HowToScale, data: &Dataset) -> Result<Points> {
    match how.scale_for(data)? {
        Some(scale) => Ok(scale.apply(&data.points)?),
        None => Ok(data.points.clone()),
    }
}

fn names() -> impl TypedValueParser<Value = Scaling> {
    PossibleValuesParser::new(Scaling::ALL.map(Scaling::name)).try_map(|name| Scaling::named(&name).ok_or("there is no such scaling"))
}
