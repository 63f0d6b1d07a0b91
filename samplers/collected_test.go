package samplers

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// Over the collections every row of the population counts once, and a draw from the table multiplies its weight.
func TestGatheredWeights(t *testing.T) {
	f := mustFrame(t, "unit", "a 2", "b 3")
	empty := mustFrame(t, "unit", "a 0", "b 0")
	units := []int32{0, 0, 1, 1, 1}
	half := mustRate(t, "1/2")
	for name, by := range map[string]Design{
		"take":   must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{1, 2})),
		"rates":  must[*StratifiedPoisson](t)(NewStratifiedPoisson(empty, []Rate{half, mustRate(t, "1/4")})),
		"stages": must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "unit", Take: 1}, {Take: 2}})),
		"rate":   must[*Poisson](t)(NewPoisson(mustRate(t, "1/4"), 0)),
	} {
		table := must[*Collected](t)(NewCollectedBy(by))
		facts := by.Facts()
		for _, draw := range []Design{must[*Full](t)(NewFull(facts.SampleSize)), must[*Poisson](t)(NewPoisson(half, facts.SampleSize))} {
			g := must[*Gathered](t)(NewGathered(table, draw))
			if g.Facts().MaxWeight != facts.MaxWeight*draw.Facts().MaxWeight || g.Facts().Population != facts.Population || g.Kind() != by.Kind() {
				t.Errorf("%s: facts %+v", name, g.Facts())
			}
			total := make([]float64, len(units))
			for mask, p := range lawOfDesign(t, varianceCase{d: by, rows: len(units), units: units}) {
				var rows []int
				var of []int32
				for i, u := range units {
					if mask>>i&1 == 1 {
						rows, of = append(rows, i), append(of, u)
					}
				}
				sel, err := begin(g, newSource(t), int64(len(rows)))
				if err != nil {
					t.Fatal(err)
				}
				at, weights := collect(t, sel, len(rows), of, 2)
				for i, r := range at {
					w := g.Facts().MaxWeight
					if weights != nil {
						w = weights[i]
					}
					total[rows[r]] += p * w
					if framed, ok := by.(interface{ Weight(int32) float64 }); ok && w != framed.Weight(of[r])*draw.Facts().MaxWeight {
						t.Errorf("%s, %s: a row weighs %g", name, draw.Kind(), w)
					}
				}
			}
			for i, w := range total {
				if draw.Kind() == "full" && math.Abs(w-1) > 1e-9 {
					t.Errorf("%s: row %d counts %g times", name, i, w)
				}
			}
			if e := g.Event(privacy.Pure{Eps: 1}); e != draw.Event(privacy.Pure{Eps: 1}) {
				t.Errorf("%s: the event is %v", name, e)
			}
		}
	}
}

