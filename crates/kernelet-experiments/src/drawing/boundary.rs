//! Where do machines draw the line between two classes? The rows of two features, and the places where each machine is undecided.
//!
//! Outputs are computed on a grid over the rows in one batch for each machine and followed along zero (`contour`). Cost: 25,921
//! predictions a machine.
use std::fmt::Write;

use kernelet::{
    data::{Dataset, Points},
    linalg::Matrix,
    machine::{Decision, Machine},
};

use super::{
    Axis,
    axis::Span,
    contour::Grid,
    frame::{Frame, Side},
    legend::Legend,
    marks::{COLOURS, dash, dashed},
    svg::{INK, line, nothing, number, path, through},
};

/// Size of the data, and places of the grid along a side.
const SIZE: (f64, f64) = (440.0, 400.0);
const PLACES: usize = 161;

/// Vectors are circled up to this number; more rows than this are thinned out.
const VECTORS: usize = 60;
const ROWS: usize = 4000;

/// Boundaries of two-class machines of two features over rows: the first whole, the second dashed; the vectors of the last are circled
/// where they are few.
#[derive(Clone, Debug)]
pub struct Boundary<'a> {
    /// What it shows.
    pub title: String,
    /// Names and machines. Each may scale rows differently.
    pub machines: Vec<(String, &'a Machine)>,
    /// Rows with their classes, as the machines take them: not scaled.
    pub rows: &'a Dataset,
}

impl Boundary<'_> {
    /// The picture as the text of an SVG file; one that says so where there are no rows. An error says why it cannot be drawn.
    pub fn svg(&self) -> Result<String, String> {
        let classes = self.check()?;
        let rows = plane(&self.rows.points);
        let axis = |column: usize| {
            let name = self.rows.names.as_ref().and_then(|names| names.get(column)).cloned();
            Axis { name: name.unwrap_or_else(|| format!("feature {}", column + 1)), logarithmic: false }
        };
        let axes = [axis(0), axis(1)];
        let shown = |row: &[f64; 2]| row.iter().all(|&value| axes[0].shows(value));
        let spans = [0, 1].map(|column| axes[column].span(rows.iter().filter(|row| shown(row)).map(|row| row[column])));
        let [Some(x), Some(y)] = spans else { return Ok(nothing(&self.title)) };
        let placed: Vec<([f64; 2], usize)> = rows.into_iter().zip(classes).filter(|(row, _)| shown(row)).collect();
        let vectors = self.machines.last().map_or(vec![], |(_, machine)| circled(machine, &x, &y));
        let lines: Vec<Vec<Vec<(f64, f64)>>> =
            self.machines.iter().map(|(name, machine)| zeros(name, machine, &x, &y)).collect::<Result<_, _>>()?;
        let side = |axis: &Axis, span: Span| Side { name: axis.name.clone(), ticks: span.ticks(6), span };
        let frame = Frame::new(&self.title, side(&axes[0], x), side(&axes[1], y), SIZE, false, self.legend(&vectors));
        let mut data: String = [0, 1].map(|class| marks(&placed, class, &frame)).concat();
        for (i, lines) in lines.iter().enumerate() {
            let along: String = lines.iter().map(|line| through(line.iter().map(|&(x, y)| frame.at(x, y)))).collect();
            data += &path(&along, INK, &stroke(i));
        }
        data.extend(vectors.iter().map(|vector| ring(frame.at(vector[0], vector[1]))));
        Ok(frame.picture(&self.title, &self.description(placed.len()), &data))
    }

    /// The class of every row, 0 or 1 as the machines count, or why nothing can be drawn.
    fn check(&self) -> Result<Vec<usize>, String> {
        if self.rows.dim() > 2 || (self.rows.dim() < 2 && !self.rows.points.is_sparse()) {
            return Err(format!("a boundary can be drawn in the plane of two features, but the rows have {}", self.rows.dim()));
        }
        for (name, machine) in &self.machines {
            if machine.dim() != 2 {
                return Err(format!("a boundary can be drawn for machines of two features, but {name} has {}", machine.dim()));
            }
            let labels = machine.decision.labels();
            if labels.len() != 2 {
                return Err(format!("a boundary can be drawn between two classes, but {name} has {} classes", labels.len()));
            }
        }
        let rows = self.rows.classes().map_err(|error| error.to_string())?;
        let labels = self.labels()?;
        let places = rows.places_in(&labels);
        if let Some(unknown) = places.iter().position(Option::is_none) {
            return Err(format!("rows are of class {}, which the machines do not know", rows.labels[unknown]));
        }
        Ok(rows.codes.iter().map(|&code| places.get(code as usize).copied().flatten().unwrap_or(0)).collect())
    }

    /// The two classes: those of the first machine, or of the rows where there is none.
    fn labels(&self) -> Result<Vec<kernelet::data::Label>, String> {
        let of_rows = || self.rows.classes().map(|classes| classes.labels.clone()).map_err(|error| error.to_string());
        let labels = self.machines.first().map_or_else(of_rows, |(_, machine)| Ok(machine.decision.labels()))?;
        if labels.len() > 2 {
            return Err(format!("a boundary can be drawn between two classes, but the rows have {}", labels.len()));
        }
        Ok(labels)
    }

    fn legend(&self, vectors: &[[f64; 2]]) -> Legend {
        let mut legend = Legend::default();
        for (class, label) in self.labels().unwrap_or_default().iter().enumerate() {
            let mut data = String::new();
            mark(&mut data, class, (17.0, 0.0), 3.0);
            legend.add(&format!("class {label}"), mark_path(&data, class, 3.0));
        }
        for (i, (name, _)) in self.machines.iter().enumerate() {
            legend.add(name, line((0.0, 0.0), (34.0, 0.0), INK, &stroke(i)));
        }
        let Some((_, machine)) = self.machines.last().filter(|_| !vectors.is_empty()) else { return legend };
        let outside = machine.n_vectors() - vectors.len();
        let aside = if outside == 0 { String::new() } else { format!(", {outside} more outside") };
        // It stands right below the name of that machine.
        legend.add(&format!("its vectors{aside}"), ring((17.0, 0.0)));
        legend
    }

    /// A text alternative of the picture.
    fn description(&self, rows: usize) -> String {
        let counts = self.machines.iter().map(|(name, machine)| format!(" {name} has {} vectors.", machine.n_vectors()));
        let drawn =
            if rows > ROWS { format!("{rows} rows, of which one in {} is drawn", rows.div_ceil(ROWS)) } else { format!("{rows} rows") };
        format!("Boundaries between two classes over {drawn}.{}", counts.collect::<String>())
    }
}

