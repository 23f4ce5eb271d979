//! Vectors drawn as images, each with its largest coefficient below it, in one PNG file.
use crate::{Error, Result, machine::Machine};

/// Images in a row, the space around each, and the height of the line below.
const COLUMNS: usize = 10;
const GAP: usize = 6;
const LINE: usize = 14;

/// Characters of 3 x 5 dots, five rows of three bits each, the topmost first.
const GLYPHS: [(char, u16); 15] = [
    ('0', 0b111_101_101_101_111),
    ('1', 0b010_110_010_010_111),
    ('2', 0b111_001_111_100_111),
    ('3', 0b111_001_111_001_111),
    ('4', 0b101_101_111_001_001),
    ('5', 0b111_100_111_001_111),
    ('6', 0b111_100_111_101_111),
    ('7', 0b111_001_010_010_010),
    ('8', 0b111_101_111_101_111),
    ('9', 0b111_101_111_001_111),
    ('.', 0b000_000_000_000_010),
    ('-', 0b000_000_111_000_000),
    ('+', 0b000_010_111_010_000),
    (':', 0b000_010_000_010_000),
    ('e', 0b000_111_111_100_111),
];

/// Width and height from text such as `16x16`.
pub fn size(text: &str) -> std::result::Result<(usize, usize), String> {
    let parts = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parts.filter(|&(w, h): &(usize, usize)| w > 0 && h > 0).ok_or_else(|| "must be WIDTHxHEIGHT, such as 16x16".into())
}

/// A canvas of grey values.
struct Canvas {
    width: usize,
    height: usize,
    grey: Vec<u8>,
}

/// The PNG file of all vectors, `width` x `height` pixels each. Black is the smallest number of all vectors, white the largest.
pub fn draw(machine: &Machine, (width, height): (usize, usize)) -> Result<Vec<u8>> {
    let dim = machine.dim();
    if machine.map().is_some() {
        return Err(Error::request("`images` draws vectors, but those of this model are behind a linear map and are no images"));
    }
    if width.checked_mul(height) != Some(dim) {
        let pixels = width.saturating_mul(height);
        return Err(Error::request(format!("`images` {width}x{height} has {pixels} pixels, but the vectors have {dim} features")));
    }
    let vectors = machine.expansion.vectors.dense("drawing")?;
    let coefficients = machine.expansion.coefficients.to_dense();
    let (low, high) = vectors.values().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let range = if high > low { high - low } else { 1.0 };
    let factor = (64 / width.max(height)).max(1);
    let (cell_width, cell_height) = ((width * factor).max(40) + GAP, height * factor + LINE + GAP);
    let columns = vectors.rows().clamp(1, COLUMNS);
    let mut canvas = Canvas::white(columns * cell_width + GAP, vectors.rows().div_ceil(columns) * cell_height + GAP);
    for (j, vector) in vectors.iter().enumerate() {
        let (x, y) = (GAP + j % columns * cell_width, GAP + j / columns * cell_height);
        for (pixel, value) in vector.iter().enumerate() {
            let grey = (255.0 * (value - low) / range) as u8;
            canvas.fill(x + pixel % width * factor, y + pixel / width * factor, factor, grey);
        }
        canvas.write(x, y + height * factor + 2, &caption(machine, coefficients.row(j)));
    }
    canvas.png().map_err(|error| Error::data(format!("no image could be made: {error}")))
}

/// The largest coefficient of a vector; with several outputs after the place of its output, from 0.
fn caption(machine: &Machine, coefficients: &[f64]) -> String {
    let largest =
        coefficients.iter().enumerate().fold((0, 0.0), |best: (usize, f64), (k, &c)| if c.abs() > best.1.abs() { (k, c) } else { best });
    let number = if largest.1.abs() < 100.0 { format!("{:+.2}", largest.1) } else { format!("{:+.0e}", largest.1) };
    if machine.n_outputs() > 1 { format!("{}:{number}", largest.0) } else { number }
}

impl Canvas {
    fn white(width: usize, height: usize) -> Self {
        Canvas { width, height, grey: vec![255; width * height] }
    }

    /// A square; what lies outside is left out.
    fn fill(&mut self, x: usize, y: usize, side: usize, grey: u8) {
        for y in y..(y + side).min(self.height) {
            let end = (x + side).min(self.width);
            self.grey[y * self.width + x.min(end)..y * self.width + end].fill(grey);
        }
    }

    fn write(&mut self, x: usize, y: usize, text: &str) {
        for (i, character) in text.chars().enumerate() {
            let bits = GLYPHS.iter().find(|(c, _)| *c == character).map_or(0, |(_, bits)| *bits);
            for dot in (0..15).filter(|dot| bits >> (14 - dot) & 1 == 1) {
                self.fill(x + 8 * i + 2 * (dot % 3), y + 2 * (dot / 3), 2, 0);
            }
        }
    }

    fn png(&self) -> std::result::Result<Vec<u8>, png::EncodingError> {
        let mut file = vec![];
        // Grey values of 8 bits are what the encoder writes unless something else is set.
        let mut writer = png::Encoder::new(&mut file, self.width as u32, self.height as u32).write_header()?;
        writer.write_image_data(&self.grey)?;
        writer.finish()?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_is_rejected() {
        assert_eq!(size("16x8"), Ok((16, 8)));
        assert!(["16", "x", "0x3", "ax3", "-1x4"].iter().all(|text| size(text).is_err()));
    }

    #[test]
    fn a_png_holds_its_size_and_its_pixels() {
        let mut canvas = Canvas::white(9, 7);
        canvas.fill(7, 5, 4, 10);
        let file = canvas.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let mut grey = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut grey).unwrap();
        assert_eq!((frame.width, frame.height, frame.color_type, frame.bit_depth), (9, 7, png::ColorType::Grayscale, png::BitDepth::Eight));
        assert_eq!(grey, canvas.grey);
        assert_eq!((grey[6 * 9 + 8], grey[6 * 9 + 6], grey[4 * 9 + 8]), (10, 255, 255));
    }
}
