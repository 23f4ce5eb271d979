#!/bin/sh
# The README's commands on a system that has nothing else, as root, by debootstrap and chroot (no container engine is needed):
#   sh packaging/fresh.sh rust DIR          Debian with a C compiler, make and this machine's Rust toolchain: `cargo run --release -- demo`, then, with TEST=1, `make test`
#   sh packaging/fresh.sh python DIR WHEEL  Debian with Python alone: the wheel is installed, and the example of python/README.md is run
# DIR is made where it is not there. What is committed is tried; crates and packages are downloaded as on any new machine.
set -eu
cd "$(dirname "$0")/.."
what=$1 dir=$2
[ "$(realpath -m "$dir")" != / ] || { echo "DIR must be a folder of its own: what is in its work/ is deleted" >&2; exit 2; }
case $what in
rust) packages=gcc,libc6-dev,make,ca-certificates ;;
python) packages=python3,python3-venv,ca-certificates ;;
*) sed -n 2,5p "$0" >&2; exit 2 ;;
esac
test -e "$dir/bin/sh" || debootstrap --variant=minbase --include="$packages" bookworm "$dir"
# The network as this machine has it.
cp /etc/resolv.conf "$dir/etc/"
cp -a /etc/ssl/certs/. "$dir/etc/ssl/certs/"
for place in proc dev; do
    mountpoint -q "$dir/$place" || mount --bind "/$place" "$dir/$place"
done
trap 'umount "$dir/proc" "$dir/dev"' EXIT
rm -rf "$dir/work" "$dir/root/.cargo"
mkdir -p "$dir/work"
inside() { chroot "$dir" env -i HOME=/root SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -euc "cd /work; $1"; }
timed() {
    start=$(date +%s)
    inside "$1"
    echo "$(($(date +%s) - start)) s: $1"
}
if [ "$what" = rust ]; then
    if [ ! -e "$dir/opt/rust" ]; then
        mkdir -p "$dir/opt"
        cp -rL "$(rustc --print sysroot)" "$dir/opt/rust"
    fi
    git archive HEAD | tar -x -C "$dir/work"
    timed "cargo run --release -- demo"
    test -z "${TEST:-}" || timed "make test"
else
    cp "$3" "$dir/work/"
    sed -n '/^```python$/,/^```$/{/^```/d;p}' python/README.md > "$dir/work/example.py"
    inside "python3 -m venv own"
    timed "own/bin/pip install --quiet $(basename "$3")"
    timed "own/bin/python example.py"
    timed "own/bin/kernelet demo"
fi
