"""Other readings of Diethe2015 than the one of `kernelet reproduce diethe2015-as-printed`, in a few lines of NumPy that share nothing with kernelet.

    python benches/papers/diethe2015.py run ../data cells.npz [--sets heart,titanic] [--splits 5]
    python benches/papers/diethe2015.py table cells.npz [more.npz ..]

What the paper leaves open is what its program did where the kernel matrix of the chosen rows is singular in floating point, because rows
are duplicates or the kernel is wide: R, the Cholesky factor of K[i,i]^-1, does not exist there. Here such a size counts as a machine that
errs on half of all rows, and nothing is regularised. The choice of rows has the printed numerator (y'K_i)^2. `run` keeps the test and the
cross-validation error of every method, split, size and discriminant, `table` prints averages over the sets. With CuPy installed the GPU is
used: the thirteen sets take about two minutes on one, hours without.
"""
import argparse

import numpy as np

try:
    import cupy as xp
except ImportError:
    xp = np

SETS = "banana breast-cancer diabetis flare-solar german heart image ringnorm splice thyroid titanic twonorm waveform".split()
WIDTHS = [2.0**power for power in (-5, -3, -1, 1, 3, 5)]
SIZES = sorted({1, 11, 21, 31, 41, *range(10, 201, 10)})
FOLDS = 5
MOST = 200
# Numerator of the discriminant, and the scatter it is divided by: that of the classes about their means, or about the origin.
DISCRIMINANTS = ["sums, centred", "means, centred", "means, about 0", "sums, about 0", "no factor, sums", "no factor, means"]
# What Figure 1 and Figure 4 print: error in percent, vectors in percent of the rows.
PRINTED = {
    "random none": (21.9, 7.0), "optimal none": (28.3, 6.4), "pseudo none": (27.1, 13.5), "reverse none": (30.9, 11.3),
    "reverse-pseudo none": (31.0, 11.4), "optimal hotelling": (25.5, 2.9), "pseudo hotelling": (19.7, 2.4),
    "reverse hotelling": (34.3, 4.8), "reverse-pseudo hotelling": (34.4, 4.8), "optimal projection": (18.6, 4.6),
    "pseudo projection": (18.7, 7.0), "reverse projection": (28.8, 6.7), "optimal schur": (18.8, 5.1), "pseudo schur": (18.7, 5.8),
    "reverse schur": (27.5, 10.2),
}  # fmt: skip


def on_host(array):
    return array if xp is np else array.get()


def gram(rows, others, width):
    squares = (rows**2).sum(-1)[..., :, None] + (others**2).sum(-1)[..., None, :] - 2 * rows @ others.swapaxes(-1, -2)
    return xp.exp(-xp.maximum(squares, 0) / width)


def choose(kernel, signs, criterion, deflation, most, draw):
    """The rows that are chosen one after the other, for a stack of kernel matrices."""
    count, n, _ = kernel.shape
    every = xp.arange(count)
    if criterion == "random":
        return xp.asarray(np.stack([draw.permutation(n)[:most] for _ in range(count)]))
    kernel = kernel.copy()
    plus = (signs > 0).astype(float)
    minus = 1 - plus
    of_class = xp.stack([plus / plus.sum(1, keepdims=True), minus / minus.sum(1, keepdims=True)], 1)
    length = xp.sqrt((kernel * kernel).sum(1))
    taken, chosen = xp.zeros((count, n), bool), xp.zeros((count, most), int)
    reverse = criterion.startswith("reverse")
    for step in range(most):
        score = (signs[:, None, :] @ kernel)[:, 0, :] ** 2
        if criterion in ("optimal", "reverse"):
            means = of_class @ kernel
            scatter = (of_class @ (kernel * kernel) - means * means).sum(1)
            score = score / xp.maximum(scatter, 1e-300)
        score = xp.where(xp.isfinite(score), score, 1e300 if reverse else 0)
        score = xp.where(taken, 1e301 if reverse else -1.0, score)
        at = score.argmin(1) if reverse else score.argmax(1)
        chosen[:, step], taken[every, at] = at, True
        if deflation == "none":
            continue
        tau = kernel[every, :, at]
        norm = xp.sqrt((tau * tau).sum(1))
        left = norm > 1e-9 * length[every, at]
        tau = xp.where(left[:, None], tau / xp.maximum(norm, 1e-300)[:, None], 0)
        if deflation == "hotelling":
            kernel -= (tau[:, None, :] @ kernel @ tau[:, :, None]) * tau[:, :, None] * tau[:, None, :]
        elif deflation == "projection":
            kernel -= tau[:, :, None] * (tau[:, None, :] @ kernel)
        else:
            column = kernel @ tau[:, :, None]
            scale = tau[:, None, :] @ column
            kernel -= column @ column.swapaxes(1, 2) / xp.where(xp.abs(scale) > 1e-12, scale, xp.inf)
    return chosen


