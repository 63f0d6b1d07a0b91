package language_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"gopkg.in/yaml.v3"
)

// oneTable and severalTables are jobs that nothing is wrong with.
const (
	oneTable = `
version: 1
job: d
dataset:
  id: p
  source: {path: p.csv}
  relation: add-remove
  columns: {age: {lower: 0, upper: 120}, w: {type: number}, id: {type: text}, town: {type: text}, month: {type: text}, region: {domain: [n, s]}}
budget: {limit: {epsilon: "3", delta: "1e-6"}}
releases: [{name: a, mechanism: mean, params: {column: age}, guarantee: {epsilon: "0.5"}}]
output: {dir: out}
`
	severalTables = `
version: 1
job: d
dataset:
  id: p
  relation: add-remove
  unit: {column: id, name: person}
  tables:
    persons: {source: {path: p.csv}, unit: {rows: 1}, columns: {age: {lower: 0, upper: 120}, w: {type: number}, town: {type: text}, region: {domain: [n, s]}}}
    visits: {source: {path: v.csv}, columns: {age: {lower: 0, upper: 120}, w: {type: number}, town: {type: text}, region: {domain: [n, s]}}}
budget: {limit: {epsilon: "3", delta: "1e-6"}}
releases: [{name: a, table: visits, mechanism: mean, params: {column: age}, guarantee: {epsilon: "0.5"}}]
output: {dir: out}
`
)

