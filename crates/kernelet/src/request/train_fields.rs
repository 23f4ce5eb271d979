//! The settings of [`Train`](super::Train), as interfaces show them.
use super::{
    field::{Field, Takes},
    kernel::{self, Gamma},
    learner::{LearnerName, TaskName},
    vectors::{BlocksName, Coefficients, InitName, Method},
};
use crate::{
    Named,
    basis::{Deflation, First, FisherCriterion, Numerator},
    data::Scaling,
    learn::{
        Multiclass, Penalty, Shape, Shrink, Threshold,
        direct::{DirectLoss, Growth},
    },
};

const KERNEL: &str = "Kernel";
const ESTIMATOR: &str = "Estimator";
const VECTORS: &str = "Vectors: train a small machine";
const DIRECT: &str = "Direct training: vectors found with the machine (--vectors alone)";
const PURSUIT: &str = "Greedy Fisher discriminants (--learner fisher --method fisher-pursuit)";

pub(super) const FIELDS: &[Field] = &[
    Field::name(
        "learner",
        "NAME",
        LearnerName::names,
        "Estimator: svc, nu-svc, fisher, logistic, rvm, parzen for classes; svr, nu-svr, ridge, huber, rvm, nadaraya-watson for numbers; one-class and pca without a target [default: svc].",
    ),
    Field::switch("tune", "Choose the cost (C, nu or lambda) and gamma by cross-validation; what is given as a number is kept."),
    Field::switch("path", "Report every size on the size path, where the number of vectors grows (--growth), or the doubling sizes of a basis that grows."),
    Field::name("probability", "SHAPE", Shape::names, "Also fit probabilities by cross-validation: a sigmoid or an isotonic curve for each output, or one softmax for all, which is the best for several classes that share vectors; normal for the deviations of predicted numbers."),
    Field::count("folds", "K", "Folds of cross-validation, for --tune and --probability, or for the number of vectors (fisher-pursuit) [default: 5]."),
    Field::count("seed", "N", "Seed of everything random [default: 0]."),
    Field::name(
        "kernel",
        "NAME",
        kernel::names,
        "The kernel; rbf and poly are accepted for gaussian and polynomial. With precomputed a row holds its kernel values with all training rows [default: gaussian].",
    )
    .in_group(KERNEL),
    Field::other(
        "gamma",
        "G",
        Takes::NumberOr(Gamma::NAMES),
        "Width: a number above 0, `scale` for 1 / (features * variance) of the scaled rows, or `auto` for 1 / features [default: scale].",
    )
    .in_group(KERNEL),
    Field::count("degree", "D", "Degree of the polynomial kernel [default: 3].").in_group(KERNEL),
    Field::number("coef0", "R", "Constant of the polynomial and sigmoid kernels [default: 0].").in_group(KERNEL),
    Field::number("exponent", "E", "Exponent of the inverse multiquadric kernel, (1 + gamma |x - z|^2)^E; below 0 [default: -0.5].").in_group(KERNEL),
    Field::name("scale", "HOW", Scaling::names, "Scale the features; the scaling becomes part of the model [default: none; standard where a metric is learned].").in_group("Scaling"),
    Field::number("c", "C", "Cost of an error (svc, svr, nu-svr, huber, logistic; fisher with --bias svm or --coefficients margin) [default: 1; logistic 10].").in_group(ESTIMATOR),
    Field::number(
        "nu",
        "N",
        "Fraction of the rows that may be margin errors (nu-svc) or lie outside (nu-svr, one-class), above 0 and at most 1 [default: 0.5].",
    )
    .in_group(ESTIMATOR),
    Field::number("epsilon", "E", "Errors up to this cost nothing (svr), or are squared while larger ones count linearly (huber) [default: 0.1; huber 1].").in_group(ESTIMATOR),
    Field::number(
        "lambda",
        "L",
        "Penalty of large coefficients (ridge, fisher) [default: 1; fisher 0.001, trained directly chosen by cross-validation].",
    )
    .in_group(ESTIMATOR),
    Field::switch("centre", "Subtract the mean of the targets before training; it becomes the offset of the machine (ridge, which has none otherwise).").in_group(ESTIMATOR),
    Field::name("task", "WHAT", TaskName::names, "What is learned: classification or regression (rvm) [default: classification].").in_group(ESTIMATOR),
    Field::number(
        "tolerance",
        "T",
        "Stop when the optimality conditions (support vector machines), the evidence (rvm) or eigenvectors (pca) hold up to this [default: 0.001; pca 1e-8].",
    )
    .in_group(ESTIMATOR),
    Field::count(
        "max-iterations",
        "N",
        "Stop a problem of the support vector family after so many steps, before it has reached its tolerance [default: no limit to speak of, 100 million].",
    )
    .in_group(ESTIMATOR),
    Field::switch("no-shrinking", "Keep variables in the problem that look settled at a bound: slower, the same machine up to the tolerance.").in_group(ESTIMATOR),
    Field::other(
        "cache",
        "MB|FILE",
        Takes::CountOrText,
        "Megabytes for kernel values that are kept; fisher, logistic and pca keep all [default: 200; rvm 1024; fisher, logistic, pca 8192]. \
         In training by blocks the file of rows in binary, made once and used again [default: a temporary file].",
    )
    .in_group(ESTIMATOR),
    Field::other(
        "class-weight",
        "W",
        Takes::Text,
        "Factors of C (svc, logistic), of the scatter (fisher) or of the priors (parzen) for the classes: balanced, or LABEL=W,.. [default: all 1].",
    )
    .in_group(ESTIMATOR),
    Field::name(
        "multiclass",
        "HOW",
        Multiclass::names,
        "How several classes become two-class problems: one-vs-one, one-vs-rest, ecoc, or with a budget of vectors shared (svc, nu-svc) [default: one-vs-one; for svc with a budget shared].",
    )
    .in_group(ESTIMATOR),
    Field::name("penalty", "WHAT", Penalty::names, "What lambda penalises: weight, coefficients, or none (fisher) [default: weight].").in_group(ESTIMATOR),
    Field::name(
        "direction",
        "NAME",
        Numerator::names,
        "What the discriminant separates: class-means, or printed, the sums over the classes, which are not Fisher's for classes of different size (fisher) [default: class-means].",
    )
    .in_group(ESTIMATOR),
    Field::name(
        "bias",
        "RULE",
        Threshold::names,
        "How the threshold is chosen: midpoint, equal-mahalanobis, least-error or svm (fisher) [default: least-error].",
    )
    .in_group(ESTIMATOR),
    Field::count("components", "K", "Components to keep (pca) [default: 10].").in_group(ESTIMATOR),
    Field::number("explained", "F", "Keep as many components as explain this fraction of the variance, such as 0.95 (pca).").in_group(ESTIMATOR),
    Field::switch("whiten", "Divide the features by their standard deviations (pca).").in_group(ESTIMATOR),
    Field::count("vectors", "M", "The number of vectors, whatever the number of classes [default: the full machine].").in_group(VECTORS),
    Field::name(
        "method",
        "NAME",
        Method::names,
        "How few vectors are found. With the machine, which --vectors alone means: margin for svc; ridge, svr, huber, fisher, logistic, one-class, pca for the estimators of these \
         names. On a basis chosen before: greedy-basis, online-basis (one pass, with --max-error), rpcholesky, kmeans or random; matching-pursuit, by what kernel columns explain of the targets; fisher-pursuit, by the classes, for fisher; support-vectors, those \
         of the full machine, whatever their number, for svc. As the machines that papers compare with, \
         for svc: rs, mrs (new vectors near the full machine), rsvm, rsvm-squared, mrsvm (random rows), rvm-margin (relevance vectors).",
    )
    .in_group(VECTORS),
    Field::number(
        "max-error",
        "E",
        "Stop adding vectors once no row is farther than this from their span, in squared distance in feature space (greedy-basis, online-basis, rpcholesky).",
    )
    .in_group(VECTORS),
    Field::name(
        "first",
        "WHICH",
        First::names,
        "The vector that the greedy choice begins with: best, the longest in feature space, or random; kernels of the distance draw it anyway (greedy-basis) [default: best].",
    )
    .in_group(VECTORS),
    Field::name(
        "shrink",
        "HOW",
        Shrink::names,
        "Where fewer rows support the machine than the basis has vectors: never, sv (take them instead) or retrain (on them) (svc) [default: never].",
    )
    .in_group(VECTORS),
    Field::name("loss", "NAME", DirectLoss::names, "Loss (margin) [default: squared-hinge].").in_group(DIRECT),
    Field::name(
        "coefficients",
        "WHOSE",
        Coefficients::names,
        "Coefficients and offsets on the vectors: own, or margin, those of a large-margin machine with --c (fisher) [default: own].",
    )
    .formerly(&["refit"])
    .in_group(DIRECT),
    Field::name("init", "HOW", InitName::names, "Where the vectors start [default: kmeans].").in_group(DIRECT),
    Field::count("starts", "N", "Starts, of which the best is kept [default: 1].").in_group(DIRECT),
    Field::count("iterations", "N", "Steps of the vectors [default: 200].").in_group(DIRECT),
    Field::name("growth", "HOW", Growth::names, "Let the number of vectors grow: none, doubling or one-by-one [default: none].").in_group(DIRECT),
    Field::other(
        "checkpoint",
        "FILE",
        Takes::Text,
        "A model file that is written every half minute and when the run is stopped; the same command then continues from it.",
    )
    .in_group(DIRECT),
    Field::count(
        "memory",
        "MB",
        "Megabytes for rows and what is computed of them: coordinates that do not fit are computed again, files that do not fit are trained by blocks [default: 2048].",
    )
    .in_group(DIRECT),
    Field::name(
        "blocks",
        "WHEN",
        BlocksName::names,
        "Pass over the rows in blocks instead of holding all: auto (files larger than --memory), always or never (svc, logistic, ridge) [default: auto].",
    )
    .in_group(DIRECT),
    Field::count("sample-first", "ROWS", "Search on a sample of so many rows first, then a tenth of the steps on all, by blocks (svc, logistic, ridge).").in_group(DIRECT),
    Field::other(
        "device",
        "DEVICE",
        Takes::Text,
        "Where the sums over rows are computed: cpu, gpu or gpu:N, an NVIDIA card (svc, logistic, ridge; gaussian kernel) [default: cpu].",
    )
    .in_group(DIRECT),
    Field::other("parts", "M,..", Takes::Counts, "How many vectors each class has of its own, in place of --vectors for all (margin).").in_group(DIRECT),
    Field::switch(
        "ard",
        "Learn a scale for each feature together with the vectors (automatic relevance determination); validation rows choose the penalty, or one width.",
    )
    .in_group(DIRECT),
    Field::count("projection", "K", "Learn a linear map of the features to K dimensions together with the vectors; with --ard validation rows choose between scales and map.").in_group(DIRECT),
    Field::number("metric-penalty", "R", "Penalty of the squared change of a learned metric [default: chosen on validation rows].").in_group(DIRECT),
    Field::name(
        "criterion",
        "NAME",
        FisherCriterion::names,
        "Which row is chosen next, by Fisher's quotient of its kernel column: optimal (largest), pseudo (largest numerator), reverse, reverse-pseudo (smallest) or random [default: pseudo].",
    )
    .in_group(PURSUIT),
    Field::name(
        "deflation",
        "NAME",
        Deflation::names,
        "How a chosen column is removed from the others: none, hotelling, projection, schur, ortho-hotelling, ortho-projection or ortho-schur [default: projection].",
    )
    .in_group(PURSUIT),
    Field::count("stages", "S", "Rows chosen before all are scored again [default: 1].").in_group(PURSUIT),
    Field::number("score-threshold", "T", "Choose all rows with a score beyond this before all are scored again, and stop when there is none.")
        .formerly(&["threshold"])
        .in_group(PURSUIT),
    Field::name(
        "numerator",
        "NAME",
        Numerator::names,
        "Numerator of the quotient: class-means, or printed as in the paper, which is Fisher's only for classes of equal size [default: class-means].",
    )
    .in_group(PURSUIT),
    Field::count("candidates", "N", "Score a random sample of so many rows each time instead of all; 59 is usual, for many rows.")
        .formerly(&["sample"])
        .in_group(PURSUIT),
    Field::count("every", "STEP", "Choose the number of vectors by cross-validation: multiples of this, up to --vectors [default: 10 with --folds].")
        .in_group(PURSUIT),
];
