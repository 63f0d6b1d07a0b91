package samplers

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// tablesOf deals the rows of a table to some machines: in turns, or a stretch to each.
func tablesOf(rows, machines int, turns bool) [][]int {
	out := make([][]int, machines)
	for r := range rows {
		m := r * machines / rows
		if turns {
			m = r % machines
		}
		out[m] = append(out[m], r)
	}
	return out
}

func unitsAt(units []int32, rows []int) []int32 {
	out := make([]int32, len(rows))
	for i, r := range rows {
		out[i] = units[r]
	}
	return out
}

type splitter func(d Design, src *noise.Source, have []map[int32]int64) ([]map[int32]int64, error)

// splits are ways to find how many rows of each unit each machine draws: the right one, and three that are wrong.
var splits = map[string]splitter{
	"drawn": func(d Design, src *noise.Source, have []map[int32]int64) ([]map[int32]int64, error) {
		return split(d, src, have, ways["sequential"])
	},
	// The first machine takes as many as it has.
	"first come": spread(func(_ *noise.Source, room []int64) int {
		return slices.IndexFunc(room, func(n int64) bool { return n > 0 })
	}),
	"the most room": spread(func(_ *noise.Source, room []int64) int {
		return slices.Index(room, slices.Max(room))
	}),
	"a machine for each row drawn": spread(func(src *noise.Source, room []int64) int {
		for {
			if at := int(src.Uint64n(uint64(len(room)))); room[at] > 0 {
				return at
			}
		}
	}),
}

// spread puts the rows that are needed of each unit on machines one by one.
func spread(on func(src *noise.Source, room []int64) int) splitter {
	return func(d Design, src *noise.Source, have []map[int32]int64) ([]map[int32]int64, error) {
		whole, err := begin(d, src, -1)
		if err != nil {
			return nil, err
		}
		out := make([]map[int32]int64, len(have))
		for i := range out {
			out[i] = map[int32]int64{}
		}
		for u, need := range whole.(*unitSelector).need {
			for range need {
				room := make([]int64, len(have))
				for i := range have {
					room[i] = have[i][int32(u)] - out[i][int32(u)]
				}
				out[on(src, room)][int32(u)]++
			}
		}
		return out, nil
	}
}

// drawSplit draws on some machines, from a script.
func drawSplit(t testing.TB, d Design, units []int32, tables [][]int, by splitter, src *noise.Source) (set int64, weights map[int]float64) {
	t.Helper()
	have := make([]map[int32]int64, len(tables))
	for i, rows := range tables {
		have[i] = CountUnits(unitsAt(units, rows))
	}
	needs, err := by(d, src, have)
	if err != nil {
		t.Fatal(err)
	}
	weights = map[int]float64{}
	for i, rows := range tables {
		mine := unitsAt(units, rows)
		n := int64(len(rows))
		sel, err := beginPart(d, Part{Table: n, Rows: n, Units: mine, Needs: needs[i]}, 2, nil, func(int64) *noise.Source { return src })
		if err != nil {
			t.Fatal(err)
		}
		drawn, w := collect(t, sel, len(rows), mine, 2)
		for k, r := range drawn {
			set |= 1 << rows[r]
			if w != nil {
				weights[rows[r]] = w[k]
			}
		}
	}
	return set, weights
}

// Every sample of a multistage or stratified design has exactly its probability, whichever machine has which row: all
// choices of the host and of the machines are walked through. Numbers by machine that are not those of a uniform subset
// of each unit are caught.
func TestSplitExplored(t *testing.T) {
	cases := multiCases(t)
	strata := mustFrame(t, "stratum", "a 3", "b 4", "c 1")
	designs := map[string]Design{"stratified": must[*StratifiedTake](t)(NewStratifiedTake(strata, []int64{2, 3, 1}))}
	laws := map[string]func(int64) float64{"stratified": func(int64) float64 { return 1. / (3 * 4) }}
	frames := map[string]*Frame{"stratified": strata}
	for _, c := range cases {
		law := lawOf(c.frame, c.stages, rowsOf(c.frame))
		designs[c.name], frames[c.name] = must[*Multistage](t)(NewMultistage(c.frame, c.stages)), c.frame
		laws[c.name] = func(m int64) float64 { return law[m] }
	}
	caught := map[string]bool{}
	for name, d := range designs {
		units := rowsOf(frames[name])
		for how, by := range splits {
			for _, turns := range []bool{true, false} {
				tables := tablesOf(len(units), 2, turns)
				mass, rest := noisetest.Explore(1e-5, func(choose func(uint64) uint64) int64 {
					set, weights := drawSplit(t, d, units, tables, by, insecurenoise.NewScript(choose))
					for r, w := range weights {
						if w != d.(interface{ Weight(int32) float64 }).Weight(units[r]) {
							t.Fatal("a row has another unit's weight")
						}
					}
					return set
				})
				if how == "drawn" {
					noisetest.CheckExplored(t, name, mass, rest, 0, laws[name])
					continue
				}
				var seen recorder
				noisetest.CheckExplored(&seen, name, mass, rest, 1e-2, laws[name])
				caught[how] = caught[how] || len(seen.failures) > 0
			}
		}
	}
	for how := range splits {
		if how != "drawn" && !caught[how] {
			t.Errorf("%s: the mistake is not seen", how)
		}
	}
}

