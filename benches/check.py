"""Instruction counts of ten hot paths beside those of a baseline, so that regressions show on noisy machines too.

    make bench-check            fails where a count is more than 5 % above benches/instructions.json
    make bench-check-accept     writes the counts as the new baseline

Every path is a run of the program with one thread on the built-in digits. Instructions are counted by valgrind, which knows no AVX-512: the program runs
with AVX2 there, whatever the processor, so that counts of two x86-64 machines agree. Counts of another architecture have a baseline of their own; one that
has none is reported and passes. A run takes some minutes, because valgrind is slow.
"""
import argparse
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BASELINE = ROOT / "benches" / "instructions.json"
MOST = 1.05
DIRECT = ["--gamma", "4e-4", "--c", "10", "--vectors", "40", "--iterations", "20"]
# name: the command line; FULL and SMALL are models, TRAIN and TEST rows.
PATHS = {
    "predict": ["predict", "FULL", "TRAIN", "-o", "OUT"],
    "predict, single precision": ["predict", "FULL", "TRAIN", "-o", "OUT", "--precision", "f32"],
    "predict, few vectors": ["predict", "SMALL", "TRAIN", "-o", "OUT"],
    "train a full machine": ["train", "TRAIN", "-o", "MODEL", "--gamma", "4e-4", "--c", "10"],
    "train directly": ["train", "TRAIN", "-o", "MODEL", *DIRECT],
    "train logistic directly": ["train", "TRAIN", "-o", "MODEL", "--learner", "logistic", *DIRECT],
    "train on a greedy basis": ["train", "TRAIN", "-o", "MODEL", "--gamma", "4e-4", "--c", "10", "--vectors", "40", "--method", "greedy-basis"],
    "kernel PCA": ["train", "TRAIN", "-o", "MODEL", "--learner", "pca", "--gamma", "4e-4", "--components", "10"],
    "compress by pursuit": ["compress", "FULL", "-o", "MODEL", "--vectors", "60", "--method", "pursuit"],
    "compress by auto": ["compress", "FULL", "-o", "MODEL", "--vectors", "20", "--data", "TRAIN"],
}


def count(program, arguments):
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", str(program), *arguments, "--threads", "1", "--quiet"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", ran.stderr)
    if ran.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(command)}\n{ran.stderr}")
    return int(found.group(1).replace(",", ""))


def counts(program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run = lambda *arguments: subprocess.run([str(program), *arguments, "--quiet"], check=True, capture_output=True, cwd=folder)
        run("demo", "-o", "digits")
        places = {"TRAIN": folder / "digits" / "train.svm", "FULL": folder / "digits" / "digits.model", "SMALL": folder / "small.model"}
        places |= {"MODEL": folder / "new.model", "OUT": folder / "out"}
        run("compress", str(places["FULL"]), "-o", str(places["SMALL"]), "--vectors", "30", "--method", "pursuit")
        return {name: count(program, [str(places.get(part, part)) for part in parts]) for name, parts in PATHS.items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "kernelet")
    arguments.add_argument("--accept", action="store_true", help="write the counts as the new baseline")
    given = arguments.parse_args()
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    here, found = platform.machine(), counts(given.program)
    if given.accept:
        BASELINE.write_text(json.dumps(baseline | {here: found}, indent=2) + "\n")
    before = found if given.accept else baseline.get(here, {})
    print("| path | instructions (millions) | beside the baseline |\n|---|---|---|")
    for name, number in found.items():
        ratio = f"{number / before[name]:.3f}" if name in before else "no baseline"
        print(f"| {name} | {number / 1e6:.0f} | {ratio} |")
    if not before:
        print(f"no baseline for {here}: nothing is compared; make bench-check-accept writes one")
    slower = [name for name, number in found.items() if number > MOST * before.get(name, number)]
    if slower:
        sys.exit(f"more than {100 * (MOST - 1):.0f} % above the baseline: {', '.join(slower)}")


if __name__ == "__main__":
    main()
