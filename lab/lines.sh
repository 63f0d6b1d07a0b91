#!/usr/bin/env bash
# Counts the lines of Go that people write and maintain, by folder. Left out are
# generated files (*.pb.go, and any file that says "Code generated ... DO NOT EDIT"),
# tests (*_test.go, testdata) and packages that serve tests only. Blank lines and
# comments count: they are read as well.
set -euo pipefail
cd "$(dirname "$0")/.."
support='^(stores/storetest|internal/(output/stored/storedtest|postgrestest|ledgercheck|house|truth|scripttest|testdir|tier|sabotage|noise/noisetest|noise/insecurenoise)|plugins/linear/lineartest|plugins/sdk/sdktest/insecureshelf)/'

count() { # file names on standard input, lines on standard output
  xargs -r -d '\n' cat | wc -l
}
all=$(git ls-files '*.go' | grep -v '/testdata/')
tests=$(grep -E "_test\.go$|$support" <<<"$all")
rest=$(grep -vE "_test\.go$|$support" <<<"$all")
generated=$(xargs -d '\n' grep -lE '^// Code generated .* DO NOT EDIT\.$' <<<"$rest" || true)
byhand=$(grep -vxFf <(printf '%s\n' "$generated") <<<"$rest")

# The two upper folders where the second says what it is, else one.
sed -E 's,^((lab|cmd|examples|internal|plugins)/[^/]+|[^/]+)/.*,\1,' <<<"$byhand" |
  sort -u | while read -r folder; do
    printf '%7d  %s\n' "$(grep -E "^$folder/" <<<"$byhand" | count)" "$folder"
  done | sort -rn
printf '%7d  by hand, outside tests\n' "$(count <<<"$byhand")"
printf '%7d  left out: tests and packages that serve only them\n' "$(count <<<"$tests")"
printf '%7d  left out: generated\n' "$(count <<<"$generated")"
