package pipeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/columns"
	"github.com/dprelease/dprelease/report"
)

const townsJob = `version: 1
job: towns
dataset:
  id: towns
  source: {path: TABLE}
  RELATION
  UNIT
  columns:
    town: {type: text}
    day: {type: date}
    number: {type: number}
    sex: {domain: [f, m]}
    age: {lower: 0, upper: 100, missing: drop}
budget: {limit: {epsilon: 1000000, delta: "0.01"}}
SAMPLES
releases:
RELEASES
output: {dir: out, formats: [csv, json, parquet]}
`

// hostile are keys that a terminal or a file must survive.
var hostile = []string{"a,b", "line\nend", "\x1b[31mred", `back\slash`, "=1+1", "\u202eleft", "日本", "quo\"te", ""}

// people writes a table of towns of known sizes: town i has 10·i people, the hostile ones
// 500, and there are towns of one. Every person has rows rows, all in one town or spread.
func people(t *testing.T, rows int) (path string, sizes map[string]int) {
	t.Helper()
	sizes = map[string]int{}
	for i := 1; i <= 20; i++ {
		sizes[fmt.Sprintf("town %02d", i)] = 10 * i
	}
	for _, key := range hostile {
		sizes[key] = 500
	}
	for i := range 40 {
		sizes[fmt.Sprintf("alone %d", i)] = 1
	}
	var town, sex []string
	var age []float64
	var person, number []int64
	id := int64(0)
	for key, n := range sizes {
		for range n {
			for range rows {
				town, sex = append(town, key), append(sex, []string{"f", "m"}[id%2])
				age, person, number = append(age, float64(id%100)), append(person, id), append(number, int64(n))
			}
			id++
		}
	}
	path = filepath.Join(t.TempDir(), "people.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = table.WriteParquet(f, table.Release{Columns: []columns.Column{{Name: "town", Texts: town}, {Name: "sex", Texts: sex},
		{Name: "age", Float64: age}, {Name: "person", Int64: person}, {Name: "number", Int64: number}}})
	if err != nil {
		t.Fatal(err)
	}
	return path, sizes
}

type townsSpec struct{ relation, unit, samples, releases string }

func (s townsSpec) run(t *testing.T, data string) (*pipeline.Outcome, error) {
	t.Helper()
	text := strings.NewReplacer("RELATION", s.relation, "UNIT", s.unit, "SAMPLES", s.samples, "RELEASES", s.releases).Replace(townsJob)
	if !strings.Contains(s.releases, "day") {
		text = strings.Replace(text, "    day: {type: date}\n", "", 1)
	}
	return run(t, write(t, text, "TABLE", data))
}

