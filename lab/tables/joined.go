package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/lab/measure"
)

// joinedJob is a job on two private tables: sums of the costs of visits by the group of their person. A person is bounded by
// a cap on its visits, or by the fold of its costs.
func joinedJob(dir string, capped bool) string {
	var groups []string
	for g := range 50 {
		groups = append(groups, fmt.Sprintf("g%02d", g))
	}
	derive, join, release := "      derive: {spent: {as: \"sum(visits.cost)\", lower: 0, upper: 2000}}\n", "",
		"persons, by: [g], mechanism: sum, params: {column: spent}"
	if capped {
		derive, join, release = "", "      join: {persons: [g]}\n", "visits, by: [g], mechanism: sum, params: {column: cost}"
	}
	return fmt.Sprintf(`version: 1
job: bench
dataset:
  id: bench
  relation: add-remove
  unit: {column: person, name: person}
  tables:
    persons:
      source: {path: %s}
      unit: {rows: 1}
      columns: {g: {domain: [%s]}}
%s    visits:
      source: {path: %s}
%s      cap: {groups: 1, rows: 20}
      columns: {cost: {lower: 0, upper: 200}}
budget: {limit: {epsilon: 10}}
releases:
  - {name: cost, table: %s, guarantee: {epsilon: 1}}
output: {dir: out, formats: [csv]}
`, filepath.Join(dir, "persons.parquet"), strings.Join(groups, ", "), derive, filepath.Join(dir, "visits.parquet"), join, release)
}

// joined takes turns with DuckDB's query, which bounds persons in the same way.
func joined(bin, dir, tables string, runs int) error {
	tables, err := filepath.Abs(tables)
	if err != nil {
		return err
	}
	for _, way := range []string{"folded", "capped"} {
		var ours, theirs, plain, quotients []float64
		var peak int64
		for range runs {
			own, err := once(bin, dir, joinedJob(tables, way == "capped"))
			if err != nil {
				return err
			}
			same, err := joinedByDuckDB(tables, way)
			if err != nil {
				return err
			}
			loose, err := joinedByDuckDB(tables, "plain")
			if err != nil {
				return err
			}
			peak = max(peak, own.Peak)
			ours, theirs, plain, quotients = append(ours, own.Work), append(theirs, same), append(plain, loose), append(quotients, own.Work/same)
		}
		fmt.Printf("sums by 50 groups of two tables, joined and %s: %.0f ms of processor time and %d MB, DuckDB's same query %.0f ms, "+
			"%.2f of it; %.0f ms for the join alone\n",
			way, measure.Median(ours), peak>>10, measure.Median(theirs), measure.Median(quotients), measure.Median(plain))
	}
	return nil
}

// joinedByDuckDB is the processor time of one query.
func joinedByDuckDB(tables, way string) (float64, error) {
	var q struct {
		Median struct {
			CPU float64 `json:"cpu_ms"`
		} `json:"median"`
	}
	_, err := measure.DuckDB(&q, "duckdb-joined.mjs", tables, "1", "2", way)
	return q.Median.CPU, err
}
