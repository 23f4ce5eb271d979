//! Rows in blocks, so that a file larger than memory can be worked through.
//!
//! LIBSVM text, CSV, NumPy arrays whose rows lie one after the other and Parquet tables are read as they are needed: memory is that of a few
//! blocks, whatever the size of the file. Other files, and Parquet tables with text or missing values to be learned from, are read whole and handed out in
//! blocks. Where blocks end depends on the file alone.
#[cfg(feature = "parquet")]
use super::parquet_rows::TableRows;
use super::{
    Format, Read, Reading, csv, format_of, libsvm, npy, read_bytes,
    source::{self, Stream},
};
use crate::{
    Error, Result,
    data::{Dataset, Tally, Target},
    linalg::Matrix,
};

/// Bytes of a block. The work on a block should outweigh its start, and its rows should fit the caches of the machine.
const BLOCK: usize = 4 << 20;

/// A line or row of more bytes than this is refused: it is not data.
const LONGEST: usize = 1 << 30;

/// Bytes among which the header of an array is whole.
const LONGEST_HEADER: usize = 1 << 17;

/// Rows of a block of a file that was read whole.
const ROWS: usize = 8192;

/// The rows of a file, block by block.
pub struct Blocks(Source);

enum Source {
    /// All rows are there; those from the given one on are still to be handed out.
    Whole(Box<Read>, usize),
    Parts(Box<Parts>),
    #[cfg(feature = "parquet")]
    Table(Box<TableRows>),
}

/// A file that is read as its rows are needed.
struct Parts {
    stream: Stream,
    origin: String,
    how: Reading,
    form: Form,
    /// Bytes that were read and not yet taken.
    buffer: Vec<u8>,
    block: usize,
    /// Nothing comes after the buffer.
    ended: bool,
    /// Lines and rows that went before the buffer.
    lines: usize,
    rows: usize,
    /// What those rows have that the training rows of the model do not have.
    tally: Tally,
}

/// How bytes become rows.
enum Form {
    Lines,
    Table(Option<csv::Layout>),
    Array(npy::Parts),
}

/// Opens a file, or standard input for `-`, to be read in blocks.
pub fn blocks(path: &str, how: &Reading) -> Result<Blocks> {
    blocks_of(path, how, BLOCK)
}

fn blocks_of(path: &str, how: &Reading, block: usize) -> Result<Blocks> {
    let format = format_of(path, how)?;
    let (how, origin) = (Reading { format: Some(format), ..how.clone() }, source::name_of(path).to_string());
    let mut stream = Stream::of(path)?;
    #[cfg(feature = "parquet")]
    if format == Format::Parquet
        && stream.is_plain_file(path)
        && let Some(table) = TableRows::open(path, &how, block)?
    {
        return Ok(Blocks(Source::Table(Box::new(table))));
    }
    let mut buffer = vec![];
    let form = match format {
        Format::Libsvm => Some(Form::Lines),
        Format::Csv => Some(Form::Table(None)),
        Format::Npy => {
            stream.fill(&mut buffer, LONGEST_HEADER)?;
            npy::Parts::of(&mut buffer, &origin)?.map(Form::Array)
        }
        Format::Npz | Format::Parquet => None,
    };
    // Indicators take more memory than the text they are made from.
    let block = match (&how.table, &form) {
        (Some(table), Some(Form::Table(_))) => (block * table.columns.len() / table.n_features().max(1)).max(block / 64).max(1),
        _ => block,
    };
    let Some(form) = form else {
        stream.rest(&mut buffer)?;
        let all = read_bytes(&buffer, &origin, &how)?;
        all.dataset.check()?;
        return Ok(Blocks(Source::Whole(Box::new(all), 0)));
    };
    Ok(Blocks(Source::Parts(Box::new(Parts {
        stream,
        origin,
        how,
        form,
        buffer,
        block,
        ended: false,
        lines: 0,
        rows: 0,
        tally: Tally::default(),
    }))))
}

