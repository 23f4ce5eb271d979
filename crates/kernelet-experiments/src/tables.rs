//! How an outcome looks: a table on the screen, a page in Markdown with methods against sets, the cells in CSV.
use kernelet::text::{count, counted, exact, figure, seconds};

use super::{
    Cell, Outcome, Row,
    choose::listed,
    figure::Figure,
    quantity::Quantity,
    sides::Sides,
    summary::{AVERAGE, AllSizes},
    tally::{Deviation, Tally, at_edge},
    variance::{Effect, Variance},
};

/// How a table was made, so that it can be made again.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// The command line.
    pub command: String,
    /// The version of this program.
    pub version: &'static str,
    /// Files that were read, with their checksums.
    pub data: Vec<(String, String)>,
    /// Cores and threads.
    pub machine: String,
    /// The time of the run.
    pub seconds: f64,
    /// Pictures that were drawn.
    pub pictures: Vec<String>,
}

const MARK: &str = "* differs from the printed value by more than its rounding and twice the standard deviation of the difference.";

/// The page that goes with the results.
pub fn markdown(outcome: &Outcome, made: &Made) -> String {
    let mut text = format!("# {}\n\n{}.\n", outcome.title, outcome.paper);
    for &quantity in &outcome.quantities {
        text += &against_sets(outcome, quantity);
    }
    text += &each_output(outcome);
    text += &times_of_all_sizes(outcome);
    text += "\nMeans +- standard errors over splits, what the paper printed in brackets; a single split has the standard error of a part of its rows.";
    text += if outcome.seeds > 1 { " The smallest and the largest mean of a seed are in square brackets.\n" } else { "\n" };
    text.extend(outcome.remarks().iter().map(|remark| format!("\n{}\n", escaped(remark))));
    text += &deviations(outcome);
    text += &chosen(outcome);
    text += &outcome.variance.as_ref().map(analysis).unwrap_or_default();
    text.extend(made.pictures.iter().map(|name| format!("\n![{name}](<{name}>)\n")));
    let work: f64 = outcome.cells.iter().map(|cell| cell.seconds).sum();
    text += &format!(
        "\nMade with kernelet {}, {}, in {} on {} ({} for all cells one after the other, some of which may be of earlier runs):\n\n",
        made.version,
        splits(outcome),
        seconds(made.seconds),
        made.machine,
        seconds(work)
    );
    text += &format!("```text\n{}\n```\n", made.command);
    if !made.data.is_empty() {
        text += "\nSHA-256 of the data:\n\n```text\n";
        text.extend(made.data.iter().map(|(name, sum)| format!("{sum}  {name}\n")));
        text += "```\n";
    }
    text
}

/// Methods down, sets across.
fn against_sets(outcome: &Outcome, quantity: Quantity) -> String {
    let mut sets: Vec<&str> = vec![];
    let mut methods: Vec<&str> = vec![];
    for row in outcome.rows.iter().filter(|row| row.figure(quantity).is_some()) {
        if !sets.contains(&row.set.as_str()) {
            sets.push(&row.set);
        }
        if !methods.contains(&row.method.as_str()) {
            methods.push(&row.method);
        }
    }
    let Some(first) = outcome.rows.first().filter(|_| !sets.is_empty()) else { return String::new() };
    let head = [quantity.title(first.percent)].into_iter().chain(sets.iter().copied()).map(String::from).collect::<Vec<_>>();
    let mut text = format!("\n{}|---|{}\n", line(&head), "--:|".repeat(sets.len()));
    for method in methods {
        let cell = |set: &&str| {
            let row = outcome.rows.iter().find(|row| row.method == method && row.set == **set);
            let Some((row, figure)) = row.and_then(|row| Some((row, row.figure(quantity)?))) else { return String::new() };
            let (ours, theirs) = compared(&figure, quantity.digits(row.percent));
            if theirs.is_empty() { ours } else { format!("{ours} ({theirs})") }
        };
        text += &line(&[method.to_string()].into_iter().chain(sets.iter().map(cell)).collect::<Vec<_>>());
    }
    text
}

/// Seconds for all sizes of a line.
fn times_of_all_sizes(outcome: &Outcome) -> String {
    if outcome.all_sizes.is_empty() {
        return String::new();
    }
    let mut text = "\n| seconds for all sizes | set | sizes | ours | printed |\n|---|---|--:|--:|--:|\n".to_string();
    for AllSizes { set, line: name, sizes, seconds, printed } in &outcome.all_sizes {
        text += &line(&[name.clone(), set.clone(), count(*sizes), format!("{seconds:.3}"), figure(*printed)]);
    }
    text
}

