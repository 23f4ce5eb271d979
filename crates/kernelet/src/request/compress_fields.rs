//! The settings of [`Compress`](super::Compress), as interfaces show them.
use super::{
    compress::{Layout, Offsets},
    field::{Field, Takes},
    method::{CompressInit, CompressMethod},
};
use crate::{
    Named,
    compress::{
        Effort, Metric, Origin, Refit,
        select::{Criterion, Outputs, Weights},
    },
};

const GOALS: &str = "Goals";
const METHOD: &str = "Method";
const CASCADE: &str = "Cascade";

pub(super) const FIELDS: &[Field] = &[
    Field::name(
        "method",
        "NAME",
        CompressMethod::names,
        "How vectors are found: auto tries several strategies and keeps the best on validation rows; pursuit, l1, l0 and independent choose vectors, fixed-point, gradient and refine make new ones [default: auto].",
    ),
    Field::name("effort", "HOW", Effort::names, "How long auto may search: quick, normal or thorough [default: normal]."),
    Field::number("time", "SECONDS", "Return the best machine found within this time; the result then depends on the machine it runs on [default: no limit]."),
    Field::switch("labels", "Learn from the labels of --data too, not from the model's predictions alone (auto)."),
    Field::other(
        "device",
        "DEVICE",
        Takes::Text,
        "Where machines are trained on --data: cpu, gpu or gpu:N, an NVIDIA card (auto; gaussian kernel) [default: cpu].",
    ),
    Field::switch("ard", "Trained machines may learn a scale for each feature, as train --ard; kept where validation rows prefer it (auto)."),
    Field::name(
        "layout",
        "FOR",
        Layout::names,
        "Outputs of a one-vs-one model: shared makes one for each class where that is better, pairs keeps them, libsvm gives each vector to one class [default: shared].",
    ),
    Field::switch("from-data", "Choose vectors among the rows of --data instead of the model's own (all methods but auto)."),
    Field::name(
        "refit",
        "HOW",
        Refit::names,
        "Coefficients of the vectors found: projection, outputs, margin, rsvm, rsvm-squared or none [default: those of the method].",
    ),
    Field::number("c", "C", "Cost C of --refit margin, rsvm and rsvm-squared, and of auto [default: that of the model, or its largest coefficient where it stores none]."),
    Field::name(
        "threshold",
        "HOW",
        Offsets::names,
        "Offsets of the outputs: keep those of the model or the refit, or train-error for those of least error on --data [default: keep].",
    ),
    Field::switch("path", "Report every size of the size path."),
    Field::count("seed", "N", "Seed of everything random [default: 0]."),
    Field::count("vectors", "M", "The most vectors; with --outputs separate for each output.").in_group(GOALS),
    Field::number("fraction", "F", "The most vectors as a fraction of those before, between 0 and 1.").in_group(GOALS),
    Field::count("max-bytes", "B", "The most bytes of the model file.").in_group(GOALS),
    Field::number("max-residual", "R", "Enough: the squared distance of the weight vectors is at most this fraction of the start.").in_group(GOALS),
    Field::number("max-loss", "L", "Enough: the metric rises by no more than this on new rows, such as 0.005; certified on fresh rows of --data.").in_group(GOALS),
    Field::number("min-agreement", "A", "Enough: this fraction of new rows is predicted as before, such as 0.99; certified on fresh rows of --data.").in_group(GOALS),
    Field::number("confidence", "P", "The probability with which --max-loss and --min-agreement hold on new rows, certified on fresh rows of --data [default: 0.95].").in_group(GOALS),
    Field::name("rows", "FROM", Origin::names, "Where the rows of --data come from: fresh rows certify goals, training rows only estimate; auto recognises training rows [default: auto].").in_group(GOALS),
    Field::name("metric", "NAME", Metric::names, "Loss: error, balanced-error or mse [default: error for classes, mse for numbers].").in_group(GOALS),
    Field::switch("cascade", "Small machines before the model: rows leave where the small one is sure; promised with --max-disagreement on the rows of --calibrate.").in_group(CASCADE),
    Field::number("max-disagreement", "E", "The fraction of new rows whose label may differ from the model's, such as 0.001, with --confidence (--cascade).").in_group(CASCADE),
    Field::switch("by-class", "The same for the rows of each class (--cascade).").in_group(CASCADE),
    Field::switch("abstain", "Leave the model out; rows that it would answer are answered by ? (--cascade).").in_group(CASCADE),
    Field::name("select-by", "WHAT", Criterion::names, "What a vector is chosen for (pursuit) [default: weights].").formerly(&["criterion"]).in_group(METHOD),
    Field::name(
        "outputs",
        "HOW",
        Outputs::names,
        "One set of vectors for all outputs, or one for each (pursuit, l1, l0, fixed-point, gradient) [default: joint].",
    )
    .in_group(METHOD),
    Field::count(
        "candidates",
        "N",
        "Look at a random sample of N candidates for each vector; 59 has one of the best 5 % with probability 0.95 (pursuit) [default: all].",
    )
    .formerly(&["sample"])
    .in_group(METHOD),
    Field::switch("plain", "Set only the newest coefficient instead of refitting all after each vector (pursuit).").in_group(METHOD),
    Field::name("weights", "HOW", Weights::names, "How much the penalty weighs on each vector (l1) [default: equal].").in_group(METHOD),
    Field::switch("lossless", "Leave out only vectors that the others represent exactly; needs no --vectors (l0).").in_group(METHOD),
    Field::number(
        "tolerance",
        "T",
        "Vectors nearer than this fraction to the span of others count as lying in it (independent, l0 --lossless) [default: 1e-10].",
    )
    .in_group(METHOD),
    Field::count(
        "chunk",
        "N",
        "Work on N vectors at a time, the others held fixed: for machines too large to be looked at whole (pursuit, l1, l0, independent) [default: all].",
    )
    .in_group(METHOD),
    Field::count("passes", "P", "How often each chunk has its turn (with --chunk) [default: 2].").in_group(METHOD),
    Field::count("starts", "N", "Searches for each vector, of which the best is kept (fixed-point, gradient) [default: 10].").in_group(METHOD),
    Field::name("init", "WHERE", CompressInit::names, "Where searches begin (fixed-point, gradient, refine) [default: vectors; kmeans for refine].")
        .formerly(&["start-from"])
        .in_group(METHOD),
    Field::other(
        "refine",
        "WHAT",
        Takes::SwitchOr(&["weights", "outputs", "margins"]),
        "Move all vectors together afterwards, after any method but auto; =WHAT is the objective: weights, outputs or margins [default: weights].",
    )
    .in_group(METHOD),
    Field::count("refine-steps", "N", "The most steps of --refine and of the method refine [default: 200].").in_group(METHOD),
    Field::switch("refine-joint", "Move coefficients together with the vectors instead of eliminating them; for --refine and the method refine.").in_group(METHOD),
];
