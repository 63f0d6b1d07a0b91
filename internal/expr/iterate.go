package expr

import (
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// variants are the bounds of P9.
var variants = []string{"full-batch-strongly-convex", "full-batch-convex", "cyclic-strongly-convex", "cyclic-convex", onePass}

const onePass = "one-pass"

// lastIterate reads the fields of last_iterate. Which are required follows
// from kind; a field that the kind does not use is refused, so that nobody
// believes it counted.
func lastIterate(f *fields) privacy.Event {
	var e privacy.LastIterate
	if v := f.need("kind", "one of "+strings.Join(variants, ", ")); v != nil {
		e.Variant = v.text
		if !contains(variants, v.text) {
			f.wrong(v, "kind", hintFor(v.text, variants), "must be one of %s", strings.Join(variants, ", "))
			// Which fields belong is unknown now: complaining about them would mislead.
			f.holds = false
			return e
		}
	}
	e.Sigma = f.number("sigma", positive)
	e.Sensitivity = f.number("sensitivity", positive)
	e.N = f.whole("n", 1)
	e.StepSize = f.number("step_size", positive)
	e.Smooth = f.number("smooth", positive)
	e.Rounding = f.optional("rounding", positive)
	if e.Variant == onePass || strings.HasPrefix(e.Variant, "cyclic") {
		e.Batch = f.whole("batch", 1)
		f.atMost("batch", e.Batch, "n", e.N)
	} else {
		e.Steps = f.whole("steps", 1)
	}
	switch {
	case e.Variant == onePass:
		e.Early = f.optional("early", positive)
		e.StrongConvexity = f.optional("strong_convexity", positive)
	case strings.HasPrefix(e.Variant, "cyclic"):
		e.Epochs = f.whole("epochs", 1)
	}
	switch {
	case e.Variant == onePass:
	case strings.HasSuffix(e.Variant, "-strongly-convex"):
		e.StrongConvexity = f.number("strong_convexity", positive)
		e.Diameter = f.optional("diameter", positive)
	default:
		e.Diameter = f.number("diameter", positive)
	}
	if e.Early > 1 {
		f.wrong(f.at.get("early"), "early", "", "must be at most 1: the share of the noise that all steps but the last have")
	}
	if e.Smooth > 0 && e.StepSize > 2/e.Smooth {
		f.wrong(f.at.get("step_size"), "step_size", "a longer step is no contraction", "must be at most 2/smooth = %s", number(2/e.Smooth))
	}
	if e.Smooth > 0 && e.StrongConvexity > e.Smooth {
		f.wrong(f.at.get("strong_convexity"), "strong_convexity", "", "must be at most smooth (%s > %s)", number(e.StrongConvexity), number(e.Smooth))
	}
	return e
}
