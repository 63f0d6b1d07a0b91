package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/dprelease/dprelease/privacy"
)

// Query declares what each row adds to the noisy sums of a plan with a Finish, so that no code of the
// plugin sees a row. It makes a vector: for each coordinate, a number for each cell.
//
// The host computes expressions over one row, or one folded unit, in the language of where and derive
// (docs/expressions.md). It adds up, computes the sensitivity, and draws the noise from it. Weights,
// groups, filters, and units with several rows are its business too: a plan is for one group.
//
// A Finish may read n_sd beside a noisy sum n: the standard deviation of its noise.
//
// The sensitivity is that of the box of the ranges, or less: where all coordinates are lines or parabolas of
// one column, a row lies on their curve (x − 10 and 100 − x are not both large).
//
// A value that cannot be computed adds nothing. The others are held between Low and High, weighed, and
// rounded to a multiple of the lattice. // P39
type Query struct {
	// Cells tell apart the rows that are counted apart. A row counts in one combination of their
	// places, of which the last varies fastest. None stands for one cell.
	Cells       []Split
	Coordinates []Coordinate
	// Norm, where positive, bounds the L2 norm of the coordinates of a row: a longer vector is scaled
	// down, and rounded toward zero.
	Norm float64

	_ struct{}
}

// Split gives a row a place by the value of an expression. A row without a place adds nothing.
type Split struct {
	Value string
	// Texts are the places of an expression that gives a text.
	Texts []string
	// Count is the number of places of an expression that gives a number, which is rounded down: 0 to
	// Count − 1.
	Count int64

	_ struct{}
}

// Coordinate is a number that each row adds.
type Coordinate struct {
	Value     string
	Low, High float64
	// Lattice is the power of two to whose multiples the number is rounded. The host chooses one that
	// costs no accuracy where it is 0. All coordinates of a query get the same noise in steps of their
	// lattices.
	Lattice float64

	_ struct{}
}

// Expression returns the column as an expression of a Query.
func (c Column) Expression() string { return "column(" + strconv.Quote(c.Name) + ")" }

// Declared is for a mechanism to embed that declares its query: it has no Release.
type Declared struct{}

// Release is never called.
func (Declared) Release(context.Context, ReleaseRequest, Rows, Host) (Result, error) {
	return Result{}, errors.New("the host makes the releases of declared queries")
}

// The public limits of declared queries.
const (
	MaxQueries     = 64
	MaxExpressions = 256     // of all queries of a plan
	maxSums        = 1 << 22 // of all queries of a plan
)

// Whole returns the description with all that the host adds for a mechanism that declares its query: such a
// mechanism has no more to say than its name, version and parameters. Any other is returned as it is.
func (d Description) Whole() Description {
	if !d.DeclaresQuery {
		return d
	}
	d.Linear, d.DeclaresFinish, d.Grouped, d.Capped, d.Weighted = true, true, true, true, true
	d.Relations, d.Designs = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}, EveryDesign()
	schema := map[string]json.RawMessage{}
	properties := map[string]json.RawMessage{}
	if len(d.Params) > 0 && json.Unmarshal(d.Params, &schema) != nil || schema == nil {
		return d // Check finds it
	}
	if p := schema["properties"]; p != nil && json.Unmarshal(p, &properties) != nil || properties == nil {
		return d
	}
	properties["by"] = json.RawMessage(`{"type":"string"}`)
	schema["type"] = json.RawMessage(`"object"`)
	schema["properties"], _ = json.Marshal(properties) // of texts that were read as JSON
	d.Params, _ = json.Marshal(schema)
	return d
}

// Ungrouped returns the column by which the host groups the rows, "" for none, and the request without it: what a
// mechanism is asked that declares its query.
func (r PlanRequest) Ungrouped() (by string, one PlanRequest, err error) {
	all := map[string]json.RawMessage{}
	if len(r.Params) > 0 {
		err = json.Unmarshal(r.Params, &all)
	}
	name, has := all["by"]
	if err != nil || !has {
		return "", r, err
	}
	if err = json.Unmarshal(name, &by); err != nil || by == "" {
		return "", r, errors.New("by: must be the name of a column")
	}
	delete(all, "by")
	r.Params, err = json.Marshal(all)
	return by, r, err
}

// checkQueries returns what is wrong with the form of the queries of a plan, or nil. It does not read
// expressions.
func (p Plan) checkQueries() error {
	wrong := func(format string, args ...any) error { return fmt.Errorf("plan: queries: "+format, args...) }
	if p.Noise != "" && len(p.Queries) == 0 {
		return wrong("only a plan that has some can name their noise")
	}
	if len(p.Queries) == 0 {
		return nil
	}
	if p.Finish == nil || len(p.Finish.Noise) != len(p.Queries) || len(p.Queries) > MaxQueries {
		return wrong("there must be one for each entry of finish.noise, and at most %d", MaxQueries)
	}
	expressions, sums := 0, int64(0)
	for _, q := range p.Queries {
		size := int64(1)
		for _, s := range q.Cells {
			n := max(int64(len(s.Texts)), s.Count)
			if s.Texts != nil && s.Count != 0 || n < 1 || n > maxSums/size {
				return wrong("cells must have texts or a count, and at most %d places in all", maxSums)
			}
			size *= n
			for _, t := range s.Texts {
				if !utf8.ValidString(t) {
					return wrong("the texts of cells must be valid")
				}
			}
		}
		expressions += len(q.Cells) + len(q.Coordinates)
		sums += size * int64(len(q.Coordinates))
		if !(q.Norm >= 0) || math.IsInf(q.Norm, 0) || len(q.Coordinates) == 0 || len(q.Coordinates) > MaxExpressions {
			return wrong("each needs a coordinate, and a norm that is finite and not negative")
		}
		for _, c := range q.Coordinates {
			f, _ := math.Frexp(c.Lattice)
			switch {
			case !(c.Low <= c.High) || math.IsInf(c.Low, 0) || math.IsInf(c.High, 0):
				return wrong("a coordinate needs a finite low, at most high")
			case c.Lattice != 0 && f != 0.5 || c.Lattice < 0:
				return wrong("the lattice of a coordinate must be a power of two, or 0")
			case q.Norm > 0 && c.Lattice != q.Coordinates[0].Lattice:
				return wrong("the coordinates under a norm must have one lattice")
			}
		}
	}
	if expressions > MaxExpressions || sums > maxSums {
		return wrong("they may hold at most %d expressions and %d sums", MaxExpressions, maxSums)
	}
	return nil
}