// features are keys of a job that some others do not go with: PATH=VALUE, in YAML.
var features = []string{
	"dataset.relation=replace-one; dataset.size=100",
	"dataset.at_least=50",
	"dataset.size=100",
	"dataset.slice={column: month, is: 2026-03}",
	"dataset.slice={column: month, is: 2026-03}; budget.lifetime={epsilon: 9}",
	"budget.lifetime={rho: 9, delta: 0.1}",
	"dataset.collected={method: srswor, population: 1000}",
	"dataset.collected={method: srswor, population: 1000, each_slice: true}",
	"dataset.collected={method: poisson, rate: 0.1}",
	"dataset.collected={method: stratified, strata: region, rates: {n: 0.1, s: 0.1}, allocation: equal}",
	"dataset.collected={method: stratified, strata: region, take: {n: 50, s: 50}, population: {n: 100, s: 100}, allocation: equal}",
	"dataset.collected={method: multistage, stages: [{unit: region, take: 1}, {take: 2}], allocation: equal}; dataset.frame={path: f.csv, records: n}",
	"dataset.collected={method: rotation, waves: 6, in: 2, wave: 2}",
	"dataset.frame={path: f.csv, records: n}",
	"dataset.weights={column: w, at_most: 40}; dataset.columns.w.missing=drop",
	"dataset.weights={column: w, at_most: 40}; dataset.tables.visits.columns.w.missing=drop",
	"dataset.unit={column: id, name: person, rows: 1}",
	"dataset.unit={column: id, name: person}",
	"dataset.unit.missing=own",
	"dataset.unit.members={name: person, column: town}",
	"dataset.unit.members={name: person, column: town, table: visits}",
	"dataset.unit.groups={household: 4}",
	"dataset.fold={age: max, region: mode, w: max}",
	"dataset.cap={rows: 2}",
	"dataset.cap={rows: 2, measure: {epsilon: 0.1, at_most: 9}}",
	"dataset.cap={rows: {private: {epsilon: 0.1}, at_most: 9}}",
	"dataset.cap={rows: {private: {epsilon: 0.1}, at_most: 9}, measure: {epsilon: 0.1, at_most: 9}}",
	"dataset.cap={rows: 2, groups: 2}",
	"dataset.population=persons",
	"dataset.lookups={l: {path: l.csv, on: id, columns: {z: {domain: [a]}}}}",
	"dataset.derive.after={as: age > 3, after: fold}",
	"dataset.derive.before={as: age > 3}",
	"dataset.columns.age={bounds: {private: {epsilon: 0.1}, at_most: 1000}}",
	"dataset.columns.age={bounds: {private: {epsilon: 0.1}, at_most: 1000}, upper: 5}",
	"dataset.columns.age.measure={epsilon: 0.1}",
	"dataset.columns.age.measure={rho: 0.1}",
	"dataset.columns.age.outside=drop",
	"dataset.columns.region.immutable=true",
	"dataset.columns.region.one_per_unit=true",
	"dataset.columns.age.immutable=true",
	"dataset.source={postgres: 'postgres://r@db/x', table: t}",
	"dataset.source={postgres: 'postgres://r@db/x', query: select 1}",
	"dataset.source={path: p.parquet, snapshot: 3}",
	"dataset.tables.visits.unit={rows: 1}",
	"dataset.tables.visits.unit={missing: own}",
	"dataset.tables.visits.fold={age: max, region: mode, w: max}",
	"dataset.tables.visits.cap={rows: 2, groups: 2}",
	"dataset.tables.persons.cap={rows: 2, groups: 2}; dataset.tables.persons.unit={}",
	"dataset.tables.visits.cap={rows: 2, measure: {epsilon: 0.1, at_most: 9}}",
	"dataset.tables.visits.cap={rows: {private: {epsilon: 0.1}, at_most: 9}}",
	"dataset.tables.visits.columns.age={bounds: {private: {epsilon: 0.1}, at_most: 1000}}",
	"dataset.tables.visits.columns.region.immutable=true",
	"dataset.tables.visits.derive.after={as: age > 3, after: fold}",
	"samples.s={method: srswor, size: 10}; releases.0.from=s",
	"samples.s={method: srswor, size: 10, keep: true}; releases.0.from=s",
	"samples.s={method: poisson, rate: 0.1}; releases.0.from=s",
	"samples.s={method: poisson, rate: 0.1, keep: true}; releases.0.from=s",
	"samples.t={method: poisson, rate: 0.1}",
	"samples.s={method: stratified, strata: region, rates: {n: 0.1, s: 0.1}}; releases.0.from=s",
	"samples.s={method: stratified, strata: region, take: {n: 10, s: 10}}; releases.0.from=s",
	"samples.s={method: stratified, strata: region, rates_by_size: {expected: 300, most: 0.5}}; releases.0.from=s",
	"samples.s={method: stratified, strata: region, rates_by_size: {expected: 300, most: 0.5}, keep: true}; releases.0.from=s",
	"samples.s={method: stratified, strata: region, take: {n: 10, s: 10}, rates_by_size: {expected: 300, most: 0.5}}",
	"samples.s={method: stratified, strata: region, take: {n: 10, s: 10}, rates: {n: 0.1, s: 0.1}, rates_by_size: {expected: 300, most: 0.5}}",
	"samples.s={method: multistage, stages: [{unit: region, take: 1}, {take: 2}]}; releases.0.from=s",
	"samples.s={method: kept, id: 5f1c0de2a7b94c3e8d6f0a1b2c3d4e5f}; releases.0.from=s",
	"samples.s={method: rotation, waves: 6, in: 2, wave: 2}; releases.0.from=s",
	"series={m: {periods: {from: 2026-01, to: 2026-12}, publish: [month]}}; releases.0.series=m; dataset.slice={column: month, is: 2026-03}",
	"series={m: {periods: {from: 2026-01, to: 2026-12}, publish: [month]}}; releases.0.series=m; releases.0.guarantee={rho: 0.1}; budget.limit={rho: 1}; dataset.slice={column: month, is: 2026-03}",
	"series={m: {periods: {from: 2026-01, to: 2026-12}, publish: [month]}}; dataset.slice={column: month, is: 2026-03}",
	"series={m: {periods: {from: 2026-01, to: 2026-12}, publish: [month]}}; releases.0.series=m",
	"releases.0.guarantee={rho: 0.1}",
	"releases.0.cap={groups: 2}",
	"releases.0.guarantee={rho: 0.1}; budget.limit={rho: 1}",
	"releases.0.guarantee={rho: 0.1, delta: 1e-7}",
	"releases.0.guarantee={epsilon: 0.1, delta: 1e-7}",
	"releases.1={name: b, mechanism: count, guarantee: {epsilon: 0.1}}",
	"releases.1={name: b, table: visits, mechanism: count, guarantee: {epsilon: 0.1}}",
	"budget.limit={rho: 1, delta: 1e-6}",
	"budget.spend={epsilon: 0.2}; releases.0.guarantee=~",
	"budget.spend={rho: 0.2}; releases.0.guarantee=~; releases.0.weight=2",
	"budget.spend={epsilon: 2}; releases.0.weight=2",
	"releases.0.weight=2",
	"releases.0.where=age > 3",
	"releases.0.having=age > 3",
	"releases.0.by=[region]",
	"releases.0.by=[town]",
	"releases.0.by=[region]; releases.0.other=rest",
	"releases.0.by=[town]; releases.0.keys={guarantee: {epsilon: 0.1, delta: 1e-7}}",
	"releases.0.by=[town]; releases.0.keys={guarantee: {epsilon: 0.1, delta: 1e-7}, top: 3, at_most: 4}",
	"releases.0.by=[town]; releases.0.keys={guarantee: {rho: 0.1}}; releases.0.other=rest",
	"releases.0.by=[region]; releases.0.suppress={below: 5}",
	"releases.0.interval=95",
	"releases.0.weights=none",
	"releases.0.table=visits",
	"engine={runner: prism}",
}

