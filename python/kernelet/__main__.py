"""The program ``kernelet``, which the package ships as a binary: ``python -m kernelet``."""

import os
import shutil
import subprocess
import sys
import sysconfig


def program() -> str:
    """Where the program is."""
    name = "kernelet.exe" if os.name == "nt" else "kernelet"
    beside = os.path.join(sysconfig.get_path("scripts"), name)
    found = beside if os.path.exists(beside) else shutil.which("kernelet")
    if found is None:
        raise FileNotFoundError("the program kernelet was not installed with the package; install a wheel, or `cargo install kernelet-cli`")
    return found


if __name__ == "__main__":
    sys.exit(subprocess.run([program(), *sys.argv[1:]], check=False).returncode)
