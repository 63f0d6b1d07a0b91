package sdk

import (
	"errors"
	"io"
	"math"
	"testing"
)

// batches is a stream of n batches that ends with err.
type batches struct {
	n   int
	err error
}

func (b *batches) Next() (*Batch, error) {
	if b.n--; b.n < 0 {
		return nil, b.err
	}
	return &Batch{Rows: b.n}, nil
}

func TestEach(t *testing.T) {
	broken, enough := errors.New("broken"), errors.New("enough")
	for _, c := range []struct {
		rows *batches
		stop int
		want error
		read int
	}{
		{&batches{3, io.EOF}, -1, nil, 3}, {&batches{0, io.EOF}, -1, nil, 0}, {&batches{2, broken}, -1, broken, 2}, {&batches{3, io.EOF}, 2, enough, 2},
	} {
		read := 0
		err := Each(c.rows, func(*Batch) error {
			if read++; read == c.stop {
				return enough
			}
			return nil
		})
		if err != c.want || read != c.read {
			t.Errorf("%+v: read %d, %v", c, read, err)
		}
	}
}

func TestLaplaceStep(t *testing.T) {
	for _, x := range []struct{ size, epsilon float64 }{{800, 0.5}, {1, 1}, {1e-9, 3}, {1e12, 1e-6}, {math.Nextafter(1, 0), 1}} {
		s := LaplaceStep(x.size, x.epsilon)
		steps := x.size / x.epsilon / s
		if f, _ := math.Frexp(s); f != 0.5 || !(steps >= 1<<20 && steps < 1<<21) {
			t.Errorf("%+v: step %v, %v of them", x, s, steps)
		}
	}
	for _, x := range []struct{ size, epsilon float64 }{{0, 1}, {-1, 1}, {1, 0}, {math.NaN(), 1}, {1, math.Inf(1)}, {math.Inf(1), 1}, {1e-308, 1e9}} {
		if s := LaplaceStep(x.size, x.epsilon); s != 0 {
			t.Errorf("%+v: step %v", x, s)
		}
	}
}

// Of Laplace noise with scale 1 the variance is 2, and a twentieth lies beyond the
// half width.
func TestLaplaceError(t *testing.T) {
	e := LaplaceError("x", 3)
	if math.Abs(e.NoiseSD*e.NoiseSD-18) > 1e-12 || math.Abs(math.Exp(-e.Half95/3)-0.05) > 1e-15 || e.Field != "x" {
		t.Errorf("%+v", e)
	}
}

func TestColumnOfParameter(t *testing.T) {
	r := PlanRequest{Params: []byte(`{"column": "x", "other": "y", "number": 1}`), Public: Public{Columns: []Column{{Name: "x"}}}}
	if c, err := r.Column("column"); err != nil || c.Name != "x" {
		t.Errorf("%v, %v", c, err)
	}
	for _, p := range []string{"other", "number", "none"} {
		if _, err := r.Column(p); err == nil {
			t.Errorf("%s names a column", p)
		}
	}
}
