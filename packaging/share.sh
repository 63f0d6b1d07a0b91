#!/usr/bin/env bash
# Writes what packages put into /usr/share beside the programs: manual pages and completions, into the folder that is named.
set -euo pipefail
mkdir -p "$1"
share=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
programs=$(mktemp -d)
GOOS='' GOARCH='' CGO_ENABLED=0 go build -o "$programs/" ./cmd/dprelease ./cmd/dprelease-design
"$programs/dprelease" man "$share/man"
gzip -n9 "$share"/man/*
for shell in bash zsh fish; do
  "$programs/dprelease" completion $shell >"$share/$shell"
done
rm -rf "$programs"