def each(solver, *stacks):
    """A routine of linear algebra for every matrix of a stack, nan where it fails: CuPy's do so by themselves, NumPy's stop at the first."""
    if xp is not np:
        return solver(*stacks)
    found = []
    for one in zip(*stacks):
        try:
            found.append(solver(*one))
        except np.linalg.LinAlgError:
            found.append(np.full_like(one[-1], np.nan))
    return np.stack(found)


def factors(kernel):
    """Cholesky factors of the inverses, and where there is none."""
    inverse = each(xp.linalg.inv, kernel)
    factor = xp.tril(each(xp.linalg.cholesky, inverse))
    gap = xp.abs(factor @ factor.swapaxes(1, 2) - inverse).max((1, 2)) / xp.abs(inverse).max((1, 2))
    none = ~xp.isfinite(factor).all((1, 2)) | ~(gap < 1e-6) | ~(xp.diagonal(factor, axis1=1, axis2=2) > 0).all(1)
    return xp.where(none[:, None, None], xp.eye(kernel.shape[1]), factor), none


def errors(kernel, others, signs, truth, chosen):
    """The error on other rows of every discriminant at every size, with the threshold half-way between the classes."""
    count, most = chosen.shape
    columns = xp.take_along_axis(kernel, chosen[:, None, :], 2)
    elsewhere = xp.take_along_axis(others, chosen[:, None, :], 2)
    among = xp.take_along_axis(columns, chosen[:, :, None], 1)
    plus = (signs > 0).astype(float)
    minus = 1 - plus
    rows_plus, rows_minus = plus.sum(1)[:, None], minus.sum(1)[:, None]
    found = np.full((count, len(DISCRIMINANTS), len(SIZES)), np.nan)
    for place, size in enumerate(SIZES):
        if size > most:
            continue
        factor, none = factors(among[:, :size, :size])
        with_factor = (columns[:, :, :size] @ factor, elsewhere[:, :, :size] @ factor, none)
        without = (columns[:, :, :size], elsewhere[:, :, :size], xp.zeros(count, bool))
        for base, (features, other_features, fails) in enumerate([with_factor, without]):
            mean_plus = (plus[:, None, :] @ features)[:, 0] / rows_plus
            mean_minus = (minus[:, None, :] @ features)[:, 0] / rows_minus
            square_plus = (features * plus[:, :, None]).swapaxes(1, 2) @ features
            square_minus = (features * minus[:, :, None]).swapaxes(1, 2) @ features
            centred = square_plus / rows_plus[:, None] - mean_plus[:, :, None] * mean_plus[:, None, :]
            centred = centred + square_minus / rows_minus[:, None] - mean_minus[:, :, None] * mean_minus[:, None, :]
            means, sums = mean_plus - mean_minus, rows_plus * mean_plus - rows_minus * mean_minus
            about = square_plus + square_minus
            pairs = [(centred, sums), (centred, means), (about, means), (about, sums)][: 4 if base == 0 else 2]
            for turn, (scatter, numerator) in enumerate(pairs):
                weight = each(xp.linalg.solve, scatter, numerator[:, :, None])[:, :, 0]
                middle = 0.5 * ((weight * mean_plus).sum(1) + (weight * mean_minus).sum(1))
                output = (other_features @ weight[:, :, None])[:, :, 0] - middle[:, None]
                wrong = (~(output * truth > 0)).mean(1)
                found[:, 4 * base + turn, place] = on_host(xp.where(fails, 0.5, wrong))
    return found


