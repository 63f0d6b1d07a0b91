#!/usr/bin/env bash
# All benchmarks, each beside its reference. The comparison with DuckDB needs
# Node.js and is for developers; without it that part is left out, visibly.
set -euo pipefail
cd "$(dirname "$0")/.."
go test -run '^$' -bench . -benchmem ./privacy/... ./internal/noise/... ./samplers/... ./internal/table/... ./internal/rows/... \
  ./internal/host/... ./internal/wire/... ./internal/account/... ./internal/job/... ./plugins/... ./pipeline/... ./ledger/...
go test -run '^$' -bench Python -benchtime 9x ./cmd/dprelease
go run ./bench/epoch
go run ./bench/tables
if ! command -v npm >/dev/null; then
  echo "NOT MEASURED: whole runs against DuckDB (npm is missing)"
  exit 0
fi
(cd bench && npm install --no-save --silent) # ci would want the packages of every platform in the lock
mkdir -p bench/data
table=bench/data/floats-20m.parquet
[ -e "$table" ] || go run ./bench/genfloats -rows 20000000 "$table"
small=bench/data/floats-1k.parquet
[ -e "$small" ] || go run ./bench/genfloats -rows 1000 "$small"
go run ./bench/compare -bin bin/dprelease -small "$small" "$table"
units=bench/data/units-20m.parquet
[ -e "$units" ] || go run ./bench/genfloats -rows 20000000 -units 2000000 "$units"
go run ./bench/fold "$units"
groups=bench/data/groups-20m.parquet
[ -e "$groups" ] || (cd bench && node duckdb-groups.mjs make data/groups-20m.parquet)
go run ./bench/tables -groups "$groups"
