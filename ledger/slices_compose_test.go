package ledger

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
)

// units is a tiny table: the value, 0 or 1, of each of two units in each of three slices.
type units [2][3]int

// views is the law of all outputs: for each drawn unit (one of two, drawn once for all
// slices or anew for each) randomized response on its value in each slice. The second run on
// slice 0 is chosen by the output of the first: it is made at half the ε where that was 1.
func views(u units, eps float64, once bool) map[[4]int]float64 {
	answer := func(value, out int, eps float64) float64 {
		p := 1 / (1 + math.Exp(-eps))
		if out == value {
			return p
		}
		return 1 - p
	}
	slice := []int{0, 0, 1, 2} // of each run
	law := map[[4]int]float64{}
	for draws := range 16 {
		who := func(run int) int { return draws >> run & 1 }
		if once && draws != 0 && draws != 15 {
			continue
		}
		weight := 1.0 / 16
		if once {
			weight = 0.5
		}
		for outs := range 16 {
			p := weight
			for run := range 4 {
				e := eps
				if run == 1 && outs&1 == 1 {
					e = eps / 2
				}
				p *= answer(u[who(run)][slice[run]], outs>>run&1, e)
			}
			law[[4]int{outs & 1, outs >> 1 & 1, outs >> 2 & 1, outs >> 3 & 1}] += p
		}
	}
	return law
}

// all are the tables.
func allUnits() (out []units) {
	for code := range 64 {
		var u units
		for i := range 6 {
			u[i/3][i%3] = code >> i & 1
		}
		out = append(out, u)
	}
	return out
}

// loss is the largest log ratio of two tables' outputs over pairs that differ in the values
// of one unit: in one slice, or through its life.
func loss(eps float64, once, life bool) float64 {
	worst := 0.0
	for _, a := range allUnits() {
		p := views(a, eps, once)
		for _, b := range allUnits() {
			if a[1] != b[1] { // the other unit is as it was
				continue
			}
			changed := 0
			for s := range 3 {
				if a[0][s] != b[0][s] {
					changed++
				}
			}
			if changed == 0 || changed > 1 && !life {
				continue
			}
			q := views(b, eps, once)
			for o, x := range p {
				worst = math.Max(worst, math.Abs(math.Log(x/q[o])))
			}
		}
	}
	return worst
}

// What the ledger says of the largest slice and of all slices together is never exceeded by
// what neighbours in one slice, and through a life, can tell apart: all tables of two units
// in three slices, each run with a draw of its own, one chosen by the output of another.
func TestSlicesComposeAsCharged(t *testing.T) {
	for _, eps := range []float64{0.5, 1, 2} {
		l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
		for i, run := range []struct {
			is  string
			eps float64
		}{{"0", eps}, {"0", eps}, {"1", eps}, {"2", eps}} {
			e := privacy.WithoutReplacement{Take: 1, Of: 2, Event: privacy.Pure{Eps: run.eps}}
			q := billed(inMonth(string(rune('a'+i)), run.is, 0), e, 0)
			q.Opening.Limit = limit("100", "1")
			debit(t, l, q)
		}
		a, err := l.Account(background, month(""))
		if err != nil {
			t.Fatal(err)
		}
		one, _ := a.Largest[0].Float64()
		life, _ := a.Spent[0].Float64()
		gotOne, gotLife := loss(eps, false, false), loss(eps, false, true)
		if gotOne > one+1e-12 || gotLife > life+1e-12 {
			t.Errorf("ε %g: a unit in one slice loses %g of %g, one through its life %g of %g", eps, gotOne, one, gotLife, life)
		}
		if gotOne < one/2 || gotLife < life/2 {
			t.Errorf("ε %g: %g of %g and %g of %g: the test shows little", eps, gotOne, one, gotLife, life)
		}
		// The largest slice is no guarantee for a life.
		if gotLife <= one {
			t.Errorf("ε %g: a life loses %g, no more than one slice", eps, gotLife)
		}
	}
}

// One draw for all slices breaks both figures: the other slices tell who was drawn. So a
// collection of several slices is refused, and a kept sample stays in its slice.
func TestOneDrawAcrossSlices(t *testing.T) {
	const eps = 2
	amplified := math.Log1p(0.5 * math.Expm1(eps))
	if got := loss(eps, true, false); got <= 2*amplified {
		t.Errorf("a unit in one slice with two runs loses %g, at most the %g of two amplified runs: a draw for all slices would do", got, 2*amplified)
	}
	if got := loss(eps, true, true); got <= 4*amplified {
		t.Errorf("a life of four runs loses %g, at most %g: a draw for all slices would do", got, 4*amplified)
	}
	// What is right for one draw: compose, then amplify (P4).
	if got, want := loss(eps, true, true), math.Log1p(0.5*math.Expm1(4*eps)); got > want {
		t.Errorf("a life loses %g, above the %g of one draw", got, want)
	}
}