/// Numbers of each output, a table for each that is counted.
fn each_output(outcome: &Outcome) -> String {
    let mut text = String::new();
    let mut before = "";
    for sides in &outcome.sides {
        let Sides { method, what, ours, printed, .. } = sides;
        if *what != before {
            let head = [what.to_string()].into_iter().chain((0..ours.len()).map(|k| k.to_string()));
            text += &format!("\n{}|---|{}\n", line(&head.collect::<Vec<_>>()), "--:|".repeat(ours.len()));
            before = what;
        }
        let cell = |(k, ours): (usize, &f64)| match printed.as_ref().and_then(|printed| printed.get(k)) {
            Some(printed) => format!("{} ({}{})", figure(*ours), figure(*printed), if sides.differs(k) { " *" } else { "" }),
            None => figure(*ours),
        };
        text += &line(&[method.clone()].into_iter().chain(ours.iter().enumerate().map(cell)).collect::<Vec<_>>());
    }
    text
}

/// What is not as printed, the largest deviations first.
fn deviations(outcome: &Outcome) -> String {
    if outcome.deviations.is_empty() {
        return String::new();
    }
    let mut text = "\nNot as printed, the largest deviations first, in terms of what is allowed:\n\n".to_string();
    text += "| set | method | quantity | ours | printed | allowed |\n|---|---|---|--:|--:|--:|\n";
    for Deviation { set, method, quantity, ours, printed, allowed } in &outcome.deviations {
        let percent = outcome.rows.iter().any(|row| row.set == *set && row.method == *method && row.percent);
        let title = quantity.title(percent).to_string();
        text += &line(&[set.clone(), method.clone(), title, figure(*ours), figure(*printed), figure(*allowed)]);
    }
    text
}

/// The values that were chosen, a line for each set.
fn chosen(outcome: &Outcome) -> String {
    if outcome.chosen.is_empty() {
        return String::new();
    }
    let mut text = "\nChosen before:\n\n".to_string();
    for (set, methods) in &outcome.chosen {
        let listed = |method: &str, values| listed(values, |name, value| at_edge(&outcome.edges, set, method, name, value));
        let mut all: Vec<String> = methods.iter().map(|(method, values)| format!("{method}: {}", listed(method, values))).collect();
        // All methods with the same values need no names.
        if let Some((method, values)) =
            methods.iter().next().filter(|first| methods.len() > 1 && methods.values().all(|values| values == first.1))
        {
            all = vec![listed(method, values)];
        }
        text += &format!("- {set}: {}\n", escaped(&all.join("; ")));
    }
    text
}

/// The analysis of variance as text and tables.
fn analysis(variance: &Variance) -> String {
    let mut text =
        "\nAnalysis of variance of the errors, main effects:\n\n| factor | freedom | mean square | F | p |\n|---|--:|--:|--:|--:|\n"
            .to_string();
    for Effect { factor, freedom, mean_square, f, p, .. } in &variance.effects {
        text += &format!("| {factor} | {freedom} | {mean_square:.3e} | {f:.2} | {} |\n", small(*p));
    }
    text += &format!("| rest | {} | {:.3e} | | |\n", variance.freedom, variance.mean_square);
    for Effect { factor, levels, pairs, .. } in variance.effects.iter().skip(1) {
        let means: Vec<String> = levels.iter().map(|(level, mean)| format!("{level} {:.2}", 100.0 * mean)).collect();
        text += &format!("\nMeans of {factor} in percent: {}. Tukey's honestly significant difference", means.join(", "));
        let (differ, equal): (Vec<_>, Vec<_>) = pairs.iter().partition(|pair| pair.p < 0.001);
        let list = |pairs: &[&super::variance::Pair]| {
            let one = |pair: &&super::variance::Pair| format!("{} - {} (p {})", pair.first, pair.second, small(pair.p));
            if pairs.is_empty() { "no two".to_string() } else { pairs.iter().map(one).collect::<Vec<_>>().join(", ") }
        };
        text += &format!(" at p < 0.001 holds between {}; not between {}.\n", list(&differ), list(&equal));
    }
    text
}

/// A probability, the smallest ones as a bound.
fn small(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }
}

