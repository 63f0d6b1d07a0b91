package sgd

import "math"

// walk is a descent that pays for its last iterate only. Its iterates are whole multiples
// of the distance by which one lattice step of the noise moves them. So an iterate is a
// function of where the noise put it, and its last digits hold nothing of earlier
// iterates (P16).
type walk struct {
	at     []int64   // the iterate, in steps
	float  []float64 // the same as coefficients
	step   float64   // a lattice step of the noise, divided by the size of a batch, times the step size
	shrink float64   // step size times penalty
	radius float64
}

func (l *layout) newWalk() *walk {
	n := l.encoder.Width + 1
	return &walk{
		at: make([]int64, n), float: make([]float64, n), step: l.walkStep(), shrink: l.iterate.StepSize * l.params.L2, radius: *l.params.Radius,
	}
}

// walkStep is the distance by which one lattice step of a sum moves the iterate.
func (l *layout) walkStep() float64 {
	return l.iterate.StepSize * (l.lattice() / l.divisor())
}

// move takes a noisy sum. The penalty is part of the gradient, and the iterate is
// projected on the ball. Everything but the noise is a function of the iterate, and a
// whole number before the noise is added.
func (w *walk) move(sum []int64) {
	squares := 0.0
	for j, v := range sum {
		penalty := math.RoundToEven(w.shrink * float64(w.at[j]))
		w.at[j] -= v + int64(penalty)
		x := float64(w.at[j]) * w.step
		squares += x * x
	}
	// Truncation towards zero keeps the iterate in the ball.
	if norm := math.Sqrt(squares); norm > w.radius {
		for j, x := range w.at {
			w.at[j] = int64(float64(x) * (w.radius / norm))
		}
	}
	for j, x := range w.at {
		w.float[j] = float64(x) * w.step
	}
}
