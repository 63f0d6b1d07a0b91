package samplers

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// Estimate is a formula that estimates the variance of Σ x over the draws of a design from one
// draw: Square·Σ f·x² − Mean·(Σ x)². Here x is what a drawn row adds, its weight
// included; f is 1 − 1/w where rows carry weights, and 1 where all weights are equal and
// left out.
type Estimate struct {
	Square, Mean float64
	// Weighted says that rows carry weights.
	Weighted bool
	// Rows is the public number of rows of a draw, 0 where it is random.
	Rows int64
	// Strata, where given, are better: the sum over strata of their own estimates, each with
	// f = 1.
	Strata []StratumEstimate
	// Clusters, where given, says that x is not what a row adds but what all rows of a unit of
	// the first stage add. Weights are included and f is 1.
	Clusters *Clusters

	_ struct{}
}

// Clusters are the units that were drawn first: the largest ones of which not all are taken.
type Clusters struct {
	// Of is the cluster of each ultimate unit of the frame, and Number how many there are.
	Of     []int32
	Number int
	// Drawn is the number of clusters that are drawn, and Most the largest sum of the weights of the rows that are
	// drawn below one of them; a row weighs 1 where all weights are equal.
	Drawn int64
	Most  float64
	// Left is the part of the estimate that the finite number of clusters leaves. The variance is
	// Left·V + (1 − Left)·W, V the estimate and W that of the draws below the clusters: at most
	// Within·b² if every row adds its weight times a number between −b and b.
	Left, Within float64
}

// StratumEstimate is the Estimate within one stratum, from which Rows rows are drawn.
type StratumEstimate struct {
	Key          string
	Rows         int64
	Square, Mean float64
}

// NewEstimate returns how the variance over the draws of a design is estimated. Collected,
// where given, is how the table itself was drawn, and then it is the variance over both
// draws.
//
// # Contract
//
// Over the draws, the mean of the estimate is the variance of Σ x, whatever numbers x the
// rows have. It is at least that in three cases: where the size of the table is secret and that
// of the sample is not, for Square and Mean of a design that has Strata, and for Clusters. It
// follows from the design alone (P19). The error says why a design has no such estimate. Proof:
// estimate.proof.md.
func NewEstimate(d Design, collected *Collected) (Estimate, error) {
	if collected != nil {
		return collected.twice(d)
	}
	switch d := d.(type) {
	case *Full:
		return Estimate{Rows: d.population}, nil
	case *Collected:
		return NewEstimate(d.by, nil)
	case *Gathered:
		if full, ok := d.draw.(*Full); ok {
			e, err := NewEstimate(d.by, nil)
			if c := e.Clusters; err == nil && c != nil { // no cluster has more rows than the table
				w := 1.0
				if !d.facts.EqualWeights {
					w = d.facts.MaxWeight
				}
				c.Most = min(c.Most, float64(full.population)*w)
			}
			return e, err
		}
		return Estimate{}, errors.New("there is no estimate of the variance of a sample of a table that was collected with weights")
	case *SRSWOR:
		return fixed(d.size, d.population)
	case *Poisson:
		return Estimate{Square: 1 - d.rate.Float()}, nil
	case *StratifiedPoisson:
		e := Estimate{Square: 1, Weighted: !d.facts.EqualWeights}
		if !e.Weighted {
			e.Square = 1 - d.facts.Rate
		}
		return e, nil
	case *StratifiedTake:
		return d.estimate()
	case *Kept:
		switch e := d.event.(type) {
		case privacy.WithoutReplacement:
			if d.kind == "srswor" {
				return fixed(e.Take, d.facts.Population)
			}
		case privacy.Poisson:
			if d.kind == "poisson" {
				return Estimate{Square: 1 - d.facts.Rate}, nil
			}
		}
		return Estimate{}, errors.New("the frame of a kept sample is not at hand")
	case *Multistage:
		return d.estimate()
	}
	return Estimate{}, errors.New("the design has no known estimate of its variance")
}

// fixed is the estimate for n of N rows without replacement; of 0 stands for a secret N.
func fixed(n, of int64) (Estimate, error) {
	e := Estimate{Rows: n}
	switch {
	case n == of:
		return e, nil
	case n < 2:
		return e, errors.New("one drawn row says nothing about the spread")
	}
	left := 1.0
	if of > 0 {
		left = 1 - float64(n)/float64(of)
	}
	e.Mean = left / float64(n-1)
	e.Square = e.Mean * float64(n)
	return e, nil
}

func (d *StratifiedTake) estimate() (Estimate, error) {
	e := Estimate{Weighted: !d.facts.EqualWeights, Rows: d.facts.SampleSize}
	for u, n := range d.take {
		of := d.frame.units[u]
		one, err := e.stratum(of, n)
		if err != nil {
			return e, err
		}
		e.Strata = append(e.Strata, StratumEstimate{Key: of.Key[0], Rows: n, Square: one.Square, Mean: one.Mean})
	}
	return e, nil
}

