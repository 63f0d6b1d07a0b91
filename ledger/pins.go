package ledger

import (
	"context"
	"slices"
	"strings"
)

// Pin says one thing that decides which unit gets which part of a node.
type Pin struct {
	Name string `json:"name"`
	Is   string `json:"is"` // one text for one meaning, made of the job and the schema alone
}

// sortedPins puts pins into the order of their names.
func sortedPins(pins []Pin) []Pin {
	pins = slices.Clone(pins)
	slices.SortFunc(pins, func(a, b Pin) int { return strings.Compare(a.Name, b.Name) })
	return pins
}

// fixedEvents name what decides what steps of a node do, by its kind, where every job says it.
var fixedEvents = map[string]string{
	KindPanel:  "the waves, and what is released in each",
	KindSeries: "what is measured, and with which noise",
}

// differs refuses what a job says otherwise of a node than the job that paid for it. Where some is set, the job
// has not said everything yet, and what it leaves out is not compared.
func (n *Node) differs(s *Step, some bool) error {
	was, now := n.Pins, s.Pins
	if name := fixedEvents[n.Kind]; name != "" {
		text, err := s.text()
		if err != nil {
			return err
		}
		was = append(slices.Clone(was), Pin{name, n.Event}, Pin{"the steps", partsText(n.Parts)})
		now = append(slices.Clone(now), Pin{name, text}, Pin{"the steps", partsText(s.Parts)})
	}
	is := map[string]string{}
	for _, pin := range now {
		is[pin.Name] = pin.Is
	}
	for _, pin := range was {
		says, said := is[pin.Name]
		delete(is, pin.Name)
		if said && says == pin.Is || !said && some {
			continue
		}
		return n.pinned(pin.Name, pin.Is, says)
	}
	for _, pin := range now {
		if says, more := is[pin.Name]; more {
			return n.pinned(pin.Name, "", says)
		}
	}
	return nil
}

func partsText(parts []Part) string {
	text, _ := encode(parts) // plain texts can be written
	return text
}

// shownPin is the length up to which a message repeats what a pin says.
const shownPin = 60

func (n *Node) pinned(name, was, is string) *Error {
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
	return refuse(CodePinned, "%s was paid for with other rules: of %s its first job says %s, and this one %s; "+
		"which unit gets which part of it was fixed then, and another one has another price: "+
		"say what that job says, or begin another one, at its full price",
		n, name, was, is)
}

// Pins refuses a request that says otherwise of a node than the job that paid for it. It changes nothing. What the
// request does not say, because no table was opened for it, is compared by its debit.
func (l *Ledger) Pins(ctx context.Context, q Request) error {
	return l.read(ctx, func(t *tx) error {
		for i := range q.Steps {
			s := &q.Steps[i]
			if s.Node == "" {
				continue
			}
			n, err := t.node(s.Node)
			if err == nil && n != nil {
				err = n.differs(s, true)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
