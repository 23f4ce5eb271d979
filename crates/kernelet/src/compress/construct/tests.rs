//! What all of construction must keep.
use super::{
    residual::{Eyes, Residual},
    target::{Target, radial},
    *,
};
use crate::{
    basis::field::add_gradient,
    compress::{
        Budget, Path, Sparsifier, Task,
        select::{Outputs, Pursuit},
        toy,
    },
    data::{Csr, Points, banana},
    kernel::Kernel,
    learn::{Components, Learner, Pca, Svc},
    linalg::{Matrix, dot},
    machine::{Coefficients, Decision, Expansion, Machine, inner_products, residual, squared_norm},
    watch::Watch,
};

fn smooth() -> Vec<Kernel> {
    Kernel::examples().into_iter().filter(|k| k.profile().definite() && k.profile().smooth() && k.name() != "linear").collect()
}

fn run(method: &dyn Sparsifier, machine: &Machine, vectors: usize) -> Path {
    method.sparsify(&Task::of(machine), &Budget::vectors(vectors), &Watch::none()).unwrap()
}

fn refined(small: &Machine, how: &Refinement, machine: &Machine) -> Refined {
    refine(small, how, &Task::of(machine), &Watch::none()).unwrap()
}

fn trained() -> Machine {
    Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(&banana(200, 3), &Watch::none()).unwrap().machine
}

#[test]
fn eq_12_the_gradient_is_the_step_of_the_fixed_point_and_its_sign_is_that_of_the_denominator() {
    for kernel in smooth().into_iter().filter(radial) {
        for outputs in [1, 3] {
            let machine = toy::machine(kernel.clone(), 25, outputs);
            let target = Target::of(&Task::of(&machine), "test").unwrap();
            let mut left = Residual::new(&target);
            left.add(&[0.3, -0.2, 0.1]).unwrap();
            let z = Matrix::from_fn(4, 3, |i, j| ((3 * i + j) as f64 * 1.9).sin());
            let look = left.look(&z, &mut Eyes::default());
            for u in 0..4 {
                let total = look.sums.totals[u];
                let square = |z: &[f64]| {
                    let p = left.look(&Matrix::new(z.to_vec(), 1, 3).unwrap(), &mut Eyes::default()).p;
                    dot(p.values(), p.values())
                };
                if let Kernel::Gaussian(gaussian) = &kernel {
                    let want = -gaussian.gamma * square(z.row(u));
                    assert!((total - want).abs() < 1e-12 * want.abs(), "{total} {want}");
                }
                for j in 0..3 {
                    let (mut up, mut down) = (z.row(u).to_vec(), z.row(u).to_vec());
                    up[j] += 1e-5;
                    down[j] -= 1e-5;
                    let slope = (square(&up) - square(&down)) / 2e-5;
                    let step = look.sums.points.at(u, j) / total - z.at(u, j);
                    let size = 1.0 + square(z.row(u));
                    assert!((-4.0 * total * step - slope).abs() < 1e-7 * size, "{}: {} {slope}", kernel.name(), -4.0 * total * step);
                }
            }
        }
    }
}

#[test]
fn eq_19_the_simultaneous_step_is_the_single_one_where_outputs_repeat() {
    // Two outputs, the second twice the first: |p|^2 is five times as large everywhere, so the same vectors are found.
    let single = toy::machine(Kernel::gaussian(0.5), 25, 1);
    let mut double = toy::machine(Kernel::gaussian(0.5), 25, 2);
    let values = single.expansion.coefficients.to_dense();
    double.expansion.coefficients = Coefficients::Dense(Matrix::from_fn(25, 2, |i, k| values.at(i, 0) * (k + 1) as f64));
    let (one, two) = (run(&FixedPoint::default(), &single, 5), run(&FixedPoint::default(), &double, 5));
    let (a, b) = (one.last().unwrap().expansion, two.last().unwrap().expansion);
    let (a_vectors, b_vectors) = (a.vectors.to_dense(), b.vectors.to_dense());
    assert!(a_vectors.values().iter().zip(b_vectors.values()).all(|(x, y)| (x - y).abs() < 1e-6));
    let (a, b) = (a.coefficients.to_dense(), b.coefficients.to_dense());
    assert!((0..5).all(|j| (b.at(j, 0) - a.at(j, 0)).abs() < 1e-5 && (b.at(j, 1) - 2.0 * a.at(j, 0)).abs() < 1e-5), "{a:?} {b:?}");
}

