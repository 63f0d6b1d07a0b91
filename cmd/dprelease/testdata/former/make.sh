#!/bin/sh
# make.sh writes former.tar.zst: ledgers as an earlier version of this program made them.
# It builds that version from its commit, runs every job of examples/ and a job on a
# collected table, each with a ledger of its own, and one job with a PostgreSQL ledger.
# TestFormerLedgers runs the same jobs with the program of today.
#
# It needs git, go, zstd, and the programs of a PostgreSQL server on the PATH.
set -eu
commit=78ceb38
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
work=$(mktemp -d)
server=
finish() {
	if [ -n "$server" ]; then kill -INT "$server" && wait "$server" || true; fi
	git -C "$root" worktree remove --force "$work/source" || true
	rm -rf "$work"
}
trap finish EXIT

git -C "$root" worktree add --quiet --detach "$work/source" "$commit"
(cd "$work/source" && go build -o "$work/dprelease" ./cmd/dprelease)
mkdir "$work/ledgers"
cp -R "$work/source/examples/data" "$work/ledgers/data"

# released FOLDER NAME: runs a job and keeps the sums of what it released.
released() {
	out=$(sed -n 's/^output: {dir: \([a-z/]*\).*/\1/p' "$work/ledgers/$1/$2.yaml")
	"$work/dprelease" run -q "$work/ledgers/$1/$2.yaml"
	(cd "$work/ledgers/$1/$out" && sha256sum *) > "$work/ledgers/$1/$2.sums"
}
for example in counts households median panel randomized-response schools sgd-batches sgd-income sgd-schools; do
	mkdir "$work/ledgers/$example"
	cp "$work/source/examples/$example/"*.yaml "$work/ledgers/$example"
	released "$example" job
done
id=$(sed -n 's/.*"id": "\([0-9a-f]\{32\}\)".*/\1/p' "$work/ledgers/panel/out/report.json" | head -n 1)
sed -i "s/00000000000000000000000000000000/$id/" "$work/ledgers/panel/job-later.yaml"
released panel job-later

mkdir "$work/ledgers/collected" "$work/ledgers/postgres"
cat > "$work/ledgers/collected/job.yaml" <<'JOB'
version: 1
job: collected
dataset:
  id: collected
  source: {path: ../data/schools.parquet}
  relation: replace-one
  size: 6194
  collected: {method: srswor, population: 61940}
  columns:
    api00: {lower: 200, upper: 1000}
budget: {limit: {epsilon: 2}}
releases:
  - {name: api_mean, mechanism: mean, params: {column: api00}, guarantee: {epsilon: 0.5}}
output: {dir: out}
JOB
released collected job

# As root, PostgreSQL wants another user.
as=
if [ "$(id -u)" = 0 ]; then
	as="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 711 "$work"
	mkdir "$work/postgres"
	chown 65534:65534 "$work/postgres"
fi
$as initdb -D "$work/postgres/data" -U ledger -A trust -E UTF8 --no-sync > /dev/null
$as postgres -D "$work/postgres/data" -p 54329 -c listen_addresses=127.0.0.1 -c unix_socket_directories= 2> /dev/null &
server=$!
until pg_isready -q -h 127.0.0.1 -p 54329; do sleep 0.2; done
export LEDGER="postgres://ledger@127.0.0.1:54329/postgres"
sed 's/^budget:/&\n  ledger: "${LEDGER}"/' "$work/source/examples/households/job.yaml" > "$work/ledgers/postgres/job.yaml"
released postgres job
pg_dump --inserts --no-owner --schema=public "$LEDGER" | grep -v '^\(--\|SET\|SELECT\|\\\|CREATE SCHEMA\|COMMENT\|$\)' > "$work/ledgers/postgres/ledger.sql"

rm -rf "$work/ledgers/data" "$work/ledgers"/*/out "$work/ledgers/panel/later" "$work/ledgers"/*/.dprelease-releases
tar -C "$work/ledgers" --sort=name --owner=0 --group=0 --mtime=@0 -cf - . | zstd -q -19 --long=27 -f -o "$here/former.tar.zst"
