//go:build !js

package account

import (
	"fmt"
	"math"
	"strings"

	"github.com/dprelease/dprelease/internal/data/whole"

	"github.com/dprelease/dprelease/internal/say/figure"
	"github.com/dprelease/dprelease/privacy/expr"
)

// drawPlot evaluates the curves and writes the file, whole or not at all.
func drawPlot(q *expr.Query, a *answer, path string) error {
	curves, x, err := trace(q, a)
	if err != nil {
		return err
	}
	// 0o666 before the umask: a plot is no secret.
	return whole.WriteFile(path, newPlot(a, curves, x).SVG(), 0o666)
}

// newPlot draws δ against ε, and the charged point.
func newPlot(a *answer, curves []curve, x extent) *figure.Figure {
	// Every curve falls from the upper left to the lower right, so the legend stands below.
	f := figure.New(figure.Axes{Title: wrap(expr.Describe(a.event)+", "+a.Relation.String(), 70), X: "ε", Y: "δ", LogX: x.logEps, LogY: true})
	f.Range("x", x.left, x.right)
	f.Range("y", x.floor, 1)
	unsampled := false
	for _, c := range curves {
		unsampled = unsampled || !c.sampled
	}
	for _, c := range curves {
		name := c.method
		switch {
		case !c.sampled:
			name += ", unamplified"
		case unsampled:
			name += ", amplified"
		}
		eps, del := c.visible(x)
		f.Line(name, eps, del)
	}
	if eps, del := float64(a.Epsilon), float64(a.Delta); eps >= x.left && eps <= x.right && del >= x.floor && del <= 1 {
		f.Marks(fmt.Sprintf("charged (%s, %s)", up(eps), up(del)), []float64{eps}, []float64{del})
	}
	return f
}

// visible is the part of the curve inside the frame; where it falls through
// the floor it falls straight down.
func (c curve) visible(x extent) (eps, del []float64) {
	for i, d := range c.del {
		if d < x.floor {
			if i > 0 {
				// On log axes a chord through the last point; to the floor itself
				// if δ vanished at once.
				e := c.eps[i]
				if d > 0 && c.del[i-1] > d {
					t := math.Log(c.del[i-1]/x.floor) / math.Log(c.del[i-1]/d)
					e = c.eps[i-1] + t*(c.eps[i]-c.eps[i-1])
				}
				eps, del = append(eps, e), append(del, x.floor)
			}
			break
		}
		eps, del = append(eps, c.eps[i]), append(del, math.Min(d, 1))
	}
	return eps, del
}

// wrap breaks a long title at spaces.
func wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(s) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
