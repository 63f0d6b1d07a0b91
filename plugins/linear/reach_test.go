package linear

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// vectorsOf are the sums of at most so many rows, each of which adds one of the vectors;
// least is the fewest rows.
func vectorsOf(rows [][]int64, least, most int) [][]int64 {
	parts := len(rows[0])
	level := [][]int64{make([]int64, parts)}
	var all [][]int64
	for n := 0; n <= most; n++ {
		if n >= least {
			all = append(all, level...)
		}
		var next [][]int64
		for _, v := range level {
			for _, r := range rows {
				s := slices.Clone(v)
				for i := range s {
					s[i] += r[i]
				}
				if !slices.ContainsFunc(next, func(o []int64) bool { return slices.Equal(o, s) }) {
					next = append(next, s)
				}
			}
		}
		level = next
	}
	return all
}

// unitsOf are all whole vectors that a unit can add.
func unitsOf(rows [][]int64, u sdk.Units) [][]int64 {
	parts, cells := len(rows[0]), int(u.Cells)
	least := 1
	inCell := vectorsOf(rows, least, int(u.Rows))
	level := [][]int64{make([]int64, parts*cells)}
	all := [][]int64{}
	if u.Leaves {
		all = append(all, level[0])
	}
	used := [][]bool{make([]bool, cells)}
	for range min(int(u.Groups), cells) {
		var next [][]int64
		var taken [][]bool
		for i, v := range level {
			for c := range cells {
				if slices.Contains(used[i][c:], true) { // cells in ascending order
					continue
				}
				for _, x := range inCell {
					s, t := slices.Clone(v), slices.Clone(used[i])
					copy(s[c*parts:], x)
					t[c] = true
					next, taken = append(next, s), append(taken, t)
				}
			}
		}
		level, used = next, taken
		all = append(all, level...)
	}
	return all
}

// moved is the largest move over all pairs of units.
func moved(units [][]int64, u sdk.Units, parts int, rel privacy.Relation) (l1, l2 float64, coordinates int64) {
	zero := make([]int64, len(units[0]))
	for _, a := range units {
		others := units
		if rel == privacy.AddRemove {
			others = [][]int64{zero}
		}
		for _, b := range others {
			if !u.Switches && rel == privacy.ReplaceOne && !sameCells(a, b, parts) {
				continue
			}
			x, y, n := 0.0, 0.0, int64(0)
			for i := range a {
				d := math.Abs(float64(a[i] - b[i]))
				if x, y = x+d, y+d*d; d > 0 {
					n++
				}
			}
			l1, l2, coordinates = math.Max(l1, x), math.Max(l2, y), max(coordinates, n)
		}
	}
	return l1, math.Sqrt(l2), coordinates
}

// sameCells says that two units could have their rows in the same cells: one of them may
// have none left in a cell.
func sameCells(a, b []int64, parts int) bool {
	inA, inB := false, false
	for c := 0; c < len(a); c += parts {
		p, q := slices.ContainsFunc(a[c:c+parts], nonzero), slices.ContainsFunc(b[c:c+parts], nonzero)
		inA, inB = inA || p && !q, inB || q && !p
	}
	return !inA || !inB
}

func nonzero(x int64) bool { return x != 0 }

func between(low, high int64) (rows [][]int64) {
	for v := low; v <= high; v++ {
		rows = append(rows, []int64{v})
	}
	return rows
}

