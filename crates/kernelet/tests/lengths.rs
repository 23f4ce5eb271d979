//! Rows and targets of different lengths are an error wherever a data set enters, never a panic.
#![allow(clippy::unwrap_used)]
use kernelet::{
    Error,
    basis::{BasisBudget, BasisMethod, FisherPursuit, GreedyBasis},
    compress::{Auto, Budget, Distil, Effort, Goals, Refit, Sparsifier, Task, refit, select::Pursuit},
    data::{Classes, Dataset, Target, banana, sinc},
    evaluate::{Tuning, bounds::fisher_bound, cross_validate, score, score_probabilities},
    kernel::Kernel,
    learn::{
        Calibrated, Components, Fisher, FrameLearner, Huber, Learner, Logistic, NadarayaWatson, NuSvc, NuSvr, OneClass, Parzen, Pca, Ridge,
        Rvm, Shape, Svc, Svr, calibration,
    },
    linalg::Matrix,
    machine::Machine,
    watch::Watch,
};

/// Too few targets, too many, too few weights, too many.
fn wrong(data: &Dataset) -> Vec<Dataset> {
    let n = data.len();
    let rows = |count: usize| data.target.select(&(0..count).map(|i| i % n).collect::<Vec<_>>());
    let targets = [0, n - 1, n + 1, 3 * n].map(|count| Dataset { target: rows(count), ..data.clone() });
    let weights = [0, n - 1, n + 1].map(|count| Dataset { weights: Some(vec![1.0; count]), ..data.clone() });
    targets.into_iter().chain(weights).collect()
}

fn refused<T>(who: &str, answer: Result<T, Error>) {
    assert!(matches!(answer, Err(Error::Shape { what: "targets" | "weights", .. })), "{who}: {:?}", answer.err());
}

fn svc(data: &Dataset) -> Machine {
    Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine
}

#[test]
fn learners_refuse_them() {
    let (kernel, none) = (Kernel::gaussian(1.0), Watch::none());
    let calibrated = Calibrated { shape: Shape::Sigmoid, folds: 3, seed: 0, learner: Box::new(Svc::default()) };
    let of_classes: Vec<Box<dyn Learner>> = vec![
        Box::new(Svc::default()),
        Box::new(NuSvc::default()),
        Box::new(Fisher::default()),
        Box::new(Logistic::default()),
        Box::new(Parzen { kernel: kernel.clone(), ..Parzen::default() }),
        Box::new(Rvm::default()),
        Box::new(OneClass::default()),
        Box::new(Pca::default()),
        Box::new(calibrated),
    ];
    let of_numbers: Vec<Box<dyn Learner>> = vec![
        Box::new(Svr::default()),
        Box::new(NuSvr::default()),
        Box::new(Ridge::default()),
        Box::new(Huber::default()),
        Box::new(NadarayaWatson { kernel: kernel.clone() }),
    ];
    for (learners, data) in [(of_classes, banana(40, 1)), (of_numbers, sinc(40, 0.1, 1).unwrap())] {
        for bad in wrong(&data) {
            for learner in &learners {
                refused(learner.name(), learner.learn(&bad, &none));
            }
            refused("cross_validate", cross_validate(|rows, watch| Ok(learners[0].learn(rows, watch)?.machine), &bad, 3, 0, &none));
            let tuning = Tuning { costs: vec![1.0], gammas: vec![1.0], folds: 3, seed: 0 };
            refused("tuning", tuning.run(&bad, |_, _, rows, watch| Ok(Ridge::default().learn(rows, watch)?.machine), &none));
        }
    }
}

#[test]
fn learners_in_a_frame_and_bases_refuse_them() {
    let (kernel, none) = (Kernel::gaussian(1.0), Watch::none());
    let (classes, numbers) = (banana(40, 1), sinc(40, 0.1, 1).unwrap());
    let basis = |data: &Dataset| GreedyBasis::default().choose(&kernel, &data.points, &BasisBudget::vectors(5), &none).unwrap();
    let of_classes: [&dyn FrameLearner; 5] = [
        &Svc::default(),
        &NuSvc::default(),
        &Fisher::default(),
        &Logistic::default(),
        &Pca { components: Components::Count(2), ..Pca::default() },
    ];
    let of_numbers: [&dyn FrameLearner; 4] = [&Svr::default(), &NuSvr::default(), &Ridge::default(), &Huber::default()];
    for bad in wrong(&classes) {
        for learner in of_classes {
            refused("a learner in a frame", learner.learn_in_frame(&bad, &basis(&classes), &none));
        }
        refused("fisher-pursuit", FisherPursuit::default().choose_for(&kernel, &bad, &BasisBudget::vectors(5), &none));
    }
    for bad in wrong(&numbers) {
        for learner in of_numbers {
            refused("a learner in a frame", learner.learn_in_frame(&bad, &basis(&numbers), &none));
        }
    }
}

#[test]
fn measures_refuse_them() {
    let data = banana(40, 1);
    let machine = svc(&data);
    let (outputs, prediction) = (machine.outputs_for(&data.points).unwrap(), machine.predict(&data.points).unwrap());
    let labels = machine.decision.labels();
    let half = Matrix::from_fn(40, 2, |_, _| 0.5);
    for bad in wrong(&data) {
        refused("score", score(&prediction, &bad));
        refused("Machine::score", machine.score(&bad));
        refused("score_probabilities", score_probabilities(&half, &labels, &bad));
        refused("fisher_bound", fisher_bound(&machine, &bad, 0.05));
        refused("calibration", calibration(&machine.decision, &outputs, &bad, Shape::Sigmoid));
    }
    let few = data.select(&[0, 1, 2]);
    assert!(score(&prediction, &few).is_err() && calibration(&machine.decision, &outputs, &few, Shape::Isotonic).is_err());
    assert!(score_probabilities(&half, &labels[..1], &data).is_err() && score_probabilities(&half, &labels, &few).is_err());
    let foreign = Dataset { target: Target::Classes(Classes { labels: vec![], codes: vec![0; 40] }), ..data };
    assert!(machine.score(&foreign).is_err());
}

#[test]
fn compression_refuses_them() {
    let (data, none) = (banana(60, 1), Watch::none());
    let machine = svc(&data);
    let small = Pursuit::default().sparsify(&Task::of(&machine), &Budget::vectors(5), &none).unwrap().last().unwrap();
    let auto = Auto { effort: Effort::Quick, ..Auto::default() };
    for bad in wrong(&data) {
        let task = Task { data: Some(&bad), ..Task::of(&machine) };
        for goals in [Goals { max_vectors: Some(5), ..Goals::default() }, Goals { max_loss: Some(0.1), ..Goals::default() }] {
            refused("auto", auto.run(task, &goals, &none));
        }
        refused("pursuit", Pursuit::default().sparsify(&task, &Budget::vectors(5), &none));
        refused("distillation", Distil::default().learn(&task, &none));
        refused("refit", refit(&small, Refit::Margin, &task, None, &none));
    }
}
