package run

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
)

// home is a unit: its region, and its persons, each with the values of its visits.
type home struct {
	region  string
	persons [][]int
}

// nest is a job that protects homes, with visits that name a person alone.
type nest struct {
	world
	visits string // what is said of visits
	file   string
}

// of is the law of the job on some homes. Rows of visits of nobody, and of a person that is in no home, are there always.
func (w *nest) of(homes []home) law {
	dir := filepath.Dir(w.file)
	named := map[string]string{}
	texts := map[string]*strings.Builder{"homes": {}, "persons": {}, "visits": {}}
	texts["homes"].WriteString("u,region\n")
	texts["persons"].WriteString("p,u\nstray,\n")
	texts["visits"].WriteString("p,x\nnobody,2\n,2\nstray,2\n")
	for i, h := range homes {
		fmt.Fprintf(texts["homes"], "u%d,%s\n", i, h.region)
		for k, visits := range h.persons {
			fmt.Fprintf(texts["persons"], "p%d-%d,u%d\n", i, k, i)
			for _, x := range visits {
				fmt.Fprintf(texts["visits"], "p%d-%d,%d\n", i, k, x)
			}
		}
	}
	for name, text := range texts {
		named[filepath.Join(dir, name+".csv")] = text.String()
	}
	size := ""
	if w.relation == "replace-one" {
		size = fmt.Sprintf("\n  size: %d\n  population: homes", len(homes))
	}
	text := fmt.Sprintf(`version: 1
job: tiny
dataset:
  id: tiny
  relation: %[1]s%[2]s
  unit: {column: u, name: home, members: {name: person, table: persons, column: p}}
  tables:
    homes: {source: {path: "%[3]s/homes.csv"}, unit: {rows: 1}, columns: {region: {domain: [n, s], missing: drop}},
      derive: {total: {as: sum(visits.x), lower: -1, upper: 2}}}
    persons: {source: {path: "%[3]s/persons.csv"}, unit: {missing: drop}, cap: {groups: 1, rows: 1}, columns: {p: {type: text}}, derive: {one: {as: "1", lower: 0, upper: 1}}}
    visits: {source: {path: "%[3]s/visits.csv"}, unit: {member: p, missing: drop}, join: {homes: [region]}, columns: {x: {lower: -1, upper: 2, missing: drop}}, %[4]s}
budget: {limit: {epsilon: 100}}
samples: {s: {method: poisson, rate: 0.5}}
releases:
  - {name: r, %[5]s, guarantee: {epsilon: 1}}
output: {dir: out}
`, w.relation, size, dir, w.visits, w.release)
	p := w.plans[text]
	if p == nil {
		j, err := language.Parse("job.yaml", []byte(text), language.Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		if p, err = plan.Make(w.t.Context(), j, shelf{&w.calls}, inprocess.NoPast{}); err != nil {
			w.t.Fatal(err)
		}
		if w.plans == nil {
			w.plans = map[string]*plan.Priced{}
		}
		w.plans[text] = p
	}
	return w.walk(p, nil, named)
}

// Homes of up to two persons with up to two visits, which name a person alone, are not told apart better than was charged.
// What would happen if a person counted in two homes is.
func TestNoNeighboursOfMembersBeatTheCharge(t *testing.T) { // P32
	persons := [][][]int{{}, {{}}, {{2}}, {{-1, 2}}, {{2}, {2}}, {{-1}, {2, 2}}, {{}, {2}}}
	var homes []home
	for i, p := range persons {
		homes = append(homes, home{[]string{"n", "s"}[i%2], p})
	}
	rest := []home{{"s", [][]int{{2}, {-1}}}}
	with := func(h home) []home { return append([]home{h}, rest...) }
	nested := func(relation, visits string) *nest {
		return &nest{world: world{t: t, relation: relation}, visits: visits, file: filepath.Join(t.TempDir(), "tiny.csv")}
	}
	for _, relation := range []string{"add-remove", "replace-one"} {
		for _, visits := range []string{"cap: {groups: 1, rows: 1}", "cap: {groups: 1, rows: 2}", "fold: {x: sum, region: mode}"} {
			for _, release := range []string{"table: visits, by: [region], mechanism: count", "table: visits, mechanism: sum, params: {column: x}",
				"table: visits, by: [region], mechanism: count, from: s", "table: homes, mechanism: sum, params: {column: total}"} {
				w := nested(relation, visits)
				w.release = release
				base := w.of(rest)
				for i, h := range homes {
					own := w.of(with(h))
					if relation == "replace-one" && i == 0 {
						base = own
					}
					if d := max(beats(own, base), beats(base, own)); d > 1e-7 {
						t.Fatalf("%s, %s, %s: %v beside %v: the charge is exceeded by δ = %.3g", relation, visits, release, h, rest, d)
					}
				}
			}
		}
	}
	// A person whose first home wins: a home that comes takes the visits of another one.
	w := nested("add-remove", "cap: {groups: 1, rows: 1}")
	w.release = "table: visits, by: [region], mechanism: count"
	before := w.of([]home{{"n", nil}, {"s", [][]int{{2}}}})
	after := w.of([]home{{"n", [][]int{{2}}}, {"s", [][]int{{}}}})
	if d := max(beats(before, after), beats(after, before)); d < 0.05 {
		t.Errorf("a person in two homes is not caught: %g", d)
	}
}
