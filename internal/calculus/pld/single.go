package pld

import "math"

// single is the measure of a mechanism that runs once: bounds are read off it directly, no lattice is needed.
type single struct {
	measure
	side  side
	fault float64 // of losses, and of as many sums as there are atoms; negative for a lower bound
}

// once measures a mechanism that runs once.
func (q *question) once(d direction, s side, h, tail float64) (*single, error) {
	r := request{side: s, grid: newGrid(0, h), tail: math.Max(tail, 1e-305), maxCells: mostCells, work: &q.effort}
	m, err := q.c.terms[0].node.measure(d, r)
	if err != nil {
		return nil, err
	}
	fault := 1e-13 + float64(len(m.loss))*4*unit
	if s == lower {
		fault = -fault
	}
	return &single{m, s, fault}, nil
}

// shift returns the amount by which rounding of losses may have moved eps.
func (m *single) shift(eps float64) float64 { return math.Copysign(4e-15*math.Abs(eps), m.fault) }

func (m *single) delta(eps float64) float64 {
	v := sumProfile(m.loss, m.mass, m.infP, eps-m.shift(eps))
	if m.side == upper {
		v = math.Max(v, -math.Expm1(eps))
	}
	return math.Max(0, math.Min(1, v*(1+m.fault)))
}

func (m *single) epsilon(delta float64) float64 {
	eps, ok := m.measure.epsilon(delta, 1+m.fault)
	if !ok {
		return math.Inf(1)
	}
	return math.Max(0, eps+m.shift(eps))
}

// epsilon returns the point where c times the profile of the measure falls to delta.
func (m measure) epsilon(delta, c float64) (float64, bool) {
	if c*m.infP > delta {
		return 0, false
	}
	// Walk down the atoms: a is the mass above, b = Σ mass·e^(loss_i-loss), both over
	// the atoms above; the profile at loss_i is infP + a - b.
	a, d := m.infP, m.infP
	for i := len(m.loss) - 1; i >= 0; i-- {
		next := math.Inf(-1)
		if i > 0 {
			next = m.loss[i-1]
		}
		a += m.mass[i]
		// At next: every term mass·(1-e^(next-l)) = mass·(1-w) + w·mass·(1-e^(here-l)).
		gap := next - m.loss[i]
		at := (a-m.infP)*-math.Expm1(gap) + math.Exp(gap)*(d-m.infP) + m.infP
		if c*at > delta {
			// In between it is linear in e^eps: a_fin·(1-x) + x·(d-infP), x = e^(eps-here).
			finite := delta/c - m.infP
			x := (a - m.infP - finite) / (a - d)
			return m.loss[i] + math.Log(x), true
		}
		d = at
	}
	return 0, true
}