// reaches are small examples of each kind, with all rows that keep to it.
func reaches() map[string]struct {
	reach sdk.Reach
	rows  [][]int64
} {
	type example = struct {
		reach sdk.Reach
		rows  [][]int64
	}
	all := map[string]example{}
	for _, b := range [][2]int64{{0, 1}, {1, 1}, {-1, 1}, {-1, 3}, {2, 5}, {-3, -2}} {
		all[fmt.Sprint("scalar ", b)] = example{Scalar(b[0], b[1]), between(b[0], b[1])}
	}
	var box, beside, simplex, corners [][]int64
	for x := int64(-1); x <= 2; x++ {
		for y := int64(1); y <= 2; y++ {
			box = append(box, []int64{x, y})
		}
	}
	for x := int64(-2); x <= 2; x++ {
		beside = append(beside, []int64{x, 3})
	}
	for x := int64(0); x <= 2; x++ {
		for y := int64(0); x+y <= 2; y++ {
			simplex = append(simplex, []int64{x, y, 2 - x - y})
		}
	}
	for i := range 3 {
		v := make([]int64, 3)
		v[i] = 2
		corners = append(corners, v)
	}
	all["box"] = example{Box([2]int64{-1, 2}, [2]int64{1, 2}), box}
	all["beside"] = example{Beside(2, 3), beside}
	all["simplex"] = example{Simplex(3, 3, 2), simplex}
	all["one of three"] = example{Simplex(3, 1, 2), corners}
	return all
}

// worlds are all ways for the rows of a unit to lie in up to four cells.
func worlds() (all []sdk.Units) {
	for cells := int64(1); cells <= 4; cells++ {
		for groups := int64(1); groups <= 2; groups++ {
			for rows := int64(1); rows <= 2; rows++ {
				for _, leaves := range []bool{false, true} {
					if groups*rows > 1 && !leaves {
						continue // Cells.Units never says so
					}
					all = append(all, sdk.Units{Cells: cells, Groups: groups, Rows: rows, Switches: cells > 1, Leaves: leaves})
					if groups*rows == 1 && cells > 1 {
						all = append(all, sdk.Units{Cells: cells, Groups: 1, Rows: 1, Leaves: leaves})
					}
				}
			}
		}
	}
	return all
}

// exceeded describes a move that a claim leaves out, or returns "".
func exceeded(c sdk.Claim, rows [][]int64, u sdk.Units) string {
	units := unitsOf(rows, u)
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		x, y, n := moved(units, u, len(rows[0]), rel)
		if x > c.L1.Under(rel) || y > c.L2.Under(rel) || n > c.Coordinates {
			return fmt.Sprintf("%s: moves by %v, %v in %d numbers; declared %v, %v in %d", rel, x, y, n, c.L1.Under(rel), c.L2.Under(rel), c.Coordinates)
		}
	}
	return ""
}

// P22, P24: no two units, out of all, move the vector by more than is declared, in either
// norm, under either relation; and there is a pair that moves it so far, or, where the
// formula is a bound alone, nearly so.
func TestSensitivityOfAllUnits(t *testing.T) {
	pairs := 0
	for name, x := range reaches() {
		for _, u := range tier.Some(worlds(), 7) {
			c := x.reach.Claim(u)
			l1, l2 := c.L1, c.L2
			if why := exceeded(c, x.rows, u); why != "" {
				t.Fatalf("%s, %+v: %s", name, u, why)
			}
			units := unitsOf(x.rows, u)
			pairs += len(units) * len(units)
			for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
				a, b, _ := moved(units, u, len(x.rows[0]), rel)
				if a == 0 && rel == privacy.ReplaceOne && !u.Leaves && !u.Switches {
					continue // a constant
				}
				if least := 0.7; a < least*l1.Under(rel) || b < least*l2.Under(rel) {
					t.Errorf("%s, %+v, %s: declared %v and %v, the largest moves are %v and %v", name, u, rel, l1.Under(rel), l2.Under(rel), a, b)
				}
				if enough := u.Cells >= 2*u.Groups && u.Switches; enough && (a != l1.Under(rel) || b < l2.Under(rel)*(1-1e-15)) {
					t.Errorf("%s, %+v, %s: declared %v and %v is not attained: %v and %v", name, u, rel, l1.Under(rel), l2.Under(rel), a, b)
				}
			}
		}
	}
	if pairs < tier.Of(1_000, 1_000_000) {
		t.Errorf("only %d pairs of units were tried", pairs)
	}
}

