package samplers

import (
	"errors"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

func newSource(t testing.TB) *noise.Source {
	t.Helper()
	s, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustRate(t testing.TB, text string) Rate {
	t.Helper()
	r, err := ParseRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// must unwraps a constructor.
func must[D any](t testing.TB) func(D, error) D {
	return func(d D, err error) D {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// collect walks a draw in the given blocks (the last one repeats) and returns
// the rows selected and, where the design has them, their weights.
func collect(t testing.TB, sel Selector, rows int, units []int32, blocks ...int) (drawn []int, weights []float64) {
	t.Helper()
	for at, b := 0, 0; at < rows; b++ {
		n := min(blocks[min(b, len(blocks)-1)], rows-at)
		var s Selection
		var err error
		if units != nil {
			s, err = sel.NextUnits(units[at : at+n])
		} else {
			s, err = sel.Next(n)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.All {
			for i := range n {
				s.Rows = append(s.Rows, uint32(i))
			}
		}
		if s.Weights != nil && len(s.Weights) != len(s.Rows) {
			t.Fatalf("%d weights for %d rows", len(s.Weights), len(s.Rows))
		}
		for _, r := range s.Rows {
			if int(r) >= n {
				t.Fatal("a row outside its block")
			}
			drawn = append(drawn, at+int(r))
		}
		weights = append(weights, s.Weights...)
		at += n
	}
	if err := sel.Done(); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(drawn) || len(slices.Compact(slices.Clone(drawn))) != len(drawn) {
		t.Fatal("rows are not strictly ascending")
	}
	return drawn, weights
}

// draw makes one draw of a design without a frame.
func draw(t testing.TB, d Design, src *noise.Source, rows int, blocks ...int) []int {
	t.Helper()
	sel, err := begin(d, src, int64(rows))
	if err != nil {
		t.Fatal(err)
	}
	drawn, weights := collect(t, sel, rows, nil, blocks...)
	if weights != nil {
		t.Fatal("a design of equal weights gives weights")
	}
	return drawn
}

// mask names a small subset.
func mask(drawn []int) (m int64) {
	for _, r := range drawn {
		m |= 1 << r
	}
	return m
}

// The same bits give the same rows, however the table is cut into blocks.
func TestBlocksDoNotMatter(t *testing.T) {
	const rows = 3000
	for name, d := range map[string]Design{
		"skips": must[*Poisson](t)(NewPoisson(mustRate(t, "0.003"), 0)),
		"coins": must[*Poisson](t)(NewPoisson(mustRate(t, "0.3"), rows)),
		"list":  must[*SRSWOR](t)(NewSRSWOR(10, rows)),
		"map":   must[*SRSWOR](t)(NewSRSWOR(2000, rows)),
		"full":  must[*Full](t)(NewFull(rows)),
	} {
		tape := make([]byte, 1<<20)
		src := newSource(t)
		for i := range tape {
			tape[i] = byte(src.Uint64())
		}
		want := draw(t, d, insecurenoise.NewTape(tape), rows, rows)
		for _, blocks := range [][]int{{1}, {64}, {63, 1, 65}, {0, 7, 0, 1000}, {1, 3000}} {
			if got := draw(t, d, insecurenoise.NewTape(tape), rows, blocks...); !slices.Equal(got, want) {
				t.Errorf("%s in blocks of %v: other rows are drawn", name, blocks)
			}
		}
	}
}

// What the walk must not do, and what a table that is not as declared gives.
func TestWalkErrors(t *testing.T) {
	src := newSource(t)
	designs := map[string]Design{
		"poisson": must[*Poisson](t)(NewPoisson(mustRate(t, "0.3"), 10)),
		"skips":   must[*Poisson](t)(NewPoisson(mustRate(t, "1e-4"), 10)),
		"srswor":  must[*SRSWOR](t)(NewSRSWOR(3, 10)),
		"full":    must[*Full](t)(NewFull(10)),
		"survey":  must[*Collected](t)(NewCollected(10, 1000)),
	}
	for name, d := range designs {
		for _, rows := range []int64{9, 11, 0} {
			if _, err := begin(d, src, rows); !errors.Is(err, &Error{SizeMismatch}) {
				t.Errorf("%s of %d rows: %v", name, rows, err)
			}
		}
		start := func() Selector {
			s, err := begin(d, src, 10)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := start()
		if _, err := s.Next(11); !errors.Is(err, &Error{SizeMismatch}) {
			t.Errorf("%s: a block too long: %v", name, err)
		}
		s = start()
		if _, err := s.Next(9); err != nil {
			t.Error(err)
		}
		if err := s.Done(); !errors.Is(err, &Error{SizeMismatch}) {
			t.Errorf("%s: a table too short: %v", name, err)
		}
		if err := s.Done(); !errors.Is(err, &Error{Misuse}) {
			t.Errorf("%s: a second Done: %v", name, err)
		}
		if _, err := s.Next(1); !errors.Is(err, &Error{Misuse}) {
			t.Errorf("%s: a block after Done: %v", name, err)
		}
		if _, err := start().Next(-1); !errors.Is(err, &Error{Misuse}) {
			t.Errorf("%s: a negative block: %v", name, err)
		}
		if _, err := begin(d, nil, 10); err == nil {
			t.Errorf("%s: a nil source is accepted", name)
		}
	}
	if _, err := begin(nil, src, 10); err == nil {
		t.Error("a nil design is accepted")
	}
	// A source whose bits have run out must not decide a sample.
	s, err := begin(designs["poisson"], insecurenoise.NewTape(nil), 10)
	if err == nil {
		if _, err = s.Next(10); err == nil {
			err = s.Done()
		}
	}
	if !errors.Is(err, noise.ErrTape) {
		t.Errorf("an empty tape: %v", err)
	}
}

// The tests below count how often each of the rows, and each pair, is drawn.
func checkInclusions(t *testing.T, name string, n, rows int, one, two float64, drawOnce func() []int) {
	t.Helper()
	single, pairs := make([]int, rows), make([]int, rows*(rows-1)/2)
	for range n {
		s := drawOnce()
		for i, a := range s {
			single[a]++
			for _, b := range s[:i] {
				pairs[a*(a-1)/2+b]++
			}
		}
	}
	fill := func(p float64, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = p
		}
		return out
	}
	noisetest.CheckCells(t, name+", rows", n, single, fill(one, len(single)))
	noisetest.CheckCells(t, name+", pairs of rows", n, pairs, fill(two, len(pairs)))
}
