#!/usr/bin/env bash
# What make demo costs a machine with Go and nothing else: the modules are downloaded and everything is compiled, with empty
# caches in a temporary folder. It needs the network and some minutes.
set -euo pipefail
cd "$(dirname "$0")/.." # compiled as by the Makefile
GO=$(command -v go)
core=$PWD/bin/lab/core
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GOMODCACHE=$folder/modules GOCACHE=$folder/build GOFLAGS='-modcacherw -buildvcs=false -gcflags=all=-dwarf=false' CGO_ENABLED=0
cp -r examples/data "$folder/data"
cp -r examples/schools "$folder/schools" && rm -rf "$folder/schools"/{out,dprelease.db*,.dprelease-releases}
seconds() { date +%s.%N; }
say() { awk -v what="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%-18s %6.1f s\n", what, b - a }'; }
a=$(seconds)
"$GO" list -deps ./cmd/dprelease ./cmd/dprelease-mechanisms >/dev/null # which fetches what the program is built from
b=$(seconds)
GOGC=400 "$GO" build -debug-actiongraph="$folder/actions.json" -ldflags '-s -w' -o "$folder/" ./cmd/dprelease ./cmd/dprelease-mechanisms
c=$(seconds)
"$folder/dprelease" run -q "$folder/schools/job.yaml"
d=$(seconds)
echo "demo with empty caches, on $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
say download "$a" "$b"
say build "$b" "$c"
say "the run" "$c" "$d"
say all "$a" "$d"
du -sm "$GOMODCACHE" | awk '{ printf "%-18s %6d MB unpacked\n", "modules", $1 }'
"$core" -graph "$folder/actions.json"
