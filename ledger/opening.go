package ledger

import (
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// The filters that an account may have (P10).
const (
	Basic = "basic" // adds up ε and δ
	ZCDP  = "zcdp"  // adds up ρ
	RDP   = "rdp"   // adds up Rényi divergences at fixed orders
)

// Limit is an exact (ε, δ).
type Limit struct{ Epsilon, Delta *big.Rat }

func (l Limit) String() string {
	return "ε " + job.FormatAmount(l.Epsilon) + ", δ " + job.FormatAmount(l.Delta)
}

// AtMost reports that no part of l is above that of m.
func (l Limit) AtMost(m Limit) bool {
	return l.Epsilon.Cmp(m.Epsilon) <= 0 && l.Delta.Cmp(m.Delta) <= 0
}

// Opening is what an account is opened with. Filter and orders never change.
type Opening struct {
	Filter     string
	Orders     []float64
	Limit      Limit
	TwoPersons bool // a limit is raised by one person and approved by another
	// Keeps are the columns in which every neighbour that the account protects agrees
	// (P27), sorted; nil where the first job decides it.
	Keeps []string
}

// DefaultOrders are the orders of an rdp account that names none.
func DefaultOrders() []float64 {
	return []float64{1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512}
}

// check refuses an account that cannot work.
func (o Opening) check(rel privacy.Relation) error {
	if o.Limit.Epsilon == nil || o.Limit.Delta == nil || o.Limit.Epsilon.Sign() < 0 || o.Limit.Delta.Sign() < 0 || o.Limit.Delta.Cmp(big.NewRat(1, 1)) > 0 {
		return refuse(CodeLimit, "a limit needs ε of at least 0 and δ from 0 to 1")
	}
	if (o.Filter == RDP) != (len(o.Orders) > 0) {
		return refuse(CodeLimit, "orders belong to an rdp account, and it needs them")
	}
	if _, _, err := o.filter(rel, o.Limit); err != nil {
		return refuse(CodeLimit, "the limit %s does not suit the filter %s: %v", o.Limit, o.Filter, err)
	}
	return nil
}

// filter returns a new filter for a limit. For an rdp account it also returns which of the
// account's orders the filter uses.
func (o Opening) filter(rel privacy.Relation, limit Limit) (privacy.Filter, []int, error) {
	at := privacy.Point{Epsilon: job.Down(limit.Epsilon), Delta: job.Down(limit.Delta)}
	switch o.Filter {
	case Basic:
		f, err := privacy.NewBasicFilter(rel, limit.Epsilon, limit.Delta)
		return f, nil, err
	case ZCDP:
		rho, err := privacy.RhoFor(at)
		if err != nil {
			return nil, nil, err
		}
		f, err := privacy.NewZCDPFilter(rel, rho)
		return f, nil, err
	case RDP:
		f, err := privacy.NewRDPFilter(rel, at, o.Orders)
		if err != nil {
			return nil, nil, err
		}
		var places []int
		for i, k := 0, 0; i < len(o.Orders); i++ {
			if used := f.Orders(); k < len(used) && used[k] == o.Orders[i] {
				places = append(places, i)
				k++
			}
		}
		return f, places, nil
	}
	return nil, nil, fmt.Errorf("there is no filter %q; the filters are %s, %s and %s", o.Filter, Basic, ZCDP, RDP)
}
