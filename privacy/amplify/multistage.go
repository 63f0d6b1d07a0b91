package amplify

import (
	"errors"
	"fmt"
	"math"
)

// Stage is one stage of a multistage design: Take of Of units below each unit of the stage above. Where units differ, Take/Of is the
// largest rate, and MaxTake, if positive, says that units may take unequal numbers, at most MaxTake each.
type Stage struct{ Take, Of, MaxTake int64 }

// Design is a multistage design without replacement; its last stage draws records (P5).
type Design []Stage

// Validate returns an error that says why a design is not valid, or nil.
func (d Design) Validate() error {
	if len(d) == 0 {
		return errors.New("a multistage design needs at least one stage")
	}
	for i, s := range d {
		switch {
		case s.Take < 1 || s.Of < 1:
			return fmt.Errorf("stages[%d]: take and of must be at least 1 (%d of %d)", i, s.Take, s.Of)
		case s.Take > s.Of:
			return fmt.Errorf("stages[%d]: take must be at most of (%d > %d)", i, s.Take, s.Of)
		case s.MaxTake < 0 || s.MaxTake > 0 && s.MaxTake < s.Take:
			return fmt.Errorf("stages[%d]: max_take must be at least take (%d < %d)", i, s.MaxTake, s.Take)
		}
	}
	return nil
}

// take is the largest number of units drawn at a stage below one unit.
func (s Stage) take() float64 { return math.Max(float64(s.Take), float64(s.MaxTake)) }

// Last is h_L, the largest rate of the last stage.
func (d Design) Last() float64 {
	if len(d) == 0 {
		return 1
	}
	s := d[len(d)-1]
	return Rate(s.Take, s.Of)
}

// Above is h_1·…·h_{L−1}, the largest probability that an ultimate unit is drawn, rounded up.
func (d Design) Above() float64 {
	p := 1.0
	for i := 0; i+1 < len(d); i++ {
		p = times(p, Rate(d[i].Take, d[i].Of))
	}
	return p
}

// Inclusion is η = h_1·…·h_L, the largest inclusion probability of a record, rounded up.
func (d Design) Inclusion() float64 { return times(d.Above(), d.Last()) }

// times is a product of two rates, rounded up.
func times(a, b float64) float64 {
	if a == 1 {
		return b
	}
	if b == 1 {
		return a
	}
	return math.Min(1, math.Max(math.Nextafter(a*b, 1), tiny))
}

// Below is m_j, the largest number of records drawn below one unit of stage j (stages count from 0, so Below(L−1) is 1).
// It saturates instead of overflowing.
func (d Design) Below(j int) float64 {
	m := 1.0
	for _, s := range d[j+1:] {
		m = up1(m * s.take())
	}
	return m
}

// up1 keeps exact integers exact and rounds larger products up.
func up1(x float64) float64 {
	if x < 1<<53 {
		return x
	}
	return math.Nextafter(x, math.Inf(1))
}

// swaps reports whether a redraw can exchange one unit of stage j for another. Only the first stage has a single rate; below it a
// largest rate of 1 does not mean that every unit is taken in full.
func (d Design) swaps(j int) bool { return j > 0 || d[0].Take < d[0].Of }

// SwapsUnequalUnits reports whether the draw can exchange one unit for another below which a different number of records is drawn.
// The group form and the recursion compare such samples, so that they need the mechanism's guarantee under add-remove as well as
// under replace-one; conditioning does not.
func (d Design) SwapsUnequalUnits() bool {
	for j := range d {
		for _, s := range d[j+1:] {
			if s.MaxTake > 0 && d.swaps(j) {
				return true
			}
		}
	}
	return false
}

// Group is the largest number of records that can change when the sample is redrawn so that it no longer holds a given record:
// m_1, or m_2 when the first stage takes all of its units.
func (d Design) Group() float64 {
	if len(d) > 1 && !d.swaps(0) {
		return d.Below(1)
	}
	return d.Below(0)
}

// GroupForm is log(1 + η(e^{m_1 ε} − 1)): form 1 of P5.
//
// # Contract
//
// Replace-one. The mechanism is eps-differentially private under replace-one on the sample and, if [Design.SwapsUnequalUnits], also
// under add-remove. Proof: multistage.proof.md.
func (d Design) GroupForm(eps float64) float64 {
	if !(eps >= 0) || d.Validate() != nil {
		return math.Inf(1)
	}
	return Epsilon(d.Inclusion(), scale(d.Group(), eps))
}

// scale is m·ε rounded up.
func scale(m, eps float64) float64 {
	x := m * eps
	if m == 1 || math.IsInf(x, 1) || math.FMA(m, eps, -x) <= 0 {
		return x
	}
	return math.Nextafter(x, math.Inf(1))
}

// Recursion is form 2 of P5, sharpened: from the bottom, e_L = log(1 + h_L(e^ε − 1)), then
// e_j = log(1 + (e^{e_{j+1}} − 1)·h_j / (h_j + (1 − h_j)·e^{−(m_j·ε − s_j)})) with
// s_j = log((e^{e_{j+1}} − 1)/(η_j(1 − e^{−ε}))) >= e_{j+1} and η_j = h_{j+1}·…·h_L; the answer is e_1. For two stages s_1 = ε, and
// the answer is attained.
//
// # Contract
//
// That of [Design.GroupForm]. Proof: multistage.proof.md.
func (d Design) Recursion(eps float64) float64 {
	if !(eps >= 0) || d.Validate() != nil {
		return math.Inf(1)
	}
	e := Epsilon(d.Last(), eps)
	for j := len(d) - 2; j >= 0; j-- {
		e = climb(Rate(d[j].Take, d[j].Of), e, scale(d.Below(j), eps)-beyond(e, eps, d[j+1:].Inclusion()))
	}
	return e
}