/// The cells, after comment lines with the version and the command.
pub fn csv(outcome: &Outcome, made: &Made) -> String {
    let mut text = format!("# kernelet {}, {}\n# {}\n", made.version, splits(outcome), made.command);
    text += "set,method,seed,split,train_rows,test_rows,error,vectors,train_error,relative_residual,iterations,evaluations,status\n";
    for cell in &outcome.cells {
        let Cell { set, method, seed, split, train_rows, test_rows, error, vectors, iterations, evaluations, status, .. } = cell;
        let (set, method, error) = (field(set), field(method), exact(*error));
        let [train, residual] = [cell.train_error, cell.relative_residual].map(|value| value.map(exact).unwrap_or_default());
        let status = status.name();
        text += &format!(
            "{set},{method},{seed},{split},{train_rows},{test_rows},{error},{vectors},{train},{residual},{iterations},{evaluations},{status}\n"
        );
    }
    text
}

impl Outcome {
    /// The table for the screen: its header and its rows.
    pub fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let (gamma, c) = (self.rows.iter().any(|row| row.gamma.is_some()), self.rows.iter().any(|row| row.c.is_some()));
        let settings = [gamma.then_some("gamma"), c.then_some("C")];
        let names = ["set", "method"].into_iter().chain(settings.into_iter().flatten()).chain(["splits"]);
        let mut header: Vec<String> = names.map(String::from).collect();
        let percent = self.rows.first().is_none_or(|row| row.percent);
        let reported: Vec<(Quantity, bool)> = self.quantities.iter().map(|&quantity| (quantity, self.printed(quantity))).collect();
        for (quantity, printed) in &reported {
            header.push(quantity.title(percent).into());
            header.extend(printed.then(|| "printed".to_string()));
        }
        let row = |row: &Row| {
            let mut fields = vec![row.set.clone(), row.method.clone()];
            fields.extend([gamma.then(|| setting(row.gamma)), c.then(|| setting(row.c))].into_iter().flatten());
            fields.push(count(row.splits));
            for &(quantity, printed) in &reported {
                let (ours, theirs) = row.figure(quantity).map(|figure| compared(&figure, quantity.digits(row.percent))).unwrap_or_default();
                fields.push(ours);
                fields.extend(printed.then_some(theirs));
            }
            fields
        };
        (header, self.rows.iter().map(row).collect())
    }

    /// The remarks below the table.
    pub fn remarks(&self) -> Vec<String> {
        let figures = self.rows.iter().flat_map(|row| self.quantities.iter().filter_map(|&quantity| row.figure(quantity)));
        let marked = figures.into_iter().any(|figure| figure.differs)
            || self.sides.iter().any(|sides| (0..sides.ours.len()).any(|k| sides.differs(k)));
        let percent = self.rows.first().is_none_or(|row| row.percent);
        let one = |title: &str, tally: &Tally| {
            let Tally { printed, as_printed, below, above } = tally;
            format!("{title}: {printed} printed, {as_printed} as printed, {below} below, {above} above")
        };
        let tally = self.tally.iter().map(|(quantity, tally)| one(quantity.title(percent), tally));
        let tally = tally.chain(self.sides_tally.iter().map(|(what, tally)| one(what, tally))).collect::<Vec<_>>().join("; ");
        let tally = (!tally.is_empty()).then_some(format!("Of ours {tally}."));
        [marked.then(|| MARK.to_string()), tally, self.no_variance.clone(), self.note.clone()].into_iter().flatten().collect()
    }

    /// True where the paper printed this number somewhere.
    fn printed(&self, quantity: Quantity) -> bool {
        self.rows.iter().filter_map(|row| row.figure(quantity)).any(|figure| figure.printed.is_some())
    }
}

/// A setting in decimal or scientific notation, whichever is shorter.
fn setting(value: Option<f64>) -> String {
    let Some(value) = value else { return String::new() };
    let (plain, scientific) = (figure(value), format!("{value:e}"));
    if plain.len() <= scientific.len() { plain } else { scientific }
}