#[test]
fn eq_19_one_step_for_several_outputs_is_the_weighted_mean_written_out() {
    let machine = toy::machine(Kernel::gaussian(0.5), 25, 3);
    let target = Target::of(&Task::of(&machine), "test").unwrap();
    let z = [0.4, -0.3, 0.8];
    let look = Residual::new(&target).look(&Matrix::new(z.to_vec(), 1, 3).unwrap(), &mut Eyes::default());
    let (x, a) = (target.field.points(), &target.coefficients);
    let k: Vec<f64> = x.iter().map(|x| target.kernel.eval(x, &z)).collect();
    let p: Vec<f64> = (0..3).map(|o| (0..25).map(|i| a.at(i, o) * k[i]).sum()).collect();
    let weight = |i: usize| k[i] * (0..3).map(|o| a.at(i, o) * p[o]).sum::<f64>();
    for j in 0..3 {
        let mean = (0..25).map(|i| weight(i) * x.at(i, j)).sum::<f64>() / (0..25).map(weight).sum::<f64>();
        assert!((look.sums.points.at(0, j) / look.sums.totals[0] - mean).abs() < 1e-11, "{mean}");
    }
}

#[test]
fn eq_13_14_the_step_is_that_of_the_means_of_positive_and_negative_coefficients() {
    let machine = toy::machine(Kernel::gaussian(0.5), 25, 1);
    let target = Target::of(&Task::of(&machine), "test").unwrap();
    let z = [0.4, -0.3, 0.8];
    let look = Residual::new(&target).look(&Matrix::new(z.to_vec(), 1, 3).unwrap(), &mut Eyes::default());
    let (x, a) = (target.field.points(), &target.coefficients);
    let part = |sign: f64, of: &dyn Fn(usize) -> f64| -> f64 {
        (0..25).filter(|&i| sign * a.at(i, 0) > 0.0).map(|i| a.at(i, 0).abs() * target.kernel.eval(x.row(i), &z) * of(i)).sum()
    };
    let (positive, negative) = (part(1.0, &|_| 1.0), part(-1.0, &|_| 1.0));
    assert!(positive > 0.0 && negative > 0.0);
    for j in 0..3 {
        let mean = |sign: f64, total: f64| part(sign, &|i| x.at(i, j)) / total;
        let want = positive / (positive - negative) * mean(1.0, positive) + negative / (negative - positive) * mean(-1.0, negative);
        let have = look.sums.points.at(0, j) / look.sums.totals[0];
        assert!((have - want).abs() < 1e-9 * (1.0 + want.abs()), "{j}: {have} {want}");
    }
}

#[test]
fn eq_18_the_gain_of_a_vector_is_what_it_takes_off_the_projection_distances_of_all_outputs() {
    let machine = toy::machine(Kernel::gaussian(0.5), 25, 3);
    let target = Target::of(&Task::of(&machine), "test").unwrap();
    let z = Matrix::new(vec![0.4, -0.3, 0.8], 1, 3).unwrap();
    let whole = Residual::new(&target);
    let gain = whole.gains(&z, &whole.look(&z, &mut Eyes::default()).p)[0];
    let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
    // The projection of every output on the one vector: k(z, z) is 1, so the coefficients are the inner products. The target's points are centred.
    let centred = Expansion { vectors: target.field.points().clone().into(), ..machine.expansion.clone() };
    let products = inner_products(&centred, &z.clone().into()).unwrap();
    let projected = Expansion { vectors: z.into(), coefficients: Coefficients::Dense(products), ..centred.clone() };
    let left = residual(&centred, &projected).unwrap();
    assert!(gain > 0.01 * start && (start - left - gain).abs() < 1e-11 * start, "{start} {left} {gain}");
}