// stratum returns the estimate in a stratum from which n rows are drawn, and raises Square to it.
func (e *Estimate) stratum(of Unit, n int64) (Estimate, error) {
	one, err := fixed(n, of.Records)
	if err != nil {
		return one, fmt.Errorf("stratum %s: %w", name(of.Key), err)
	}
	if !e.Weighted {
		e.Square = max(e.Square, one.Square)
	} else if n < of.Records { // f is n's 1 − n/N
		e.Square = max(e.Square, float64(n)/float64(n-1))
	}
	return one, nil
}

// estimate takes the first stage that does not take all units as the one that is drawn. Those above
// it are strata.
func (d *Multistage) estimate() (Estimate, error) {
	first, last := d.takesAll(0), len(d.stages)-1
	if first > last {
		return Estimate{Rows: d.facts.SampleSize}, nil
	}
	if first == last { // each ultimate unit is a stratum of rows
		e := Estimate{Weighted: !d.facts.EqualWeights, Rows: d.facts.SampleSize}
		for _, u := range d.frame.units {
			if _, err := e.stratum(u, d.taken(&node{records: u.Records}, last)); err != nil {
				return e, err
			}
		}
		return e, nil
	}
	c := &Clusters{Of: make([]int32, d.frame.Len())}
	strata := d.below(nil, d.root, 0, first)
	for _, h := range strata {
		take, of := d.taken(h, first), h.size()
		c.Drawn += take
		switch {
		case take == of:
		case len(strata) == 1:
			c.Left = 1 - float64(take)/float64(of)
		default:
			c.Left = max(c.Left, float64(of-take)/float64(of-1))
		}
		within := 0.0
		for _, n := range h.children {
			most, variance := d.reach(n, first+1, func(unit int32) { c.Of[unit] = int32(c.Number) })
			c.Most, within = max(c.Most, most), max(within, variance)
			c.Number++
		}
		c.Within += float64(take) * within
	}
	if c.Drawn < 2 {
		return Estimate{}, errors.New("one unit of the first stage says nothing about the spread between units")
	}
	m := float64(c.Drawn)
	return Estimate{Rows: c.Drawn, Square: m / (m - 1), Mean: 1 / (m - 1), Clusters: c}, nil
}

// below appends the units of stage j−1 that lie below n, a unit of stage i−1, to a list.
func (d *Multistage) below(to []*node, n *node, i, j int) []*node {
	if i == j {
		return append(to, n)
	}
	for _, c := range n.children {
		to = d.below(to, c, i+1, j)
	}
	return to
}

// takesAll returns the first stage from j on at which not every unit is taken below each unit of the
// stage above, or the number of stages.
func (d *Multistage) takesAll(j int) int {
	for ; j < len(d.stages); j++ {
		if slices.ContainsFunc(d.below(nil, d.root, 0, j), func(n *node) bool { return d.taken(n, j) < n.size() }) {
			break
		}
	}
	return j
}

// reach returns the largest sum of the weights of the rows that are drawn below n, which was drawn,
// and a bound of the variance of Σ x below n if each row adds its weight times a number between −1 and
// 1. It visits the ultimate units.
func (d *Multistage) reach(n *node, j int, visit func(unit int32)) (most, variance float64) {
	take, of := float64(d.taken(n, j)), float64(n.size())
	spread := 0.0 // of a total of fixed numbers over the draw, at most, times the largest square
	if take < of {
		spread = take * (of - take) / (of - 1)
	}
	if n.children == nil {
		visit(n.unit)
		w := 1.0
		if !d.facts.EqualWeights {
			w = d.weights[n.unit]
		}
		return take * w, spread * w * w
	}
	var all []float64
	below := 0.0
	for _, c := range n.children {
		m, v := d.reach(c, j+1, visit)
		all, below = append(all, m), max(below, v)
	}
	slices.Sort(all)
	for _, x := range all[int(of)-int(take):] {
		most += x
	}
	largest := all[len(all)-1]
	return most, spread*largest*largest + take*below
}

// twice is the estimate where the table is a simple random sample itself.
func (c *Collected) twice(d Design) (Estimate, error) {
	by, ok := c.by.(*SRSWOR)
	if !ok {
		return NewEstimate(d, nil) // its weights are those of both draws
	}
	q := 1.0
	switch d := d.(type) {
	case *Full:
	case *SRSWOR:
		return fixed(d.size, by.population) // a simple random sample of the population
	case *Poisson:
		q = d.rate.Float()
	default:
		return Estimate{}, fmt.Errorf("there is no estimate of the variance of a sample (%s) of a table that is a sample itself", d.Kind())
	}
	e, err := fixed(by.size, by.population)
	if q < 1 { // 1 − q·n/N and the term of two rows, as drawn by both
		e.Rows = 0
		e.Square = 1 - q*float64(by.size)/float64(by.population) + e.Mean
	}
	return e, err
}
