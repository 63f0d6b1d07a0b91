package rows

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/rows/formula"
)

// Spec lists the inputs and outputs of a Program over the columns of a table.
type Spec struct {
	// Columns are the declared columns of the table.
	Columns []formula.Column
	// Lookups add columns of public tables.
	Lookups []*Lookup
	// Derived are further columns, in any order.
	Derived []Derived
	// Conditions are formulas of type Bool. Each becomes a mask.
	Conditions []*formula.Formula
	// Outputs are the lookup and derived columns that the caller wants. A Program computes nothing that neither they nor
	// the conditions need.
	Outputs []string
}

// Derived is a column that is computed from other columns of the same row, by a formula or by bins.
type Derived struct {
	Name    string
	Formula *formula.Formula
	Bins    *formula.Bins
}

// Program is a checked Spec. It is immutable.
type Program struct {
	spec  Spec
	types map[string]formula.Column
	needs []string
}

// NewProgram checks a Spec. Its errors quote the Spec and nothing else. The Spec of a checked job gives none.
func NewProgram(spec Spec) (*Program, error) {
	p := &Program{spec: spec, types: map[string]formula.Column{}}
	reads := map[string][]string{}
	add := func(c formula.Column, from []string) error {
		if _, twice := p.types[c.Name]; twice {
			return fmt.Errorf("there are two columns %q", c.Name)
		}
		p.types[c.Name], reads[c.Name] = c, from
		return nil
	}
	for _, c := range spec.Columns {
		if err := add(c, nil); err != nil {
			return nil, err
		}
	}
	for _, l := range spec.Lookups {
		for _, c := range l.Columns() {
			if err := add(c, []string{l.On()}); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range spec.Derived {
		c, from := formula.Column{Name: d.Name}, []string(nil)
		switch {
		case d.Formula != nil:
			c.Type, c.Domain, from = d.Formula.Type, d.Formula.Domain, d.Formula.Columns()
		case d.Bins != nil:
			c.Type, c.Domain, from = formula.Text, d.Bins.Labels(), []string{d.Bins.Column}
		default:
			return nil, fmt.Errorf("the column %q has neither a formula nor bins", d.Name)
		}
		if err := add(c, from); err != nil {
			return nil, err
		}
	}
	wanted := slices.Clone(spec.Outputs)
	for _, c := range spec.Conditions {
		if c.Type != formula.Bool {
			return nil, fmt.Errorf("a condition is a %s", c.Type)
		}
		wanted = append(wanted, c.Columns()...)
	}
	return p, p.order(wanted, reads)
}

// order finds the columns of the table that the Program needs. It refuses columns that read each other in a circle.
func (p *Program) order(wanted []string, reads map[string][]string) error {
	seen := map[string]bool{}
	for i := 0; i < len(wanted); i++ {
		name := wanted[i]
		if seen[name] {
			continue
		}
		seen[name] = true
		if _, ok := p.types[name]; !ok {
			return fmt.Errorf("there is no column %q", name)
		}
		wanted = append(wanted, reads[name]...)
	}
	if _, cycle := formula.Order(wanted, func(n string) []string { return reads[n] }); cycle != nil {
		return fmt.Errorf("columns read each other in a circle: %q", cycle)
	}
	for _, c := range p.spec.Columns {
		if seen[c.Name] {
			p.needs = append(p.needs, c.Name)
		}
	}
	for _, l := range p.spec.Lookups {
		if on := p.types[l.On()]; on.Type != l.on.Type && slices.ContainsFunc(l.columns, func(c lookupColumn) bool { return seen[c.Name] }) {
			return fmt.Errorf("the column %q is a %s, and the keys of its lookup are read as %s", on.Name, on.Type, l.on.Type)
		}
	}
	for _, d := range p.spec.Derived {
		if d.Bins != nil && seen[d.Name] && !d.Bins.Fit(p.types[d.Bins.Column].Type) {
			return fmt.Errorf("the column %q cannot be cut at these edges", d.Bins.Column)
		}
	}
	for i, name := range p.spec.Outputs {
		if slices.Contains(p.spec.Outputs[:i], name) {
			return fmt.Errorf("the column %q comes out twice", name)
		}
		if slices.ContainsFunc(p.spec.Columns, func(c formula.Column) bool { return c.Name == name }) {
			return fmt.Errorf("the column %q is one of the table", name)
		}
	}
	return nil
}

// Needs returns the columns of the table that Eval takes, in that order.
func (p *Program) Needs() []string { return slices.Clone(p.needs) }

// Column describes a column of the table, of a lookup, or a derived one.
func (p *Program) Column(name string) (formula.Column, bool) {
	c, ok := p.types[name]
	return c, ok
}
