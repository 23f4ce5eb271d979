"""Prediction and training on an NVIDIA card, beside torch on the same card in the same run.

    python benches/gpu/bench.py CORE [--data-dir DIR] [--parts resident,hard,streamed,crossover,mnist,covtype,compress]

CORE is the folder of the Python extension (`_core*.so`); DIR has mnist.npz and covtype.npz. Needs numpy, and torch for rows that lie on the card.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np


def load_core(folder):
    file = next(Path(folder).glob("_core*.so"))
    spec = importlib.util.spec_from_file_location("kernelet._core", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def machine_of(core, z, beta, gamma, offsets=None):
    """A Gaussian machine with these vectors and coefficients."""
    about = {"kernel": {"name": "gaussian", "gamma": gamma}, "decision": {"rule": "features"}}
    return core.Machine.of_parts(json.dumps(about), z, beta, list(offsets or [0.0] * beta.shape[1]))


def array(tensor):
    """A torch tensor as `outputs_on_card` takes it."""
    return (tensor.data_ptr(), tensor.element_size() == 8, *tensor.shape)


def median_ms(work, repeats=9):
    import torch

    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        clock = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - clock) * 1e3)
    return statistics.median(times)


def exact(x, z, beta, gamma, rows):
    """Outputs of some rows in double precision, on the card."""
    import torch

    x, z, beta = (torch.as_tensor(a, device="cuda").double() for a in (x[rows], z, beta))
    out = []
    for part in x.split(50):
        out.append(torch.exp(-gamma * ((part[:, None, :] - z[None]) ** 2).sum(2)) @ beta)
    return torch.cat(out)


def torch_outputs(x, z, beta, gamma):
    import torch

    square = (x * x).sum(1, keepdim=True) + (z * z).sum(1)[None] - 2 * (x @ z.T)
    return torch.exp(-gamma * square.clamp_min(0)) @ beta


def relative(have, want):
    return float((have.double() - want).norm() / want.norm())


def resident(core):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    for n, m, d, q in [(1_000_000, 2500, 256, 1), (1_000_000, 2500, 256, 10), (1_000_000, 100, 54, 1), (1_000_000, 100, 54, 10), (200_000, 300, 784, 10), (100_000, 1000, 100, 45)]:
        torch.manual_seed(1)
        x, z, beta = torch.randn(n, d, device="cuda"), torch.randn(m, d, device="cuda"), torch.randn(m, q, device="cuda")
        gamma, out = 1 / d, torch.full((n, q), float("nan"), device="cuda")
        machine = machine_of(core, z.double().cpu().numpy(), beta.double().cpu().numpy(), gamma).on("gpu")
        work = lambda: machine.outputs_on_card(array(x), array(out), torch.cuda.current_stream().cuda_stream)
        mine = median_ms(work)
        first = out.clone()
        out.fill_(float("nan"))
        work()
        rows = torch.randperm(n, device="cuda")[:500]
        want = exact(x, z, beta, gamma, rows)
        row = {"n": n, "m": m, "d": d, "q": q, "kernelet_ms": round(mine, 3), "error": relative(out[rows], want), "same_bits": bool(torch.equal(first, out))}
        block = min(n, 100_000)  # the kernel matrix of all rows would not be kept by a careful program either
        eager = lambda: [torch_outputs(part, z, beta, gamma) for part in x.split(block)]
        row["torch_ms"] = round(median_ms(eager, 5), 3)
        row["torch_error"] = relative(torch.cat(eager())[rows], want)
        compiled = torch.compile(torch_outputs)
        row["compiled_ms"] = round(min(median_ms(lambda: [compiled(part, z, beta, gamma) for part in x.split(b)], 5) for b in {block, n}), 3)
        row["compiled_by_kernelet"] = round(row["compiled_ms"] / mine, 2)
        print(json.dumps(row), flush=True)


def hard(core):
    """Accuracy where single precision is short of digits."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    n, m, d = 20_000, 1000, 100
    for kind in ("offset 1000", "scales 0.01 to 100", "outlier rows", "pixels"):
        torch.manual_seed(2)
        a = torch.randn(n + m, d, device="cuda", dtype=torch.float64)
        if kind.startswith("offset"):
            a += 1000
        elif kind.startswith("scales"):
            a *= 10 ** torch.linspace(-2, 2, d, device="cuda", dtype=torch.float64)
        elif kind.startswith("outlier"):
            a[::7] *= 50
        else:
            a = (a - 0.5).clamp(0, 1)
        x, z = a[:n].float(), a[n:].float()
        gamma = float(1 / ((x[:m].double() - z.double()) ** 2).sum(1).median())
        beta = torch.randn(m, 1, device="cuda")
        machine = machine_of(core, z.double().cpu().numpy(), beta.double().cpu().numpy(), gamma).on("gpu")
        out = torch.empty(n, 1, device="cuda")
        machine.outputs_on_card(array(x), array(out), 0)
        rows = torch.arange(0, n, 20, device="cuda")
        want = exact(x, z, beta, gamma, rows)
        mean = z.mean(0)
        print(json.dumps({"data": kind, "error": relative(out[rows], want), "torch_fp32": relative(torch_outputs(x, z, beta, gamma)[rows], want),
                          "torch_fp32_centred": relative(torch_outputs(x - mean, z - mean, beta, gamma)[rows], want)}), flush=True)


