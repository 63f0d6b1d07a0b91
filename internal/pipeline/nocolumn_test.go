package pipeline_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/columns"
)

// everyRow has float columns without nulls (their values can be adjusted by the goroutine that decodes them) and one of
// each other kind.
func everyRow(rows int) table.Release {
	x, z, g, n := make([]float64, rows), make([]float64, rows), make([]string, rows), make([]int64, rows)
	for i := range x {
		x[i], z[i], g[i], n[i] = float64(i%10), float64(i%7), []string{"a", "b"}[i%2], int64(i%2)
	}
	return table.Release{Columns: []columns.Column{{Name: "x", Float64: x}, {Name: "z", Float64: z}, {Name: "g", Texts: g}, {Name: "n", Int64: n}}}
}

// Every mechanism runs on every draw, relation and format; count also without any column. What a mechanism refuses it
// refuses before the debit.
func TestEveryMechanismOnEveryDraw(t *testing.T) {
	tier.Full(t, "TestDesigns")
	const rows = 4000
	tables := map[string]string{}
	for format, write := range map[string]func(*bytes.Buffer) error{
		"parquet": func(b *bytes.Buffer) error { return table.WriteParquet(b, everyRow(rows)) },
		"arrow":   func(b *bytes.Buffer) error { return table.WriteArrow(b, everyRow(rows)) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		tables[format] = filepath.Join(t.TempDir(), "table."+format)
		if err := os.WriteFile(tables[format], b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	releases := map[string]string{
		"count":               "mechanism: count, params: {}",
		"count-by":            "mechanism: count, params: {by: g}",
		"sum":                 "mechanism: sum, params: {column: x}",
		"mean":                "mechanism: mean, params: {column: x}",
		"median":              "mechanism: median, params: {column: x}",
		"sgd":                 "mechanism: sgd, params: {target: x, features: [z], model: linear, steps: 3}",
		"randomized-response": "mechanism: randomized-response, params: {column: g}",
	}
	samples := map[string]string{
		"":        "",
		"poisson": "samples: {s: {method: poisson, rate: 0.5}}\n",
		"srswor":  "samples: {s: {method: srswor, size: 1000}}\n",
	}
	ran := map[string]int{}
	for format, data := range tables {
		for _, relation := range []string{"replace-one", "add-remove"} {
			for sample, declared := range samples {
				for name, release := range releases {
					if testing.Short() && name != "count" {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", format, relation, sample, name), func(t *testing.T) {
						from := ""
						if sample != "" {
							from = "from: s, "
						}
						size := fmt.Sprintf("size: %d", rows)
						if relation == "add-remove" {
							size = "at_least: 2000"
						}
						text := strings.NewReplacer("relation: replace-one\n", "relation: "+relation+"\n", "size: 4", size, "releases:\n", declared+"releases:\n",
							"budget: {limit: {epsilon: 1}}", "budget: {limit: {epsilon: 1, delta: 0.001}}",
							"    g: {domain: [a, b]}", "    z: {lower: 0, upper: 10}\n    g: {domain: [a, b]}",
							"{name: r, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}}",
							"{name: r, "+from+release+", guarantee: {epsilon: 1, delta: 0.0001}}").Replace(tinyJob)
						path := write(t, text, "TABLE", data)
						o, err := run(t, path)
						exit, code := exitOf(err)
						switch {
						case err == nil:
							ran[name]++
							if o.Already || len(estimatesIn(t, o.Dir)) == 0 {
								t.Error("nothing was released")
							}
						case exit != failure.ExitInvalidJob && exit != failure.ExitUsage && code != "PLUGIN_REFUSED":
							t.Errorf("exit %d, code %s: %v", exit, code, err)
						default:
							t.Log(err)
							if _, err := os.Stat(filepath.Join(filepath.Dir(path), "out.record.jsonl")); err == nil {
								t.Error("something was debited")
							}
						}
					})
				}
			}
		}
	}
	for name := range releases {
		if ran[name] == 0 && (!testing.Short() || name == "count") {
			t.Errorf("%s ran nowhere", name)
		}
	}
	t.Log(ran)
}

// estimatesIn returns the bytes of the released CSV file.
func estimatesIn(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "r.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type observer func(pipeline.Progress)

func (o observer) Observe(e pipeline.Progress) { o(e) }

// A panic after the debit ends the run with a code of its own, which does not ask for another run, and says nothing of
// what was in the program's hands.
func TestPanicAfterDebit(t *testing.T) {
	for name, at := range map[string]string{"in the run": "drawn", "while releases run": "release-done"} {
		t.Run(name, func(t *testing.T) {
			path := write(t, tinyJob, "TABLE", good(t))
			_, err := runWith(t, path, func(o *pipeline.Options) {
				if at == "drawn" {
					*o = pipeline.With(*o, func(p string) {
						if p == at {
							panic(canary)
						}
					}, nil, 0)
					return
				}
				o.Observer = observer(func(e pipeline.Progress) {
					if e.Kind == at {
						panic(canary)
					}
				})
			})
			exit, code := exitOf(err)
			if exit != failure.ExitBug || code != "CRASHED" || strings.Contains(err.Error(), "31337") || strings.Contains(err.Error(), "--spend-again") {
				t.Errorf("exit %d, code %s: %v", exit, code, err)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "out")); err == nil {
				t.Error("something was published")
			}
		})
	}
}

// P33: the first line of a CSV file without a header is somebody's row. A message that suggests a name must not hold it.
func TestNoSuggestionFromARow(t *testing.T) {
	path := write(t, tinyJob, "TABLE", "people.csv", "x: {lower: 0, upper: 10}", "Marla: {lower: 0, upper: 10}", "column: x", "column: Marla", "    g: {domain: [a, b]}\n", "")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "people.csv"), []byte("Maria,1\nJohn,2\nAnn,3\nBob,4\nEve,5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := run(t, path)
	if _, code := exitOf(err); code != "SOURCE_NO_SUCH_COLUMN" || strings.Contains(err.Error(), "Maria") || strings.Contains(err.Error(), "similar") {
		t.Errorf("%v", err)
	}
}
