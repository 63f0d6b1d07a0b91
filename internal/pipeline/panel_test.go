package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
)

// panelJob counts each unit of a wave by itself, with so little noise that the counts say who is in
// it.
const panelJob = `version: 1
job: JOB
dataset:
  id: people
  source: {path: TABLE}
  relation: add-remove
  unit: {column: id, name: person, missing: drop}
  columns:
    who: {domain: [DOMAIN]}
  fold: {who: mode}
budget: {ledger: "sqlite:LEDGER", limit: {epsilon: 100000, delta: 1e-5}}
samples:
  panel: {method: rotation, waves: 3, PATTERNS, wave: WAVE}
releases:
  - {name: members, from: panel, mechanism: count, by: [who], params: {noise: gaussian}, guarantee: {epsilon: "5000", delta: "1e-6"}}
output: {dir: out, formats: [csv]}
`

// A household is in the same waves whatever the table of a wave holds, and wherever it stands in it:
// in its order or another, once or in several rows, with others or without them. Each is in as many waves as the panel says, and stands for all.
func TestWavesOfADrawnPanel(t *testing.T) {
	const units = 40
	dir := t.TempDir()
	names := make([]string, units)
	for i := range names {
		names[i] = fmt.Sprintf("u%d", i)
	}
	// members runs a wave over some units and returns who was in it.
	members := func(run, ledger, patterns string, wave int, some []int) (in []int, weight float64) {
		t.Helper()
		var b strings.Builder
		b.WriteString("id,who\n")
		for _, i := range some {
			for range 1 + (i+wave)%2 {
				fmt.Fprintf(&b, "%d,u%d\n", i, i)
			}
		}
		b.WriteString(",u0\n") // a row without a unit
		table := filepath.Join(dir, run+".csv")
		if err := os.WriteFile(table, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := runWith(t, write(t, panelJob, "JOB", run, "TABLE", table, "LEDGER", filepath.Join(dir, ledger+".db"), "PATTERNS", patterns, "WAVE", fmt.Sprint(wave), "DOMAIN", strings.Join(names, ", ")),
			func(o *pipeline.Options) { o.CreateLedger = true })
		if err != nil {
			t.Fatal(err)
		}
		values := o.Results["members"]
		for i := range names {
			estimate := -1.0
			for _, c := range values.Columns {
				if c.Name == "estimate" {
					estimate = c.Float64[i]
				}
			}
			if estimate > 0.5 { // σ is below 0.03 times a weight of at most 3
				in, weight = append(in, i), max(weight, estimate)
			}
		}
		return in, weight
	}
	all := make([]int, units)
	for i := range all {
		all[i] = i
	}
	back := slices.Clone(all)
	slices.Reverse(back)

	var waves [3][]int
	orders := [][]int{all, back, append(slices.Clone(all[20:]), all[:20]...)}
	for w := range 3 {
		var weight float64
		waves[w], weight = members(fmt.Sprint("wave", w+1), "one", "in: 1", w+1, orders[w])
		if len(waves[w]) > 0 && (weight < 2.5 || weight > 3.5) {
			t.Errorf("a unit of wave %d stands for %g", w+1, weight)
		}
	}
	together := slices.Sorted(slices.Values(slices.Concat(waves[0], waves[1], waves[2])))
	if !slices.Equal(together, all) {
		t.Errorf("the waves %v do not divide the units", waves)
	}
	// The same wave once more, of a table with half of the units.
	half, _ := members("half", "one", "in: 1", 2, all[:20])
	want := slices.DeleteFunc(slices.Clone(waves[1]), func(i int) bool { return i >= 20 })
	if !slices.Equal(half, want) {
		t.Errorf("of half of the table %v are in the wave, before %v", half, want)
	}
	// Blocks: who is in wave 1 is in wave 2, and nobody of them in wave 3. A secret of its own.
	var blocks [3][]int
	for w := range 3 {
		blocks[w], _ = members(fmt.Sprint("block", w+1), "two", "patterns: [[1, 2], [3]]", w+1, all)
	}
	if !slices.Equal(blocks[0], blocks[1]) || !slices.Equal(slices.Sorted(slices.Values(slices.Concat(blocks[0], blocks[2]))), all) {
		t.Errorf("blocks %v", blocks)
	}
	// Two panels alike with a chance of 3^−40.
	other, _ := members("other", "three", "in: 1", 1, all)
	if slices.Equal(other, waves[0]) {
		t.Error("two panels have the same units")
	}
}

// A key that may be written in several ways would be in a wave by chance, or in each: the run ends.
func TestKeysOfADrawnPanel(t *testing.T) {
	for _, key := range []string{"2.5", "1e17"} {
		table := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(table, []byte("id,who\n1,u0\n"+key+",u1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(panelJob, "  columns:\n", "  columns:\n    id: {type: number}\n", 1)
		path := write(t, text, "JOB", "keys", "TABLE", table, "LEDGER", filepath.Join(t.TempDir(), "l.db"), "PATTERNS", "in: 1", "WAVE", "1", "DOMAIN", "u0, u1")
		_, err := runWith(t, path, func(o *pipeline.Options) { o.CreateLedger = true })
		if _, code := exitOf(err); code != "DATA_UNIT" {
			t.Errorf("a unit %s: %v", key, err)
		}
	}
}
