//! Writes a made-up set or the built-in digits as LIBSVM text, so that other programs can be given the very same rows.
//!
//! ```text
//! dump banana ROWS SEED > banana.svm
//! dump digits-train > train.svm            dump digits-test > test.svm
//! ```
//! Numbers are written with as many digits as it takes to read them back without change.
use std::{
    error::Error,
    io::{BufWriter, Write},
};

use kernelet::data::{Dataset, Generator, Target, digits_split};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let data = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["digits-train"] => digits_split().0,
        ["digits-test"] => digits_split().1,
        [name, rows, seed] => {
            let generator = Generator::named(name).ok_or_else(|| format!("the sets are {}", Generator::names().join(", ")))?;
            generator.make(rows.parse()?, seed.parse()?)
        }
        _ => return Err("give a set, the number of rows and a seed, or digits-train or digits-test".into()),
    };
    write(&data, &mut BufWriter::new(std::io::stdout().lock()))?;
    Ok(())
}

fn write(data: &Dataset, out: &mut impl Write) -> std::io::Result<()> {
    let points = data.points.to_dense();
    for i in 0..data.len() {
        match &data.target {
            Target::Classes(classes) => write!(out, "{}", classes.labels[classes.codes[i] as usize])?,
            Target::Values(values) => write!(out, "{}", values.at(i, 0))?,
            Target::None => write!(out, "0")?,
        }
        for (j, value) in points.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            write!(out, " {}:{value}", j + 1)?;
        }
        writeln!(out)?;
    }
    out.flush()
}