#[test]
fn eq_16_residuals_are_the_distances_by_definition_and_fall_at_every_size() {
    for kernel in smooth() {
        let machine = toy::machine(kernel.clone(), 30, 2);
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        let methods: [(bool, &dyn Sparsifier); 2] = [(radial(&kernel), &FixedPoint::default()), (true, &Gradient::default())];
        for (_, method) in methods.into_iter().filter(|(works, _)| *works) {
            let path = run(method, &machine, 6);
            assert!(path.len() == 6 || !radial(&kernel), "{} {}", kernel.name(), path.len());
            let mut last = start;
            for (i, level) in path.levels().into_iter().enumerate() {
                let direct = residual(&machine.expansion, &path.machine(i).unwrap().expansion).unwrap();
                assert!((direct - level.residual).abs() < 1e-8 * start, "{} {direct} {level:?}", kernel.name());
                assert!(level.residual < last && level.n_vectors == i + 1);
                last = level.residual;
            }
        }
    }
}

#[test]
fn eq_8_new_vectors_explain_more_than_chosen_ones_and_are_stationary() {
    for kernel in smooth() {
        let machine = toy::machine(kernel.clone(), 30, 2);
        let chosen = run(&Pursuit::default(), &machine, 1).levels()[0].residual;
        let fixed = FixedPoint { tolerance: 1e-9, max_steps: 5000, ..FixedPoint::default() };
        let methods: [(bool, &dyn Sparsifier); 2] = [(radial(&kernel), &fixed), (true, &Gradient::default())];
        for (_, method) in methods.into_iter().filter(|(works, _)| *works) {
            let path = run(method, &machine, 1);
            assert!(path.levels()[0].residual <= chosen, "{} {}", kernel.name(), method.name());
            let target = Target::of(&Task::of(&machine), "test").unwrap();
            let z = target.inside(&path.last().unwrap().expansion.vectors);
            let (mut at_end, mut at_start) = (vec![0.0; 3], vec![0.0; 3]);
            let mut distance = distance::Distance::new(&target);
            distance.eliminated(z.values(), &mut at_end);
            distance.eliminated(target.field.points().row(0), &mut at_start);
            let (end, begin) = (dot(&at_end, &at_end).sqrt(), dot(&at_start, &at_start).sqrt());
            assert!(end < 1e-3 * begin, "{} {}: {end} {begin}", kernel.name(), method.name());
        }
    }
}

#[test]
fn refinement_never_ends_above_where_it_began_and_is_stationary() {
    for kernel in smooth() {
        for outputs in [1, 3] {
            let machine = toy::machine(kernel.clone(), 30, outputs);
            let small = run(&Pursuit::default(), &machine, 5).last().unwrap();
            let before = residual(&machine.expansion, &small.expansion).unwrap();
            for joint in [false, true] {
                let result = refined(&small, &Refinement { joint, max_steps: 400, ..Refinement::default() }, &machine).machine;
                let after = residual(&machine.expansion, &result.expansion).unwrap();
                assert!(after < before && result.check().is_ok(), "{} {outputs} {joint}: {before} {after}", kernel.name());
                let target = Target::of(&Task::of(&machine), "test").unwrap();
                let (mut at_end, mut at_start) = (vec![0.0; 15], vec![0.0; 15]);
                let mut distance = distance::Distance::new(&target);
                distance.eliminated(target.inside(&result.expansion.vectors).values(), &mut at_end);
                distance.eliminated(target.inside(&small.expansion.vectors).values(), &mut at_start);
                let (end, begin) = (dot(&at_end, &at_end).sqrt(), dot(&at_start, &at_start).sqrt());
                assert!(end < 0.1 * begin, "{} {outputs} {joint}: {end} {begin}", kernel.name());
            }
        }
    }
}

