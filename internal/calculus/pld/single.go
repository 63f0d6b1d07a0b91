package pld

import "math"

// single bounds a mechanism that runs once: its measure is read off directly, no
// lattice is needed.
func (q *question) single(d direction, s side, h, tail float64) (float64, error) {
	r := request{side: s, grid: newGrid(0, h), tail: math.Max(tail, 1e-305), maxCells: mostCells, work: &q.effort}
	m, err := q.c.terms[0].node.measure(d, r)
	if err != nil {
		return 0, err
	}
	// Rounding: of the losses, and of as many sums as there are atoms.
	fault := 1e-13 + float64(len(m.loss))*4*unit
	if s == lower {
		fault = -fault
	}
	shift := func(eps float64) float64 { return math.Copysign(4e-15*math.Abs(eps), fault) }
	if !q.epsilon {
		v := sumProfile(m.loss, m.mass, m.infP, q.at-shift(q.at))
		if s == upper {
			v = math.Max(v, -math.Expm1(q.at))
		}
		return math.Max(0, math.Min(1, v*(1+fault))), nil
	}
	q.spent += float64(len(m.loss))
	eps, ok := m.epsilon(q.at, 1+fault)
	if !ok {
		return math.Inf(1), nil
	}
	return math.Max(0, eps+shift(eps)), nil
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
