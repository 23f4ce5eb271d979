#!/bin/sh
# The program for one target with completions, man pages and licences, as target/dist/kernelet-VERSION-TARGET.tar.gz, and its checksum beside it.
# The target must be one that this system can run: sh packaging/archive.sh x86_64-unknown-linux-musl [CARGO FLAGS, such as --features studio]
set -eu
cd "$(dirname "$0")/.."
target=$1
shift
cargo build --release --locked -p kernelet-cli --bin kernelet --target "$target" "$@"
folder=${CARGO_TARGET_DIR:-target}
program=$folder/$target/release/kernelet
test -e "$program" || program=$program.exe
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=kernelet-$version-$target
place=target/dist/$name
rm -rf "$place"
mkdir -p "$place/completions" "$place/man/man1"
cp "$program" README.md CHANGELOG.md NOTICE LICENSE-MIT LICENSE-APACHE "$place/"
for shell in bash zsh fish powershell elvish; do
    "$program" completions "$shell" > "$place/completions/kernelet.$shell"
done
"$program" manual --man "$place/man/man1" > "$place/man/pages.txt"
rm "$place/man/pages.txt"
tar -C target/dist -czf "target/dist/$name.tar.gz" "$name"
cd target/dist
if command -v sha256sum > /dev/null; then sum="sha256sum"; else sum="shasum -a 256"; fi
$sum "$name.tar.gz" > "$name.tar.gz.sha256"
cat "$name.tar.gz.sha256"
