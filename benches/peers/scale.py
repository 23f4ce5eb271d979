"""What training on rows without end costs: memory, passes, processor time, faults.

    make bench-scale [DATA=DIR] [PARTS=memory,text,fused,stream,driver,faults,constants] [FOLDER=DIR]

`memory`: NumPy arrays of 2 and of 4 GB (10^7 rows of 50 features) with --blocks always --memory 64: the largest memory of the run, its time, the error on
other rows. `text`: LIBSVM text with a cache, twice: bytes read and processor time. `fused` (DATA=DIR): passes and W after 60 steps with rounds that are left
out early, beside exact ones, by the example program `scale`. `stream` (DATA=DIR): partial_fit over 25 blocks of covtype, class 2 against the rest. `driver`: processor time of the calling
process with the scheduler for a pass over 8 and over 64 partitions. `faults`: workers that are killed, lost for good or stopped, and a source that is gone, while they
train. `constants`: processor time of a row in a pass, bytes and time of asks and answers, from which docs/scale.md estimates larger runs.
Big files are written to FOLDER and deleted afterwards.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

try:
    import dask
    from kernelet import dask as module
except ImportError:
    # Memory, text and fused passes need the program alone.
    dask = module = None

PROGRAM = pathlib.Path(os.environ.get("KERNELET", "target/release/kernelet"))
PARTS = ["memory", "text", "fused", "stream", "driver", "faults", "constants"]

# What a child process reports of the run that it waits for: the largest memory in MB, processor seconds, bytes read. A new process is counted from what its
# parent had, so that the parent must be small.
WATCH = """
import json, resource, subprocess, sys
ran = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
read = sum(int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("rchar"))
print(json.dumps({"code": ran.returncode, "out": ran.stdout, "err": ran.stderr, "peak": used.ru_maxrss / 1024, "cpu": used.ru_utime + used.ru_stime, "read": read}))
"""


def kernelet(*flags):
    ran = subprocess.run([sys.executable, "-c", WATCH, str(PROGRAM), *map(str, flags), "--quiet", "--json"], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    if found["code"] != 0:
        raise SystemExit(f"kernelet {' '.join(map(str, flags))}\n{found['err']}")
    return json.loads(found["out"]), found


def crosses(rows, dim, seed):
    """Two classes in four clouds of the first two features, crosswise; the other features are noise of a quarter of their size."""
    draw = np.random.default_rng(seed)
    X = 0.25 * draw.normal(size=(rows, dim))
    X[:, :2] = draw.uniform(-3, 3, size=(rows, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(float)


def write_crosses(path, rows, dim, chunk=100_000):
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(rows, dim + 1))
    for number, first in enumerate(range(0, rows, chunk)):
        X, y = crosses(min(chunk, rows - first), dim, number)
        array[first : first + len(y), :dim], array[first : first + len(y), dim] = X, y
    array.flush()
    return path


def memory(folder, _):
    dim, flags = 50, ["--vectors", 10, "--iterations", 3, "--gamma", 0.1, "--c", 10, "--blocks", "always", "--memory", 64]
    test = folder / "test.npy"
    X, y = crosses(100_000, dim, 10**6)
    np.save(test, np.c_[X, y])
    print("| rows | file GB | peak MB | processor s | wall s | error % on other rows |\n|---|---|---|---|---|---|")
    for rows in (5_000_000, 10_000_000):
        big = write_crosses(folder / "big.npy", rows, dim)
        begun = time.time()
        _, used = kernelet("train", big, "-o", folder / "big.model", *flags)
        wall = time.time() - begun
        error = kernelet("evaluate", folder / "big.model", test)[0]["error"]
        print(f"| {rows:,} | {big.stat().st_size / 1e9:.2f} | {used['peak']:.0f} | {used['cpu']:.0f} | {wall:.0f} | {100 * error:.2f} |", flush=True)
        big.unlink()


def text(folder, _):
    X, y = crosses(200_000, 50, 0)
    source, cache = folder / "rows.svm", folder / "rows.cache"
    with open(source, "w") as out:
        for row, label in zip(X, y):
            out.write(f"{label:g} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(row)) + "\n")
    flags = ["--vectors", 10, "--iterations", 1, "--gamma", 0.1, "--c", 10, "--blocks", "always", "--memory", 64, "--cache", cache]
    print(f"text of {source.stat().st_size / 1e6:.0f} MB\n\n| run | bytes read, MB | in caches of rows, MB | processor s |\n|---|---|---|---|")
    for run in ("first", "second"):
        _, used = kernelet("train", source, "-o", folder / "text.model", *flags)
        print(f"| {run} | {used['read'] / 1e6:.0f} | {cache.stat().st_size / 1e6:.0f} | {used['cpu']:.1f} |", flush=True)
    # Nothing of the text is read again: the same file, of which only the name, the size and the time are left.
    about = source.stat()
    with open(source, "r+b") as out:
        out.truncate(0)
        out.truncate(about.st_size)
    os.utime(source, ns=(about.st_atime_ns, about.st_mtime_ns))
    kernelet("train", source, "-o", folder / "again.model", *flags)
    print("a text of zeros with the same size and time trains the same machine:", (folder / "again.model").read_bytes() == (folder / "text.model").read_bytes())
    source.unlink()
    cache.unlink()


def fused(folder, data):
    example = PROGRAM.parent / "examples" / "scale"
    draw = np.random.default_rng(0)
    cover = np.load(data / "covtype" / "covtype.npz")
    rows = draw.permutation(len(cover["y"]))[:20_000]
    X = cover["X"][rows].astype(float)
    X = (X - X.mean(0)) / np.maximum(X.std(0), 1e-9)
    np.savez(folder / "covtype.npz", X=X, y=(cover["y"][rows] == 2).astype(int))
    digits = np.load(data / "usps" / "usps.npz")
    np.savez(folder / "usps.npz", X=digits["X_train"].astype(float), y=digits["y_train"])
    for name, vectors, gamma in [("covtype", 50, 0.1), ("usps", 30, 1 / 128)]:
        print(f"{name}: " + subprocess.run([example, folder / f"{name}.npz", str(vectors), str(gamma), "60"], capture_output=True, text=True, check=True).stdout.strip(), flush=True)


def stream(_, data):
    from kernelet import SparseSVC

    cover = np.load(data / "covtype" / "covtype.npz")
    order = np.random.default_rng(0).permutation(len(cover["y"]))
    X, y = cover["X"][order].astype(float), (cover["y"][order] == 2).astype(int)
    X = (X - X[:20_000].mean(0)) / np.maximum(X[:20_000].std(0), 1e-9)
    model, begun = SparseSVC(100, C=10, gamma=0.1, random_state=0), time.process_time()
    for block in np.array_split(np.arange(500_000), 25):
        model.partial_fit(X[block], y[block])
    print(f"partial_fit over 25 blocks of 20,000 rows: error {100 * (1 - model.score(X[500_000:], y[500_000:])):.2f} % on the other rows, {time.process_time() - begun:.0f} s of processor time")


def partitions(rows=80_000, blocks=8, load=None):
    import dask.array as da
    from dask import delayed

    size = rows // blocks
    load = load or (lambda number: crosses(size, 20, number))
    parts = [delayed(load, nout=2)(number) for number in range(blocks)]
    X = da.concatenate([da.from_delayed(part[0], (size, 20), float) for part in parts])
    return X, da.concatenate([da.from_delayed(part[1], (size,), float) for part in parts])


def machine(client, **more):
    from kernelet.dask import DaskSparseSVC

    options = {"iterations": 20, **more}
    return DaskSparseSVC(30, C=10, gamma=0.05, random_state=0, client=client, options=options)


def bits(model):
    return model.vectors_.tobytes() + model.coefficients_.tobytes()


def driver(*_):
    import distributed

    # The scheduler is in this process, and the workers are not.
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        machine(client).fit(*partitions())
        for blocks in (8, 64):
            X, y = partitions(10_000 * 8, blocks)
            begun = time.process_time()
            model = machine(client).fit(X, y)
            used = time.process_time() - begun
            print(f"driver and scheduler: {1000 * used / model.n_passes_:.0f} ms of processor time a pass at {blocks} partitions, {model.n_passes_} passes, all of fit included", flush=True)


def faults(folder, _):
    """Workers without a nanny do not come back; those of LocalCluster do."""
    import distributed
    from kernelet import SparseSVC

    whole = SparseSVC(30, C=10, gamma=0.05, random_state=0, options={"iterations": 20})
    want = bits(whole.fit_blocks([crosses(10_000, 20, number) for number in range(8)]))
    print("| what happens in pass 6, or 20 where the source is deleted | s | end |\n|---|---|---|")

    def trained(name, client, change, load=None, when=6, **options):
        passes, once = [], module._Passes._once

        def counted(self, ask):
            passes.append(1)
            if len(passes) == when:
                threading.Thread(target=change).start()
                time.sleep(0.05)
            return once(self, ask)

        module._Passes._once, begun = counted, time.time()
        try:
            end = "the same bits" if bits(machine(client, **options).fit(*partitions(load=load))) == want else "OTHER BITS"
        except Exception as error:  # noqa: BLE001
            end = f"{type(error).__name__}: {error}"
        finally:
            module._Passes._once = once
        print(f"| {name} | {time.time() - begun:.0f} | {end} |", flush=True)

    @contextlib.contextmanager
    def cluster():
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made, distributed.Client(made) as client:
            yield client, list(client.run(os.getpid).values())

    kill = lambda pids: [os.kill(pid, signal.SIGKILL) for pid in pids]  # noqa: E731
    for name, count in [("nothing", 0), ("one worker is killed", 1)]:
        with cluster() as (client, pids):
            trained(name, client, lambda: kill(pids[:count]))  # noqa: B023
    source, away, checkpoint = folder / "source", folder / "away", folder / "checkpoint.model"
    source.mkdir()
    for number in range(8):
        np.savez(source / f"{number}.npz", *crosses(10_000, 20, number))
    path = str(source)

    def from_file(number):
        with np.load(f"{path}/{number}.npz") as file:
            return file["arr_0"], file["arr_1"]

    with cluster() as (client, pids):

        def lost():
            source.rename(away)
            kill(pids[:1])

        trained("the source is deleted and a worker killed", client, lost, from_file, when=20, checkpoint=str(checkpoint))
    print(f"| the checkpoint | | loads, {SparseSVC.load(checkpoint).vectors_.shape[0]} vectors |")
    away.rename(source)
    with cluster() as (client, _):
        trained("the source is back, the same call", client, lambda: None, from_file, checkpoint=str(checkpoint))
    for name, ttl, number in [("one worker is lost for good", "5 minutes", signal.SIGKILL), ("one worker is stopped, worker-ttl 15 s", "15s", signal.SIGSTOP)]:
        with dask.config.set({"distributed.scheduler.worker-ttl": ttl}), distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as made:
            with distributed.Client(made) as client:
                command = [sys.executable, "-m", "distributed.cli.dask_worker", made.scheduler_address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
                workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
                client.wait_for_workers(2)
                trained(name, client, lambda: workers[0].send_signal(number))  # noqa: B023
                [worker.kill() for worker in workers]
    # Last, because it ends only where the machine can start workers in the time that Dask gives them.
    with cluster() as (client, pids):
        trained("both workers are killed", client, lambda: kill(pids))


def constants(folder, _):
    """One thread, so that processor time is time; a sum of two answers is what a merge costs."""
    from kernelet import SparseSVC, _core, _passes

    m, dim, rows = 100, 54, 100_000
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(rows, dim)), draw.integers(0, 2, rows)
    spent, asked, answered, merged, tried = [], [], [], [], _passes.sums_of

    def timed(block, first, ask, classes=None, threads=1):
        begun = time.process_time()
        answer = tried(block, first, ask, classes, threads)
        spent.append(time.process_time() - begun)
        asked.append(len(ask))
        answered.append(len(answer))
        begun = time.process_time()
        if b'"fit"' in answer[:200]:
            [_core.add_sums([answer, answer]) for _ in range(20)]
            merged.append((time.process_time() - begun) / 20)
        return answer

    _passes.sums_of = timed
    try:
        model = SparseSVC(m, C=10, gamma=1 / dim, random_state=0, n_jobs=1, options={"iterations": 10}).fit_blocks([(X, y)])
    finally:
        _passes.sums_of = tried
    print(f"m = {m}, d = {dim}, q = 1, {rows:,} rows, one thread: {1e6 * np.median(spent[1:]) / rows:.2f} microseconds of a row in a pass (scout {1e6 * spent[0] / rows:.2f}); ask {max(asked) / 1e3:.0f} kB, answer {max(answered[1:]) / 1e3:.0f} kB, two answers added in {1e3 * np.median(merged):.2f} ms; {model.n_passes_} passes in 10 steps")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--parts", default=",".join(PARTS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for part in given.parts.split(","):
            if part in ("fused", "stream") and not given.data_dir:
                print(f"{part} needs DATA=DIR; it is left out")
                continue
            print(f"\n## {part}\n", flush=True)
            globals()[part](pathlib.Path(folder), given.data_dir)


if __name__ == "__main__":
    main()