#[test]
fn refined_outputs_are_nearer_on_the_rows() {
    let (machine, data) = (trained(), banana(200, 3));
    let task = Task { data: Some(&data), ..Task::of(&machine) };
    let small = run(&Pursuit::default(), &machine, 6).last().unwrap();
    let want = machine.outputs_for(&data.points).unwrap();
    let error = |machine: &Machine| -> f64 {
        let have = machine.outputs_for(&data.points).unwrap();
        want.values().iter().zip(have.values()).map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let with = |objective| refine(&small, &Refinement { objective, ..Refinement::default() }, &task, &Watch::none()).unwrap().machine;
    let (outputs, weights, near) = (with(Objective::Outputs), with(Objective::Weights), with(Objective::Margins));
    assert!(error(&outputs) < error(&small) && error(&outputs) < error(&weights) && error(&outputs) <= error(&near));
    assert_ne!(outputs, near);
    let missing =
        refine(&small, &Refinement { objective: Objective::Outputs, ..Refinement::default() }, &Task::of(&machine), &Watch::none());
    assert!(missing.unwrap_err().to_string().contains("give the rows"));
}

#[test]
fn outputs_of_their_own_are_what_they_would_be_alone_and_pooling_is_never_worse() {
    let machine = toy::machine(Kernel::gaussian(0.5), 40, 3);
    let with = |outputs| run(&FixedPoint { outputs, ..FixedPoint::default() }, &machine, 4);
    let (separate, pooled) = (with(Outputs::Separate), with(Outputs::Pooled));
    for (i, level) in separate.levels().into_iter().enumerate() {
        let small = separate.machine(i).unwrap();
        let direct = residual(&machine.expansion, &small.expansion).unwrap();
        assert!((direct - level.residual).abs() < 1e-8 * direct && level.n_vectors == 3 * (i + 1));
        assert!(pooled.levels()[3 * i + 2].residual <= level.residual);
        assert_eq!(small.offsets, machine.offsets);
    }
    let small = separate.last().unwrap();
    let better = refined(&small, &Refinement::default(), &machine).machine;
    let zeros = |machine: &Machine| -> Vec<bool> { machine.expansion.coefficients.to_dense().values().iter().map(|v| *v == 0.0).collect() };
    assert_eq!(zeros(&small), zeros(&better));
    assert!(residual(&machine.expansion, &better.expansion).unwrap() < residual(&machine.expansion, &small.expansion).unwrap());
}

#[test]
fn refinement_is_a_method_of_its_own_with_a_size_path() {
    let machine = trained();
    for from in [RefineFrom::KMeans, RefineFrom::Random] {
        let path = run(&Refine { from, grid: true, ..Refine::default() }, &machine, 6);
        let sizes: Vec<usize> = path.levels().iter().map(|level| level.n_vectors).collect();
        assert_eq!(sizes, [1, 2, 4, 6]);
        let alone = run(&Refine { from, ..Refine::default() }, &machine, 6);
        assert_eq!(alone.last(), path.last());
        assert!(path.levels()[3].residual < run(&Pursuit::default(), &machine, 6).levels()[5].residual);
    }
    let until = Budget { max_residual: 0.5, ..Budget::default() };
    let path = Refine::default().sparsify(&Task::of(&machine), &until, &Watch::none()).unwrap();
    assert!(path.levels().last().unwrap().relative_residual <= 0.5 && path.last().unwrap().n_vectors() < machine.n_vectors());
}

#[test]
fn components_of_kernel_pca_share_new_vectors() {
    let data = banana(150, 4);
    let pca = Pca { kernel: Kernel::gaussian(0.5), components: Components::Count(4), ..Pca::default() };
    let machine = pca.learn(&data, &Watch::none()).unwrap().machine;
    assert_eq!(machine.decision, Decision::Features);
    let (made, chosen) = (run(&FixedPoint::default(), &machine, 12), run(&Pursuit::default(), &machine, 12));
    let small = refined(&made.last().unwrap(), &Refinement::default(), &machine).machine;
    assert!(residual(&machine.expansion, &small.expansion).unwrap() < chosen.levels()[11].residual);
    let (want, have) = (machine.outputs_for(&data.points).unwrap(), small.outputs_for(&data.points).unwrap());
    let error: f64 = want.values().iter().zip(have.values()).map(|(a, b)| (a - b) * (a - b)).sum();
    assert!(error < 0.1 * want.values().iter().map(|v| v * v).sum::<f64>(), "{error}");
}

#[test]
fn what_construction_cannot_do_is_rejected_with_an_error() {
    let say = |method: &dyn Sparsifier, machine: &Machine| {
        method.sparsify(&Task::of(machine), &Budget::vectors(3), &Watch::none()).unwrap_err().to_string()
    };
    let polynomial = toy::machine(Kernel::named("polynomial", 0.5, 3, 1.0).unwrap(), 10, 1);
    assert_eq!(
        say(&FixedPoint::default(), &polynomial),
        "fixed-point does not work with the polynomial kernel, which is not a function of the distance: use gradient, which works with every smooth kernel"
    );
    let nonsmooth = toy::machine(Kernel::named("exponential", 0.5, 0, 0.0).unwrap(), 10, 1);
    for method in [&FixedPoint::default() as &dyn Sparsifier, &Gradient::default(), &Refine::default()] {
        assert!(say(method, &nonsmooth).contains("is not differentiable"), "{}", say(method, &nonsmooth));
    }
    let mut zero = toy::machine(Kernel::gaussian(0.5), 10, 1);
    zero.expansion.coefficients = Coefficients::Dense(Matrix::zeros(10, 1));
    assert!(say(&FixedPoint::default(), &zero).contains("all coefficients of the machine are zero"));
    let mut wide = toy::machine(Kernel::gaussian(0.5), 200, 1);
    let rows = Csr::new((0..=200).collect(), (0..200).collect(), vec![1.0; 200], 1_000_000).unwrap();
    wide.expansion.vectors = rows.into();
    assert!(
        say(&FixedPoint::default(), &wide).contains("needs dense storage of 456 x 1000000 numbers, 3479 MB, above the limit of 2048 MB")
    );
    assert!(FixedPoint { starts: Starts { count: 0, ..Starts::default() }, ..FixedPoint::default() }.check().is_err());
}

#[test]
fn odd_machines_end_with_what_there_is() {
    // One vector: found again, and nothing is left.
    let one = toy::machine(Kernel::gaussian(0.5), 1, 1);
    let path = run(&FixedPoint::default(), &one, 5);
    assert!(path.len() == 1 && path.levels()[0].relative_residual < 1e-8, "{:?}", path.levels());
    // The same vector many times, and vectors that cancel.
    let mut same = toy::machine(Kernel::gaussian(0.5), 8, 1);
    same.expansion.vectors = Matrix::from_fn(8, 3, |_, j| j as f64).into();
    for method in [&FixedPoint::default() as &dyn Sparsifier, &Gradient::default(), &Refine::default()] {
        let path = run(method, &same, 4);
        assert!(path.last().unwrap().check().is_ok() && path.levels()[0].relative_residual < 1e-6, "{}", method.name());
    }
    // Far from the origin digits are kept.
    let mut far = toy::machine(Kernel::gaussian(0.5), 30, 1);
    let near = run(&FixedPoint::default(), &far, 4).levels();
    let dense = far.expansion.vectors.to_dense();
    far.expansion.vectors = Matrix::from_fn(30, 3, |i, j| dense.at(i, j) + 1e5).into();
    for (a, b) in near.iter().zip(run(&FixedPoint::default(), &far, 4).levels()) {
        assert!((a.relative_residual - b.relative_residual).abs() < 1e-6, "{a:?} {b:?}");
    }
    let huge = Matrix::from_fn(30, 3, |i, j| dense.at(i, j) * 1e150);
    far.expansion.vectors = huge.into();
    assert!(FixedPoint::default().sparsify(&Task::of(&far), &Budget::vectors(3), &Watch::none()).is_ok());
}

#[test]
fn starts_may_be_clusters_or_given_points_and_threads_change_nothing() {
    let machine = toy::machine(Kernel::gaussian(0.5), 40, 2);
    let given: Points = Matrix::from_fn(3, 3, |i, j| (i + j) as f64 * 0.3).into();
    for from in [StartsFrom::Vectors, StartsFrom::KMeans, StartsFrom::Given(given)] {
        let method = FixedPoint { starts: Starts { from, count: 3, seed: 1 }, ..FixedPoint::default() };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| refined(&run(&method, &machine, 5).last().unwrap(), &Refinement::default(), &machine).machine)
        };
        let one = with(1);
        assert!(one == with(4) && one.n_vectors() == 5);
    }
    let wrong = StartsFrom::Given(Matrix::<f64>::zeros(2, 5).into());
    let method = FixedPoint { starts: Starts { from: wrong, ..Starts::default() }, ..FixedPoint::default() };
    assert!(method.sparsify(&Task::of(&machine), &Budget::vectors(2), &Watch::none()).is_err());
}

