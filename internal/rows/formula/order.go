package formula

import "slices"

// Reads returns the names in a text, sorted. The caller knows which of them are columns. A text that is no expression has
// none.
func Reads(text string) []string {
	root, wrong := read(text)
	if wrong != nil {
		return nil
	}
	return root.names()
}

// names returns the names of the columns that an expression reads, sorted.
func (e *expr) names() (names []string) {
	var walk func(e *expr)
	walk = func(e *expr) {
		if e.kind == word {
			names = append(names, e.name)
		}
		for _, a := range e.args {
			if text, ok := a.value.(string); ok && e.name == column {
				names = append(names, text)
			}
			walk(a)
		}
	}
	walk(e)
	slices.Sort(names)
	return slices.Compact(names)
}

// Order sorts names so that each comes after those that it reads. If names read each other in a circle, order is nil, and
// cycle holds them in that order, with the first again at the end. Order ignores names that are not in the list.
func Order(names []string, reads func(name string) []string) (order, cycle []string) {
	const open, done = 1, 2
	state := map[string]int{}
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	var trail []string
	var visit func(n string) bool
	visit = func(n string) bool {
		switch {
		case !known[n] || state[n] == done:
			return true
		case state[n] == open:
			cycle = append(slices.Clone(trail[slices.Index(trail, n):]), n)
			return false
		}
		state[n] = open
		trail = append(trail, n)
		for _, r := range reads(n) {
			if !visit(r) {
				return false
			}
		}
		trail = trail[:len(trail)-1]
		state[n] = done
		order = append(order, n)
		return true
	}
	for _, n := range names {
		if !visit(n) {
			return nil, cycle
		}
	}
	return order, nil
}