class Rows:
    """Training and test rows of the first splits, and of the folds of their training rows."""

    def __init__(self, data, name, splits):
        with np.load(f"{data}/{name}/{name}.npz") as file:
            rows, signs = file["X"].astype(float), file["y"].astype(float)
            train, test = file["train_idx"][:splits], file["test_idx"][:splits]
        draw, folds = np.random.default_rng(7), []
        for one in train:
            order, held = draw.permutation(len(one)), len(one) // FOLDS
            for fold in range(FOLDS):
                out = order[fold * held : (fold + 1) * held]
                kept = draw.permutation(np.setdiff1d(order, out))[: len(one) - held]
                folds.append((one[kept], one[out]))
        kept, out = (np.array(part) for part in zip(*folds))
        self.parts = {"full": (rows[train], signs[train], rows[test], signs[test]), "folds": (rows[kept], signs[kept], rows[out], signs[out])}

    def errors(self, part, width, methods):
        rows, signs, others, truth = self.parts[part]
        count, n = signs.shape
        step = max(1, int(1e8 / n / n)) if xp is not np else count
        found = {method: [] for method in methods}
        for low in range(0, count, step):
            here = [xp.asarray(array[low : low + step]) for array in (rows, signs, others, truth)]
            kernel, beside = gram(here[0], here[0], width), gram(here[2], here[0], width)
            for method in methods:
                chosen = choose(kernel, here[1], *method.split(), min(MOST, n), np.random.default_rng(3 + low))
                found[method].append(errors(kernel, beside, here[1], here[3], chosen))
        return {method: np.concatenate(all) for method, all in found.items()}


def run(data, output, names, splits):
    kept = {}
    for name in names:
        rows = Rows(data, name, splits)
        for width in range(len(WIDTHS)):
            for part in ("full", "folds"):
                for method, found in rows.errors(part, WIDTHS[width], list(PRINTED)).items():
                    kept[f"{name}|{width}|{part}|{method}"] = found
        kept[f"{name}|rows"] = np.array(rows.parts["full"][1].shape[1])
        print(name, "done", flush=True)
        np.savez_compressed(output, **kept)


def known(values):
    return np.where(np.isnan(values), 9, values)


def table(files):
    """Averages over the sets. The width is that of least cross-validation error of the original algorithm, the median of the splits; the
    number of vectors that of least error for every method and split, or the first after which it does not fall."""
    kept = {}
    for file in files:
        with np.load(file) as cells:
            kept.update({key: cells[key] for key in cells.files})
    names = [name for name in SETS if f"{name}|0|full|random none" in kept]
    places = [place for place, size in enumerate(SIZES) if size == 1 or size % 10 == 0]
    sizes = np.array(SIZES)[places]

    def folds(name, width, method, which):
        cells = kept[f"{name}|{width}|folds|{method}"]
        return known(cells.reshape(-1, FOLDS, *cells.shape[1:])[:, :, which].mean(1)[:, places])

    def least(losses):
        return int(losses.argmin())

    def first(losses):
        return next((at for at in range(len(losses) - 1) if losses[at + 1] >= losses[at]), len(losses) - 1)

    print(f"sets: {', '.join(names)}; error % / vectors % of the training rows")
    print("printed: " + "; ".join(f"{method} {error} / {vectors}" for method, (error, vectors) in PRINTED.items()))
    for which, discriminant in enumerate(DISCRIMINANTS):
        chosen = {}
        for name in names:
            all_widths = np.stack([folds(name, width, "optimal schur", which) for width in range(len(WIDTHS))])
            chosen[name] = int(np.median(all_widths.min(2).argmin(0)))
        for title, pick in (("least", least), ("first", first)):
            cells = []
            for method in PRINTED:
                shares, vectors = [], []
                for name in names:
                    full = kept[f"{name}|{chosen[name]}|full|{method}"][:, which][:, places]
                    at = [pick(losses) for losses in folds(name, chosen[name], method, which)]
                    shares.append(np.mean([full[split, place] for split, place in enumerate(at)]))
                    vectors.append(np.mean(sizes[at]) / kept[f"{name}|rows"])
                cells.append(f"{100 * np.mean(shares):.1f} / {100 * np.mean(vectors):.0f}")
            print(f"{discriminant}, {title}: " + "; ".join(cells))


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = asked.add_subparsers(dest="what", required=True)
    one = what.add_parser("run")
    one.add_argument("data")
    one.add_argument("output")
    one.add_argument("--sets", default=",".join(SETS))
    one.add_argument("--splits", type=int, default=5)
    what.add_parser("table").add_argument("files", nargs="+")
    asked = asked.parse_args()
    run(asked.data, asked.output, asked.sets.split(","), asked.splits) if asked.what == "run" else table(asked.files)


if __name__ == "__main__":
    main()
