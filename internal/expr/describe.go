package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dprelease/dprelease/privacy"
)

// descriptionLength bounds the one line of Describe, in characters.
const descriptionLength = 400

// Describe writes an event as one line for people, such as
// "poisson(0.01, gaussian(σ=1)) ×1000". Long expressions are cut with "…".
func Describe(e privacy.Event) string {
	d := &describer{}
	d.event(e, 0)
	s := d.b.String()
	if utf8.RuneCountInString(s) > descriptionLength {
		s = string([]rune(s)[:descriptionLength]) + "…"
	}
	return s
}

type describer struct{ b strings.Builder }

func (d *describer) full() bool { return d.b.Len() > 4*descriptionLength }

func (d *describer) printf(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

func (d *describer) event(e privacy.Event, depth int) {
	if d.full() || depth >= MaxDepth {
		d.b.WriteString("…")
		return
	}
	switch e := e.(type) {
	case nil:
		d.b.WriteString("?")
	case privacy.Gaussian:
		d.printf("gaussian(σ=%s%s)", number(e.Sigma), sensitivity(e.Sensitivity))
	case privacy.Laplace:
		d.printf("laplace(scale=%s%s)", number(e.Scale), sensitivity(e.Sensitivity))
	case privacy.DiscreteGaussian:
		d.printf("discrete_gaussian(σ=%s%s", number(e.Sigma), sensitivity(e.Sensitivity))
		if e.Coordinates > 0 {
			d.printf(", coordinates=%d", e.Coordinates)
		}
		d.b.WriteString(")")
	case privacy.DiscreteLaplace:
		d.printf("discrete_laplace(scale=%s%s)", number(e.Scale), sensitivity(e.Sensitivity))
	case privacy.Pure:
		d.printf("pure(ε=%s)", number(e.Eps))
	case privacy.Approx:
		d.printf("approx(ε=%s, δ=%s)", number(e.Eps), number(e.Delta))
	case privacy.ZCDP:
		d.printf("zcdp(ρ=%s)", number(e.Rho))
	case privacy.RandomizedResponse:
		d.printf("randomized_response(k=%d, ε0=%s)", e.K, number(e.Eps0))
	case privacy.Compose:
		for i, item := range e.Events {
			if i > 0 {
				d.b.WriteString(" + ")
			}
			if i == 8 && len(e.Events) > 10 {
				d.printf("… (%d events)", len(e.Events))
				break
			}
			_, nested := item.(privacy.Compose)
			d.wrapped(item, nested, depth)
		}
	case privacy.Repeat:
		_, sum := e.Event.(privacy.Compose)
		_, again := e.Event.(privacy.Repeat)
		d.wrapped(e.Event, sum || again, depth)
		d.printf(" ×%d", e.N)
	case privacy.Poisson:
		d.around(fmt.Sprintf("poisson(%s, ", number(e.Rate)), e.Event, depth)
	case privacy.WithoutReplacement:
		d.around(fmt.Sprintf("without_replacement(%d of %d, ", e.Take, e.Of), e.Event, depth)
	case privacy.WithReplacement:
		d.around(fmt.Sprintf("with_replacement(%d of %d, ", e.Take, e.Of), e.Event, depth)
	case privacy.Multistage:
		var stages []string
		for _, s := range e.Stages {
			one := fmt.Sprintf("%d of %d", s.Take, s.Of)
			if s.MaxTake > 0 {
				one += fmt.Sprintf(" (at most %d)", s.MaxTake)
			}
			stages = append(stages, one)
		}
		d.around("multistage("+strings.Join(stages, " › ")+", ", e.Event, depth)
	case privacy.Shuffled:
		d.around(fmt.Sprintf("shuffled(%d, ", e.N), e.Event, depth)
	case privacy.LastIterate:
		d.printf("last_iterate(%s, σ=%s, n=%d", e.Variant, number(e.Sigma), e.N)
		if e.Batch > 0 {
			d.printf(", batch=%d", e.Batch)
		}
		if e.Steps > 0 {
			d.printf(", steps=%d", e.Steps)
		}
		if e.Epochs > 0 {
			d.printf(", epochs=%d", e.Epochs)
		}
		if e.Early > 0 {
			d.printf(", early=%s", number(e.Early))
		}
		d.b.WriteString(")")
	default:
		d.b.WriteString(e.Kind())
	}
}

func (d *describer) wrapped(e privacy.Event, brackets bool, depth int) {
	if brackets {
		d.b.WriteString("(")
	}
	d.event(e, depth+1)
	if brackets {
		d.b.WriteString(")")
	}
}

func (d *describer) around(open string, e privacy.Event, depth int) {
	d.b.WriteString(open)
	d.event(e, depth+1)
	d.b.WriteString(")")
}

// sensitivity says nothing for the default.
func sensitivity(s privacy.Sensitivity) string {
	var parts string
	if s.AddRemove != 0 {
		parts += ", add-remove " + number(s.AddRemove)
	}
	if s.ReplaceOne != 0 {
		parts += ", replace-one " + number(s.ReplaceOne)
	}
	return parts
}

// number is the shortest exact spelling, plain where people would write it so.
func number(x float64) string {
	if a := math.Abs(x); a == 0 || a >= 1e-4 && a < 1e7 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	s := strconv.FormatFloat(x, 'e', -1, 64)
	mant, exp, _ := strings.Cut(s, "e")
	e, err := strconv.Atoi(exp)
	if err != nil {
		return s
	}
	return mant + "e" + strconv.Itoa(e)
}
