"""Training in the page of the studio beside the program with one thread and without SIMD: processor time of both in turn, digits with 30 vectors.

Needs chromium and the page that `make studio` makes. Run by `make bench-studio`.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "target" / "studio" / "index.html"
KERNELET = os.environ.get("KERNELET", ROOT / "target" / "release" / "kernelet")
SETTINGS = {"gamma": "0.0004", "c": "10"}


class Browser:
    """A browser that is asked over pipes."""

    def __init__(self, program, folder):
        (read, self.to), (self.answers, write) = os.pipe(), os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile"]
        # The browser reads descriptor 3 and writes descriptor 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{read} 4>&{write}', program, *flags], pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.asked, self.session, self.rest = 0, None, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.navigate", url=PAGE.as_uri())

    def call(self, method, **parameters):
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.answers, 1 << 20)
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.asked:
                return answer["result"]

    def value(self, expression):
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def until(self, expression):
        self.value(f"(async () => {{ while (!({expression})) await new Promise(go => setTimeout(go, 100)); }})()")


def worker_seconds(root):
    """Processor time of the worker threads of a process and its children."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    inside = {root}
    while more := {child for child, parent in parents.items() if parent in inside} - inside:
        inside |= more
    total = 0.0
    for process in inside:
        for task in Path(f"/proc/{process}/task").glob("*"):
            try:
                if (task / "comm").read_text().startswith("DedicatedWorker"):
                    total += int((task / "schedstat").read_text().split()[0]) / 1e9
            except OSError:
                pass
    return total


def native(folder):
    """Processor time and objective of the program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [KERNELET, "train", f"{folder}/demo/train.svm", "-o", f"{folder}/model", "--vectors", "30", "--threads", "1", "--json"]
    command += [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
    done = subprocess.run([str(word) for word in command], env=os.environ | {"KERNELET_SIMD": "portable"}, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)["objective"]


def main():
    program = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if program is None or not PAGE.exists():
        sys.exit("needs chromium, and the page: make studio")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        subprocess.run([KERNELET, "demo", "-o", f"{folder}/demo", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        browser = Browser(program, folder)
        browser.until("document.body?.dataset.ready")
        browser.value("byId('digits').click()")
        browser.until("page.opened.rows")
        question = json.dumps({"do": "train", "settings": SETTINGS, "vectors": 30})
        here, there = [], []
        for _ in range(int(os.environ.get("REPEAT", 9))):
            seconds, objective = native(folder)
            there.append(seconds)
            before = worker_seconds(browser.process.pid)
            reached = browser.value(f"ask({question}).then(({{ answer }}) => answer.objective)")
            here.append(worker_seconds(browser.process.pid) - before)
        browser.process.kill()
        browser.process.wait()
    median = statistics.median(there)
    print(f"the page: {PAGE.stat().st_size:,} bytes")
    print(f"objective in the page {reached:.7g}, of the program {objective:.7g}")
    print(f"program {median:.3f} s ({min(there):.3f} to {max(there):.3f}); page {statistics.median(here):.3f} s ({min(here):.3f} to {max(here):.3f}), first {here[0]:.3f} s")
    print(f"ratio of the medians {statistics.median(here) / median:.2f}, of the first run {here[0] / median:.2f}")


if __name__ == "__main__":
    main()
