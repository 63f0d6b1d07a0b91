package privacy

// stepSigma is the noise of a step of noisy gradient descent that a host draws, in
// lattice steps: the step of the lattice follows from it.
const stepSigma = 1 << 40

// stepCoordinates is more than a noise call can carry, because the event does not say how
// many coordinates there are.
const stepCoordinates = 1 << 26

// Calls returns how many times noise is drawn: once for each step.
func (e LastIterate) Calls() int64 {
	if e.Batch > 0 && !e.Full() {
		return e.Batches() * max(e.Epochs, 1)
	}
	return e.Steps
}

// Batches is the number of batches of a pass: 1 where every step uses all records.
// All hold Batch records but the last, which may hold fewer.
func (e LastIterate) Batches() int64 {
	if e.Batch < 1 || e.N < 1 || e.Full() {
		return 1
	}
	return (e.N-1)/e.Batch + 1
}

// Step is the noise of a step as a host draws it: discrete Gaussian noise of
// 2^40 lattice steps on the sum of the gradients of a batch. Nothing but the
// quotient of noise and sensitivity is claimed, so the scale of the lattice is free;
// this choice makes the noise of a step a function of the event. [LastIterate.StepAt]
// is the step of a run with less noise before its last step.
//
// # Contract
//
// The bounds of P9 are about continuous noise and exact steps. Whoever plans a last
// iterate and draws its noise so must keep the iterates on the lattice of the noise,
// and must have put into Sensitivity or Rounding what rounding and the lattice add.
// Proof: iterate/rounding.proof.md.
func (e LastIterate) Step() DiscreteGaussian {
	n := e.Batch
	if n == 0 {
		n = e.N
	}
	one := e.Sensitivity / float64(n)
	if e.Rounding > 0 {
		one = (one + e.Rounding) * (1 + 0x1p-50)
	}
	return DiscreteGaussian{
		Sigma: stepSigma, Sensitivity: Sensitivity{ReplaceOne: one / e.Sigma * stepSigma}, Coordinates: stepCoordinates,
	}
}

// StepAt is the noise of the step at position k, from 0: [LastIterate.Step], with the
// event's share of the noise in every step but the last. The lattice is the same.
func (e LastIterate) StepAt(k int64) DiscreteGaussian {
	g := e.Step()
	if e.Early > 0 && k < e.Calls()-1 {
		g.Sigma *= e.Early
	}
	return g
}
