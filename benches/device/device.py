"""Instructions of a row, flash and RAM of machines on microcontrollers, under QEMU, beside m2cgen, micromlgen and emlearn.

Needs arm-none-eabi-gcc with newlib, qemu-system-arm, and for RISC-V riscv64-unknown-elf-gcc and qemu-system-riscv32; what is missing is left out with a sentence.
QEMU counts instructions (`-icount shift=0`); it does not model cycles. Flash is what the model adds to a program that has everything else; RAM is static
data and the stack of a prediction. Run by `make bench-device`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

HERE = Path(__file__).resolve().parent
KERNELET = os.environ.get("KERNELET", HERE.parent.parent / "target" / "release" / "kernelet")
ROWS = 20
ARM = ["arm-none-eabi-gcc", "--specs=nosys.specs", "-mthumb"]
BOARDS = {
    "M0+": (ARM + ["-mcpu=cortex-m0plus"], "arm.ld", ["qemu-system-arm", "-machine", "mps2-an386"]),
    "M4": (ARM + ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"], "arm.ld", ["qemu-system-arm", "-machine", "mps2-an386"]),
    "RV32": (["riscv64-unknown-elf-gcc", "-march=rv32imac", "-misa-spec=2.2", "-mabi=ilp32", "-mcmodel=medany", "-nostdlib"], "riscv.ld",
             ["qemu-system-riscv32", "-machine", "virt", "-bios", "none"]),
}


def run(command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-600:]}")
    # QEMU prints what the device prints on standard error.
    return done.stdout or done.stderr


def sizes(program):
    text, data, bss = run(["size", program]).splitlines()[1].split()[:3]
    return int(text) + int(data), int(data) + int(bss)


def build(board, folder, sources, program):
    compiler, script, _ = BOARDS[board]
    libraries = ["-lgcc"] if board == "RV32" else ["-lm", "-lc", "-lgcc"]
    run([*compiler, "-Os", "-ffreestanding", "-fno-builtin-printf", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-nostartfiles",
         "-T", HERE / script, f"-I{folder}", HERE / "start.c", HERE / "main.c", *sources, *libraries, "-o", program], cwd=folder)


def measure(board, folder, sources, head, kind, rows):
    """Flash and RAM that the model adds, the stack and the instructions of a row, and the labels."""
    values = ",".join(str(value) for value in rows.ravel())
    plain = f"#define FEATURES {rows.shape[1]}\n#define ROWS {len(rows)}\nstatic const {kind} device_rows[] = {{{values}}};\n"
    programs = []
    for name, text, parts in [("empty", f"{plain}static int label_of(const {kind} *row) {{ return (int)row[0]; }}\n", []), ("whole", plain + head, sources)]:
        (folder / "device_model.h").write_text(text)
        programs.append(folder / f"{name}.elf")
        build(board, folder, parts, programs[-1])
    (flash, ram), (empty_flash, empty_ram) = sizes(programs[1]), sizes(programs[0])
    qemu = BOARDS[board][2]
    printed = run([*qemu, "-nographic", "-monitor", "none", "-serial", "null", "-semihosting-config", "enable=on,target=native", "-icount", "shift=0", "-kernel", programs[1]])
    numbers = [int(word) for word in printed.split()]
    return {"flash": flash - empty_flash, "ram": ram - empty_ram + numbers[0], "instructions": numbers[1], "labels": numbers[2:]}


def available(board):
    missing = [tool for tool in (BOARDS[board][0][0], BOARDS[board][2][0]) if shutil.which(tool) is None]
    if missing:
        print(f"{board} is left out: {' and '.join(missing)} not installed")
    return not missing


def table(path, X, y):
    names = ",".join(f"f{j}" for j in range(X.shape[1]))
    lines = [",".join([*(repr(float(value)) for value in row), str(label)]) for row, label in zip(X, y)]
    path.write_text("\n".join([f"{names},y", *lines]) + "\n")


def array_of(source, name):
    return np.array([float(word.strip().rstrip("f")) for word in re.search(rf"{name}\[[^\]]*\] = {{([^}}]*)}}", source).group(1).split(",")])


def kernelet_parts(folder, precision, X):
    """Sources, head, type of a row and rows of the C export, whose ranges of features are those of the training rows."""
    run([KERNELET, "export", folder / "m.model", "-o", folder / "model.c", "--to", "c", "--precision", precision, "--data", folder / "train.csv", "--json", "--quiet"])
    head = '#include "model.h"\nstatic int label_of(const TYPE *row) { return (int)model_predict(row); }\n'
    if precision == "f32":
        return [folder / "model.c"], head.replace("TYPE", "float"), "float", X
    source = (folder / "model.c").read_text()
    scaled = (X - array_of(source, "model_zero")) * array_of(source, "model_rate")
    most = 127 if precision == "i8" else 32767
    whole = np.clip(np.sign(scaled) * np.floor(np.abs(scaled) + 0.5), -most, most).astype(int)
    kind = "int8_t" if precision == "i8" else "int16_t"
    return [folder / "model.c"], head.replace("TYPE", kind), kind, whole


def error_of(folder, sources, head, kind, rows, wanted):
    """The error of the code on rows, in per cent: compiled for this machine, where it computes the same."""
    values = ",".join(str(value) for value in rows.ravel())
    (folder / "error.c").write_text(
        f"#include <stdio.h>\n#include <stdint.h>\n{head}static const {kind} rows[] = {{{values}}};\n"
        f'int main(void) {{ for (int i = 0; i < {len(rows)}; i++) printf("%d\\n", label_of(rows + i * {rows.shape[1]})); return 0; }}\n'
    )
    run([os.environ.get("CC", "cc"), "-O1", folder / "error.c", *sources, "-lm", "-o", folder / "error"])
    return 100 * np.mean(np.array(run([folder / "error"]).split(), dtype=int) != wanted)


def network_of(X, y, test, wanted, error):
    """The smallest network whose error on the test rows is not above this one, or the largest."""
    for units in (16, 32, 64, 128, 256):
        network = MLPClassifier((units,), max_iter=2000, random_state=0).fit(X, y)
        if 100 * np.mean(network.predict(test) != wanted) <= error:
            break
    return network


def peers(folder, X, y, test, wanted, error):
    """Name, estimator, sources, head, type and rows of the peers' code; networks are to reach an error."""
    rows = test[:ROWS]
    scale = StandardScaler().fit(X)
    full = SVC(C=10, gamma=1 / X.shape[1]).fit(scale.transform(X), y)
    scaled = scale.transform(rows)
    try:
        import m2cgen

        (folder / "m2cgen.c").write_text(m2cgen.export_to_c(full))
        pairs = len(full.classes_) * (len(full.classes_) - 1) // 2
        votes = ("int v[CLASSES] = {0}; int k = 0; for (int a = 0; a < CLASSES; a++) for (int b = a + 1; b < CLASSES; b++) v[f[k++] > 0 ? a : b]++;"
                 " int best = 0; for (int c = 1; c < CLASSES; c++) if (v[c] > v[best]) best = c; return best;")
        if len(full.classes_) == 2:
            votes, pairs = "return f[0] > 0;", 1
            head = f"double score(double *input);\nstatic int label_of(const double *row) {{ double f[1] = {{ score((double *)row) }}; {votes} }}\n"
        else:
            head = (f"#define CLASSES {len(full.classes_)}\nvoid score(double *input, double *output);\n"
                    f"static int label_of(const double *row) {{ double f[{pairs}]; score((double *)row, f); {votes} }}\n")
        yield f"m2cgen, SVC of {len(full.support_)} vectors", full, [folder / "m2cgen.c"], head, "double", scaled
    except Exception as failure:
        print(f"m2cgen is left out: {failure}")
    try:
        import micromlgen

        text = micromlgen.port(full)
        body = re.sub(r"^#pragma once\s*(#include.*\s*)*", "", text)
        (folder / "micromlgen.cpp").write_text(f"#include <math.h>\n#include <stdarg.h>\n#include <stdint.h>\n{body}\nstatic Eloquent::ML::Port::SVM machine;\nextern \"C\" int micromlgen_label(const float *x) {{ return machine.predict((float *)x); }}\n")
        head = "int micromlgen_label(const float *x);\nstatic int label_of(const float *row) { return micromlgen_label(row); }\n"
        yield f"micromlgen, SVC of {len(full.support_)} vectors", full, [folder / "micromlgen.cpp"], head, "float", scaled
    except Exception as failure:
        print(f"micromlgen is left out: {failure}")
    try:
        import emlearn

        network = network_of(scale.transform(X), y, scale.transform(test), wanted, error)
        # It leaves a folder where it runs.
        with contextlib.chdir(folder):
            emlearn.convert(network, method="inline").save(file=str(folder / "network.h"), name="network")
        include = emlearn.includedir
        (folder / "network.c").write_text(f'#include "{include}/eml_net.h"\n#include "network.h"\nint network_label(const float *x) {{ return network_predict((float *)x, {X.shape[1]}); }}\n')
        head = "int network_label(const float *x);\nstatic int label_of(const float *row) { return network_label(row); }\n"
        yield f"emlearn, MLP of {network.hidden_layer_sizes[0]} hidden units", network, [f"-I{include}", folder / "network.c"], head, "float", scaled
    except Exception as failure:
        print(f"emlearn is left out: {failure}")


