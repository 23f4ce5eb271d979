use kernelet::{
    data::{Classes, Csr, Generator, Label, digits_split},
    kernel::Kernel,
    learn::{Learner, Ridge, Svc},
    machine::{Coefficients, Expansion, Metadata, PathMetadata, SizeMetrics},
    watch::Watch,
};

use super::*;
use crate::{
    arguments::Everywhere,
    commands::report::make_curves,
    report::{
        curves::{Choice, Material, sizes},
        page::{page, summary},
    },
};

const LIMIT: usize = 1_000_000;

fn session() -> Session {
    Session::begin(&Everywhere { json: false, seed: 0, threads: None, quiet: true, verbose: false })
}

fn request<'a>(machine: &'a Machine, data: Option<&'a Dataset>, test: Option<&'a Dataset>) -> Request<'a> {
    let provenance = Provenance::default();
    Request { title: "a test".into(), machine, data, test, vectors: None, images: None, notes: vec![], provenance }
}

fn curves_of(names: &[&str], machine: &Machine, data: Option<&Dataset>, largest: usize) -> Vec<Curve> {
    let material = Material { machine, data, sizes: sizes(largest, None) };
    let choices = names.iter().map(|name| Choice::named(name).unwrap()).collect();
    make_curves(Some(choices), &material, &session()).unwrap().0
}

fn svc(data: &Dataset, gamma: f64) -> Machine {
    Svc { kernel: Kernel::gaussian(gamma), c: 10.0, ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine
}

#[test]
fn figures_are_those_of_the_machines() {
    let (data, test) = (Generator::Banana.make(150, 1), Generator::Banana.make(200, 2));
    let machine = svc(&data, 1.0);
    let curves = curves_of(&["pursuit", "margin"], &machine, Some(&data), 8);
    let figures = gather(request(&machine, Some(&data), Some(&test)), &curves, &session()).unwrap();
    assert_eq!((figures.task, figures.measured_on, figures.rows), ("classes", Some("test"), 200));
    assert_eq!(figures.full.level.error.unwrap(), machine.score(&test).unwrap().loss());
    for (curve, method) in curves.iter().zip(&figures.methods) {
        for (step, level) in curve.steps.iter().zip(&method.levels) {
            assert_eq!(level.vectors, step.machine.n_vectors());
            assert_eq!(level.error, Some(step.machine.score(&test).unwrap().loss()));
            assert_eq!(level.data_error, Some(step.machine.score(&data).unwrap().loss()));
            assert_eq!(level.agreement, Some((200 - level.differ) as f64 / 200.0));
            for (value, band) in [(level.error, level.error_band), (level.agreement, level.agreement_band)] {
                let ([low, high], value) = (band.unwrap(), value.unwrap());
                assert!(low <= value && value <= high && high - low < 0.15);
            }
            assert_eq!(level.confusion.iter().map(|[.., rows]| rows).sum::<usize>(), 200);
            let wrong: usize = level.confusion.iter().filter(|[truth, predicted, _]| truth != predicted).map(|[.., rows]| rows).sum();
            assert_eq!(wrong as f64 / 200.0, level.error.unwrap());
            assert!(level.bytes.unwrap() > 0 && level.row_us.unwrap() > 0.0 && level.plane.is_some());
        }
    }
    let [pursuit, margin] = &figures.methods[..] else { panic!() };
    assert!(pursuit.levels.iter().all(|level| level.residual.is_some()) && margin.levels.iter().all(|level| level.residual.is_none()));
    assert_eq!(pursuit.levels.iter().map(|level| level.vectors).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 8]);
    assert_eq!(figures.plane.as_ref().unwrap().points.len(), 200);
    assert!(page(&figures).unwrap().len() < LIMIT);
}

#[test]
fn digits_have_pictures_and_a_page_of_less_than_a_megabyte() {
    let (train, test) = digits_split();
    let machine = svc(&train, 4e-4);
    let curves = curves_of(&["pursuit"], &machine, Some(&train), 100);
    let request = Request { images: Some((8, 8)), ..request(&machine, Some(&train), Some(&test)) };
    let figures = gather(request, &curves, &session()).unwrap();
    let images = figures.images.as_ref().unwrap();
    let pictures = images.dots.len() * 3 / 4 / 32;
    for level in &figures.methods[0].levels {
        assert_eq!(level.drawn.len(), level.vectors.min(40));
        assert!(level.drawn.iter().all(|drawn| drawn.picture < pictures && drawn.output.starts_with("for ")));
        assert!(level.differing.iter().all(|[place, _]| figures.differing[*place].picture.is_some()));
    }
    assert!(page(&figures).unwrap().len() < LIMIT / 2);
}

