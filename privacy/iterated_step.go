package privacy

// stepSigma is the noise of a step of noisy gradient descent that a host draws, in
// lattice steps: the step of the lattice follows from it.
const stepSigma = 1 << 40

// stepCoordinates is more than a noise call can carry: how many there are, an event
// does not say.
const stepCoordinates = 1 << 26

// Calls is how many times noise is drawn: once for each step.
func (e LastIterate) Calls() int64 {
	if b := e.Batch; b > 0 && e.Epochs > 0 {
		return e.N / b * e.Epochs
	}
	return e.Steps
}

// Step is the noise of one step as a host draws it: discrete Gaussian noise of
// 2^40 lattice steps on the sum of the gradients of a batch. Nothing but the
// quotient of noise and sensitivity is claimed, so the scale of the lattice is free;
// this choice makes the noise of a step a function of the event.
//
// # Contract
//
// The bounds of P9 are about continuous noise and exact steps. Whoever plans a last
// iterate and draws its noise so must have put into Sensitivity what rounding and
// the lattice add. Proof for full batches: iterate/rounding.proof.md.
func (e LastIterate) Step() DiscreteGaussian {
	n := e.Batch
	if n == 0 {
		n = e.N
	}
	return DiscreteGaussian{
		Sigma: stepSigma, Sensitivity: Sensitivity{ReplaceOne: e.Sensitivity / float64(n) / e.Sigma * stepSigma}, Coordinates: stepCoordinates,
	}
}
