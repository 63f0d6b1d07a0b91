package samplers

import (
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

// Estimate says how the variance of Σ x over the draws of a design is estimated from one
// draw: by Square·Σ f·x² − Mean·(Σ x)². Here x is what a drawn row adds, its weight
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

	_ struct{}
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
// rows have. It is at least that in two cases: where the size of the table is secret and that
// of the sample is not, and for Square and Mean of a design that has Strata. It follows from
// the design alone (P19). The error says why a design has no such estimate. Proof:
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
		if _, ok := d.draw.(*Full); ok {
			return NewEstimate(d.by, nil)
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
		return Estimate{}, errors.New("the variance of a multistage sample is that between its first-stage units, which no sum over rows shows")
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
		one, err := fixed(n, of.Records)
		if err != nil {
			return e, fmt.Errorf("stratum %s: %w", name(of.Key), err)
		}
		e.Strata = append(e.Strata, StratumEstimate{Key: of.Key[0], Rows: n, Square: one.Square, Mean: one.Mean})
		if !e.Weighted {
			e.Square = max(e.Square, one.Square)
		} else if n < of.Records { // f is n's 1 − n/N
			e.Square = max(e.Square, float64(n)/float64(n-1))
		}
	}
	return e, nil
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
