package ledger

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// The filters that an account may have (P10).
const (
	Basic = "basic" // adds up ε and δ
	ZCDP  = "zcdp"  // adds up ρ
	RDP   = "rdp"   // adds up Rényi divergences at fixed orders
)

// Opening holds the terms on which an account is opened. Filter and orders never change.
type Opening struct {
	Filter string    `json:"filter"`
	Orders []float64 `json:"orders,omitempty"`
	Limit  Limit     `json:"limit"` // of the account, and of each slice where it has slices
	// Lifetime is the limit of all slices together, for a unit through its life (P26); nil
	// for none.
	Lifetime   *Limit `json:"lifetime,omitempty"`
	TwoPersons bool   `json:"two_persons,omitempty"` // a limit is raised by one person and approved by another
	// Keeps are the columns in which every neighbour that the account protects agrees
	// (P27), sorted; nil where the first job decides it.
	Keeps []string `json:"keeps,omitzero"`
}

// DefaultOrders are the orders of an rdp account that names none.
func DefaultOrders() []float64 {
	return []float64{1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512}
}

// check refuses an account that cannot work.
func (o Opening) check(k Key) error {
	if (o.Filter == RDP) != (len(o.Orders) > 0) {
		return refuse(CodeLimit, "orders belong to an rdp account, and it needs them")
	}
	limits := []Limit{o.Limit}
	if o.Lifetime != nil {
		limits = append(limits, *o.Lifetime)
	}
	if o.Lifetime != nil && k.Slice.Column == "" {
		return refuse(CodeLimit, "a limit over all slices belongs to an account with slices")
	}
	for _, l := range limits {
		if !l.MayLimit() {
			return refuse(CodeLimit, "a limit needs ε of at least 0 and δ from 0 to 1, or ρ of at least 0")
		}
		if _, _, err := o.filter(k.Relation, l); err != nil {
			return unsuited(l, o.Filter, err)
		}
	}
	return nil
}

// limitOf is the limit, or the one over all slices, which may be nil.
func (o *Opening) limitOf(life bool) *Limit {
	if life {
		return o.Lifetime
	}
	return &o.Limit
}

// limit sets the limit, or the one over all slices.
func (o *Opening) limit(l Limit, life bool) {
	if life {
		o.Lifetime = &l
	} else {
		o.Limit = l
	}
}

// unsuited refuses a limit that an account cannot keep.
func unsuited(l Limit, filter string, err error) *Error {
	if l.Rho != nil && filter != ZCDP {
		return refuse(CodeLimit, "the account adds up with the filter %s, and the limit %s needs the filter %s: give the limit in ε and δ, "+
			"or open an account with ledger init --filter %s", filter, l, ZCDP, ZCDP)
	}
	return refuse(CodeLimit, "the limit %s does not suit the filter %s: %v", l, filter, err)
}

// filter returns a new filter for a limit. For an rdp account it also returns which of the
// account's orders the filter uses.
func (o Opening) filter(rel privacy.Relation, limit Limit) (privacy.Filter, []int, error) {
	if limit.Rho != nil {
		if o.Filter != ZCDP {
			return nil, nil, fmt.Errorf("it is a ρ")
		}
		f, err := privacy.NewZCDPFilter(rel, limit.Rho)
		return f, nil, err
	}
	at := privacy.Point{Epsilon: rational.Down(limit.Epsilon), Delta: rational.Down(limit.Delta)}
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
