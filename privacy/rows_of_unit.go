package privacy

import (
	"fmt"
	"math"
)

// RowsOfUnit is a sample that drew rows one by one, while the unit of privacy has up to
// Rows of them: persons are drawn, and households are protected. Event is the draw, a
// Poisson sample (add-remove) or one without replacement (replace-one), and the answer is
// for all rows of one unit. Where Units is set, units were drawn first, each with that
// chance on its own coin, and Event drew rows of theirs only: households, then persons in them.
//
// # Contract
//
// No unit of the population has more than Rows rows. Under add-remove a neighbour has all
// rows of one unit more or less. Under replace-one the rows of one unit change, each in its
// place, so that their number stays. Rows are drawn by Event, whoever they belong to, and
// everything that is run on the sample stands inside it (P4). Proof: rows_of_unit.proof.md.
type RowsOfUnit struct {
	Rows  int64
	Units float64 // 0 stands for 1
	Event Event
}

func (RowsOfUnit) kind() string { return "rows_of_unit" }

// maxRowsOfUnit keeps the sums short.
const maxRowsOfUnit = 1000

var rowsOfUnitKind = declare[RowsOfUnit](Kind{
	About: "event draws rows one by one, and a unit of privacy has up to rows of them",
	Also:  []string{"rows_of_one_unit", "users"},
	Fields: []Field{
		number("rows", "at most ", func(x float64) string {
			if !(x >= 1 && x <= maxRowsOfUnit) {
				return fmt.Sprintf("must lie between 1 and %d", maxRowsOfUnit)
			}
			return ""
		}).also("m", "max_rows", "group_size"),
		number("units", "units at a rate of ", func(x float64) string {
			if !(x >= 1e-12 && x <= 1) {
				return "must lie between 1e-12 and 1: the chance that a unit is drawn, before its rows are"
			}
			return ""
		}).optional(),
		inside(),
	},
	check: on(func(e RowsOfUnit, wrong complain) {
		switch s := e.Event.(type) {
		case nil, Poisson:
		case WithoutReplacement:
			if e.Rows > s.Of {
				wrong("rows", "must be at most N (%d > %d)", e.Rows, s.Of)
			}
			if e.Units != 0 {
				wrong("units", "is proven for poisson only: where another unit takes the place, it brings as many rows as are drawn of it")
			}
		default:
			wrong("event", "must be poisson or without_replacement: how rows are drawn")
		}
	}),
})

// basic bounds the profile by how many of the unit's rows were drawn.
func (e RowsOfUnit) basic(rel Relation, here string, k float64) (profile, *Unsupported) {
	s, ok := e.Event.(Sampling)
	if !ok {
		return profile{}, refuse(here, "has no draw inside")
	}
	inner := join(here+".event", s.kind())
	if u := drawable(s, rel, inner); u != nil {
		return profile{}, u
	}
	m := drawnRows{rows: make([]profile, e.Rows+1)}
	switch s := s.(type) {
	case Poisson:
		if rel != AddRemove {
			return profile{},
				refuse(here, "is proven for a Poisson sample under add-remove only: under replace-one a unit may have another number of rows")
		}
		m.binomial(e.Rows, s.Rate)
		if e.Units > 0 {
			m.some *= e.Units
			for j := range m.chance {
				m.chance[j] *= e.Units
			}
		}
	case WithoutReplacement:
		if rel != ReplaceOne {
			return profile{}, refuse(here,
				"is proven for a sample without replacement under replace-one only: under add-remove the number of rows changes with the unit")
		}
		m.hypergeometric(e.Rows, s.Take, s.Of)
		m.fixed = true
	}
	var u *Unsupported
	for j := int64(1); j <= e.Rows; j++ {
		if m.rows[j], u = basic(s.Inner(), rel, inner+".event", float64(j)); u != nil {
			return profile{}, u
		}
		m.cost += m.rows[j].cost
	}
	m.settle()
	out := profile{at: m.delta, pure: m.pure(), cost: 4 * m.cost}
	out.knee = out.pure
	// Never more than the group privacy of one row that is drawn, or of all that are.
	if e.Units == 0 {
		one, u := basicDraw(s, rel, inner)
		if u != nil {
			return profile{}, u
		}
		out = out.capped(one.group(float64(e.Rows)))
	}
	return out.capped(m.rows[e.Rows]).group(k), nil
}

// pair is the worst pair with the profile.
func (e RowsOfUnit) pair(rel Relation, here string) (lossPair, *Unsupported) {
	p, u := e.basic(rel, here, 1)
	if u != nil {
		return lossPair{}, u
	}
	return lossPair{mech: p.pair(), profiled: true}, nil
}

// drawnRows are the chances that j rows of the unit are drawn, and what the event does to
// j rows that change at once.
type drawnRows struct {
	some   float64   // the chance that any is drawn
	chance []float64 // of j ≥ 1, rounded up
	rows   []profile // of j ≥ 1
	fixed  bool      // the sample has a fixed size: other rows take the place
	cost   float64
	mu, e0 float64 // the shift of Gaussian noise, and of Laplace noise, that is like one row
}

// settle fits the two families of thresholds to the profile of one row. Every choice of
// thresholds gives a bound, so the fit need not be good.
func (m *drawnRows) settle() {
	m.mu = 2 * math.Sqrt2 * math.Erfinv(math.Min(m.rows[1].delta(0), 1-1e-15))
	m.e0 = m.rows[1].pure
}

