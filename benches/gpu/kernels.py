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
STAGES, SLOT, FEW_BYTES = 3, 16384, 48 << 10
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
    x = cp.random.standard_normal((n, d + 1))
    x[:, d] = 1
    squares, z = (x[:, :d] ** 2).sum(1), cp.random.standard_normal((m, d))
    z_squares, width = (z**2).sum(1), m + 1
    z = cp.concatenate([z, cp.ones((m, 1))], 1)
    values, coordinates, pulled, inverse = cp.zeros((n, m)), cp.ones((n, width)), cp.zeros((n, m)), cp.tril(cp.random.standard_normal((m, m)))
    tiles = lambda a, b: (-(-a // 64), -(-b // 64))
    took = {}

    def timed(label, name, grid, threads, arguments):
        kernel = function(module, name)
        took[label] = round(median_ms(lambda: kernel(grid, (threads,), arguments), 5), 3)

    timed("kernel_values", "kernel_values", tiles(n, m), 128, (x, squares, z, z_squares, values, i32(n), i32(m), i32(d), f64(1 / d)))
    timed("coordinates", "coordinates", tiles(n, m), 128, (values, inverse, coordinates, i32(width), i32(n), i32(m)))
    weights, outputs = cp.random.standard_normal((q, width)), cp.zeros((n, q))
    timed("outputs", "outputs", tiles(n, q), 128, (coordinates, i32(width), weights, outputs, i32(n), i32(q), i32(width)))
    codes, costs, slopes, curvatures, parts = cp.random.randint(0, q, n).astype(i32), cp.ones(n), cp.zeros((n, q)), cp.zeros((n, q)), cp.zeros(1 << 27)
    timed("losses", "losses", (-(-n // 256),), 256, (outputs, codes, costs, costs, slopes, curvatures, parts, i32(n), i32(q), i32(0)))
    curvatures[:] = (cp.random.random((n, q)) < active) * 2.0
    slopes *= curvatures > 0
    lists, counts, none = cp.zeros((q + 1) * n, i32), cp.zeros(q + 1, i32), np.uint64(0)
    timed("chosen", "chosen", (q + 1,), 1024, (curvatures, i32(q), slopes, i32(q), i32(n), lists, counts))
    many = lambda numbers: max(1, min(32, (1 << 25) // numbers))

    def product(label, a, b, weighted, chosen, groups, lower):
        count = tiles(a[2], b[2])
        grid = (count[0] * count[1], many(a[2] * b[2] * groups), groups)
        timed(label, "sums_tn", grid, 128, (a[0], i32(a[1]), i32(a[2]), i32(a[3]), b[0], i32(b[1]), i32(b[2]), *weighted, *chosen, i32(n), parts, i32(lower)))

    all_rows = (coordinates, width, width, 0)
    product("gradient", all_rows, (slopes, q, q), (none, i32(0)), (none, none), 1, 0)
    product("systems", all_rows, (coordinates, width, width), (curvatures, i32(q)), (lists, counts), q, 1)
    beta = cp.random.standard_normal((m, q))
    timed("pulls", "pulls", tiles(n, m), 128, (slopes, beta, values, pulled, lists[q * n :], counts[q:], i32(m), i32(q), f64(1 / d)))
    product("moved", (pulled, m, m, 1), (x, d + 1, d + 1), (none, i32(0)), (lists[q * n :], counts[q:]), 1, 0)
    print(json.dumps({"training": [n, d, m, q], "rows_with_slopes": int(counts[q]), **took}), flush=True)


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
