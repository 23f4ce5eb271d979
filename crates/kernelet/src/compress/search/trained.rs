//! A small machine trained directly on all rows, as the stages of a cascade are.
//!
//! A stage must answer as the large machine does on nearly all new rows, which takes more steps and rows than to choose a size does: all rows, and starts of its own.
//! Where the rows have the labels of the large machine it learns these: where it then differs from the large machine, it need not be wrong.
use super::{
    auto::cost_of,
    effort::Effort,
    strategy::{Steps, Strategy},
};
use crate::{
    Result,
    compress::{Distil, EmpiricalMap, Task},
    learn::direct::{Margin, Search},
    machine::{Decision, Machine},
    watch::Watch,
};

/// Starts, all but one of which make a few steps.
const STARTS: usize = 4;

/// The small machine; none where the kernel does not allow vectors to move, or where it would take too long. `c` is the cost of an error; none for that
/// of the machine.
pub(crate) fn trained(task: &Task, vectors: usize, c: Option<f64>, effort: Effort, seed: u64, watch: &Watch) -> Result<Option<Machine>> {
    let (machine, Some(data)) = (task.machine, task.data) else { return Ok(None) };
    let kernel = &machine.expansion.kernel;
    let moves = kernel.profile().smooth() && kernel.profile().definite();
    if !moves || EmpiricalMap::of(machine, task.data)?.is_some() {
        return Ok(None);
    }
    let labels = machine.decision.labels();
    let outputs = if matches!(machine.decision, Decision::Votes { .. }) { labels.len() } else { machine.n_outputs() };
    let step = data.len() as f64 * vectors as f64 * (data.points.dim() + vectors * outputs) as f64;
    let Some(iterations) = effort.steps_on_all_rows(step) else { return Ok(None) };
    let (c, search) = (c.unwrap_or_else(|| cost_of(machine)), Search { iterations, starts: STARTS, seed, ..Search::default() });
    let same = data.classes().is_ok_and(|classes| classes.labels == labels);
    let (name, steps) = match same {
        true => ("margin", Steps::Margin { taught: Margin { kernel: kernel.clone(), c, search, ..Margin::default() }, own: true }),
        false => ("distil", Steps::Distil { taught: Distil { c, search }, own: true }),
    };
    let strategy = Strategy { name: name.into(), steps, from: vec![], candidate: true, scales: None };
    strategy.machine(task, vectors, &[], watch).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Target, banana},
        evaluate::agreement,
        kernel::Kernel,
        learn::{Learner, Svc},
    };

    fn agreeing(machine: &Machine, small: &Machine, data: &Dataset) -> f64 {
        agreement(&machine.predict(&data.points).unwrap(), &small.predict(&data.points).unwrap()).unwrap()
    }

    #[test]
    fn it_learns_labels_where_there_are_any_and_the_answers_of_the_machine_elsewhere() {
        let (data, new) = (banana(300, 1), banana(2000, 2));
        let full = Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let bare = Dataset { target: Target::None, ..data.clone() };
        let of = |data: &Dataset| {
            let task = Task { machine: &full, data: Some(data), candidates: None };
            trained(&task, 12, None, Effort::Normal, 0, &Watch::none()).unwrap().unwrap()
        };
        let (taught, imitating) = (of(&data), of(&bare));
        assert!(agreeing(&full, &taught, &new) > 0.95 && agreeing(&full, &imitating, &new) > 0.95);
        assert_ne!(taught, imitating);
        // Labels of other classes are not the machine's: its answers are learned.
        let Target::Classes(classes) = &data.target else { panic!() };
        let mut other = classes.clone();
        other.labels = other.labels.iter().map(|label| crate::data::Label::new(format!("x{label}"))).collect();
        assert_eq!(of(&Dataset { target: Target::Classes(other), ..data.clone() }), imitating);
    }

    #[test]
    fn kernels_without_derivatives_and_too_much_work_give_none() {
        let data = banana(100, 1);
        let kernel = Kernel::named("exponential", 1.0, 0, 0.0).unwrap();
        let full = |kernel: Kernel| Svc { kernel, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let task = |machine| Task { machine, data: Some(&data), candidates: None };
        let (nonsmooth, smooth) = (full(kernel), full(Kernel::gaussian(1.0)));
        assert!(trained(&task(&nonsmooth), 5, None, Effort::Normal, 0, &Watch::none()).unwrap().is_none());
        assert!(trained(&Task::of(&smooth), 5, None, Effort::Normal, 0, &Watch::none()).unwrap().is_none(), "no rows");
        assert!(trained(&task(&smooth), 5, None, Effort::Quick, 0, &Watch::none()).unwrap().is_some());
        assert_eq!(Effort::Quick.steps_on_all_rows(1e13), None);
    }
}