/// Mean and standard error with so many digits, and the printed value with a mark where they differ.
fn compared(found: &Figure, digits: usize) -> (String, String) {
    let mean = match found.standard_error {
        Some(error) => format!("{:.digits$} +- {error:.digits$}", found.mean),
        None => format!("{:.digits$}", found.mean),
    };
    let spread = found.spread.filter(|(least, most)| least < most);
    let mean = mean + &spread.map(|(least, most)| format!(" [{least:.digits$}, {most:.digits$}]")).unwrap_or_default();
    let printed = found.printed.map(|printed| format!("{}{}", setting(Some(printed)), if found.differs { " *" } else { "" }));
    (mean, printed.unwrap_or_default())
}

/// How many splits there were.
fn splits(outcome: &Outcome) -> String {
    let all = outcome.rows.iter().filter(|row| row.set != AVERAGE).all(|row| row.splits == outcome.splits);
    let seeds = if outcome.seeds > 1 { format!(", {}", counted(outcome.seeds, "seed")) } else { String::new() };
    counted(outcome.splits, "split") + if all { "" } else { " where there are so many" } + &seeds
}

fn line(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| escaped(field)).collect();
    format!("| {} |\n", fields.join(" | "))
}

/// A text as Markdown wants it.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*")
}

/// A text as CSV wants it.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r', '#']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Experiment, choose::Chosen, description::Description};
    use super::*;

    const TEXT: &str = "title = 'Title'\npaper = 'Paper'\nnote = 'Note.'\nsplits = 2\ncolumns = ['iterations']\n\
        [[methods]]\nname = 'svm'\ntrain = { gamma = '{gamma}' }\n\
        [[sets]]\nname = 'a,b'\ngenerator = 'banana'\ntrain = 40\ntest = 50\nvalues = { gamma = 0.5 }\nprinted.svm = { error = 9 }\n";

    fn outcome(splits: usize) -> Outcome {
        let cell = |split, error| Cell {
            set: "a,b".into(),
            method: "svm".into(),
            split,
            seed: 0,
            train_rows: 40,
            test_rows: 50,
            error,
            train_error: None,
            vectors: 7,
            relative_residual: None,
            wrong_sides: None,
            own_vectors: None,
            objective: 1.0,
            iterations: 3,
            evaluations: 4,
            status: kernelet::watch::Status::Converged,
            seconds: 0.1,
        };
        let experiment = Experiment { name: "x".into(), description: Description::parse(TEXT).unwrap() };
        Outcome::new(&experiment, (splits, 1), vec![Chosen::new()], vec![cell(1, 0.1), cell(2, 0.12)])
    }

    #[test]
    fn the_page_has_its_command_and_what_was_printed() {
        let made = Made { command: "kernelet reproduce x".into(), version: "1.2.3", machine: "2 cores".into(), ..Made::default() };
        let page = markdown(&outcome(2), &made);
        assert!(page.contains("| error % | a,b |\n|---|--:|\n| svm | 11.00 +- 1.00 (9) |\n"), "{page}");
        assert!(page.contains("| iterations | a,b |\n") && page.contains("Note.\n"), "{page}");
        assert!(page.contains("Of ours error %: 1 printed, 1 as printed, 0 below, 0 above."), "{page}");
        assert!(page.contains("kernelet 1.2.3, 2 splits, in ") && page.contains("```text\nkernelet reproduce x\n```\n"), "{page}");
        let csv = csv(&outcome(2), &made);
        let expected = "# kernelet 1.2.3, 2 splits\n# kernelet reproduce x\n\
            set,method,seed,split,train_rows,test_rows,error,vectors,train_error,relative_residual,iterations,evaluations,status\n\
            \"a,b\",svm,0,1,40,50,0.1,7,,,3,4,converged\n\"a,b\",svm,0,2,40,50,0.12,7,,,3,4,converged\n";
        assert_eq!(csv, expected);
    }

    #[test]
    fn settings_are_short() {
        let cases = [(316.2, "316.2"), (1e9, "1e9"), (1.0 / 30.0, "0.0333333"), (1.0, "1"), (1e-7, "1e-7")];
        cases.iter().for_each(|&(value, text)| assert_eq!(setting(Some(value)), text));
    }

    #[test]
    fn fewer_splits_than_requested_are_reported() {
        assert_eq!(splits(&outcome(5)), "5 splits where there are so many");
        let (header, rows) = outcome(5).table();
        assert_eq!(header, ["set", "method", "gamma", "splits", "error %", "printed", "vectors", "iterations"]);
        assert_eq!(rows, [["a,b", "svm", "0.5", "2", "11.00 +- 1.00", "9", "7.0 +- 0.0", "3.0 +- 0.0"]]);
    }
}
