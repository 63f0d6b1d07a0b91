#!/usr/bin/env bash
# Counts the Go that people write, outside of tests: see lab/lines/main.go.
#   lab/lines.sh          print all numbers
#   lab/lines.sh -check   fail where a number is above that of lab/lines.json
#   lab/lines.sh -write   write today's numbers to lab/lines.json
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(mktemp -d)
trap 'rm -r "$binary"' EXIT
(cd lab && go build -o "$binary/lines" ./lines)
"$binary/lines" "$@"
