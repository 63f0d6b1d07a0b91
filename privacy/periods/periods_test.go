package periods

import (
	"math/big"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// The matrix [[1, 0], [1, 1]] costs 2 and 1 in one period, and a unit in both 5, not 3 (P31); the mean of its columns would be
// too little. A second run once more costs 1 in each, and 4 in both.
func TestSeriesPrices(t *testing.T) {
	noise := privacy.DiscreteGaussian{Sigma: 2, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}}
	s := Series{Matrix: [][]int64{{1}, {1, 1}}, Calls: []privacy.Event{noise}, AtMost: 1, Apart: 1}
	holds := func(what string, p *Prices, err error, unit *big.Rat, life int64, slices ...int64) {
		t.Helper()
		if err != nil || len(p.Slices) != len(slices) {
			t.Fatalf("%s: %+v, %v", what, p, err)
		}
		for i, c := range slices {
			if p.Slices[i].Cmp(new(big.Rat).Mul(unit, big.NewRat(c, 1))) != 0 {
				t.Errorf("%s: period %d costs %v", what, i, p.Slices[i])
			}
		}
		if p.Life.Cmp(new(big.Rat).Mul(unit, big.NewRat(life, 1))) != 0 {
			t.Errorf("%s: a life costs %v", what, p.Life)
		}
	}
	p, err := Price([]Series{s}, privacy.AddRemove)
	holds("add-remove", p, err, big.NewRat(1, 8), 5, 2, 1)
	p, err = Price([]Series{s}, privacy.ReplaceOne)
	holds("replace-one", p, err, big.NewRat(1, 2), 5, 2, 1)
	p, err = Price([]Series{s, s}, privacy.AddRemove)
	holds("two releases", p, err, big.NewRat(1, 4), 5, 2, 1)
	p, err = PriceRun([]Series{s}, privacy.AddRemove, 1)
	holds("a run once more", p, err, big.NewRat(1, 8), 4, 1, 1)
	capped := s
	capped.Capped = true
	p, err = Price([]Series{capped}, privacy.AddRemove)
	holds("held by a cap", p, err, big.NewRat(1, 8), 2, 2, 1)
	pure := s
	pure.Calls = []privacy.Event{privacy.DiscreteLaplace{Scale: 4, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}}}
	p, err = Price([]Series{pure}, privacy.AddRemove)
	holds("in ε", p, err, big.NewRat(1, 4), 3, 2, 1)
	for what, all := range map[string][]Series{"none": nil, "two kinds": {s, pure}, "other periods": {s, {Matrix: [][]int64{{1}}, Calls: s.Calls, AtMost: 1}},
		"no noise": {{Matrix: s.Matrix, AtMost: 1}}, "no matrix": {{Calls: s.Calls, AtMost: 1}}, "no periods": {{Matrix: s.Matrix, Calls: s.Calls}}} {
		if p, err := Price(all, privacy.AddRemove); err == nil {
			t.Errorf("%s has a price: %+v", what, p)
		}
	}
}

// What a job promises lies between one period and a life, and is a life where a cap holds units to it.
func TestMost(t *testing.T) {
	noise := privacy.DiscreteGaussian{Sigma: 2, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}
	s := Series{Matrix: [][]int64{{1}, {1, 1}, {1, 1, 1}}, Calls: []privacy.Event{noise}, AtMost: 2, Apart: 1}
	for _, capped := range []bool{false, true} {
		s.Capped = capped
		p, err := Price([]Series{s, s}, privacy.AddRemove)
		if err != nil {
			t.Fatal(err)
		}
		// Two releases at 1/8 each: one period costs 3, two neighbouring ones 1 + 4 + 4, all three 1 + 4 + 9.
		life := int64(14)
		if capped {
			life = 9
		}
		for what, c := range map[string]struct {
			got  *big.Rat
			want int64
		}{"a slice": {p.Slices[0], 3}, "most": {p.Most, 9}, "life": {p.Life, life}} {
			if c.got.Cmp(big.NewRat(2*c.want, 8)) != 0 {
				t.Errorf("%s, capped %v: %v, want %d/4", what, capped, c.got, c.want)
			}
		}
	}
}

// What is read is what was written; a run is its rows and its noise.
func TestText(t *testing.T) {
	noise := privacy.DiscreteGaussian{Sigma: 2.1, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}, Coordinates: 3}
	all := []Series{{Matrix: [][]int64{{1}, {-2, 3}}, Calls: []privacy.Event{noise, noise}, AtMost: 2, Apart: 1, Capped: true},
		{Matrix: [][]int64{{4}, {0, 5}}, Calls: []privacy.Event{privacy.DiscreteLaplace{Scale: 3, Sensitivity: noise.Sensitivity}}, AtMost: 1, Apart: 0, Revised: true}}
	text, err := Text(all)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(text)
	if err != nil || !reflect.DeepEqual(back, all) {
		t.Errorf("%s reads as %+v, %v", text, back, err)
	}
	run, err := Run(all, 1)
	if err != nil || !reflect.DeepEqual(run[0].Matrix, [][]int64{{-2, 3}}) || !reflect.DeepEqual(run[1].Calls, all[1].Calls) {
		t.Errorf("%+v, %v", run, err)
	}
	for _, n := range []int{-1, 2} {
		if _, err := Run(all, n); err == nil {
			t.Errorf("run %d", n)
		}
	}
	for _, bad := range []string{"", "{}", `[{"calls":[1]}]`} {
		if _, err := Read(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
