package samplers

import (
	"errors"
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
	uneven := must[*Multistage](t)(NewMultistage(mustFrame(t, "unit", "a 1", "b 3"), []Stage{{Unit: "unit", Take: 1}, {Take: 2, AtMost: true}}))
	if _, err := NewCollectedBy(uneven); err == nil {
		t.Error("a table whose size says which unit was drawn is accepted")
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
