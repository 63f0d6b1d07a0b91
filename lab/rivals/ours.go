package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// job writes a job that does a task so many times; each release has the guarantee of its own.
func (t task) job(w *world, g guarantee, runs int) string {
	var releases strings.Builder
	guarantee := fmt.Sprintf("{epsilon: %q, delta: %q}", g.epsilon, g.delta)
	for i := range runs {
		fmt.Fprintf(&releases, "  - {name: r%d, %s}\n", i, strings.ReplaceAll(t.release, "ALL", guarantee))
	}
	dataset := fmt.Sprintf("source: {path: persons.csv}, unit: row, relation: add-remove, columns: {%s}", columns())
	if t.name == "visits" {
		dataset = "source: {path: visits.csv}, unit: {column: person, name: person}, relation: add-remove, cap: {groups: 15, rows: 1}, " +
			"columns: {ward: {domain: [" + list("w%02d", 50) + "]}}"
	}
	samples := ""
	if t.name == "sampled" {
		dataset = strings.Replace(dataset, "add-remove", fmt.Sprintf("replace-one, size: %d", w.rows), 1)
		for i := range runs { // a draw for each run
			samples += fmt.Sprintf("  s%d: {method: srswor, size: %d}\n", i, w.rows/10)
		}
		samples = "samples:\n" + samples
		text := releases.String()
		releases.Reset()
		for i, line := range strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") {
			releases.WriteString(strings.Replace(line, "FROM", fmt.Sprintf("s%d", i), 1))
		}
		releases.WriteString("\n")
	}
	return fmt.Sprintf("version: 1\njob: rivals\ndataset: {id: rivals, %s}\nbudget: {limit: {epsilon: \"100000\", delta: \"0.5\"}}\n"+
		"%sreleases:\n%soutput: {dir: out, formats: [json]}\n", dataset, samples, &releases)
}

func columns() string {
	text := "region: {domain: [" + list("g%02d", 50) + "]}, x: {lower: 0, upper: 100}, town: {type: text}"
	for i, n := range sizes {
		text += fmt.Sprintf(", c%d: {domain: [%s]}", i, list("\"%d\"", n))
	}
	return text
}

func list(format string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ", ")
}

// ours does a task with the program.
func (t task) ours(ctx context.Context, program string, w *world, g guarantee, runs int) (answer, error) {
	for _, old := range []string{"out", "dprelease.db", "dprelease.db-wal", "dprelease.db-shm"} {
		if err := os.RemoveAll(filepath.Join(w.folder, old)); err != nil {
			return answer{}, err
		}
	}
	path := filepath.Join(w.folder, "job.yaml")
	if err := os.WriteFile(path, []byte(t.job(w, g, runs)), 0o600); err != nil {
		return answer{}, err
	}
	_, u, err := timed(ctx, program, "run", "-q", path)
	if err != nil {
		return answer{Cannot: err.Error()}, ctx.Err()
	}
	a := answer{How: t.how, use: u}
	for i := range runs {
		var rows []map[string]any
		text, err := os.ReadFile(filepath.Join(w.folder, "out", fmt.Sprintf("r%d.json", i)))
		if err != nil {
			return a, err
		}
		if err := json.Unmarshal(text, &rows); err != nil {
			return a, err
		}
		cells := map[string]float64{}
		for _, row := range rows {
			if x, ok := row[cmp.Or(t.way.value, "estimate")].(float64); ok {
				cells[t.cell(row)] = x
			}
		}
		a.Runs = append(a.Runs, cells)
	}
	return a, nil
}

// cell names the cell of a row as the scripts do.
func (t task) cell(row map[string]any) string {
	if t.name == "pairs" {
		names, _ := row["table"].(string)
		return fmt.Sprintf("%s,%v,%v", names, row["value1"], row["value2"])
	}
	if t.by == "" {
		return "all"
	}
	return fmt.Sprint(row[t.by])
}
