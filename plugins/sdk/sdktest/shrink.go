package sdktest

import (
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// shrink looks for a smaller pair that breaks the same promise: fewer records, then
// simpler ones. It tries at most so many pairs.
func shrink(l layout, p pair, fixed bool, most int, fails func(pair) bool) pair {
	tries := 0
	try := func(q pair) bool {
		if tries++; tries > most || !fails(q) {
			return false
		}
		p = q
		return true
	}
	q := p
	q.batch = [2]int{}
	try(q)
	for changed := true; changed && tries <= most; {
		changed = false
		for i := 0; !fixed && i < len(p.left); i++ {
			if q, ok := without(p, p.left[i].id); ok && try(q) {
				changed = true
				i--
			}
		}
		if p.distance != 1 || p.tied {
			continue // contents are tied to each other: only whole records may go
		}
		for _, id := range ids(p) {
			for k := -1; k < len(l.columns); k++ {
				changed = simplify(l, p, id, k, try) || changed
			}
		}
	}
	return p
}

func ids(p pair) []int {
	var all []int
	for _, rows := range [][]record{p.left, p.right} {
		for _, r := range rows {
			if !slices.Contains(all, r.id) {
				all = append(all, r.id)
			}
		}
	}
	return all
}

// without leaves out a record that both tables share.
func without(p pair, id int) (pair, bool) {
	drop := func(rows []record) []record {
		return slices.DeleteFunc(slices.Clone(rows), func(r record) bool { return r.id == id })
	}
	left, right := drop(p.left), drop(p.right)
	if len(left) == len(p.left) || len(right) == len(p.right) || id == p.focus {
		return p, false // not shared, or what the pair is about
	}
	p.left, p.right = left, right
	return p, true
}

// simplify tries simpler contents for one cell (k = −1: the weight) of a record, on
// the side or sides where it stands. A record that is the same in both stays so.
func simplify(l layout, p pair, id, k int, try func(pair) bool) bool {
	changed := false
	sides := []int{1, 2}
	if i, j := find(p.left, id), find(p.right, id); i >= 0 && j >= 0 {
		if same(p.left[i], p.right[j]) {
			sides = []int{3}
		} else if k >= 0 && l.columns[k].Immutable {
			return false
		}
	}
	for _, side := range sides {
		rows := p.left
		if side == 2 {
			rows = p.right
		}
		i := find(rows, id)
		if i < 0 {
			continue
		}
		for _, r := range simpler(l, rows[i], k) {
			if same(rows[i], r) {
				break // as simple as it gets
			}
			q := p
			if side&1 != 0 {
				q.left = put(p.left, r)
			}
			if side&2 != 0 {
				q.right = put(p.right, r)
			}
			if try(q) {
				p, changed = q, true
				break
			}
		}
	}
	return changed
}

// simpler lists replacements for r, the simplest first.
func simpler(l layout, r record, k int) []record {
	if k < 0 && !l.weights {
		return nil
	}
	if k < 0 {
		r.weight = l.lightest
		return []record{r}
	}
	c := l.columns[k]
	with := func(x cell) record {
		out := r
		out.cells = slices.Clone(r.cells)
		out.cells[k] = x
		return out
	}
	if c.Type == sdk.Category {
		return []record{with(cell{valid: true})}
	}
	var out []record
	for _, x := range []float64{0, 1, c.Lower, c.Upper} {
		if x >= c.Lower && x <= c.Upper {
			out = append(out, with(cell{x: x, valid: true}))
		}
	}
	return out
}

func find(rows []record, id int) int {
	return slices.IndexFunc(rows, func(r record) bool { return r.id == id })
}

func put(rows []record, r record) []record {
	out := slices.Clone(rows)
	if i := find(out, r.id); i >= 0 {
		out[i] = r
	}
	return out
}
