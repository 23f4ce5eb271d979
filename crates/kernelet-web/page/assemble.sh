#!/bin/sh
# Puts the page of the studio together: assemble.sh LIBRARY.wasm FOLDER writes FOLDER/index.html, one file without any reference to the outside.
set -eu
library=$1 folder=$2
page=$(dirname "$0")
report=$page/../../kernelet-cli/src/report/assets
mkdir -p "$folder"
parts=$(mktemp -d)
trap 'rm -r "$parts"' EXIT
cat "$report/report.css" "$page/studio.css" > "$parts/style"
cat "$page/worker.js" > "$parts/worker"
cat "$report/elements.js" "$report/axes.js" "$report/parts.js" "$page/library.js" "$page/results.js" "$page/trying.js" "$page/studio.js" > "$parts/script"
gzip -9 -n -c "$library" | base64 -w 120 > "$parts/library"
sed -e "/^<!--STYLE-->$/{r $parts/style
d}" -e "/^<!--WORKER-->$/{r $parts/worker
d}" -e "/^<!--SCRIPT-->$/{r $parts/script
d}" -e "/^<!--LIBRARY-->$/{r $parts/library
d}" "$page/studio.html" > "$parts/index.html"
mv "$parts/index.html" "$folder/index.html"
echo "$folder/index.html: $(wc -c < "$folder/index.html") bytes"