#[test]
fn numbers_are_scattered_and_drawn_along_one_feature() {
    let data = Generator::Sinc.make(120, 3);
    let machine = Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.1 }.learn(&data, &Watch::none()).unwrap().machine;
    let curves = curves_of(&["pursuit", "ridge"], &machine, Some(&data), 8);
    let figures = gather(request(&machine, Some(&data), None), &curves, &session()).unwrap();
    assert_eq!((figures.task, figures.measured_on), ("values", Some("data")));
    assert!(figures.values.as_ref().unwrap().feature.is_some());
    for level in figures.methods.iter().flat_map(|method| &method.levels) {
        assert!(level.predicted.is_some() && level.plane.is_some() && level.agreement.is_none() && level.difference.is_some());
    }
    assert!(figures.methods.iter().flat_map(|method| &method.levels).all(|level| level.error_band.is_none()), "rows of training have none");
    let page = page(&figures).unwrap();
    assert!(page.contains("squared error") && page.len() < LIMIT);
}

#[test]
fn without_rows_the_residual_is_shown() {
    let machine = svc(&Generator::Banana.make(100, 1), 1.0);
    let figures = gather(request(&machine, None, None), &curves_of(&["pursuit"], &machine, None, 1), &session()).unwrap();
    let level = &figures.methods[0].levels[0];
    assert_eq!((figures.methods[0].levels.len(), level.vectors, level.error, level.agreement), (1, 1, None, None));
    assert!(level.residual.unwrap() > 0.0 && summary(&figures).contains("relative residual"));
}

#[test]
fn errors_that_are_no_numbers_are_left_open() {
    let machine = svc(&Generator::Banana.make(100, 1), 1.0);
    let mut figures = gather(request(&machine, None, None), &curves_of(&["pursuit"], &machine, None, 4), &session()).unwrap();
    for level in &mut figures.methods[0].levels {
        (level.error, level.residual) = (Some(f64::NAN), Some(f64::INFINITY));
    }
    let page = page(&figures).unwrap();
    assert!(page.contains("<td>–</td>") && page.contains("\"error\":null") && page.contains("vectors by pursuit: "));
}

#[test]
fn ten_thousand_features_and_two_hundred_classes_are_a_readable_page() {
    let (rows, dim, count) = (600, 10_000, 200);
    let columns: Vec<u32> = (0..rows * 5).map(|i| ((i % 5) * 2000 + (i * 7919) % 2000) as u32).collect();
    let points = Csr::new((0..=rows).map(|i| i * 5).collect(), columns, vec![1.0; rows * 5], dim).unwrap();
    let names: Vec<String> = (0..rows).map(|i| format!("<b>class {}</b>", i % count)).collect();
    let data = Dataset::new(points, Target::Classes(Classes::from_texts(&names)));
    let labels: Vec<Label> = (0..count).map(|i| Label::new(format!("<b>class {i}</b>"))).collect();
    let vectors = data.points.select(&(0..count).collect::<Vec<_>>());
    let coefficients = Coefficients::Dense(Matrix::from_fn(count, count, |i, j| if i == j { 1.0 } else { 0.001 }));
    let machine = Machine {
        expansion: Expansion { kernel: Kernel::gaussian(0.1), vectors, coefficients },
        offsets: vec![0.0; count],
        decision: Decision::Largest { labels },
        scale: None,
        names: None,
        calibration: None,
        metadata: Metadata::default(),
    };
    let curves = curves_of(&["pursuit"], &machine, Some(&data), 128);
    let figures = gather(request(&machine, Some(&data), None), &curves, &session()).unwrap();
    let page = page(&figures).unwrap();
    assert!(page.len() < LIMIT, "{}", page.len());
    assert!(!page.contains("<b>class") && figures.plane.is_none() && figures.images.is_none());
    assert!(figures.methods[0].levels.iter().all(|level| level.confusion.len() <= 40 && level.differing.len() <= 24));
}

#[test]
fn a_model_that_keeps_its_path_shows_it_without_data() {
    let mut machine = svc(&Generator::Banana.make(100, 1), 1.0);
    assert!(gather_recorded(request(&machine, None, None)).unwrap().is_none());
    let size = |vectors, residual| SizeMetrics {
        n_vectors: vectors,
        relative_residual: Some(residual),
        train_error: Some(0.1),
        test_error: Some(0.2),
        ..SizeMetrics::default()
    };
    let levels = vec![size(1, 0.9), size(machine.n_vectors(), 0.1)];
    machine.metadata.path = Some(PathMetadata { method: "pursuit".into(), vectors_before: 500, levels });
    let figures = gather_recorded(request(&machine, None, None)).unwrap().unwrap();
    assert_eq!((figures.full.level.vectors, figures.chosen.level), (500, 1));
    let own = &figures.methods[0].levels[1];
    assert_eq!((own.error, own.data_error, own.residual, own.bytes.is_some()), (Some(0.2), Some(0.1), Some(0.1), true));
    assert!(figures.methods[0].levels[0].bytes.is_none() && page(&figures).unwrap().contains("of 500 vectors"));
}