// P22, the formulas for sums by group, as they are written there.
func TestSensitivityIsThatOfP22(t *testing.T) {
	for _, b := range [][2]int64{{0, 1}, {-1, 1}, {-1, 3}, {2, 5}, {-7, -2}} {
		for k := int64(1); k <= 3; k++ {
			for r := int64(1); r <= 3; r++ {
				m, w := float64(max(-b[0], b[1])), float64(max(b[1], 0)-min(b[0], 0))
				x, y := float64(k*r), float64(r)
				c := Scalar(b[0], b[1]).Claim(sdk.Units{Cells: 2 * k, Groups: k, Rows: r, Switches: true, Leaves: true})
				l1, l2 := c.L1, c.L2
				want1 := privacy.Sensitivity{AddRemove: x * m, ReplaceOne: math.Max(2*x*m, x*w)}
				want2 := privacy.Sensitivity{AddRemove: math.Sqrt(float64(k)) * y * m, ReplaceOne: math.Max(math.Sqrt(float64(2*k))*y*m, math.Sqrt(float64(k))*y*w)}
				if l1 != want1 || math.Abs(l2.AddRemove/want2.AddRemove-1) > 1e-15 || math.Abs(l2.ReplaceOne/want2.ReplaceOne-1) > 1e-15 {
					t.Errorf("%v, k %d, r %d: %v and %v, want %v and %v", b, k, r, l1, l2, want1, want2)
				}
				alone := Scalar(b[0], b[1]).Claim(sdk.Units{Cells: 1, Groups: 1, Rows: r, Leaves: true}).L1
				if alone != (privacy.Sensitivity{AddRemove: y * m, ReplaceOne: y * w}) {
					t.Errorf("%v, r %d, one cell: %v, want %v and %v", b, r, alone, y*m, y*w)
				}
			}
		}
	}
}

// Twins: each leaves one step of the argument out, and is refuted.
func TestBrokenSensitivities(t *testing.T) {
	type claim = func(sdk.Reach, sdk.Units) sdk.Claim
	with := func(change func(*sdk.Reach, *sdk.Units)) claim {
		return func(r sdk.Reach, u sdk.Units) sdk.Claim {
			change(&r, &u)
			return r.Claim(u)
		}
	}
	for name, broken := range map[string]claim{
		"one group":           with(func(_ *sdk.Reach, u *sdk.Units) { u.Groups = 1 }),
		"one row":             with(func(_ *sdk.Reach, u *sdk.Units) { u.Rows = 1 }),
		"nobody switches":     with(func(_ *sdk.Reach, u *sdk.Units) { u.Switches = false }),
		"nobody vanishes":     with(func(_ *sdk.Reach, u *sdk.Units) { u.Leaves = false }),
		"switch counted once": with(func(r *sdk.Reach, u *sdk.Units) { u.Cells = u.Groups }),
		"swap as often as there are rows": func(r sdk.Reach, u sdk.Units) sdk.Claim {
			c := r.Claim(u) // Δ_replace·k·r, which P22 says is wrong
			c.L1.ReplaceOne, _ = times(whole(u.Groups*u.Rows), r.Replace.L1).Float64()
			return c
		},
		"replaced counts as added": func(r sdk.Reach, u sdk.Units) sdk.Claim {
			c := r.Claim(u)
			c.L1.ReplaceOne, c.L2.ReplaceOne = c.L1.AddRemove, c.L2.AddRemove
			return c
		},
		"root of the rows": func(r sdk.Reach, u sdk.Units) sdk.Claim {
			c := r.Claim(u) // √(k·r) in the place of √k·r: rows of a cell do not lie apart
			square, _ := times(whole(u.Groups*u.Rows), r.Arrive.Square).Float64()
			c.L2.AddRemove = math.Sqrt(square)
			return c
		},
		"half of the numbers": func(r sdk.Reach, u sdk.Units) sdk.Claim {
			c := r.Claim(u)
			c.Coordinates /= 2
			return c
		},
	} {
		caught := false
		for _, x := range reaches() {
			for _, u := range worlds() {
				caught = caught || exceeded(broken(x.reach, u), x.rows, u) != ""
			}
		}
		if !caught {
			t.Errorf("%s: not refuted", name)
		}
	}
}
