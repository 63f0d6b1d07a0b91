package pld

import "math"

// side names the bound, upper or lower, that a measure serves.
type side int

const (
	upper side = iota
	lower
)

// direction is the order of the two distributions of a pair.
type direction int

const (
	forward direction = iota
	backward
)

func (d direction) flip() direction { return 1 - d }

// measure is a discrete privacy-loss measure: atoms of finite loss in ascending
// order with their mass under the first distribution (the mass under the second
// is mass·exp(-loss)), a mass infP of infinite loss, and the mass infQ of the
// second distribution where the first has none.
//
// An upper measure has a pseudo profile infP + Σ mass·(1-α·exp(-loss))+ that is
// nowhere below the profile of the pair it stands for; a lower one nowhere above.
type measure struct {
	loss, mass []float64
	infP, infQ float64
}

func (m *measure) add(loss, mass float64) {
	if mass <= 0 {
		return
	}
	if n := len(m.loss); n > 0 && m.loss[n-1] == loss {
		m.mass[n-1] += mass
		return
	}
	m.loss = append(m.loss, loss)
	m.mass = append(m.mass, mass)
}

func newMeasure(capacity int) measure {
	return measure{loss: make([]float64, 0, capacity), mass: make([]float64, 0, capacity)}
}

// scaled multiplies every mass by c.
func (m measure) scaled(c float64) measure {
	for i := range m.mass {
		m.mass[i] *= c
	}
	m.infP *= c
	m.infQ *= c
	return m
}

// poissonForward maps (P, Q) to ((1-q)Q+qP, Q).
func (m measure) poissonForward(q float64) measure {
	out := newMeasure(len(m.loss) + 1)
	out.add(math.Log1p(-q), (1-q)*m.infQ)
	for i, l := range m.loss {
		p := m.mass[i]
		if l > 0 {
			out.add(poissonLoss(q, l), p*(q+(1-q)*math.Exp(-l)))
		} else if w := (1 - q) * p * math.Exp(-l); !math.IsInf(w, 1) {
			out.add(poissonLoss(q, l), q*p+w)
		}
	}
	out.infP = q * m.infP
	return out
}

// poissonBackward maps (Q, P), given with Q first, to (Q, (1-q)Q+qP).
func (m measure) poissonBackward(q float64) measure {
	out := newMeasure(len(m.loss) + 1)
	for i, l := range m.loss {
		out.add(-poissonLoss(q, -l), m.mass[i])
	}
	out.add(-math.Log1p(-q), m.infP)
	out.infQ = q * m.infQ
	return out
}

// withoutReplacement maps the measure of (P, Q) to that of the P7 profile:
// ((1-γ)Q+γP, Q) above zero, (P, (1-γ)P+γQ) below.
func (m measure) withoutReplacement(gamma float64) measure {
	out := newMeasure(len(m.loss) + 1)
	i := 0
	for ; i < len(m.loss) && m.loss[i] < 0; i++ {
		out.add(-poissonLoss(gamma, -m.loss[i]), m.mass[i])
	}
	zero, delta0 := 0.0, m.infP
	if i < len(m.loss) && m.loss[i] == 0 {
		zero = m.mass[i]
		i++
	}
	for j := i; j < len(m.loss); j++ {
		delta0 -= m.mass[j] * math.Expm1(-m.loss[j])
	}
	out.add(0, zero+(1-gamma)*delta0)
	for ; i < len(m.loss); i++ {
		l := m.loss[i]
		out.add(poissonLoss(gamma, l), m.mass[i]*(gamma+(1-gamma)*math.Exp(-l)))
	}
	out.infP, out.infQ = gamma*m.infP, gamma*m.infQ
	return out
}

// mixed maps the measure to that of "with probability 1-p nothing happened".
func (m measure) mixed(p float64) measure {
	out := newMeasure(len(m.loss) + 1)
	done := false
	for i, l := range m.loss {
		if !done && l >= 0 {
			out.add(0, 1-p)
			done = true
		}
		out.add(l, p*m.mass[i])
	}
	if !done {
		out.add(0, 1-p)
	}
	out.infP, out.infQ = p*m.infP, p*m.infQ
	return out
}

// limitQ takes mass from the lowest losses until the mass under the second
// distribution is at most 1, which poissonForward needs of a lower measure.
func (m measure) limitQ() measure {
	total := 0.0
	for i, l := range m.loss {
		total += m.mass[i] * math.Exp(-l)
	}
	for i := 0; total > 1-1e-13 && i < len(m.loss); i++ {
		w := m.mass[i] * math.Exp(-m.loss[i])
		cut := math.Min(w, total-(1-2e-13))
		if !(cut < w) {
			total -= w
			m.mass[i] = 0
			if math.IsInf(w, 1) || math.IsNaN(total) {
				return measure{}
			}
			continue
		}
		m.mass[i] *= (1 - cut/w) * (1 - 1e-14)
		total -= cut
	}
	return m
}

// poissonLoss is log(1 + q(e^l - 1)).
func poissonLoss(q, l float64) float64 {
	if l < 700 {
		return math.Log1p(q * math.Expm1(l))
	}
	// Where q·e^l is moderate, 1 - q is 1.
	x := l + math.Log(q)
	if x > 36 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

// poissonLossInverse is log(1 + (e^l - 1)/q), -Inf at or below log(1-q).
func poissonLossInverse(q, l float64) float64 {
	if l > 36 {
		return l - math.Log(q) + math.Log1p(-(1-q)*math.Exp(-l))
	}
	x := math.Expm1(l) / q
	if x <= -1 {
		return math.Inf(-1)
	}
	if math.IsInf(x, 1) {
		return l - math.Log(q) + math.Log1p(-(1-q)*math.Exp(-l))
	}
	return math.Log1p(x)
}