// delta is an upper bound on the profile in both directions.
func (m *drawnRows) delta(eps float64) float64 {
	best := 1.0
	for _, family := range []func(j, t float64) float64{
		func(j, t float64) float64 { return j*m.mu*t - j*j*m.mu*m.mu/2 },
		func(j, t float64) float64 { return m.e0 * math.Min(j, 2*t-j) },
		func(_, t float64) float64 { return t },
	} {
		d := m.more(eps, family)
		if !m.fixed {
			d = math.Max(d, m.fewer(eps, family))
		}
		if d < best { // false for NaN
			best = d
		}
	}
	return above(best, 1e-11)
}

// thresholds are logarithms x_j with Σ p_j·e^{x_j} = total over j ≥ 1, none below least.
func (m *drawnRows) thresholds(total, least float64, family func(j, t float64) float64) []float64 {
	out := make([]float64, len(m.chance))
	sum := func(t float64) float64 {
		s := 0.0
		for j := 1; j < len(out); j++ {
			out[j] = math.Max(least, math.Min(family(float64(j), t), 700))
			s += m.chance[j] * math.Exp(out[j])
		}
		return s
	}
	lo, hi := -1.0, 1.0
	for range 60 {
		if sum(lo) > total {
			lo *= 2
		}
		if sum(hi) < total {
			hi *= 2
		}
	}
	for range 60 {
		if mid := lo + (hi-lo)/2; sum(mid) > total {
			hi = mid
		} else {
			lo = mid
		}
	}
	// All thresholds share the rest. Where even the least exceed the total, they stay.
	if more := math.Log(total / sum(lo)); more > 0 || math.IsInf(least, -1) {
		for j := 1; j < len(out); j++ {
			out[j] += more
		}
	}
	return out
}

// more is the bound for the larger population: Σ p_j·H(x_j).
func (m *drawnRows) more(eps float64, family func(j, t float64) float64) float64 {
	least := math.Inf(-1)
	if m.fixed {
		least = eps
	}
	d := 0.0
	for j, x := range m.thresholds(math.Expm1(eps)+m.some*(1-roundedChance), least, family) {
		if m.chance[j] > 0 {
			d += m.chance[j] * tilted(m.rows[j], x)
		}
	}
	return d
}

// fewer is the bound for the smaller population: Σ w_j·H(−x_j), w_j = e^{ε+x_j}·p_j.
func (m *drawnRows) fewer(eps float64, family func(j, t float64) float64) float64 {
	total := math.Expm1(-eps) + m.some*(1+roundedChance)
	if total <= 0 {
		return 0 // P is at least p_0·Q, and p_0 at least e^{−ε}
	}
	d := 0.0
	for j, x := range m.thresholds(total*(1+4*roundedChance), math.Inf(-1), family) {
		if m.chance[j] > 0 {
			d += math.Exp(eps+x) * m.chance[j] * tilted(m.rows[j], -x)
		}
	}
	return d
}

// tilted is the profile at any ε, of the other direction below 0.
func tilted(p profile, eps float64) float64 {
	if eps < 0 {
		return -math.Expm1(eps) + math.Exp(eps)*p.delta(-eps)
	}
	return p.delta(eps)
}

// pure is an ε from which on the profile is 0.
func (m *drawnRows) pure() float64 {
	all := m.rows[len(m.rows)-1].pure
	if math.IsInf(all, 1) || all > 600 {
		return all
	}
	// Σ p_j·max(e^{ε_j}, e^x) <= e^x − p_0; the maximum counts for samples of fixed size.
	enough := func(x float64) bool {
		need := 0.0
		for j := 1; j < len(m.chance); j++ {
			most := m.rows[j].pure
			if m.fixed {
				most = math.Max(most, x)
			}
			need += m.chance[j] * math.Expm1(most)
		}
		return need*(1+4*roundedChance) <= math.Expm1(x)
	}
	lo, hi := 0.0, all
	if !enough(hi) {
		return all
	}
	for range 100 {
		if mid := lo + (hi-lo)/2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// roundedChance is more than the relative error of a chance.
const roundedChance = 1e-12

// chances sets the chances of first to last rows. ratio compares the chance of j rows with
// that of j − 1; it falls with j. Starting from the likeliest number, no product overflows
// and a thousand of them are right to 1e-12.
func (m *drawnRows) chances(first, last int64, ratio func(j float64) float64) {
	m.chance = make([]float64, len(m.rows))
	likeliest := first
	for likeliest < last && ratio(float64(likeliest+1)) >= 1 {
		likeliest++
	}
	m.chance[likeliest] = 1
	for j := likeliest + 1; j <= last; j++ {
		m.chance[j] = m.chance[j-1] * ratio(float64(j))
	}
	for j := likeliest - 1; j >= first; j-- {
		m.chance[j] = m.chance[j+1] / ratio(float64(j+1))
	}
	total := 0.0
	for _, p := range m.chance {
		total += p
	}
	m.chance[0] = 0
	for j, p := range m.chance {
		m.some += p / total
		m.chance[j] = p / total * (1 + roundedChance)
	}
}

// binomial sets the chances where each row is drawn on its own.
func (m *drawnRows) binomial(n int64, q float64) {
	if q == 1 {
		m.chances(n, n, nil)
		return
	}
	m.chances(0, n, func(j float64) float64 { return (float64(n) - j + 1) / j * (q / (1 - q)) })
}

// hypergeometric sets the chances where n of N are drawn.
func (m *drawnRows) hypergeometric(rows, n, of int64) {
	m.chances(max(0, n-(of-rows)), min(rows, n), func(j float64) float64 {
		return (float64(rows) - j + 1) * (float64(n) - j + 1) / (j * (float64(of-rows-n) + j))
	})
}
