package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/columns"
	"github.com/dprelease/dprelease/samplers"
)

// serial is an engine of one machine, which does one thing after the other. It adds up what it finds, and then fails:
// what is added up is compared before there is noise.
type serial struct {
	worker Worker
	key    *noise.Key                         // of the draws, in the place of the host's
	like   *run.Order                         // an order whose numbers of rows are drawn again, nil for the host's
	given  *run.Order                         // the last order but those that only count
	added  map[string][][][]int64             // what was added up
	full   bool                               // the host gets what was found
	twice  bool                               // every part and every shard is carried out twice
	spoil  func(parts, shards [][]byte) error // breaks what was found
	send   func(sent [][]byte) [][]byte       // breaks what a shard gets
	order  func(o *run.Order)                 // breaks what the machines are told
}

func (s *serial) Check(ctx context.Context, order []byte) error { return s.worker.Check(ctx, order) }

// errAdded ends a run that was added up.
var errAdded = failure.New(failure.ExitPlugin, "ADDED", "everything is added up")

func (s *serial) Tallies(ctx context.Context, order []byte, parts, shards int) ([][]byte, [][]byte, error) {
	var o run.Order
	err := json.Unmarshal(order, &o)
	if s.key != nil {
		o.Key = *s.key
	}
	if s.like != nil && !o.Count {
		o.Taken, o.Needs = s.like.Taken, s.like.Needs
	}
	if s.order != nil {
		s.order(&o)
	}
	order, again := json.Marshal(o)
	if err = errors.Join(err, again); err != nil {
		return nil, nil, err
	}
	ofParts, ofShards, err := s.carryOut(ctx, order, parts, shards)
	if err != nil || s.full || o.Count {
		return ofParts, ofShards, err
	}
	s.given, s.added = &o, map[string][][][]int64{}
	for _, b := range slices.Concat(ofParts, ofShards) {
		var t run.Tally
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&t); err != nil {
			return nil, nil, err
		}
		if t.Failure != nil {
			return nil, nil, t.Failure
		}
		for name, runs := range t.Vectors {
			if s.added[name] == nil {
				s.added[name] = make([][][]int64, len(runs))
			}
			for i, vectors := range runs {
				if s.added[name][i], err = host.AddVectors(s.added[name][i], vectors); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	return nil, nil, errAdded
}

func (s *serial) carryOut(ctx context.Context, order []byte, parts, shards int) ([][]byte, [][]byte, error) {
	ofParts, ofShards, sent := make([][]byte, parts), make([][]byte, shards), make([][][]byte, shards)
	again := func(first []byte, err error, second func() ([]byte, error)) ([]byte, error) {
		if s.twice && err == nil {
			other, err := second()
			var a, b run.Tally
			if err := errors.Join(err, gob.NewDecoder(bytes.NewReader(first)).Decode(&a), gob.NewDecoder(bytes.NewReader(other)).Decode(&b)); err != nil {
				return nil, err
			}
			if !reflect.DeepEqual(a, b) {
				return nil, errors.New("a second attempt finds something else")
			}
		}
		return first, err
	}
	for i := len(ofParts) - 1; i >= 0; i-- { // in no good order
		var err error
		if shards == 0 {
			ofParts[i], err = s.worker.Part(ctx, order, i)
			ofParts[i], err = again(ofParts[i], err, func() ([]byte, error) { return s.worker.Part(ctx, order, i) })
		} else {
			var pieces [][]byte
			pieces, ofParts[i], err = s.worker.Scatter(ctx, order, i)
			for k, p := range pieces {
				sent[k] = append(sent[k], p)
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for i := range ofShards {
		if s.send != nil {
			sent[i] = s.send(sent[i])
		}
		var err error
		ofShards[i], err = s.worker.Shard(ctx, order, i, sent[i])
		if ofShards[i], err = again(ofShards[i], err, func() ([]byte, error) { return s.worker.Shard(ctx, order, i, sent[i]) }); err != nil {
			return nil, nil, err
		}
	}
	if s.spoil != nil {
		return ofParts, ofShards, s.spoil(ofParts, ofShards)
	}
	return ofParts, ofShards, nil
}

// trips writes a table of units with several rows: of some, in several parts.
func trips(t testing.TB, rows, units int) string {
	var id, x []float64
	var g []string
	blank := make([]bool, rows)
	for i := range rows {
		id, x, g = append(id, float64(i%units)), append(x, float64(i*7919%1000)-300), append(g, []string{"a", "b", "c", "d"}[i*31%4])
		blank[i] = i%13 == 0
	}
	return tableOf(t, columns.Column{Name: "id", Float64: id}, columns.Column{Name: "x", Float64: x, Blank: blank}, columns.Column{Name: "g", Texts: g})
}

func tableOf(t testing.TB, columns ...columns.Column) string {
	t.Helper()
	var b bytes.Buffer
	if err := table.WriteParquet(&b, table.Release{Columns: columns}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// spread is a job with an engine.
type spread struct {
	*serial
	plan  *planned.Plan
	table *run.OpenedTable
}

// run carries the job out.
func (s *spread) run(t testing.TB) error {
	return run.New(s.plan, s.table, nil, run.Options{Observe: func(run.Progress) {}, Engine: s.serial}).Draws(t.Context())
}

// distributed is a job with an engine, ready to be added up.
func distributed(t testing.TB, path, dataset, sample, releases string, splits int) *spread {
	t.Helper()
	if sample != "" {
		sample = "samples: {" + sample + "}"
	}
	text := fmt.Sprintf(`version: 1
job: spread
dataset:
  id: spread
  source: {path: %s}
%s
budget: {limit: {epsilon: 1000, delta: 1e-3}}
%s
releases:
%s
engine: {runner: prism, options: {splits: %d, shards: 5}}
output: {dir: out}
`, path, dataset, sample, releases, splits)
	j, err := language.Parse(filepath.Join(t.TempDir(), "job.yaml"), []byte(text), language.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := plan.Make(t.Context(), j, inprocess.Mechanisms(builtin.Mechanisms()), inprocess.NoPast{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := run.OpenTable(t.Context(), p.Plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return &spread{&serial{worker: Worker{Builtins: builtin.Mechanisms()}}, p.Plan, opened}
}

const (
	byRow  = "  relation: add-remove\n  unit: row\n"
	fields = "  columns:\n    x: {lower: -200, upper: 500, missing: drop}\n    g: {domain: [a, b, c], outside: drop}\n"
	many   = "  relation: add-remove\n  unit: {column: id, name: person}\n"
)

var spreads = []struct{ name, units, dataset, releases string }{
	{"rows", "70000", byRow + fields + "  derive: {y: {as: \"x * 2 + 1\", lower: -400, upper: 1000, missing: drop}}\n", `
  - {name: n, from: FROM, mechanism: count, where: "x > 0", by: [g], guarantee: {epsilon: 1}}
  - {name: s, from: FROM, mechanism: sum, params: {column: "y"}, guarantee: {epsilon: 1}}
  - {name: m, from: FROM, mechanism: mean, params: {column: x}, by: [g], guarantee: {epsilon: 1}}
  - {name: h, from: FROM, mechanism: histogram, params: {column: x, edges: [-200, 0, 100, 500]}, guarantee: {epsilon: 1}}
  - {name: v, from: FROM, mechanism: variance, params: {column: x}, guarantee: {epsilon: 1}}`},
	{"one row a unit", "70000", strings.Replace(byRow, "unit: row", "unit: {column: row_id, name: trip, rows: 1}", 1) + fields, `
  - {name: n, from: FROM, mechanism: count, by: [g], guarantee: {epsilon: 1}}`},
	{"fold", "4987", many + "  fold: {x: sum, g: mode}\n" + fields, `
  - {name: n, from: FROM, mechanism: count, by: [g], guarantee: {epsilon: 1}}
  - {name: s, from: FROM, mechanism: sum, params: {column: x}, where: "x > -100", guarantee: {epsilon: 1}}`},
	{"cap", "4987", many + "  cap: {groups: 2, rows: 3}\n" + fields, `
  - {name: n, from: FROM, mechanism: count, by: [g], guarantee: {epsilon: 1}}
  - {name: s, from: FROM, mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}}`},
}

var drawn = map[string]string{"": "", "p": "p: {method: poisson, rate: 0.3}", "w": "w: {method: srswor, size: 40}"}

// addedUp adds a job up with a key, and with the numbers of rows of an earlier order.
func addedUp(t testing.TB, r *spread, key noise.Key, like *run.Order) map[string][][][]int64 {
	t.Helper()
	r.key, r.like = &key, like
	if err := r.run(t); !errors.Is(err, errAdded) {
		t.Fatal(err)
	}
	return r.added
}

// With the same random bits, the sums without noise are the same on one machine and on eight, for rows and for units, for
// the table and for samples, and when every piece of work is carried out twice.
func TestSumsDoNotDependOnTheParts(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	path := spreadTable(t)
	for _, c := range tier.Some(spreads, 6) {
		for from, sample := range drawn {
			key, dataset, releases := src.NewKey(), c.dataset, strings.ReplaceAll(c.releases, "FROM", cmp.Or(from, "all"))
			if from == "w" { // a sample of fixed size wants the number of units
				dataset = strings.Replace(dataset, "add-remove\n", "replace-one\n  size: "+c.units+"\n", 1)
			}
			first := distributed(t, path, dataset, sample, releases, 1)
			one := addedUp(t, first, key, nil)
			eight := distributed(t, path, dataset, sample, releases, 8)
			eight.twice = true
			if got := addedUp(t, eight, key, first.given); len(got) == 0 || !reflect.DeepEqual(one, got) {
				t.Errorf("%s, %s: one part finds %s, eight find %s", c.name, sample, brief(one), brief(got))
			}
			same := sample != ""
			for try := 0; same && try < 20; try++ { // other units may well give the same sums
				same = reflect.DeepEqual(one, addedUp(t, eight, src.NewKey(), nil))
			}
			if same {
				t.Errorf("%s, %s: twenty other keys draw the same: %s", c.name, sample, brief(one))
			}
		}
	}
}

func brief(v any) string {
	b, _ := json.Marshal(v)
	return string(b[:min(len(b), 300)])
}

// spreadTable is a table of two blocks, with a column that numbers its rows.
func spreadTable(t testing.TB) string {
	const rows = 70000
	var id, row, x []float64
	var g []string
	blank := make([]bool, rows)
	for i := range rows {
		id, row = append(id, float64(i*i%9973)), append(row, float64(i))
		x, g = append(x, float64(i*7919%1000)-300), append(g, []string{"a", "b", "c", "d"}[i*31%7%4])
		blank[i] = i%13 == 0
	}
	return tableOf(t, columns.Column{Name: "id", Float64: id}, columns.Column{Name: "row_id", Float64: row},
		columns.Column{Name: "x", Float64: x, Blank: blank}, columns.Column{Name: "g", Texts: g})
}

// What the machines of an engine add up is what one machine without an engine adds up.
func TestSumsAreThoseOfAPlainRun(t *testing.T) {
	path := spreadTable(t)
	for _, c := range spreads[:3] { // a cap chooses at random
		r := distributed(t, path, c.dataset, "", strings.ReplaceAll(c.releases, "FROM", "all"), 8)
		got := addedUp(t, r, noise.Key{1}, nil)
		plain, err := run.AddUp(t.Context(), r.plan, r.table, r.worker.Builtins.Sums, nil, noise.Key{2}.Source())
		if err != nil {
			t.Fatal(err)
		}
		if want := plain.Vectors; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s, not %s", c.name, brief(got), brief(want))
		}
	}
}

// A part or a piece that is lost, comes twice or comes in another's place releases nothing; and were a part counted
// twice, the sums would show it.
func TestLostAndDoubledParts(t *testing.T) {
	path := spreadTable(t)
	for _, c := range []struct {
		spread int
		break_ func(s *serial)
		want   string
	}{
		{0, func(s *serial) { s.spoil = func(p, _ [][]byte) error { p[3] = nil; return nil } }, "ENGINE_FAILED: the engine did not add up every part of the table" + failure.SpentOnly},
		{0, func(s *serial) { s.spoil = func(p, _ [][]byte) error { return errors.New("a worker died") } }, "ENGINE_FAILED: the engine did not add up every part of the table" + failure.SpentOnly},
		{2, func(s *serial) { s.spoil = func(_, h [][]byte) error { h[1] = nil; return nil } }, "ENGINE_FAILED: the engine did not add up every part of the table" + failure.SpentOnly},
		{2, func(s *serial) { s.send = func(p [][]byte) [][]byte { return p[1:] } }, "INTERNAL: the run failed after its budget was spent; nothing was published"},
		{2, func(s *serial) { s.send = func(p [][]byte) [][]byte { return append(p, p[0]) } }, "INTERNAL: the run failed after its budget was spent; nothing was published"},
		{2, func(s *serial) { s.send = func(p [][]byte) [][]byte { return append([][]byte{p[1]}, p[1:]...) } }, "INTERNAL: the run failed after its budget was spent; nothing was published"},
	} {
		r := distributed(t, path, spreads[c.spread].dataset, "", strings.ReplaceAll(spreads[c.spread].releases, "FROM", "all"), 8)
		r.full = true
		c.break_(r.serial)
		runner := run.New(r.plan, r.table, nil, run.Options{Observe: func(run.Progress) {}, Engine: r.serial})
		if err := runner.Draws(t.Context()); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
		if len(runner.Results) > 0 {
			t.Error("something was released")
		}
	}
	r := distributed(t, path, spreads[0].dataset, "", strings.ReplaceAll(spreads[0].releases, "FROM", "all"), 8)
	right := addedUp(t, r, noise.Key{4}, nil)
	r.spoil = func(p, _ [][]byte) error { p[2] = p[1]; return nil } // the twin
	if wrong := addedUp(t, r, noise.Key{4}, nil); reflect.DeepEqual(right, wrong) {
		t.Error("a part that is counted twice makes no difference")
	}
}

// A draw of units takes all rows of a unit or none. The twin draws rows, and is caught.
func TestDrawsTakeWholeUnits(t *testing.T) {
	const each, units = 5, 400
	path := trips(t, each*units, units)
	count := func(dataset string) (broken bool) {
		r := distributed(t, path, dataset, drawn["p"], "  - {name: n, from: p, mechanism: count, guarantee: {epsilon: 1}}", 8)
		for k := range 20 {
			if addedUp(t, r, noise.Key{5, byte(k)}, nil)["n"][0][0][0]%each != 0 {
				broken = true
			}
		}
		return broken
	}
	columns := "  columns: {x: {lower: 0, upper: 1, missing: drop}}\n"
	if count(many + "  cap: {groups: 1, rows: 5}\n" + columns) {
		t.Error("some rows of a unit are drawn, and others are not")
	}
	if !count(byRow + columns) {
		t.Error("rows that are drawn one by one are not noticed")
	}
}

// Chi-square over all 20 subsets of three of six, drawn on three parts, and of units in five shards. The twin counts the
// first part's block twice as often.
func TestDistributedSampleIsUniform(t *testing.T) {
	var id, x []float64
	for i := range 6 {
		id, x = append(id, float64(i)+0.5), append(x, math.Exp2(float64(i)))
	}
	path := tableOf(t, columns.Column{Name: "id", Float64: id}, columns.Column{Name: "x", Float64: x})
	releases := "  - {name: s, from: w, mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}}"
	columns := "  columns: {x: {lower: 0, upper: 32}}\n"
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	statistic := func(dataset string, spoil func(p, h [][]byte) error) float64 {
		r := distributed(t, path, dataset, "w: {method: srswor, size: 3}", releases, 3)
		r.spoil = spoil
		const draws = 600
		seen := map[int64]float64{}
		for range draws {
			seen[addedUp(t, r, src.NewKey(), nil)["s"][0][0][0]]++
		}
		chi, expected := (20-float64(min(20, len(seen))))*draws/20, draws/20.
		for _, n := range seen {
			chi += (n - expected) * (n - expected) / expected
		}
		return chi
	}
	// Chi-square with 19 degrees of freedom is above 85 in 3 of 10¹⁰ draws; 30 are expected in
	// each cell, which makes the tail a little heavier.
	limit := 85.
	replace := "  relation: replace-one\n  size: 6\n"
	datasets := []string{
		replace + "  unit: row\n" + columns,
		replace + "  unit: {column: id, name: person, rows: 1}\n" + columns,
		replace + "  unit: {column: id, name: person}\n  fold: {x: sum}\n" + columns,
	}
	for _, dataset := range tier.Some(datasets, 3) {
		if got := statistic(dataset, nil); got > limit {
			t.Errorf("%s: the statistic is %g", dataset, got)
		}
	}
	twin := func(p, _ [][]byte) error { p[1] = slices.Clone(p[0]); return nil }
	if got := statistic(replace+"  unit: row\n"+columns, twin); got <= limit {
		t.Errorf("a part that is counted twice is not noticed: %g", got)
	}
}

// The order of a job does not depend on the table but for its rows, and the engine is no part of the job's identity.
func TestEngineIsNoPartOfTheDigest(t *testing.T) {
	text := "version: 1\njob: a\ndataset: {id: d, source: {path: t}, relation: add-remove, unit: row, columns: {x: {lower: 0, upper: 1}}}\n" +
		"budget: {limit: {epsilon: 1}}\nreleases: [{name: n, mechanism: count, guarantee: {epsilon: 1}}]\noutput: {dir: out}\n"
	read := func(text string) string {
		j, err := language.Parse("job.yaml", []byte(text), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j.Digest()
	}
	if read(text) != read(text+"engine: {runner: flink, options: {endpoint: \"localhost:8099\"}}\n") {
		t.Error("the engine changes the digest: an earlier release would be paid for again")
	}
}

// strataTable writes a table of rows in two strata, of powers of two, and its frame.
func strataTable(t testing.TB, places string) (path, frame string) {
	t.Helper()
	var id, x []float64
	var g []string
	for i, place := range places {
		id, x, g = append(id, float64(i)+0.5), append(x, math.Exp2(float64(i))), append(g, string(place))
	}
	path = tableOf(t, columns.Column{Name: "id", Float64: id}, columns.Column{Name: "x", Float64: x}, columns.Column{Name: "g", Texts: g})
	frame = filepath.Join(filepath.Dir(path), "frame.csv")
	if err := os.WriteFile(frame, []byte("g,rows\na,3\nb,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, frame
}

// unitKinds are the ways in which six rows are six units of privacy: rows, units of one row, folded units.
func unitKinds(frame string) map[string]string {
	replace := "  relation: replace-one\n  size: 6\n  frame: {path: " + frame + ", records: rows}\n"
	columns := "  columns: {x: {lower: 0, upper: 32}, g: {domain: [a, b]}}\n"
	return map[string]string{
		"rows":           replace + "  unit: row\n" + columns,
		"one row a unit": replace + "  unit: {column: id, name: person, rows: 1}\n" + columns,
		"fold":           replace + "  unit: {column: id, name: person}\n  fold: {x: sum, g: mode}\n" + columns,
	}
}

// Chi-square over all samples of one in each of two strata, and of two in one of two clusters, drawn on three parts and
// on five shards. The twin deals the rows that are drawn to the parts in turns.
func TestDistributedStrataAreUniform(t *testing.T) {
	path, frame := strataTable(t, "ababba")
	releases := "  - {name: s, from: w, mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}}"
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	statistic := func(dataset, sample string, samples int, spoil func(o *run.Order)) float64 {
		r := distributed(t, path, dataset, sample, releases, 3)
		r.order = spoil
		draws := 20 * samples
		seen := map[int64]float64{}
		for range draws {
			seen[addedUp(t, r, src.NewKey(), nil)["s"][0][0][0]]++
		}
		if len(seen) > samples {
			t.Errorf("%d samples occur, there are %d", len(seen), samples)
		}
		chi, expected := float64(samples-len(seen))*20, 20.
		for _, n := range seen {
			chi += (n - expected) * (n - expected) / expected
		}
		return chi
	}
	// The quantiles of chi-square with 8 and 5 degrees of freedom at 1 − 10⁻⁶ are 42.7 and 35.9.
	for _, c := range []struct {
		sample  string
		samples int
		limit   float64
	}{
		{"w: {method: stratified, strata: g, take: {a: 1, b: 1}}", 9, 43},
		{"w: {method: multistage, stages: [{unit: g, take: 1}, {take: 2}]}", 6, 36},
	} {
		for kind, dataset := range unitKinds(frame) {
			if testing.Short() && kind != "rows" {
				continue
			}
			if got := statistic(dataset, c.sample, c.samples, nil); got > c.limit {
				t.Errorf("%s, %s: the statistic is %g", c.sample, kind, got)
			}
		}
		twin := func(o *run.Order) {
			turn := 0
			if o.Needs == nil {
				return
			}
			for _, parts := range o.Needs {
				for u := range int32(2) {
					need := int64(0)
					for i := range parts {
						need += parts[i][u]
						delete(parts[i], u)
					}
					for ; need > 0; need-- { // rows ab, ab and ba: each part has one of each
						parts[turn%3][u]++
						turn += 2
					}
				}
			}
		}
		if got := statistic(unitKinds(frame)["rows"], c.sample, c.samples, twin); got <= c.limit {
			t.Errorf("%s: parts that take turns are not noticed: %g", c.sample, got)
		}
	}
}

// Every stratum gives exactly the number of rows that the job says, on one part and on eight, for rows and for units, and
// when every piece of work is carried out twice; rates by stratum draw again what they drew.
func TestStrataInPartsAreComplete(t *testing.T) {
	tier.Full(t, "TestDistributedStrataAreUniform")
	path := spreadTable(t)
	rows := map[string]int{}
	for i := range 70000 {
		rows[[]string{"a", "b", "c", "d"}[i*31%7%4]]++
	}
	frame := filepath.Join(filepath.Dir(path), "frame.csv")
	text := "g,rows\n"
	for _, g := range []string{"d", "c", "b", "a"} {
		text += fmt.Sprintf("%s,%d\n", g, rows[g])
	}
	if err := os.WriteFile(frame, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	columns := strings.Replace(fields, "[a, b, c], outside: drop", "[a, b, c, d], missing: drop", 1)
	replace := "  relation: replace-one\n  size: 70000\n  frame: {path: " + frame + ", records: rows}\n"
	releases := "  - {name: n, from: w, mechanism: count, by: [g], guarantee: {epsilon: 1}}"
	for _, c := range []struct{ dataset, sample string }{
		{replace + "  unit: row\n" + columns, "w: {method: stratified, strata: g, take: {a: 300, b: 300, c: 300, d: 300}}"},
		{replace + "  unit: {column: row_id, name: trip, rows: 1}\n" + columns, "w: {method: multistage, stages: [{unit: g, take: all}, {take: 300}]}"},
		{byRow + columns, "w: {method: stratified, strata: g, rates: {a: 0.25, b: 0.25, c: 0.25, d: 0.5}}"},
		{many + "  fold: {x: sum, g: mode}\n" + columns, "w: {method: stratified, strata: g, rates: {a: 0.25, b: 0.25, c: 0.25, d: 0.5}}"},
	} {
		for _, splits := range []int{1, 8} {
			r := distributed(t, path, c.dataset, c.sample, releases, splits)
			r.twice = true
			key := noise.Key{6, byte(splits)}
			got := addedUp(t, r, key, nil)["n"][0][0]
			if again := addedUp(t, r, key, r.given)["n"][0][0]; !slices.Equal(got, again) {
				t.Errorf("%s: the same key draws %v, and then %v", c.sample, got, again)
			}
			if other := addedUp(t, r, noise.Key{7, byte(splits)}, nil)["n"][0][0]; strings.Contains(c.sample, "rates") && slices.Equal(got, other) {
				t.Errorf("%s: another key draws the same: %v", c.sample, got)
			}
			for i, g := range []string{"a", "b", "c", "d"} { // weighted counts, on a lattice of 2⁻¹⁶; one row of 300 weighs 33 or 67
				if n := math.Round(float64(got[i]) / (1 << 16)); strings.Contains(c.sample, "300") && n != float64(rows[g]) {
					t.Errorf("%s, %d parts: the rows of stratum %s stand for %g, not %d", c.sample, splits, g, n, rows[g])
				}
			}
		}
	}
}

// A table that is not the frame's is refused before the debit, with the words of a run on one machine; of units only
// afterwards. Machines that read another frame are refused, too.
func TestEngineAndFrame(t *testing.T) {
	path, frame := strataTable(t, "ababaa")
	sample, releases := "w: {method: stratified, strata: g, take: {a: 1, b: 1}}", "  - {name: s, from: w, mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}}"
	for kind, dataset := range unitKinds(frame) {
		r := distributed(t, path, dataset, sample, releases, 3)
		err := run.CountFrames(t.Context(), r.plan, r.table, r.serial)
		if kind != "rows" {
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if err = r.run(t); !errors.Is(err, &samplers.Error{Code: samplers.FrameMismatch}) {
				t.Errorf("%s: %v", kind, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "a unit does not have the number of rows that the frame says") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	path, frame = strataTable(t, "ababba")
	r := distributed(t, path, unitKinds(frame)["rows"], sample, releases, 3)
	if err := run.CountFrames(t.Context(), r.plan, r.table, r.serial); err != nil {
		t.Error(err)
	}
	if addedUp(t, r, noise.Key{1}, nil); len(r.given.Needs["w"]) != 3 {
		t.Errorf("%v", r.given.Needs)
	}
	if err := os.WriteFile(frame, []byte("g,rows\nb,3\na,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.serial = &serial{worker: Worker{Builtins: builtin.Mechanisms()}}
	if err := r.run(t); err == nil || err.Error() != errPlans.Error() {
		t.Errorf("another frame on a machine: %v", err)
	}
}
