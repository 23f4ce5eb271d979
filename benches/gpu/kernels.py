"""The kernels alone, on rows that lie on the card, by events of the card, beside torch on the same card.

    python benches/gpu/kernels.py [crates/kernelet/src/device/kernels/sm_90.z]

Needs CuPy, which loads the compiled kernels as they are, and torch. Errors are relative root mean squares against double precision.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path

import cupy as cp
import numpy as np
import torch

f32, f64, i32 = np.float32, np.float64, np.int32
LOG2E = float(np.log2(np.e))
STAGES, SLOT, FEW_BYTES, SOLVERS = 3, 16384, 48 << 10, 384
SHAPES = [(1_000_000, 2500, 256, 1), (1_000_000, 2500, 256, 10), (1_000_000, 100, 54, 1), (1_000_000, 100, 54, 10), (200_000, 300, 784, 10)]


def load(packed):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(zlib.decompress(Path(packed).read_bytes()))
        file.flush()
        cp.zeros(1)  # the context of the card is opened before the clock runs
        clock = time.perf_counter()
        module = cp.RawModule(path=file.name)
        module.get_function("split_f32")
        print(json.dumps({"module_load_ms": round((time.perf_counter() - clock) * 1e3, 2)}), flush=True)
        return module


def function(module, name, shared=0):
    found = module.get_function(name)
    if shared > FEW_BYTES:
        found.max_dynamic_shared_size_bytes = shared
    return found


def median_ms(work, repeats=9):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end))
    return statistics.median(times)


def fragments(values, steps, blocks):
    """Second factors of the tensor cores, as `packed.rs` lays them out."""
    padded = np.zeros((steps * 16, blocks * 8), f32)
    padded[: values.shape[0], : values.shape[1]] = values
    high = padded.astype(np.float16)
    low = (padded - high.astype(f32)).astype(np.float16)
    out = np.zeros((steps, blocks, 32, 4, 2), np.float16)
    lane = np.arange(32)
    for step in range(steps):
        for part in range(2):
            for place in range(2):
                rows = step * 16 + part * 8 + lane % 4 * 2 + place
                columns = np.arange(blocks)[:, None] * 8 + lane[None] // 4
                out[step, :, :, part, place] = high[rows[None], columns]
                out[step, :, :, 2 + part, place] = low[rows[None], columns]
    return cp.asarray(out.view(np.uint32))


def power(values):
    return 2.0 ** (7 - np.floor(np.log2(np.abs(values).max())))


def relative(have, want):
    return float(f"{float(cp.linalg.norm(have.astype(f64) - want) / cp.linalg.norm(want)):.2e}")


def prediction(module, n, m, d, q):
    x, z, beta = (cp.random.standard_normal(shape, dtype=f32) for shape in ((n, d), (m, d), (m, q)))
    gamma, out = 1 / d, cp.full((n, q), np.nan, f32)
    mean = cp.asnumpy(z.astype(f64).mean(0))
    centre = cp.asarray(np.stack([mean.astype(f32), (mean - mean.astype(f32)).astype(f32)], 1).ravel())
    factor, host, host_beta = cp.ones(d, f32), (cp.asnumpy(z).astype(f64) - mean).astype(f32), cp.asnumpy(beta)
    scale = np.array([power(host_beta[:, k]) for k in range(q)])
    blocks = 1 << (-(-q // 8) - 1).bit_length()
    scales = cp.asarray(np.concatenate([1 / scale, [0]]).astype(f32))
    padded, rows_of_tiles = -(-d // 32) * 32, -(-m // 128) * 128
    rows = cp.arange(0, n, n // 300)
    want = cp.exp(-gamma * ((x[rows].astype(f64)[:, None] - z.astype(f64)[None]) ** 2).sum(2)) @ beta.astype(f64)
    found = {"n": n, "m": m, "d": d, "q": q}
    if d <= 64 and m <= 112 and q <= 16:
        steps, pairs = 1 << (-(-d // 16) - 1).bit_length(), 2 * -(-m // 16)
        largest = power(host)
        vectors, few_beta = fragments((host.T * largest).astype(f32), steps, pairs), fragments((host_beta * scale).astype(f32), pairs // 2, -(-q // 8))
        squares = np.zeros(pairs * 8, f32)
        squares[:m] = -gamma * LOG2E * (host.astype(f64) ** 2).sum(1)
        squares, shared = cp.asarray(squares), 512 * (steps * pairs + pairs // 2 * -(-q // 8)) + 4 * (pairs * 8 + 48 * steps)
        few = function(module, f"small_{steps}_{-(-q // 8)}", shared)
        grid = 2 * cp.cuda.Device().attributes["MultiProcessorCount"]
        arguments = (x, centre, factor, vectors, squares, few_beta, scales, out, i32(n), i32(d), i32(pairs), i32(q), f32(-gamma * LOG2E), f32(2 * gamma * LOG2E / largest))
        found["small_ms"] = round(median_ms(lambda: few((grid,), (256,), arguments, shared_mem=shared)), 4)
        found["small_error"] = relative(out[rows], want)
    high, low, numbers = cp.empty((n, padded), np.uint16), cp.empty((n, padded), np.uint16), cp.empty((n, 2), f32)
    z_high, z_low, z_numbers = cp.zeros((rows_of_tiles, padded), np.uint16), cp.zeros((rows_of_tiles, padded), np.uint16), cp.zeros((rows_of_tiles, 2), f32)
    split, square = function(module, "split_f32"), f32(-gamma * LOG2E)
    split_rows = lambda: split((-(-n // 8),), (256,), (x, centre, factor, high, low, numbers, i32(n), i32(d), i32(padded), square))
    split((-(-m // 8),), (256,), (z, centre, factor, z_high, z_low, z_numbers, i32(m), i32(d), i32(padded), square))
    wide, coefficients = padded > 256, fragments((host_beta * scale).astype(f32), rows_of_tiles // 16, blocks)
    shared = max(2 * STAGES * SLOT if wide else (padded // 32 + STAGES) * SLOT, SLOT * blocks)
    kernel = function(module, f"gaussian{'_wide' if wide else ''}_{blocks}", shared)
    arguments = (high, low, numbers, z_high, z_low, z_numbers, coefficients, scales, out, i32(n), i32(m), i32(padded), i32(not wide), i32(q), i32(q), f32(2 * gamma * LOG2E), i32(0), f32(0), f32(0))
    run = lambda: kernel((-(-n // 128),), (256,), arguments, shared_mem=shared)
    found["split_ms"] = round(median_ms(split_rows), 3)
    found["kernel_ms"] = round(median_ms(run), 3)
    first = out.copy()
    out.fill(np.nan)
    run()
    found |= {"same_bits": bool((first == out).all()), "error": relative(out[rows], want)}
    xs = x[rows]
    found["fp32_error"] = relative(cp.exp(f32(-gamma) * cp.maximum((xs * xs).sum(1)[:, None] + (z * z).sum(1)[None] - 2 * xs @ z.T, 0)) @ beta, want)
    print(json.dumps(found), flush=True)


def training(module, n, d, m, q, active):
    """The kernels of training, each beside the same in plain products: times, and the largest differences as parts of the largest numbers."""
    even, tiles, none = lambda k: -(-k // 2) * 2, lambda a, b, side=64: (-(-a // 64) * -(-b // side),), np.uint64(0)
    gamma, width, took, errors = 1 / d, m + 1, {}, {}
    space = lambda rows, columns: cp.full((rows, even(columns)), np.nan)

    def padded(a):
        b = space(*a.shape)
        b[:, : a.shape[1]] = a
        return b

    def timed(label, *launches):
        kernels = [(function(module, name), *rest) for name, *rest in launches]

        def run():
            for kernel, grid, threads, arguments in kernels:
                kernel(grid, (threads,), arguments)

        stream = cp.cuda.Stream(non_blocking=True)
        cp.cuda.Device().synchronize()
        with stream:
            run()
            stream.begin_capture()
            for _ in range(10):
                run()
            graph = stream.end_capture()
            took[label] = round(median_ms(lambda: graph.launch(stream), 5) / 10, 4)

    def compare(label, have, want):
        errors[label] = float(abs(have - want).max() / abs(want).max())

    x = cp.random.standard_normal((n, d))
    z, centre = x[:m] + 0.1, cp.random.standard_normal(d)
    rows, squares = padded(cp.concatenate([x, cp.ones((n, 1))], 1)), (x**2).sum(1)
    laid, z_squares = space(m, d + 1), cp.empty(m)
    timed("laid", ("laid", (m,), 256, (z + centre, centre, laid, z_squares, i32(d), i32(even(d + 1)))))
    values, own = space(n, m), space(m, m)
    of = lambda a, a_squares, out, count: ("kernel_values", tiles(count, m), 128, (a, a_squares, laid, z_squares, out, i32(even(m)), i32(count), i32(m), i32(d), i32(even(d + 1)), f64(gamma)))
    timed("kernel_values", of(rows, squares, values, n))
    timed("own_values", of(laid, z_squares, own, m))
    compare("kernel_values", values[:, :m], cp.exp(-gamma * cp.maximum(squares[:, None] + z_squares[None] - 2 * x @ z.T, 0)))
    factor, inverse, wrong = space(m, m), space(m, m), cp.ones(q)
    framed = ("framed", (m,), 256, (own, factor, inverse, i32(even(m)), f64(1e-10)))
    timed("frame", framed, ("factored", (1,), SOLVERS, (factor, i32(m), i32(even(m)), inverse, i32(even(m)), i32(m), i32(1), wrong)), ("turned", (m,), 256, (inverse, i32(even(m)))))
    compare("frame", inverse[:, :m] @ (own[:, :m] + 1e-10 * cp.eye(m)) @ inverse[:, :m].T, cp.eye(m))
    coordinates = space(n, width)
    timed("coordinates", ("coordinates", tiles(n, m), 128, (values, i32(even(m)), inverse, i32(even(m)), coordinates, i32(even(width)), i32(n), i32(m), i32(1))))
    v = coordinates[:, :width]
    compare("coordinates", v[:, :m], values[:, :m] @ inverse[:, :m].T)
    weights, outputs = padded(0.1 * cp.random.standard_normal((q, width))), space(n, q)
    timed("outputs", ("outputs", tiles(n, q, 16), 128, (coordinates, i32(even(width)), weights, i32(even(width)), outputs, i32(even(q)), i32(n), i32(q), i32(width))))
    compare("outputs", outputs[:, :q], v @ weights[:, :width].T)
    codes, costs, slopes, curvatures = cp.random.randint(0, q, n).astype(i32), cp.ones(n), space(n, q), cp.empty((n, q))
    blocks, parts, losses = -(-n // 256), cp.full(1 << 26, np.nan), cp.empty(q + 1)
    lost = ("losses", (blocks,), 256, (outputs, codes, none, costs, slopes, curvatures, parts, i32(n), i32(q), i32(even(q)), i32(0)))
    timed("losses", lost, ("add_many", (q + 1,), 256, (parts, losses, i32(q + 1), i32(blocks))))
    side = cp.where(codes[:, None] == cp.arange(q)[None], 1.0, -1.0)
    compare("losses", losses[:q], (cp.maximum(1 - side * outputs[:, :q], 0) ** 2).sum(0))
    # As after some steps of a search: few rows are on the wrong side.
    curvatures[:] = (cp.random.random((n, q)) < active) * 2.0
    slopes[:, :q] *= curvatures > 0
    lists, counts, found = cp.zeros((q + 1, n), i32), cp.zeros(q + 1, i32), cp.zeros((q + 1) * -(-n // 1024), i32)
    looked = (curvatures, i32(q), slopes, i32(q), i32(even(q)), i32(n), found)
    timed("chosen", *((name, (-(-n // 1024), q + 1), 1024, looked + more) for name, more in (("counted", ()), ("chosen", (lists, counts)))))
    chosen = cp.nonzero((slopes[:, :q] != 0).any(1))[0]
    compare("chosen", lists[q, : len(chosen)], chosen)

    def product(label, a, b, out, weighted, listed, groups, lower):
        (a, a_columns, close), (b, b_columns) = a, b
        narrow = b_columns <= 16
        count = tiles(a_columns, b_columns, 16 if narrow else 64)[0]
        worked, size = -(-count // 2) if lower else count, a_columns * b_columns
        many = max(1, min(128, 768 // (worked * groups)))
        arguments = (a, i32(even(a_columns)), i32(a_columns), i32(close), b, i32(even(b_columns)), i32(b_columns), *weighted, *listed, i32(n), parts, i32(lower))
        summed = ("narrow_sums_tn" if narrow else "sums_tn", (count, many, groups), 128, arguments)
        timed(label, summed, ("add_parts", (-(-size // 256), groups), 256, (parts, out, i32(size), i32(many), i32(b_columns), i32(lower), listed[1], i32(n))))

    sloping, s = (lists[q:], counts[q:]), slopes[:, :q]
    gradient, systems = cp.empty((width, q)), cp.empty((q, width, width))
    product("gradient", (coordinates, width, 0), (slopes, q), gradient, (none, i32(0)), sloping, 1, 0)
    compare("gradient", gradient, v.T @ s)
    product("systems", (coordinates, width, 0), (coordinates, width), systems, (curvatures, i32(q)), (lists, counts), q, 1)
    full = cp.stack([(v * curvatures[:, k : k + 1]).T @ v for k in range(q)])
    compare("systems", cp.tril(systems), cp.tril(full))
    steps, promised, stride = space(q, width), cp.empty(q), i32(even(width))
    prepared = ("prepared", (q,), 256, (systems, gradient, weights, steps, stride, i32(m), i32(width), i32(q), i32(1)))
    factored = ("factored", (q,), SOLVERS, (systems, i32(width), i32(width), steps, stride, i32(1), i32(0), wrong))
    solved = ("solved", (q,), SOLVERS, (systems, steps, stride, wrong, promised, i32(width), i32(1)))
    for name, grid, threads, arguments in (prepared, factored, solved):
        function(module, name)(grid, (threads,), arguments)
    full += cp.diag(cp.append(cp.ones(m), 0))[None]
    full[:, m, m] = full[:, m, m] * (1 + 1e-12) + 1e-12
    want = gradient.T.copy()
    want[:, :m] += weights[:, :m]
    compare("steps", steps[:, :width], -cp.linalg.solve(full, want[:, :, None])[:, :, 0])
    timed("factored", factored)
    timed("solved", solved)
    beta, pulled = space(m, q), space(n, m)
    timed("coefficients", ("coefficients", (-(-m // 32), q), 256, (inverse, i32(even(m)), weights, stride, beta, i32(even(q)), i32(m))))
    compare("coefficients", beta[:, :q], inverse[:, :m].T @ weights[:, :m].T)
    timed("pulls", ("pulls", tiles(n, m), 128, (slopes, beta, i32(even(q)), values, pulled, i32(even(m)), *sloping, i32(m), i32(q), f64(gamma))))
    moved = cp.empty((m, d + 1))
    product("moved", (pulled, m, 1), (rows, d + 1), moved, (none, i32(0)), sloping, 1, 0)
    compare("moved", moved, -gamma * ((s[chosen] @ beta[:, :q].T) * values[chosen, :m]).T @ rows[chosen, : d + 1])
    print(json.dumps({"training": [n, d, m, q], "rows_with_slopes": len(chosen), "largest_error": max(errors.values()), "errors": errors, "ms": took}), flush=True)


def beside_torch():
    torch.backends.cuda.matmul.allow_tf32 = False
    warnings.simplefilter("ignore")

    def outputs(x, z, beta, gamma):
        square = (x * x).sum(1, keepdim=True) + (z * z).sum(1)[None] - 2 * (x @ z.T)
        return torch.exp(-gamma * square.clamp_min(0)) @ beta

    compiled = torch.compile(outputs)
    for n, m, d, q in SHAPES[:4]:
        x, z, beta = torch.randn(n, d, device="cuda"), torch.randn(m, d, device="cuda"), torch.randn(m, q, device="cuda")
        row = {"n": n, "m": m, "d": d, "q": q}
        for name, work in (("torch_ms", outputs), ("torch_compile_ms", compiled)):
            times = []
            for _ in range(8):
                torch.cuda.synchronize()
                clock = time.perf_counter()
                work(x, z, beta, 1 / d)
                torch.cuda.synchronize()
                times.append((time.perf_counter() - clock) * 1e3)
            row[name] = round(statistics.median(times[3:]), 3)
        print(json.dumps(row), flush=True)


def main():
    packed = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "crates/kernelet/src/device/kernels/sm_90.z"
    module = load(packed)
    for shape in SHAPES:
        prediction(module, *shape)
        cp.get_default_memory_pool().free_all_blocks()
    for shape in ((60_000, 784, 300, 10, 0.1), (500_000, 54, 100, 7, 0.3)):
        training(module, *shape)
        cp.get_default_memory_pool().free_all_blocks()
    beside_torch()


if __name__ == "__main__":
    main()
