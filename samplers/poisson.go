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
	if err := known(rel); err != nil || d.population > 0 {
		return err
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
		return newSkips(walk{rows: rows}, src, d.skips), nil
	}
	return &coinSelector{walk: walk{rows: rows}, src: src, coins: d.coins}, nil
}

// skipFrom is the 1/rate from which a skip for each row drawn (10 to 30 ns) costs
// less than a coin for each row (0.4 ns). Both have the same law.
const skipFrom = 32

// skipSelector knows the next selected row, and skips to the one after.
type skipSelector struct {
	walk
	src  *noise.Source
	geo  *noise.Geometric
	next int64 // at most math.MaxInt64, which no row has
}

func newSkips(w walk, src *noise.Source, g *noise.Geometric) *skipSelector {
	s := &skipSelector{walk: w, src: src, geo: g, next: -1}
	s.skip()
	return s
}

func (s *skipSelector) skip() {
	gap := int64(s.geo.Draw(s.src))
	if s.next++; gap > math.MaxInt64-s.next {
		s.next = math.MaxInt64
		return
	}
	s.next += gap
}

func (s *skipSelector) Next(n int) (Selection, error) {
	first, err := s.advance(n)
	if err != nil {
		return Selection{}, err
	}
	for s.next < s.pos {
		s.out = append(s.out, uint32(s.next-first))
		s.skip()
	}
	return Selection{Rows: s.out}, s.src.Err()
}

func (s *skipSelector) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

func (s *skipSelector) Done() error { return firstError(s.finish(), s.src.Err()) }

// coinSelector tosses one coin for each row, 64 at a time.
type coinSelector struct {
	walk
	src    *noise.Source
	coins  *noise.Coins
	tossed int64 // tosses made so far; toss is the last
	toss   uint64
}

func (s *coinSelector) Next(n int) (Selection, error) {
	first, err := s.advance(n)
	if err != nil {
		return Selection{}, err
	}
	s.selectLanes(first, func(i int64) uint64 {
		if i == s.tossed {
			s.toss = s.coins.Toss(s.src)
			s.tossed++
		}
		return s.toss
	})
	return Selection{Rows: s.out}, s.src.Err()
}

func (s *coinSelector) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

func (s *coinSelector) Done() error { return firstError(s.finish(), s.src.Err()) }