impl Blocks {
    /// The next rows, checked; none after the last, and an error where there are none at all. Class codes of different blocks do not
    /// belong together.
    pub fn next_block(&mut self) -> Result<Option<Read>> {
        match &mut self.0 {
            Source::Parts(parts) => parts.next(),
            #[cfg(feature = "parquet")]
            Source::Table(table) => table.next(),
            Source::Whole(all, from) => {
                let rows: Vec<usize> = (*from..all.dataset.len().min(*from + ROWS)).collect();
                *from += rows.len();
                let notes = std::mem::take(&mut all.notes);
                Ok((!rows.is_empty()).then(|| Read { dataset: all.dataset.select(&rows), notes }))
            }
        }
    }

    /// Notes for the user about all rows so far, which are complete after the last block.
    pub fn notes(&self) -> Vec<String> {
        match &self.0 {
            Source::Parts(parts) => match &parts.form {
                Form::Table(Some(layout)) => layout.notes_on(&parts.tally),
                _ => vec![],
            },
            #[cfg(feature = "parquet")]
            Source::Table(table) => table.notes(),
            Source::Whole(..) => vec![],
        }
    }
}

impl Parts {
    fn next(&mut self) -> Result<Option<Read>> {
        let mut wanted = self.block;
        loop {
            self.ended = self.ended || !self.stream.fill(&mut self.buffer, wanted)?;
            let (read, used, tally) = self.take()?;
            let rows = read.dataset.len();
            if rows > 0 || self.ended {
                let read = if rows > 0 || self.rows == 0 { Some(self.checked(read)?) } else { None };
                self.advance(used, rows);
                self.tally.add(tally);
                return Ok(read);
            }
            match self.rows > 0 && used > 0 {
                true => self.advance(used, 0),
                false if wanted < LONGEST => wanted *= 2,
                false => {
                    let reason = "a gigabyte went by without a row; these are no data";
                    return Err(Error::format(&*self.origin, Some(self.lines + 1), None, reason));
                }
            }
        }
    }