def main():
    boards = [board for board in BOARDS if available(board)]
    print("| set | code | error, % | board | flash, bytes | RAM, bytes | instructions a row |\n|---|---|---|---|---|---|---|")
    for name, load in [("digits", load_digits), ("breast cancer", load_breast_cancer), ("wine", load_wine)]:
        X, y = load(return_X_y=True)
        X, test, y, wanted = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            table(folder / "train.csv", X, y)
            scaling = "none" if name == "digits" else "standard"
            run([KERNELET, "train", folder / "train.csv", "-o", folder / "m.model", "--vectors", 30, "--scale", scaling, "--gamma", "0.001" if name == "digits" else "scale", "--c", 10, "--quiet", "--json"])
            for precision in ["f32", "i16", "i8"]:
                sources, head, kind, rows = kernelet_parts(folder, precision, test)
                error = error_of(folder, sources, head, kind, rows, wanted)
                if not boards:
                    print(f"| {name} | kernelet, 30 vectors, {precision} | {error:.2f} |", flush=True)
                for board in boards:
                    if board == "RV32" and precision == "f32":
                        continue
                    show(name, f"kernelet, 30 vectors, {precision}", error, board, measure(board, folder, sources, head, kind, rows[:ROWS]))
            for title, estimator, sources, head, kind, rows in peers(folder, X, y, test, wanted, error):
                error = 100 * np.mean(estimator.predict(StandardScaler().fit(X).transform(test)) != wanted)
                for board in [board for board in boards if board != "RV32"]:
                    try:
                        found = measure(board, folder, sources, head, kind, np.asarray(rows, dtype=float))
                    except (RuntimeError, subprocess.TimeoutExpired) as failure:
                        print(f"{title} on {board} is left out: {failure}")
                        continue
                    show(name, title, error, board, found)


def show(name, title, error, board, found):
    print(f"| {name} | {title} | {error:.2f} | {board} | {found['flash']:,} | {found['ram']:,} | {found['instructions']:,} |", flush=True)


if __name__ == "__main__":
    main()