/// Rows as pairs of numbers; sparse rows may lack features, which are zero.
fn plane(points: &Points) -> Vec<[f64; 2]> {
    let mut values = vec![0.0; 2 * points.len()];
    points.copy_rows(0..points.len(), 2, &mut values);
    values.as_chunks().0.to_vec()
}

/// The vectors of a small machine that lie in the picture, as rows are before scaling; none behind a linear map, which has no inverse.
fn circled(machine: &Machine, x: &Span, y: &Span) -> Vec<[f64; 2]> {
    if machine.n_vectors() > VECTORS || machine.map().is_some() {
        return vec![];
    }
    let unscaled = |mut vector: [f64; 2]| {
        if let Some(scale) = &machine.scale {
            for (j, value) in vector.iter_mut().enumerate() {
                let shift = scale.shift.as_ref().and_then(|shift| shift.get(j)).copied().unwrap_or(0.0);
                *value = *value / scale.factor.get(j).copied().unwrap_or(1.0) + shift;
            }
        }
        vector
    };
    let inside = |span: &Span, value: f64| (span.ends().0..=span.ends().1).contains(&value);
    plane(&machine.expansion.vectors).into_iter().map(unscaled).filter(|v| inside(x, v[0]) && inside(y, v[1])).collect()
}

/// The lines where a machine is undecided, as values of the features.
fn zeros(name: &str, machine: &Machine, x: &Span, y: &Span) -> Result<Vec<Vec<(f64, f64)>>, String> {
    let last = (PLACES - 1) as f64;
    let places = Matrix::from_fn(PLACES * PLACES, 2, |k, column| match column {
        0 => x.value((k % PLACES) as f64 / last),
        _ => y.value((k / PLACES) as f64 / last),
    });
    let outputs = machine.outputs_for(&places.into()).map_err(|error| format!("{name}: {error}"))?;
    let values: Vec<f64> = outputs.iter().map(|outputs| second_class(&machine.decision, outputs)).collect();
    let lines = Grid { columns: PLACES, rows: PLACES, values: &values }.zeros();
    Ok(lines.into_iter().map(|line| line.into_iter().map(|(i, j)| (x.value(i / last), y.value(j / last))).collect()).collect())
}

/// A number that is above zero where the second of two classes wins.
fn second_class(decision: &Decision, outputs: &[f64]) -> f64 {
    let output = |k: usize| outputs.get(k).copied().unwrap_or(0.0);
    match decision {
        Decision::Votes { .. } => -output(0),
        Decision::Largest { .. } => output(1) - output(0),
        Decision::Codes { words, .. } => {
            let loss = |class: usize| {
                let word = words.get(class).map_or(&[][..], Vec::as_slice);
                word.iter().zip(outputs).map(|(&sign, f)| (1.0 - f64::from(sign) * f).max(0.0)).sum::<f64>()
            };
            loss(0) - loss(1)
        }
        _ => output(0),
    }
}

