package sgd

import (
	"fmt"
	"math"
)

// The ways in which steps take records.
const (
	poissonBatches = "poisson"
	fullBatches    = "full"
	cyclicBatches  = "cyclic"
	onePass        = "one-pass"
)

// inTurn reports whether the host puts records into batches once and steps take these
// in turn.
func (p params) inTurn() bool { return p.Batches == cyclicBatches || p.Batches == onePass }

// chooseBatches fills in how steps take records and how steps are paid for, where one
// follows from the other.
func (p *params) chooseBatches() error {
	switch p.Accounting {
	case "", "steps", lastIterate:
	default:
		return fmt.Errorf("accounting: must be steps or last-iterate")
	}
	switch p.Batches {
	case "":
		p.Batches = poissonBatches
		if p.last() {
			p.Batches = fullBatches
		}
	case poissonBatches:
		if p.last() {
			return fmt.Errorf("batches: poisson: the bound of last-iterate is about batches that are not drawn afresh; use full, cyclic or one-pass, or accounting: steps")
		}
	case fullBatches:
	case cyclicBatches, onePass:
		if p.Accounting == "steps" {
			return fmt.Errorf("batches: %s: is paid for as a last iterate; leave accounting out, or use poisson batches", p.Batches)
		}
		p.Accounting = lastIterate
	default:
		return fmt.Errorf("batches: must be poisson, full, cyclic or one-pass")
	}
	if p.EarlyNoise != nil && p.Batches != onePass {
		return fmt.Errorf("early_noise: less noise in early steps has a bound for batches: one-pass only")
	}
	if p.Batches == fullBatches && p.Rate == nil && p.BatchSize == nil {
		one := 1.0
		p.Rate = &one
	}
	return nil
}

// early is the noise of every step before the last, as a share of the noise of the
// last. It returns 0 where all steps have the same noise.
func (p params) early() float64 {
	if p.EarlyNoise == nil || *p.EarlyNoise == 1 {
		return 0
	}
	return *p.EarlyNoise
}

// turns is the schedule for batches in turn. Each batch holds the same number of
// records, except the last of a pass, which may hold fewer. Every sum is divided by
// that number.
func (p params) turns(s schedule) (schedule, error) {
	rate, epochs := 0.1, 40.0
	if p.Batches == onePass {
		rate, epochs = 0.01, 1
	}
	if p.Rate != nil {
		rate = *p.Rate
	}
	size := math.Ceil(rate * s.rows)
	if p.BatchSize != nil {
		size = *p.BatchSize
	}
	if p.Epochs != nil {
		epochs = *p.Epochs
	}
	switch {
	case size != math.Trunc(size) || size < 1 || size > s.rows:
		return s, fmt.Errorf("batch_size: must be a whole number of records, at most %.0f", s.rows)
	case p.Steps != nil:
		return s, fmt.Errorf("steps: follow from epochs and batch_size where batches are taken in turn; leave steps out")
	case p.Batches == onePass && epochs != 1:
		return s, fmt.Errorf("epochs: one pass is one epoch; leave epochs out, or use batches: cyclic")
	case epochs != math.Trunc(epochs) || epochs < 1:
		return s, fmt.Errorf("epochs: must be a whole number where batches are taken in turn")
	}
	s.batch, s.epochs, s.rate = int64(size), int64(epochs), size/s.rows
	steps := math.Ceil(s.rows/size) * epochs
	if steps > maxSteps {
		return s, fmt.Errorf("epochs: make %.0f steps of %.0f records; at most %d are possible", steps, size, maxSteps)
	}
	s.steps = int64(steps)
	return s, nil
}
