package count

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// A count by the strata of a draw under replace-one has noise as if a record stayed in its stratum or
// vanished, half of that for a record that may go to another one. Every sample of up to three records,
// and every one in which a record is another of its stratum, or in none: no vector of counts moves by
// more. The twin lets a record change its stratum.
func TestCountByStrata(t *testing.T) {
	strata := category("h", "a", "b")
	scaleOf := func(c sdk.Column, design string) float64 {
		t.Helper()
		req := request(`{"by": ["h"], "noise": "laplace"}`, 100, c)
		req.Public.Design = sdk.Design{Kind: design, SampleSize: 10, MinWeight: 1, MaxWeight: 1, EqualWeights: true}
		p, err := Mechanism{}.Plan(req)
		if err != nil {
			t.Fatal(err)
		}
		return p.Event.(privacy.DiscreteLaplace).Scale
	}
	kept := strata
	kept.Immutable = true
	stays, moves := scaleOf(kept, "stratified"), scaleOf(strata, "stratified")
	if !(stays < 0.51*moves && stays > 0.49*moves) {
		t.Errorf("the noise of strata has the scale %g, that of other groups %g", stays, moves)
	}

	l, err := parse(request(`{"by": ["h"]}`, 100, kept))
	if err == nil {
		t.Fatalf("counts of a whole table in groups that nobody changes are public: %+v", l)
	}
	req := request(`{"by": ["h"]}`, 100, kept)
	req.Public.Design.Kind = "stratified"
	if l, err = parse(req); err != nil {
		t.Fatal(err)
	}
	bound := 1 // of a record that leaves, and so the sensitivity under replace-one
	if l.units.Switches || !l.units.Leaves {
		t.Errorf("%+v", l.units)
	}
	counts := func(sample []int) (n [2]int) {
		for _, h := range sample {
			if h >= 0 {
				n[h]++
			}
		}
		return n
	}
	distance := func(a, b [2]int) (d int) {
		for i := range a {
			d += max(a[i]-b[i], b[i]-a[i])
		}
		return d
	}
	worst, twin := 0, 0
	for code := range 8 {
		sample := []int{code & 1, code >> 1 & 1, code >> 2 & 1}
		for i, h := range sample {
			for other := -1; other < 2; other++ {
				changed := []int{sample[0], sample[1], sample[2]}
				changed[i] = other
				d := distance(counts(sample), counts(changed))
				if twin = max(twin, d); other < 0 || other == h {
					worst = max(worst, d)
				}
			}
		}
	}
	if worst > bound || twin <= bound {
		t.Errorf("records that stay or vanish move counts by %d, those that go by %d; charged is %d", worst, twin, bound)
	}
}
