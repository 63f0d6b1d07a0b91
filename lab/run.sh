#!/usr/bin/env bash
# All benchmarks, each beside its reference. The comparison with DuckDB needs
# Node.js and is for developers; without it that part is left out, visibly.
set -euo pipefail
cd "$(dirname "$0")/.."
bin/lab/core -bin bin/dprelease
lab/cold.sh || echo "NOT MEASURED: the demo with empty caches (the network is missing)"
go test -run '^$' -bench . -benchmem ./privacy/... ./internal/noise/... ./samplers/... ./internal/data/table/... ./internal/rows/... \
  ./internal/plugin/host/... ./internal/plugin/wire/... ./internal/plan/account/... ./internal/say/verdict/... ./internal/job/... ./plugins/... ./internal/pipeline/... ./ledger/...
go test -run '^$' -bench Python -benchtime 9x ./cmd/dprelease
bin/lab/epoch
bin/lab/small
bin/lab/tables
if ! command -v npm >/dev/null; then
  echo "NOT MEASURED: whole runs against DuckDB (npm is missing)"
  exit 0
fi
(cd lab && npm install --no-save --silent) # ci would want the packages of every platform in the lock
mkdir -p lab/data
table=lab/data/floats-20m.parquet
[ -e "$table" ] || bin/lab/genfloats -rows 20000000 "$table"
small=lab/data/floats-1k.parquet
[ -e "$small" ] || bin/lab/genfloats -rows 1000 "$small"
bin/lab/compare -bin bin/dprelease -small "$small" "$table"
units=lab/data/units-20m.parquet
[ -e "$units" ] || bin/lab/genfloats -rows 20000000 -units 2000000 "$units"
bin/lab/fold "$units"
groups=lab/data/groups-20m.parquet
[ -e "$groups" ] || (cd lab && node duckdb-groups.mjs make data/groups-20m.parquet)
bin/lab/tables -groups "$groups"
joined=lab/data/joined-20m
[ -e "$joined" ] || (cd lab && node duckdb-joined.mjs make data/joined-20m)
bin/lab/tables -joined "$joined"
