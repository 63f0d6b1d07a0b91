package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

const concavity = "the noise of a mean over a sample is larger by ε/(q·ε_n), and q·ε_n < ε at every rate below 1 " +
	"because x ↦ log(1 + x(e^ε_n − 1)) is concave (docs/sampling.md); the sampling error comes on top"

const addedNoise = "noise that is added to a sum of a Poisson sample is, under replace-one, never smaller than the full table's at " +
	"rates up to one half (docs/sampling.md); the sampling error comes on top"

// provenNever reports whether P18's argument covers the release: Laplace noise on
// a sum, divided by a public constant, from a simple random or Poisson sample.
func (u *subject) provenNever() bool {
	var p struct{ Noise string }
	if u.release.Mechanism != "mean" || json.Unmarshal(u.release.Params, &p) != nil || p.Noise == "gaussian" {
		return false
	}
	return u.sample == nil || u.sample.Method == job.SRSWOR || u.sample.Method == job.Poisson
}

// sure is how many standard errors of the simulation a difference must exceed.
const sure = 3

// verdict says whether sampling helps, over all points of a sweep.
func (u *subject) verdict(w *Sweep) Verdict {
	if u.provenNever() {
		if u.sample == nil || u.sample.Method != job.Poisson || u.job.Dataset.Relation != privacy.ReplaceOne {
			return Verdict{"never", concavity}
		}
		// There the accountant gives additive noise more than log(1 + (e^ε − 1)/q).
		if !slices.ContainsFunc(w.Points, func(p Point) bool { return p.Design == "poisson" && p.Rate > 0.5 }) {
			return Verdict{"never", addedNoise}
		}
	}
	var gains, losses, known []Point
	for _, p := range w.Points {
		if p.Design == "full" || p.Total == 0 || p.Full.Total == 0 {
			continue
		}
		known = append(known, p)
		switch d, margin := p.against(); {
		case d < -margin:
			gains = append(gains, p)
		case d > margin:
			losses = append(losses, p)
		}
	}
	under := ""
	if w.Simulated > 0 {
		under = fmt.Sprintf(", in %d repetitions under the assumptions", w.Simulated)
	}
	switch {
	case len(known) == 0:
		return Verdict{"unknown", "no point has both an error of its own and one of the full table"}
	case len(gains) > 0:
		best := gains[0]
		for _, p := range gains {
			if p.Total/p.Full.Total < best.Total/best.Full.Total {
				best = p
			}
		}
		return Verdict{"gain", fmt.Sprintf("sampling is more accurate than the full table at %d of %d points%s; most at %s %.4g, where the error is %.3g times the full table's",
			len(gains), len(known), under, w.Axis, best.X, best.Total/best.Full.Total)}
	case len(losses) == len(known):
		return Verdict{"loss", "the full table is more accurate at every point" + under}
	}
	return Verdict{"undecided", fmt.Sprintf("the full table is more accurate at %d of %d points%s; at the others the difference is smaller than the simulation can tell", len(losses), len(known), under)}
}

// against is how much larger the squared error of a point is than the full
// table's, and how large a difference must be to count. Both are simulated on the
// same populations, so that they are compared population by population.
func (p Point) against() (difference, margin float64) {
	difference = p.Total*p.Total - p.Full.Total*p.Full.Total
	if len(p.each) != len(p.Full.each) {
		return difference, 0
	}
	d := make([]float64, len(p.each))
	for i := range d {
		d[i] = p.each[i] - p.Full.each[i]
	}
	return difference, sure * standardError(d)
}