def best_seconds(work, repeats):
    times = []
    for _ in range(repeats):
        clock = time.perf_counter()
        work()
        times.append(time.perf_counter() - clock)
    return min(times)


def streamed(core, threads):
    rng = np.random.default_rng(1)
    n, m, d = 1_000_000, 2500, 256
    x = np.empty((n, d), dtype=np.float32)
    for part in np.array_split(np.arange(n), 50):
        x[part] = rng.standard_normal((len(part), d), dtype=np.float32)
    z, beta = rng.standard_normal((m, d)), rng.standard_normal((m, 1))
    machine = machine_of(core, z, beta, 1 / d).on("gpu")
    for many in sorted({1, 4, 8, threads}):
        seconds = best_seconds(lambda: machine.outputs(x, many), 4)
        print(json.dumps({"streamed_GB": x.nbytes / 1e9, "threads": many, "ms": round(seconds * 1e3, 1)}), flush=True)
    doubles = x[:200_000].astype(np.float64)
    seconds = best_seconds(lambda: machine.outputs(doubles, threads), 3)
    print(json.dumps({"streamed_GB_of_f64": doubles.nbytes / 1e9, "threads": threads, "ms": round(seconds * 1e3, 1)}), flush=True)
    cpu = machine_of(core, z, beta, 1 / d)
    some = x[:20_000]
    seconds = best_seconds(lambda: cpu.outputs(some, threads), 2)
    print(json.dumps({"rows": len(some), "cpu_ms": round(seconds * 1e3, 1), "threads": threads, "largest_difference": float(np.abs(cpu.outputs(some, threads) - machine.outputs(some, threads)).max())}), flush=True)


def crossover(core, threads):
    rng = np.random.default_rng(1)
    for m, d in [(100, 20), (100, 54), (2500, 256)]:
        z, beta = rng.standard_normal((m, d)), rng.standard_normal((m, 1))
        cpu = machine_of(core, z, beta, 1 / d)
        card = cpu.on("gpu")
        for n in [1, 100, 1000, 10_000, 100_000]:
            x = rng.standard_normal((n, d)).astype(np.float32)
            repeats = 5 if n * m * d > 1e9 else 20
            row = {"m": m, "d": d, "rows": n, "gpu_ms": round(best_seconds(lambda: card.outputs(x, threads), repeats) * 1e3, 3)}
            row["cpu_1_ms"] = round(best_seconds(lambda: cpu.outputs(x, 1), 2) * 1e3, 3)
            row[f"cpu_{threads}_ms"] = round(best_seconds(lambda: cpu.outputs(x, threads), repeats) * 1e3, 3)
            print(json.dumps(row), flush=True)


def trained(core, request, x, labels, codes, threads):
    clock = time.perf_counter()
    machine, _, metrics, _ = core.train(json.dumps(request), x, labels=labels, codes=codes, threads=threads)
    return machine, json.loads(metrics)[0]["objective"], json.loads(machine.description())["report"], time.perf_counter() - clock


