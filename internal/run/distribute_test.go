package run

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
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// serial is an engine of one machine, which does one thing after the other.
type serial struct {
	worker Worker
	twice  bool                               // every part and every shard is carried out twice
	spoil  func(parts, shards [][]byte) error // breaks what was found
	send   func(sent [][]byte) [][]byte       // breaks what a shard gets
	order  func(o *Order)                     // breaks what the machines are told
}

func (s *serial) Check(ctx context.Context, order []byte) error { return s.worker.Check(ctx, order) }

func (s *serial) Tallies(ctx context.Context, order []byte, parts, shards int) ([][]byte, [][]byte, error) {
	if s.order != nil {
		var o Order
		err := json.Unmarshal(order, &o)
		s.order(&o)
		text, again := json.Marshal(o)
		if order = text; errors.Join(err, again) != nil {
			return nil, nil, errors.Join(err, again)
		}
	}
	ofParts, ofShards, sent := make([][]byte, parts), make([][]byte, shards), make([][][]byte, shards)
	again := func(first []byte, err error, second func() ([]byte, error)) ([]byte, error) {
		if s.twice && err == nil {
			other, err := second()
			var a, b Tally
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
	valid := make([]bool, rows)
	for i := range rows {
		id, x, g = append(id, float64(i%units)), append(x, float64(i*7919%1000)-300), append(g, []string{"a", "b", "c", "d"}[i*31%4])
		valid[i] = i%13 != 0
	}
	return tableOf(t, table.ReleaseColumn{Name: "id", Float64: id}, table.ReleaseColumn{Name: "x", Float64: x, Valid: valid}, table.ReleaseColumn{Name: "g", Text: g})
}

func tableOf(t testing.TB, columns ...table.ReleaseColumn) string {
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

// distributed is a job with an engine, ready to be gathered.
func distributed(t testing.TB, path, dataset, sample, releases string, splits int) *Runner {
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
	j, err := job.Parse(filepath.Join(t.TempDir(), "job.yaml"), []byte(text), job.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := plan.Make(t.Context(), j, builtins(builtin.Mechanisms()), noPast{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := OpenTable(t.Context(), p.Planned, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return New(p.Planned, opened, nil, Options{Observe: func(Progress) {}, Engine: &serial{worker: Worker{Builtins: builtin.Mechanisms()}}})
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

func addedUp(t testing.TB, r *Runner, key noise.Key) map[string][][][]int64 {
	t.Helper()
	got, err := r.gather(t.Context(), key.Source())
	if err != nil {
		t.Fatal(err)
	}
	return got.vectors
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
			one := addedUp(t, distributed(t, path, dataset, sample, releases, 1), key)
			eight := distributed(t, path, dataset, sample, releases, 8)
			eight.options.Engine.(*serial).twice = true
			if got := addedUp(t, eight, key); len(got) == 0 || !reflect.DeepEqual(one, got) {
				t.Errorf("%s, %s: one part finds %s, eight find %s", c.name, sample, brief(one), brief(got))
			}
			same := sample != ""
			for try := 0; same && try < 20; try++ { // other units may well give the same sums
				same = reflect.DeepEqual(one, addedUp(t, eight, src.NewKey()))
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
	valid := make([]bool, rows)
	for i := range rows {
		id, row = append(id, float64(i*i%9973)), append(row, float64(i))
		x, g = append(x, float64(i*7919%1000)-300), append(g, []string{"a", "b", "c", "d"}[i*31%7%4])
		valid[i] = i%13 != 0
	}
	return tableOf(t, table.ReleaseColumn{Name: "id", Float64: id}, table.ReleaseColumn{Name: "row_id", Float64: row},
		table.ReleaseColumn{Name: "x", Float64: x, Valid: valid}, table.ReleaseColumn{Name: "g", Text: g})
}

// What the machines of an engine add up is what one machine without an engine adds up.
func TestSumsAreThoseOfAPlainRun(t *testing.T) {
	path := spreadTable(t)
	for _, c := range spreads[:3] { // a cap chooses at random
		r := distributed(t, path, c.dataset, "", strings.ReplaceAll(c.releases, "FROM", "all"), 8)
		got := addedUp(t, r, noise.Key{1})
		plain := New(r.Plan, r.Table, nil, Options{Observe: func(Progress) {}})
		plain.part = &remotePart{sum: inProcess(builtin.Mechanisms()), tally: Tally{Vectors: map[string][][][]int64{}}}
		if err := plain.drawAll(t.Context(), noise.Key{2}.Source()); err != nil {
			t.Fatal(err)
		}
		if want := plain.part.tally.Vectors; !reflect.DeepEqual(got, want) {
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
		want   error
	}{
		{0, func(s *serial) { s.spoil = func(p, _ [][]byte) error { p[3] = nil; return nil } }, errEngine},
		{0, func(s *serial) { s.spoil = func(p, _ [][]byte) error { return errors.New("a worker died") } }, errEngine},
		{2, func(s *serial) { s.spoil = func(_, h [][]byte) error { h[1] = nil; return nil } }, errEngine},
		{2, func(s *serial) { s.send = func(p [][]byte) [][]byte { return p[1:] } }, ErrInternal},
		{2, func(s *serial) { s.send = func(p [][]byte) [][]byte { return append(p, p[0]) } }, ErrInternal},
		{2, func(s *serial) { s.send = func(p [][]byte) [][]byte { return append([][]byte{p[1]}, p[1:]...) } }, ErrInternal},
	} {
		r := distributed(t, path, spreads[c.spread].dataset, "", strings.ReplaceAll(spreads[c.spread].releases, "FROM", "all"), 8)
		c.break_(r.options.Engine.(*serial))
		if err := r.distribute(t.Context(), noise.Key{3}.Source()); err == nil || err.Error() != c.want.Error() {
			t.Errorf("%+v: %v", c, err)
		}
		if len(r.Results) > 0 {
			t.Error("something was released")
		}
	}
	r := distributed(t, path, spreads[0].dataset, "", strings.ReplaceAll(spreads[0].releases, "FROM", "all"), 8)
	right := addedUp(t, r, noise.Key{4})
	r.options.Engine.(*serial).spoil = func(p, _ [][]byte) error { p[2] = p[1]; return nil } // the twin
	if wrong := addedUp(t, r, noise.Key{4}); reflect.DeepEqual(right, wrong) {
		t.Error("a part that is counted twice makes no difference")
	}
}

// ErrInternal is a fault of a worker, without words (P20).
var ErrInternal = CodeOf(context.Background(), errShard)

// A draw of units takes all rows of a unit or none. The twin draws rows, and is caught.
func TestDrawsTakeWholeUnits(t *testing.T) {
	const each, units = 5, 400
	path := trips(t, each*units, units)
	count := func(dataset string) (broken bool) {
		r := distributed(t, path, dataset, drawn["p"], "  - {name: n, from: p, mechanism: count, guarantee: {epsilon: 1}}", 8)
		for k := range 20 {
			if addedUp(t, r, noise.Key{5, byte(k)})["n"][0][0][0]%each != 0 {
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
	path := tableOf(t, table.ReleaseColumn{Name: "id", Float64: id}, table.ReleaseColumn{Name: "x", Float64: x})
	releases := "  - {name: s, from: w, mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}}"
	columns := "  columns: {x: {lower: 0, upper: 32}}\n"
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	statistic := func(dataset string, spoil func(p, h [][]byte) error) float64 {
		r := distributed(t, path, dataset, "w: {method: srswor, size: 3}", releases, 3)
		r.options.Engine.(*serial).spoil = spoil
		const draws = 600
		seen := map[int64]float64{}
		for range draws {
			seen[addedUp(t, r, src.NewKey())["s"][0][0][0]]++
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
		j, err := job.Parse("job.yaml", []byte(text), job.Options{})
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
	path = tableOf(t, table.ReleaseColumn{Name: "id", Float64: id}, table.ReleaseColumn{Name: "x", Float64: x}, table.ReleaseColumn{Name: "g", Text: g})
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
	statistic := func(dataset, sample string, samples int, spoil func(o *Order)) float64 {
		r := distributed(t, path, dataset, sample, releases, 3)
		r.options.Engine.(*serial).order = spoil
		draws := 20 * samples
		seen := map[int64]float64{}
		for range draws {
			seen[addedUp(t, r, src.NewKey())["s"][0][0][0]]++
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
		twin := func(o *Order) {
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
			r.options.Engine.(*serial).twice = true
			key := noise.Key{6, byte(splits)}
			got := addedUp(t, r, key)["n"][0][0]
			if again := addedUp(t, r, key)["n"][0][0]; !slices.Equal(got, again) {
				t.Errorf("%s: the same key draws %v, and then %v", c.sample, got, again)
			}
			if other := addedUp(t, r, noise.Key{7, byte(splits)})["n"][0][0]; strings.Contains(c.sample, "rates") && slices.Equal(got, other) {
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
		err := CountFrames(t.Context(), r.Plan, r.Table, r.options.Engine)
		if kind != "rows" {
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if _, err = r.gather(t.Context(), noise.Key{1}.Source()); !errors.Is(err, errFrame) {
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
	if err := CountFrames(t.Context(), r.Plan, r.Table, r.options.Engine); err != nil || len(r.Table.counts["w"]) != 3 {
		t.Errorf("%v, %v", r.Table.counts, err)
	}
	if err := os.WriteFile(frame, []byte("g,rows\nb,3\na,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.options.Engine = &serial{worker: Worker{Builtins: builtin.Mechanisms()}}
	if _, err := r.gather(t.Context(), noise.Key{1}.Source()); err == nil || err.Error() != errPlans.Error() {
		t.Errorf("another frame on a machine: %v", err)
	}
}
