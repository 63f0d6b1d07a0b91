#!/usr/bin/env bash
# Builds the accountant for JavaScript and C into a folder.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
GOOS=js GOARCH=wasm go build -trimpath -ldflags '-s -w' -o "$out/dprelease.wasm" ./wasm
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" wasm/dprelease.mjs "$out/"
if ! command -v cc >/dev/null; then
  echo "note: there is no C compiler here; the C library was left out" >&2
  exit 0
fi
CGO_ENABLED=1 go build -trimpath -ldflags '-s -w' -buildmode=c-shared -o "$out/libdprelease.so" ./c
mv "$out/libdprelease.h" "$out/dprelease.h"