    /// The rows that are whole in the buffer, how many bytes they took, and what they have that training rows do not have.
    fn take(&mut self) -> Result<(Read, usize, Tally)> {
        let (first, last, origin, how) = (self.rows == 0, self.ended, &*self.origin, &self.how);
        let text = if first { source::unmarked(&self.buffer) } else { &self.buffer };
        let mark = self.buffer.len() - text.len();
        match &mut self.form {
            Form::Lines => {
                let whole = if last { text.len() } else { text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1) };
                Ok((libsvm::read_lines(&text[..whole], origin, self.lines, how)?, mark + whole, Tally::default()))
            }
            Form::Array(parts) => parts.rows(&self.buffer, last, origin, how).map(|(read, used)| (read, used, Tally::default())),
            Form::Table(layout) => {
                if first && !last && !csv::Layout::is_determined_by(text) {
                    let none = Read { dataset: Dataset::new(Matrix::<f64>::zeros(0, 0), Target::None), notes: vec![] };
                    return Ok((none, 0, Tally::default()));
                }
                let layout = match layout {
                    Some(layout) if !first => layout,
                    _ => layout.insert(csv::Layout::of(text, origin, how)?),
                };
                let place = csv::Place { origin, lines_before: self.lines, first, last };
                let csv::Part { mut read, used, tally } = layout.rows(text, &place, how)?;
                if first {
                    read.notes = layout.notes().to_vec();
                }
                Ok((read, mark + used, tally))
            }
        }
    }

    /// Leaves bytes behind, with their lines and rows.
    fn advance(&mut self, used: usize, rows: usize) {
        self.lines += self.buffer[..used].iter().filter(|&&b| b == b'\n').count();
        self.rows += rows;
        self.buffer.drain(..used);
    }

    /// The rows, or an error that names the row of the file.
    fn checked(&self, read: Read) -> Result<Read> {
        read.dataset.check().map_err(|error| error.after_rows(self.rows))?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    #[cfg(feature = "parquet")]
    use crate::data::read::parquet;
    use crate::data::read::{Wanted, read};

    /// A file that is gone with the value.
    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("kernelet-blocks-{}-{name}", std::process::id()));
            std::fs::write(&path, bytes).unwrap();
            Scratch(path)
        }
        fn path(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_file(&self.0).unwrap();
        }
    }

    /// The rows of all blocks, and how many blocks they were.
    fn joined(path: &str, how: &Reading, block: usize) -> Result<(Vec<Vec<f64>>, usize)> {
        let mut blocks = blocks_of(path, how, block)?;
        let (mut rows, mut count) = (vec![], 0);
        while let Some(read) = blocks.next_block()? {
            rows.extend(read.dataset.points.to_dense().iter().map(<[f64]>::to_vec));
            count += 1;
        }
        Ok((rows, count))
    }

    fn check(name: &str, bytes: &[u8], how: &Reading) {
        let file = Scratch::new(name, bytes);
        let whole = read(file.path(), how).and_then(|read| read.dataset.check().map(|()| read));
        let whole = whole.map(|read| read.dataset.points.to_dense().iter().map(<[f64]>::to_vec).collect::<Vec<_>>());
        for block in [1, 2, 3, 7, 16, 50, 1 << 20] {
            match (&whole, joined(file.path(), how, block)) {
                (Ok(whole), Ok((rows, _))) => assert_eq!(*whole, rows, "{name}, {block} bytes"),
                (Err(whole), Err(error)) => assert_eq!(whole.to_string(), error.to_string(), "{name}, {block} bytes"),
                (whole, parts) => panic!("{name}, {block} bytes: {whole:?} {parts:?}"),
            }
        }
    }

    #[test]
    fn blocks_of_text_hold_what_the_whole_file_holds_and_name_the_same_lines() {
        let how = Reading { dim: Some(2), ..Reading::default() };
        let texts = [
            ("a.svm", "1 1:1 2:2\n\n# x\n2 1:3 2:4\r\n1 2:5 # y\n# end\n\n"),
            ("b.svm", "\u{feff}1 1:1 2:2\n1 1:3 2:4\n1 1:0 2:5"),
            ("c.svm", "1 1:1 2:2\n1 1:3 2:4\n\n# x\n1 2:5 1:7\n"),
            ("d.svm", "1 1:1 2:2\n1 1:3 2:4\n1 1:nan 2:7\n"),
            ("e.svm", "# nothing\n"),
            ("f.svm", ""),
            ("a.csv", "a,b,t\n1,2,x\n\n3,4,\"y\nz\"\r\n5,6,\"\"\"q\"\n7,8,v"),
            ("b.csv", "\u{feff}1;2\n3;4\n5;6\n"),
            ("c.csv", "a,b,t\n1,2,x\n\n3,4,\"y\nz\"\r\n5,w,z\n"),
            ("d.csv", "1,2\n3,4\n5\n6,7\n"),
            ("e.csv", "a,b\n"),
            ("f.csv", "\n"),
            ("g.csv", "1,2\n"),
        ];
        for (name, text) in texts {
            check(name, text.as_bytes(), &how);
        }
    }

    #[test]
    fn blocks_of_a_table_with_text_hold_what_the_whole_table_holds() {
        let learned = read_bytes(b"a,b,t\n1,x,u\n?,y,v\n3,\"z\nz\",u\n", "a.csv", &Reading::CLASSES).unwrap();
        let how = Reading { table: learned.dataset.table, ..Reading::default() };
        let texts = [
            ("t.csv", "b,a\r\nx,1\r\n\"z\nz\",\r\nnew,4\r\n\r\n,7\r\n"),
            ("u.csv", "1,x\n?,y\n5,x"),
            ("v.csv", "b,a\nx,1\nx,2\n\nx,word\n"),
            ("w.csv", "b,c\nx,1\n"),
        ];
        for (name, text) in texts {
            check(name, text.as_bytes(), &how);
        }
        let file = Scratch::new("x.csv", b"b,a\nx,1\nnew,2\nx,3\nnewer,4\n");
        let mut blocks = blocks_of(file.path(), &how, 8).unwrap();
        while blocks.next_block().unwrap().is_some() {}
        assert_eq!(blocks.notes(), ["2 values of \"b\" not seen in training, first \"new\": all indicators of the column are 0"]);
    }

    #[test]
    fn blocks_of_arrays_hold_what_the_whole_array_holds() {
        let how = Reading { dim: Some(2), ..Reading::default() };
        let bytes: Vec<u8> = (0..24).flat_map(|v| f64::from(v).to_le_bytes()).collect();
        for (name, fortran, shape) in
            [("a.npy", false, "(12, 2)"), ("b.npy", true, "(12, 2)"), ("c.npy", false, "(8, 3)"), ("d.npy", false, "(0, 2)")]
        {
            let data = if shape.starts_with("(0") { &[][..] } else { &bytes[..] };
            check(name, &npy::tests::written("<f8", fortran, shape, data), &how);
        }
        let file = Scratch::new("e.npy", &npy::tests::written("<f8", false, "(13, 2)", &bytes));
        let text = joined(file.path(), &how, 64).unwrap_err().to_string();
        assert!(text.ends_with("the file ends 1 row before the header promises"), "{text}");
        let file = Scratch::new("f.npy", &npy::tests::written("<f8", false, "(11, 2)", &bytes));
        let text = joined(file.path(), &how, 64).unwrap_err().to_string();
        assert!(text.ends_with("the file goes on after the values that the header promises"), "{text}");
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn blocks_of_a_parquet_table_hold_what_the_whole_table_holds() {
        let table = |count, species: &[u8]| parquet::tests::written(count, species);
        let target = Reading { wanted: Wanted::Classes, target_column: Some("species".into()), ..Reading::default() };
        let names = Reading { names: Some(["big", "count"].map(String::from).to_vec()), ..target.clone() };
        let of_length = Reading { wanted: Wanted::Values, target_column: Some("length".into()), ..Reading::default() };
        let learned = read_bytes(&table(None, b"setosa"), "a.parquet", &of_length).unwrap().dataset.table;
        let encoded = Reading { table: learned, ..of_length.clone() };
        let files = [
            ("a.parquet", table(Some(4), b"setosa")),
            ("b.parquet", table(None, b"setosa")),
            ("c.parquet", table(Some(4), b"\xe9")),
            ("d.parquet", table(Some(4), b"new")),
        ];
        for (name, bytes) in &files {
            [&target, &names, &of_length, &encoded].into_iter().for_each(|how| check(name, bytes, how));
            check(name, &bytes[..bytes.len() - 20], &names);
        }
        let file = Scratch::new("e.parquet", &files[3].1);
        assert_eq!(joined(file.path(), &names, 16).unwrap().1, 4);
        let mut blocks = blocks_of(file.path(), &encoded, 8).unwrap();
        while blocks.next_block().unwrap().is_some() {}
        assert_eq!(blocks.notes(), ["1 value of \"species\" not seen in training, first \"new\": all indicators of the column are 0"]);
    }

    #[test]
    fn packed_text_is_unpacked_block_by_block_and_damage_is_reported() {
        let text: String = (0..2000).map(|i| format!("1 1:{i} 2:2\n")).collect();
        let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        let file = Scratch::new("p.svm.gz", &packed);
        let (rows, count) = joined(file.path(), &Reading::default(), 1000).unwrap();
        assert!(rows.len() == 2000 && rows[1999] == [1999.0, 2.0] && count > 10, "{count}");
        let file = Scratch::new("q.svm.gz", &packed[..packed.len() / 2]);
        let text = joined(file.path(), &Reading::default(), 1000).unwrap_err().to_string();
        assert!(text.ends_with("the gzip data are damaged or cut short"), "{text}");
    }

    #[test]
    fn the_choice_of_columns_is_reported_once() {
        let file = Scratch::new("n.csv", b"a,b,t\n1,2,3\n4,5,6\n7,8,9\n1,1,1\n");
        let how = Reading { wanted: Wanted::Values, ..Reading::default() };
        let mut blocks = blocks_of(file.path(), &how, 14).unwrap();
        assert_eq!(blocks.next_block().unwrap().unwrap().notes, ["target: column 3, \"t\""]);
        assert!(blocks.next_block().unwrap().unwrap().notes.is_empty());
    }
}
