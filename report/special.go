package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/internal/say/figure"
	"github.com/dprelease/dprelease/privacy"
)

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
		if len(p.rules) < 2*maxDraws {
			p.rules = append(p.rules, rules(r.words(), d, event)...)
		}
		walk(event, func(e privacy.Event, shuffled *privacy.Shuffled) {
			if rr, ok := e.(privacy.RandomizedResponse); ok && len(p.local) < maxSpecial {
				p.local = append(p.local, local(r.words(), d, rr, shuffled))
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

// local is a local randomizer, with what its reports guarantee alone and after shuffling.
func local(w words, d Draw, e privacy.RandomizedResponse, in *privacy.Shuffled) []document.Cell {
	users, shuffled := "–", w.t("local.unshuffled")
	if in != nil {
		users, shuffled = grouped(in.N), ""
		if a, err := privacy.EpsilonWith(*in, d.Guarantee.Relation, d.Guarantee.Delta, privacy.Options{Quick: true}); err == nil {
			shuffled = point(a.Epsilon, a.Delta, Spent)
		}
	}
	return []document.Cell{{Text: d.Name}, {Text: strconv.Itoa(e.K), Number: true}, {Text: Spent(e.Eps0), Number: true},
		{Text: percent(1 / (1 + float64(e.K-1)*math.Exp(-e.Eps0))), Number: true}, {Text: users, Number: true}, {Text: shuffled}}
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

// byPosition draws the privacy of records by position, where a release has it.
func (p *Page) byPosition(r *Report) {
	for _, rel := range r.Releases {
		if rel.Positions == nil || len(rel.Positions.Points) < 2 || len(p.onePass) == maxSpecial {
			continue
		}
		p.onePass = append(p.onePass, rel.Positions.figure(r.words(), rel.Name, len(p.onePass)))
	}
}

func (c *Positions) figure(w words, release string, k int) document.Figure {
	last := len(c.Points) - 1
	t := &document.Table{Named: true, Head: []document.Head{{Name: w.t("position.position"), Number: true}, {Name: "ε", Number: true}}}
	var curve []figure.Point
	every, most := max(1, (last+4)/5), 0.0
	for i, at := range c.Points {
		curve, most = append(curve, figure.Point{X: float64(at.At), Y: at.Epsilon}), math.Max(most, at.Epsilon)
		if i%every == 0 || i == last {
			t.Rows = append(t.Rows, []document.Cell{{Text: grouped(at.At), Number: true}, {Text: Spent(at.Epsilon), Number: true}})
		}
	}
	p := figure.NewFrame(figure.Axis{Name: w.t("figure.position"), Min: 1, Max: math.Max(float64(c.Batches), 2), Ticks: even},
		figure.Axis{Name: "ε", Max: most * 1.05, Ticks: even}, figure.Key{Class: "main", Name: w.t("figure.record")})
	p.Curve(curve, "main")
	delta := Spent(c.Delta)
	desc := w.t("figure.position_desc", delta, Spent(c.Points[0].Epsilon), Spent(c.Points[last].Epsilon))
	return document.Figure{Picture: p.HTML(fmt.Sprintf("pass%d", k), w.t("figure.position_title"), desc),
		Caption: w.t("position.caption", release, delta, grouped(c.Batches)), Table: t}
}