// beyond is s_j − e_{j+1} = log((1 − e^{−e})/(η(1 − e^{−ε}))) of the recursion, rounded down, and never negative.
func beyond(e, eps, inclusion float64) float64 {
	if math.Min(math.Min(e, eps), inclusion) < tiny {
		return 0 // logarithms of such numbers have no digits
	}
	return math.Max(0, math.Log(-math.Expm1(-e))-math.Log(inclusion)-math.Log(-math.Expm1(-eps))-1e-11)
}

// climb is log(1 + (e^e − 1)·h/(h + (1−h)e^{−(k−e)})), rounded up: one unit is drawn with probability h, its content is e-private
// given that it was drawn, and whether it was drawn at all is k-private.
func climb(h, e, k float64) float64 {
	if h == 1 || e == 0 || math.IsInf(e, 1) {
		return e
	}
	h = math.Max(h, tiny)
	if e < 600 && e-k < 600 && (k-e < 600 || h > 1e-200) {
		// Odds that are next to nothing have lost their digits, and so has e^{e−k}.
		if odds := h / (h + (1-h)*math.Exp(e-k)); odds > 1e-290 {
			return math.Min(e, math.Max(up(amplified(math.Min(1, odds*(1+slack)), e)), least))
		}
	}
	// The same in logarithms: x = log((e^e − 1)·odds), the answer is log(1 + e^x).
	u, v := math.Log(h), math.Log1p(-h)+e-k
	x := e + math.Log(math.Max(-math.Expm1(-e), tiny)) + u - math.Max(u, v) - math.Log1p(math.Exp(-math.Abs(u-v)))
	x += 4e-15 * (e + math.Abs(k) + math.Abs(x) + 750)
	if x < 30 {
		return math.Min(e, math.Max(up(math.Log1p(math.Exp(x))), least))
	}
	return math.Min(e, up(x+math.Log1p(math.Exp(-x))))
}

// Conditioned is form 3 of P5 for pure privacy: the units drawn above the last stage count as published. It is also what bounds any
// other profile: δ'(ε') = Above()·[Delta](h_L, δ_M(ε)) at ε' = log(1 + h_L(e^ε − 1)).
//
// # Contract
//
// Replace-one. The mechanism's guarantee is under replace-one for each fixed choice of units above the last stage.
// Proof: multistage.proof.md.
func (d Design) Conditioned(eps float64) float64 {
	if d.Validate() != nil {
		return math.Inf(1)
	}
	return Epsilon(d.Last(), eps)
}

// ConditionedDelta is the delta of form 3, η·δ_M(ε) at ε' = [Design.Conditioned](ε).
//
// # Contract
//
// That of [Design.Conditioned].
func (d Design) ConditionedDelta(delta float64) float64 {
	if d.Validate() != nil {
		return 1
	}
	return Delta(d.Inclusion(), delta)
}

// GroupDelta is η[(1−β)·δ_{M,m_1}(ε) + β·δ_M(ε)] at ε' = log(1 + η(e^ε − 1)): the (ε, δ) form of P5. group bounds the delta at eps
// when [Design.Group] records change at once, one when a single record does.
//
// # Contract
//
// That of [Design.GroupForm], for both deltas. Proof: multistage.proof.md.
func (d Design) GroupDelta(eps, group, one float64) float64 {
	if d.Validate() != nil {
		return 1
	}
	return PoissonReplaceDelta(d.Inclusion(), eps, group, one)
}

// Pure is the smallest of the three forms for a mechanism that is eps-differentially private on the sample. swaps says whether the
// mechanism's guarantee also holds under add-remove, as it must where the design swaps unequal units.
func (d Design) Pure(eps float64, addRemoveToo bool) float64 {
	e := d.Conditioned(eps)
	if d.SwapsUnequalUnits() && !addRemoveToo {
		return e
	}
	return math.Min(e, math.Min(d.GroupForm(eps), d.Recursion(eps)))
}

// SamplePure inverts [Design.Pure]: the largest eps on the sample, rounded down, that keeps the population within target.
func (d Design) SamplePure(target float64, addRemoveToo bool) float64 {
	if !(target > 0) || d.Validate() != nil {
		return 0
	}
	return Invert(target, SampleEpsilon(d.Inclusion(), target), func(e float64) float64 { return d.Pure(e, addRemoveToo) })
}

// PublishedEpsilon is Theorem 3 of "Privacy Amplification for Episodic Training Methods": log(1 + η(e^ε − 1)) for any numbers of
// units. It is not sound when more than one record is drawn below a first-stage unit, because the output can reveal which unit was
// drawn. It exists to be shown beside the charged guarantee, never to be charged.
func (d Design) PublishedEpsilon(eps float64) float64 {
	if d.Validate() != nil {
		return math.Inf(1)
	}
	return Epsilon(d.Inclusion(), eps)
}

// PublishedSound reports whether Theorem 3 is also proven here: when at most one record can change with the draw.
func (d Design) PublishedSound() bool { return d.Validate() == nil && d.Group() == 1 }
