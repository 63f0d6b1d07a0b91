package pipeline_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

const keysJob = `version: 1
job: keys
dataset:
  id: keys
  source: {path: TABLE}
  relation: add-remove
  unit: row
  columns:
    COLUMN: {domain: [DOMAIN], outside: drop, missing: drop}
budget: {limit: {epsilon: 50}}
releases:
  - {name: r, mechanism: count, params: {by: COLUMN}, guarantee: {epsilon: 40}}
output: {dir: out, formats: [csv]}
`

// Dates, times, decimals and fields of structs are categories: DuckDB wrote a row for each of the values below, in a
// table of a thousand.
func TestKeysThatAreNotText(t *testing.T) {
	tier.Full(t, "TestUnlistedKeys")
	data, err := filepath.Abs("../data/table/testdata/writers/duckdb-snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for column, domain := range map[string]string{
		"day":    `"2000-01-01", "2000-01-02", "1999-12-31"`,
		"stamp":  `"2001-09-09T01:46:40", "2001-09-09 01:46:41", "2001-09-09"`,
		"dec":    `"0", "0.125", "124.876"`,
		"pair.a": `"0", "999", "1000"`,
		"pair.b": `"0", "999", "1000"`,
		"small":  `"0", "3", "1"`,
	} {
		path := write(t, strings.NewReplacer("COLUMN", column, "DOMAIN", domain).Replace(keysJob), "TABLE", data)
		o, err := run(t, path)
		if err != nil {
			t.Errorf("%s: %v", column, err)
			continue
		}
		got := estimates(t, filepath.Join(o.Dir, "r.csv"), "estimate")
		if len(got) != 3 || got[0] != 1 || got[1] != 1 || got[2] != 0 {
			t.Errorf("%s: %v", column, got)
		}
	}
	for column, domain := range map[string]string{"day": "2000-13-01", "stamp": "noon", "dec": `"0.5", "0.50"`, "tags": "x"} {
		path := write(t, strings.NewReplacer("COLUMN", column, "DOMAIN", domain).Replace(keysJob), "TABLE", data)
		_, err := run(t, path)
		if exit, code := exitOf(err); err == nil || exit != failure.ExitInvalidJob && code != "SOURCE_NO_SUCH_COLUMN" {
			t.Errorf("%s: exit %d, code %s: %v", column, exit, code, err)
		}
	}
}

// A table that needs more memory than the run may take is refused before anything is spent.
func TestMemoryIsRefusedBeforeTheDebit(t *testing.T) {
	path := write(t, schoolsJob)
	_, err := runWith(t, path, func(o *pipeline.Options) { *o = pipeline.WithMemory(*o, 4096) })
	if exit, code := exitOf(err); exit != failure.ExitSource || code != "SOURCE_LIMIT" || !strings.Contains(err.Error(), "machine") {
		t.Errorf("exit %d, code %s: %v", exit, code, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := runWith(t, path, func(o *pipeline.Options) { *o = pipeline.WithMemory(*o, 16<<20) }); err != nil {
		t.Error(err)
	}
}