// A table that the collection cannot have made is refused, and so are collections that nobody can charge.
func TestGatheredRefuses(t *testing.T) {
	f := mustFrame(t, "county/unit", "A/a 3", "A/b 3", "B/c 3", "B/d 3")
	stages := must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "county", All: true}, {Unit: "unit", Take: 1}, {Take: 2}}))
	strata := must[*StratifiedTake](t)(NewStratifiedTake(mustFrame(t, "h", "a 3", "b 3"), []int64{1, 2}))
	uneven := must[*Multistage](t)(NewMultistage(mustFrame(t, "unit", "a 1", "b 3", "c 2"), []Stage{{Unit: "unit", Take: 2}, {Take: 2, AtMost: true}}))
	for name, c := range map[string]struct {
		by    Design
		units []int32
		fails bool
	}{
		"as drawn":                {stages, []int32{0, 0, 3, 3}, false},
		"two units of one county": {stages, []int32{0, 0, 1, 1}, true},
		"three of a unit":         {stages, []int32{0, 0, 0, 3}, true},
		"one of a unit":           {stages, []int32{0, 1, 3, 3}, true},
		"too few of a unit":       {stages, []int32{0, 3, 3}, true},
		"nobody of a county":      {stages, []int32{0, 0}, true},
		"in no unit":              {stages, []int32{0, 0, 3, -1}, true},
		"of unequal size":         {uneven, []int32{0, 1, 1}, false},
		"a unit too many":         {uneven, []int32{0, 1, 2}, true},
		"one of three":            {uneven, []int32{0, 1}, true},
		"of strata":               {strata, []int32{1, 0, 1}, false},
		"other strata":            {strata, []int32{1, 0, 0}, true},
	} {
		g := must[*Gathered](t)(NewGathered(must[*Collected](t)(NewCollectedBy(c.by)), must[*Full](t)(NewFull(int64(len(c.units))))))
		sel, err := begin(g, newSource(t), int64(len(c.units)))
		if err == nil {
			if _, err = sel.NextUnits(c.units); err == nil {
				err = sel.Done()
			}
		}
		if (err != nil) != c.fails || c.fails && !errors.Is(err, &Error{FrameMismatch}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewCollectedBy(must[*Full](t)(NewFull(3))); err == nil {
		t.Error("a census is accepted as a survey")
	}
	table := must[*Collected](t)(NewCollectedBy(strata))
	for name, d := range map[string]Design{"a fixed number": must[*SRSWOR](t)(NewSRSWOR(1, 3)), "strata": strata} {
		if _, err := NewGathered(table, d); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A wave of a panel is the whole table with the weight of its chance, and its event is that of
// all waves.
func TestWaves(t *testing.T) {
	panel := privacy.Rotation{Waves: 4, Patterns: []privacy.Pattern{{Waves: []int64{1, 2}}, {Waves: []int64{2, 3}}, {Waves: []int64{4}}}}
	d, err := NewWave(panel, 2)
	if err != nil {
		t.Fatal(err)
	}
	inner := privacy.Pure{Eps: 1}
	if e := d.Event(inner); !privacy.Equal(e, panel.With(inner)) {
		t.Errorf("the event is %v", e)
	}
	if f := d.Facts(); f.MaxWeight != 1.5 || !f.EqualWeights || f.SampleSize != 0 || f.Population != 0 {
		t.Errorf("%+v", f)
	}
	if d.Supports(privacy.AddRemove) != nil || d.Supports(privacy.ReplaceOne) == nil {
		t.Error("a wave is proven under add-remove alone")
	}
	if !Whole(d) {
		t.Error("a wave is not the whole table")
	}
	for _, wave := range []int64{0, 5} {
		if _, err := NewWave(panel, wave); err == nil {
			t.Errorf("there is a wave %d of 4", wave)
		}
	}
	if _, err := NewWave(privacy.Rotation{Waves: 2}, 1); err == nil {
		t.Error("a panel without patterns was taken")
	}
	if _, err := NewWave(privacy.Rotation{Waves: 4, Patterns: []privacy.Pattern{{Waves: []int64{1}}}}, 2); err == nil {
		t.Error("a wave in which nobody is was taken")
	}
}

// Whole clusters of unequal size: the table's number of rows tells which one was drawn. The guarantee that is charged holds
// over the draws, enumerated with the number of rows known; that of the design, in which the draw amplifies, does not. // P5
func TestUnevenClustersAmplifyNothing(t *testing.T) {
	const units, epsilon = 10, 0.5
	keys := []string{"u0 1"}
	for i := 1; i < units; i++ {
		keys = append(keys, fmt.Sprintf("u%d 3", i))
	}
	by := must[*Multistage](t)(NewMultistage(mustFrame(t, "unit", keys...), []Stage{{Unit: "unit", Take: 1}, {All: true}}))
	table := must[*Collected](t)(NewCollectedBy(by))
	if table.Supports(privacy.ReplaceOne) != nil || table.Supports(privacy.AddRemove) == nil || !table.Holds(1) || !table.Holds(3) || table.Holds(0) || table.Holds(4) {
		t.Error("another relation or size is taken")
	}
	if f := must[*Gathered](t)(NewGathered(table, must[*Full](t)(NewFull(3)))).Facts(); f.SampleSize != 0 || f.LargestCount != 3 {
		t.Errorf("estimators take the number of rows for fixed: %+v", f)
	}
	// What anybody sees: the number of rows, and their sum with noise of two-sided geometric law.
	law := func(first int) map[[2]int]float64 {
		out := map[[2]int]float64{}
		for u := range units {
			n, sum := 3, 0
			if u == 0 {
				n, sum = 1, first
			}
			for z := -20; z <= 20; z++ {
				out[[2]int{n, z}] += math.Exp(-epsilon*math.Abs(float64(z-sum))) / units
			}
		}
		return out
	}
	worst := 0.0
	zero, one := law(0), law(1)
	for seen, p := range zero {
		worst = math.Max(worst, math.Abs(math.Log(p/one[seen])))
	}
	for design, broken := range map[Design]bool{table: false, by: true} {
		a, err := privacy.Bill{Event: design.Event(privacy.Pure{Eps: epsilon})}.Price(privacy.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		if claim := a.Epsilon; (worst > claim+1e-9) != broken {
			t.Errorf("%s: ε %g is charged, the truth is %g", design.Kind(), claim, worst)
		}
	}
}
