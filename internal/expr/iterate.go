package expr

import (
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// variants are the four bounds of P9.
var variants = []string{"full-batch-strongly-convex", "full-batch-convex", "cyclic-strongly-convex", "cyclic-convex"}

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
	if strings.HasPrefix(e.Variant, "cyclic") {
		e.Batch = f.whole("batch", 1)
		f.atMost("batch", e.Batch, "n", e.N)
		e.Epochs = f.whole("epochs", 1)
	} else {
		e.Steps = f.whole("steps", 1)
	}
	if strings.HasSuffix(e.Variant, "-strongly-convex") {
		e.StrongConvexity = f.number("strong_convexity", positive)
		e.Diameter = f.optional("diameter", positive)
	} else {
		e.Diameter = f.number("diameter", positive)
	}
	if e.Smooth > 0 && e.StepSize > 2/e.Smooth {
		f.wrong(f.at.get("step_size"), "step_size", "a longer step is no contraction", "must be at most 2/smooth = %s", number(2/e.Smooth))
	}
	if e.Smooth > 0 && e.StrongConvexity > e.Smooth {
		f.wrong(f.at.get("strong_convexity"), "strong_convexity", "", "must be at most smooth (%s > %s)", number(e.StrongConvexity), number(e.Smooth))
	}
	return e
}
