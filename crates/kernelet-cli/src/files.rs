//! Where results are written: checked before the work begins, so that an hour of training is not lost to a wrong name.
use std::{fs, path::Path};

use kernelet::model;

use crate::failure::{Failure, Result};

/// Checks that `output` can be written and is none of the files that are read.
pub fn check_output(output: &Path, inputs: &[&str]) -> Result<()> {
    if output == Path::new("-") {
        return Err(Failure::usage("the result of this command cannot go to standard output; name a file"));
    }
    let same = |input: &&&str| fs::canonicalize(input).is_ok_and(|input| fs::canonicalize(output).is_ok_and(|output| input == output));
    if let Some(input) = inputs.iter().find(same) {
        return Err(Failure::usage(format!("{input} would be read and overwritten; write to another file")));
    }
    Ok(model::check_writable(output)?)
}