#[test]
fn threads_change_no_bit_where_there_are_several_chunks_of_work() {
    // More vectors than a chunk of kernel rows or of sums has, so that threads do share the work.
    let machine = toy::machine(Kernel::gaussian(0.5), 1100, 3);
    for outputs in [Outputs::Joint, Outputs::Separate] {
        let method = FixedPoint { starts: Starts { count: 4, ..Starts::default() }, outputs, ..FixedPoint::default() };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let how = Refinement { max_steps: 5, ..Refinement::default() };
            pool.install(|| refined(&run(&method, &machine, 3).last().unwrap(), &how, &machine).machine)
        };
        let one = with(1);
        assert!(one == with(2) && one == with(7), "{outputs:?}");
    }
}

#[test]
fn a_cancelled_run_returns_the_work_so_far() {
    let machine = toy::machine(Kernel::gaussian(0.5), 40, 1);
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stop = flag.clone();
    let watch = Watch::none().with_cancel(flag).with_reporter(move |progress| {
        stop.store(progress.done >= 2, std::sync::atomic::Ordering::Relaxed);
    });
    let path = FixedPoint::default().sparsify(&Task::of(&machine), &Budget::vectors(10), &watch).unwrap();
    assert_eq!((path.len(), path.status), (2, crate::watch::Status::Cancelled));
}

#[test]
fn the_gain_of_a_search_has_the_gradient_of_differences() {
    let machine = toy::machine(Kernel::gaussian(0.5), 20, 2);
    let target = Target::of(&Task::of(&machine), "test").unwrap();
    let z = Matrix::from_fn(1, 3, |_, j| j as f64 * 0.2);
    let look = Residual::new(&target).look(&z, &mut Eyes::default());
    let mut gradient = vec![0.0; 3];
    add_gradient(&target.kernel, z.values(), &look.sums, 2.0, &mut gradient);
    for j in 0..3 {
        let at = |step: f64| {
            let moved = Matrix::from_fn(1, 3, |_, c| z.at(0, c) + if c == j { step } else { 0.0 });
            let p = Residual::new(&target).look(&moved, &mut Eyes::default()).p;
            dot(p.values(), p.values())
        };
        assert!((gradient[j] - (at(1e-5) - at(-1e-5)) / 2e-5).abs() < 1e-7 * (1.0 + target.norm));
    }
}
