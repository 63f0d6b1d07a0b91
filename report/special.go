package report

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/expr"
	"github.com/dprelease/dprelease/privacy"
)

// localView is a local randomizer, with what its reports guarantee alone and
// after shuffling.
type localView struct {
	Draw     string
	K        int
	Epsilon0 string
	Truth    string
	Users    string
	Shuffled string
}

// maxSpecial bounds how many sub-expressions get an entry of their own.
const maxSpecial = 5

// special finds the events that have more to show than a point and a profile.
func (p *Page) special(r *Report) error {
	p.byPosition(r)
	for _, d := range r.Draws {
		event, problems := expr.Parse(d.Guarantee.Event, "event")
		if len(problems) > 0 {
			return fmt.Errorf("the report's event cannot be read: %w", problems)
		}
		if len(p.rules) < maxDraws {
			p.rules = append(p.rules, rules(d, event)...)
		}
		walk(event, func(e privacy.Event, shuffled *privacy.Shuffled) {
			if rr, ok := e.(privacy.RandomizedResponse); ok && len(p.local) < maxSpecial {
				p.local = append(p.local, local(d, rr, shuffled))
			}
		})
	}
	return nil
}

// walk visits every part of an expression, with the shuffle around it if there is one.
func walk(e privacy.Event, visit func(privacy.Event, *privacy.Shuffled)) { walkIn(e, nil, visit) }

func walkIn(e privacy.Event, in *privacy.Shuffled, visit func(privacy.Event, *privacy.Shuffled)) {
	visit(e, in)
	if s, ok := e.(privacy.Shuffled); ok {
		in = &s
	}
	for _, inner := range privacy.Children(e) {
		walkIn(inner, in, visit)
	}
}

func local(d Draw, e privacy.RandomizedResponse, in *privacy.Shuffled) localView {
	v := localView{Draw: d.Name, K: e.K, Epsilon0: Spent(e.Eps0), Truth: percent(1 / (1 + float64(e.K-1)*math.Exp(-e.Eps0)))}
	if in == nil {
		return v
	}
	v.Users = grouped(in.N)
	a, err := privacy.EpsilonWith(*in, d.Guarantee.Relation, d.Guarantee.Delta, privacy.Options{Quick: true})
	if err == nil {
		v.Shuffled = fmt.Sprintf("ε %s, δ %s", Spent(a.Epsilon), Spent(a.Delta))
	}
	return v
}
