"""The command ``kernelet``."""

import sys

from . import _core


def main() -> int:
    """Runs the program with the arguments of this process and gives its exit status."""
    return _core.program(["kernelet", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
