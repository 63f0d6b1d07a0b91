package sgd

import (
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// pace holds the rules by which a descent moves, all of them public: the step size, the momentum of
// Nesterov's method, and the iterates whose mean is released.
type pace struct {
	step, momentum float64
	l2             float64
	explicit       bool  // the penalty is part of the gradient; otherwise it shrinks the result of a step
	steps, from    int64 // the mean of iterates from … steps−1 is released
}

// along follows the descent in one direction in which the mean loss has the given
// curvature, without the penalty. Left is the share of the distance between the start
// and the optimum that is left at the end without noise. Moved is the standard
// deviation that noise of standard deviation 1 in each mean gradient gives the answer.
// Both are exact for squared errors; for the log loss they hold near the optimum.
func (p pace) along(curvature float64) (left, moved float64) {
	factor, impulse := (1-p.step*curvature)/(1+p.step*p.l2), p.step/(1+p.step*p.l2)
	if p.explicit {
		factor, impulse = 1-p.step*(curvature+p.l2), p.step
	}
	// Distances d[t] follow the step without noise. A unit of noise in one step makes the
	// response r[0], r[1], … in the iterates from that step on.
	window := p.steps - p.from
	sums := make([]float64, p.steps+1) // of the response
	distance, before := 1.0, 1.0
	response, earlier := impulse, 0.0
	for t := range p.steps {
		distance, before = factor*(distance+p.momentum*(distance-before)), distance
		if t >= p.from {
			left += distance / float64(window)
		}
		sums[t+1] = sums[t] + response
		response, earlier = factor*(response+p.momentum*(response-earlier)), response
	}
	for t := int64(1); t <= p.steps; t++ {
		mean := (sums[t] - sums[max(0, t-window)]) / float64(window)
		moved += mean * mean
	}
	left, moved = math.Abs(left), math.Sqrt(moved)
	const most = 1e6 // a step size that is too large moves away from the optimum
	if !(left < most) {
		left = most
	}
	if !(moved < most*most) {
		moved = most * most
	}
	return left, moved
}

// curvature bounds the second derivative of a record's loss: rows lie in the unit
// ball, up to rounding.
func (l *layout) curvature() float64 {
	if l.encoder.logistic {
		return 0.25
	}
	return 1
}

// reach is about how far from zero the scaled coefficients of a useful model lie, and
// distance how far the optimum may lie from the start. Both are conventions, and not
// taken from any data.
func (l *layout) reach() float64 {
	if l.encoder.logistic {
		return 4 * l.encoder.radius
	}
	return 0.25 * l.encoder.radius
}

func (l *layout) distance() float64 { return math.Max(l.reach(), l.encoder.radius) }

// usual is the share of half its bounds by which the values of a feature spread, given
// the other features, in a table for which the number of steps is chosen. A table
// whose bounds are wider than that has a flatter loss.
const usual = 0.1

// flat is the curvature of the mean loss in the flattest direction of such a table: a
// feature around the middle of its bounds, and the intercept, share the squared norm
// of a row, 1/(1 + features) each.
func (l *layout) flat() float64 {
	return l.curvature() * usual * usual / (2 * (1 + float64(len(l.encoder.Features))))
}

// gradientNoise is the standard deviation of the noise in a coordinate of the mean
// gradient of one step.
func (l *layout) gradientNoise() float64 {
	if l.params.last() {
		if l.iterate.Early > 0 {
			return l.iterate.Sigma * l.iterate.Early // of all steps but the last
		}
		return l.iterate.Sigma
	}
	return l.unit() * l.noise.Sigma
}

// newPace chooses step size and momentum for the given noise in a mean gradient. The
// inverse of the largest curvature is the largest step that is stable for every table.
// Momentum makes up for directions that are much flatter, and lets noise through. The
// choice has the smallest error in the worst direction: curvature times the squared
// error, as in the mean loss.
func (l *layout) newPace(noise float64) pace {
	p := pace{l2: l.params.L2, steps: l.schedule.steps, from: l.schedule.steps - 1}
	if l.params.last() {
		p.explicit, p.step = true, l.iterate.StepSize
		return p
	}
	if l.params.Average == nil || *l.params.Average {
		p.from = p.steps / 2
	}
	if l.params.StepSize != nil {
		p.step = *l.params.StepSize
		return p
	}
	coordinates := float64(l.encoder.Width + 1)
	var best pace
	least := math.Inf(1)
	for i := range 9 {
		root := math.Exp2(float64(-i))
		p.momentum = (1 - root) / (1 + root)
		// Where the loss is flat, noise walks at random; it must stay within reach.
		p.step = 1
		_, walk := p.along(0)
		largest := math.Min(1/l.curvature(), l.reach()/(walk*noise*math.Sqrt(coordinates)))
		for _, share := range []float64{1, 0.25, 1.0 / 16} {
			p.step = largest * share
			bias, scatter := 0.0, 0.0
			for k := range 21 {
				curvature := l.curvature() * math.Exp2(float64(-k))
				left, moved := p.along(curvature)
				bias = math.Max(bias, curvature*math.Pow(left*l.distance(), 2))
				scatter = math.Max(scatter, curvature*math.Pow(moved*noise, 2))
			}
			if e := bias + coordinates*scatter; e < least {
				best, least = p, e
			}
		}
	}
	return best
}

// The steps of a job that says nothing of them lie in this range.
const (
	fewestSteps = 50
	mostSteps   = 1600
	mostReads   = 1e10 // records in all steps
)

// chooseSteps chooses the number of full-batch steps for a job that leaves it open:
// enough for a table whose features spread as usual, so that what the descent leaves
// of the way is at most half of what the noise moves. More steps need no more noise in
// all: the noise of each grows with the root of their number. Where twice the steps
// come hardly further, it is the noise that keeps the descent from going there.
func (l *layout) chooseSteps(req sdk.PlanRequest) {
	// The noise of a single step, by its zero-concentrated bound, which is close enough.
	root := math.Sqrt(math.Log(1 / req.Target.Delta))
	one := 1 / (math.Sqrt2 * (math.Sqrt(root*root+req.Target.Epsilon) - root))
	one *= sdk.Largest(privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}, req.Public.SampleRelations) * l.clip / l.schedule.rows
	l.schedule.rate = 1
	most := int64(math.Min(mostSteps, math.Max(2*fewestSteps, mostReads/l.schedule.rows)))
	before := math.Inf(1)
	for steps := int64(fewestSteps); steps <= most; steps *= 2 {
		l.schedule.steps = steps
		noise := one * math.Sqrt(float64(steps))
		left, moved := l.newPace(noise).along(l.flat())
		if left*l.distance() <= moved*noise/2 || left > 0.9*before {
			return
		}
		before = left
	}
}