// with sets keys of a job: a key that a list or a mapping lacks is added, and one with ~ is taken away.
func with(doc map[string]any, feature string) {
	for _, set := range strings.Split(feature, "; ") {
		path, text, _ := strings.Cut(set, "=")
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			panic(err)
		}
		keys := strings.Split(path, ".")
		at := doc
		for i, key := range keys[:len(keys)-1] {
			next := at[key]
			if list, ok := next.([]any); ok {
				n, _ := strconv.Atoi(keys[i+1])
				if n == len(list) {
					at[key] = append(list, value)
					at = nil
					break
				}
				at[keys[i+1]] = list[n] // shared with the list: a mapping is a reference
				next = map[string]any{keys[i+1]: list[n]}
				delete(at, keys[i+1])
			}
			under, ok := next.(map[string]any)
			if !ok {
				under = map[string]any{}
				at[key] = under
			}
			at = under
		}
		switch last := keys[len(keys)-1]; {
		case at == nil:
		case value == nil:
			delete(at, last)
		default:
			at[last] = value
		}
	}
}

// jobWith returns a job with features.
func jobWith(t testing.TB, base string, set ...string) []byte {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(base), &doc); err != nil {
		t.Fatal(err)
	}
	for _, f := range set {
		with(doc, f)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// pairsLine takes a line of the page apart: with or without, the right side, why, and what to do instead.
var pairsLine = regexp.MustCompile(`^- \*\*.+?\*\* (with|without) \*\*(.+)\*\*: (.+?)(?: → (.+))?\n$`)

// Each line of docs/what-goes-together.md refuses a vector or a job with two of the features, and the JSON Schema
// refuses nothing that check accepts.
func TestEachPairIsRefused(t *testing.T) {
	said := map[string]string{} // what a problem says, and the line that says it
	for line := range strings.Lines(readFile(t, filepath.Join("..", "..", "..", "docs", "what-goes-together.md"))) {
		m := pairsLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for with := range strings.SplitSeq(m[2], "**; **") {
			said["does not go "+m[1]+" "+with+": "+m[3]+"\x00"+cmp.Or(m[4], "leave it out")] = line
		}
	}
	if len(said) < 80 {
		t.Fatalf("the page has %d pairs", len(said))
	}
	s := compileSchema(t)
	refuse := func(name string, text []byte, o language.Options, schema bool) {
		_, err := language.Parse("job.yaml", text, o)
		var problems job.Problems
		errors.As(err, &problems)
		for _, p := range problems {
			if at := strings.Index(p.Message, "does not go "); at >= 0 {
				delete(said, p.Message[at:]+"\x00"+p.Hint)
			}
		}
		if err != nil || !schema {
			return
		}
		doc, err := asJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("check accepts and the schema refuses %s: %v", name, err)
		}
	}
	for _, v := range vectors(t) {
		refuse(v.name, v.text, v.options(), false) // TestVectorsAgainstSchema compares them
	}
	for _, base := range []string{oneTable, severalTables} {
		for i, f := range features {
			for _, g := range features[:i+1] {
				if !testing.Short() || len(said) > 0 {
					refuse(g+"; "+f, jobWith(t, base, g, f), language.Options{Mechanisms: append([]string{"unit_rows", "bounds"}, builtins...)}, true)
				}
			}
		}
	}
	for _, line := range said {
		t.Errorf("nothing was refused by the line %s", line)
	}
}