// jsonRows are the rows of a release as JSON has them.
func jsonRows(t *testing.T, o *pipeline.Outcome, name string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(o.Dir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

const countTowns = `  - {name: towns, by: [town], keys: {guarantee: {epsilon: "1", delta: "1e-12"}}, mechanism: count, guarantee: {epsilon: "100000"}}
`

// With a large budget for the counts, what is released are the true numbers of the towns
// that were kept: large ones always, towns of one never, in the order of their names.
func TestUnlistedKeys(t *testing.T) {
	data, sizes := people(t, 1)
	o, err := townsSpec{"relation: add-remove", "unit: row", "", countTowns}.run(t, data)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	var names []string
	for _, row := range jsonRows(t, o, "towns") {
		names = append(names, row["town"].(string))
		seen[row["town"].(string)] = row["estimate"].(float64)
	}
	shown := map[string]string{"line\nend": `line\nend`, "\x1b[31mred": `\x1b[31mred`, `back\slash`: `back\\slash`, "\u202eleft": `\u202eleft`}
	for key, n := range sizes {
		name := key
		if s, ok := shown[key]; ok {
			name = s
		}
		count, kept := seen[name]
		switch {
		// At ε = 1 and δ = 1e-12, 28 units are kept in half of the runs, and 60 in all but 1e-13.
		case n >= 60 && (!kept || math.Abs(count-float64(n)) > .5):
			t.Errorf("%q of %d people is %v, %g", key, n, kept, count)
		case n == 1 && kept: // 40 of them: in four runs of 10¹¹
			t.Errorf("%q of one person is released", key)
		}
	}
	if !slices.IsSorted(append([]string{}, rawOrder(names)...)) {
		t.Errorf("the order of %v", names)
	}
	csv, err := os.ReadFile(filepath.Join(o.Dir, "towns.csv"))
	if err != nil || strings.ContainsAny(string(csv), "\x1b\u202e\r") {
		t.Errorf("the CSV file holds control characters: %q, %v", csv, err)
	}
	var said strings.Builder
	if err := o.WriteText(&said); err != nil || strings.ContainsAny(said.String(), "\x1b\u202e") {
		t.Error("the terminal gets control characters", err)
	}
	k := o.Report.Releases[0].Keys
	if k == nil || k.Guarantee.Epsilon > 1 || k.Guarantee.Delta > 1e-12 || len(k.Sizes) != 2 || k.Sizes[0].Units != 28 {
		t.Errorf("%+v", k)
	}
	if eps := o.Report.Guarantee.Epsilon; eps <= 90000 || eps > 100001 {
		t.Errorf("charged ε %g", eps)
	}
	valid(t, schema(t, "report-v1.schema.json"), filepath.Join(o.Dir, "report.json"))
	if again, err := run(t, filepath.Join(filepath.Dir(o.Dir), "job.yaml")); err != nil || !again.Already {
		t.Error("the release is not found again", err)
	}
}

// rawOrder brings escaped names back into the order of their bytes.
func rawOrder(names []string) []string {
	var out []string
	for _, n := range names {
		if s, err := strconv.Unquote(`"` + strings.ReplaceAll(n, `"`, `\"`) + `"`); err == nil {
			n = s
		}
		out = append(out, n)
	}
	return out
}

// Every way to draw, to bound units, to group and to share a selection: what is released is
// true for the sample, and the plan's event happened.
func TestUnlistedKeysEverywhere(t *testing.T) {
	tier.Full(t, "TestUnlistedKeys")
	one, _ := people(t, 1)
	three, _ := people(t, 3)
	shared := `  - {name: towns, FROM by: [town, sex], where: "age >= 50", keys: {guarantee: {epsilon: "6", delta: "1e-5"}, at_most: 50}, mechanism: count, guarantee: {epsilon: "6"}}
  - {name: ages, FROM by: [town, sex], where: "age >= 50", keys: {from: towns}, suppress: {below: 40}, mechanism: mean, params: {column: age}, guarantee: {epsilon: "6"}}
  - {name: middle, FROM by: [town, sex], where: "age >= 50", keys: {from: towns}, mechanism: median, params: {column: age, method: exponential}, guarantee: {epsilon: "6"}}
  - {name: numbers, FROM by: [number], OTHER keys: {guarantee: {epsilon: "6", delta: "1e-5"}}, mechanism: count, guarantee: {epsilon: "6"}}
`
	capped := strings.ReplaceAll(shared[:strings.Index(shared, "  - {name: middle")], "OTHER ", "") + `  - {name: numbers, FROM by: [number], keys: {guarantee: {epsilon: "6", delta: "1e-5"}}, mechanism: count, guarantee: {epsilon: "6"}}
`
	size := "relation: replace-one\n  size: 6640"
	samples := map[string]string{"": "", "poisson": "samples: {s: {method: poisson, rate: 0.5}}", "srswor": "samples: {s: {method: srswor, size: 3000}}"}
	for _, relation := range []string{"relation: add-remove\n  at_least: 6000", size} {
		for sample, said := range samples {
			if sample == "srswor" && relation != size {
				continue // count cannot scale it up
			}
			for _, unit := range []string{"unit: row", "unit: {column: person, name: person}\n  cap: {groups: 2, rows: 2}"} {
				releases, data, other := shared, one, "other: rest,"
				if testing.Short() && (relation == size || sample != "" || unit != "unit: row") {
					continue
				}
				if unit != "unit: row" {
					releases, data, other = capped, three, ""
				}
				from := ""
				if sample != "" {
					from = "from: s,"
				}
				name := strings.Fields(relation)[1] + " " + sample + " " + strings.Fields(unit)[1]
				t.Run(name, func(t *testing.T) {
					o, err := townsSpec{relation, unit, said, strings.NewReplacer("FROM", from, "OTHER", other).Replace(releases)}.run(t, data)
					if err != nil {
						t.Fatal(err)
					}
					counts, ages := jsonRows(t, o, "towns"), jsonRows(t, o, "ages")
					if len(counts) != len(ages) || len(counts) == 0 || len(counts)%2 != 0 || len(counts) > 100 {
						t.Fatalf("%d and %d groups", len(counts), len(ages))
					}
					blank := 0
					for i, row := range counts {
						if row["town"] != ages[i]["town"] || row["sex"] != ages[i]["sex"] {
							t.Fatalf("row %d is about %v, %v and %v, %v", i, row["town"], row["sex"], ages[i]["town"], ages[i]["sex"])
						}
						if marked := ages[i]["suppressed"] == 1.0; marked != (ages[i]["estimate"] == nil) || marked != (ages[i]["count"] == nil) {
							t.Errorf("%v", ages[i])
						} else if marked {
							blank++
						} else if ages[i]["count"].(float64) < 40 {
							t.Errorf("%v is not blank", ages[i])
						}
					}
					if blank == 0 || blank == len(ages) {
						t.Errorf("%d of %d groups are blank", blank, len(ages))
					}
					if unit == "unit: row" {
						for i, row := range jsonRows(t, o, "middle") {
							if row["town"] != counts[i]["town"] {
								t.Errorf("median of %v, count of %v", row["town"], counts[i]["town"])
							}
						}
					}
					var keyed int
					for _, r := range o.Report.Releases {
						if r.Keys != nil && r.Keys.From == "" {
							keyed++
							if sample != "" && r.Keys.Sizes[1].Units <= r.Keys.Sizes[1].Whole {
								t.Errorf("%+v", r.Keys.Sizes)
							}
						}
					}
					if keyed != 2 {
						t.Errorf("%d selections", keyed)
					}
					valid(t, schema(t, "report-v1.schema.json"), filepath.Join(o.Dir, "report.json"))
				})
			}
		}
	}
}

// A hundred thousand keys in one release: what a mechanism is asked fits in its messages.
func TestUnlistedKeysByTheThousand(t *testing.T) {
	keys := 100_000
	if testing.Short() {
		keys = 5000
	}
	town := make([]string, 0, 20*keys)
	for i := range keys {
		for range 20 {
			town = append(town, fmt.Sprintf("a town with a long name, the one of number %d", i))
		}
	}
	path := filepath.Join(t.TempDir(), "many.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := table.WriteParquet(f, table.Release{Columns: []columns.Column{{Name: "town", Texts: town}}}); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("RELATION", "relation: add-remove", "UNIT", "unit: row", "SAMPLES", "",
		"RELEASES", `  - {name: towns, by: [town], keys: {guarantee: {epsilon: "4", delta: "1e-6"}, at_most: 100000}, mechanism: count, guarantee: {epsilon: "1"}}`,
		"    day: {type: date}\n", "", "    number: {type: number}\n", "", "    sex: {domain: [f, m]}\n", "", "    age: {lower: 0, upper: 100, missing: drop}\n", "").Replace(townsJob)
	o, err := run(t, write(t, text, "TABLE", path))
	if err != nil {
		t.Fatal(err)
	}
	if rows := jsonRows(t, o, "towns"); len(rows) != keys {
		t.Errorf("%d towns of %d", len(rows), keys)
	}
}

// A selection that keeps nothing is a release without rows, and one that keeps more than
// is asked for stays within the limit.
func TestUnlistedKeysNoneAndMany(t *testing.T) {
	tier.Full(t, "TestUnlistedKeys")
	data, _ := people(t, 1)
	none := townsSpec{"relation: add-remove", "unit: row", "", `  - {name: towns, by: [town], where: "age > 99", keys: {guarantee: {epsilon: "0.01", delta: "1e-9"}}, suppress: {below: 5}, mechanism: count, guarantee: {epsilon: "1"}}
  - {name: middle, by: [town], where: "age > 99", keys: {from: towns}, mechanism: median, params: {column: age, method: exponential}, guarantee: {epsilon: "1"}}
  - {name: few, by: [town], where: "age <= 99", keys: {guarantee: {epsilon: "10", delta: "1e-6"}, at_most: 3}, mechanism: count, guarantee: {epsilon: "1"}}
`}
	o, err := none.run(t, data)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"towns": 0, "middle": 0, "few": 3} {
		if rows := jsonRows(t, o, name); len(rows) != want {
			t.Errorf("%s: %v", name, rows)
		}
	}
	if r := o.Report.Releases[0]; !reflect.DeepEqual(r.Fields[len(r.Fields)-1], report.Field{Name: "suppressed", Type: "int64", Doc: "1 where estimate is below 5 and the row is blank, else 0"}) {
		t.Errorf("%+v", r.Fields)
	}
}
