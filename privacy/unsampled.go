package privacy

import "slices"

// WithoutSampling is the event had everybody been in every sample, and had
// every report been seen with its sender; and whether that is another event. It is
// for comparison: nothing is charged by it.
func WithoutSampling(e Event) (Event, bool) {
	_, changed := e.(Sampling)
	if _, shuffled := e.(Shuffled); changed || shuffled {
		inner, _ := WithoutSampling(Children(e)[0])
		return inner, true
	}
	inner := slices.Clone(Children(e))
	for i, c := range inner {
		var below bool
		inner[i], below = WithoutSampling(c)
		changed = changed || below
	}
	return WithChildren(e, inner), changed
}