/// The rows of one class as one path: dots for the first class, crosses for the second; smaller where they are many.
fn marks(rows: &[([f64; 2], usize)], class: usize, frame: &Frame) -> String {
    let every = rows.len().div_ceil(ROWS).max(1);
    let size = if rows.len() > 1000 { 1.7 } else { 2.4 };
    let mut data = String::new();
    for (row, _) in rows.iter().step_by(every).filter(|(_, of)| *of == class) {
        mark(&mut data, class, frame.at(row[0], row[1]), size);
    }
    mark_path(&data, class, size)
}

fn mark(data: &mut String, class: usize, (x, y): (f64, f64), size: f64) {
    let wide = 2.0 * size;
    // Writing to a string does not fail.
    let _ = match class {
        0 => write!(data, "M{} {}h0", number(x), number(y)),
        _ => write!(data, "M{} {}l{wide} {wide}m0 -{wide}l-{wide} {wide}", number(x - size), number(y - size)),
    };
}

fn mark_path(data: &str, class: usize, size: f64) -> String {
    let width = if class == 0 { number(2.0 * size) } else { "1.2".into() };
    path(data, COLOURS[class.min(1)], &format!("stroke-width=\"{width}\" stroke-linecap=\"round\" stroke-opacity=\"0.75\""))
}

fn ring((x, y): (f64, f64)) -> String {
    format!("<circle cx=\"{}\" cy=\"{}\" r=\"6\" fill=\"none\" stroke=\"{INK}\" stroke-width=\"1.5\"/>\n", number(x), number(y))
}

fn stroke(i: usize) -> String {
    "stroke-width=\"2\" stroke-linejoin=\"round\"".to_string() + &dashed(dash(i))
}

#[cfg(test)]
mod tests {
    use kernelet::{
        data::{Classes, Csr, Label, Scale, Target},
        kernel::Kernel,
        machine::{Coefficients, Expansion, Metadata},
    };

    use super::{super::svg::well_formed, *};

    fn labels() -> Vec<Label> {
        vec![Label::new("-1"), Label::new("1")]
    }

    /// exp(-|x|^2) - exp(-4): above zero within a circle of radius 2, before scaling.
    fn machine() -> Machine {
        let expansion = Expansion {
            kernel: Kernel::gaussian(1.0),
            vectors: Matrix::new(vec![0.0, 0.0], 1, 2).unwrap().into(),
            coefficients: Coefficients::Dense(Matrix::column(vec![1.0])),
        };
        let decision = Decision::Sign { negative: Label::new("-1"), positive: Label::new("1") };
        Machine {
            expansion,
            offsets: vec![-(-4f64).exp()],
            decision,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        }
    }

    fn rows() -> Dataset {
        let points = Matrix::from_fn(60, 2, |i, j| 4.0 * if j == 0 { (i as f64).sin() } else { (1.7 * i as f64).cos() });
        let classes: Vec<&str> = (0..60).map(|i| if points.row(i)[0].hypot(points.row(i)[1]) < 2.0 { "1" } else { "-1" }).collect();
        Dataset::new(points, Target::Classes(Classes::from_texts(&classes)))
    }

    #[test]
    fn a_boundary_lies_where_the_machine_is_undecided_whatever_its_scaling_and_rule() {
        let (x, y) = (Span::exactly(-5.0, 5.0), Span::exactly(-4.0, 4.0));
        let plain = machine();
        let on = |machine: &Machine, centre: f64, radius: f64| {
            let lines = zeros("m", machine, &x, &y).unwrap();
            assert_eq!(lines.len(), 1);
            assert!(lines[0].iter().all(|(x, y)| ((x - centre).hypot(*y) - radius).abs() < 0.01), "{:?}", lines[0]);
        };
        on(&plain, 0.0, 2.0);
        // Rows are shifted by 1 along x and doubled before the kernel sees them.
        let scaled = Machine { scale: Some(Scale::new(Some(vec![1.0, 0.0]), vec![2.0; 2])), ..plain.clone() };
        on(&scaled, 1.0, 1.0);
        assert_eq!(circled(&scaled, &x, &y), [[1.0, 0.0]]);
        let map = Matrix::from_fn(2, 2, |k, j| if k == j { -1.0 } else { 0.0 });
        let mapped = Machine { scale: scaled.scale.clone().map(|scale| Scale { map: Some(map), ..scale }), ..plain.clone() };
        on(&mapped, 1.0, 1.0);
        assert!(circled(&mapped, &x, &y).is_empty());
        on(&Machine { decision: Decision::Votes { labels: labels() }, ..plain.clone() }, 0.0, 2.0);
        let mut two = Machine { decision: Decision::Largest { labels: labels() }, offsets: vec![(-4f64).exp(), 0.0], ..plain };
        two.expansion.coefficients = Coefficients::Dense(Matrix::new(vec![0.0, 1.0], 1, 2).unwrap());
        on(&two, 0.0, 2.0);
    }

