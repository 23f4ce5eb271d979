"""All benchmarks in small form, on one page: what is measured, with which versions, on which machine.

    make benchmarks [DATA=DIR] [PARTS=curve,prediction,..] [TINY=1]

The page is target/benchmarks/README.md with its charts beside it, or goes to --output FOLDER. Every part is a script of its own, which its section names; a part that
fails, takes longer than its time or lacks its data says so, and the others go on. TINY=1 runs each with as little as it takes to see that it works; its
figures mean nothing.
"""
import argparse
import datetime
import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
PROGRAM = os.environ.get("KERNELET", str(TARGET / "release" / "kernelet"))
sys.path.insert(0, str(ROOT / "benches"))
import chart  # noqa: E402

PACKAGES = ["numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "libsvm-official", "onnxruntime", "skl2onnx"]


class Part:
    """A section of the page: its title, the script with its arguments, also in the tiny form, and the minutes that it may take."""

    def __init__(self, title, words, tiny, minutes, needs_data=False, environment=None):
        self.title, self.words, self.tiny, self.minutes = title, words, tiny, minutes
        self.needs_data, self.environment = needs_data, environment or {}


def parts(instruction_sets):
    prediction = {
        f"prediction-{name}": Part(f"Prediction, {name.upper()}", "peers/predict.py", "--rows 500 --repeat 1", 6, environment={"KERNELET_SIMD": name})
        for name in instruction_sets
    }
    return {
        "curve": Part("Error against vectors", "peers/curve.py --set digits --output {folder}/curve.svg", "--sizes 5,10", 3),
        "curve-usps": Part("Error against vectors, USPS", "peers/curve.py --set usps --data-dir {data} --output {folder}/curve-usps.svg", "--sizes 5,10", 8, True),
        **prediction,
        "training": Part("Training the full machine", "peers/peers.py --repeat 2", "--repeat 1 --only reading", 8),
        "compression": Part("Compression", "peers/compress.py --data-dir {data} --sets banana image --splits 2", "--skip-noisy --sets banana --splits 1", 8, True),
        "tabular": Part("Tables", "peers/tabular.py --data-dir {data} --sets german,image,kin8nm --splits 2 --trials 6 --slow-splits 0",
                        "--sets german --splits 1 --trials 1 --rows 200", 10, True),
        "out-of-core": Part("Rows that do not fit into the memory given", "peers/out_of_core.py", "--rows 20000 --iterations 3 --vectors 5", 6),
        "gpu": Part("On an NVIDIA card", "gpu/bench.py {core} --data-dir {data} --parts load,resident", "", 5),
    }


def output(*words, **options):
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"model name\s*: (.*)", text)
    return found[1] if found else output("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor() or "unknown"


def machine():
    """What the figures were measured on."""
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} (not installed: left out)")
    about = output(PROGRAM, "--version", "--verbose").splitlines()
    rows = [("date", datetime.date.today().isoformat()), ("processor", f"{processor()}, {os.cpu_count()} cores"), ("system", platform.platform()),
            ("compiler", output("rustc", "--version")), ("Python", platform.python_version()), ("packages", ", ".join(versions)),
            ("kernelet", "; ".join(" ".join(line.split()) for line in about)), ("revision", output("git", "rev-parse", "--short", "HEAD", cwd=ROOT)),
            ("load before", f"{os.getloadavg()[0]:.1f}" + ("" if os.getloadavg()[0] < 0.5 else ": **other programs are running; read times as ranges**"))]
    return "| | |\n|---|---|\n" + "".join(f"| {name} | {value} |\n" for name, value in rows)


def run(name, part, asked, folder):
    """The section of a part, with what it printed."""
    command = f"python benches/{part.words}" + (f" {part.tiny}" if asked.tiny else "")
    shown = command.format(data="DIR", folder="target/benchmarks", core="CORE")
    shown = " ".join([*(f"{key}={value}" for key, value in part.environment.items()), shown])
    section = f"\n## {part.title}\n\n`{shown}`\n\n"
    if part.needs_data and not asked.data:
        return section + "Left out: it needs the benchmark sets, DATA=DIR.\n"
    core = next(iter((TARGET / "release").glob("lib_core.so")), None)
    if name == "gpu" and (not core or '"devices":[]' in output(PROGRAM, "devices", "--json").replace(" ", "")):
        return section + "Left out: there is no NVIDIA card, or no Python extension in target/release.\n"
    words = command.format(data=asked.data, folder=folder, core=core and core.parent).split()
    environment = {**os.environ, **part.environment}
    start = time.perf_counter()
    try:
        ran = subprocess.run([sys.executable, *words[1:]], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60 * part.minutes)
        text = ran.stdout if ran.returncode == 0 else f"{ran.stdout}\nFailed:\n\n```text\n{ran.stderr[-1500:]}\n```\n"
    except subprocess.TimeoutExpired as late:
        text = f"{(late.stdout or b'').decode()}\nEnded after {part.minutes} minutes.\n"
    if text and not re.search(r"^\|", text, re.M):
        text = f"```text\n{text.strip()}\n```"
    charts = "".join(f"\n![{part.title}]({file.name})\n" for file in sorted(folder.glob(f"{name}.svg")))
    return section + text.strip() + f"\n{charts}\n({time.perf_counter() - start:.0f} s)\n"


def bars(folder, page):
    """Charts of the tables of training times: one bar for each program, the speed-up of kernelet as the tables have it is left to them."""
    found = re.findall(r"^\| ([^|]*?) \|.*?\| (kernelet|LIBSVM|scikit-learn) \| ([0-9.]+) \|", page, re.M)
    values, case = {}, ""
    for name, program, seconds in found:
        case = name or case
        values[f"{program}, {case}"] = float(seconds)
    if values:
        (folder / "training.svg").write_text(chart.bars("Training the full machine", "s", values))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of the benchmark sets, NAME/NAME.npz")
    parser.add_argument("--parts", help="names of parts between commas; all without it")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=TARGET / "benchmarks")
    asked = parser.parse_args()
    folder = asked.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    widest = re.search(r"instructions\s+(\S+)", output(PROGRAM, "--version", "--verbose"))
    sets = {"avx512": ["avx512", "avx2"], "avx2": ["avx2"]}.get(widest[1] if widest else "", ["portable"])
    all_parts = parts(sets)
    names = asked.parts.split(",") if asked.parts else list(all_parts)
    unknown = [name for name in names if name not in all_parts]
    if unknown:
        raise SystemExit(f"there is no part {', '.join(unknown)}; there are {', '.join(all_parts)}")
    page = "# Benchmarks of one run\n\nHow fast and how good is kernelet beside other programs on this machine? Written by `make benchmarks`; nothing was edited.\n\n"
    page += ("**A tiny run, to see that everything works: its figures mean nothing.**\n\n" if asked.tiny else "") + machine()
    for name in names:
        print(f"{name} ..", file=sys.stderr, flush=True)
        section = run(name, all_parts[name], asked, folder)
        if name == "training":
            bars(folder, section)
            section += "\n![Training the full machine](training.svg)\n" if (folder / "training.svg").exists() else ""
        page += section
        (folder / "README.md").write_text(page)
    print(folder / "README.md")


if __name__ == "__main__":
    main()
