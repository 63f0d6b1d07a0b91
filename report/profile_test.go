package report

import (
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
)

// A charge whose ε is 0, a δ alone, has a figure like any other: an axis of powers
// cannot begin at 0.
func TestProfileOfADeltaAlone(t *testing.T) {
	c := verdict.Curve{Epsilon: []float64{0, 0.5, 1}, Delta: []float64{1e-3, 1e-4, 1e-5}}
	drawn := make(chan template.HTML, 1)
	go func() {
		drawn <- profileFigure{after: c, before: c, sampled: true, charged: privacy.Point{Epsilon: 0, Delta: 1e-3}}.render(wordsIn("en"), "profile", "t", "d")
	}()
	select {
	case picture := <-drawn:
		if strings.Contains(string(picture), "NaN") || strings.Contains(string(picture), "Inf") {
			t.Error(picture)
		}
	case <-time.After(time.Minute):
		t.Error("the figure comes to no end")
	}
}