    #[test]
    fn the_number_for_a_rule_is_above_zero_where_the_second_class_wins() {
        let codes = Decision::Codes { labels: labels(), words: vec![vec![1, -1, 1], vec![-1, -1, -1]] };
        let rules =
            [Decision::Votes { labels: labels() }, Decision::Largest { labels: labels() }, codes, machine().decision, Decision::Novelty];
        for rule in rules {
            for i in 0..40 {
                let outputs: Vec<f64> = (0..rule.n_outputs().unwrap()).map(|k| ((3 * i + k + 1) as f64).sin()).collect();
                assert_eq!(second_class(&rule, &outputs) > 0.0, rule.class(&outputs) == 1, "{rule:?} {outputs:?}");
            }
        }
    }

    #[test]
    fn a_picture_has_lines_marks_rings_and_the_same_bytes_each_time() {
        let (full, small, rows) = (machine(), machine(), rows());
        let machines = vec![("full".to_string(), &full), ("small <1>".to_string(), &small)];
        let boundary = Boundary { title: "Circle".into(), machines, rows: &rows };
        let svg = boundary.svg().unwrap();
        assert!(well_formed(&svg), "{svg}");
        assert!(
            svg.contains(">small &lt;1&gt;</text>")
                && svg.contains(">its vectors</text>")
                && svg.contains(">class -1</text>")
                && svg.contains(">feature 2</text>")
        );
        // One vector and its sample; a dashed line and its sample; a dot or a cross for every row, and samples of both.
        assert_eq!((svg.matches("<circle").count(), svg.matches("stroke-dasharray").count()), (2, 2));
        assert_eq!(svg.matches("h0").count() + svg.matches("m0 -").count(), 62);
        assert_eq!(svg, boundary.svg().unwrap());
        let sparse = Dataset { points: Csr::from_dense(&rows.points.to_dense()).into(), ..rows.clone() };
        assert_eq!(svg, Boundary { rows: &sparse, ..boundary }.svg().unwrap());
    }

    #[test]
    fn no_rows_no_machines_and_bad_numbers_do_no_harm() {
        let (machine, rows) = (machine(), rows());
        let draw = |machines: Vec<(String, &Machine)>, rows: &Dataset| Boundary { title: "t".into(), machines, rows }.svg();
        assert!(draw(vec![("m".into(), &machine)], &rows.select(&[])).unwrap().contains("nothing to draw"));
        assert!(well_formed(&draw(vec![], &rows).unwrap()));
        assert!(well_formed(&draw(vec![("m".into(), &machine)], &rows.select(&[3])).unwrap()));
        let mut points = rows.points.to_dense();
        points.row_mut(0)[1] = f64::NAN;
        let svg = draw(vec![("m".into(), &machine)], &Dataset { points: points.into(), ..rows.clone() }).unwrap();
        assert!(well_formed(&svg) && svg.contains("over 59 rows"));
    }

    #[test]
    fn what_cannot_be_drawn_is_rejected_with_an_error() {
        let (machine, rows) = (machine(), rows());
        let refused = |machine: &Machine, rows: &Dataset| {
            Boundary { title: "t".into(), machines: vec![("m".into(), machine)], rows }.svg().unwrap_err()
        };
        let wide = Dataset { points: Matrix::<f64>::zeros(60, 3).into(), ..rows.clone() };
        assert_eq!(refused(&machine, &wide), "a boundary can be drawn in the plane of two features, but the rows have 3");
        let mut other = machine.clone();
        other.expansion.vectors = Matrix::<f64>::zeros(1, 5).into();
        assert_eq!(refused(&other, &rows), "a boundary can be drawn for machines of two features, but m has 5");
        let values = Machine { decision: Decision::Values, ..machine.clone() };
        assert_eq!(refused(&values, &rows), "a boundary can be drawn between two classes, but m has 0 classes");
        let strange = Dataset { target: Target::Classes(Classes::from_texts(&["7"; 60])), ..rows.clone() };
        assert_eq!(refused(&machine, &strange), "rows are of class 7, which the machines do not know");
        assert!(refused(&machine, &Dataset { target: Target::None, ..rows }).starts_with("this needs a class label for every row"));
    }
}
