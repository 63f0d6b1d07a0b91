package pld

import (
	"errors"
	"fmt"
	"math"
)

// errTooFine is returned by a measure that would need more cells than allowed;
// the caller coarsens the lattice.
var errTooFine = errors.New("pld: lattice too fine for the memory allowed")

// grid is the lattice {o + i·h} of the composition that asks for a measure, seen
// from the coordinate of an inner mechanism: to maps an inner loss to the lattice
// coordinate, from maps back (-Inf or +Inf outside the image). Both are
// non-decreasing.
type grid struct {
	o, h     float64
	to, from func(float64) float64
}

func identity(l float64) float64 { return l }

func newGrid(o, h float64) grid { return grid{o, h, identity, identity} }

// through returns the grid seen from the coordinate of an inner mechanism.
func (g grid) through(to, from func(float64) float64) grid {
	outerTo, outerFrom := g.to, g.from
	return grid{g.o, g.h,
		func(l float64) float64 { return outerTo(to(l)) },
		func(l float64) float64 { return from(outerFrom(l)) }}
}

// request describes the measure that is wanted.
type request struct {
	side     side
	grid     grid
	tail     float64 // mass that may be cut at either end, under either distribution
	maxCells int
	work     *effort
}

// nodes lists the lattice points inside [lo, hi] in the inner coordinate.
func (r request) nodes(lo, hi float64) ([]float64, error) {
	a, b := (r.grid.to(lo)-r.grid.o)/r.grid.h, (r.grid.to(hi)-r.grid.o)/r.grid.h
	if math.IsNaN(a) || math.IsNaN(b) {
		return nil, errors.New("pld: no lattice fits the range of the losses")
	}
	if !(b-a < float64(r.maxCells)) {
		return nil, errTooFine
	}
	out := make([]float64, 0, int(b-a)+3)
	for i := math.Ceil(a); i <= b; i++ {
		l := r.grid.from(r.grid.o + i*r.grid.h)
		if l < lo || l > hi || math.IsNaN(l) || (len(out) > 0 && l <= out[len(out)-1]) {
			continue
		}
		out = append(out, l)
	}
	return out, nil
}

// effort counts the work of a query, in cells. theta is the tilt at which its measures will
// be read.
type effort struct {
	spent, theta float64
	// work is an estimate of the nanoseconds spent, from the sizes of the computations, so
	// that no answer depends on a clock.
	work float64
	// limit is the work that may be spent by now; 0 stands for maxWork.
	limit float64
	// fits is the finest step at which an inner composition was found to fit.
	fits map[string]float64
}

// maxWork is the effort at which a query gives up: about a second of one processor.
const maxWork = 7e8

// errSpent is returned where a query has worked through all that it may.
var errSpent = fmt.Errorf("%w: the work allowed to one query is spent", ErrNotCertified)

// add counts work, and says whether there is some left.
func (e *effort) add(work float64) error {
	limit := e.limit
	if limit == 0 {
		limit = maxWork
	}
	if e.work += work; e.work > limit {
		return errSpent
	}
	return nil
}
