package sdk

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Finish declares how the result of a linear mechanism follows from its noisy sums, so that the
// host computes it and no code of the plugin runs after rows were seen.
//
// It describes a public table with a row for each row of the result. Its columns are the
// constants, and what the noise calls return. Field.Value is an expression over these columns, in
// the language of where and derive (docs/expressions.md). A value that cannot be computed, such as
// a division by zero, is missing in the result.
//
// Release makes its noise calls as ever. Each returns zeros, and the result that Release returns is
// not looked at: it returns Result{}.
type Finish struct {
	// Constants are public columns.
	Constants []Constant
	// Noise says, for each noise call in order, which columns its answer becomes.
	Noise []NoiseColumns

	_ struct{}
}

// Constant is a public column of a Finish: numbers or texts, one for each row of the result, or a
// single one that stands in every row.
type Constant struct {
	Name    string
	Numbers []float64
	Texts   []string

	_ struct{}
}

// NoiseColumns are the columns of a Finish that one noise call fills.
type NoiseColumns struct {
	// Columns are their names. The vector of the call holds one column after the other, each with
	// a number for each row of the result.
	Columns []string
	// Quantiles, where given, make the call a histogram, and its one column the quantiles.
	Quantiles *Quantiles
	// Units, where given, are the numbers by which the columns are multiplied. The host finds those of
	// declared queries.
	Units []float64

	_ struct{}
}

// Quantiles turn a noisy histogram into quantiles. The vector of the noise call holds, for each
// group, a count for each bin between two edges; the column holds, for each group, a quantile for
// each rank in At. The counts are first replaced by the nearest ones that are not negative and have
// the same total; values lie evenly in a bin. Where the total is not positive the quantiles are missing.
type Quantiles struct {
	Edges []float64 // ascending
	At    []float64 // between 0 and 1

	_ struct{}
}

// Length returns how many numbers a noise call hands over, in a plan with that many rows.
func (n NoiseColumns) Length(rows int64) int64 {
	if q := n.Quantiles; q != nil {
		return rows / int64(len(q.At)) * int64(len(q.Edges)-1)
	}
	return rows * int64(len(n.Columns))
}

// maxFinish bounds the numbers and texts of a finish, and what its noise calls hand over.
const maxFinish = 1 << 24

// check returns what is wrong with the form of a finish, or nil. It does not read expressions.
func (f *Finish) check(p Plan) error {
	for _, o := range p.Output {
		switch {
		case f == nil && o.Value != "":
			return fmt.Errorf("plan: output column %q has a value, but the plan has no finish", o.Name)
		case f != nil && o.Value == "":
			return fmt.Errorf("plan: output column %q has no value, and the plan has a finish", o.Name)
		}
	}
	if f == nil {
		return nil
	}
	var names []string
	named := func(name string) error {
		if name == "" || len(name) > 256 || !utf8.ValidString(name) || slices.Contains(names, name) {
			return errors.New("plan: finish: columns must have short names that differ")
		}
		names = append(names, name)
		return nil
	}
	size := int64(0)
	for _, c := range f.Constants {
		if err := c.check(p.Rows); err != nil {
			return err
		}
		if err := named(c.Name); err != nil {
			return err
		}
		size += int64(len(c.Numbers) + len(c.Texts))
	}
	for _, n := range f.Noise {
		if err := n.check(p.Rows); err != nil {
			return err
		}
		for _, name := range n.Columns {
			if err := named(name); err != nil {
				return err
			}
		}
		size += n.Length(p.Rows)
	}
	if size > maxFinish || len(names) > 4096 {
		return fmt.Errorf("plan: finish: it may hold at most 4,096 columns and %d values", maxFinish)
	}
	return nil
}

func (c Constant) check(rows int64) error {
	n := len(c.Numbers) + len(c.Texts)
	if len(c.Numbers) > 0 && len(c.Texts) > 0 || n != 1 && int64(n) != rows {
		return fmt.Errorf("plan: finish: the constant %q must hold numbers or texts, one or as many as the result has rows", c.Name)
	}
	for _, x := range c.Numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("plan: finish: the constant %q must be finite", c.Name)
		}
	}
	for _, s := range c.Texts {
		if len(s) > MaxString || !utf8.ValidString(s) {
			return fmt.Errorf("plan: finish: a text of the constant %q is too long or not text", c.Name)
		}
	}
	return nil
}

func (n NoiseColumns) check(rows int64) error {
	q := n.Quantiles
	switch {
	case len(n.Columns) == 0:
		return errors.New("plan: finish: a noise call must fill a column")
	case n.Units != nil && (q != nil || len(n.Units) != len(n.Columns)):
		return errors.New("plan: finish: the columns of a noise call must have one unit each, and quantiles have none")
	case q == nil:
		return nil
	case len(n.Columns) != 1 || len(q.At) == 0 || rows%int64(len(q.At)) != 0:
		return errors.New("plan: finish: quantiles fill one column, with a row for each rank of each group")
	case len(q.Edges) < 2:
		return errors.New("plan: finish: quantiles need at least two edges")
	}
	for i, e := range q.Edges {
		if math.IsNaN(e) || math.IsInf(e, 0) || i > 0 && !(q.Edges[i-1] < e) {
			return errors.New("plan: finish: the edges of quantiles must be finite and ascend")
		}
	}
	for _, p := range q.At {
		if !(p >= 0 && p <= 1) {
			return errors.New("plan: finish: the ranks of quantiles must lie between 0 and 1")
		}
	}
	return nil
}
