"""Runs the commands of the documentation whose output is shown below them, and compares.

    python3 docs/transcripts.py FOLDER_OF_THE_PROGRAM [--data-dir DIR] [--write] [PAGE..]

A block of a page that begins with `$ ` is a transcript. The commands of a page run in one folder, in their order, and every line that
stands below a command must be printed by it, on either stream; `..` stands for lines that are not shown. Times, rates and bytes of pages
are not compared. A command whose files are not there, because they need a data set, is left out and listed; with DIR, which has
NAME/NAME.npz, the files NAME-train.npz and NAME-test.npz are there as docs/data.md makes them. --write puts what was printed in the place of
a stale transcript without `..`. Exit status 1: a transcript is stale.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).parent
NOT_THERE = "no such (file|directory)|No such file|not found|this build has no"
BLOCK = re.compile(r"^```(?:text|console)?\n(\$ .*?)^```", re.M | re.S)
MASKS = [
    (re.compile(r"\d[\d,.]* (ms|s|us)\b"), "TIME"),
    (re.compile(r"[\d,.]+ rows a second"), "RATE"),
    (re.compile(r'"seconds":[\d.e-]+'), "SECONDS"),
    (re.compile(r"\d+ kB|\([\d,]+ bytes\)"), "BYTES"),
    (re.compile(r"^((?:full|compressed)(?:, plain loop)? .* [\d,]{5,}) .*"), r"\1"),
    (re.compile(r"(\d\.\d{6})\d+"), r"\1"),
    (re.compile(r" +"), " "),
]


def masked(line: str) -> str:
    for pattern, word in MASKS:
        line = pattern.sub(word, line)
    return line.strip()


def commands(page: str):
    """The commands of a page, each with the text below it."""
    for block in BLOCK.findall(page):
        for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = piece.rstrip("\n").split("\n")
            command = lines.pop(0)
            while lines and command.count("'") % 2:
                command += "\n" + lines.pop(0)
            yield command, "\n".join(lines)


def printed(command: str, folder: str, environment: dict) -> list[str]:
    """What a command prints on either stream. One that does not end, such as a service, prints that its input was not found."""
    try:
        run = subprocess.run(["bash", "-c", command], cwd=folder, env=environment | {"HOME": folder}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return ["not found: an end within five minutes"]
    return run.stdout.splitlines()


def missing(shown: str, lines: list[str]) -> list[str]:
    """The lines shown on a page that were not printed."""
    there = {masked(line) for line in lines}
    return [line for line in shown.split("\n") if line.strip() not in ("", "..") and masked(line) not in there]


def split_into_files(sets: pathlib.Path, folder: str):
    """The first split of each set as files, by the code that docs/data.md shows."""
    code = re.search(r"### A split as files\n.*?```python\n(.*?)```", (DOCS / "data.md").read_text(), re.S)[1]
    for name in ("banana", "german", "image", "usps", "waveform"):
        this = code.replace("german", name).replace("DIR/", f"{sets.resolve()}/")
        subprocess.run([sys.executable, "-c", this], cwd=folder, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_intermixed_args()
    environment = dict(os.environ, PATH=f"{given.program.resolve()}:{os.environ['PATH']}")
    checked, stale, left_out = 0, 0, []
    with tempfile.TemporaryDirectory() as files:
        if given.data_dir:
            split_into_files(given.data_dir, files)
        for page in given.pages or sorted(DOCS.glob("*.md")):
            text = page.read_text()
            with tempfile.TemporaryDirectory() as folder:
                for file in pathlib.Path(files).iterdir():
                    (pathlib.Path(folder) / file.name).symlink_to(file)
                for command, shown in commands(text):
                    lines = printed(command, folder, environment)
                    absent = missing(shown, lines)
                    if absent and any(re.search(NOT_THERE, line) for line in lines):
                        left_out.append(f"{page.name}: {command.splitlines()[0]}")
                        continue
                    checked += 1
                    if not absent:
                        continue
                    stale += 1
                    print(f"{page}: $ {command}", *[f"  on the page: {line}" for line in absent], *[f"  printed:     {line}" for line in lines], sep="\n")
                    if given.write and ".." not in shown.split("\n"):
                        text = text.replace(f"$ {command}\n{shown}", "\n".join([f"$ {command}", *lines]).rstrip())
            if given.write:
                page.write_text(text)
    print(f"{checked} commands checked, {stale} stale, {len(left_out)} left out", *left_out, sep="\n  ")
    return int(stale > 0)


sys.exit(main())