def mnist(core, data, threads, steps):
    with np.load(Path(data) / "mnist.npz") as z:
        x, y, xt, yt = (z[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    x, xt = (a.reshape(len(a), -1) / 255.0 for a in (x, xt))
    labels, codes = [str(k) for k in range(10)], y.astype(np.uint32)
    for vectors, iterations in steps:
        request = {"learner": "svc", "gamma": 0.02, "c": 10, "vectors": vectors, "iterations": iterations, "device": "gpu"}
        runs = []
        for _ in range(2):
            machine, value, report, seconds = trained(core, request, x, labels, codes, threads)
            runs.append(machine.to_bytes())
        error = float((machine.classes(xt, threads) != yt).mean())
        print(json.dumps({"set": "mnist", "vectors": vectors, "iterations": iterations, "W": value, "test_error": error, "seconds": round(seconds, 2),
                          "passes": report.get("evaluations", 0) / len(x) / vectors, "same_bits": runs[0] == runs[1]}), flush=True)


def covtype(core, data, threads):
    with np.load(Path(data) / "covtype.npz") as z:
        x, y = z["X"], z["y"]
    x = x.astype(np.float64)
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-12)
    names, codes = np.unique(y, return_inverse=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:500_000], order[500_000:]
    request = {"learner": "svc", "gamma": 0.05, "c": 1, "vectors": 100, "iterations": 100, "device": "gpu"}
    machine, value, report, seconds = trained(core, request, np.ascontiguousarray(x[train]), [str(v) for v in names], codes[train].astype(np.uint32), threads)
    error = float((machine.classes(np.ascontiguousarray(x[test]), threads) != codes[test]).mean())
    print(json.dumps({"set": "covtype", "classes": len(names), "vectors": 100, "iterations": 100, "W": value, "test_error": error, "seconds": round(seconds, 2)}), flush=True)


def compressed(core, data, threads):
    """A large machine made smaller on 20,000 rows: what `compress` trains is trained on the card, beside the processor."""
    with np.load(Path(data) / "mnist.npz") as z:
        x, y, xt, yt = (z[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    x, xt = (a.reshape(len(a), -1) / 255.0 for a in (x, xt))
    labels, codes = [str(k) for k in range(10)], y.astype(np.uint32)
    request = {"learner": "svc", "gamma": 0.02, "c": 10, "vectors": 1000, "iterations": 50, "device": "gpu"}
    full = trained(core, request, x, labels, codes, threads)[0]
    rows = np.ascontiguousarray(x[:20_000])
    for device in ("gpu", "cpu"):
        clock = time.perf_counter()
        request = {"vectors": 100, "labels": True, "device": device}
        small, _, about = core.compress(json.dumps(request), full, rows, codes=codes[:20_000], threads=threads)
        seconds = time.perf_counter() - clock
        error, about = float((small.classes(xt, threads) != yt).mean()), json.loads(about)
        tried = {attempt["way"]: round(attempt["seconds"], 2) for attempt in about["tried"]}
        print(json.dumps({"set": "mnist", "compressed": [1000, 100], "device": device, "test_error": error, "seconds": round(seconds, 2), "method": about["method"], "tried": tried}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("core")
    parser.add_argument("--data-dir", default=".")
    parser.add_argument("--parts", default="resident,hard,streamed,crossover,mnist,covtype,compress")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--mnist", default="300x200,300x300,100x200", help="VECTORSxITERATIONS,..")
    chosen = parser.parse_args()
    core, parts = load_core(chosen.core), chosen.parts.split(",")
    print(core.devices(), flush=True)
    z, beta = np.zeros((1, 2)), np.ones((1, 1))
    clock = time.perf_counter()
    machine_of(core, z, beta, 1.0).on("gpu")
    print(json.dumps({"open_ms": round((time.perf_counter() - clock) * 1e3, 1)}), flush=True)
    clock = time.perf_counter()
    machine_of(core, z, beta, 1.0).on("gpu")
    print(json.dumps({"again_ms": round((time.perf_counter() - clock) * 1e3, 1)}), flush=True)
    steps = [tuple(int(v) for v in step.split("x")) for step in chosen.mnist.split(",")]
    known = {
        "resident": lambda: resident(core),
        "hard": lambda: hard(core),
        "streamed": lambda: streamed(core, chosen.threads),
        "crossover": lambda: crossover(core, chosen.threads),
        "mnist": lambda: mnist(core, chosen.data_dir, chosen.threads, steps),
        "covtype": lambda: covtype(core, chosen.data_dir, chosen.threads),
        "compress": lambda: compressed(core, chosen.data_dir, chosen.threads),
    }
    for part in parts:
        if part in known:
            clock = time.perf_counter()
            try:
                known[part]()
            except Exception as error:  # the other parts are still worth their time
                print(json.dumps({"part": part, "failed": f"{type(error).__name__}: {error}"}), file=sys.stdout, flush=True)
            print(json.dumps({"part": part, "took_s": round(time.perf_counter() - clock, 1)}), flush=True)


if __name__ == "__main__":
    main()
