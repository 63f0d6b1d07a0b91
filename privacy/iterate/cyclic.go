package iterate

import "math"

// cyclic is √[(L/(bσ))² + the cost of earlier uses], and what rounding adds. The record whose batch is the last of the cycle has it.
//
// # Contract
//
// Kind [CyclicStronglyConvex] or [CyclicConvex], as for [Mu]. Proof: cyclic.proof.md.
func (p Params) cyclic() (float64, error) {
	before, err := p.earlierUses()
	if err != nil {
		return 0, err
	}
	return math.Sqrt(p.unit()*p.unit()+before) + p.rounded(), nil
}

// earlierUses is the square of the mu of all uses of a record but the last.
func (p Params) earlierUses() (float64, error) {
	if p.Kind == CyclicStronglyConvex {
		return p.forgotten(), nil
	}
	reach := p.reach()
	if p.Epochs < reach {
		return 0, refuse("Epochs", "must be at least Diameter·Batch/(Eta·Sensitivity), rounded up %d (got %d)", reach, p.Epochs)
	}
	l, step := float64(p.batches()), p.Sensitivity/float64(p.Batch)
	return (3*step*(p.Diameter/p.Eta) + step*step*float64(reach)) / l / p.Sigma / p.Sigma, nil
}

// forgotten is (L/(bσ))²·c^{2l−2}(1−c²)/(1−c^l)²·(1−c^{l(E−1)})/(1+c^{l(E−1)}).
func (p Params) forgotten() float64 {
	l, e := float64(p.batches()), float64(p.Epochs-1)
	s := -math.Log1p(-p.defect())
	if math.IsInf(s, 1) {
		// c = 0: the limit is 1 for one batch and more than one epoch, else 0.
		if l == 1 && e > 0 {
			return p.unit() * p.unit()
		}
		return 0
	}
	forget := -math.Expm1(-l * s)
	return p.unit() * p.unit() * (math.Exp(-(2*l-2)*s) * -math.Expm1(-2*s) / forget / forget * math.Tanh(l*e*s/2))
}

// rounded returns what rounding adds to the mu of a cyclic run: the cost of a record whose gradient moves by Rounding in every
// step.
func (p Params) rounded() float64 {
	if p.Rounding == 0 {
		return 0
	}
	return p.Rounding / p.Sigma * math.Sqrt(geometric(p.contraction(), float64(p.batches())*float64(p.Epochs)))
}

// contraction is 1 − c, and 0 where convexity alone is claimed.
func (p Params) contraction() float64 {
	if p.Kind == CyclicConvex {
		return 0
	}
	return p.defect()
}

// cyclicAt is the mu of records that are used j steps before the end of every epoch: the last use has j more steps to be spread over.
func (p Params) cyclicAt(j int64) float64 {
	before, err := p.earlierUses()
	if err != nil {
		before = math.Inf(1)
	}
	before = math.Min(before, float64(p.Epochs-1)*p.unit()*p.unit())
	kept, _, later := p.ages(j)
	last := kept * p.unit()
	return outward(math.Sqrt(last*last/(1+later)+before) + p.rounded())
}
