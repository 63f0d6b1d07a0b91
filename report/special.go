package report

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/dprelease/dprelease/internal/expr"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/iterate"
)

// positionView is the privacy of records by their position in a single pass.
type positionView struct {
	Draw   string
	Delta  string
	Figure template.HTML
	Rows   []positionRow
}

type positionRow struct{ Position, Epsilon string }

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
	for _, d := range r.Draws {
		event, problems := expr.Parse(d.Guarantee.Event, "event")
		if len(problems) > 0 {
			return fmt.Errorf("the report's event cannot be read: %w", problems)
		}
		if len(p.rules) < maxDraws {
			p.rules = append(p.rules, rules(d, event)...)
		}
		var failed error
		walk(event, func(e privacy.Event, shuffled *privacy.Shuffled) {
			switch e := e.(type) {
			case privacy.RandomizedResponse:
				if len(p.local) < maxSpecial {
					p.local = append(p.local, local(d, e, shuffled))
				}
			case privacy.LastIterate:
				if len(p.onePass) < maxSpecial && failed == nil {
					var v *positionView
					if v, failed = byPosition(d, e, len(p.onePass)); v != nil {
						p.onePass = append(p.onePass, *v)
					}
				}
			}
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// walk visits every part of an expression, with the shuffle that it stands in.
func walk(e privacy.Event, visit func(privacy.Event, *privacy.Shuffled)) {
	var down func(e privacy.Event, in *privacy.Shuffled)
	down = func(e privacy.Event, in *privacy.Shuffled) {
		visit(e, in)
		switch e := e.(type) {
		case privacy.Sampling:
			down(e.Inner(), in)
		case privacy.Shuffled:
			down(e.Event, &e)
		case privacy.Repeat:
			down(e.Event, in)
		case privacy.Compose:
			for _, item := range e.Events {
				down(item, in)
			}
		}
	}
	down(e, nil)
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

// byPosition draws the privacy of records by position, where one pass over
// single records was made and only its last iterate released (P9).
func byPosition(d Draw, e privacy.LastIterate, k int) (*positionView, error) {
	if e.Epochs != 1 || e.Batch != 1 || !(d.Guarantee.Delta > 0) {
		return nil, nil
	}
	// The bound uses the Lipschitz constant only through the gradient sensitivity,
	// which is at most twice that; half the sensitivity stands for it.
	pass := iterate.OnePass{Lipschitz: e.Sensitivity / 2, Sigma: e.Sigma, N: e.N, Eta: e.StepSize, Smoothness: e.Smooth}
	points, err := pass.Curve(d.Guarantee.Delta, 80)
	if err != nil {
		return nil, nil // a condition of the bound does not hold: there is nothing to show
	}
	v := positionView{Draw: d.Name, Delta: Spent(d.Guarantee.Delta)}
	p := newFigure("position of the record in the pass", "ε")
	var xy plotter.XYs
	for i, at := range points {
		xy = append(xy, plotter.XY{X: float64(at.At), Y: at.Epsilon})
		if i%16 == 0 || i == len(points)-1 {
			v.Rows = append(v.Rows, positionRow{grouped(at.At), Spent(at.Epsilon)})
		}
	}
	p.X.Min, p.X.Max = 1, math.Max(float64(e.N), 2)
	p.Y.Min = 0
	line(p, "ε of the record", xy, mainTone, 2, nil)
	v.Figure, err = render(p, fmt.Sprintf("pass%d", k), "Privacy of a record by its position in the pass",
		"The ε of a record rises with its position: records seen early are the more private, because later steps add their noise on top.")
	return &v, err
}
