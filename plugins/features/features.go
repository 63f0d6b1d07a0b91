package features

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Intercept is the name of the coefficient that belongs to no column.
const Intercept = "(intercept)"

// Feature turns one column into coordinates.
type Feature struct {
	Column       sdk.Column
	Log          bool    // use the logarithm of the clipped value
	First, Width int     // its coordinates are First … First+Width−1
	Middle, Half float64 // of the bounds, after the logarithm
}

// New looks up a declared column. At names the parameter in errors.
func New(name, at string, log bool, pub sdk.Public) (Feature, error) {
	c, ok := pub.Column(name)
	f := Feature{Column: c, Log: log, Width: 1}
	switch {
	case !ok:
		return f, fmt.Errorf("%s: %q is not declared in dataset.columns", at, name)
	case c.Type == sdk.Category && len(c.Domain) < 2:
		return f, fmt.Errorf("%s: %q needs a public domain of at least two values", at, name)
	case c.Type == sdk.Category && log:
		return f, fmt.Errorf("log: %q is not a number", name)
	case c.Type == sdk.Category:
		f.Width = len(c.Domain) - 1
		return f, nil
	case c.Type != sdk.Number || !(c.Lower < c.Upper):
		return f, fmt.Errorf("%s: %q needs lower below upper", at, name)
	case log && !(c.Lower > 0):
		return f, fmt.Errorf("log: %q needs a positive lower bound", name)
	}
	lo, hi := f.transform(c.Lower), f.transform(c.Upper)
	f.Half = hi/2 - lo/2
	f.Middle = lo + f.Half
	if !(f.Half > 0) {
		return f, fmt.Errorf("%s: the bounds of %q are too close to each other", at, name)
	}
	return f, nil
}

func (f *Feature) transform(x float64) float64 {
	if f.Log {
		return math.Log(x)
	}
	return x
}

// Scaled maps a clipped value to [-1, 1]. The result never leaves that range,
// whatever floating point does.
func (f *Feature) Scaled(x float64) float64 {
	return math.Max(-1, math.Min(1, (f.transform(x)-f.Middle)/f.Half))
}

// Name is the name of a number's coefficient.
func (f *Feature) Name() string {
	if f.Log {
		return "log(" + f.Column.Name + ")"
	}
	return f.Column.Name
}

// Set is the features of a model.
type Set struct {
	Features []Feature
	Width    int // the number of coordinates, without the intercept
}

// NewSet looks up the named columns. The target must not be among them, and no
// column may be named twice. A column in logs enters with its logarithm.
func NewSet(names, logs []string, target string, most int, pub sdk.Public) (Set, error) {
	var s Set
	used := map[string]bool{target: true}
	for _, name := range names {
		if used[name] {
			return s, fmt.Errorf("features: %q is named twice, or is the target", name)
		}
		used[name] = true
		f, err := New(name, "features", slices.Contains(logs, name), pub)
		if err != nil {
			return s, err
		}
		f.First = s.Width
		if s.Width += f.Width; s.Width > most {
			return s, fmt.Errorf("features: the domains make more than %d coordinates", most)
		}
		s.Features = append(s.Features, f)
	}
	for _, name := range logs {
		if !used[name] {
			return s, fmt.Errorf("log: %q is neither the target nor a feature", name)
		}
	}
	return s, nil
}

// Columns are the names of the columns, in order.
func (s Set) Columns() []string {
	names := make([]string, len(s.Features))
	for i, f := range s.Features {
		names[i] = f.Column.Name
	}
	return names
}

// Names are the names of the coefficients, the intercept first.
func (s Set) Names() []string {
	all := []string{Intercept}
	for _, f := range s.Features {
		if f.Column.Type == sdk.Number {
			all = append(all, f.Name())
			continue
		}
		for _, v := range f.Column.Domain[1:] {
			all = append(all, shorten(f.Column.Name+"="+v))
		}
	}
	return all
}

// shorten keeps a name within what a result may hold.
func shorten(s string) string {
	if len(s) <= sdk.MaxString {
		return s
	}
	return fmt.Sprintf("%.200s…", s)
}

// Unscale turns coefficients of scaled coordinates, the intercept first, into
// coefficients of the columns' own units. It is a linear map.
func (s Set) Unscale(w []float64) []float64 {
	out := slices.Clone(w)
	for _, f := range s.Features {
		if f.Column.Type == sdk.Number {
			j := f.First + 1
			out[j] = Finite(w[j] / f.Half)
			out[0] = Finite(out[0] - Finite(out[j]*f.Middle))
		}
	}
	return out
}

// Finite replaces an infinity, which extreme bounds can cause, by the largest number. A result must
// not hold an infinity.
func Finite(x float64) float64 {
	return math.Max(-math.MaxFloat64, math.Min(math.MaxFloat64, x))
}
