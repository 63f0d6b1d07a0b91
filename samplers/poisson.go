package samplers

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Poisson keeps each row with one public probability, each on its own coin.
//
// # Contract
//
// Every row is selected with probability exactly rate, independently of all
// others. The number of rows drawn is random, and private. The event is
// poisson{rate} with the rate rounded up to a float64 (P17). Proof:
// poisson.proof.md.
type Poisson struct {
	rate       Rate
	population int64
	coins      *noise.Coins
	skips      *noise.Geometric // set where the rate is small; read only, so draws share it
}

// NewPoisson returns the Poisson design of the given rate. population is the
// public number of rows, 0 where that is secret.
func NewPoisson(rate Rate, population int64) (*Poisson, error) {
	if !rate.valid() {
		return nil, fmt.Errorf("rate: must be above 0 and at most 1")
	}
	if population < 0 {
		return nil, fmt.Errorf("size: must not be negative")
	}
	d := &Poisson{rate: rate, population: population}
	num, den := rate.Fraction()
	var err error
	if den/num >= skipFrom {
		d.skips, err = noise.NewGeometric(num, den)
	} else {
		d.coins, err = noise.NewCoins(num, den)
	}
	return d, err
}

// Kind is "poisson".
func (*Poisson) Kind() string { return "poisson" }

// Event is poisson{rate}.
func (d *Poisson) Event(inner privacy.Event) privacy.Event {
	return privacy.Poisson{Rate: d.rate.Upper(), Event: inner}
}

// Supports is nil under add-remove, and under replace-one where the number of
// rows is public (P3).
func (d *Poisson) Supports(rel privacy.Relation) error {
	if d.population > 0 {
		return known(rel)
	}
	return onlyUnder("poisson", privacy.AddRemove, rel, "replace-one needs the public number of rows")
}

// Facts are public; the number of rows drawn is not among them.
func (d *Poisson) Facts() Facts {
	w := 1 / d.rate.Float()
	return Facts{
		Rate: d.rate.Float(), Population: d.population, LargestCount: d.population,
		MinWeight: w, MaxWeight: w, EqualWeights: true,
	}
}

func (d *Poisson) begin(src *noise.Source, rows int64) (Selector, error) {
	if d.population > 0 {
		if rows >= 0 && rows != d.population {
			return nil, fail(SizeMismatch)
		}
		rows = d.population
	}
	if d.skips != nil {
		return bySkips(src, d.skips, rows), nil
	}
	return byCoins(src, d.coins, rows), nil
}

// skipFrom is the 1/rate from which a skip for each row drawn (10 to 30 ns) costs
// less than a coin for each row (0.4 ns). Both have the same law.
const skipFrom = 32

// bySkips knows the next selected row, and skips to the one after.
func bySkips(src *noise.Source, g *noise.Geometric, rows int64) Selector {
	next := int64(-1) // at most math.MaxInt64, which no row has
	skip := func() {
		gap := int64(g.Draw(src))
		if next++; gap > math.MaxInt64-next {
			next = math.MaxInt64
			return
		}
		next += gap
	}
	skip()
	return &placed{walk: walk{rows: rows}, src: src, pick: func(w *walk, first int64) error {
		for next < w.pos {
			w.out = append(w.out, uint32(next-first))
			skip()
		}
		return nil
	}}
}

// byCoins tosses one coin for each row, 64 at a time.
func byCoins(src *noise.Source, coins *noise.Coins, rows int64) Selector {
	tossed, toss := int64(0), uint64(0) // tosses made so far, and the last of them
	return &placed{walk: walk{rows: rows}, src: src, pick: func(w *walk, first int64) error {
		w.selectLanes(first, func(i int64) uint64 {
			if i == tossed {
				toss = coins.Toss(src)
				tossed++
			}
			return toss
		})
		return nil
	}}
}