// With keys and streams as they are used, on three machines: how often each sample of two of three, one of four and one
// of one is drawn. The false-alarm probability is that of CheckCells. One key for all machines would make what they draw
// depend on one another, and is caught.
func TestSplitFit(t *testing.T) {
	frame := mustFrame(t, "stratum", "a 4", "b 4")
	d := must[*StratifiedTake](t)(NewStratifiedTake(frame, []int64{2, 2}))
	units := []int32{0, 1, 0, 1, 0, 1, 0, 1}
	tables := [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}
	draws := tier.Of(5_000, 20_000)
	fit := func(check noisetest.T, key func(k noise.Key, machine int) noise.Key) {
		src, seen := newSource(t), map[int64]int{}
		for range draws {
			k, set := src.NewKey(), int64(0)
			have := []map[int32]int64{{0: 2, 1: 2}, {0: 2, 1: 2}}
			needs, err := Split(d, src, have)
			if err != nil {
				t.Fatal(err)
			}
			for i, rows := range tables {
				mine := unitsAt(units, rows)
				sel, err := BeginPart(d, Part{Key: key(k, i), Table: 4, Rows: 4, Units: mine, Needs: needs[i]})
				if err != nil {
					t.Fatal(err)
				}
				drawn, _ := collect(t, sel, 4, mine, 3)
				for _, r := range drawn {
					set |= 1 << rows[r]
				}
			}
			seen[set]++
		}
		cells, probs := slices.Collect(maps.Values(seen)), make([]float64, 36)
		for len(cells) < 36 {
			cells = append(cells, 0)
		}
		for i := range probs {
			probs[i] = 1. / 36
		}
		noisetest.CheckCells(check, "two of four in each of two strata", draws, cells, probs)
	}
	fit(t, func(k noise.Key, machine int) noise.Key { return k.Derive("draw s", uint64(machine)) })
	var seen recorder
	fit(&seen, func(k noise.Key, _ int) noise.Key { return k.Derive("draw s", 0) })
	if len(seen.failures) == 0 {
		t.Error("one key for all machines is not noticed")
	}
}

// Rates by stratum on several machines: the fraction drawn of each stratum, and none of the rows that lie in none.
func TestRatesInParts(t *testing.T) {
	frame := mustFrame(t, "stratum", "a 0", "b 0")
	d := must[*StratifiedPoisson](t)(NewStratifiedPoisson(frame, []Rate{mustRate(t, "0.25"), mustRate(t, "0.5")}))
	units := []int32{0, 1, -1, 0, 1, 1, -1, 0, 0}
	tables := tablesOf(len(units), 3, false)
	src := newSource(t)
	const draws = 20_000
	single := make([]int, len(units))
	probs := make([]float64, len(units))
	for r, u := range units {
		probs[r] = []float64{0, 0.25, 0.5}[u+1]
	}
	for range draws {
		key := src.NewKey()
		for i, rows := range tables {
			n, mine := int64(len(rows)), unitsAt(units, rows)
			sel, err := BeginPart(d, Part{Key: key.Derive("draw s", uint64(i)), Table: n, Rows: n, Units: mine})
			if err != nil {
				t.Fatal(err)
			}
			drawn, weights := collect(t, sel, len(rows), mine, 2)
			for k, r := range drawn {
				single[rows[r]]++
				if weights[k] != 1/probs[rows[r]] {
					t.Fatal("a row has another stratum's weight")
				}
			}
		}
	}
	noisetest.CheckCells(t, "rates by stratum in parts", draws, single, probs)
}

// Tables that are not the frame's are refused, and so is a part that has fewer rows of a unit than it shall draw.
func TestSplitMismatch(t *testing.T) {
	frame := mustFrame(t, "stratum", "a 3", "b 2")
	d := must[*StratifiedTake](t)(NewStratifiedTake(frame, []int64{2, 1}))
	for _, have := range [][]map[int32]int64{
		nil, {{0: 3}}, {{0: 3, 1: 2}, {1: 1}}, {{0: 2, 1: 2}}, {{0: 3, 1: 2, -1: 1}}, {{0: 3, 1: 2, 2: 1}}, {{0: 5}},
	} {
		if _, err := Split(d, newSource(t), have); !errors.Is(err, &Error{FrameMismatch}) {
			t.Errorf("%v: %v", have, err)
		}
	}
	if _, err := Split(must[*SRSWOR](t)(NewSRSWOR(1, 3)), newSource(t), nil); err == nil {
		t.Error("a design without a frame is split")
	}
	for _, p := range []Part{
		{Rows: 2, Table: 2, Units: []int32{0, 1}, Needs: map[int32]int64{0: 2}}, {Rows: 2, Table: 2, Units: []int32{0, 1}, Needs: map[int32]int64{1: -1}},
		{Rows: 2, Table: 2, Units: []int32{0, -1}, Needs: map[int32]int64{-1: 1}}, {Rows: 2, Table: 2, Units: []int32{0, 1}, Needs: map[int32]int64{7: 1}},
	} {
		if _, err := BeginPart(d, p); !errors.Is(err, &Error{FrameMismatch}) {
			t.Errorf("%v: %v", p, err)
		}
	}
	if _, err := BeginPart(d, Part{Rows: 2, Table: 2, Units: []int32{0}}); !errors.Is(err, &Error{Misuse}) {
		t.Errorf("rows without units: %v", err)
	}
	sel, err := BeginPart(d, Part{Rows: 2, Table: 2, Units: []int32{0, -1}, Needs: map[int32]int64{0: 1}})
	if err == nil {
		_, err = sel.NextUnits([]int32{0, -1})
	}
	if !errors.Is(err, &Error{FrameMismatch}) {
		t.Errorf("a row in no unit: %v", err)
	}
}
