package marginals

import (
	"fmt"

	"github.com/dprelease/dprelease/plugins/marginals/residual"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// hierarchy is a parameter: the levels above a column.
type hierarchy struct {
	Column string `json:"column"`
	Levels []struct {
		Name   string            `json:"name"`
		Prefix int               `json:"prefix"`
		Map    map[string]string `json:"map"`
	} `json:"levels"`
}

// dimension is a column with its levels, the coarsest first; the last is the column itself.
type dimension struct {
	column    sdk.Column
	levels    []level
	attribute residual.Attribute
	// node is the finest node of each code.
	node []int32
}

// level is a level of a dimension: the labels of its nodes, those with one parent side by
// side.
type level struct {
	name   string
	labels []string
}

// dimension looks up a column and builds its tree. Where a value lies follows from the
// value alone, by its first characters or by a public list, so a child has one parent.
func (f *family) dimension(public sdk.Public, name string) (dimension, error) {
	c, ok := public.Column(name)
	d := dimension{column: c}
	switch {
	case !ok:
		return d, fmt.Errorf("columns: %q is not declared in dataset.columns", name)
	case c.Type != sdk.Category || len(c.Domain) == 0:
		return d, fmt.Errorf("columns: %q needs a public domain; derive bins from a number", name)
	}
	var paths [][]string // of each code: its label at every level
	for range c.Domain {
		paths = append(paths, nil)
	}
	names := []string{}
	for _, h := range f.Hierarchies {
		if h.Column != name {
			continue
		}
		if len(names) > 0 {
			return d, fmt.Errorf("hierarchies: %q is named twice", name)
		}
		for _, l := range h.Levels {
			if (l.Prefix > 0) == (l.Map != nil) {
				return d, fmt.Errorf("hierarchies: level %q needs either prefix or map", l.Name)
			}
			names = append(names, l.Name)
			for code, label := range c.Domain {
				above, ok := l.Map[label]
				if l.Map == nil {
					if r := []rune(label); len(r) >= l.Prefix {
						above, ok = string(r[:l.Prefix]), true
					}
				}
				if !ok || above == "" {
					return d, fmt.Errorf("hierarchies: value %q of %s has no %s", label, name, l.Name)
				}
				paths[code] = append(paths[code], above)
			}
		}
	}
	names = append(names, name)
	for code, label := range c.Domain {
		paths[code] = append(paths[code], label)
	}
	return d, d.grow(names, paths)
}

// grow builds the tree from the path of every code, level by level.
func (d *dimension) grow(names []string, paths [][]string) error {
	parent := make([]int, len(paths)) // node of each code in the level above
	above := 1
	var tree []residual.Level
	for at, name := range names {
		children := make([][]string, above)
		home := map[string]int{}
		for code, path := range paths {
			label := path[at]
			if u, seen := home[label]; !seen {
				home[label] = parent[code]
				children[parent[code]] = append(children[parent[code]], label)
			} else if u != parent[code] {
				return fmt.Errorf("hierarchies: %s %q lies in two values of %s; a child has one parent", name, label, names[at-1])
			}
		}
		l := level{name: name}
		first := []int{0}
		index := map[string]int{}
		for _, labels := range children {
			for _, label := range labels {
				index[label] = len(l.labels)
				l.labels = append(l.labels, label)
			}
			first = append(first, len(l.labels))
		}
		for code, path := range paths {
			parent[code] = index[path[at]]
		}
		d.levels, tree, above = append(d.levels, l), append(tree, residual.Level{First: first}), len(l.labels)
	}
	for _, n := range parent {
		d.node = append(d.node, int32(n))
	}
	d.attribute = residual.NewAttribute(tree)
	return nil
}
