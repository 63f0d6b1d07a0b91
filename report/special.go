package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/dprelease/dprelease/internal/say/figure"
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
		event, err := d.Guarantee.event()
		if err != nil {
			return err
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

// Positions is the privacy of records by their position in a pass over the data,
// where only the last iterate is released: later steps hide those that were used
// early. What is charged is the largest.
type Positions struct {
	Delta   float64    `json:"delta"`
	Batches int64      `json:"batches"` // positions of a pass
	Points  []Position `json:"points"`
}

// Position is the privacy of the records of one batch.
type Position struct {
	At      int64   `json:"at"` // from 1
	Epsilon float64 `json:"epsilon"`
}

// positionPoints is the most positions that a report holds.
const positionPoints = 80

// NewPositions is the curve of an event that is one last iterate over batches, at the
// delta that was charged, and nil for any other (P9).
func NewPositions(e privacy.Event, delta float64) *Positions {
	l, ok := e.(privacy.LastIterate)
	if !ok || !(delta > 0) || l.Batches() < 2 {
		return nil
	}
	curve, err := l.ByPosition(delta, positionPoints)
	if err != nil {
		return nil // a condition of the bound does not hold: there is nothing to show
	}
	out := &Positions{Delta: delta, Batches: l.Batches()}
	for _, at := range curve {
		out.Points = append(out.Points, Position{At: at.At, Epsilon: at.Epsilon})
	}
	return out
}

// positionView is the curve of one release.
type positionView struct {
	Release     string
	Delta       string
	First, Last string
	Figure      template.HTML
	Rows        []positionRow
	Batches     string
}

type positionRow struct{ Position, Epsilon string }

// byPosition draws the privacy of records by position, where a release has it.
func (p *Page) byPosition(r *Report) {
	for _, rel := range r.Releases {
		if rel.Positions == nil || len(rel.Positions.Points) < 2 || len(p.onePass) == maxSpecial {
			continue
		}
		p.onePass = append(p.onePass, rel.Positions.view(p.words, rel.Name, len(p.onePass)))
	}
}

func (c *Positions) view(w words, release string, k int) positionView {
	last := len(c.Points) - 1
	v := positionView{
		Release: release, Delta: Spent(c.Delta), Batches: grouped(c.Batches),
		First: Spent(c.Points[0].Epsilon), Last: Spent(c.Points[last].Epsilon),
	}
	var curve []figure.Point
	every, most := max(1, (last+4)/5), 0.0
	for i, at := range c.Points {
		curve, most = append(curve, figure.Point{X: float64(at.At), Y: at.Epsilon}), math.Max(most, at.Epsilon)
		if i%every == 0 || i == last {
			v.Rows = append(v.Rows, positionRow{grouped(at.At), Spent(at.Epsilon)})
		}
	}
	p := figure.NewFrame(figure.Axis{Name: w.t("figure.position"), Min: 1, Max: math.Max(float64(c.Batches), 2), Ticks: even},
		figure.Axis{Name: "ε", Max: most * 1.05, Ticks: even}, figure.Key{Class: "main", Name: w.t("figure.record")})
	p.Curve(curve, "main")
	v.Figure = p.HTML(fmt.Sprintf("pass%d", k), w.t("figure.position_title"), w.t("figure.position_desc", v.Delta, v.First, v.Last))
	return v
}
