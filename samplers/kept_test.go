package samplers

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// record walks a draw in random blocks and writes it down.
func record(t testing.TB, sel Selector, rows int, units []int32, rng *rand.Rand) (b []byte, drawn []int, weights []float64) {
	t.Helper()
	var r Recorder
	for at := 0; at < rows; {
		n := min(rng.IntN(40), rows-at)
		var s Selection
		var err error
		if units != nil {
			s, err = sel.NextUnits(units[at : at+n])
		} else {
			s, err = sel.Next(n)
		}
		if err == nil {
			err = r.Add(n, s)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if s.All || slices.Contains(s.Rows, uint32(i)) {
				drawn = append(drawn, at+i)
			}
		}
		weights = append(weights, s.Weights...)
		at += n
	}
	if err := sel.Done(); err != nil {
		t.Fatal(err)
	}
	b, err := r.Drawn()
	if err != nil {
		t.Fatal(err)
	}
	return b, drawn, weights
}

// designsOf300 are designs of every kind on a table of 300 rows in three strata.
func designsOf300(t testing.TB) ([]Design, privacy.Relation, []int32) {
	frame := must[*Frame](t)(NewFrame([]string{"h"}, []Unit{{Key: []string{"a"}, Records: 150}, {Key: []string{"b"}, Records: 100}, {Key: []string{"c"}, Records: 50}}))
	units := make([]int32, 300)
	for i := range units {
		units[i] = []int32{0, 0, 0, 1, 1, 2}[i%6]
	}
	return []Design{
		must[*Full](t)(NewFull(300)),
		must[*Poisson](t)(NewPoisson(mustRate(t, "0.3"), 300)),
		must[*Poisson](t)(NewPoisson(mustRate(t, "0.01"), 300)),
		must[*SRSWOR](t)(NewSRSWOR(80, 300)),
		must[*SRSWOR](t)(NewSRSWOR(300, 300)),
		must[*StratifiedTake](t)(NewStratifiedTake(frame, []int64{10, 100, 5})),
		must[*StratifiedPoisson](t)(NewStratifiedPoisson(frame, []Rate{mustRate(t, "0.1"), mustRate(t, "0.5"), mustRate(t, "1")})),
		must[*Multistage](t)(NewMultistage(frame, []Stage{{Unit: "h", Take: 2}, {Take: 7}})),
	}, privacy.ReplaceOne, units
}

// A draw that was kept selects the same rows with the same weights, in any blocks.
func TestKeptIsTheSameDraw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	designs, rel, units := designsOf300(t)
	for _, d := range designs {
		r := rel
		if d.Supports(r) != nil {
			r = privacy.AddRemove
		}
		for range 20 {
			sel, err := begin(d, newSource(t), 300)
			if err != nil {
				t.Fatal(err)
			}
			u := units
			if d.Facts().UnitColumns == nil {
				u = nil
			}
			b, drawn, weights := record(t, sel, 300, u, rng)
			event, ok := d.Event(nil).(privacy.Sampling)
			if !ok {
				event = privacy.WithoutReplacement{Take: 300, Of: 300}
			}
			k, err := NewKept(d.Kind(), event, d.Facts(), r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := begin(k, newSource(t), 300); !errors.Is(err, fail(Misuse)) {
				t.Fatalf("a draw that was not opened: %v", err)
			}
			if err := k.Open(b); err != nil {
				t.Fatal(err)
			}
			again, err := begin(k, newSource(t), 300)
			if err != nil {
				t.Fatal(err)
			}
			b2, drawn2, weights2 := record(t, again, 300, nil, rng)
			if !slices.Equal(drawn, drawn2) || !slices.Equal(weights, weights2) || !bytes.Equal(b, b2) {
				t.Fatalf("%s: another draw", d.Kind())
			}
			bounds := Values{Low: -1, High: 1}
			want, err1 := Variance(d, bounds)
			got, err2 := Variance(k, bounds)
			if known := d.Kind() == "srswor" || d.Kind() == "poisson"; known && (got != want || errors.Is(err1, ErrSecretSize) != errors.Is(err2, ErrSecretSize)) || !known && err2 == nil {
				t.Errorf("%s: variance %g, %v; was %g, %v", d.Kind(), got, err2, want, err1)
			}
			if k.Kind() != d.Kind() || k.Facts().UnitColumns != nil || !slices.Equal(k.PublicColumns(), d.Facts().UnitColumns) || k.Supports(r) != nil {
				t.Errorf("%s: described as %+v", d.Kind(), k)
			}
			other := privacy.AddRemove + privacy.ReplaceOne - r
			if k.Supports(other) == nil || k.Supports(0) == nil {
				t.Errorf("%s holds under another relation", d.Kind())
			}
			if _, err := begin(k, newSource(t), 299); !errors.Is(err, fail(SizeMismatch)) {
				t.Errorf("another table: %v", err)
			}
			short, _ := begin(k, newSource(t), 300)
			if _, err := short.Next(10); err != nil || short.Done() == nil {
				t.Error("a walk that ended early is accepted")
			}
		}
	}
}

