package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Pin says one thing that decides which unit gets which part of a state that outlives a run.
type Pin struct {
	Name string `json:"name"`
	Is   string `json:"is"` // one text for one meaning, made of the job and the schema alone
}

// Pinned is a state that outlives a run, with all that decides which unit gets which part of it.
type Pinned struct {
	State string `json:"state"`
	Pins  []Pin  `json:"pins"`

	debit int64 // the record that pays for the state
	words string
}

// The kinds of states begin the names of these, which are the keys of the table of pins.
const (
	panelState  = "panel"  // by its id
	drawState   = "draw"   // kept, or that made a table, by its id
	seriesState = "series" // by the plan of its first step
)

// row is everything that is stored of the pins of a state. The tree of digests commits to it.
func (p *Pinned) row() any {
	return struct {
		Debit int64
		Pins  []Pin
	}{p.debit, p.Pins}
}

// pinsKey is the key of the pins of a state in the tree of digests.
func pinsKey(state string) string { return "pins\n" + state }

// states lists the states that a request begins or goes on with.
func (q *Request) states() (out []Pinned, err error) {
	add := func(state, words string, pins []Pin) {
		pins = slices.Clone(pins)
		slices.SortFunc(pins, func(a, b Pin) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, Pinned{State: state, Pins: pins, words: words})
	}
	if p := q.Panel; p != nil {
		r, err := q.Rotation()
		if err != nil {
			return nil, err
		}
		event, err := privacy.Canonical(r)
		if err != nil {
			return nil, refuse(CodeSample, "the panel cannot be written down: %v", err)
		}
		add(panelState+"\n"+p.ID, (&Sample{Name: p.Name}).panelName(), append(p.Pins, Pin{"the waves, and what is released in each", string(event)}))
	}
	for _, step := range q.Draws {
		add(drawState+"\n"+step.Sample, "sample "+step.Sample, step.Pins)
	}
	if s := q.Series; s != nil && len(s.Steps) > 0 {
		add(seriesState+"\n"+s.Steps[0].Plan, "the series", s.Pins)
	}
	return out, nil
}

// pin holds a request to the pins of the states that it goes on with, and returns those that it begins.
//
// # Contract
//
// A state that was paid for is used with the very pins that its first debit recorded, or the request is
// refused before anything is debited. Proof: pins.proof.md. // P36
func (t *tx) pin(q *Request) (begun []Pinned, err error) {
	states, err := q.states()
	for _, now := range states {
		before, err := t.pinsOf(now.State)
		switch {
		case err != nil:
			return nil, err
		case before == nil:
			begun = append(begun, now)
			continue
		}
		if err := before.differ(&now, false); err != nil {
			return nil, err
		}
	}
	return begun, err
}

// differ refuses what a job says otherwise of a state than the job that paid for it. Where some is set, the job
// has not said everything yet, and what it leaves out is not compared.
func (p *Pinned) differ(now *Pinned, some bool) error {
	is := map[string]string{}
	for _, pin := range now.Pins {
		is[pin.Name] = pin.Is
	}
	for _, pin := range p.Pins {
		says, said := is[pin.Name]
		delete(is, pin.Name)
		if said && says == pin.Is || !said && some {
			continue
		}
		return now.refuse(pin.Name, pin.Is, says)
	}
	for _, pin := range now.Pins {
		if says, more := is[pin.Name]; more {
			return now.refuse(pin.Name, "", says)
		}
	}
	return nil
}

// shownPin is the length up to which a message repeats what a pin says.
const shownPin = 60

func (p *Pinned) refuse(name, was, is string) *Error {
	show := func(text string) string {
		switch {
		case text == "":
			return "nothing"
		case len(text) > shownPin || strings.ContainsAny(text, "{\n"):
			return "something else"
		}
		return text
	}
	if was, is = show(was), show(is); was == is {
		was = "it otherwise"
	}
	return refuse(CodePinned, "%s was paid for with other rules: of %s its first job says %s, and this one %s; which unit gets which part of it was fixed then, and another one has another price: say what that job says, or begin another one, at its full price",
		p.words, name, was, is)
}

// pinsOf reads the pins of a state, nil where nobody paid for it, and holds them to the chain.
func (t *tx) pinsOf(state string) (*Pinned, error) {
	found, err := all(t, scanPinned, "SELECT state, debit, pins FROM dprelease_pins WHERE state = ?", state)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, t.holds(pinsKey(state), nil, "what was fixed with a state is gone: a table of the ledger")
	}
	t.books.pins[state] = found[0]
	return found[0], t.holds(pinsKey(state), found[0].row(), "what was fixed with a state")
}

func scanPinned(s scanner) (*Pinned, error) {
	var p Pinned
	var text string
	if err := s.Scan(&p.State, &p.debit, &text); err != nil {
		return nil, err
	}
	if json.Unmarshal([]byte(text), &p.Pins) != nil {
		return nil, refuse(CodeTampered, "what was fixed with a state cannot be read")
	}
	return &p, nil
}

// savePins stores the pins of a state.
func (t *tx) savePins(p *Pinned) error {
	text, err := encode(p.Pins)
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO dprelease_pins (state, debit, pins) VALUES (?, ?, ?)", p.State, p.debit, text)
}

// pin enters the states that a debit begins.
func (b *books) pin(seq int64, begun []Pinned) error {
	for _, p := range begun {
		if b.pins[p.State] != nil {
			return fmt.Errorf("a state that begins twice")
		}
		one := &Pinned{State: p.State, Pins: p.Pins, debit: seq}
		b.pins[p.State] = one
		b.changed.pins = append(b.changed.pins, one)
	}
	return nil
}

// Pins refuses a request that says otherwise of a state than the job that paid for it. It changes nothing. What the
// request does not say, because no table was opened for it, is compared by its debit.
func (l *Ledger) Pins(ctx context.Context, q Request) error {
	states, err := q.states()
	if err != nil {
		return err
	}
	return l.read(ctx, func(t *tx) error {
		for _, now := range states {
			before, err := t.pinsOf(now.State)
			if err == nil && before != nil {
				err = before.differ(&now, true)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// matchPins holds the table of pins to the chain.
func (v *Auditor) matchPins(t *tx) error {
	return v.match(t, "pins", len(v.pins), func(row scanner) (bool, error) {
		p, err := scanPinned(row)
		if err != nil {
			return false, err
		}
		w := v.pins[p.State]
		return w != nil && sameRow(w.row(), p.row()), nil
	}, "SELECT state, debit, pins FROM dprelease_pins")
}
