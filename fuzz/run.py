"""Runs a fuzz target for SECONDS of its own processor time, however busy the machine is: python3 fuzz/run.py BINARY CORPUS SECONDS [OPTIONS of libFuzzer].

The output of libFuzzer goes to standard error; at the end a line with what was done goes to standard output. Ends with 1 where there was a finding.
"""
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid):
    """User and system time of a process, from the fields behind its name."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def main():
    binary, corpus, seconds, *options = sys.argv[1:]
    command = [binary, corpus, "-print_final_stats=1", "-handle_usr1=1", *options]
    # Temporary files in memory: waiting for a disk finds nothing.
    folder = {"TMPDIR": "/dev/shm"} if os.path.isdir("/dev/shm") else {}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace", env=os.environ | folder
    )
    text = []

    def take():
        for line in process.stderr:
            text.append(line)
            sys.stderr.write(line)

    reader = threading.Thread(target=take)
    reader.start()
    used, asked = 0.0, False
    while process.poll() is None:
        try:
            used = processor_seconds(process.pid)
        except OSError:
            break
        if used >= float(seconds) and not asked:
            process.send_signal(signal.SIGUSR1)
            asked = True
        time.sleep(0.5)
    process.wait()
    reader.join()
    said = "".join(text)
    edges = re.findall(r"cov: (\d+)", said)
    executions = re.findall(r"number_of_executed_units: (\d+)", said) or re.findall(r"^#(\d+)", said, re.M)
    found = "none" if process.returncode == 0 else f"one, exit status {process.returncode}"
    last = lambda numbers: numbers[-1] if numbers else "no"
    print(f"{Path(binary).name}: {used:.0f} s of processor time, {last(executions)} executions, {last(edges)} edges, findings: {found}", flush=True)
    sys.exit(process.returncode != 0)


if __name__ == "__main__":
    main()
