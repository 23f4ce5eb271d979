"""Measures what `kernelet export` promises: time to write and compile C, its size on a small device, agreement of every target with kernelet
on a trained machine, and the speed of the ONNX graph beside the SVM node that skl2onnx writes.

    cargo build --release -p kernelet-cli
    python benches/peers/export.py [--repeat K]

Speeds are processor time on one thread, in turns, best of K. What is not installed is left out with a sentence.
"""
import os

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
    os.environ[name] = "1"

import argparse
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WORK = TARGET / "peers" / "export"
KERNELET = TARGET / "release" / "kernelet"


def there_is(tool):
    there = shutil.which(tool) or importlib.util.find_spec(tool)
    if not there:
        print(f"{tool} is not installed: left out.")
    return bool(there)


def seconds(command, **options):
    start = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, cwd=WORK, capture_output=True, text=True, **options)
    return time.perf_counter() - start


def kernelet(*arguments):
    return subprocess.run([KERNELET, *map(str, arguments)], check=True, cwd=WORK, capture_output=True, text=True).stdout


def model_text(rng, vectors, dim, classes=2, name="made.libsvm"):
    """LIBSVM text of a made-up machine."""
    z = rng.normal(size=(vectors, dim))
    coefficients = rng.normal(size=(vectors, classes - 1))
    pairs, counts = classes * (classes - 1) // 2, [vectors // classes] * classes
    counts[-1] += vectors - sum(counts)
    head = ["svm_type c_svc", "kernel_type rbf", f"gamma {1 / dim!r}", f"nr_class {classes}", f"total_sv {vectors}", "rho " + " ".join(["0.1"] * pairs)]
    head += ["label " + " ".join(map(str, range(classes))), "nr_sv " + " ".join(map(str, counts)), "SV"]
    body = [" ".join(map(repr, c.tolist())) + " " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) for c, row in zip(coefficients, z)]
    (WORK / name).write_text("\n".join(head + body) + "\n")


