package verdict

import (
	"testing"
	"time"

	"github.com/dprelease/dprelease/privacy"
)

// The verdict and the curve of the page from one profile, as a share of what they take from two.
func BenchmarkVerdictAndCurve(b *testing.B) {
	e := privacy.Compose{Events: []privacy.Event{
		privacy.Repeat{N: 8, Event: privacy.Laplace{Scale: 12}},
		privacy.Repeat{N: 4, Event: privacy.Gaussian{Sigma: 20}},
	}}
	charged := privacy.Point{Epsilon: 1.5, Delta: 1e-6}
	both := func(verdict, page *Profile) time.Duration {
		begun := time.Now()
		verdict.Attacker(charged)
		page.Trace(charged, reachOf*charged.Epsilon)
		return time.Since(begun)
	}
	var one, two time.Duration
	for b.Loop() {
		two += both(unknown(e, privacy.AddRemove), unknown(e, privacy.AddRemove))
		p := unknown(e, privacy.AddRemove)
		one += both(p, p)
	}
	b.ReportMetric(float64(one)/float64(two), "of-two")
}