// A record that was damaged is refused, or is the record of some draw of that table.
func TestDamagedDraw(t *testing.T) {
	designs, _, units := designsOf300(t)
	for _, d := range designs[5:] {
		sel, err := begin(d, newSource(t), 300)
		if err != nil {
			t.Fatal(err)
		}
		b, _, _ := record(t, sel, 300, units, rand.New(rand.NewPCG(3, 4)))
		for i := range b {
			for _, x := range []byte{0, 1, 0x80, 0xff, b[i] ^ 1} {
				c := bytes.Clone(b)
				c[i] = x
				damaged(t, c)
			}
			damaged(t, b[:i])
		}
	}
	for name, add := range map[string]func(r *Recorder) error{
		"rows out of order": func(r *Recorder) error { return r.Add(9, Selection{Rows: []uint32{3, 2}}) },
		"a row outside":     func(r *Recorder) error { return r.Add(9, Selection{Rows: []uint32{9}}) },
		"too few weights":   func(r *Recorder) error { return r.Add(9, Selection{Rows: []uint32{1, 2}, Weights: []float64{1}}) },
		"weights in part": func(r *Recorder) error {
			r.Add(9, Selection{Rows: []uint32{1}, Weights: []float64{1}})
			r.Add(9, Selection{Rows: []uint32{1}})
			_, err := r.Drawn()
			return err
		},
	} {
		if add(&Recorder{}) == nil {
			t.Errorf("%s: recorded", name)
		}
	}
}

// damaged walks a record, where it is one.
func damaged(t *testing.T, b []byte) {
	k, err := NewKept("srswor", privacy.WithoutReplacement{Take: 1, Of: 300}, Facts{}, privacy.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Open(b); err != nil {
		if !errors.Is(err, fail(Misuse)) {
			t.Fatal(err)
		}
		return
	}
	sel, err := begin(k, newSource(t), -1)
	if err != nil {
		t.Fatal(err)
	}
	rows := sel.(*replay).rows
	for at := int64(0); at < rows && at < 1000; {
		n := min(100, rows-at)
		s, err := sel.Next(int(n))
		if err != nil || !slices.IsSorted(s.Rows) || len(s.Rows) > 0 && int64(s.Rows[len(s.Rows)-1]) >= n {
			t.Fatalf("%v, %v", s, err)
		}
		at += n
	}
}

// What is read as a draw is walked without a panic.
func FuzzDrawn(f *testing.F) {
	var r Recorder
	r.Add(10, Selection{Rows: []uint32{1, 2, 7}, Weights: []float64{1, 2, 2}})
	b, err := r.Drawn()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{drawnVersion, 10, 2, 0, 10})
	f.Add([]byte{drawnVersion, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) { damaged(t, b) })
}