def c_figures(rng):
    model_text(rng, 3000, 256)
    for precision in ["f64", "f32"]:
        written = seconds([KERNELET, "export", "made.libsvm", "-o", "made.c", "--to", "c", "--precision", precision])
        line = f"C, 3,000 vectors x 256 features, {precision}: written in {written:.2f} s"
        if there_is("gcc"):
            line += f", compiled by gcc -O2 in {seconds(['gcc', '-std=c99', '-O2', '-c', 'made.c', '-o', 'made.o']):.2f} s"
        print(line)
    model_text(rng, 30, 64)
    kernelet("export", "made.libsvm", "-o", "small.c", "--to", "c", "--precision", "f32")
    if there_is("arm-none-eabi-gcc"):
        (WORK / "device.c").write_text(
            '#include "small.h"\nvolatile float in[SMALL_FEATURES];\nvolatile long out;\nint main(void)\n{\n    float row[SMALL_FEATURES];\n'
            "    for (int i = 0; i < SMALL_FEATURES; i++) { row[i] = in[i]; }\n    out = small_predict(row);\n    return 0;\n}\n"
        )
        flags = ["-std=c99", "-Os", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-ffunction-sections", "-fdata-sections"]
        flags += ["-Wl,--gc-sections", "--specs=nosys.specs", "--specs=nano.specs"]
        for macros in [[], ["-DSMALL_BUILTIN_EXP"]]:
            seconds(["arm-none-eabi-gcc", *flags, *macros, "device.c", "small.c", "-o", "device.elf", "-lm"])
            size = subprocess.run(["arm-none-eabi-size", "device.elf"], cwd=WORK, capture_output=True, text=True).stdout.split()
            seconds(["arm-none-eabi-gcc", *flags, *macros, "-c", "small.c", "-o", "small.o"])
            own = subprocess.run(["arm-none-eabi-size", "small.o"], cwd=WORK, capture_output=True, text=True).stdout.split()
            print(f"C, 30 vectors x 64 features, f32, Cortex-M4 {' '.join(macros)}: small.o {own[6]} bytes, linked program {size[6]} text, {size[7]} data, {size[8]} bss")


def session(model, onnxruntime):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def trained(dim, rows, classes):
    from sklearn.svm import SVC

    sys.path.insert(0, str(ROOT / "benches" / "peers"))
    from predict import libsvm_text

    rng = np.random.default_rng(dim + rows + classes)
    x, y = rng.normal(size=(rows, dim)), rng.integers(classes, size=rows)
    svc = SVC(C=1.0, gamma=1.0 / dim, decision_function_shape="ovo").fit(x, y)
    (WORK / "trained.libsvm").write_text(libsvm_text(svc))
    return svc


def agreement():
    """Every target against kernelet's own decision values and labels on one trained machine."""
    trained(16, 520, 3)
    x = np.random.default_rng(3).normal(size=(2000, 16)).astype(np.float32)
    np.save(WORK / "rows.npy", x.astype(float))
    want = np.loadtxt(kernelet("predict", "trained.libsvm", "rows.npy", "--values", "decision").splitlines()[1:], delimiter=",")
    labels = np.loadtxt(kernelet("predict", "trained.libsvm", "rows.npy").splitlines())
    report = lambda name, have, label: print(
        f"agreement, 3 classes, {len(x):,} rows: {name} decision values to {np.max(np.abs(have - want)) / max(1, np.max(np.abs(want))):.1e}, labels that differ {np.sum(label != labels)}"
    )
    if there_is("onnxruntime"):
        import onnxruntime

        for name, flags, kind in [("onnx f64", ["--precision", "f64"], float), ("onnx f32", ["--precision", "f32"], np.float32), ("onnx svm", ["--onnx-style", "svm"], np.float32)]:
            kernelet("export", "trained.libsvm", "-o", "trained.onnx", "--to", "onnx", *flags)
            report(name, *session(str(WORK / "trained.onnx"), onnxruntime).run(["decision", "label"], {"row": x.astype(kind)}))
    if there_is("gcc"):
        for precision, scan in [("f64", "%lf"), ("f32", "%f")]:
            kernelet("export", "trained.libsvm", "-o", "trained.c", "--to", "c", "--precision", precision)
            (WORK / "ask.c").write_text(
                '#include <stdio.h>\n#include "trained.h"\nint main(void)\n{\n    trained_real x[TRAINED_FEATURES], o[TRAINED_OUTPUTS];\n    for (;;) {\n'
                f'        for (int i = 0; i < TRAINED_FEATURES; i++) {{ if (scanf("{scan}", &x[i]) != 1) {{ return 0; }} }}\n        trained_outputs(x, o);\n'
                '        for (int k = 0; k < TRAINED_OUTPUTS; k++) { printf("%.17g ", (double)o[k]); }\n        printf("%ld\\n", trained_predict(x));\n    }\n}\n'
            )
            seconds(["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "ask.c", "trained.c", "-o", "ask", "-lm"])
            text = "\n".join(" ".join(map(repr, row)) for row in x.astype(float).tolist())
            have = np.loadtxt(subprocess.run([WORK / "ask"], input=text, capture_output=True, text=True, check=True).stdout.splitlines())
            report(f"C {precision}", have[:, :-1], have[:, -1])
    if there_is("libsvm"):
        from libsvm.svm import c_double, gen_svm_nodearray, libsvm
        from libsvm.svmutil import svm_load_model

        kernelet("compress", "trained.libsvm", "-o", "compressed.model", "--vectors", "40")
        kernelet("export", "compressed.model", "-o", "compressed.libsvm", "--to", "libsvm")
        want = np.loadtxt(kernelet("predict", "compressed.model", "rows.npy", "--values", "decision").splitlines()[1:], delimiter=",")
        labels = np.loadtxt(kernelet("predict", "compressed.model", "rows.npy").splitlines())
        model, have, predicted = svm_load_model(str(WORK / "compressed.libsvm")), [], []
        for row in x.astype(float):
            values = (c_double * 3)()
            predicted.append(libsvm.svm_predict_values(model, gen_svm_nodearray(dict(enumerate(row, 1)))[0], values))
            have.append(list(values))
        worst = np.max(np.abs(np.array(have) - want)) / max(1, np.max(np.abs(want)))
        print(f"agreement, compressed to 40 vectors: LIBSVM decision values to {worst:.1e}, labels that differ {np.sum(np.array(predicted) != labels)}")


def speed(repeat):
    """The graph of plain operators beside skl2onnx's SVM node, in single precision."""
    import onnxruntime
    from skl2onnx import to_onnx

    print("| features | vectors | classes | skl2onnx, s | ours, s | times |\n|---|---|---|---|---|---|")
    for dim, rows, classes, count in [(16, 50, 2, 20000), (16, 500, 2, 20000), (16, 2500, 2, 5000), (256, 500, 2, 5000), (256, 2500, 2, 1000), (16, 500, 10, 5000)]:
        svc = trained(dim, rows, classes)
        x = np.random.default_rng(7).normal(size=(count, dim)).astype(np.float32)
        kernelet("export", "trained.libsvm", "-o", "trained.onnx", "--to", "onnx", "--precision", "f32")
        theirs = session(to_onnx(svc, x[:1], options={"zipmap": False, "raw_scores": True}).SerializeToString(), onnxruntime)
        ours = session(str(WORK / "trained.onnx"), onnxruntime)
        best = [np.inf, np.inf]
        for _ in range(repeat):
            for i, (run, name) in enumerate([(theirs, theirs.get_inputs()[0].name), (ours, "row")]):
                start = time.thread_time()
                run.run(None, {name: x})
                best[i] = min(best[i], time.thread_time() - start)
        print(f"| {dim} | {len(svc.support_)} | {classes} | {best[0]:.4f} | {best[1]:.4f} | {best[0] / best[1]:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    c_figures(np.random.default_rng(1))
    agreement()
    if there_is("onnxruntime") and there_is("skl2onnx"):
        speed(options.repeat)


if __name__ == "__main__":
    main()
